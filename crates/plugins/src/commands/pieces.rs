//! Fills in the placeholders of a command's text. The text is taken apart first, so that neither words
//! that were typed nor what a command prints are searched for placeholders or commands.

use std::collections::BTreeMap;

use formats::shell;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    /// A shell's line, whose output takes its place.
    Shell(String),
    /// A file that the words name, whose content goes with them; it stands in the words as well.
    File(String),
}

pub(crate) struct Placeholders<'a> {
    pub(crate) typed: &'a str,
    pub(crate) names: &'a [String],
    pub(crate) variables: &'a BTreeMap<String, String>,
}

pub(crate) fn fill(body: &str, placeholders: &Placeholders<'_>) -> Vec<Piece> {
    let words = shell::words(placeholders.typed);
    let mut used = false;
    let mut pieces: Vec<Piece> = Vec::new();
    for piece in apart(body) {
        match piece {
            Piece::Text(text) => {
                let text = filled(&text, placeholders, &words, &mut used);
                pieces.push(Piece::Text(text));
            }
            Piece::Shell(line) => {
                pieces.push(Piece::Shell(filled(&line, placeholders, &words, &mut used)));
            }
            Piece::File(path) => {
                pieces.push(Piece::File(filled(&path, placeholders, &words, &mut used)));
            }
        }
    }
    if !used && !placeholders.typed.is_empty() {
        pieces.push(Piece::Text(format!("\n\nARGUMENTS: {}", placeholders.typed)));
    }
    pieces
}

fn apart(body: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut fence: Option<String> = None;
    let mut is_code = false;
    for line in body.split_inclusive('\n') {
        let trimmed = line.trim();
        if let Some(lines) = &mut fence {
            if trimmed == "```" {
                pieces.push(Piece::Shell(fence.take().unwrap_or_default()));
                text.push('\n');
            } else {
                lines.push_str(line);
            }
        } else if trimmed == "```!" && !is_code {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
            fence = Some(String::new());
        } else if is_code || trimmed.starts_with("```") {
            is_code ^= trimmed.starts_with("```");
            text.push_str(line);
        } else {
            line_apart(line, &mut text, &mut pieces);
        }
    }
    // A fence without an end is not a command.
    if let Some(lines) = fence {
        text.push_str("```!\n");
        text.push_str(&lines);
    }
    pieces.push(Piece::Text(text));
    pieces.retain(|piece| *piece != Piece::Text(String::new()));
    pieces
}

fn line_apart(line: &str, text: &mut String, pieces: &mut Vec<Piece>) {
    let mut rest = line;
    let mut is_start = true;
    while let Some(c) = rest.chars().next() {
        if is_start
            && let Some(after) = rest.strip_prefix("!`")
            && let Some((command, after)) = after.split_once('`')
            && !command.trim().is_empty()
        {
            pieces.push(Piece::Text(std::mem::take(text)));
            pieces.push(Piece::Shell(command.to_owned()));
            (rest, is_start) = (after, false);
            continue;
        }
        if is_start && let Some(after) = rest.strip_prefix('@') {
            let end = after.find(char::is_whitespace).unwrap_or(after.len());
            let path = after[..end].trim_end_matches([',', ';', ':', ')', '.', '!', '?']);
            if !path.is_empty() {
                text.push('@');
                text.push_str(path);
                pieces.push(Piece::Text(std::mem::take(text)));
                pieces.push(Piece::File(path.to_owned()));
                (rest, is_start) = (&after[path.len()..], false);
                continue;
            }
        }
        text.push(c);
        is_start = c.is_whitespace();
        rest = &rest[c.len_utf8()..];
    }
}

