//! A text for a shell as its simple commands, for others who decide by them; nothing where a part of it is not
//! plainly what it looks like. The Bash parser gives the structure. What it takes for a word is gone through once
//! more, and nothing but blanks may stand between its pieces, so that text which it takes for data is data to
//! Bash and to a plain `sh` as well.

mod chain;
mod document;
mod setting;
mod word;

use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

pub(crate) use chain::chain;
pub use word::{Piece, Word};

/// Longer texts are not read.
const LONGEST: usize = 64 * 1024;
/// Nodes past this number are not walked.
const NODES: usize = 40_000;
/// How many bytes the parser gets through, at the least, between two reports of progress, and how many of these
/// any text may take: a bound on work, not on time, so that the same text always ends the same.
const PACE: usize = 20;
const REPORTS: usize = 64;
/// Statements within statements.
const DEEPEST: usize = 64;

/// What holds statements, and words that are only looked at.
#[rustfmt::skip]
const HOLDERS: [&str; 14] = [
    "program", "list", "pipeline", "subshell", "compound_statement", "if_statement", "elif_clause", "else_clause",
    "while_statement", "do_group", "negated_command", "redirected_statement", "case_statement", "case_item",
];
/// What words are to the parser.
const WORDS: [&str; 10] = [
    "arithmetic_expansion",
    "word",
    "number",
    "string",
    "raw_string",
    "concatenation",
    "simple_expansion",
    "expansion",
    "command_substitution",
    "extglob_pattern",
];
/// Signs and words between statements.
#[rustfmt::skip]
const BETWEEN: [&str; 27] = [
    "&&", "||", ";", "\n", "&", "|", "(", ")", "{", "}", "if", "then", "elif", "else", "fi", "while", "until", "do",
    "done", "!", "case", "in", "esac", ";;", "$(", "`", "for",
];
/// Words that begin a statement, or go on with one, and are no programs.
#[rustfmt::skip]
const RESERVED: [&str; 21] = [
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "case", "esac", "for", "in", "select",
    "function", "time", "coproc", "{", "}", "!", "[[",
];

/// One command.
#[derive(Clone, Debug)]
pub struct Command {
    /// What it is.
    pub kind: Kind,
    /// Where it stands.
    pub range: Range<usize>,
    /// Variables that are set before its program, with their values.
    pub settings: Vec<(String, Word)>,
    /// Its program and arguments; of a loop the name that it sets, of a function its own, of a sum those in it.
    pub words: Vec<Word>,
    /// Files that it reads; of a loop the words that it goes over.
    pub inputs: Vec<Word>,
    /// Files that it writes.
    pub targets: Vec<Word>,
    /// Whether what it prints becomes a part of a word.
    pub is_in_word: bool,
    /// Whether it is a statement of the text itself, which the shell of the text runs wherever it gets there:
    /// neither a part of another statement nor put into the background.
    pub is_own: bool,
    /// The commands that read what it prints, as ranges of their numbers.
    pub readers: Vec<Range<usize>>,
}

/// What a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A program with its arguments, or nothing but variables that are set.
    Simple,
    /// `[ .. ]` or `[[ .. ]]`, with all of its signs as words.
    Test,
    /// The start of a loop over words.
    Loop,
    /// What a group reads and writes.
    Group,
    /// A function, whose body is among the commands that follow.
    Function,
    /// A sum in a word, with the variables that are worked out in it.
    Sum,
}

/// The commands of `text` in order, those within words among them; or where it is not understood.
pub fn read(text: &str) -> Result<Vec<Command>, usize> {
    understood(text).map(|(commands, _)| commands)
}

