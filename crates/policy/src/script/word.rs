//! One word of a text for a shell as what it is made of. Whatever is not plainly a quote, a letter or a variable
//! ends the reading.

use std::ops::Range;

/// A word as what it is made of.
#[derive(Clone, Debug, Default)]
pub struct Word {
    /// Its pieces, texts that touch each other joined.
    pub pieces: Vec<Piece>,
    /// Where it stands.
    pub range: Range<usize>,
}

/// A piece of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// What it says, without quotes.
    Text(String),
    /// A variable by its name, which a shell puts in as one word; nothing where more than that is not known.
    Variable(String),
    /// A variable of which a shell makes as many words as it holds.
    Bare(String),
    /// A pattern, or whatever else a shell puts in.
    Other,
}

impl Word {
    pub(super) fn literally(text: &str, range: Range<usize>) -> Self {
        Self { pieces: vec![Piece::Text(text.to_owned())], range }
    }

    /// What a program is given, where nothing in the word stands for something else.
    pub fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether a shell makes just one word of it.
    pub fn is_one(&self) -> bool {
        self.pieces.iter().all(|it| matches!(it, Piece::Text(_) | Piece::Variable(_)))
    }

    fn say(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }
}

/// Reads the word there, in which commands stand at `inner`, and the variables of sums in it.
pub(super) fn read(
    text: &str,
    range: Range<usize>,
    inner: &[Range<usize>],
) -> Result<(Word, Vec<String>), usize> {
    let mut scan = Scan { text, at: range.start, end: range.end, inner, summed: Vec::new() };
    let mut word = Word { pieces: Vec::new(), range: range.clone() };
    while let Some(letter) = scan.next() {
        let start = scan.at;
        match letter {
            '\'' => {
                let rest = &text[start + 1..range.end];
                let length = rest.find('\'').ok_or(start)?;
                word.say(&rest[..length]);
                scan.at += length + 2;
            }
            '`' => {
                scan.substitution()?;
                word.pieces.push(Piece::Bare(String::new()));
            }
            '"' => {
                scan.at += 1;
                scan.quoted(&mut word)?;
            }
            '$' => {
                let name = scan.expansion()?;
                let is_number =
                    ["#", "?", "$"].contains(&name.as_str()) || text[start..].starts_with("$((");
                word.pieces.push(if is_number { Piece::Variable(name) } else { Piece::Bare(name) });
            }
            '\\' => {
                let next = text[start + 1..range.end].chars().next();
                let next = next.filter(char::is_ascii_punctuation).ok_or(start)?;
                word.say(next.encode_utf8(&mut [0; 4]));
                scan.at += 2;
            }
            // Alone they are the names of commands that test something.
            '[' | ']'
                if range.len() <= 2 && text[range.clone()].bytes().all(|it| it == letter as u8) =>
            {
                word.say(&text[range.clone()]);
                scan.at = range.end;
            }
            // What was found stands here.
            '{' if &text[range.clone()] == "{}" => {
                word.say("{}");
                scan.at = range.end;
            }
            // To Bash a list of endings, to others a name.
            '{' if text[..start].ends_with("*.") => {
                let (endings, _) = text[start + 1..range.end].split_once('}').ok_or(start)?;
                if !endings.bytes().all(|it| it.is_ascii_alphanumeric() || it == b',') {
                    return Err(start);
                }
                word.pieces.push(Piece::Other);
                scan.at += endings.len() + 2;
            }
            '*' | '?' | '[' | ']' | '~' => {
                word.pieces.push(Piece::Other);
                scan.at += 1;
            }
            _ if letter.is_alphanumeric() || "_-./:,@%+=^!#".contains(letter) => {
                word.say(letter.encode_utf8(&mut [0; 4]));
                scan.at += letter.len_utf8();
            }
            _ => return Err(start),
        }
    }
    word.pieces.retain(|piece| *piece != Piece::Text(String::new()));
    Ok((word, scan.summed))
}

/// Goes through a text that is read like one in double quotes, without their end, for the variables of sums.
pub(super) fn check_quoted(
    text: &str,
    range: Range<usize>,
    inner: &[Range<usize>],
) -> Result<Vec<String>, usize> {
    let mut scan = Scan { text, at: range.start, end: range.end, inner, summed: Vec::new() };
    while let Some(letter) = scan.next() {
        if letter == '$' && !scan.is_bare() {
            scan.expansion()?;
        } else {
            scan.at += letter.len_utf8();
        }
    }
    Ok(scan.summed)
}

/// Whether what stands behind `=~` holds nothing that a shell puts something else in for.
pub(super) fn is_pattern(text: &str) -> bool {
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_plain = match letter {
            '\\' => letters
                .next()
                .is_some_and(|it| it.is_ascii_alphanumeric() || ".[]/-+*?^$|(){}".contains(it)),
            '$' => letters.peek().is_none_or(|it| [')', '|'].contains(it)),
            _ => letter.is_ascii_alphanumeric() || "^./_*+?-[]{}:,=@%()|".contains(letter),
        };
        if !is_plain {
            return false;
        }
    }
    !text.is_empty()
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    end: usize,
    inner: &'a [Range<usize>],
    /// The variables of sums so far.
    summed: Vec<String>,
}

