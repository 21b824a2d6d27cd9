//! `Grep`: searches files for a regular expression, in this process and on all cores.

mod collect;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ::files::bounded;
use async_trait::async_trait;
use contract::action::View;
use contract::message::ToolCall;
use contract::tool::{Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::OverrideBuilder;
use ignore::types::TypesBuilder;
use ignore::{DirEntry, WalkBuilder, WalkState};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::outcome::{self, Stop};
use crate::paths::{Paths, judged};
use crate::walk::Filter;
use crate::{arguments, describe, files, walk};
use collect::{Collector, Hits};

const DEFAULT_LIMIT: usize = 10_000;
/// The memory for a single line, in bytes.
const MAX_HEAP: usize = 64 << 20;

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    pattern: String,
    path: Option<String>,
    #[serde(default, rename = "-i")]
    ignore_case: bool,
    #[serde(default, rename = "-A", deserialize_with = "arguments::count")]
    after: Option<usize>,
    #[serde(default, rename = "-B", deserialize_with = "arguments::count")]
    before: Option<usize>,
    #[serde(default, rename = "-C", deserialize_with = "arguments::count")]
    around: Option<usize>,
    glob: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    output_mode: OutputMode,
    #[serde(default, deserialize_with = "arguments::count")]
    limit: Option<usize>,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutputMode {
    #[default]
    Content,
    FilesWithMatches,
    Count,
}

impl Args {
    fn parse(args: &Value) -> Result<Self, ToolError> {
        let args: Self = arguments::parse("Grep", args)?;
        if args.pattern.is_empty() {
            return Err(ToolError::Input("No pattern provided".to_owned()));
        }
        Ok(args)
    }

    fn path(&self) -> &str {
        self.path.as_deref().filter(|path| !path.is_empty()).unwrap_or(".")
    }

    /// Lines before and after each match.
    fn context(&self) -> (usize, usize) {
        if self.output_mode != OutputMode::Content {
            return (0, 0);
        }
        let around = self.around.unwrap_or(0);
        (self.before.unwrap_or(around), self.after.unwrap_or(around))
    }
}

pub(crate) struct Grep {
    spec: Arc<ToolSpec>,
    paths: Arc<Paths>,
}

impl Grep {
    pub(crate) fn new(paths: Arc<Paths>) -> Self {
        let lines = |what: &str| json!({"type": "integer", "minimum": 0, "description": what});
        let schema = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "The regular expression"},
                "path": {"type": "string", "description": "The file or directory to search (default: the project)"},
                "-i": {"type": "boolean", "description": "Ignore case"},
                "-A": lines("Lines to show after each match"),
                "-B": lines("Lines to show before each match"),
                "-C": lines("Lines to show before and after each match"),
                "glob": {"type": "string", "description": "Search only files whose names match, such as `*.rs` or `!*.md`"},
                "type": {"type": "string", "description": "Search only files of this type, such as `rust` or `py`"},
                "output_mode": {
                    "type": "string",
                    "enum": ["content", "files_with_matches", "count"],
                    "description": "What to show (default `content`)"
                },
                "limit": {"type": "integer", "minimum": 1, "description": "The most lines to show (default 10000)"}
            },
            "required": ["pattern"]
        });
        let words = include_str!("grep.md");
        let spec = describe::spec("Grep", words, "search", Risk::ReadOnly, schema).into();
        Self { spec, paths }
    }
}

#[async_trait]
impl Tool for Grep {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let args = Args::parse(args)?;
        Ok(Plan::from(self.paths.reads(args.path())?))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let args = Args::parse(&call.args)?;
        let (paths, cancel) = (Arc::clone(&self.paths), context.cancel.clone());
        let (view, actions) = (context.view.clone(), context.actions.clone());
        outcome::blocking(move || {
            let search = Search { view, ..Search::new(&args, &paths, cancel)? };
            judged(search.start.clone(), &actions, args.path())?;
            search.run()
        })
        .await
    }
}

struct Search {
    walk: WalkBuilder,
    filter: Arc<Filter>,
    start: PathBuf,
    given: String,
    matcher: RegexMatcher,
    searcher: SearcherBuilder,
    mode: OutputMode,
    collector: Collector,
    failed: AtomicUsize,
    left_out: AtomicUsize,
    view: View,
    cancel: CancellationToken,
}

