//! Which names the expression of `find` lets through to what it does. Sees too many rather than too few.

use super::PATTERNS;
use crate::shell::Piece;

/// Groups within groups are followed so far.
const DEEPEST: usize = 32;

/// Tests and options that take the next word.
#[rustfmt::skip]
const VALUED: &[&str] = &[
    "-newer", "-anewer", "-cnewer", "-size", "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-user",
    "-group", "-uid", "-gid", "-perm", "-type", "-xtype", "-links", "-inum", "-samefile", "-path", "-ipath",
    "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-ilname", "-fstype", "-maxdepth", "-mindepth",
    "-regextype", "-used", "-context", "-files0-from",
];

/// Patterns one of which fits a name; none where any name may pass.
type Names<'a> = Option<Vec<&'a str>>;

/// Patterns for names, one of which fits all that it finds and does something with; nothing where something
/// else may pass.
pub(super) fn names(words: &[Piece]) -> Vec<&str> {
    let mut expression = Expression { words, at: 0, acts: None };
    let printed = expression.alternatives(None, 0);
    // Without an action it prints what passes.
    expression.acts.unwrap_or(printed).unwrap_or_default()
}

/// The tests and actions, as they are gone through.
struct Expression<'a> {
    words: &'a [Piece],
    at: usize,
    /// What reaches an action, if there is one.
    acts: Option<Names<'a>>,
}

impl<'a> Expression<'a> {
    fn next(&mut self) -> Option<&'a Piece> {
        let word = self.words.get(self.at)?;
        self.at += 1;
        Some(word)
    }

    /// Goes through a group, which ends with its parenthesis; says what passes one of its alternatives.
    fn alternatives(&mut self, before: Option<&[&'a str]>, depth: usize) -> Names<'a> {
        let mut all = Some(Vec::new());
        let mut passing: Names<'a> = None;
        while let Some(word) = self.next() {
            match word.text.as_str() {
                ")" => break,
                "-o" | "-or" | "," => all = either(all, passing.take()),
                _ => {
                    let term = self.term(word, passing.as_deref().or(before), depth);
                    passing = passing.or(term);
                }
            }
        }
        either(all, passing)
    }

    /// Goes through one test, action or group; says what passes it.
    fn term(&mut self, word: &'a Piece, before: Option<&[&'a str]>, depth: usize) -> Names<'a> {
        match word.text.as_str() {
            // A variable may hold an alternative.
            _ if depth > DEEPEST || word.dynamic => {
                self.acts = Some(None);
                self.at = self.words.len();
                None
            }
            "(" => self.alternatives(before, depth + 1),
            "!" | "-not" => {
                let word = self.next()?;
                self.term(word, before, depth + 1);
                None
            }
            "-name" | "-iname" => {
                self.next().filter(|value| !value.dynamic).map(|value| vec![value.text.as_str()])
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let is_end = |word: &Piece| matches!(word.text.as_str(), ";" | "+");
                let after = &self.words[self.at..];
                self.at += after.iter().position(is_end).map_or(after.len(), |length| length + 1);
                self.act(before)
            }
            "-print" | "-print0" | "-ls" | "-delete" => self.act(before),
            "-printf" | "-fprint" | "-fprint0" | "-fls" => {
                self.at += 1;
                self.act(before)
            }
            "-fprintf" => {
                self.at += 2;
                self.act(before)
            }
            test => {
                self.at += usize::from(VALUED.contains(&test) || test.starts_with("-newer"));
                None
            }
        }
    }

    /// Notes what reaches an action.
    fn act(&mut self, before: Option<&[&'a str]>) -> Names<'a> {
        let acts = self.acts.take().unwrap_or_else(|| Some(Vec::new()));
        self.acts = Some(either(acts, before.map(<[&str]>::to_vec)));
        None
    }
}

/// What passes one of two; of too many patterns nothing is known.
fn either<'a>(one: Names<'a>, other: Names<'a>) -> Names<'a> {
    let both = [one?, other?].concat();
    (both.len() <= PATTERNS).then_some(both)
}
