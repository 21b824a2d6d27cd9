//! `filesystem`: files below one directory, which no path leaves by `..` or a symlink.

mod beneath;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::tool::{Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::directory::Directory;
use super::options::Options;
use super::{About, Built, ToolHost, text};

pub(super) fn build(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let extensions = options.texts("allowed_extensions")?.unwrap_or_default();
    let directory = Arc::new(Directory::new(options, tool_host, &extensions)?);
    let mut built = Built::of([
        FileTool::made(Work::Read, &directory, tool_host),
        FileTool::made(Work::List, &directory, tool_host),
    ]);
    if !options.flag("read_only", true)? {
        built.tools.push(FileTool::made(Work::Write, &directory, tool_host));
    }
    Ok(built)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Read,
    List,
    Write,
}

struct FileTool {
    spec: Arc<ToolSpec>,
    work: Work,
    directory: Arc<Directory>,
}

impl FileTool {
    fn made(work: Work, directory: &Arc<Directory>, tool_host: &ToolHost) -> Arc<dyn Tool> {
        let path = json!({"type": "string", "description": "The path, relative to the directory"});
        let content = json!({"type": "string", "description": "The content of the file"});
        let (name, description, risk, properties, required) = match work {
            Work::Read => (
                "read_file",
                "Read a text file and return what it holds.",
                Risk::ReadOnly,
                json!({"path": path}),
                &["path"][..],
            ),
            Work::List => (
                "list_directory",
                "List the files and directories in a directory; directories end with a slash.",
                Risk::ReadOnly,
                json!({"path": {"type": "string", "default": ".", "description": "The directory"}}),
                &[][..],
            ),
            Work::Write => (
                "write_file",
                "Write a text file: make it, or replace all that it holds.",
                Risk::Mutating,
                json!({"path": path, "content": content}),
                &["path", "content"][..],
            ),
        };
        let kind = "filesystem";
        let about = About { name, description, kind, risk, properties, required };
        Arc::new(Self {
            spec: about.spec(tool_host).into(),
            work,
            directory: Arc::clone(directory),
        })
    }

