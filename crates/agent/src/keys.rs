//! Redacts keys in events and in the history, in every form in which they occur: plain, in JSON,
//! percent-encoded, in hexadecimal, in Base64 of any surrounding text.

use std::borrow::Cow;
use std::sync::Arc;

use contract::event::{EventKind, Piece};
use contract::secret::Secret;
use contract::tool::{Redactor, RedactorFactory};

/// Shorter keys could be part of any text.
const MIN_KEY_BYTES: usize = 16;
const REDACTED: &[u8] = b"[redacted]";

#[derive(Clone, Debug, Default)]
pub struct Keys(Arc<Forms>);

#[derive(Debug, Default)]
struct Forms {
    all: Vec<Secret<Vec<u8>>>,
    /// True for each byte that a form begins with.
    first: Vec<bool>,
}

impl Keys {
    /// Those of `keys` that cannot be mistaken for something else.
    pub fn new(keys: &[Secret<String>]) -> Self {
        let keys = keys.iter().map(Secret::expose).filter(|key| key.len() >= MIN_KEY_BYTES);
        let mut all: Vec<Vec<u8>> = keys.flat_map(|key| encodings(key)).collect();
        all.retain(|form| form.len() >= MIN_KEY_BYTES);
        all.sort_by_key(|form| std::cmp::Reverse(form.len()));
        all.dedup();
        let mut first = vec![false; 256];
        for form in &all {
            first[usize::from(form[0])] = true;
        }
        Self(Arc::new(Forms { all: all.into_iter().map(Secret::new).collect(), first }))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.all.is_empty()
    }

    pub(crate) fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.without(text.as_bytes()) {
            // Only whole keys, which are text, were replaced.
            Some(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
            None => Cow::Borrowed(text),
        }
    }

    /// Bytes without any key in them; none where they hold no key.
    pub fn without(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut at = self.next(bytes, 0)?;
        let (mut out, mut start) = (Vec::with_capacity(bytes.len()), 0);
        loop {
            let (place, length) = at;
            out.extend_from_slice(&bytes[start..place]);
            out.extend_from_slice(REDACTED);
            start = place + length;
            let Some(next) = self.next(bytes, start) else { break };
            at = next;
        }
        out.extend_from_slice(&bytes[start..]);
        Some(out)
    }

    fn next(&self, bytes: &[u8], from: usize) -> Option<(usize, usize)> {
        let Forms { all, first } = &*self.0;
        if all.is_empty() {
            return None;
        }
        (from..bytes.len()).filter(|&at| first[usize::from(bytes[at])]).find_map(|at| {
            let form = all.iter().find(|form| bytes[at..].starts_with(form.expose()))?;
            Some((at, form.expose().len()))
        })
    }

    /// Returns the start of the suffix of `bytes` that could be the beginning of a key.
    fn tail(&self, bytes: &[u8]) -> usize {
        let Forms { all, first } = &*self.0;
        let longest = all.first().map_or(0, |form| form.expose().len());
        let from = bytes.len().saturating_sub(longest.saturating_sub(1));
        let begins = |&at: &usize| {
            let rest = &bytes[at..];
            first[usize::from(rest[0])] && all.iter().any(|form| form.expose().starts_with(rest))
        };
        (from..bytes.len()).find(begins).unwrap_or(bytes.len())
    }
}

/// Hides keys in what comes in pieces, by keeping back what could be the beginning of one.
#[derive(Debug, Default)]
struct KeyRedactor {
    keys: Keys,
    kept: Vec<u8>,
}

impl KeyRedactor {
    fn new(keys: &Keys) -> Self {
        Self { keys: keys.clone(), kept: Vec::new() }
    }

    /// Takes a piece of text; returns the part that cannot begin a key.
    fn push_text(&mut self, piece: &str) -> String {
        // A key begins where a character does.
        String::from_utf8_lossy(&self.push(piece.as_bytes())).into_owned()
    }

    fn finish_text(&mut self) -> String {
        String::from_utf8_lossy(&self.finish()).into_owned()
    }
}

impl Redactor for KeyRedactor {
    fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        if self.keys.is_empty() {
            return piece.to_vec();
        }
        self.kept.extend_from_slice(piece);
        if let Some(hidden) = self.keys.without(&self.kept) {
            self.kept = hidden;
        }
        let rest = self.kept.split_off(self.keys.tail(&self.kept));
        std::mem::replace(&mut self.kept, rest)
    }

    fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.kept)
    }
}

