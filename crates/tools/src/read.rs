//! `Read`: a page of a text file, with line numbers, or an image. Of a text only the page is in
//! memory.

mod page;

use std::sync::Arc;

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::tool::{Obstacle, Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::{self, Fingerprint, Identity};
use crate::outcome::{self, Stop};
use crate::paths::{Paths, judged};
use crate::seen::Seen;
use crate::{arguments, describe, image};
use page::{Page, Range, Rest};

const DEFAULT_LINES: usize = 2_000;

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    file_path: String,
    #[serde(default, deserialize_with = "arguments::count")]
    offset: Option<usize>,
    #[serde(default, deserialize_with = "arguments::count")]
    limit: Option<usize>,
}

impl Args {
    fn parse(args: &Value) -> Result<Self, ToolError> {
        let args: Self = arguments::parse("Read", args)?;
        if args.file_path.trim().is_empty() {
            return Err(ToolError::Input("No file_path provided".to_owned()));
        }
        Ok(args)
    }
}

pub(crate) struct Read {
    spec: Arc<ToolSpec>,
    paths: Arc<Paths>,
    seen: Arc<Seen>,
}

impl Read {
    pub(crate) fn new(paths: Arc<Paths>, seen: Arc<Seen>) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "The file to read"},
                "offset": {"type": "integer", "minimum": 0, "description": "How many lines to skip (default 0)"},
                "limit": {"type": "integer", "minimum": 1, "description": "How many lines to read (default 2000)"}
            },
            "required": ["file_path"]
        });
        let words = include_str!("read.md");
        let spec = describe::spec("Read", words, "files", Risk::ReadOnly, schema).into();
        Self { spec, paths, seen }
    }
}

#[async_trait]
impl Tool for Read {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let given = Args::parse(args)?.file_path;
        let actions = self.paths.reads(&given)?;
        let opened = files::open(&self.paths.readable(&given)?, &given);
        let obstacle = opened.err().map(|text| Obstacle { text, reveals_content: false });
        Ok(Plan { actions, obstacle })
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let args = Args::parse(&call.args)?;
        let (paths, seen) = (Arc::clone(&self.paths), Arc::clone(&self.seen));
        let (session, cancel) = (context.session.clone(), context.cancel.clone());
        let actions = context.actions.clone();
        outcome::blocking(move || {
            let path = paths.readable(&args.file_path)?;
            let path = judged(path, &actions, &args.file_path)?;
            let mut file = files::open(&path, &args.file_path)?;
            if let Some(image) = image::read(&mut file, &args.file_path)? {
                return Ok(image);
            }
            let metadata =
                file.metadata().map_err(|error| files::explain(&args.file_path, "read", &error))?;
            let range = Range {
                offset: args.offset.unwrap_or(0),
                limit: args.limit.unwrap_or(DEFAULT_LINES).max(1),
            };
            let page = Page::read(file, range, &cancel)
                .map_err(|error| explain(error, &args.file_path, metadata.len()))?;
            let fingerprint = page.hash.map_or_else(
                || Fingerprint::Identity(Identity::of(&metadata)),
                Fingerprint::Content,
            );
            seen.note(&session, &path, fingerprint);
            Ok(render(page, range))
        })
        .await
    }
}

fn explain(error: page::Error, given: &str, size: u64) -> Stop {
    match error {
        page::Error::Cancelled => Stop::Cancelled,
        page::Error::NotText => Stop::Failed(format!("File is not valid UTF-8: {given}")),
        page::Error::Binary => {
            Stop::Failed(format!("Binary file: {given} ({size} bytes); Read shows text only"))
        }
        page::Error::Io(error) => Stop::Failed(files::explain(given, "read", &error)),
    }
}

fn render(page: Page, range: Range) -> ToolOutput {
    let next = range.offset + page.lines;
    let mut facts = std::collections::BTreeMap::from([("lines".to_owned(), json!(page.lines))]);
    let mut text = page.text;
    match page.rest {
        Rest::Lines(0) if next == 0 => "(empty file)".clone_into(&mut text),
        Rest::Lines(0) if page.lines == 0 => {
            let (offset, total) = (range.offset, page.total);
            text = format!("(no lines at offset {offset}: the file has {total} lines)");
        }
        Rest::Lines(0) => {}
        Rest::Lines(more) => {
            text = format!("{text}\n… ({more} more lines, continue with offset={next})");
        }
        Rest::Unknown => text = format!("{text}\n… (more lines, continue with offset={next})"),
    }
    if page.rest != Rest::Unknown {
        facts.insert("total_lines".to_owned(), json!(page.total));
    }
    ToolOutput { facts, ..ToolOutput::success(text) }
}

#[cfg(test)]
mod tests;
