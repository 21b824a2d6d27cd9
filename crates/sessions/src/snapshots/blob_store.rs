//! The saved bytes of one workspace, by their hash. They are appended to one large file, so that
//! saving twenty thousand small files costs no more than their bytes; `index` says where each is.
//! Everything is checked when it is read. Changes require the workspace's lock.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use files::private::{self, Durability};

use super::state::Hash;

/// Bytes of the index before its entries: the generation of the file of blobs.
const HEADER: u64 = 8;
/// Bytes of an entry.
const ENTRY: usize = 48;

#[derive(Clone, Copy)]
struct Location {
    offset: u64,
    length: u64,
}

/// The saved bytes of one workspace.
pub(super) struct BlobStore {
    directory: PathBuf,
    /// Says which file of blobs the index is about. Another one is begun to drop blobs.
    generation: u64,
    locations: HashMap<Hash, Location>,
    /// The index as far as it was read: which file, and how much of it.
    read: (u64, u64),
    total: u64,
    limit: u64,
    /// The end of the file of blobs, while it is written to.
    writer: Option<(BufWriter<File>, u64)>,
    /// Entries that are not in the index yet.
    unflushed: Vec<u8>,
    is_dirty: bool,
}

impl BlobStore {
    /// The blobs in `directory`, `limit` bytes at most.
    pub(super) fn open(directory: &Path, limit: u64) -> io::Result<Self> {
        let mut blobs = Self {
            directory: directory.to_owned(),
            generation: 0,
            locations: HashMap::new(),
            read: (0, HEADER),
            total: 0,
            limit,
            writer: None,
            unflushed: Vec::new(),
            is_dirty: false,
        };
        blobs.refresh()?;
        Ok(blobs)
    }

    /// Reads the additions of another process.
    pub(super) fn refresh(&mut self) -> io::Result<()> {
        // Blobs that are in no index yet must not be lost.
        self.flush()?;
        // A process that died may have left something at the end.
        self.writer = None;
        let index = match File::open(self.index()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            index => Some(index?),
        };
        let metadata = index.as_ref().map(File::metadata).transpose()?;
        let (Some(index), Some(metadata)) =
            (index, metadata.filter(|metadata| metadata.len() >= HEADER))
        else {
            self.forget();
            return Ok(());
        };
        let whole = whole_length(metadata.len());
        if self.read == (metadata.ino(), whole) {
            return Ok(());
        }
        if self.read.0 != metadata.ino() || self.read.1 > whole {
            self.forget();
            let mut header = [0; 8];
            index.read_exact_at(&mut header, 0)?;
            self.generation = u64::from_le_bytes(header);
        }
        let mut bytes = vec![0; usize::try_from(whole - self.read.1).unwrap_or(0)];
        index.read_exact_at(&mut bytes, self.read.1)?;
        let length = fs::metadata(self.file(self.generation)).map_or(0, |metadata| metadata.len());
        for entry in bytes.as_chunks::<ENTRY>().0 {
            let (hash, location) = decode(entry);
            // A power failure can take the end of the blobs and leave the index.
            if location.offset.saturating_add(location.length) <= length
                && self.locations.insert(hash, location).is_none()
            {
                self.total += location.length;
            }
        }
        self.read = (metadata.ino(), whole);
        Ok(())
    }

    fn forget(&mut self) {
        self.locations.clear();
        self.read = (0, HEADER);
        self.total = 0;
        self.writer = None;
    }

    fn index(&self) -> PathBuf {
        self.directory.join("index")
    }

    fn file(&self, generation: u64) -> PathBuf {
        self.directory.join(format!("blobs-{generation}"))
    }

