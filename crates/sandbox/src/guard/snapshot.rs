//! The content of protected names before a command, where no mount keeps them from it, and how it
//! is brought back.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use contract::sandbox::SandboxError;

use super::print::{Print, is_exhausted};
use super::{named, quarantine, with_rights};
use crate::closed;
use crate::held::Held;
use crate::nested::Nested;
use crate::protected::{self, is_bare_repository};

pub(crate) const SAVED_ENTRIES: usize = 20_000;
pub(crate) const SAVED_BYTES: u64 = 64 << 20;
/// How many entries are looked at for a folder that was moved.
const SEARCHED: usize = 100_000;

/// The parts of a git directory that make git run or obey something.
const GIT_PARTS: [&str; 10] = [
    "config",
    "config.worktree",
    "commondir",
    "hooks",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "info/sparse-checkout",
    "objects/info/alternates",
    "objects/info/http-alternates",
];
const MOST_PARTS: usize = 1000;

/// The protected names of one root, with their content.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(super) root: PathBuf,
    /// Whether git would have taken the root for a repository before.
    pub(super) was_bare: bool,
    /// Git directories, whose number in the file system finds them again.
    places: BTreeMap<PathBuf, u64>,
    pub(super) names: Vec<PathBuf>,
    pub(super) saved: BTreeMap<PathBuf, Saved>,
    /// What was saved as it looks from outside, for when it cannot be opened.
    prints: BTreeMap<PathBuf, Print>,
    /// Modes that must stay: of protected folders, and of secrets elsewhere.
    modes: BTreeMap<PathBuf, u32>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Saved {
    Folder,
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    Link(PathBuf),
    /// A pipe, socket or device, of which only that it is there is known.
    Special,
}

impl Snapshot {
    /// Saves the protected names under `root`, deeper in which `nested` was found.
    pub(crate) fn take(root: &Path, nested: &Nested) -> Result<Self, SandboxError> {
        let found = protected::find(root, nested)?;
        let names = [found.present, found.absent, found.watched, found.more].concat();
        Self::of(root, names).map_err(|error| match error {
            SandboxError::Refused(why) => SandboxError::Refused(format!(
                "{why}; with bubblewrap it would get one, so install that"
            )),
            other => other,
        })
    }

    /// Saves these names under `root`.
    pub(crate) fn of(root: &Path, names: Vec<PathBuf>) -> Result<Self, SandboxError> {
        let mut snapshot = Self {
            root: root.to_owned(),
            was_bare: is_bare_repository(root),
            places: BTreeMap::new(),
            names: Vec::new(),
            saved: BTreeMap::new(),
            prints: BTreeMap::new(),
            modes: BTreeMap::new(),
        };
        for name in names {
            snapshot.keep_modes([name.clone()]);
            snapshot.places.extend(git_number(&name).map(|number| (name.clone(), number)));
            for part in parts(&name) {
                let mut saved = BTreeMap::new();
                let mut budget = (SAVED_ENTRIES, SAVED_BYTES);
                save(&part, &mut saved, &mut budget).map_err(|error| unguarded(&part, &error))?;
                let prints = saved.keys().filter_map(|path| Some((path.clone(), Print::of(path)?)));
                snapshot.prints.extend(prints);
                snapshot.saved.append(&mut saved);
                snapshot.names.push(part);
            }
        }
        Ok(snapshot)
    }

    /// Keeps the modes of these too, where they exist.
    pub(crate) fn keep_modes(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        self.modes.extend(paths.into_iter().filter_map(|path| {
            let mode = mode(Held::of(&path).ok()?.path())?;
            Some((path, mode))
        }));
    }

    /// The first path whose mode is another one.
    pub(super) fn other_mode(&self) -> Option<&Path> {
        self.other_modes().next().map(|(path, _)| path)
    }

    /// Paths whose mode is another one, with the one that they had.
    fn other_modes(&self) -> impl Iterator<Item = (&Path, u32)> {
        let modes = self.modes.iter().map(|(path, kept)| (path.as_path(), *kept));
        modes.filter(|(path, kept)| mode(path).is_some_and(|mode| mode != *kept))
    }

    /// Whether `path`, which could not be opened because no descriptor is left, is seen to be as it
    /// was: a limit must neither hide a change nor look like one.
    pub(super) fn is_untouched(&self, path: &Path, error: &io::Error) -> bool {
        is_exhausted(error) && self.prints.get(path).copied() == Print::of(path)
    }

