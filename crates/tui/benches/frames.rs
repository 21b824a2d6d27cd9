//! The cost of frames and keys, against the aims: a frame under 4 ms at 200x60 with 100,000 lines, a
//! key on the screen within 10 ms while 10,000 pieces a second stream in.
//!
//! `cargo bench -p tui` prints within which time half of them are, 95 of 100, and 99 of 100.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::event::{CallOutcome, Event, EventKind, Piece};
use contract::id::{CallId, Seq, SessionId, Timestamp};
use contract::message::{Part, Reply, StopReason, ToolCall, Usage};
use contract::policy::Mode;
use contract::tool::{Display, ToolOutput};
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;
use tui::host::Answer;
use tui::input::Input;
use tui::key::{Code, Key};
use tui::message::Message;
use tui::{App, Settings};

const RUNS: usize = 200;

fn event(what: EventKind) -> Event {
    let session = SessionId::parse("bench").expect("a name");
    Event { seq: Seq(1), session, at: Timestamp::now(), within: None, kind: what }
}

/// A hundred thousand lines of prose, code and lists, in blocks of a hundred.
fn history() -> Vec<Event> {
    let lines = "Some words about the matter at hand, **bold** and `code` among them.\n\n\
                 - an item of a list that goes on for a while\n- another one\n\n\
                 ```rust\nfn main() {\n    println!(\"{}\", 42);\n}\n```\n\n";
    let per_text = lines.lines().count();
    let text = lines.repeat(100 / per_text);
    (0..1000)
        .flat_map(|_| {
            let parts = vec![Part::Text { text: text.clone() }];
            let reply = Reply { parts, stop: StopReason::EndTurn };
            let finished = EventKind::ReplyFinished { reply, usage: Usage::default() };
            [event(EventKind::TurnStarted { prompt: "go on".to_owned() }), event(finished)]
        })
        .collect()
}

/// One of words that differ, in lines of 23 and paragraphs of ten lines.
fn word(number: u32) -> String {
    let letter = |at: u32| {
        let chance = (number * 5 + at).wrapping_mul(2_654_435_761) >> 20;
        char::from(b'a' + u8::try_from(chance % 26).unwrap_or(0))
    };
    let end = match number {
        number if number % 230 == 0 => "\n\n",
        number if number % 23 == 0 => "\n",
        _ => "  ",
    };
    (0..5).map(letter).collect::<String>() + end
}

fn report(name: &str, mut times: Vec<Duration>) {
    times.sort();
    let [half, most, all] = [50, 95, 99].map(|percent| times[times.len() * percent / 100]);
    let line = format!("{name:44} half {half:>10.1?}   95% {most:>10.1?}   99% {all:>10.1?}\n");
    std::io::stdout().write_all(line.as_bytes()).expect("standard output");
}

struct Stage {
    app: App,
    terminal: Terminal<TestBackend>,
}

impl Stage {
    fn draw(&mut self) {
        self.terminal.draw(|frame| self.app.draw(frame)).expect("a frame");
    }

    fn key(&mut self, code: Code) {
        self.app.update(Message::Terminal(Input::Key(Key::plain(code)), Instant::now()));
    }

    fn piece(&mut self, text: &str) {
        let piece = Piece::Text { text: text.to_owned() };
        self.app.update(Message::Event(Arc::new(event(EventKind::ReplyDelta { piece }))));
    }

    fn measured(&mut self, mut change: impl FnMut(&mut Self)) -> Vec<Duration> {
        let mut times = Vec::with_capacity(RUNS);
        for _ in 0..RUNS {
            let begun = Instant::now();
            change(self);
            self.draw();
            times.push(begun.elapsed());
        }
        times
    }
}

fn main() {
    let mut app = App::new(Settings::default(), Instant::now());
    app.connect("bench", Mode::Normal);
    let events = history();
    let begun = Instant::now();
    app.replay(&events);
    report("folding 100,000 lines", vec![begun.elapsed()]);
    let terminal = Terminal::new(TestBackend::new(200, 60)).expect("a terminal");
    let mut stage = Stage { app, terminal };
    let begun = Instant::now();
    stage.draw();
    report("the first frame", vec![begun.elapsed()]);
    let times = stage.measured(|stage| stage.key(Code::Char('x')));
    report("a key and its frame", times);
    let times = stage.measured(|stage| stage.key(Code::PageUp));
    report("a page up and its frame", times);
    stage.key(Code::F(9));
    let times = stage.measured(|stage| stage.key(Code::Char('q')));
    report("a letter of a search that finds nothing", times);
    stage.key(Code::Esc);
    stage.app.update(Message::Terminal(
        Input::Key(Key { ctrl: true, ..Key::plain(Code::End) }),
        Instant::now(),
    ));
    stage.app.update(Message::Event(Arc::new(event(EventKind::RequestSent { round: 1 }))));
    // 10,000 pieces a second are 160 between two frames.
    let times = stage.measured(|stage| {
        for _ in 0..160 {
            stage.piece("words ");
        }
        stage.piece("\n\n");
        stage.key(Code::Char('y'));
    });
    report("160 pieces, a key and their frame", times);
    let mut count = 0;
    let times = stage.measured(|stage| {
        for _ in 0..160 {
            count += 1;
            stage.piece(&word(count));
        }
        stage.key(Code::Char('y'));
    });
    report("the same in paragraphs of 230 words", times);
    for _ in 0..100_000 {
        stage.piece("a line of a reply that never ends\n\n");
    }
    stage.draw();
    let times = stage.measured(|stage| {
        for _ in 0..160 {
            stage.piece("words ");
        }
        stage.key(Code::Char('z'));
    });
    report("the same in a reply of 100,000 lines", times);
    stage.piece("\n\n```rust\n");
    for _ in 0..100_000 {
        stage.piece("let number = 42; // a line of code that never ends\n");
    }
    stage.draw();
    let mut width = 200;
    let times = stage.measured(|stage| {
        width = if width == 200 { 199 } else { 200 };
        stage.terminal.backend_mut().resize(width, 60);
    });
    report("another width, in 100,000 lines of code", times);
    one_paragraph();
    one_result();
    many_files();
}

