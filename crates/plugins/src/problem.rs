//! A problem with a file, and a hint how to solve it.

use std::fmt;
use std::path::{Path, PathBuf};

use contract::python::PythonFault;
use contract::text;
use serde::{Deserialize, Serialize};

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
