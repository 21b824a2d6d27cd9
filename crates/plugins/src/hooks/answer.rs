//! What a hook answers, in the shape that scripts print and models reply with.

use serde_json::{Map, Value};

/// A hook's whole answer. A text that is there counts, also where it is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    pub(crate) action: Action,
    /// Why it blocks.
    pub(crate) message: Option<String>,
    pub(crate) modified_input: Option<Map<String, Value>>,
    pub(crate) modified_output: Option<String>,
    pub(crate) modified_message: Option<String>,
    pub(crate) modified_response: Option<String>,
    pub(crate) modified_strategy: Option<String>,
    /// The summary in place of one that a model would write.
    pub(crate) summary: Option<String>,
    pub(crate) inject: Option<String>,
    pub(crate) context_injection: Option<String>,
    pub(crate) location: Location,
}

/// What should follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Action {
    /// The work goes on.
    #[default]
    Continue,
    /// What was about to happen does not.
    Block,
    /// It does not, and nobody is told.
    Skip,
}

impl Action {
    /// Its name in an answer.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Block => "block",
            Self::Skip => "skip",
        }
    }
}

/// Where text goes in a system prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Location {
    /// Before the rest.
    Prepend,
    /// After the rest.
    #[default]
    Append,
}

/// An action that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unknown(pub(crate) String);

impl Answer {
    /// A refusal with its reason.
    pub(crate) fn block(message: impl Into<String>) -> Self {
        Self { action: Action::Block, message: Some(message.into()), ..Self::default() }
    }

    /// Understands an answer; an action that nobody knows comes beside it. The text on failure
    /// completes "the hook answered with".
    pub(crate) fn parse(value: &Value) -> Result<(Self, Option<Unknown>), String> {
        let Value::Object(fields) = value else {
            return Err(format!("{}, where a JSON object belongs", kind(value)));
        };
        let text = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(format!("`{name}` as {}, where text belongs", kind(other))),
        };
        let mut unknown = None;
        let action = match text("action")?.as_deref() {
            None | Some("continue") => Action::Continue,
            Some("block") => Action::Block,
            Some("skip") => Action::Skip,
            Some(other) => {
                unknown = Some(Unknown(other.to_owned()));
                Action::Continue
            }
        };
        let location = match text("context_location")?.as_deref() {
            None | Some("append") => Location::Append,
            Some("prepend") => Location::Prepend,
            Some(other) => return Err(format!("the unknown context_location `{other}`")),
        };
        let modified_input = match fields.get("modified_input") {
            None | Some(Value::Null) => None,
            Some(Value::Object(input)) => Some(input.clone()),
            Some(other) => {
                let kind = kind(other);
                return Err(format!("`modified_input` as {kind}, where an object belongs"));
            }
        };
        let answer = Self {
            action,
            message: text("message")?,
            modified_input,
            modified_output: text("modified_output")?,
            modified_message: text("modified_message")?,
            modified_response: text("modified_response")?,
            modified_strategy: text("modified_strategy")?.or(text("compaction_strategy")?),
            summary: text("summary")?,
            inject: text("inject_system_message")?,
            context_injection: text("context_injection")?,
            location,
        };
        Ok((answer, unknown))
    }

    /// The answer in the shape in which it came, without what it leaves open.
    pub(crate) fn to_json(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("action".to_owned(), self.action.name().into());
        if let Some(input) = &self.modified_input {
            fields.insert("modified_input".to_owned(), Value::Object(input.clone()));
        }
        let texts = [
            ("message", &self.message),
            ("modified_output", &self.modified_output),
            ("modified_message", &self.modified_message),
            ("modified_response", &self.modified_response),
            ("modified_strategy", &self.modified_strategy),
            ("summary", &self.summary),
            ("inject_system_message", &self.inject),
            ("context_injection", &self.context_injection),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                fields.insert(name.to_owned(), text.as_str().into());
            }
        }
        if self.context_injection.is_some() {
            let location = if self.location == Location::Prepend { "prepend" } else { "append" };
            fields.insert("context_location".to_owned(), location.into());
        }
        Value::Object(fields)
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
    fn nulls_are_nothing_and_empty_text_is_something() {
        let value = json!({
            "action": "continue", "message": null, "modified_input": null,
            "modified_output": "", "inject_system_message": null, "other": [1],
        });
        let (answer, unknown) = Answer::parse(&value).unwrap();
        let expected = Answer { modified_output: Some(String::new()), ..Answer::default() };
        assert_eq!((answer, unknown), (expected, None));
    }

    #[test]
    fn an_answer_reads_back_as_it_was_written() {
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
        fn what_blocks_blocks_whatever_stands_beside_it(
            key in "[a-z_]{1,20}|modified_(input|output|message)|context_location|message",
            text in ".{0,40}",
            number in proptest::num::i64::ANY,
        ) {
            let texts = [json!(text), json!([text]), json!({&*text: number})];
            for beside in texts.into_iter().chain([json!(number), json!(null)]) {
                let value = json!({&*key: beside, "action": "block"});
                match Answer::parse(&value) {
                    Ok((answer, unknown)) => {
                        proptest::prop_assert_eq!(answer.action, Action::Block);
                        proptest::prop_assert_eq!(unknown, None);
                    }
                    Err(words) => proptest::prop_assert!(!words.is_empty()),
                }
            }
        }

        #[test]
        fn an_answer_that_was_understood_reads_back_as_it_was_written(
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
    fn nonsense_says_what_it_is() {
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
