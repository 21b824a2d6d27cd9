//! Spellings of a shell in which the usual characters mean something else.

use super::{Closer, Scanner};

/// More of a sum is not looked at.
const LONG: usize = 256;
/// No sum has as many parentheses within each other.
const DEEP: usize = 16;

impl Scanner<'_> {
    pub(super) fn escape(&mut self, quoted: bool) {
        // An escaped backtick opens a further level inside backticks.
        self.scan.torn |= self.peek(1) == Some(b'`');
        match self.peek(1) {
            Some(b'\n') => self.at += 2,
            Some(next) if !quoted || b"$`\"\\".contains(&next) => {
                self.word();
                self.top().word_quoted = true;
                self.push(self.at + 1);
            }
            Some(_) | None => self.push(self.at),
        }
    }

    pub(super) fn single_quoted(&mut self) {
        // Within `${...}` a single quote is literal or not, depending on what stands around it.
        self.scan.torn |= self.top().closer == Closer::Brace;
        let rest = &self.text[self.at + 1..];
        let Some(end) = rest.find('\'') else {
            self.scan.torn = true;
            self.at += 1;
            return;
        };
        self.top().word_quoted = true;
        self.word().text.push_str(&rest[..end]);
        self.at += end + 2;
    }
}

/// Whether two parentheses that open, before this text, are closed as they were opened: then they
/// hold a sum, otherwise groups of commands.
pub(super) fn is_sum(text: &[u8]) -> bool {
    let mut depth = 1_usize;
    for (at, byte) in text.iter().take(LONG).enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b'\'' | b'"' | b';' | b'\n' => return false,
            _ => {}
        }
        if depth == DEEP {
            return false;
        }
        if depth == 0 {
            return text.get(at + 1) == Some(&b')');
        }
    }
    false
}

/// Decodes the inside of `$'...'`; returns the text and how many bytes it took with its quote.
pub(super) fn ansi_c(text: &str) -> (String, usize) {
    let mut decoded: Vec<u8> = Vec::new();
    // The character zero ends what is quoted, whatever follows it there.
    let mut is_ended = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let put = match c {
            '\'' => break,
            '\\' => {
                let (put, used) = escaped(rest);
                let is_byte = rest.starts_with(|kind: char| kind == 'x' || kind.is_digit(8));
                rest = &rest[used..];
                // Several of these may be one character, or none that there is.
                if let Some(byte) = u8::try_from(put).ok().filter(|it| is_byte && !it.is_ascii()) {
                    decoded.extend(Some(byte).filter(|_| !is_ended));
                    continue;
                }
                put
            }
            other => other,
        };
        is_ended |= put == '\0';
        if !is_ended {
            decoded.extend_from_slice(put.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    (String::from_utf8_lossy(&decoded).into_owned(), text.len() - rest.len())
}

/// What stands for the text behind a backslash, and how many bytes of it.
fn escaped(text: &str) -> (char, usize) {
    let Some(kind) = text.chars().next() else { return ('\\', 0) };
    let after = &text[kind.len_utf8()..];
    match kind {
        'n' => ('\n', 1),
        't' => ('\t', 1),
        'x' if after.starts_with('{') => {
            let (c, used) = coded(&after[1..], 16, after.len());
            let closing = after[1 + used..].starts_with('}');
            (c, 2 + used + usize::from(closing))
        }
        'x' | 'u' | 'U' => {
            let most = match kind {
                'x' => 2,
                'u' => 4,
                _ => 8,
            };
            // Without a digit it is no escape.
            match coded(after, 16, most) {
                (_, 0) => ('\\', 0),
                (c, used) => (c, 1 + used),
            }
        }
        '0'..='7' => coded(text, 8, 3),
        'c' => {
            let control = after.chars().next().unwrap_or('c');
            let code = char::from(u8::try_from(control).unwrap_or(b'a') & 0x1f);
            (code, 1 + after.chars().next().map_or(0, char::len_utf8))
        }
        other => (other, other.len_utf8()),
    }
}

/// The character of a number with at most so many digits, and how many there are. Of a number that is too
/// large for a byte only the last byte counts, unless it may be any character.
fn coded(text: &str, base: u32, most: usize) -> (char, usize) {
    let count = text.chars().take(most).take_while(|c| c.is_digit(base)).count();
    let digits = &text[..count];
    let value = digits.chars().fold(0_u32, |value, digit| {
        value.wrapping_mul(base).wrapping_add(digit.to_digit(base).unwrap_or(0))
    });
    let value = if most == 4 || most == 8 { value } else { value & 0xff };
    (char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER), count)
}

#[cfg(test)]
mod tests {
    use super::ansi_c;

    #[test]
    fn quoted_escapes_are_decoded_as_bash_does() {
        for (text, wanted) in [
            ("curl'", "curl"),
            ("c\\165rl'", "curl"),
            ("cu\\x72l'", "curl"),
            ("cu\\x{72}l'", "curl"),
            ("\\u0063url'", "curl"),
            ("\\U00000063url'", "curl"),
            ("curl\\0zz'", "curl"),
            ("curl\\c@zz'", "curl"),
            ("curl\\400zz'", "curl"),
            ("curl\\x00'", "curl"),
            ("c\\xurl'", "c\\xurl"),
            ("it\\'s\\n'", "it's\n"),
            ("\\xc3\\xa9'", "\u{e9}"),
            ("\\303\\251'", "\u{e9}"),
            ("\\u00e9'", "\u{e9}"),
            ("a\\xff'", "a\u{fffd}"),
        ] {
            assert_eq!(ansi_c(text), (wanted.to_owned(), text.len()), "{text}");
        }
        assert_eq!(ansi_c("a' b"), (String::from("a"), 2));
        assert_eq!(ansi_c("a\\").1, 2);
    }
}
