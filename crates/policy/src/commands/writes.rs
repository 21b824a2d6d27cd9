//! Which of a program's arguments it writes, as far as that can be told from its name.

mod told;

use std::borrow::Cow;

use crate::programs;
use crate::shell::{Piece, Word, base_name};
pub(crate) use told::{Others, Told, only_checks, outputs, told};

/// Programs that write, move or remove every operand.
const EVERY: &[&str] = &[
    "rm", "rmdir", "unlink", "mv", "touch", "mkdir", "tee", "truncate", "shred", "chmod", "chown",
    "chgrp", "sponge", "patch", "ed", "ex", "vi", "vim", "nvim", "nano", "emacs", "mkfifo",
    "mknod", "setfacl", "chattr",
];
/// Programs that write their last operand.
const LAST: &[&str] = &["cp", "install", "ln", "rsync", "scp", "link"];
/// Options whose value is written, whatever program takes them.
const OUTPUTS: &[&str] = &["-o", "-O", "-t", "--output", "--output-document"];
const ATTACHED: &[&str] = &["of=", "--output=", "--target-directory=", "--directory="];

/// Whether it is known of a program which operands it writes.
pub(crate) fn is_known(name: &str) -> bool {
    EVERY.contains(&name) || LAST.contains(&name)
}

/// The words of a command that name what it writes.
pub(crate) fn written(words: &[Piece]) -> Vec<Cow<'_, Piece>> {
    let mut targets = written_by_program(words);
    for (at, word) in words.iter().enumerate().skip(1) {
        if !word.text.starts_with(['-', 'o']) {
            continue;
        }
        let value = ATTACHED.iter().find_map(|option| word.text.strip_prefix(option));
        if let Some(value) = value {
            targets.push(Cow::Owned(Piece { text: value.to_owned(), ..word.clone() }));
        } else if OUTPUTS.contains(&word.text.as_str()) {
            targets.extend(words.get(at + 1).map(Cow::Borrowed));
        }
    }
    targets
}

/// The same without what options name, which belongs to the words and not to the program.
pub(crate) fn written_by_program(words: &[Piece]) -> Vec<Cow<'_, Piece>> {
    let Some((program, args)) = words.split_first() else {
        return Vec::new();
    };
    let name = base_name(&program.text);
    let operands = || args.iter().filter(|word| !word.text.starts_with('-'));
    let in_place =
        |word: &Piece| word.text.starts_with("-i") || word.text.starts_with("--in-place");
    let mut targets: Vec<Cow<'_, Piece>> = Vec::new();
    if EVERY.contains(&name) {
        // Destroying the repository as a whole is the floor's question.
        let whole =
            |word: &&Piece| word.text.trim_end_matches('/').rsplit('/').next() == Some(".git");
        targets.extend(operands().filter(|word| !whole(word)).map(Cow::Borrowed));
    } else if LAST.contains(&name) {
        targets.extend(operands().next_back().map(Cow::Borrowed));
    } else if matches!(name, "sed" | "gsed" | "perl") && args.iter().any(in_place) {
        targets.extend(operands().map(Cow::Borrowed));
    }
    targets
}

/// Subcommands of git that leave the files they name as they are.
const KEEPING: &[&str] = &["add", "commit", "stage", "tag", "branch", "push", "fetch", "notes"];

/// Whether a command is known to leave the files that it names as they are.
pub(crate) fn only_reads(words: &[Piece]) -> bool {
    let Some((program, args)) = words.split_first() else {
        return true;
    };
    let name = base_name(&program.text);
    if !programs::is_known(name) && name != "git" {
        return false;
    }
    // The most usual of them, in long texts very many.
    let is_operand = |word: &Piece| !word.text.starts_with('-');
    if matches!(name, "cat" | "ls" | "wc") && args.iter().all(is_operand) {
        return true;
    }
    let keeps = |word: &Piece| KEEPING.contains(&word.text.as_str());
    if name == "git" && args.iter().find(|word| !word.text.starts_with('-')).is_some_and(keeps) {
        return true;
    }
    let word = |text: &str, glob| Word { text: text.to_owned(), range: 0..0, glob, quoted: false };
    let args = args.iter().map(|piece| word(&piece.text, piece.glob));
    let words: Vec<Word> = std::iter::once(word(name, false)).chain(args).collect();
    programs::only_looks(&words)
}
