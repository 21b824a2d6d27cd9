//! Properties for any bytes of a server, one function for each target: a fuzzer calls them with
//! its inputs (`fuzz/`), property tests with generated ones, and all replay the corpus.

use std::sync::Arc;

use contract::provider::{Delta, ProviderError};

use crate::failure::Origin;
use crate::lines::TooLong;
use crate::reply::{Decoder, Deltas, Stage};
use crate::sse::Parser;
use crate::{anthropic, ollama, openai_chat};

/// Server-sent events: the same for every size of pieces, and as in a plain implementation of the
/// standard. The first byte chooses the sizes.
pub fn sse(bytes: &[u8]) {
    let (sizes, bytes) = sizes(bytes);
    let whole = events([bytes]);
    assert_eq!(events(pieces(bytes, &sizes)), whole, "other pieces, other events");
    assert_eq!(whole, plainly(bytes), "not what the standard says");
}

/// Replies of chat completions.
pub fn openai_reply(bytes: &[u8]) {
    reply(bytes, || openai_chat::decoder(origin()));
}

/// Replies of messages.
pub fn anthropic_reply(bytes: &[u8]) {
    reply(bytes, || anthropic::decoder(origin()));
}

/// Replies of lines.
pub fn ollama_reply(bytes: &[u8]) {
    reply(bytes, || ollama::decoder(origin()));
}

/// A reply: the same for every size of pieces, an end or an error and never both, no call after an
/// error that was not there before it, and every call's arguments are whole.
fn reply<D: Decoder>(bytes: &[u8], make: impl Fn() -> D) {
    let (sizes, bytes) = sizes(bytes);
    let (whole, end) = decode(&mut make(), &[bytes]);
    let parts: Vec<&[u8]> = pieces(bytes, &sizes).collect();
    let (pieced, other_end) = decode(&mut make(), &parts);
    assert_eq!(end.is_ok(), other_end.is_ok(), "other pieces, another end");
    assert_eq!(shown(&whole), shown(&pieced), "other pieces, another reply");
    let stopped = whole.iter().filter(|delta| matches!(delta, Delta::Stopped(_))).count();
    assert!(stopped <= 1, "two ends");
    if end.is_ok() {
        assert_eq!(stopped, 1, "neither an end nor an error");
    }
    let mut decoder = make();
    let (cut, end) = decode(&mut decoder, &[&bytes[..bytes.len() / 2]]);
    if decoder.stage() != Stage::Open {
        // The server had ended the reply; the rest is another one.
        return;
    }
    // The deltas of a cut reply are the start of the whole one.
    assert!(end.is_err(), "an end that nobody told of");
    for call in cut.iter().filter_map(call) {
        assert!(whole.iter().filter_map(self::call).any(|other| other == call), "half a call");
    }
}

fn call(delta: &Delta) -> Option<String> {
    match delta {
        // An id is generated if the server sends none.
        Delta::Call(call) => Some(format!("{} {}", call.name, call.args)),
        _ => None,
    }
}

/// A reply without random parts: text in one piece, calls without their ids.
fn shown(deltas: &[Delta]) -> (String, String, Vec<String>) {
    let (mut text, mut thinking) = (String::new(), String::new());
    for delta in deltas {
        match delta {
            Delta::Text(more) => text += more,
            Delta::Thinking(more) => thinking += more,
            _ => {}
        }
    }
    (text, thinking, deltas.iter().filter_map(call).collect())
}

fn decode(decoder: &mut impl Decoder, parts: &[&[u8]]) -> (Vec<Delta>, Result<(), ProviderError>) {
    let mut deltas = Deltas::default();
    let fed = parts.iter().try_for_each(|part| decoder.feed(part, &mut deltas));
    let end = fed.and_then(|()| decoder.end(&mut deltas));
    (deltas.drain().into_iter().collect(), end)
}

fn origin() -> Arc<Origin> {
    let (provider, host) = ("Example".into(), "example:1".into());
    Arc::new(Origin { provider, host, key_env: None, secrets: Vec::new() })
}

/// The sizes of pieces from the first byte, and the rest.
fn sizes(bytes: &[u8]) -> (Vec<usize>, &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return (vec![1], bytes) };
    let first = usize::from(*first);
    (vec![first % 64 + 1, first / 4 + 1, 1], rest)
}

fn pieces<'a>(bytes: &'a [u8], sizes: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = bytes;
    let mut sizes = sizes.iter().cycle();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at((*sizes.next()?).min(rest.len()));
        rest = after;
        Some(piece)
    })
}

fn events<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, String)> {
    let mut parser = Parser::default();
    let mut seen = Vec::new();
    for part in parts {
        let fed = parser.feed::<TooLong>(part, |event| {
            seen.push((event.name.to_owned(), event.data.to_owned()));
            Ok(())
        });
        if fed.is_err() {
            break;
        }
    }
    seen
}

/// The standard literally, without regard to speed, on complete bytes.
fn plainly(bytes: &[u8]) -> Vec<(String, String)> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines: Vec<Vec<u8>> = vec![Vec::new()];
    let mut rest = bytes.iter().peekable();
    while let Some(byte) = rest.next() {
        match byte {
            b'\r' => {
                rest.next_if(|next| **next == b'\n');
                lines.push(Vec::new());
            }
            b'\n' => lines.push(Vec::new()),
            byte => lines.last_mut().expect("a line was begun").push(*byte),
        }
    }
    // The last line has no end.
    lines.pop();
    let (mut events, mut name, mut data) = (Vec::new(), Vec::new(), None::<Vec<u8>>);
    for line in lines {
        if line.is_empty() {
            if let Some(data) = data.take() {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                events.push((text(&name), text(&data)));
            }
            name.clear();
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"event" => name = value.to_vec(),
            b"data" => match &mut data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => data = Some(value.to_vec()),
            },
            _ => {}
        }
    }
    events
}

#[cfg(test)]
mod tests;
