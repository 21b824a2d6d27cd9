//! Words of which a shell has yet to fill in a part, held against patterns for files. What is filled in
//! may be anything, also nothing, with slashes, and `..` that takes away what stands before it. A word
//! that says nothing of what a pattern names is not taken for it: otherwise `"$file"` would be every file.

use std::collections::HashSet;

use crate::glob::{Reading, Step, characters};
use crate::shell::GAP;

/// So many letters of a name tell it, or all of a shorter one.
const TELLING: usize = 3;

/// A longer path leads nowhere.
const LONGEST: usize = 4096;

/// One step of a rule's pattern.
enum Ruled {
    /// One character, which tells the name if it is the flag's.
    One(Option<char>, bool),
    /// Any number of any characters.
    Many,
    /// The following steps, so many of them, or none of them.
    Maybe(usize),
}

/// A rule's pattern as steps, and how much of a name must be known.
pub(crate) struct Steps {
    all: Vec<Ruled>,
    letters: HashSet<char>,
    telling: usize,
}

impl Steps {
    /// The steps of an absolute pattern, whose last `own` components are what the rule says itself.
    pub(crate) fn of(pattern: &str, own: usize) -> Self {
        let reading = if pattern.contains('[') { Reading::Shell } else { Reading::Rule };
        let components: Vec<&str> = pattern.split('/').filter(|it| !it.is_empty()).collect();
        let first = components.len().saturating_sub(own);
        let is_name = |text: &&str| text.chars().any(char::is_alphanumeric);
        let telling = components.iter().skip(first).rposition(is_name).map(|at| first + at);
        let mut steps = Vec::new();
        let mut letters = HashSet::new();
        let mut count = 0;
        for (at, component) in components.iter().enumerate() {
            if *component == "**" {
                steps.extend([Ruled::Maybe(2), Ruled::One(Some('/'), false), Ruled::Many]);
                continue;
            }
            steps.push(Ruled::One(Some('/'), false));
            for step in characters((component, reading)) {
                steps.push(match step {
                    Step::Many => Ruled::Many,
                    Step::One(None) => Ruled::One(None, false),
                    Step::One(Some(c)) => {
                        let tells = telling == Some(at) && c.is_alphanumeric();
                        count += usize::from(tells);
                        letters.extend(tells.then_some(c));
                        Ruled::One(Some(c), tells)
                    }
                });
            }
        }
        Self { all: steps, letters, telling: count.min(TELLING) }
    }

    /// Whether a path with gaps could be one that the pattern means, and says so. It is without `.` and
    /// `..`, and in lower case as the pattern is.
    pub(crate) fn are_told_by(&self, path: &str, reading: Reading) -> bool {
        if !self.could_be_told_by(path) || path.len() > LONGEST {
            return false;
        }
        let mut row: Row = vec![None; self.all.len() + 1];
        row[0] = Some(0);
        self.spread(&mut row);
        let mut is_dead = false;
        for step in characters((path, reading)) {
            row = match step {
                Step::One(Some(GAP)) => self.anything(&row, Some(0)),
                _ if is_dead => continue,
                Step::Many => self.anything(&row, None),
                Step::One(c) => self.one(&row, c),
            };
            is_dead = row.iter().all(Option::is_none);
        }
        !is_dead && row[self.all.len()].is_some_and(|count| count >= self.telling)
    }

    /// Whether a text has letters enough: a quick look before the full one.
    pub(crate) fn could_be_told_by(&self, text: &str) -> bool {
        let is_telling = |c: &char| self.letters.contains(c) || c.is_uppercase();
        text.chars().filter(is_telling).take(TELLING).count() >= self.telling
    }

    /// Where a run of any characters leads to; `least` is what holds wherever it came from.
    fn anything(&self, row: &Row, least: Option<usize>) -> Row {
        let mut best = least;
        let mut next: Row = Vec::with_capacity(row.len());
        for count in row {
            best = best.max(*count);
            next.push(best);
        }
        self.spread(&mut next);
        next
    }

