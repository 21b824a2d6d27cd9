//! Patterns for files.

use std::path::{Path, PathBuf};

use contract::policy::Decision;

use crate::braces;
use crate::glob::{Reading, paths_meet, paths_meet_as};
use crate::paths::{Places, normalize};

/// An access to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Touch {
    /// It is read.
    Read,
    /// It is created, changed or removed.
    Write,
    /// Either.
    Any,
}

impl Touch {
    /// Returns true if a rule about this access applies to `other`.
    pub(crate) fn includes(self, other: Self) -> bool {
        self == Self::Any || self == other
    }
}

/// A pattern for files: absolute, under the home (`~/`), or in the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathPattern {
    text: String,
    /// The patterns without braces.
    spellings: Vec<String>,
    /// The last component without wildcards, in lower case.
    literal: Option<String>,
}

impl PathPattern {
    /// Reads a pattern. A trailing slash means all that is beneath; `$HOME` is the home.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix("./").unwrap_or(text);
        let below_home = ["$HOME/", "${HOME}/"].iter().find_map(|home| text.strip_prefix(home));
        let text = match text {
            "$HOME" | "${HOME}" => "~",
            _ => &below_home.map_or_else(|| text.to_owned(), |rest| format!("~/{rest}")),
        };
        let is_variable = text.starts_with("${")
            || text
                .strip_prefix('$')
                .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_uppercase()));
        let is_open = text.contains('[') && !text.contains(']');
        // Nobody knows here where others have their home.
        let is_foreign = text.starts_with('~') && text != "~" && !text.starts_with("~/");
        if text.is_empty()
            || is_variable
            || is_foreign
            || text.starts_with("file:")
            || is_open
            || text.split('/').any(|component| component == "..")
        {
            return None;
        }
        let text = match text.strip_suffix('/') {
            Some(directory) => format!("{directory}/**"),
            None => text.to_owned(),
        };
        let is_plain = |name: &&str| !name.contains(['*', '?', '[', ']', '{', '}', ',']);
        let literal = text.rsplit('/').find(is_plain);
        let literal = literal.filter(|name| !["", "~"].contains(name));
        let spellings = braces::expand(&text);
        Some(Self { literal: literal.map(str::to_lowercase), spellings, text })
    }

    /// Returns true if a rule of this decision matches `path`, an absolute path that is a pattern itself
    /// if `reading` says so. Deny and ask rules ignore case, as some file systems do.
    pub(crate) fn matches(
        &self,
        path: (&Path, Reading),
        places: &Places,
        decision: Decision,
    ) -> bool {
        let (path, reading) = path;
        let normal = normalize(path);
        let text = normal.to_string_lossy();
        match decision {
            Decision::Allow => {
                full(&self.text, places).is_some_and(|full| paths_meet(&full, (&text, reading)))
            }
            Decision::Ask | Decision::Deny => {
                let path = (text.to_lowercase(), reading);
                self.spellings.iter().any(|spelling| could_mean(spelling, &path, places))
            }
        }
    }

    /// Returns true if the part of a deny or ask rule before its first wildcard is below `directory`.
    pub(crate) fn begins_below(&self, directory: &Path, places: &Places) -> bool {
        let directory = format!("{}/", directory.display()).to_lowercase();
        let is_wild = |part: &&str| part.contains(['*', '?', '[']);
        self.spellings.iter().filter(|it| !it.starts_with(['*', '?', '['])).any(|spelling| {
            full(spelling, places).is_some_and(|full| {
                let known: Vec<&str> = full.split('/').take_while(|part| !is_wild(part)).collect();
                known.join("/").to_lowercase().starts_with(&directory)
            })
        })
    }

    /// Returns true if a deny or ask rule matches such a file in any directory: the names of directories above
    /// it do not matter.
    pub(crate) fn is_anywhere(&self) -> bool {
        let is_name = |it: &String| {
            let name = it.strip_prefix("**/").unwrap_or(it);
            !name.strip_suffix("/**").unwrap_or(name).contains('/')
        };
        self.spellings.iter().all(|it| is_name(it) && (!it.contains('/') || it.starts_with("**/")))
    }

    /// The last name in each of its spellings that says something, in lower case: no file is meant
    /// without one on its way that fits.
    pub(crate) fn last_names(&self) -> Vec<String> {
        // A placeholder for a directory matches any name.
        let last = |it: &String| match it.rsplit('/').find(|name| *name != "**") {
            None | Some("~" | ".") => String::from("*"),
            Some(name) => name.to_lowercase(),
        };
        self.spellings.iter().map(last).collect()
    }

    /// The paths that a deny or ask rule could mean, each up to its first wildcard; none where it means
    /// such a file anywhere.
    pub(crate) fn starts(&self, places: &Places) -> Vec<PathBuf> {
        let start = |pattern: String| {
            let known = pattern.split('/').take_while(|part| !part.contains(['*', '?', '[']));
            normalize(Path::new(&known.collect::<Vec<_>>().join("/")))
        };
        let is_spelled = |it: &&String| it.contains('/') && !it.starts_with(['*', '?', '[']);
        let spelled = self.spellings.iter().filter(is_spelled);
        spelled.flat_map(|it| meant(it, places)).map(start).collect()
    }

    /// Returns true if files that a deny or ask rule matches may be below `directory`.
    pub(crate) fn may_lie_below(&self, directory: &Path, places: &Places) -> bool {
        let is_anywhere = |it: &String| !it.contains('/') || it.starts_with(['*', '?', '[']);
        let is_within = |it: &String| {
            let known = it.split('/').take_while(|part| !part.contains(['*', '?', '[']));
            let known = known.collect::<Vec<_>>().join("/");
            full(&known, places)
                .is_some_and(|full| directory.starts_with(normalize(Path::new(&full))))
        };
        self.spellings.iter().any(|it| is_anywhere(it) || is_within(it))
            || self.begins_below(directory, places)
    }

    /// Returns true if `text` could be a part of a matching path: a fast check before the full one.
    pub(crate) fn could_be(&self, text: &str) -> bool {
        let Some(name) = &self.literal else {
            return true;
        };
        let is_lower = text.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase());
        let has_name =
            if is_lower { text.contains(name) } else { text.to_lowercase().contains(name) };
        has_name || text.contains(['*', '?', '[', '~'])
    }

    /// The pattern as it is written.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

