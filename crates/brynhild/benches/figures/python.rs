//! Plugins in Python: a call, a first call, a start with many plugins, and very many calls.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::id::{CallId, SessionId};
use contract::message::ToolCall;
use contract::policy::Mode;
use contract::sandbox::{Access, Confinement, Limits, Network, Profile};
use contract::tool::{Tool, ToolContext};
use files::surroundings::Surroundings;
use plugins::directories::Directories;
use plugins::plugin::{Manifest, Place, Plugin, PluginSettings};
use plugins::python::{self, Python};
use python_host::{Host, Missing};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::job::command;
use crate::report::{Aim, Report, Row, Unit, median, milliseconds};

const CALLS: usize = 2000;
const STARTS: usize = 21;
const MANY: usize = 500;
const SOAK: usize = 100_000;

const TOOL: &str = "\
from brynhild.tools.base import Tool as Base, ToolResult

class Tool(Base):
    name = 'NAME'
    description = 'says what it is told'
    input_schema = {'type': 'object', 'properties': {'text': {'type': 'string'}}}

    async def execute(self, input):
        return ToolResult(True, input['text'])
";

const ECHO: &str = "import os\nwhile True:\n    os.write(1, os.read(0, 65536))\n";

/// A call and its answer as they go over the pipe, without anything around them.
const ANSWER: &str = "\
import json, os
while True:
    call = json.loads(os.read(0, 65536))
    result = {'success': True, 'output': call['params']['input']['text'], 'error': None}
    os.write(1, (json.dumps({'id': call['id'], 'result': result}) + '\\n').encode())
";

const CALL: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"call\",\"params\":\
    {\"tool\":\"tools/say.py\",\"input\":{\"text\":\"hello\"}}}\n";

/// Measures all of it.
pub(crate) fn measure(report: &mut Report) {
    let rig = Rig::new();
    rig.warm_call(report);
    rig.first_call(report);
    rig.many_plugins(report);
    rig.soak(report);
}

pub(crate) struct Rig {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) runtime: Runtime,
    pub(crate) python: PathBuf,
}