    /// Undoes every change; `moved` tells of each.
    pub(super) fn restore(&self, moved: &mut Vec<io::Result<String>>) {
        // A folder comes before what lies in it, and could not be looked into otherwise.
        for (path, kept) in self.other_modes() {
            let done = closed::set_mode(path, kept).map_err(|error| named(path, &error));
            let words = format!("a confined process changed the mode of `{}`", path.display());
            moved.push(done.map(|()| format!("{words}; it was put back")));
        }
        for (path, number) in &self.places {
            if git_number(path) != Some(*number) {
                moved.extend(self.bring_back(path, *number));
            }
        }
        for part in &self.names {
            self.clear_way(part, moved);
        }
        for (path, saved) in &self.saved {
            match read(path) {
                Ok(found) if found.as_ref() == Some(saved) => continue,
                Err(error) if self.is_untouched(path, &error) => continue,
                Ok(_) | Err(_) => {}
            }
            self.put_back(path, saved, moved);
        }
        let (mut found, mut closed) = (BTreeSet::new(), Vec::new());
        for name in &self.names {
            list(name, &mut found, &mut closed);
        }
        // What cannot be told from what was planted among it goes with it.
        for (path, error) in closed {
            if !self.is_untouched(&path, &error) {
                moved.push(quarantine(&self.root, &path));
            }
        }
        for path in found.iter().filter(|path| !self.saved.contains_key(*path)) {
            if fs::symlink_metadata(path).is_ok() {
                moved.push(quarantine(&self.root, path));
            }
        }
    }
}

impl Snapshot {
    /// Writes what was saved, once nothing is in its place.
    fn put_back(&self, path: &Path, saved: &Saved, moved: &mut Vec<io::Result<String>>) {
        if fs::symlink_metadata(path).is_ok() && !self.put_away(path, moved) {
            return;
        }
        if let Err(error) = with_rights(&self.root, path, || write(path, saved)) {
            moved.push(Err(named(path, &error)));
        }
    }

    /// Moves something out of effect. Returns whether that was done.
    fn put_away(&self, path: &Path, moved: &mut Vec<io::Result<String>>) -> bool {
        let away = quarantine(&self.root, path);
        let is_away = away.is_ok();
        moved.push(away);
        is_away
    }

    /// Takes away whatever stands between the root and `part` and is no folder, so that nothing is
    /// done through a link; makes the folders that are gone, if something goes back into them.
    fn clear_way(&self, part: &Path, moved: &mut Vec<io::Result<String>>) {
        let between = part.ancestors().skip(1).take_while(|folder| *folder != self.root);
        for folder in between.collect::<Vec<_>>().into_iter().rev() {
            let found = fs::symlink_metadata(folder);
            if found.as_ref().is_ok_and(fs::Metadata::is_dir) {
                continue;
            }
            if found.is_ok() && !self.put_away(folder, moved) {
                return;
            }
            if self.saved.contains_key(part)
                && let Err(error) = write(folder, &Saved::Folder)
            {
                moved.push(Err(named(folder, &error)));
            }
        }
    }

    /// Puts a git directory back that was moved within the root; what took its place goes away.
    fn bring_back(&self, path: &Path, number: u64) -> Option<io::Result<String>> {
        let place = find_folder(&self.root, number)?;
        // Where a folder above it was moved, that comes back.
        let (mut from, mut to) = (place.as_path(), path);
        while let (Some(above), Some(gone)) = (from.parent(), to.parent())
            && from.file_name() == to.file_name()
            && above != self.root
            && fs::symlink_metadata(gone).is_err()
        {
            (from, to) = (above, gone);
        }
        let brought = || {
            if fs::symlink_metadata(path).is_ok() {
                quarantine(&self.root, path)?;
            }
            let way = to.ancestors().skip(1).take_while(|folder| *folder != self.root);
            let way = way.take_while(|folder| fs::symlink_metadata(folder).is_err());
            for folder in way.collect::<Vec<_>>().into_iter().rev() {
                write(folder, &Saved::Folder).map_err(|error| named(folder, &error))?;
            }
            let act = || fs::rename(Held::of(from)?.path(), Held::of(to)?.path());
            let moved = || with_rights(&self.root, from, act);
            with_rights(&self.root, to, moved).map_err(|error| named(path, &error))?;
            let (place, path) = (place.display(), path.display());
            Ok(format!("a confined process moved `{path}` to `{place}`; it was moved back"))
        };
        Some(brought())
    }
}

