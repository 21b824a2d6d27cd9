//! The `ignore` crate itself says what a walk has to show.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ignore::overrides::OverrideBuilder;
use ignore::types::TypesBuilder;
use ignore::{DirEntry, Error, WalkBuilder};
use tempfile::TempDir;

use super::*;

/// Texts that hold one another's names up: each kind of ignore file, at several heights, with
/// exceptions, and names that are hidden.
const TREE: [(&str, &str); 34] = [
    ("above/.gitignore", "from-above\n/root/anchored\n*.tmp\n"),
    ("above/.ignore", "!keep.tmp\nruled-above\n"),
    ("above/root/.gitignore", "target/\n*.log\n!kept.log\n/anchored-here\n!.shown\n"),
    ("above/root/.ignore", "quiet\n!loud.log\n"),
    ("above/root/.rgignore", "!quiet\nrg-only\n"),
    ("above/root/a.rs", ""),
    ("above/root/.a.rs", ""),
    ("above/root/x.log", ""),
    ("above/root/kept.log", ""),
    ("above/root/loud.log", ""),
    ("above/root/keep.tmp", ""),
    ("above/root/other.tmp", ""),
    ("above/root/quiet", ""),
    ("above/root/rg-only", ""),
    ("above/root/excluded", ""),
    ("above/root/from-above", ""),
    ("above/root/ruled-above/f", ""),
    ("above/root/anchored", ""),
    ("above/root/anchored-here", ""),
    ("above/root/.shown", ""),
    ("above/root/.hidden/f.rs", ""),
    ("above/root/target/deep/f.rs", ""),
    ("above/root/sub/target", "a file, not a directory"),
    ("above/root/sub/.gitignore", "\u{feff}inner\n!x.log\n[\n"),
    ("above/root/sub/inner", ""),
    ("above/root/sub/x.log", ""),
    ("above/root/sub/anchored-here", ""),
    ("above/root/nested/.git/info/exclude", "nested-excluded\n"),
    ("above/root/nested/.gitignore", "!y.log\r\nwith-return\r\n"),
    ("above/root/nested/nested-excluded", ""),
    ("above/root/nested/y.log", ""),
    ("above/root/nested/z.log", ""),
    ("above/root/nested/with-return", ""),
    ("above/root/odd/f.rs", ""),
];

fn tree() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in TREE {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    // Lines after the first invalid one are ignored.
    fs::write(directory.path().join("above/root/odd/.ignore"), b"first\n\xff\nf.rs\n").unwrap();
    directory
}

/// A second one, whose `.git` leads to the directories of a worktree.
fn with_repository(directory: &Path) {
    let (own, shared) = (directory.join("git/worktrees/one"), directory.join("git/info"));
    fs::create_dir_all(&own).unwrap();
    fs::create_dir_all(&shared).unwrap();
    fs::write(own.join("commondir"), "../..\n").unwrap();
    fs::write(shared.join("exclude"), "excluded\n").unwrap();
    let link = format!("gitdir: {}\n", own.display());
    fs::write(directory.join("above/root/.git"), link).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "the crate's own reading is what is compared with")]
fn own(start: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(start);
    walk.git_global(false);
    walk
}

fn shown(start: &Path, walk: &WalkBuilder) -> BTreeSet<PathBuf> {
    let below = |entry: Result<DirEntry, Error>| {
        entry.unwrap().path().strip_prefix(start).unwrap().to_owned()
    };
    walk.build().map(below).collect()
}

fn with(sources: Sources, start: &Path) -> Filter {
    Filter::new(Some(IgnoreFiles::new(start, sources)), false)
}

#[track_caller]
fn same(start: &Path, expected: &WalkBuilder, filter: Filter) {
    let ours = shown(start, &filtered(start, move |entry| filter.shows(entry)));
    assert_eq!(ours, shown(start, expected));
    assert!(ours.len() > 5, "{ours:?}");
}

#[test]
fn walk_agrees_with_the_ignore_crate() {
    let directory = tree();
    for is_repository in [false, true] {
        if is_repository {
            with_repository(directory.path());
        }
        for start in ["above/root", "above", "above/root/nested/..", "above/link"] {
            let start = directory.path().join(start);
            if start.ends_with("link") && !start.exists() {
                std::os::unix::fs::symlink("root", &start).unwrap();
            }
            let usual = vec![".ignore", ".gitignore"];
            let all = vec![".rgignore", ".ignore", ".gitignore"];
            let sources = Sources { names: usual.clone(), above: true, ..Sources::default() };
            same(&start, own(&start).require_git(false), with(sources, &start));
            let sources = Sources { names: vec![".gitignore"], above: true, ..Sources::default() };
            let mut expected = own(&start);
            same(&start, expected.ignore(false).require_git(false), with(sources, &start));
            for above in [false, true] {
                let names = all.clone();
                let sources = Sources { names, repositories_only: true, above, global: None };
                let mut expected = own(&start);
                expected.add_custom_ignore_filename(".rgignore").parents(above);
                same(&start, &expected, with(sources, &start));
            }
        }
    }
}

#[test]
fn walk_shows_requested_files_despite_ignore_rules() {
    let directory = tree();
    let start = directory.path().join("above/root");
    for glob in ["*.log", "!sub", ".*", "**/f.rs"] {
        let overrides = OverrideBuilder::new(&start).add(glob).unwrap().build().unwrap();
        let filter =
            Filter { overrides: overrides.clone(), ..Filter::new(Some(ignored(&start)), false) };
        let ours = shown(&start, &filtered(&start, move |entry| filter.shows(entry)));
        let expected = shown(&start, own(&start).require_git(false).overrides(overrides));
        assert_eq!(ours, expected, "{glob}");
    }
    let types = TypesBuilder::new().add_defaults().select("rust").build().unwrap();
    let filter = Filter { types: types.clone(), ..Filter::new(Some(ignored(&start)), false) };
    same(&start, own(&start).require_git(false).types(types), filter);
}

#[test]
fn own_ignore_list_has_the_lowest_priority() {
    let directory = tree();
    let list = directory.path().join("list");
    fs::write(&list, "a.rs\nkept.log\n").unwrap();
    let start = directory.path().join("above/root");
    let seen = || {
        let names = vec![".ignore", ".gitignore"];
        let global = Some(list.clone());
        let filter = with(Sources { names, global, repositories_only: true, above: true }, &start);
        shown(&start, &filtered(&start, move |entry| filter.shows(entry)))
    };
    assert!(seen().contains(Path::new("a.rs")));
    with_repository(directory.path());
    assert!(!seen().contains(Path::new("a.rs")));
    assert!(seen().contains(Path::new("kept.log")));
}
