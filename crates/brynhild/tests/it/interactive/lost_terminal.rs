//! A program that is killed on the full screen, a terminal that goes away, sizes that no terminal
//! has.

use rustix::process::{Pid, kill_process};

use super::stress::steady;
use super::terminal_restore::{STATES, State, assert_usual};
use super::*;

const BINARY: &str = env!("CARGO_BIN_EXE_brynhild");
const SCRIPT: &str = "/usr/bin/script";

fn on_terminal(project: &Project, program: &str, args: &[&str]) -> Terminal {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let env = [
        ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
        ("HOME".into(), project.home().into()),
        ("TERM".into(), "xterm-256color".into()),
    ];
    Terminal::start(Path::new(program), &args, &env, &project.path(), SIZE)
}

#[test]
fn start_after_a_kill_restores_the_terminal() {
    let server = ModelServer::start([Reply::text("still here")]);
    let project = project_with(&server);
    let shell = "sh -c 'echo $$ > pid; exec \"$0\"' \"$0\"; echo \"first $?\"; \"$0\"; \
                 code=$?; stty -a; echo \"second $code\"; sleep 60";
    let terminal = on_terminal(&project, "/bin/sh", &["-c", shell, BINARY]);
    terminal.wait_for("Ask anything");
    let killed: i32 = project.read("pid").trim().parse().unwrap();
    kill_process(Pid::from_raw(killed).unwrap(), Signal::KILL).unwrap();
    terminal.wait_until("the second start", |screen| {
        screen.alternate_screen() && screen.contents().contains("Ask anything")
    });
    terminal.send("talk\r");
    terminal.wait_for("still here");
    wait_for_end_of_turn(&terminal);
    terminal.send("\x03\x03");
    terminal.wait_for("second 0");
    assert_usual(&terminal, "after a kill");
}

/// The types of the events of the newest session.
fn kinds(project: &Project) -> Vec<String> {
    let Ok(directory) = std::fs::read_dir(project.config_directory().join("sessions")) else {
        return Vec::new();
    };
    let logs = directory.map(|entry| entry.unwrap().path());
    let newest = logs.filter(|path| path.extension().is_some_and(|it| it == "jsonl")).max();
    let text = newest.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let kind = |line: &str| {
        let (_, json) = line.split_once(' ')?;
        let event: serde_json::Value = serde_json::from_str(json).ok()?;
        Some(event["type"].as_str()?.to_owned())
    };
    text.lines().filter_map(kind).collect()
}

fn closed_in(state: &State) {
    closed_when(state.name, (state.replies)(), state.reach);
}

fn closed_when(name: &str, mut replies: Vec<Reply>, reach: impl Fn(&Terminal, &ModelServer)) {
    replies.push(Reply::text("the last one"));
    let server = ModelServer::start(replies).repeat_last();
    let project = project_with(&server);
    // The program is on a terminal of its own, which goes away with the one who holds it.
    let terminal = on_terminal(&project, SCRIPT, &["-qec", BINARY, "/dev/null"]);
    terminal.wait_for("Ask anything");
    reach(&terminal, &server);
    let has_begun = kinds(&project).contains(&"turn_started".to_owned());
    terminal.signal(Signal::KILL);
    if !has_begun {
        return;
    }
    let deadline = Instant::now() + Duration::from_mins(1);
    while kinds(&project).last().is_none_or(|last| last != "session_ended") {
        assert!(Instant::now() < deadline, "{name}: {:?}", kinds(&project));
        std::thread::yield_now();
    }
    let again = project.brynhild(&["chat", "On", "--continue"]);
    assert!(again.success().stdout.contains("the last one"), "{name}: {again}");
}

#[test]
fn lost_terminal_closes_the_session() {
    if !Path::new(SCRIPT).exists() {
        return crate::crashes::skip("script is not here; terminals that go away not tested");
    }
    for state in STATES {
        closed_in(state);
    }
}

#[test]
fn terminal_lost_during_a_reply_keeps_the_session() {
    if !Path::new(SCRIPT).exists() {
        return crate::crashes::skip("script is not here; terminals that go away not tested");
    }
    let bash = || Reply::calls([("Bash", json!({"command": "echo x > x.txt"}))]);
    for point in 0..20_usize {
        let reply = if point % 2 == 0 { Reply::text("words that come and go") } else { bash() };
        // The first piece that is missing, from the headers on.
        let reply = reply.thinking("hm").delta_size(4).stall_at(point * 45);
        closed_when(&format!("point {point}"), vec![reply], |terminal, server| {
            terminal.send("talk\r");
            server.wait_for_stalls(1);
        });
    }
}

