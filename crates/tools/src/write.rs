//! `Write`: creates or replaces a whole file.

use std::sync::Arc;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::tool::{
    Display, Obstacle, Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::{self, Fingerprint, Snapshot};
use crate::outcome::{self, Stop};
use crate::paths::{Paths, judged};
use crate::seen::Seen;
use crate::{arguments, describe, diff};

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    file_path: String,
    content: String,
}

impl Args {
    fn parse(args: &Value) -> Result<Self, ToolError> {
        let args: Self = arguments::parse("Write", args)?;
        if args.file_path.trim().is_empty() {
            return Err(ToolError::Input("No file_path provided".to_owned()));
        }
        Ok(args)
    }
}

pub(crate) struct Write {
    spec: Arc<ToolSpec>,
    paths: Arc<Paths>,
    seen: Arc<Seen>,
}

impl Write {
    pub(crate) fn new(paths: Arc<Paths>, seen: Arc<Seen>) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "The file to write"},
                "content": {"type": "string", "description": "The content of the file"}
            },
            "required": ["file_path", "content"]
        });
        let words = include_str!("write.md");
        let spec = describe::spec("Write", words, "files", Risk::Mutating, schema).into();
        Self { spec, paths, seen }
    }
}

#[async_trait]
impl Tool for Write {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let args = Args::parse(args)?;
        let path = self.paths.writable(&args.file_path)?;
        // Rules apply to symlinks in the path as well.
        let mut actions = self.paths.links(&args.file_path, &path)?;
        let mut obstacle = None;
        actions.push(match files::load(&path, &args.file_path) {
            Ok(before) => {
                let diff = change(&args, before.as_ref());
                self.seen.state(path, before.as_ref(), diff)
            }
            Err(text) => {
                obstacle = Some(Obstacle { text, reveals_content: false });
                Action::Write { path, diff: None }
            }
        });
        Ok(Plan { actions, obstacle })
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let args = Args::parse(&call.args)?;
        let (paths, seen) = (Arc::clone(&self.paths), Arc::clone(&self.seen));
        let (session, cancel) = (context.session.clone(), context.cancel.clone());
        let actions = context.actions.clone();
        outcome::blocking(move || {
            let path = paths.writable(&args.file_path)?;
            let path = judged(path, &actions, &args.file_path)?;
            let root = paths.root();
            if path.starts_with(root) && !root.is_dir() {
                return Err(Stop::Failed(format!("the workspace {} is gone", root.display())));
            }
            let before = files::load(&path, &args.file_path)?;
            seen.check(&session, (&path, &args.file_path), before.as_ref(), &actions)?;
            let unified = change(&args, before.as_ref());
            outcome::unless_cancelled(&cancel)?;
            let bytes = args.content.as_bytes();
            files::replace(&path, &args.file_path, before.as_ref(), bytes)?;
            seen.note(&session, &path, Fingerprint::of(bytes));
            let text = format!("Wrote {} bytes to {}", bytes.len(), args.file_path);
            let display = unified.map(|unified| Display::Diff { path: args.file_path, unified });
            Ok(ToolOutput { display, ..ToolOutput::success(text) })
        })
        .await
    }
}

