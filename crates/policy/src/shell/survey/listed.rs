//! Names of files that one program prints and another is given by a substitution or a variable, as it is
//! by `xargs`. Sees too many rather than too few.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use foldhash::{HashSet, HashSetExt};

use super::{GATHERED, Survey, base_name, program_index};
use crate::shell::tolerant::{Piece, Segment, Value};

/// Programs that print the names of files.
pub(crate) const LISTERS: &[&str] = &[
    "find", "gfind", "fd", "fdfind", "ls", "git", "rg", "grep", "egrep", "fgrep", "tree", "locate",
];

/// The name under which any argument is held.
const ARGUMENTS: &str = "@";

/// Which segments print names, and what holds them.
pub(super) struct Lists<'a> {
    pub(super) segments: &'a [Segment],
    listers: Vec<usize>,
    /// The first of them in each pipeline.
    piped: HashMap<usize, usize>,
    held: HashMap<&'a str, usize>,
}

/// A program, or the sign of a redirection, that is given names, and the segment that prints them.
pub(super) struct Given<'a> {
    pub(super) own: Cow<'a, [Piece]>,
    list: usize,
}

/// More patterns for the names in a folder are not tried.
const PATTERNS: usize = 2;

impl Survey {
    /// Notes which variables hold names that programs print; returns the words of each program that is given such
    /// names, with those of the program that prints them.
    pub(super) fn listed(&mut self, segments: &[Segment]) -> Vec<Rc<Vec<Piece>>> {
        let is_lister = |segment: &Segment| {
            let program = segment.words.get(program_index(&segment.words));
            program.is_some_and(|program| LISTERS.contains(&base_name(&program.text)))
        };
        let Some(lists) = Lists::of(segments, is_lister) else { return Vec::new() };
        for (name, pattern) in lists.patterns() {
            self.holds(&name, &pattern);
        }
        // Long texts say the same again and again, and all of it counts in every folder.
        let mut known = HashSet::new();
        let mut given = lists.given();
        given.retain(|it| known.insert((it.own.clone(), &segments[it.list].words)));
        given.into_iter().map(|it| lists.with_names(it)).collect()
    }
}

/// Patterns for the names that `ls` with these words prints; none for another program, which says where they are.
pub(super) fn entries(words: &[Piece]) -> Vec<String> {
    let Some((program, args)) = words[program_index(words)..].split_first() else {
        return Vec::new();
    };
    if !matches!(base_name(&program.text), "ls" | "dir") {
        return Vec::new();
    }
    let operands = || args.iter().filter(|word| !word.text.starts_with('-'));
    let wild = operands().filter(|word| word.glob && !word.dynamic);
    let mut patterns: Vec<String> = wild.map(|it| it.text.clone()).take(PATTERNS).collect();
    let is_long = |word: &Piece| word.text.starts_with("--");
    let has = |letters: &[char]| {
        let is_option = |word: &&Piece| word.text.starts_with('-') && !is_long(word);
        args.iter().filter(is_option).any(|word| word.text.contains(letters))
    };
    // Of a folder it prints what is in it.
    let is_file = |word: &Piece| word.glob && word.text.trim_matches(['.', '/']).contains('.');
    let is_open = operands().next().is_none() || !operands().all(is_file);
    if is_open && (patterns.is_empty() || !has(&['d'])) {
        patterns.push(String::from("*"));
    }
    let shows_dots = has(&['a', 'A', 'f']) || args.iter().any(|it| it.text.starts_with("--a"));
    patterns.extend(shows_dots.then(|| String::from(".*")));
    patterns
}

impl<'a> Lists<'a> {
    /// What is made of the names that some segments print; none where there are no such segments.
    pub(super) fn of(
        segments: &'a [Segment],
        is_lister: impl Fn(&Segment) -> bool,
    ) -> Option<Self> {
        let at = segments.iter().enumerate().filter(|(_, it)| is_lister(it)).map(|(at, _)| at);
        let listers: Vec<usize> = at.collect();
        let piped = listers.iter().rev().map(|at| (segments[*at].pipeline, *at)).collect();
        let mut lists = Self { segments, listers, piped, held: HashMap::new() };
        if lists.listers.is_empty() {
            return None;
        }
        lists.hold();
        Some(lists)
    }

    /// Whether a segment prints names, or one before it in its pipeline does.
    pub(super) fn feed(&self, at: usize) -> bool {
        self.piped.get(&self.segments[at].pipeline).is_some_and(|first| *first <= at)
    }

    /// The segment that prints what an expansion stands for.
    fn behind(&self, value: &Value) -> Option<usize> {
        match value {
            Value::Variable(name) => self.held.get(name.as_str()).copied(),
            Value::Printed(range) => {
                let first = self.listers.partition_point(|at| *at < range.start);
                self.listers.get(first).copied().filter(|at| *at < range.end)
            }
        }
    }

