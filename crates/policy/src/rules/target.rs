//! Patterns for files.

use std::path::{Path, PathBuf};

use contract::policy::Decision;

use crate::glob::{Reading, is_deep, meet, paths_meet, paths_meet_as};
use crate::paths::{Places, normalize};
use crate::rules::unknown::Steps;
use crate::shell::braces;

/// What is done to a file.
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
    /// Whether a rule about this speaks of `other`.
    pub(crate) fn includes(self, other: Self) -> bool {
        self == Self::Any || self == other
    }
}

/// A pattern for files: absolute, under the home (`~/`), or in the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathPattern {
    text: String,
    /// What it becomes where braces are spelled out.
    spellings: Vec<String>,
    /// The last component without wildcards, in lower case.
    literal: Option<String>,
    /// Of each spelling what no path fits without.
    runs: Vec<Run>,
}

/// The longest run of plain characters in one name of a pattern, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    text: String,
    /// The whole name that it is a part of.
    name: String,
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
            Some(folder) => format!("{folder}/**"),
            None => text.to_owned(),
        };
        let is_plain = |name: &&str| !name.contains(['*', '?', '[', ']', '{', '}', ',']);
        let literal = text.rsplit('/').find(is_plain);
        let literal = literal.filter(|name| !["", "~"].contains(name));
        let spellings = braces::expand(&text);
        let runs = spellings.iter().map(|spelling| Run::longest_of(spelling)).collect();
        Some(Self { literal: literal.map(str::to_lowercase), runs, spellings, text })
    }

    /// Whether a rule of this decision speaks of `path`, an absolute path that is a pattern itself
    /// where `reading` says so. Deny and ask rules disregard case, as some file systems do.
    pub(crate) fn matches(
        &self,
        path: (&Path, Reading),
        places: &Places,
        decision: Decision,
    ) -> bool {
        let (path, reading) = path;
        let is_strict = decision != Decision::Allow;
        if is_strict && reading == Reading::Literal && !self.may_name(&path.to_string_lossy()) {
            return false;
        }
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

    /// The patterns for whole paths that a deny or ask rule stands for, made ready for [`Self::fits_one`].
    pub(crate) fn whole(&self, places: &Places) -> Vec<String> {
        self.spellings.iter().flat_map(|it| meant(it, places)).map(|it| within(&it)).collect()
    }

    /// What [`Self::matches`] says by a deny or ask rule, of which the patterns for `whole` paths are known.
    pub(crate) fn fits_one(&self, whole: &[String], (path, reading): (&Path, Reading)) -> bool {
        if reading == Reading::Literal && !self.may_name(&path.to_string_lossy()) {
            return false;
        }
        let path = normalize(path).to_string_lossy().to_lowercase();
        whole.iter().any(|pattern| fits(pattern, (&path, reading)))
    }

    /// Whether a deny or ask rule speaks of `path` by more than the folder in which it means all files.
    pub(crate) fn names(&self, path: (&Path, Reading), places: &Places) -> bool {
        let (path, reading) = path;
        if reading == Reading::Literal && !self.may_name(&path.to_string_lossy()) {
            return false;
        }
        let path = (normalize(path).to_string_lossy().to_lowercase(), reading);
        let inner = |spelling: &String| {
            let folder = spelling.strip_suffix("/**");
            folder.map_or_else(|| spelling.clone(), |folder| format!("{folder}/**/*"))
        };
        self.spellings.iter().any(|spelling| could_mean(&inner(spelling), &path, places))
    }

    /// What a deny or ask rule says of paths of which only a part is known.
    pub(crate) fn steps(&self, places: &Places) -> Vec<Steps> {
        let both = |pattern: &str, own: usize| {
            let pattern = pattern.to_lowercase();
            [Steps::of(&pattern, own), Steps::of(&format!("{pattern}/**"), own + 1)]
        };
        let each = self.spellings.iter().flat_map(|spelling| {
            let own = spelling.split('/').filter(|component| !component.is_empty()).count();
            meant(spelling, places).flat_map(move |pattern| both(&pattern, own))
        });
        each.collect()
    }

    /// Whether what a deny or ask rule spells out before its first wildcard lies below `folder`.
    pub(crate) fn begins_below(&self, folder: &Path, places: &Places) -> bool {
        let folder = format!("{}/", folder.display()).to_lowercase();
        let is_wild = |part: &&str| part.contains(['*', '?', '[']);
        self.spellings.iter().filter(|it| !it.starts_with(['*', '?', '['])).any(|spelling| {
            full(spelling, places).is_some_and(|full| {
                let known: Vec<&str> = full.split('/').take_while(|part| !is_wild(part)).collect();
                known.join("/").to_lowercase().starts_with(&folder)
            })
        })
    }

    /// Whether a deny or ask rule means such a file in whichever folder it lies: the names of folders above
    /// it say nothing.
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
        // What stands for a folder of another name fits any.
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

    /// The same with names that have no folder before them, taken from the workspace: where these are links, the rule
    /// means what they lead to as well.
    pub(crate) fn anchors(&self, places: &Places) -> Vec<PathBuf> {
        let is_wild = |part: &&str| part.contains(['*', '?', '[']);
        let anchor = |pattern: &String| {
            let known = pattern.split('/').take_while(|part| !is_wild(part));
            let known = full(&known.collect::<Vec<_>>().join("/"), places)?;
            Some(normalize(Path::new(&known)))
        };
        let spelled = self.spellings.iter().filter(|it| !it.starts_with(['*', '?', '[']));
        spelled.filter_map(anchor).filter(|it| !places.workspace.starts_with(it)).collect()
    }

    /// Whether files that a deny or ask rule means may lie below `folder`.
    pub(crate) fn may_lie_below(&self, folder: &Path, places: &Places) -> bool {
        let is_anywhere = |it: &String| !it.contains('/') || it.starts_with(['*', '?', '[']);
        let is_within = |it: &String| {
            let known = it.split('/').take_while(|part| !part.contains(['*', '?', '[']));
            let known = known.collect::<Vec<_>>().join("/");
            full(&known, places).is_some_and(|full| folder.starts_with(normalize(Path::new(&full))))
        };
        self.spellings.iter().any(|it| is_anywhere(it) || is_within(it))
            || self.begins_below(folder, places)
    }

    /// Whether `text` could be a part of a matching path: a quick look before the full one.
    pub(crate) fn could_be(&self, text: &str) -> bool {
        let Some(name) = &self.literal else {
            return true;
        };
        let is_lower = text.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase());
        let has_name =
            if is_lower { text.contains(name) } else { text.to_lowercase().contains(name) };
        has_name || text.contains(['*', '?', '[', '~'])
    }

    /// Whether a path of which `text` is a part, and nothing else is of interest, could be one that a deny or ask
    /// rule means: a quicker and closer look at what a shell has nothing to put into.
    pub(crate) fn may_name(&self, text: &str) -> bool {
        // Some other letters are plain ones in lower case.
        if text.bytes().any(|byte| byte == b'~' || !byte.is_ascii()) {
            return true;
        }
        if !text.contains(['*', '?', '[']) {
            return self.runs.iter().any(|run| run.is_in(text));
        }
        // Shells disagree on what more may stand in patterns.
        text.contains(['(', '|']) || self.runs.iter().any(|run| run.may_be_in(text))
    }

    /// The pattern as it is written.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

