//! Shell text, read once with a Bash parser: every simple command in it, with the commands that
//! wrappers, `sh -c` and `eval` run in turn. Decides nothing, and predicts nothing beyond the text.

mod tree;
mod word;
pub(crate) mod wrappers;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use word::Word;

use crate::paths::normalize;
use crate::word_list::listed;
use wrappers::{INTERPRETERS, Inner, SHELLS};

/// Longer text is not parsed.
pub(crate) const MAX_COMMAND: usize = 256 * 1024;
/// Wrappers and nested scripts beyond this depth are not followed.
const DEPTH: usize = 6;

/// A command text, read.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// Every simple command, each followed by the commands that it runs in turn.
    pub(crate) commands: Vec<Simple>,
    /// Every redirection.
    pub(crate) redirects: Vec<Redirect>,
    /// Places where a program is run that the text does not name, each with the reason.
    pub(crate) unclear: Vec<(String, &'static str)>,
    /// True if the text is not Bash, or too long to be parsed.
    pub(crate) is_broken: bool,
    /// The first syntax that a provably read-only text does not have.
    pub(crate) odd: Option<String>,
    /// Directories that the text may change to, the first being where it starts.
    pub(crate) dirs: Vec<PathBuf>,
}

/// One program run, or one list of assignments.
#[derive(Clone, Debug)]
pub(crate) struct Simple {
    words: Arc<[Word]>,
    from: usize,
    to: usize,
    /// Variables set for it, as `NAME=value`.
    pub(crate) assignments: Vec<Word>,
    /// The directories it is likely to run in; none if they are not known.
    pub(crate) dirs: Vec<PathBuf>,
    /// The number of [`Script::dirs`] that were seen before it.
    pub(crate) seen: usize,
    /// Its source text.
    pub(crate) source: String,
    /// True if another command of the list runs it.
    pub(crate) is_nested: bool,
}

impl Simple {
    /// The program and its arguments.
    pub(crate) fn argv(&self) -> &[Word] {
        &self.words[self.from..self.to]
    }

    /// The program's name without its directory; none if it is not known.
    pub(crate) fn program(&self) -> Option<&str> {
        self.argv().first().and_then(Word::known).map(base_name)
    }

    fn part(&self, from: usize, to: usize) -> Self {
        let (from, to) = (self.from + from, self.from + to);
        Self { from, to, is_nested: true, assignments: Vec::new(), ..self.clone() }
    }
}

/// A redirection of a file.
#[derive(Clone, Debug)]
pub(crate) struct Redirect {
    /// True if the file is written.
    pub(crate) writes: bool,
    /// The file.
    pub(crate) target: Word,
    /// The directories that a relative path may start from.
    pub(crate) dirs: Vec<PathBuf>,
}

/// Reads `text`, run in `cwd`.
pub(crate) fn read(text: &str, cwd: &Path, home: Option<&Path>) -> Script {
    read_at(text, cwd, home, 0)
}

fn read_at(text: &str, cwd: &Path, home: Option<&Path>, depth: usize) -> Script {
    if text.len() > MAX_COMMAND || has_word_across_lines(text) {
        return Script { is_broken: true, ..Script::default() };
    }
    let mut script = tree::read(text, normalize(cwd), home);
    if let Some(c) = text.chars().find(|c| contract::text::is_deceptive(*c)) {
        let odd = format!("the character {}, which is not what it looks like", c.escape_unicode());
        script.odd.get_or_insert(odd);
    }
    if is_parsed_otherwise(text) {
        script.odd.get_or_insert_with(|| "a word that the parser splits".to_owned());
    }
    let direct = std::mem::take(&mut script.commands);
    for command in direct {
        follow(&mut script, command, home, depth);
    }
    script
}

/// Returns true if a backslash joins two lines within a word, which the parser reads as two words.
fn has_word_across_lines(text: &str) -> bool {
    let is_blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
    text.match_indices("\\\n").any(|(at, joint)| {
        let (before, after) = (&text[..at], &text[at + joint.len()..]);
        !is_blank(before.chars().next_back()) && !is_blank(after.chars().next())
    })
}

/// Returns true if the parser may find other arguments than Bash: a word begins with an escaped blank,
/// or ends in a digit before a redirection.
fn is_parsed_otherwise(text: &str) -> bool {
    let is_break = |b: u8| b" \t\n;&|()<>".contains(&b);
    text.as_bytes().windows(3).any(|part| match part {
        [before, b'\\', b' ' | b'\t'] => is_break(*before),
        [before, digit, b'>' | b'<'] => {
            digit.is_ascii_digit() && !is_break(*before) && !before.is_ascii_digit()
        }
        _ => false,
    })
}

/// Adds a command, and those that it runs.
fn follow(script: &mut Script, command: Simple, home: Option<&Path>, depth: usize) {
    let mut current = command;
    for level in 0.. {
        script.commands.push(current.clone());
        match inner(script, &current, home, depth) {
            Some(next) if level < DEPTH => current = next,
            Some(next) => {
                script.unclear.push((next.source, "it nests too many commands"));
                return;
            }
            None => return,
        }
    }
}

