//! Patterns for commands: words, and whether more may follow.

use std::path::PathBuf;

use crate::glob::{Reading, meet};
use crate::shell::{Fit, Found, Obstacle, Piece, Word, quote};

/// The words of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandPattern {
    words: Vec<PatternWord>,
    tail: Tail,
    /// The only folder it holds in.
    pub(crate) cwd: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternWord {
    Literal(String),
    Any,
}

/// Whether words may follow those of the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// None.
    Exact,
    /// Any.
    Open,
}

/// Options of git, before its subcommand, that take no value.
const GIT_FLAGS: &[&str] = &[
    "--no-pager",
    "-p",
    "-P",
    "--paginate",
    "--bare",
    "--no-replace-objects",
    "--literal-pathspecs",
    "--no-optional-locks",
    "--glob-pathspecs",
    "--noglob-pathspecs",
    "--icase-pathspecs",
    "--no-lazy-fetch",
    "--no-advice",
];

impl CommandPattern {
    /// Reads `git status`, `git status:*`, `git status *` or `git * x`.
    pub(crate) fn parse(text: &str) -> Result<Self, Obstacle> {
        let text = text.trim();
        let (text, mut tail) = match text.strip_suffix(":*") {
            Some(rest) => (rest, Tail::Open),
            None => (text, Tail::Exact),
        };
        let mut words: Vec<PatternWord> = split(text)?
            .into_iter()
            .map(|(word, quoted)| match word.as_str() {
                "*" if !quoted => PatternWord::Any,
                _ => PatternWord::Literal(word),
            })
            .collect();
        if words.len() > 1 && words.last() == Some(&PatternWord::Any) {
            words.pop();
            tail = Tail::Open;
        }
        match words.first() {
            Some(PatternWord::Literal(name)) if !name.is_empty() => {
                Ok(Self { words, tail, cwd: None })
            }
            Some(_) | None => Err(Obstacle::new("it names no program")),
        }
    }

    /// Reads a list entry such as `git push`: the words, and anything after them.
    pub(crate) fn parse_prefix(text: &str) -> Result<Self, Obstacle> {
        Self::parse(text).map(|pattern| Self { tail: Tail::Open, ..pattern })
    }

    /// A pattern of exactly these words.
    pub(crate) fn of(words: &[&str], tail: Tail, cwd: PathBuf) -> Self {
        let words = words.iter().map(|word| PatternWord::Literal((*word).to_owned()));
        Self { words: words.collect(), tail, cwd: Some(cwd) }
    }

    /// How many words it spells out.
    pub(crate) fn length(&self) -> usize {
        self.words.len()
    }

    /// Whether nothing may follow its words.
    pub(crate) fn is_exact(&self) -> bool {
        self.tail == Tail::Exact
    }

    /// Whether it spells out this command, run in these folders.
    pub(crate) fn covers(&self, argv: &[Word], folders: &[PathBuf]) -> bool {
        let long_enough = match self.tail {
            Tail::Exact => argv.len() == self.words.len(),
            Tail::Open => argv.len() >= self.words.len(),
        };
        let same = |(pattern, word): (&PatternWord, &Word)| match pattern {
            PatternWord::Any => !word.glob,
            PatternWord::Literal(text) => !word.glob && *text == word.text,
        };
        let here = self.cwd.as_ref();
        long_enough
            && self.words.iter().zip(argv).all(same)
            && here.is_none_or(|cwd| folders.iter().all(|folder| folder == cwd))
    }

    /// The program it names.
    pub(crate) fn program(&self) -> &str {
        match &self.words[0] {
            PatternWord::Literal(name) => name,
            PatternWord::Any => "",
        }
    }

    /// Whether the command, whose program stands at `at`, could be one of those meant: by any
    /// path, with options anywhere.
    pub(crate) fn touches(&self, found: &Found, at: usize) -> bool {
        let args = found.argv().get(at + 1..).unwrap_or_default();
        match found.fit {
            Fit::Exact | Fit::Handed => self.follows(args),
            Fit::Loose => self.occurs(args),
        }
    }

    /// Whether the remaining words come in order, nothing but options and their values between.
    fn follows(&self, args: &[Piece]) -> bool {
        let git = matches!(&self.words[0], PatternWord::Literal(name) if name == "git");
        let mut at = 0;
        for word in &self.words[1..] {
            let PatternWord::Literal(text) = word else {
                continue;
            };
            if text.starts_with('-') && text.len() > 1 {
                if !has_option(args, text) {
                    return false;
                }
                continue;
            }
            let mut after_option = false;
            loop {
                let Some(arg) = args.get(at) else {
                    return false;
                };
                at += 1;
                if means(arg, text) {
                    break;
                }
                let is_option = arg.text.starts_with(['-', '+']) || arg.dynamic;
                if !is_option && !after_option {
                    return false;
                }
                let complete =
                    arg.text.contains('=') || (git && GIT_FLAGS.contains(&arg.text.as_str()));
                after_option = is_option && !complete;
            }
        }
        true
    }