/// A reply of many pieces, half of which wait.
fn long_reply() -> Reply {
    let words: Vec<String> = (0..3000).map(|number| format!("word{number}")).collect();
    Reply::text(words.join(" ")).delta_size(24).stall_at(40_000)
}

/// The screen at the end of a long reply, without the line that has the time.
fn at_the_end(terminal: &Terminal) -> String {
    terminal.resize((90, 20));
    terminal.wait_until("the last frame, whole", |screen| {
        let rows: Vec<String> = screen.rows(0, 90).collect();
        let has = |words: &str| rows.iter().any(|row| row.contains(words));
        let is_wide = rows.iter().any(|row| row.chars().filter(|c| *c == '─').count() == 90);
        is_wide && has("word2999") && has("Ask anything")
    });
    steady(&terminal.screen())
}

#[test]
fn absurd_sizes_during_a_reply_are_tolerated() {
    let mut ends = Vec::new();
    for storm in [0, 1000] {
        let server = ModelServer::start([long_reply()]);
        let project = project_with(&server);
        let terminal = start(&project);
        terminal.send("talk\r");
        server.wait_for_stalls(1);
        let mut state = 7_u32;
        for number in 0..storm {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [a, b, kind, _] = state.to_le_bytes();
            let size = match kind % 8 {
                0 => (0, 0),
                1 => (1, 1),
                2 => (u16::from(a), 1),
                3 => (1, u16::from(b)),
                4 => (10_000, 3),
                _ => (u16::from(a) % 150, u16::from(b) % 50),
            };
            terminal.resize(size);
            if number == 200 {
                server.release();
            }
        }
        server.release();
        ends.push(at_the_end(&terminal));
        terminal.send("\x03\x03");
        assert_eq!(terminal.wait_for_end(), Some(0));
    }
    assert_eq!(ends[0], ends[1], "a storm ends with the screen that is there without one");
}

#[test]
fn blocked_terminal_delays_neither_turn_nor_exit() {
    if !Path::new(SCRIPT).exists() {
        return crate::crashes::skip("script is not here; terminals that are stuck not tested");
    }
    let words: Vec<String> = (0..12_000).map(|number| format!("word{number}")).collect();
    let server = ModelServer::start([Reply::text(words.join(" ")).delta_size(8).stall_at(4000)]);
    let project = project_with(&server);
    let command = format!("echo $$ > pid; exec {BINARY}");
    let terminal = on_terminal(&project, SCRIPT, &["-qec", &command, "/dev/null"]);
    terminal.wait_for("Ask anything");
    terminal.send("talk\r");
    server.wait_for_stalls(1);
    terminal.wait_for("word1 ");
    // The terminal stops reading.
    terminal.signal(Signal::STOP);
    server.release();
    let deadline = Instant::now() + Duration::from_mins(1);
    while !kinds(&project).contains(&"turn_finished".to_owned()) {
        assert!(Instant::now() < deadline, "{:?}", kinds(&project));
        std::thread::yield_now();
    }
    let process: i32 = project.read("pid").trim().parse().unwrap();
    let process = Pid::from_raw(process).unwrap();
    kill_process(process, Signal::TERM).unwrap();
    while kinds(&project).last().is_none_or(|last| last != "session_ended") {
        assert!(Instant::now() < deadline, "{:?}", kinds(&project));
        std::thread::yield_now();
    }
}

#[test]
fn double_control_c_stops_only_the_turn() {
    let server = ModelServer::start([Reply::text("never").withhold(), Reply::text("back")]);
    let project = project_with(&server);
    let terminal = start(&project);
    terminal.send("go\r");
    server.wait_for_requests(1);
    // What the second press announces is gone with the turn, perhaps before it is drawn: that it is
    // announced is tested where nothing is drawn in between, in `tui`.
    terminal.send("\x03\x03");
    terminal.wait_for("Interrupted");
    terminal.send("again\r");
    terminal.wait_for("back");
}
