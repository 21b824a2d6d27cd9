//! The bytes that trust is about: every file of the surfaces as it is at one moment. Only reads;
//! follows no symbolic link; interprets nothing.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use contract::sandbox::Fixed;

use super::scripts::{self, Named};
use super::surfaces::{self, Effect, Surface};

const MOST_FILES: usize = 5_000;
const MOST_BYTES: u64 = 64 << 20;
const DEEPEST: usize = 32;

/// What is there, without what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// From the project's root.
    pub(crate) path: String,
    /// What kind of file it is.
    pub(crate) kind: Kind,
    /// Whether it counts because a command line leads to it.
    pub(crate) is_named: bool,
}

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A regular file.
    File,
    /// A symbolic link, which is never read through.
    Link,
    /// A folder that Python takes for a package: that it is there counts.
    Package,
    /// Something else, which is never read.
    Other,
}

/// One file with what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// What it is.
    pub(crate) part: Part,
    /// Its permission bits.
    pub(crate) mode: u32,
    /// Of its bytes; for a link, of the text that it leads to.
    pub(crate) hash: String,
    /// Those bytes.
    pub(crate) bytes: Vec<u8>,
}

/// All files of the surfaces, in the order of their names.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// The files.
    pub(crate) entries: Vec<Entry>,
    /// Over all names, modes and bytes.
    pub(crate) hash: String,
    /// Those that command lines lead to, from the root.
    pub(crate) led_to: BTreeSet<String>,
    /// The links that lead out of the root, where one leads to them.
    pub(crate) outward: BTreeSet<String>,
    /// The folders that were looked into to find out what command lines lead to.
    pub(crate) looked: BTreeSet<PathBuf>,
    /// Whether it is of a folder that is used in projects, and not of a project.
    pub(crate) is_folder: bool,
}

impl Part {
    /// What trust would change for it.
    pub(crate) fn effect(&self) -> Effect {
        self.surface().effect
    }

    /// What it could do.
    pub(crate) fn could(&self) -> &'static str {
        self.surface().could
    }

    fn surface(&self) -> &'static Surface {
        if self.is_named { &surfaces::NAMED } else { surfaces::of(&self.path) }
    }
}

/// What is there. Opens no file.
pub(crate) fn parts(root: &Path) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    for place in surfaces::places() {
        find(root, place, &mut parts)?;
    }
    parts.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(parts)
}

/// Follows a place from the root as far as no link is in the way.
fn find(root: &Path, place: &str, parts: &mut Vec<Part>) -> Result<(), String> {
    let mut path = String::new();
    let names: Vec<&str> = place.split('/').collect();
    for (index, name) in names.iter().enumerate() {
        if index > 0 {
            path.push('/');
        }
        path.push_str(name);
        let Ok(found) = root.join(&path).symlink_metadata() else {
            return Ok(());
        };
        if !found.is_dir() {
            // A file in the way of a folder leads nowhere.
            let is_whole = index + 1 == names.len();
            if is_whole || found.is_symlink() {
                push(parts, path, kind(&found))?;
            }
            return Ok(());
        }
    }
    // A folder in place of a file that is meant is something else.
    if surfaces::is_folder(place) {
        walk(root, &path, 0, parts)?;
    }
    Ok(())
}

fn walk(root: &Path, folder: &str, depth: usize, parts: &mut Vec<Part>) -> Result<(), String> {
    if depth > DEEPEST {
        return Err(format!("{folder} is too deep to be looked at"));
    }
    let cannot = |error: io::Error| format!("cannot read {folder}: {error}");
    for entry in root.join(folder).read_dir().map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let name = entry.file_name();
        let name = name.to_str().ok_or_else(|| {
            format!("{folder} holds a name that is not valid text: {}", name.to_string_lossy())
        })?;
        let path = format!("{folder}/{name}");
        let found = entry.path().symlink_metadata().map_err(cannot)?;
        if surfaces::is_history(name) {
            continue;
        }
        if found.is_dir() {
            walk(root, &path, depth + 1, parts)?;
        } else {
            push(parts, path, kind(&found))?;
        }
    }
    Ok(())
}

fn push(parts: &mut Vec<Part>, path: String, kind: Kind) -> Result<(), String> {
    if parts.len() >= MOST_FILES {
        return Err(format!("there are more than {MOST_FILES} files"));
    }
    // Two places may lead to the same link.
    if kind != Kind::Link || !parts.iter().any(|part| part.path == path) {
        parts.push(Part { path, kind, is_named: false });
    }
    Ok(())
}

