//! Patterns for commands: words, and whether more may follow.

use std::collections::HashSet;

use crate::braces;
use crate::glob::{Reading, meet};
use crate::shell::{Word, base_name, is_interpreter, wrappers};
use crate::word_list::listed;

/// The words of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandPattern {
    words: Vec<PatternWord>,
    tail: Tail,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternWord {
    Literal(String),
    Any,
    /// A word with wildcards, braces or bars. Deny and ask rules match every word that it could
    /// mean; an allow rule matches its text.
    Like {
        text: String,
        readings: Vec<String>,
    },
}

/// The words that may follow those of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// None.
    Exact,
    /// Any.
    Open,
}

/// The answer of a deny or ask rule about a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Match {
    /// The command is another one.
    No,
    /// It depends on a word that only the running shell knows.
    Maybe,
    /// The rule means it.
    Yes,
}

/// Options of git, before its subcommand, that take no value.
const GIT_FLAGS: &str = "--no-pager -p -P --paginate --bare --no-replace-objects --literal-pathspecs \
    --no-optional-locks --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-lazy-fetch \
    --no-advice";

impl CommandPattern {
    /// Reads `git status`, `git status:*`, `git status *` or `git * x`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (text, mut tail) = match text.strip_suffix(":*") {
            Some(rest) => (rest, Tail::Open),
            None => (text, Tail::Exact),
        };
        let mut words: Vec<PatternWord> = split(text)?
            .into_iter()
            .map(|(text, quoted)| match text.as_str() {
                _ if quoted => PatternWord::Literal(text),
                "*" => PatternWord::Any,
                _ => PatternWord::unquoted(text),
            })
            .collect();
        if words.len() > 1 && words.last() == Some(&PatternWord::Any) {
            words.pop();
            tail = Tail::Open;
        }
        if matches!(words.last(), Some(PatternWord::Like { text, .. }) if text.ends_with('*')) {
            tail = Tail::Open;
        }
        match words.first() {
            Some(PatternWord::Literal(name)) if !name.is_empty() => Ok(Self { words, tail }),
            Some(PatternWord::Like { .. }) => Ok(Self { words, tail }),
            Some(PatternWord::Literal(_) | PatternWord::Any) | None => {
                Err(String::from("it names no program"))
            }
        }
    }

    /// Reads a list entry such as `git push`: the words, and anything after them.
    pub(crate) fn parse_prefix(text: &str) -> Result<Self, String> {
        Self::parse(text).map(|pattern| Self { tail: Tail::Open, ..pattern })
    }

    /// A pattern of exactly these words.
    pub(crate) fn of(words: &[&str], tail: Tail) -> Self {
        let words = words.iter().map(|word| PatternWord::Literal((*word).to_owned()));
        Self { words: words.collect(), tail }
    }

    /// The number of words it spells out.
    pub(crate) fn length(&self) -> usize {
        self.words.len()
    }

    /// A word with a wildcard in it, which an allow rule does not expand.
    pub(crate) fn globbed_word(&self) -> Option<&str> {
        let word = self.words.iter().find(|word| matches!(word, PatternWord::Like { .. }));
        word.map(PatternWord::text)
    }

    /// Returns true if nothing may follow its words.
    pub(crate) fn is_exact(&self) -> bool {
        self.tail == Tail::Exact
    }

    /// Its words as a command, as far as they are literal.
    pub(crate) fn as_command(&self) -> Vec<Word> {
        self.words.iter().map(|word| Word::literal(word.text())).collect()
    }

    /// Returns true if an allow rule spells out this command.
    pub(crate) fn covers(&self, argv: &[Word]) -> bool {
        let long_enough = match self.tail {
            Tail::Exact => argv.len() == self.words.len(),
            Tail::Open => argv.len() >= self.words.len(),
        };
        let same = |(pattern, word): (&PatternWord, &Word)| match pattern {
            PatternWord::Any => word.known().is_some(),
            PatternWord::Literal(text) | PatternWord::Like { text, .. } => {
                word.known() == Some(text)
            }
        };
        long_enough && self.words.iter().zip(argv).all(same)
    }

    /// Returns true if it covers whatever a shell, an interpreter or a wrapper is given.
    pub(crate) fn is_boundless(&self) -> bool {
        let name = base_name(self.program());
        let says_what = self.words.iter().skip(1).any(|word| !word.text().starts_with(['-', '*']));
        let runs_any = is_interpreter(name)
            || wrappers::find(name).is_some()
            || ["eval", "source", ".", "rm", "git"].contains(&name);
        matches!(self.words[0], PatternWord::Like { .. })
            || (self.tail == Tail::Open && runs_any && !says_what)
    }

    /// The program it names.
    pub(crate) fn program(&self) -> &str {
        self.words[0].text()
    }

    /// Answers whether a deny or ask rule means this command: the program by any path, options
    /// anywhere.
    pub(crate) fn matches(&self, command: &[Word]) -> Match {
        let Some((program, args)) = command.split_first() else { return Match::No };
        let name = base_name(&program.text);
        let sub = name.strip_prefix("git-").filter(|_| self.program() == "git");
        let fits = match sub {
            // `git-push` is another spelling of `git push`.
            Some(sub) => self.words.get(1).is_none_or(|word| word.means(sub)) && !program.dynamic,
            None => program.known().is_some() && self.names(name),
        };
        if !fits {
            return Match::No;
        }
        let skipped = if sub.is_some() { 2.min(self.words.len()) } else { 1 };
        self.follows(&self.words[skipped..], args)
    }

    fn names(&self, program: &str) -> bool {
        base_name(self.program()) == program || self.words[0].means(program)
    }

    /// Returns true if text that was not parsed has all its words.
    pub(crate) fn is_in(&self, words: &HashSet<String>) -> bool {
        self.words.iter().all(|word| match word {
            PatternWord::Any => true,
            PatternWord::Literal(text) => words.contains(base_name(text)),
            PatternWord::Like { .. } => words.iter().any(|it| word.means(it)),
        })
    }

    /// Answers whether `wanted` come in order, with nothing but options and their values between.
    fn follows(&self, wanted: &[PatternWord], args: &[Word]) -> Match {
        let git = self.program() == "git";
        let mut at = 0;
        for word in wanted.iter().filter(|word| **word != PatternWord::Any) {
            if let Some(option) = word.option() {
                if !has_option(self.program(), args, option) {
                    return Match::No;
                }
                continue;
            }
            let mut after_option = false;
            loop {
                let Some(arg) = args.get(at) else {
                    return Match::No;
                };
                at += 1;
                if arg.known().is_some_and(|arg| word.means(arg)) {
                    break;
                }
                let is_option = arg.text.starts_with(['-', '+']);
                if !is_option && !after_option {
                    return if arg.known().is_none() { Match::Maybe } else { Match::No };
                }
                let complete = arg.text.contains('=') || (git && listed(GIT_FLAGS, &arg.text));
                after_option = is_option && !complete;
            }
        }
        Match::Yes
    }
}

