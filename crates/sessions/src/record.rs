//! One record of the log: `crc32 SP json LF`, the checksum in eight lower-case hexadecimal digits
//! over the bytes of the JSON. Turns events into records and back; reads no files.

use std::io;

use contract::event::Event;
use contract::text;
use serde::Deserialize;

/// The longest line that is read or written, in bytes.
pub(crate) const MAX_RECORD: usize = 256 << 20;

/// The deepest nesting that is written; the JSON reader refuses at 128.
const DEEPEST: usize = 120;

/// The highest number an event may have, so that every JSON reader keeps it exact.
pub(crate) const HIGHEST: u64 = 1 << 53;

const CHECKSUM: usize = 8;
const HEADER: usize = CHECKSUM + 1;

/// The problem of a line of the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// The last line has no end: the program was stopped while it wrote.
    #[error("the record is unfinished; skipped")]
    Unfinished,
    /// The line does not have the form of a record.
    #[error("not a record; skipped")]
    Shapeless,
    /// The line was changed after it was written.
    #[error("the checksum does not match; skipped")]
    Checksum,
    /// The line is too long to be read.
    #[error("the record is longer than {} MB; skipped", MAX_RECORD >> 20)]
    TooLong,
    /// The record is whole, but nothing this program knows.
    #[error("the record cannot be understood ({0}); skipped")]
    Unknown(String),
    /// The event's number was used before.
    #[error("event {0} is there already; skipped")]
    Repeated(u64),
    /// Events are missing before this one, which is not skipped.
    #[error("event {found} follows event {last}: what was between them is lost")]
    Gap {
        /// The event before the gap.
        last: u64,
        /// The event after it.
        found: u64,
    },
}

/// Appends the record of an event to `records`. After an error `records` is as before.
pub(crate) fn encode(event: &Event, records: &mut Vec<u8>) -> io::Result<()> {
    let start = records.len();
    records.extend_from_slice(&[b' '; HEADER]);
    let written = serde_json::to_writer(&mut *records, event).map_err(io::Error::from);
    let json = &records[start + HEADER..];
    let checked = written.and_then(|()| check(event, json));
    if let Err(error) = checked {
        records.truncate(start);
        return Err(error);
    }
    let checksum = format!("{:08x}", crc32fast::hash(json));
    records[start..start + CHECKSUM].copy_from_slice(checksum.as_bytes());
    records.push(b'\n');
    Ok(())
}

/// The JSON of a line without its end, if the line is a whole record.
pub(crate) fn open(line: &[u8]) -> Result<&[u8], Cause> {
    let (header, json) = line.split_at_checked(HEADER).ok_or(Cause::Shapeless)?;
    let digits = header.strip_suffix(b" ").ok_or(Cause::Shapeless)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(Cause::Shapeless);
    }
    let stated = std::str::from_utf8(digits)
        .ok()
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .ok_or(Cause::Shapeless)?;
    if stated == crc32fast::hash(json) { Ok(json) } else { Err(Cause::Checksum) }
}

/// The event in the JSON of a record.
pub(crate) fn parse(json: &[u8]) -> Result<Event, Cause> {
    let event: Event = serde_json::from_slice(json).map_err(|error| {
        let kind = serde_json::from_slice::<Kind>(json).map_or(String::new(), |kind| kind.kind);
        let why = if kind.is_empty() {
            error.to_string()
        } else {
            format!("`{}`: {error}", text::head(&kind, 40))
        };
        Cause::Unknown(text::visible(text::head(&why, 200)).into_owned())
    })?;
    if event.seq.0 == 0 || event.seq.0 > HIGHEST {
        let why = format!("{} is not a event's number", event.seq.0);
        return Err(Cause::Unknown(why));
    }
    Ok(event)
}

/// The first fields of a record's JSON, as this program writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Glance<'a> {
    /// The event's number.
    pub(crate) seq: u64,
    /// When it happened, as text.
    pub(crate) at: &'a [u8],
    /// Its type; none for an event of a conversation within the session.
    pub(crate) kind: Option<&'a [u8]>,
}

