//! Six states by five signals: however the program ends, the terminal is as it was.

use super::*;

/// A shell that starts the program, survives every signal, and then says how the terminal is.
const SHELL: &str = "trap : INT TERM HUP QUIT TSTP; \"$0\"; code=$?; stty -a; echo \"code $code\"; \
                     sleep 60";

/// The state to be in when a signal comes: what to send, and what to wait for.
pub(super) struct State {
    pub(super) name: &'static str,
    pub(super) replies: fn() -> Vec<Reply>,
    pub(super) reach: fn(&Terminal, &ModelServer),
}

pub(super) const STATES: &[State] = &[
    State { name: "idle", replies: Vec::new, reach: |_, _| {} },
    State {
        name: "writing",
        replies: Vec::new,
        reach: |terminal, _| {
            terminal.send("half a\x1b\rmessage");
            terminal.wait_for("message");
        },
    },
    State {
        name: "streaming",
        replies: || vec![Reply::text("one two three four five six").stall_at(300)],
        reach: |terminal, server| {
            terminal.send("talk\r");
            server.wait_for_stalls(1);
            terminal.wait_for("┃ talk");
        },
    },
    State {
        name: "running a tool",
        replies: || {
            let command = json!({"command": "echo begun; sleep 60; touch made"});
            vec![Reply::calls([("Bash", command)])]
        },
        reach: |terminal, _| {
            terminal.send("work\r");
            // The result, not the call.
            terminal.wait_for("│ begun");
        },
    },
    State {
        name: "asking",
        replies: || vec![Reply::calls([("Bash", json!({"command": "git reset --hard"}))])],
        reach: |terminal, _| {
            terminal.send("work\r");
            terminal.wait_for("Yes, once");
        },
    },
    State {
        name: "picking",
        replies: Vec::new,
        reach: |terminal, _| {
            terminal.send("\x1bOR");
            terminal.wait_for("Type to filter");
        },
    },
];

pub(super) fn in_shell(project: &Project) -> Terminal {
    let terminal = in_shell_after(project, "");
    terminal.wait_for("Ask anything");
    terminal
}

/// Like `in_shell`, after another command; does not wait.
pub(super) fn in_shell_after(project: &Project, before: &str) -> Terminal {
    let shell = format!("{before}{SHELL}");
    let args: Vec<OsString> =
        ["-c", &shell, env!("CARGO_BIN_EXE_brynhild")].into_iter().map(OsString::from).collect();
    let env = [
        ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
        ("HOME".into(), project.home().into()),
        ("TERM".into(), "xterm-256color".into()),
    ];
    Terminal::start(Path::new("/bin/sh"), &args, &env, &project.path(), SIZE)
}

/// The program in a state, with an answer more than that takes.
pub(super) fn start_in_state(state: &State) -> (ModelServer, Project, Terminal) {
    let mut replies = (state.replies)();
    replies.push(Reply::text("the last one"));
    let server = ModelServer::start(replies);
    let project = project_with(&server);
    let terminal = in_shell(&project);
    // The first screen is complete.
    terminal.wait_for("sandboxed, no network");
    (state.reach)(&terminal, &server);
    (server, project, terminal)
}

/// Continues a program that is about to stop, as a shell does once it has.
fn go_on(terminal: &Terminal) {
    go_on_with(terminal, "test-model");
}

/// Continues the program until it shows something again.
fn go_on_with(terminal: &Terminal, text: &str) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !terminal.screen().contains(text) {
        assert!(Instant::now() < deadline, "it does not go on:\n{}", terminal.screen());
        terminal.signal(Signal::CONT);
        std::thread::yield_now();
    }
    terminal.wait_until("the other screen again", |screen| {
        screen.alternate_screen() && screen.contents().contains(text)
    });
}

#[track_caller]
pub(super) fn assert_usual(terminal: &Terminal, case: &str) {
    assert_given_back(terminal);
    let screen = terminal.screen();
    let modes: Vec<&str> = screen.split_whitespace().collect();
    for mode in ["icanon", "isig", "echo", "icrnl", "opost"] {
        assert!(modes.contains(&mode), "{case}: {mode} is off:\n{screen}");
    }
}

fn ended_by(state: &State, signal: Signal, code: i32) {
    let case = format!("{} and {signal:?}", state.name);
    let (_server, _project, terminal) = start_in_state(state);
    terminal.signal(signal);
    terminal.wait_for(&format!("code {code}"));
    assert_usual(&terminal, &case);
}

#[test]
fn sigint_restores_the_terminal() {
    for state in STATES {
        ended_by(state, Signal::INT, 130);
    }
}

#[test]
fn sigterm_restores_the_terminal() {
    for state in STATES {
        ended_by(state, Signal::TERM, 143);
    }
}

