//! The folders in which a command could run. There are only ever more of them: what a text does not go to
//! for certain it may not go to at all. Sees too many rather than too few.

use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use super::{Survey, resolve};
use crate::shell::tolerant::{GAP, Piece};

/// How many folders a script may be in.
const FOLDERS: usize = 32;

/// More operands of a program that moves files are not looked at.
const OPERANDS: usize = 8;

/// How a `..` behind a link is followed.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Way {
    /// As the names say.
    #[default]
    Named,
    /// From where the link leads.
    True,
}

impl Survey {
    /// Goes along where a program moves a folder in which the text is: its `..` is another one then.
    pub(super) fn moved_along(&mut self, name: &str, args: &[Piece]) {
        let args = match name {
            "mv" | "gmv" => args,
            "git" => {
                args.split_at(args.iter().position(|it| it.text == "mv").unwrap_or(args.len())).1
            }
            _ => return,
        };
        let operands = args.iter().filter(|word| !word.text.starts_with('-'));
        let operands: Vec<&Piece> = operands.take(OPERANDS).collect();
        let home = self.home.clone();
        let mut moved = Vec::new();
        for folder in self.folders.iter() {
            let path = |word: &&Piece| resolve(word, folder, home.as_deref());
            for from in operands.iter().filter_map(path) {
                let Ok(below) = folder.strip_prefix(&from) else { continue };
                let to = operands.iter().filter_map(path).filter(|to| *to != from);
                // Into a folder that is there, or to this very name.
                let within = |to: PathBuf| [from.file_name().map(|name| to.join(name)), Some(to)];
                moved.extend(to.flat_map(within).flatten().map(|to| to.join(below)));
            }
        }
        for path in moved {
            let text = path.to_string_lossy().into_owned();
            self.go_to(&Piece { text, ..Piece::default() }, self.way);
        }
    }

    /// Goes where `cd` with these arguments does.
    pub(super) fn change_folder(&mut self, args: &[Piece]) {
        let is_option = |word: &&Piece| {
            let letters = word.text.strip_prefix('-').unwrap_or_default();
            !letters.is_empty() && letters.bytes().all(|letter| b"LPe@-".contains(&letter))
        };
        let options = args.iter().take_while(is_option);
        let is_true = options.clone().any(|word| word.text.contains('P'));
        let home = Piece { text: String::from("~"), home: true, ..Piece::default() };
        let target = args.get(options.count()).unwrap_or(&home);
        self.go_to(target, if is_true { Way::True } else { self.way });
    }

    /// Goes to the folder that a word means.
    pub(super) fn go_to(&mut self, target: &Piece, way: Way) {
        // Of too many folders no more are made; one that is named in full is known all the same.
        let is_whole = target.home || target.text.starts_with('/');
        if self.adrift && self.folders.len() > FOLDERS / 2 && !is_whole {
            return;
        }
        let mut folders = self.folders.to_vec();
        for folder in self.folders.iter() {
            let moved = if let Some(moved) = resolve(target, folder, self.home.as_deref()) {
                let is_back = way == Way::True || goes_back(folder);
                let back = Some(folder.join(&target.text));
                let back = back.filter(|path| is_back && !target.home && goes_back(path));
                [Some(moved), back]
            } else {
                self.adrift = true;
                [behind_gap(target, folder), None]
            };
            // Their bytes tell: they are normal but for a way back that is followed on disk.
            for moved in moved.into_iter().flatten() {
                if !folders.iter().any(|known| known.as_os_str() == moved.as_os_str()) {
                    folders.push(moved);
                }
            }
        }
        if folders.len() > FOLDERS {
            self.adrift = true;
        } else if folders.len() > self.folders.len() {
            self.folders = Rc::from(folders);
        }
    }
}

/// The folder that a word means if what is filled in says nothing.
fn behind_gap(target: &Piece, folder: &Path) -> Option<PathBuf> {
    let marked = target.marked();
    let rest = marked.rsplit_once(GAP)?.1.trim_start_matches('/');
    let path = Path::new(rest);
    (!rest.is_empty() && !goes_back(path)).then(|| folder.join(path))
}

fn goes_back(path: &Path) -> bool {
    path.components().any(|component| component == Component::ParentDir)
}