/// The command that another one runs; nested scripts are added to `script`.
fn inner(
    script: &mut Script,
    command: &Simple,
    home: Option<&Path>,
    depth: usize,
) -> Option<Simple> {
    let argv = command.argv();
    let program = argv.first()?;
    let Some(name) = program.known().map(base_name) else {
        script.unclear.push((command.source.clone(), "its program is not known beforehand"));
        return None;
    };
    if name == "find" {
        for (from, to) in executed(argv) {
            follow(script, command.part(from, to), home, depth + 1);
        }
    } else if name == "eval" {
        let words: Option<Vec<&str>> = argv[1..].iter().map(Word::known).collect();
        match words {
            Some(words) => nested(script, command, &words.join(" "), home, depth),
            None => script.unclear.push((command.source.clone(), "it evaluates computed text")),
        }
    } else if listed(SHELLS, name) {
        shell(script, command, home, depth);
    } else if let Some(wrapper) = wrappers::find(name) {
        let known: Vec<Option<&str>> = argv[1..].iter().map(Word::known).collect();
        match wrapper.inner(&known) {
            Inner::At(at) => return Some(command.part(at + 1, argv.len())),
            Inner::Unclear => {
                script
                    .unclear
                    .push((command.source.clone(), "the program that it runs is unclear"));
            }
            Inner::Nothing => {}
        }
    }
    None
}

/// Follows `sh -c text`; a shell without a script reads commands from its input.
fn shell(script: &mut Script, command: &Simple, home: Option<&Path>, depth: usize) {
    let (mut takes_text, mut is_value) = (false, false);
    let mut args = command.argv()[1..].iter();
    let operand = args.find(|word| {
        let is_option = !word.dynamic && word.text.starts_with(['-', '+']) && word.text.len() > 1;
        let is_short = is_option && !word.text.starts_with("--");
        takes_text |= is_short && word.text.contains('c');
        // `-o pipefail`, `-O extglob`, fish's `-C text`, `--rcfile file`
        let takes_value = (is_short && word.text.contains(['o', 'O', 'C']))
            || listed("--rcfile --init-file", &word.text);
        !std::mem::replace(&mut is_value, takes_value) && !is_option
    });
    match (operand.map(Word::known), takes_text) {
        (Some(Some(text)), true) => nested(script, command, text, home, depth),
        (Some(None), true) => {
            script.unclear.push((command.source.clone(), "the shell runs computed text"));
        }
        (Some(_), false) => {}
        (None, _) => {
            let asks = |word: &Word| ["--version", "--help"].contains(&word.text.as_str());
            if !command.argv().iter().any(asks) {
                script.unclear.push((command.source.clone(), "the shell reads its commands"));
            }
        }
    }
}

/// Adds the commands of a script that `command` runs.
fn nested(script: &mut Script, command: &Simple, text: &str, home: Option<&Path>, depth: usize) {
    let cwd = command.dirs.first().cloned().unwrap_or_else(|| PathBuf::from("/"));
    if depth >= DEPTH {
        script.unclear.push((command.source.clone(), "it nests too many commands"));
        return;
    }
    let inner = read_at(text, &cwd, home, depth + 1);
    if inner.is_broken {
        script.unclear.push((command.source.clone(), "the script in it does not parse"));
    }
    let commands = inner.commands.into_iter();
    script.commands.extend(commands.map(|it| Simple { is_nested: true, ..it }));
    script.redirects.extend(inner.redirects);
    script.unclear.extend(inner.unclear);
}

/// The ranges of the commands that `find` runs.
fn executed(argv: &[Word]) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    let mut from = None;
    for (at, word) in argv.iter().enumerate() {
        match (word.text.as_str(), from) {
            ("-exec" | "-execdir" | "-ok" | "-okdir", _) => from = Some(at + 1),
            (";" | "+", Some(start)) => {
                ranges.push((start, at));
                from = None;
            }
            _ => {}
        }
    }
    ranges.extend(from.map(|start| (start, argv.len())));
    ranges.retain(|(start, end)| start < end);
    ranges
}

/// A program's name without its directory.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns true if a program runs text of its own language, or shell text.
pub(crate) fn is_interpreter(name: &str) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    listed(SHELLS, name) || listed(INTERPRETERS, name) || listed(INTERPRETERS, stem)
}

/// The words of text that was not parsed, without quotes and directories.
pub(crate) fn raw_words(text: &str) -> HashSet<String> {
    let plain: String =
        text.replace("\\\n", "").chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    let in_word = |c: char| c.is_alphanumeric() || "_-.+".contains(c);
    plain.split(|c| !in_word(c)).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The program and arguments of each simple command, if the text is nothing but commands of
/// literal words: no expansion, no redirection into a file, no variable set.
pub fn literal_commands(text: &str) -> Option<Vec<Vec<String>>> {
    let script = read(text, Path::new("/"), None);
    let writes = |it: &Redirect| it.writes && it.target.text != "/dev/null";
    if script.is_broken || script.odd.is_some() || script.redirects.iter().any(writes) {
        return None;
    }
    let direct = script.commands.iter().filter(|it| !it.is_nested);
    direct
        .map(|command| {
            let words = command.argv().iter().map(|word| word.known().map(str::to_owned));
            command.assignments.is_empty().then(|| words.collect::<Option<Vec<_>>>())?
        })
        .collect()
}

#[cfg(test)]
mod tests;