impl Rig {
    pub(crate) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let look = ["-c", "import sys; print(sys.executable)"];
        let said = command(Path::new("python3")).args(look).output().expect("`python3`").stdout;
        let python = PathBuf::from(String::from_utf8(said).expect("a path").trim());
        let directory = tempfile::tempdir().expect("a directory");
        fs::create_dir(directory.path().join("work")).expect("a directory");
        Self { directory, runtime: runtime.expect("a runtime"), python }
    }

    pub(crate) fn host(&self) -> (Host, Python) {
        self.host_with(self.directories())
    }

    fn directories(&self) -> Arc<Directories> {
        Arc::new(Directories::load(Some(self.directory.path().join("directories.json")), None))
    }

    fn host_with(&self, directories: Arc<Directories>) -> (Host, Python) {
        let base = self.directory.path();
        let sandbox = sandbox::strongest(sandbox::Settings {
            helper: crate::helper(),
            state: base.join("sandbox"),
            home: Some(base.join("home")),
            backend: None,
            notice: None,
            on_proxy_request: None,
            rules: None,
            hosts: None,
            host_env: std::collections::BTreeMap::new(),
            tracker: None,
            signs_commits: false,
        });
        let path =
            format!("{}:/usr/bin:/bin", self.python.parent().expect("a directory").display());
        let variables = BTreeMap::from([("PATH".to_owned(), path)]);
        let surroundings = Surroundings {
            workspace: base.join("work"),
            cwd: base.join("work"),
            env: variables.clone(),
            variables,
            home: Some(base.join("home")),
        };
        let host = Host::new(python_host::Settings {
            state: base.join("state"),
            sandbox,
            environment: python::environment_hash(&surroundings),
            surroundings: surroundings.clone(),
            mode: Mode::Normal,
            python: Some(self.python.clone()),
            config: serde_json::json!({}),
            on_output: Arc::new(|plugin, line| panic!("{plugin} says: {line}")),
            on_progress: Arc::new(|_, _| {}),
            tracebacks: python_host::Tracebacks::Author,
        });
        let settings = python::Settings {
            data: base.join("data"),
            is_confined: true,
            surroundings,
            directories,
            sites: Vec::new(),
        };
        (host.clone(), Python::new(Arc::new(host), settings))
    }

    fn plugin(&self, name: &str) -> Plugin {
        let root = self.directory.path().join("plugins").join(name);
        let tools = root.join("tools");
        if !tools.exists() {
            fs::create_dir_all(&tools).expect("a directory");
            fs::write(root.join("plugin.yaml"), "name: x\n").expect("a file");
            let text = TOOL.replace("NAME", &name.replace('-', "_"));
            fs::write(tools.join("say.py"), text).expect("a file");
        }
        let tools = vec!["say".to_owned()];
        let version = "1.0.0".to_owned();
        Plugin {
            manifest: Manifest { name: name.into(), version, tools, ..Manifest::default() },
            root,
            place: Place::Global,
            enabled: true,
            trusted: true,
            settings: PluginSettings::default(),
            package: None,
        }
    }

    fn tool(&self, (host, python): &(Host, Python), plugin: &Plugin) -> Arc<dyn Tool> {
        let plugin = python.plugin(plugin);
        let describe = host.describe(std::slice::from_ref(&plugin), Missing::Report);
        let offer = self.runtime.block_on(describe).pop().expect("an answer").offer;
        assert!(offer.faults.is_empty(), "{:?}", offer.faults);
        host.tools(&plugin, &offer).pop().expect("a tool")
    }

    pub(crate) fn call(&self, tool: &dyn Tool, context: &ToolContext) -> Duration {
        let args = serde_json::json!({"text": "hello"});
        let call = ToolCall { id: CallId("1".into()), name: String::new(), args, opaque: None };
        let started = Instant::now();
        let output = self.runtime.block_on(tool.run(&call, context)).expect("an output");
        let time = started.elapsed();
        assert_eq!(output.output, "hello");
        time
    }

    fn warm_call(&self, report: &mut Report) {
        let (host, context) = (self.host(), context());
        let tool = self.tool(&host, &self.plugin("one"));
        for (other, program, args, aim) in [
            ("`cat`", Path::new("cat"), &[][..], Aim::Figure(0.3)),
            (
                "a Python that echoes",
                self.python.as_path(),
                &["-I", "-c", ECHO][..],
                Aim::Figure(0.3),
            ),
            (
                "a Python that answers JSON",
                self.python.as_path(),
                &["-I", "-c", ANSWER][..],
                Aim::Ratio(1.5),
            ),
        ] {
            let mut echo = Echo::start(program, args);
            let (mut figures, mut limits) = (Vec::new(), Vec::new());
            for _ in 0..CALLS {
                figures.push(self.call(&*tool, &context));
                limits.push(echo.round());
            }
            report.add(Row {
                what: format!("Python tool: a warm call, against a pipe to {other}"),
                unit: Unit::Milliseconds,
                figure: milliseconds(median(figures)),
                limit: Some(milliseconds(median(limits))),
                aim,
            });
        }
        self.runtime.block_on(host.0.shutdown());
    }

    fn first_call(&self, report: &mut Report) {
        let (context, plugin) = (context(), self.plugin("one"));
        let (mut figures, mut limits) = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            let (host, python) = self.host();
            let plugins = [python.plugin(&plugin)];
            let described = host.described(&plugins).pop().flatten().expect("what was kept");
            let tool = host.tools(&plugins[0], &described.offer).pop().expect("a tool");
            figures.push(self.call(&*tool, &context));
            self.runtime.block_on(host.shutdown());
            let started = Instant::now();
            let status = command(&self.python).args(["-c", "pass"]).status().expect("Python");
            limits.push(started.elapsed());
            assert!(status.success());
        }
        report.add(Row {
            what: "Python tool: the first call, against `python3 -c pass`".into(),
            unit: Unit::Milliseconds,
            figure: milliseconds(median(figures)),
            limit: Some(milliseconds(median(limits))),
            aim: Aim::Ratio(1.5),
        });
    }

    fn many_plugins(&self, report: &mut Report) {
        let plugins: Vec<Plugin> =
            (0..MANY).map(|number| self.plugin(&format!("many-{number}"))).collect();
        let all = |python: &Python| -> Vec<_> {
            plugins.iter().map(|plugin| python.plugin(plugin)).collect()
        };
        // Files that changed less than two seconds ago are not relied on.
        std::thread::sleep(Duration::from_secs(3));
        let directories = self.directories();
        let (host, python) = self.host_with(Arc::clone(&directories));
        self.runtime.block_on(host.describe(&all(&python), Missing::Report));
        directories.save();
        let mut figures = Vec::new();
        for _ in 0..STARTS {
            let (host, python) = self.host();
            let started = Instant::now();
            let described = host.described(&all(&python));
            figures.push(started.elapsed());
            assert!(described.iter().all(Option::is_some));
        }
        report.add(Row {
            what: format!("Python tools of {MANY} plugins: descriptions at a start"),
            unit: Unit::Milliseconds,
            figure: milliseconds(median(figures)),
            limit: None,
            aim: Aim::Figure(20.0),
        });
    }

    fn soak(&self, report: &mut Report) {
        let (host, context) = (self.host(), context());
        let tool = self.tool(&host, &self.plugin("one"));
        let rounds = |count: usize| {
            for _ in 0..count {
                self.call(&*tool, &context);
            }
        };
        rounds(SOAK / 10);
        let before = (memory(), descriptors());
        rounds(SOAK);
        let after = (memory(), descriptors());
        for (what, before, after) in
            [("this program", before.0.0, after.0.0), ("the worker", before.0.1, after.0.1)]
        {
            report.add(Row {
                what: format!("Python tool: growth of {what} over {SOAK} calls"),
                unit: Unit::Megabytes,
                figure: after - before,
                limit: None,
                aim: Aim::Figure(1.0),
            });
        }
        assert_eq!(before.1, after.1, "the calls left descriptors open");
        self.runtime.block_on(host.0.shutdown());
    }
}

