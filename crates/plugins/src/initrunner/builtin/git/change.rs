//! `git_checkout` and `git_tag`: done on the host by the broker, which runs nothing that the
//! repository chose.

use std::sync::Arc;

use async_trait::async_trait;
use contract::broker::{Broker, Change, Changed};
use contract::message::ToolCall;
use contract::policy::Action;
use contract::tool::{Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::super::{About, Ground, text};

/// What a tool does.
#[derive(Clone, Copy)]
enum Work {
    Checkout,
    Tag,
}

/// A tool that makes one.
pub(super) struct GitChange {
    spec: ToolSpec,
    broker: Arc<dyn Broker>,
    work: Work,
}

impl GitChange {
    /// Both tools.
    pub(super) fn both(ground: &Ground, broker: &Arc<dyn Broker>) -> [Arc<dyn Tool>; 2] {
        let made = |work| {
            let spec = about(work).spec(ground);
            Arc::new(Self { spec, broker: Arc::clone(broker), work }) as Arc<dyn Tool>
        };
        [Work::Checkout, Work::Tag].map(made)
    }
}

fn about(work: Work) -> About<'static> {
    let (name, description, properties, required) = match work {
        Work::Checkout => (
            "git_checkout",
            "Switch to a branch, a tag or a commit. Changes that are not committed stay, or nothing \
             happens.",
            json!({
                "branch": {"type": "string", "description": "The branch, tag or commit"},
                "create": {
                    "type": "boolean", "default": false,
                    "description": "Whether to make the branch, at the commit that is checked out",
                },
            }),
            "branch",
        ),
        Work::Tag => (
            "git_tag",
            "Give a commit a tag.",
            json!({
                "name": {"type": "string", "description": "The tag"},
                "message": {
                    "type": "string", "default": "",
                    "description": "Its message; without one it is a name alone",
                },
                "ref": {"type": "string", "default": "HEAD", "description": "The commit"},
            }),
            "name",
        ),
    };
    let schema = json!({
        "type": "object", "properties": properties, "required": [required],
        "additionalProperties": false,
    });
    About { name, description, kind: "git", risk: Risk::Mutating, schema }
}

/// The change that a call asks for.
fn change(work: Work, args: &Value) -> Change {
    let filled = |key| Some(text(args, key)).filter(|it| !it.trim().is_empty()).map(str::to_owned);
    match work {
        Work::Checkout => {
            let name = text(args, "branch").to_owned();
            let is_new = args.get("create").and_then(Value::as_bool) == Some(true);
            if is_new { Change::Create(name) } else { Change::Switch(name) }
        }
        Work::Tag => {
            let target = filled("ref").unwrap_or_else(|| String::from("HEAD"));
            Change::Tag(text(args, "name").to_owned(), filled("message"), target)
        }
    }
}

#[async_trait]
impl Tool for GitChange {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions(&self, args: &Value) -> Result<Vec<Action>, ToolError> {
        // A permission is remembered by this text, so it holds all that makes a call what it is.
        let what = match change(self.work, args) {
            Change::Switch(name) => format!("switch git to {name}"),
            Change::Create(name) => format!("make the git branch {name}"),
            Change::Tag(name, _, target) => format!("make the git tag {name} at {target}"),
        };
        Ok(vec![Action::Opaque { what }])
    }

    /// Files would be left of both sides.
    fn is_indivisible(&self) -> bool {
        true
    }

    async fn run(&self, call: &ToolCall, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let change = change(self.work, &call.args);
        Ok(match self.broker.change(&change).await {
            Ok(changed) => ToolOutput::success(told(&change, &changed)),
            Err(error) => ToolOutput::failure(error.to_string()),
        })
    }
}

fn told(change: &Change, changed: &Changed) -> String {
    let Changed { id, branch, files, notes } = changed;
    let id = short(id.as_deref().unwrap_or_default());
    let first = match (change, branch) {
        (Change::Tag(name, ..), _) => format!("Tagged {id} as '{name}'"),
        (Change::Create(_), Some(name)) => format!("Switched to a new branch '{name}'"),
        (Change::Switch(_), Some(name)) => format!("Switched to branch '{name}'"),
        (Change::Create(_) | Change::Switch(_), None) => format!("HEAD is now at {id}"),
    };
    let files = (!files.is_empty()).then(|| format!("files that changed: {}", files.len()));
    let notes = notes.iter().map(|note| format!("note: {note}"));
    [first].into_iter().chain(files).chain(notes).collect::<Vec<_>>().join("\n")
}

fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}
