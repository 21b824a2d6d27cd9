//! Files that a text for a shell writes: a link in the place of one is written through.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use policy::script::{self, Command, Piece, Word};

use super::inert::program;
use super::{By, Search};

/// The paths that a text writes to, from folders that are not known where a variable stands before them.
pub(super) fn written(text: &str) -> BTreeSet<String> {
    let commands = script::read(text).unwrap_or_default();
    commands.iter().flat_map(targets).filter_map(path).collect()
}

/// The words of a command that name files which it writes.
pub(super) fn targets(command: &Command) -> Vec<&Word> {
    let is_tee = program(command) == Some("tee");
    let given = command.words.iter().skip(1).filter(|_| is_tee);
    command.targets.iter().chain(given.filter(|it| it.literal() != Some("-a"))).collect()
}

fn path(word: &Word) -> Option<String> {
    match word.pieces.as_slice() {
        [Piece::Text(path)] => Some(path.clone()),
        [.., Piece::Text(path)] => Some(path.split_once('/')?.1.to_owned()),
        _ => None,
    }
}

impl Search<'_> {
    /// Links in the place of what is written: that there is none counts as well.
    pub(super) fn note_written(&mut self, paths: &BTreeSet<String>, bases: &BTreeSet<PathBuf>) {
        for (base, path) in bases.iter().flat_map(|base| paths.iter().map(move |it| (base, it))) {
            let Some(path) = self.within(base, path) else { continue };
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { continue };
            let is_there = self.names(folder).contains(name);
            let Some(found) = path.symlink_metadata().ok().filter(|_| is_there) else { continue };
            if found.is_symlink() {
                self.written.insert(path);
            } else if found.nlink() > 1 {
                // By another name it may be a script.
                self.note(&path, By::CommandLine);
            }
        }
    }
}
