//! One word of shell text, with quotes removed.

use std::path::Path;

/// A word as the program receives it, as far as that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// The text; up to the first expansion if `dynamic`, a pattern if `glob`.
    pub(crate) text: String,
    /// True if only the running shell knows the rest: a variable, a substitution, braces.
    pub(crate) dynamic: bool,
    /// True if the shell replaces it by names of files.
    pub(crate) glob: bool,
    /// True if any of it is quoted.
    pub(crate) quoted: bool,
    /// The first syntax that a provably read-only command does not have.
    pub(crate) odd: Option<&'static str>,
}

impl Word {
    /// A word of exactly this text.
    pub(crate) fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// The text if it is known in full.
    pub(crate) fn known(&self) -> Option<&str> {
        (!self.dynamic && !self.glob).then_some(self.text.as_str())
    }
}

/// Removes the quotes of `raw`, the source of one word.
pub(crate) fn read(raw: &str, home: Option<&Path>) -> Word {
    let mut reader =
        Reader { raw, at: 0, word: Word::default(), quoted_wildcard: false, braced: false, home };
    while reader.at < raw.len() && !reader.word.dynamic {
        reader.step();
    }
    let mut word = reader.word;
    // Every file that such a pattern matches has a name that begins with the option.
    let is_filter =
        ["--include=", "--exclude=", "--exclude-dir="].iter().any(|it| word.text.starts_with(it));
    if word.glob && (reader.quoted_wildcard || (word.text.starts_with('-') && !is_filter)) {
        word.odd.get_or_insert("a pattern that is partly quoted or begins with `-`");
    }
    word
}

