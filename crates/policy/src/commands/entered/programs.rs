//! Programs that run where they are started, and take no names but those that they are given.

use crate::script::Word;

/// Programs whose words are files, patterns and texts, and which run nothing.
#[rustfmt::skip]
const PLAIN: &[&str] = &[
    "grep", "egrep", "fgrep", "rg", "cat", "head", "tail", "wc", "uniq", "cut", "tr", "nl", "ls", "echo", "printf", "true",
    "false", ":", "exit", "test", "[", "pwd", "date", "stat", "file", "du", "diff", "cmp", "find", "sort", "basename", "seq",
    "nproc", "whoami", "id", "uname", "hostname", "sleep", "tree", "tee", "which", "md5sum", "sha256sum", "rm", "rmdir", "mkdir",
    "touch", "cp", "mv", "chmod", "sed", "tar", "zip", "unzip", "gzip", "gunzip", "git",
];

/// Options by which they run something, take names from elsewhere, go elsewhere, or set a variable.
#[rustfmt::skip]
const REFUSED: &[(&str, &[&str])] = &[
    ("find", &["-files0-from", "-execdir", "-okdir"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("sort", &["--compress-program", "--files0-from"]),
    ("wc", &["--files0-from"]),
    ("du", &["--files0-from"]),
    ("tree", &["--fromfile", "--fromtabfile"]),
    ("printf", &["-v"]),
    ("test", &["-v"]),
    ("[", &["-v"]),
    ("cp", &["--symbolic-link"]),
    ("zip", &["--"]),
    ("git", &["-O", "--open-files-in-pager", "--pathspec-from-file", "--ext-diff", "--textconv", "--stdin", "--exec",
        "--upload-pack", "--receive-pack"]),
];

/// What git does in its folder, at once.
#[rustfmt::skip]
const GIT: &[&str] = &[
    "add", "blame", "branch", "checkout", "commit", "describe", "diff", "grep", "log", "ls-files", "mv", "reset",
    "restore", "rev-parse", "rm", "show", "stash", "status", "switch", "tag",
];

/// What it does with other repositories, by their plain names.
const EXCHANGING: &[&str] = &["fetch", "pull", "push"];

/// Options of `tar` that only say what to do with which archive, as letters.
const ARCHIVING: &str = "cxtzjJvfpa";

/// Programs that build and test, where they are given no path.
const BUILDING: &[&str] =
    &["cargo", "go", "make", "ninja", "pytest", "tsc", "vitest", "jest", "mypy", "ruff", "black"];

/// Programs that go to the folder of their project, where names mean something else, and what they do without any.
const PACKAGING: &[&str] = &["npm", "pnpm", "yarn"];
const PACKAGED: &[&str] = &["build", "ci", "install", "lint", "start", "test"];

/// Programs that run a file.
const RUNNING: &[&str] = &["python", "python3", "node"];

/// Those that read the files which they are given, and no folders.
#[rustfmt::skip]
const READING: &[&str] = &[
    "cat", "head", "tail", "wc", "nl", "sed", "echo", "printf", "basename", "touch", "sort", "test", "[", "[[",
];

/// Whether a program is known with these words, of which it is the first.
pub(super) fn is_known(words: &[Word]) -> bool {
    let Some((program, args)) = words.split_first() else { return false };
    let Some(name) = program.literal() else { return false };
    let refused =
        REFUSED.iter().find(|(it, _)| *it == name).map_or(&[][..], |(_, options)| options);
    let options = args.iter().filter_map(Word::literal).filter(|it| it.starts_with('-'));
    if options.clone().any(|it| refused.iter().any(|option| is_option(it, option))) {
        return false;
    }
    match name {
        "timeout" => {
            let is_span = |it: &str| it.trim_end_matches(['s', 'm', 'h']).parse::<u32>().is_ok();
            args.first().and_then(Word::literal).is_some_and(is_span) && is_ended(&args[1..])
        }
        "find" => runs_known(args),
        "git" => args.first().and_then(Word::literal).is_some_and(|it| {
            GIT.contains(&it) || (EXCHANGING.contains(&it) && args.iter().all(is_name))
        }),
        "zip" => !options.clone().any(|it| it.contains(['@', 'T'])),
        "tar" => args.iter().enumerate().all(|(at, it)| is_archived(at, it)),
        "cp" => !options.clone().any(|it| !it.starts_with("--") && it.contains('s')),
        // The text of a sum may run something.
        "test" | "[" => !args.iter().filter_map(Word::literal).any(|it| it.contains(['$', '`'])),
        name if PLAIN.contains(&name) => true,
        name if BUILDING.contains(&name) => args.iter().all(is_no_path),
        name if PACKAGING.contains(&name) => is_packaged(args),
        name if RUNNING.contains(&name) => args
            .first()
            .and_then(Word::literal)
            .is_some_and(|it| !it.is_empty() && !it.starts_with('-')),
        _ => false,
    }
}

/// Whether a program that is ended in time is known, and takes no names from what it reads.
fn is_ended(words: &[Word]) -> bool {
    is_known(words) && !words.first().and_then(Word::literal).is_some_and(runs_file)
}

/// Whether these words are a program that runs nothing else.
pub(super) fn runs_nothing(words: &[Word]) -> bool {
    let name = words.first().and_then(Word::literal).unwrap_or_default();
    name != "find" && PLAIN.contains(&name) && is_known(words)
}

/// Whether a program runs a file, which may take names from what it reads.
pub(super) fn runs_file(program: &str) -> bool {
    RUNNING.contains(&program)
}

/// Whether a program reads files only, so that a folder is nothing to it.
pub(super) fn reads_files(program: &str) -> bool {
    READING.contains(&program)
}

/// Whether a word is an option, or the beginning of one that is long.
fn is_option(word: &str, option: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    let is_begun = option.starts_with("--") && name.len() > 3 && option.starts_with(name);
    is_begun || word.starts_with(option)
}

/// Whether what `find` runs runs nothing itself.
fn runs_known(args: &[Word]) -> bool {
    let is_run = |it: &Word| it.literal().is_some_and(|it| matches!(it, "-exec" | "-ok"));
    // What is not known as it is written may be such an option.
    let is_written = |it: &Word| it.literal().is_some() || it.is_one();
    args.iter().all(is_written)
        && args
            .iter()
            .enumerate()
            .filter(|(_, it)| is_run(it))
            .all(|(at, _)| runs_nothing(&args[at + 1..]))
}

/// Whether a word of `tar` is a cluster of plain letters or a path.
fn is_archived(at: usize, word: &Word) -> bool {
    let Some(text) = word.literal() else { return true };
    let letters = text.strip_prefix('-').or((at == 0).then_some(text));
    let is_plain = letters.is_none_or(|it| it.chars().all(|it| ARCHIVING.contains(it)));
    is_plain || text.starts_with("--exclude=")
}

/// Whether a script of a package is run, and is given nothing.
fn is_packaged(args: &[Word]) -> bool {
    let words: Option<Vec<&str>> = args.iter().map(Word::literal).collect();
    match words.as_deref() {
        Some([name]) => PACKAGED.contains(name),
        Some(["run", _]) => args.iter().all(is_no_path),
        _ => false,
    }
}

/// Whether a word could be the name of a branch: no address, which may name a program.
fn is_name(word: &Word) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-/.".contains(c);
    word.literal().is_some_and(|it| it.chars().all(is_plain))
}

fn is_no_path(word: &Word) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-=:,+@".contains(c);
    // Behind a dash alone stands what is read.
    let is_name = |it: &str| it.chars().all(is_plain) && !it.ends_with('-');
    word.literal().is_some_and(|it| is_name(it) || it == "./...")
}