/// What cannot be brought back must not be touched at all.
fn unguarded(path: &Path, error: &io::Error) -> SandboxError {
    SandboxError::Refused(format!(
        "{} cannot be guarded ({error}): protected names without a mount are saved before a command; \
         make it smaller, or use read-only access",
        path.display()
    ))
}

/// The mode of what is no link.
fn mode(path: &Path) -> Option<u32> {
    let metadata = fs::symlink_metadata(path).ok()?;
    (!metadata.is_symlink()).then(|| metadata.mode() & 0o7777)
}

/// The number of a git directory; none for anything else.
fn git_number(path: &Path) -> Option<u64> {
    let metadata = fs::symlink_metadata(path).ok()?;
    (path.ends_with(".git") && metadata.is_dir()).then(|| metadata.ino())
}

/// The folder beneath `root` with this number, no link followed.
fn find_folder(root: &Path, number: u64) -> Option<PathBuf> {
    let mut folders = VecDeque::from([root.to_owned()]);
    let mut seen = 0;
    while let Some(folder) = folders.pop_front() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && entry.metadata().is_ok_and(|metadata| metadata.ino() == number) {
                return Some(entry.path());
            }
            if is_folder && seen < SEARCHED {
                folders.push_back(entry.path());
            }
        }
    }
    None
}

/// The protected name itself, or the parts of a git directory that matter.
pub(super) fn parts(name: &Path) -> Vec<PathBuf> {
    let is_folder = fs::symlink_metadata(name).is_ok_and(|metadata| metadata.is_dir());
    if !name.ends_with(".git") || !is_folder {
        return vec![name.to_owned()];
    }
    let mut parts = Vec::new();
    let mut directories = vec![name.to_owned()];
    while let Some(directory) = directories.pop() {
        parts.extend(GIT_PARTS.iter().map(|part| directory.join(part)));
        if parts.len() < MOST_PARTS {
            modules(&directory.join("modules"), &mut directories);
        }
    }
    parts
}

/// The git directories of submodules in `folder`; a module's name may hold slashes.
fn modules(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) || found.len() >= MOST_PARTS {
            continue;
        }
        if fs::symlink_metadata(entry.path().join("HEAD")).is_ok() {
            found.push(entry.path());
        } else {
            modules(&entry.path(), found);
        }
    }
}

fn save(
    path: &Path,
    saved: &mut BTreeMap<PathBuf, Saved>,
    budget: &mut (usize, u64),
) -> io::Result<()> {
    let Some(entry) = read(path)? else {
        return Ok(());
    };
    let size = match &entry {
        Saved::File { bytes, .. } => bytes.len() as u64,
        Saved::Folder | Saved::Link(_) | Saved::Special => 0,
    };
    let over = || io::Error::from(io::ErrorKind::FileTooLarge);
    budget.0 = budget.0.checked_sub(1).ok_or_else(over)?;
    budget.1 = budget.1.checked_sub(size).ok_or_else(over)?;
    let is_folder = entry == Saved::Folder;
    saved.insert(path.to_owned(), entry);
    if is_folder {
        for entry in fs::read_dir(path)? {
            save(&entry?.path(), saved, budget)?;
        }
    }
    Ok(())
}

/// What lies at a path; nothing where it, or a folder on the way, is not there. A link on the way is
/// neither: what is behind it may be anything of the person's.
pub(super) fn read(path: &Path) -> io::Result<Option<Saved>> {
    match Held::of(path).and_then(|held| saved_at(&held)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

fn saved_at(held: &Held) -> io::Result<Saved> {
    let metadata = fs::symlink_metadata(held.path())?;
    if metadata.is_symlink() {
        return Ok(Saved::Link(fs::read_link(held.path())?));
    }
    if metadata.is_dir() {
        return Ok(Saved::Folder);
    }
    if !metadata.is_file() {
        return Ok(Saved::Special);
    }
    if metadata.len() == 0 {
        // Also where nobody may read it, as with what is mounted over files that rules hide.
        return Ok(Saved::File { bytes: Vec::new(), mode: metadata.mode() & 0o7777 });
    }
    let (found, bytes) = held.read(SAVED_BYTES)?;
    Ok(Saved::File { bytes, mode: found.mode() & 0o7777 })
}

pub(super) fn write(path: &Path, saved: &Saved) -> io::Result<()> {
    let held = Held::of(path)?;
    match saved {
        Saved::Folder => fs::create_dir(held.path()),
        Saved::Link(target) => std::os::unix::fs::symlink(target, held.path()),
        Saved::Special => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("{} was a pipe, a socket or a device", path.display()),
        )),
        Saved::File { bytes, mode } => {
            let mut file = OpenOptions::new();
            let mut file = file.write(true).create_new(true).mode(*mode).open(held.path())?;
            file.write_all(bytes)
        }
    }
}

