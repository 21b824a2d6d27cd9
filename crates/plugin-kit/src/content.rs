//! The files of a plugin: their hashes, what changed, and a copy that holds no symlink.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use files::{bounded, private};

const MOST_FILES: usize = 20_000;
const LARGEST_FILE: u64 = 64 << 20;
/// Directories that are made again, and the history of a repository.
const LEFT_OUT: [&str; 5] = [".git", "node_modules", "__pycache__", ".venv", "venv"];

/// The hash of each file, by its path in the plugin.
pub type Content = BTreeMap<PathBuf, String>;

/// Reads a plugin's files. Symlinks are not followed.
pub fn content(directory: &Path) -> io::Result<Content> {
    let mut content = Content::new();
    each_file(directory, directory, &mut |path, source| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&read(source)?);
        hasher.update(&[u8::from(is_executable(source))]);
        content.insert(path, hasher.finalize().to_hex()[..32].to_owned());
        Ok(())
    })?;
    Ok(content)
}

/// One hash over all files.
pub fn hash(content: &Content) -> String {
    let mut hasher = blake3::Hasher::new();
    for (path, file) in content {
        for part in [path.as_os_str().as_encoded_bytes(), file.as_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// The files that differ: `+` added, `-` removed, `~` changed.
pub fn changes(before: &Content, after: &Content) -> Vec<(char, PathBuf)> {
    let removed = before.keys().filter(|path| !after.contains_key(*path)).map(|path| ('-', path));
    let other = after.iter().filter_map(|(path, file)| match before.get(path) {
        None => Some(('+', path)),
        Some(known) if known != file => Some(('~', path)),
        Some(_) => None,
    });
    let mut changes: Vec<_> = removed.chain(other).map(|(sign, it)| (sign, it.clone())).collect();
    changes.sort_by(|one, other| one.1.cmp(&other.1));
    changes
}

/// Copies a plugin's files to a directory that does not exist yet. Symlinks are left out and returned.
pub fn copy(from: &Path, to: &Path) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(to)?;
    each_file(from, from, &mut |path, source| {
        let target = to.join(path);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&target, read(source)?)?;
        let mode = if is_executable(source) { 0o755 } else { 0o644 };
        fs::set_permissions(&target, fs::Permissions::from_mode(mode))
    })
}

/// Moves the directory `fresh` to `target`. A former one is moved beside `fresh`, and back if this fails.
pub fn replace(fresh: &Path, target: &Path) -> io::Result<()> {
    if let Some(parent) = target.parent() {
        private::make_directory(parent)?;
    }
    let old = fresh.with_file_name("old");
    let is_replaced = target.exists();
    if is_replaced {
        fs::rename(target, &old)?;
    }
    fs::rename(fresh, target).inspect_err(|_| {
        if is_replaced {
            // The first rename worked, so this one does: both are in the same directories.
            drop(fs::rename(&old, target));
        }
    })
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    bounded::read(file, LARGEST_FILE)?
        .ok_or_else(|| io::Error::other(format!("{} is larger than 64 MiB", file.display())))
}

fn is_executable(file: &Path) -> bool {
    fs::symlink_metadata(file).is_ok_and(|it| it.permissions().mode() & 0o111 != 0)
}

/// Visits the regular files below a directory, sorted. Returns the symlinks, which are left out.
fn each_file(
    root: &Path,
    directory: &Path,
    visit: &mut dyn FnMut(PathBuf, &Path) -> io::Result<()>,
) -> io::Result<Vec<PathBuf>> {
    let mut symlinks = Vec::new();
    let mut directories = vec![directory.to_owned()];
    let mut count = 0;
    while let Some(directory) = directories.pop() {
        let mut entries = fs::read_dir(&directory)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, kind) = (entry.path(), entry.file_type()?);
            let inside = path.strip_prefix(root).unwrap_or(&path).to_owned();
            if kind.is_symlink() {
                symlinks.push(inside);
            } else if kind.is_dir() {
                if !LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
                    directories.push(path);
                }
            } else if kind.is_file() {
                count += 1;
                if count > MOST_FILES {
                    return Err(io::Error::other("it has more than 20,000 files"));
                }
                visit(inside, &path)?;
            }
        }
    }
    Ok(symlinks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_has_the_same_content_without_symlinks() {
        let base = tempfile::tempdir().unwrap();
        let from = base.path().join("from");
        for (file, text) in [("a.py", "1"), ("sub/b", "2"), (".git/x", "3"), ("sub/.venv/y", "4")] {
            let file = from.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        fs::set_permissions(from.join("sub/b"), fs::Permissions::from_mode(0o700)).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.join("outside")).unwrap();
        let to = base.path().join("to");
        assert_eq!(copy(&from, &to).unwrap(), [PathBuf::from("outside")]);
        let (one, other) = (content(&from).unwrap(), content(&to).unwrap());
        assert_eq!(one, other);
        assert_eq!(one.keys().collect::<Vec<_>>(), ["a.py", "sub/b"].map(Path::new));
        fs::write(to.join("a.py"), "changed").unwrap();
        fs::write(to.join("new"), "").unwrap();
        fs::remove_file(to.join("sub/b")).unwrap();
        let after = content(&to).unwrap();
        let expected = [('~', "a.py"), ('+', "new"), ('-', "sub/b")];
        assert_eq!(changes(&one, &after), expected.map(|(sign, it)| (sign, PathBuf::from(it))));
        assert_ne!(hash(&one), hash(&after));
    }
}