impl Scan<'_> {
    fn next(&self) -> Option<char> {
        self.text[self.at..self.end].chars().next()
    }

    /// Whether the sign of a variable here is none, since no name follows it.
    fn is_bare(&self) -> bool {
        let next = self.text[self.at + 1..self.end].chars().next();
        next.is_none_or(|c| c.is_whitespace() || "\"|)/.,".contains(c))
    }

    /// Reads as far as the quote that ends it.
    fn quoted(&mut self, word: &mut Word) -> Result<(), usize> {
        while let Some(letter) = self.next() {
            match letter {
                '"' => {
                    self.at += 1;
                    return Ok(());
                }
                '`' => {
                    let start = self.at;
                    self.substitution()?;
                    // Shells differ in what a quote within quotes ends.
                    if self.text[start..self.at].contains('"') {
                        return Err(start);
                    }
                    word.pieces.push(Piece::Variable(String::new()));
                }
                '$' if !self.is_bare() => {
                    let start = self.at;
                    let name = self.expansion()?;
                    // All arguments, or parts of a list, stay as many as they are.
                    word.pieces.push(if name == "@" {
                        Piece::Other
                    } else if self.text[start..self.at].contains("[@]") {
                        Piece::Bare(name)
                    } else {
                        Piece::Variable(name)
                    });
                }
                '\\' => {
                    let next = self.text[self.at + 1..self.end].chars().next().ok_or(self.at)?;
                    let is_taken = "\"\\$`".contains(next);
                    if next == '\n' {
                        return Err(self.at);
                    }
                    word.say(if is_taken { "" } else { "\\" });
                    word.say(next.encode_utf8(&mut [0; 4]));
                    self.at += 1 + next.len_utf8();
                }
                _ => {
                    word.say(letter.encode_utf8(&mut [0; 4]));
                    self.at += letter.len_utf8();
                }
            }
        }
        Err(self.at)
    }

    /// A command that stands here.
    fn substitution(&mut self) -> Result<(), usize> {
        let inner = self.inner.iter().find(|it| it.start == self.at).ok_or(self.at)?;
        self.at = inner.end;
        Ok(())
    }

    /// The variable behind its sign.
    fn expansion(&mut self) -> Result<String, usize> {
        let start = self.at;
        let rest = &self.text[start + 1..self.end];
        match rest.chars().next() {
            Some('(')
                if rest.starts_with("((") && !self.inner.iter().any(|it| it.start == start) =>
            {
                let length = rest.find("))").ok_or(start)?;
                self.summed.extend(sum(&rest[2..length]).ok_or(start)?);
                self.at += length + 3;
                Ok(String::new())
            }
            Some('(') => self.substitution().map(|()| String::new()),
            Some('{') => {
                let length = rest.find('}').ok_or(start)?;
                self.at += length + 2;
                braced(&rest[1..length]).ok_or(start)
            }
            Some(letter) if letter.is_ascii_alphabetic() || letter == '_' => {
                let length = name_length(rest);
                self.at += length + 1;
                Ok(rest[..length].to_owned())
            }
            Some(sign) if sign.is_ascii_digit() || "@*#?$!-".contains(sign) => {
                self.at += 2;
                Ok(sign.to_string())
            }
            _ => Err(start),
        }
    }
}

/// The variables of a sum of nothing but names and numbers, which sets none of them.
fn sum(text: &str) -> Option<Vec<String>> {
    let parts = text.split(['+', '-', '*', '/', '%']).map(|it| it.trim_matches(' '));
    let mut names = Vec::new();
    for part in parts {
        let is_number = part.bytes().all(|it| it.is_ascii_digit());
        let is_name = part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name_length(part) == part.len();
        match (is_name, is_number && !part.is_empty()) {
            (true, _) => names.push(part.to_owned()),
            (false, true) => {}
            (false, false) => return None,
        }
    }
    Some(names)
}

fn name_length(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())
}

/// What stands in braces: a name, and what is taken from its value or put in its place, without anything in that
/// which stands for something else.
fn braced(inner: &str) -> Option<String> {
    let (is_length, inner) = match inner.strip_prefix('#') {
        Some(rest) if !rest.is_empty() => (true, rest),
        _ => (false, inner),
    };
    let length = if inner.starts_with(['@', '*', '#', '?']) { 1 } else { name_length(inner) };
    let (name, more) = inner.split_at(length);
    let is_name = name.bytes().all(|it| it.is_ascii_digit())
        || !name.starts_with(|c: char| c.is_ascii_digit());
    let more = match more.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((element, more))
            if element.bytes().all(|it| it.is_ascii_digit()) && !element.is_empty() =>
        {
            more
        }
        // What is known of a variable is not known of all parts of a list.
        Some(("@", "")) => return (is_name && !name.is_empty()).then(String::new),
        Some(_) => return None,
        None => more,
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./*?,:%+=^ -".contains(c);
    let signs = [":-", ":+", ":?", "##", "%%", "//", "-", "+", "?", "#", "%", "/", "^^", ",,"];
    let sign = signs.iter().find(|sign| more.starts_with(**sign));
    let is_known = match sign {
        None => more.is_empty(),
        Some(sign) => !is_length && more[sign.len()..].chars().all(is_plain),
    };
    if name.is_empty() || !is_name || !is_known {
        return None;
    }
    // Nothing is known of a value that is changed.
    Some(if name != "@" && (!more.is_empty() || is_length) {
        String::new()
    } else {
        name.to_owned()
    })
}
