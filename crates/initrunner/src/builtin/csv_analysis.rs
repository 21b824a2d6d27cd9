//! `csv_analysis`: looks at tables in CSV files, of which the first rows are read.

use std::sync::Arc;

use async_trait::async_trait;
use contract::action::Action;
use contract::tool::Risk;
use serde_json::{Value, json};

use super::directory::{self, Directory};
use super::function::{self, Function, blocking};
use super::options::Options;
use super::{About, Built, ToolHost, shortened, text};

pub(super) const KEYS: &[&str] = &["root_path", "max_rows", "max_file_size_mb", "delimiter"];

const OUTPUT_LIMIT: usize = 65_536;

/// Analyzes a table: the name of a tool, the name and the content of a file, the delimiter and the
/// most rows, the arguments. Texts, also of errors, are for the model.
pub type TableAnalysis = fn(&str, (&str, &str), (u8, usize), &Value) -> Result<String, String>;

pub(super) fn build(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let delimiter = options.text("delimiter")?.unwrap_or(",");
    let &[delimiter] = delimiter.as_bytes() else {
        return Err(String::from("`delimiter` is not a single ASCII character"));
    };
    let source = Arc::new(Source {
        directory: Directory::new(options, tool_host, &["csv"])?,
        megabytes: options.count("max_file_size_mb", 10)?,
        settings: (delimiter, options.count("max_rows", 1000)?),
        analyze: tool_host.analyze_table,
    });
    let made = |about: About<'static>| {
        let analysis = Analysis { tool: about.name, source: Arc::clone(&source) };
        function::tool(analysis, about.spec(tool_host))
    };
    Ok(Built::of(abouts().map(made)))
}

fn abouts() -> [About<'static>; 3] {
    let path = || json!({"type": "string", "description": "The CSV file"});
    let optional = |what: &str| json!({"type": "string", "default": "", "description": what});
    let inspect = (
        "inspect_csv",
        "Show the columns of a CSV file with their types, and its first rows.",
        json!({"path": path()}),
    );
    let summarize = (
        "summarize_csv",
        "Summarize the columns of a CSV file: statistics of numbers, most frequent texts.",
        json!({"path": path(), "column": optional("Only this column")}),
    );
    let query = (
        "query_csv",
        "Show rows of a CSV file, all or those whose column has exactly one value.",
        json!({
            "path": path(),
            "filter_column": optional("The column that is compared"),
            "filter_value": optional("The value that it must have"),
            "columns": optional("The columns to show, separated by commas; empty for all"),
            "limit": {"type": "integer", "default": 50, "description": "Rows at most"},
        }),
    );
    [inspect, summarize, query].map(|(name, description, properties)| {
        let (kind, risk, required) = ("csv_analysis", Risk::ReadOnly, &["path"][..]);
        About { name, description, kind, risk, properties, required }
    })
}

struct Source {
    directory: Directory,
    megabytes: usize,
    settings: (u8, usize),
    analyze: TableAnalysis,
}

struct Analysis {
    tool: &'static str,
    source: Arc<Source>,
}

#[async_trait]
impl Function for Analysis {
    fn actions(&self, args: &Value) -> Result<Vec<Action>, String> {
        Ok(vec![Action::Read { path: self.source.directory.file(text(args, "path"))? }])
    }

    async fn call(&self, args: &Value) -> Result<String, String> {
        let path = self.source.directory.file(text(args, "path"))?;
        let (tool, source, args) = (self.tool, Arc::clone(&self.source), args.clone());
        blocking(move || {
            let (given, megabytes) = (text(&args, "path"), source.megabytes);
            let bytes = directory::read(&path, given, megabytes)?.ok_or_else(|| {
                format!("Error: file exceeds max_file_size_mb limit ({megabytes} MB)")
            })?;
            let content = String::from_utf8(bytes);
            let content = content.map_err(|_| String::from("Error: file is not valid UTF-8"))?;
            let words = (source.analyze)(tool, (given, &content), source.settings, &args)?;
            Ok(shortened(words, OUTPUT_LIMIT))
        })
        .await
    }
}
