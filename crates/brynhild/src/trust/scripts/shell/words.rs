//! What a word is made of: its quotes, variables and substitutions.

use super::reader::{Obstacle, Read, Reader};
use super::{More, Piece, Word, is_name};

/// Whether a word ends there for a shell, be it in whatever language.
pub(super) fn is_blank(letter: char) -> bool {
    letter == ' ' || letter == '\t'
}

impl Word {
    fn push(&mut self, text: &str, is_quoted: bool) {
        match self.pieces.last_mut() {
            Some(Piece::Text { text: last, is_quoted: is_last }) if *is_last == is_quoted => {
                last.push_str(text);
            }
            _ => self.pieces.push(Piece::Text { text: text.to_owned(), is_quoted }),
        }
    }
}

impl Reader<'_> {
    /// The word that begins here.
    pub(super) fn word(&mut self) -> Read<Word> {
        let mut word = Word::default();
        let start = self.at;
        if self.take("<(") || self.take(">(") {
            let range = self.within(")")?;
            word.pieces.push(Piece::Commands { range, is_quoted: true });
        }
        while let Some(letter) = self.rest().chars().next() {
            if letter == '(' && self.is_list(start) {
                word.pieces.push(self.elements()?);
                break;
            }
            if is_blank(letter) || "\n;|&<>()".contains(letter) {
                let is_joined = self.is_at("<(") || self.is_at(">(");
                if is_joined && self.at > start {
                    return Err(Obstacle);
                }
                break;
            }
            self.piece(&mut word)?;
        }
        let has_index = matches!(word.pieces.first(), Some(Piece::Text { text, is_quoted: false })
            if text.split_once('[').is_some_and(|(name, rest)| is_name(name) && rest.contains("]=")));
        if self.at == start || has_index && !is_plain_index(&self.text[start..self.at]) {
            return Err(Obstacle);
        }
        word.range = self.base + start..self.base + self.at;
        Ok(word)
    }

    /// Whether what was read since is a variable and the sign that sets it.
    fn is_list(&self, start: usize) -> bool {
        let name = self.text[start..self.at].strip_suffix('=');
        name.is_some_and(|name| is_name(name.strip_suffix('+').unwrap_or(name)))
    }

    fn elements(&mut self) -> Read<Piece> {
        self.at += 1;
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            if self.take("\n") {
                continue;
            }
            if self.take(")") {
                return Ok(Piece::List(words));
            }
            // A key is a text, or a sum; of a sum only a number is one that runs nothing.
            if self.take("[") {
                let key: String = self
                    .rest()
                    .chars()
                    .take_while(|c| c.is_ascii_alphanumeric() || "_-.".contains(*c))
                    .collect();
                self.at += key.len();
                self.expect("]=")?;
                if self.rest().starts_with(|c: char| is_blank(c) || c == '\n' || c == ')') {
                    continue;
                }
            }
            words.push(self.deeper(Self::word)?);
        }
    }

    /// One letter, or what stands in quotes or in a substitution.
    pub(super) fn piece(&mut self, word: &mut Word) -> Read<()> {
        let Some(letter) = self.rest().chars().next() else { return Err(Obstacle) };
        match letter {
            '\\' => {
                self.at += 1;
                let next = self.rest().chars().next().ok_or(Obstacle)?;
                self.at += next.len_utf8();
                if next != '\n' {
                    word.push(next.encode_utf8(&mut [0; 4]), true);
                }
            }
            '\'' => {
                let length = self.rest()[1..].find('\'').ok_or(Obstacle)?;
                word.push(&self.rest()[1..=length], true);
                self.at += length + 2;
            }
            '"' => {
                self.at += 1;
                word.push("", true);
                self.deeper(|reader| reader.quoted(word))?;
            }
            '`' => self.old_substitution(word, false)?,
            '$' => self.deeper(|reader| reader.dollar(word, false))?,
            _ => {
                word.push(letter.encode_utf8(&mut [0; 4]), false);
                self.at += letter.len_utf8();
            }
        }
        Ok(())
    }

    /// What stands in double quotes, with the sign that ends it.
    fn quoted(&mut self, word: &mut Word) -> Read<()> {
        while !self.take("\"") {
            self.filled_piece(word, "$`\"\\")?;
        }
        Ok(())
    }

    /// A text in which variables and substitutions count, and quotes do not.
    pub(super) fn filled(&mut self) -> Read<()> {
        let mut word = Word::default();
        while !self.rest().is_empty() {
            self.filled_piece(&mut word, "$`\\")?;
        }
        Ok(())
    }

    fn filled_piece(&mut self, word: &mut Word, escaped: &str) -> Read<()> {
        let letter = self.rest().chars().next().ok_or(Obstacle)?;
        match letter {
            '\\' => {
                self.at += 1;
                let next = self.rest().chars().next().ok_or(Obstacle)?;
                self.at += next.len_utf8();
                if next != '\n' {
                    let is_escaped = escaped.contains(next);
                    word.push(if is_escaped { "" } else { "\\" }, true);
                    word.push(next.encode_utf8(&mut [0; 4]), true);
                }
            }
            '`' => self.old_substitution(word, true)?,
            '$' => self.deeper(|reader| reader.dollar(word, true))?,
            _ => {
                word.push(letter.encode_utf8(&mut [0; 4]), true);
                self.at += letter.len_utf8();
            }
        }
        Ok(())
    }

    fn old_substitution(&mut self, word: &mut Word, is_quoted: bool) -> Read<()> {
        self.at += 1;
        let length = self.rest().find('`').ok_or(Obstacle)?;
        let inner = self.at..self.at + length;
        if self.text[inner.clone()].contains('\\') {
            return Err(Obstacle);
        }
        let first = self.script.commands.len();
        self.part(inner, |reader| reader.within("").map(drop))?;
        self.at += length + 1;
        let range = first..self.script.commands.len();
        word.pieces.push(Piece::Commands { range, is_quoted });
        Ok(())
    }

    fn dollar(&mut self, word: &mut Word, is_quoted: bool) -> Read<()> {
        self.at += 1;
        let rest = self.rest();
        if self.take("((") {
            let Word { pieces, .. } = self.sum("))")?;
            word.pieces.extend(pieces);
        } else if self.take("(") {
            let range = self.within(")")?;
            word.pieces.push(Piece::Commands { range, is_quoted });
        } else if self.take("{") {
            let piece = self.braces(is_quoted)?;
            word.pieces.push(piece);
        } else if rest.starts_with('\'') && !is_quoted {
            // Bash has signs in it that a plain `sh` has not, which see its end elsewhere.
            let length = rest[1..].find('\'').ok_or(Obstacle)?;
            if rest[1..=length].ends_with('\\') {
                return Err(Obstacle);
            }
            self.at += length + 2;
            word.pieces.push(Piece::Spelled);
        } else if rest.starts_with('[') || (rest.starts_with('"') && !is_quoted) {
            return Err(Obstacle);
        } else {
            let name = self.name();
            match name.as_str() {
                "" => word.push("$", true),
                _ => word.pieces.push(Piece::Variable { name, more: More::Nothing, is_quoted }),
            }
        }
        Ok(())
    }

    /// The name of a variable, or the sign that is one.
    pub(super) fn name(&mut self) -> String {
        let rest = self.rest();
        let is_sign = |c: char| c.is_ascii_digit() || "@*#?$!-".contains(c);
        let length = if rest.starts_with(is_sign) {
            1
        } else {
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len())
        };
        self.at += length;
        rest[..length].to_owned()
    }

    /// What stands in `${..}`, behind its first sign.
    fn braces(&mut self, is_quoted: bool) -> Read<Piece> {
        let is_length = self.is_at("#") && !self.is_at("#}") && !self.is_at("##");
        let is_keys = self.is_at("!");
        self.at += usize::from(is_length || is_keys);
        let name = self.name();
        let element = self.element()?;
        let has_all = matches!(element.as_deref(), Some("@" | "*"));
        if name.is_empty() || (is_keys && !has_all) {
            return Err(Obstacle);
        }
        let more = if self.take("}") {
            match element {
                _ if is_length => More::Length,
                Some(element) => More::Element(element),
                None => More::Nothing,
            }
        } else {
            let start = self.at;
            self.change(is_quoted)?;
            self.expect("}")?;
            More::Changed(self.text[start..self.at - 1].to_owned())
        };
        if is_length && more != More::Length {
            return Err(Obstacle);
        }
        Ok(Piece::Variable { name, more, is_quoted })
    }

    /// Which element of a list is meant. Anything but a number or a name could run something.
    fn element(&mut self) -> Read<Option<String>> {
        if !self.take("[") {
            return Ok(None);
        }
        let length = self.rest().find(']').ok_or(Obstacle)?;
        let element = &self.rest()[..length];
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) || is_name(text);
        let bare = element.strip_prefix(['$', '-']).unwrap_or(element);
        if !["@", "*"].contains(&element) && !is_plain(bare) {
            return Err(Obstacle);
        }
        self.at += length + 1;
        Ok(Some(element.to_owned()))
    }

    /// What a variable is changed by.
    fn change(&mut self, is_quoted: bool) -> Read<()> {
        let signs =
            [":-", ":=", ":+", ":?", "-", "=", "+", "?", "##", "#", "%%", "%", "/", "^", ","];
        let Some(sign) = signs.iter().find(|sign| self.is_at(sign)) else {
            // A part of it: its place may be a sum.
            self.expect(":")?;
            let part =
                self.rest().trim_start_matches(|c: char| c.is_ascii_digit() || ": -".contains(c));
            self.at = self.text.len() - part.len();
            return Ok(());
        };
        self.at += sign.len();
        let mut operand = Word::default();
        while !self.is_at("}") {
            let rest = self.rest();
            match rest.chars().next().ok_or(Obstacle)? {
                '"' if is_quoted => return Err(Obstacle),
                // Where quotes within quotes end is not the same to every shell.
                '\'' => {
                    let inner = rest[1..].split('\'').next().unwrap_or_default();
                    if is_quoted || inner.contains(['}', '"', '$', '`', '\\']) {
                        return Err(Obstacle);
                    }
                    self.piece(&mut operand)?;
                }
                '{' => return Err(Obstacle),
                '\\' if rest[1..].starts_with(['\'', '"', '{', '}', '\\', '`', '$', '\n']) => {
                    return Err(Obstacle);
                }
                _ => self.piece(&mut operand)?,
            }
        }
        let sets = |more: &More| matches!(more, More::Changed(it) if it.starts_with(['=', ':']));
        if operand.variables().into_iter().any(|(_, more)| sets(more)) {
            return Err(Obstacle);
        }
        Ok(())
    }
}

/// Whether the element that a word sets is named by a number.
fn is_plain_index(word: &str) -> bool {
    let index = word.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(it, _)| it);
    index.is_some_and(|index| index.bytes().all(|byte| byte.is_ascii_digit()))
}