/// The same, with the structure that they were found in.
fn understood(text: &str) -> Result<(Vec<Command>, Tree), usize> {
    let is_odd = |c: char| {
        (c.is_control() && !['\n', '\t'].contains(&c))
            || (c.is_whitespace() && ![' ', '\n', '\t'].contains(&c))
            || contract::text::is_hidden(c)
    };
    if let Some(at) = text.find(is_odd) {
        return Err(at);
    }
    let tree = parsed(text).ok_or(0_usize)?;
    let root = tree.root_node();
    if root.has_error() || root.descendant_count() > NODES {
        return Err(broken(root));
    }
    let seen = vec![false; text.len()];
    let mut reader = Reader { text, seen, commands: Vec::new(), is_in_word: false, depth: 0 };
    reader.statement(root)?;
    reader.check_rest()?;
    let commands = reader.commands;
    Ok((commands, tree))
}

/// The text as the parser sees it; none where that takes too much work.
fn parsed(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .ok()
        .filter(|()| text.len() <= LONGEST)?;
    // The parser's own scanner looks characters up in a table that ends with ASCII.
    let is_plain = |byte: u8| if byte.is_ascii() { byte } else { b'x' };
    let bytes: Vec<u8> = text.bytes().map(is_plain).collect();
    let (mut reports, enough) = (0, REPORTS + text.len() / PACE);
    let mut progress = |_: &ParseState| {
        reports += 1;
        if reports > enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = &mut |offset: usize, _| bytes.get(offset..).unwrap_or_default();
    parser.parse_with_options(bytes, None, Some(options))
}

/// Where the first part stands that does not parse.
fn broken(root: Node<'_>) -> usize {
    let mut node = root;
    loop {
        let mut cursor = node.walk();
        let next = node.children(&mut cursor).find(|it| it.has_error() || it.is_missing());
        match next {
            Some(next) if !next.is_error() && !next.is_missing() => node = next,
            Some(next) => return next.start_byte(),
            None => return node.start_byte(),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    /// The bytes that something was made of.
    seen: Vec<bool>,
    commands: Vec<Command>,
    is_in_word: bool,
    depth: usize,
}

fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

impl<'a> Reader<'a> {
    fn see(&mut self, range: Range<usize>) {
        self.seen[range].fill(true);
    }

    fn of(&self, node: Node<'_>) -> &'a str {
        &self.text[node.byte_range()]
    }

    fn statement(&mut self, node: Node<'_>) -> Result<(), usize> {
        if self.depth > DEEPEST {
            return Err(node.start_byte());
        }
        self.depth += 1;
        let first = self.commands.len();
        let done = match node.kind() {
            "pipeline" => self.pipeline(node, first),
            "redirected_statement" => self.redirected(node, first),
            kind if HOLDERS.contains(&kind) => self.held(node),
            "for_statement" => self.looped(node),
            "test_command" => self.test(node),
            "function_definition" => self.function(node),
            "command" | "declaration_command" | "variable_assignment" | "variable_assignments" => {
                self.command(node)
            }
            _ => Err(node.start_byte()),
        };
        self.depth -= 1;
        done
    }

    /// What stands in a statement: others, words that are only looked at, and signs.
    fn held(&mut self, node: Node<'_>) -> Result<(), usize> {
        // Older shells take the bracket behind a pattern for the end of what is around it.
        if node.kind() == "case_statement" && self.is_in_word {
            return Err(node.start_byte());
        }
        for child in children(node) {
            if !child.is_named() {
                self.sign(child)?;
            } else if child.kind() == "comment" {
                self.comment(child)?;
            } else if WORDS.contains(&child.kind()) {
                let word = self.word(child)?;
                if word.literal() == Some("esac") {
                    return Err(child.start_byte());
                }
            } else {
                self.statement(child)?;
            }
        }
        Ok(())
    }

    fn sign(&mut self, node: Node<'_>) -> Result<(), usize> {
        if node.is_missing() || !BETWEEN.contains(&node.kind()) || self.of(node) == "((" {
            return Err(node.start_byte());
        }
        self.see(node.byte_range());
        Ok(())
    }

    fn comment(&mut self, node: Node<'_>) -> Result<(), usize> {
        let range = node.byte_range();
        let before = self.text[..range.start].chars().next_back();
        let is_apart = before.is_none_or(|c| [' ', '\t', '\n', ';'].contains(&c));
        let is_line = self.of(node).starts_with('#') && !self.of(node).contains('\n');
        let is_ended =
            self.text[range.end..].is_empty() || self.text[range.end..].starts_with('\n');
        if !is_apart || !is_line || !is_ended {
            return Err(range.start);
        }
        self.see(range);
        Ok(())
    }

    fn pipeline(&mut self, node: Node<'_>, first: usize) -> Result<(), usize> {
        let mut starts = vec![first];
        for child in children(node) {
            if child.is_named() && child.kind() != "comment" {
                self.statement(child)?;
                starts.push(self.commands.len());
            } else if child.is_named() {
                self.comment(child)?;
            } else {
                self.sign(child)?;
            }
        }
        let end = self.commands.len();
        for pair in starts.windows(2).filter(|pair| pair[1] < end) {
            for command in &mut self.commands[pair[0]..pair[1]] {
                command.readers.push(pair[1]..end);
            }
        }
        Ok(())
    }

    /// A statement with what it reads and writes, which belongs to its command where it is one.
    fn redirected(&mut self, node: Node<'_>, first: usize) -> Result<(), usize> {
        self.check_line(node)?;
        let mut own = self.new_command(node, Kind::Group);
        for child in children(node) {
            match child.kind() {
                "file_redirect" => self.redirect(child, &mut own)?,
                "herestring_redirect" => self.here_string(child)?,
                "heredoc_redirect" => self.document(child, &mut own, first)?,
                "comment" => self.comment(child)?,
                _ => self.statement(child)?,
            }
        }
        self.commands.push(own);
        Ok(())
    }

    fn redirect(&mut self, node: Node<'_>, command: &mut Command) -> Result<(), usize> {
        let (mut sign, mut places) = ("", Vec::new());
        for child in children(node) {
            match child.kind() {
                "file_descriptor" => {
                    let before = self.text[..child.start_byte()].chars().next_back();
                    if before.is_some_and(|c| !" \t\n;&|()".contains(c)) {
                        return Err(child.start_byte());
                    }
                    self.see(child.byte_range());
                }
                kind if WORDS.contains(&kind) => places.push(self.word(child)?),
                kind @ ("<" | ">" | ">>" | ">|" | ">&" | "<&" | "&>" | "&>>") => {
                    sign = kind;
                    self.see(child.byte_range());
                }
                _ => return Err(child.start_byte()),
            }
        }
        // What follows the place is an argument, which the parser does not tell from it; and what Bash takes
        // for one sign is two to others.
        let [place] = <[Word; 1]>::try_from(places).map_err(|_| node.start_byte())?;
        let is_number = place.literal().is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit()));
        let is_copy = [">&", "<&"].contains(&sign);
        self.check_line(node)?;
        match sign {
            "<" => command.inputs.push(place),
            ">" | ">>" | ">|" => command.targets.push(place),
            _ if is_copy && (is_number || place.literal() == Some("-")) => {}
            "&>" | "&>>" if place.literal() == Some("/dev/null") && is_last(self.text, node) => {}
            _ => return Err(node.start_byte()),
        }
        Ok(())
    }

    fn here_string(&mut self, node: Node<'_>) -> Result<(), usize> {
        self.check_line(node)?;
        for child in children(node) {
            if child.kind() == "<<<" {
                self.see(child.byte_range());
            } else if WORDS.contains(&child.kind()) {
                self.word(child)?;
            } else {
                return Err(child.start_byte());
            }
        }
        Ok(())
    }

    /// A word, with the commands in it.
    fn word(&mut self, node: Node<'_>) -> Result<Word, usize> {
        let inner = substitutions(node);
        let (word, summed) = word::read(self.text, node.byte_range(), &ranges(&inner))?;
        self.see(node.byte_range());
        self.sum(node, &summed);
        self.within(&inner)?;
        Ok(word)
    }

    /// The variables of sums in what `node` says.
    fn sum(&mut self, node: Node<'_>, names: &[String]) {
        if !names.is_empty() {
            let words = names.iter().map(|it| Word::literally(it, node.byte_range())).collect();
            self.commands.push(Command { words, ..self.new_command(node, Kind::Sum) });
        }
    }

    fn within(&mut self, substitutions: &[Node<'_>]) -> Result<(), usize> {
        let was_in_word = std::mem::replace(&mut self.is_in_word, true);
        for node in substitutions {
            // What stands between its commands is looked at as anywhere else.
            self.seen[node.byte_range()].fill(false);
            if !is_substitution(self.of(*node)) || self.depth > DEEPEST {
                return Err(node.start_byte());
            }
            self.depth += 1;
            self.held(*node)?;
            self.depth -= 1;
        }
        self.is_in_word = was_in_word;
        Ok(())
    }

    fn new_command(&self, node: Node<'_>, kind: Kind) -> Command {
        Command {
            kind,
            range: node.byte_range(),
            settings: Vec::new(),
            words: Vec::new(),
            inputs: Vec::new(),
            targets: Vec::new(),
            is_in_word: self.is_in_word,
            is_own: node.parent().is_some_and(|it| it.kind() == "program")
                && node.next_sibling().is_none_or(|it| it.kind() != "&"),
            readers: Vec::new(),
        }
    }

    fn command(&mut self, node: Node<'_>) -> Result<(), usize> {
        self.check_line(node)?;
        let mut command = self.new_command(node, Kind::Simple);
        if node.kind() == "variable_assignment" {
            command.settings.push(self.setting(node)?);
            self.commands.push(command);
            return Ok(());
        }
        let mut last = node.start_byte();
        for child in children(node) {
            let is_apart = child.start_byte() > last || last == node.start_byte();
            match child.kind() {
                "variable_assignment" => command.settings.push(self.setting(child)?),
                "file_redirect" => self.redirect(child, &mut command)?,
                "herestring_redirect" => self.here_string(child)?,
                "command_name" if child.child_count() == 1 => {
                    let name = child.child(0).ok_or(child.start_byte())?;
                    command.words.push(self.word(name)?);
                }
                kind if WORDS.contains(&kind) && is_apart => command.words.push(self.word(child)?),
                "export" | "local" => command.words.push(self.word(child)?),
                "variable_name" if self.of(node).starts_with("local") && is_apart => {
                    command.words.push(self.word(child)?);
                }
                _ => return Err(child.start_byte()),
            }
            last = child.end_byte();
        }
        let program = command.words.first().and_then(Word::literal).unwrap_or_default();
        if RESERVED.contains(&program) {
            return Err(node.start_byte());
        }
        self.commands.push(command);
        Ok(())
    }

    fn looped(&mut self, node: Node<'_>) -> Result<(), usize> {
        let mut command = self.new_command(node, Kind::Loop);
        let mut is_open = true;
        for child in children(node) {
            match child.kind() {
                "variable_name" => command.words.push(self.word(child)?),
                "do_group" => {
                    self.commands.push(command.clone());
                    self.statement(child)?;
                }
                "comment" => self.comment(child)?,
                "for" | "in" | ";" | "\n" => {
                    is_open &= ![";", "\n"].contains(&child.kind());
                    self.sign(child)?;
                }
                kind if WORDS.contains(&kind) && is_open => {
                    command.inputs.push(self.word(child)?);
                }
                _ => return Err(child.start_byte()),
            }
        }
        let head = node.child_by_field_name("body").map_or(node.end_byte(), |it| it.start_byte());
        let words = self.text[node.start_byte()..head].trim_end().trim_end_matches(';');
        if words.replace("\\\n", "").contains('\n') { Err(node.start_byte()) } else { Ok(()) }
    }

    fn function(&mut self, node: Node<'_>) -> Result<(), usize> {
        let mut command = self.new_command(node, Kind::Function);
        for child in children(node) {
            match child.kind() {
                "word" => command.words.push(self.word(child)?),
                "(" | ")" => self.sign(child)?,
                "compound_statement" => {
                    self.commands.push(command.clone());
                    self.statement(child)?;
                }
                _ => return Err(child.start_byte()),
            }
        }
        Ok(())
    }

    fn test(&mut self, node: Node<'_>) -> Result<(), usize> {
        self.check_line(node)?;
        let mut command = self.new_command(node, Kind::Test);
        self.operands(node, &mut command)?;
        self.commands.push(command);
        Ok(())
    }

    fn operands(&mut self, node: Node<'_>, command: &mut Command) -> Result<(), usize> {
        for child in children(node) {
            match child.kind() {
                "unary_expression" | "binary_expression" => self.operands(child, command)?,
                kind if WORDS.contains(&kind) => command.words.push(self.word(child)?),
                "regex" => command.words.push(self.pattern(child)?),
                "[" | "]" | "[[" | "]]" | "!" | "=" | "==" | "!=" | "=~" | "&&" | "||"
                | "test_operator" => {
                    self.see(child.byte_range());
                    let sign = self.of(child);
                    command.words.push(Word::literally(sign, child.byte_range()));
                }
                _ => return Err(child.start_byte()),
            }
        }
        Ok(())
    }

    /// What a text is compared with behind `=~`, where a plain `sh` takes it for one word, or Bash does and it is
    /// no word to others.
    fn pattern(&mut self, node: Node<'_>) -> Result<Word, usize> {
        let (range, text) = (node.byte_range(), self.of(node));
        let is_apart = |it: Option<char>| it.is_some_and(|it| [' ', '\t'].contains(&it));
        let is_alone = is_apart(self.text[..range.start].chars().next_back())
            && is_apart(self.text[range.end..].chars().next());
        if !is_alone || !word::is_pattern(text) {
            return Err(range.start);
        }
        self.see(range.clone());
        let is_word = !text.contains(['(', ')', '|']);
        let piece = if is_word { Piece::Text(text.to_owned()) } else { Piece::Other };
        Ok(Word { pieces: vec![piece], range })
    }

    /// A command ends with its line: its words hold line ends only in quotes.
    fn check_line(&self, node: Node<'_>) -> Result<(), usize> {
        let mut last = node.start_byte();
        for child in children(node) {
            let between = &self.text[last..child.start_byte()];
            if between.replace("\\\n", "").contains('\n') {
                return Err(node.start_byte());
            }
            last = child.end_byte();
        }
        Ok(())
    }

    /// Nothing but blanks and ends of lines may be left.
    fn check_rest(&self) -> Result<(), usize> {
        let bytes = self.text.as_bytes();
        let is_blank = |at: usize| match bytes[at] {
            b' ' | b'\t' | b'\n' => true,
            b'\\' => {
                bytes.get(at + 1) == Some(&b'\n')
                    && at > 0
                    && [b' ', b'\t'].contains(&bytes[at - 1])
            }
            _ => false,
        };
        match (0..bytes.len()).find(|at| !self.seen[*at] && !is_blank(*at)) {
            Some(at) => Err(at),
            None => Ok(()),
        }
    }
}

/// Whether a command in a word is read in the same way by every shell. Between backticks signs may mean something
/// else than elsewhere.
fn is_substitution(text: &str) -> bool {
    let inner = text.strip_prefix('`').and_then(|it| it.strip_suffix('`'));
    let is_plain = |it: &str| !it.contains(['\\', '`', '#']) && !it.contains("<<");
    inner
        .map_or(text.starts_with("$(") && text.ends_with(')') && !text.starts_with("$(("), is_plain)
}

/// Whether nothing follows in its command.
fn is_last(text: &str, node: Node<'_>) -> bool {
    let rest = text[node.end_byte()..].trim_start_matches([' ', '\t']);
    rest.is_empty() || rest.starts_with(['\n', ';', '|', ')']) || rest.starts_with("&&")
}

/// The substitutions in a word that stand in no other.
fn substitutions(node: Node<'_>) -> Vec<Node<'_>> {
    if node.kind() == "command_substitution" {
        return vec![node];
    }
    children(node).into_iter().flat_map(substitutions).collect()
}

fn ranges(nodes: &[Node<'_>]) -> Vec<Range<usize>> {
    nodes.iter().map(Node::byte_range).collect()
}

#[cfg(test)]
mod tests;