impl Search {
    fn new(args: &Args, paths: &Arc<Paths>, cancel: CancellationToken) -> Result<Self, Stop> {
        let given = args.path();
        let start = paths.readable(given)?;
        let mut filter = Filter::new(Some(walk::ignored(&start)), false);
        narrow(&mut filter, &start, args)?;
        let filter = Arc::new(filter);
        let walk = walk::from(&start, paths, &filter);
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(args.ignore_case)
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .build(&args.pattern)
            .map_err(|error| format!("invalid regular expression: {error}"))?;
        let (before, after) = args.context();
        let mut searcher = SearcherBuilder::new();
        searcher
            .line_number(args.output_mode == OutputMode::Content)
            .before_context(before)
            .after_context(after)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_HEAP));
        let limit = args.limit.unwrap_or(DEFAULT_LIMIT).max(1);
        Ok(Self {
            walk,
            filter,
            given: given.to_owned(),
            start,
            matcher,
            searcher,
            mode: args.output_mode,
            collector: Collector::new(limit, before + after > 0),
            failed: AtomicUsize::new(0),
            left_out: AtomicUsize::new(0),
            view: View::default(),
            cancel,
        })
    }

    fn run(self) -> Result<ToolOutput, Stop> {
        self.check_start()?;
        self.walk.build_parallel().run(|| {
            let mut searcher = self.searcher.build();
            let matcher = self.matcher.clone();
            let search = &self;
            Box::new(move |entry| search.visit(entry, &mut searcher, &matcher))
        });
        outcome::unless_cancelled(&self.cancel)?;
        let found = self.collector.finish(self.failed.into_inner(), self.left_out.into_inner());
        Ok(self.filter.with_note(found))
    }

    /// The start of the search must be readable; the files below it need not be.
    fn check_start(&self) -> Result<(), Stop> {
        let given = &self.given;
        match std::fs::symlink_metadata(&self.start) {
            Ok(found) if found.is_dir() => Ok(()),
            Ok(_) => Ok(files::open(&self.start, given).map(drop)?),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(format!("Permission denied: {given}").into())
            }
            Err(_) => Err(format!("Path not found: {given}").into()),
        }
    }

    fn visit(
        &self,
        entry: Result<DirEntry, ignore::Error>,
        searcher: &mut Searcher,
        matcher: &RegexMatcher,
    ) -> WalkState {
        if self.cancel.is_cancelled() {
            return WalkState::Quit;
        }
        let Ok(entry) = entry else {
            self.failed.fetch_add(1, Ordering::Relaxed);
            return WalkState::Continue;
        };
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        if !is_file || !self.collector.wants(entry.path()) {
            return WalkState::Continue;
        }
        // The start of the search was checked by itself.
        if entry.depth() > 0 && self.view.hidden(entry.path()).is_some() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return WalkState::Continue;
        }
        match self.search(entry.path(), searcher, matcher) {
            Ok(hits) => self.collector.add(entry.into_path(), hits),
            Err(_) => {
                self.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
        WalkState::Continue
    }

    fn search(
        &self,
        path: &Path,
        searcher: &mut Searcher,
        matcher: &RegexMatcher,
    ) -> io::Result<Hits> {
        let source = Interruptible { file: bounded::open_exactly(path)?, cancel: &self.cancel };
        let mut hits = Hits::new(path, self.mode, self.collector.limit);
        searcher.search_reader(matcher, source, &mut hits)?;
        Ok(hits)
    }
}

/// Limits a walk to the files that the arguments ask for.
fn narrow(filter: &mut Filter, start: &Path, args: &Args) -> Result<(), String> {
    if let Some(glob) = args.glob.as_deref().filter(|glob| !glob.is_empty()) {
        let mut overrides = OverrideBuilder::new(start);
        let built = overrides.add(glob).and_then(|overrides| overrides.build());
        filter.overrides = built.map_err(|error| format!("invalid glob `{glob}`: {error}"))?;
    }
    if let Some(kind) = args.kind.as_deref().filter(|kind| !kind.is_empty()) {
        let mut types = TypesBuilder::new();
        let built = types.add_defaults().select(kind).build();
        filter.types = built.map_err(|_| {
            format!("unknown file type `{kind}`; use `glob`, or a type such as `rust`, `py`, `js`")
        })?;
    }
    Ok(())
}

/// A file whose reading can be stopped.
struct Interruptible<'a> {
    file: File,
    cancel: &'a CancellationToken,
}

impl Read for Interruptible<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        self.file.read(buffer)
    }
}

#[cfg(test)]
mod tests;
