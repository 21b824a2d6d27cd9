//! Sums. Bash runs what the value of a name in them says, so every name and substitution in one is kept.

use super::reader::{Obstacle, Read, Reader};
use super::{More, Piece, Word, is_name};

impl Reader<'_> {
    /// A sum as far as the sign that ends it.
    pub(super) fn sum(&mut self, end: &str) -> Read<Word> {
        let mut parts = Vec::new();
        let (mut open, mut is_after) = (0_usize, false);
        loop {
            self.skip_signs();
            if open == 0 && self.take(end) {
                return Ok(Word::from(vec![Piece::Sum(parts)]));
            }
            let letter = self.rest().chars().next().ok_or(Obstacle)?;
            match letter {
                '(' if !is_after => open += 1,
                ')' if open > 0 => open -= 1,
                '$' | 'a'..='z' | 'A'..='Z' | '_' | '0'..='9' => {
                    // Words side by side are no sum, but a command to a plain `sh`.
                    if is_after {
                        return Err(Obstacle);
                    }
                    parts.push(self.operand()?);
                    is_after = true;
                    continue;
                }
                _ if "+-*/%<>=!&|^~?:,".contains(letter) => {
                    let is_step = self.is_at("++") || self.is_at("--");
                    self.at += usize::from(is_step);
                    is_after &= is_step;
                }
                _ => return Err(Obstacle),
            }
            if letter == ')' {
                is_after = true;
            }
            self.at += 1;
        }
    }

    fn skip_signs(&mut self) {
        let rest = self.rest().trim_start_matches([' ', '\t', '\n']);
        self.at = self.text.len() - rest.len();
    }

    fn operand(&mut self) -> Read<Word> {
        if self.is_at("$") {
            let mut word = Word::default();
            self.piece(&mut word)?;
            let is_plain = matches!(word.pieces.as_slice(), [piece] if !matches!(piece, Piece::Text { .. } | Piece::Spelled));
            return is_plain.then_some(word).ok_or(Obstacle);
        }
        let rest = self.rest();
        let length =
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = rest[..length].to_owned();
        self.at += length;
        if !is_name(&name) {
            return Ok(Word::of(&name));
        }
        let after = self.rest().trim_start_matches([' ', '\t']);
        let signs = ["+=", "-=", "*=", "/=", "%=", "++", "--"];
        let is_set = signs.iter().any(|sign| after.starts_with(sign))
            || (after.starts_with('=') && !after.starts_with("=="));
        if is_set {
            self.script.counted.insert(name.clone());
        }
        let variable = Piece::Variable { name, more: More::Nothing, is_quoted: true };
        Ok(Word::from(vec![variable]))
    }
}
