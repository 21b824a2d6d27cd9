//! Tables in CSV files: their columns, statistics, and rows that have a value.

mod summary;

use csv::{ReaderBuilder, StringRecord};
use serde_json::Value;

const ROWS_SHOWN: usize = 5;
const QUERY_LIMIT: u64 = 50;

/// Analyzes the rows of a CSV file, by the name and the arguments of a tool. The settings are the
/// delimiter and the most rows that are read. Texts, also of errors, are for a model.
pub fn analyze(
    tool: &str,
    (file, content): (&str, &str),
    settings: (u8, usize),
    args: &Value,
) -> Result<String, String> {
    let table = Table::read(file, content, settings)?;
    match tool {
        "inspect_csv" => Ok(table.inspected()),
        "summarize_csv" => table.summarized(text(args, "column")),
        _ => table.queried(args),
    }
}

fn text<'a>(args: &'a Value, name: &str) -> &'a str {
    args.get(name).and_then(Value::as_str).unwrap_or_default()
}

struct Table {
    file: String,
    columns: Vec<String>,
    rows: Vec<StringRecord>,
    is_truncated: bool,
}

impl Table {
    fn read(file: &str, content: &str, (delimiter, limit): (u8, usize)) -> Result<Self, String> {
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .from_reader(content.trim_start_matches('\u{feff}').as_bytes());
        let wrong = |error: csv::Error| format!("Error: could not parse CSV: {error}");
        let columns = reader.headers().map_err(wrong)?.iter().map(str::to_owned).collect();
        let mut rows = Vec::new();
        let mut records = reader.records();
        while rows.len() < limit {
            let Some(record) = records.next() else { break };
            rows.push(record.map_err(wrong)?);
        }
        let is_truncated = records.next().is_some();
        Ok(Self { file: file.to_owned(), columns, rows, is_truncated })
    }

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
        let limit = args.get("limit").and_then(Value::as_u64).unwrap_or(QUERY_LIMIT);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
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
