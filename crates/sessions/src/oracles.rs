//! Properties that hold for any bytes in the place of a log, one function for each target: a fuzzer calls
//! them with what it invents (`fuzz/`), property tests with what they generate, and both replay the
//! corpus.

use std::io;

use contract::event::Event;
use contract::id::SessionId;

use crate::reader::Events;
use crate::record;

const GOLDEN: &[u8] = include_bytes!("../golden/format-1.jsonl");

/// Any bytes: events come in the order of their numbers, what was read can be written and read
/// again, and whoever reads only what matters sees the same damage and no other events.
pub fn log(bytes: &[u8]) {
    let mut reading = Events::new(bytes, id());
    let events = reading.rest().expect("bytes in memory can be read");
    let numbers = events.windows(2).all(|pair| pair[0].seq < pair[1].seq);
    assert!(numbers, "events in another order than their numbers");
    assert_eq!(reading.lines.length, bytes.len() as u64, "bytes were passed over");
    let mut again = Vec::new();
    for event in &events {
        // Values of another program that are nested too deeply are read and not written.
        let _ = record::encode(event, &mut again);
    }
    let mut copy = Events::new(again.as_slice(), id());
    let copied = copy.rest().expect("bytes in memory can be read");
    assert!(copied.iter().all(|event| events.contains(event)), "written otherwise than read");
    recent(bytes, &events, reading.contents.repair_count);
}

fn recent(bytes: &[u8], events: &[Event], repairs: u64) {
    let read = |into: &mut [u8], offset: u64| {
        let from = usize::try_from(offset).map_err(io::Error::other)?;
        let found = bytes.get(from..from + into.len());
        into.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    };
    let mut reading = Events::new(bytes, id());
    let recent = reading.recent_within(read, u64::MAX).expect("bytes in memory can be read");
    assert!(recent.events.iter().all(|event| events.contains(event)), "an event that is none");
    // Records that are not looked into may hide what only a look at all of them shows.
    assert!(reading.contents.repair_count <= repairs, "damage that is none");
    if reading.contents.repair_count == repairs {
        assert_eq!(recent.events.last(), events.last(), "the last event is missing");
    }
}

/// A good log that was edited: what is read of it was in it, in the same order.
pub fn edited_log(edits: &[u8]) {
    let mut bytes = GOLDEN.to_vec();
    for edit in edits.chunks_exact(4).take(5) {
        if bytes.is_empty() {
            break;
        }
        let at = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % bytes.len();
        let length = usize::from(edit[3]) * 8;
        let end = bytes.len().min(at + length);
        match edit[2] % 5 {
            0 => bytes[at] ^= edit[3] | 1,
            1 => drop(bytes.drain(at..end)),
            2 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            3 => bytes.truncate(at.max(1)),
            _ => bytes.insert(at, b'\n'),
        }
    }
    let whole = Events::new(GOLDEN, id()).rest().expect("bytes in memory can be read");
    let part = Events::new(bytes.as_slice(), id()).rest().expect("bytes in memory can be read");
    let mut rest = whole.iter();
    assert!(
        part.iter().all(|event| rest.any(|other| other == event)),
        "an event that was not there"
    );
    log(&bytes);
}

fn id() -> SessionId {
    SessionId::parse("sample").expect("a name")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    fn corpus(target: &str) -> Vec<Vec<u8>> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        let mut files: Vec<_> =
            fs::read_dir(directory).unwrap().map(|it| it.unwrap().path()).collect();
        files.sort();
        files.iter().map(|path| fs::read(path).unwrap()).collect()
    }

    #[test]
    fn log_reader_passes_the_oracle_on_the_corpus() {
        let logs = corpus("log");
        assert!(logs.len() >= 8);
        for bytes in &logs {
            log(bytes);
        }
        for edits in &corpus("edited_log") {
            edited_log(edits);
        }
        log(GOLDEN);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn log_reader_passes_the_oracle_on_mutated_bytes(bytes: Vec<u8>) {
            log(&bytes);
            edited_log(&bytes);
        }
    }
}
