//! The Bash parser's tree, flattened to simple commands and redirections.

use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::word::{self, Word};
use super::{Redirect, Script, Simple};
use crate::paths::normalize;
use crate::word_list::listed;

/// The number of bytes that the parser gets through between two reports of progress, at the least.
/// A bound on work and not on time, so that one text always ends in one result.
const PACE: usize = 20;
/// The number of reports that any text may take.
const REPORTS: usize = 64;
/// A text with more commands is not proven read-only.
const COMMANDS: usize = 50;
/// The number of bytes of a command that reasons show.
const SHOWN: usize = 200;
/// More directories are not tracked.
const DIRS: usize = 8;

/// Kinds of nodes that a provably read-only text may have.
const PLAIN: &str = "program list pipeline command command_name redirected_statement \
    file_redirect file_descriptor heredoc_redirect heredoc_start heredoc_body heredoc_end \
    herestring_redirect comment word number string raw_string concatenation variable_assignment \
    string_content variable_name test_command unary_expression binary_expression test_operator \
    extglob_pattern";
/// Tokens that such a text may have between words.
const TOKENS: &str = "&& || ; | \" = == != ! [ ] [[ ]] > >> >| >& <& < &> &>> << <<- <<< >&- <&-";
/// Kinds of nodes that are one word.
const WORDS: &str = "word number string raw_string ansi_c_string translated_string concatenation \
    simple_expansion expansion command_substitution arithmetic_expansion process_substitution \
    brace_expression regex extglob_pattern test_operator";

/// Reads `text`, run in `cwd`.
pub(super) fn read(text: &str, cwd: PathBuf, home: Option<&Path>) -> Script {
    let script = Script { dirs: vec![cwd.clone()], ..Script::default() };
    let Some(tree) = parse(text) else {
        return Script { is_broken: true, ..script };
    };
    let root = tree.root_node();
    if root.has_error() {
        return Script { is_broken: true, ..script };
    }
    let mut walk = Walk {
        text,
        home,
        script,
        current: vec![cwd],
        scopes: Vec::new(),
        above: Vec::new(),
        before_and: None,
    };
    walk.all(root);
    if walk.script.commands.len() > COMMANDS {
        walk.odd(&format!("more than {COMMANDS} commands"));
    }
    walk.script
}