/// Paths at and below `path`, without following links. A planted folder counts as one; `closed` are
/// those that no descriptor is left for.
fn list(path: &Path, found: &mut BTreeSet<PathBuf>, closed: &mut Vec<(PathBuf, io::Error)>) {
    let listed = Held::of(path).and_then(|held| {
        let metadata = fs::symlink_metadata(held.path())?;
        found.insert(path.to_owned());
        if !metadata.is_dir() || found.len() >= 4 * SAVED_ENTRIES {
            return Ok(Vec::new());
        }
        // Not held open while what lies deeper is listed.
        let entries = fs::read_dir(held.path())?.flatten();
        Ok(entries.map(|entry| path.join(entry.file_name())).collect())
    });
    match listed {
        Ok(entries) => entries.iter().for_each(|entry| list(entry, found, closed)),
        Err(error) if is_exhausted(&error) => closed.push((path.to_owned(), error)),
        Err(_) => {}
    }
}

/// How snapshots travel to the process that restores them when nobody else is left to.
impl Snapshot {
    /// The bytes of several snapshots: fields, each after its length.
    pub(crate) fn encode(snapshots: &[Self]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |field: &[u8]| {
            bytes.extend_from_slice(&(field.len() as u64).to_le_bytes());
            bytes.extend_from_slice(field);
        };
        for snapshot in snapshots {
            put(if snapshot.was_bare { b"bare root" } else { b"root" });
            put(snapshot.root.as_os_str().as_bytes());
            for (place, number) in &snapshot.places {
                put(format!("place {number}").as_bytes());
                put(place.as_os_str().as_bytes());
            }
            for (path, mode) in &snapshot.modes {
                put(format!("mode {mode}").as_bytes());
                put(path.as_os_str().as_bytes());
            }
            for (path, print) in &snapshot.prints {
                put(format!("print {}", print.encode()).as_bytes());
                put(path.as_os_str().as_bytes());
            }
            for name in &snapshot.names {
                put(b"name");
                put(name.as_os_str().as_bytes());
            }
            for (path, saved) in &snapshot.saved {
                let (kind, content) = match saved {
                    Saved::Folder => ("folder".to_owned(), [].as_slice()),
                    Saved::Special => ("special".to_owned(), [].as_slice()),
                    Saved::Link(target) => ("link".to_owned(), target.as_os_str().as_bytes()),
                    Saved::File { bytes, mode } => (format!("file {mode}"), bytes.as_slice()),
                };
                put(kind.as_bytes());
                put(path.as_os_str().as_bytes());
                put(content);
            }
        }
        bytes
    }

    /// Reads snapshots back. `None` where the bytes are none.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Vec<Self>> {
        let mut snapshots: Vec<Self> = Vec::new();
        while !bytes.is_empty() {
            let kind = field(&mut bytes)?;
            let path = PathBuf::from(OsStr::from_bytes(field(&mut bytes)?));
            if let b"root" | b"bare root" = kind {
                let was_bare = kind == b"bare root";
                let (places, names, saved) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
                let (prints, modes) = (BTreeMap::new(), BTreeMap::new());
                let root = path;
                snapshots.push(Self { root, was_bare, places, names, saved, prints, modes });
                continue;
            }
            let snapshot = snapshots.last_mut()?;
            let saved = match std::str::from_utf8(kind).ok()?.split_once(' ') {
                None if kind == b"name" => {
                    snapshot.names.push(path);
                    continue;
                }
                None if kind == b"folder" => field(&mut bytes).map(|_| Saved::Folder)?,
                None if kind == b"special" => field(&mut bytes).map(|_| Saved::Special)?,
                None if kind == b"link" => {
                    Saved::Link(PathBuf::from(OsStr::from_bytes(field(&mut bytes)?)))
                }
                Some(("mode", mode)) => {
                    snapshot.modes.insert(path, mode.parse().ok()?);
                    continue;
                }
                Some(("print", numbers)) => {
                    snapshot.prints.insert(path, Print::decode(numbers)?);
                    continue;
                }
                Some(("place", number)) => {
                    snapshot.places.insert(path, number.parse().ok()?);
                    continue;
                }
                Some(("file", mode)) => {
                    Saved::File { mode: mode.parse().ok()?, bytes: field(&mut bytes)?.to_vec() }
                }
                _ => return None,
            };
            snapshot.saved.insert(path, saved);
        }
        Some(snapshots)
    }

    /// Undoes every change in the roots of `snapshots`, with nobody to tell.
    pub(crate) fn restore_all(snapshots: &[Self]) {
        let mut moved = Vec::new();
        for snapshot in snapshots {
            if !snapshot.was_bare {
                moved.extend(super::quarantine_repository(&snapshot.root));
            }
            snapshot.restore(&mut moved);
        }
    }
}

