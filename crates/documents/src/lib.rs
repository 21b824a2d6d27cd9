//! The text of documents, and tables in CSV files. Documents in binary formats are read by a confined
//! process of the program itself: a library that fails or takes too much then ends only that.

mod office;
mod pdf;
mod reader;
pub mod table;

use serde_json::Value;

pub use reader::{READER_COMMAND, Reader, reader_main};

#[rustfmt::skip]
const PLAIN: &[&str] = &[
    "txt", "md", "markdown", "rst", "log", "py", "pyi", "rs", "js", "jsx", "ts", "tsx", "mjs", "go",
    "java", "kt", "scala", "c", "h", "cc", "cpp", "hpp", "cs", "rb", "php", "pl", "lua", "r", "swift",
    "sh", "bash", "zsh", "fish", "ps1", "sql", "css", "scss", "vue", "svelte", "proto", "graphql",
    "yaml", "yml", "toml", "ini", "cfg", "conf", "env", "properties", "xml", "tf", "tex", "adoc",
];

/// The text of a document in a binary format, by the extension of its file. None if the format is not
/// known; an error is for the user.
fn binary(extension: &str, bytes: &[u8]) -> Option<Result<String, String>> {
    match extension {
        "docx" => Some(office::document(bytes)),
        "pdf" => Some(pdf::text(bytes)),
        "xlsx" => Some(office::workbook(bytes)),
        _ => None,
    }
}

/// The text of a document in a text format, like [`binary`].
fn plain(extension: &str, bytes: Vec<u8>) -> Option<Result<String, String>> {
    match extension {
        "csv" => Some(utf8(bytes).and_then(|text| rows(&text))),
        "json" => Some(utf8(bytes).and_then(|text| {
            let value = serde_json::from_str::<Value>(&text);
            let text = value.and_then(|value| serde_json::to_string_pretty(&value));
            text.map_err(|error| error.to_string())
        })),
        plain if PLAIN.contains(&plain) => Some(utf8(bytes)),
        _ => None,
    }
}

fn utf8(bytes: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(bytes).map_err(|_| String::from("this is not UTF-8 text"))?;
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

fn rows(text: &str) -> Result<String, String> {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let row = |row: csv::Result<csv::StringRecord>| {
        row.map(|row| row.iter().collect::<Vec<_>>().join(", ")).map_err(|error| error.to_string())
    };
    Ok(reader.records().map(row).collect::<Result<Vec<_>, _>>()?.join("\n"))
}