    /// Notes the variables that hold such names.
    fn hold(&mut self) {
        let mut read: Vec<&'a str> = Vec::new();
        let mut array: Option<&'a str> = None;
        for (at, segment) in self.segments.iter().enumerate() {
            let words = &segment.words;
            let start = program_index(words);
            let program = words.get(start).map_or("", |word| word.text.as_str());
            if segment.is_data {
                // What stands between its parentheses follows the name of an array.
                let list = segment.expansions.iter().find_map(|it| self.behind(&it.value));
                self.held.extend(array.take().zip(list));
                continue;
            }
            array = words.last().and_then(|word| word.text.strip_suffix('=')).or(array);
            array = array.map(|name| name.trim_end_matches('+'));
            let input = segment.expansions.iter().filter(|it| it.word.is_none());
            let input = input.clone().find_map(|it| self.behind(&it.value));
            // What only reads is one of them by the file that it reads.
            let input = input.or_else(|| self.listers.binary_search(&at).is_ok().then_some(at));
            match program {
                "for" | "select" => {
                    let list = segment.expansions.iter().find_map(|it| self.behind(&it.value));
                    let name = words.get(start + 1).map(|word| word.text.as_str());
                    self.held.extend(name.zip(list));
                }
                "set" => {
                    let list = segment.expansions.iter().find_map(|it| self.behind(&it.value));
                    self.held.extend(Some(ARGUMENTS).zip(list));
                }
                "read" | "mapfile" | "readarray" => {
                    let names = words[start + 1..].iter().map(|word| word.text.as_str());
                    let names = names.filter(|name| !name.starts_with('-')).chain(["REPLY"]);
                    let list = input.or_else(|| self.piped.get(&segment.pipeline).copied());
                    match list {
                        Some(list) => self.held.extend(names.map(|name| (name, list))),
                        None => read.extend(names),
                    }
                }
                // What a loop reads stands behind it.
                "" if input.is_some() => {
                    self.held.extend(read.drain(..).zip(std::iter::repeat(input.unwrap_or(0))));
                }
                _ => {}
            }
            for expansion in &segment.expansions {
                let name =
                    expansion.word.filter(|word| *word < start).map(|word| &words[word].text);
                let name = name.and_then(|text| text.split_once('=')).map(|(name, _)| name);
                let list = self.behind(&expansion.value);
                self.held.extend(name.zip(list));
            }
        }
    }

    /// Patterns for the names in variables to which a path goes on, or into which a shell goes.
    fn patterns(&self) -> Vec<(String, String)> {
        let mut patterns = Vec::new();
        let mut known = HashSet::new();
        for segment in self.segments {
            let program = segment.words.get(program_index(&segment.words));
            let moves = program.is_some_and(|it| matches!(it.text.as_str(), "cd" | "pushd"));
            let is_joined = |at: Option<usize>| {
                let word = at.and_then(|at| segment.words.get(at));
                moves || word.is_none_or(|word| !word.text.is_empty())
            };
            for expansion in segment.expansions.iter().filter(|it| is_joined(it.word)) {
                let Value::Variable(name) = &expansion.value else { continue };
                let Some(list) = self.held.get(name.as_str()) else { continue };
                if known.insert((name, list)) {
                    let entries = entries(&self.segments[*list].words).into_iter();
                    patterns.extend(entries.map(|pattern| (name.clone(), pattern)));
                }
            }
        }
        patterns
    }

    /// The programs that are given names, and what redirects from or to them.
    pub(super) fn given(&self) -> Vec<Given<'a>> {
        let mut given = Vec::new();
        for segment in self.segments {
            let start = program_index(&segment.words);
            let mut args = segment
                .expansions
                .iter()
                .filter(|it| !it.is_file && it.word.is_some_and(|at| at > start));
            let list = args.find_map(|it| self.behind(&it.value));
            let is_program = !matches!(
                segment.words.get(start).map(|word| word.text.as_str()),
                None | Some("for" | "select")
            );
            if let Some(list) = list.filter(|_| is_program) {
                given.push(Given { own: Cow::Borrowed(&segment.words[start..]), list });
            }
            for (value, is_written) in &segment.named {
                let sign = if *is_written { ">" } else { "<" };
                let sign = Piece { text: sign.to_owned(), ..Piece::default() };
                let list = self.behind(value);
                given.extend(list.map(|list| Given { own: Cow::Owned(vec![sign]), list }));
            }
        }
        given
    }

    /// The words of a program, or of what redirects, with those of the program that prints names for it.
    fn with_names(&self, given: Given<'_>) -> Rc<Vec<Piece>> {
        let words = &self.segments[given.list].words;
        let words = words[program_index(words)..].iter().cloned();
        let own = given.own.into_owned().into_iter().filter(|word| !word.text.is_empty());
        // One more tells that there are too many.
        Rc::new(own.chain(words).take(GATHERED + 1).collect())
    }
}
