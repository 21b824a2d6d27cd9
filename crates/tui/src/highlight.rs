//! Code in color, line by line. A small table of languages, read by one scanner: it knows comments,
//! strings, numbers, keywords, types and calls, and carries over what spans lines. It costs no
//! start-up, and what it does not know stays plain.

mod languages;

use crate::text::Piece;
use crate::theme::{Role, Theme};
use languages::{LANGUAGES, Language, Shape};

/// Colors the lines of one block of code, in order.
#[derive(Clone)]
pub(crate) struct Highlighter {
    language: Option<&'static Language>,
    /// The role and the end of a comment or text that an earlier line has begun.
    open: Option<(Role, &'static str)>,
}

impl Highlighter {
    /// For a language by the name that people give it; plain where it is not known.
    pub(crate) fn new(name: &str) -> Self {
        let name = name.split([',', ' ', '{']).next().unwrap_or_default().to_ascii_lowercase();
        let knows = |language: &&Language| language.names.contains(&name);
        Self { language: LANGUAGES.iter().find(knows), open: None }
    }

    pub(crate) fn for_path(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = name.rsplit('.').next().unwrap_or(name);
        Self::new(extension)
    }

    pub(crate) fn line(&mut self, text: &str, theme: &Theme) -> Vec<Piece> {
        let Some(language) = self.language else {
            return vec![(theme.style(Role::Code), text.to_owned())];
        };
        let mut out = Pieces { theme, pieces: Vec::new() };
        match language.shape {
            Shape::Change => out.put(change(text), text),
            Shape::Markup => self.markup(text, language, &mut out),
            Shape::Code | Shape::Keys => self.code(text, language, &mut out),
        }
        out.pieces
    }

    fn code(&mut self, text: &str, language: &'static Language, out: &mut Pieces<'_>) {
        let mut rest = text;
        let mut is_start = true;
        while !rest.is_empty() {
            if let Some((role, end)) = self.open {
                let length = rest.find(end).map(|at| at + end.len());
                out.put(role, &rest[..length.unwrap_or(rest.len())]);
                let Some(length) = length else { return };
                self.open = None;
                rest = &rest[length..];
                continue;
            }
            let (role, length) = self.token(rest, language, is_start);
            out.put(role, &rest[..length]);
            is_start &= rest[..length].chars().all(|c| c.is_whitespace() || c == '-');
            rest = &rest[length..];
        }
    }

    /// The role and the length of the token at the beginning.
    fn token(&mut self, rest: &str, language: &'static Language, is_start: bool) -> (Role, usize) {
        for (begin, end) in &language.blocks {
            if rest.starts_with(begin.as_str()) {
                let role =
                    if begin.contains(['"', '\'', '`']) { Role::Quoted } else { Role::Comment };
                self.open = Some((role, end));
                return (role, begin.len());
            }
        }
        if language.comments.iter().any(|mark| rest.starts_with(mark.as_str())) {
            return (Role::Comment, rest.len());
        }
        let first = rest.chars().next().unwrap_or(' ');
        if language.quotes.contains(first) {
            return (Role::Quoted, quoted(rest, first, language));
        }
        if first.is_ascii_digit() {
            let inside = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
            return (Role::Number, rest.find(|c| !inside(c)).unwrap_or(rest.len()));
        }
        if first.is_alphabetic() || first == '_' || language.marks.contains(first) {
            let inside = |c: char| {
                c.is_alphanumeric() || c == '_' || (language.shape == Shape::Keys && c == '-')
            };
            let skip = first.len_utf8();
            let length = rest[skip..].find(|c| !inside(c)).map_or(rest.len(), |at| at + skip);
            return (word(&rest[..length], &rest[length..], language, is_start), length);
        }
        let length = first.len_utf8();
        (Role::Text, length)
    }

