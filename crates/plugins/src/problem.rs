//! A problem with a file, and a hint how to solve it.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use contract::python::PythonFault;
use contract::text;
use files::foreign::{self, Boundary, Refusal};
use serde::{Deserialize, Serialize};

/// The largest text file of a plugin.
pub(crate) const TEXT_LIMIT: usize = 1 << 20;

/// One thing wrong with one file. The rest of the program goes on without it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub path: PathBuf,
    /// The fault, with its line if there is one; safe to print.
    pub what: String,
    /// Advice; safe to print.
    pub hint: String,
}

impl Problem {
    /// A problem of a file, in words that may come from anywhere.
    pub fn new(path: &Path, what: impl AsRef<str>, hint: impl AsRef<str>) -> Self {
        Self {
            path: path.to_path_buf(),
            what: text::visible(what.as_ref()).into_owned(),
            hint: text::visible(hint.as_ref()).into_owned(),
        }
    }

    /// A file or a directory that is not read.
    pub(crate) fn unreadable(path: &Path, refusal: impl Into<Refusal>) -> Self {
        let (what, hint) = match refusal.into() {
            Refusal::Missing => ("the file does not exist".into(), "check the path"),
            Refusal::Dangling => {
                ("this symlink is broken".into(), "correct the symlink or delete it")
            }
            Refusal::Outside(target) => (
                format!("this symlink points outside, to {}, and is not followed", shown(&target)),
                "put a copy in the place of the link, or keep it in your own configuration",
            ),
            Refusal::NotRegular => {
                ("this is not a regular file".into(), "put a text file in its place or delete it")
            }
            Refusal::NotText => {
                ("this is not UTF-8 text".into(), "save the file as UTF-8 or delete it")
            }
            Refusal::TooLong(limit) => {
                let size = match limit >> 20 {
                    0 => format!("{} KiB", limit >> 10),
                    mebibytes => format!("{mebibytes} MiB"),
                };
                (format!("the file is larger than {size}"), "shorten it")
            }
            Refusal::System(error) => (format!("cannot be read: {error}"), "check its permissions"),
        };
        Self::new(path, what, hint)
    }
}

/// The entries of a directory, and a problem if that is not all of them.
pub(crate) fn entries_of(
    directory: &Path,
    listing: io::Result<(Vec<PathBuf>, bool)>,
    contents: &str,
    problems: &mut Vec<Problem>,
) -> Vec<PathBuf> {
    match listing {
        Ok((entries, is_cut)) => {
            if is_cut {
                let what = format!("only {} entries of this directory were read", entries.len());
                let hint = format!("keep nothing but {contents} in it");
                problems.push(Problem::new(directory, what, hint));
            }
            entries
        }
        Err(error) => {
            problems.push(Problem::unreadable(directory, error));
            Vec::new()
        }
    }
}

/// Reads a text file of at most 1 MiB.
pub(crate) fn text_file(path: &Path, boundary: Boundary<'_>) -> Result<String, Problem> {
    foreign::read_whole(path, boundary, TEXT_LIMIT)
        .map_err(|error| Problem::unreadable(path, error))
}

impl From<PythonFault> for Problem {
    fn from(fault: PythonFault) -> Self {
        Self::new(&fault.path, fault.what, fault.hint)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", shown(&self.path), self.what)
    }
}

/// A path on one line, with nothing in it that could deceive a reader.
pub(crate) fn shown(path: &Path) -> String {
    text::visible(&path.to_string_lossy()).replace('\n', "\\n").replace('\t', "\\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_prints_on_one_line() {
        let problem = Problem::new(Path::new("a\nb\x1b[2J"), "bad\x07", "fix it");
        assert_eq!(problem.to_string(), "a\\nb\\u{1b}[2J: bad\\u{7}");
    }
}
