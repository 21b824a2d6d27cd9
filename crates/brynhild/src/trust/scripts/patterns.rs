//! Patterns in the place of files: those that fit are looked for in every folder on the way, so that a new
//! one which fits is noticed by the names in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{By, MOST_OPEN, Search};

impl Search<'_> {
    /// A pattern: what could run in its folder, and all that fits it, if it is run itself; else of these
    /// what could run.
    pub(super) fn note_pattern(&mut self, base: &Path, word: &str, by: By) {
        let Some(path) = self.within(base, word) else { return };
        let folder = path.parent().unwrap_or(self.root);
        self.note_all(folder, 0, By::Script);
        if is_coverable(word) {
            for path in self.fitting(base, word) {
                self.note(&path, by);
            }
        }
    }

    /// The paths beneath the root that fit a pattern.
    fn fitting(&mut self, base: &Path, pattern: &str) -> Vec<PathBuf> {
        let mut paths = vec![base.to_owned()];
        for name in pattern.split('/') {
            let mut next = Vec::new();
            for path in &paths {
                match name {
                    "" | "." => next.push(path.clone()),
                    ".." => next.extend(path.parent().map(Path::to_owned)),
                    name if name.contains(['*', '?']) => {
                        let names = self.names(path);
                        let fit = names.all().filter(|it| is_fit(it, name));
                        next.extend(fit.map(|it| path.join(it)));
                    }
                    name => next.push(path.join(name)),
                }
            }
            next.retain(|path| path.starts_with(self.root));
            if next.len() > MOST_OPEN {
                let what = format!("`{pattern}` fits more than {MOST_OPEN} files");
                self.problem.get_or_insert(what);
                return Vec::new();
            }
            paths = next;
        }
        paths
    }
}

/// Whether the files that fit a pattern are looked for: not all that there is in several folders.
fn is_coverable(pattern: &str) -> bool {
    if pattern.contains(['[', '{', '$', '~', '\\']) || pattern.starts_with('/') {
        return false;
    }
    let (folders, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
    let has_start = !name.starts_with(['*', '?']);
    let is_open = |name: &str| name.contains(['*', '?']);
    has_start || (!["", "."].contains(&folders) && !is_open(folders))
}

/// Whether a shell takes a name for one that fits. Hidden ones fit only a pattern with the dot.
fn is_fit(name: &OsString, pattern: &str) -> bool {
    let name: Vec<char> = name.to_string_lossy().chars().collect();
    let pattern: Vec<char> = pattern.chars().collect();
    if name.first() == Some(&'.') && pattern.first() != Some(&'.') {
        return false;
    }
    let (mut at, mut in_pattern, mut last) = (0, 0, None);
    while at < name.len() {
        match pattern.get(in_pattern) {
            Some('*') => {
                last = Some((at, in_pattern));
                in_pattern += 1;
            }
            Some(sign) if *sign == '?' || *sign == name[at] => {
                at += 1;
                in_pattern += 1;
            }
            _ => {
                let Some((start, star)) = last else { return false };
                last = Some((start + 1, star));
                at = start + 1;
                in_pattern = star + 1;
            }
        }
    }
    pattern[in_pattern..].iter().all(|sign| *sign == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_as_a_shell_takes_them() {
        for (name, pattern, fits) in [
            ("tools", "too*", true),
            ("tools", "t??ls", true),
            ("tools", "*", true),
            ("tools", "*ol*s", true),
            ("tools", "too?", false),
            (".tools", "*", false),
            (".tools", ".t*", true),
            ("x.sh", "*.sh", true),
            ("x.sh", "*.py", false),
        ] {
            assert_eq!(is_fit(&OsString::from(name), pattern), fits, "{name} {pattern}");
        }
    }
}
