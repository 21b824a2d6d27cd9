//! The shape of the workspace: the star of crates, the length of files.

use std::fs;
use std::path::{Path, PathBuf};

const LONGEST_FILE: usize = 600;
const CONTRACT_BUDGET: usize = 2600;

/// The largest number of production lines in some directories of `crates/`.
const BUDGETS: &[(&str, usize)] = &[
    ("config/src", 3_500),
    ("mcp/src", 9_500),
    ("policy/src", 6_000),
    ("python-host/src", 5_500),
    ("sandbox/src", 8_000),
    ("sessions/src", 7_100),
    ("tui/src", 15_000),
    ("brynhild/src/trust", 1_500),
];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

fn crates() -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(workspace().join("crates")).expect("crates/");
    let mut crates: Vec<_> = entries
        .map(|entry| entry.expect("an entry"))
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .collect();
    crates.sort();
    crates
}

/// The names in a section of a manifest, without what follows them.
fn names_in<'a>(manifest: &'a str, section: &str) -> Vec<&'a str> {
    let mut names = Vec::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == section;
        } else if inside && !line.is_empty() && !line.starts_with('#') {
            let end = line.find(['.', ' ', '=']).unwrap_or(line.len());
            names.push(&line[..end]);
        }
    }
    names
}

fn files_below(directory: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("target") {
            files_below(&path, extension, found);
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
}

#[test]
fn only_the_binary_depends_on_more_than_contract_and_files() {
    let crates = crates();
    let members: Vec<&str> = crates.iter().map(|(name, _)| name.as_str()).collect();
    for (name, path) in &crates {
        let manifest = fs::read_to_string(path.join("Cargo.toml")).expect("a manifest");
        let inner = |section| {
            names_in(&manifest, section).into_iter().filter(|name| members.contains(name))
        };
        if name != "brynhild" {
            // The leaves depend on no other crate of the workspace.
            let leaves: &[&str] = if name == "files" { &[] } else { &["contract", "files"] };
            let wrong: Vec<_> =
                inner("[dependencies]").filter(|name| !leaves.contains(name)).collect();
            assert!(wrong.is_empty(), "{name} depends on {wrong:?}");
            let wrong: Vec<_> =
                inner("[dev-dependencies]").filter(|name| *name != "testkit").collect();
            assert!(wrong.is_empty(), "{name} depends on {wrong:?} in tests");
        }
        let in_product = inner("[dependencies]").any(|name| name == "testkit");
        assert!(!in_product, "{name} ships testkit");
    }
    let contract = fs::read_to_string(workspace().join("crates/contract/Cargo.toml"));
    let contract = contract.expect("a manifest");
    let wrong: Vec<_> = names_in(&contract, "[dependencies]")
        .into_iter()
        .filter(|name| members.contains(name))
        .collect();
    assert!(wrong.is_empty(), "contract depends on {wrong:?}");
}

#[test]
fn no_file_is_too_long() {
    let mut files = Vec::new();
    files_below(&workspace().join("crates"), "rs", &mut files);
    assert!(files.len() > 50, "found only {} files", files.len());
    let lines = |path: &Path| fs::read_to_string(path).expect("a file").lines().count();
    let long: Vec<_> = files
        .iter()
        .map(|path| (lines(path), path))
        .filter(|(lines, _)| *lines > LONGEST_FILE)
        .collect();
    assert!(long.is_empty(), "over {LONGEST_FILE} lines: {long:?}");
    let contract: usize = files
        .iter()
        .filter(|path| path.starts_with(workspace().join("crates/contract")))
        .map(|path| fs::read_to_string(path).expect("a file"))
        .map(|text| text.lines().take_while(|line| *line != "#[cfg(test)]").count())
        .sum();
    assert!(contract <= CONTRACT_BUDGET, "contract has {contract} lines");
}

/// The lines of a file outside of items that only tests include.
fn production_lines(text: &str) -> usize {
    let mut count = 0;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let is_of_tests = ["#[cfg(test)]", "#[cfg(all(test"];
        if !is_of_tests.iter().any(|start| line.trim_start().starts_with(start)) {
            count += 1;
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        // rustfmt puts the end of an item at the column where it begins.
        let is_end = |line: &&str| {
            let is_there = line.len() - line.trim_start().len() == indent;
            is_there && (line.ends_with('}') || line.ends_with(';'))
        };
        lines.by_ref().find(is_end);
    }
    count
}

#[test]
fn crates_stay_within_their_budgets() {
    for &(directory, budget) in BUDGETS {
        let directory = workspace().join("crates").join(directory);
        let mut files = Vec::new();
        files_below(&directory, "rs", &mut files);
        files.extend(Some(directory.with_extension("rs")).filter(|file| file.exists()));
        files.retain(|file| !file.iter().any(|part| part == "tests" || part == "tests.rs"));
        let lines = files.iter().map(|file| fs::read_to_string(file).expect("a file"));
        let lines: usize = lines.map(|text| production_lines(&text)).sum();
        assert!(lines <= budget, "{} has {lines} lines", directory.display());
    }
}

#[test]
fn no_crate_has_a_mod_rs() {
    let mut files = Vec::new();
    files_below(&workspace().join("crates"), "rs", &mut files);
    let wrong: Vec<_> = files.iter().filter(|path| path.ends_with("mod.rs")).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}
