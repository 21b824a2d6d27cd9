//! The path of a target, and the check that it stays within the allowed directories.

use std::fs;
use std::path::{Component, Path, PathBuf};

const MOST_LINKS: usize = 40;

pub(super) struct Roots<'a> {
    /// The directory that relative targets start from.
    pub(super) base: &'a Path,
    pub(super) extra: &'a [PathBuf],
    pub(super) home: Option<&'a Path>,
}

impl Roots<'_> {
    /// The path that a target means, links resolved; none where it leads out of all directories. An
    /// absolute path that lies in none of them is taken from the base.
    pub(super) fn path(&self, target: &str) -> Option<PathBuf> {
        let target = target.trim();
        if target.contains('\0') {
            return None;
        }
        let base = resolve(self.base)?;
        let meant = match target.chars().next() {
            None => return Some(base),
            Some('/') => {
                let absolute = resolve(Path::new(target))?;
                if self.holds(&base, &absolute) {
                    return Some(absolute);
                }
                base.join(target.trim_start_matches(['/', '\\']))
            }
            Some('\\') => base.join(target.trim_start_matches(['/', '\\'])),
            Some('~') => match (Path::new(target).strip_prefix("~"), self.home) {
                (Ok(rest), Some(home)) => home.join(rest),
                _ => base.join(target),
            },
            Some(_) => base.join(target),
        };
        resolve(&meant).filter(|path| self.holds(&base, path))
    }

    fn holds(&self, base: &Path, path: &Path) -> bool {
        path.starts_with(base) || self.extra.iter().any(|root| path.starts_with(root))
    }
}

/// A path with symlinks resolved as far as it exists. None if they lead in circles.
fn resolve(path: &Path) -> Option<PathBuf> {
    let mut left: Vec<PathBuf> = parts(path);
    let mut resolved = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = left.pop() {
        if part == Path::new("..") {
            resolved.pop();
            continue;
        }
        resolved.push(&part);
        let Ok(link) = fs::read_link(&resolved) else { continue };
        links += 1;
        if links > MOST_LINKS {
            return None;
        }
        resolved.pop();
        if link.is_absolute() {
            resolved = PathBuf::from("/");
        }
        left.extend(parts(&link));
    }
    Some(resolved)
}

/// The parts of a path that lead somewhere, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let mut parts: Vec<PathBuf> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(PathBuf::from(name)),
            Component::ParentDir => Some(PathBuf::from("..")),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect();
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn target_stays_in_allowed_directories() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        let (base, home, extra) = (top.join("work"), top.join("home"), [top.join("extra")]);
        for path in [&base, &home, &extra[0]] {
            fs::create_dir(path).unwrap();
        }
        symlink(&home, base.join("out")).unwrap();
        symlink("loop", base.join("loop")).unwrap();
        symlink("a/../b", base.join("in")).unwrap();
        let roots = Roots { base: &base, extra: &extra, home: Some(&home) };
        let inside = |target: &str| {
            roots.path(target).map(|path| path.strip_prefix(&top).unwrap().to_owned())
        };
        for (target, wanted) in [
            ("", "work"),
            (" / ", "work"),
            ("\\", "work"),
            ("a/b", "work/a/b"),
            ("./a/../b", "work/b"),
            ("/etc/passwd", "work/etc/passwd"),
            ("\\x", "work/x"),
            ("in", "work/b"),
            ("job_1", "work/job_1"),
            ("~x", "work/~x"),
        ] {
            assert_eq!(inside(target), Some(PathBuf::from(wanted)), "{target}");
        }
        let absolute = extra[0].join("x");
        assert_eq!(roots.path(absolute.to_str().unwrap()), Some(absolute));
        for target in ["..", "../x", "a/../../x", "~", "~/.ssh/id", "out", "out/x", "loop", "a\0b"]
        {
            assert_eq!(inside(target), None, "{target}");
        }
    }
}