fn field<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let (field, rest) =
        rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    *bytes = rest;
    Some(field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nested::look;

    fn taken(root: &Path) -> Result<Snapshot, SandboxError> {
        Snapshot::take(root, &look(root, None))
    }

    #[test]
    fn a_snapshot_survives_its_journey_and_can_be_restored_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let (root, other) = (folder.path().join("root"), folder.path().join("other"));
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        fs::create_dir_all(root.join(".vscode")).unwrap();
        fs::create_dir_all(&other).unwrap();
        fs::write(root.join(".git/config"), [0, 1, 255]).unwrap();
        std::os::unix::fs::symlink("x", root.join(".vscode/link")).unwrap();
        let taken = [taken(&root).unwrap(), taken(&other).unwrap()];
        let bytes = Snapshot::encode(&taken);
        assert_eq!(Snapshot::decode(&bytes).as_deref(), Some(taken.as_slice()));
        assert_eq!(Snapshot::decode(&bytes[..bytes.len() - 1]), None);
        fs::write(root.join(".git/config"), "evil").unwrap();
        fs::write(root.join(".git/hooks/pre-commit"), "evil").unwrap();
        fs::write(other.join(".envrc"), "evil").unwrap();
        Snapshot::restore_all(&taken);
        assert_eq!(fs::read(root.join(".git/config")).unwrap(), [0, 1, 255]);
        assert!(!root.join(".git/hooks/pre-commit").exists() && !other.join(".envrc").exists());
    }

    #[test]
    fn a_git_directory_that_was_moved_comes_back_with_all_that_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let git = root.join(".git");
        fs::create_dir_all(git.join("objects/aa")).unwrap();
        fs::write(git.join("objects/aa/bb"), "mine").unwrap();
        fs::write(git.join("config"), "mine").unwrap();
        let snapshot = taken(root).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::rename(&git, root.join("a/b/c")).unwrap();
        fs::create_dir(&git).unwrap();
        fs::write(git.join("config"), "evil").unwrap();
        let mut moved = Vec::new();
        snapshot.restore(&mut moved);
        assert_eq!(fs::read_to_string(git.join("objects/aa/bb")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(git.join("config")).unwrap(), "mine");
        assert!(!root.join("a/b/c").exists() && moved.len() == 1, "{moved:?}");
    }

    #[test]
    fn what_is_too_large_to_be_brought_back_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".vscode")).unwrap();
        let large = fs::File::create(folder.path().join(".vscode/large")).unwrap();
        large.set_len(SAVED_BYTES + 1).unwrap();
        let error = taken(folder.path()).unwrap_err().to_string();
        assert!(error.contains(".vscode cannot be guarded"), "{error}");
        fs::remove_file(folder.path().join(".vscode/large")).unwrap();
        let pipe = folder.path().join(".vscode/socket");
        let _socket = std::os::unix::net::UnixListener::bind(pipe).unwrap();
        let taken = [taken(folder.path()).unwrap()];
        assert_eq!(Snapshot::decode(&Snapshot::encode(&taken)).as_deref(), Some(&taken[..]));
    }

    #[test]
    fn the_settings_of_large_submodules_are_kept_too() {
        let folder = tempfile::tempdir().unwrap();
        let module = folder.path().join(".git/modules/group/sub");
        let objects = module.join("objects/aa");
        fs::create_dir_all(&objects).unwrap();
        fs::write(module.join("HEAD"), "ref: refs/heads/main").unwrap();
        fs::write(module.join("config"), "mine").unwrap();
        for number in 0..=SAVED_ENTRIES {
            fs::write(objects.join(number.to_string()), "").unwrap();
        }
        let snapshot = taken(folder.path()).unwrap();
        fs::write(module.join("config"), "evil").unwrap();
        snapshot.restore(&mut Vec::new());
        assert_eq!(fs::read_to_string(module.join("config")).unwrap(), "mine");
    }
}
