//! The folder in which the snapshots of one workspace are kept: bytes (`depot`), what is known of the
//! workspace (`stock`), and for each session the records of what it changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use contract::id::SessionId;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use super::depot::Depot;
use super::state::{Hash, Name, Record, State};
use super::stock::Stock;

/// The folder that has a file for each session whose calls are running.
const RUNNING: &str = "running";

/// The files of one workspace's snapshots.
#[derive(Clone, Debug)]
pub(super) struct Workspace {
    folder: PathBuf,
}

/// Keeps other processes out until it is dropped.
pub(super) struct Held(#[expect(dead_code, reason = "the lock ends with the file")] File);

/// What a session was about to change.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Pending {
    /// Single paths, as they were.
    pub(super) paths: Vec<(Name, State)>,
    /// Whether anything in the workspace could change; `base` says how it was.
    pub(super) is_walk: bool,
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

/// What other sessions have told since a position of the journal.
#[derive(Default)]
pub(super) struct Claims {
    /// How they left files, where it is certain that it was them.
    pub(super) certain: BTreeMap<PathBuf, State>,
    /// Whether they told of others, too.
    pub(super) has_uncertain: bool,
}

impl Workspace {
    /// The snapshots of `root` among those in `folder`.
    pub(super) fn new(folder: &Path, root: &Path) -> Self {
        let name = format!("{:?}", Hash::of(root.as_os_str().as_bytes()));
        Self { folder: folder.join(&name[..16]) }
    }

    /// All workspaces in `folder`.
    pub(super) fn all(folder: &Path) -> Vec<Self> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| Self { folder: entry.path() }).collect()
    }

    /// Waits for the lock.
    pub(super) fn lock(&self) -> io::Result<Held> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.folder.join("lock"))?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(Held(file))
    }

    /// The kept bytes.
    pub(super) fn depot(&self, limit: u64) -> io::Result<Depot> {
        Depot::open(&self.folder, limit)
    }

    /// What is known of the workspace.
    pub(super) fn stock(&self) -> Stock {
        read_stock(&self.folder.join("stock"))
    }

    /// Keeps what is known of the workspace.
    pub(super) fn save(&self, stock: &Stock) -> io::Result<()> {
        write(&self.folder.join("stock"), &stock.encode(), Durable::No)
    }

    fn session(&self, session: &SessionId) -> PathBuf {
        self.folder.join("turns").join(session.as_str())
    }

    /// Notes what a session is about to change, so that it is known after a crash.
    pub(super) fn announce(&self, session: &SessionId, pending: &Pending) -> io::Result<()> {
        let folder = self.session(session);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        if pending.is_walk {
            let base = folder.join("base");
            match fs::remove_file(&base) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let stock = self.folder.join("stock");
            if fs::hard_link(&stock, &base).is_err() {
                fs::copy(&stock, &base)?;
            }
        }
        let pending_file = self.pending(session);
        DirBuilder::new().recursive(true).mode(0o700).create(self.folder.join(RUNNING))?;
        write(&pending_file, &serde_json::to_vec(pending)?, Durable::No)
    }

    fn pending(&self, session: &SessionId) -> PathBuf {
        self.folder.join(RUNNING).join(format!("{session}.json"))
    }

    /// What calls of other sessions may be changing at this moment.
    pub(super) fn running(&self, own: &SessionId) -> Vec<Pending> {
        let own = self.pending(own);
        let entries = fs::read_dir(self.folder.join(RUNNING)).into_iter().flatten().flatten();
        let others = entries.map(|entry| entry.path()).filter(|path| *path != own);
        let read = |path: PathBuf| serde_json::from_slice(&fs::read(path).ok()?).ok();
        others.filter_map(read).filter(Pending::is_running).collect()
    }

    /// What a session was about to change when its program ended.
    pub(super) fn announced(&self, session: &SessionId) -> Option<(Pending, Stock)> {
        let folder = self.session(session);
        let pending: Pending =
            serde_json::from_slice(&fs::read(self.pending(session)).ok()?).ok()?;
        let base =
            if pending.is_walk { read_stock(&folder.join("base")) } else { Stock::default() };
        Some((pending, base))
    }

    /// Forgets what was announced.
    pub(super) fn settle(&self, session: &SessionId) -> io::Result<()> {
        for path in [self.pending(session), self.session(session).join("base")] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Keeps a record for good and names it. Others that are at work see it in the journal.
    pub(super) fn record(&self, session: &SessionId, record: &Record) -> io::Result<String> {
        let folder = self.session(session);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let bytes = serde_json::to_vec(record)?;
        let name = format!("{:?}", Hash::of(&bytes))[..16].to_owned();
        write(&folder.join(format!("{name}.json")), &bytes, Durable::Yes)?;
        let mut journal = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(self.folder.join("journal"))?;
        writeln!(journal, "{session} {name}")?;
        Ok(name)
    }

    /// A record by its name; none where it is no longer kept.
    pub(super) fn recorded(&self, session: &SessionId, name: &str) -> Option<Record> {
        let is_name = name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let path = self.session(session).join(format!("{name}.json"));
        is_name.then(|| serde_json::from_slice(&fs::read(path).ok()?).ok()).flatten()
    }

    /// How long the journal is.
    pub(super) fn journal_length(&self) -> u64 {
        fs::metadata(self.folder.join("journal")).map_or(0, |metadata| metadata.len())
    }

    /// What other sessions have told from a position of the journal on.
    pub(super) fn claimed(&self, from: u64, own: &SessionId) -> Claims {
        let text = fs::read(self.folder.join("journal")).unwrap_or_default();
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
    pub(super) fn rename(&self, old: &SessionId, new: &SessionId) -> io::Result<()> {
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
    pub(super) fn copy(&self, old: &SessionId, new: &SessionId) -> io::Result<()> {
        let records = Self::records_of(&self.session(old));
        if records.is_empty() {
            return Ok(());
        }
        let folder = self.session(new);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        for path in records {
            let Some(name) = path.file_name() else { continue };
            let copy = folder.join(name);
            match fs::hard_link(&path, &copy) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(_) => drop(fs::copy(&path, &copy)?),
            }
        }
        Ok(())
    }

    /// Drops the records of a session, and the bytes that nobody else needs. Says whether there was
    /// anything.
    pub(super) fn forget(&self, session: &SessionId) -> io::Result<()> {
        if !self.session(session).exists() {
            return Ok(());
        }
        let _held = self.lock()?;
        self.settle(session)?;
        fs::remove_dir_all(self.session(session))?;
        self.prune(&mut self.depot(u64::MAX)?, u64::MAX)
    }

    fn records_of(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let is_record = |path: &PathBuf| path.extension().is_some_and(|it| it == "json");
        entries.map(|entry| entry.path()).filter(is_record).collect()
    }

    /// Drops bytes that nobody needs. Where what is needed takes more than `budget`, the oldest
    /// records go too. The lock must be held.
    pub(super) fn prune(&self, depot: &mut Depot, budget: u64) -> io::Result<()> {
        let mut live = BTreeSet::new();
        self.stock().hashes(&mut live);
        let sessions = fs::read_dir(self.folder.join("turns")).into_iter().flatten().flatten();
        let mut records = Vec::new();
        for folder in sessions.map(|entry| entry.path()) {
            read_stock(&folder.join("base")).hashes(&mut live);
            for path in Self::records_of(&folder) {
                let record: Option<Record> =
                    fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
                records.extend(record.map(|record| (record, path)));
            }
        }
        records.sort_by_key(|(record, _)| std::cmp::Reverse(record.at));
        let mut total: u64 = live.iter().map(|hash| depot.length(*hash)).sum();
        let mut is_full = false;
        for (record, path) in records {
            let states = record.changes.iter().flat_map(|change| [&change.before, &change.after]);
            let needed: BTreeSet<Hash> =
                states.filter_map(State::hash).filter(|hash| !live.contains(hash)).collect();
            total += needed.iter().map(|hash| depot.length(*hash)).sum::<u64>();
            is_full |= total > budget;
            if is_full {
                fs::remove_file(path)?;
            } else {
                live.extend(needed);
            }
        }
        depot.retain(&live)
    }
}

fn read_stock(path: &Path) -> Stock {
    fs::read(path).ok().and_then(|bytes| Stock::decode(&bytes)).unwrap_or_default()
}

/// Whether a file must outlive a power cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Durable {
    Yes,
    No,
}

/// Makes a file in one step.
fn write(path: &Path, bytes: &[u8], durable: Durable) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(bytes)?;
    if durable == Durable::Yes {
        file.sync_all()?;
    }
    fs::rename(&temporary, path)
}
