//! The words of one stretch of a log, and the records they stand in. A word is a run of letters,
//! digits and underscores in lower case; every word of a text is found again by any part of it.
//! Knows bytes only.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use memchr::memmem;

/// The longest word that is kept in one piece; longer ones are kept in pieces that overlap.
const PIECE: usize = 64;
/// How much of a piece the next one repeats, and how much of a word is looked for.
const OVERLAP: usize = 16;
/// Shorter parts of words are everywhere.
const SHORTEST: usize = 2;
/// Every so many words their place is noted.
const STRIDE: usize = 128;
/// Words whose postings are read one by one; those of more words are read all at once.
const FEW: usize = 32;

/// Bytes before the tables of a segment.
pub(super) const HEADER: usize = 56;
const MAGIC: &[u8; 8] = b"words-02";

/// Gathers the words of a stretch of a log.
pub(super) struct Builder {
    from: u64,
    /// Where each record begins, counted from `from`.
    records: Vec<u32>,
    words: HashMap<Box<[u8]>, Posting, Seed>,
    folded: Vec<u8>,
}

#[derive(Default)]
struct Posting {
    /// The last record, counted from 1.
    last: u32,
    /// The distances between records.
    distances: Vec<u8>,
}

impl Builder {
    /// Begins at an offset of a log.
    pub(super) fn new(from: u64) -> Self {
        let words = HashMap::with_hasher(Seed(RandomState::new().hash_one(from)));
        Self { from, records: Vec::new(), words, folded: Vec::new() }
    }

    /// Begins a record at an offset.
    pub(super) fn begin(&mut self, offset: u64) {
        self.records.push(u32::try_from(offset - self.from).unwrap_or(u32::MAX));
    }

    /// Adds words of the record.
    pub(super) fn add(&mut self, text: &[u8]) {
        let mut folded = std::mem::take(&mut self.folded);
        fold(text, &mut folded);
        for word in words(&folded) {
            let mut rest = word;
            while rest.len() > PIECE {
                self.note(&rest[..PIECE]);
                rest = &rest[PIECE - OVERLAP..];
            }
            self.note(rest);
        }
        self.folded = folded;
    }

    fn note(&mut self, word: &[u8]) {
        let record = u32::try_from(self.records.len()).unwrap_or(u32::MAX);
        let posting = match self.words.get_mut(word) {
            Some(posting) => posting,
            None => self.words.entry(word.into()).or_default(),
        };
        if posting.last != record {
            push_number(&mut posting.distances, record - posting.last);
            posting.last = record;
        }
    }

    /// The bytes of the segment, which ends at an offset of the log. `tail` tells whether the log
    /// is still the same.
    pub(super) fn finish(self, to: u64, tail: u32) -> Vec<u8> {
        let mut words: Vec<_> = self.words.into_iter().collect();
        words.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let (mut vocabulary, mut postings, mut marks) = (Vec::new(), Vec::new(), Vec::new());
        for (number, (word, posting)) in words.into_iter().enumerate() {
            if number % STRIDE == 0 {
                marks.push((vocabulary.len(), postings.len()));
            }
            vocabulary.push(b'\n');
            vocabulary.extend_from_slice(&word);
            push_nibbles(&mut vocabulary, posting.distances.len());
            postings.extend_from_slice(&posting.distances);
        }
        let mut bytes = vec![0; HEADER];
        for record in &self.records {
            bytes.extend_from_slice(&record.to_le_bytes());
        }
        for (place, posting) in &marks {
            bytes.extend_from_slice(&(*place as u64).to_le_bytes());
            bytes.extend_from_slice(&(*posting as u64).to_le_bytes());
        }
        bytes.extend_from_slice(&vocabulary);
        let checksum = crc32fast::hash(&bytes[HEADER..]);
        let counts = [self.records.len(), marks.len(), vocabulary.len(), postings.len()];
        bytes[8..16].copy_from_slice(&self.from.to_le_bytes());
        bytes[16..24].copy_from_slice(&to.to_le_bytes());
        for (at, count) in (24..).step_by(4).zip(counts) {
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            bytes[at..at + 4].copy_from_slice(&count.to_le_bytes());
        }
        bytes[40..44].copy_from_slice(&tail.to_le_bytes());
        bytes[44..48].copy_from_slice(&checksum.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[8..48]);
        bytes[48..52].copy_from_slice(&checksum.to_le_bytes());
        bytes.extend_from_slice(&postings);
        bytes
    }
}

