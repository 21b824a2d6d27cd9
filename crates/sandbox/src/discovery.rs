//! Where git finds the repository that it works on: folder by folder upwards, by a `.git` or by what lies
//! in the folder itself. Where git may go past something, that counts and what is above it too; what is
//! not plain is an error. Only reads, and waits for no pipe.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use contract::text::normalize;

use crate::contents;
use crate::protected::is_bare_repository;

pub(crate) use crate::contents::is_absent;

/// The longest file that git reads for the sake of a path.
const MOST_BYTES: u64 = 1 << 20;

/// A repository that git may work on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    /// Where it keeps what is its own.
    pub(crate) directory: PathBuf,
    /// The folder whose files it has, unless its settings say otherwise.
    pub(crate) tree: PathBuf,
}

/// The repository that git works on in `folder`, last, after those that it may have gone past. None
/// of them has a link on its way.
pub(crate) fn around(folder: &Path) -> Result<Vec<Repository>, String> {
    let mut found = Vec::new();
    let folder = real(folder);
    for tree in folder.ancestors() {
        let own = Repository::at(tree)?;
        let bare = || Repository { directory: tree.to_owned(), tree: tree.to_owned() };
        let bare = is_bare_repository(tree).then(bare);
        for repository in own.into_iter().chain(bare) {
            let is_taken = is_taken(&repository.directory);
            found.push(repository);
            if is_taken {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

impl Repository {
    /// The repository of a `.git` in a folder; none where there is no such name.
    pub(crate) fn at(tree: &Path) -> Result<Option<Self>, String> {
        let path = tree.join(".git");
        match fs::symlink_metadata(&path) {
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(format!("{}: {error}", path.display())),
            Ok(_) => {
                let directory = git_directory(tree);
                let directory =
                    directory.ok_or_else(|| format!("{} is no repository", path.display()))?;
                Ok(Some(Self { directory, tree: tree.to_owned() }))
            }
        }
    }

    /// Whether it is nothing but what git keeps, without a `.git`.
    pub(crate) fn is_bare(&self) -> bool {
        self.directory == self.tree
    }
}

/// The git directory of a working tree.
pub(crate) fn git_directory(folder: &Path) -> Option<PathBuf> {
    let path = folder.join(".git");
    let found = fs::symlink_metadata(&path).ok()?;
    if found.is_dir() {
        return Some(path);
    }
    let target = if found.is_file() { told(&path, b"gitdir: ")? } else { return None };
    fs::canonicalize(folder.join(target)).ok()
}

/// The folder whose settings and hooks count for a git directory: another one where it is a further tree
/// of that.
pub(crate) fn common(git: &Path) -> Result<PathBuf, String> {
    let file = git.join("commondir");
    if fs::symlink_metadata(&file).is_err_and(|error| is_absent(&error)) {
        return Ok(git.to_owned());
    }
    let target = told(&file, b"").and_then(|target| fs::canonicalize(git.join(target)).ok());
    target.ok_or_else(|| format!("{} leads to no repository", file.display()))
}

/// The path that a file holds after some bytes. Git takes only the ends of lines from its end.
pub(crate) fn told(file: &Path, before: &[u8]) -> Option<PathBuf> {
    let text = contents::file(file, MOST_BYTES).known()?;
    let mut path = text.strip_prefix(before)?;
    while let Some(rest) = path.strip_suffix(b"\n").or_else(|| path.strip_suffix(b"\r")) {
        path = rest;
    }
    // Git itself sees no further than such a byte.
    let is_plain = !path.is_empty() && !path.contains(&0);
    is_plain.then(|| PathBuf::from(OsStr::from_bytes(path)))
}

/// The folder that a git directory names as its tree by `core.worktree`; none where it is not there, or
/// a link lies on the way, which could lead elsewhere later.
pub(crate) fn named_tree(directory: &Path, value: &Path) -> Option<PathBuf> {
    let is_upwards = |part: &Component<'_>| *part == Component::ParentDir;
    let turns_back = value.components().skip_while(is_upwards).any(|part| is_upwards(&part));
    let named = normalize(&fs::canonicalize(directory).ok()?.join(value));
    let is_real = fs::canonicalize(&named).is_ok_and(|real| real == named);
    (is_real && !turns_back).then_some(named)
}

/// A path whose links are followed as far as something is there.
pub(crate) fn real(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|above| {
        let below = path.strip_prefix(above).ok()?;
        let above = fs::canonicalize(above).ok()?;
        // Joining nothing would add a slash.
        Some(if below.as_os_str().is_empty() { above } else { above.join(below) })
    });
    found.unwrap_or_else(|| path.to_owned())
}

/// Whether git surely takes a folder for a git directory and looks no further.
fn is_taken(git: &Path) -> bool {
    let head = git.join("HEAD");
    let head = contents::plain_file(&head, 4096).known().unwrap_or_default();
    let is_hash = head.len() >= 40 && head[..40].iter().all(u8::is_ascii_hexdigit);
    // This fails where the folder must not be entered.
    let has = |name: &str| common(git).is_ok_and(|it| fs::metadata(it.join(name)).is_ok());
    (is_hash || head.starts_with(b"ref: refs/")) && has("objects/.") && has("refs/.")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn write(path: &Path, text: &[u8]) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn make(git: &Path, head: &str) {
        for name in ["objects", "refs"] {
            fs::create_dir_all(git.join(name)).unwrap();
        }
        write(&git.join("HEAD"), head.as_bytes());
        write(&git.join("config"), b"[core]\nrepositoryformatversion = 0\n");
    }

    /// The git directory that git takes in a folder.
    #[expect(clippy::disallowed_methods, reason = "git itself says what it takes")]
    fn taken_by_git(folder: &Path) -> Option<PathBuf> {
        let output = Command::new("git")
            .args(["rev-parse", "--absolute-git-dir"])
            .current_dir(folder)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .output()
            .unwrap();
        let path = OsStr::from_bytes(output.stdout.strip_suffix(b"\n")?);
        output.status.success().then(|| fs::canonicalize(path).unwrap())
    }

    const HEAD: &str = "ref: refs/heads/main\n";

    type Change = fn(&Path);

    /// What is put into a folder of a repository.
    const CHANGES: [(&str, Change); 14] = [
        ("nothing", |_| {}),
        ("bare", |sub| make(sub, HEAD)),
        ("own", |sub| make(&sub.join(".git"), HEAD)),
        ("empty", |sub| fs::create_dir(sub.join(".git")).unwrap()),
        ("no head", |sub| {
            make(&sub.join(".git"), HEAD);
            fs::remove_file(sub.join(".git/HEAD")).unwrap();
        }),
        ("no refs", |sub| {
            make(&sub.join(".git"), HEAD);
            fs::remove_dir(sub.join(".git/refs")).unwrap();
        }),
        ("another head", |sub| make(&sub.join(".git"), "x\n")),
        ("no branch", |sub| make(&sub.join(".git"), &"a".repeat(40))),
        ("bare beside an empty one", |sub| {
            fs::create_dir(sub.join(".git")).unwrap();
            make(sub, HEAD);
        }),
        ("file", |sub| {
            make(&sub.join("other"), HEAD);
            write(&sub.join(".git"), b"gitdir: other\r\n\n");
        }),
        ("file with blanks", |sub| {
            make(&sub.join("other"), HEAD);
            make(&sub.join(" other "), HEAD);
            write(&sub.join(".git"), b"gitdir:  other \n");
        }),
        ("file without a blank", |sub| {
            make(&sub.join("other"), HEAD);
            write(&sub.join(".git"), b"gitdir:other\n");
        }),
        ("link", |sub| {
            make(&sub.join("other"), HEAD);
            std::os::unix::fs::symlink("other", sub.join(".git")).unwrap();
        }),
        ("common", |sub| {
            make(&sub.join("evil\u{e4} "), HEAD);
            write(&sub.join(".git/HEAD"), HEAD.as_bytes());
            write(&sub.join(".git/commondir"), "../evil\u{e4} \n".as_bytes());
        }),
    ];

    #[test]
    fn the_repository_that_git_takes_is_found_or_it_is_an_error() {
        for (name, change) in CHANGES {
            let base = tempfile::tempdir().unwrap();
            let root = base.path().canonicalize().unwrap();
            make(&root.join(".git"), HEAD);
            let sub = root.join("sub");
            fs::create_dir_all(sub.join("deep/er")).unwrap();
            change(&sub);
            std::os::unix::fs::symlink("sub/deep", root.join("link")).unwrap();
            for folder in [sub.clone(), sub.join("deep/er"), root.join("link")] {
                let found = around(&folder);
                let taken = taken_by_git(&folder);
                assert!(taken.is_some() || found.is_err(), "{name}: git takes none");
                let has = |all: Vec<Repository>| taken == all.last().map(|it| real(&it.directory));
                assert!(found.is_err() || found.is_ok_and(has), "{name}: not {taken:?}");
            }
            let is_plain = !["link", "file without a blank"].contains(&name);
            assert_eq!(around(&sub).is_ok(), is_plain, "{name}");
        }
    }

    #[test]
    fn what_a_git_directory_shares_is_found_or_it_is_an_error() {
        let base = tempfile::tempdir().unwrap();
        let git = base.path().canonicalize().unwrap().join("git");
        fs::create_dir_all(git.join(OsStr::from_bytes(b"ev\xff"))).unwrap();
        assert_eq!(common(&git).as_ref(), Ok(&git));
        fs::write(git.join("commondir"), b"ev\xff\n").unwrap();
        assert_eq!(common(&git), Ok(git.join(OsStr::from_bytes(b"ev\xff"))));
        for text in [b"".as_slice(), b"nothing", b"ev\xff\0", b" ev\xff"] {
            fs::write(git.join("commondir"), text).unwrap();
            assert!(common(&git).is_err(), "{text:?}");
        }
        fs::remove_file(git.join("commondir")).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, git.join("commondir"), mode).unwrap();
        assert!(common(&git).is_err());
    }

    #[test]
    fn a_tree_is_named_without_links_or_not_at_all() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/.git")).unwrap();
        std::os::unix::fs::symlink(".", root.join("a/link")).unwrap();
        let named = |value: &str| named_tree(&root.join("a/.git"), Path::new(value));
        let whole = root.join("a").display().to_string();
        for value in ["..", "../../a", "../.", whole.as_str()] {
            assert_eq!(named(value), Some(root.join("a")), "{value}");
        }
        for value in ["../link", "../link/../../a", "../nothing", "../.git/.."] {
            assert_eq!(named(value), None, "{value}");
        }
    }
}
