//! The bytes that trust is about: every surface file, and every file that a command line names, at
//! one moment. Only reads; follows no symlink of a surface; runs nothing.

pub(crate) mod named_files;

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use contract::sandbox::Fixed;

use crate::program::Program;
use crate::surfaces::{self, Surface};

const MAX_FILES: usize = 5_000;
const MAX_BYTES: u64 = 64 << 20;
const MAX_DEPTH: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CoveredFile {
    pub(crate) path: String,
    pub(crate) kind: Kind,
    /// True if it is covered only because a command line names it.
    pub(crate) is_named: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    File,
    /// A symlink, which is never followed.
    Link,
    /// Anything else, which is never read.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) part: CoveredFile,
    pub(crate) mode: u32,
    pub(crate) hash: String,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) entries: Vec<Entry>,
    pub(crate) hash: String,
}

impl CoveredFile {
    pub(crate) fn surface(&self) -> &'static Surface {
        let other = if self.is_named { &surfaces::NAMED } else { &surfaces::LINK };
        surfaces::of(&self.path).filter(|_| !self.is_named).unwrap_or(other)
    }
}

pub(crate) fn parts(root: &Path) -> Result<Vec<CoveredFile>, String> {
    let mut parts = Vec::new();
    for place in surfaces::places() {
        find(root, place, &mut parts)?;
    }
    parts.sort_unstable();
    parts.dedup();
    Ok(parts)
}

/// Follows a path from the root up to the first symlink.
fn find(root: &Path, place: &str, parts: &mut Vec<CoveredFile>) -> Result<(), String> {
    let names: Vec<&str> = place.split('/').collect();
    for index in 0..names.len() {
        let path = names[..=index].join("/");
        let Ok(found) = root.join(&path).symlink_metadata() else { return Ok(()) };
        if !found.is_dir() {
            let is_whole = index + 1 == names.len();
            return if is_whole || found.is_symlink() { push(parts, path, &found) } else { Ok(()) };
        }
    }
    if surfaces::is_directory(place) {
        walk(root, place, 0, parts)?;
    }
    Ok(())
}

fn walk(
    root: &Path,
    directory: &str,
    depth: usize,
    parts: &mut Vec<CoveredFile>,
) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("{directory} has more than {MAX_DEPTH} levels of directories"));
    }
    let cannot = |error: io::Error| format!("cannot read {directory}: {error}");
    for entry in root.join(directory).read_dir().map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let name = entry.file_name();
        let name = name.to_str().ok_or_else(|| {
            format!("{directory} has a file name that is not UTF-8: {}", name.to_string_lossy())
        })?;
        let path = format!("{directory}/{name}");
        let found = entry.path().symlink_metadata().map_err(cannot)?;
        // A repository's own data does not come with a clone or a pull.
        if name == ".git" {
            continue;
        }
        if found.is_dir() {
            walk(root, &path, depth + 1, parts)?;
        } else {
            push(parts, path, &found)?;
        }
    }
    Ok(())
}

fn push(parts: &mut Vec<CoveredFile>, path: String, found: &Metadata) -> Result<(), String> {
    let kind = if found.is_symlink() {
        Kind::Link
    } else if found.is_file() {
        Kind::File
    } else {
        Kind::Other
    };
    let is_executable = found.mode() & 0o111 != 0;
    let counts = surfaces::of(&path).is_some() && (is_executable || !surfaces::is_data(&path));
    if kind == Kind::File && !counts {
        return Ok(());
    }
    if parts.len() >= MAX_FILES {
        return Err(format!("there are more than {MAX_FILES} files"));
    }
    parts.push(CoveredFile { path, kind, is_named: false });
    Ok(())
}

impl Snapshot {
    pub(crate) fn read(root: &Path, program: &Program) -> Result<Self, String> {
        let mut left = MAX_BYTES;
        let mut entries = read(root, parts(root)?, &mut left)?;
        let mut named = named_files::covered(root, &entries, program);
        named.retain(|part| !entries.iter().any(|entry| entry.part.path == part.path));
        entries.extend(read(root, named.into_iter().collect(), &mut left)?);
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"brynhild trust 2\n");
        for entry in &entries {
            hasher.update(&[entry.part.kind as u8]);
            hasher.update(&(entry.part.path.len() as u64).to_le_bytes());
            hasher.update(entry.part.path.as_bytes());
            hasher.update(&entry.mode.to_le_bytes());
            hasher.update(entry.hash.as_bytes());
        }
        let hash = hasher.finalize().to_hex().to_string();
        Ok(Self { entries, hash })
    }
}

impl Entry {
    /// Returns true if a hook may run it.
    pub(crate) fn is_script(&self) -> bool {
        let path = &self.part.path;
        let is_hook = path.contains("/hooks/") || path.ends_with("/hooks.yaml");
        self.part.kind == Kind::File && (self.part.is_named || is_hook)
    }

