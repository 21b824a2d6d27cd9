//! Filters a confined command's output for a terminal: text and colors pass. Every other control
//! sequence is made visible, so that no command sets the clipboard, erases the screen or makes the
//! terminal type an answer.

use std::mem;

use contract::text::is_hidden;

const ESCAPE: u8 = 0x1b;
/// The longest escape sequence that is taken for a color.
const MAX_COLOR_SEQUENCE: usize = 64;

/// Filters one stream. Buffers only a sequence that continues in the next piece.
#[derive(Default)]
pub struct TerminalFilter {
    pending: Vec<u8>,
    is_colored: bool,
}

impl TerminalFilter {
    /// Adds a piece and returns the text that is complete.
    pub fn push(&mut self, piece: &[u8]) -> String {
        self.pending.extend_from_slice(piece);
        let rest = self.pending.split_off(self.pending.len() - unfinished(&self.pending));
        let whole = mem::replace(&mut self.pending, rest);
        self.clean(&whole)
    }

    /// Returns the rest, and resets the color if one was left on.
    pub fn finish(&mut self) -> String {
        let pending = mem::take(&mut self.pending);
        let left = self.clean(&pending);
        if mem::take(&mut self.is_colored) { left + "\x1b[0m" } else { left }
    }

    fn clean(&mut self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes);
        let (mut shown, mut rest) = (String::new(), &*text);
        while let Some(c) = rest.chars().next() {
            let (this, after) = rest.split_at(c.len_utf8());
            rest = after;
            if let Some(sequence) = color(this, after) {
                self.is_colored = !matches!(sequence, "[m" | "[0m");
                shown.push_str(this);
                shown.push_str(sequence);
                rest = &after[sequence.len()..];
            } else if is_hidden(c) && !(c == '\r' && after.starts_with('\n')) {
                shown.extend(c.escape_unicode());
            } else {
                shown.push(c);
            }
        }
        shown
    }
}

/// The rest of a color sequence that begins with the escape character `this`.
fn color<'a>(this: &str, after: &'a str) -> Option<&'a str> {
    let parameters = after.strip_prefix('[').filter(|_| this.as_bytes() == [ESCAPE])?;
    let count = parameters.bytes().take_while(|byte| is_parameter(*byte)).count();
    let is_color = count < MAX_COLOR_SEQUENCE && parameters[count..].starts_with('m');
    is_color.then(|| &after[..count + 2])
}

fn is_parameter(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b';' | b':')
}

/// The length of an unfinished color, line end or character at the end.
fn unfinished(bytes: &[u8]) -> usize {
    let near = &bytes[bytes.len().saturating_sub(MAX_COLOR_SEQUENCE)..];
    if let Some(at) = near.iter().rposition(|byte| *byte == ESCAPE) {
        let begun = &near[at + 1..];
        let parameters = begun.strip_prefix(b"[").unwrap_or(begun);
        let is_begun = begun.is_empty() || parameters.len() < begun.len();
        if is_begun && parameters.iter().all(|byte| is_parameter(*byte)) {
            return near.len() - at;
        }
    }
    if bytes.ends_with(b"\r") {
        return 1;
    }
    let last = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    let is_begun = str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
    if is_begun { last.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Filters in pieces of each length, with equal results.
    fn shown(bytes: &[u8]) -> String {
        let whole = |length: usize| {
            let mut shown = TerminalFilter::default();
            let mut text: String = bytes.chunks(length).map(|piece| shown.push(piece)).collect();
            text += &shown.finish();
            text
        };
        let text = whole(bytes.len().max(1));
        for length in 1..bytes.len() {
            assert_eq!(whole(length), text, "in pieces of {length}");
        }
        text
    }

    #[test]
    fn text_and_colors_stay() {
        for text in ["a\tb\nüñ漢 ⚠\u{fe0f}\r\n", "\x1b[1;31mred\x1b[0m", "\x1b[38:2::1:2:3mx\x1b[m"]
        {
            assert_eq!(shown(text.as_bytes()), text);
        }
        assert_eq!(shown(b"\x1b[8mleft on"), "\x1b[8mleft on\x1b[0m");
    }

    #[test]
    fn terminal_control_sequences_are_escaped() {
        for (bytes, expected) in [
            (&b"\x1b]52;c;ZXZpbA==\x07"[..], "\\u{1b}]52;c;ZXZpbA==\\u{7}"),
            (b"\x1b[6n\x1b[2J\x1b[?1049h", "\\u{1b}[6n\\u{1b}[2J\\u{1b}[?1049h"),
            (b"\x1b[1\x1b[31mx\x1b[0m", "\\u{1b}[1\x1b[31mx\x1b[0m"),
            (b"\x1bPq\x1b\\\x1b", "\\u{1b}Pq\\u{1b}\\\\u{1b}"),
            (b"safe\rfake\x08\x7f\r", "safe\\u{d}fake\\u{8}\\u{7f}\\u{d}"),
            ("\u{9b}6n\u{202e}".as_bytes(), "\\u{9b}6n\\u{202e}"),
            (b"\x9b6n\xe6\xbc", "\u{fffd}6n\u{fffd}"),
        ] {
            assert_eq!(shown(bytes), expected);
        }
        let endless = [&b"\x1b["[..], &[b'1'; 200], b"m"].concat();
        assert!(shown(&endless).starts_with("\\u{1b}[111"));
    }

    #[test]
    fn only_incomplete_sequences_are_buffered() {
        let mut stream = TerminalFilter::default();
        assert_eq!(stream.push(b"prompt: "), "prompt: ");
        assert_eq!(stream.push(b"a\x1b[3"), "a");
        assert_eq!(stream.push(b"2mb"), "\x1b[32mb");
        assert_eq!(stream.push(&[b'1'; 100]), "1".repeat(100));
    }
}