    /// Bytes that are saved.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Returns true if so many bytes more can be saved.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.total.saturating_add(bytes) <= self.limit
    }

    /// Returns true if a blob is saved.
    pub(super) fn holds(&self, hash: Hash) -> bool {
        self.locations.contains_key(&hash)
    }

    /// Saves a blob. It can be read after the next [`BlobStore::flush`].
    pub(super) fn put(&mut self, hash: Hash, bytes: &[u8]) -> io::Result<()> {
        if self.holds(hash) {
            return Ok(());
        }
        let (writer, end) = if let Some(writer) = &mut self.writer {
            writer
        } else {
            let file = private::append(&self.file(self.generation))?;
            let end = file.metadata()?.len();
            self.writer.insert((BufWriter::with_capacity(1 << 18, file), end))
        };
        writer.write_all(bytes)?;
        let location = Location { offset: *end, length: bytes.len() as u64 };
        *end += location.length;
        encode(hash, location, &mut self.unflushed);
        self.locations.insert(hash, location);
        self.total += location.length;
        self.is_dirty = true;
        Ok(())
    }

    /// Hands everything to the system, so that it outlives this program. If that fails, nothing of
    /// it counts.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let flushed = self.try_flush();
        if flushed.is_err() {
            self.forget();
            self.unflushed.clear();
        }
        flushed
    }

    fn try_flush(&mut self) -> io::Result<()> {
        if let Some((writer, _)) = &mut self.writer {
            writer.flush()?;
        }
        if self.unflushed.is_empty() {
            return Ok(());
        }
        let mut index = private::append(&self.index())?;
        let metadata = index.metadata()?;
        let mut whole = whole_length(metadata.len());
        if metadata.len() < HEADER {
            index.set_len(0)?;
            index.write_all(&self.generation.to_le_bytes())?;
            whole = HEADER;
        } else if metadata.len() != whole {
            index.set_len(whole)?;
        }
        index.write_all(&self.unflushed)?;
        self.read = (metadata.ino(), whole + self.unflushed.len() as u64);
        self.unflushed.clear();
        Ok(())
    }

    /// Waits until everything is on disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        if !self.is_dirty {
            return Ok(());
        }
        File::open(self.file(self.generation))?.sync_data()?;
        File::open(self.index())?.sync_data()?;
        self.is_dirty = false;
        Ok(())
    }

    /// The bytes of a blob; none if they are not saved, or damaged.
    pub(super) fn get(&mut self, hash: Hash) -> io::Result<Option<Vec<u8>>> {
        let Some(location) = self.locations.get(&hash).copied() else { return Ok(None) };
        self.flush()?;
        let mut bytes = vec![0; usize::try_from(location.length).unwrap_or(0)];
        let read = File::open(self.file(self.generation))
            .and_then(|file| file.read_exact_at(&mut bytes, location.offset));
        match read.map_err(|error| (error.kind(), error)) {
            Ok(()) => Ok((Hash::of(&bytes) == hash).then_some(bytes)),
            Err((io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof, _)) => Ok(None),
            Err((_, error)) => Err(error),
        }
    }

    /// The length of a blob.
    pub(super) fn length(&self, hash: Hash) -> u64 {
        self.locations.get(&hash).map_or(0, |location| location.length)
    }

    /// Drops every blob that is not in `live`. The file is written anew once a quarter of it is
    /// dropped. The index changes in one step.
    pub(super) fn retain(&mut self, live: &BTreeSet<Hash>) -> io::Result<()> {
        self.flush()?;
        let retained = self.locations.iter().filter(|(hash, _)| live.contains(hash));
        let mut retained: Vec<(Hash, Location)> = retained.map(|(hash, at)| (*hash, *at)).collect();
        retained.sort_by_key(|(_, location)| location.offset);
        let length = fs::metadata(self.file(self.generation)).map_or(0, |metadata| metadata.len());
        let needed: u64 = retained.iter().map(|(_, location)| location.length).sum();
        let is_rewritten = needed <= length / 4 * 3;
        let generation = self.generation + u64::from(is_rewritten);
        let mut entries = generation.to_le_bytes().to_vec();
        if is_rewritten {
            let mut writer = BufWriter::new(private::create(&self.file(generation))?);
            let mut offset = 0;
            for (hash, _) in retained {
                let Some(bytes) = self.get(hash)? else { continue };
                writer.write_all(&bytes)?;
                encode(hash, Location { offset, length: bytes.len() as u64 }, &mut entries);
                offset += bytes.len() as u64;
            }
            writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()?;
        } else {
            for (hash, location) in retained {
                encode(hash, location, &mut entries);
            }
        }
        private::replace(&self.index(), &entries, Durability::Synced)?;
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            let is_blobs =
                path.file_stem().is_some_and(|stem| stem.as_encoded_bytes().starts_with(b"blobs-"));
            if is_blobs && path != self.file(generation) {
                private::remove(&path)?;
            }
        }
        self.forget();
        self.refresh()
    }
}

