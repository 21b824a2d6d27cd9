//! Plugins for chibi: a call against the same program started by hand, in the sandbox
//! and without one, and a start with many plugins.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::id::CallId;
use contract::message::ToolCall;
use contract::policy::Mode;
use contract::sandbox::{Access, Channel, Limits, Network, Profile, Sandbox, Spawn, Stdin};
use files::surroundings::Surroundings;
use plugins::chibi::{Plugins, Settings, find};
use plugins::directories::Directories;
use plugins::open_plugins::OpenPlugins as _;
use plugins::plugin::Place;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::Runtime;

use crate::job::command;
use crate::python::context;
use crate::report::{Aim, Report, Row, Unit, median, milliseconds};

const CALLS: usize = 300;
const STARTS: usize = 21;
const MANY: usize = 100;
const INPUT: &str = "{\"text\":\"hello\"}";

/// Measures all of it.
pub(crate) fn measure(report: &mut Report) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let rig = Rig {
        directory: tempfile::tempdir().expect("a directory"),
        runtime: runtime.expect("one"),
    };
    fs::create_dir_all(rig.directory.path().join("work")).expect("a directory");
    fs::create_dir_all(rig.directory.path().join("home")).expect("a directory");
    rig.call(report);
    rig.many(report);
}

struct Rig {
    directory: tempfile::TempDir,
    runtime: Runtime,
}

impl Rig {
    fn sandbox(&self) -> Arc<dyn Sandbox> {
        sandbox::strongest(sandbox::Settings {
            helper: crate::helper(),
            state: self.directory.path().join("sandbox"),
            home: Some(self.directory.path().join("home")),
            backend: None,
            notice: None,
            on_proxy_request: None,
            rules: None,
            hosts: None,
            host_env: std::collections::BTreeMap::new(),
            tracker: None,
            signs_commits: false,
        })
    }

    fn plugins(&self, directory: &str) -> Plugins {
        let base = self.directory.path();
        let variables = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let settings = Settings {
            schema_cache: base.join("kept.json"),
            data: base.join("data"),
            sandbox: self.sandbox(),
            surroundings: Surroundings {
                workspace: base.join("work"),
                cwd: base.join("work"),
                env: variables.clone(),
                variables,
                home: Some(base.join("home")),
            },
            home: base.join("home/.chibi"),
            is_verbose: false,
            is_confined: true,
            on_output: Arc::new(|plugin, line| panic!("{plugin} says: {line}")),
            console: None,
        };
        let directories = Directories::default();
        let found = find(&base.join(directory), Place::Global, &directories);
        let open = Plugins::open(found.candidates, settings, Mode::Normal, &directories);
        let plugins = self.runtime.block_on(open);
        assert!(plugins.problems.is_empty(), "{:?}", plugins.problems);
        plugins
    }

    fn script(&self, directory: &str, name: &str) -> PathBuf {
        let file = self.directory.path().join(directory).join(name);
        fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        let text = format!(
            "#!/bin/sh\n[ \"$1\" = --schema ] || exec cat\n\
             echo '{{\"name\": \"{name}\", \"description\": \"gives back what it is told\"}}'\n"
        );
        fs::write(&file, text).expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("its mode");
        file
    }

    fn call(&self, report: &mut Report) {
        let file = self.script("one", "say");
        let tool = self.plugins("one").tools().pop().expect("a tool");
        let (sandbox, context) = (self.sandbox(), context());
        let (mut figures, mut confined, mut bare) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..CALLS {
            let args = serde_json::from_str(INPUT).expect("JSON");
            let call = ToolCall { id: CallId("1".into()), name: String::new(), args, opaque: None };
            let started = Instant::now();
            let output = self.runtime.block_on(tool.run(&call, &context)).expect("an output");
            figures.push(started.elapsed());
            assert_eq!(output.output, INPUT);
            confined.push(self.runtime.block_on(self.by_hand(sandbox.as_ref(), &file)));
            bare.push(plain(&file));
        }
        let (figure, confined, bare) = (
            milliseconds(median(figures)),
            milliseconds(median(confined)),
            milliseconds(median(bare)),
        );
        let row = |what: &str, figure, limit, aim| Row {
            what: what.to_owned(),
            unit: Unit::Milliseconds,
            figure,
            limit: Some(limit),
            aim,
        };
        let what = "chibi tool: a call, against the same program in the same sandbox";
        report.add(row(what, figure, confined, Aim::Ratio(1.3)));
        let what = "chibi tool: a call, against the same program without a sandbox";
        report.add(row(what, figure, bare, Aim::Nothing));
    }

    /// Starts the program in the sandbox, feeds it and reads it to its end.
    async fn by_hand(&self, sandbox: &dyn Sandbox, file: &Path) -> Duration {
        let base = self.directory.path();
        let env = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let profile = Profile {
            workspace: base.join("work"),
            access: Access::ReadOnly,
            read: vec![base.join("one")],
            write: Vec::new(),
            own: vec![base.join("data/say")],
            fixed: Vec::new(),
            network: Network::None,
            env,
            limits: Limits::default(),
        };
        let spawn = Spawn {
            program: file.to_owned(),
            args: Vec::new(),
            cwd: base.join("work"),
            stdin: Stdin::Piped,
            channel: Channel::None,
            env: BTreeMap::new(),
            home: None,
        };
        let started = Instant::now();
        let mut child = sandbox.start(&spawn, &profile).expect("a process");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(INPUT.as_bytes()).await.expect("a message");
        stdin.shutdown().await.expect("its end");
        drop(stdin);
        let mut output = String::new();
        child.stdout.read_to_string(&mut output).await.expect("an answer");
        child.process.wait().await.expect("an end");
        child.process.kill();
        let time = started.elapsed();
        assert_eq!(output, INPUT);
        time
    }

    fn many(&self, report: &mut Report) {
        for number in 0..MANY {
            self.script("many", &format!("tool{number}"));
        }
        self.plugins("many");
        let mut figures = Vec::new();
        for _ in 0..STARTS {
            let started = Instant::now();
            let plugins = self.plugins("many");
            figures.push(started.elapsed());
            assert_eq!(plugins.tools().len(), MANY);
        }
        report.add(Row {
            what: format!("chibi tools of {MANY} plugins: found and described at a start"),
            unit: Unit::Milliseconds,
            figure: milliseconds(median(figures)),
            limit: None,
            aim: Aim::Nothing,
        });
    }
}

/// Starts the program without anything around it.
fn plain(file: &Path) -> Duration {
    let started = Instant::now();
    let mut command = command(file);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.expect("a process");
    child.stdin.take().expect("a pipe").write_all(INPUT.as_bytes()).expect("a message");
    let output = child.wait_with_output().expect("an answer");
    let time = started.elapsed();
    assert_eq!(output.stdout, INPUT.as_bytes());
    time
}
