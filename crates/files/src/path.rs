//! Paths as text.

use std::path::{Component, Path, PathBuf};

/// A path without `.` and `..`. It need not exist, and no symlink is followed.
pub fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalize_removes_dots_and_stops_at_the_root() {
        let plain = |typed: &str| normalize(&Path::new("/w/sub").join(typed)).display().to_string();
        assert_eq!(plain("../a.txt"), "/w/a.txt");
        assert_eq!(plain("./x/./y"), "/w/sub/x/y");
        assert_eq!(plain("../../../etc"), "/etc");
        assert_eq!(plain("/w/b"), "/w/b");
    }
}
