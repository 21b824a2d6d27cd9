//! A file of words beside each log, so that a search reads only the parts that may hold what is
//! looked for. It may be missing, old or broken at any time; nothing but speed depends on it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use memchr::memmem;

use super::segment::{Builder, HEADER, Header, Segment};
use crate::error::{FileError, cannot};
use crate::index;
use crate::lock::Lock;
use crate::reader::{Line, Lines};
use crate::record;

/// Bytes of a log that one segment covers, about.
const SEGMENT: u64 = 64 << 20;
/// A rest of a log that is read as it is.
pub(super) const REST: u64 = 1 << 20;
/// Rests of all logs together that are read as they are.
pub(super) const MUCH: u64 = 8 << 20;
/// A rest that is not worth a segment even where there are many of them.
pub(super) const LITTLE: u64 = 64 << 10;

/// The words of a log, as far as they were gathered.
pub(super) struct Words {
    file: File,
    segments: Vec<(u64, Header)>,
    /// Where the next segment goes.
    end: u64,
    /// Bytes of the log that the segments cover.
    pub(super) covered: u64,
}

/// The file of words of a session's log.
pub(super) fn path(log: &Path) -> PathBuf {
    log.with_extension("words")
}

impl Words {
    /// Opens the words of a log; none where there are none that fit it.
    pub(super) fn open(log: &File, path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let words = Self::read(file, log).ok()?;
        (words.covered > 0).then_some(words)
    }

    fn read(file: File, log: &File) -> io::Result<Self> {
        let length = log.metadata()?.len();
        let mut words = Self { file, segments: Vec::new(), end: 0, covered: 0 };
        let mut bytes = [0; HEADER];
        while words.file.read_exact_at(&mut bytes, words.end).is_ok() {
            let Some(header) = Header::read(&bytes) else { break };
            let fits = header.from == words.covered && header.from < header.to;
            if !fits || header.to > length || index::tail(log, header.to)? != header.tail {
                break;
            }
            words.segments.push((words.end, header));
            words.end += header.length();
            words.covered = header.to;
        }
        Ok(words)
    }

    /// How many segments there are.
    pub(super) fn count(&self) -> usize {
        self.segments.len()
    }

    /// The stretches of the log that may hold all of `parts`, of one segment.
    pub(super) fn candidates(
        &self,
        number: usize,
        parts: &[Vec<u8>],
    ) -> io::Result<Vec<(u64, u64)>> {
        let (offset, header) = self.segments[number];
        let read = |from: u64, length: usize| {
            let mut bytes = vec![0; length];
            self.file.read_exact_at(&mut bytes, offset + from)?;
            Ok(bytes)
        };
        let tables = read(HEADER as u64, header.tables())?;
        match Segment::new(header, tables) {
            Some(segment) => segment.candidates(parts, read),
            None => Ok(vec![(header.from, header.to)]),
        }
    }
}

/// Gathers the words of a log that are not gathered yet. Does nothing where somebody else is at it.
pub(super) fn gather(log_path: &Path) -> io::Result<()> {
    let path = path(log_path);
    let Ok(_lock) = Lock::take(&path.with_extension("words.lock")) else {
        return Ok(());
    };
    let log = File::open(log_path)?;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)?;
    let mut words = Words::read(file, &log)?;
    words.file.set_len(words.end)?;
    let length = log.metadata()?.len();
    while length - words.covered >= LITTLE {
        let Some(segment) = next_segment(&log, words.covered)? else { break };
        words.append(&segment)?;
        let mut bytes = [0; HEADER];
        words.file.read_exact_at(&mut bytes, words.end)?;
        let Some(header) = Header::read(&bytes) else { break };
        words.end += header.length();
        words.covered = header.to;
    }
    Ok(())
}

impl Words {
    /// Writes a segment so that it counts only when all of it is on disk.
    fn append(&mut self, segment: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(segment)?;
        self.file.sync_data()?;
        self.file.write_all_at(&Header::MAGIC, self.end)?;
        self.file.sync_data()
    }
}

/// The words of the whole lines from an offset on.
fn next_segment(log: &File, from: u64) -> io::Result<Option<Vec<u8>>> {
    let mut reader = BufReader::with_capacity(1 << 18, log);
    reader.seek(SeekFrom::Start(from))?;
    let mut lines = Lines::new(reader);
    let mut builder = Builder::new(from);
    let mut to = from;
    while to - from < SEGMENT {
        let Some(line) = lines.next()? else { break };
        // A line that is still being written belongs to a later segment.
        if let Line::Bytes(line) = line {
            builder.begin(to);
            if let Ok(json) = record::open(line)
                && is_searched(json)
            {
                builder.add(without_start(json));
            }
        }
        if !lines.is_whole {
            break;
        }
        to = from + lines.length;
    }
    if to == from {
        return Ok(None);
    }
    Ok(Some(builder.finish(to, index::tail(log, to)?)))
}

/// A record from its type on: number, session and time are not searched.
fn without_start(json: &[u8]) -> &[u8] {
    const START: usize = 400;
    let start = memmem::find(&json[..json.len().min(START)], b"\"type\":\"");
    &json[start.unwrap_or(0)..]
}

/// Whether a search looks into events of this type.
fn is_searched(json: &[u8]) -> bool {
    let Some(kind) = record::glance(json).and_then(|glance| glance.kind) else { return true };
    !matches!(
        kind,
        b"configured" | b"tool_judged" | b"asked" | b"answered" | b"notice" | b"turn_finished"
    )
}

/// Removes the words of a log.
pub(crate) fn forget(log: &Path) -> Result<(), FileError> {
    let path = path(log);
    match fs::remove_file(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result.map_err(cannot("delete", &path)),
    }
}
