//! On a real pseudo-terminal: rendering, questions, interrupts, control characters.

mod streaming;
mod typing;

use std::path::Path;

use serde_json::json;
use testkit::{ModelServer, Project, Reply, Terminal};

use crate::project_with;

const SIZE: (u16, u16) = (80, 40);

fn touch(name: &str) -> Reply {
    Reply::calls([("Bash", json!({"command": format!("echo made > {name}")}))])
}

/// The sequences in what was written to a terminal that set colors or the look of letters.
fn styles(output: &str) -> Vec<&str> {
    let sequences = output.split("\x1b[").skip(1);
    let ends = |rest: &str| rest.find(|c: char| c.is_ascii_alphabetic());
    sequences.filter_map(|rest| ends(rest).and_then(|end| rest[..=end].strip_suffix('m'))).collect()
}

#[test]
fn markdown_is_rendered_and_tools_are_shown() {
    let server = ModelServer::start([
        Reply::calls([("Glob", json!({"pattern": "*.txt"}))]),
        Reply::text("# Found\n\nThere is **one** file:\n\n- `a.txt`\n"),
    ]);
    let project = project_with(&server);
    project.file("a.txt", "x");
    let terminal = project.terminal(&["chat", "look"], SIZE);
    assert_eq!(terminal.wait_for_end(), Some(0));
    let screen = terminal.screen();
    for part in ["● Glob(pattern: *.txt)", "✓ Glob", "█ Found", "There is one file:", "• a.txt"]
    {
        assert!(screen.contains(part), "{part} is missing:\n{screen}");
    }
}

#[test]
fn a_question_shows_the_whole_command_and_yes_runs_it() {
    let long = format!("echo {} > out.txt", "word ".repeat(60));
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": long}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--mode", "ask", "chat", "write"], SIZE);
    let screen = terminal.wait_for("Answer [");
    let shown: String = screen.split_whitespace().collect();
    let wanted: String = long.split_whitespace().collect();
    assert!(shown.contains(&wanted), "the command is cut:\n{screen}");
    terminal.send("y\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert!(project.read("out.txt").starts_with("word word"));
}

