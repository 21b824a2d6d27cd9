//! What `find` does to whatever it comes upon, and whether its tests leave most of that out.

use contract::policy::Decision;

use super::destroy::is_repository;
use crate::programs::fd::{Said, said};
use crate::shell::{Piece, base_name, wrappers};

/// What is done to what is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// It is gone from its place, or what is in it.
    Deletes,
    /// It gets other rights or another owner.
    Changes,
}

/// Programs after which a file is not where it was, or not what it was.
const DELETING: &[&str] =
    &["rm", "unlink", "shred", "srm", "truncate", "mv", "rimraf", "trash", "trash-put"];
/// Calls of other languages that delete.
const CALLS: &[&str] =
    &["unlink", "remove", "rmtree", "rmSync", "unlinkSync", "rmdirSync", "remove_tree", "rm_rf"];
/// Those languages.
const LANGUAGES: &[&str] = &["perl", "python", "python3", "ruby", "node", "php", "lua"];
/// Programs that change who may do what with it.
const CHANGING: &[&str] = &["chmod", "chown", "chgrp", "chattr", "setfacl"];

/// Tests of a name.
const NAMES: &[&str] = &["-name", "-iname"];
/// Tests of a whole path.
const PATHS: &[&str] =
    &["-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-ilname"];
/// Tests by which rights are given to some kind of files, as is usual.
const KINDS: &[&str] = &["-type", "-xtype", "-perm", "-user", "-group", "-nouser", "-nogroup"];

/// Groups within groups are followed so far.
const DEEPEST: usize = 32;

/// The worst that is done to what is found.
pub(super) fn deed(args: &[Piece]) -> Option<Deed> {
    let mut worst = None;
    // From the last one on, so that where each action ends is known.
    let mut end = args.len();
    for (at, word) in args.iter().enumerate().rev() {
        if is_end(word) {
            end = at;
        }
        match deed_of(word, &args[at + 1..end.max(at + 1)]) {
            Some(Deed::Deletes) => return Some(Deed::Deletes),
            Some(Deed::Changes) => worst = Some(Deed::Changes),
            None => {}
        }
    }
    worst
}

/// What one action does; `words` are those that belong to it.
fn deed_of(word: &Piece, words: &[Piece]) -> Option<Deed> {
    match word.text.as_str() {
        "-delete" => Some(Deed::Deletes),
        "-exec" | "-execdir" | "-ok" | "-okdir" => run(words),
        _ => None,
    }
}

/// Whether the words end here that an action runs.
fn is_end(word: &Piece) -> bool {
    matches!(word.text.as_str(), ";" | "+")
}

/// What a program does to the files that it is given; one that runs others may run any that it names.
pub(super) fn run(words: &[Piece]) -> Option<Deed> {
    let (program, args) = words.split_first()?;
    let name = base_name(&program.text);
    if let Some(deed) = known(name) {
        return Some(deed);
    }
    if empties(name, args) {
        return Some(Deed::Deletes);
    }
    let runs =
        wrappers::find(name).is_some() || wrappers::is_shell(name) || wrappers::launches(name);
    if !runs {
        return None;
    }
    let is_name = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let texts = args.iter().flat_map(|word| word.text.split(|c| !is_name(c)));
    let deeds: Vec<Deed> = texts.filter_map(|text| known(base_name(text))).collect();
    let deletes = deeds.iter().find(|deed| **deed == Deed::Deletes);
    deletes.or(deeds.first()).copied()
}

/// Whether a program leaves nothing of what is in the files that it is given.
fn empties(name: &str, args: &[Piece]) -> bool {
    let has = |text: &str| args.iter().any(|word| word.text == text);
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut calls = args.iter().flat_map(|word| word.text.split(|c| !is_name(c)));
    match name {
        "cp" | "install" | "dd" => has("/dev/null") || has("if=/dev/null"),
        _ => LANGUAGES.contains(&name) && calls.any(|call| CALLS.contains(&call)),
    }
}

