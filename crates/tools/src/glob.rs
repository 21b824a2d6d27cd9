//! `Glob`: finds files by name, newest first.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use ::files::exact_path;
use async_trait::async_trait;
use contract::action::{Hidden, View};
use contract::message::ToolCall;
use contract::tool::{Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder, WalkState};
use rustix::fs::OFlags;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::outcome::{self, Stop};
use crate::paths::{Paths, judged};
use crate::walk::Filter;
use crate::{arguments, describe, walk};

const DEFAULT_LIMIT: usize = 1_000;

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    pattern: String,
    path: Option<String>,
    #[serde(default, deserialize_with = "arguments::count")]
    limit: Option<usize>,
}

impl Args {
    fn parse(args: &Value) -> Result<Self, ToolError> {
        let args: Self = arguments::parse("Glob", args)?;
        if args.pattern.trim().is_empty() {
            return Err(ToolError::Input("No pattern provided".to_owned()));
        }
        Ok(args)
    }

    fn path(&self) -> &str {
        self.path.as_deref().filter(|path| !path.is_empty()).unwrap_or(".")
    }
}

pub(crate) struct Glob {
    spec: Arc<ToolSpec>,
    paths: Arc<Paths>,
}

impl Glob {
    pub(crate) fn new(paths: Arc<Paths>) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "What to look for, such as `*.rs` or `src/**/*.ts`"},
                "path": {"type": "string", "description": "The directory to look in (default: the project)"},
                "limit": {"type": "integer", "minimum": 1, "description": "The most files to show (default 1000)"}
            },
            "required": ["pattern"]
        });
        let words = include_str!("glob.md");
        let spec = describe::spec("Glob", words, "search", Risk::ReadOnly, schema).into();
        Self { spec, paths }
    }
}

#[async_trait]
impl Tool for Glob {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let args = Args::parse(args)?;
        let Search { given, .. } = Search::new(&args, &self.paths)?;
        let start = self.paths.reads(args.path())?.into_iter().skip(1);
        Ok(Plan::from(self.paths.reads(&given)?.into_iter().chain(start).collect::<Vec<_>>()))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let args = Args::parse(&call.args)?;
        let (paths, cancel) = (Arc::clone(&self.paths), context.cancel.clone());
        let (view, actions) = (context.view.clone(), context.actions.clone());
        outcome::blocking(move || {
            let search = Search { view, ..Search::new(&args, &paths)? };
            judged(search.directory.clone(), &actions, args.path())?;
            check_directory(&paths, args.path())?;
            let limit = args.limit.unwrap_or(DEFAULT_LIMIT).max(1);
            let ignored = walk::ignored(&search.directory);
            let filter = Arc::new(Filter::new(Some(ignored), search.hidden));
            let walk = walk::from(&search.directory, &paths, &filter);
            let (files, total) = search.run(limit, &walk, &cancel);
            outcome::unless_cancelled(&cancel)?;
            Ok(filter.with_note(render(&files, total, paths.root())))
        })
        .await
    }
}

fn check_directory(paths: &Paths, given: &str) -> Result<(), Stop> {
    match std::fs::metadata(paths.readable(given)?) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(format!("Not a directory: {given}").into()),
        Err(_) => Err(format!("Path not found: {given}").into()),
    }
}

fn render(files: &[PathBuf], total: usize, root: &Path) -> ToolOutput {
    let relative = |path: &PathBuf| walk::line(path.strip_prefix(root).unwrap_or(path));
    let mut text = files.iter().map(relative).collect::<Vec<_>>().join("\n");
    if files.is_empty() {
        "No files found matching pattern".clone_into(&mut text);
    }
    if total > files.len() {
        let shown = files.len();
        let note = format!("... (the newest {shown} of {total} files; raise `limit` for more)");
        text = format!("{text}\n{note}");
    }
    let mut output = ToolOutput::success(text);
    output.facts.insert("files".into(), json!(total));
    output
}

/// A pattern, and the directory before its first wildcard.
struct Search {
    /// The directory in the caller's words.
    given: String,
    directory: PathBuf,
    matcher: GlobMatcher,
    hidden: bool,
    view: View,
}

impl Search {
    fn new(args: &Args, paths: &Paths) -> Result<Self, Stop> {
        let pattern = args.pattern.trim();
        let (directory, rest) = split(pattern);
        let rest = rest.trim_start_matches("./");
        let parts = || rest.split('/');
        if parts().any(|part| part == "..") {
            return Err(format!("`..` cannot follow a wildcard in the pattern `{pattern}`").into());
        }
        let whole = if pattern.contains('/') { rest.to_owned() } else { format!("**/{rest}") };
        let matcher = GlobBuilder::new(&whole)
            .literal_separator(true)
            .build()
            .map_err(|error| format!("invalid pattern `{pattern}`: {error}"))?
            .compile_matcher();
        let start = paths.readable(args.path())?;
        let directory = if directory.starts_with('/') || directory.starts_with('~') {
            directory.to_owned()
        } else {
            start.join(directory).to_string_lossy().into_owned()
        };
        Ok(Self {
            directory: paths.readable(&directory)?,
            given: directory,
            matcher,
            hidden: parts().any(|part| part.starts_with('.')),
            view: View::default(),
        })
    }