/// Looks at the first bytes of a record's JSON; none where they are in no usual order, which only
/// reading all of it can tell from an error.
pub(crate) fn glance(json: &[u8]) -> Option<Glance<'_>> {
    let rest = json.strip_prefix(b"{\"seq\":")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let seq = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
    let rest = rest[digits..].strip_prefix(b",\"session\":\"")?;
    let (_, rest) = plain(rest)?;
    let (at, rest) = plain(rest.strip_prefix(b",\"at\":\"")?)?;
    let kind = if rest.starts_with(b",\"within\":{") {
        None
    } else {
        Some(plain(rest.strip_prefix(b",\"type\":\"")?)?.0)
    };
    (1..=HIGHEST).contains(&seq).then_some(Glance { seq, at, kind })
}

/// A short string without escapes, and what follows its quote.
fn plain(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    const LONGEST_NAME: usize = 128;
    let end = memchr::memchr2(b'"', b'\\', &bytes[..bytes.len().min(LONGEST_NAME)])?;
    (bytes[end] == b'"').then(|| (&bytes[..end], &bytes[end + 1..]))
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
}

fn check(event: &Event, json: &[u8]) -> io::Result<()> {
    let problem = if json.len() + HEADER > MAX_RECORD {
        format!("is longer than {} MB", MAX_RECORD >> 20)
    } else if depth(json) > DEEPEST {
        format!("is nested more than {DEEPEST} levels deep")
    } else {
        return Ok(());
    };
    let message = format!("event {} {problem}", event.seq.0);
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = json.iter();
    let mut in_string = false;
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' => drop(bytes.next()),
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use contract::event::EventKind;
    use serde_json::{Value, json};

    use super::*;
    use crate::samples;

    fn round_trip(event: &Event) -> Result<Event, Cause> {
        let mut line = Vec::new();
        encode(event, &mut line).unwrap();
        assert_eq!(line.pop(), Some(b'\n'));
        assert!(!line.contains(&b'\n'));
        parse(open(&line)?)
    }

    fn nested(levels: usize) -> Event {
        let data = (0..levels).fold(json!("[{\"\\"), |inner, _| Value::Array(vec![inner]));
        samples::event(1, EventKind::Custom { plugin: "p".into(), name: "n".into(), data })
    }

    #[test]
    fn record_survives_any_text() {
        let text = "a\nb\r\0\u{2028}\u{2029}\u{feff}\u{10ffff}\\\"\u{7f}";
        let event = samples::event(1, EventKind::TurnStarted { prompt: text.into() });
        assert_eq!(round_trip(&event).unwrap(), event);
    }

    #[test]
    fn record_refuses_nesting_that_cannot_be_read() {
        let deepest = nested(DEEPEST - 1);
        assert_eq!(round_trip(&deepest).unwrap(), deepest);
        let mut records = b"before".to_vec();
        let error = encode(&nested(DEEPEST), &mut records).unwrap_err();
        assert_eq!(error.to_string(), "event 1 is nested more than 120 levels deep");
        assert_eq!(records, b"before");
    }

    #[test]
    fn foreign_line_is_distinguished_from_a_damaged_record() {
        assert_eq!(open(b""), Err(Cause::Shapeless));
        assert_eq!(open(b"+0000000 {}"), Err(Cause::Shapeless));
        assert_eq!(open(b"00000000"), Err(Cause::Shapeless));
        assert_eq!(open(b"\xff\xff\xff\xff\xff\xff\xff\xff {}"), Err(Cause::Shapeless));
        assert_eq!(open(b"12345678 {}"), Err(Cause::Checksum));
    }

    #[test]
    fn hostile_json_is_refused() {
        let deep = "[".repeat(1_000_000);
        let texts = [
            "",
            "null",
            "{}",
            "\0",
            &deep,
            "{\"type\":\"\u{1b}[31m\"}",
            r#"{"seq":-1,"session":"s","at":"2026-01-01T00:00:00Z","type":"session_ended"}"#,
            r#"{"seq":18446744073709551615,"session":"s","at":"2026-01-01T00:00:00Z","type":"session_ended"}"#,
            r#"{"seq":1,"session":"../s","at":"2026-01-01T00:00:00Z","type":"session_ended"}"#,
        ];
        for text in texts {
            let Err(Cause::Unknown(why)) = parse(text.as_bytes()) else {
                panic!("{text}");
            };
            assert!(!why.contains('\u{1b}'), "{why}");
        }
        assert!(parse(b"{\"type\":\"\xff\"}").is_err());
    }
}