/// What a segment says of itself. Its first eight bytes are written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) tail: u32,
    records: usize,
    marks: usize,
    vocabulary: usize,
    postings: usize,
    checksum: u32,
}

impl Header {
    /// What makes a segment count.
    pub(super) const MAGIC: [u8; 8] = *MAGIC;

    /// Reads it; none where it is not whole.
    pub(super) fn read(bytes: &[u8; HEADER]) -> Option<Self> {
        let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let size = |at: usize| usize::try_from(word(at)?).ok();
        if bytes[..8] != *MAGIC || word(48)? != crc32fast::hash(&bytes[8..48]) {
            return None;
        }
        Some(Self {
            from: long(8)?,
            to: long(16)?,
            records: size(24)?,
            marks: size(28)?,
            vocabulary: size(32)?,
            postings: size(36)?,
            tail: word(40)?,
            checksum: word(44)?,
        })
    }

    /// Bytes of the tables after the header.
    pub(super) fn tables(&self) -> usize {
        self.records * 4 + self.marks * 16 + self.vocabulary
    }

    /// Bytes of the whole segment.
    pub(super) fn length(&self) -> u64 {
        (HEADER + self.tables() + self.postings) as u64
    }
}

/// A segment that was read, without its postings.
pub(super) struct Segment {
    header: Header,
    tables: Vec<u8>,
}

impl Segment {
    /// Takes the tables; none where they are damaged.
    pub(super) fn new(header: Header, tables: Vec<u8>) -> Option<Self> {
        let is_whole =
            tables.len() == header.tables() && crc32fast::hash(&tables) == header.checksum;
        is_whole.then_some(Self { header, tables })
    }

    /// The stretches of the log that may hold all of `parts`, in order. `read` gives the postings
    /// of a range, which is counted from the segment's beginning.
    pub(super) fn candidates(
        &self,
        parts: &[Vec<u8>],
        mut read: impl FnMut(u64, usize) -> std::io::Result<Vec<u8>>,
    ) -> std::io::Result<Vec<(u64, u64)>> {
        let mut wanted = vec![true; self.header.records];
        let mut postings = Postings {
            from: (HEADER + self.header.tables()) as u64,
            length: self.header.postings,
            all: None,
            read: &mut read,
        };
        let words: Vec<_> = parts.iter().map(|part| self.words_with(part)).collect();
        // A word that stands nowhere spares the others.
        if words.iter().any(Vec::is_empty) {
            return Ok(Vec::new());
        }
        for spans in words {
            let mut found = vec![false; self.header.records];
            postings.mark(&spans, &mut found)?;
            for (wanted, found) in wanted.iter_mut().zip(found) {
                *wanted &= found;
            }
        }
        let start = |record: usize| {
            let bytes = self.tables.get(record * 4..record * 4 + 4);
            let bytes = bytes.filter(|_| record < self.header.records);
            bytes.and_then(|bytes| bytes.try_into().ok()).map_or(self.header.to, |bytes| {
                self.header.from + u64::from(u32::from_le_bytes(bytes))
            })
        };
        let chosen = (0..self.header.records).filter(|record| wanted[*record]);
        Ok(chosen.map(|record| (start(record), start(record + 1))).collect())
    }

    /// Where the postings are of all words that have a part, and how long each is.
    fn words_with(&self, part: &[u8]) -> Vec<(usize, usize)> {
        let vocabulary = &self.tables[self.tables.len() - self.header.vocabulary..];
        let mut walk = Walk { at: 0, posting: 0 };
        let mut spans = Vec::new();
        let mut from = 0;
        while let Some(at) = memmem::find(&vocabulary[from..], part).map(|at| from + at) {
            let mark = self.mark_before(at);
            if mark.at > walk.at {
                walk = mark;
            }
            let (posting, length, end) = walk.step_to(vocabulary, at);
            spans.push((posting, length));
            from = end;
        }
        spans
    }

    /// The last noted word at or before a place of the vocabulary.
    fn mark_before(&self, at: usize) -> Walk {
        let first = self.header.records * 4;
        let mark = |number: usize| {
            let long = |from: usize| {
                let bytes = self.tables.get(from..from + 8).and_then(|it| it.try_into().ok());
                bytes.map_or(0, |bytes| usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(0))
            };
            let from = first + number * 16;
            Walk { at: long(from), posting: long(from + 8) }
        };
        let (mut low, mut high) = (0, self.header.marks);
        while low + 1 < high {
            let middle = usize::midpoint(low, high);
            if mark(middle).at <= at { low = middle } else { high = middle }
        }
        mark(low)
    }
}

