//! A file of words beside each log, so that a search reads only the parts that may hold what is
//! looked for. It may be missing, old or broken at any time; nothing but speed depends on it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

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
/// Segments that are made at the same time, at most.
const HANDS: usize = 4;
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

/// Gathers the words of a log that are not gathered yet, and tells the bytes of each piece that is
/// done. Does nothing where somebody else is at it.
pub(super) fn gather(log_path: &Path, told: &mut dyn FnMut(u64)) -> io::Result<()> {
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
    let hands = std::thread::available_parallelism().map_or(1, usize::from).min(HANDS);
    while length - words.covered >= LITTLE {
        let before = words.covered;
        for segment in next_segments(&log, before, length, hands)? {
            words.append(&segment)?;
            let mut bytes = [0; HEADER];
            words.file.read_exact_at(&mut bytes, words.end)?;
            let Some(header) = Header::read(&bytes) else { return Ok(()) };
            words.end += header.length();
            words.covered = header.to;
        }
        if words.covered == before {
            break;
        }
        told(words.covered - before);
    }
    Ok(())
}

/// The next segments, each made by a thread of its own.
fn next_segments(log: &File, from: u64, length: u64, hands: usize) -> io::Result<Vec<Vec<u8>>> {
    let mut bounds = vec![from];
    for _ in 0..hands {
        let Some(last) = bounds.last().copied().filter(|last| *last < length) else { break };
        bounds.push(line_after(log, last + SEGMENT, length)?);
    }
    std::thread::scope(|scope| {
        let begin = |bounds: &[u64]| {
            let (from, to) = (bounds[0], bounds[1]);
            scope.spawn(move || segment(log, from, to))
        };
        let hands: Vec<_> = bounds.windows(2).map(begin).collect();
        let mut segments = Vec::new();
        for hand in hands {
            match hand.join() {
                Ok(segment) => segments.extend(segment?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(segments)
    })
}

/// Where the first line begins that does not begin before an offset.
fn line_after(log: &File, offset: u64, length: u64) -> io::Result<u64> {
    let mut at = offset.min(length);
    let mut bytes = vec![0; 1 << 16];
    while at < length {
        let count = log.read_at(&mut bytes, at)?;
        if let Some(end) = memchr::memchr(b'\n', &bytes[..count]) {
            return Ok((at + end as u64 + 1).min(length));
        }
        if count == 0 {
            break;
        }
        at += count as u64;
    }
    Ok(length)
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

/// The words of the whole lines of a stretch.
fn segment(log: &File, from: u64, until: u64) -> io::Result<Option<Vec<u8>>> {
    let mut lines = Lines::new(BufReader::with_capacity(1 << 18, Stretch { log, from, until }));
    let mut builder = Builder::new(from);
    let mut to = from;
    while let Some(line) = lines.next()? {
        if let Line::Bytes(line) = line
            && let Ok(json) = record::open(line)
            && is_searched(json)
            && let Ok(event) = record::parse(json)
        {
            builder.begin(to);
            for (_, text) in super::texts(&event) {
                builder.add(text.as_bytes());
            }
        }
        // A line that is still being written belongs to a later segment.
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

/// A part of a file that is read by itself, whoever else reads the file.
struct Stretch<'a> {
    log: &'a File,
    from: u64,
    until: u64,
}

impl Read for Stretch<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.until - self.from).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let count = self.log.read_at(&mut buffer[..wanted], self.from)?;
        self.from += count as u64;
        Ok(count)
    }
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
