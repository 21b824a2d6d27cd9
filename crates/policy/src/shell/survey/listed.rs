//! Names of files that one program prints and another is given by a substitution or a variable, as it is
//! by `xargs`. Sees too many rather than too few.

use std::collections::HashMap;
use std::rc::Rc;

use super::{GATHERED, base_name, program_index};
use crate::shell::tolerant::{Piece, Segment, Value};

/// Programs that print the names of files.
pub(crate) const LISTERS: &[&str] =
    &["find", "gfind", "fd", "fdfind", "ls", "git", "rg", "tree", "locate"];

/// Which segments print names, and what holds them.
struct Lists<'a> {
    segments: &'a [Segment],
    listers: Vec<usize>,
    held: HashMap<&'a str, usize>,
}

/// The words of each program that is given such names, with those of the program that prints them.
pub(super) fn given(segments: &[Segment]) -> Vec<Rc<Vec<Piece>>> {
    let is_lister = |segment: &Segment| {
        let program = segment.words.get(program_index(&segment.words));
        program.is_some_and(|program| LISTERS.contains(&base_name(&program.text)))
    };
    let at = segments.iter().enumerate().filter(|(_, it)| is_lister(it)).map(|(at, _)| at);
    let listers: Vec<usize> = at.collect();
    if listers.is_empty() {
        return Vec::new();
    }
    let mut lists = Lists { segments, listers, held: HashMap::new() };
    lists.hold();
    lists.given()
}

impl<'a> Lists<'a> {
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
        let mut piped: HashMap<usize, usize> = HashMap::new();
        for at in self.listers.iter().rev() {
            piped.insert(self.segments[*at].pipeline, *at);
        }
        let mut read: Vec<&'a str> = Vec::new();
        for segment in self.segments {
            let words = &segment.words;
            let start = program_index(words);
            let program = words.get(start).map_or("", |word| word.text.as_str());
            let input = segment.expansions.iter().filter(|it| it.word.is_none());
            let input = input.clone().find_map(|it| self.behind(&it.value));
            match program {
                "for" | "select" => {
                    let list = segment.expansions.iter().find_map(|it| self.behind(&it.value));
                    let name = words.get(start + 1).map(|word| word.text.as_str());
                    self.held.extend(name.zip(list));
                }
                "read" | "mapfile" | "readarray" => {
                    let names = words[start + 1..].iter().map(|word| word.text.as_str());
                    let names = names.filter(|name| !name.starts_with('-')).chain(["REPLY"]);
                    let list = input.or_else(|| piped.get(&segment.pipeline).copied());
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

    fn given(&self) -> Vec<Rc<Vec<Piece>>> {
        let mut given = Vec::new();
        for segment in self.segments {
            let start = program_index(&segment.words);
            let mut args =
                segment.expansions.iter().filter(|it| it.word.is_some_and(|at| at > start));
            let list = args.find_map(|it| self.behind(&it.value));
            let is_program = !matches!(
                segment.words.get(start).map(|word| word.text.as_str()),
                None | Some("for" | "select")
            );
            if let Some(list) = list.filter(|_| is_program) {
                let own = segment.words[start..].iter().filter(|word| !word.text.is_empty());
                given.push(self.with_names(own.cloned(), list));
            }
            for (value, is_written) in &segment.named {
                let sign = if *is_written { ">" } else { "<" };
                let sign = Piece { text: sign.to_owned(), ..Piece::default() };
                given.extend(self.behind(value).map(|list| self.with_names([sign], list)));
            }
        }
        given
    }

    /// The words of a program, or of what redirects, with those of the program that prints names for it.
    fn with_names(&self, own: impl IntoIterator<Item = Piece>, list: usize) -> Rc<Vec<Piece>> {
        let words = &self.segments[list].words;
        let words = words[program_index(words)..].iter().cloned();
        // One more tells that there are too many.
        Rc::new(own.into_iter().chain(words).take(GATHERED + 1).collect())
    }
}