/// The absolute pattern that a rule's text stands for.
fn full(text: &str, places: &Places) -> Option<String> {
    if text == "~" {
        return places.home.as_ref().map(|home| home.display().to_string());
    }
    match text.strip_prefix("~/") {
        Some(rest) => places.home.as_ref().map(|home| format!("{}/{rest}", home.display())),
        None if text.starts_with('/') => Some(text.to_owned()),
        None => Some(format!("{}/{text}", places.workspace.display())),
    }
}

/// Returns true if a path, in lower case, could match the text of a deny or ask rule.
fn could_mean(text: &str, path: &(String, Reading), places: &Places) -> bool {
    meant(text, places).any(|pattern| fits(&within(&pattern), (&path.0, path.1)))
}

/// A pattern for a directory and all that is in it, in lower case.
fn within(pattern: &str) -> String {
    format!("{}/**", pattern.to_lowercase())
}

/// Returns true if a path matches a pattern, in which brackets may be a set or part of a name.
fn fits(pattern: &str, path: (&str, Reading)) -> bool {
    paths_meet(pattern, path)
        || (pattern.contains('[') && paths_meet_as((pattern, Reading::Shell), path))
}

/// The patterns for whole paths that a deny or ask rule could mean by its text.
fn meant(text: &str, places: &Places) -> impl Iterator<Item = String> {
    // Some write a path of the project with a slash before it; two are the root for certain.
    let rooted = text.strip_prefix('/').filter(|rest| !rest.starts_with('/'));
    // A bare name means that name anywhere, and a directory means what is in it.
    let bare = (!text.contains('/')).then(|| format!("**/{text}"));
    let rooted = rooted.and_then(|rest| full(rest, places));
    full(text, places).into_iter().chain(rooted).chain(bare)
}
