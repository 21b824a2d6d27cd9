//! The shape of the workspace: the star of crates, imports without cycles, the length of files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

const LONGEST_FILE: usize = 600;
const CONTRACT_BUDGET: usize = 2_500;
const TEST_NAME_LENGTH: usize = 60;

/// The largest number of production lines in some directories of `crates/`.
const BUDGETS: &[(&str, usize)] = &[
    ("acp/src", 2_500),
    ("agent/src", 6_400),
    ("approvals/src", 900),
    ("args/src", 1_850),
    ("assemble/src", 9_600),
    ("brynhild/src", 11_000),
    ("config/src", 3_500),
    ("documents/src", 2_000),
    ("files/src", 1_300),
    ("formats/src", 1_300),
    ("initrunner/src", 13_000),
    ("line-ui/src", 2_150),
    ("mcp/src", 9_500),
    ("audit/src", 1_000),
    ("plugin-kit/src", 3_200),
    ("plugins/src", 19_000),
    ("policy/src", 6_000),
    ("providers/src", 7_000),
    ("python-host/src", 5_500),
    ("sandbox/src", 8_000),
    ("server/src", 5_000),
    ("sessions/src", 7_000),
    ("setup/src", 1_500),
    ("statistics/src", 600),
    ("subagents/src", 700),
    ("tools/src", 6_500),
    ("tui/src", 17_000),
    ("trust/src", 1_750),
];

/// The layers of the binary, highest first: a module imports only modules of lower layers.
const LAYERS: &[&str] = &["commands", "frontends"];

/// The crates that others may depend on. They depend on no crate of the workspace.
const LEAVES: &[&str] = &["contract", "files", "formats"];

