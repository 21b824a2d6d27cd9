//! Bytes by their hash, for one workspace. They are appended to large files, so that keeping twenty
//! thousand small ones costs no more than their bytes; `index` says where each is. Everything is
//! checked when it is read. Whoever changes it holds the workspace's lock.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::state::Hash;

/// A pack takes no more once it holds this much.
const PACK_SIZE: u64 = 64 << 20;
const ENTRY: usize = 52;

#[derive(Clone, Copy)]
struct Location {
    pack: u32,
    offset: u64,
    length: u64,
}

/// The kept bytes of one workspace.
pub(super) struct Depot {
    directory: PathBuf,
    places: HashMap<Hash, Location>,
    /// The index as far as it was read: which file, and how much of it.
    read: (u64, u64),
    total: u64,
    limit: u64,
    open: Option<Pack>,
    fresh: Vec<u8>,
    is_dirty: bool,
}

struct Pack {
    number: u32,
    length: u64,
    writer: BufWriter<File>,
}

impl Depot {
    /// The depot in `directory`, which holds `limit` bytes at most.
    pub(super) fn open(directory: &Path, limit: u64) -> io::Result<Self> {
        let mut depot = Self {
            directory: directory.to_owned(),
            places: HashMap::new(),
            read: (0, 0),
            total: 0,
            limit,
            open: None,
            fresh: Vec::new(),
            is_dirty: false,
        };
        depot.refresh()?;
        Ok(depot)
    }

    /// Takes in what another process has added meanwhile.
    pub(super) fn refresh(&mut self) -> io::Result<()> {
        // What was kept here and is in no index yet must not be forgotten.
        self.flush()?;
        let file = match File::open(self.directory.join("index")) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.forget();
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        // A process that died may have left something at the end of the pack.
        self.open = None;
        let metadata = file.metadata()?;
        let whole = metadata.len() / ENTRY as u64 * ENTRY as u64;
        if self.read == (metadata.ino(), whole) {
            return Ok(());
        }
        if self.read.0 != metadata.ino() || self.read.1 > whole {
            self.forget();
        }
        let mut bytes = vec![0; usize::try_from(whole - self.read.1).unwrap_or(0)];
        file.read_exact_at(&mut bytes, self.read.1)?;
        let mut lengths = HashMap::new();
        for entry in bytes.as_chunks::<ENTRY>().0 {
            let (hash, place) = decode(entry);
            let length = *lengths.entry(place.pack).or_insert_with(|| {
                fs::metadata(self.pack(place.pack)).map_or(0, |metadata| metadata.len())
            });
            // A power cut can take the end of a pack and leave the index.
            if place.offset.saturating_add(place.length) <= length
                && self.places.insert(hash, place).is_none()
            {
                self.total += place.length;
            }
        }
        self.read = (metadata.ino(), whole);
        Ok(())
    }

    fn forget(&mut self) {
        self.places.clear();
        self.read = (0, 0);
        self.total = 0;
        self.open = None;
    }

    fn pack(&self, number: u32) -> PathBuf {
        self.directory.join(format!("pack-{number:06}"))
    }