    /// The newest files that match, and how many match in all.
    fn run(
        &self,
        limit: usize,
        walk: &WalkBuilder,
        cancel: &CancellationToken,
    ) -> (Vec<PathBuf>, usize) {
        let newest = Mutex::new(Newest::new(limit));
        walk.build_parallel().run(|| {
            Box::new(|entry| {
                if cancel.is_cancelled() {
                    return WalkState::Quit;
                }
                if let Some(file) = entry.ok().and_then(|entry| self.find(entry)) {
                    newest.lock().unwrap_or_else(PoisonError::into_inner).add(file);
                }
                WalkState::Continue
            })
        });
        let (files, total) = newest.into_inner().unwrap_or_else(PoisonError::into_inner).finish();
        let count = files.len();
        let files = without_symlinks(files);
        let removed = count - files.len();
        (files, total - removed)
    }

    fn find(&self, entry: DirEntry) -> Option<Aged> {
        if !entry.file_type()?.is_file() {
            return None;
        }
        let name = entry.path().strip_prefix(&self.directory).ok()?;
        if !self.matcher.is_match(name) {
            return None;
        }
        // The names of files with secrets may be shown, as in the list of a directory.
        if self.view.hidden(entry.path()) == Some(Hidden::Ruled) {
            return None;
        }
        let modified = entry.metadata().ok().and_then(|found| found.modified().ok());
        let modified = modified.unwrap_or(SystemTime::UNIX_EPOCH);
        Some((Reverse(modified), entry.into_path().into_os_string()))
    }
}

/// Removes paths with symlinks in them: a directory that was replaced by a symlink during the walk
/// has shown the names of another directory.
fn without_symlinks(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    paths.retain(|path| exact_path::open(path, flags).is_ok());
    paths
}

/// Splits a pattern before the first part that holds a wildcard, or before its last part.
fn split(pattern: &str) -> (&str, &str) {
    let wild = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    match pattern[..wild].rfind('/') {
        Some(slash) => pattern.split_at(slash + 1),
        None => ("", pattern),
    }
}

/// A file with its age. Names compare as bytes: many files are of the same age where an archive was
/// unpacked, and comparing paths part by part is slow.
type Aged = (Reverse<SystemTime>, OsString);

/// The newest of many files, in bounded memory.
struct Newest {
    limit: usize,
    total: usize,
    files: Vec<Aged>,
}

impl Newest {
    fn new(limit: usize) -> Self {
        Self { limit, total: 0, files: Vec::new() }
    }

    fn add(&mut self, file: Aged) {
        self.total += 1;
        self.files.push(file);
        if self.files.len() > self.limit.saturating_mul(2).max(4_096) {
            self.files.select_nth_unstable(self.limit);
            self.files.truncate(self.limit);
        }
    }

