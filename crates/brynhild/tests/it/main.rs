//! Black-box tests: they run the shipped program against real servers, files and processes.
//! One binary, so that it is linked once. Each module names its subject.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod acp;
mod answers;
mod approvals;
mod attacks;
mod audit;
mod backends;
mod chibi;
mod claude;
mod command_line;
mod configuration;
mod crashes;
mod demonstration;
mod dist;
mod docs;
mod example_page;
mod faults;
mod file_rules;
mod friction;
mod getting_started;
mod git;
mod grants;
mod hooks;
mod initrunner;
mod initrunner_python;
mod interactive;
mod lmao;
mod mcp;
mod network;
mod page;
mod permissions;
mod pictures;
mod plugin_kit;
mod plugins;
mod probes;
mod providers;
mod python_host;
mod python_plugins;
mod reference;
mod rounds;
mod safe_mode;
mod sandbox_exit;
mod sandbox_hosts;
mod sandbox_run;
mod sdk;
mod serve;
mod sessions;
mod stats;
mod structure;
mod subagents;
mod terminal;
mod tools;
mod trust;
mod undo;
mod web;

use testkit::{ModelServer, Project};

/// A project whose program is the one that was just built.
fn project() -> Project {
    Project::with_binary(env!("CARGO_BIN_EXE_brynhild"))
}

/// A project whose default model is `server`, by the OpenAI-compatible wire format.
fn project_with(server: &ModelServer) -> Project {
    let project = project();
    project.config(&format!(
        "providers:\n  default: test\n  instances:\n    test:\n      type: openai\n      \
         base_url: {}/v1\n      default_model: test-model\n",
        server.url()
    ));
    project
}

/// Standard error without the warning about the sandbox, which depends on the machine.
fn without_sandbox_warning(stderr: &str) -> String {
    let is_other = |line: &&str| !line.starts_with("warning: the sandbox is landlock");
    stderr.lines().filter(is_other).fold(String::new(), |said, line| said + line + "\n")
}

/// Returns true if commands are confined by bubblewrap here; prints a notice if not.
fn has_bubblewrap() -> bool {
    let reports = project().brynhild(&["sandbox", "doctor", "--json"]).json();
    let is_chosen =
        |report: &serde_json::Value| report["backend"] == "bubblewrap" && report["chosen"] == true;
    let has = reports.as_array().unwrap().iter().any(is_chosen);
    if !has {
        let words = "SKIPPED: what only bubblewrap prevents, which this machine has not";
        std::io::Write::write_all(&mut std::io::stderr(), format!("{words}\n").as_bytes()).unwrap();
    }
    has
}

#[test]
fn every_test_file_is_part_of_this_binary() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    let list = include_str!("main.rs");
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "main") else {
            continue;
        };
        assert!(list.contains(&format!("mod {module};")), "{name} is not listed");
    }
}
