//! A cache of directory listings, read once in a run and stored between runs, so that an unchanged
//! directory costs one `stat`. It stores hashes of files, not their content, and decides nothing
//! about trust.

use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use ::files::cache;
use ::files::foreign;
use ::files::stamp::Stamp;
use foldhash::HashMap;
use rustix::fs::{Stat, stat};
use serde::{Deserialize, Serialize};

const FORMAT: u32 = 3;

const ENTRIES: usize = 20_000;

/// Directories above which those that nobody asked for in this run are dropped.
const MAX_LISTINGS: usize = 8192;

/// Listings of directories. A listing holds until [`Directories::again`].
#[derive(Debug, Default)]
pub struct Directories {
    file: Option<PathBuf>,
    project: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    kept: HashMap<String, CachedListing>,
    hashes: HashMap<String, Hashes>,
    seen: HashMap<OsString, Arc<Listing>>,
    files: HashMap<OsString, Option<Stat>>,
    is_changed: bool,
}

/// A directory in an earlier run: its names, each after a letter for its type, joined by slashes.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct CachedListing(Stamp, String);

/// The files of a plugin in an earlier run: a hash of their times, then those of their content.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Hashes(String, [String; 2]);

#[derive(Serialize, Deserialize)]
struct Stored<D, H> {
    format: u32,
    directories: D,
    hashes: H,
}

#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) entries: Vec<Entry>,
    pub(crate) is_cut: bool,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: OsString,
    pub(crate) kind: Kind,
}

/// The type of a file by its metadata.
pub(crate) fn file_type(found: &Stat) -> rustix::fs::FileType {
    rustix::fs::FileType::from_raw_mode(found.st_mode)
}

/// The type of a directory's entry; a symlink is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
    /// A pipe, a socket or a device.
    Other,
}

impl Kind {
    fn of(found: FileType) -> Self {
        if found.is_symlink() {
            Self::Link
        } else if found.is_dir() {
            Self::Directory
        } else if found.is_file() {
            Self::File
        } else {
            Self::Other
        }
    }

    fn letter(self) -> char {
        match self {
            Self::File => 'f',
            Self::Directory => 'd',
            Self::Link => 'l',
            Self::Other => 'o',
        }
    }

    fn from_letter(letter: u8) -> Option<Self> {
        match letter {
            b'f' => Some(Self::File),
            b'd' => Some(Self::Directory),
            b'l' => Some(Self::Link),
            b'o' => Some(Self::Other),
            _ => None,
        }
    }
}

impl Directories {
    /// Reads the cache; nothing of a `project` is kept in it, since others can write there.
    pub fn load(file: Option<PathBuf>, project: Option<PathBuf>) -> Self {
        type Whole = Stored<HashMap<String, CachedListing>, HashMap<String, Hashes>>;
        let stored = file.as_deref().and_then(cache::read::<Whole>);
        let stored = stored.filter(|it| it.format == FORMAT);
        let state = stored.map_or_else(State::default, |it| State {
            kept: it.directories,
            hashes: it.hashes,
            ..State::default()
        });
        Self { file, project, state: Mutex::new(state) }
    }

    pub fn again(&self) {
        let mut state = self.state();
        state.seen.clear();
        state.files.clear();
    }