impl Run {
    /// The longest of a pattern.
    fn longest_of(pattern: &str) -> Self {
        let names = pattern.split('/').filter(|name| *name != "~" && !name.contains(['[', ']']));
        let is_end = |c: char| matches!(c, '*' | '?') || !c.is_ascii();
        let runs = names.flat_map(|name| name.split(is_end).map(move |run| (run, name)));
        let (run, name) = runs.max_by_key(|(run, _)| run.len()).unwrap_or_default();
        Self { text: run.to_ascii_lowercase(), name: name.to_lowercase() }
    }

    /// Whether it stands in a text.
    fn is_in(&self, text: &str) -> bool {
        let Some((first, rest)) = self.text.as_bytes().split_first() else { return true };
        let text = text.as_bytes();
        let begins = |(at, byte): (usize, &u8)| {
            let after = || text.get(at + 1..at + self.text.len());
            byte.to_ascii_lowercase() == *first
                && after().is_some_and(|after| after.eq_ignore_ascii_case(rest))
        };
        text.iter().enumerate().any(begins)
    }

    /// Whether one of the names in a path, with wildcards or signs that look like them, could be the name
    /// that has it.
    fn may_be_in(&self, path: &str) -> bool {
        let lower;
        let path = if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
            lower = path.to_ascii_lowercase();
            lower.as_str()
        } else {
            path
        };
        self.text.is_empty()
            || path.split('/').any(|name| {
                let is_one = |reading| meet((&self.name, Reading::Rule), (name, reading));
                is_deep(name) || is_one(Reading::Shell) || is_one(Reading::Literal)
            })
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

/// Whether a path, in lower case, is one that a deny or ask rule could mean by its text.
fn could_mean(text: &str, path: &(String, Reading), places: &Places) -> bool {
    meant(text, places).any(|pattern| fits(&within(&pattern), (&path.0, path.1)))
}

/// A pattern for a folder and all that is in it, in lower case.
fn within(pattern: &str) -> String {
    format!("{}/**", pattern.to_lowercase())
}

/// Whether a path fits a pattern, of which a set may be one, or the name of a file.
fn fits(pattern: &str, path: (&str, Reading)) -> bool {
    paths_meet(pattern, path)
        || (pattern.contains('[') && paths_meet_as((pattern, Reading::Shell), path))
}

/// The patterns for whole paths that a deny or ask rule could mean by its text.
fn meant(text: &str, places: &Places) -> impl Iterator<Item = String> {
    // Some write a path of the project with a slash before it; two are the root for certain.
    let rooted = text.strip_prefix('/').filter(|rest| !rest.starts_with('/'));
    // A bare name means that name anywhere, and a folder means what is in it.
    let bare = (!text.contains('/')).then(|| format!("**/{text}"));
    let rooted = rooted.and_then(|rest| full(rest, places));
    full(text, places).into_iter().chain(rooted).chain(bare)
}