fn kind(found: &std::fs::Metadata) -> Kind {
    if found.is_symlink() {
        Kind::Link
    } else if found.is_file() {
        Kind::File
    } else {
        Kind::Other
    }
}

/// What counts only because something else leads to it.
fn added(named: &Named, entries: &[Entry]) -> Vec<Part> {
    let known: BTreeSet<&str> = entries.iter().map(|entry| entry.part.path.as_str()).collect();
    let files = named.files.iter().map(|path| (path, Kind::File));
    let packages = named.packages.iter().map(|path| (path, Kind::Package));
    let links = named.written.iter().map(|path| (path, Kind::Link));
    let new = files.chain(packages).chain(links).filter(|(path, _)| !known.contains(path.as_str()));
    new.map(|(path, kind)| Part { path: path.clone(), kind, is_named: true }).collect()
}

impl Snapshot {
    /// Reads all of it, and all that it would run.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let mut left = MOST_BYTES;
        let mut entries = read(root, parts(root)?, &mut left)?;
        let named = scripts::named((root, root), &scripts::texts(root, &entries))?;
        entries.extend(read(root, added(&named, &entries), &mut left)?);
        Ok(Self::hashed(entries, named))
    }

    /// Reads all of one folder, which must not lead out of itself.
    pub(crate) fn of_folder(folder: &Path) -> Result<Self, String> {
        let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
            return Err(format!("{} is no plugin's folder", folder.display()));
        };
        let name = name
            .to_str()
            .ok_or_else(|| format!("{} holds a name that is not valid text", folder.display()))?;
        let mut parts = Vec::new();
        walk(parent, name, 0, &mut parts).map_err(|what| {
            format!("{}: {what}; keep the role or plugin in a folder of its own", folder.display())
        })?;
        let is_started = |part: &Part| {
            let found = parent.join(&part.path).metadata();
            found.is_ok_and(|found| found.mode() & 0o111 != 0)
        };
        let counts = |part: &Part| {
            part.kind != Kind::File || !surfaces::is_inert(&part.path) || is_started(part)
        };
        parts.retain(counts);
        parts.sort_by(|one, other| one.path.cmp(&other.path));
        let leads_out = |part: &&Part| {
            let target = parent.join(&part.path).canonicalize();
            part.kind == Kind::Link && !target.is_ok_and(|target| target.starts_with(folder))
        };
        if let Some(part) = parts.iter().find(leads_out) {
            return Err(format!("{} is a link that leads out of the plugin's folder", part.path));
        }
        let mut left = MOST_BYTES;
        let mut entries = read(parent, parts, &mut left)?;
        // Something that would count for nothing may be named by what counts.
        let mut named = scripts::named((parent, folder), &scripts::texts(parent, &entries))?;
        named.files.retain(|path| parent.join(path).starts_with(folder));
        // All of the folder is looked at in any case.
        named.packages.clear();
        named.written.clear();
        named.looked.clear();
        entries.extend(read(parent, added(&named, &entries), &mut left)?);
        Ok(Self { is_folder: true, ..Self::hashed(entries, named) })
    }

    fn hashed(entries: Vec<Entry>, named: Named) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"brynhild trust 1\n");
        for entry in &entries {
            let kind: u8 = match entry.part.kind {
                Kind::File => 0,
                Kind::Link => 1,
                Kind::Other => 2,
                Kind::Package => 3,
            };
            hasher.update(&[kind]);
            hasher.update(&(entry.part.path.len() as u64).to_le_bytes());
            hasher.update(entry.part.path.as_bytes());
            hasher.update(&entry.mode.to_le_bytes());
            hasher.update(entry.hash.as_bytes());
        }
        let hash = hasher.finalize().to_hex().to_string();
        let Named { files, outward, looked, .. } = named;
        Self { entries, hash, led_to: files, outward, looked, is_folder: false }
    }
}

impl Entry {
    /// The same, to be compared later.
    pub(crate) fn without_bytes(&self) -> Self {
        let Self { part, mode, hash, .. } = self;
        Self { part: part.clone(), mode: *mode, hash: hash.clone(), bytes: Vec::new() }
    }