    /// Whether the remaining words come in order, with anything between them.
    fn occurs(&self, args: &[Piece]) -> bool {
        let mut at = 0;
        self.words[1..].iter().all(|word| {
            let PatternWord::Literal(text) = word else {
                return true;
            };
            if text.starts_with('-') && text.len() > 1 {
                return has_option(args, text);
            }
            match args[at..].iter().position(|arg| means(arg, text)) {
                Some(found) => {
                    at += found + 1;
                    true
                }
                None => false,
            }
        })
    }
}

impl std::fmt::Display for CommandPattern {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words: Vec<String> = self
            .words
            .iter()
            .map(|word| match word {
                PatternWord::Literal(text) => quote(text),
                PatternWord::Any => String::from("*"),
            })
            .collect();
        formatter.write_str(&words.join(" "))?;
        match self.tail {
            Tail::Exact => Ok(()),
            Tail::Open => formatter.write_str(":*"),
        }
    }
}

fn means(arg: &Piece, text: &str) -> bool {
    arg.text == text || (arg.glob && meet((&arg.text, Reading::Shell), (text, Reading::Literal)))
}

/// What letters of options usually stand for, where deny rules are concerned.
const SPELLED: &[(char, &[&str])] = &[
    ('r', &["recursive"]),
    ('R', &["recursive"]),
    ('f', &["force", "file"]),
    ('d', &["delete", "directory", "data"]),
    ('D', &["delete"]),
    ('i', &["in-place", "interactive"]),
    ('a', &["all", "archive"]),
    ('p', &["parents", "preserve", "patch"]),
    ('c', &["command", "create", "config"]),
    ('e', &["execute", "expression", "eval"]),
    ('u', &["user", "upload", "set-upstream"]),
    ('o', &["output"]),
    ('O', &["remote-name"]),
    ('T', &["upload-file"]),
    ('X', &["request"]),
    ('F', &["form"]),
    ('k', &["insecure"]),
    ('L', &["location", "dereference"]),
    ('g', &["global"]),
    ('m', &["message", "mode"]),
    ('y', &["yes"]),
    ('v', &["verbose", "volume"]),
    ('n', &["no-verify", "dry-run", "name"]),
    ('x', &["extract"]),
    ('s', &["symbolic", "signal", "silent"]),
];

/// Whether an option is among the arguments: alone, in a cluster, shortened, spelled out, or with a
/// value.
fn has_option(args: &[Piece], option: &str) -> bool {
    if let Some(long) = option.strip_prefix("--") {
        let long = long.split('=').next().unwrap_or(long);
        let letters = SPELLED.iter().filter(|(_, names)| names.contains(&long));
        return has_long(args, long) || letters.into_iter().any(|it| has_letter(args, it.0));
    }
    option[1..].chars().all(|letter| {
        let names = SPELLED.iter().filter(|(known, _)| *known == letter);
        has_letter(args, letter)
            || names.flat_map(|(_, names)| *names).any(|long| has_long(args, long))
    })
}

fn has_long(args: &[Piece], long: &str) -> bool {
    args.iter().any(|arg| {
        let given = arg.text.strip_prefix("--").unwrap_or_default();
        let given = given.split('=').next().unwrap_or(given);
        given.len() >= 3.min(long.len()) && long.starts_with(given)
    })
}

fn has_letter(args: &[Piece], letter: char) -> bool {
    args.iter().any(|arg| {
        arg.text.starts_with('-') && !arg.text.starts_with("--") && arg.text.contains(letter)
    })
}

/// Splits a rule's text at spaces, honoring quotes. Also says which words are quoted.
fn split(text: &str) -> Result<Vec<(String, bool)>, Obstacle> {
    let mut words: Vec<(String, bool)> = Vec::new();
    let mut word: Option<(String, bool)> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' | '"' => {
                let remainder = rest.as_str();
                let Some(end) = remainder.find(c) else {
                    return Err(Obstacle::new("a quote is not closed"));
                };
                let (text, quoted) = word.get_or_insert_default();
                text.push_str(&remainder[..end]);
                *quoted = true;
                rest = remainder[end + 1..].chars();
            }
            c => word.get_or_insert_default().0.push(c),
        }
    }
    words.extend(word);
    Ok(words)
}
