//! Runs a shell in the place of the executable.

use std::os::unix::process::ExitStatusExt;

use rustix::process::Signal;

use super::*;

fn shell() -> Project {
    Project::with_binary("/bin/sh")
}

#[test]
fn a_run_sees_only_the_environment_it_was_given() {
    let project = shell().env("EVERYWHERE", "1");
    let run = project.command(&["-c", "env"]).env("HERE", "2").run();
    let mut names: Vec<&str> = run
        .stdout
        .lines()
        .filter_map(|line| line.split('=').next())
        .filter(|name| !["PWD", "SHLVL", "_", "OLDPWD"].contains(name))
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["EVERYWHERE", "HERE", "HOME", "LANG", "PATH", "PIP_NO_INDEX"]);
    let home = format!("HOME={}", project.home().display());
    assert!(run.stdout.contains(&home), "{run}");
}

#[test]
fn files_are_written_and_read_in_the_project_and_the_home() {
    let project = shell();
    project.file("src/a.txt", "text").config("version: 1\n");
    let script = "cat src/a.txt $HOME/.config/brynhild/config.yaml; echo changed > src/a.txt";
    let run = project.brynhild(&["-c", script]);
    assert_eq!(run.success().stdout, "textversion: 1\n");
    assert_eq!(project.read("src/a.txt"), "changed\n");
}

#[test]
fn run_has_code_outputs_input_and_directory() {
    let project = shell();
    project.file("sub/x", "");
    let command = project.command(&["-c", "cat; ls; echo bad >&2; exit 3"]);
    let run = command.stdin("in\n").cwd("sub").run();
    run.code(3);
    assert_eq!(
        run.to_string(),
        "exit code: 3\n----- stdout -----\nin\nx\n\n----- stderr -----\nbad\n"
    );
    assert_eq!(project.brynhild(&["-c", "cat"]).success().stdout, "");
}

#[test]
#[should_panic(expected = "all of it")]
fn an_unexpected_code_shows_the_output() {
    shell().brynhild(&["-c", "echo all of it >&2; exit 1"]).success();
}

#[test]
fn output_can_be_read_as_json() {
    let run = shell().brynhild(&["-c", r#"echo '{"a": 1}'"#]);
    assert_eq!(run.json()["a"], 1);
    let run = shell().brynhild(&["-c", r#"echo '{"a": 1}'; echo '{"a": 2}'"#]);
    assert_eq!(run.json_lines()[1]["a"], 2);
}

#[test]
fn running_process_accepts_input_and_can_be_killed() {
    let project = shell();
    let mut running = project.command(&["-c", "read a; echo got $a; read b"]).spawn();
    running.send("one\n");
    running.wait_for_stdout("got one");
    running.kill();
    let run = running.wait();
    assert_eq!(run.status.signal(), Some(Signal::KILL.as_raw()));
    assert!(run.to_string().starts_with("signal: 9\n"), "{run}");
}

#[test]
fn an_interrupt_reaches_the_process() {
    let script = "trap 'echo caught; exit 130' INT; echo ready; while :; do read x; done";
    let project = shell();
    let running = project.command(&["-c", script]).spawn();
    running.wait_for_stdout("ready");
    running.interrupt();
    assert_eq!(running.wait().code(130).stdout, "ready\ncaught\n");
}

#[test]
fn dropping_a_running_process_ends_its_group() {
    let project = shell();
    let running = project.command(&["-c", "mkfifo pipe; cat pipe & echo $! ; read x"]).spawn();
    running.wait_for_stdout("\n");
    let run = running.stdout();
    let child: i32 = run.trim().parse().expect("a process id");
    drop(running);
    let child = rustix::process::Pid::from_raw(child).expect("not 0");
    // The signal is delivered asynchronously; wait for the end.
    while rustix::process::test_kill_process(child).is_ok() && !is_zombie(child) {
        std::thread::yield_now();
    }
}

fn is_zombie(pid: rustix::process::Pid) -> bool {
    let status = format!("/proc/{}/stat", pid.as_raw_nonzero());
    std::fs::read_to_string(status).is_ok_and(|stat| stat.contains(") Z "))
}

#[test]
#[should_panic(expected = "waited for \"never\" on its standard output, but it ended")]
fn wait_for_output_fails_when_the_process_ends() {
    let running = shell().command(&["-c", "echo other"]).spawn();
    running.wait_for_stdout("never");
}

#[test]
fn the_executable_can_be_run_on_a_terminal() {
    let project = shell();
    let terminal = project.terminal(&["-c", "test -t 1 && echo on $TERM in $PWD"], (200, 10));
    let screen = terminal.wait_for("on xterm-256color");
    assert!(screen.ends_with("/project"), "{screen}");
}
