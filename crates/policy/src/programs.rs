//! Programs that only look, and the arguments with which they do. Whatever is not listed here,
//! down to a single letter, is asked about.

mod archives;
pub(crate) mod builds;
mod facts;
pub(crate) mod fd;
mod find;
pub(crate) mod git;
pub(crate) mod launching;
mod look;
mod options;
mod search;
pub(crate) mod sed;
mod tests_of_files;
pub(crate) mod versions;

use crate::shell::Word;

/// What a proven command looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Looked {
    /// Paths whose contents it shows.
    pub(crate) contents: Vec<Operand>,
    /// Paths whose names or properties it shows.
    pub(crate) names: Vec<Operand>,
}

/// A path among the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operand {
    /// The path, or a pattern.
    pub(crate) text: String,
    /// Whether it is a pattern.
    pub(crate) glob: bool,
}

impl Operand {
    fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), glob: false }
    }
}

impl From<&Word> for Operand {
    fn from(word: &Word) -> Self {
        Self { text: word.text.clone(), glob: word.glob }
    }
}

/// Why an argument keeps a program from being proven harmless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Doubt(pub(crate) String);

impl Doubt {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// What is known of a program.
pub(crate) enum Knowledge {
    /// Nothing.
    Unknown,
    /// Its arguments can be checked; this many words identify what they mean.
    Checked {
        /// 1, or 2 where the second word is a subcommand.
        identity: usize,
        /// The outcome.
        outcome: Result<Looked, Doubt>,
    },
}

/// Checks the arguments of the program that `words` name, if it is known to only look.
pub(crate) fn check(words: &[Word]) -> Knowledge {
    let Some((program, args)) = words.split_first() else {
        return Knowledge::Unknown;
    };
    if is_asked_for_help(&program.text, args) {
        return Knowledge::Checked { identity: 1, outcome: Ok(Looked::default()) };
    }
    let outcome = match program.text.as_str() {
        "git" => return git::check(args),
        "tar" => archives::tar(args),
        "unzip" => archives::unzip(args),
        "tee" => archives::tee(args),
        "ulimit" => facts::ulimit(args),
        "find" => find::check(args),
        "sed" => sed::check(args),
        "grep" | "egrep" | "fgrep" => search::grep(args),
        "rg" => search::rg(args),
        "jq" => search::jq(args),
        "test" => tests_of_files::check(args),
        "[" => tests_of_files::bracket(args),
        "[[" => tests_of_files::double_bracket(args),
        "sleep" => facts::sleep(args),
        "ps" => facts::ps(args),
        "xxd" => facts::xxd(args),
        "printenv" => facts::printenv(args),
        "printf" => look::printf(args),
        "echo" | "true" | "false" | ":" => Ok(Looked::default()),
        name => match look::check(name, args) {
            Some(outcome) => outcome,
            None => return Knowledge::Unknown,
        },
    };
    match outcome {
        // What is known of them is little, and a rule for one means all of it.
        Err(_) if PARTLY.contains(&program.text.as_str()) => Knowledge::Unknown,
        outcome => Knowledge::Checked { identity: 1, outcome },
    }
}

/// Programs of which only some uses are known.
const PARTLY: &[&str] = &[
    "tar",
    "unzip",
    "tee",
    "hostname",
    "umask",
    "ulimit",
    "ss",
    "pgrep",
    "pidof",
    "getconf",
    "locale",
    "lsb_release",
    "lscpu",
    "zcat",
    "bzcat",
    "xzcat",
    "zstdcat",
];

/// Programs of which most say what they can do, and nothing else, where `--help` is their only argument.
const HELPFUL: &[&str] = &["find", "sed", "grep", "egrep", "fgrep", "rg", "jq", "tar", "tee", "ps"];

fn is_asked_for_help(name: &str, args: &[Word]) -> bool {
    let [option] = args else { return false };
    option.text == "--help"
        && !option.glob
        && (HELPFUL.contains(&name) || look::check(name, &[]).is_some())
}

/// Whether a script of `sed` neither runs a program nor writes a file.
pub(crate) fn only_edits(script: &str) -> bool {
    sed::only_edits(script)
}

/// Whether a program with these arguments is proven to change nothing.
pub(crate) fn only_looks(words: &[Word]) -> bool {
    matches!(check(words), Knowledge::Checked { outcome: Ok(_), .. })
}

/// Whether a program of this name has its arguments checked.
pub(crate) fn is_known(name: &str) -> bool {
    // Asked of every command of a text.
    let has_own_check = matches!(
        name,
        "git"
            | "find"
            | "sed"
            | "grep"
            | "egrep"
            | "fgrep"
            | "rg"
            | "jq"
            | "test"
            | "["
            | "[["
            | "sleep"
            | "ps"
            | "xxd"
            | "printenv"
            | "printf"
            | "echo"
            | "true"
            | "false"
            | ":"
    );
    has_own_check || (look::is_listed(name) && !PARTLY.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_what_is_checked() {
        let names = "git find sed grep rg jq test [ [[ sleep ps xxd printenv printf echo true : cat ls head \
            seq tree stat rm curl tar unzip tee ulimit hostname zcat bash nothing";
        for name in names.split_whitespace() {
            let word = Word { text: name.to_owned(), range: 0..0, glob: false, quoted: false };
            let is_checked = matches!(check(&[word]), Knowledge::Checked { .. });
            assert_eq!(is_known(name), is_checked && !PARTLY.contains(&name), "{name}");
        }
    }
}
