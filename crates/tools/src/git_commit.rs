//! `GitCommit`: commits through the broker, the one way by which a call changes `.git`.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use contract::broker::{Broker, CommitRequest, Committed};
use contract::message::ToolCall;
use contract::policy::Action;
use contract::tool::{Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{arguments, describe};

const LISTED: usize = 100;

#[derive(Deserialize)]
struct Args {
    message: String,
    #[serde(default)]
    paths: Option<Vec<String>>,
}

impl Args {
    fn parse(args: &Value) -> Result<Self, ToolError> {
        let args: Self = arguments::parse("GitCommit", args)?;
        if args.message.trim().is_empty() {
            return Err(ToolError::Input("the message is empty".to_owned()));
        }
        Ok(args)
    }

    fn subject(&self) -> &str {
        self.message.trim().lines().next().unwrap_or_default()
    }
}

/// The tool.
pub(crate) struct GitCommit {
    spec: ToolSpec,
    broker: Arc<dyn Broker>,
}

impl GitCommit {
    /// Makes the tool.
    pub(crate) fn new(broker: Arc<dyn Broker>) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "message": {
                    "type": "string",
                    "description": "The commit's message: a first line, and where it helps an empty line and a body"
                },
                "paths": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "Files and folders to commit, relative to the project (default: everything that changed)"
                }
            },
            "required": ["message"]
        });
        let words = include_str!("git_commit.md");
        Self { spec: describe::spec("GitCommit", words, "git", Risk::Mutating, schema), broker }
    }
}

#[async_trait]
impl Tool for GitCommit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions(&self, args: &Value) -> Result<Vec<Action>, ToolError> {
        let args = Args::parse(args)?;
        let branch = self.broker.branch().map_err(|error| ToolError::Input(error.to_string()))?;
        let branch = branch.unwrap_or_else(|| "no branch".to_owned());
        let paths = args.paths.as_deref().unwrap_or_default();
        let paths = match paths {
            [] => "everything that changed".to_owned(),
            paths => paths.join(", "),
        };
        // A permission is remembered by this text, so it holds all that makes a call what it is.
        let what = format!("commit to git: {branch}: {paths}: {}", args.subject());
        Ok(vec![Action::Opaque { what }])
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let args = Args::parse(&call.args)?;
        let paths = args.paths.iter().flatten().map(PathBuf::from).collect();
        let request = CommitRequest { message: args.message.clone(), paths };
        let made = tokio::select! {
            made = self.broker.commit(&request) => made,
            () = context.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        Ok(match made {
            Ok(committed) => report(&committed, args.subject()),
            Err(error) => ToolOutput::failure(error.to_string()),
        })
    }
}

fn report(committed: &Committed, subject: &str) -> ToolOutput {
    let Committed { id, branch, files, notes } = committed;
    let branch = branch.as_deref().unwrap_or("detached HEAD");
    let mut lines = vec![format!("[{branch} {}] {subject}", &id[..id.len().min(12)])];
    lines.extend(files.iter().take(LISTED).map(|file| format!("  {file}")));
    if files.len() > LISTED {
        lines.push(format!("  and {} more files", files.len() - LISTED));
    }
    lines.extend(notes.iter().map(|note| format!("note: {note}")));
    let mut output = ToolOutput::success(lines.join("\n"));
    output.facts.insert("commit".to_owned(), json!(id));
    output.facts.insert("files".to_owned(), json!(files.len()));
    output
}

#[cfg(test)]
mod tests {
    use contract::broker::BrokerError;

    use super::*;
    use crate::fixture::{Project, refusal};

    /// A broker that makes nothing and remembers what it was asked for.
    struct Asked(std::sync::Mutex<Vec<CommitRequest>>);

    #[async_trait]
    impl Broker for Asked {
        fn branch(&self) -> Result<Option<String>, BrokerError> {
            Ok(Some("main".to_owned()))
        }

        async fn commit(&self, request: &CommitRequest) -> Result<Committed, BrokerError> {
            self.0.lock().unwrap().push(request.clone());
            if request.message.contains("fail") {
                return Err(BrokerError::NoIdentity);
            }
            Ok(Committed {
                id: "ab".repeat(20),
                branch: None,
                files: vec!["a".into()],
                notes: vec!["the commit is not signed".into()],
            })
        }
    }

    fn tool() -> (Arc<Asked>, GitCommit) {
        let asked = Arc::new(Asked(std::sync::Mutex::default()));
        (Arc::clone(&asked), GitCommit::new(asked))
    }

    #[test]
    fn a_call_is_known_by_branch_paths_and_first_line() {
        let (_, tool) = tool();
        let what = |args: Value| match tool.actions(&args).unwrap().pop() {
            Some(Action::Opaque { what }) => what,
            other => panic!("{other:?}"),
        };
        let args = json!({"message": "\nDo it\n\nbody", "paths": ["a", "b c"]});
        assert_eq!(what(args), "commit to git: main: a, b c: Do it");
        let args = json!({"message": "All"});
        assert_eq!(what(args), "commit to git: main: everything that changed: All");
        assert_eq!(refusal(&tool, &json!({"message": " "})), "the message is empty");
        assert!(tool.spec().requires_permission && !tool.spec().parallel);
    }

    #[tokio::test]
    async fn the_broker_is_asked_and_its_answer_is_told() {
        let (asked, tool) = tool();
        let project = Project::new();
        let args = json!({"message": "Do it", "paths": ["a"]});
        let told = project.output(&tool, args).await;
        assert_eq!(told, "[detached HEAD abababababab] Do it\n  a\nnote: the commit is not signed");
        let request = CommitRequest { message: "Do it".into(), paths: vec!["a".into()] };
        assert_eq!(*asked.0.lock().unwrap(), [request]);
        let error = project.fail(&tool, json!({"message": "fail"})).await;
        assert!(error.contains("user.email"), "{error}");
    }
}