/// The change as a diff, if the file before is known. Bytes that are not text are replaced: a
/// repository must not be able to hide a change.
fn change(args: &Args, before: Option<&Snapshot>) -> Option<String> {
    let old = match before {
        None => None,
        Some(file) => Some(String::from_utf8_lossy(file.content.as_deref()?)),
    };
    Some(diff::unified(&args.file_path, old.as_deref(), &args.content))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::read::Read;
    use crate::tests::fixture::{self, Project};

    fn tool(project: &Project) -> Write {
        Write::new(Arc::clone(&project.paths), Arc::clone(&project.seen))
    }

    #[tokio::test]
    async fn write_refuses_a_file_created_after_the_check() {
        let project = Project::new();
        let tool = tool(&project);
        for (name, content) in [("f", "mine\n"), ("g", "")] {
            let call = fixture::call(json!({"file_path": name, "content": content}));
            let (mut context, _lines) = project.context();
            context.actions = tool.actions(&call.args).unwrap().actions;
            project.write(name, "precious\n");
            let output = tool.run(&call, &context).await.unwrap();
            assert!(
                !output.success
                    && output.for_model().contains("changed after this call was decided"),
                "{output:?}"
            );
            assert_eq!(project.read(name), b"precious\n");
            context.actions = tool.actions(&call.args).unwrap().actions;
            assert!(tool.run(&call, &context).await.unwrap().success, "what was seen is agreed to");
        }
    }

    #[tokio::test]
    async fn write_creates_directories_and_reports_bytes() {
        let project = Project::new();
        let args = json!({"file_path": "a/b/c.txt", "content": "héllo\n"});
        let output = project.run(&tool(&project), args).await;
        assert_eq!(output.output, "Wrote 7 bytes to a/b/c.txt");
        assert_eq!(project.read("a/b/c.txt"), "héllo\n".as_bytes());
        let Some(Display::Diff { path, unified }) = output.display else {
            panic!("no diff");
        };
        assert_eq!(path, "a/b/c.txt");
        assert!(unified.ends_with("+héllo\n"), "{unified}");
    }

    #[test]
    fn actions_show_the_change_before_it_happens() {
        let project = Project::with(&[("f", "one\n")]);
        let args = json!({"file_path": "f", "content": "two\n"});
        let actions = tool(&project).actions(&args).unwrap().actions;
        let [Action::Write { path, diff }] = actions.as_slice() else {
            panic!("{actions:?}");
        };
        assert_eq!(*path, project.path("f"));
        assert!(diff.as_deref().unwrap().contains("-one\n+two\n"));
        assert_eq!(project.read("f"), b"one\n");
    }

    #[tokio::test]
    async fn write_refuses_directories_and_special_files() {
        let project = Project::with(&[("directory/file", "")]);
        let tool = tool(&project);
        let args = |path: &str| json!({"file_path": path, "content": "x"});
        assert_eq!(project.fail(&tool, args("directory")).await, "Not a file: directory");
        let message = project.fail(&tool, args("directory/file/below")).await;
        assert!(message.contains("directory/file/below"), "{message}");
        let message = fixture::refusal(&tool, &args("~/.ssh/config"));
        assert!(
            message.starts_with("Write access denied: ~/.ssh/config is in a protected location. ")
        );
        let message = fixture::refusal(&tool, &args(".git/hooks/post-commit"));
        assert!(message.contains("is in a protected location. "), "{message}");
        assert_eq!(fixture::refusal(&tool, &args("")), "No file_path provided");
    }

    #[test]
    fn write_actions_report_a_directory() {
        let project = Project::with(&[("d/f", "")]);
        let obstacle = |path: &str| {
            let args = json!({"file_path": path, "content": "x"});
            tool(&project).actions(&args).unwrap().obstacle.map(|it| it.text)
        };
        assert_eq!(obstacle("d").as_deref(), Some("Not a file: d"));
        assert_eq!(obstacle("d/new"), None);
        assert_eq!(obstacle("d/f"), None);
    }

    #[test]
    fn write_actions_name_symlink_and_target() {
        let project = Project::new();
        let outside = project.path("..").canonicalize().unwrap().join("outside");
        symlink(&outside, project.path("link")).unwrap();
        let args = json!({"file_path": "link", "content": "x"});
        let actions = tool(&project).actions(&args).unwrap().actions;
        let [Action::Read { path: link }, Action::Write { path, .. }] = actions.as_slice() else {
            panic!("{actions:?}");
        };
        assert_eq!((link, path), (&project.path("link"), &outside));
    }

    #[tokio::test]
    async fn write_refuses_a_file_changed_since_it_was_read() {
        let project = Project::with(&[("f", "one")]);
        let write = tool(&project);
        let read = Read::new(Arc::clone(&project.paths), Arc::clone(&project.seen));
        project.output(&read, json!({"file_path": "f"})).await;
        project.write("f", "two");
        let args = json!({"file_path": "f", "content": "three"});
        let message = project.fail(&write, args.clone()).await;
        assert_eq!(message, "f changed since it was last read in this session; read it again");
        assert_eq!(project.read("f"), b"two");
        project.output(&read, json!({"file_path": "f"})).await;
        project.output(&write, args.clone()).await;
        project.output(&write, args).await;
        assert_eq!(project.read("f"), b"three");
    }

    #[tokio::test]
    async fn partly_read_file_is_compared_whole() {
        let project = Project::with(&[("f", "one\ntwo\n")]);
        let read = Read::new(Arc::clone(&project.paths), Arc::clone(&project.seen));
        project.output(&read, json!({"file_path": "f", "limit": 1})).await;
        project.write("f", "one\nTWO\n");
        let args = json!({"file_path": "f", "content": "x"});
        let message = project.fail(&tool(&project), args).await;
        assert!(message.contains("changed since"), "{message}");
    }
}
