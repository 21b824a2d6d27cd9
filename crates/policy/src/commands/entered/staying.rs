//! A proof that a text which is understood stays in the folder that it runs in: programs that are known, and words
//! that are what they say. A path that leads upwards as it stands is left to those who look at paths.

use super::handed::is_handed;
use super::programs::{self, reads_files, runs_file};
use crate::script::{Command, Kind, Piece, Word};

/// Variables that a shell sets by itself to a path, or to what was said before; `*` stands for any ending.
#[rustfmt::skip]
const SHELL: &[&str] = &[
    "_", "OLDPWD", "DIRSTACK", "CDPATH", "REPLY", "MAPFILE", "COPROC", "OPTARG", "FUNCNAME", "IFS", "BASH*", "COMP*", "READLINE*",
    "HIST*", "PS*", "PROMPT*",
];

/// Signs that stand for numbers.
const NUMBERS: &[&str] = &["?", "#", "$", "!"];

/// Variables that change nothing but how much is said.
#[rustfmt::skip]
const SETTINGS: &[&str] = &[
    "CI", "DEBUG", "FORCE_COLOR", "LANG", "LC_ALL", "NODE_ENV", "NO_COLOR", "RUST_BACKTRACE", "RUST_LOG", "TZ",
];

/// What prints a single name without dots, or nothing.
#[rustfmt::skip]
const PRINTING: &[&str] = &[
    "nproc", "git rev-parse HEAD", "git rev-parse --short HEAD", "uname", "uname -m", "uname -s",
];

/// What a shell puts in for a variable, and for a pattern: neither stands in a text that is understood.
const HOLE: char = '\u{0}';
const WILD: char = '\u{1}';

/// Whether a variable changes nothing but how much is said.
pub(super) fn is_setting(name: &str) -> bool {
    SETTINGS.contains(&name)
}

/// Whether all `commands` of `text` stay where they are, before which these variables were set.
pub(super) fn stays(text: &str, commands: &[Command], set: &[&str]) -> bool {
    let staying = Staying { text, commands, set };
    (0..commands.len()).all(|number| staying.is_proven(number))
}

struct Staying<'a> {
    text: &'a str,
    commands: &'a [Command],
    /// Variables that are set to what is not looked at here.
    set: &'a [&'a str],
}

impl Staying<'_> {
    fn is_proven(&self, number: usize) -> bool {
        let command = &self.commands[number];
        let by = command.words.first().and_then(Word::literal).unwrap_or_default();
        let is_put = |it: &Command| {
            let words: Option<Vec<&str>> = it.words.iter().map(Word::literal).collect();
            words.is_some_and(|words| {
                PRINTING.contains(&words.join(" ").as_str()) || is_date(&words)
            })
        };
        let is_known = match command.kind {
            Kind::Simple if command.is_in_word => is_put(command),
            Kind::Simple => {
                command.words.is_empty()
                    || (programs::is_known(&command.words)
                        && !(runs_file(by) && self.is_fed(number)))
                    || is_handed(self.text, self.commands, number)
            }
            Kind::Test => command.words.iter().all(is_compared),
            Kind::Loop => is_loop(command),
            Kind::Group | Kind::Sum => !command.is_in_word,
            Kind::Function => false,
        };
        let is_set = |(name, value): &(String, Word)| is_setting(name) && is_plain(value);
        let mut words = command.words.iter().chain(&command.inputs).chain(&command.targets);
        is_known
            && !self.begins_with_redirection(command)
            && command.settings.iter().all(is_set)
            && words.all(|word| self.is_word(word, by))
    }

    /// Whether a command reads what another one prints.
    fn is_fed(&self, number: usize) -> bool {
        let feeds = |it: &Command| it.readers.iter().any(|readers| readers.contains(&number));
        self.commands.iter().any(feeds)
    }

    fn begins_with_redirection(&self, command: &Command) -> bool {
        let text = &self.text[command.range.clone()];
        text.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['<', '>', '&'])
    }

    /// Whether a word of the program `by` is what it says, or cannot become the folder above.
    fn is_word(&self, word: &Word, by: &str) -> bool {
        let said = &self.text[word.range.clone()];
        let is_home = said.starts_with('~') && !said.starts_with("~/");
        if is_home || said.contains("=~") || said.contains(":~") {
            return false;
        }
        let is_known = |piece: &Piece| match piece {
            Piece::Text(_) | Piece::Other => true,
            // A sum, or a command, which is looked at by itself; but nothing is known of a value that is changed.
            Piece::Variable(name) | Piece::Bare(name) if name.is_empty() => !said.contains("${"),
            Piece::Variable(name) => self.is_variable(name),
            Piece::Bare(name) => {
                self.is_variable(name) && (!self.is_split(name) || reads_files(by))
            }
        };
        word.pieces.iter().all(is_known) && stays_below(&shape(word))
    }

    /// Whether a variable was set before the text began, or goes over plain words.
    fn is_variable(&self, name: &str) -> bool {
        let is_own =
            |it: &&str| it.strip_suffix('*').map_or(*it == name, |it| name.starts_with(it));
        let is_set = |it: &Command| it.settings.iter().any(|(it, _)| it == name);
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let is_given = is_name && !SHELL.iter().any(is_own);
        let is_known = self.set.contains(&name) || self.commands.iter().any(is_set);
        NUMBERS.contains(&name) || (is_given && !is_known)
    }

    /// Whether a variable goes over names that nobody has seen, and which may hold blanks.
    fn is_split(&self, name: &str) -> bool {
        let sets = |it: &Command| it.words.first().and_then(Word::literal) == Some(name);
        let mut loops = self.commands.iter().filter(|it| it.kind == Kind::Loop && sets(it));
        loops.any(|it| !it.inputs.iter().all(is_plain))
    }
}

