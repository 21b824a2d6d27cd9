use proptest::prelude::*;

use super::*;
use crate::samples;

const GOLDEN: &[u8] = include_bytes!("../../golden/format-1.jsonl");

fn read(bytes: &[u8]) -> Contents {
    Events::new(bytes, samples::id()).collect().unwrap()
}

fn log_of(events: &[Event]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for event in events {
        record::encode(event, &mut bytes).unwrap();
    }
    bytes
}

fn causes(contents: &Contents) -> Vec<(u64, Cause)> {
    let pair = |repair: &Repair| (repair.line, repair.cause.clone());
    contents.repairs.iter().map(pair).collect()
}

/// Returns true if `part` is `whole` with some events left out.
fn is_within(part: &[Event], whole: &[Event]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|event| rest.any(|other| other == event))
}

#[test]
fn log_format_matches_the_released_one() {
    let events = samples::conversation();
    let contents = read(GOLDEN);
    assert_eq!(causes(&contents), []);
    assert!(!contents.is_foreign);
    assert_eq!(contents.events, events);
    assert_eq!(log_of(&events), GOLDEN, "records are written as they always were");
}

#[test]
fn garbage_between_records_is_skipped() {
    let events = samples::conversation();
    let garbage: [&[u8]; 6] = [b"", b"\0\0\0", b"\xff\xfe", b"{}", b"00000000 {}", b"\r"];
    let mut bytes = Vec::new();
    for (event, noise) in events.iter().zip(garbage.iter().cycle()) {
        bytes.extend_from_slice(noise);
        bytes.push(b'\n');
        bytes.extend(log_of(std::slice::from_ref(event)));
    }
    let contents = read(&bytes);
    assert_eq!(contents.events, events);
    assert_eq!(contents.repair_count, events.len() as u64);
    assert_eq!(contents.repairs[0].to_string(), "line 1: not a record; skipped");
}

#[test]
fn truncated_log_gives_the_events_before_the_cut() {
    let events = samples::conversation();
    let mut ends = GOLDEN.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let mut end = ends.next().unwrap().0;
    let mut whole = 0;
    for cut in 0..=GOLDEN.len() {
        // The last record is whole when only its end is missing.
        if cut == end {
            whole += 1;
            end = ends.next().map_or(usize::MAX, |(end, _)| end);
        }
        assert_eq!(read(&GOLDEN[..cut]).events, events[..whole], "cut at {cut}");
    }
}

#[test]
fn repeated_and_missing_events_are_reported() {
    let events = samples::conversation();
    let order = [0, 0, 1, 4, 2, 5].map(|position: usize| events[position].clone());
    let contents = read(&log_of(&order));
    let seqs: Vec<u64> = contents.events.iter().map(|event| event.seq.0).collect();
    assert_eq!(seqs, [1, 2, 5, 6]);
    let expected =
        [(2, Cause::Repeated(1)), (4, Cause::Gap { last: 2, found: 5 }), (5, Cause::Repeated(3))];
    assert_eq!(causes(&contents), expected);
}

#[test]
fn a_log_of_a_later_version_is_recognized() {
    let events = samples::conversation();
    assert!(!read(&log_of(&events)).is_foreign);
    let later = samples::event(
        1,
        EventKind::SessionStarted {
            cwd: String::new(),
            format: contract::log::FORMAT + 1,
            forked_from: None,
        },
    );
    assert!(read(&log_of(&[later])).is_foreign);

    let json = r#"{"seq":1,"session":"s","at":"2026-01-01T00:00:00Z","type":"dreamed"}"#;
    let line = format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()));
    let contents = read(line.as_bytes());
    assert!(contents.is_foreign);
    assert!(contents.repairs[0].to_string().contains("`dreamed`"));
}

#[test]
fn endless_line_is_skipped_in_bounded_memory() {
    let events = samples::conversation();
    let mut bytes = log_of(&events[..1]);
    bytes.extend(std::iter::repeat_n(b'x', 5_000_000));
    bytes.push(b'\n');
    bytes.extend(log_of(&events[1..]));
    bytes.extend(std::iter::repeat_n(b'y', 5_000_000));
    let mut reading = Events::new(bytes.as_slice(), samples::id());
    reading.lines.longest = 1_000_000;
    let contents = reading.collect().unwrap();
    assert_eq!(contents.events, events);
    assert_eq!(contents.repair_count, 2);
    assert_eq!(contents.repairs[0].cause, Cause::TooLong);
    assert_eq!(reading.lines.length, bytes.len() as u64);
    assert!(!reading.lines.is_whole);
    assert!(reading.lines.buffer.capacity() < 4_000_000);
}

#[test]
fn the_longest_line_is_read_and_one_byte_more_is_not() {
    for (length, is_read) in [(10, true), (11, false)] {
        for end in ["", "\n"] {
            let text = "x".repeat(length) + end;
            let mut lines = Lines::new(text.as_bytes());
            lines.longest = 10;
            let line = lines.next().unwrap().unwrap();
            assert_eq!(matches!(line, Line::Bytes(_)), is_read, "{length}{end:?}");
            assert_eq!(lines.is_whole, !end.is_empty());
            assert!(lines.next().unwrap().is_none());
            assert_eq!(lines.length, text.len() as u64);
        }
    }
}

#[test]
fn the_list_of_repairs_is_bounded() {
    let contents = read("\n".repeat(5_000).as_bytes());
    assert_eq!(contents.repairs.len(), LISTED);
    assert_eq!(contents.repair_count, 5_000);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_can_be_read(bytes: Vec<u8>) {
        let contents = read(&bytes);
        prop_assert!(contents.events.is_empty());
    }

    #[test]
    fn flipped_bits_lose_only_their_own_records(
        flips in prop::collection::vec((0..GOLDEN.len(), 0..8_u8), 1..6),
    ) {
        let whole = read(GOLDEN).events;
        let mut bytes = GOLDEN.to_vec();
        for (position, bit) in &flips {
            bytes[*position] ^= 1 << bit;
        }
        let contents = read(&bytes);
        prop_assert!(is_within(&contents.events, &whole));
        // A flip in a line's end spoils two lines.
        prop_assert!(contents.events.len() + 2 * flips.len() >= whole.len());
    }

    #[test]
    fn shuffled_pieces_give_no_invented_event(
        pieces in prop::collection::vec((0..GOLDEN.len(), 0..GOLDEN.len()), 1..6),
    ) {
        let whole = read(GOLDEN).events;
        let slices = pieces.iter().map(|(a, b)| &GOLDEN[*a.min(b)..*a.max(b)]);
        let bytes: Vec<u8> = slices.flatten().copied().collect();
        let contents = read(&bytes);
        prop_assert!(is_within(&contents.events, &whole));
        prop_assert_eq!(read(&log_of(&contents.events)).events, contents.events);
    }
}
