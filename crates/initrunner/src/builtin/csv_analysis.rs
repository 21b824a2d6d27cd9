//! `csv_analysis`: looks at tables in CSV files, of which the first rows are read.

mod summary;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use contract::action::Action;
use contract::tool::Risk;
use csv::{ReaderBuilder, StringRecord};
use serde_json::{Value, json};

use super::directory::{self, Directory};
use super::function::{self, Function, blocking};
use super::options::Options;
use super::{About, Built, ToolHost, shortened, text};

pub(super) const KEYS: &[&str] = &["root_path", "max_rows", "max_file_size_mb", "delimiter"];

const OUTPUT_LIMIT: usize = 65_536;
const ROWS_SHOWN: usize = 5;
const QUERY_LIMIT: usize = 50;

pub(super) fn build(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let delimiter = options.text("delimiter")?.unwrap_or(",");
    let &[delimiter] = delimiter.as_bytes() else {
        return Err(String::from("`delimiter` is not a single ASCII character"));
    };
    let source = Arc::new(Source {
        directory: Directory::new(options, tool_host, &["csv"])?,
        max_rows: options.count("max_rows", 1000)?,
        megabytes: options.count("max_file_size_mb", 10)?,
        delimiter,
    });
    let made = |work| {
        function::tool(
            Analysis { work, source: Arc::clone(&source) },
            described(work).spec(tool_host),
        )
    };
    Ok(Built::of([Work::Inspect, Work::Summarize, Work::Query].map(made)))
}

#[derive(Clone, Copy)]
enum Work {
    Inspect,
    Summarize,
    Query,
}

fn described(work: Work) -> About<'static> {
    let path = || json!({"type": "string", "description": "The CSV file"});
    let optional = |what: &str| json!({"type": "string", "default": "", "description": what});
    let (name, description, properties) = match work {
        Work::Inspect => (
            "inspect_csv",
            "Show the columns of a CSV file with their types, and its first rows.",
            json!({"path": path()}),
        ),
        Work::Summarize => (
            "summarize_csv",
            "Summarize the columns of a CSV file: statistics of numbers, most frequent texts.",
            json!({"path": path(), "column": optional("Only this column")}),
        ),
        Work::Query => (
            "query_csv",
            "Show rows of a CSV file, all or those whose column has exactly one value.",
            json!({
                "path": path(),
                "filter_column": optional("The column that is compared"),
                "filter_value": optional("The value that it must have"),
                "columns": optional("The columns to show, separated by commas; empty for all"),
                "limit": {
                    "type": "integer", "default": QUERY_LIMIT, "description": "Rows at most",
                },
            }),
        ),
    };
    let (kind, risk, required) = ("csv_analysis", Risk::ReadOnly, &["path"][..]);
    About { name, description, kind, risk, properties, required }
}

struct Source {
    directory: Directory,
    max_rows: usize,
    megabytes: usize,
    delimiter: u8,
}

impl Source {
    fn table(&self, path: &Path, given: &str) -> Result<Table, String> {
        let megabytes = self.megabytes;
        let bytes = directory::read(path, given, megabytes)?.ok_or_else(|| {
            format!("Error: file exceeds max_file_size_mb limit ({megabytes} MB)")
        })?;
        let content =
            String::from_utf8(bytes).map_err(|_| String::from("Error: file is not valid UTF-8"))?;
        let content = content.trim_start_matches('\u{feff}');
        let mut reader = ReaderBuilder::new()
            .delimiter(self.delimiter)
            .flexible(true)
            .from_reader(content.as_bytes());
        let wrong = |error: csv::Error| format!("Error: could not parse CSV: {error}");
        let columns = reader.headers().map_err(wrong)?.iter().map(str::to_owned).collect();
        let mut rows = Vec::new();
        let mut records = reader.records();
        while rows.len() < self.max_rows {
            let Some(record) = records.next() else { break };
            rows.push(record.map_err(wrong)?);
        }
        let is_truncated = records.next().is_some();
        Ok(Table { file: given.to_owned(), columns, rows, is_truncated })
    }
}

struct Table {
    file: String,
    columns: Vec<String>,
    rows: Vec<StringRecord>,
    is_truncated: bool,
}

impl Table {
    /// The values of a column, of rows that have it.
    fn values(&self, column: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().filter_map(move |row| row.get(column))
    }

    fn column(&self, name: &str) -> Result<usize, String> {
        self.columns.iter().position(|column| column == name).ok_or_else(|| {
            format!("Error: column '{name}' not found. Available: {}", self.columns.join(", "))
        })
    }

