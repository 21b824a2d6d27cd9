//! Properties of the search for calls in the text of a model. The fuzzer (`fuzz/`) and the property
//! tests check them, and both replay the corpus.

use std::sync::Arc;

use contract::message::{Part, Reply};
use contract::tool::{Recovery, Risk, ToolSpec, Traits};
use serde_json::{Map, Value, json};

use crate::recover::{Recoveries, Sought};
use crate::settings::RecoverySettings;

/// A reply as text and as a thought: what is found is a call of a tool that may be recovered, with
/// all that it needs and nothing that does not stand in the text; the same text gives the same call,
/// and the same call does not come twice.
pub fn recovery(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let tools = tools();
    let thought = Part::Thinking { text: text.clone(), opaque: None };
    for part in [Part::Text { text: text.clone() }, thought] {
        let reply = Reply { parts: vec![part], ..Reply::default() };
        for requires_intent_phrase in [false, true] {
            let settings =
                RecoverySettings { tells_model: true, requires_intent_phrase, is_agreed: false };
            let mut recoveries = Recoveries::default();
            let Some((name, args)) = found(&mut recoveries, &reply, &tools, settings) else {
                continue;
            };
            check(&name, &args, &text, &tools);
            let again = found(&mut Recoveries::default(), &reply, &tools, settings);
            assert_eq!(again, Some((name, args)), "the same text, another call");
            assert_eq!(found(&mut recoveries, &reply, &tools, settings), None, "twice in a row");
        }
    }
}

fn found(
    recoveries: &mut Recoveries,
    reply: &Reply,
    tools: &[Arc<ToolSpec>],
    settings: RecoverySettings,
) -> Option<(String, Value)> {
    match recoveries.seek(reply, tools, settings) {
        Sought::Found { call, .. } => Some((call.name, call.args)),
        Sought::Nothing | Sought::Refused(..) => None,
    }
}

fn check(name: &str, args: &Value, text: &str, tools: &[Arc<ToolSpec>]) {
    let tool = tools.iter().find(|tool| tool.name == name).expect("a tool that there is");
    assert_ne!(tool.recovery_policy, Recovery::Deny, "a tool that is never recovered");
    let args = args.as_object().expect("arguments that are an object");
    for key in args.keys() {
        let is_there = text.contains(key.as_str()) || text.contains('\\');
        assert!(is_there, "{key} is made up for {name} in {text:?}");
    }
    for key in tool.input_schema["required"].as_array().into_iter().flatten() {
        let key = key.as_str().expect("a name");
        assert!(args.contains_key(key), "{name} cannot do without {key}: {text:?}");
    }
    let lower = text.to_lowercase();
    for (key, value) in args {
        if let Value::String(value) = value
            && value.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            let is_there = lower.contains(&value.to_lowercase()) || text.contains('\\');
            assert!(is_there, "{key} = {value} is made up: {text:?}");
        }
    }
}

fn tools() -> Vec<Arc<ToolSpec>> {
    vec![
        spec("Read", &["file_path", "limit"], &["file_path"], Recovery::Allow),
        spec("Find_All", &["name", "depth"], &[], Recovery::Allow),
        spec("Write", &["file_path", "content"], &["file_path", "content"], Recovery::Confirm),
        spec("Bash", &["command"], &["command"], Recovery::Deny),
    ]
}

/// A tool of this name with these parameters.
pub(crate) fn spec(
    name: &str,
    parameters: &[&str],
    required: &[&str],
    recovery_policy: Recovery,
) -> Arc<ToolSpec> {
    let properties: Map<String, Value> =
        parameters.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    Arc::new(ToolSpec {
        name: name.into(),
        description: String::new(),
        input_schema: json!({"type": "object", "properties": properties, "required": required})
            .into(),
        version: "1.0.0".into(),
        categories: Vec::new(),
        requires_permission: false,
        risk_level: Risk::ReadOnly,
        recovery_policy,
        parallel: true,
        source: "builtin".into(),
        traits: Traits::default(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Numbers that are the same in every run.
    fn next(state: &mut u64) -> usize {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
        usize::try_from(*state >> 33).unwrap()
    }

    fn corpus() -> Vec<Vec<u8>> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/recovery");
        let mut files: Vec<_> =
            fs::read_dir(directory).unwrap().map(|it| it.unwrap().path()).collect();
        files.sort();
        files.iter().map(|path| fs::read(path).unwrap()).collect()
    }

    #[test]
    fn recovery_survives_truncated_corpus_files() {
        let corpus = corpus();
        assert!(corpus.len() >= 10);
        for bytes in corpus {
            for end in 0..=bytes.len() {
                recovery(&bytes[..end]);
            }
        }
    }

    #[test]
    fn recovery_survives_random_call_fragments() {
        let pieces = [
            "{",
            "}",
            "[",
            "]",
            "\"",
            ":",
            ",",
            "\\",
            "\n",
            " ",
            "(",
            ")",
            "=",
            "```json\n",
            "```",
            "\"file_path\"",
            "\"a.txt\"",
            "file_path",
            "Read",
            "Bash",
            "Find_All",
            "\"name\"",
            "\"input\"",
            "\"arguments\"",
            "[tool_call: ",
            "Let me call ",
            "I will use ",
            "null",
            "true",
            "1e999",
            "-0",
            "\"limit\"",
            "'",
            "漢",
            "\u{0}",
            "\\u00e9",
            "{\"file_path\": \"x\"}",
            "[tool_call: Read(file_path=\"a\")]",
            "Write",
            "\"content\"",
            "command",
            "NaN",
        ];
        let mut state = 7;
        for _ in 0..20_000 {
            let count = next(&mut state) % 24;
            let text: String =
                (0..count).map(|_| pieces[next(&mut state) % pieces.len()]).collect();
            recovery(text.as_bytes());
        }
    }

    #[test]
    fn recovery_survives_deep_and_long_input() {
        recovery("{\"file_path\":".repeat(100_000).as_bytes());
        recovery("[".repeat(200_000).as_bytes());
        recovery(format!("{{\"file_path\": \"{}\"}}", "x".repeat(1 << 20)).as_bytes());
    }
}
