//! What options of searches leave out. It counts only where no word could be something else than that option: a
//! pattern, a place, or the value of another option.

use super::super::Read;
use super::super::writes::only_reads;
use crate::shell::{Fit, Found, LISTERS, Piece, base_name, untaken};

/// Behind so many words no option leaves out anything.
const LONG: usize = 256;
/// Letters of `grep` that take no value.
pub(super) const GREP: &str = "rRnHilLwcvoEFPGhsIqaUzxZ";
/// Letters of `rg` that take none.
const RG: &str = "nHilwcvoFPsIaUuNS.0Lqxz";

/// Long options of both that take no value.
#[rustfmt::skip]
const LONG_BARE: &[&str] = &[
    "--recursive", "--line-number", "--ignore-case", "--word-regexp", "--fixed-strings", "--count",
    "--files-with-matches", "--hidden", "--no-heading", "--smart-case", "--multiline", "--text", "--no-ignore",
    "--files", "--null", "--quiet",
];

/// Whether a word is a long option, or the beginning of its name, which some programs take for all of it.
pub(super) fn is_begun(word: &Piece, option: &str) -> bool {
    let name = word.text.split('=').next().unwrap_or_default();
    name.len() > SHORTEST && option.starts_with(name)
}

/// A shorter beginning is that of several options.
const SHORTEST: usize = 3;

/// Whether an option has `grep` go down into folders.
pub(super) fn is_deep(word: &Piece) -> bool {
    let deep = ["--recursive", "--dereference-recursive", "--directories"];
    deep.iter().any(|option| is_begun(word, option))
}

/// Whether all words that begin like one of these options are one for certain.
pub(super) fn are_options(args: &[Piece], names: &[&str]) -> bool {
    let bare = if names.contains(&"-g") { RG } else { GREP };
    let begins = |word: &Piece| names.iter().any(|name| word.text.starts_with(name));
    args.iter().enumerate().all(|(at, word)| !begins(word) || is_option(args, at, bare))
}

/// Whether the word at `at` is an option for certain.
pub(super) fn is_option(args: &[Piece], at: usize, bare: &str) -> bool {
    let before = &args[..at];
    let takes_next = |word: &Piece| {
        let text = word.text.as_str();
        let letters = text.strip_prefix('-').filter(|rest| !rest.is_empty());
        let is_bare = |letters: &str| letters.chars().all(|letter| bare.contains(letter));
        // A number at its end is the value itself: `-C2`.
        let has_value =
            text.contains('=') || text.ends_with(|letter: char| letter.is_ascii_digit());
        let takes_none = has_value || LONG_BARE.contains(&text);
        letters.is_some_and(|letters| !takes_none && !is_bare(letters))
    };
    at < LONG
        && !args[at].dynamic
        && !before.iter().any(|word| word.text == "--" || word.dynamic)
        && !before.last().is_some_and(takes_next)
}

/// Whether an argument of a command says what that does not read.
pub(in crate::commands) fn is_left_out(found: &Found, at: usize) -> bool {
    let Some((program, args)) = found.argv().split_first() else { return false };
    let name = base_name(&program.text);
    // What a program is given by another one stands behind it, with the words of that.
    if found.fit == Fit::Handed {
        let lister = args.iter().position(|it| LISTERS.contains(&base_name(&it.text)));
        let lister = lister.filter(|it| *it < at && base_name(&args[*it].text) == "find");
        return lister.is_some_and(|it| untaken(&args[it + 1..]).contains(&(at - it - 1)));
    }
    if matches!(name, "find" | "gfind") {
        return found.fit == Fit::Exact && untaken(args).contains(&at);
    }
    let before = at.checked_sub(1).map_or("", |before| args[before].text.as_str());
    let is_named = |option: &&str| args[at].text.starts_with(*option);
    let is_attached = ["--exclude-dir=", "--exclude="].iter().any(is_named);
    let is_apart = matches!(before, "--exclude" | "--exclude-dir");
    let option = if is_attached { at } else { at.saturating_sub(1) };
    match name {
        // It takes all words up to the next option.
        "zip" => {
            let list = args[..=at].iter().rposition(|it| it.text.starts_with('-'));
            let is_list = |it: usize| it < at && args[it].text == "-x";
            found.fit == Fit::Exact && !args[at].dynamic && list.is_some_and(is_list)
        }
        _ if !is_attached && !is_apart => false,
        "grep" | "egrep" | "fgrep" | "rg" => is_option(args, option, GREP),
        // What is joined to it in this way is no file of any other option.
        "tar" | "gtar" | "bsdtar" | "rsync" | "zgrep" | "du" => {
            let is_sure = is_attached || is_packing_option(args, option, PACKING);
            found.fit == Fit::Exact && !args[at].dynamic && is_sure
        }
        _ => false,
    }
}