    fn inspected(&self) -> String {
        let types = (0..self.columns.len()).map(|column| {
            vec![self.columns[column].as_str(), summary::type_of(self.values(column))]
        });
        let all: Vec<usize> = (0..self.columns.len()).collect();
        let first: Vec<&StringRecord> = self.rows.iter().take(ROWS_SHOWN).collect();
        format!(
            "**File:** {}\n**Rows inspected:** {}{}\n**Columns:** {}\n\n{}\n\n**First {ROWS_SHOWN} \
             rows:**\n\n{}",
            self.file,
            self.rows.len(),
            if self.is_truncated { " (truncated)" } else { "" },
            self.columns.len(),
            markdown(&["Column", "Type"], types),
            self.shown(&all, &first),
        )
    }

    fn summarized(&self, column: &str) -> Result<String, String> {
        let rows = self.rows.len();
        if !column.is_empty() {
            let summary = summary::of(self.values(self.column(column)?));
            return Ok(format!("**Column:** {column}\n**Summary:** {summary}\n**Rows:** {rows}"));
        }
        let summaries: Vec<String> =
            (0..self.columns.len()).map(|column| summary::of(self.values(column))).collect();
        let lines = self.columns.iter().zip(&summaries);
        let lines = lines.map(|(column, summary)| vec![column.as_str(), summary.as_str()]);
        let table = markdown(&["Column", "Summary"], lines);
        Ok(format!("**File:** {}\n**Rows:** {rows}\n\n{table}", self.file))
    }

    fn queried(&self, args: &Value) -> Result<String, String> {
        let wanted = text(args, "columns").split(',').map(str::trim).filter(|it| !it.is_empty());
        let wanted: Vec<&str> = wanted.collect();
        let unknown: Vec<&str> =
            wanted.iter().copied().filter(|name| self.column(name).is_err()).collect();
        if !unknown.is_empty() {
            return Err(format!(
                "Error: unknown column(s): {}. Available: {}",
                unknown.join(", "),
                self.columns.join(", ")
            ));
        }
        let mut shown: Vec<usize> = wanted.iter().flat_map(|name| self.column(name)).collect();
        if shown.is_empty() {
            shown = (0..self.columns.len()).collect();
        }
        let filter = match text(args, "filter_column") {
            "" => None,
            name => Some((self.column(name)?, text(args, "filter_value"))),
        };
        let is_match = |row: &&StringRecord| {
            filter.is_none_or(|(column, value)| row.get(column).unwrap_or_default() == value)
        };
        let matched: Vec<&StringRecord> = self.rows.iter().filter(is_match).collect();
        let limit = args.get("limit").and_then(Value::as_u64);
        let limit = limit.and_then(|it| usize::try_from(it).ok()).unwrap_or(QUERY_LIMIT);
        Ok(format!(
            "**File:** {}\n**Rows inspected:** {}, **Rows matched:** {}\n\n{}",
            self.file,
            self.rows.len(),
            matched.len(),
            self.shown(&shown, &matched[..matched.len().min(limit)]),
        ))
    }

    fn shown(&self, columns: &[usize], rows: &[&StringRecord]) -> String {
        if rows.is_empty() {
            return String::from("(no rows)");
        }
        let names: Vec<&str> =
            columns.iter().map(|column| self.columns[*column].as_str()).collect();
        let cells = |row: &&StringRecord| -> Vec<String> {
            columns.iter().map(|column| row.get(*column).unwrap_or_default().to_owned()).collect()
        };
        markdown(&names, rows.iter().map(cells))
    }
}

fn markdown(names: &[&str], rows: impl Iterator<Item = Vec<impl AsRef<str>>>) -> String {
    let cell = |text: &str| text.replace('|', "\\|").replace(['\r', '\n'], " ");
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let head = line(names.iter().map(|name| cell(name)).collect());
    let rule = line(names.iter().map(|_| "---".to_owned()).collect());
    let rows = rows.map(|row| line(row.iter().map(|it| cell(it.as_ref())).collect()));
    [head, rule].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

struct Analysis {
    work: Work,
    source: Arc<Source>,
}

#[async_trait]
impl Function for Analysis {
    fn actions(&self, args: &Value) -> Result<Vec<Action>, String> {
        Ok(vec![Action::Read { path: self.source.directory.file(text(args, "path"))? }])
    }

    async fn call(&self, args: &Value) -> Result<String, String> {
        let path = self.source.directory.file(text(args, "path"))?;
        let (work, source, args) = (self.work, Arc::clone(&self.source), args.clone());
        blocking(move || {
            let table = source.table(&path, text(&args, "path"))?;
            let words = match work {
                Work::Inspect => table.inspected(),
                Work::Summarize => table.summarized(text(&args, "column"))?,
                Work::Query => table.queried(&args)?,
            };
            Ok(shortened(words, OUTPUT_LIMIT))
        })
        .await
    }
}
