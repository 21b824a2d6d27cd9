//! Packages of Node.js: what a name means as one, or as a program that comes with one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::folders::Names;
use super::reading::Word;
use super::{By, Search};

/// A folder of packages, that of the programs which come with them, and the names in both.
pub(super) struct Packages {
    folder: PathBuf,
    programs: PathBuf,
    names: [Rc<Names>; 2],
}

impl Search<'_> {
    /// The folders of packages that a script in `base` would look into.
    pub(super) fn package_folders(&mut self, base: &Path) -> Vec<Packages> {
        let bases: BTreeSet<&Path> = [base, self.root].into();
        let mut packages = Vec::new();
        for base in bases {
            if self.names(base).contains("node_modules") {
                let folder = base.join("node_modules");
                let programs = folder.join(".bin");
                let names = [self.names(&folder), self.names(&programs)];
                packages.push(Packages { folder, programs, names });
            }
        }
        packages
    }

    /// What a word means as the name of a package, or of a program that comes with one.
    pub(super) fn note_in_packages(&mut self, base: &Path, packages: &Packages, word: &Word) {
        let Packages { folder, programs, names: [inner, started] } = packages;
        let [start, _] = &word.starts;
        let (is_package, is_program) = (inner.could_lead(start), started.could_lead(start));
        if !(is_package || is_program) || self.within(base, &word.text).is_none() {
            return;
        }
        let path = folder.join(&word.text);
        if is_package && self.begins(&path) {
            self.note(&path.join("package.json"), By::CommandLine);
            self.note_module(folder, word);
        }
        self.note(&programs.join(&word.text), By::CommandLine);
    }

    /// The nearest `package.json`, where a script of JavaScript is told by it what names mean: those
    /// with a `#`, and that of the package itself.
    pub(super) fn note_package(&mut self, folder: &Path, script: &[u8]) {
        let above = folder.ancestors().take_while(|above| above.starts_with(self.root));
        let file = above.map(|above| above.join("package.json")).find(|file| file.is_file());
        let Some(file) = file else { return };
        self.looked.insert(file.clone());
        let script = String::from_utf8_lossy(script);
        let package: Option<serde_json::Value> =
            fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let name = package.as_ref().and_then(|package| package["name"].as_str());
        let names_itself = name.is_some_and(|name| !name.is_empty() && script.contains(name));
        if names_itself || ["'#", "\"#"].iter().any(|sign| script.contains(sign)) {
            self.note(&file, By::CommandLine);
        }
    }
}
