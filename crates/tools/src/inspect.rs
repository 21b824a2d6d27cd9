//! `Inspect`: shows files and directories without reading the files.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::tool::{Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::outcome::{self, Stop};
use crate::paths::Paths;
use crate::{arguments, describe, files, walk};

const DEFAULT_LIMIT: usize = 1_000;

#[derive(Deserialize)]
struct Args {
    operation: Operation,
    path: Option<String>,
    #[serde(default)]
    sort_by: SortBy,
    #[serde(default)]
    reverse: bool,
    #[serde(default)]
    filter: Filter,
    #[serde(default, deserialize_with = "arguments::count")]
    limit: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Cwd,
    Ls,
    Stat,
    Exists,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SortBy {
    #[default]
    Name,
    Mtime,
    Size,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Filter {
    #[default]
    All,
    Files,
    Dirs,
}

impl Args {
    fn parse(args: &Value) -> Result<Self, ToolError> {
        arguments::parse("Inspect", args)
    }

    fn path(&self) -> &str {
        self.path.as_deref().filter(|path| !path.is_empty()).unwrap_or(".")
    }
}

pub(crate) struct Inspect {
    spec: Arc<ToolSpec>,
    paths: Arc<Paths>,
}

impl Inspect {
    pub(crate) fn new(paths: Arc<Paths>) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "operation": {
                    "type": "string",
                    "enum": ["cwd", "ls", "stat", "exists"],
                    "description": "What to find out"
                },
                "path": {"type": "string", "description": "The file or directory (default: the project)"},
                "sort_by": {"type": "string", "enum": ["name", "mtime", "size"], "description": "The order of `ls` (default `name`; times and sizes from the greatest)"},
                "reverse": {"type": "boolean", "description": "Reverse the order of `ls`"},
                "filter": {"type": "string", "enum": ["all", "files", "dirs"], "description": "What `ls` shows (default `all`)"},
                "limit": {"type": "integer", "minimum": 1, "description": "The most entries `ls` shows (default 1000)"}
            },
            "required": ["operation"]
        });
        let words = include_str!("inspect.md");
        let spec = describe::spec("Inspect", words, "files", Risk::ReadOnly, schema).into();
        Self { spec, paths }
    }
}

#[async_trait]
impl Tool for Inspect {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let args = Args::parse(args)?;
        if args.operation == Operation::Cwd {
            return Ok(Plan::default());
        }
        Ok(Plan::from(self.paths.reads(args.path())?))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let args = Args::parse(&call.args)?;
        let (paths, cancel) = (Arc::clone(&self.paths), context.cancel.clone());
        outcome::blocking(move || {
            if args.operation == Operation::Cwd {
                return Ok(ToolOutput::success(paths.root().display().to_string()));
            }
            let path = paths.readable(args.path())?;
            match args.operation {
                Operation::Cwd | Operation::Stat => stat(&path),
                Operation::Exists => Ok(exists(&path)),
                Operation::Ls => list(&path, &args, &cancel),
            }
        })
        .await
    }
}

fn look(path: &Path) -> Result<Metadata, Stop> {
    let name = walk::line(path);
    std::fs::symlink_metadata(path).map_err(|error| match error {
        error if files::is_absence(&error) => format!("Path not found: {name}").into(),
        error => files::explain(&name, "inspect", &error).into(),
    })
}

fn exists(path: &Path) -> ToolOutput {
    let name = walk::line(path);
    let kind = std::fs::symlink_metadata(path).ok().map(|found| kind(&found));
    let text = match kind {
        Some(kind) => format!("{name} exists ({kind})"),
        None => format!("{name} does not exist"),
    };
    let mut output = ToolOutput::success(text);
    output.facts.insert("exists".into(), json!(kind.is_some()));
    output
}

