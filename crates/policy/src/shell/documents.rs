//! A here-document as an argument: `"$(cat <<'EOF'` up to `)"` is a literal word, the way in which models write
//! messages of several lines. This one shape is read as such; every other substitution stays what it is.

use std::borrow::Cow;

use super::quote;

/// How it begins.
const OPENING: &str = "\"$(cat <<";

/// The text with each such argument as a word in quotes.
pub(super) fn with_literals(text: &str) -> Cow<'_, str> {
    let Some(at) = text.find(OPENING).filter(|at| is_argument(&text[..*at])) else {
        return Cow::Borrowed(text);
    };
    let Some((body, rest)) = document(&text[at + OPENING.len()..]) else {
        return Cow::Borrowed(text);
    };
    // What is substituted loses the line ends behind it.
    let word = quote(body.trim_end_matches('\n'));
    Cow::Owned(format!("{}{word}{}", &text[..at], with_literals(rest)))
}

/// Whether a word begins behind this text, which is plain but for quotes that are closed.
fn is_argument(before: &str) -> bool {
    let mut rest = before;
    while let Some(at) = rest.find(['\'', '"', '\\', '`', '$', '#', '<']) {
        let quote = &rest[at..=at];
        let Some((inner, behind)) = rest[at + 1..].split_once(quote) else { return false };
        let is_plain = quote == "'" || (quote == "\"" && !inner.contains(['\\', '`', '$']));
        if !is_plain {
            return false;
        }
        rest = behind;
    }
    before.ends_with([' ', '='])
}

/// The body of the here-document whose delimiter begins this text, and what comes behind the argument.
fn document(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.trim_start_matches(' ').strip_prefix('\'')?.split_once('\'')?;
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let lines = after.strip_prefix('\n').filter(|_| is_name)?;
    let mut length = 0;
    for line in lines.split_inclusive('\n') {
        if line.trim_end_matches('\n') == name {
            let behind = lines[length + line.len()..].trim_start_matches([' ', '\n']);
            let rest = behind.strip_prefix(")\"").filter(|_| line.ends_with('\n'))?;
            return is_data(&lines[..length], rest).then_some((&lines[..length], rest));
        }
        length += line.len();
    }
    None
}

/// Whether the body is data to old shells as well (that of macOS), which look for the end of the substitution by its
/// parentheses and quotes.
fn is_data(body: &str, rest: &str) -> bool {
    let is_closed = body.matches('\'').count().is_multiple_of(2) || rest.trim().is_empty();
    is_closed && !(body.contains(['(', ')', '\'']) && body.contains(['"', '`', '$', '\\']))
}
