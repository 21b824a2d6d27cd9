//! Paths that a user lets a plugin, a hook or a server write. They are guarded like the workspace, and
//! rules can deny parts of them; the user is told about those parts.

use std::fs;
use std::path::{Path, PathBuf};

use contract::sandbox::{Access, SandboxError};
use files::protected::protected;

use crate::denied_paths::{FileRules, is_hidden, is_read_only, nowhere_to_work};
use crate::request::{Request, tidy};

/// The directories among ours that hold one for each plugin or server.
const DATA: [&str; 2] = ["plugin-data", "mcp-data"];

/// Where the directories for data of plugins and servers lie.
#[derive(Debug)]
pub(crate) struct Data([Option<PathBuf>; 2]);

impl Data {
    /// Those below our directory, in which `state` holds our records.
    pub(crate) fn beside(state: &Path) -> Self {
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Self([Some(state), state.parent()].map(|directory| directory.map(real)))
    }

    /// The plugin or server whose directory it is.
    fn owner<'a>(&self, directory: &'a Path) -> Option<&'a str> {
        let all = directory.parent().filter(|all| DATA.iter().any(|name| all.ends_with(name)))?;
        let is_ours = self.0.iter().flatten().any(|ours| all.parent() == Some(ours));
        directory.file_name().filter(|_| is_ours)?.to_str()
    }
}

impl Request {
    /// Returns a request in which protected names are guarded in granted directories as in every other
    /// root, except in those for `data`. A protected name that is itself granted stays granted.
    pub(crate) fn with_grants_guarded(mut self, data: &Data) -> Self {
        let is_named = |directory: &Path| {
            let name = directory.file_name().map(Path::new);
            directory.strip_prefix(&self.workspace).ok().or(name).and_then(protected).is_some()
        };
        let is_guarded =
            |path: &&PathBuf| path.is_dir() && data.owner(path).is_none() && !is_named(path);
        self.roots.extend(self.own.iter().filter(is_guarded).cloned());
        tidy(&mut self.roots);
        self
    }

    /// The roots that may be written.
    pub(crate) fn writable(&self) -> Vec<PathBuf> {
        let is_writable =
            |root: &&PathBuf| self.access == Access::Workspace || self.own.contains(root);
        self.roots.iter().filter(is_writable).cloned().collect()
    }

    /// Directories of the process' own, in which no name is protected.
    pub(crate) fn private(&self) -> Vec<PathBuf> {
        self.own.iter().filter(|path| !self.roots.contains(path)).cloned().collect()
    }

    /// Returns a request without the granted paths that rules deny, and messages about those that were
    /// granted for writing: deny wins. The workspace stays, with nothing readable in it.
    pub(crate) fn without_denied(
        mut self,
        rules: Option<&dyn FileRules>,
        data: &Data,
    ) -> Result<(Self, Vec<String>), SandboxError> {
        let Some(rules) = rules else { return Ok((self, Vec::new())) };
        let own: Vec<PathBuf> =
            self.own.iter().filter(|path| data.owner(path).is_none()).cloned().collect();
        let granted = self.roots.iter().chain(&self.read).chain(&own);
        let granted = granted.filter(|path| **path != self.workspace);
        let hidden: Vec<PathBuf> = granted.filter(|path| is_hidden(rules, path)).cloned().collect();
        let is_read_only = |path: &&PathBuf| !hidden.contains(path) && is_read_only(rules, path);
        let read_only: Vec<PathBuf> = own.iter().filter(is_read_only).cloned().collect();
        let told = self.told_of(&hidden, &read_only, data);
        let is_left = |path: &PathBuf| !hidden.contains(path) && !read_only.contains(path);
        self.roots.retain(is_left);
        self.own.retain(is_left);
        self.read.retain(|path| !hidden.contains(path));
        self.names.retain(|_, real| !hidden.contains(real));
        // A path in a root is visible there.
        let is_apart = |path: &PathBuf| !self.roots.iter().any(|root| path.starts_with(root));
        self.read.extend(read_only.into_iter().filter(is_apart));
        tidy(&mut self.read);
        match hidden.iter().find(|path| self.cwd.starts_with(path)) {
            None => Ok((self, told)),
            Some(path) => Err(nowhere_to_work(path)),
        }
    }

    /// A message for each path that is granted for writing and does not exist.
    pub(crate) fn missing(&self, granted: &[PathBuf], data: &Data) -> Vec<String> {
        let owner = self.owner(data);
        let words = |path: &PathBuf| {
            let path = path.display();
            format!("{owner} is granted {path} for writing, but nothing is there; make it")
        };
        granted.iter().filter(|path| !path.exists()).map(words).collect()
    }

    /// To whom something is granted, in words.
    fn owner(&self, data: &Data) -> String {
        let owner = self.own.iter().find_map(|directory| data.owner(directory));
        owner.map_or_else(|| "a process".to_owned(), |name| format!("`{name}`"))
    }

    /// A message for each path that is granted for writing and denied by a rule.
    fn told_of(&self, hidden: &[PathBuf], read_only: &[PathBuf], data: &Data) -> Vec<String> {
        let owner = self.owner(data);
        let denied = hidden.iter().filter(|path| self.own.contains(path));
        let denied = denied.map(|path| (path, "denies reading it: it is not shown"));
        let read_only =
            read_only.iter().map(|path| (path, "denies writing it: it is only to be read"));
        let all = denied.chain(read_only).map(|(path, why)| {
            let path = path.display();
            format!(
                "{owner} is granted {path} for writing, but a rule {why}; remove one of the two"
            )
        });
        all.collect()
    }
}
