//! Tools of roles that are Python: a call of a function, and what it costs to import what toolsets
//! are made with: our stand-in, and the real package where the interpreter has it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plugins::initrunner::RoleFacts;
use plugins::initrunner::custom::{Depth, RolePython, Wanted, plugin};
use plugins::initrunner::registry::Types;
use plugins::plugin::PluginSettings;
use serde_json::json;

use crate::job::command;
use crate::python::{Echo, Rig, context};
use crate::report::{Aim, Report, Row, Unit, median, milliseconds};

const CALLS: usize = 2000;
const STARTS: usize = 11;

const MODULE: &str = "def say(text: str, times: int = 1, tool_config: dict = None) -> str:\n    \
                      return text * times\n";

const IMPORT: &str = "from pydantic_ai.toolsets.function import FunctionToolset";

/// Measures all of it.
pub(crate) fn measure(report: &mut Report) {
    let rig = Rig::new();
    warm_call(&rig, report);
    imports(&rig, report);
}

fn warm_call(rig: &Rig, report: &mut Report) {
    let directory = rig.directory.path().join("role");
    fs::create_dir_all(&directory).expect("a directory");
    fs::write(directory.join("say_tools.py"), MODULE).expect("a file");
    let (file, imports) = (directory.join("role.yaml"), json!({"allowed": [], "blocked": null}));
    let role = RoleFacts {
        name: "sayer",
        description: "",
        prompt: "",
        file: &file,
        imports: &imports,
        tools: Vec::new(),
        tool_time: None,
        is_strict: true,
    };
    let fields = json!({"type": "custom", "module": "say_tools", "config": {"a": 1}});
    let entry = fields.as_object().expect("a mapping");
    let wanted = Wanted {
        role: &role,
        entries: vec![entry],
        types: Types::default(),
        sites: Vec::new(),
        depth: Depth::Run,
    };
    let ((host, python), context) = (rig.host(), context());
    let plugin = plugin(&wanted, PluginSettings::default());
    let python = rig.runtime.block_on(RolePython::open(&python, plugin));
    let findings = python.findings(0, entry, "tools[0]");
    assert!(findings.is_empty(), "{findings:?}");
    let tool = python.tools(0).pop().expect("a tool");
    let mut echo = Echo::start(Path::new("cat"), &[]);
    let (mut figures, mut limits) = (Vec::new(), Vec::new());
    for _ in 0..CALLS {
        figures.push(rig.call(&*tool, &context));
        limits.push(echo.round());
    }
    report.add(Row {
        what: "custom tool of a role: a warm call, against a pipe to `cat`".into(),
        unit: Unit::Milliseconds,
        figure: milliseconds(median(figures)),
        limit: Some(milliseconds(median(limits))),
        aim: Aim::Figure(0.3),
    });
    rig.runtime.block_on(host.shutdown());
}

fn imports(rig: &Rig, report: &mut Report) {
    let ours = stand_in();
    let has_real = command(&rig.python).args(["-I", "-c", IMPORT]).status();
    let has_real = has_real.is_ok_and(|status| status.success());
    let (mut bare, mut small, mut large) = (Vec::new(), Vec::new(), Vec::new());
    // The first round compiles, and counts for nothing.
    for round in 0..=STARTS {
        let times = (
            run(rig, "pass"),
            run(rig, &ours),
            if has_real { run(rig, IMPORT) } else { Duration::ZERO },
        );
        if round > 0 {
            bare.push(times.0);
            small.push(times.1);
            large.push(times.2);
        }
    }
    let [bare, small, large] = [bare, small, large].map(|times| milliseconds(median(times)));
    let mut add = |what: &str, figure: f64, limit: f64, aim: Aim| {
        let what = format!("import of `FunctionToolset`, {what}");
        report.add(Row { what, unit: Unit::Milliseconds, figure, limit: Some(limit), aim });
    };
    add("the stand-in, against `python3 -c pass`", small, bare, Aim::Nothing);
    if has_real {
        add("the stand-in, against the real package", small, large, Aim::Ratio(1.0));
    } else {
        report
            .note("the real `pydantic_ai` is not installed for `python3`, so it was not measured");
    }
}

/// What a worker does before a tool's module imports a toolset.
fn stand_in() -> String {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../python-host/python");
    let directory = directory.canonicalize().expect("the sources of the host");
    format!(
        "import sys\nhere = {:?}\nsys.path.insert(0, here + '/shim')\n\
         host = type(sys)('brynhild_host')\nhost.__path__ = [here]\n\
         sys.modules['brynhild_host'] = host\n\
         from brynhild_host.adapters.initrunner.imports import Imports\n\
         Imports('/nowhere', ()).begin()\n{IMPORT}\n",
        directory.display().to_string()
    )
}

fn run(rig: &Rig, code: &str) -> Duration {
    let kept = format!("pycache_prefix={}", rig.directory.path().join("pycache").display());
    let mut command = command(&rig.python);
    command.args(["-I", "-X", &kept, "-c", code]);
    let started = Instant::now();
    let status = command.status().expect("Python");
    let time = started.elapsed();
    assert!(status.success(), "{code}");
    time
}
