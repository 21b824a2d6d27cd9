//! A fault of the program itself. The system refuses threads from some moment on, which the
//! libraries below answer with a panic.

use std::path::Path;

use testkit::{ModelServer, Project, Reply};

use super::task::STRACE;
use crate::crashes::kills::can_trace;
use crate::crashes::{BINARY, SESSION, project_around, records, skip};

const SIZE: (u16, u16) = (120, 30);
const KEY: &str = "sk-test-0123456789abcdef0123456789";

/// A project whose model is looked up by name, for which a thread is needed.
fn project(server: &ModelServer) -> Option<Project> {
    if !Path::new(STRACE).exists() || !can_trace(&Project::with_binary(STRACE)) {
        skip("strace is not here or may not trace; panics not tested");
        return None;
    }
    let project = project_around(STRACE, server);
    project.config(&format!(
        "providers:\n  default: test\n  instances:\n    test:\n      type: openai\n      \
         base_url: http://localhost:{}/v1\n      default_model: test-model\n      \
         api_key: {KEY}\nlogging:\n  enabled: false\n",
        server.address().port()
    ));
    Some(project)
}

/// Options that let the program begin so many threads and no more.
fn threads(count: usize) -> [String; 7] {
    let inject = format!("inject=clone3:error=EAGAIN:when={}+", count + 1);
    ["-qq", "-o", "/dev/null", "-e", "trace=clone3", "-e", &inject].map(str::to_owned)
}

#[test]
fn panic_names_its_place_and_the_session_continues() {
    let server = ModelServer::start([Reply::text("Later.")]).repeat_last();
    let Some(project) = project(&server) else { return };
    let mut words = threads(0).to_vec();
    words.extend([BINARY, "chat", "Go", "--session", SESSION].map(str::to_owned));
    let terminal = project.terminal(&words, SIZE);
    assert_eq!(terminal.wait_for_end(), Some(101), "{}", terminal.output());
    let output = terminal.output();
    assert!(output.contains("error: the program panicked at "), "{output}");
    assert!(output.contains(&format!("session {SESSION} is saved")), "{output}");
    assert!(!output.contains(KEY), "{output}");
    assert_eq!(records(&project)[&1]["type"], "session_started", "what was shown is kept");
    let again = [BINARY, "chat", "On", "--resume", SESSION];
    let again = project.command(&[&["-o", "/dev/null", "-e", "trace=none"], &again[..]].concat());
    assert_eq!(again.stdin("").run().success().stdout, "Later.\n");
}

#[test]
fn panic_restores_the_terminal() {
    let server = ModelServer::start([Reply::text("Never.")]).repeat_last();
    // How many threads there are before the first request depends on the machine.
    for count in 1..12 {
        let Some(project) = project(&server) else { return };
        let mut words = threads(count).to_vec();
        words.extend([BINARY, "--session", SESSION].map(str::to_owned));
        let terminal = project.terminal(&words, SIZE);
        let is_over = |contents: &str| contents.contains("Never.") || contents.contains("error: ");
        terminal.wait_until("a screen, or an end", |screen| {
            screen.contents().contains("Ask anything") || is_over(&screen.contents())
        });
        terminal.send("Go\r");
        let reached =
            terminal.wait_until("an answer, or an end", |screen| is_over(&screen.contents()));
        if reached.contains("Never.") {
            terminal.send("\x04");
            return skip("no panic came about in the full screen");
        }
        if terminal.output().contains("the program panicked") {
            assert_eq!(terminal.wait_for_end(), Some(101), "{}", terminal.output());
            terminal.wait_until("the terminal given back", |screen| {
                !screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste()
            });
            return;
        }
    }
    panic!("neither an answer nor a panic came about");
}