fn encodings(key: &str) -> Vec<Vec<u8>> {
    let quoted = serde_json::Value::from(key).to_string();
    let quoted = quoted.as_bytes()[1..quoted.len() - 1].to_vec();
    let hexadecimal = hexadecimal(key);
    let mut forms = vec![key.as_bytes().to_vec(), quoted, hexadecimal.to_uppercase().into_bytes()];
    forms.push(hexadecimal.into_bytes());
    for kept in ["-._~", "-._~/", "-._~!*'()"] {
        let percent = |upper: bool| -> Vec<u8> {
            let one = |byte: u8| match byte {
                _ if byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte) => {
                    char::from(byte).to_string()
                }
                _ if upper => format!("%{byte:02X}"),
                _ => format!("%{byte:02x}"),
            };
            key.bytes().map(one).collect::<String>().into_bytes()
        };
        forms.extend([percent(true), percent(false)]);
    }
    for before in 0..3 {
        let form = base64(key.as_bytes(), before);
        let safe = form.replace('+', "-").replace('/', "_");
        forms.extend([form.into_bytes(), safe.into_bytes()]);
    }
    forms
}

fn hexadecimal(text: &str) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
    text.bytes().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The letters that are always part of the Base64 of `bytes` after `before` other bytes (modulo 3).
fn base64(bytes: &[u8], before: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // Each letter stands for six bits; those that are not wholly of the key are left out.
    let bit = |at: usize| usize::from(bytes[at / 8] >> (7 - at % 8) & 1);
    let skipped = (6 - before * 8 % 6) % 6;
    let letters = (bytes.len() * 8 - skipped) / 6;
    let letter = |number: usize| {
        let start = skipped + number * 6;
        (start..start + 6).fold(0, |value, at| value << 1 | bit(at))
    };
    (0..letters).map(|number| char::from(LETTERS[letter(number)])).collect()
}

pub(crate) fn hidden(keys: &Keys, what: EventKind) -> EventKind {
    if keys.is_empty() {
        return what;
    }
    let Ok(text) = serde_json::to_string(&what) else { return what };
    match keys.hide(&text) {
        Cow::Borrowed(_) => what,
        // Only text within strings differs.
        Cow::Owned(text) => serde_json::from_str(&text).unwrap_or(what),
    }
}

pub(crate) fn redactors(keys: &Keys) -> Option<RedactorFactory> {
    let keys = keys.clone();
    (!keys.is_empty())
        .then(|| -> RedactorFactory { Arc::new(move || Box::new(KeyRedactor::new(&keys))) })
}

/// Redacts the pieces of a reply: the possible beginning of a key waits for more.
pub(crate) struct Pieces {
    held: KeyRedactor,
    last: Option<Kind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
}

impl Kind {
    fn piece(self, text: String) -> Option<Piece> {
        let piece = match self {
            Self::Text => Piece::Text { text },
            Self::Thinking => Piece::Thinking { text },
        };
        let (Piece::Text { text } | Piece::Thinking { text }) = &piece else { return None };
        (!text.is_empty()).then_some(piece)
    }
}

impl Pieces {
    pub(crate) fn new(keys: &Keys) -> Self {
        Self { held: KeyRedactor::new(keys), last: None }
    }

    pub(crate) fn take(&mut self, piece: Piece) -> Vec<Piece> {
        let (kind, text) = match piece {
            Piece::Text { text } => (Kind::Text, text),
            Piece::Thinking { text } => (Kind::Thinking, text),
            other => return self.finish().into_iter().chain([other]).collect(),
        };
        let waited = if self.last == Some(kind) { None } else { self.finish() };
        self.last = Some(kind);
        waited.into_iter().chain(kind.piece(self.held.push_text(&text))).collect()
    }

    pub(crate) fn finish(&mut self) -> Option<Piece> {
        self.last.take()?.piece(self.held.finish_text())
    }
}

#[cfg(test)]
mod tests {
    use contract::event::Level;

    use super::*;

    const KEY: &str = "sk-Zx9/Qw+\"Er7\\Ty5Ui3Op1==";

    fn keys() -> Keys {
        Keys::new(&[KEY, "short"].map(|key| Secret::new(key.to_owned())))
    }

