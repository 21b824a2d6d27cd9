//! Splits shell text into tokens, and stops at the first byte whose meaning it cannot be sure of.
//! What it returns is exactly what Bash sees; when in doubt it returns nothing.

use std::ops::Range;

use super::Obstacle;

/// A word without any expansion, quotes removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// What the program receives; a pattern where `glob` is set.
    pub(crate) text: String,
    /// Where it stands in the source.
    pub(crate) range: Range<usize>,
    /// Whether the shell replaces it by the names of files. Its first character is literal then.
    pub(crate) glob: bool,
    /// Whether any of it is quoted.
    pub(crate) quoted: bool,
}

/// A piece of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A word.
    Word(Word),
    /// What stands between commands.
    Join(Join),
    /// A redirection with its target.
    Redirect(Redirect),
}

/// What stands between two commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
    /// `;` or the end of a line.
    End,
}

/// A redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirect {
    /// What it does.
    pub(crate) flow: Flow,
    /// What it names: a file, a descriptor, or the data itself.
    pub(crate) target: Word,
}

/// What a redirection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Reads a file.
    Read,
    /// Creates or changes a file.
    Write,
    /// Copies or closes a descriptor.
    Duplicate,
    /// Feeds literal text.
    Data,
    /// Feeds literal text from the following lines; the target is the delimiter.
    Heredoc,
}

/// Splits `text`, or says what is in the way.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, Obstacle> {
    let mut scanner =
        Scanner { text, bytes: text.as_bytes(), at: 0, tokens: Vec::new(), heredocs: Vec::new() };
    while scanner.at < scanner.bytes.len() {
        scanner.step()?;
    }
    if scanner.heredocs.is_empty() {
        Ok(scanner.tokens)
    } else {
        Err(Obstacle::new("a here-document is not closed"))
    }
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    tokens: Vec<Token>,
    /// Delimiters whose bodies follow the line, and whether tabs are stripped.
    heredocs: Vec<(String, bool)>,
}