fn known(name: &str) -> Option<Deed> {
    let deletes = DELETING.contains(&name).then_some(Deed::Deletes);
    deletes.or_else(|| CHANGING.contains(&name).then_some(Deed::Changes))
}

/// Options before the starting points, and how many words they take.
fn leading(args: &[Piece]) -> usize {
    let mut at = 0;
    while let Some(word) = args.get(at) {
        at += match word.text.as_str() {
            "-L" | "-H" | "-P" | "--" => 1,
            "-D" => 2,
            text if text.starts_with("-O") => 1,
            _ => break,
        };
    }
    at.min(args.len())
}

/// Where it begins; nothing where that is the folder it runs in.
pub(super) fn starting_points(args: &[Piece]) -> Vec<&Piece> {
    let points = args[leading(args)..].iter();
    points.take_while(|word| !word.text.starts_with(['-', '(', '!'])).collect()
}

/// Whether it goes through links that are named as starting points.
pub(super) fn follows(args: &[Piece]) -> bool {
    args.iter().any(|word| matches!(word.text.as_str(), "-L" | "-H" | "-follow"))
}

/// Whether it deletes whatever it comes to.
pub(super) fn deletes_all(args: &[Piece]) -> bool {
    const PLAIN: &[&str] = &["-delete", "-depth", "-xdev", "-mount", "-print", "-follow"];
    let words = args[leading(args)..].iter();
    let mut expression = words.filter(|word| word.text.starts_with(['-', '(', '!']));
    expression.all(|word| PLAIN.contains(&word.text.as_str()))
}

/// Whether on each way to what it does a test leaves most files out.
pub(super) fn is_narrowed(args: &[Piece], deed: Deed) -> bool {
    let is_kind = |word: &Piece| KINDS.contains(&word.text.as_str());
    if deed == Deed::Changes && args.iter().any(is_kind) {
        return true;
    }
    let points = starting_points(args);
    let words = &args[leading(args) + points.len()..];
    let mut expression = Expression { words, at: 0, points: &points, acts_on_all: false };
    expression.alternatives(false, 0);
    !expression.acts_on_all
}

/// The tests and actions, as they are gone through.
struct Expression<'a> {
    words: &'a [Piece],
    at: usize,
    points: &'a [&'a Piece],
    /// Whether something is done that no test stands before.
    acts_on_all: bool,
}

impl<'a> Expression<'a> {
    fn next(&mut self) -> Option<&'a Piece> {
        let word = self.words.get(self.at)?;
        self.at += 1;
        Some(word)
    }

    /// Goes through a group, which ends with its parenthesis; says whether each of its alternatives leaves
    /// files out. `before` is whether something does already.
    fn alternatives(&mut self, before: bool, depth: usize) -> bool {
        let mut all = true;
        let mut narrowed = false;
        while let Some(word) = self.next() {
            match word.text.as_str() {
                ")" => break,
                "-o" | "-or" | "," => {
                    all &= narrowed;
                    narrowed = false;
                }
                _ => narrowed |= self.term(word, before || narrowed, depth),
            }
        }
        all && narrowed
    }

    /// Goes through one test, action or group; says whether it leaves files out.
    fn term(&mut self, word: &Piece, before: bool, depth: usize) -> bool {
        let after = &self.words[self.at..];
        match word.text.as_str() {
            _ if depth > DEEPEST => {
                self.acts_on_all = true;
                self.at = self.words.len();
                false
            }
            "(" => self.alternatives(before, depth + 1),
            // What is not of some name is nearly everything.
            "!" | "-not" => {
                if let Some(word) = self.next() {
                    self.term(word, before, depth + 1);
                }
                false
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" | "-delete" => {
                let end = after.iter().position(is_end).unwrap_or(after.len());
                self.acts_on_all |= !before && deed_of(word, &after[..end]).is_some();
                if word.text != "-delete" {
                    self.at += end;
                }
                false
            }
            test if NAMES.contains(&test) || PATHS.contains(&test) => {
                self.next().is_some_and(|value| self.tells(test, &value.text))
            }
            // Nothing is lost with what holds nothing.
            "-empty" => true,
            _ => false,
        }
    }

    /// Whether a pattern says more than that there is a name.
    fn tells(&self, test: &str, pattern: &str) -> bool {
        let start = |point: &&Piece| pattern.strip_prefix(point.text.as_str());
        let below = self.points.iter().filter(|_| PATHS.contains(&test)).find_map(start);
        let mut rest = below.unwrap_or(pattern).to_owned();
        // Nearly every name has a letter, or a character that is not one of a few.
        let wide = ["[!", "[^", "[a-z", "[A-Z", "[[:al", "[[:lower", "[[:graph", "[[:print"];
        while let Some(from) = wide.iter().find_map(|set| rest.find(set)) {
            let after = &rest[from + 1..];
            let inner = after.find(":]").map_or(0, |end| end + 2);
            let length = after[inner..].find(']').map_or(after.len(), |length| inner + length + 1);
            rest.replace_range(from..=from + length, "");
        }
        let signs = if test.ends_with("regex") { "*.?/+()|^$\\" } else { "*.?/" };
        rest.contains(|c| !signs.contains(c))
    }
}

