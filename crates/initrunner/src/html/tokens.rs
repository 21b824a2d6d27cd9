//! HTML as a row of texts and tags. Whatever is no tag is text; nothing is an error.

use std::borrow::Cow;

/// Elements whose content is text up to their closing tag, whatever stands in it.
const RAW: [&str; 7] = ["script", "style", "textarea", "title", "xmp", "noframes", "iframe"];
const EMPTY: [&str; 9] = ["br", "hr", "img", "input", "meta", "link", "wbr", "source", "area"];

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Text(String),
    Open { name: String, attributes: Vec<(String, String)>, is_closed: bool },
    Close(String),
}

enum Markup {
    Token(Token),
    Nothing,
    Text,
}

pub(crate) struct Tokens<'a> {
    rest: &'a str,
    raw: Option<String>,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(page: &'a str) -> Self {
        Self { rest: page, raw: None }
    }

    fn raw_text(&mut self, name: &str) -> Token {
        let bytes = self.rest.as_bytes();
        let is_end = |at: &usize| {
            bytes[*at..].starts_with(b"</")
                && bytes
                    .get(at + 2..at + 2 + name.len())
                    .is_some_and(|it| it.eq_ignore_ascii_case(name.as_bytes()))
        };
        let end = memchr::memchr_iter(b'<', bytes).find(is_end).unwrap_or(bytes.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        Token::Text(entities(text).into_owned())
    }

    fn markup(&mut self) -> Markup {
        let rest = self.rest;
        let skipped = if let Some(comment) = rest.strip_prefix("<!--") {
            Some(comment.find("-->").map_or("", |end| &comment[end + 3..]))
        } else if let Some(data) = rest.strip_prefix("<![CDATA[") {
            let (text, rest) = data.split_once("]]>").unwrap_or((data, ""));
            self.rest = rest;
            return Markup::Token(Token::Text(text.to_owned()));
        } else if rest.starts_with("<!") || rest.starts_with("<?") {
            Some(rest.find('>').map_or("", |end| &rest[end + 1..]))
        } else {
            None
        };
        if let Some(rest) = skipped {
            self.rest = rest;
            return Markup::Nothing;
        }
        let (inner, is_closing) = match rest.strip_prefix("</") {
            Some(inner) => (inner, true),
            None => (rest.strip_prefix('<').unwrap_or_default(), false),
        };
        if !inner.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Markup::Text;
        }
        let end = inner.find(|c: char| c.is_ascii_whitespace() || c == '>' || c == '/');
        let (name, mut inner) = inner.split_at(end.unwrap_or(inner.len()));
        let name = name.to_ascii_lowercase();
        let (attributes, is_closed) = attributes(&mut inner);
        self.rest = inner;
        if is_closing {
            return Markup::Token(Token::Close(name));
        }
        let is_closed = is_closed || EMPTY.contains(&name.as_str());
        if RAW.contains(&name.as_str()) && !is_closed {
            self.raw = Some(name.clone());
        }
        Markup::Token(Token::Open { name, attributes, is_closed })
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            if let Some(name) = self.raw.take() {
                return Some(self.raw_text(&name));
            }
            match self.markup() {
                Markup::Token(token) => return Some(token),
                Markup::Nothing => continue,
                Markup::Text => {}
            }
            // The first character is text, whatever it is.
            let end = memchr::memchr(b'<', &self.rest.as_bytes()[1..]);
            let (text, rest) = self.rest.split_at(end.map_or(self.rest.len(), |end| end + 1));
            self.rest = rest;
            return Some(Token::Text(entities(text).into_owned()));
        }
    }
}

fn attributes(text: &mut &str) -> (Vec<(String, String)>, bool) {
    let mut attributes = Vec::new();
    let mut is_closed = false;
    loop {
        *text = text.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let Some(first) = text.chars().next() else { return (attributes, is_closed) };
        if first == '>' {
            *text = &text[1..];
            return (attributes, is_closed);
        }
        is_closed = first == '/';
        if is_closed {
            *text = &text[1..];
            continue;
        }
        let end = text[first.len_utf8()..]
            .find(|c: char| c.is_ascii_whitespace() || "=>/".contains(c))
            .map_or(text.len(), |end| end + first.len_utf8());
        let name = text[..end].to_ascii_lowercase();
        *text = text[end..].trim_start_matches(|c: char| c.is_ascii_whitespace());
        let mut value = "";
        if let Some(rest) = text.strip_prefix('=') {
            let rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
            let quote = rest.chars().next().filter(|c| ['"', '\''].contains(c));
            (value, *text) = if let Some(quote) = quote {
                rest[1..].split_once(quote).unwrap_or((&rest[1..], ""))
            } else {
                let end = rest.find(|c: char| c.is_ascii_whitespace() || c == '>');
                rest.split_at(end.unwrap_or(rest.len()))
            };
        }
        attributes.push((name, entities(value).into_owned()));
    }
}

/// A text with its entities replaced by what they stand for. Unknown ones stay.
fn entities(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        // No entity has a longer name.
        let end = rest.bytes().take(32).position(|byte| byte == b';');
        if let Some((character, end)) = end.and_then(|end| Some((entity(&rest[1..end])?, end))) {
            out.push(character);
            rest = &rest[end + 1..];
        } else {
            out.push('&');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        };
        return char::from_u32(code.ok()?).filter(|c| *c != '\0');
    }
    NAMED.iter().find(|(known, _)| *known == name).map(|(_, character)| *character)
}

/// The entities that pages use. The space that does not break is a space like any other here.
#[rustfmt::skip]
const NAMED: [(&str, char); 62] = [
    ("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\''), ("nbsp", ' '),
    ("ensp", ' '), ("emsp", ' '), ("thinsp", ' '), ("ndash", '–'), ("mdash", '—'), ("hellip", '…'),
    ("lsquo", '‘'), ("rsquo", '’'), ("sbquo", '‚'), ("ldquo", '“'), ("rdquo", '”'), ("bdquo", '„'),
    ("laquo", '«'), ("raquo", '»'), ("lsaquo", '‹'), ("rsaquo", '›'), ("bull", '•'),
    ("middot", '·'), ("copy", '©'), ("reg", '®'), ("trade", '™'), ("deg", '°'), ("plusmn", '±'),
    ("times", '×'), ("divide", '÷'), ("minus", '−'), ("euro", '€'), ("pound", '£'), ("yen", '¥'),
    ("cent", '¢'), ("sect", '§'), ("para", '¶'), ("larr", '←'), ("rarr", '→'), ("uarr", '↑'),
    ("darr", '↓'), ("check", '✓'), ("frac12", '½'), ("frac14", '¼'), ("sup2", '²'), ("sup3", '³'),
    ("micro", 'µ'), ("ouml", 'ö'), ("Ouml", 'Ö'), ("auml", 'ä'), ("Auml", 'Ä'), ("uuml", 'ü'),
    ("Uuml", 'Ü'), ("szlig", 'ß'), ("eacute", 'é'), ("egrave", 'è'), ("agrave", 'à'),
    ("ccedil", 'ç'), ("ntilde", 'ñ'), ("aring", 'å'), ("oslash", 'ø'),
];
