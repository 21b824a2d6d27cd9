//! Patterns for files.

use std::path::Path;

use contract::policy::Decision;

use crate::glob::{Reading, paths_meet};
use crate::paths::{Places, normalize};

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The last component without wildcards, in lower case.
    literal: Option<String>,
}

impl PathPattern {
    /// Reads a pattern. A trailing slash means all that is beneath.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix("./").unwrap_or(text);
        if text.is_empty() || text.split('/').any(|component| component == "..") {
            return None;
        }
        let text = match text.strip_suffix('/') {
            Some(folder) => format!("{folder}/**"),
            None => text.to_owned(),
        };
        let literal = text.rsplit('/').find(|name| !name.contains(['*', '?']));
        let literal = literal.filter(|name| !["", "~"].contains(name));
        Some(Self { literal: literal.map(str::to_lowercase), text })
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
        let normal = normalize(path);
        let text = normal.to_string_lossy();
        let root = match self.text.strip_prefix("~/") {
            Some(rest) => places.home.as_ref().map(|home| format!("{}/{rest}", home.display())),
            None if self.text.starts_with('/') => Some(self.text.clone()),
            None => Some(format!("{}/{}", places.workspace.display(), self.text)),
        };
        let Some(full) = root else { return false };
        match decision {
            Decision::Allow => paths_meet(&full, (&text, reading)),
            Decision::Ask | Decision::Deny => {
                let (full, text) = (full.to_lowercase(), text.to_lowercase());
                let fits = |pattern: &str| paths_meet(pattern, (&text, reading));
                // A bare name means that name anywhere, and a folder means what is in it.
                let bare = (!self.text.contains('/')).then(|| self.text.to_lowercase());
                fits(&full)
                    || fits(&format!("{full}/**"))
                    || bare.is_some_and(|name| {
                        fits(&format!("**/{name}")) || fits(&format!("**/{name}/**"))
                    })
            }
        }
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

    /// The pattern as it is written.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}