    fn path(&self, args: &Value) -> Result<PathBuf, ToolError> {
        let given = match (self.work, text(args, "path")) {
            (Work::List, "") => ".",
            (_, given) => given,
        };
        let path = match self.work {
            Work::List => self.directory.path(given),
            Work::Read | Work::Write => self.directory.file(given),
        };
        path.map_err(ToolError::Input)
    }
}

#[async_trait]
impl Tool for FileTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let path = self.path(args)?;
        Ok(Plan::from(vec![match self.work {
            Work::Read | Work::List => Action::Read { path },
            Work::Write => Action::Write { path, diff: None },
        }]))
    }

    async fn run(&self, call: &ToolCall, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let path = self.path(&call.args)?;
        let given = text(&call.args, "path").to_owned();
        let content = text(&call.args, "content").to_owned();
        let (work, directory) = (self.work, Arc::clone(&self.directory));
        let done = tokio::task::spawn_blocking(move || match work {
            Work::Read => beneath::read(&path),
            Work::List => beneath::list(&path),
            Work::Write => beneath::write(&directory.root, &path, content.as_bytes())
                .map(|()| format!("Written {} bytes to {given}", content.len())),
        });
        let done = done.await.map_err(|error| ToolError::Broken(error.to_string()))?;
        let given = text(&call.args, "path");
        Ok(match done {
            Ok(text) => ToolOutput::success(text),
            Err(error) => ToolOutput::failure(format!("'{given}': {error}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::super::tests::fixture;
    use super::*;

    fn tools(directory: &Path, more: &Value) -> Vec<Arc<dyn Tool>> {
        let mut entry = json!({"root_path": "root"});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let tool_host = fixture::tool_host(directory);
        build(&Options::new(entry.as_object().unwrap()), &tool_host).unwrap().tools
    }

    #[tokio::test]
    async fn files_are_read_listed_and_written() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("root/sub")).unwrap();
        std::fs::write(directory.path().join("root/a.txt"), "hello").unwrap();
        let tools = tools(directory.path(), &json!({"read_only": false}));
        let [read, list, write] = tools.as_slice() else { panic!("three tools") };
        assert_eq!(fixture::output(read, json!({"path": "a.txt"})).await, "hello");
        assert_eq!(fixture::output(list, json!({})).await, "a.txt\nsub/");
        assert_eq!(fixture::output(list, json!({"path": "sub"})).await, "(empty directory)");
        let args = json!({"path": "new/ü.md", "content": "grüße"});
        assert_eq!(fixture::output(write, args).await, "Written 7 bytes to new/ü.md");
        let text = std::fs::read_to_string(directory.path().join("root/new/ü.md")).unwrap();
        assert_eq!(text, "grüße");
        let root = directory.path().join("root").canonicalize().unwrap();
        let actions = write.actions(&json!({"path": "./x/../b", "content": ""})).unwrap().actions;
        assert_eq!(actions, [Action::Write { path: root.join("b"), diff: None }]);
        assert_eq!(list.actions(&json!({})).unwrap().actions, [Action::Read { path: root }]);
    }

    #[tokio::test]
    async fn paths_stay_in_the_directory() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("root")).unwrap();
        std::fs::write(directory.path().join("secret"), "x").unwrap();
        symlink("../secret", directory.path().join("root/link")).unwrap();
        symlink("..", directory.path().join("root/up")).unwrap();
        let tools = tools(directory.path(), &json!({"read_only": false}));
        for path in ["../secret", "/etc/passwd", "a/../../secret", "link", "up/secret"] {
            for tool in [&tools[0], &tools[2]] {
                let args = json!({"path": path, "content": "y"});
                assert!(tool.actions(&args).is_err(), "{path}");
                assert!(fixture::ran(tool, args).await.is_err(), "{path}");
            }
        }
        assert_eq!(std::fs::read_to_string(directory.path().join("secret")).unwrap(), "x");
    }

    #[tokio::test]
    async fn symlink_in_place_of_the_directory_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("root")).unwrap();
        std::fs::create_dir_all(directory.path().join("other")).unwrap();
        std::fs::write(directory.path().join("other/secret"), "x").unwrap();
        let tools = tools(directory.path(), &json!({"read_only": false}));
        std::fs::remove_dir(directory.path().join("root")).unwrap();
        symlink("other", directory.path().join("root")).unwrap();
        for tool in &tools {
            let args = json!({"path": "secret", "content": "y"});
            assert!(fixture::ran(tool, args).await.is_err(), "{}", tool.spec().name);
        }
        assert_eq!(std::fs::read_to_string(directory.path().join("other/secret")).unwrap(), "x");
    }

    #[tokio::test]
    async fn other_extensions_and_other_kinds_of_files_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("root")).unwrap();
        std::fs::write(directory.path().join("root/b.bin"), b"\xff\xfe").unwrap();
        std::fs::write(directory.path().join("root/c.TXT"), "y".repeat(2 << 20)).unwrap();
        let tools = tools(directory.path(), &json!({"allowed_extensions": [".txt", "bin"]}));
        let said = fixture::ran(&tools[0], json!({"path": "a.md"})).await.unwrap_err();
        assert_eq!(said, "Error: file type .md is not allowed (allowed: .txt, .bin)");
        let said = fixture::ran(&tools[0], json!({"path": "b.bin"})).await.unwrap_err();
        assert_eq!(said, "'b.bin': it is not UTF-8 text");
        let long = fixture::output(&tools[0], json!({"path": "c.TXT"})).await;
        assert!(long.len() == 1 << 20 && long.ends_with("y\n[truncated]"));
        let said = fixture::ran(&tools[0], json!({"path": "none.txt"})).await.unwrap_err();
        assert!(said.starts_with("'none.txt': "), "{said}");
    }
}