#[test]
fn sighup_restores_the_terminal() {
    for state in STATES {
        ended_by(state, Signal::HUP, 129);
    }
}

#[test]
fn sigquit_restores_the_terminal() {
    for state in STATES {
        ended_by(state, Signal::QUIT, 131);
    }
}

#[test]
fn stop_and_continue_restore_and_retake_the_terminal() {
    for state in STATES {
        let (_server, _project, terminal) = start_in_state(state);
        terminal.signal(Signal::TSTP);
        assert_given_back(&terminal);
        go_on(&terminal);
        terminal.signal(Signal::TERM);
        terminal.wait_for("code 143");
        assert_usual(&terminal, state.name);
    }
}

#[test]
fn suspend_key_returns_to_the_shell() {
    let server = ModelServer::start([Reply::text("x")]);
    let project = project_with(&server);
    let terminal = in_shell(&project);
    terminal.send("kept\x1a");
    assert_given_back(&terminal);
    go_on(&terminal);
    terminal.wait_for("> kept");
    terminal.send("\x11");
    terminal.wait_for("code 0");
    assert_usual(&terminal, "Ctrl+Z");
}

#[test]
fn suspend_key_works_at_the_trust_question() {
    let server = ModelServer::start([Reply::text("x")]);
    let project = project_with(&server);
    project.file(".brynhild/config.yaml", "permissions: {allow: [\"Bash(echo *)\"]}\n");
    let terminal = in_shell_after(&project, "");
    terminal.wait_for("Trust this directory");
    terminal.send("\x1a");
    assert_given_back(&terminal);
    go_on_with(&terminal, "Text only");
    terminal.send("n");
    terminal.wait_for("Ask anything");
    terminal.send("\x11");
    terminal.wait_for("code 0");
    assert_usual(&terminal, "Ctrl+Z");
}

#[test]
fn typed_line_survives_the_suspend_key() {
    let server = ModelServer::start([Reply::text("x")]);
    let project = project_with(&server);
    let shell =
        "set -m; \"$0\" --plain; stty sane; echo; echo stopped; fg > /dev/null; echo code $?";
    let args: Vec<OsString> =
        ["-c", shell, env!("CARGO_BIN_EXE_brynhild")].into_iter().map(OsString::from).collect();
    let env = [
        ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
        ("HOME".into(), project.home().into()),
        ("TERM".into(), "xterm-256color".into()),
    ];
    let terminal = Terminal::start(Path::new("/bin/sh"), &args, &env, &project.path(), SIZE);
    terminal.wait_for("> ");
    terminal.send("kept\x1a");
    terminal.wait_until("the line after the stop", |screen| {
        let text = screen.contents();
        text.split_once("stopped").is_some_and(|(_, after)| after.contains("> kept"))
    });
    terminal.send("\x01X\r");
    server.wait_for_requests(1);
    assert!(server.chats()[0].text.contains("Xkept"));
    assert_eq!(terminal.history().matches("kept").count(), 2, "{}", terminal.history());
    terminal.send("\x04");
    terminal.wait_for("code 0");
}

#[test]
fn regular_exit_restores_the_terminal() {
    let server = ModelServer::start([Reply::text("x")]);
    let project = project_with(&server);
    let terminal = in_shell(&project);
    terminal.send("\x03\x03");
    terminal.wait_for("code 0");
    assert_usual(&terminal, "Ctrl+C twice");
}

/// Not a test of its own: what the next one runs, on a terminal.
#[test]
#[ignore = "run by another test, on a terminal"]
fn child_process_panics_after_drawing() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    let Ok(mut screen) =
        tui::Screen::take(tui::ScreenOptions { mouse: true, ..tui::ScreenOptions::default() })
    else {
        return;
    };
    let mut app = tui::App::new(tui::Settings::default(), Instant::now());
    screen.draw(|frame| app.draw(frame)).unwrap();
    panic!("the picture fell off");
}

#[test]
fn panic_restores_the_terminal_and_is_reported() {
    let name = "interactive::terminal_restore::child_process_panics_after_drawing";
    let script = format!(
        "\"$0\" {name} --exact --ignored --nocapture --test-threads=1; stty -a; echo over; sleep 60"
    );
    let own = std::env::current_exe().unwrap();
    let args = [OsString::from("-c"), script.into(), own.into()];
    let env = [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    let directory = tempfile::tempdir().unwrap();
    let terminal = Terminal::start(Path::new("/bin/sh"), &args, &env, directory.path(), SIZE);
    let screen = terminal.wait_for("over");
    assert!(terminal.output().contains("\x1b[?1049h"), "it was taken:\n{screen}");
    assert!(terminal.history().contains("the picture fell off"), "{}", terminal.history());
    assert_usual(&terminal, "a panic");
    terminal.signal(Signal::KILL);
}
