//! All sessions of one folder. Does nothing on disk until it is used.

use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use contract::event::{Event, Origin, What};
use contract::id::{Seq, SessionId, Timestamp};
use rustix::fs::OFlags;

use crate::disk::{make_folder, sync_folder};
use crate::error::{Error, FileError, cannot};
use crate::index::{Index, State};
use crate::lock::{Lock, NotLocked};
use crate::log::FileLog;
use crate::reader::{Contents, Events, Repair};
use crate::record;
use crate::summary::{Summarizer, Summary};

/// The sessions of a folder.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// A session that was opened to be continued.
pub struct Opened {
    /// Takes further events; none where a later version of the program wrote the log, which can
    /// then be read and forked, but not continued.
    pub log: Option<FileLog>,
    /// What happened so far.
    pub events: Vec<Event>,
    /// What of it was damaged, up to a thousand places.
    pub repairs: Vec<Repair>,
    /// How many damaged places there are in all.
    pub repair_count: u64,
}

impl Store {
    /// Names the folder; it is made when the first session is.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { folder }
    }

    /// The file of a session's log.
    pub fn path(&self, id: &SessionId) -> PathBuf {
        self.folder.join(format!("{id}.jsonl"))
    }

    /// Whether there is such a session.
    pub fn exists(&self, id: &SessionId) -> bool {
        fs::symlink_metadata(self.path(id)).is_ok_and(|metadata| metadata.is_file())
    }

    /// Begins a session of this name.
    pub fn create(&self, id: &SessionId) -> Result<FileLog, Error> {
        make_folder(&self.folder)?;
        if self.exists(id) {
            return Err(Error::Exists(id.clone()));
        }
        let lock = self.lock(id)?;
        let path = self.path(id);
        let file =
            OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path).map_err(
                |error| match error.kind() {
                    ErrorKind::AlreadyExists => Error::Exists(id.clone()),
                    _ => Error::File(cannot("create", &path)(error)),
                },
            )?;
        sync_folder(&self.folder)?;
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

    /// Reads a session, also while somebody has it open.
    pub fn read(&self, id: &SessionId) -> Result<Contents, Error> {
        let read = self.events(id)?.collect();
        Ok(read.map_err(cannot("read", &self.path(id)))?)
    }

    /// All sessions, the one that was last used first.
    pub fn list(&self) -> Result<Vec<Summary>, Error> {
        let mut index = Index::load(&self.folder);
        let mut summaries = Vec::new();
        let ids = self.ids()?;
        for id in &ids {
            let Ok(metadata) = fs::symlink_metadata(self.path(id)) else {
                continue;
            };
            if !metadata.is_file() || metadata.len() == 0 {
                continue;
            }
            let state = State::of(&metadata);
            if let Some(summary) = index.get(id.as_str(), &state) {
                summaries.push(summary.clone());
                continue;
            }
            let modified = metadata.modified().ok();
            let modified = modified.and_then(|at| jiff::Timestamp::try_from(at).ok());
            let start = Timestamp(modified.unwrap_or(jiff::Timestamp::UNIX_EPOCH));
            let mut summarizer = Summarizer::new(id.clone(), start);
            // A log that cannot be read is listed with what is known of it, so that it is seen.
            if self.summarize(id, &mut summarizer).is_ok() {
                index.put(state, summarizer.summary.clone());
            }
            summaries.push(summarizer.summary);
        }
        index.retain(|id| ids.binary_search_by(|known| known.as_str().cmp(id)).is_ok());
        index.save(&self.folder);
        summaries.sort_by(|a, b| (b.updated_at, &b.id).cmp(&(a.updated_at, &a.id)));
        Ok(summaries)
    }

    /// The session that `text` means: its name, the beginning of it where only one session
    /// begins so, or `last` for the one that was last used.
    pub fn resolve(&self, text: &str) -> Result<SessionId, Error> {
        let id = SessionId::parse(text)?;
        if self.exists(&id) {
            return Ok(id);
        }
        if text == "last" {
            let newest = self.list()?.into_iter().next();
            return newest
                .map(|summary| summary.id)
                .ok_or_else(|| Error::NotFound(text.to_owned()));
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

    /// Removes a session for good. Refused while it is open.
    pub fn delete(&self, id: &SessionId) -> Result<(), Error> {
        self.must_exist(id)?;
        let _lock = self.lock(id)?;
        let path = self.path(id);
        fs::remove_file(&path).map_err(cannot("delete", &path))?;
        Ok(sync_folder(&self.folder)?)
    }

    /// Gives a session another name. Refused while it is open.
    pub fn rename(&self, old: &SessionId, new: &SessionId) -> Result<(), Error> {
        self.must_exist(old)?;
        if self.exists(new) {
            return Err(Error::Exists(new.clone()));
        }
        let _locks = (self.lock(old)?, self.lock(new)?);
        if self.exists(new) {
            return Err(Error::Exists(new.clone()));
        }
        let path = self.path(old);
        fs::rename(&path, self.path(new)).map_err(cannot("rename", &path))?;
        Ok(sync_folder(&self.folder)?)
    }

    /// Copies a session up to and with event `up_to`, or all of it, into a session of its own and
    /// opens that.
    pub fn fork(
        &self,
        id: &SessionId,
        new: &SessionId,
        up_to: Option<Seq>,
    ) -> Result<Opened, Error> {
        let mut source = self.read(id)?;
        source.events.retain(|event| up_to.is_none_or(|last| event.seq <= last));
        if self.exists(new) {
            return Err(Error::Exists(new.clone()));
        }
        let lock = self.lock(new)?;
        if self.exists(new) {
            return Err(Error::Exists(new.clone()));
        }
        let path = self.path(new);
        // A copy that breaks off must not pass for a session.
        let temporary = self.folder.join(format!("{new}.jsonl.tmp"));
        write_copy(&temporary, &copy(source.events, id, new))?;
        fs::rename(&temporary, &path).map_err(cannot("create", &path))?;
        sync_folder(&self.folder)?;
        let opened = self.open_locked(new, lock)?;
        Ok(Opened { repairs: source.repairs, repair_count: source.repair_count, ..opened })
    }

    /// The names of all sessions, sorted.
    pub(crate) fn ids(&self) -> Result<Vec<SessionId>, FileError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(cannot("read the folder", &self.folder)(error)),
        };
        let mut ids = Vec::new();
        for entry in entries {
            let entry = entry.map_err(cannot("read the folder", &self.folder))?;
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

    fn events(&self, id: &SessionId) -> Result<Events<BufReader<File>>, Error> {
        Ok(Events::new(self.file(id)?, id.clone()))
    }

    fn summarize(&self, id: &SessionId, summarizer: &mut Summarizer) -> Result<(), Error> {
        let mut events = self.events(id)?;
        let path = self.path(id);
        while let Some(event) = events.next().map_err(cannot("read", &path))? {
            summarizer.add(&event);
        }
        Ok(())
    }

    fn must_exist(&self, id: &SessionId) -> Result<(), Error> {
        if self.exists(id) { Ok(()) } else { Err(Error::NotFound(id.to_string())) }
    }

    fn lock(&self, id: &SessionId) -> Result<Lock, Error> {
        Lock::take(&self.folder.join(format!("{id}.lock"))).map_err(|error| match error {
            NotLocked::Held(holder) => Error::Open { id: id.clone(), holder },
            NotLocked::File(error) => Error::File(error),
        })
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
        let mut reading = Events::new(BufReader::with_capacity(1 << 16, &file), id.clone());
        let contents = reading.collect().map_err(cannot("read", &path))?;
        let (mut length, is_whole) = (reading.lines.length, reading.lines.is_whole);
        let last = contents.events.last().map_or(Seq(0), |event| event.seq);
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
            events: contents.events,
            repairs: contents.repairs,
            repair_count: contents.repair_count,
        })
    }
}

