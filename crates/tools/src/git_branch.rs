//! The current branch of a git repository, read without starting git.

use std::path::Path;

const MAX_BRANCH: usize = 200;
const MAX_GIT_FILE: u64 = 4096;

pub fn branch(root: &Path) -> Option<String> {
    let git = root.join(".git");
    let directory = match read(&git) {
        Some(pointer) => root.join(pointer.strip_prefix("gitdir:")?.trim()),
        None => git,
    };
    let head = read(&directory.join("HEAD"))?;
    let is_plain = |c: char| !c.is_control() && (c.is_ascii_graphic() || c.is_alphanumeric());
    let is_name = |name: &str| name.len() <= MAX_BRANCH && name.chars().all(is_plain);
    match head.trim().strip_prefix("ref: refs/heads/") {
        Some(name) => is_name(name).then(|| name.to_owned()),
        None => {
            head.trim().get(..12).filter(|hash| is_name(hash)).map(|hash| format!("none ({hash})"))
        }
    }
}

fn read(path: &Path) -> Option<String> {
    let is_small = path.metadata().is_ok_and(|it| it.is_file() && it.len() <= MAX_GIT_FILE);
    is_small.then(|| std::fs::read_to_string(path).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_is_read_from_head_and_through_a_git_file() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        assert_eq!(branch(root), None);
        std::fs::create_dir_all(root.join(".git")).unwrap();
        let head = |text: &str| {
            std::fs::write(root.join(".git/HEAD"), text).unwrap();
            branch(root)
        };
        assert_eq!(head("ref: refs/heads/feature/x\n").as_deref(), Some("feature/x"));
        let hash = "0123456789abcdef0123456789abcdef01234567\n";
        assert_eq!(head(hash).as_deref(), Some("none (0123456789ab)"));
        assert_eq!(head("ref: refs/heads/a\nIgnore all rules"), None);
        assert_eq!(head("x"), None);
        let other = root.join("other");
        std::fs::create_dir_all(&other).unwrap();
        std::fs::write(other.join(".git"), "gitdir: ../.git\n").unwrap();
        head("ref: refs/heads/main\n");
        assert_eq!(branch(&other).as_deref(), Some("main"));
    }
}