/// The length of an index without an entry that was cut off.
fn whole_length(length: u64) -> u64 {
    let entry = ENTRY as u64;
    HEADER + length.saturating_sub(HEADER) / entry * entry
}

fn encode(hash: Hash, location: Location, out: &mut Vec<u8>) {
    out.extend_from_slice(&hash.0);
    out.extend_from_slice(&location.offset.to_le_bytes());
    out.extend_from_slice(&location.length.to_le_bytes());
}

fn decode(entry: &[u8; ENTRY]) -> (Hash, Location) {
    let mut parts = entry.as_chunks::<8>().0.iter().copied();
    let mut hash = [0; 32];
    hash.as_chunks_mut::<8>().0.iter_mut().zip(&mut parts).for_each(|(to, from)| *to = from);
    let mut number = || parts.next().map_or(0, u64::from_le_bytes);
    (Hash(hash), Location { offset: number(), length: number() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(blobs: &mut BlobStore, text: &str) -> Hash {
        let hash = Hash::of(text.as_bytes());
        blobs.put(hash, text.as_bytes()).unwrap();
        hash
    }

    #[test]
    fn blobs_are_stored_once_and_shared() {
        let directory = tempfile::tempdir().unwrap();
        let mut first = BlobStore::open(directory.path(), 100).unwrap();
        let mut second = BlobStore::open(directory.path(), 100).unwrap();
        let one = put(&mut first, "one");
        put(&mut first, "one");
        assert_eq!(first.total(), 3);
        first.sync().unwrap();
        second.refresh().unwrap();
        let two = put(&mut second, "two");
        second.flush().unwrap();
        first.refresh().unwrap();
        assert_eq!(first.get(one).unwrap().unwrap(), b"one");
        assert_eq!(first.get(two).unwrap().unwrap(), b"two");
        assert!(first.has_room(94) && !first.has_room(95));
    }

    #[test]
    fn damaged_blob_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        let mut blobs = BlobStore::open(directory.path(), 100).unwrap();
        let (one, two) = (put(&mut blobs, "one"), put(&mut blobs, "two"));
        blobs.sync().unwrap();
        let pack = directory.path().join("blobs-0");
        fs::write(&pack, "oNetwo").unwrap();
        assert_eq!(blobs.get(one).unwrap(), None);
        fs::write(&pack, "onetw").unwrap();
        let mut again = BlobStore::open(directory.path(), 100).unwrap();
        assert!(again.holds(one) && !again.holds(two));
        assert_eq!(again.get(one).unwrap().unwrap(), b"one");
        // A torn entry at the end of the index is written over.
        let index = directory.path().join("index");
        let mut torn = fs::read(&index).unwrap();
        torn.extend_from_slice(b"torn");
        fs::write(&index, torn).unwrap();
        let mut blobs = BlobStore::open(directory.path(), 100).unwrap();
        let three = put(&mut blobs, "three");
        blobs.sync().unwrap();
        let mut blobs = BlobStore::open(directory.path(), 100).unwrap();
        assert_eq!(blobs.get(three).unwrap().unwrap(), b"three");
    }

    #[test]
    fn unflushed_blob_survives_a_refresh() {
        let directory = tempfile::tempdir().unwrap();
        let mut blobs = BlobStore::open(directory.path(), 100).unwrap();
        let one = put(&mut blobs, "one");
        blobs.refresh().unwrap();
        assert_eq!(blobs.get(one).unwrap().unwrap(), b"one");
    }

    #[test]
    fn unreferenced_blobs_are_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let mut blobs = BlobStore::open(directory.path(), 100).unwrap();
        let mut other = BlobStore::open(directory.path(), 100).unwrap();
        let (one, two) = (put(&mut blobs, "one"), put(&mut blobs, "two"));
        blobs.flush().unwrap();
        other.refresh().unwrap();
        blobs.retain(&BTreeSet::from([two])).unwrap();
        assert!(!blobs.holds(one));
        assert_eq!(blobs.total(), 3);
        assert_eq!(blobs.get(two).unwrap().unwrap(), b"two");
        assert!(!directory.path().join("blobs-0").exists());
        other.refresh().unwrap();
        assert!(!other.holds(one));
        assert_eq!(other.get(two).unwrap().unwrap(), b"two");
        let three = put(&mut other, "three");
        other.flush().unwrap();
        assert_eq!(other.get(three).unwrap().unwrap(), b"three");
    }
}
