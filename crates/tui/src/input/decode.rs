//! Bytes of a terminal, decoded. Whatever arrives, in whatever pieces, decoding never panics and
//! never takes a report or a paste for keys.

use rustix::event::Timespec;

use super::{Input, Mouse, MouseKind};
use crate::key::{Code, Key};

/// A lone escape is a key of its own when nothing follows for so long.
const ESCAPE_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 25_000_000 };
/// A paste of which nothing is heard for so long can be stopped.
const PASTE_TIMEOUT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// The rest of a sequence may be on its way for so long: nobody types its beginning.
const SEQUENCE_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

const MAX_SEQUENCE_BYTES: usize = 64;
const MAX_REPORT_BYTES: usize = 4096;
const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

#[derive(Default)]
pub(crate) struct Decoder {
    pending: Vec<u8>,
    paste: Option<Vec<u8>>,
    /// True while a paste goes on of which nothing arrived for a while.
    is_stuck: bool,
    /// Bytes still to come that were typed while the terminal had lines edited.
    ahead: usize,
}

enum FirstInput {
    /// This many bytes mean this, or nothing.
    Whole(usize, Option<Input>),
    /// A paste begins after so many bytes.
    PasteBegins(usize),
    Incomplete,
}

impl Decoder {
    /// A decoder of which so many bytes were typed `ahead`, while the terminal had lines edited.
    pub(crate) fn with_typed_ahead(ahead: usize) -> Self {
        Self { ahead, ..Self::default() }
    }

    /// Takes bytes, gives what they mean so far.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<Input> {
        let is_stuck = std::mem::take(&mut self.is_stuck);
        // Whoever stops what never ends does not go on with it.
        let stops = match bytes {
            b"\x03" | b"\x1b[99;5u" => Some(Key::ctrl('c')),
            b"\x1b" | b"\x1b[27u" => Some(Key::plain(Code::Esc)),
            _ => None,
        };
        if let Some(key) = stops.filter(|_| is_stuck)
            && let Some(mut paste) = self.paste.take()
        {
            paste.append(&mut self.pending);
            return vec![pasted(&paste), Input::Key(key)];
        }
        // A terminal that edits lines has made a line feed of the key Enter.
        let (early, bytes) = bytes.split_at(self.ahead.min(bytes.len()));
        self.ahead -= early.len();
        self.pending.extend(early.iter().map(|byte| if *byte == b'\n' { b'\r' } else { *byte }));
        self.pending.extend_from_slice(bytes);
        self.decode(false)
    }

    /// Takes what waits for more as what it is: nothing came.
    pub(crate) fn settle(&mut self) -> Vec<Input> {
        let was_stuck = std::mem::replace(&mut self.is_stuck, self.paste.is_some());
        let mut inputs = self.decode(true);
        inputs.extend((self.is_stuck && !was_stuck).then_some(Input::Stalled));
        inputs
    }

    /// How long to wait for the rest of what has begun, where time decides. A letter waits for its
    /// rest for ever.
    pub(crate) fn timeout(&self) -> Option<Timespec> {
        if self.paste.is_some() && !self.is_stuck {
            return Some(PASTE_TIMEOUT);
        }
        let is_waiting = self.paste.is_none() && self.pending.first().is_some_and(u8::is_ascii);
        let is_lone = self.pending.len() == 1;
        is_waiting.then_some(if is_lone { ESCAPE_TIMEOUT } else { SEQUENCE_TIMEOUT })
    }

    fn decode(&mut self, is_settled: bool) -> Vec<Input> {
        let mut inputs = Vec::new();
        let mut pending = std::mem::take(&mut self.pending);
        let mut at = 0;
        while at < pending.len() {
            if let Some(paste) = &mut self.paste {
                let rest = &pending[at..];
                let Some(end) = find(rest, PASTE_END) else {
                    // The end may have come in part.
                    let keep = rest.len().min(PASTE_END.len() - 1);
                    let sure = rest.len() - keep;
                    paste.extend_from_slice(&rest[..sure]);
                    at += sure;
                    break;
                };
                // A text that holds an end of its own must not become keys by it.
                let end = last_end(rest, end);
                paste.extend_from_slice(&rest[..end]);
                at += end + PASTE_END.len();
                inputs.push(pasted(paste));
                self.paste = None;
                continue;
            }
            match first(&pending[at..], is_settled) {
                FirstInput::Whole(length, input) => {
                    at += length;
                    inputs.extend(input);
                }
                FirstInput::PasteBegins(length) => {
                    at += length;
                    self.paste = Some(Vec::new());
                }
                FirstInput::Incomplete => break,
            }
        }
        pending.drain(..at);
        self.pending = pending;
        inputs
    }
}

