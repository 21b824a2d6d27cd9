//! The expected events of a scenario test: one JSON object a line, without what differs from run to
//! run.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use contract::event::Event;
use files::exact_path::ExactPath;
use serde_json::Value;
use similar::TextDiff;

/// Keys of events that differ from run to run.
const VOLATILE: [&str; 4] = ["seq", "session", "at", "record"];
const CONTEXT: usize = 1;

/// The events as lines. Calls are numbered, and paths are replaced by names: `replaced` has pairs
/// of a path and its name.
pub fn lines(events: &[Event], replaced: &[(String, &str)]) -> String {
    let mut ids = BTreeMap::new();
    let mut text = String::new();
    for event in events.iter().filter(|event| event.kind.is_kept()) {
        let Ok(Value::Object(mut object)) = serde_json::to_value(event) else { continue };
        object.retain(|key, _| !VOLATILE.contains(&key.as_str()));
        // The system prompt has the date and the machine in it.
        if object.get("type").is_some_and(|it| it == "configured") {
            object.remove("system");
        }
        let mut value = Value::Object(object);
        normalize(&mut value, &mut ids, replaced);
        text.push_str(&value.to_string());
        text.push('\n');
    }
    text
}

/// Writes the file of expected events. A symlink is replaced, not followed.
pub fn write(file: &Path, lines: &str) -> io::Result<()> {
    ExactPath::open(file)?.write(lines.as_bytes(), None)
}

/// The failure of a test whose events are not those of its file; none if they are. The file is shown
/// relative to `root`.
pub fn failure((root, file): (&Path, &Path), found: &str) -> io::Result<Option<String>> {
    let text = difference(&std::fs::read_to_string(file)?, found);
    let file = file.strip_prefix(root).unwrap_or(file).display();
    let hint = "hint: `--update` writes the new events";
    Ok(text.map(|text| format!("the events differ from {file}\n{text}{hint}")))
}

/// The difference as lines with `-` (expected) and `+` (found); none if there is none.
fn difference(expected: &str, found: &str) -> Option<String> {
    if expected == found {
        return None;
    }
    let diff = TextDiff::from_lines(expected, found);
    Some(diff.unified_diff().context_radius(CONTEXT).to_string())
}

fn normalize(value: &mut Value, ids: &mut BTreeMap<String, String>, replaced: &[(String, &str)]) {
    match value {
        Value::String(text) => {
            for (path, name) in replaced {
                if text.contains(path) {
                    *text = text.replace(path, name);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| normalize(item, ids, replaced)),
        Value::Object(entries) => {
            // An estimate depends on the length of the system prompt.
            entries.retain(|key, value| key != "usage" || value["estimated"] != true);
            for (key, value) in entries {
                match (key.as_str(), &mut *value) {
                    ("duration_ms", number) => *number = 0.into(),
                    ("id" | "call", Value::String(id)) => {
                        let next = format!("call-{}", ids.len() + 1);
                        id.clone_from(ids.entry(id.clone()).or_insert(next));
                    }
                    (_, value) => normalize(value, ids, replaced),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(seq: u64, kind: &Value) -> Event {
        let mut event = json!({"seq": seq, "session": "s", "at": "2026-01-01T00:00:00Z"});
        event.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
        serde_json::from_value(event).unwrap()
    }

    #[test]
    fn golden_lines_have_no_ids_times_durations_and_paths() {
        let call = json!({"type": "tool_called",
            "call": {"id": "x9f", "name": "Read", "args": {"path": "/tmp/1/a"}}});
        let output = json!({"success": true, "output": ""});
        let finished = json!({"type": "tool_finished", "call": "x9f", "name": "Read",
            "outcome": "ran", "output": output, "content": "", "duration_ms": 12});
        let events = [event(1, &call), event(2, &finished)];
        let text = lines(&events, &[("/tmp/1".to_owned(), "PROJECT")]);
        let expected = r#"{"type":"tool_called","call":{"id":"call-1","name":"Read","args":{"path":"PROJECT/a"}}}
{"type":"tool_finished","call":"call-1","name":"Read","outcome":"ran","output":{"success":true,"output":""},"content":"","duration_ms":0}
"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn golden_difference_shows_expected_and_found_lines() {
        assert_eq!(difference("a\n", "a\n"), None);
        let text = difference("a\nb\n", "a\nc\n").unwrap();
        assert!(text.contains("\n-b\n+c\n"), "{text}");
    }
}