fn stat(path: &Path) -> Result<ToolOutput, Stop> {
    let found = look(path)?;
    let (kind, mode, size) = (kind(&found), found.mode() & 0o7777, found.len());
    let (name, time) = (walk::line(path), modified(&found));
    let text = format!(
        "Path: {name}\nType: {kind}\nSize: {size} bytes\nModified: {time}\nMode: {mode:04o}"
    );
    let mut output = ToolOutput::success(text);
    output.facts.insert("type".into(), json!(kind));
    output.facts.insert("size".into(), json!(size));
    Ok(output)
}

fn kind(found: &Metadata) -> &'static str {
    let kind = found.file_type();
    if kind.is_dir() {
        "directory"
    } else if kind.is_file() {
        "file"
    } else if kind.is_symlink() {
        "symbolic link"
    } else if kind.is_fifo() {
        "pipe"
    } else if kind.is_socket() {
        "socket"
    } else {
        "device"
    }
}

/// The time of the last change, in UTC to the second.
fn modified(found: &Metadata) -> String {
    jiff::Timestamp::from_second(found.mtime())
        .map_or_else(|_| "unknown".to_owned(), |time| time.to_string())
}

struct Entry {
    name: String,
    found: Metadata,
}

impl Entry {
    fn read(entry: &std::fs::DirEntry) -> Option<Self> {
        let found = entry.metadata().ok()?;
        let mut name = walk::line(Path::new(&entry.file_name()));
        if found.is_dir() {
            name.push('/');
        } else if found.is_symlink()
            && let Ok(target) = std::fs::read_link(entry.path())
        {
            name.push_str(" -> ");
            name.push_str(&walk::line(&target));
        }
        Some(Self { name, found })
    }

    fn row(&self) -> String {
        let size = if self.found.is_dir() { "-".to_owned() } else { self.found.len().to_string() };
        format!("{size:>12}  {}  {}", modified(&self.found), self.name)
    }
}

