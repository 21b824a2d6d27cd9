//! Patterns for commands: words, and whether more may follow.

use std::path::PathBuf;

use crate::glob::{Reading, meet};
use crate::shell::{Fit, Found, Obstacle, Piece, Word, base_name, braces, quote, wrappers};

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
    /// A word with wildcards, braces or bars: what deny and ask rules take for every word that it
    /// could mean. To an allow rule it is the text.
    Like {
        text: String,
        readings: Vec<String>,
    },
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
                _ if quoted => PatternWord::Literal(word),
                _ => PatternWord::unquoted(word),
            })
            .collect();
        if words.len() > 1 && words.last() == Some(&PatternWord::Any) {
            words.pop();
            tail = Tail::Open;
        }
        // `git push*` goes on in any way.
        if let Some(PatternWord::Like { text, .. }) = words.last()
            && text.ends_with('*')
        {
            tail = Tail::Open;
        }
        match words.first() {
            Some(PatternWord::Literal(name)) if name.is_empty() => {
                Err(Obstacle::new("it names no program"))
            }
            Some(PatternWord::Literal(_) | PatternWord::Like { .. }) => {
                Ok(Self { words, tail, cwd: None })
            }
            Some(PatternWord::Any) | None => Err(Obstacle::new("it names no program")),
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

    /// Whether it has the very word at this place of a command.
    pub(crate) fn spells(&self, at: usize) -> bool {
        self.words.get(at).is_some_and(|word| *word != PatternWord::Any)
    }

    /// Whether it spells out what a program is told to do, and not only how.
    pub(crate) fn has_subcommand(&self) -> bool {
        self.words.get(1).is_some_and(|word| *word != PatternWord::Any && word.option().is_none())
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
            PatternWord::Literal(text) | PatternWord::Like { text, .. } => {
                !word.glob && *text == word.text
            }
        };
        let here = self.cwd.as_ref();
        long_enough
            && self.words.iter().zip(argv).all(same)
            && here.is_none_or(|cwd| folders.iter().all(|folder| folder == cwd))
    }

    /// Whether it covers whatever a shell, an interpreter or a program that runs others is told.
    pub(crate) fn is_boundless(&self) -> bool {
        let name = base_name(self.program());
        let says_what = self.words.iter().skip(1).any(|word| match word {
            PatternWord::Literal(text) | PatternWord::Like { text, .. } => !text.starts_with('-'),
            PatternWord::Any => false,
        });
        let is_told =
            wrappers::is_shell(name) || wrappers::is_interpreter(name) || wrappers::launches(name);
        let is_wide = wrappers::find(name).is_some()
            || ["rm", "eval", "source", "."].contains(&name)
            || (name == "git" && self.length() == 1);
        let is_open = self.tail == Tail::Open && (is_wide || (is_told && !says_what));
        name.is_empty() || self.programs().is_some() || is_open
    }

    /// Whether a rule of it allows nothing: it names a program that runs another, and not that one.
    pub(crate) fn allows_nothing(&self) -> bool {
        let wrapper = wrappers::find(self.program());
        let is_bare = |wrapper: &wrappers::Wrapper| !wrapper.is_opaque() || self.length() == 1;
        self.tail == Tail::Open && wrapper.is_some_and(is_bare)
    }

    /// Whether it spells out a file of the project, which is another one in another folder.
    pub(crate) fn names_file(&self) -> bool {
        let texts = self.words.iter().filter_map(|word| match word {
            PatternWord::Literal(text) | PatternWord::Like { text, .. } => Some(text.as_str()),
            PatternWord::Any => None,
        });
        let mut texts = texts.filter(|text| !text.starts_with(['-', '/']));
        let name = self.program();
        let runs_file = wrappers::is_interpreter(base_name(name)) || wrappers::is_shell(name);
        let is_name = |text: &str| text == name && !text.contains('/');
        texts.any(|text| !is_name(text) && (runs_file || text.contains(['/', '.'])))
    }

    /// The program it names.
    pub(crate) fn program(&self) -> &str {
        match &self.words[0] {
            PatternWord::Literal(name) | PatternWord::Like { text: name, .. } => name,
            PatternWord::Any => "",
        }
    }

    /// The patterns for its program's name, where it does not name one alone.
    pub(crate) fn programs(&self) -> Option<&[String]> {
        match &self.words[0] {
            PatternWord::Like { readings, .. } => Some(readings),
            PatternWord::Literal(_) | PatternWord::Any => None,
        }
    }

    /// The pattern for a whole command, written with single spaces, where it has wildcards.
    pub(crate) fn whole(&self) -> Option<String> {
        let is_wild = |word: &PatternWord| matches!(word, PatternWord::Like { .. });
        if !self.words.iter().any(is_wild) {
            return None;
        }
        let mut text = self.words.iter().map(PatternWord::text).collect::<Vec<_>>().join(" ");
        if self.tail == Tail::Open && !text.ends_with('*') {
            text.push('*');
        }
        text.contains('*').then_some(text)
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

    /// Whether the words at `at` are those of a command that is meant. One word alone counts only as the
    /// first operand: elsewhere, as after an option, it is the name of something else more often.
    pub(crate) fn is_given_at(&self, args: &[Piece], at: usize) -> bool {
        let is_option = |word: &Piece| word.text.starts_with('-');
        let follows_option =
            |at: usize| at.checked_sub(1).is_some_and(|before| is_option(&args[before]));
        let is_first = || {
            let is_behind = at > 0 && args[at - 1].text == "--";
            let leads = |before: usize| is_option(&args[before]) || follows_option(before);
            (is_behind || !follows_option(at)) && (0..at).all(leads)
        };
        self.follows(&args[at + 1..]) && (self.length() > 1 || is_first())
    }

    /// Whether the remaining words come in order, nothing but options and their values between.
    fn follows(&self, args: &[Piece]) -> bool {
        let git = self.program() == "git";
        let mut at = 0;
        for word in self.words[1..].iter().filter(|word| **word != PatternWord::Any) {
            if let Some(option) = word.option() {
                if !has_option(self.program(), args, option) {
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
                if word.could_be(arg) || (git && word.is_done_by(arg)) {
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
        let mut words = self.words[1..].iter().filter(|word| **word != PatternWord::Any);
        words.all(|word| {
            if let Some(option) = word.option() {
                return has_option(self.program(), args, option);
            }
            match args[at..].iter().position(|arg| word.could_be(arg)) {
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
                PatternWord::Any | PatternWord::Like { .. } => word.text().to_owned(),
            })
            .collect();
        formatter.write_str(&words.join(" "))?;
        match self.tail {
            Tail::Exact => Ok(()),
            Tail::Open => formatter.write_str(":*"),
        }
    }
}

impl PatternWord {
    /// A word that is not quoted: a pattern where it could be meant as one.
    fn unquoted(text: String) -> Self {
        if !text.contains(['*', '?', '[', '{', '|']) {
            return Self::Literal(text);
        }
        let spelled = braces::expand(&text).into_iter();
        let readings =
            spelled.flat_map(|text| text.split('|').map(str::to_owned).collect::<Vec<_>>());
        let readings: Vec<String> = readings.filter(|text| !text.is_empty()).collect();
        Self::Like { text, readings }
    }

    fn text(&self) -> &str {
        match self {
            Self::Literal(text) | Self::Like { text, .. } => text,
            Self::Any => "*",
        }
    }

    /// The option that it is.
    fn option(&self) -> Option<&str> {
        let text = match self {
            Self::Literal(text) => text.as_str(),
            Self::Like { text, .. } => text.strip_suffix('*')?,
            Self::Any => return None,
        };
        let is_plain =
            !text.contains(['*', '?', '[', '{', '|']) || matches!(self, Self::Literal(_));
        (text.starts_with('-') && text.len() > 1 && is_plain).then_some(text)
    }

    /// Whether a subcommand of git does the same under another name.
    fn is_done_by(&self, arg: &Piece) -> bool {
        self.text() == "push" && matches!(arg.text.as_str(), "send-pack" | "http-push")
    }

    /// Whether an argument could be meant.
    fn could_be(&self, arg: &Piece) -> bool {
        let reading = if arg.glob { Reading::Shell } else { Reading::Literal };
        match self {
            Self::Any => true,
            Self::Literal(text) => {
                arg.text == *text
                    || (arg.glob && meet((&arg.text, reading), (text, Reading::Literal)))
            }
            Self::Like { text, readings } => {
                let fits = |pattern: &String| meet((pattern, Reading::Shell), (&arg.text, reading));
                arg.text == *text || readings.iter().any(fits)
            }
        }
    }
}

/// Programs to which `-r` and `-R` are the same.
const EITHER_CASE: &[&str] = &["rm", "cp", "grep", "egrep", "fgrep", "zgrep", "zip", "grm", "gcp"];

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
fn has_option(program: &str, args: &[Piece], option: &str) -> bool {
    if let Some(long) = option.strip_prefix("--") {
        let long = long.split('=').next().unwrap_or(long);
        let letters = SPELLED.iter().filter(|(_, names)| names.contains(&long));
        return has_long(args, long) || letters.into_iter().any(|it| has_letter(args, it.0));
    }
    let either = EITHER_CASE.contains(&base_name(program));
    option[1..].chars().all(|letter| {
        let names = SPELLED.iter().filter(|(known, _)| *known == letter);
        has_letter(args, letter)
            || (either
                && matches!(letter, 'r' | 'R')
                && "rR".chars().any(|it| has_letter(args, it)))
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
