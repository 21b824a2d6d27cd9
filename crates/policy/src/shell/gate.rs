//! The Bash parser, asked three things: does the text parse, does it use only plain syntax, and
//! where are its words. It lowers nothing; its answers must agree with the tokens.

use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, ParseState, Parser};

/// What the parser found.
pub(crate) struct Gate {
    /// Whether the text is Bash from end to end.
    pub(crate) sound: bool,
    /// The first kind of node that plain commands do not have.
    pub(crate) foreign: Option<String>,
    /// The ranges of all words, adjacent ones joined.
    pub(crate) words: Vec<Range<usize>>,
    /// How many simple commands there are.
    pub(crate) commands: usize,
    /// Where the last `[` or `[[` and what it tests ends.
    tested: usize,
}

/// How many bytes the parser gets through, at the least, between two reports of progress. Plain
/// text takes a quarter as many reports. A bound on work, not on time, so that the same text
/// always ends the same.
const PACE: usize = 20;
/// How many reports any text may take.
const REPORTS: usize = 64;
/// Nodes past this number are not walked.
const NODES: usize = 20_000;

const STRUCTURE: &[&str] = &[
    "program",
    "list",
    "pipeline",
    "command",
    "command_name",
    "redirected_statement",
    "file_redirect",
    "file_descriptor",
    "heredoc_redirect",
    "heredoc_start",
    "heredoc_body",
    "heredoc_end",
    "herestring_redirect",
    "comment",
];
const WORDS: &[&str] =
    &["word", "number", "string", "raw_string", "concatenation", "variable_assignment"];
const INSIDE_WORDS: &[&str] = &["string_content", "variable_name"];
const PUNCTUATION: &[&str] = &[
    "&&", "||", ";", "|", "\n", "\"", "=", ">", ">>", ">|", ">&", "<&", "<", "&>", "&>>", "<<",
    "<<-", "<<<", ">&-", "<&-",
];
/// What a test is made of: to whoever runs it, these are words too.
const TESTS: &[&str] =
    &["[", "]", "[[", "]]", "!", "=", "==", "!=", "test_operator", "extglob_pattern"];

/// Parses `text`; none where that takes too much work.
pub(crate) fn parse(text: &str) -> Option<Gate> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let bytes = &ascii(text);
    let mut reports = 0;
    let enough = REPORTS + text.len() / PACE;
    let mut progress = |_: &ParseState| {
        reports += 1;
        if reports > enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let tree = parser.parse_with_options(
        &mut |offset, _| bytes.get(offset..).unwrap_or_default(),
        None,
        Some(options),
    )?;
    let root = tree.root_node();
    let mut gate =
        Gate { sound: !root.has_error(), foreign: None, words: Vec::new(), commands: 0, tested: 0 };
    if !gate.sound {
        return Some(gate);
    }
    if root.descendant_count() > NODES {
        gate.foreign = Some(String::from("too many parts"));
        return Some(gate);
    }
    walk(&mut gate, root);
    Some(gate)
}

/// The text with a letter for every byte of other alphabets, which are parts of words to Bash. The
/// parser's own scanner looks such characters up in a table that ends before them.
fn ascii(text: &str) -> Vec<u8> {
    text.bytes().map(|byte| if byte.is_ascii() { byte } else { b'x' }).collect()
}

/// Visits every node in order, without recursion: trees are as deep as their text is long.
fn walk(gate: &mut Gate, root: Node<'_>) {
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        visit(gate, node);
        if gate.foreign.is_some() || cursor.goto_first_child() {
            if gate.foreign.is_some() {
                return;
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

fn visit(gate: &mut Gate, node: Node<'_>) {
    let kind = node.kind();
    let in_test = node.end_byte() <= gate.tested;
    if node.is_missing() {
        gate.foreign = Some(kind.to_owned());
    } else if kind == "test_command" {
        gate.tested = node.end_byte();
        gate.commands += 1;
    } else if in_test && TESTS.contains(&kind) {
        gate.words.push(node.byte_range());
    } else if in_test && ["unary_expression", "binary_expression"].contains(&kind) {
        // Only holds the words.
    } else if !node.is_named() {
        // Pieces of words are anonymous nodes of any text; they lie within a word already seen.
        let within = gate.words.last().is_some_and(|word| word.end >= node.end_byte());
        // What redirects elsewhere compares in a test.
        if !within && (in_test || !PUNCTUATION.contains(&kind)) {
            gate.foreign = Some(kind.to_owned());
        }
    } else if WORDS.contains(&kind) {
        match gate.words.last_mut() {
            Some(last) if node.start_byte() < last.end => {}
            Some(last) if node.start_byte() == last.end => last.end = node.end_byte(),
            Some(_) | None => gate.words.push(node.byte_range()),
        }
    } else if kind == "command" {
        gate.commands += 1;
    } else if !STRUCTURE.contains(&kind) && !INSIDE_WORDS.contains(&kind) {
        gate.foreign = Some(kind.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn characters_far_from_ascii_do_not_reach_the_scanner() {
        for c in ['é', '漢', '\u{2003}', '\u{afb93}', '\u{10ffff}'] {
            for text in
                [format!("[[ a =~ b ]]\"a&{c}"), format!("<<<[=' ~[{c}"), format!("a{c} {c}")]
            {
                let _ = parse(&text);
            }
        }
        let gate = parse("echo üñ漢 é").unwrap();
        assert_eq!(gate.words, [0..4, 5..12, 13..15]);
    }
}
