//! Shows calls of nested conversations in one line each, indented by depth. Their results are shown
//! with the outer call.

use std::collections::BTreeMap;

use contract::event::{CallOutcome, EventKind, Subconversation};
use contract::id::CallId;
use contract::text::{head, one_line};
use contract::tool::ToolOutput;

use super::summary;
use crate::style::{Palette, paint};

const REASON: usize = 120;

/// The depth of each call.
#[derive(Default)]
pub(super) struct Nesting(BTreeMap<CallId, usize>);

impl Nesting {
    pub(super) fn line(
        &mut self,
        within: &Subconversation,
        what: &EventKind,
        palette: Palette,
    ) -> Option<String> {
        let depth = self.0.get(&within.call).copied().unwrap_or(0) + 1;
        let line = match what {
            EventKind::ToolCalled { call } => {
                self.0.insert(call.id.clone(), depth);
                format!("{} {}", paint(palette.code, "●"), summary(call))
            }
            EventKind::ToolFinished { call, name, outcome, output, .. } => {
                self.0.remove(call);
                ended(name, *outcome, output, palette)
            }
            _ => return None,
        };
        Some(format!("{}{line}", "  ".repeat(depth)))
    }
}

pub(super) fn doing(within: &Subconversation, what: &EventKind) -> Option<String> {
    let agent = &within.agent;
    match what {
        EventKind::RequestSent { .. } => Some(format!("{agent}: waiting for the model")),
        EventKind::ReplyDelta { .. } => Some(format!("{agent}: writing")),
        EventKind::ToolCalled { call } => Some(format!("{agent}: running {}", call.name)),
        _ => None,
    }
}

fn ended(name: &str, outcome: CallOutcome, output: &ToolOutput, palette: Palette) -> String {
    let (style, mark) = if output.success { (palette.good, "✓") } else { (palette.bad, "✗") };
    let note = match outcome {
        CallOutcome::Ran if output.success => String::new(),
        CallOutcome::Ran | CallOutcome::Invalid => reason(output),
        CallOutcome::Denied | CallOutcome::Unanswered => format!("not run: {}", reason(output)),
        CallOutcome::NoSandbox => String::from("not run: no sandbox"),
        CallOutcome::Skipped => String::from("not run"),
        CallOutcome::Interrupted => String::from("interrupted"),
    };
    let note = if note.is_empty() { note } else { format!(" {}", paint(palette.soft, &note)) };
    format!("{} {}{note}", paint(style, mark), one_line(name))
}

fn reason(output: &ToolOutput) -> String {
    let text = output.for_model();
    one_line(head(text.lines().next().unwrap_or_default(), REASON))
}

#[cfg(test)]
mod tests {
    use contract::message::ToolCall;
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_are_indented_by_how_deep_they_are() {
        let mut nesting = Nesting::default();
        let within = |call: &str| Subconversation { call: CallId(call.into()), agent: "a".into() };
        let call = |id: &str| EventKind::ToolCalled {
            call: ToolCall {
                id: CallId(id.into()),
                name: "Read".into(),
                args: json!({"file_path": "x\ny"}),
                opaque: None,
            },
        };
        let mut line = |place: &str, what: &EventKind| {
            nesting.line(&within(place), what, Palette::plain()).unwrap_or_default()
        };
        assert_eq!(line("top", &call("one")), "  ● Read(file_path: x…)");
        assert_eq!(line("one", &call("two")), "    ● Read(file_path: x…)");
        let denied = EventKind::ToolFinished {
            call: CallId("two".into()),
            name: "Read".into(),
            outcome: CallOutcome::Denied,
            output: ToolOutput::failure("no\nmore"),
            content: String::new(),
            duration_ms: 0,
        };
        assert_eq!(line("one", &denied), "    ✗ Read not run: no");
        assert_eq!(line("top", &EventKind::SessionEnded), "");
    }
}