    pub(crate) fn fixed(self, root: &Path) -> Fixed {
        Fixed { place: root.join(&self.part.path), bytes: self.bytes.into(), mode: self.mode }
    }
}

fn read(root: &Path, parts: Vec<CoveredFile>, left: &mut u64) -> Result<Vec<Entry>, String> {
    parts.into_iter().map(|part| entry(root, part, left)).collect()
}

fn entry(root: &Path, part: CoveredFile, left: &mut u64) -> Result<Entry, String> {
    let path = root.join(&part.path);
    let cannot = |error: io::Error| format!("cannot read {}: {error}", part.path);
    let (mode, bytes) = match part.kind {
        Kind::File => {
            let file = open(&path).map_err(cannot)?;
            let found = file.metadata().map_err(cannot)?;
            if !found.is_file() {
                return Err(format!("{} changed while it was read", part.path));
            }
            let mut bytes = Vec::new();
            file.take(*left + 1).read_to_end(&mut bytes).map_err(cannot)?;
            let Some(rest) = left.checked_sub(bytes.len() as u64) else {
                return Err(format!("there are more than {} MiB of files", MAX_BYTES >> 20));
            };
            *left = rest;
            (found.mode() & 0o7777, bytes)
        }
        Kind::Link => (0, path.read_link().map_err(cannot)?.as_os_str().as_bytes().to_vec()),
        Kind::Other => (0, Vec::new()),
    };
    let hash = blake3::hash(&bytes).to_hex().to_string();
    Ok(Entry { part, mode, hash, bytes })
}

/// Opens a file that is not a symlink. Opening a FIFO does not block.
fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn project() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), ".brynhild/config.yaml", "a: 1");
        write(directory.path(), ".brynhild/hooks/h.sh", "echo");
        write(directory.path(), "src/main.rs", "fn main() {}");
        directory
    }

    fn hash(directory: &tempfile::TempDir) -> String {
        Snapshot::read(directory.path(), &crate::program::NONE).unwrap().hash
    }

    #[test]
    fn hash_covers_bytes_modes_names_and_symlinks() {
        let directory = project();
        let root = directory.path();
        let mut seen = vec![hash(&directory)];
        write(root, "src/main.rs", "changed");
        write(root, "AGENTS.md", "text");
        assert_eq!(hash(&directory), seen[0]);
        let changes: [&dyn Fn(); 7] = [
            &|| write(root, ".brynhild/hooks/h.sh", "ech0"),
            &|| {
                let mode = fs::Permissions::from_mode(0o755);
                fs::set_permissions(root.join(".brynhild/hooks/h.sh"), mode).unwrap();
            },
            &|| {
                fs::rename(root.join(".brynhild/hooks/h.sh"), root.join(".brynhild/hooks/i.sh"))
                    .unwrap();
            },
            &|| write(root, ".env", ""),
            &|| symlink("/etc", root.join(".brynhild/hooks/link")).unwrap(),
            &|| {
                fs::remove_file(root.join(".brynhild/hooks/link")).unwrap();
                symlink("/usr", root.join(".brynhild/hooks/link")).unwrap();
            },
            &|| {
                fs::remove_file(root.join(".brynhild/hooks/link")).unwrap();
                write(root, ".brynhild/hooks/link", "/usr");
            },
        ];
        for change in changes {
            change();
            let current = hash(&directory);
            assert!(!seen.contains(&current));
            seen.push(current);
        }
    }

    #[test]
    fn no_symlink_is_followed() {
        let directory = project();
        let other = tempfile::tempdir().unwrap();
        symlink(directory.path().join(".brynhild"), other.path().join(".brynhild")).unwrap();
        fs::create_dir(other.path().join("real")).unwrap();
        write(other.path(), "real/settings.json", "{}");
        symlink("real", other.path().join(".claude")).unwrap();
        let found = parts(other.path()).unwrap();
        let link =
            |path: &str| CoveredFile { path: path.into(), kind: Kind::Link, is_named: false };
        assert_eq!(found, [link(".brynhild"), link(".claude")]);
        let read = Snapshot::read(other.path(), &crate::program::NONE).unwrap().entries;
        assert!(read[0].bytes.ends_with(b"/.brynhild"));
        assert_eq!(read[1].bytes, b"real");
    }

    #[test]
    fn fifo_does_not_block() {
        let directory = project();
        let pipe = directory.path().join(".mcp.json");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        let snapshot = Snapshot::read(directory.path(), &crate::program::NONE).unwrap();
        assert!(snapshot.entries.iter().any(|entry| entry.part.kind == Kind::Other));
    }

    #[test]
    fn directory_named_env_is_ignored() {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), ".env/bin/python", "");
        assert!(parts(directory.path()).unwrap().is_empty());
    }
}
