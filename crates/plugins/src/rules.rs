//! Standing instructions in files: the user's own, those of plugins, then those of the project
//! from its root down to the working directory. What the model gets is bounded, visible text, each text once.

mod directory;
mod imports;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use ::files::foreign::{self, Boundary, Refusal};
use contract::text;
use serde_json::Value;

use crate::claude::document;
use crate::hidden;
use crate::offer::{Contributions, Offer};
use crate::plugin::Plugin;
use crate::problem::{Problem, entries_of, shown};

/// Bytes of one file that the model gets.
pub const FILE_LIMIT: usize = 64 * 1024;

/// Bytes of all files together that the model gets.
pub const TOTAL_LIMIT: usize = 256 * 1024;

const ENTRIES_LIMIT: usize = 2000;

/// The files that are looked for in each directory, in this order.
const NAMES: [&str; 7] = [
    "AGENTS.md",
    ".cursorrules",
    "rules.md",
    ".brynhild/AGENTS.md",
    ".brynhild/rules.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
];

/// Those among them that import other files.
const IMPORTING: [&str; 2] = ["CLAUDE.md", "CLAUDE.local.md"];

#[derive(Clone, Debug)]
pub struct Places {
    /// The directory with the user's own `*.md`, if there is one.
    pub global: Option<PathBuf>,
    /// The project's root. Links may not lead out of it.
    pub root: PathBuf,
    pub cwd: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFile {
    pub path: PathBuf,
    /// Its text without hidden characters; empty where there was no room left for it.
    pub text: String,
    pub truncated: bool,
}

/// The rules, and the problems of their files.
#[derive(Clone, Debug, Default)]
pub struct FoundRules {
    /// The files in the order in which the model reads them.
    pub rules: Vec<RuleFile>,
    pub problems: Vec<Problem>,
}

/// Finds and reads all rules.
pub fn load(places: &Places, contributions: &Contributions<'_>) -> FoundRules {
    let mut search = Search::default();
    if let Some(directory) = &places.global {
        search.global(directory);
    }
    for plugin in &contributions.plugins {
        search.plugin(plugin);
    }
    for offer in &contributions.offers {
        search.offer(offer);
    }
    if let Ok(root) = fs::canonicalize(&places.root) {
        let cwd = fs::canonicalize(&places.cwd).unwrap_or_else(|_| root.clone());
        let boundary = [root.clone()];
        for directory in walk(&root, &cwd) {
            for name in NAMES {
                search.read(&directory.join(name), Boundary::Within(&boundary));
                if IMPORTING.contains(&name) {
                    search.imported(&directory.join(name), &root);
                }
            }
            let place = directory.join(directory::PLACE);
            let problems = &mut search.found.problems;
            for file in document::files_below(&place, directory::DEPTH, problems) {
                search.read_as(&file, Boundary::Within(&boundary), directory::text);
            }
        }
    }
    search.found
}

/// The files of a project that hold rules, whether they exist or not, and those that they import.
pub fn project_files(root: &Path, cwd: &Path) -> Vec<PathBuf> {
    let directories = walk(root, cwd);
    let imported = directories.iter().flat_map(|directory| {
        IMPORTING.into_iter().flat_map(|name| imports::of(&directory.join(name), root).files)
    });
    let imported: Vec<PathBuf> = imported.collect();
    let names = || NAMES.into_iter().chain([directory::PLACE]);
    let own = directories.iter().flat_map(|directory| names().map(|name| directory.join(name)));
    own.chain(imported).collect()
}

/// The part of the system prompt that holds the rules; empty without rules.
pub fn prompt_block(rules: &[RuleFile]) -> String {
    if rules.is_empty() {
        return String::new();
    }
    let parts: Vec<_> = rules.iter().map(prompt_part).collect();
    format!(
        "<project_rules>\nStanding instructions of the user and the project. Where two of them \
         disagree, the later one holds.\n\n{}\n</project_rules>",
        parts.join("\n\n---\n\n")
    )
}

fn prompt_part(rule: &RuleFile) -> String {
    // A file must not be able to end the block that marks it as a file.
    let text = rule.text.replace("</project_rules", "<\\/project_rules");
    let note = if rule.truncated {
        "\n\n[The rest of this file is left out here because it is too long. Read the file before \
         you rely on it.]"
    } else {
        ""
    };
    let heading = format!("## Rules from {}", shown(&rule.path));
    format!("{heading}\n\n{}", format!("{text}{note}").trim_start())
}

/// The directories from the root to the working directory; only the root where that is elsewhere.
fn walk(root: &Path, cwd: &Path) -> Vec<PathBuf> {
    let mut directories = vec![root.to_path_buf()];
    if let Ok(below) = cwd.strip_prefix(root) {
        let mut directory = root.to_path_buf();
        for part in below.components() {
            directory.push(part);
            directories.push(directory.clone());
        }
    }
    directories
}

#[derive(Default)]
struct Search {
    found: FoundRules,
    texts: HashSet<String>,
    used: usize,
}

impl Search {
    fn report(&mut self, path: &Path, what: impl AsRef<str>, hint: &str) {
        self.found.problems.push(Problem::new(path, what, hint));
    }

