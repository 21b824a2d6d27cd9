//! The configuration as a whole: files on disk in, settings and messages out.

mod display;
mod environment;
mod invalid;
mod layers;
mod project;
mod reference;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::load::{Loaded, OnMistake, Sources, load};
use crate::origin::Node;
use crate::report::ConfigError;

/// A home and a project on disk, with the sources that name them.
struct Setup {
    directory: TempDir,
    sources: Sources,
}

impl Setup {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().join("home");
        let project_root = directory.path().join("project");
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(&project_root).unwrap();
        let sources = Sources {
            env: [].into(),
            home: Some(home),
            project_root,
            flags: Vec::new(),
            read_project: true,
            trusted: [].into(),
            on_mistake: OnMistake::Stop,
        };
        Self { directory, sources }
    }

    fn user(text: &str) -> Self {
        Self::new().file("home/.config/brynhild/config.yaml", text)
    }

    fn file(self, path: &str, text: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn project(self, text: &str) -> Self {
        self.file("project/.brynhild/config.yaml", text)
    }

    /// Trusts the project's files as they are.
    fn trusted(mut self) -> Self {
        let files = [".brynhild/config.yaml", ".env"];
        let paths = files.map(|file| self.sources.project_root.join(file));
        let read = |path: PathBuf| fs::read(&path).ok().map(|bytes| (path, bytes));
        let files = paths.into_iter().filter_map(read).collect();
        self.sources.trusted = files;
        self
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.sources.env.insert(name.into(), value.into());
        self
    }

    fn flag(mut self, path: &str, value: Value) -> Self {
        self.sources.flags.push((path.into(), value));
        self
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn try_load(&self) -> Result<Loaded, ConfigError> {
        load(&self.sources)
    }

    fn load(&self) -> Loaded {
        self.try_load().unwrap()
    }

    /// The warnings, one a line, with the temporary directory written as `T`.
    fn warnings(&self) -> String {
        let warnings = self.load().warnings;
        let lines: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        self.filtered(&lines.join("\n"))
    }

    /// The problems, one a line, with the temporary directory written as `T`.
    fn problems(&self) -> String {
        self.filtered(&self.try_load().unwrap_err().to_string())
    }

    fn filtered(&self, text: &str) -> String {
        text.replace(&shown(self.directory.path()), "T")
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The value behind a dotted path.
fn at(loaded: &Loaded, path: &str) -> Value {
    let steps: Vec<&str> = path.split('.').collect();
    loaded.tree.find(&steps).map_or(Value::Null, Node::to_value)
}
