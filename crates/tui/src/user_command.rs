//! Lines that begin with `!`: the user runs a command like a call of the model, and the model reads
//! its output with the next prompt.

use contract::event::{EventKind, MessageOrigin};
use contract::id::{CallId, Timestamp};
use contract::message::ToolCall;
use serde_json::json;

const CALL_PREFIX: &str = "user-command-";
const ORIGIN: &str = "user command";

/// The call that a line stands for; none if it is no such line.
pub fn call(line: &str) -> Option<ToolCall> {
    let command = line.trim().strip_prefix('!')?.trim();
    let id = CallId(format!("{CALL_PREFIX}{}", Timestamp::now().0.as_microsecond()));
    let args = json!({"command": command});
    (!command.is_empty()).then(|| ToolCall { id, name: "Bash".to_owned(), args, opaque: None })
}

/// The commands of the user in a conversation.
#[derive(Default)]
pub struct UserCommands {
    running: Vec<(CallId, String)>,
    /// Events to record so that the model reads the results.
    pub results: Vec<EventKind>,
}

impl UserCommands {
    /// Folds an event in.
    pub fn take(&mut self, event: &EventKind) {
        match event {
            EventKind::ToolCalled { call } if call.id.as_str().starts_with(CALL_PREFIX) => {
                let command = call.args["command"].as_str().unwrap_or_default().to_owned();
                self.running.push((call.id.clone(), command));
            }
            EventKind::ToolFinished { call, content, .. } => {
                let Some(at) = self.running.iter().position(|(id, _)| id == call) else { return };
                let (_, command) = self.running.remove(at);
                let text = format!("I ran this command:\n{command}\n\nIts output:\n{content}");
                let origin = MessageOrigin::Other(ORIGIN.to_owned());
                self.results.push(EventKind::Injected { origin, text });
            }
            _ => {}
        }
    }
}

/// Returns true if a message to the model is the result of such a command, which is shown already.
pub(crate) fn is_result(origin: &MessageOrigin) -> bool {
    origin.as_str() == ORIGIN
}