fn pasted(bytes: &[u8]) -> Input {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
    Input::Paste(text)
}

/// The last end of a paste that has arrived before another begins.
fn last_end(bytes: &[u8], first: usize) -> usize {
    let mut end = first;
    let next = find(&bytes[end..], PASTE_START).map_or(bytes.len(), |next| end + next);
    while let Some(more) = find(&bytes[end + 1..next], PASTE_END) {
        end += 1 + more;
    }
    end
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn first(bytes: &[u8], is_settled: bool) -> FirstInput {
    match bytes {
        [0x1b] if is_settled => key(1, Key::plain(Code::Esc)),
        [0x1b] => FirstInput::Incomplete,
        [0x1b, b'[', ..] => control_sequence(bytes, is_settled),
        [0x1b, b'O', ..] => single_shift(bytes, is_settled),
        [0x1b, b']' | b'P' | b'_' | b'^', ..] => report(bytes, is_settled),
        [0x1b, 0x1b, ..] => key(1, Key::plain(Code::Esc)),
        [0x1b, ..] => match first(&bytes[1..], is_settled) {
            FirstInput::Whole(length, Some(Input::Key(inner))) => {
                key(length + 1, Key { alt: true, ..inner })
            }
            FirstInput::Whole(length, input) => FirstInput::Whole(length + 1, input),
            FirstInput::PasteBegins(_) | FirstInput::Incomplete if is_settled => {
                key(1, Key::plain(Code::Esc))
            }
            found => found,
        },
        [byte, ..] if *byte < 0x20 || *byte == 0x7f => key(1, control(*byte)),
        [byte, ..] if byte.is_ascii() => key(1, Key::plain(Code::Char(char::from(*byte)))),
        _ => character(bytes),
    }
}

fn key(length: usize, key: Key) -> FirstInput {
    FirstInput::Whole(length, Some(Input::Key(key)))
}

fn control(byte: u8) -> Key {
    match byte {
        b'\r' => Key::plain(Code::Enter),
        b'\t' => Key::plain(Code::Tab),
        0x7f => Key::plain(Code::Backspace),
        0x08 => Key::ctrl('h'),
        0x1b => Key::plain(Code::Esc),
        0x00 => Key::ctrl(' '),
        0x1c..=0x1f => Key::ctrl(char::from(byte + 0x40).to_ascii_lowercase()),
        letter => Key::ctrl(char::from(letter + 0x60)),
    }
}

fn character(bytes: &[u8]) -> FirstInput {
    let length = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    match bytes.get(..length).map(std::str::from_utf8) {
        Some(Ok(text)) => match text.chars().next() {
            // The second half of Latin-1's control characters.
            Some(c) if c.is_control() => FirstInput::Whole(length, None),
            Some(c) => key(length, Key::plain(Code::Char(c))),
            None => FirstInput::Whole(length, None),
        },
        Some(Err(_)) => FirstInput::Whole(1, None),
        None => match std::str::from_utf8(bytes) {
            Err(error) if error.error_len().is_none() => FirstInput::Incomplete,
            _ => FirstInput::Whole(1, None),
        },
    }
}

/// `ESC O x`: function and arrow keys of some terminals.
fn single_shift(bytes: &[u8], is_settled: bool) -> FirstInput {
    let Some(byte) = bytes.get(2) else {
        let alt_o = Key::alt(Code::Char('O'));
        return if is_settled { key(2, alt_o) } else { FirstInput::Incomplete };
    };
    let code = match byte {
        b'P'..=b'S' => Code::F(byte - b'P' + 1),
        b'M' => Code::Enter,
        other => match named_by(*other) {
            Some(code) => code,
            None => return FirstInput::Whole(3, None),
        },
    };
    key(3, Key::plain(code))
}

fn named_by(letter: u8) -> Option<Code> {
    Some(match letter {
        b'A' => Code::Up,
        b'B' => Code::Down,
        b'C' => Code::Right,
        b'D' => Code::Left,
        b'F' => Code::End,
        b'H' => Code::Home,
        _ => return None,
    })
}

fn control_sequence(bytes: &[u8], is_settled: bool) -> FirstInput {
    let ends = |byte: &u8| (0x40..=0x7e).contains(byte);
    let Some(end) = bytes[2..].iter().position(ends).map(|at| at + 2) else {
        if bytes.len() == 2 && is_settled {
            return key(2, Key::alt(Code::Char('[')));
        }
        let is_none = is_settled || bytes.len() > MAX_SEQUENCE_BYTES;
        return if is_none { FirstInput::Whole(bytes.len(), None) } else { FirstInput::Incomplete };
    };
    // `ESC [ [ A`: function keys of the Linux console.
    if bytes[end] == b'[' && end == 2 {
        return match bytes.get(3) {
            Some(letter @ b'A'..=b'E') => key(4, Key::plain(Code::F(letter - b'A' + 1))),
            Some(_) => FirstInput::Whole(3, None),
            None if is_settled => key(2, Key::alt(Code::Char('['))),
            None => FirstInput::Incomplete,
        };
    }
    let length = end + 1;
    let parameters = &bytes[2..end];
    if parameters.first() == Some(&b'<') {
        return FirstInput::Whole(length, mouse(&parameters[1..], bytes[end]).map(Input::Mouse));
    }
    if parameters.first().is_some_and(|byte| matches!(byte, b'?' | b'>' | b'=')) {
        let text = String::from_utf8_lossy(&bytes[2..length]).into_owned();
        return FirstInput::Whole(length, Some(Input::Report(text)));
    }
    let numbers = numbers(parameters);
    let number = |at: usize| numbers.get(at).copied();
    match bytes[end] {
        b'I' => FirstInput::Whole(length, Some(Input::Focus(true))),
        b'O' => FirstInput::Whole(length, Some(Input::Focus(false))),
        b'Z' => key(length, Key::plain(Code::BackTab)),
        b'u' => FirstInput::Whole(length, key_of_number(&numbers).map(Input::Key)),
        b'~' if number(0) == Some(200) => FirstInput::PasteBegins(length),
        b'~' if number(0) == Some(27) => {
            // `CSI 27 ; modifiers ; character ~`
            let character = [number(2).unwrap_or(0), number(1).unwrap_or(1)];
            FirstInput::Whole(length, key_of_number(&character).map(Input::Key))
        }
        b'~' => {
            let code = number(0).and_then(numbered);
            FirstInput::Whole(length, code.map(|code| Input::Key(with_modifiers(code, number(1)))))
        }
        b'P'..=b'S' => key(length, with_modifiers(Code::F(bytes[end] - b'P' + 1), number(1))),
        letter => {
            let code = named_by(letter);
            FirstInput::Whole(length, code.map(|code| Input::Key(with_modifiers(code, number(1)))))
        }
    }
}

/// The numbers of a sequence; what follows a colon in one is left out.
fn numbers(parameters: &[u8]) -> Vec<u32> {
    let text = String::from_utf8_lossy(parameters);
    let number = |part: &str| part.split(':').next().unwrap_or_default().parse().unwrap_or(0);
    text.split(';').map(number).collect()
}

fn numbered(number: u32) -> Option<Code> {
    Some(match number {
        1 | 7 => Code::Home,
        2 => Code::Insert,
        3 => Code::Delete,
        4 | 8 => Code::End,
        5 => Code::PageUp,
        6 => Code::PageDown,
        11..=15 => Code::F(u8::try_from(number - 10).ok()?),
        17..=21 => Code::F(u8::try_from(number - 11).ok()?),
        23 | 24 => Code::F(u8::try_from(number - 12).ok()?),
        _ => return None,
    })
}

/// A key with the modifiers that a number stands for.
fn with_modifiers(code: Code, modifiers: Option<u32>) -> Key {
    let bits = modifiers.unwrap_or(1).saturating_sub(1);
    Key { code, shift: bits & 1 != 0, alt: bits & 2 != 0, ctrl: bits & 4 != 0 }
}

/// A key key_of_number out as its character's number, with modifiers.
fn key_of_number(numbers: &[u32]) -> Option<Key> {
    // Super, hyper and meta: keys of the desktop, and no letters.
    let is_foreign = numbers.get(1).is_some_and(|it| it.saturating_sub(1) & 0b11_1000 != 0);
    if is_foreign {
        return None;
    }
    if let Some(code) = numbers.first().and_then(|number| keypad(*number)) {
        return Some(with_modifiers(code, numbers.get(1).copied()));
    }
    let character = char::from_u32(*numbers.first()?)?;
    let code = match character {
        '\r' => Code::Enter,
        '\t' => Code::Tab,
        '\x1b' => Code::Esc,
        '\x7f' => Code::Backspace,
        // Keys that some terminals number in a private area, such as lone modifiers.
        '\u{e000}'..='\u{f8ff}' => return None,
        c if c.is_control() => return None,
        c => Code::Char(c),
    };
    let key = with_modifiers(code, numbers.get(1).copied());
    Some(match (key.code, key.shift) {
        (Code::Tab, true) => Key { code: Code::BackTab, shift: false, ..key },
        (Code::Char(c), true) if !key.ctrl => {
            Key { code: Code::Char(c.to_uppercase().next().unwrap_or(c)), shift: false, ..key }
        }
        _ => key,
    })
}

/// The keys of a keypad, which some terminals tell apart.
fn keypad(number: u32) -> Option<Code> {
    const SIGNS: &[u8] = b"0123456789./*-+";
    Some(match number {
        57399..=57413 => {
            let sign = SIGNS.get(usize::try_from(number - 57399).ok()?)?;
            Code::Char(char::from(*sign))
        }
        57414 => Code::Enter,
        57415 => Code::Char('='),
        57416 => Code::Char(','),
        57417 => Code::Left,
        57418 => Code::Right,
        57419 => Code::Up,
        57420 => Code::Down,
        57421 => Code::PageUp,
        57422 => Code::PageDown,
        57423 => Code::Home,
        57424 => Code::End,
        57425 => Code::Insert,
        57426 => Code::Delete,
        _ => return None,
    })
}

fn mouse(parameters: &[u8], end: u8) -> Option<Mouse> {
    let numbers = numbers(parameters);
    let [button, column, row] = numbers[..] else { return None };
    let kind = match (button & !0b1_1100, end) {
        (64, _) => MouseKind::ScrollUp,
        (65, _) => MouseKind::ScrollDown,
        (_, b'm') => MouseKind::Release,
        (0, _) => MouseKind::Press,
        (32, _) => MouseKind::Drag,
        _ => return None,
    };
    let place = |number: u32| u16::try_from(number.saturating_sub(1)).ok();
    Some(Mouse { kind, column: place(column)?, row: place(row)? })
}

/// `ESC ] … BEL` and similar: reports of the terminal about itself.
fn report(bytes: &[u8], is_settled: bool) -> FirstInput {
    for (at, byte) in bytes.iter().enumerate().skip(2) {
        let length = match byte {
            0x07 => at + 1,
            b'\\' if bytes[at - 1] == 0x1b => at + 1,
            _ => continue,
        };
        let text = &bytes[2..at - usize::from(*byte == b'\\')];
        let text = String::from_utf8_lossy(text).into_owned();
        return FirstInput::Whole(length, Some(Input::Report(text)));
    }
    if is_settled && bytes.len() == 2 {
        return key(2, Key::alt(Code::Char(char::from(bytes[1]))));
    }
    if is_settled || bytes.len() > MAX_REPORT_BYTES {
        return FirstInput::Whole(bytes.len(), None);
    }
    FirstInput::Incomplete
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Vec<Input> {
        let mut decoder = Decoder::default();
        let mut inputs = decoder.feed(bytes);
        inputs.extend(decoder.settle());
        inputs
    }

    fn keys(bytes: &[u8]) -> Vec<String> {
        let name = |input: Input| match input {
            Input::Key(key) => key.to_string(),
            other => format!("{other:?}"),
        };
        decoded(bytes).into_iter().map(name).collect()
    }

    #[test]
    fn keys_of_many_terminals_are_decoded() {
        assert_eq!(
            keys(b"a\r\t\x7f\x01\x14\x1b"),
            ["a", "Enter", "Tab", "Backspace", "Ctrl+A", "Ctrl+T", "Esc"]
        );
        assert_eq!(
            keys(b"\x1b[A\x1bOB\x1b[1;5C\x1b[3~\x1b[Z"),
            ["Up", "Down", "Ctrl+Right", "Delete", "Shift+Tab"]
        );
        assert_eq!(keys(b"\x1bOP\x1b[15~\x1b[24~\x1b[[A"), ["F1", "F5", "F12", "F1"]);
        assert_eq!(keys(b"\x1bb\x1b\r\x1b\x7f"), ["Alt+b", "Alt+Enter", "Alt+Backspace"]);
        assert_eq!(
            keys(b"\x1b[13;2u\x1b[97;5u\x1b[27;5;13~"),
            ["Shift+Enter", "Ctrl+A", "Ctrl+Enter"]
        );
        assert_eq!(keys("é漢👍".as_bytes()), ["é", "漢", "👍"]);
        assert_eq!(keys(b"\x1f\x00\n"), ["Ctrl+_", "Ctrl+Space", "Ctrl+J"]);
    }

    #[test]
    fn paste_is_decoded_as_text() {
        let bytes = b"\x1b[200~one\r\ntwo\x1b[A\x03\x1b[201~x";
        let inputs = decoded(bytes);
        assert_eq!(inputs[0], Input::Paste("one\ntwo\x1b[A\x03".to_owned()));
        assert_eq!(inputs.len(), 2);
        let forged = b"\x1b[200~one\x1b[201~\ry\r\x1b[201~\x1b[200~two\x1b[201~";
        assert_eq!(
            decoded(forged),
            [Input::Paste("one\x1b[201~\ny\n".to_owned()), Input::Paste("two".to_owned())]
        );
    }

    #[test]
    fn lone_escape_becomes_a_key_after_a_delay() {
        let mut decoder = Decoder::default();
        for (bytes, timeout) in
            [(&b"\x1b"[..], ESCAPE_TIMEOUT), (b"[", SEQUENCE_TIMEOUT), (b"20", SEQUENCE_TIMEOUT)]
        {
            assert_eq!(decoder.feed(bytes), []);
            assert_eq!(decoder.timeout(), Some(timeout));
        }
        let paste = [Input::Paste("text".to_owned())];
        assert_eq!(decoder.feed(b"0~text\x1b[201~"), paste);
        assert_eq!(decoder.timeout(), None);
    }

    #[test]
    fn endless_paste_can_be_stopped() {
        let mut decoder = Decoder::default();
        for byte in &"漢".as_bytes()[..2] {
            assert_eq!(decoder.feed(&[*byte]), []);
            assert!(decoder.timeout().is_none());
            assert_eq!(decoder.settle(), []);
        }
        let letter = Input::Key(Key::plain(Code::Char('漢')));
        assert_eq!(decoder.feed(&"漢".as_bytes()[2..]), [letter]);

        assert_eq!(decoder.feed(b"\x1b[200~never"), []);
        assert_eq!(decoder.feed(b"\x03"), [], "it is a part of the paste");
        assert_eq!(decoder.timeout(), Some(PASTE_TIMEOUT), "whoever reads asks again then");
        assert_eq!(decoder.settle(), [Input::Stalled]);
        assert_eq!(decoder.settle(), [], "once is enough");
        let stopped = [Input::Paste("never\u{3}".to_owned()), Input::Key(Key::ctrl('c'))];
        assert_eq!(decoder.feed(b"\x03"), stopped);

        decoder.feed(b"\x1b[200~again");
        decoder.settle();
        let stopped = [Input::Paste("again".to_owned()), Input::Key(Key::plain(Code::Esc))];
        assert_eq!(decoder.feed(b"\x1b[27u"), stopped, "as kitty's protocol says it");
    }

    #[test]
    fn keypad_keys_are_decoded_and_desktop_keys_ignored() {
        assert_eq!(keys(b"\x1b[57414u\x1b[57419u\x1b[57400u"), ["Enter", "Up", "1"]);
        assert_eq!(decoded(b"\x1b[97;9u"), []);
    }

    #[test]
    fn reports_are_not_keys() {
        assert_eq!(
            decoded(b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\"),
            [Input::Report("11;rgb:1e1e/1e1e/1e1e".to_owned())]
        );
        assert_eq!(decoded(b"\x1b[?62;22c"), [Input::Report("?62;22c".to_owned())]);
        assert_eq!(decoded(b"\x1b[I\x1b[O"), [Input::Focus(true), Input::Focus(false)]);
    }

    #[test]
    fn mouse_sequences_are_decoded() {
        let wheel = Mouse { kind: MouseKind::ScrollUp, column: 4, row: 9 };
        assert_eq!(decoded(b"\x1b[<64;5;10M"), [Input::Mouse(wheel)]);
        let press = Mouse { kind: MouseKind::Press, column: 0, row: 0 };
        assert_eq!(decoded(b"\x1b[<0;1;1M"), [Input::Mouse(press)]);
    }

    #[test]
    fn decoding_is_independent_of_chunk_sizes() {
        let bytes =
            "a\x1b[1;5Cé\x1b[200~p\u{1b}[20q\x1b[201~\x1bOP\x1b]11;rgb:0/0/0\x07".as_bytes();
        let whole = decoded(bytes);
        for size in 1..7 {
            let mut decoder = Decoder::default();
            let mut inputs: Vec<Input> =
                bytes.chunks(size).flat_map(|piece| decoder.feed(piece)).collect();
            inputs.extend(decoder.settle());
            assert_eq!(inputs, whole, "{size}");
        }
    }

    #[test]
    fn decoder_survives_random_bytes() {
        for first in 0..=255u8 {
            for second in 0..=255u8 {
                decoded(&[0x1b, first, second]);
                decoded(&[0x1b, b'[', first, second, b'~']);
                decoded(&[first, second, 0xff]);
            }
        }
    }
}
