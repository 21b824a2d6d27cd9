//! Paths of the user: `~` and `$NAME` in them, and where configuration files are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use files::path::normalize;

/// Makes paths absolute that are relative to the project. Drops an empty one: every path would be
/// below it.
pub(crate) fn make_absolute(paths: &mut Vec<PathBuf>, project: &Path) {
    paths.retain(|path| !path.as_os_str().is_empty());
    for path in paths.iter_mut().filter(|path| path.is_relative()) {
        *path = normalize(&project.join(&*path));
    }
}

/// The variables and home directory that paths are expanded with.
#[derive(Clone, Copy)]
pub struct Expansion<'a> {
    /// The process environment.
    pub env: &'a BTreeMap<String, String>,
    /// The home directory.
    pub home: Option<&'a Path>,
}

impl Expansion<'_> {
    /// A variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// `text` with a leading `~` and every `$NAME` or `${NAME}` replaced, as far as they are known.
    pub fn expand(&self, text: &str) -> String {
        let text = self.expand_variables(text);
        match (text.strip_prefix('~'), self.home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                format!("{}{rest}", home.display())
            }
            _ => text,
        }
    }

    fn expand_variables(&self, text: &str) -> String {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            expanded.push_str(before);
            let (name, remaining) = match after.strip_prefix('{').and_then(|it| it.split_once('}'))
            {
                Some(braced) => braced,
                None => after.split_at(
                    after
                        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                        .unwrap_or(after.len()),
                ),
            };
            match self.env.get(name) {
                Some(value) => expanded.push_str(value),
                None => expanded.push_str(&rest[before.len()..rest.len() - remaining.len()]),
            }
            rest = remaining;
        }
        expanded + rest
    }

    /// The directory of everything that is the user's own.
    pub fn config_dir(&self) -> Option<PathBuf> {
        if let Some(dir) = self.variable("BRYNHILD_CONFIG_DIR") {
            return Some(self.expand(dir).into());
        }
        let usual = self.home.map(|home| home.join(".config/brynhild"));
        let moved = self
            .variable("XDG_CONFIG_HOME")
            .map(|dir| Path::new(dir).join("brynhild"))
            .filter(|dir| dir.is_absolute());
        match (moved, usual) {
            (Some(moved), Some(usual)) if !moved.exists() && usual.exists() => Some(usual),
            (Some(moved), _) => Some(moved),
            (None, usual) => usual,
        }
    }

    /// The file that a variable names; for a directory, the `config.yaml` in it.
    pub(crate) fn named_file(&self, variable: &str) -> Option<PathBuf> {
        let path = PathBuf::from(self.expand(self.variable(variable)?));
        Some(if path.is_dir() { path.join("config.yaml") } else { path })
    }
}
