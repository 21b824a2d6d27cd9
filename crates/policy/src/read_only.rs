//! Programs that only read, and the arguments with which they do, mostly as data. A program, an
//! option or a letter that is not listed is not proven read-only.

mod archives;
mod facts;
mod find;
pub(crate) mod git;
mod options;
mod search;
mod sed;
mod table;
mod test;

use crate::shell::Word;
use crate::word_list::listed;

/// The files that a read-only command reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadPaths {
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
    /// True if it is a pattern.
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

/// Why an argument keeps a program from being proven read-only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotReadOnly(pub(crate) String);

impl NotReadOnly {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// The knowledge about a program.
pub(crate) enum Knowledge {
    /// The program is not in the tables.
    Unknown,
    /// The arguments were checked; `identity` words name the program and its subcommand.
    Checked {
        /// 1, or 2 if the second word is a subcommand.
        identity: usize,
        /// The files it reads, or why it is not proven read-only.
        outcome: Result<ReadPaths, NotReadOnly>,
    },
}

/// Programs of which only some uses are known to be read-only.
const PARTLY: &str = "tar tee hostname umask ulimit ss pgrep pidof getconf locale \
    lsb_release lscpu zcat bzcat xzcat zstdcat";

/// Programs outside the table that only print a text if `--help` is the only argument.
const HELPFUL: &str = "find sed grep egrep fgrep rg jq tar tee ps git cargo npm python3 node make";

/// Programs that only print a line if asked for their version.
const VERSIONED: &str = "awk bash c++ cargo cat cc clang clang++ cmake cp diff docker find g++ \
    gawk gcc git go grep gzip head java javac jq ld ls lua make ninja node nodejs npm patch perl \
    php pip pip3 python python3 rg ruby rustc sed sort tail tar xz";

/// Checks the arguments of the program that `words` begin with.
pub(crate) fn check(words: &[Word]) -> Knowledge {
    let Some((program, args)) = words.split_first() else {
        return Knowledge::Unknown;
    };
    let name = program.text.as_str();
    if asks_for_text(name, args) {
        return Knowledge::Checked { identity: 1, outcome: Ok(ReadPaths::default()) };
    }
    let outcome = match name {
        "git" => return git::check(args),
        "tar" => archives::tar(args),
        "tee" => archives::tee(args),
        "ulimit" => facts::ulimit(args),
        "find" => find::check(args),
        "sed" => sed::check(args),
        "grep" | "egrep" | "fgrep" => search::grep(args),
        "rg" => search::rg(args),
        "jq" => search::jq(args),
        "test" => test::check(args),
        "[" => test::bracket(args),
        "[[" => test::double_bracket(args),
        "sleep" => facts::sleep(args),
        "ps" => facts::ps(args),
        "xxd" => facts::xxd(args),
        "printenv" => facts::printenv(args),
        "printf" => table::printf(args),
        "echo" | "true" | "false" | ":" => Ok(ReadPaths::default()),
        name => match table::check(name, args) {
            Some(outcome) => outcome,
            None => return Knowledge::Unknown,
        },
    };
    match outcome {
        Err(_) if listed(PARTLY, name) => Knowledge::Unknown,
        outcome => Knowledge::Checked { identity: 1, outcome },
    }
}

/// Returns true if the only argument asks for the version or the help text.
fn asks_for_text(name: &str, args: &[Word]) -> bool {
    let [option] = args else { return false };
    let asks_version = match option.text.as_str() {
        "--version" => true,
        "-V" => ["python", "python3", "cargo", "rustc"].contains(&name),
        "-v" => ["node", "nodejs", "npm", "perl", "php", "ruby", "lua"].contains(&name),
        "-version" => ["java", "javac"].contains(&name),
        "version" => name == "go",
        _ => false,
    };
    let asks_help =
        option.text == "--help" && (listed(HELPFUL, name) || table::check(name, &[]).is_some());
    !option.glob && (asks_help || (asks_version && listed(VERSIONED, name)))
}