/// The events of a fork: numbered without gaps, under its own name, without the end of the source.
fn copy(source: Vec<Event>, id: &SessionId, new: &SessionId) -> Vec<Event> {
    let seq = source.last().map_or(Seq(0), |event| event.seq);
    let cwd = source.iter().find_map(|event| match &event.what {
        What::SessionStarted { cwd, .. } => Some(cwd.clone()),
        _ => None,
    });
    let start = Event {
        seq: Seq(1),
        session: new.clone(),
        at: Timestamp::now(),
        what: What::SessionStarted {
            cwd: cwd.unwrap_or_default(),
            format: contract::log::FORMAT,
            forked_from: Some(Origin { session: id.clone(), seq }),
        },
    };
    let is_shared =
        |event: &Event| !matches!(event.what, What::SessionStarted { .. } | What::SessionEnded);
    let mut events = vec![start];
    events.extend(source.into_iter().filter(is_shared));
    for (number, event) in (1..).zip(&mut events) {
        event.seq = Seq(number);
        event.session.clone_from(new);
    }
    events
}

fn write_copy(path: &Path, events: &[Event]) -> Result<(), FileError> {
    let mut records = Vec::new();
    let encoded = events.iter().try_for_each(|event| record::encode(event, &mut records));
    encoded.map_err(cannot("write", path))?;
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| {
        file.write_all(&records)?;
        file.sync_all()
    });
    written.map_err(|error| {
        let _ = fs::remove_file(path);
        cannot("write", path)(error)
    })
}

#[cfg(test)]
mod tests;
