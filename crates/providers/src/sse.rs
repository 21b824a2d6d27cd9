//! Server-sent events, read as the WHATWG standard says, whatever the sizes of the pieces they
//! arrive in. Buffers are reused: an event costs no allocation.

use crate::lines::{LIMIT, Lines, TooLong};

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The event's type; empty if the stream has none.
    pub name: &'a str,
    /// The data lines, joined with line feeds. Broken UTF-8 is replaced.
    pub data: &'a str,
}

/// Turns bytes into events.
#[derive(Debug, Default)]
pub struct Parser {
    lines: Lines,
    event: Pending,
}

impl Parser {
    /// Takes more bytes and calls `each` with every event that they complete. An event without a blank
    /// line after it is dropped.
    pub fn feed<E: From<TooLong>>(
        &mut self,
        chunk: &[u8],
        mut each: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let event = &mut self.event;
        self.lines.feed(chunk, |line| event.line(line, &mut each))
    }
}

#[derive(Debug, Default)]
struct Pending {
    name: String,
    data: Vec<u8>,
    has_data: bool,
    began: bool,
}

impl Pending {
    fn line<E: From<TooLong>>(
        &mut self,
        line: &[u8],
        each: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = if self.began {
            line
        } else {
            self.began = true;
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        };
        if line.is_empty() {
            return self.dispatch(each);
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.append(value).map_err(E::from),
            b"event" => {
                self.name.clear();
                self.name.push_str(&String::from_utf8_lossy(value));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn append(&mut self, value: &[u8]) -> Result<(), TooLong> {
        if self.data.len() + value.len() >= LIMIT {
            return Err(TooLong);
        }
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
        Ok(())
    }

    fn dispatch<E>(&mut self, each: &mut impl FnMut(Event<'_>) -> Result<(), E>) -> Result<(), E> {
        let result = if self.has_data {
            each(Event { name: &self.name, data: &String::from_utf8_lossy(&self.data) })
        } else {
            Ok(())
        };
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        result
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, String)> {
        let mut parser = Parser::default();
        let mut seen = Vec::new();
        for chunk in chunks {
            parser
                .feed::<TooLong>(chunk, |event| {
                    seen.push((event.name.to_owned(), event.data.to_owned()));
                    Ok(())
                })
                .unwrap();
        }
        seen
    }

    fn data(text: &str) -> Vec<String> {
        let events = parse([text.as_bytes()]);
        events.into_iter().map(|(_, data)| data).collect()
    }

    #[test]
    fn several_data_lines_are_one_event() {
        assert_eq!(data("data: a\ndata:b\ndata:  c\n\n"), ["a\nb\n c"]);
    }

    #[test]
    fn line_ends_may_be_mixed() {
        assert_eq!(data("data: a\r\rdata: b\n\ndata: c\r\n\r\n"), ["a", "b", "c"]);
    }

    #[test]
    fn comments_and_events_without_data_are_ignored() {
        assert_eq!(
            data(": hi\n\nid: 3\nretry: 5\nevent: x\n\nnonsense\n\ndata: a\n: in between\n\n"),
            ["a"]
        );
    }

    #[test]
    fn event_needs_its_blank_line_but_no_data_text() {
        assert_eq!(data("data\n\ndata:\n\ndata: lost\n"), ["", ""]);
    }

    #[test]
    fn a_byte_order_mark_is_dropped_at_the_start_only() {
        assert_eq!(data("\u{feff}data: a\n\n\u{feff}data: b\n\n"), ["a"]);
    }

    #[test]
    fn an_event_keeps_its_name_and_passes_it_to_no_other() {
        let events = parse([&b"event: ping\ndata: 1\n\ndata: 2\n\n"[..]]);
        let expected = [("ping", "1"), ("", "2")].map(|(n, d)| (n.to_owned(), d.to_owned()));
        assert_eq!(events, expected);
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        assert_eq!(parse([&b"data: a\xff\xf0\x9f\n\n"[..]])[0].1, "a\u{fffd}\u{fffd}");
        assert_eq!(data("data: a\u{2028}b\0\u{85}c\n\n"), ["a\u{2028}b\0\u{85}c"]);
    }

    #[test]
    fn an_event_of_many_lines_is_limited_as_well() {
        let line = format!("data: {}\n", "x".repeat(1 << 20)).into_bytes();
        let mut parser = Parser::default();
        let fed = (0..11).try_for_each(|_| parser.feed(&line, |_| Ok::<_, TooLong>(())));
        assert_eq!(fed, Err(TooLong));
    }

    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop::sample::select(vec![
            "data: ",
            "data:",
            "event: x",
            ": note",
            "\r",
            "\n",
            "\r\n",
            "\n\n",
            "é漢🦀",
            "a",
            "\u{feff}",
            "id: 1",
            " ",
            ":",
        ]);
        let broken = prop::collection::vec(any::<u8>(), 0..3);
        prop::collection::vec(
            prop_oneof![8 => piece.prop_map(|text| text.as_bytes().to_vec()), 1 => broken],
            0..60,
        )
        .prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(bytes in pieces(), cuts in prop::collection::vec(1usize..64, 1..200)) {
            let whole = parse([bytes.as_slice()]);
            let mut rest = bytes.as_slice();
            let mut chunks = Vec::new();
            for size in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, remainder) = rest.split_at((*size).min(rest.len()));
                chunks.push(chunk);
                rest = remainder;
            }
            prop_assert_eq!(parse(chunks), whole);
        }
    }
}
