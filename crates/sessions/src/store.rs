//! All sessions of one directory. Does nothing on disk until it is used.

mod fork;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use contract::event::{Event, EventKind};
use contract::id::{Seq, SessionId, Timestamp};
use contract::log::{Log as _, LogError};
use files::lock::Lock;
use files::private;
use files::stamp::stamp;
use rustix::fs::{FileType, OFlags, Stat};

use crate::disk::sync_directory;
use crate::error::{Error, FileError, Holder, cannot};
use crate::index::{self, Entry, Index, Progress};
use crate::log::FileLog;
pub use crate::reader::recent::Cut;
use crate::reader::recent::Recent;
use crate::reader::{Contents, Events, Repair};
use crate::snapshots::{History, each_workspace};
use crate::summary::{Summarizer, Summary};

/// Bytes of a log that is read whole when it is opened.
const WHOLE: u64 = 8 << 20;

/// The sessions of a directory.
#[derive(Clone, Debug)]
pub struct Store {
    directory: PathBuf,
}

/// A session that was opened to be continued.
pub struct Opened {
    /// Takes further events; none where a later version of the program wrote the log, which can
    /// then be read and forked, but not continued.
    pub log: Option<FileLog>,
    /// The events so far; in a long log the part of it that a conversation goes on from. The
    /// last event is always there.
    pub events: Vec<Event>,
    /// Set where even that part is too long to be read whole.
    pub cut: Option<Cut>,
    /// Damaged places, up to a thousand.
    pub repairs: Vec<Repair>,
    /// How many damaged places there are in all.
    pub repair_count: u64,
}

/// Appends events to the log of a session in which nobody converses.
pub struct EventAppender {
    log: FileLog,
    session: SessionId,
    seq: Seq,
}

impl EventAppender {
    /// Continues a log after its last event.
    pub fn new(opened: Opened, id: &SessionId) -> Result<Self, Error> {
        let log = opened.log.ok_or_else(|| Error::Newer(id.clone()))?;
        let seq = opened.events.last().map(|event| event.seq).unwrap_or_default();
        Ok(Self { log, session: id.clone(), seq })
    }

    /// Writes and syncs one event.
    pub fn append(&mut self, kind: EventKind) -> Result<(), LogError> {
        self.seq = self.seq.next();
        let (session, at) = (self.session.clone(), Timestamp::now());
        self.log.append(&[Event { seq: self.seq, session, at, within: None, kind }])?;
        self.log.sync()
    }
}

