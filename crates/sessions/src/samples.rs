//! A conversation for tests, with every kind of event that is kept.

use contract::event::{Answer, CallOutcome, Event, Level, Outcome, What};
use contract::id::{CallId, Seq, SessionId, Timestamp};
use contract::message::{Part, Reply, StopReason, ToolCall, Usage};
use contract::policy::{Access, Action, Decision, Mode, Reason, Ruling};
use contract::tool::ToolOutput;
use serde_json::json;

/// The session that the sample belongs to.
pub(crate) fn id() -> SessionId {
    SessionId::parse("sample").unwrap()
}

/// An event of the sample session, a second after the one before it.
pub(crate) fn event(seq: u64, what: What) -> Event {
    let start: jiff::Timestamp = "2026-11-15T00:00:00Z".parse().unwrap();
    let offset = jiff::SignedDuration::from_secs(i64::try_from(seq).unwrap() - 1);
    Event { seq: Seq(seq), session: id(), at: Timestamp(start + offset), within: None, what }
}

/// The sample conversation.
pub(crate) fn conversation() -> Vec<Event> {
    let whats = beginning().into_iter().chain(call()).chain(ending());
    (1..).zip(whats).map(|(seq, what)| event(seq, what)).collect()
}

fn beginning() -> Vec<What> {
    vec![
        What::SessionStarted { cwd: "/home/ada/project".into(), format: 1, forked_from: None },
        What::Configured {
            provider: "script".into(),
            model: "play".into(),
            mode: Mode::Normal,
            system: "You help.".into(),
        },
        What::TurnStarted { prompt: "<prompt>\nWhy does the parser fail?\n</prompt>".into() },
        What::Injected { origin: "hook:style".into(), text: "Answer briefly.".into() },
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

fn call() -> Vec<What> {
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
        What::ReplyFinished {
            reply: Reply {
                parts: vec![thinking, Part::Call(tool_call())],
                stop: StopReason::ToolUse,
            },
            usage: usage(100, 20),
        },
        What::ToolCalled { call: tool_call() },
        What::ToolJudged {
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
        What::Asked {
            call: id.clone(),
            tool: "Bash".into(),
            args: tool_call().args,
            actions: vec![action],
            why: "no rule allows it".into(),
            destructive: false,
            remember: Vec::new(),
        },
        What::Answered { call: id.clone(), answer: Answer::Once, rules: Vec::new() },
        What::ToolFinished {
            call: id,
            name: "Bash".into(),
            outcome: CallOutcome::Ran,
            content: output.for_model(),
            output,
            duration_ms: 1200,
        },
    ]
}

fn ending() -> Vec<What> {
    let text = "It is off by one — aus Übermut.\u{2028}\n\n```rust\nlet end = start + 1;\n```";
    vec![
        What::Notice {
            level: Level::Warning,
            text: "the model server is slow".into(),
            hint: Some("wait".into()),
        },
        What::ReplyFinished {
            reply: Reply {
                parts: vec![Part::Text { text: text.into() }],
                stop: StopReason::EndTurn,
            },
            usage: usage(150, 30),
        },
        What::Custom {
            plugin: "notes".into(),
            name: "seen".into(),
            data: json!({"files": ["src/parser.rs"]}),
        },
        What::TurnFinished {
            outcome: Outcome::Answered { stop_reason: "end_turn".into() },
            usage: usage(250, 50),
        },
        What::Titled { title: "Mending the parser".into() },
        What::SessionEnded,
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
