//! The directory with the snapshots of one workspace: blobs, the tree cache, and for each session the
//! records of its changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use contract::id::SessionId;
use files::lock::Lock;
use files::private::{self, Durability, make_directory, remove};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use super::blob_store::BlobStore;
use super::state::{Hash, Name, Record, State};
use super::tree_cache::{Position, TreeCache};

/// The directory that has a file for each session whose calls are running.
const RUNNING: &str = "running";
/// Batches up to this long are never worth writing the whole tree cache again.
const SHORT_BATCHES: u64 = 1 << 20;
/// With longer ones, it is written again even if the recovery of a session that crashed would need
/// them.
const LONG_BATCHES: u64 = 64 << 20;

/// The files of one workspace's snapshots.
#[derive(Clone, Debug)]
pub(crate) struct Workspace {
    directory: PathBuf,
}

/// The changes that a session was about to make.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Pending {
    /// Single paths, as they were.
    pub(super) paths: Vec<(Name, State)>,
    /// Anything in the workspace could change.
    pub(super) is_walk: bool,
    /// Where the tree cache says how the workspace was.
    #[serde(default)]
    pub(super) base: Option<Position>,
    /// The process that runs the calls.
    #[serde(default)]
    pub(super) process: u32,
}

impl Pending {
    fn is_running(&self) -> bool {
        let process = i32::try_from(self.process).ok().and_then(Pid::from_raw);
        process.is_some_and(|process| test_kill_process(process) != Err(Errno::SRCH))
    }
}

/// The changes of other sessions since a position of the journal.
#[derive(Default)]
pub(super) struct Claims {
    /// How they left files, where it is certain that it was them.
    pub(super) certain: BTreeMap<PathBuf, State>,
    /// They recorded uncertain ones, too.
    pub(super) has_uncertain: bool,
}

impl Workspace {
    /// The snapshots of `root` among those in `directory`.
    pub(super) fn new(directory: &Path, root: &Path) -> Self {
        let name = format!("{:?}", Hash::of(root.as_os_str().as_bytes()));
        Self { directory: directory.join(&name[..16]) }
    }

