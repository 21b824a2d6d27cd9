//! What git does that cannot be undone.

use crate::shell::Piece;

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

/// Why a git command loses work, where it does.
pub(crate) fn judge(args: &[Piece]) -> Option<String> {
    let (subcommand, rest) = subcommand(args)?;
    let has = |long: &str| {
        rest.iter().any(|word| {
            let given = word.text.split('=').next().unwrap_or_default();
            given.len() >= 5 && long.starts_with(given)
        })
    };
    let letter = |letter: char| {
        rest.iter().any(|word| {
            word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(letter)
        })
    };
    match subcommand {
        "reset" if has("--hard") => Some(String::from("it throws away uncommitted work")),
        "checkout-index" if letter('f') || has("--force") => {
            Some(String::from("it throws away uncommitted work"))
        }
        "read-tree" if has("--reset") => Some(String::from("it throws away uncommitted work")),
        "clean" if !letter('n') && !has("--dry-run") => {
            let unforced = args.iter().any(|word| {
                word.dynamic || word.text.to_ascii_lowercase().contains("clean.requireforce")
            });
            (letter('f') || has("--force") || unforced)
                .then(|| String::from("it deletes files that are in no commit"))
        }
        "checkout" | "restore" if !staged(rest) && rest.iter().any(is_everything) => {
            Some(String::from("it throws away uncommitted work"))
        }
        "rm" if letter('r')
            && (letter('f') || has("--force"))
            && rest.iter().any(is_everything) =>
        {
            Some(String::from("it deletes every file, also with uncommitted work"))
        }
        "stash" if rest.iter().any(|word| matches!(word.text.as_str(), "clear" | "drop")) => {
            Some(String::from("it throws away what was put aside"))
        }
        "checkout" | "switch" if letter('f') || has("--force") || has("--discard-changes") => {
            Some(String::from("it throws away uncommitted work"))
        }
        "push" => push(
            rest,
            letter('f') || rest.iter().any(|w| w.text.starts_with("--forc")),
            letter('d'),
        ),
        _ => None,
    }
}

/// Whether a path is all that is in the folder or the repository.
fn is_everything(word: &Piece) -> bool {
    matches!(word.text.as_str(), "." | "./" | ":/" | "*" | ":(top)")
}

/// Whether only the index is restored, which loses no file.
fn staged(rest: &[Piece]) -> bool {
    let has = |names: &[&str]| rest.iter().any(|word| names.contains(&word.text.as_str()));
    has(&["--staged", "-S"]) && !has(&["--worktree", "-W"])
}

fn push(rest: &[Piece], forced: bool, deletes: bool) -> Option<String> {
    let words = || rest.iter().map(|word| word.text.as_str());
    if words().any(|word| word == "--mirror" || word == "--prune") {
        return Some(String::from("it overwrites every branch of the remote"));
    }
    let deletes = deletes || words().any(|word| word == "--delete");
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
        let protected =
            PROTECTED.contains(&first) || refspec.dynamic || branch == "HEAD" || refspec.glob;
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
