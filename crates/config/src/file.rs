//! Reads configuration files, bounded in size, and shows what is wrong with their text.

use std::io::ErrorKind;
use std::path::Path;

use contract::text::visible;
use files::private;
use formats::yaml::Malformed;
use serde_json::Value;

use crate::origin::{Layer, Origin, parse, shown};

/// The largest file, in bytes.
const SIZE_LIMIT: u64 = 1 << 20;

/// Reads a YAML file that is not a layer, of this project or else of the user's own; none if it does
/// not exist.
pub fn read_value(path: &Path, project: Option<&Path>) -> Result<Option<Value>, String> {
    let blame = |problem: String| format!("Error in {}: {problem}", shown(path));
    if let Some(problem) = project.and_then(|project| leads_out(path, project)) {
        return Err(blame(problem));
    }
    let Some(text) = read(path).map_err(blame)? else { return Ok(None) };
    match parse(&text, &Origin::layer(Layer::User)) {
        Ok(node) => Ok(Some(node.to_value())),
        Err(malformed) => Err(invalid(path, &text, &malformed)),
    }
}

/// Reads a file; none if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<String>, String> {
    let bytes = private::read(path).map_err(|error| match error.kind() {
        ErrorKind::Other => visible(&error.to_string()).into_owned(),
        _ => format!("cannot read it: {error}"),
    })?;
    bytes.map(text).transpose()
}

/// The problem with a file of a project that is a symlink to the outside: a clone could bring one to
/// any file of the user, and messages show lines of what is read.
pub(crate) fn leads_out(path: &Path, project: &Path) -> Option<String> {
    let (real, root) = (path.canonicalize().ok()?, project.canonicalize().ok()?);
    let real = (!real.starts_with(root)).then_some(real)?;
    let real = visible(&real.to_string_lossy()).into_owned();
    Some(format!(
        "it is a symlink to a file outside the project, {real}, and is not followed; put a copy in its place"
    ))
}

/// The text that the bytes of a file are.
pub(crate) fn text(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() as u64 > SIZE_LIMIT {
        return Err("it is larger than 1 MiB".into());
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = line_of(error.as_bytes(), error.utf8_error().valid_up_to());
        format!("it is not UTF-8 text, see line {line}")
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// The line, from 1, that a byte is on.
fn line_of(bytes: &[u8], position: usize) -> usize {
    bytes[..position].split(|byte| *byte == b'\n').count()
}

/// The message about a file that is not YAML, with the line shown.
pub(crate) fn invalid(path: &Path, text: &str, malformed: &Malformed) -> String {
    let Malformed { message, line, column, .. } = malformed;
    let source = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let gutter = " ".repeat(line.to_string().len());
    let before: String = source.chars().take(column.saturating_sub(1)).collect();
    let pad = " ".repeat(visible(&before.replace('\t', " ")).chars().count());
    format!(
        "Error in config file {}: invalid YAML: {} at line {line}, column {column}\n  \
         {line} | {}\n  {gutter} | {pad}^",
        shown(path),
        visible(message),
        visible(&source.replace('\t', " ")),
    )
}
