//! `sandbox run`: any command confined, with its input, its end, and nothing left behind.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::process::Signal;
use testkit::{ModelServer, Reply};

use crate::git::shell;
use crate::{project, project_with};

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn nothing_is_written_in_read_only_mode_whatever_the_profile() {
    let project = project();
    let touch = ["sandbox", "run", "--profile", "workspace", "--", "touch", "made"];
    for flags in
        [&["--safe"][..], &["--mode", "read-only"], &["--safe", "--dangerously-skip-sandbox"]]
    {
        let run = project.brynhild(&[flags, &touch].concat());
        assert_ne!(run.status.code(), Some(0), "{run}");
        assert!(!project.path().join("made").exists(), "{flags:?}");
    }
    project.brynhild(&touch).success();
    assert!(project.path().join("made").exists());
}

#[test]
fn a_command_reads_our_standard_input() {
    let project = project();
    let run = project.command(&["sandbox", "run", "--", "wc", "-l"]).stdin("x\ny\n").run();
    assert_eq!(run.success().stdout.trim(), "2");
    let long = "0123456789abcdef\n".repeat(20_000);
    let run = project.command(&["sandbox", "run", "--", "cat"]).stdin(long.clone()).run();
    assert!(run.success().stdout == long, "{} bytes came back", run.stdout.len());
}

#[test]
fn a_command_that_reads_nothing_does_not_wait_for_input() {
    let project = project();
    let mut running = project.command(&["sandbox", "run", "--", "echo", "done"]).spawn();
    running.send("never read\n");
    running.wait_for_stdout("done");
    assert_eq!(running.wait().success().stdout, "done\n");
}

#[test]
fn a_program_that_is_not_there_has_the_code_that_shells_give() {
    let run = project().brynhild(&["sandbox", "run", "--", "no-such-program"]);
    run.code(127);
    assert!(run.stderr.contains("cannot start no-such-program"), "{run}");
    assert!(!run.stderr.contains("read_paths"), "{run}");
}

#[test]
fn a_program_in_the_hidden_home_is_said_to_be_hidden() {
    let project = project();
    let program = project.home().join("bin/mine");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(&program, "#!/bin/sh\necho ran\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();
    let run = project.brynhild(&["sandbox", "run", "--", program]);
    assert!([Some(126), Some(127)].contains(&run.status.code()), "{run}");
    assert!(run.stderr.contains("`sandbox.read_paths`"), "{run}");
    let folder = project.home().join("bin");
    project.config(&format!("sandbox: {{read_paths: [{}]}}\n", folder.display()));
    let run = project.brynhild(&["sandbox", "run", "--", program]);
    assert_eq!(run.success().stdout, "ran\n");
}

#[test]
fn a_signal_ends_the_command_and_leaves_nothing_in_the_project() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let project = project();
        let before = names(&project.path());
        let script = "echo ready; exec sleep 600";
        let running = project.command(&["sandbox", "run", "--", "bash", "-c", script]).spawn();
        running.wait_for_stdout("ready");
        running.signal(signal);
        running.wait().code(code);
        assert_eq!(names(&project.path()), before, "{signal:?}");
    }
}

#[test]
fn what_a_kill_leaves_in_the_project_is_gone_at_the_next_conversation() {
    let server = ModelServer::start([Reply::text("hello")]);
    let project = project_with(&server);
    let before = names(&project.path());
    let script = "echo ready; exec sleep 600";
    let running = project.command(&["sandbox", "run", "--", "bash", "-c", script]).spawn();
    running.wait_for_stdout("ready");
    running.kill();
    running.wait();
    project.brynhild(&["chat", "hi"]).success();
    assert_eq!(names(&project.path()), before);
}

#[test]
fn hooks_that_the_user_s_settings_name_go_wherever_those_settings_are() {
    for (variable, place) in [("XDG_CONFIG_HOME", "moved"), ("GIT_CONFIG_GLOBAL", "global")] {
        let project = project();
        shell(&project, "git init -q .");
        let place = project.home().join(place);
        let file =
            if variable.starts_with("XDG") { place.join("git/config") } else { place.clone() };
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "[core]\n\thooksPath = .githooks\n").unwrap();
        let script = "mkdir .githooks; echo evil > .githooks/pre-commit";
        let run = project.command(&["sandbox", "run", "--", "sh", "-c", script]);
        let run = run.env(variable, &place).run();
        assert!(run.success().stderr.contains("moved to"), "{variable}: {run}");
        assert!(!project.path().join(".githooks").exists(), "{variable}: {run}");
    }
}
