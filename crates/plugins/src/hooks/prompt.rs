//! Hooks that ask a model: the question made from what happened, and the reply understood.

use formats::python;
use formats::template::{fill, lookup};
use serde_json::{Map, Value};

use super::answer::{Answer, Unknown};

/// Fills `{{a.b}}` with what happened, as Python prints it. What is not there is left empty.
pub(crate) fn filled(template: &str, fields: &Map<String, Value>) -> String {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
    };
    fill(template, ("{{", "}}"), |name| {
        let value = lookup(fields, name).filter(|value| !value.is_null());
        is_name(name).then(|| value.map(python::to_text).unwrap_or_default())
    })
}

/// The answer in a model's reply, with an action that is not known; none if it holds no answer.
pub(crate) fn understood(
    reply: &str,
    hook: &str,
) -> Result<Option<(Answer, Option<Unknown>)>, String> {
    let Some(value) = whole_object(reply).or_else(|| flat_object(reply)) else { return Ok(None) };
    if value.get("action").is_some() {
        return Answer::parse(&value).map(Some);
    }
    match value.get("safe") {
        Some(Value::Bool(true)) => Ok(Some((Answer::default(), None))),
        Some(Value::Bool(false)) => {
            let reason = value.get("reason").and_then(Value::as_str).map(str::trim);
            let reason = reason.filter(|reason| !reason.is_empty()).map(str::to_owned);
            let generic = || format!("Hook '{hook}' determined operation is unsafe");
            Ok(Some((Answer::block(reason.unwrap_or_else(generic)), None)))
        }
        Some(_) | None => Ok(None),
    }
}

fn whole_object(reply: &str) -> Option<Value> {
    let start = reply.find('{')?;
    let mut values = serde_json::Deserializer::from_str(&reply[start..]).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let answers = value.get("action").is_some() || value.get("safe").is_some();
    answers.then_some(value)
}

fn flat_object(reply: &str) -> Option<Value> {
    let mut start = None;
    for (index, c) in reply.char_indices() {
        match (c, start) {
            ('{', _) => start = Some(index),
            ('}', Some(start)) => return serde_json::from_str(&reply[start..=index]).ok(),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::hooks::answer::Action;

    #[test]
    fn only_known_placeholders_are_filled() {
        let fields = json!({
            "message": "hi {{tool}}", "tool": "Bash",
            "tool_input": {"command": "it's", "n": [1, true, null, {"a": "b\n"}]},
        });
        let fields = fields.as_object().unwrap();
        let template = "{{message}}|{{tool_input.command}}|{{absent}}|{{ tool }}|{{{tool}}}|{{";
        assert_eq!(filled(template, fields), "hi {{tool}}|it's||{{ tool }}|{Bash}|{{");
        assert_eq!(
            filled("{{tool_input}}", fields),
            r#"{'command': "it's", 'n': [1, True, None, {'a': 'b\n'}]}"#
        );
    }

    fn action(reply: &str) -> Option<Action> {
        understood(reply, "judge").unwrap().map(|(answer, _)| answer.action())
    }

    #[test]
    fn both_reply_forms_are_read() {
        assert_eq!(action("Sure! {\"safe\": true}"), Some(Action::Continue));
        let answer =
            understood("```json\n{\"safe\": false, \"reason\": \"rm\"}\n```", "j").unwrap();
        assert_eq!(answer.unwrap().0.text("message"), Some("rm"));
        let answer = understood("{\"safe\": false}", "j").unwrap().unwrap();
        assert_eq!(answer.0.text("message"), Some("Hook 'j' determined operation is unsafe"));
        assert_eq!(
            action("x {\"action\": \"skip\"} y {\"action\": \"block\"}"),
            Some(Action::Skip)
        );
        let nested = "{\"action\": \"continue\", \"modified_input\": {\"command\": \"ls\"}}";
        let answer = understood(nested, "j").unwrap().unwrap();
        assert_eq!(answer.0.input().unwrap()["command"], "ls");
        assert_eq!(action("{broken {\"safe\": false}"), Some(Action::Block));
    }

    #[test]
    fn reply_without_an_answer_is_none() {
        for reply in ["question", "", "{}", "{\"category\": \"x\"}", "{not json}", "{", "}"] {
            assert_eq!(action(reply), None, "{reply}");
        }
        assert!(understood("{\"action\": 5}", "j").is_err());
    }
}