/// Judges `fd` that gives all that it finds to a program.
pub(super) fn executed_on_all(args: &[Piece]) -> Option<(Decision, String)> {
    let runs = |word: &Piece| match said(&word.text) {
        Said::Runs(first) => Some(first.to_owned()),
        Said::Operand | Said::Option | Said::Valued | Said::Unknown => None,
    };
    let (at, first) = args.iter().enumerate().find_map(|(at, it)| Some((at, runs(it)?)))?;
    let first = Piece { text: first, ..Piece::default() };
    let rest = args[at + 1..].iter().cloned();
    let words = std::iter::once(first).chain(rest).skip_while(|word| word.text.is_empty());
    let deed = run(&words.collect::<Vec<Piece>>())?;
    listed_all(&args[..at]).filter(|_| deed == Deed::Deletes)
}

/// Judges the deletion of all that `fd` or `rg --files` lists, where nothing narrows that.
pub(super) fn listed_all(args: &[Piece]) -> Option<(Decision, String)> {
    let narrowing = ["-e", "--ext", "-g", "--glob", "--iglob", "-t", "--type"];
    // Types of `fd` are no kinds of contents.
    let is_type = |text: &str| matches!(text, "-t" | "--type" | "-tf" | "-td" | "--type=f");
    let is_kind = |text: &str| matches!(text, "f" | "d" | "file" | "directory");
    let mut before = "";
    for word in args {
        let text = word.text.as_str();
        let is_narrow = match said(text) {
            Said::Operand if matches!(before, "-t" | "--type") => !is_kind(text),
            Said::Operand => !matches!(text, "" | "." | "./"),
            Said::Option | Said::Valued | Said::Runs(_) | Said::Unknown => {
                !is_type(text) && narrowing.iter().any(|option| text.starts_with(option))
            }
        };
        if is_narrow {
            return None;
        }
        before = text;
    }
    let why = String::from("it deletes every file that is not ignored, also with uncommitted work");
    Some((Decision::Ask, why))
}

/// What it looks for by a name that a repository's history has.
pub(super) fn sought_repository(args: &[Piece]) -> Option<&str> {
    let is_left_out = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| args.get(at));
        let after = args.get(at + 2);
        before.is_some_and(|word| matches!(word.text.as_str(), "!" | "-not"))
            || after.is_some_and(|word| word.text == "-prune")
    };
    let tells = |name: &str| name.contains(char::is_alphanumeric) && is_repository(name);
    args.iter().zip(args.iter().skip(1)).enumerate().find_map(|(at, (test, value))| {
        let is_meant = match test.text.as_str() {
            "-name" | "-iname" => tells(&value.text),
            "-path" | "-ipath" | "-wholename" | "-iwholename" => value.text.split('/').any(tells),
            "-regex" | "-iregex" => value.text.contains(".git"),
            _ => false,
        };
        (is_meant && !is_left_out(at)).then_some(value.text.as_str())
    })
}