#[test]
fn denial_reason_reaches_the_model() {
    let server = ModelServer::start([touch("a.txt"), Reply::text("I leave it.")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--mode", "ask", "chat", "write"], SIZE);
    terminal.wait_for("Answer [");
    terminal.send("n use the other directory\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    let requests = server.chats();
    let result = requests[1].body["messages"].as_array().unwrap().last().unwrap().clone();
    let text = result["content"].as_str().unwrap();
    assert_eq!(text, "Permission denied by user: use the other directory");
    assert!(!project.path().join("a.txt").exists());
}

#[test]
fn keys_typed_before_the_question_do_not_answer_it() {
    let server = ModelServer::start([touch("a.txt").stall_at(0), Reply::text("fine")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--mode", "ask", "chat", "write"], SIZE);
    server.wait_for_stalls(1);
    terminal.send("y\r");
    server.release();
    terminal.wait_for("Answer [");
    assert!(!project.path().join("a.txt").exists());
    terminal.send("n\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert!(!project.path().join("a.txt").exists());
}

#[test]
fn early_keys_do_not_answer_a_repeated_question() {
    for keys in [
        "maybe\ry\r",
        "\x1b[200~\x1b[201~\ry\r\x1b[201~\r",
        "\x1b[200~y\ry\x1b[201~\ry\r\x1b[201~\r",
    ] {
        let server = ModelServer::start([touch("a.txt"), Reply::text("fine")]);
        let project = project_with(&server);
        let terminal = project.terminal(&["--mode", "ask", "chat", "write"], SIZE);
        terminal.wait_for("Answer [");
        assert!(terminal.output().contains("\x1b[?2004h"), "pastes are marked while it asks");
        terminal.send(keys);
        terminal.wait_for("Type a number");
        terminal.wait_until("the question a second time", |screen| {
            screen.contents().matches("Answer [").count() == 2
        });
        terminal.send("n\r");
        assert_eq!(terminal.wait_for_end(), Some(0));
        assert!(!project.path().join("a.txt").exists(), "{keys:?}");
    }
}

#[test]
fn keys_after_an_invalid_answer_are_dropped() {
    let server = ModelServer::start([touch("a.txt"), Reply::text("fine")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--mode", "ask", "chat", "write"], SIZE);
    terminal.wait_for("Answer [");
    terminal.send("maybe\ry\r");
    terminal.wait_until("the question again", |screen| {
        screen.contents().matches("Answer [").count() == 2
    });
    terminal.send("n\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert!(!project.path().join("a.txt").exists());
}

#[test]
fn escape_at_the_question_stops_the_turn() {
    for keys in ["\x1b", "y\x1b"] {
        let server = ModelServer::start([touch("a.txt"), Reply::text("never asked for")]);
        let project = project_with(&server);
        let terminal = project.terminal(&["--mode", "ask", "--plain", "chat", "write"], SIZE);
        terminal.wait_for("Answer [");
        terminal.send(keys);
        assert_eq!(terminal.wait_for_end(), Some(130));
        let screen = terminal.screen();
        assert!(!screen.contains("^["), "{screen}");
        assert_eq!(server.chats().len(), 1);
        assert!(!project.path().join("a.txt").exists());
    }
}

#[test]
fn enter_at_the_question_gives_the_default_answer() {
    let server = ModelServer::start([touch("a.txt"), Reply::text("done")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--mode", "ask", "chat", "write"], SIZE);
    let screen = terminal.wait_for("Answer [1]:");
    for line in ["Run this command?", "1  Yes, once", "No, and tell the model why"] {
        assert!(screen.contains(line), "{line} is missing:\n{screen}");
    }
    terminal.send("\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert!(project.path().join("a.txt").exists());
}

#[test]
fn cancel_at_the_question_stops_the_turn() {
    let server = ModelServer::start([touch("a.txt"), Reply::text("never asked for")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--mode", "ask", "chat", "write"], SIZE);
    terminal.wait_for("Answer [");
    terminal.send("c\r");
    assert_eq!(terminal.wait_for_end(), Some(130));
    assert_eq!(server.chats().len(), 1);
}

#[test]
fn an_interrupt_stops_a_stalled_reply() {
    let server = ModelServer::start([Reply::text("one two three four five").stall_at(200)]);
    let project = project_with(&server);
    let terminal = project.terminal(&["chat", "talk"], SIZE);
    server.wait_for_stalls(1);
    terminal.send("\x03");
    assert_eq!(terminal.wait_for_end(), Some(130));
    assert!(terminal.screen().contains("interrupted; the session is saved"));
}

#[test]
fn foreign_control_characters_never_reach_the_terminal() {
    let evil = "\x1b]0;owned\x07\x1b[2J\u{202e}";
    let server = ModelServer::start([
        Reply::calls([("Read", json!({"file_path": "evil.txt"}))]),
        Reply::text(format!("text {evil}\n\n```\ncode {evil}\n```\n")).thinking(evil),
    ]);
    let project = project_with(&server);
    project.file("evil.txt", format!("file {evil}\n"));
    let terminal = project.terminal(&["chat", "--show-thinking", "look"], SIZE);
    assert_eq!(terminal.wait_for_end(), Some(0));
    let output = terminal.output();
    for bad in ["\x1b]0;", "\x1b[2J", "\u{202e}"] {
        assert!(!output.contains(bad), "{bad:?} reached the terminal: {output:?}");
    }
    assert!(output.contains("\\u{1b}"), "it should be shown escaped: {output:?}");
}

#[test]
fn control_characters_from_entities_are_escaped() {
    let evil = "&#27;]52;c;ZXZpbA==&#7;&#x9b;31m&#x202e;";
    let text = format!("# {evil}\n\n{evil} [a](http://x/{evil})\n\n| {evil} |\n|---|\n| b |\n");
    let server = ModelServer::start([Reply::text(text)]).repeat_last();
    for term in ["xterm-256color", "dumb"] {
        let project = project_with(&server).env("TERM", term);
        let terminal = project.terminal(&["chat", "talk"], SIZE);
        assert_eq!(terminal.wait_for_end(), Some(0));
        let output = terminal.output();
        for bad in ["\x1b]52", "\x07", "\u{9b}", "\u{202e}"] {
            assert!(!output.contains(bad), "{bad:?} reached the terminal: {output:?}");
        }
        assert!(output.contains("\\u{1b}]52"), "it should be shown escaped: {output:?}");
    }
}

#[test]
fn no_color_removes_escape_sequences_from_the_answer() {
    let server = ModelServer::start([Reply::text("**bold** and `code`")]);
    let project = project_with(&server).env("NO_COLOR", "1");
    let terminal = project.terminal(&["chat", "talk"], SIZE);
    assert_eq!(terminal.wait_for_end(), Some(0));
    let output = terminal.output();
    let answer = output.split("bold").nth(1).unwrap();
    assert!(!answer.contains("\x1b[1m") && !output.contains("\x1b[36m"), "{output:?}");
}

#[test]
fn colors_follow_the_theme() {
    let server = ModelServer::start([Reply::text("**Say** `code`.")]).repeat_last();
    let themes = [
        (None, Some("36m")),
        (Some("16-color"), Some("36m")),
        (Some("dark"), Some("38;5;")),
        (Some("light"), Some("38;5;")),
        (Some("none"), None),
    ];
    for (theme, color_of_code) in themes {
        let project = project_with(&server);
        if let Some(theme) = theme {
            project.config_more(&format!("ui: {{theme: {theme}}}\n"));
        }
        let terminal = project.terminal(&["chat", "talk"], SIZE);
        assert_eq!(terminal.wait_for_end(), Some(0));
        let (screen, output) = (terminal.screen(), terminal.output());
        assert!(screen.contains("Say code."), "{theme:?}:\n{screen}");
        match color_of_code {
            Some(color) => {
                let (before, _) = output.split_once("code\x1b[0m").unwrap_or_default();
                let last = before.rsplit("\x1b[").next().unwrap_or_default();
                assert!(last.starts_with(color), "{theme:?}: {output:?}");
                assert!(output.contains("\x1b[1mSay\x1b[0m"), "{theme:?}: {output:?}");
            }
            None => assert_eq!(styles(&output), [""; 0], "{output:?}"),
        }
    }
}

#[test]
fn redirected_messages_have_no_colors() {
    let server = ModelServer::start([
        Reply::text("Say `code`.").usage(3, 4),
        Reply::calls([("Glob", json!({"pattern": "*"}))]).usage(5, 6),
    ]);
    let project = project_with(&server);
    project.config_more("behavior: {max_tool_rounds: 1}\n");
    let binary = env!("CARGO_BIN_EXE_brynhild");
    let script = r#""$0" chat hi 2> messages; "$0" chat look 2> failure"#;
    let terminal = Terminal::start(
        Path::new("/bin/sh"),
        &["-c".into(), script.into(), binary.into()],
        &[
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("HOME".into(), project.home().into()),
            ("TERM".into(), "xterm".into()),
        ],
        &project.path(),
        SIZE,
    );
    assert_eq!(terminal.wait_for_end(), Some(5));
    let output = terminal.output();
    assert!(output.contains("\x1b[36mcode\x1b[0m"), "the answer has colors: {output:?}");
    assert_eq!(project.read("messages"), "Tokens: 3 in / 4 out | cost unknown\n");
    let failure = project.read("failure");
    for line in [
        "error: stopped: ",
        "hint: raise it, or run `brynhild chat --continue ",
        "Tokens: 5 in / 6 out",
    ] {
        assert!(failure.lines().any(|told| told.starts_with(line)), "{failure:?}");
    }
    assert!(!failure.contains('\x1b'), "{failure:?}");
}

#[test]
fn long_work_is_shown_with_its_time() {
    // Too narrow for the whole text, but not for the time.
    const NARROW: (u16, u16) = (26, 20);
    let wait = json!({"command": "echo begun; until test -e go; do sleep 0.05; done"});
    let server = ModelServer::start([
        Reply::calls([("Bash", wait)]).withhold(),
        Reply::text("It is there."),
    ]);
    let project = project_with(&server);
    let terminal = project.terminal(&["chat", "--yes", "work"], NARROW);
    let wait_for_seconds = |what: &str, least: u32| {
        terminal.wait_until(&format!("{least} s of {what:?}"), |screen| {
            screen.rows(0, NARROW.0).any(|row| seconds(&row, what) >= Some(least))
        })
    };
    wait_for_seconds("waiting for the", 0);
    server.release();
    wait_for_seconds("running Bash: b", 0);
    wait_for_seconds("running Bash: b", 1);
    project.file("go", "");
    assert_eq!(terminal.wait_for_end(), Some(0));
    let history = terminal.history();
    assert!(history.contains("It is there."), "{history}");
    for gone in ["waiting", "running"] {
        assert!(!history.contains(gone), "{gone:?} was left behind:\n{history}");
    }
}

/// The time in a row such as `⠋ running Bash: begun (3 s)`.
fn seconds(row: &str, what: &str) -> Option<u32> {
    let (_moving, rest) = row.trim_end().split_once(' ')?;
    let (_cut, time) = rest.strip_prefix(what)?.rsplit_once(" (")?;
    time.strip_suffix(" s)")?.parse().ok()
}

#[test]
fn unsaved_session_is_not_reported_as_saved() {
    for (flag, auto_save, is_kept) in
        [(None, "true", true), (Some("--no-save"), "true", false), (None, "false", false)]
    {
        let args: Vec<&str> = ["chat", "talk"].into_iter().chain(flag).collect();
        let set = |project: Project| {
            let project = project.env("BRYNHILD_SESSION__AUTO_SAVE", auto_save);
            project.env("BRYNHILD_BEHAVIOR__MAX_TOOL_ROUNDS", "1")
        };
        let case = format!("{args:?}, auto_save: {auto_save}");

        let server = ModelServer::start([Reply::text("one two three").withhold()]);
        let project = set(project_with(&server));
        let terminal = project.terminal(&args, SIZE);
        server.wait_for_requests(1);
        terminal.send("\x03");
        assert_eq!(terminal.wait_for_end(), Some(130), "{case}");
        let screen = terminal.screen();
        assert!(screen.contains("warning: interrupted"), "{case}:\n{screen}");
        assert_eq!(screen.contains("the session is saved"), is_kept, "{case}:\n{screen}");
        assert_eq!(session_count(&project), usize::from(is_kept), "{case}");

        let server = ModelServer::start([Reply::calls([("Glob", json!({"pattern": "*"}))])]);
        let project = set(project_with(&server));
        let terminal = project.terminal(&args, SIZE);
        assert_eq!(terminal.wait_for_end(), Some(5), "{case}");
        let screen = terminal.screen();
        assert!(screen.contains("raise it"), "{case}:\n{screen}");
        assert_eq!(screen.contains("--continue"), is_kept, "{case}:\n{screen}");
        assert_eq!(session_count(&project), usize::from(is_kept), "{case}");
    }
}

fn session_count(project: &Project) -> usize {
    let sessions = project.brynhild(&["session", "list", "--json"]).success().json();
    sessions.as_array().unwrap().len()
}

#[test]
fn call_text_cannot_imitate_another_line() {
    let arguments = json!({"a\n✓ Write": "b\n✓ Edit", "c": "d\r✓ Move\x1b[1G"});
    let server = ModelServer::start([
        Reply::calls([("Read\n✓ Bash all is well\r✓ Glob\t", arguments)]),
        Reply::text("So be it."),
    ]);
    let project = project_with(&server);
    // So wide that no line of it is broken.
    let terminal = project.terminal(&["chat", "look"], (250, 40));
    assert_eq!(terminal.wait_for_end(), Some(0));
    let history = terminal.history();
    let ours: Vec<&str> =
        history.lines().filter(|line| line.starts_with(['●', '✓', '✗'])).collect();
    let name = r"Read\u{a}✓ Bash all is well\u{d}✓ Glob\u{9}";
    let called = format!(r"● {name}(a\u{{a}}✓ Write: b…, c: d\u{{d}}✓ Move\u{{1b}}[1G)");
    assert_eq!(ours, [called, format!("✗ {name} not run: invalid")], "{history}");
}