/// Whether words print a date, of numbers and of what stands between them.
fn is_date(words: &[&str]) -> bool {
    let ["date", format] = words else { return false };
    let is_between = |c: char| c.is_ascii_alphanumeric() || "_-:".contains(c);
    format.strip_prefix('+').is_some_and(|format| {
        let mut parts = format.split('%');
        parts.next().is_some_and(|first| first.chars().all(is_between))
            && parts.all(|part| {
                part.starts_with(|c| "YmdHMSsFTjy".contains(c)) && part.chars().all(is_between)
            })
    })
}

/// Whether a word is one name, or one path that does not lead upwards, whatever a shell does with it.
fn is_plain(word: &Word) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || "_./+@%=:,-".contains(c);
    word.literal().is_some_and(|it| !it.contains("..") && it.chars().all(is_letter))
}

/// Whether a word of a test is only compared: the text of a sum may run something.
fn is_compared(word: &Word) -> bool {
    !shape(word).contains(['$', '`'])
}

/// Whether a loop sets a variable of the text's own to plain names.
fn is_loop(command: &Command) -> bool {
    let is_own = |it: &str| {
        it.starts_with(|c: char| c.is_ascii_lowercase())
            && !it.contains(|c: char| c.is_ascii_uppercase())
    };
    let name = command.words.first().and_then(Word::literal);
    let mut over = command.inputs.iter();
    name.is_some_and(is_own) && over.len() > 0 && over.all(is_gone_over)
}

/// Whether a loop goes over a plain name, or over names which stay below even if they are split at blanks.
fn is_gone_over(word: &Word) -> bool {
    let shape = shape(word);
    let is_pattern = shape.contains(WILD) && !shape.contains(['/', HOLE]);
    is_plain(word) || (is_pattern && !shape.contains(char::is_whitespace))
}

/// A word with marks for what a shell puts in.
fn shape(word: &Word) -> String {
    let pieces = word.pieces.iter().map(|piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Variable(_) | Piece::Bare(_) => HOLE.to_string(),
        Piece::Other => WILD.to_string(),
    });
    pieces.collect()
}

/// Whether no part of a path becomes `..` by what a shell puts in, and none follows that.
fn stays_below(shape: &str) -> bool {
    let is_solid = |text: &str| text.contains(|c: char| c != '.');
    let is_part = |part: &str| match (part.contains(HOLE), part.split_once(WILD)) {
        (true, Some(_)) => false,
        (true, None) => {
            // Between two of them something must stand, and beside one of them no dot alone.
            let texts: Vec<&str> = part.split(HOLE).collect();
            let (ends, between) = ([texts[0], texts[texts.len() - 1]], &texts[1..texts.len() - 1]);
            ends.iter().all(|it| it.is_empty() || is_solid(it))
                && between.iter().all(|it| is_solid(it))
        }
        (false, Some((before, _))) => !before.starts_with('.') || is_solid(before),
        (false, None) => true,
    };
    let mut is_filled = false;
    shape.split('/').all(|part| {
        is_filled |= part.contains([HOLE, WILD]);
        is_part(part) && !(is_filled && part == "..")
    })
}
