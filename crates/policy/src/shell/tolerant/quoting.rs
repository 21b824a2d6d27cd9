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
    let mut decoded = String::new();
    let mut rest = text.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '\'' => return (decoded, at + 1),
            '\\' => {
                let Some((from, kind)) = rest.next() else { break };
                let (base, limit, skip) = match kind {
                    'x' => (16, 2, 1),
                    'u' => (16, 4, 1),
                    'U' => (16, 8, 1),
                    '0'..='7' => (8, 3, 0),
                    'n' => {
                        decoded.push('\n');
                        continue;
                    }
                    't' => {
                        decoded.push('\t');
                        continue;
                    }
                    other => {
                        decoded.push(other);
                        continue;
                    }
                };
                let digits: String = text[from + skip..]
                    .chars()
                    .take(limit)
                    .take_while(|c| c.is_digit(base))
                    .collect();
                let value = u32::from_str_radix(&digits, base).unwrap_or(0);
                decoded.extend(char::from_u32(value));
                for _ in 0..(digits.len() + skip).saturating_sub(1) {
                    rest.next();
                }
            }
            other => decoded.push(other),
        }
    }
    (decoded, text.len())
}