/// A program that returns what it is sent.
pub(crate) struct Echo {
    child: std::process::Child,
}

impl Echo {
    pub(crate) fn start(program: &Path, args: &[&str]) -> Self {
        let mut command = command(program);
        let child = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        Self { child: child.expect("a program") }
    }

    pub(crate) fn round(&mut self) -> Duration {
        let mut answer = [0; 1024];
        let started = Instant::now();
        let (stdin, stdout) = (&mut self.child.stdin, &mut self.child.stdout);
        stdin.as_mut().expect("a pipe").write_all(CALL).expect("a message");
        let stdout = stdout.as_mut().expect("a pipe");
        // So short a line comes in one piece.
        let count = stdout.read(&mut answer).expect("an answer");
        let time = started.elapsed();
        assert_eq!(answer[..count].last(), Some(&b'\n'));
        time
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn context() -> ToolContext {
    let profile = Profile {
        workspace: "/nowhere".into(),
        access: Access::ReadOnly,
        read: Vec::new(),
        write: Vec::new(),
        own: Vec::new(),
        fixed: Vec::new(),
        network: Network::None,
        env: BTreeMap::new(),
        limits: Limits::default(),
    };
    let settings = sandbox::Settings {
        helper: "/nowhere".into(),
        state: "/nowhere".into(),
        home: None,
        backend: None,
        notice: None,
        on_proxy_request: None,
        rules: None,
        hosts: None,
        host_env: std::collections::BTreeMap::new(),
        tracker: None,
        signs_commits: false,
    };
    let (progress, _) = mpsc::channel(1);
    ToolContext {
        session: SessionId::parse("bench").expect("a name"),
        confinement: Confinement::new(sandbox::unconfined(settings), profile),
        cancel: CancellationToken::new(),
        progress,
        spill: "/nowhere".into(),
        view: contract::action::View::default(),
        actions: Vec::new(),
        redactors: None,
    }
}

/// Megabytes that this program and the largest Python below it hold.
fn memory() -> (f64, f64) {
    let own = std::process::id();
    let resident = |id: u32| -> f64 {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let word = line.and_then(|line| line.split_whitespace().next());
        word.and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
    };
    let below = descendants(own);
    (resident(own), below.into_iter().map(resident).fold(0.0, f64::max))
}

fn descendants(id: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let mut all = Vec::new();
    for task in tasks {
        let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in text.split_whitespace().filter_map(|word| word.parse().ok()) {
            all.push(child);
            all.extend(descendants(child));
        }
    }
    all
}

/// Open descriptors of this program.
fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}