    fn markup(&mut self, text: &str, language: &'static Language, out: &mut Pieces<'_>) {
        let mut rest = text;
        while !rest.is_empty() {
            let end = match self.open {
                Some((_, end)) => end,
                None if rest.starts_with("<!--") => "-->",
                None if rest.starts_with('<') => ">",
                None => "",
            };
            if end.is_empty() {
                let length = rest.find('<').unwrap_or(rest.len());
                out.put(Role::Text, &rest[..length]);
                rest = &rest[length..];
                continue;
            }
            let role = if end == ">" { Role::Keyword } else { Role::Comment };
            let length = rest.find(end).map(|at| at + end.len());
            let inside = &rest[..length.unwrap_or(rest.len())];
            if role == Role::Keyword {
                tag(inside, language, out);
            } else {
                out.put(role, inside);
            }
            self.open = if length.is_some() { None } else { Some((role, end)) };
            rest = &rest[inside.len()..];
        }
    }
}

/// The inside of `<…>`: names, and the values of attributes.
fn tag(text: &str, language: &'static Language, out: &mut Pieces<'_>) {
    let mut rest = text;
    while !rest.is_empty() {
        let first = rest.chars().next().unwrap_or(' ');
        if first == '"' || first == '\'' {
            let length = quoted(rest, first, language);
            out.put(Role::Quoted, &rest[..length]);
            rest = &rest[length..];
        } else {
            let skip = first.len_utf8();
            let length = rest[skip..].find(['"', '\'']).map_or(rest.len(), |at| at + skip);
            out.put(Role::Keyword, &rest[..length]);
            rest = &rest[length..];
        }
    }
}

/// The length of a text in quotes that ends on this line or with it.
fn quoted(rest: &str, quote: char, language: &Language) -> usize {
    // In some languages an apostrophe may be no quote at all: `'a`, `it's`.
    if quote == '\'' && language.has_lone_apostrophes {
        let mut characters = rest.char_indices().skip(1);
        let second = characters.next();
        if let Some((_, '\\')) = second {
            return rest[2..].find('\'').map_or(1, |at| at + 3);
        }
        return match characters.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        };
    }
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

fn word(word: &str, after: &str, language: &Language, is_start: bool) -> Role {
    let is_key = language.shape == Shape::Keys && is_start;
    if is_key && after.trim_start().starts_with([':', '=']) {
        return Role::Keyword;
    }
    let known = |list: &str| {
        let same = |known: &str| {
            if language.ignores_case { known.eq_ignore_ascii_case(word) } else { known == word }
        };
        list.split(' ').any(same)
    };
    if known(&language.keywords) {
        Role::Keyword
    } else if known(&language.constants) {
        Role::Number
    } else if known(&language.types) {
        Role::Type
    } else if after.starts_with('(') || after.starts_with("!(") {
        Role::Function
    } else if language.has_capital_types && word.starts_with(char::is_uppercase) {
        Role::Type
    } else {
        Role::Text
    }
}

fn change(text: &str) -> Role {
    match text.chars().next() {
        Some('+') => Role::Added,
        Some('-') => Role::Removed,
        Some('@') => Role::Place,
        _ => Role::Text,
    }
}

struct Pieces<'a> {
    theme: &'a Theme,
    pieces: Vec<Piece>,
}

impl Pieces<'_> {
    fn put(&mut self, role: Role, text: &str) {
        let style = self.theme.style(role);
        match self.pieces.last_mut() {
            Some((last, so_far)) if *last == style => so_far.push_str(text),
            _ => self.pieces.push((style, text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a line that stand in a role.
    fn found(highlighter: &mut Highlighter, line: &str, role: Role) -> Vec<String> {
        let theme = Theme::built_in().swap_remove(0);
        let pieces = highlighter.line(line, &theme);
        let all: String = pieces.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(all, line, "nothing is lost");
        let wanted = theme.style(role);
        pieces.into_iter().filter(|(style, _)| *style == wanted).map(|(_, text)| text).collect()
    }

    #[test]
    fn highlighter_separates_the_parts_of_a_line() {
        let mut rust = Highlighter::new("rust");
        let line = "let name: &'a str = call(\"x // y\", 42); // why";
        assert_eq!(found(&mut rust, line, Role::Keyword), ["let"]);
        assert_eq!(found(&mut rust, line, Role::Quoted), ["'", "\"x // y\""]);
        assert_eq!(found(&mut rust, line, Role::Function), ["call"]);
        assert_eq!(found(&mut rust, line, Role::Number), ["42"]);
        assert_eq!(found(&mut rust, line, Role::Comment), ["// why"]);
        let mut yaml = Highlighter::new("yaml");
        assert_eq!(found(&mut yaml, "  - some-key: true # x", Role::Keyword), ["some-key"]);
        let mut sql = Highlighter::new("sql");
        assert_eq!(found(&mut sql, "select * FROM t", Role::Keyword), ["select", "FROM"]);
        let mut html = Highlighter::new("html");
        assert_eq!(found(&mut html, "<a href=\"x\">y</a>", Role::Quoted), ["\"x\""]);
    }

    #[test]
    fn highlighter_continues_comments_and_texts_over_lines() {
        let mut c = Highlighter::new("c");
        assert_eq!(found(&mut c, "int x; /* one", Role::Comment), ["/* one"]);
        assert_eq!(found(&mut c, "two", Role::Comment), ["two"]);
        assert_eq!(found(&mut c, "three */ return 1;", Role::Keyword), ["return"]);
        let mut python = Highlighter::new("py");
        assert_eq!(found(&mut python, "x = \"\"\"one", Role::Quoted), ["\"\"\"one"]);
        assert_eq!(found(&mut python, "two\"\"\" # c", Role::Comment), ["# c"]);
    }

    #[test]
    fn every_language_survives_every_line() {
        let lines = ["", "'", "\"", "\\", "'\\", "`é", "<", "<a 'b", "/*", "漢'字'", "r#\"", "1.e"];
        for language in LANGUAGES.iter() {
            for name in &language.names {
                let mut highlighter = Highlighter::new(name);
                for line in lines {
                    found(&mut highlighter, line, Role::Text);
                }
            }
        }
        assert_eq!(found(&mut Highlighter::new("klingon"), "if x", Role::Keyword), [""; 0]);
    }
}
