//! A view shows the events of a conversation.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use contract::event::{Answer, Event};
use contract::policy::Ruling;
use serde_json::Value;

use crate::output;
use crate::verdict::Verdict;

/// Asks the user about calls.
#[async_trait(?Send)]
pub trait Questions {
    /// Asks about the calls of one reply, in order.
    async fn ask(&self, asked: &[Arc<Event>]) -> io::Result<Vec<Answer>>;
}

/// Returns a hint for a call that needs approval, from its ruling, the plugin of its tool, and its
/// arguments.
pub type ApprovalHint = fn(&Ruling, &str, &Value) -> Option<String>;

#[async_trait(?Send)]
pub trait View {
    fn event(&mut self, event: &Event) -> io::Result<()>;
    /// Answers the questions about the calls of one reply, in order. Waits for the user, if there
    /// is one.
    async fn ask(&mut self, asked: &[Arc<Event>]) -> io::Result<Vec<Answer>> {
        Ok(vec![Answer::Unavailable; asked.len()])
    }
    /// Shows a line that was typed during the turn, and its effect.
    fn heard(&mut self, _line: &str, hint: &str) -> io::Result<()> {
        output::hint(hint);
        Ok(())
    }
    /// Redraws the animation. Returns false if there is none.
    fn tick(&mut self) -> io::Result<bool> {
        Ok(false)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn close(&mut self, _verdict: &Verdict) -> io::Result<()> {
        Ok(())
    }
    /// Records an event after the end: the session was closed.
    fn after(&mut self, _event: &Event) {}
    fn shows_calls_at_end(&self) -> bool {
        false
    }
}

/// Prints a warning, with the agent that it concerns.
pub(crate) fn warn(event: &Event, text: &str) {
    let agent = event.within.as_ref();
    let agent = agent.map_or_else(String::new, |it| format!("{}: ", it.agent));
    output::warning(&format!("{agent}{text}"));
}
