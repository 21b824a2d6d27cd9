//! Tool types that packages and files bring. Reads metadata and text, and runs nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ::files::foreign::{self, Boundary};
use contract::text::closest;
use serde::Serialize;

use super::{Entry, kind};
use crate::entry_points::{self, TOOL_TYPES_GROUP};
use crate::index::Index;
use crate::words::Words;

/// The types that are built in, here or elsewhere.
const BUILT_IN: Words = Words(
    "api audio blackboard calculator clarify csv_analysis custom datetime delegate email \
     filesystem git http image_gen mcp pdf_extract plugin python script search shell slack \
     spawn sql think todo web_reader web_scraper",
);

/// Those of them that nothing here makes, so that a package or a file may bring them.
const NOT_MADE: Words = Words("blackboard image_gen pdf_extract plugin");

const MARK: &str = "@register_tool(";

const PLACES: [&str; 3] = ["", "tools", "initrunner/agent/tools"];

/// Files of one directory that are looked at, and bytes of each.
const MOST_FILES: usize = 500;
const FILE_LIMIT: usize = 256 << 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    /// The name of its entry point, which is that of the type as a rule.
    pub name: String,
    /// Where it is: `module:attribute`.
    pub object: String,
    pub package: String,
    #[serde(skip)]
    pub version: String,
    #[serde(skip)]
    pub summary: String,
    #[serde(skip)]
    pub root: PathBuf,
    #[serde(skip)]
    pub site: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeFile {
    pub path: PathBuf,
    pub kinds: Vec<String>,
}

/// The tool types that can be had beside the built-in ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Types {
    /// Those of packages; the first of a name counts.
    pub points: Vec<Point>,
    pub files: Vec<TypeFile>,
}

impl Types {
    pub fn of_packages(sites: &[PathBuf], index: &mut Index) -> Vec<Point> {
        let mut points: Vec<Point> = Vec::new();
        for (site, installed) in entry_points::guests(sites, index, TOOL_TYPES_GROUP) {
            for point in &installed.package.entry_points {
                points.push(Point {
                    name: point.name.clone(),
                    object: point.object.clone(),
                    package: installed.package.name.clone(),
                    version: installed.package.version.clone(),
                    summary: installed.summary.clone(),
                    root: installed.root.clone(),
                    site: site.clone(),
                });
            }
        }
        points
    }

    /// The files in a directory that register types: in it, in `tools`, in `initrunner/agent/tools`.
    pub fn of_files(directory: &Path) -> Vec<TypeFile> {
        let mut found = Vec::new();
        for place in PLACES {
            let Ok((entries, _)) = foreign::entries(&directory.join(place), MOST_FILES) else {
                continue;
            };
            for path in entries.into_iter().filter(|path| is_module(path)) {
                let Ok(text) = foreign::read(&path, Boundary::Anywhere, FILE_LIMIT) else {
                    continue;
                };
                let kinds = registered(&text.text);
                if !kinds.is_empty() {
                    found.push(TypeFile { path, kinds });
                }
            }
        }
        found
    }

    /// Returns true if a file registers a type, or a package says by name that it brings it.
    pub fn brings(&self, kind: &str) -> bool {
        self.has_file(kind) || self.points.iter().any(|point| point.name == kind)
    }

    pub fn has_file(&self, kind: &str) -> bool {
        self.files.iter().any(|file| file.kinds.iter().any(|own| own == kind))
    }

    /// Says that there is no such type, where that is certain without running anything: a package
    /// may call its type other than its entry point.
    pub fn missing(&self, kind: &str) -> Option<String> {
        if self.has_file(kind) || !self.points.is_empty() {
            return None;
        }
        let words = format!(
            "Tool type '{kind}' not found. No plugins installed. Install one with: pip install \
             initrunner-{kind}"
        );
        Some(suggested(kind, words))
    }
}

/// Who makes the tools of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    BuiltIn,
    Python,
    /// Python where a package or a file brings the type, and else nobody.
    PythonIfBrought,
}

pub fn maker(entry: &Entry) -> Maker {
    const BUILT_IN_SLACK: Words = Words(
        "type permissions approval webhook_url default_channel username icon_emoji timeout_seconds timeout",
    );
    let kind = kind(entry);
    // An older package brings a type of this name, whose entries have keys of their own.
    let is_of_package = kind == "slack"
        && !entry.contains_key("webhook_url")
        && entry.keys().any(|key| !BUILT_IN_SLACK.has(key));
    if kind == "custom" || is_of_package || !BUILT_IN.has(kind) {
        return Maker::Python;
    }
    if NOT_MADE.has(kind) { Maker::PythonIfBrought } else { Maker::BuiltIn }
}

/// Words about an unknown type, with the one that was meant where that is likely.
pub fn suggested(kind: &str, words: String) -> String {
    match closest(kind, BUILT_IN).filter(|meant| *meant != kind) {
        Some(meant) => format!("{words} (or did you mean `{meant}`?)"),
        None => words,
    }
}

fn is_module(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    path.extension().is_some_and(|ending| ending == "py") && !name.starts_with('_')
}

fn registered(source: &str) -> Vec<String> {
    let mut kinds = BTreeSet::new();
    let lines = source.match_indices(MARK).filter(|(at, _)| {
        let before = &source[..*at];
        before.rsplit('\n').next().is_none_or(|line| line.trim().is_empty())
    });
    for (at, _) in lines {
        let rest = source[at + MARK.len()..].trim_start();
        let Some(quote) = rest.chars().next().filter(|c| *c == '"' || *c == '\'') else { continue };
        if let Some((kind, _)) = rest[1..].split_once(quote) {
            kinds.insert(kind.to_owned());
        }
    }
    kinds.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_register_their_tool_types() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let file = directory.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write("redis.py", "x = 1\n@register_tool(\"redis\", Config)\ndef build(): pass\n");
        write("tools/two.py", "@register_tool(\n    'a', A)\n@register_tool('b', B)\n");
        write("initrunner/agent/tools/rss.py", "@register_tool('rss', Config)\n");
        write("initrunner/agent/tools/_registry.py", "@register_tool('no', Config)\n");
        write("words.py", "# @register_tool('no', Config)\n\"see @register_tool('no')\"\n");
        let files = Types::of_files(directory.path());
        let kinds: Vec<&str> =
            files.iter().flat_map(|file| &file.kinds).map(String::as_str).collect();
        assert_eq!(kinds, ["redis", "a", "b", "rss"]);
    }

    #[test]
    fn reference_lists_the_support_of_every_tool_type() {
        use std::fmt::Write as _;
        let mut text = String::from("| tool type | support | reason |\n|---|---|---|\n");
        for kind in BUILT_IN {
            let row = if NOT_MADE.has(kind) {
                "no | a package or a file of the role can bring it"
            } else {
                "yes |"
            };
            writeln!(text, "| `{kind}` | {row} |").unwrap();
        }
        crate::tests::fixture::check_reference("plugin-systems.md", "tool types", &text);
    }

    #[test]
    fn unknown_type_has_the_documented_message() {
        let mut types = Types::default();
        assert_eq!(
            types.missing("linear").unwrap(),
            "Tool type 'linear' not found. No plugins installed. Install one with: pip install \
             initrunner-linear"
        );
        assert!(types.missing("filesytem").unwrap().ends_with("(or did you mean `filesystem`?)"));
        types.files.push(TypeFile { path: "x.py".into(), kinds: vec!["linear".into()] });
        assert_eq!(types.missing("linear"), None);
    }
}
