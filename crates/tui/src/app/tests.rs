//! Events and keys in, screen and effects out.

mod approvals;
mod browsing;
mod conversation;
mod documentation;
mod hints;
mod host_answers;
mod hostile;
mod long_results;
mod random_messages;
mod visibility;
mod writing;

use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::action::Action;
use contract::event::{
    CallOutcome, Event, EventKind, Input as ToConversation, Outcome, Piece, Subconversation,
};
use contract::id::{CallId, Seq, SessionId, Timestamp};
use contract::message::{Part, Reply, StopReason, ToolCall, Usage};
use contract::policy::{Decision, Mode, Reason, Ruling};
use contract::sandbox::Access;
use contract::tool::{Display, ToolOutput};
use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::Buffer;
use ratatui_core::terminal::Terminal;
use serde_json::{Value, json};

use super::{App, Settings};
use crate::host::{Answer, Request};
use crate::input::Input;
use crate::key::Key;
use crate::message::{Effect, Message};
use crate::theme::Theme;

/// An interface on a screen of the test's own, with a clock that only the test moves.
struct Stage {
    app: App,
    terminal: Terminal<TestBackend>,
    now: Instant,
    effects: Vec<Effect>,
}

impl Stage {
    fn new(width: u16, height: u16) -> Self {
        let theme = Theme::built_in().into_iter().find(|theme| theme.name == "none");
        Self::with(Settings { theme, ..Settings::default() }, width, height)
    }

    fn with(settings: Settings, width: u16, height: u16) -> Self {
        let now = Instant::now();
        let mut app = App::new(settings, now);
        app.connect("test-model", Mode::Normal);
        let terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let mut stage = Self { app, terminal, now, effects: Vec::new() };
        stage.draw();
        stage
    }

    fn send(&mut self, message: Message) -> &mut Self {
        let effects = self.app.update(message);
        self.effects.extend(effects);
        self.draw();
        self
    }

    /// Presses keys by name.
    fn keys(&mut self, words: &str) -> &mut Self {
        for word in words.split(' ') {
            let key = Key::parse(word).unwrap_or_else(|| panic!("{word} is not a key"));
            self.send(Message::Terminal(Input::Key(key), self.now));
        }
        self
    }

    /// Types letters.
    fn type_in(&mut self, text: &str) -> &mut Self {
        for letter in text.chars() {
            let key = Key::plain(crate::key::Code::Char(letter));
            self.send(Message::Terminal(Input::Key(key), self.now));
        }
        self
    }

    fn wait(&mut self, milliseconds: u64) -> &mut Self {
        self.now += Duration::from_millis(milliseconds);
        self.send(Message::Tick(self.now))
    }

    fn event(&mut self, what: EventKind) -> &mut Self {
        self.send(Message::Event(Arc::new(event(what))))
    }

    fn answer(&mut self, answer: Answer) -> &mut Self {
        self.send(Message::Answer(answer))
    }

    fn draw(&mut self) {
        self.terminal.draw(|frame| self.app.draw(frame)).unwrap();
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.terminal.backend_mut().resize(width, height);
        self.draw();
    }

    fn screen(&self) -> String {
        lines(self.terminal.backend().buffer()).join("\n")
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        let screen = self.screen();
        assert!(screen.contains(text), "{text:?} is missing:\n{screen}");
    }

    #[track_caller]
    fn hides(&self, text: &str) {
        let screen = self.screen();
        assert!(!screen.contains(text), "{text:?} is there:\n{screen}");
    }

    /// The inputs into the conversation since the last call.
    fn sent(&mut self) -> Vec<ToConversation> {
        let effects = std::mem::take(&mut self.effects);
        let input = |effect| match effect {
            Effect::Send(input) => Some(*input),
            _ => None,
        };
        effects.into_iter().filter_map(input).collect()
    }

    /// The requests to the host since the last call.
    fn asked(&mut self) -> Vec<Request> {
        let effects = std::mem::take(&mut self.effects);
        let request = |effect| match effect {
            Effect::Ask(request) => Some(request),
            _ => None,
        };
        effects.into_iter().filter_map(request).collect()
    }
}

/// The rows of a screen without the blanks at their ends.
fn lines(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width).max(1);
    let row = |cells: &[ratatui_core::buffer::Cell]| {
        let mut text = String::new();
        let mut skip = 0;
        for cell in cells {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            text.push_str(cell.symbol());
            skip = crate::text::columns(cell.symbol()).saturating_sub(1);
        }
        text.trim_end().to_owned()
    };
    buffer.content().chunks(width).map(row).collect()
}

fn event(what: EventKind) -> Event {
    Event {
        seq: Seq(1),
        session: SessionId::parse("s").unwrap(),
        at: Timestamp(jiff::Timestamp::UNIX_EPOCH),
        within: None,
        kind: what,
    }
}

fn within(call: &str, what: EventKind) -> Event {
    let within = Subconversation { call: CallId(call.into()), agent: "scout".into() };
    Event { within: Some(within), ..event(what) }
}

fn prompt(text: &str) -> EventKind {
    EventKind::TurnStarted { prompt: text.into() }
}

fn text(text: &str) -> EventKind {
    EventKind::ReplyDelta { piece: Piece::Text { text: text.into() } }
}

fn thinking(text: &str) -> EventKind {
    EventKind::ReplyDelta { piece: Piece::Thinking { text: text.into() } }
}

fn replied(text: &str) -> EventKind {
    let parts = vec![Part::Text { text: text.into() }];
    let usage = Usage { input_tokens: 1200, output_tokens: 34, ..Usage::default() };
    EventKind::ReplyFinished { reply: Reply { parts, stop: StopReason::EndTurn }, usage }
}

fn ended() -> EventKind {
    let outcome = Outcome::Answered { stop_reason: StopReason::EndTurn };
    EventKind::TurnFinished { outcome, usage: Usage::default() }
}

fn called(id: &str, name: &str, args: Value) -> EventKind {
    EventKind::ToolCalled {
        call: ToolCall { id: CallId(id.into()), name: name.into(), args, opaque: None },
    }
}

fn judged(id: &str, args: Value) -> EventKind {
    let reason = Reason {
        decision: Decision::Allow,
        subject: "x".into(),
        why: "it only looks".into(),
        origin: "built-in".into(),
    };
    EventKind::ToolJudged {
        call: CallId(id.into()),
        source: None,
        args,
        actions: vec![Action::Read { path: "/work/a.txt".into() }],
        ruling: Ruling {
            decision: Decision::Allow,
            reasons: vec![reason],
            access: Access::ReadOnly,
            destructive: false,
        },
    }
}

fn finished(id: &str, name: &str, output: ToolOutput) -> EventKind {
    EventKind::ToolFinished {
        call: CallId(id.into()),
        name: name.into(),
        outcome: CallOutcome::Ran,
        content: String::new(),
        output,
        duration_ms: 1234,
    }
}

fn asks(id: &str, command: &str) -> EventKind {
    EventKind::Asked {
        call: CallId(id.into()),
        tool: "Bash".into(),
        args: json!({"command": command}),
        actions: vec![Action::Run { command: command.into(), cwd: "/work".into() }],
        why: String::new(),
        destructive: false,
        remember: vec!["Bash(cargo test *)".into()],
    }
}

fn changed(unified: &str) -> ToolOutput {
    ToolOutput {
        display: Some(Display::Diff { path: "src/a.rs".into(), unified: unified.into() }),
        ..ToolOutput::success("ok")
    }
}
