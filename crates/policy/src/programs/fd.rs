//! How `fd` reads its words. Decides nothing itself.

/// Letters that take a value, attached or in the word after.
const VALUED: &[char] = &['C', 'E', 'S', 'c', 'd', 'e', 'j', 'o', 't'];

/// Letters that take what is to be run.
const RUNNING: &[char] = &['x', 'X'];

/// Long options that take a value.
#[rustfmt::skip]
const VALUED_LONG: &[&str] = &[
    "--and", "--base-directory", "--batch-size", "--change-newer-than", "--change-older-than",
    "--changed-after", "--changed-before", "--changed-within", "--color", "--exact-depth", "--exclude",
    "--extension", "--format", "--ignore-file", "--max-depth", "--max-results", "--min-depth", "--newer",
    "--older", "--owner", "--path-separator", "--search-path", "--size", "--threads", "--type",
];

/// Long options that take none.
#[rustfmt::skip]
const BARE_LONG: &[&str] = &[
    "--absolute-path", "--case-sensitive", "--fixed-strings", "--follow", "--full-path", "--glob",
    "--hidden", "--ignore-case", "--list-details", "--literal", "--no-follow", "--no-hidden",
    "--no-ignore", "--no-ignore-parent", "--no-ignore-vcs", "--one-file-system", "--print0", "--prune",
    "--quiet", "--regex", "--relative-path", "--show-errors", "--strip-cwd-prefix", "--unrestricted",
];

/// What a word is to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said<'a> {
    /// An expression for names, or a place.
    Operand,
    /// An option that is complete.
    Option,
    /// One whose value is the next word.
    Valued,
    /// It runs the words that follow, the first of which may be attached.
    Runs(&'a str),
    /// An option that nobody knows.
    Unknown,
}

/// Reads a word before `--`.
pub(crate) fn said(word: &str) -> Said<'_> {
    let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
        return Said::Operand;
    };
    if letters.starts_with('-') {
        let (name, value) = word.split_once('=').map_or((word, None), |it| (it.0, Some(it.1)));
        return match value {
            _ if matches!(name, "--exec" | "--exec-batch") => Said::Runs(value.unwrap_or_default()),
            None if VALUED_LONG.contains(&name) => Said::Valued,
            None if !BARE_LONG.contains(&name) => Said::Unknown,
            Some(_) | None => Said::Option,
        };
    }
    let is_last = |letter: char| VALUED.contains(&letter) || RUNNING.contains(&letter);
    let Some(at) = letters.find(is_last) else { return Said::Option };
    let attached = &letters[at + 1..];
    if letters[at..].starts_with(RUNNING) {
        return Said::Runs(attached.strip_prefix('=').unwrap_or(attached));
    }
    if attached.is_empty() { Said::Valued } else { Said::Option }
}

#[cfg(test)]
mod tests {
    use super::{Said, said};

    #[test]
    fn what_it_runs_is_known_however_it_is_joined() {
        for word in ["-xcat", "-Hxcat", "-x=cat", "--exec=cat", "-Xcat", "--exec-batch=cat"] {
            assert_eq!(said(word), Said::Runs("cat"), "{word}");
        }
        for word in ["-x", "-HX", "-aHx", "--exec", "--exec-batch"] {
            assert_eq!(said(word), Said::Runs(""), "{word}");
        }
        for word in ["-tx", "-tf", "-H", "-etsx", "--type=x", "--hidden"] {
            assert_eq!(said(word), Said::Option, "{word}");
        }
        assert_eq!(said("-He"), Said::Valued);
        assert_eq!(said("--extra"), Said::Unknown);
    }
}
