//! Git with files of another folder than that of its repository: rules for files do not see which ones it
//! shows. Sees too many rather than too few; never used to allow.

use std::path::PathBuf;

use super::{Read, sweep};
use crate::call::Call;
use crate::findings::{FLOOR, Finding, Lift, ask};
use crate::floor::shown;
use crate::shell::{Found, Piece, resolve};

/// More commands of git are not looked at one by one.
const MOST: usize = 64;

/// Options, settings and variables that give git another repository, or other files.
const NAMES: &[&str] = &["--work-tree", "--git-dir", "core.worktree", "git_work_tree", "git_dir"];

/// The question about the first such command, where files are denied or asked about.
pub(super) fn shown_from_elsewhere(call: &Call<'_>, read: &Read<'_>) -> Option<Finding> {
    let ground = call.ground.look()?;
    if !sweep::has_rules(call) {
        return None;
    }
    let mut running = read.index.running(read.survey, "git").take(MOST + 1).peekable();
    running.peek()?;
    let text = read.text.to_ascii_lowercase();
    let is_told = |words: &[Piece]| {
        let says = |word: &Piece| {
            let word = word.text.to_ascii_lowercase();
            NAMES.iter().any(|name| word.starts_with(name))
        };
        words.iter().any(says)
    };
    let is_set = ["git_work_tree", "git_dir"].iter().any(|name| text.contains(name));
    let mut known: Vec<PathBuf> = Vec::new();
    for (count, (found, at)) in running.enumerate() {
        let words = &found.argv()[at..];
        let mut leads = |folder: PathBuf| {
            let is_new = !known.contains(&folder);
            let why = if is_new { ground.git_elsewhere(&folder) } else { None };
            known.push(folder);
            why
        };
        let why = if count >= MOST || is_set || is_told(words) || is_told(found.before()) {
            Some(String::from("it is told where"))
        } else {
            folders(call, found, words).into_iter().find_map(&mut leads)
        };
        if let Some(why) = why {
            let why = format!("git may show files of another folder, which rules deny: {why}");
            return Some(ask(&shown(words), &why, FLOOR).lifted_by(Lift::Never));
        }
    }
    None
}

/// The folders that git with these words could look at.
fn folders(call: &Call<'_>, found: &Found, words: &[Piece]) -> Vec<PathBuf> {
    let mut folders = found.folders.to_vec();
    for (option, target) in words.iter().zip(words.iter().skip(1)) {
        if option.text == "-C" {
            let home = call.places.home.as_deref();
            let moved = folders.iter().filter_map(|folder| resolve(target, folder, home));
            let moved: Vec<PathBuf> = moved.collect();
            folders.extend(moved);
            folders.truncate(MOST);
        }
    }
    folders
}
