//! What git does that cannot be undone.

use crate::paths::Places;
use crate::shell::{Found, Piece, resolve};

/// Branches that others build on.
const PROTECTED: &[&str] = &[
    "main",
    "master",
    "trunk",
    "develop",
    "development",
    "dev",
    "production",
    "prod",
    "release",
    "staging",
    "stable",
];

/// Git takes the beginning of an option for all of it; the dashes alone are none.
const SHORTEST: usize = "--h".len();

/// Why a git command loses work, where it does.
pub(crate) fn judge(args: &[Piece], command: &Found, places: &Places) -> Option<String> {
    let (subcommand, rest) = subcommand(args)?;
    let has = |long: &str| {
        rest.iter().any(|word| {
            let given = word.text.split('=').next().unwrap_or_default();
            given.len() >= SHORTEST && long.starts_with(given)
        })
    };
    let letter = |letter: char| {
        rest.iter().any(|word| {
            word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(letter)
        })
    };
    let forced = || letter('f') || has("--force");
    let first_is = |name: &str| rest.iter().any(|word| word.text == name);
    let is_all = || {
        has("--pathspec-from-file") || rest.iter().any(|word| is_everything(word, command, places))
    };
    let loses = match subcommand {
        "reset" => has("--hard") || has("--merge"),
        "checkout-index" => forced(),
        "read-tree" => has("--reset"),
        "clean" if !is_rehearsed(rest) => {
            let unforced = args.iter().any(|word| {
                word.dynamic || word.text.to_ascii_lowercase().contains("clean.requireforce")
            });
            return (forced() || unforced)
                .then(|| String::from("it deletes files that are in no commit"));
        }
        "restore" => !staged(rest) && is_all(),
        "checkout" => forced() || is_all(),
        "switch" => forced() || has("--discard-changes"),
        "worktree" => first_is("remove") && forced(),
        "submodule" => {
            let is_every = || has("--all") || is_all();
            (first_is("deinit") && forced() && is_every()) || (first_is("update") && forced())
        }
        "rm" if letter('r') && forced() && is_all() => {
            return Some(String::from("it deletes every file, also with uncommitted work"));
        }
        "stash" if first_is("clear") || first_is("drop") => {
            return Some(String::from("it throws away what was put aside"));
        }
        "push" | "send-pack" => return push(rest),
        _ => false,
    };
    loses.then(|| String::from("it throws away uncommitted work"))
}

/// Whether `git clean` is told for certain to only say what it would delete.
fn is_rehearsed(rest: &[Piece]) -> bool {
    let mut is_rehearsed = false;
    let mut words = rest.iter().take_while(|word| word.text != "--");
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if let Some(long) = text.strip_prefix("--") {
            is_rehearsed |= long.len() > 1 && "dry-run".starts_with(long);
            if long.len() > 1 && "exclude".starts_with(long) {
                words.next();
            }
            if long.starts_with("no-d") {
                return false;
            }
        } else if let Some(letters) = text.strip_prefix('-') {
            // What stands behind this letter is its value.
            let (own, value) = letters.split_once('e').unwrap_or((letters, "none"));
            is_rehearsed |= own.contains('n');
            if value.is_empty() {
                words.next();
            }
        }
    }
    is_rehearsed
}

/// Whether a path is all that is in the folder or the repository.
fn is_everything(word: &Piece, command: &Found, places: &Places) -> bool {
    if word.text.is_empty() || (word.dynamic && !word.text.starts_with(':')) {
        return false;
    }
    let text = word.text.as_str();
    // What is left out by a name is nearly nothing.
    if text.starts_with(":!") || text.starts_with(":^") || text.starts_with(":(exclude") {
        return true;
    }
    let magic = text.strip_prefix(":(").and_then(|rest| rest.split_once(')'));
    let (path, is_top) = match (magic, text.strip_prefix(":/")) {
        (Some((words, path)), _) => (path, words.split(',').any(|word| word == "top")),
        (None, Some(path)) => (path, true),
        (None, None) => (text, false),
    };
    if path.chars().all(|c| "*./".contains(c)) && !path.starts_with('/') {
        return true;
    }
    let path = Piece { text: path.to_owned(), ..word.clone() };
    let top = std::slice::from_ref(&places.workspace);
    let folders = if is_top { top } else { &*command.folders };
    folders.iter().any(|folder| {
        let path = resolve(&path, folder, places.home.as_deref());
        path.is_some_and(|path| folder.starts_with(path))
    })
}

/// Whether only the index is restored, which loses no file.
fn staged(rest: &[Piece]) -> bool {
    let has = |names: &[&str]| rest.iter().any(|word| names.contains(&word.text.as_str()));
    has(&["--staged", "-S"]) && !has(&["--worktree", "-W"])
}

fn push(rest: &[Piece]) -> Option<String> {
    let words = || rest.iter().map(|word| word.text.as_str());
    let begins = |option: &str| words().any(|word| word.starts_with(option));
    let letter = |letter: char| {
        words()
            .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
    };
    if begins("--mi") || begins("--prun") {
        return Some(String::from("it overwrites every branch of the remote"));
    }
    let forced = letter('f') || begins("--forc");
    let deletes = letter('d') || begins("--de");
    let mut operands = rest.iter().filter(|word| !word.text.starts_with('-')).skip(1);
    let refspecs: Vec<&Piece> = operands.by_ref().collect();
    if forced && refspecs.is_empty() {
        return Some(String::from("it overwrites a remote branch that is not named"));
    }
    refspecs.into_iter().find_map(|refspec| {
        let text = refspec.text.as_str();
        let overwrites = forced || deletes || text.starts_with(['+', ':']);
        let target = text.rsplit(':').next().unwrap_or(text).trim_start_matches('+');
        let branch = target.strip_prefix("refs/heads/").unwrap_or(target);
        let first = branch.split('/').next().unwrap_or(branch);
        let protected = PROTECTED.contains(&first)
            || refspec.dynamic
            || branch == "HEAD"
            || branch.contains('*');
        (overwrites && protected)
            .then(|| format!("it overwrites or deletes `{branch}`, a branch that others build on"))
    })
}

/// The subcommand of git and what follows it, past git's own options.
fn subcommand(args: &[Piece]) -> Option<(&str, &[Piece])> {
    const WITH_VALUE: &[&str] = &[
        "-C",
        "-c",
        "--git-dir",
        "--work-tree",
        "--namespace",
        "--super-prefix",
        "--config-env",
        "--exec-path",
        "--attr-source",
    ];
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let text = word.text.as_str();
        if WITH_VALUE.contains(&text) {
            at += 2;
        } else if text.starts_with('-') {
            at += 1;
        } else {
            return Some((text, &args[at + 1..]));
        }
    }
    None
}
