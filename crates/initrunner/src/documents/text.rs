//! The text of files, by their type.

use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::html;

#[rustfmt::skip]
const PLAIN: &[&str] = &[
    "txt", "md", "markdown", "rst", "log", "py", "pyi", "rs", "js", "jsx", "ts", "tsx", "mjs", "go",
    "java", "kt", "scala", "c", "h", "cc", "cpp", "hpp", "cs", "rb", "php", "pl", "lua", "r", "swift",
    "sh", "bash", "zsh", "fish", "ps1", "sql", "css", "scss", "vue", "svelte", "proto", "graphql",
    "yaml", "yml", "toml", "ini", "cfg", "conf", "env", "properties", "xml", "tf", "tex", "adoc",
];

/// The text of a document in a binary format, by its extension; none if the format is not known.
pub type BinaryText = fn(&str, &[u8]) -> Option<Result<String, String>>;

/// The text of a file. An error is for the user.
pub(super) fn of_file(
    path: &Path,
    bytes: Vec<u8>,
    binary_text: BinaryText,
) -> Result<String, String> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if let Some(text) = binary_text(&extension, &bytes) {
        return text;
    }
    match extension.as_str() {
        "csv" => rows(&utf8(bytes)?),
        "json" => {
            let value = serde_json::from_str::<Value>(&utf8(bytes)?);
            let text = value.and_then(|value| serde_json::to_string_pretty(&value));
            text.map_err(|error| error.to_string())
        }
        "html" | "htm" => Ok(html::markdown(&utf8(bytes)?, None)),
        "" => Err(String::from("Unsupported file type: the name has no extension")),
        plain if PLAIN.contains(&plain) => utf8(bytes),
        other => Err(format!("Unsupported file type: .{other}")),
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

pub(super) fn hash(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}