impl std::fmt::Display for CommandPattern {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words: Vec<String> = self
            .words
            .iter()
            .map(|word| match word {
                PatternWord::Literal(text) => formats::shell::quote(text),
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
    /// A word that is not quoted.
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

    /// Returns true if a deny or ask rule means this word.
    fn means(&self, word: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Literal(text) => text == word,
            Self::Like { text, readings } => {
                let fits =
                    |pattern: &String| meet((pattern, Reading::Shell), (word, Reading::Literal));
                text == word || readings.iter().any(fits)
            }
        }
    }
}

/// Programs that read `-r` and `-R` as one option.
const EITHER_CASE: &[&str] = &["rm", "cp", "grep", "egrep", "fgrep", "zgrep", "zip", "grm", "gcp"];

/// The long names that letters of options usually stand for, for deny and ask rules.
const SPELLED: &str = "r:recursive R:recursive f:force,file d:delete,directory,data D:delete \
    i:in-place,interactive a:all,archive p:parents,preserve,patch c:command,create,config \
    e:execute,expression,eval u:user,upload,set-upstream o:output O:remote-name T:upload-file \
    X:request F:form k:insecure L:location,dereference g:global m:message,mode y:yes \
    v:verbose,volume n:no-verify,dry-run,name x:extract s:symbolic,signal,silent";

/// The letters of [`SPELLED`] with their names.
fn spelled() -> impl Iterator<Item = (char, &'static str)> {
    SPELLED.split(' ').filter_map(|entry| entry.split_once(':')).flat_map(|(letter, names)| {
        names.split(',').filter_map(move |name| Some((letter.chars().next()?, name)))
    })
}

/// Returns true if an option is among the arguments: alone, in a cluster, shortened, spelled out,
/// or with a value.
fn has_option(program: &str, args: &[Word], option: &str) -> bool {
    if let Some(long) = option.strip_prefix("--") {
        let long = long.split('=').next().unwrap_or(long);
        let mut letters = spelled().filter(|(_, name)| *name == long);
        return has_long(args, long) || letters.any(|(letter, _)| has_letter(args, letter));
    }
    let either = EITHER_CASE.contains(&base_name(program));
    option[1..].chars().all(|letter| {
        let mut names = spelled().filter(|(known, _)| *known == letter);
        has_letter(args, letter)
            || (either
                && matches!(letter, 'r' | 'R')
                && "rR".chars().any(|it| has_letter(args, it)))
            || names.any(|(_, long)| has_long(args, long))
    })
}

fn has_long(args: &[Word], long: &str) -> bool {
    args.iter().any(|arg| {
        let given = arg.text.strip_prefix("--").unwrap_or_default();
        let given = given.split('=').next().unwrap_or(given);
        given.len() >= 3.min(long.len()) && long.starts_with(given)
    })
}

fn has_letter(args: &[Word], letter: char) -> bool {
    args.iter().any(|arg| {
        arg.text.starts_with('-') && !arg.text.starts_with("--") && arg.text.contains(letter)
    })
}

/// Splits a rule's text at spaces; the flag is true for quoted words.
fn split(text: &str) -> Result<Vec<(String, bool)>, String> {
    let mut words: Vec<(String, bool)> = Vec::new();
    let mut word: Option<(String, bool)> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' | '"' => {
                let remainder = rest.as_str();
                let Some(end) = remainder.find(c) else {
                    return Err(String::from("a quote is not closed"));
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