/// The same of `tar`, whose first word may be letters alone; the words behind it are the values of these.
pub(super) fn is_packing_option(args: &[Piece], at: usize, bare: &str) -> bool {
    let first = args.first().map_or("", |word| word.text.as_str());
    let is_taken = !first.starts_with('-') && at > 0 && at <= first.matches('f').count();
    is_option(args, at, bare) && !is_taken
}

/// Letters of `tar` and `rsync` that take no value.
const PACKING: &str = "avzrtpgoDnPhiucjJx";

/// The folders that `grep` does not enter.
pub(super) fn folders(args: &[Piece]) -> Vec<&str> {
    let named = args.iter().enumerate().filter_map(|(at, word)| {
        let name = word.text.strip_prefix("--exclude-dir=")?;
        is_option(args, at, GREP).then_some(name)
    });
    let apart = args.iter().zip(args.iter().skip(1)).enumerate();
    let apart =
        apart.filter(|(at, (word, _))| word.text == "--exclude-dir" && is_option(args, *at, GREP));
    named.chain(apart.map(|(_, (_, name))| name.text.as_str())).collect()
}

/// What tells `rg` and `fd` which files they leave out: ignore files, and the variable that names a file of options.
const TELLING: &[&str] =
    &[".gitignore", ".ignore", ".rgignore", ".fdignore", "info/exclude", "RIPGREP_CONFIG_PATH"];

/// Whether a text itself changes what these leave out: nobody has seen yet what that will be.
pub(super) fn is_changed_by(read: &Read<'_>) -> bool {
    let tells = |word: &Piece| TELLING.iter().any(|name| word.text.contains(name));
    let mut written = read.survey.redirections.iter().filter(|it| it.target.writes);
    let mut commands = read.survey.commands.iter();
    written.any(|it| tells(&it.target.word))
        || commands.any(|found| {
            let changes = || !only_reads(found.argv());
            found.before().iter().any(tells) || (found.argv().iter().any(tells) && changes())
        })
}

/// Whether an option of `rg` says that some ignore file does not count, or counts in another way.
pub(super) fn disregards(option: &str) -> bool {
    let options = ["--no-ig", "--unres", "--ignore-file-"];
    options.iter().any(|known| option.starts_with(known))
}

/// Endings of names of the types that `rg` is told most often.
const TYPES: &[(&str, &[&str])] = &[
    ("ts", &["ts", "tsx", "mts", "cts"]),
    ("js", &["js", "jsx", "mjs", "cjs", "vue"]),
    ("py", &["py", "pyi"]),
    ("rust", &["rs"]),
    ("go", &["go"]),
];

/// Endings of the names to which types narrow what `rg` searches; none where they do not, or may mean others.
pub(super) fn types(args: &[Piece]) -> Vec<&'static str> {
    // Behind other letters it may be one more of them.
    let is_behind = |text: &str| {
        !text.starts_with("--") && text.get(2..).is_some_and(|rest| rest.contains('t'))
    };
    let changes = |word: &Piece| {
        let text = word.text.as_str();
        text.starts_with("--type-")
            || (!text.starts_with("-t") && text.starts_with('-') && is_behind(text))
    };
    let told = super::values(args, &["-t", "--type"]);
    let known = |name: &&str| TYPES.iter().find(|(known, _)| known == name);
    let is_sure = are_options(args, &["-g", "-t", "--type"]) && !args.iter().any(changes);
    if !is_sure || !told.iter().all(|name| known(name).is_some()) {
        return Vec::new();
    }
    told.iter().filter_map(known).flat_map(|(_, ends)| *ends).copied().collect()
}

/// Names that `rg` leaves out, wherever they are.
pub(super) fn globs(args: &[Piece]) -> Vec<&str> {
    let is_glob = |word: &Piece| matches!(word.text.as_str(), "-g" | "--glob");
    let pairs = args.iter().zip(args.iter().skip(1)).enumerate();
    let globs = pairs.filter(|(at, (word, _))| is_glob(word) && is_option(args, *at, RG));
    let names = globs.filter_map(|(_, (_, glob))| glob.text.strip_prefix('!'));
    let is_plain =
        |name: &&str| !name.is_empty() && !name.contains(['/', '*', '?', '[', '{', '\\', '!']);
    names.filter(is_plain).collect()
}