/// The postings of a segment, read as they are needed.
struct Postings<'a, R> {
    from: u64,
    length: usize,
    all: Option<Vec<u8>>,
    read: &'a mut R,
}

impl<R: FnMut(u64, usize) -> std::io::Result<Vec<u8>>> Postings<'_, R> {
    /// Marks the records that these postings name.
    fn mark(&mut self, spans: &[(usize, usize)], found: &mut [bool]) -> std::io::Result<()> {
        if spans.len() > FEW && self.all.is_none() {
            self.all = Some((self.read)(self.from, self.length)?);
        }
        for (start, length) in spans {
            match &self.all {
                Some(all) => mark(all.get(*start..start + length).unwrap_or_default(), found),
                None => mark(&(self.read)(self.from + *start as u64, *length)?, found),
            }
        }
        Ok(())
    }
}

fn mark(posting: &[u8], found: &mut [bool]) {
    let mut record = 0_usize;
    for distance in numbers(posting) {
        record = record.saturating_add(distance as usize);
        if let Some(found) = record.checked_sub(1).and_then(|record| found.get_mut(record)) {
            *found = true;
        }
    }
}

/// Hashes words fast. The seed differs from run to run, so that no text can be made for which it
/// is slow.
#[derive(Clone, Copy)]
struct Seed(u64);

impl BuildHasher for Seed {
    type Hasher = Mixed;

    fn build_hasher(&self) -> Mixed {
        Mixed(self.0)
    }
}

struct Mixed(u64);

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15;
        let product = u128::from(self.0 ^ word) * FACTOR;
        let (low, high) = (product & u128::from(u64::MAX), product >> 64);
        self.0 = u64::try_from(low ^ high).unwrap_or_default().rotate_left(23);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A way through the vocabulary, word by word.
#[derive(Clone, Copy)]
struct Walk {
    at: usize,
    posting: usize,
}

impl Walk {
    /// Goes on to the word around a place; returns where its posting is, its length, and where the
    /// next word begins.
    fn step_to(&mut self, vocabulary: &[u8], place: usize) -> (usize, usize, usize) {
        loop {
            let end = memchr::memchr(b'\n', &vocabulary[self.at + 1..])
                .map_or(vocabulary.len(), |end| self.at + 1 + end);
            let length = nibbles(&vocabulary[self.at..end]);
            let posting = self.posting;
            self.at = end;
            self.posting += length;
            if end > place || end == vocabulary.len() {
                return (posting, length, end);
            }
        }
    }
}

/// The parts of a query that a record must hold, as they stand in a vocabulary.
pub(super) fn parts(query: &[String]) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    for text in query {
        let mut folded = Vec::new();
        fold(text.as_bytes(), &mut folded);
        let long = words(&folded).filter(|word| word.len() >= SHORTEST);
        parts.extend(long.map(|word| word[..word.len().min(OVERLAP)].to_vec()));
    }
    parts
}

/// Lower case, as far as bytes are text.
fn fold(text: &[u8], folded: &mut Vec<u8>) {
    folded.clear();
    if text.is_ascii() {
        folded.extend_from_slice(text);
        folded.make_ascii_lowercase();
        return;
    }
    let mut bytes = [0; 4];
    for c in String::from_utf8_lossy(text).chars().flat_map(char::to_lowercase) {
        folded.extend_from_slice(c.encode_utf8(&mut bytes).as_bytes());
    }
}

fn words(folded: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    folded.split(move |byte| !is_letter(byte)).filter(|word| !word.is_empty())
}

fn push_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push((number & 0x7f) as u8);
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let mut rest = bytes.iter();
    std::iter::from_fn(move || {
        let (mut number, mut shift) = (0_u32, 0);
        loop {
            let byte = rest.next()?;
            number |= u32::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
    })
}

/// Writes a length in bytes that no word contains.
fn push_nibbles(bytes: &mut Vec<u8>, mut length: usize) {
    while length > 0 {
        bytes.push(0x10 | u8::try_from(length & 0xf).unwrap_or(0));
        length >>= 4;
    }
}

fn nibbles(entry: &[u8]) -> usize {
    let digits = entry.iter().rev().take_while(|byte| (0x10..0x20).contains(*byte));
    digits.fold(0_usize, |length, digit| length.wrapping_shl(4) | usize::from(digit & 0xf))
}