struct Reader<'a> {
    raw: &'a str,
    at: usize,
    word: Word,
    quoted_wildcard: bool,
    braced: bool,
    home: Option<&'a Path>,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.raw[self.at..]
    }

    fn odd(&mut self, what: &'static str) {
        self.word.odd.get_or_insert(what);
    }

    fn dynamic(&mut self, what: &'static str) {
        self.word.dynamic = true;
        self.odd(what);
    }

    fn push(&mut self, c: char) {
        self.word.text.push(c);
        self.at += c.len_utf8();
    }

    fn step(&mut self) {
        let Some(c) = self.rest().chars().next() else { return };
        match c {
            '\'' => self.single(),
            '"' => {
                self.at += 1;
                self.double();
            }
            '$' => self.dollar(),
            '`' => self.dynamic("a command substitution"),
            '\\' => self.escape(),
            '~' if self.at == 0 => self.tilde(),
            '*' | '?' | '[' => self.wildcard(c),
            '{' => self.brace(),
            '(' | ')' => self.dynamic("a pattern in parentheses"),
            '<' | '>' => self.dynamic("a process substitution"),
            '=' if self.at == 0 && !["=", "=="].contains(&self.raw) => {
                self.odd("a word that begins with `=`");
                self.push(c);
            }
            '!' => {
                self.history();
                self.push(c);
            }
            '~' => {
                if self.raw[..self.at].ends_with(['=', ':']) {
                    self.odd("`~`");
                }
                self.push(c);
            }
            _ => self.push(c),
        }
    }

    fn single(&mut self) {
        self.word.quoted = true;
        let rest = &self.raw[self.at + 1..];
        let end = rest.find('\'').unwrap_or(rest.len());
        self.quoted_text(&rest[..end]);
        self.at = (self.at + end + 2).min(self.raw.len());
    }

    fn quoted_text(&mut self, text: &str) {
        self.quoted_wildcard |= text.contains(['*', '?', '[', '\\']);
        self.word.text.push_str(text);
    }

    /// Reads to the closing double quote; the cursor stands behind the opening one.
    fn double(&mut self) {
        self.word.quoted = true;
        while let Some(c) = self.rest().chars().next() {
            match c {
                '"' => {
                    self.at += 1;
                    return;
                }
                '`' => return self.dynamic("a command substitution"),
                '$' => {
                    self.expansion();
                    if self.word.dynamic {
                        return;
                    }
                }
                '\\' => {
                    let next = self.raw[self.at + 1..].chars().next();
                    match next {
                        Some('\n') => {
                            self.odd("a continued line");
                            self.at += 2;
                        }
                        Some(next @ ('"' | '\\' | '$' | '`')) => {
                            self.at += 1;
                            self.push(next);
                        }
                        Some(_) | None => self.push('\\'),
                    }
                }
                _ => {
                    self.quoted_wildcard |= matches!(c, '*' | '?' | '[');
                    if c == '!' {
                        self.history();
                    }
                    self.push(c);
                }
            }
        }
    }

    fn history(&mut self) {
        let next = self.raw[self.at + 1..].chars().next();
        if !matches!(next, None | Some(' ' | '\t' | '\n' | '=' | '"')) {
            self.odd("`!` before a word");
        }
    }

    fn dollar(&mut self) {
        let rest = self.rest();
        if rest.starts_with("$'") {
            self.ansi_c();
        } else if rest.starts_with("$\"") {
            self.odd("a translated string");
            self.at += 2;
            self.double();
        } else {
            self.expansion();
        }
    }

    /// Reads `$HOME` and a leading `$PWD`; any other variable or substitution ends the word.
    fn expansion(&mut self) {
        let rest = self.rest();
        let after = rest.chars().nth(1);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let cwd = self.word.text.is_empty().then_some(Path::new("."));
        let (home, places) = (self.home, ["${HOME}", "$HOME", "${PWD}", "$PWD", "$(pwd)"]);
        for name in places {
            let path = if name.contains("HOME") { home } else { cwd };
            if let (Some(tail), Some(path)) = (rest.strip_prefix(name), path)
                && (name.ends_with(['}', ')']) || !tail.starts_with(is_name))
            {
                self.word.text.push_str(&path.to_string_lossy());
                self.at += name.len();
                return self.odd("a variable");
            }
        }
        match after {
            Some('(') => self.dynamic("a substitution (`$(`)"),
            Some(c) if is_name(c) || "{@*#?$!-[".contains(c) => {
                self.dynamic("a variable (`$`)");
            }
            Some(_) | None => self.push('$'),
        }
    }

    fn escape(&mut self) {
        self.odd("an escape (`\\`)");
        self.word.quoted = true;
        self.at += 1;
        match self.rest().chars().next() {
            Some('\n') => self.at += 1,
            Some(c) => {
                self.quoted_wildcard |= matches!(c, '*' | '?' | '[');
                self.push(c);
            }
            None => {}
        }
    }

    fn tilde(&mut self) {
        self.odd("`~`");
        let rest = &self.raw[1..];
        match self.home {
            Some(home) if rest.is_empty() || rest.starts_with('/') => {
                self.word.text.push_str(&home.to_string_lossy());
                self.at += 1;
            }
            Some(_) | None => self.push('~'),
        }
    }

    fn wildcard(&mut self, c: char) {
        let is_test = c == '[' && ["[", "[["].contains(&self.raw);
        if !is_test {
            if self.word.text.is_empty() {
                self.odd("a pattern at the start of a word, which could become an option");
            }
            self.word.glob = true;
        }
        self.push(c);
    }

    fn brace(&mut self) {
        // The first brace decides for all of them, so that each is not searched for its end.
        let is_first = !self.braced;
        let rest = self.rest();
        if is_first && rest.contains('}') && (rest.contains(',') || rest.contains("..")) {
            self.dynamic("braces");
        } else {
            self.braced = true;
            self.odd("braces");
            self.push('{');
        }
    }

    /// Reads `$'…'`, decoding its escapes.
    fn ansi_c(&mut self) {
        self.odd("a string with escapes (`$'`)");
        self.word.quoted = true;
        self.at += 2;
        while let Some(c) = self.rest().chars().next() {
            self.at += c.len_utf8();
            match c {
                '\'' => return,
                '\\' => self.decode(),
                _ => self.word.text.push(c),
            }
        }
    }

    fn decode(&mut self) {
        let Some(kind) = self.rest().chars().next() else { return };
        self.at += kind.len_utf8();
        let (radix, most) = match kind {
            'x' => (16, 2),
            'u' => (16, 4),
            'U' => (16, 8),
            '0'..='7' => {
                self.at -= 1;
                (8, 3)
            }
            _ => {
                let plain = match kind {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'a' => '\u{7}',
                    'b' => '\u{8}',
                    'e' | 'E' => '\u{1b}',
                    'f' => '\u{c}',
                    'v' => '\u{b}',
                    other => other,
                };
                return self.word.text.push(plain);
            }
        };
        let digits: String =
            self.rest().chars().take(most).take_while(|c| c.is_digit(radix)).collect();
        self.at += digits.len();
        let code = u32::from_str_radix(&digits, radix).unwrap_or_default();
        self.word.text.extend(char::from_u32(code));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(raw: &str) -> Word {
        read(raw, Some(Path::new("/home/u")))
    }

    #[test]
    fn quotes_escapes_and_home_are_resolved() {
        for (raw, text) in [
            ("'cu'rl", "curl"),
            ("c\\url", "curl"),
            ("\"a\\\"b\"", "a\"b"),
            ("$'\\x63url'", "curl"),
            ("$'c\\165rl'", "curl"),
            ("~/x", "/home/u/x"),
            ("\"$HOME\"/x", "/home/u/x"),
            ("${HOME}", "/home/u"),
            ("a$", "a$"),
            ("HEAD~1", "HEAD~1"),
        ] {
            assert_eq!(word(raw).known(), Some(text), "{raw}");
        }
    }

    #[test]
    fn expansions_make_a_word_dynamic() {
        for raw in ["$x", "\"a$x\"", "`x`", "$(x)", "a{b,c}", "{1..3}", "$HOMER", "${x@P}"] {
            assert!(word(raw).dynamic, "{raw}");
        }
    }

    #[test]
    fn plain_words_have_no_odd_syntax() {
        for raw in ["-la", "'fn main'", "\"a b\"", "src/*.rs", "--include=*.rs", "[", "==", "a=b"] {
            assert_eq!(word(raw).odd, None, "{raw}");
        }
        for raw in ["*", "-*", "l\\s", "~", "=x", "{a}", "$'a'", "!x", "a=~/x", "'*'b*"] {
            assert!(word(raw).odd.is_some(), "{raw}");
        }
    }
}