    /// The file with its bytes, where it is still the same.
    pub(crate) fn fixed(&self, root: &Path) -> Option<Fixed> {
        let place = root.join(&self.part.path);
        let is_there = place.canonicalize().is_ok_and(|real| real == place);
        let found = entry(root, self.part.clone(), MOST_BYTES).ok().filter(|_| is_there)?;
        let is_same = (found.mode, &found.hash) == (self.mode, &self.hash);
        is_same.then(|| Fixed { place, bytes: found.bytes.into(), mode: found.mode })
    }
}

fn read(root: &Path, parts: Vec<Part>, left: &mut u64) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for part in parts {
        let entry = entry(root, part, *left)?;
        *left = left.saturating_sub(entry.bytes.len() as u64);
        entries.push(entry);
    }
    Ok(entries)
}

fn entry(root: &Path, part: Part, left: u64) -> Result<Entry, String> {
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
            file.take(left + 1).read_to_end(&mut bytes).map_err(cannot)?;
            if bytes.len() as u64 > left {
                return Err(format!("there are more than {} MiB of files", MOST_BYTES >> 20));
            }
            (found.mode() & 0o7777, bytes)
        }
        Kind::Link => (0, path.read_link().map_err(cannot)?.as_os_str().as_bytes().to_vec()),
        Kind::Package | Kind::Other => (0, Vec::new()),
    };
    let hash = blake3::hash(&bytes).to_hex().to_string();
    Ok(Entry { part, mode, hash, bytes })
}

/// Opens a file that is no link; one that would make us wait is found out by its kind.
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
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), ".brynhild/config.yaml", "a: 1");
        write(folder.path(), ".brynhild/hooks/h.sh", "echo");
        write(folder.path(), "src/main.rs", "fn main() {}");
        folder
    }

    fn hash(folder: &tempfile::TempDir) -> String {
        Snapshot::read(folder.path()).unwrap().hash
    }

    #[test]
    fn every_byte_mode_name_and_link_counts_and_nothing_else() {
        let folder = project();
        let root = folder.path();
        let mut seen = vec![hash(&folder)];
        write(root, "src/main.rs", "changed");
        write(root, "AGENTS.md", "text");
        assert_eq!(hash(&folder), seen[0]);
        let changes: [&dyn Fn(); 7] = [
            &|| write(root, ".brynhild/hooks/h.sh", "ech0"),
            &|| {
                let mode = fs::Permissions::from_mode(0o755);
                fs::set_permissions(root.join(".brynhild/hooks/h.sh"), mode).unwrap();
            },
            &|| fs::rename(root.join(".brynhild/hooks/h.sh"), root.join(".brynhild/h.sh")).unwrap(),
            &|| write(root, ".env", ""),
            &|| symlink("/etc", root.join(".brynhild/link")).unwrap(),
            &|| {
                fs::remove_file(root.join(".brynhild/link")).unwrap();
                symlink("/usr", root.join(".brynhild/link")).unwrap();
            },
            &|| {
                fs::remove_file(root.join(".brynhild/link")).unwrap();
                write(root, ".brynhild/link", "/usr");
            },
        ];
        for change in changes {
            change();
            let current = hash(&folder);
            assert!(!seen.contains(&current));
            seen.push(current);
        }
    }

    #[test]
    fn nothing_is_read_through_a_link() {
        let folder = project();
        let other = tempfile::tempdir().unwrap();
        symlink(folder.path().join(".brynhild"), other.path().join(".brynhild")).unwrap();
        fs::create_dir(other.path().join("real")).unwrap();
        write(other.path(), "real/settings.json", "{}");
        symlink("real", other.path().join(".claude")).unwrap();
        let found = parts(other.path()).unwrap();
        let link = |path: &str| Part { path: path.into(), kind: Kind::Link, is_named: false };
        assert_eq!(found, [link(".brynhild"), link(".claude")]);
        let read = Snapshot::read(other.path()).unwrap().entries;
        assert!(read[0].bytes.ends_with(b"/.brynhild"));
        assert_eq!(read[1].bytes, b"real");
    }

    #[test]
    fn a_pipe_does_not_make_us_wait() {
        let folder = project();
        let pipe = folder.path().join(".mcp.json");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        let snapshot = Snapshot::read(folder.path()).unwrap();
        assert!(snapshot.entries.iter().any(|entry| entry.part.kind == Kind::Other));
    }

    #[test]
    fn a_folder_named_like_the_env_file_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), ".env/bin/python", "");
        assert!(parts(folder.path()).unwrap().is_empty());
    }
}