    fn global(&mut self, directory: &Path) {
        let entries = foreign::entries(directory, ENTRIES_LIMIT);
        let entries = entries_of(directory, entries, "rules", &mut self.found.problems);
        let is_markdown = |path: &PathBuf| path.extension().is_some_and(|e| e == "md");
        for path in entries.into_iter().filter(is_markdown) {
            self.read(&path, Boundary::Anywhere);
        }
    }

    /// The files that a plugin declares, in its order.
    fn plugin(&mut self, plugin: &Plugin) {
        if plugin.package.is_some() {
            return;
        }
        let directories = [plugin.root.clone()];
        for name in &plugin.manifest.rules {
            let has_ending = Path::new(name).extension().is_some();
            let file = if has_ending { name.clone() } else { format!("{name}.md") };
            let usual = plugin.root.join("rules").join(&file);
            // Some write the path from the plugin's directory.
            let direct = plugin.root.join(&file);
            let path = if !usual.exists() && direct.exists() { direct } else { usual };
            if path.exists() {
                self.read(&path, Boundary::Within(&directories));
            } else {
                let what =
                    format!("the plugin `{}` declares rules that are not there", plugin.name());
                self.report(
                    &path,
                    what,
                    "write the file, or take it out of `rules` in plugin.yaml",
                );
            }
        }
    }

    fn offer(&mut self, offer: &Offer) {
        for item in &offer.rules {
            let content = match item {
                Value::String(text) => Some(text.as_str()),
                item => item.get("content").and_then(Value::as_str),
            };
            let name = item.get("name").and_then(Value::as_str);
            let name = name.unwrap_or_else(|| offer.entry_point(item));
            let place = PathBuf::from(format!("<{} {name}>", offer.plugin));
            match content {
                Some(text) => {
                    let truncated = text.len() > FILE_LIMIT;
                    let text = text::head(text, FILE_LIMIT).to_owned();
                    self.add(&place, &foreign::Text { text, truncated });
                }
                None => self.report(
                    &place,
                    "these rules are not text",
                    "return text, or a dict with `content`",
                ),
            }
        }
    }

    fn imported(&mut self, path: &Path, root: &Path) {
        let imports::Imports { files, left_out } = imports::of(path, root);
        let boundary = [root.to_path_buf()];
        for file in files {
            self.read(&file, Boundary::Within(&boundary));
        }
        if !left_out.is_empty() {
            let what = format!("what it imports is left out: {}", left_out.join(", "));
            let hint = "only files of the project are imported, up to four deep; correct the path, or put \
                        a copy there";
            self.report(path, what, hint);
        }
    }

    fn read(&mut self, path: &Path, boundary: Boundary<'_>) {
        self.read_as(path, boundary, str::to_owned);
    }

    fn read_as(&mut self, path: &Path, boundary: Boundary<'_>, text: fn(&str) -> String) {
        match foreign::read(path, boundary, FILE_LIMIT) {
            Ok(file) => self.add(path, &foreign::Text { text: text(&file.text), ..file }),
            Err(Refusal::Missing) => {}
            Err(refusal) => self.found.problems.push(Problem::unreadable(path, refusal)),
        }
    }

    fn add(&mut self, path: &Path, file: &foreign::Text) {
        let stripped = hidden::strip(&file.text);
        let text = stripped.text.trim();
        if text.is_empty() || (!file.truncated && !self.texts.insert(text.to_owned())) {
            return;
        }
        if let Some(report) = stripped.report {
            self.report(path, report, hidden::HINT);
        }
        let kept = text::head(text, TOTAL_LIMIT - self.used);
        let truncated = file.truncated || kept.len() < text.len();
        self.used += kept.len();
        if kept.len() < text.len() {
            self.report(
                path,
                format!(
                    "the model gets {} bytes of this file, because all rules together may have {TOTAL_LIMIT}",
                    kept.len()
                ),
                "shorten the rules",
            );
        } else if truncated {
            self.report(
                path,
                format!("the model gets only the first {FILE_LIMIT} bytes of this file"),
                "shorten it, or move parts to files that it names",
            );
        }
        self.found.rules.push(RuleFile {
            path: path.to_path_buf(),
            text: kept.to_owned(),
            truncated,
        });
    }
}

#[cfg(test)]
mod tests;