    /// Where one character leads to.
    fn one(&self, row: &Row, c: Option<char>) -> Row {
        let mut next: Row = vec![None; row.len()];
        for (at, step) in self.all.iter().enumerate() {
            let Some(count) = row[at] else { continue };
            match step {
                Ruled::Many => next[at] = next[at].max(Some(count)),
                Ruled::One(ruled, tells) => {
                    let fits = ruled.is_none() || c.is_none() || *ruled == c;
                    if fits {
                        let more = usize::from(*tells && c.is_some());
                        next[at + 1] = next[at + 1].max(Some(count + more));
                    }
                }
                Ruled::Maybe(_) => {}
            }
        }
        self.spread(&mut next);
        next
    }

    /// Steps that may be empty are passed.
    fn spread(&self, row: &mut Row) {
        for (at, step) in self.all.iter().enumerate() {
            match step {
                Ruled::One(..) => {}
                Ruled::Many => row[at + 1] = row[at + 1].max(row[at]),
                Ruled::Maybe(count) => {
                    row[at + 1] = row[at + 1].max(row[at]);
                    row[at + 1 + count] = row[at + 1 + count].max(row[at]);
                }
            }
        }
    }
}

/// For each place in a pattern how many telling letters were known on the best way there.
type Row = Vec<Option<usize>>;

/// An absolute path with gaps, made plain: without `.` and `..`, and with a gap for what these take away
/// of what is not known. A process' own links lead to wherever that process is.
pub(crate) fn plain(path: &str) -> String {
    let is_open = |part: &str| part.contains(GAP);
    let mut parts: Vec<&str> = Vec::new();
    let nothing_known = "\0";
    for part in path.split('/') {
        match part.strip_prefix(GAP).unwrap_or(part) {
            // What is filled in may end with a slash.
            "." | ".." if is_open(part) => parts.push(nothing_known),
            "" if !is_open(part) => {}
            "." => {}
            // Above the folder of a process is another than the one above its path.
            ".." if is_of_process(&parts) => parts = vec![nothing_known],
            ".." => match parts.last_mut() {
                Some(last) if is_open(last) => *last = nothing_known,
                Some(_) | None => drop(parts.pop()),
            },
            _ => parts.push(part),
        }
    }
    if let Some(last) = (1..parts.len()).rev().find(|at| is_of_process(&parts[..=*at])) {
        parts.drain(..last);
        parts[0] = nothing_known;
    }
    let joined = parts.join("/");
    if joined.starts_with(GAP) { joined } else { format!("/{joined}") }
}

/// Whether the parts of a path are those of a link to the folder of a process, or to what a descriptor stands for.
fn is_of_process(parts: &[&str]) -> bool {
    matches!(parts.first(), Some(&"proc" | &"dev"))
        && matches!(parts, [_, .., "cwd" | "root"] | [_, .., "fd", _])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pattern: &str, own: usize, path: &str) -> bool {
        Steps::of(pattern, own).are_told_by(&plain(path), Reading::Literal)
    }

    #[test]
    fn a_path_with_gaps_tells_what_it_names() {
        for path in [
            "\0/secret/k",
            "\0secret/k",
            "\0./secret/k",
            "\0../secret/k",
            "/w/secret/\0",
            "/w/sec\0ret/k",
            "/w/src/\0/secret",
            "/proc/\0/cwd/secret/k",
            "/proc/2/cwd/secret/k",
            "/proc/self/root/w/secret/k",
            "/dev/fd/../cwd/secret/k",
            "/proc/self/cwd/../secret/k",
            "\0/../../secret/k",
            "\0ret/k",
        ] {
            assert!(told("/w/secret/**", 2, path), "{path:?}");
        }
        for path in
            ["\0", "/w/\0", "\0/k", "\0/src/main.rs", "/w/src/\0", "\0/secrets/k", "\0/nosecret"]
        {
            assert!(!told("/w/secret/**", 2, path), "{path:?}");
        }
    }

    #[test]
    fn names_with_wildcards_are_told_by_their_letters() {
        assert!(told("/**/*.pem", 2, "\0.pem"));
        assert!(told("/**/.env", 2, "\0/.env"));
        assert!(told("/w/secret/k", 2, "\0/k"));
        for path in ["\0.txt", "\0.\0", "\0/my.env", "\0-\0"] {
            assert!(!told("/**/.env", 2, path), "{path:?}");
            assert!(!told("/**/*.pem", 2, path), "{path:?}");
            assert!(!told("/**/secret*", 2, path), "{path:?}");
        }
    }
}