fn filled(
    text: &str,
    placeholders: &Placeholders<'_>,
    words: &[String],
    used: &mut bool,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(position) = rest.find(['$', '\\']) {
        out.push_str(&rest[..position]);
        rest = &rest[position..];
        if let Some(after) = rest.strip_prefix("\\$") {
            out.push('$');
            rest = after;
        } else if let Some((length, value)) = placeholder(rest, placeholders, words, used) {
            out.push_str(&value);
            rest = &rest[length..];
        } else {
            out.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

fn placeholder(
    text: &str,
    placeholders: &Placeholders<'_>,
    words: &[String],
    used: &mut bool,
) -> Option<(usize, String)> {
    let after = text.strip_prefix('$')?;
    if let Some(inner) = after.strip_prefix('{') {
        let (name, _) = inner.split_once('}')?;
        return placeholders.variables.get(name).map(|value| (name.len() + 3, value.clone()));
    }
    let length =
        |is_part: fn(char) -> bool| after.find(|c: char| !is_part(c)).unwrap_or(after.len());
    let digits = length(|c| c.is_ascii_digit());
    if digits > 0 {
        *used = true;
        let word = after[..digits].parse::<usize>().ok().and_then(|index| words.get(index))?;
        return Some((digits + 1, word.clone()));
    }
    let end = length(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let name = &after[..end];
    if let Some(tail) = after.strip_prefix("ARGUMENTS") {
        if let Some((index, _)) = tail.strip_prefix('[').and_then(|it| it.split_once(']')) {
            *used = true;
            let word = index.parse::<usize>().ok().and_then(|index| words.get(index))?;
            return Some(("$ARGUMENTS[]".len() + index.len(), word.clone()));
        }
        if name.trim_end_matches('-') == "ARGUMENTS" {
            *used = true;
            return Some(("$ARGUMENTS".len(), placeholders.typed.to_owned()));
        }
    }
    // The longest name counts, so that `$a-b` is not `$a` where both are given.
    let position = placeholders.names.iter().position(|known| known == name)?;
    *used = true;
    Some((name.len() + 1, words.get(position).cloned().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(body: &str, typed: &str) -> Vec<Piece> {
        let variables = BTreeMap::from([("CLAUDE_PLUGIN_ROOT".to_owned(), "/p".to_owned())]);
        let names = ["who".to_owned()];
        fill(body, &Placeholders { typed, names: &names, variables: &variables })
    }

    fn text(body: &str, typed: &str) -> String {
        let text = |piece: Piece| match piece {
            Piece::Text(text) => text,
            Piece::Shell(line) => format!("<{line}>"),
            Piece::File(_) => String::new(),
        };
        pieces(body, typed).into_iter().map(text).collect()
    }

    #[test]
    fn arguments_are_inserted_by_number_name_and_all() {
        assert_eq!(text("all: $ARGUMENTS.", "a 'b c'"), "all: a 'b c'.");
        assert_eq!(text("$0 then $1 then $7", "a 'b c'"), "a then b c then $7");
        assert_eq!(text("$ARGUMENTS[1]-$ARGUMENTS[9]", "a b"), "b-$ARGUMENTS[9]");
        assert_eq!(text("hi $who, \\$who costs \\$5", "ann"), "hi ann, $who costs $5");
        assert_eq!(text("hi $who!", ""), "hi !");
        assert_eq!(text("run ${CLAUDE_PLUGIN_ROOT}/x ${HOME}", ""), "run /p/x ${HOME}");
        assert_eq!(text("say $who", "$ARGUMENTS ${CLAUDE_PLUGIN_ROOT}"), "say $ARGUMENTS");
    }

    #[test]
    fn unused_arguments_are_appended() {
        assert_eq!(text("do it", "now"), "do it\n\nARGUMENTS: now");
        assert_eq!(text("do it", ""), "do it");
    }

    #[test]
    fn commands_begin_at_the_start_or_after_a_blank() {
        assert_eq!(text("!`a $0` x!`b` - !`c`\n", "1"), "<a 1> x!`b` - <c>\n");
        assert_eq!(text("```!\na\nb\n```\nend", ""), "<a\nb\n>\nend");
        assert_eq!(text("```sh\n!`no`\n```\n!`yes`", ""), "```sh\n!`no`\n```\n<yes>");
        assert_eq!(text("```!\nno end", ""), "```!\nno end");
    }

    #[test]
    fn arguments_are_never_commands_or_files() {
        assert_eq!(
            pieces("$ARGUMENTS", "!`rm x` @secret"),
            [Piece::Text("!`rm x` @secret".into())]
        );
    }

    #[test]
    fn file_references_begin_after_a_blank() {
        let found = pieces("see @a.md, not b@c.d", "");
        assert_eq!(found[1], Piece::File("a.md".into()));
        assert_eq!(text("see @a.md, not b@c.d", ""), "see @a.md, not b@c.d");
    }
}