/// The crates that join the others: the binary, and the parts of a conversation below it.
const COMPOSITION: &[&str] = &["brynhild", "assemble"];

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
fn only_composition_depends_on_more_than_the_leaves() {
    let crates = crates();
    let members: Vec<&str> = crates.iter().map(|(name, _)| name.as_str()).collect();
    for (name, path) in &crates {
        let manifest = fs::read_to_string(path.join("Cargo.toml")).expect("a manifest");
        let inner = |section| {
            names_in(&manifest, section).into_iter().filter(|name| members.contains(name))
        };
        let depends_on_binary = inner("[dependencies]").any(|name| name == "brynhild");
        assert!(!depends_on_binary, "{name} depends on the binary");
        if !COMPOSITION.contains(&name.as_str()) {
            let leaves: &[&str] = if LEAVES.contains(&name.as_str()) { &[] } else { LEAVES };
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

/// The names of the test functions of a file.
fn test_names(text: &str) -> impl Iterator<Item = &str> {
    let is_attribute =
        |line: &&str| line.starts_with("#[test]") || line.starts_with("#[tokio::test");
    let mut lines = text.lines().map(str::trim_start);
    std::iter::from_fn(move || {
        lines.by_ref().find(is_attribute)?;
        let line = lines.by_ref().find(|line| line.contains("fn "))?;
        line.split("fn ").nth(1)?.split('(').next()
    })
}

#[test]
fn test_names_are_short_and_plain() {
    let mut files = Vec::new();
    files_below(&workspace().join("crates"), "rs", &mut files);
    let texts: Vec<_> =
        files.iter().map(|path| fs::read_to_string(path).expect("a file")).collect();
    let names: Vec<&str> = texts.iter().flat_map(|text| test_names(text)).collect();
    assert!(names.len() > 3_000, "found only {} tests", names.len());
    let is_bad = |name: &&&str| {
        let starts = ["what_", "whether_", "the_same_"];
        name.len() >= TEST_NAME_LENGTH || starts.iter().any(|start| name.starts_with(start))
    };
    let bad: Vec<_> = names.iter().filter(is_bad).collect();
    assert!(bad.is_empty(), "name them by unit and outcome, under 60 characters: {bad:?}");
}

/// The lines of a file outside of items that only tests include.
fn production(text: &str) -> impl Iterator<Item = &str> {
    let mut lines = text.lines();
    std::iter::from_fn(move || {
        loop {
            let line = lines.next()?;
            let is_of_tests = ["#[cfg(test)]", "#[cfg(all(test"];
            if !is_of_tests.iter().any(|start| line.trim_start().starts_with(start)) {
                return Some(line);
            }
            let indent = line.len() - line.trim_start().len();
            // rustfmt puts the end of an item at the column where it begins.
            let is_end = |line: &&str| {
                let is_there = line.len() - line.trim_start().len() == indent;
                is_there && (line.ends_with('}') || line.ends_with(';'))
            };
            lines.by_ref().find(is_end);
        }
    })
}

#[test]
fn crates_stay_within_their_budgets() {
    for &(directory, budget) in BUDGETS {
        let directory = workspace().join("crates").join(directory);
        let mut files = Vec::new();
        files_below(&directory, "rs", &mut files);
        files.extend(Some(directory.with_extension("rs")).filter(|file| file.exists()));
        let is_test = |part: &OsStr| part == "tests" || part == "tests.rs" || part == "oracles.rs";
        files.retain(|file| !file.iter().any(is_test));
        let lines = files.iter().map(|file| fs::read_to_string(file).expect("a file"));
        let lines: usize = lines.map(|text| production(&text).count()).sum();
        assert!(lines <= budget, "{} has {lines} lines", directory.display());
    }
}

/// The source files of all crates, without tests.
pub(crate) fn sources() -> Vec<PathBuf> {
    let mut files = Vec::new();
    files_below(&workspace().join("crates"), "rs", &mut files);
    files.retain(|file| !file.iter().any(|part| part == "tests" || part == "tests.rs"));
    files
}

#[test]
fn no_crate_has_a_mod_rs() {
    let mut files = Vec::new();
    files_below(&workspace().join("crates"), "rs", &mut files);
    let wrong: Vec<_> = files.iter().filter(|path| path.ends_with("mod.rs")).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// The paths of a `use` tree: `a::{b, c::D}` gives `a::b` and `a::c::D`.
fn use_paths(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((prefix, rest)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or(tree).trim().to_owned()];
    };
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (index, letter) in inner.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&inner[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[start..]);
    let paths = parts.into_iter().filter(|part| !part.trim().is_empty()).flat_map(use_paths);
    paths.map(|path| format!("{}{path}", prefix.trim())).collect()
}

/// A file without comments and without items that only tests include.
fn production_text(text: &str) -> String {
    let kept = production(text).map(|line| line.split("//").next().unwrap_or(line));
    kept.collect::<Vec<_>>().join("\n")
}

/// The paths that the `use` items of a text import.
fn imported_paths(text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("use ") {
        let line = rest[..start].rsplit('\n').next().unwrap_or_default().trim();
        rest = &rest[start + "use ".len()..];
        if line.is_empty() || (line.starts_with("pub") && !line.contains(['{', '='])) {
            let end = rest.find(';').unwrap_or(rest.len());
            // A line of text may begin with the word, too.
            let is_path = |it: char| it.is_alphanumeric() || "_:{},* \n".contains(it);
            if rest[..end].chars().all(is_path) {
                paths.extend(use_paths(&rest[..end]));
            }
        }
    }
    paths
}

/// The names after `crate::` in a text, in `use` items and elsewhere.
fn names_of_the_root(text: &str) -> BTreeSet<String> {
    let paths = imported_paths(text).into_iter().filter_map(|path| {
        path.strip_prefix("crate::").and_then(|rest| rest.split("::").next()).map(str::to_owned)
    });
    let elsewhere = text.split("crate::").skip(1).map(|rest| {
        let end = rest.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(rest.len());
        rest[..end].to_owned()
    });
    paths.chain(elsewhere).collect()
}

/// The imports between the top-level modules of a crate. A module includes its submodules.
fn module_imports(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut files = Vec::new();
    files_below(source, "rs", &mut files);
    files.retain(|file| !file.iter().any(|part| part == "tests" || part == "tests.rs"));
    let module = |file: &Path| {
        let first = file.strip_prefix(source).expect("a file below").iter().next();
        first.expect("a name").to_string_lossy().trim_end_matches(".rs").to_owned()
    };
    let modules: BTreeSet<String> = files.iter().map(|file| module(file)).collect();
    let read = |file: &Path| production_text(&fs::read_to_string(file).expect("a file"));
    let mut reexports = BTreeMap::new();
    for root in ["lib.rs", "main.rs"].map(|name| source.join(name)).iter().filter(|it| it.exists())
    {
        for path in imported_paths(&read(root)) {
            let path = path.trim_start_matches("crate::").to_owned();
            if let Some((first, last)) = path.split_once("::") {
                let name = last.rsplit("::").next().unwrap_or(last);
                reexports.insert(name.to_owned(), first.to_owned());
            }
        }
    }
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in &files {
        let from = module(file);
        if ["lib", "main", "bin"].contains(&from.as_str()) {
            continue;
        }
        let mut text = read(file);
        if file.parent() == Some(source) {
            text = text.replace("super::", "crate::");
        }
        for name in names_of_the_root(&text) {
            let to = if modules.contains(&name) { Some(&name) } else { reexports.get(&name) };
            if let Some(to) = to.filter(|to| **to != from && modules.contains(*to)) {
                imports.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    imports
}

/// The modules that a module imports, directly or through others.
fn reachable(imports: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut left = vec![from.to_owned()];
    while let Some(module) = left.pop() {
        for next in imports.get(&module).into_iter().flatten() {
            if found.insert(next.clone()) {
                left.push(next.clone());
            }
        }
    }
    found
}

#[test]
fn no_top_level_modules_import_each_other_in_a_cycle() {
    for (name, path) in crates() {
        let imports = module_imports(&path.join("src"));
        let cyclic: Vec<&String> =
            imports.keys().filter(|module| reachable(&imports, module).contains(*module)).collect();
        assert!(cyclic.is_empty(), "{name} has cycles: {cyclic:?}");
    }
}

#[test]
fn binary_modules_import_only_lower_layers() {
    let imports = module_imports(&workspace().join("crates/brynhild/src"));
    let layer = |name: &str| LAYERS.iter().position(|it| *it == name).unwrap_or(LAYERS.len());
    for (from, names) in &imports {
        let wrong: Vec<&String> = names
            .iter()
            .filter(|to| layer(to) < LAYERS.len() && layer(to) <= layer(from))
            .collect();
        assert!(wrong.is_empty(), "{from} imports {wrong:?}");
    }
}

#[test]
fn protected_names_ignore_every_hidden_character() {
    for c in ('\0'..=char::MAX).filter(|c| contract::text::is_hidden(*c)) {
        let spelling = format!(".g{c}it");
        assert_eq!(files::protected::protected(&spelling), Some(".git"), "{spelling:?}");
    }
}
