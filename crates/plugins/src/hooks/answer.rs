//! The answer of a hook of `hooks.yaml`, in the shape that scripts print and models reply with.

use contract::hook::ContextVerdict;
use serde_json::{Map, Value};

use super::event::Event;
use super::moment::Reply;
use crate::words::Words;

const TEXTS: Words = Words(
    "message modified_output modified_message modified_response modified_strategy summary \
     inject_system_message context_injection",
);

/// A hook's whole answer, checked: it holds known keys alone, and no nulls. A text that is there
/// counts, also if it is empty.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer(Map<String, Value>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Continue,
    Block,
    /// It does not happen, without a message.
    Skip,
}

impl Action {
    const ALL: [(&str, Self); 3] =
        [("continue", Self::Continue), ("block", Self::Block), ("skip", Self::Skip)];

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, action)| action)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unknown(pub(crate) String);

impl Default for Answer {
    fn default() -> Self {
        Self(Map::from_iter([("action".to_owned(), "continue".into())]))
    }
}

impl Answer {
    pub(crate) fn block(message: impl Into<String>) -> Self {
        let mut answer = Self::of(Action::Block);
        answer.set("message", message.into());
        answer
    }

    pub(crate) fn of(action: Action) -> Self {
        let mut answer = Self::default();
        answer.set_action(action);
        answer
    }

    /// An unknown action comes beside the answer; the error completes "the hook answered with".
    pub(crate) fn parse(value: &Value) -> Result<(Self, Option<Unknown>), String> {
        let Value::Object(fields) = value else {
            return Err(format!("{}, where a JSON object belongs", kind(value)));
        };
        let text = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(format!("`{name}` as {}, where text belongs", kind(other))),
        };
        let (mut answer, mut unknown) = (Self::default(), None);
        match text("action")? {
            Some(action) if Action::parse(&action).is_none() => unknown = Some(Unknown(action)),
            Some(action) => answer.set("action", action),
            None => {}
        }
        if let Some(strategy) = text("compaction_strategy")? {
            answer.set("modified_strategy", strategy);
        }
        for name in TEXTS {
            if let Some(text) = text(name)? {
                answer.set(name, text);
            }
        }
        match fields.get("modified_input") {
            None | Some(Value::Null) => {}
            Some(Value::Object(input)) => answer.set("modified_input", input.clone()),
            Some(other) => {
                let kind = kind(other);
                return Err(format!("`modified_input` as {kind}, where an object belongs"));
            }
        }
        let location = text("context_location")?.unwrap_or_else(|| "append".to_owned());
        if location != "append" && location != "prepend" {
            return Err(format!("the unknown context_location `{location}`"));
        }
        if answer.0.contains_key("context_injection") {
            answer.set("context_location", location);
        }
        Ok((answer, unknown))
    }

    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    pub(crate) fn action(&self) -> Action {
        self.text("action").and_then(Action::parse).unwrap_or(Action::Continue)
    }

    pub(crate) fn set_action(&mut self, action: Action) {
        let name = Action::ALL.into_iter().find(|(_, known)| *known == action);
        self.set("action", name.map_or("continue", |(name, _)| name));
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub(crate) fn input(&self) -> Option<&Value> {
        self.0.get("modified_input")
    }

    /// Fills in the reason of a refusal that gives none.
    pub(crate) fn explain(&mut self, usual: Option<&str>) {
        if self.text("message").is_none_or(|message| message.trim().is_empty()) {
            self.0.remove("message");
            if let Some(usual) = usual {
                self.set("message", usual);
            }
        }
    }

    /// Adds a later answer, which wins where both say something.
    pub(crate) fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    pub(crate) fn to_json(&self) -> Value {
        Value::Object(self.0.clone())
    }

    pub(crate) fn reply(&self, event: Event) -> Reply {
        let text = |name: &str| self.text(name).map(str::to_owned);
        let generic = || format!("Blocked by {} hook", event.name());
        let is_skipped = self.action() == Action::Skip;
        let injection = text("context_injection");
        Reply {
            block: (self.action() == Action::Block)
                .then(|| text("message").unwrap_or_else(generic)),
            skip: is_skipped,
            answer: is_skipped.then(|| format!("[skipped by {} hook]", event.name())),
            input: self.input().cloned(),
            text: match event {
                Event::UserPromptSubmit | Event::PreMessage => text("modified_message"),
                Event::PostMessage => text("modified_response"),
                Event::PostToolUse => text("modified_output"),
                _ => None,
            },
            system_prompt: if self.text("context_location") == Some("prepend") {
                ContextVerdict { prepend: injection, append: None }
            } else {
                ContextVerdict { prepend: None, append: injection }
            },
            strategy: text("modified_strategy"),
            summary: text("summary"),
            context: text("inject_system_message").into_iter().collect(),
            ..Reply::default()
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_is_absent_and_empty_text_is_present() {
        let value = json!({
            "action": "continue", "message": null, "modified_input": null,
            "modified_output": "", "inject_system_message": null, "other": [1],
        });
        let (answer, unknown) = Answer::parse(&value).unwrap();
        let expected = json!({"action": "continue", "modified_output": ""});
        assert_eq!((answer.to_json(), unknown), (expected, None));
    }

    #[test]
    fn answer_survives_encoding() {
        let value = json!({
            "action": "skip", "modified_input": {"a": 1}, "message": "m", "modified_output": "o",
            "modified_message": "mm", "modified_response": "r", "modified_strategy": "s",
            "summary": "sum", "inject_system_message": "i", "context_injection": "c",
            "context_location": "prepend",
        });
        assert_eq!(Answer::parse(&value).unwrap().0.to_json(), value);
    }

    proptest::proptest! {
        #[test]
        fn block_wins_over_other_fields(
            key in "[a-z_]{1,20}|modified_(input|output|message)|context_location|message",
            text in ".{0,40}",
            number in proptest::num::i64::ANY,
        ) {
            let texts = [json!(text), json!([text]), json!({&*text: number})];
            for beside in texts.into_iter().chain([json!(number), json!(null)]) {
                let value = json!({&*key: beside, "action": "block"});
                match Answer::parse(&value) {
                    Ok((answer, unknown)) => {
                        proptest::prop_assert_eq!(answer.action(), Action::Block);
                        proptest::prop_assert_eq!(unknown, None);
                    }
                    Err(words) => proptest::prop_assert!(!words.is_empty()),
                }
            }
        }

        #[test]
        fn parsed_answer_survives_encoding(
            action in "continue|block|skip|[a-z]{0,8}",
            message in proptest::option::of(".{0,20}"),
            output in proptest::option::of(".{0,20}"),
        ) {
            let value = json!({"action": action, "message": message, "modified_output": output});
            let (answer, _) = Answer::parse(&value).unwrap();
            proptest::prop_assert_eq!(&Answer::parse(&answer.to_json()).unwrap().0, &answer);
        }
    }

    #[test]
    fn invalid_answer_is_quoted() {
        for (value, words) in [
            (json!([]), "a list, where a JSON object belongs"),
            (json!({"modified_input": "x"}), "`modified_input` as text"),
            (json!({"modified_output": {}}), "`modified_output` as an object"),
            (json!({"context_location": "middle"}), "unknown context_location"),
        ] {
            assert!(Answer::parse(&value).unwrap_err().contains(words), "{value}");
        }
        let (answer, unknown) = Answer::parse(&json!({"action": "explode"})).unwrap();
        assert_eq!((answer, unknown), (Answer::default(), Some(Unknown("explode".to_owned()))));
    }
}
