//! What single words say: where they lead, which program they name, whether one is a program at all.

use std::path::{Path, PathBuf};

use crate::paths::normalize;
use crate::shell::tolerant::{Piece, Segment};
use crate::shell::wrappers;

/// How far a text is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// To its commands.
    Commands,
    /// To where text comes from that a shell runs.
    Sources,
    /// To its commands on this machine: what is handed to another one is any word.
    Here,
}

/// Whether a variable is set that names a file which a shell runs first.
pub(super) fn is_start_file(word: &Piece) -> bool {
    word.text.starts_with("ENV=") || word.text.starts_with("BASH_ENV=")
}

/// The path that a word means in `folder`; none where that cannot be known.
pub(crate) fn resolve(word: &Piece, folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if word.dynamic || word.text == "-" {
        return None;
    }
    if word.home {
        let rest = word.text.trim_start_matches('~').trim_start_matches('/');
        return home.map(|home| normalize(&home.join(rest)));
    }
    Some(normalize(&folder.join(&word.text)))
}

/// The last component of a program's path, as the file system might see it.
pub(crate) fn base_name(program: &str) -> &str {
    // Asked of every word, most of which are short and have neither.
    let ends_so = program.ends_with('e');
    let Some(slash) = program.bytes().rposition(|byte| byte == b'/') else {
        return if ends_so { program.strip_suffix(".exe").unwrap_or(program) } else { program };
    };
    // Whatever reads this is the shell.
    if ends_so && program.starts_with("/proc/") && program.ends_with("/exe") {
        return "bash";
    }
    let name = &program[slash + 1..];
    name.strip_suffix(".exe").unwrap_or(name)
}

/// Whether a word is the standard input as a file.
pub(super) fn is_input(word: &Piece) -> bool {
    matches!(word.text.as_str(), "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

/// How many segments each pipeline has, by its number.
pub(super) fn stages(segments: &[Segment]) -> Vec<u32> {
    let last = segments.iter().map(|segment| segment.pipeline).max().unwrap_or(0);
    let mut stages = vec![0; last + 1];
    for segment in segments {
        stages[segment.pipeline] += 1;
    }
    stages
}

/// The index of the program among the words of a segment: past reserved words and assignments.
pub(super) fn program_index(words: &[Piece]) -> usize {
    let leads = |word: &Piece| !is_reserved(&word.text) && !wrappers::is_assignment(&word.text);
    words.iter().position(leads).unwrap_or(words.len())
}

/// Words that only say how the commands after them belong together.
#[rustfmt::skip]
pub(crate) fn is_reserved(word: &str) -> bool {
    matches!(word, "if" | "then" | "else" | "elif" | "fi" | "do" | "done" | "while" | "until" | "!"
        | "{" | "}" | "function" | "esac" | "in" | "case" | "[[" | "]]")
}