impl Scanner<'_> {
    fn looking_at(&self, text: &str) -> bool {
        self.bytes[self.at..].starts_with(text.as_bytes())
    }

    fn step(&mut self) -> Result<(), Obstacle> {
        match self.bytes[self.at] {
            b' ' | b'\t' => self.at += 1,
            b'\n' => {
                self.at += 1;
                // A line that ends in `&&`, `||` or `|` goes on with the next one.
                if !matches!(
                    self.tokens.last(),
                    Some(Token::Join(Join::And | Join::Or | Join::Pipe))
                ) {
                    self.tokens.push(Token::Join(Join::End));
                }
                self.skip_heredocs()?;
            }
            b'#' => {
                let rest = &self.bytes[self.at..];
                self.at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
            }
            b';' | b'&' | b'|' => self.operator()?,
            b'<' | b'>' => self.redirect()?,
            b'(' | b')' => return Err(Obstacle::new("it has a subshell or a function")),
            _ => {
                let word = self.word()?;
                let is_descriptor = !word.quoted
                    && word.text.bytes().all(|b| b.is_ascii_digit())
                    && matches!(self.bytes.get(self.at), Some(b'<' | b'>'));
                if !is_descriptor {
                    self.tokens.push(Token::Word(word));
                }
            }
        }
        Ok(())
    }

    fn operator(&mut self) -> Result<(), Obstacle> {
        let known = [
            ("&&", Some(Join::And)),
            ("||", Some(Join::Or)),
            ("&>", None),
            (";;", None),
            (";&", None),
            ("|&", None),
            (";", Some(Join::End)),
            ("|", Some(Join::Pipe)),
        ];
        let found = known.into_iter().find(|(text, _)| self.looking_at(text));
        match found {
            Some(("&>", _)) => self.redirect(),
            Some((text, Some(join))) => {
                self.at += text.len();
                self.tokens.push(Token::Join(join));
                Ok(())
            }
            Some((text, None)) => Err(Obstacle::new(format!("it uses `{text}`"))),
            None => Err(Obstacle::new("it starts a command in the background")),
        }
    }

    fn redirect(&mut self) -> Result<(), Obstacle> {
        let known = [
            ("&>>", Some(Flow::Write)),
            ("&>", Some(Flow::Write)),
            ("<<<", Some(Flow::Data)),
            ("<<-", Some(Flow::Heredoc)),
            ("<<", Some(Flow::Heredoc)),
            ("<(", None),
            (">(", None),
            ("<>", None),
            (">>", Some(Flow::Write)),
            (">|", Some(Flow::Write)),
            (">&", Some(Flow::Duplicate)),
            ("<&", Some(Flow::Duplicate)),
            (">", Some(Flow::Write)),
            ("<", Some(Flow::Read)),
        ];
        let Some((operator, flow)) = known.into_iter().find(|(text, _)| self.looking_at(text))
        else {
            return Err(Obstacle::new("a redirection is not understood"));
        };
        let Some(mut flow) = flow else {
            return Err(Obstacle::new(format!("it uses `{operator}`")));
        };
        self.at += operator.len();
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        if matches!(
            self.bytes.get(self.at),
            None | Some(b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' | b'#')
        ) {
            return Err(Obstacle::new("a redirection has no target"));
        }
        let target = self.word()?;
        if target.glob {
            return Err(Obstacle::new("a redirection's target is a pattern"));
        }
        match flow {
            Flow::Duplicate => {
                let is_descriptor =
                    target.text == "-" || target.text.bytes().all(|b| b.is_ascii_digit());
                match (is_descriptor && !target.quoted, operator) {
                    (true, _) => {}
                    (false, ">&") => flow = Flow::Write,
                    (false, _) => return Err(Obstacle::new("a descriptor is not a number")),
                }
            }
            Flow::Heredoc if !target.quoted => {
                return Err(Obstacle::new("a here-document's delimiter is not quoted"));
            }
            Flow::Heredoc => self.heredocs.push((target.text.clone(), operator == "<<-")),
            Flow::Read | Flow::Write | Flow::Data => {}
        }
        self.tokens.push(Token::Redirect(Redirect { flow, target }));
        Ok(())
    }

    fn skip_heredocs(&mut self) -> Result<(), Obstacle> {
        for (delimiter, strip) in std::mem::take(&mut self.heredocs) {
            loop {
                if self.at >= self.bytes.len() {
                    return Err(Obstacle::new("a here-document is not closed"));
                }
                let rest = &self.text[self.at..];
                let line = rest.split('\n').next().unwrap_or_default();
                self.at = (self.at + line.len() + 1).min(self.bytes.len());
                let line = if strip { line.trim_start_matches('\t') } else { line };
                if line == delimiter {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Reads one word. The cursor stands on its first byte.
    fn word(&mut self) -> Result<Word, Obstacle> {
        let start = self.at;
        let mut text: Vec<u8> = Vec::new();
        let (mut glob, mut quoted, mut quoted_wildcard) = (false, false, false);
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
                b'\'' | b'"' => {
                    quoted = true;
                    let from = text.len();
                    self.quoted(byte, &mut text)?;
                    quoted_wildcard |= text[from..].iter().any(|b| b"*?[\\".contains(b));
                    continue;
                }
                // Alone they are the names of commands that test something.
                b'[' if self.at == start && self.is_bracket() => {}
                b'[' if self.at == start + 1 && text == b"[" => {}
                b'*' | b'?' | b'[' => {
                    if text.is_empty() {
                        return Err(Obstacle::new(
                            "a pattern at the start of a word could become an option",
                        ));
                    }
                    glob = true;
                }
                b'!' => self.check_history()?,
                b'~' if self.at == start || matches!(self.bytes[self.at - 1], b'=' | b':') => {
                    return Err(Obstacle::new("it uses `~`"));
                }
                b'=' if self.at == start && !self.is_comparison() => {
                    return Err(Obstacle::new("a word begins with `=`"));
                }
                _ => refuse_active(byte)?,
            }
            text.push(byte);
            self.at += 1;
        }
        // Every file that such a pattern means has a name which begins with the option.
        let is_include = [&b"--include="[..], b"--exclude=", b"--exclude-dir="]
            .iter()
            .any(|option| text.starts_with(option));
        if glob && (quoted_wildcard || (text.first() == Some(&b'-') && !is_include)) {
            return Err(Obstacle::new("a pattern is quoted in part, or is an option"));
        }
        Ok(Word {
            text: String::from_utf8_lossy(&text).into_owned(),
            range: start..self.at,
            glob,
            quoted,
        })
    }

    /// Whether the word here is `[` or `[[`.
    fn is_bracket(&self) -> bool {
        self.is_one_of(&["[", "[["])
    }

    /// Whether the word here is `=` or `==`.
    fn is_comparison(&self) -> bool {
        self.is_one_of(&["=", "=="])
    }

    fn is_one_of(&self, words: &[&str]) -> bool {
        let ends = |at: usize| matches!(self.bytes.get(at), Some(b' ' | b'\t'));
        words.iter().any(|word| self.looking_at(word) && ends(self.at + word.len()))
    }

    /// Reads a quoted run, from its opening to its closing quote.
    fn quoted(&mut self, quote: u8, text: &mut Vec<u8>) -> Result<(), Obstacle> {
        self.at += 1;
        loop {
            let Some(&byte) = self.bytes.get(self.at) else {
                return Err(Obstacle::new("a quote is not closed"));
            };
            if byte == quote {
                self.at += 1;
                return Ok(());
            }
            if quote == b'"' {
                match byte {
                    b'$' | b'`' => refuse_active(byte)?,
                    b'!' => self.check_history()?,
                    b'\\' => match self.bytes.get(self.at + 1) {
                        Some(b'"' | b'\\' | b'$' | b'`') => self.at += 1,
                        Some(b'\n') => return Err(Obstacle::new("a line is continued")),
                        _ => {}
                    },
                    _ => {}
                }
            }
            text.push(self.bytes[self.at]);
            self.at += 1;
        }
    }

    fn check_history(&self) -> Result<(), Obstacle> {
        match self.bytes.get(self.at + 1) {
            None | Some(b' ' | b'\t' | b'\n' | b'=' | b'"') => Ok(()),
            Some(_) => Err(Obstacle::new("`!` may mean an earlier command")),
        }
    }
}

/// Refuses bytes that make the shell compute a word.
fn refuse_active(byte: u8) -> Result<(), Obstacle> {
    let what = match byte {
        b'$' => "it uses an expansion (`$`)",
        b'`' => "it runs a command inside a word",
        b'\\' => "it uses an escape (`\\`)",
        b'{' | b'}' => "it uses braces",
        _ => return Ok(()),
    };
    Err(Obstacle::new(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        tokens(text)
            .unwrap()
            .into_iter()
            .filter_map(|token| match token {
                Token::Word(word) => Some(word.text),
                Token::Join(_) | Token::Redirect(_) => None,
            })
            .collect()
    }

    #[test]
    fn quotes_are_removed_and_adjacent_pieces_are_one_word() {
        assert_eq!(words("rg 'fn main'\"x\"y \"a\\\"b\""), ["rg", "fn mainxy", "a\"b"]);
    }

    #[test]
    fn a_number_before_a_redirection_is_no_word() {
        assert_eq!(words("ls 2>&1 2 >/dev/null"), ["ls", "2"]);
    }

    #[test]
    fn the_body_of_a_quoted_here_document_is_no_word() {
        assert_eq!(words("cat <<'EOF'\nrm -rf $(x)\nEOF\nls"), ["cat", "ls"]);
    }

    #[test]
    fn whatever_the_shell_would_compute_is_an_obstacle() {
        for text in [
            "echo $x",
            "echo \"$x\"",
            "echo `x`",
            "l\\s",
            "{a,b}",
            "echo ~",
            "a=~/x",
            "echo =x",
            "echo ==x",
            "[a] x",
            "[[a x",
            "[",
            "ls *",
            "ls [a]",
            "(ls)",
            "ls &",
            "cat <<EOF\nEOF",
            "cat <(ls)",
            "echo !x",
            "a;;b",
            "ls '*'b*",
            "x |& y",
            "ls >",
            "echo 'a",
            "x 3<>y",
            "cat <<'E'\n",
        ] {
            assert!(tokens(text).is_err(), "{text}");
        }
    }
}
