//! `git_checkout`, `git_commit` and `git_tag`: the installed git, run in the sandbox.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::sandbox::Network;
use contract::tool::{Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use formats::shell;
use serde_json::{Value, json};

use super::super::process::Program;
use super::super::{About, ToolHost, shortened, text};
use super::Repository;
use crate::host::End;

#[derive(Clone, Copy)]
enum Kind {
    Checkout,
    Commit,
    Tag,
}

pub(super) struct GitChange {
    spec: Arc<ToolSpec>,
    kind: Kind,
    repository: Arc<Repository>,
}

impl GitChange {
    pub(super) fn all(tool_host: &ToolHost, repository: &Arc<Repository>) -> [Arc<dyn Tool>; 3] {
        [Kind::Checkout, Kind::Tag, Kind::Commit].map(|kind| {
            let (mut spec, repository) = (about(kind).spec(tool_host), Arc::clone(repository));
            // An interrupted checkout would leave files of both sides.
            spec.traits.indivisible = true;
            Arc::new(Self { spec: spec.into(), kind, repository }) as Arc<dyn Tool>
        })
    }
}

fn about(kind: Kind) -> About<'static> {
    let (name, description, properties, required) = match kind {
        Kind::Checkout => (
            "git_checkout",
            "Switch to a branch, a tag or a commit.",
            json!({
                "branch": {"type": "string", "description": "The branch, tag or commit"},
                "create": {
                    "type": "boolean", "default": false,
                    "description": "Create the branch at the commit that is checked out",
                },
            }),
            &["branch"],
        ),
        Kind::Commit => (
            "git_commit",
            "Commit the changes of files and directories.",
            json!({
                "message": {"type": "string", "description": "The commit's message"},
                "paths": {
                    "type": "string", "default": ".",
                    "description": "Files and directories to commit, separated by spaces",
                },
            }),
            &["message"],
        ),
        Kind::Tag => (
            "git_tag",
            "Tag a commit.",
            json!({
                "name": {"type": "string", "description": "The tag"},
                "message": {
                    "type": "string", "default": "",
                    "description": "The message of an annotated tag",
                },
                "ref": {"type": "string", "default": "HEAD", "description": "The commit"},
            }),
            &["name"],
        ),
    };
    About { name, description, kind: "git", risk: Risk::Mutating, properties, required }
}

fn commands(kind: Kind, args: &Value) -> Result<Vec<Vec<String>>, String> {
    let name = |key: &str| match text(args, key).trim() {
        "" => Err(format!("'{key}' is empty")),
        name if name.starts_with('-') || name.contains('\0') => {
            Err(format!("'{name}' is not a valid name"))
        }
        name => Ok(name.to_owned()),
    };
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    Ok(match kind {
        Kind::Checkout => {
            let branch = name("branch")?;
            let is_new = args.get("create").and_then(Value::as_bool) == Some(true);
            let checkout = if is_new { vec!["checkout", "-b"] } else { vec!["checkout"] };
            vec![words(&[checkout.as_slice(), &[&branch]].concat())]
        }
        Kind::Commit => {
            let message = text(args, "message");
            if message.trim().is_empty() || message.contains('\0') {
                return Err(String::from("the message is empty"));
            }
            let paths = text(args, "paths");
            let paths: Vec<&str> = if paths.trim().is_empty() {
                vec!["."]
            } else {
                paths.split_whitespace().collect()
            };
            let add = [&["add", "--"], paths.as_slice()].concat();
            let commit = [&["commit", "-m", message, "--"], paths.as_slice()].concat();
            vec![words(&add), words(&commit)]
        }
        Kind::Tag => {
            let (tag, message) = (name("name")?, text(args, "message"));
            let target = if text(args, "ref").trim().is_empty() {
                String::from("HEAD")
            } else {
                name("ref")?
            };
            let is_plain = message.trim().is_empty();
            let options = if is_plain { vec!["tag"] } else { vec!["tag", "-m", message] };
            vec![words(&[options.as_slice(), &[&tag, &target]].concat())]
        }
    })
}

#[async_trait]
impl Tool for GitChange {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let commands = commands(self.kind, args).map_err(ToolError::Input)?;
        let action = |words: &Vec<String>| {
            let command = format!("git {}", shell::join(words));
            Action::Run { command, cwd: self.repository.directory.clone() }
        };
        Ok(Plan::from(commands.iter().map(action).collect::<Vec<_>>()))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let commands = commands(self.kind, &call.args).map_err(ToolError::Input)?;
        let confinement = context.confinement.with_network(Network::None);
        let limits = &self.repository.limits;
        let mut printed = String::new();
        for words in commands {
            let program = Program {
                path: "git".into(),
                args: words.into_iter().map(Into::into).collect(),
                cwd: self.repository.directory.clone(),
                input: Vec::new(),
                env: BTreeMap::new(),
                limits: limits.clone(),
            };
            let ended = program.run(&confinement, context).await?;
            if ended.end != End::Exited(0) {
                return Ok(program.told(&ended));
            }
            printed.push_str(&ended.stdout);
            printed.push_str(&ended.stderr);
        }
        let text = printed.trim_end();
        let text = if text.is_empty() { "(no output)" } else { text };
        Ok(ToolOutput::success(shortened(text.to_owned(), limits.output)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_like_options_are_refused() {
        for (kind, args) in [
            (Kind::Checkout, json!({"branch": "--detach"})),
            (Kind::Tag, json!({"name": "-d", "ref": "v1"})),
            (Kind::Tag, json!({"name": "v1", "ref": "--x"})),
            (Kind::Commit, json!({"message": "  "})),
        ] {
            assert!(commands(kind, &args).is_err(), "{args}");
        }
        let words = commands(Kind::Commit, &json!({"message": "m", "paths": "a -b"})).unwrap();
        assert_eq!(words[0], ["add", "--", "a", "-b"]);
        assert_eq!(words[1], ["commit", "-m", "m", "--", "a", "-b"]);
    }
}
