//! `Edit`: replaces a part of a text file by another.

mod replace;

use std::sync::Arc;

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::tool::{
    Display, Obstacle, Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::{self, Fingerprint, Snapshot};
use crate::outcome;
use crate::paths::{Paths, judged};
use crate::seen::Seen;
use crate::{arguments, describe, diff};
use replace::Occurrences;

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    file_path: String,
    #[serde(default)]
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

impl Args {
    fn parse(args: &Value) -> Result<Self, ToolError> {
        let args: Self = arguments::parse("Edit", args)?;
        let problem = if args.file_path.trim().is_empty() {
            "No file_path provided"
        } else if args.old_string.is_empty() {
            "No old_string provided\nUse Write to make a file or to replace all of it"
        } else if args.old_string == args.new_string {
            "old_string and new_string are the same: nothing to change"
        } else {
            return Ok(args);
        };
        Err(ToolError::Input(problem.to_owned()))
    }
}

pub(crate) struct Edit {
    spec: Arc<ToolSpec>,
    paths: Arc<Paths>,
    seen: Arc<Seen>,
}

impl Edit {
    pub(crate) fn new(paths: Arc<Paths>, seen: Arc<Seen>) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "The file to change"},
                "old_string": {"type": "string", "description": "The text to replace"},
                "new_string": {"type": "string", "description": "The text to put in its place"},
                "replace_all": {"type": "boolean", "description": "Replace every occurrence (default false)"}
            },
            "required": ["file_path", "old_string", "new_string"]
        });
        let words = include_str!("edit.md");
        let spec = describe::spec("Edit", words, "files", Risk::Mutating, schema).into();
        Self { spec, paths, seen }
    }
}

#[async_trait]
impl Tool for Edit {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    /// Shows the content of the file only to the user: a rule may deny it to the model.
    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let args = Args::parse(args)?;
        let given = &args.file_path;
        let path = self.paths.writable(given)?;
        let loaded = files::load(&path, given);
        let file = loaded.as_ref().ok().and_then(Option::as_ref);
        let change = file.map(|file| Change::plan(&args, file));
        let obstacle = match (&loaded, &change) {
            (Err(text), _) => Some((text.clone(), false)),
            (Ok(None), _) => Some((format!("File not found: {given}"), false)),
            (Ok(Some(_)), Some(Err(text))) => Some((text.clone(), true)),
            (Ok(Some(_)), _) => None,
        };
        let obstacle = obstacle.map(|(text, reveals_content)| Obstacle { text, reveals_content });
        let diff = change.and_then(Result::ok).map(|change| change.unified);
        let written = self.seen.state(path, file, diff);
        let actions = self.paths.reads(given)?.into_iter().chain([written]).collect();
        Ok(Plan { actions, obstacle })
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let args = Args::parse(&call.args)?;
        let (paths, seen) = (Arc::clone(&self.paths), Arc::clone(&self.seen));
        let (session, cancel) = (context.session.clone(), context.cancel.clone());
        let actions = context.actions.clone();
        outcome::blocking(move || {
            let given = &args.file_path;
            let path = judged(paths.writable(given)?, &actions, given)?;
            let Some(before) = files::load(&path, given)? else {
                return Err(format!("File not found: {given}").into());
            };
            seen.check(&session, (&path, given), Some(&before), &actions)?;
            let change = Change::plan(&args, &before)?;
            outcome::unless_cancelled(&cancel)?;
            let bytes = change.text.as_bytes();
            files::replace(&path, given, Some(&before), bytes)?;
            seen.note(&session, &path, Fingerprint::of(bytes));
            let text = format!("Replaced {} occurrence(s) in {given}", change.count);
            let mut output = ToolOutput::success(text);
            output.facts.insert("replaced".into(), json!(change.count));
            output.display = Some(Display::Diff { path: args.file_path, unified: change.unified });
            Ok(output)
        })
        .await
    }
}

/// The result of an edit.
struct Change {
    text: String,
    count: usize,
    unified: String,
}

impl Change {
    fn plan(args: &Args, before: &Snapshot) -> Result<Self, String> {
        let given = &args.file_path;
        let Some(content) = before.content.as_deref() else {
            let limit = files::MAX_LOADED;
            return Err(format!("{given} is larger than {limit} bytes, too large to edit"));
        };
        let content = std::str::from_utf8(content)
            .map_err(|_| format!("File is not valid UTF-8: {given}"))?;
        let occurrences = if args.replace_all { Occurrences::All } else { Occurrences::One };
        let (text, count) =
            replace::replace(content, &args.old_string, &args.new_string, occurrences)?;
        let unified = diff::unified(given, Some(content), &text);
        Ok(Self { text, count, unified })
    }
}

#[cfg(test)]
mod tests;
