//! Messages that a client sends as the beginning of a conversation, as events.

use contract::event::{CallOutcome, Event, EventKind, Outcome};
use contract::id::{CallId, Seq, SessionId, Timestamp};
use contract::log::FORMAT;
use contract::message::{Part, Reply, StopReason, Usage};
use contract::tool::{Display, ToolOutput};
use server::host::Earlier;

/// Messages as the events of a session in a directory; none if there are no messages.
pub(super) fn events(session: &SessionId, cwd: String, messages: Vec<Earlier>) -> Vec<Event> {
    if messages.is_empty() {
        return Vec::new();
    }
    let start = EventKind::SessionStarted { cwd, format: FORMAT, forked_from: None };
    let kinds = messages.into_iter().enumerate().map(|(index, message)| match message {
        Earlier::Prompt(prompt) => EventKind::TurnStarted { prompt },
        Earlier::Answer(text) => {
            let reply = Reply { parts: vec![Part::Text { text }], ..Reply::default() };
            EventKind::ReplyFinished { reply, usage: Usage::default() }
        }
        Earlier::File { media_type, data } => sent_file(index, media_type, data),
    });
    let outcome = Outcome::Answered { stop_reason: StopReason::EndTurn };
    let end = EventKind::TurnFinished { outcome, usage: Usage::default() };
    let (session, at) = (session.clone(), Timestamp::now());
    let event =
        |(seq, kind)| Event { seq: Seq(seq), session: session.clone(), at, within: None, kind };
    (1..).zip([start].into_iter().chain(kinds).chain([end])).map(event).collect()
}

/// A file of the client, as if a tool had read it.
fn sent_file(index: usize, media_type: String, data: String) -> EventKind {
    let mut output = ToolOutput::success("");
    output.facts.insert("image".to_owned(), "sent by the user".into());
    output.display = Some(Display::Image { media_type, data });
    EventKind::ToolFinished {
        call: CallId(format!("sent-{index}")),
        name: "file".to_owned(),
        outcome: CallOutcome::Ran,
        output,
        content: String::new(),
        duration_ms: 0,
    }
}
