//! A conversation log as a Markdown document and as a few figures.

use std::collections::HashMap;

use contract::message::Usage;
use serde_json::Value;

use crate::markdown::{self, Entry, Thinking, usage_figures};

/// The log as a Markdown document.
pub fn markdown(lines: &[Value], title: Option<&str>, thinking: Thinking) -> String {
    let start = lines.iter().find(|line| kind(line) == "session_start");
    let fact = |key| start.map_or("", |line| text(line, key));
    let moments = [lines.first(), lines.last()];
    let [first, last] = moments.map(|line| line.map_or("", |line| text(line, "timestamp")));
    let model = format!("{} ({})", fact("model"), fact("provider"));
    let facts = [
        ("Session", fact("session_id").to_owned()),
        ("Started", first.to_owned()),
        ("Ended", last.to_owned()),
        ("Model", model),
    ];
    let mut document = markdown::head(title.unwrap_or("Conversation"), &facts);
    for entry in entries(lines) {
        entry.render(thinking, &mut document);
    }
    document + &markdown::tail(&figures(lines))
}

/// The figures of a log, each with its name.
pub fn figures(lines: &[Value]) -> Vec<(&'static str, String)> {
    let count = |wanted: &str| lines.iter().filter(|line| kind(line) == wanted).count();
    let own = |wanted: &str| {
        let is_wanted = |line: &&Value| kind(line) == wanted && !is_within(line);
        lines.iter().filter(is_wanted).count().to_string()
    };
    let mut usage = Usage::default();
    for line in lines.iter().filter(|line| kind(line) == "usage") {
        let tokens = |key| line.get(key).and_then(Value::as_u64).unwrap_or(0);
        usage.add(&Usage {
            input_tokens: tokens("input_tokens"),
            output_tokens: tokens("output_tokens"),
            cost_usd: line.get("cost_usd").and_then(Value::as_f64),
            ..Usage::default()
        });
    }
    let failed = |line: &&Value| kind(line) == "tool_result" && !succeeded(line);
    let mut figures = vec![
        ("Events", lines.len().to_string()),
        ("User messages", own("user_message")),
        ("Assistant messages", own("assistant_message")),
        ("Tool calls", count("tool_call").to_string()),
        ("Failed tool calls", lines.iter().filter(failed).count().to_string()),
        ("Errors", count("error").to_string()),
    ];
    figures.extend(usage_figures(&usage));
    figures
}

fn entries(lines: &[Value]) -> Vec<Entry> {
    let mut inputs = HashMap::new();
    let mut entries = Vec::new();
    // The result of a nested conversation is the result of its call.
    for line in lines.iter().filter(|line| !is_within(line)) {
        let content = text(line, "content");
        entries.push(match kind(line) {
            "user_message" => Entry::user(content),
            "context_injection" => Entry::System(content.to_owned()),
            "assistant_message" => Entry::Assistant {
                thinking: text(line, "thinking").to_owned(),
                text: content.to_owned(),
            },
            "thinking" => Entry::Assistant { thinking: content.to_owned(), text: String::new() },
            "tool_call" => {
                inputs.insert(text(line, "tool_id"), line.get("tool_input").cloned());
                continue;
            }
            "tool_result" => Entry::Tool {
                name: text(line, "tool_name").to_owned(),
                input: inputs.remove(text(line, "tool_id")).flatten(),
                ending: ending(line),
                output: output(line),
            },
            "error" => Entry::Error(text(line, "error").to_owned()),
            _ => continue,
        });
    }
    entries
}

fn ending(line: &Value) -> String {
    let word = match (succeeded(line), text(line, "outcome")) {
        (true, _) => "success",
        (false, "" | "ran") => "failed",
        (false, outcome) => outcome,
    };
    match line.get("duration_ms").and_then(Value::as_f64) {
        Some(duration) => format!("{word} after {duration:.0} ms"),
        None => word.to_owned(),
    }
}

fn output(line: &Value) -> String {
    let parts = [text(line, "output"), text(line, "error")];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

fn succeeded(line: &Value) -> bool {
    line.get("success").and_then(Value::as_bool) == Some(true)
}

/// Returns true if a line is about a conversation within the session.
fn is_within(line: &Value) -> bool {
    line.get("parent_tool_id").is_some()
}

fn kind(line: &Value) -> &str {
    text(line, "event_type")
}

fn text<'a>(line: &'a Value, key: &str) -> &'a str {
    line.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A figure as a number if it is one; money has a sign before it.
pub fn json_figure(figure: String) -> Value {
    let number = figure.trim_start_matches('$').parse::<serde_json::Number>();
    number.map_or(Value::String(figure), Value::Number)
}