impl Store {
    /// Names the directory; it is made when the first session is.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Self { directory }
    }

    /// The file of a session's log.
    pub fn path(&self, id: &SessionId) -> PathBuf {
        self.directory.join(format!("{id}.jsonl"))
    }

    /// Returns true if there is such a session.
    pub fn exists(&self, id: &SessionId) -> bool {
        fs::symlink_metadata(self.path(id)).is_ok_and(|metadata| metadata.is_file())
    }

    /// Begins a session of this name.
    pub fn create(&self, id: &SessionId) -> Result<FileLog, Error> {
        let made = private::make_directory(&self.directory);
        made.map_err(cannot("create the directory", &self.directory))?;
        let lock = self.lock_new(id)?;
        let path = self.path(id);
        let file =
            OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path).map_err(
                |error| match error.kind() {
                    ErrorKind::AlreadyExists => Error::Exists(id.clone()),
                    _ => Error::File(cannot("create", &path)(error)),
                },
            )?;
        sync_directory(&self.directory)?;
        Ok(FileLog::new(id.clone(), path, (file, 0, Seq(0)), lock))
    }

    /// Begins a session that is named for the moment.
    pub fn create_named_for(&self, at: Timestamp) -> Result<FileLog, Error> {
        let name = at.0.strftime("session-%Y%m%d-%H%M%S").to_string();
        let mut number = 1;
        loop {
            let id = match number {
                1 => SessionId::parse(&name)?,
                _ => SessionId::parse(&format!("{name}-{number}"))?,
            };
            match self.create(&id) {
                Err(Error::Exists(_) | Error::Open { .. }) => number += 1,
                result => return result,
            }
        }
    }

    /// Opens a session to continue it. Closes off a torn tail.
    pub fn open(&self, id: &SessionId) -> Result<Opened, Error> {
        self.must_exist(id)?;
        let lock = self.lock(id)?;
        self.open_locked(id, lock)
    }

    /// Reads a session, also while another process has it open.
    pub fn read(&self, id: &SessionId) -> Result<Contents, Error> {
        let read = self.events(id)?.collect();
        Ok(read.map_err(cannot("read", &self.path(id)))?)
    }

    /// All sessions, the one that was last used first.
    pub fn list(&self) -> Result<Vec<Summary>, Error> {
        let known = Index::load(&self.directory);
        let mut index = Index::default();
        let mut summaries = Vec::new();
        for id in self.ids()? {
            let Some(stat) = self.stat(&id) else { continue };
            let (entry, stamp) = (known.get(id.as_str()), stamp(&stat));
            if let Some(entry) = entry.filter(|entry| entry.stamp == stamp) {
                summaries.push(entry.summary.clone());
                index.put(entry.clone());
                continue;
            }
            let mut summarizer = Summarizer::new(id.clone(), modified(&stat));
            // A log that cannot be read is listed with what is known of it, so that it is seen.
            if let Ok(progress) = self.summarize(&id, entry, &mut summarizer) {
                index.put(Entry { stamp, summary: summarizer.summary.clone(), progress });
            }
            summaries.push(summarizer.summary);
        }
        if index != known {
            index.save(&self.directory);
        }
        summaries.sort_by(|a, b| (b.updated_at, &b.id).cmp(&(a.updated_at, &a.id)));
        Ok(summaries)
    }

    /// The session that was last used among those that work in a directory which `is_wanted`.
    pub fn newest(&self, is_wanted: impl Fn(&str) -> bool) -> Result<Option<SessionId>, Error> {
        let newest = self.list()?.into_iter().find(|summary| is_wanted(&summary.cwd));
        Ok(newest.map(|summary| summary.id))
    }

    /// The session that `text` means: its name, the beginning of it where only one session
    /// begins so, or `last` for the one that was last used.
    pub fn resolve(&self, text: &str) -> Result<SessionId, Error> {
        let id = SessionId::parse(text)?;
        if self.exists(&id) {
            return Ok(id);
        }
        if text == "last" {
            return self.newest(|_| true)?.ok_or_else(|| Error::NotFound(text.to_owned()));
        }
        let mut matching = self.ids()?;
        matching.retain(|id| id.as_str().starts_with(text));
        match matching.as_slice() {
            [] => Err(Error::NotFound(text.to_owned())),
            [only] => Ok(only.clone()),
            several => {
                let named: Vec<&str> = several.iter().take(5).map(SessionId::as_str).collect();
                Err(Error::Ambiguous { prefix: text.to_owned(), candidates: named.join(", ") })
            }
        }
    }

    /// The process that has a session open, if one has.
    pub fn holder(&self, id: &SessionId) -> Option<Holder> {
        let path = self.directory.join(format!("{id}.lock"));
        let is_held = path.exists() && matches!(Lock::try_take(&path), Ok(None));
        is_held.then(|| files::cache::read(&path).unwrap_or_default())
    }

    /// Notes in the lock of a session that this process has open in a directory where others can
    /// join it.
    pub fn announce(
        &self,
        id: &SessionId,
        server: (PathBuf, String),
        cwd: &Path,
    ) -> io::Result<()> {
        let path = self.directory.join(format!("{id}.lock"));
        let holder = Holder { server: Some(server), cwd: Some(cwd.into()), ..Holder::own() };
        fs::write(path, serde_json::to_vec(&holder)?)
    }

    /// Removes a session for good. Refused while it is open.
    pub fn delete(&self, id: &SessionId) -> Result<(), Error> {
        self.must_exist(id)?;
        let _lock = self.lock(id)?;
        let path = self.path(id);
        fs::remove_file(&path).map_err(cannot("delete", &path))?;
        let forgotten = each_workspace(&self.snapshots(), |workspace| workspace.forget(id));
        forgotten.map_err(cannot("delete the snapshots of", &path))?;
        Ok(sync_directory(&self.directory)?)
    }

    /// Gives a session another name. Refused while it is open.
    pub fn rename(&self, old: &SessionId, new: &SessionId) -> Result<(), Error> {
        self.must_exist(old)?;
        let _locks = (self.lock_new(new)?, self.lock(old)?);
        let path = self.path(old);
        fs::rename(&path, self.path(new)).map_err(cannot("rename", &path))?;
        let renamed = each_workspace(&self.snapshots(), |workspace| workspace.rename(old, new));
        renamed.map_err(cannot("rename the snapshots of", &path))?;
        Ok(sync_directory(&self.directory)?)
    }

    /// Copies a session up to and with event `up_to`, or all of it, into a session of its own and
    /// opens that.
    pub fn fork(
        &self,
        id: &SessionId,
        new: &SessionId,
        up_to: Option<Seq>,
    ) -> Result<Opened, Error> {
        self.must_exist(id)?;
        let lock = self.lock_new(new)?;
        let path = self.path(new);
        // A copy that breaks off must not pass for a session.
        let temporary = self.directory.join(format!("{new}.jsonl.tmp"));
        let source = fork::write(self, id, new, up_to, &temporary)?;
        let copied = each_workspace(&self.snapshots(), |workspace| workspace.copy(id, new));
        copied.map_err(cannot("copy the snapshots of", &path))?;
        fs::rename(&temporary, &path).map_err(cannot("create", &path))?;
        sync_directory(&self.directory)?;
        let opened = self.open_locked(new, lock)?;
        Ok(Opened { repairs: source.repairs, repair_count: source.repair_count, ..opened })
    }

    /// The directory for what files held before turns changed them.
    pub fn snapshots(&self) -> PathBuf {
        self.directory.join("snapshots")
    }

    /// The turns of a session that changed files. Reads the log without keeping it.
    pub fn history(&self, id: &SessionId) -> Result<History, Error> {
        let mut history = History::default();
        self.each_event(id, |event| {
            history.take(&event);
            Ok::<_, Error>(())
        })?;
        Ok(history)
    }

    /// The names of all sessions, sorted.
    pub fn ids(&self) -> Result<Vec<SessionId>, FileError> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(cannot("read the directory", &self.directory)(error)),
        };
        let mut ids = Vec::new();
        for entry in entries {
            let entry = entry.map_err(cannot("read the directory", &self.directory))?;
            let name = entry.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
            ids.extend(stem.and_then(|stem| SessionId::parse(stem).ok()));
        }
        ids.sort();
        Ok(ids)
    }

    /// The log of a session, opened for reading.
    pub(crate) fn file(&self, id: &SessionId) -> Result<BufReader<File>, Error> {
        self.must_exist(id)?;
        let path = self.path(id);
        let file = File::open(&path).map_err(cannot("read", &path))?;
        Ok(BufReader::with_capacity(1 << 16, file))
    }

    /// The events of a session, one at a time.
    fn events(&self, id: &SessionId) -> Result<Events<BufReader<File>>, Error> {
        Ok(Events::new(self.file(id)?, id.clone()))
    }

    /// Hands out the events of a session, one at a time, while `take` returns true.
    pub fn events_while(
        &self,
        id: &SessionId,
        mut take: impl FnMut(Event) -> bool,
    ) -> Result<(), Error> {
        let mut events = self.events(id)?;
        let read = |error| Error::from(cannot("read", &self.path(id))(error));
        while events.next().map_err(read)?.is_some_and(&mut take) {}
        Ok(())
    }

    /// Hands out the events of a session, one at a time. Returns what was damaged.
    pub fn each_event<E: From<Error>>(
        &self,
        id: &SessionId,
        mut take: impl FnMut(Event) -> Result<(), E>,
    ) -> Result<Contents, E> {
        let mut events = self.events(id)?;
        let read = |error| Error::from(cannot("read", &self.path(id))(error));
        while let Some(event) = events.next().map_err(read)? {
            take(event)?;
        }
        Ok(events.contents)
    }

    /// Folds a log from its beginning, or from where it was read before.
    fn summarize(
        &self,
        id: &SessionId,
        known: Option<&Entry>,
        summarizer: &mut Summarizer,
    ) -> Result<Option<Progress>, Error> {
        let path = self.path(id);
        let mut reader = self.file(id)?;
        let (mut from, mut last) = (0, Seq(0));
        if let Some(Entry { summary, progress: Some(progress), .. }) = known
            && index::tail(reader.get_ref(), progress.length).ok() == Some(progress.tail)
        {
            (from, last) = (progress.length, progress.last);
            reader.seek(SeekFrom::Start(from)).map_err(cannot("read", &path))?;
            *summarizer = Summarizer::resume(summary.clone(), progress.open_calls.clone());
        }
        let mut events = Events::after(last, reader, id.clone());
        while let Some(event) = events.next().map_err(cannot("read", &path))? {
            summarizer.add(&event);
        }
        let length = from + events.lines.length;
        if !events.lines.is_whole {
            return Ok(None);
        }
        let tail = index::tail(events.lines.source().get_ref(), length);
        let tail = tail.map_err(cannot("read", &path))?;
        let open_calls = summarizer.open_calls.clone();
        Ok(Some(Progress { length, last: events.last(), tail, open_calls }))
    }

    /// The metadata of a session's log; none if it is empty.
    fn stat(&self, id: &SessionId) -> Option<Stat> {
        let stat = rustix::fs::lstat(self.path(id)).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        (is_file && stat.st_size > 0).then_some(stat)
    }

    fn must_exist(&self, id: &SessionId) -> Result<(), Error> {
        if self.exists(id) { Ok(()) } else { Err(Error::NotFound(id.to_string())) }
    }

    /// Takes the lock of a name that no session has.
    fn lock_new(&self, id: &SessionId) -> Result<Lock, Error> {
        let is_free = || if self.exists(id) { Err(Error::Exists(id.clone())) } else { Ok(()) };
        is_free()?;
        let lock = self.lock(id)?;
        is_free().map(|()| lock)
    }

    fn lock(&self, id: &SessionId) -> Result<Lock, Error> {
        let path = self.directory.join(format!("{id}.lock"));
        let Some(mut lock) = Lock::try_take(&path).map_err(cannot("lock", &path))? else {
            let holder = files::cache::read(&path).unwrap_or_default();
            return Err(Error::Open { id: id.clone(), holder });
        };
        let holder = serde_json::to_vec(&Holder::own()).map_err(io::Error::from);
        let noted = holder.and_then(|holder| {
            lock.file.set_len(0)?;
            lock.file.write_all(&holder)
        });
        noted.map_err(cannot("lock", &path))?;
        Ok(lock)
    }

    fn open_locked(&self, id: &SessionId, lock: Lock) -> Result<Opened, Error> {
        let path = self.path(id);
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .map_err(|error| match error.kind() {
                ErrorKind::NotFound => Error::NotFound(id.to_string()),
                _ => Error::File(cannot("open", &path)(error)),
            })?;
        let size = file.metadata().map_err(cannot("read", &path))?.len();
        let mut reading = Events::new(BufReader::with_capacity(1 << 18, &file), id.clone());
        let read = if size <= WHOLE {
            reading.rest().map(|events| Recent { events, cut: None })
        } else {
            reading.recent(|bytes: &mut [u8], offset| file.read_exact_at(bytes, offset))
        };
        let Recent { events, cut } = read.map_err(cannot("read", &path))?;
        let contents = std::mem::take(&mut reading.contents);
        let (mut length, is_whole) = (reading.lines.length, reading.lines.is_whole);
        let last = events.last().map_or(Seq(0), |event| event.seq);
        let log = if contents.is_foreign {
            None
        } else {
            if !is_whole {
                file.write_all(b"\n").map_err(cannot("repair", &path))?;
                length += 1;
            }
            Some(FileLog::new(id.clone(), path, (file, length, last), lock))
        };
        Ok(Opened {
            log,
            events,
            cut,
            repairs: contents.repairs,
            repair_count: contents.repair_count,
        })
    }
}

/// When a file was last changed.
fn modified(stat: &Stat) -> Timestamp {
    Timestamp(jiff::Timestamp::from_second(stat.st_mtime).unwrap_or(jiff::Timestamp::UNIX_EPOCH))
}

#[cfg(test)]
mod tests;
