//! Where a plugin is installed from.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Directory(PathBuf),
    Git {
        url: String,
        /// A branch, a tag or a commit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
        /// The plugin's directory in the repository.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        directory: Option<PathBuf>,
    },
    Npm(String),
    Pip(String),
    Marketplace {
        plugin: String,
        marketplace: String,
    },
}

#[derive(Debug, thiserror::Error)]
#[error("{0:?} names no plugin")]
pub struct UnknownSource(pub String);

impl UnknownSource {
    pub const HINT: &str = "name a directory, a git URL (`https://…`, `git@…`, `….git`, with \
                            `#BRANCH` behind it), `pip:PACKAGE`, `npm:PACKAGE`, or NAME@MARKETPLACE";
}

impl Source {
    /// Reads a source as the user types it; a directory is relative to `cwd`.
    pub fn parse(text: &str, cwd: &Path) -> Result<Self, UnknownSource> {
        let text = text.trim();
        if let Some(package) = text.strip_prefix("pip:").filter(|it| is_package(it)) {
            return Ok(Self::Pip(package.to_owned()));
        }
        if let Some(package) = text.strip_prefix("npm:").filter(|it| is_package(it)) {
            return Ok(Self::Npm(package.to_owned()));
        }
        let path = cwd.join(text);
        if !text.is_empty() && path.is_dir() && !is_git_url(text) {
            return Ok(Self::Directory(path.canonicalize().unwrap_or(path)));
        }
        if is_git_url(text) {
            let (url, reference) = match text.rsplit_once('#') {
                Some((url, reference)) if !reference.is_empty() => (url, Some(reference)),
                _ => (text, None),
            };
            let reference = reference.map(str::to_owned);
            return Ok(Self::Git { url: url.to_owned(), reference, directory: None });
        }
        match text.split_once('@') {
            Some((plugin, marketplace)) if is_name(plugin) && is_name(marketplace) => {
                let (plugin, marketplace) = (plugin.to_owned(), marketplace.to_owned());
                Ok(Self::Marketplace { plugin, marketplace })
            }
            _ => Err(UnknownSource(text.to_owned())),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => write!(formatter, "{}", path.display()),
            Self::Git { url, reference, .. } => match reference {
                Some(reference) => write!(formatter, "{url}#{reference}"),
                None => formatter.write_str(url),
            },
            Self::Npm(package) => write!(formatter, "npm:{package}"),
            Self::Pip(package) => write!(formatter, "pip:{package}"),
            Self::Marketplace { plugin, marketplace } => {
                write!(formatter, "{plugin}@{marketplace}")
            }
        }
    }
}

/// Returns true if a text is the address of a git repository. One that begins with `-` is an option
/// to git, and `ext::` runs a program.
pub fn is_git_url(text: &str) -> bool {
    let schemes = ["https://", "http://", "ssh://", "git://", "file://", "git@"];
    let is_address = schemes.iter().any(|scheme| text.starts_with(scheme));
    let ending = text.split('#').next().unwrap_or_default();
    let is_path = Path::new(ending).extension().is_some_and(|it| it == "git");
    is_address || is_path && !text.starts_with('-') && !text.contains("::")
}

fn is_package(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_whitespace)
}

/// Returns true if a name can be the name of a directory.
pub fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !text.is_empty() && text.len() <= 64 && text.chars().all(is_plain) && !text.starts_with('.')
}

/// The last part of the address of a repository, without its ending.
pub fn repository_name(url: &str) -> String {
    let last = url.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    last.trim_end_matches(".git").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_source_is_recognized() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("p")).unwrap();
        let parse = |text: &str| Source::parse(text, directory.path());
        assert!(matches!(parse("p").unwrap(), Source::Directory(_)));
        assert_eq!(parse("pip:word-kit").unwrap(), Source::Pip("word-kit".into()));
        assert_eq!(parse("npm:@a/b@1").unwrap(), Source::Npm("@a/b@1".into()));
        for text in ["https://x.test/a", "git@x.test:a/b.git#v1", "../repo.git"] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        let (plugin, marketplace) = ("notes".to_owned(), "shop".to_owned());
        let found = parse("notes@shop").unwrap();
        assert_eq!(found, Source::Marketplace { plugin, marketplace });
        for text in ["", "nothing", "-u x.git", "ext::sh -c x.git", "pip:", "pip:-r x", "../a@b"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
