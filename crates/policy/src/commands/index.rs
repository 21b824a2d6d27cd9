//! Commands by the name of their program, so that many rules cost no more than one.

use std::borrow::Cow;

use foldhash::{HashMap, HashMapExt};

use crate::floor::shown;
use crate::glob::{Reading, meet};
use crate::rules::CommandPattern;
use crate::shell::{Fit, Found, Piece, Survey, base_name};

/// Where each program name occurs.
pub(crate) struct Index {
    exact: HashMap<String, Vec<usize>>,
    loose: HashMap<String, Vec<(usize, usize)>>,
    /// Programs named by a pattern, and where in the words of a command it stands.
    patterns: Vec<(usize, usize)>,
}

/// The longest name that a file may have.
const LONGEST: usize = 255;
/// More patterns in text that is read by its words are not tried.
const PATTERNS: usize = 256;

impl Index {
    /// Sorts the commands of a survey.
    pub(crate) fn new(survey: &Survey) -> Self {
        let mut index = Self { exact: HashMap::new(), loose: HashMap::new(), patterns: Vec::new() };
        for (at, found) in survey.commands.iter().enumerate() {
            index.add(at, found, survey);
        }
        index
    }

    fn add(&mut self, at: usize, found: &Found, survey: &Survey) {
        let argv = found.argv();
        // By the words of a text, a star that stands alone is what ends a `case`.
        let is_default = found.fit == Fit::Loose && argv.len() == 1 && argv[0].text == "*";
        // The same of a pattern that says little.
        let is_named =
            |program: &Piece| !survey.is_pattern(found, program) || is_telling(&program.text);
        let is_wild = |program: &Piece| program.glob && program.text != "[";
        if argv.first().is_some_and(|it| is_wild(it) && is_named(it)) && !is_default {
            self.patterns.push((at, 0));
        }
        match found.fit {
            Fit::Exact | Fit::Handed => {
                if let Some(program) = argv.first() {
                    entry(&mut self.exact, &program.text).push(at);
                }
            }
            Fit::Loose => {
                for (position, word) in argv.iter().enumerate() {
                    if word.glob && self.patterns.len() < PATTERNS && is_telling(&word.text) {
                        self.patterns.push((at, position));
                    }
                    let places = entry(&mut self.loose, &word.text);
                    if places.last().is_none_or(|(last, _)| *last != at) {
                        places.push((at, position));
                    }
                }
            }
        }
    }

    /// The commands that could run a program of this name, and where in their words it stands.
    pub(crate) fn running<'a>(
        &'a self,
        survey: &'a Survey,
        name: &str,
    ) -> impl Iterator<Item = (&'a Found, usize)> {
        let name = key(name).into_owned();
        let exact = self.exact.get(&name).into_iter().flatten();
        let loose = self.loose.get(&name).into_iter().flatten();
        // The same pattern often comes again at once.
        let mut last = ("", false);
        let could_be = move |(at, position): &&(usize, usize)| {
            let program = base_name(&survey.commands[*at].argv()[*position].text);
            if program != last.0 || program.is_empty() {
                // A pattern that is longer than any name is not tried: it could mean every one.
                let fits = || meet((program, Reading::Shell), (&name, Reading::Literal));
                last = (program, program.len() > LONGEST || fits());
            }
            last.1
        };
        exact.map(|at| (&survey.commands[*at], 0)).chain(
            self.patterns
                .iter()
                .filter(could_be)
                .chain(loose)
                .map(|(at, position)| (&survey.commands[*at], *position)),
        )
    }

    /// The commands that could run a program whose name begins with `prefix`.
    pub(crate) fn running_any<'a>(
        &'a self,
        survey: &'a Survey,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a Found, usize)> {
        let exact = self.exact.iter().filter(move |(name, _)| name.starts_with(prefix));
        let loose = self.loose.iter().filter(move |(name, _)| name.starts_with(prefix));
        exact.flat_map(|(_, places)| places.iter().map(|at| (&survey.commands[*at], 0))).chain(
            loose.flat_map(|(_, places)| {
                places.iter().map(|(at, position)| (&survey.commands[*at], *position))
            }),
        )
    }

    /// The first command that a pattern could mean, in words.
    pub(crate) fn first_hit(&self, survey: &Survey, pattern: &CommandPattern) -> Option<String> {
        let Some(programs) = pattern.programs() else {
            let mut running = self.running(survey, pattern.program());
            let hit = running.find(|(found, at)| pattern.touches(found, *at));
            let hit = hit.map(|(found, at)| shown(&found.argv()[at..]));
            return hit.or_else(|| fitting(survey, pattern));
        };
        let mut running = self.running_like(survey, programs);
        let hit = running.find(|(found, at)| pattern.touches(found, *at));
        hit.map(|(found, at)| shown(&found.argv()[at..])).or_else(|| fitting(survey, pattern))
    }

    /// The commands that could run a program whose name fits one of these patterns.
    fn running_like<'a>(
        &'a self,
        survey: &'a Survey,
        programs: &'a [String],
    ) -> impl Iterator<Item = (&'a Found, usize)> {
        let fits = |name: &str| {
            let name = key(name);
            let fits =
                |program: &String| meet((&key(program), Reading::Shell), (&name, Reading::Shell));
            name.len() > LONGEST || programs.iter().any(fits)
        };
        let exact = self.exact.iter().filter(move |(name, _)| fits(name));
        let loose = self.loose.iter().filter(move |(name, _)| fits(name));
        exact.flat_map(|(_, places)| places.iter().map(|at| (&survey.commands[*at], 0))).chain(
            loose.flat_map(|(_, places)| {
                places.iter().map(|(at, position)| (&survey.commands[*at], *position))
            }),
        )
    }
}

/// The first command that a pattern with wildcards fits as a whole.
fn fitting(survey: &Survey, pattern: &CommandPattern) -> Option<String> {
    let whole = pattern.whole()?;
    let fits = |found: &&Found| {
        let words: Vec<&str> = found.argv().iter().take(24).map(|it| it.text.as_str()).collect();
        let command = words.join(" ");
        let command = contract::text::head(&command, 200);
        meet((&whole, Reading::Shell), (command, Reading::Literal))
    };
    survey.commands.iter().find(fits).map(|found| shown(found.argv()))
}

/// Whether a pattern says enough of a name: `*` alone is meant for files.
fn is_telling(pattern: &str) -> bool {
    let name = base_name(pattern);
    name.len() <= LONGEST && name.bytes().filter(u8::is_ascii_alphanumeric).count() > 1
}

/// How a program's name is looked up: without its folder, and without case.
fn key(program: &str) -> Cow<'_, str> {
    let name = base_name(program.trim_start_matches(['-', '+', '@', '!', '%']));
    if name.bytes().any(|b| b.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

fn entry<'a, T>(map: &'a mut HashMap<String, Vec<T>>, program: &str) -> &'a mut Vec<T> {
    let key = key(program);
    if !map.contains_key(key.as_ref()) {
        return map.entry(key.into_owned()).or_default();
    }
    map.get_mut(key.as_ref()).expect("it was just found")
}
