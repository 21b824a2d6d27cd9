//! The imports of a `CLAUDE.md`: `@path` in its text, outside of code, at most four files deep. Only
//! text files within the project are followed.

use std::path::{Path, PathBuf};

use ::files::foreign::{self, Boundary};
use ::files::path::normalize;

use super::FILE_LIMIT;

/// Files that lead from one to the next.
const HOPS: usize = 4;

/// Endings of files that are text for people.
const ENDINGS: [&str; 5] = ["md", "mdc", "markdown", "txt", "rst"];

#[derive(Debug, Default)]
pub(super) struct Imports {
    /// Files of the project, each once, in the order of their names in the text.
    pub(super) files: Vec<PathBuf>,
    /// Names of texts that are not read.
    pub(super) left_out: Vec<String>,
}

/// The imports of `file`, and theirs in turn; `root` is canonical.
pub(super) fn of(file: &Path, root: &Path) -> Imports {
    let mut found = Imports::default();
    follow(file, root, HOPS, &mut found);
    found
}

fn follow(file: &Path, root: &Path, hops: usize, found: &mut Imports) {
    let boundary = [root.to_path_buf()];
    let Ok(read) = foreign::read(file, Boundary::Within(&boundary), FILE_LIMIT) else { return };
    for name in named(&read.text) {
        let path = normalize(&file.parent().unwrap_or(root).join(name));
        let is_there = !name.starts_with('~') && path.starts_with(root) && path.is_file();
        if is_there && hops > 0 {
            if !found.files.contains(&path) {
                found.files.push(path.clone());
                follow(&path, root, hops - 1, found);
            }
        } else if has_ending(Path::new(name)) && !found.left_out.iter().any(|known| known == name) {
            found.left_out.push(name.to_owned());
        }
    }
}

/// The paths behind `@` in a text that could be for people, without those in code.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let mut is_fenced = false;
    let prose = text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        is_fenced ^= is_fence;
        !is_fenced && !is_fence
    });
    let prose = prose.flat_map(|line| line.split('`').step_by(2));
    let names = prose.flat_map(str::split_whitespace).filter_map(|word| word.strip_prefix('@'));
    let names = names.map(|name| name.trim_end_matches(|c: char| ".,;:!?)]\"'".contains(c)));
    names.filter(|name| is_for_people(Path::new(name)))
}

fn has_ending(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
}

/// Returns true if a name is one of a text; `README` and its like, and what npm is told, are.
fn is_for_people(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_title = !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    has_ending(path) || is_title || name == "package.json"
}