/// Letters after `@` in a directory of 100,000 files.
fn many_files() {
    let mut app = App::new(Settings::default(), Instant::now());
    app.connect("bench", Mode::Normal);
    let terminal = Terminal::new(TestBackend::new(200, 60)).expect("a terminal");
    let mut stage = Stage { app, terminal };
    let files = (0..100_000).map(|number| format!("src/d{:03}/file_{number}.rs", number % 997));
    stage.key(Code::Char('@'));
    let answer = Answer::Files { files: files.collect(), is_cut: false };
    stage.app.update(Message::Answer(answer));
    let mut letters = "file_42<<<<<<<".chars().cycle();
    let times = stage.measured(|stage| match letters.next() {
        Some('<') | None => stage.key(Code::Backspace),
        Some(letter) => stage.key(Code::Char(letter)),
    });
    report("a letter of a name among 100,000 files", times);
}

/// One result of five megabytes, opened and looked through.
fn one_result() {
    let lines = "a line of 25 letters or so\n".repeat(200_000);
    let change: String = lines.lines().flat_map(|line| ["+", line, "\n"]).collect();
    let change = Display::Diff {
        path: "a.rs".to_owned(),
        unified: format!("@@ -1,0 +1,200000 @@\n{change}"),
    };
    let of = |text: String| ToolOutput::success(text);
    for (output, name) in [
        (of(lines), "lines"),
        (of("0123456789".repeat(500_000)), "one line"),
        (of("漢".repeat(1_600_000)), "one wide line"),
        (ToolOutput { display: Some(change), ..of("done".to_owned()) }, "a change"),
    ] {
        let mut app = App::new(Settings::default(), Instant::now());
        app.connect("bench", Mode::Normal);
        let terminal = Terminal::new(TestBackend::new(200, 60)).expect("a terminal");
        let mut stage = Stage { app, terminal };
        let id = CallId("1".to_owned());
        let call = ToolCall {
            id: id.clone(),
            name: "Bash".to_owned(),
            args: serde_json::Value::Null,
            opaque: None,
        };
        stage.app.update(Message::Event(Arc::new(event(EventKind::ToolCalled { call }))));
        let finished = EventKind::ToolFinished {
            call: id,
            name: "Bash".to_owned(),
            outcome: CallOutcome::Ran,
            content: String::new(),
            output,
            duration_ms: 1,
        };
        stage.app.update(Message::Event(Arc::new(event(finished))));
        let times = stage.measured(|stage| stage.key(Code::F(7)));
        report(&format!("opening or closing 5 MB, {name}"), times);
        stage.key(Code::F(7));
        let times = stage.measured(|stage| stage.key(Code::PageUp));
        report(&format!("a page up in it, {name}"), times);
    }
}

/// One paragraph of five megabytes, with and without lines in it: as it comes, as it is looked
/// through, and as it is resumed.
fn one_paragraph() {
    const LENGTH: usize = 5_000_000;
    const SENTENCE: &str = "Words of a sentence that is one of many, and many there are.";
    for (between, name) in [("\n", "lines"), (" ", "one line")] {
        let sentence = format!("{SENTENCE}{between}");
        let mut app = App::new(Settings::default(), Instant::now());
        app.connect("bench", Mode::Normal);
        let terminal = Terminal::new(TestBackend::new(200, 60)).expect("a terminal");
        let mut stage = Stage { app, terminal };
        stage.app.update(Message::Event(Arc::new(event(EventKind::RequestSent { round: 1 }))));
        let pieces = LENGTH / sentence.len() / RUNS;
        let times = stage.measured(|stage| {
            for _ in 0..pieces {
                stage.piece(&sentence);
            }
        });
        report(&format!("a frame of 5 MB as they come, {name}"), times);
        let times = stage.measured(|stage| stage.key(Code::PageUp));
        report(&format!("a page up in them, {name}"), times);
        let parts = vec![Part::Text { text: sentence.repeat(LENGTH / sentence.len()) }];
        let reply = Reply { parts, stop: StopReason::EndTurn };
        let finished = event(EventKind::ReplyFinished { reply, usage: Usage::default() });
        let begun = Instant::now();
        stage.app.update(Message::Event(Arc::new(finished.clone())));
        report(&format!("their end, {name}"), vec![begun.elapsed()]);
        let begun = Instant::now();
        stage.app.reset();
        stage.app.replay(&[finished]);
        report(&format!("the same resumed, {name}"), vec![begun.elapsed()]);
        let mut width = 200;
        let times = stage.measured(|stage| {
            width = if width == 200 { 199 } else { 200 };
            stage.terminal.backend_mut().resize(width, 60);
        });
        report(&format!("its frame at another width, {name}"), times);
    }
}
