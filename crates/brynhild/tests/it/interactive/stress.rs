//! Storms: hundreds of sizes, pastes of every kind, in every state; and signals that nobody sends
//! on purpose.

use super::terminal_restore::{STATES, assert_usual, start_in_state};
use super::*;

/// Sizes from none at all to a wall, in an order that has no pattern.
fn sizes(count: u32) -> impl Iterator<Item = (u16, u16)> {
    let mut chance = 11_u32;
    (0..count).map(move |number| {
        chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [_, a, b, _] = chance.to_le_bytes();
        match number % 5 {
            0 => (1, 1),
            1 => (300, 100),
            2 => (1, u16::from(b) % 100 + 1),
            3 => (u16::from(a) + 1, 1),
            _ => (u16::from(a) + 45, u16::from(b) % 99 + 2),
        }
    })
}

#[test]
fn repeated_resizing_in_any_state_gives_an_equal_screen() {
    for state in STATES {
        let (_server, _project, terminal) = start_in_state(state);
        // More of a reply may be on its way to the screen.
        let is_still = state.name != "streaming";
        let before = steady(&terminal.screen());
        for size in sizes(300) {
            terminal.resize(size);
        }
        terminal.resize(SIZE);
        terminal.wait_until(&format!("{}: the screen as it was", state.name), |screen| {
            let rows: Vec<String> =
                screen.rows(0, SIZE.0).map(|row| row.trim_end().to_owned()).collect();
            let now = steady(rows.join("\n").trim_end());
            let is_whole = rows.iter().any(|row| row.chars().filter(|c| *c == '─').count() == 100);
            now == before || (!is_still && is_whole && now.contains("┃ talk"))
        });
        terminal.signal(Signal::TERM);
        terminal.wait_for("code 143");
        assert_usual(&terminal, state.name);
    }
}

#[test]
fn absurd_sizes_are_drawn_within_limits() {
    for (columns, rows) in [(65535, 65535), (10_000, 1000), (65535, 1), (1, 65535)] {
        let server = ModelServer::start([Reply::text("a-word-at-last")]);
        let project = project_with(&server);
        let script = format!("stty cols {columns} rows {rows}; \"$0\"; echo \"code $?\"");
        let args = ["-c", &script, env!("CARGO_BIN_EXE_brynhild")].map(OsString::from);
        let env = [
            ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
            ("HOME".into(), project.home().into()),
            ("TERM".into(), "xterm-256color".into()),
        ];
        let terminal = Terminal::start(Path::new("/bin/sh"), &args, &env, &project.path(), SIZE);
        terminal.wait_for_output("\x1b[?1049h");
        terminal.send("hello\r");
        server.wait_for_requests(1);
        if columns > 100 && rows > 100 {
            terminal.wait_for_output("a-word-at-last");
        }
        terminal.send("\x11");
        terminal.wait_for_output("code 0");
    }
}

/// A screen without what moves: the last line, which has the time.
pub(super) fn steady(screen: &str) -> String {
    let mut lines: Vec<&str> = screen.lines().collect();
    lines.pop();
    lines.join("\n")
}

#[test]
fn paste_in_any_state_is_text() {
    for state in STATES {
        let (server, project, terminal) = start_in_state(state);
        terminal.send("\x1b[200~y\r\x03\x1by\x11 pasted\x1b]0;owned\x07 words\x1b[201~");
        match state.name {
            // A list searches for it; a dialog drops it and is locked for a moment.
            "picking" => drop(terminal.wait_for("No matches")),
            "asking" => {
                terminal.wait_until("the lock", |screen| !screen.contents().contains("Yes, once"));
                terminal.wait_for("Yes, once");
                assert_eq!(server.chats().len(), 1, "a paste has answered");
            }
            _ => wait_for_draft(&project, |draft| draft.contains(" pasted")),
        }
        assert!(!terminal.output().contains("\x1b]0;owned"), "{}", state.name);
        server.release();
        terminal.signal(Signal::TERM);
        terminal.wait_for("code 143");
        assert_usual(&terminal, state.name);
    }
}

#[test]
fn fatal_signals_restore_the_terminal() {
    for signal in [Signal::USR1, Signal::USR2, Signal::ALARM, Signal::ABORT, Signal::XCPU] {
        let server = ModelServer::start([Reply::text("x")]);
        let project = project_with(&server);
        let terminal = start(&project);
        terminal.signal(signal);
        assert_eq!(terminal.wait_for_end(), Some(143), "{signal:?}");
        assert_given_back(&terminal);
        let plain = project.terminal(&["--plain"], (80, 24));
        plain.wait_for("> ");
        plain.signal(signal);
        assert_eq!(plain.wait_for_end(), Some(143), "{signal:?}");
        let output = plain.output();
        assert!(
            output.rfind("\x1b[?2004l") > output.rfind("\x1b[?2004h"),
            "{signal:?}: {output:?}"
        );
    }
}
