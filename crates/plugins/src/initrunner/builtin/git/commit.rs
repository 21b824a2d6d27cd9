//! `git_commit`: commits through the broker, the one way by which a call changes `.git`.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use contract::broker::{Broker, CommitRequest, Committed};
use contract::message::ToolCall;
use contract::policy::Action;
use contract::tool::{Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::super::{About, Ground, text};

/// The tool.
pub(super) struct GitCommit {
    spec: ToolSpec,
    broker: Arc<dyn Broker>,
    folder: PathBuf,
}

impl GitCommit {
    /// Makes the tool.
    pub(super) fn new(ground: &Ground, broker: Arc<dyn Broker>) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "message": {"type": "string", "description": "The commit's message"},
                "paths": {
                    "type": "string", "default": ".",
                    "description": "Files and folders to commit, with spaces between them",
                },
            },
            "required": ["message"],
            "additionalProperties": false,
        });
        let about = About {
            name: "git_commit",
            description: "Commit what has changed in files and folders.",
            kind: "git",
            risk: Risk::Mutating,
            schema,
        };
        let folder = ground.surroundings.workspace.clone();
        Self { spec: about.spec(ground), broker, folder }
    }

    /// What to commit; none means everything.
    fn paths(args: &Value) -> Vec<PathBuf> {
        let named = text(args, "paths").split_whitespace().map(PathBuf::from);
        named.filter(|path| path.as_os_str() != ".").collect()
    }
}

#[async_trait]
impl Tool for GitCommit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions(&self, args: &Value) -> Result<Vec<Action>, ToolError> {
        let message = text(args, "message").trim();
        if message.is_empty() {
            return Err(ToolError::Input(String::from("the message is empty")));
        }
        let branch = self.broker.branch().map_err(|error| ToolError::Input(error.to_string()))?;
        let branch = branch.unwrap_or_else(|| String::from("no branch"));
        let paths = Self::paths(args);
        let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let paths = if paths.is_empty() {
            String::from("everything that changed")
        } else {
            paths.join(", ")
        };
        let subject = message.lines().next().unwrap_or_default();
        // A permission is remembered by this text, so it holds all that makes a call what it is.
        Ok(vec![Action::Opaque { what: format!("commit to git: {branch}: {paths}: {subject}") }])
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let message = text(&call.args, "message").to_owned();
        let paths = Self::paths(&call.args).iter().map(|path| self.folder.join(path)).collect();
        let request = CommitRequest { message: message.clone(), paths };
        let made = tokio::select! {
            made = self.broker.commit(&request) => made,
            () = context.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        Ok(match made {
            Ok(committed) => ToolOutput::success(report(&committed, &message)),
            Err(error) => ToolOutput::failure(error.to_string()),
        })
    }
}

fn report(committed: &Committed, message: &str) -> String {
    let Committed { id, branch, files, notes } = committed;
    let branch = branch.as_deref().unwrap_or("detached HEAD");
    let subject = message.trim().lines().next().unwrap_or_default();
    let mut lines = vec![format!("[{branch} {}] {subject}", &id[..id.len().min(12)])];
    lines.extend(files.iter().map(|file| format!("  {file}")));
    lines.extend(notes.iter().map(|note| format!("note: {note}")));
    lines.join("\n")
}
