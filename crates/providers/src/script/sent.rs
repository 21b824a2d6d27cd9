//! The parts of a request that a scenario uses.

use std::sync::Arc;

use contract::message::{Entry, Message};

/// The part of a history that a turn can expect or repeat.
pub(super) struct Sent<'a> {
    pub(super) last_user: Option<&'a str>,
    pub(super) last_tool_result: Option<&'a str>,
    /// The tool results since the last reply, in order.
    pub(super) results: Vec<ToolResult<'a>>,
    pub(super) messages: usize,
}

/// A tool result as the model reads it.
pub(super) struct ToolResult<'a> {
    pub(super) name: &'a str,
    pub(super) content: &'a str,
    pub(super) is_error: bool,
}

impl<'a> Sent<'a> {
    pub(super) fn of(history: &'a [Arc<Entry>]) -> Self {
        let messages = || history.iter().rev().map(|entry| &entry.message);
        let mut results: Vec<_> = messages()
            .take_while(|message| !matches!(message, Message::Assistant(_)))
            .filter_map(as_result)
            .collect();
        results.reverse();
        Self {
            last_user: messages().find_map(|message| match message {
                Message::User { text } => Some(text.as_str()),
                Message::Assistant(_) | Message::Tool { .. } => None,
            }),
            last_tool_result: messages().find_map(as_result).map(|result| result.content),
            results,
            messages: history.len(),
        }
    }
}

fn as_result(message: &Message) -> Option<ToolResult<'_>> {
    match message {
        Message::Tool { name, content, is_error, .. } => {
            Some(ToolResult { name, content, is_error: *is_error })
        }
        Message::User { .. } | Message::Assistant(_) => None,
    }
}
