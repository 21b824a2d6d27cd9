//! `think`: a list of thoughts that lasts for one run.

use async_trait::async_trait;
use contract::tool::Risk;
use serde_json::{Value, json};

use super::function::{self, Function};
use super::options::Options;
use super::{About, Built, ToolHost, text};
use crate::task::RunState;

pub(super) const KEYS: &[&str] = &["critique", "max_thoughts"];

/// A critique is asked for after this many thoughts each time.
const CRITIQUE_INTERVAL: usize = 5;

pub(super) fn build(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let about = About {
        name: "think",
        description: "Write down a thought on a private scratchpad: break the task down, choose \
                      tools, plan the next steps, or reflect on results. It changes nothing else.",
        kind: "think",
        risk: Risk::ReadOnly,
        properties: json!({"thought": {"type": "string", "description": "The thought"}}),
        required: &["thought"],
    };
    let think = Think {
        critique: options.flag("critique", false)?,
        max_thoughts: options.count_within("max_thoughts", 50, 1..=200)?,
        thoughts: RunState::new(&tool_host.run),
    };
    Ok(Built::of([function::stateful(think, about.spec(tool_host))]))
}

struct Think {
    critique: bool,
    max_thoughts: usize,
    thoughts: RunState<Vec<String>>,
}

#[async_trait]
impl Function for Think {
    async fn call(&self, args: &Value) -> Result<String, String> {
        Ok(self.thoughts.with(|thoughts| {
            if thoughts.len() == self.max_thoughts {
                thoughts.remove(0);
            }
            thoughts.push(text(args, "thought").to_owned());
            let count = thoughts.len();
            let lines = thoughts.iter().zip(1..);
            let lines: Vec<String> =
                lines.map(|(thought, number)| format!("  {number}. {thought}")).collect();
            let lines = lines.join("\n");
            let nudge = if self.critique && count.is_multiple_of(CRITIQUE_INTERVAL) {
                format!(
                    "\n\nYou have noted {count} thoughts. Look at them critically: what may be \
                     wrong, and what did you miss?"
                )
            } else {
                String::new()
            };
            format!("Thoughts ({count}):\n{lines}{nudge}")
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::tests::fixture;
    use super::*;

    #[tokio::test]
    async fn thoughts_are_numbered_capped_and_criticized() {
        let tool_host = fixture::tool_host(Path::new("/"));
        let entry = json!({"critique": true, "max_thoughts": 5});
        let built = build(&Options::new(entry.as_object().unwrap()), &tool_host).unwrap();
        let think = &built.tools[0];
        for (thought, wanted) in
            [("a", "Thoughts (1):\n  1. a"), ("b", "Thoughts (2):\n  1. a\n  2. b")]
        {
            assert_eq!(fixture::output(think, json!({"thought": thought})).await, wanted);
        }
        for thought in ["c", "d", "e"] {
            fixture::output(think, json!({"thought": thought})).await;
        }
        let list = fixture::output(think, json!({"thought": "f"})).await;
        assert!(list.starts_with("Thoughts (5):\n  1. b\n"), "{list}");
        assert!(list.contains("  5. f\n\nYou have noted 5 thoughts."), "{list}");
        tool_host.run.advance();
        assert_eq!(fixture::output(think, json!({"thought": "x"})).await, "Thoughts (1):\n  1. x");
    }

    #[test]
    fn limit_of_thoughts_has_a_range() {
        let entry = json!({"max_thoughts": 201});
        let options = Options::new(entry.as_object().unwrap());
        let said = build(&options, &fixture::tool_host(Path::new("/"))).err().unwrap();
        assert_eq!(said, "`max_thoughts` is not a whole number from 1 to 200");
    }
}
