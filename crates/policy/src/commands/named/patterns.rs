//! Words with wildcards, held against a rule by what lies on the disk: no shell makes a name of them that is
//! not there, unless the same text makes the file first.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::Ruled;
use crate::glob::{Reading, covers, is_deep};
use crate::ground::{Meant, is_wild, spelled_out};
use crate::rules::{Steps, Touch};
use crate::shell::base_name;

/// Programs that make files of names which the text does not say.
const MAKERS: &[&str] = &[
    "git", "tar", "gtar", "bsdtar", "unzip", "7z", "cpio", "patch", "rsync", "scp", "cp", "mv",
    "ln", "wget", "curl", "mkdir", "touch", "tee", "install",
];

impl Ruled<'_, '_> {
    /// The files that a path with wildcards stands for; none where that cannot be told from the disk.
    pub(super) fn listed(&self, (folder, text): (&Path, &str)) -> Option<Meant> {
        // What is written thus is understood by some shells alone, and some are told to disregard case.
        if text.contains(['(', ')', '|']) || self.read.globs().is_open {
            return None;
        }
        let ends = &self.read.ends;
        let meant = ends.meant(folder, text, self.wild);
        meant.is_whole.then_some(meant)
    }

    /// Whether one of the files that a path with wildcards stands for is one that the rule means.
    pub(super) fn is_meant(&self, path: &Path, meant: &Meant) -> bool {
        if meant.bases.iter().any(|base| self.fits(base, Reading::Literal)) {
            return true;
        }
        // In a loop the variable that holds a pattern becomes what is there, and more may follow it.
        let may_follow = || ["$", "{}", "`"].iter().any(|sign| self.read.text.contains(sign));
        let may_be_new = || self.touch.includes(Touch::Write) && may_follow();
        let is_there = |end: &Path| may_be_new() || self.read.ends.real(end).is_some();
        if meant.paths.iter().any(|end| self.fits(end, Reading::Literal) && is_there(end)) {
            return true;
        }
        let text = path.to_string_lossy();
        if text.split('/').any(is_deep) && self.is_below(&spelled_out(path), &text) {
            return true;
        }
        if self.makes_files() && self.is_told_by(&text) && self.fits(path, self.wild) {
            self.made.set(Some(text.into_owned()));
        }
        false
    }

    /// Whether the rule means what is in a folder, or where that leads.
    pub(super) fn names_folder(&self, folder: &Path) -> bool {
        let is_plain = !is_wild(&folder.to_string_lossy());
        is_plain
            && (self.fits(folder, Reading::Literal)
                || self.fits(&self.read.ends.of(folder), Reading::Literal))
    }

    /// The files at or below a folder that the rule means.
    pub(super) fn below(&self, folder: &Path) -> Rc<[PathBuf]> {
        if let Some(below) = self.below.borrow().get(folder) {
            return Rc::clone(below);
        }
        let files = self.read.ends.files(folder);
        let means = |file: &&PathBuf| {
            self.pattern.could_be(&file.to_string_lossy()) && self.fits(file, Reading::Literal)
        };
        let below: Rc<[PathBuf]> = files.iter().filter(means).cloned().collect();
        self.below.borrow_mut().insert(folder.to_owned(), Rc::clone(&below));
        below
    }

    /// Whether a path whose stars may stand for any number of folders stands for such a file, or for a
    /// folder that the rule means.
    fn is_below(&self, base: &Path, pattern: &str) -> bool {
        let real = self.read.ends.of(base);
        let below = self.below(&real);
        if below.is_empty() {
            return false;
        }
        let last = pattern.rsplit('/').next().unwrap_or_default();
        let pattern = if is_deep(last) { format!("{pattern}/*") } else { pattern.to_owned() };
        let is_covered = |path: &Path| {
            let named =
                path.strip_prefix(&real).map_or_else(|_| path.to_owned(), |it| base.join(it));
            covers((&pattern, self.wild), &named.to_string_lossy())
                && self.fits(path, Reading::Literal)
        };
        if !self.read.ends.affords_compared(below.len()) {
            return false;
        }
        below.iter().any(|file| {
            let mut within = file.ancestors().take_while(|it| it.starts_with(&real) && *it != real);
            within.any(is_covered)
        })
    }

    /// Whether a pattern in the text of another language stands for such a file: whoever fills it in may be in
    /// any folder by then.
    pub(super) fn is_anywhere(&self, folder: &Path, text: &str) -> bool {
        let is_below = !text.starts_with(['/', '~']) && !text.split('/').any(|part| part == "..");
        is_below && self.is_below(folder, &format!("{}/**/{text}", folder.display()))
    }

    /// Whether a pattern says something of what the rule names, and not only that it could be anything.
    fn is_told_by(&self, pattern: &str) -> bool {
        let steps = self.steps.get_or_init(|| self.pattern.steps(self.call.places));
        let pattern = pattern.to_lowercase();
        let tells = |steps: &Steps| steps.are_told_by(&pattern, Reading::Shell);
        steps.iter().any(tells)
    }

    /// Whether the text runs something that brings files of which it does not say the names.
    fn makes_files(&self) -> bool {
        *self.makes_files.get_or_init(|| {
            let commands = &self.read.survey.commands;
            commands.iter().any(|found| {
                let program = found.argv().first().map_or("", |word| base_name(&word.text));
                MAKERS.contains(&program)
            })
        })
    }
}
