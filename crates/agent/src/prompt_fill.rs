//! Runs the shell lines in a prompt and reads its images, like calls of the model.

use contract::event::{CallOutcome, EventKind};
use contract::id::CallId;
use contract::message::ToolCall;
use contract::prompt_lines::PromptLine;
use contract::tool::{Display, ToolOutput};
use serde_json::{Value, json};

use crate::batch::{self, RequestedCall};
use crate::journal::{Journal, Logged};
use crate::loop_detector::LoopDetector;
use crate::tool_call::Extras;
use crate::turn_context::TurnContext;

const SHELL: &str = "Bash";
const READER: &str = "Read";

/// The prompt with the output of its lines; the same prompt if it has none.
pub(crate) async fn fill(
    context: TurnContext<'_>,
    journal: &mut Journal,
    prompt: String,
) -> Logged<String> {
    let sender = journal.sender();
    let known = context.parts.lines.as_ref().filter(|_| sender.depth() == 0);
    let lines = known.map(|lines| lines.take(&prompt, sender.session())).unwrap_or_default();
    if lines.is_empty() {
        return Ok(prompt);
    }
    let mut calls = Vec::with_capacity(lines.len());
    for line in &lines {
        let id = CallId(format!("line-{:012x}", fastrand::u64(..1 << 48)));
        let (name, key) = if line.is_image { (READER, "file_path") } else { (SHELL, "command") };
        let args = json!({key: line.command});
        let call = ToolCall { id, name: name.to_owned(), args, opaque: None };
        journal.note(vec![EventKind::ToolCalled { call: call.clone() }]).await?;
        let extras = Extras { env: line.env.clone(), read: line.read.clone() };
        calls.push(RequestedCall { call, doubt: None, extras });
    }
    let reported = batch::run(context, journal, &mut LoopDetector::new(None), calls).await?;
    Ok(replaced(&prompt, &lines, &reported.outputs))
}

/// The prompt with each marker replaced by the output of its line, in order.
fn replaced(prompt: &str, lines: &[PromptLine], outputs: &[(CallOutcome, ToolOutput)]) -> String {
    let (mut text, mut rest) = (String::new(), prompt);
    for (line, (outcome, output)) in lines.iter().zip(outputs) {
        let Some((before, after)) = rest.split_once(&line.marker) else { continue };
        text.push_str(before);
        text.push_str(&match &output.display {
            Some(Display::Image { .. }) => line.marker.clone(),
            _ if line.is_image => unsent(&line.command, output),
            _ => printed(&line.command, *outcome, output),
        });
        rest = after;
    }
    text + rest
}

fn unsent(path: &str, output: &ToolOutput) -> String {
    let why = output.error.as_deref().unwrap_or("it is not a PNG, JPEG, GIF or WebP image");
    format!("[image {path} not sent: {why}]")
}

fn printed(command: &str, outcome: CallOutcome, output: &ToolOutput) -> String {
    if outcome != CallOutcome::Ran {
        return format!("[`{command}` was not run: {}]", output.for_model());
    }
    let part = |stream: &str| {
        let range: (usize, usize) =
            serde_json::from_value(output.facts.get(stream).cloned()?).ok()?;
        output.output.get(range.0..range.1)
    };
    let text = match (part("stdout"), part("stderr")) {
        (Some(stdout), Some(stderr)) => format!("{stdout}{stderr}"),
        _ => output.output.clone(),
    };
    let text = text.trim_end().to_owned();
    match output.facts.get("exit_code").and_then(Value::as_i64) {
        Some(0) => text,
        Some(code) => format!("{text}\n[exit code {code}]"),
        None => format!("{text}\n[{}]", output.error.as_deref().unwrap_or("no exit code")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(command: &str) -> PromptLine {
        let (marker, command) = (format!("!`{command}`"), command.to_owned());
        PromptLine { marker, command, ..PromptLine::default() }
    }

    fn output(text: &str, code: i64) -> (CallOutcome, ToolOutput) {
        let mut output = ToolOutput::success(text);
        output.facts.insert("exit_code".to_owned(), json!(code));
        (CallOutcome::Ran, output)
    }

    #[test]
    fn output_replaces_each_marker_once_and_in_order() {
        let lines = [line("a"), line("b"), line("a")];
        let outputs = [output("!`b` A", 0), output("B", 2), output("again", 0)];
        let text = replaced("1 !`a` 2 !`b` 3 !`a` 4", &lines, &outputs);
        assert_eq!(text, "1 !`b` A 2 B\n[exit code 2] 3 again 4");
    }

    #[test]
    fn denied_line_is_replaced_by_the_reason() {
        let denied = (CallOutcome::Denied, ToolOutput::failure("Permission denied: no"));
        let text = replaced("x !`a`", &[line("a")], &[denied]);
        assert_eq!(text, "x [`a` was not run: Permission denied: no]");
    }
}