    fn finish(mut self) -> (Vec<PathBuf>, usize) {
        self.files.sort_unstable();
        self.files.truncate(self.limit);
        let paths = self.files.into_iter().map(|(_, path)| path.into()).collect();
        (paths, self.total)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use super::*;
    use crate::tests::fixture::{self, Project};

    fn tool(project: &Project) -> Glob {
        Glob::new(Arc::clone(&project.paths))
    }

    /// A project whose files get older in the order in which they are named.
    fn aged(names: &[&str]) -> Project {
        let project = Project::new();
        for (name, age) in names.iter().zip(1..) {
            project.write(name, "");
            let file = std::fs::File::options().write(true).open(project.path(name));
            let modified = SystemTime::UNIX_EPOCH + Duration::from_hours(1_000 - age);
            file.unwrap().set_modified(modified).unwrap();
        }
        project
    }

    async fn glob(project: &Project, pattern: &str) -> String {
        project.output(&tool(project), json!({"pattern": pattern})).await
    }

    #[tokio::test]
    async fn glob_searches_all_directories_newest_first() {
        let project = aged(&["src/b.rs", "a.rs", "src/deep/c.rs", "x.py"]);
        assert_eq!(glob(&project, "*.rs").await, "src/b.rs\na.rs\nsrc/deep/c.rs");
        assert_eq!(glob(&project, "c.rs").await, "src/deep/c.rs");
        assert_eq!(glob(&project, "src/*.rs").await, "src/b.rs");
        assert_eq!(glob(&project, "./src/*.rs").await, "src/b.rs");
        assert_eq!(glob(&project, "src/**/*.rs").await, "src/b.rs\nsrc/deep/c.rs");
        assert_eq!(glob(&project, "{src,lib}/*.{rs,py}").await, "src/b.rs");
        assert_eq!(glob(&project, "src/b.rs").await, "src/b.rs");
        assert_eq!(glob(&project, "src").await, "No files found matching pattern");
        assert_eq!(glob(&project, "none/*.rs").await, "No files found matching pattern");
    }

    #[tokio::test]
    async fn glob_does_not_list_a_swapped_directory() {
        let project = Project::with(&[("d/e/open", ""), ("secret/e/closed", "")]);
        let args = json!({"pattern": "d/e/*"});
        let (mut context, _lines) = project.context();
        context.actions = tool(&project).actions(&args).unwrap().actions;
        std::fs::rename(project.path("d"), project.path("old")).unwrap();
        symlink("secret", project.path("d")).unwrap();
        let output = tool(&project).run(&fixture::call(args), &context).await.unwrap();
        assert!(!output.success && !output.output.contains("closed"), "{}", output.output);
    }

    #[test]
    fn glob_hides_names_found_through_a_symlink() {
        let project = Project::with(&[("d/open", ""), ("secret/open", ""), ("secret/closed", "")]);
        std::fs::rename(project.path("d"), project.path("old")).unwrap();
        symlink("secret", project.path("d")).unwrap();
        let seen = ["d/open", "d/closed", "old/open"].map(|name| project.path(name));
        assert_eq!(without_symlinks(seen.into()), [project.path("old/open")]);
    }

    #[tokio::test]
    async fn glob_sorts_files_of_equal_age_by_name() {
        let project = aged(&["b", "a"]);
        let time = SystemTime::UNIX_EPOCH;
        for name in ["a", "b"] {
            let file = std::fs::File::options().write(true).open(project.path(name));
            file.unwrap().set_modified(time).unwrap();
        }
        assert_eq!(glob(&project, "*").await, "a\nb");
    }

    #[tokio::test]
    async fn glob_skips_ignored_hidden_and_symlinked_files() {
        let project = aged(&["a.rs", "target/b.rs", ".github/ci.yml", ".git/config"]);
        project.write(".gitignore", "target\n");
        symlink("a.rs", project.path("link.rs")).unwrap();
        assert_eq!(glob(&project, "**/*").await, "a.rs");
        assert_eq!(glob(&project, ".github/*.yml").await, ".github/ci.yml");
        assert_eq!(glob(&project, "**/.github/*").await, ".github/ci.yml");
        assert_eq!(glob(&project, ".gitignore").await, ".gitignore");
    }

    #[tokio::test]
    async fn glob_limit_keeps_the_newest() {
        let project = aged(&["a", "b", "c"]);
        let args = json!({"pattern": "*", "limit": 2});
        let text = project.output(&tool(&project), args).await;
        assert_eq!(text, "a\nb\n... (the newest 2 of 3 files; raise `limit` for more)");
    }

    #[test]
    fn glob_memory_is_bounded_by_the_limit() {
        let mut newest = Newest::new(2);
        for number in 0..10_000_u64 {
            let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(number);
            newest.add((Reverse(modified), number.to_string().into()));
            assert!(newest.files.len() <= 4_096);
        }
        let (files, total) = newest.finish();
        assert_eq!(files, [PathBuf::from("9999"), PathBuf::from("9998")]);
        assert_eq!(total, 10_000);
    }

    #[tokio::test]
    async fn glob_pattern_leaves_the_project_only_for_allowed_paths() {
        let project = aged(&["src/a.rs"]);
        let root = project.paths.root().to_str().unwrap().to_owned();
        assert_eq!(glob(&project, &format!("{root}/src/*.rs")).await, "src/a.rs");
        let above = json!({"pattern": "../*.rs", "path": "src"});
        assert!(tool(&project).actions(&above).is_ok());
        for closed in ["../.ssh/*", "~/.aws/*", "/proc/*/environ"] {
            let message = fixture::refusal(&tool(&project), &json!({"pattern": closed}));
            assert!(message.starts_with("Read access denied: "), "{message}");
        }
        let message = fixture::refusal(&tool(&project), &json!({"pattern": "*/../../x"}));
        assert!(message.contains("cannot follow a wildcard"), "{message}");
    }

    #[tokio::test]
    async fn glob_reports_invalid_arguments() {
        let project = aged(&["file"]);
        let tool = tool(&project);
        let fail = async |args: Value| project.fail(&tool, args).await;
        let message = fail(json!({"pattern": "*", "path": "none"})).await;
        assert_eq!(message, "Path not found: none");
        let message = fail(json!({"pattern": "*", "path": "file"})).await;
        assert_eq!(message, "Not a directory: file");
        let message = fixture::refusal(&tool, &json!({"pattern": "[a"}));
        assert!(message.starts_with("invalid pattern `[a`: "), "{message}");
        assert_eq!(fixture::refusal(&tool, &json!({})), "No pattern provided");
    }
}