/// Parses `text`; none if that takes too much work.
fn parse(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    // The parser's scanner looks characters up in a table that ends before those of other
    // alphabets, which are parts of words to Bash.
    let bytes: Vec<u8> = text.bytes().map(|it| if it.is_ascii() { it } else { b'x' }).collect();
    let mut reports = 0;
    let most = REPORTS + text.len() / PACE;
    let mut progress = |_: &ParseState| {
        reports += 1;
        if reports > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut input = |offset: usize, _| bytes.get(offset..).unwrap_or_default();
    parser.parse_with_options(&mut input, None, Some(options))
}

/// The walk over a tree, in the order of the text.
struct Walk<'a, 't> {
    text: &'a str,
    home: Option<&'a Path>,
    script: Script,
    /// The directories that the next command is likely to run in.
    current: Vec<PathBuf>,
    /// Subshells: where each ends, and the directories behind it.
    scopes: Vec<(usize, Vec<PathBuf>)>,
    /// The kinds of the nodes above the current one.
    above: Vec<&'t str>,
    /// The command on the left side of the last `&&`.
    before_and: Option<usize>,
}

impl<'t> Walk<'_, 't> {
    /// Visits every node, without recursion: a tree may be as deep as its text is long.
    fn all(&mut self, root: Node<'t>) {
        let mut cursor = root.walk();
        loop {
            let node = cursor.node();
            self.visit(node);
            if cursor.goto_first_child() {
                self.above.push(node.kind());
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
                self.above.pop();
            }
        }
    }

    fn odd(&mut self, what: &str) {
        self.script.odd.get_or_insert_with(|| what.to_owned());
    }

    fn visit(&mut self, node: Node<'_>) {
        while let Some((_, dirs)) = self.scopes.pop_if(|(end, _)| *end <= node.start_byte()) {
            self.current = dirs;
        }
        let kind = node.kind();
        if node.is_missing() || !self.is_plain(node) {
            self.odd(&format!("shell syntax (`{}`)", kind.trim()));
        }
        match kind {
            "command" => self.command(node),
            "test_command" => {
                let words = self.test_words(node);
                self.add(node, words, Vec::new());
            }
            "declaration_command" | "unset_command" => {
                let words = self.words(node, |_| true);
                self.add(node, words, Vec::new());
            }
            "list" if node.child(1).is_some_and(|operator| operator.kind() == "&&") => {
                self.before_and = node.child(0).map(|left| left.id());
            }
            "variable_assignment" if !self.is_below("command declaration_command") => {
                let assignments = vec![self.word(node.byte_range())];
                self.add(node, Vec::new(), assignments);
            }
            "file_redirect" => self.redirect(node),
            _ if self.is_below("heredoc_redirect") && listed(WORDS, kind) => {
                self.odd("arguments behind a here-document");
            }
            "heredoc_start" if !self.source(node.byte_range()).contains(['\'', '"', '\\']) => {
                self.odd("a here-document whose delimiter is not quoted");
            }
            // The parser finds no substitution in a body that begins with a blank.
            "heredoc_body" if self.is_expanded(node) && node.named_child_count() == 0 => {
                let source = contract::text::head(self.source(node.byte_range()), SHOWN).to_owned();
                self.script.unclear.push((source, "a here-document may run commands"));
            }
            "subshell" | "command_substitution" | "process_substitution" => {
                self.scopes.push((node.end_byte(), self.current.clone()));
            }
            _ => {}
        }
    }

    /// Returns true if the shell would run a substitution in the text of a here-document.
    fn is_expanded(&self, body: Node<'_>) -> bool {
        let Some(start) = body.parent().and_then(|redirect| redirect.child(1)) else { return true };
        let source = self.source(body.byte_range());
        !self.source(start.byte_range()).contains(['\'', '"', '\\'])
            && (source.contains("$(") || source.contains('`'))
    }

    /// Returns true if a read-only text may have such a node.
    fn is_plain(&self, node: Node<'_>) -> bool {
        let kind = node.kind();
        if node.is_named() {
            return listed(PLAIN, kind);
        }
        let is_within_word = || self.is_below(WORDS) || self.is_below("variable_assignment");
        kind.trim().is_empty() || listed(TOKENS, kind) || is_within_word()
    }

    /// Returns true if the current node is a child of one of these kinds.
    fn is_below(&self, kinds: &str) -> bool {
        self.above.last().is_some_and(|kind| listed(kinds, kind))
    }

    fn source(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or_default()
    }

    fn word(&mut self, range: Range<usize>) -> Word {
        let word = word::read(self.source(range), self.home);
        if let Some(odd) = word.odd {
            self.odd(odd);
        }
        word
    }

    fn command(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let children = node.children(&mut cursor);
        let set: Vec<Range<usize>> = children
            .filter(|child| child.kind() == "variable_assignment")
            .map(|child| child.byte_range())
            .collect();
        let assignments = set.into_iter().map(|range| self.word(range)).collect();
        let is_word = |child: Node<'_>| {
            !listed("variable_assignment file_redirect herestring_redirect", child.kind())
                && child.kind() != "heredoc_redirect"
        };
        let words = self.words(node, is_word);
        self.add(node, words, assignments);
    }

    /// The words among the children of a node; adjacent ones are one word.
    fn words(&mut self, node: Node<'_>, is_word: impl Fn(Node<'_>) -> bool) -> Vec<Word> {
        let mut cursor = node.walk();
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for child in node.children(&mut cursor).filter(|child| is_word(*child)) {
            let range = child.byte_range();
            match ranges.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                Some(_) | None => ranges.push(range),
            }
        }
        ranges.into_iter().map(|range| self.word(range)).collect()
    }

    /// The words of `[ … ]` and `[[ … ]]`: the leaves of the expression.
    fn test_words(&mut self, node: Node<'_>) -> Vec<Word> {
        let mut ranges = Vec::new();
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            if node.child_count() == 0 || listed(WORDS, node.kind()) {
                ranges.push(node.byte_range());
                continue;
            }
            let mut cursor = node.walk();
            let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
            waiting.extend(children.into_iter().rev());
        }
        ranges.into_iter().map(|range| self.word(range)).collect()
    }

    fn add(&mut self, node: Node<'_>, words: Vec<Word>, assignments: Vec<Word>) {
        let simple = Simple {
            from: 0,
            to: words.len(),
            words: words.into(),
            assignments,
            dirs: self.current.clone(),
            seen: self.script.dirs.len(),
            source: contract::text::head(self.source(node.byte_range()), SHOWN).to_owned(),
            is_nested: false,
        };
        self.change_dir(node, &simple);
        self.script.commands.push(simple);
    }

    fn redirect(&mut self, node: Node<'_>) {
        let operator = {
            let mut cursor = node.walk();
            let mut children = node.children(&mut cursor);
            children.find(|child| !child.is_named()).map_or("", |child| child.kind())
        };
        let mut cursor = node.walk();
        let targets: Vec<Range<usize>> = node
            .children_by_field_name("destination", &mut cursor)
            .map(|child| child.byte_range())
            .collect();
        let [target, rest @ ..] = targets.as_slice() else { return };
        // The parser takes arguments behind a redirection for further targets.
        if !rest.is_empty() {
            let source = contract::text::head(self.source(node.byte_range()), SHOWN).to_owned();
            self.script.unclear.push((source, "arguments stand behind a redirection"));
            self.odd("arguments behind a redirection");
        }
        let target = self.word(target.clone());
        if target.glob || operator == "<>" {
            self.odd("a redirection that is not understood");
        }
        let is_descriptor = target.text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        if [">&", "<&"].contains(&operator) && is_descriptor && !target.dynamic {
            return;
        }
        let writes = operator.contains('>');
        self.script.redirects.push(Redirect { writes, target, dirs: self.current.clone() });
    }

    /// Follows `cd`.
    fn change_dir(&mut self, node: Node<'_>, command: &Simple) {
        let texts: Vec<Option<&str>> = command.argv().iter().map(Word::known).collect();
        let target = match texts.as_slice() {
            [Some("cd")] => self.home.map(Path::to_path_buf),
            [Some("cd"), Some("--"), Some(target)] => Some(PathBuf::from(target)),
            [Some("cd"), Some(target)] if *target != "-" => Some(PathBuf::from(target)),
            [Some("cd" | "pushd" | "popd"), ..] => None,
            _ => return,
        };
        let Some(target) = target else {
            self.current = Vec::new();
            return self.odd("a change to a directory that is not known");
        };
        let from = std::mem::take(&mut self.current);
        let mut to: Vec<PathBuf> = from.iter().map(|dir| normalize(&dir.join(&target))).collect();
        if to.is_empty() && target.is_absolute() {
            to.push(normalize(&target));
        }
        for dir in &to {
            if !self.script.dirs.contains(dir) {
                self.script.dirs.push(dir.clone());
            }
        }
        // Behind `&&` the change succeeded; otherwise both directories are possible.
        if self.before_and != Some(node.id()) {
            to.extend(from);
        }
        to.dedup();
        self.current = to;
        if self.script.dirs.len() > DIRS || self.current.len() > DIRS {
            self.script.dirs.truncate(DIRS);
            self.current = Vec::new();
            self.odd("too many directories");
        }
    }
}