fn list(path: &Path, args: &Args, cancel: &CancellationToken) -> Result<ToolOutput, Stop> {
    let name = walk::line(path);
    if !look(path)?.is_dir() {
        return Err(format!("Not a directory: {name}").into());
    }
    let directory =
        std::fs::read_dir(path).map_err(|error| files::explain(&name, "list", &error))?;
    let mut entries = Vec::new();
    for entry in directory.flatten() {
        outcome::unless_cancelled(cancel)?;
        entries.extend(Entry::read(&entry));
    }
    entries.retain(|entry| match args.filter {
        Filter::All => true,
        Filter::Files => entry.found.is_file(),
        Filter::Dirs => entry.found.is_dir(),
    });
    entries.sort_by(|one, two| {
        let by_name = one.name.cmp(&two.name);
        let time = |entry: &Entry| (entry.found.mtime(), entry.found.mtime_nsec());
        match args.sort_by {
            SortBy::Name => by_name,
            SortBy::Mtime => time(two).cmp(&time(one)).then(by_name),
            SortBy::Size => two.found.len().cmp(&one.found.len()).then(by_name),
        }
    });
    if args.reverse {
        entries.reverse();
    }
    let total = entries.len();
    entries.truncate(args.limit.unwrap_or(DEFAULT_LIMIT).max(1));
    let mut lines = vec![format!("{name}: {total} entries")];
    lines.extend(entries.iter().map(Entry::row));
    if entries.len() < total {
        let more = total - entries.len();
        lines.push(format!("... ({more} more entries; raise `limit` to see them)"));
    }
    let mut output = ToolOutput::success(lines.join("\n"));
    output.facts.insert("entries".into(), json!(total));
    Ok(output)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::tests::fixture::{self, Project};

    fn tool(project: &Project) -> Inspect {
        Inspect::new(Arc::clone(&project.paths))
    }

    fn sample() -> Project {
        let project = Project::with(&[("b.txt", "12345"), ("a.txt", "1"), ("directory/x", "")]);
        for (name, time) in [("b.txt", 86_400), ("a.txt", 2 * 86_400), ("directory", 3 * 86_400)] {
            let file = std::fs::File::open(project.path(name)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(time)).unwrap();
        }
        project
    }

    async fn names(project: &Project, args: Value) -> Vec<String> {
        let text = project.output(&tool(project), args).await;
        let last = |line: &str| line.split("  ").last().map(str::to_owned);
        text.lines().skip(1).filter_map(last).collect()
    }

    #[tokio::test]
    async fn a_directory_is_listed_with_sizes_and_times() {
        let project = sample();
        let text = project.output(&tool(&project), json!({"operation": "ls"})).await;
        let root = project.paths.root().display();
        let expected = format!(
            "{root}: 3 entries\n           1  1970-01-03T00:00:00Z  a.txt\n           \
             5  1970-01-02T00:00:00Z  b.txt\n           -  1970-01-04T00:00:00Z  directory/"
        );
        assert_eq!(text, expected);
    }

    #[tokio::test]
    async fn a_listing_can_be_ordered_filtered_and_cut() {
        let project = sample();
        let ls = async |mut args: Value| {
            args["operation"] = json!("ls");
            names(&project, args).await
        };
        assert_eq!(ls(json!({"sort_by": "mtime"})).await, ["directory/", "a.txt", "b.txt"]);
        let args = json!({"sort_by": "size", "filter": "files"});
        assert_eq!(ls(args).await, ["b.txt", "a.txt"]);
        let args = json!({"reverse": true, "filter": "files"});
        assert_eq!(ls(args).await, ["b.txt", "a.txt"]);
        assert_eq!(ls(json!({"filter": "dirs"})).await, ["directory/"]);
        let cut = ls(json!({"limit": 1})).await;
        assert_eq!(cut, ["a.txt", "... (2 more entries; raise `limit` to see them)"]);
    }

    #[tokio::test]
    async fn listing_shows_symlinks_and_escapes_names() {
        let project = Project::with(&[("new\nline", "")]);
        symlink("/etc/hosts", project.path("link")).unwrap();
        let listed = names(&project, json!({"operation": "ls"})).await;
        assert_eq!(listed, ["link -> /etc/hosts", "new\\nline"]);
    }

    #[tokio::test]
    async fn single_file_can_be_inspected() {
        let project = sample();
        let tool = tool(&project);
        let run = async |operation: &str, path: &str| {
            let args = json!({"operation": operation, "path": path});
            project.output(&tool, args).await
        };
        let path = project.path("b.txt");
        let text = run("stat", "b.txt").await;
        let start = format!("Path: {}\nType: file\nSize: 5 bytes\n", path.display());
        assert!(text.starts_with(&start), "{text}");
        assert!(text.contains("\nModified: 1970-01-02T00:00:00Z\nMode: 0"), "{text}");
        assert_eq!(run("exists", "b.txt").await, format!("{} exists (file)", path.display()));
        assert!(run("exists", "none").await.ends_with("/none does not exist"));
        assert_eq!(run("cwd", "").await, project.paths.root().display().to_string());
    }

    #[tokio::test]
    async fn inspect_errors_name_the_resolved_path() {
        let project = sample();
        let tool = tool(&project);
        let fail = async |operation: &str, path: &str| {
            let args = json!({"operation": operation, "path": path});
            project.fail(&tool, args).await
        };
        let root = project.paths.root().display();
        assert_eq!(fail("stat", "none").await, format!("Path not found: {root}/none"));
        assert_eq!(fail("ls", "none").await, format!("Path not found: {root}/none"));
        assert_eq!(fail("ls", "a.txt").await, format!("Not a directory: {root}/a.txt"));
        let args = json!({"operation": "exists", "path": "~/.ssh"});
        let message = fixture::refusal(&tool, &args);
        assert!(message.starts_with("Read access denied: ~/.ssh is in a protected location. "));
    }
}