    /// Bytes that are kept.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Whether so many bytes more can be kept.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.total.saturating_add(bytes) <= self.limit
    }

    /// Whether these bytes are kept.
    pub(super) fn holds(&self, hash: Hash) -> bool {
        self.places.contains_key(&hash)
    }

    /// Keeps bytes. They can be read after the next [`Depot::flush`].
    pub(super) fn put(&mut self, hash: Hash, bytes: &[u8]) -> io::Result<()> {
        if self.holds(hash) {
            return Ok(());
        }
        let length = bytes.len() as u64;
        let pack = self.writable()?;
        pack.writer.write_all(bytes)?;
        let place = Location { pack: pack.number, offset: pack.length, length };
        pack.length += length;
        encode(hash, place, &mut self.fresh);
        self.places.insert(hash, place);
        self.total += length;
        self.is_dirty = true;
        Ok(())
    }

    /// The pack that is written to.
    fn writable(&mut self) -> io::Result<&mut Pack> {
        if self.open.as_ref().is_some_and(|pack| pack.length >= PACK_SIZE) {
            self.flush()?;
            self.open = None;
        }
        let pack = match self.open.take() {
            Some(pack) => pack,
            None => self.next_pack()?,
        };
        Ok(self.open.insert(pack))
    }

    fn next_pack(&self) -> io::Result<Pack> {
        let last = self.packs()?.last().copied().unwrap_or(0);
        let length = |number| fs::metadata(self.pack(number)).map_or(0, |it| it.len());
        let number = if last == 0 || length(last) >= PACK_SIZE { last + 1 } else { last };
        let file =
            OpenOptions::new().append(true).create(true).mode(0o600).open(self.pack(number))?;
        let length = file.metadata()?.len();
        Ok(Pack { number, length, writer: BufWriter::with_capacity(1 << 18, file) })
    }

    /// The numbers of all packs, in order.
    fn packs(&self) -> io::Result<BTreeSet<u32>> {
        let mut numbers = BTreeSet::new();
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("pack-"));
            numbers.extend(number.and_then(|number| number.parse::<u32>().ok()));
        }
        Ok(numbers)
    }

    /// Hands everything to the system, so that it outlives this program. Where that fails, nothing
    /// of it counts.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let flushed = self.try_flush();
        if flushed.is_err() {
            self.forget();
            self.fresh.clear();
        }
        flushed
    }

    fn try_flush(&mut self) -> io::Result<()> {
        if let Some(pack) = &mut self.open {
            pack.writer.flush()?;
        }
        if self.fresh.is_empty() {
            return Ok(());
        }
        let path = self.directory.join("index");
        let mut index =
            OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        let metadata = index.metadata()?;
        let torn = metadata.len() % ENTRY as u64;
        if torn != 0 {
            index.set_len(metadata.len() - torn)?;
        }
        index.write_all(&self.fresh)?;
        self.read = (metadata.ino(), metadata.len() - torn + self.fresh.len() as u64);
        self.fresh.clear();
        Ok(())
    }

    /// Waits until all that was kept is on disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        if !self.is_dirty {
            return Ok(());
        }
        if let Some(pack) = &self.open {
            pack.writer.get_ref().sync_data()?;
        }
        File::open(self.directory.join("index"))?.sync_data()?;
        self.is_dirty = false;
        Ok(())
    }

    /// The bytes of a name; none where they are not kept, or not whole.
    pub(super) fn get(&mut self, hash: Hash) -> io::Result<Option<Vec<u8>>> {
        let Some(place) = self.places.get(&hash).copied() else { return Ok(None) };
        self.flush()?;
        let file = match File::open(self.pack(place.pack)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = vec![0; usize::try_from(place.length).unwrap_or(0)];
        match file.read_exact_at(&mut bytes, place.offset) {
            Ok(()) => Ok((Hash::of(&bytes) == hash).then_some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// How long the bytes of a name are.
    pub(super) fn length(&self, hash: Hash) -> u64 {
        self.places.get(&hash).map_or(0, |place| place.length)
    }

    /// Drops everything that is not in `live`. Packs that are mostly live stay as they are; the
    /// rest of the others moves to new packs. The index changes in one step.
    pub(super) fn retain(&mut self, live: &BTreeSet<Hash>) -> io::Result<()> {
        self.flush()?;
        let old = self.packs()?;
        let first = old.last().copied().unwrap_or(0) + 1;
        let live = self.places.iter().filter(|(hash, _)| live.contains(hash));
        let mut retained: Vec<(Hash, Location)> = live.map(|(hash, at)| (*hash, *at)).collect();
        retained.sort_by_key(|(_, place)| (place.pack, place.offset));
        let stale = self.stale(&old, &retained);
        let mut entries = Vec::with_capacity(retained.len() * ENTRY);
        let mut target: Option<Pack> = None;
        for (hash, place) in retained {
            if !stale.contains(&place.pack) {
                encode(hash, place, &mut entries);
                continue;
            }
            let Some(bytes) = self.get(hash)? else { continue };
            let pack = match target.take() {
                Some(full) if full.length >= PACK_SIZE => {
                    finish(full.writer)?;
                    target.insert(self.fill(full.number + 1)?)
                }
                Some(pack) => target.insert(pack),
                None => target.insert(self.fill(first)?),
            };
            let place =
                Location { pack: pack.number, offset: pack.length, length: bytes.len() as u64 };
            pack.writer.write_all(&bytes)?;
            pack.length += place.length;
            encode(hash, place, &mut entries);
        }
        if let Some(pack) = target {
            finish(pack.writer)?;
        }
        self.replace_index(&entries)?;
        for number in stale {
            fs::remove_file(self.pack(number))?;
        }
        self.forget();
        self.fresh.clear();
        self.refresh()
    }

    /// The packs of which at least a quarter is not retained.
    fn stale(&self, packs: &BTreeSet<u32>, retained: &[(Hash, Location)]) -> BTreeSet<u32> {
        let mut live: HashMap<u32, u64> = HashMap::new();
        for (_, place) in retained {
            *live.entry(place.pack).or_default() += place.length;
        }
        let is_stale = |number: &&u32| {
            let length = fs::metadata(self.pack(**number)).map_or(0, |metadata| metadata.len());
            live.get(*number).copied().unwrap_or(0) <= length / 4 * 3
        };
        packs.iter().filter(is_stale).copied().collect()
    }

    fn replace_index(&self, entries: &[u8]) -> io::Result<()> {
        let temporary = self.directory.join("index.tmp");
        let mut index = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)?;
        index.write_all(entries)?;
        index.sync_all()?;
        fs::rename(&temporary, self.directory.join("index"))
    }

    fn fill(&self, number: u32) -> io::Result<Pack> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(self.pack(number))?;
        Ok(Pack { number, length: 0, writer: BufWriter::with_capacity(1 << 18, file) })
    }
}

fn finish(writer: BufWriter<File>) -> io::Result<()> {
    writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()
}

fn encode(hash: Hash, place: Location, out: &mut Vec<u8>) {
    out.extend_from_slice(&hash.0);
    out.extend_from_slice(&place.pack.to_le_bytes());
    out.extend_from_slice(&place.offset.to_le_bytes());
    out.extend_from_slice(&place.length.to_le_bytes());
}

fn decode(entry: &[u8; ENTRY]) -> (Hash, Location) {
    let mut hash = [0; 32];
    hash.copy_from_slice(&entry[..32]);
    let number = |from: usize, to: usize| {
        let mut bytes = [0; 8];
        bytes[..to - from].copy_from_slice(&entry[from..to]);
        u64::from_le_bytes(bytes)
    };
    let pack = u32::try_from(number(32, 36)).unwrap_or(u32::MAX);
    (Hash(hash), Location { pack, offset: number(36, 44), length: number(44, 52) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(depot: &mut Depot, text: &str) -> Hash {
        let hash = Hash::of(text.as_bytes());
        depot.put(hash, text.as_bytes()).unwrap();
        hash
    }

    #[test]
    fn bytes_are_kept_once_and_seen_by_others() {
        let directory = tempfile::tempdir().unwrap();
        let mut first = Depot::open(directory.path(), 100).unwrap();
        let mut second = Depot::open(directory.path(), 100).unwrap();
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
    fn what_is_damaged_is_as_if_it_were_not_there() {
        let directory = tempfile::tempdir().unwrap();
        let mut depot = Depot::open(directory.path(), 100).unwrap();
        let (one, two) = (put(&mut depot, "one"), put(&mut depot, "two"));
        depot.sync().unwrap();
        let pack = directory.path().join("pack-000001");
        fs::write(&pack, "oNetwo").unwrap();
        assert_eq!(depot.get(one).unwrap(), None);
        fs::write(&pack, "onetw").unwrap();
        let mut again = Depot::open(directory.path(), 100).unwrap();
        assert!(again.holds(one) && !again.holds(two));
        assert_eq!(again.get(one).unwrap().unwrap(), b"one");
        // A torn entry at the end of the index is written over.
        let index = directory.path().join("index");
        let mut torn = fs::read(&index).unwrap();
        torn.extend_from_slice(b"torn");
        fs::write(&index, torn).unwrap();
        let mut depot = Depot::open(directory.path(), 100).unwrap();
        let three = put(&mut depot, "three");
        depot.sync().unwrap();
        let mut depot = Depot::open(directory.path(), 100).unwrap();
        assert_eq!(depot.get(three).unwrap().unwrap(), b"three");
    }

    #[test]
    fn what_was_kept_first_of_all_survives_a_look_at_others() {
        let directory = tempfile::tempdir().unwrap();
        let mut depot = Depot::open(directory.path(), 100).unwrap();
        let one = put(&mut depot, "one");
        depot.refresh().unwrap();
        assert_eq!(depot.get(one).unwrap().unwrap(), b"one");
    }

    #[test]
    fn what_nobody_needs_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let mut depot = Depot::open(directory.path(), 100).unwrap();
        let mut other = Depot::open(directory.path(), 100).unwrap();
        let (one, two) = (put(&mut depot, "one"), put(&mut depot, "two"));
        depot.flush().unwrap();
        other.refresh().unwrap();
        depot.retain(&BTreeSet::from([two])).unwrap();
        assert!(!depot.holds(one));
        assert_eq!(depot.total(), 3);
        assert_eq!(depot.get(two).unwrap().unwrap(), b"two");
        assert!(!directory.path().join("pack-000001").exists());
        other.refresh().unwrap();
        assert!(!other.holds(one));
        assert_eq!(other.get(two).unwrap().unwrap(), b"two");
        let three = put(&mut other, "three");
        other.flush().unwrap();
        assert_eq!(other.get(three).unwrap().unwrap(), b"three");
    }
}
