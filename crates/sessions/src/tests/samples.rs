//! A conversation for tests, with every kind of stored event.

use contract::action::Action;
use contract::event::{Answer, CallOutcome, Event, EventKind, Level, MessageOrigin, Outcome};
use contract::id::{CallId, Seq, SessionId, Timestamp};
use contract::message::{Part, Reply, StopReason, ToolCall, Usage};
use contract::policy::{Decision, Mode, Reason, Ruling};
use contract::sandbox::Access;
use contract::tool::ToolOutput;
use serde_json::json;

/// The session that the sample belongs to.
pub(crate) fn id() -> SessionId {
    SessionId::parse("sample").unwrap()
}

/// An event of the sample session, a second after the one before it.
pub(crate) fn event(seq: u64, what: EventKind) -> Event {
    let start: jiff::Timestamp = "2026-11-15T00:00:00Z".parse().unwrap();
    let offset = jiff::SignedDuration::from_secs(i64::try_from(seq).unwrap() - 1);
    Event { seq: Seq(seq), session: id(), at: Timestamp(start + offset), within: None, kind: what }
}

/// The sample conversation.
pub(crate) fn conversation() -> Vec<Event> {
    let whats = beginning().into_iter().chain(call()).chain(ending());
    (1..).zip(whats).map(|(seq, what)| event(seq, what)).collect()
}

fn beginning() -> Vec<EventKind> {
    vec![
        EventKind::SessionStarted { cwd: "/home/ada/project".into(), format: 1, forked_from: None },
        EventKind::Configured {
            provider: "script".into(),
            model: "play".into(),
            mode: Mode::Normal,
            system: "You help.".into(),
        },
        EventKind::TurnStarted { prompt: "<prompt>\nWhy does the parser fail?\n</prompt>".into() },
        EventKind::Injected {
            origin: MessageOrigin::Other("hook:style".into()),
            text: "Answer briefly.".into(),
        },
    ]
}

fn tool_call() -> ToolCall {
    ToolCall {
        id: CallId("call-1".into()),
        name: "Bash".into(),
        args: json!({"command": "cargo test"}),
        opaque: None,
    }
}

fn call() -> Vec<EventKind> {
    let id = tool_call().id;
    let action = Action::Run { command: "cargo test".into(), cwd: "/home/ada/project".into() };
    let reason = Reason {
        decision: Decision::Ask,
        subject: "cargo test".into(),
        why: "no rule allows it".into(),
        origin: "mode".into(),
    };
    let output = ToolOutput {
        output: "running 1 test\n```\nparser panicked at \"quoted\"\n```\n".into(),
        ..ToolOutput::failure("exit code 101")
    };
    let thinking = Part::Thinking {
        text: "Let me look first.".into(),
        opaque: Some(json!({"signature": "c2ln"})),
    };
    vec![
        EventKind::ReplyFinished {
            reply: Reply {
                parts: vec![thinking, Part::Call(tool_call())],
                stop: StopReason::ToolUse,
            },
            usage: usage(100, 20),
        },
        EventKind::ToolCalled { call: tool_call() },
        EventKind::ToolJudged {
            call: id.clone(),
            source: None,
            args: tool_call().args,
            actions: vec![action.clone()],
            ruling: Ruling {
                decision: Decision::Ask,
                reasons: vec![reason],
                access: Access::Workspace,
                destructive: false,
            },
        },
        EventKind::Asked {
            call: id.clone(),
            tool: "Bash".into(),
            args: tool_call().args,
            actions: vec![action],
            why: "no rule allows it".into(),
            destructive: false,
            remember: Vec::new(),
        },
        EventKind::Answered { call: id.clone(), answer: Answer::Once, rules: Vec::new(), by: None },
        EventKind::ToolFinished {
            call: id,
            name: "Bash".into(),
            outcome: CallOutcome::Ran,
            content: output.for_model(),
            output,
            duration_ms: 1200,
        },
    ]
}

fn ending() -> Vec<EventKind> {
    let text = "It is off by one — aus Übermut.\u{2028}\n\n```rust\nlet end = start + 1;\n```";
    vec![
        EventKind::Notice {
            level: Level::Warning,
            text: "the model server is slow".into(),
            hint: Some("wait".into()),
            topic: None,
        },
        EventKind::ReplyFinished {
            reply: Reply {
                parts: vec![Part::Text { text: text.into() }],
                stop: StopReason::EndTurn,
            },
            usage: usage(150, 30),
        },
        EventKind::Custom {
            plugin: "notes".into(),
            name: "seen".into(),
            data: json!({"files": ["src/parser.rs"]}),
        },
        EventKind::TurnFinished {
            outcome: Outcome::Answered { stop_reason: StopReason::EndTurn },
            usage: usage(250, 50),
        },
        EventKind::Titled { title: "Mending the parser".into() },
        EventKind::SessionEnded,
    ]
}

fn usage(input_tokens: u64, output_tokens: u64) -> Usage {
    Usage {
        input_tokens,
        output_tokens,
        cached_tokens: Some(64),
        cost_usd: Some(0.25),
        ..Usage::default()
    }
}