    fn notice(text: &str) -> EventKind {
        EventKind::Notice { level: Level::Info, text: text.to_owned(), hint: None, topic: None }
    }

    fn text(text: &str) -> Piece {
        Piece::Text { text: text.to_owned() }
    }

    fn thinking(text: &str) -> Piece {
        Piece::Thinking { text: text.to_owned() }
    }

    #[test]
    fn redaction_replaces_the_key_only() {
        let said = hidden(&keys(), notice("it is sk-Zx9/Qw+\"Er7\\Ty5Ui3Op1==, short"));
        assert_eq!(said, notice("it is [redacted], short"));
        let harmless = notice("nothing\n\"here\"");
        assert_eq!(hidden(&keys(), harmless.clone()), harmless);
    }

    #[test]
    fn streamed_pieces_are_redacted_in_order() {
        let mut pieces = Pieces::new(&keys());
        let said = ["the key sk-", "Zx9/Qw+\"Er7\\Ty", "5Ui3Op1==!", " sk"].map(text);
        let mut told: Vec<Piece> = said.into_iter().flat_map(|it| pieces.take(it)).collect();
        told.extend(pieces.take(thinking("hm s")));
        told.extend(pieces.take(Piece::Call { name: "Read".to_owned() }));
        told.extend(pieces.finish());
        let wanted = vec![
            text("the key "),
            text("[redacted]!"),
            text(" "),
            text("sk"),
            thinking("hm "),
            thinking("s"),
            Piece::Call { name: "Read".to_owned() },
        ];
        assert_eq!(told, wanted);
    }

    #[test]
    fn key_is_redacted_in_every_encoding() {
        let keys = keys();
        for (text, wanted) in [
            ("it is sk-Zx9/Qw+\"Er7\\Ty5Ui3Op1==, short", "it is [redacted], short"),
            (r#"{"k":"sk-Zx9/Qw+\"Er7\\Ty5Ui3Op1=="}"#, r#"{"k":"[redacted]"}"#),
            ("?k=sk-Zx9%2FQw%2B%22Er7%5CTy5Ui3Op1%3D%3D&x", "?k=[redacted]&x"),
            ("?k=sk-Zx9%2fQw%2b%22Er7%5cTy5Ui3Op1%3d%3d", "?k=[redacted]"),
            ("é nothing\n", "é nothing\n"),
        ] {
            assert_eq!(keys.hide(text), wanted);
        }
        let hexadecimal = hexadecimal(KEY);
        assert_eq!(keys.hide(&hexadecimal), "[redacted]");
        assert_eq!(keys.hide(&hexadecimal.to_uppercase()), "[redacted]");
    }

    #[test]
    fn key_is_redacted_in_base64_at_every_offset() {
        // printf '%s' "$KEY", "u$KEY", "us$KEY", "user:$KEY!" | base64
        for text in [
            "c2stWng5L1F3KyJFcjdcVHk1VWkzT3AxPT0=",
            "dXNrLVp4OS9RdysiRXI3XFR5NVVpM09wMT09",
            "dXNzay1aeDkvUXcrIkVyN1xUeTVVaTNPcDE9PQ==",
            "dXNlcjpzay1aeDkvUXcrIkVyN1xUeTVVaTNPcDE9PSE=",
        ] {
            let hidden = keys().hide(text).into_owned();
            assert!(hidden.contains("[redacted]") && hidden.len() < 24, "{text}: {hidden}");
        }
    }

    #[test]
    fn key_split_between_pieces_is_redacted() {
        let keys = keys();
        let text = format!("é sk-Zx is not a key, {KEY} is, and so is {KEY}");
        let wanted = "é sk-Zx is not a key, [redacted] is, and so is [redacted]";
        for size in 1..=text.len() {
            let mut held = KeyRedactor::new(&keys);
            let mut out: Vec<u8> =
                text.as_bytes().chunks(size).flat_map(|piece| held.push(piece)).collect();
            out.extend(held.finish());
            assert_eq!(String::from_utf8(out).unwrap(), wanted, "in pieces of {size}");
        }
        let mut held = KeyRedactor::new(&keys);
        assert_eq!(held.push_text("words s"), "words ");
        assert_eq!(held.push_text("uch"), "such");
        assert_eq!(
            (held.push_text("at the end sk-"), held.finish_text()),
            ("at the end ".into(), "sk-".into())
        );
    }
}