    /// Writes the cache. A failure only costs time.
    pub fn save(&self) {
        let mut state = self.state();
        let Some(file) = self.file.as_deref().filter(|_| state.is_changed) else {
            return;
        };
        state.is_changed = false;
        if state.kept.len() > MAX_LISTINGS {
            let State { kept, seen, .. } = &mut *state;
            kept.retain(|path, _| seen.contains_key(OsStr::new(path)));
        }
        if state.hashes.len() > MAX_LISTINGS {
            state.hashes.clear();
        }
        let State { kept, hashes, .. } = &*state;
        let written = Stored { format: FORMAT, directories: kept, hashes };
        let _ = cache::write(file, &written);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn listing(&self, directory: &Path) -> io::Result<Arc<Listing>> {
        {
            let mut state = self.state();
            if let Some(seen) = state.seen.get(directory.as_os_str()) {
                return Ok(Arc::clone(seen));
            }
            if state.is_known_absent(directory) {
                return Ok(state.note(directory, Listing::default()));
            }
        }
        let found = match stat(directory).map_err(io::Error::from) {
            Ok(found) if file_type(&found).is_dir() => found,
            Ok(_) => return Ok(self.state().note(directory, Listing::default())),
            Err(error) if foreign::is_absence(&error) => {
                return Ok(self.state().note(directory, Listing::default()));
            }
            Err(error) => return Err(error),
        };
        let (now, stamp) = (SystemTime::now(), Stamp::of(&found));
        if let Some(path) = directory.to_str().filter(|_| self.may_keep(directory)) {
            let mut state = self.state();
            let kept = state.kept.get(path).filter(|kept| kept.0 == stamp);
            if let Some(listing) = kept.and_then(CachedListing::listing) {
                return Ok(state.note(directory, listing));
            }
        }
        let listing = read(directory)?;
        let mut state = self.state();
        let is_kept = self.may_keep(directory) && stamp.is_settled(now);
        state.keep(directory, stamp, Some(&listing).filter(|_| is_kept));
        Ok(state.note(directory, listing))
    }

    /// The hashes kept for `name` in `root`, if its stamp has not changed.
    pub(crate) fn hashes(&self, root: &Path, name: &str, stamp: &str) -> Option<[String; 2]> {
        let state = self.state();
        let kept = state.hashes.get(&format!("{name} {}", root.to_str()?))?;
        (kept.0 == stamp).then(|| kept.1.clone())
    }

    /// Keeps hashes for a stamp that shows every change.
    pub(crate) fn keep_hashes(&self, root: &Path, name: &str, stamp: String, hashes: [String; 2]) {
        let Some(path) = root.to_str().filter(|_| self.may_keep(root)) else { return };
        let mut state = self.state();
        state.hashes.insert(format!("{name} {path}"), Hashes(stamp, hashes));
        state.is_changed = true;
    }

    fn may_keep(&self, directory: &Path) -> bool {
        self.file.is_some()
            && !self.project.as_ref().is_some_and(|project| directory.starts_with(project))
    }

    pub(crate) fn entries(
        &self,
        directory: &Path,
        limit: usize,
    ) -> io::Result<(Vec<PathBuf>, bool)> {
        let listing = self.listing(directory)?;
        let names = listing.entries.iter().take(limit);
        let paths = names.map(|entry| directory.join(&entry.name)).collect();
        Ok((paths, listing.is_cut || listing.entries.len() > limit))
    }

    /// The type of a path's last part; none if it does not exist.
    pub(crate) fn kind(&self, path: &Path) -> Option<Kind> {
        let listing = path.parent().zip(path.file_name());
        let listing = listing.map(|(directory, name)| (self.listing(directory), name));
        match listing {
            Some((Ok(listing), name)) if !listing.is_cut => listing.kind(name),
            // Who may not list a directory may know a name in it.
            _ => fs::symlink_metadata(path).ok().map(|found| Kind::of(found.file_type())),
        }
    }

    pub(crate) fn has(&self, path: &Path) -> bool {
        self.kind(path).is_some()
    }

    pub(crate) fn has_any(&self, directory: &Path, names: &[&str]) -> bool {
        let listing = self.listing(directory).ok().filter(|listing| !listing.is_cut);
        names.iter().any(|name| match &listing {
            Some(listing) if !name.contains('/') => listing.kind(OsStr::new(name)).is_some(),
            _ => self.has(&directory.join(name)),
        })
    }

    pub(crate) fn is_file(&self, path: &Path) -> bool {
        match self.kind(path) {
            Some(Kind::Link) => path.is_file(),
            kind => kind == Some(Kind::File),
        }
    }

    pub(crate) fn is_directory(&self, path: &Path) -> bool {
        match self.kind(path) {
            Some(Kind::Link) => path.is_dir(),
            kind => kind == Some(Kind::Directory),
        }
    }

    pub(crate) fn look(&self, path: &Path) -> Option<Stat> {
        if let Some(found) = self.state().files.get(path.as_os_str()) {
            return *found;
        }
        let found = if self.has(path) { stat(path).ok() } else { None };
        self.state().files.insert(path.as_os_str().to_owned(), found);
        found
    }

    /// Resolves the last part of a path in a canonical directory.
    pub(crate) fn resolved(&self, path: &Path) -> io::Result<PathBuf> {
        match self.kind(path) {
            Some(Kind::File | Kind::Directory | Kind::Other) => Ok(path.to_path_buf()),
            Some(Kind::Link) | None => fs::canonicalize(path),
        }
    }
}

impl State {
    /// Returns true if the directory around it was listed without it.
    fn is_known_absent(&self, directory: &Path) -> bool {
        let around = directory.parent().and_then(|around| self.seen.get(around.as_os_str()));
        let around = around.filter(|around| !around.is_cut).zip(directory.file_name());
        around.is_some_and(|(around, name)| around.kind(name).is_none())
    }

    fn note(&mut self, directory: &Path, listing: Listing) -> Arc<Listing> {
        let listing = Arc::new(listing);
        self.seen.insert(directory.as_os_str().to_owned(), Arc::clone(&listing));
        listing
    }

    /// Keeps a listing for another run, or forgets it.
    fn keep(&mut self, directory: &Path, stamp: Stamp, listing: Option<&Listing>) {
        let Some(path) = directory.to_str() else { return };
        if let Some(names) = listing.and_then(Listing::in_one_line) {
            self.kept.insert(path.to_owned(), CachedListing(stamp, names));
            self.is_changed = true;
        } else if self.kept.remove(path).is_some() {
            self.is_changed = true;
        }
    }
}

impl Listing {
    pub(crate) fn kind(&self, name: &OsStr) -> Option<Kind> {
        let found = self.entries.binary_search_by(|entry| entry.name.as_os_str().cmp(name));
        found.ok().map(|index| self.entries[index].kind)
    }

    /// The form in the cache; none if that is not possible, or not worth it.
    fn in_one_line(&self) -> Option<String> {
        if self.is_cut {
            return None;
        }
        let mut line = String::new();
        for entry in &self.entries {
            if !line.is_empty() {
                line.push('/');
            }
            line.push(entry.kind.letter());
            line.push_str(entry.name.to_str()?);
        }
        Some(line)
    }
}

impl CachedListing {
    fn listing(&self) -> Option<Listing> {
        let entry = |word: &str| {
            let kind = Kind::from_letter(*word.as_bytes().first()?)?;
            Some(Entry { name: OsString::from(&word[1..]), kind })
        };
        let words = self.1.split('/').filter(|_| !self.1.is_empty());
        let entries: Option<Vec<Entry>> = words.map(entry).collect();
        let entries = entries.filter(|them| them.is_sorted_by(|a, b| a.name < b.name))?;
        Some(Listing { entries, is_cut: false })
    }
}

fn read(directory: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if listing.entries.len() == ENTRIES {
            listing.is_cut = true;
            break;
        }
        // What vanishes between two looks was not there.
        if let Ok(found) = entry.file_type() {
            listing.entries.push(Entry { name: entry.file_name(), kind: Kind::of(found) });
        }
    }
    listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(listing)
}

#[cfg(test)]
mod tests;