    /// All workspaces in `directory`.
    pub(super) fn all(directory: &Path) -> Vec<Self> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| Self { directory: entry.path() }).collect()
    }

    /// Waits for the lock.
    pub(super) fn lock(&self) -> io::Result<Lock> {
        make_directory(&self.directory)?;
        Lock::wait(&self.directory.join("lock"))
    }

    /// The saved bytes.
    pub(super) fn blobs(&self, limit: u64) -> io::Result<BlobStore> {
        BlobStore::open(&self.directory, limit)
    }

    /// The tree cache as it was last saved.
    pub(super) fn tree_cache(&self) -> TreeCache {
        self.read_cache(None, &mut |_| {}).unwrap_or_default()
    }

    /// Returns true if the workspace has been taken in before.
    pub(super) fn is_known(&self) -> bool {
        self.cache_file().exists()
    }

    fn cache_file(&self) -> PathBuf {
        self.directory.join("tree")
    }

    /// The tree cache at a position; `each` gets every state in it, also replaced ones.
    fn read_cache(&self, at: Option<Position>, each: &mut dyn FnMut(&State)) -> Option<TreeCache> {
        let mut file = fs::read(self.cache_file()).ok()?;
        if let Some(at) = at {
            let is_same = self.position()?.generation == at.generation;
            file.truncate(usize::try_from(at.length).ok().filter(|_| is_same)?);
        }
        TreeCache::decode(&file, each)
    }

    /// The position of the tree cache; none before it was first saved.
    pub(super) fn position(&self) -> Option<Position> {
        Position::of(&File::open(self.cache_file()).ok()?)
    }

    /// Saves the tree cache: as a rule, appends the changed entries.
    pub(super) fn save(&self, cache: &mut TreeCache) -> io::Result<()> {
        if !cache.is_unsaved() {
            return Ok(());
        }
        let path = self.cache_file();
        let is_idle = || self.all_running().next().is_none();
        let is_appended = |at: Position| {
            let batches = at.length.saturating_sub(at.first_batch);
            !cache.must_rewrite()
                && batches < LONG_BATCHES
                && (batches < at.first_batch.max(SHORT_BATCHES) || !is_idle())
        };
        if self.position().is_some_and(is_appended) {
            let mut file = private::append(&path)?;
            let length = file.metadata()?.len();
            if let Err(error) = file.write_all(&cache.encode_unsaved()) {
                // Nothing after half a batch could be read.
                file.set_len(length)?;
                return Err(error);
            }
        } else {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let generation = u64::try_from(now.as_nanos()).unwrap_or(0);
            private::replace(&path, &cache.encode(generation), Durability::Unsynced)?;
        }
        cache.saved();
        Ok(())
    }

    /// Forgets the tree cache, since the workspace has become too large.
    pub(super) fn forget_cache(&self) -> io::Result<()> {
        remove(&self.cache_file())
    }

    fn session(&self, session: &SessionId) -> PathBuf {
        self.directory.join("turns").join(session.as_str())
    }

    /// Notes what a session is about to change, so that it is known after a crash.
    pub(super) fn announce(&self, session: &SessionId, pending: &Pending) -> io::Result<()> {
        make_directory(&self.session(session))?;
        make_directory(&self.directory.join(RUNNING))?;
        private::replace(
            &self.pending(session),
            &serde_json::to_vec(pending)?,
            Durability::Unsynced,
        )
    }

    fn pending(&self, session: &SessionId) -> PathBuf {
        self.directory.join(RUNNING).join(format!("{session}.json"))
    }

    /// The changes that other sessions may be making at this moment.
    pub(super) fn running(&self, own: &SessionId) -> Vec<Pending> {
        let own = self.pending(own);
        let others = self.all_running().filter(|path| *path != own);
        let read = |path: PathBuf| serde_json::from_slice(&fs::read(path).ok()?).ok();
        others.filter_map(read).filter(Pending::is_running).collect()
    }

    /// The files of the sessions whose calls are running, or were when their program ended.
    fn all_running(&self) -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir(self.directory.join(RUNNING)).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    }

    /// The changes that a session was about to make when its program ended, and the files before.
    pub(super) fn announced(&self, session: &SessionId) -> Option<(Pending, Option<TreeCache>)> {
        let pending: Pending =
            serde_json::from_slice(&fs::read(self.pending(session)).ok()?).ok()?;
        let base = pending.base.and_then(|base| self.read_cache(Some(base), &mut |_| {}));
        Some((pending, base))
    }

    /// Forgets what was announced.
    pub(super) fn settle(&self, session: &SessionId) -> io::Result<()> {
        remove(&self.pending(session))
    }

    /// Keeps a record for good and names it. Others that are at work see it in the journal.
    pub(super) fn record(&self, session: &SessionId, record: &Record) -> io::Result<String> {
        let directory = self.session(session);
        make_directory(&directory)?;
        let bytes = serde_json::to_vec(record)?;
        let name = format!("{:?}", Hash::of(&bytes))[..16].to_owned();
        private::replace(&directory.join(format!("{name}.json")), &bytes, Durability::Synced)?;
        let mut journal = private::append(&self.directory.join("journal"))?;
        writeln!(journal, "{session} {name}")?;
        Ok(name)
    }

    /// A record by its name; none if it was removed.
    pub(super) fn recorded(&self, session: &SessionId, name: &str) -> Option<Record> {
        let is_name = name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let path = self.session(session).join(format!("{name}.json"));
        is_name.then(|| serde_json::from_slice(&fs::read(path).ok()?).ok()).flatten()
    }

    /// How long the journal is.
    pub(super) fn journal_length(&self) -> u64 {
        fs::metadata(self.directory.join("journal")).map_or(0, |metadata| metadata.len())
    }

    /// The changes of other sessions from a position of the journal on.
    pub(super) fn claimed(&self, from: u64, own: &SessionId) -> Claims {
        let text = fs::read(self.directory.join("journal")).unwrap_or_default();
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let text = text.get(from..).unwrap_or_default();
        let mut claimed = Claims::default();
        for line in String::from_utf8_lossy(text).lines() {
            let Some((session, name)) = line.split_once(' ') else { continue };
            let session = SessionId::parse(session).ok().filter(|session| session != own);
            let record = session.and_then(|session| self.recorded(&session, name));
            claimed.has_uncertain |= record.as_ref().is_some_and(|record| record.is_uncertain);
            let certain = record.filter(|record| !record.is_uncertain);
            for change in certain.into_iter().flat_map(|record| record.changes) {
                claimed.certain.insert(change.path(), change.after);
            }
        }
        claimed
    }

    /// Gives the records of a session to another name.
    pub(crate) fn rename(&self, old: &SessionId, new: &SessionId) -> io::Result<()> {
        let files =
            [(self.session(old), self.session(new)), (self.pending(old), self.pending(new))];
        for (old, new) in files {
            match fs::rename(old, new) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Gives the records of a session to a copy of it as well.
    pub(crate) fn copy(&self, old: &SessionId, new: &SessionId) -> io::Result<()> {
        let records = Self::records_of(&self.session(old));
        if records.is_empty() {
            return Ok(());
        }
        let directory = self.session(new);
        make_directory(&directory)?;
        for path in records {
            let Some(name) = path.file_name() else { continue };
            let copy = directory.join(name);
            match fs::hard_link(&path, &copy) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(_) => drop(fs::copy(&path, &copy)?),
            }
        }
        Ok(())
    }

    /// Drops the records of a session, and the bytes that nobody else needs.
    pub(crate) fn forget(&self, session: &SessionId) -> io::Result<()> {
        if !self.session(session).exists() {
            return Ok(());
        }
        let _lock = self.lock()?;
        self.settle(session)?;
        fs::remove_dir_all(self.session(session))?;
        self.prune(&mut self.blobs(u64::MAX)?, u64::MAX)
    }

    fn records_of(directory: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let is_record = |path: &PathBuf| path.extension().is_some_and(|it| it == "json");
        entries.map(|entry| entry.path()).filter(is_record).collect()
    }

    /// Drops bytes that nobody needs. Where what is needed takes more than `budget`, the oldest
    /// records go too. The lock must be held.
    pub(super) fn prune(&self, blobs: &mut BlobStore, budget: u64) -> io::Result<()> {
        let mut live = BTreeSet::new();
        // States that were replaced since may be needed by a session that is running or has crashed.
        let is_idle = self.all_running().next().is_none();
        let known = self.read_cache(None, &mut |state| {
            live.extend(state.hash().filter(|_| !is_idle));
        });
        known.unwrap_or_default().states(&mut |state| live.extend(state.hash()));
        let sessions = fs::read_dir(self.directory.join("turns")).into_iter().flatten().flatten();
        let mut records = Vec::new();
        for directory in sessions.map(|entry| entry.path()) {
            for path in Self::records_of(&directory) {
                let record: Option<Record> =
                    fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
                records.extend(record.map(|record| (record, path)));
            }
        }
        records.sort_by_key(|(record, _)| std::cmp::Reverse(record.at));
        let mut total: u64 = live.iter().map(|hash| blobs.length(*hash)).sum();
        let mut is_full = false;
        for (record, path) in records {
            let states = record.changes.iter().flat_map(|change| [&change.before, &change.after]);
            let needed: BTreeSet<Hash> =
                states.filter_map(State::hash).filter(|hash| !live.contains(hash)).collect();
            total += needed.iter().map(|hash| blobs.length(*hash)).sum::<u64>();
            is_full |= total > budget;
            if is_full {
                fs::remove_file(path)?;
            } else {
                live.extend(needed);
            }
        }
        blobs.retain(&live)
    }
}
