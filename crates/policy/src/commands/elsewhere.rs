//! Git with files of another folder than that of its repository: rules for files do not see which ones it
//! shows. Sees too many rather than too few; never used to allow.

use std::collections::HashSet;
use std::path::PathBuf;

use super::{Read, sweep};
use crate::call::Call;
use crate::findings::{FLOOR, Finding, Lift, ask};
use crate::floor::shown;
use crate::shell::{Found, Piece, resolve};

/// More commands of git are not looked at one by one.
const MOST: usize = 64;

/// Options, settings and variables that give git another repository, or other files.
const NAMES: &[&str] = &[
    "--work-tree",
    "--git-dir",
    "core.worktree",
    "--config-env=core.worktree",
    "git_work_tree",
    "git_dir",
    "git_common_dir",
    "git_object_directory",
    "git_alternate_object",
    "git_config_key",
    "git_config_parameters",
];

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
    // A variable may be set by any command before, in whatever quotes.
    let is_variable = |text: &str| {
        let text = text.to_ascii_lowercase();
        NAMES.iter().any(|name| name.starts_with("git_") && text.starts_with(name))
    };
    let sets = |found: &Found| {
        let named = |word: &Piece| is_variable(&word.text) || is_computed(word);
        found.before().iter().chain(found.argv()).any(named)
    };
    let is_set = ["git_work_tree", "git_dir"].iter().any(|name| text.contains(name))
        || read.survey.assigned.iter().any(|name| is_variable(name))
        || read.survey.whole_commands().any(sets);
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
            match folders(call, found, words) {
                Some(folders) => folders.into_iter().find_map(&mut leads),
                None => Some(String::from("it is told so too often")),
            }
        };
        if let Some(why) = why {
            let why = format!("git may show files of another folder, which rules deny: {why}");
            return Some(ask(&shown(words), &why, FLOOR).lifted_by(Lift::Never));
        }
    }
    None
}

/// Whether a word sets a variable whose name is not known as a whole.
fn is_computed(word: &Piece) -> bool {
    let end = word.text.find('=');
    end.is_some_and(|end| word.gaps.iter().any(|gap| *gap <= end) && is_name(&word.text[..end]))
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// The folders that git with these words could look at; none where these are too many.
fn folders(call: &Call<'_>, found: &Found, words: &[Piece]) -> Option<Vec<PathBuf>> {
    let mut folders = found.folders.to_vec();
    let mut known: HashSet<PathBuf> = folders.iter().cloned().collect();
    for (option, target) in words.iter().zip(words.iter().skip(1)) {
        if option.text != "-C" {
            continue;
        }
        let home = call.places.home.as_deref();
        for at in 0..folders.len() {
            let moved = resolve(target, &folders[at], home);
            if let Some(moved) = moved.filter(|moved| known.insert(moved.clone())) {
                folders.push(moved);
            }
        }
        if folders.len() > MOST {
            return None;
        }
    }
    Some(folders)
}
