//! Texts that say the same again and again: they are judged with little work, and no more lightly.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contract::policy::{Decision, Mode};
use policy::Settings;
use policy::ground::{Ground, Look, Sought, Width};
use policy::rules::Scope;
use serde_json::json;

use crate::setting::{bare, rules, run};

/// A disk with nothing but an empty workspace, which counts how often it is asked.
struct Counted(Arc<AtomicUsize>);

impl Look for Counted {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        self.0.fetch_add(1, Ordering::Relaxed);
        (path == Path::new("/w")).then(|| path.to_owned())
    }

    fn names(&self, folder: &Path) -> Option<Vec<String>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        (folder == Path::new("/w")).then(Vec::new)
    }

    fn git_keeps(&self, _folder: &Path, _wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        self.0.fetch_add(1, Ordering::Relaxed);
        Sought::Nothing
    }

    fn is_own(&self, _program: &str) -> bool {
        true
    }

    fn seek(
        &self,
        _folder: &Path,
        _width: Width,
        _wanted: &mut dyn FnMut(&Path) -> bool,
    ) -> Sought {
        self.0.fetch_add(1, Ordering::Relaxed);
        Sought::Nothing
    }
}

/// Pieces whose repetition holds commands within commands, or many commands in many folders.
const PIECES: &[&str] = &[
    "git submodule foreach ",
    "git bisect run ",
    "find -exec ",
    "find -x ",
    "xargs ",
    "a | xargs ",
    "a | xargs b |",
    "env a=b ",
    "nice -n 5 ",
    "sh -c ",
    "cd a; b;",
    "cd ..;",
    "rg a ",
    "rg -g a ",
    "grep -r a ",
    "[alias]\n",
    "* ",
    "/a/b/",
    "~/a",
    "a/$b ",
    "\"$a/b\" ",
    "../",
    "ln -s a b; cd b; cat b/c; ",
];

/// The decision on a piece, repeated up to `size`, and how often the disk was asked.
fn judged(piece: &str, end: &str, size: usize, mode: Mode) -> (Decision, usize) {
    let text = piece.repeat(size / piece.len()) + end;
    decided(&["Bash(curl:*)", "Read(secret/**)"], &text, mode)
}

/// The decision on a text where this is denied, and how often the disk was asked.
fn decided(denied: &[&str], text: &str, mode: Mode) -> (Decision, usize) {
    let asked = Arc::new(AtomicUsize::new(0));
    let rules = rules(&json!({ "deny": denied }), Scope::User);
    let ground = Ground::new(Counted(Arc::clone(&asked)));
    let judge = policy::policy(Settings { rules, ground, ..bare() });
    let decision = run(&judge, text, mode).decision;
    (decision, asked.load(Ordering::Relaxed))
}

/// Pieces of which each repetition says something else, `#`, of what is not there.
const DISTINCT: &[&str] = &[
    "cat a# ",
    "cat src/a#; ",
    "cat a#/../b#; ",
    "cat *a#; ",
    "cat a#/*/b; ",
    "echo a > b#; ",
    "cd a#; cat b; ",
    "rm -rf a#; ",
    "foo --bar=a#; ",
    "rg -g '*.#' b; ",
    "git diff a#; ",
    "python3 -c 'open(\"a#\")'; ",
];

#[test]
fn a_denied_command_behind_any_repetition_is_denied() {
    for piece in PIECES {
        let (decision, _) = judged(piece, "\ncurl x", 10_000, Mode::Yolo);
        assert_eq!(decision, Decision::Deny, "{piece}");
    }
    for piece in ["git submodule foreach ", "git bisect run ", "find -exec ", "xargs ", "nice "] {
        let (decision, _) = judged(piece, "curl x", 10_000, Mode::Yolo);
        assert_eq!(decision, Decision::Deny, "{piece}");
    }
}

#[test]
fn commands_within_commands_beyond_number_are_asked_about_in_every_mode() {
    for piece in ["git submodule foreach ", "git bisect run ", "a | xargs "] {
        let (decision, _) = judged(piece, "b", 10_000, Mode::Yolo);
        assert_eq!(decision, Decision::Ask, "{piece}");
    }
}

#[test]
fn the_disk_is_asked_no_more_often_about_the_same_words() {
    for piece in PIECES {
        let (_, once) = judged(piece, "", 5000, Mode::Normal);
        let (_, twice) = judged(piece, "", 10_000, Mode::Normal);
        assert!(twice <= 600 && twice <= 2 * once + 64, "{piece}: {once}, {twice}");
    }
}

#[test]
fn the_disk_is_not_asked_about_each_of_many_names_that_are_not_there() {
    let rules = ["Read(.env)", "Read(**/*.pem)", "Read(secret/**)", "Write(tests/**)"];
    for piece in DISTINCT {
        // It is longer than what is proven to be harmless, operand by operand.
        let text: String = (0..1500).map(|at| piece.replace('#', &at.to_string())).collect();
        let (_, once) = decided(&rules[..1], &text, Mode::Normal);
        let (_, each) = decided(&rules, &text, Mode::Normal);
        assert!(once <= 200 && each <= 300, "{piece}: {once}, {each}");
    }
}
