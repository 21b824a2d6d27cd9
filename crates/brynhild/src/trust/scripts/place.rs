//! Whether the word of a command that names a program, a script or a folder tells which files are meant,
//! and these are covered. What is not shown to be so is not.

use std::collections::{BTreeMap, BTreeSet};

use super::shell::{Command, Kind, More, Piece, Script, Setting, Word};

/// Variables that lead to the project or its plugins without being set in a text.
const SURE: [&str; 5] =
    ["PWD", "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "BRYNHILD_CWD", "BRYNHILD_PLUGIN_PATH"];
/// Variables that hold the name of the script.
const ITSELF: [&str; 2] = ["0", "BASH_SOURCE"];
/// What sets the variables that follow.
pub(super) const DECLARES: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];
/// What sets variables to values that do not stand there.
const SETS: [&str; 5] = ["read", "printf", "mapfile", "readarray", "getopts"];
/// What writes the files that it is given, so that these are not what was there.
#[rustfmt::skip]
const WRITES: [&str; 14] = [
    "awk", "base64", "curl", "find", "gawk", "git", "iconv", "mawk", "sed", "sort", "tee", "uniq", "wget", "xxd",
];
/// How often values are put in place of variables.
const ROUNDS: usize = 8;
/// Endings of names that are looked at one by one.
const MOST_ENDINGS: usize = 64;

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Value {
    folder: Option<Folder>,
    /// Whether it is a script for a shell that is covered.
    is_file: bool,
    /// Whether it is a part of a path that leads nowhere else.
    is_part: bool,
    is_number: bool,
}

/// A folder that is looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Folder {
    /// The project's, or that of the script, or one above it.
    Own,
    /// One that the text names from there.
    Named,
}

impl Value {
    const NONE: Self = Self { folder: None, is_file: false, is_part: false, is_number: false };
    const NUMBER: Self = Self { is_part: true, is_number: true, ..Self::NONE };
    const ANY: Self =
        Self { folder: Some(Folder::Own), is_file: true, is_part: true, is_number: true };

    /// What is known where it may be either.
    fn or(self, other: Self) -> Self {
        Self {
            folder: self.folder.zip(other.folder).map(|(one, other)| one.max(other)),
            is_file: self.is_file && other.is_file,
            is_part: self.is_part && other.is_part,
            is_number: self.is_number && other.is_number,
        }
    }
}

/// What the commands of a text make of names.
#[derive(Debug)]
pub(super) struct Known<'a> {
    script: &'a Script,
    /// The names of files that are looked for.
    covered: &'a BTreeSet<String>,
    values: BTreeMap<String, Value>,
    /// The last parts of the names of files that the text writes itself.
    written: BTreeSet<String>,
    /// How others of these end.
    endings: BTreeSet<String>,
    /// Whether words are split in another way than by blanks.
    is_split: bool,
    /// Variables whose elements have names.
    keyed: BTreeSet<String>,
}

impl<'a> Known<'a> {
    pub(super) fn of(script: &'a Script, covered: &'a BTreeSet<String>) -> Self {
        let set = settings(script);
        let is_split = script.commands.iter().any(|command| {
            let is_set = command.settings.iter().any(|it| it.name == "IFS");
            is_set && !command.words.first().is_some_and(|it| is(it, "read"))
        });
        let (written, endings) = written(script);
        let mut known = Self {
            script,
            covered,
            values: set.iter().map(|(name, _)| (name.clone(), Value::ANY)).collect(),
            written,
            endings,
            is_split,
            keyed: keyed(script),
        };
        // A value may depend on others: what is not so in the end is left out step by step.
        for _ in 0..ROUNDS {
            let mut values: BTreeMap<String, Value> = BTreeMap::new();
            for (name, value) in &set {
                let found = value.as_ref().map_or(Value::NONE, |value| known.value(value));
                let before = values.get(name).copied().unwrap_or(Value::ANY);
                values.insert(name.clone(), before.or(found));
            }
            for name in &script.counted {
                let before = values.get(name).copied().unwrap_or(Value::ANY);
                values.insert(name.clone(), before.or(Value::NUMBER));
            }
            if values == known.values {
                return known;
            }
            known.values = values;
        }
        known.values.values_mut().for_each(|value| *value = Value::NONE);
        known
    }

    fn value(&self, word: &Word) -> Value {
        let text = word.literal();
        let is_part = |text: &String| {
            !text.is_empty()
                && !text.contains(['/', '$', '`'])
                && ![".", ".."].contains(&text.as_str())
        };
        let name = text.clone().or_else(|| word.pattern()).unwrap_or_default();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        Value {
            folder: self.folder(word),
            is_file: ["bash", "ksh", "sh", "zsh"].contains(&ending)
                && self.is_file(word, Folder::Own),
            is_part: text.as_ref().is_some_and(is_part),
            is_number: self.is_number(word),
        }
    }

    fn variable(&self, name: &str) -> Value {
        self.values.get(name).copied().unwrap_or_else(|| {
            let folder = SURE.contains(&name).then_some(Folder::Own);
            let is_number =
                ["#", "?", "$", "!", "SECONDS", "RANDOM", "LINENO", "EUID", "UID"].contains(&name);
            Value { folder, is_number, ..Value::NONE }
        })
    }

    /// Whether the value of a word is a number, or nothing.
    pub(super) fn is_number(&self, word: &Word) -> bool {
        let is_digits = |text: &str| {
            let bare = text.strip_prefix('-').unwrap_or(text);
            bare.bytes().all(|byte| byte.is_ascii_digit())
        };
        word.pieces.iter().all(|piece| match piece {
            Piece::Text { text, .. } => is_digits(text),
            Piece::Variable { more: More::Length, .. } => true,
            Piece::Variable { name, more: More::Nothing, .. } => self.variable(name).is_number,
            Piece::Sum(words) => words.iter().all(|word| self.is_number(word)),
            Piece::Commands { range, .. } => {
                let [command] = &self.script.commands[range.clone()] else { return false };
                counts(command)
            }
            Piece::Variable { .. } | Piece::List(_) | Piece::Spelled => false,
        })
    }

    /// Whether the sums in a word run nothing, and the names of elements are none.
    pub(super) fn is_safe(&self, word: &Word) -> bool {
        word.pieces.iter().all(|piece| match piece {
            Piece::Sum(words) => words.iter().all(|word| self.is_number(word)),
            Piece::List(words) => words.iter().all(|word| self.is_safe(word)),
            Piece::Variable { name, more: More::Element(element), .. } => {
                let bare = element.trim_start_matches(['$', '-']);
                let is_sign = ["@", "*"].contains(&element.as_str());
                is_sign
                    || self.keyed.contains(name)
                    || bare.bytes().all(|byte| byte.is_ascii_digit())
                    || self.variable(bare).is_number
            }
            Piece::Variable { .. }
            | Piece::Text { .. }
            | Piece::Commands { .. }
            | Piece::Spelled => true,
        })
    }

    /// Whether a word is every element of a list that the text makes.
    pub(super) fn is_all(&self, word: &Word) -> bool {
        matches!(word.filled().as_slice(), [Piece::Variable { name, more: More::Element(_), .. }]
            if self.values.contains_key(name))
    }

    /// Whether a word is what stands there or is one word in quotes, and not several.
    pub(super) fn is_one(&self, word: &Word) -> bool {
        word.pieces.iter().all(|piece| match piece {
            Piece::Text { .. } | Piece::Sum(_) => true,
            Piece::Variable { name, is_quoted, .. } => {
                *is_quoted || self.variable(name) != Value::NONE
            }
            Piece::Commands { is_quoted, .. } => *is_quoted,
            Piece::List(_) | Piece::Spelled => false,
        })
    }

    /// The folder that a word leads to, where the names in it are looked at.
    pub(super) fn folder(&self, word: &Word) -> Option<Folder> {
        let (start, rest) = self.split(word)?;
        let path = rest.literal()?;
        match start {
            Some(folder) if path.is_empty() => Some(folder),
            Some(_) if !path.starts_with('/') => None,
            None if path.is_empty() || path.starts_with('-') || is_elsewhere(&path) => None,
            _ => {
                let names: Vec<&str> =
                    path.split('/').filter(|it| !["", "."].contains(it)).collect();
                let above = names.iter().take_while(|name| **name == "..").count();
                let is_below = above < names.len();
                let is_own = start.unwrap_or(Folder::Own) == Folder::Own;
                if names[above..].contains(&"..") || (above > 0 && start.is_none()) {
                    return None;
                }
                match (is_own, is_below) {
                    (true, false) if !path.starts_with('/') || start.is_some() => Some(Folder::Own),
                    (true, true) if self.is_covered(&path, start) => Some(Folder::Named),
                    (false, false) if above == 0 => start,
                    _ => None,
                }
            }
        }
    }

    /// Whether the files that a word could name are covered, where the shell is in such a folder.
    pub(super) fn is_file(&self, word: &Word, place: Folder) -> bool {
        if let [Piece::Variable { name, more: More::Nothing, is_quoted }] = word.filled().as_slice()
        {
            return self.variable(name).is_file && (*is_quoted || !self.is_split);
        }
        let Some((start, rest)) = self.split(word) else { return false };
        let is_moved = start == Some(Folder::Named) && place == Folder::Named;
        let Some(path) = rest.literal().or_else(|| rest.pattern()).or_else(|| self.opened(&rest))
        else {
            return false;
        };
        let is_behind = start.is_none() || path.starts_with('/');
        let mut names =
            path.split('/').filter(|it| !["", "."].contains(it)).skip_while(|it| *it == "..");
        let Some(first) = names.next() else { return false };
        let leads_back = names.any(|it| it == "..");
        let is_plain = rest.literal().is_some();
        let is_open = path.contains('\u{1}');
        let is_pattern = !is_plain && !is_open;
        let bare = path.trim_start_matches(if start.is_some() { "/" } else { "" });
        is_behind
            && !is_moved
            && !leads_back
            && (start.is_some() || !is_elsewhere(&path))
            && !self.is_written(last(&path))
            && (is_plain || start != Some(Folder::Named))
            && (!is_pattern || is_coverable(bare))
            && (!is_open || !first.contains('\u{1}') || start.is_some())
            && self.is_covered(&path, start)
    }

    /// Whether a file of this name may be one that the text has just written.
    fn is_written(&self, name: &str) -> bool {
        self.written.contains(name)
            || self.endings.len() > MOST_ENDINGS
            || self.endings.iter().any(|it| it.ends_with(name) || name.ends_with(it.as_str()))
    }

    /// Whether a word is no option.
    pub(super) fn is_operand(&self, word: &Word) -> bool {
        match (word.literal(), word.filled().first()) {
            (Some(text), _) => !text.starts_with('-'),
            (None, Some(Piece::Text { text, .. })) => !text.starts_with('-'),
            (None, _) => self.split(word).is_some_and(|(start, _)| start.is_some()),
        }
    }

    /// A path with parts that are not known, each as one sign, where these lead nowhere else.
    fn opened(&self, word: &Word) -> Option<String> {
        let mut path = String::new();
        for piece in &word.pieces {
            match piece {
                Piece::Text { text, is_quoted } => {
                    let is_open = !is_quoted && text.contains(['*', '?', '[', '{', '~']);
                    path.push_str(Some(text.as_str()).filter(|_| !is_open)?);
                }
                Piece::Variable { name, more: More::Nothing, is_quoted } => {
                    let is_whole = *is_quoted || !self.is_split;
                    path.push(Some('\u{1}').filter(|_| is_whole && self.variable(name).is_part)?);
                }
                Piece::Variable { .. }
                | Piece::Commands { .. }
                | Piece::Sum(_)
                | Piece::List(_)
                | Piece::Spelled => {
                    return None;
                }
            }
        }
        Some(path)
    }

    /// Whether the search looks for a path, behind such a folder.
    fn is_covered(&self, path: &str, start: Option<Folder>) -> bool {
        let path = if start.is_some() { path.trim_start_matches('/') } else { path };
        match path.split_once('\u{1}') {
            None => {
                let bare = path.trim_end_matches('/');
                [path, bare].iter().any(|it| self.covered.contains(*it))
                    || self.covered.contains(&format!("{bare}/"))
            }
            Some((known, _)) => {
                let mut names = self.covered.range(known.to_owned()..);
                let is_open = |it: &String| it[known.len()..].starts_with('$');
                names.by_ref().take_while(|it| it.starts_with(known)).any(is_open)
            }
        }
    }

    /// The folder at the start of a word, if that is no text, and what follows it.
    fn split(&self, word: &Word) -> Option<(Option<Folder>, Word)> {
        let pieces = word.filled();
        let (first, rest) = pieces.split_first()?;
        let rest = Word::from(rest.iter().map(|piece| (*piece).clone()).collect::<Vec<_>>());
        match first {
            Piece::Text { .. } => Some((None, word.clone())),
            Piece::Variable { name, more, is_quoted } => {
                let folder = match more {
                    More::Nothing => self.variable(name).folder,
                    More::Changed(change) if change == "%/*" && ITSELF.contains(&name.as_str()) => {
                        Some(Folder::Own)
                    }
                    More::Changed(_) | More::Element(_) | More::Length => None,
                };
                let folder = folder.filter(|_| *is_quoted || !self.is_split)?;
                Some((Some(folder), rest))
            }
            Piece::Commands { range, is_quoted } => {
                let folder =
                    self.printed(range.clone()).filter(|_| *is_quoted || !self.is_split)?;
                Some((Some(folder), rest))
            }
            Piece::Sum(_) | Piece::List(_) | Piece::Spelled => None,
        }
    }

    /// The folder whose path these commands print.
    fn printed(&self, range: std::ops::Range<usize>) -> Option<Folder> {
        let inner: BTreeSet<usize> = self.script.commands[range.clone()]
            .iter()
            .flat_map(|command| &command.words)
            .flat_map(|word| &word.pieces)
            .filter_map(|piece| match piece {
                Piece::Commands { range, .. } => Some(range.clone()),
                Piece::Text { .. }
                | Piece::Variable { .. }
                | Piece::Sum(_)
                | Piece::List(_)
                | Piece::Spelled => None,
            })
            .flatten()
            .collect();
        let (mut gone, mut printed) = (Folder::Own, None::<Folder>);
        for number in range.filter(|number| !inner.contains(number)) {
            let command = &self.script.commands[number];
            let is_plain = command.kind == Kind::Simple
                && command.settings.is_empty()
                && command.fed.is_none();
            if !is_plain || (printed.is_some() && !command.is_otherwise) {
                return None;
            }
            let (program, args) = command.words.split_first()?;
            let args = without_options(args);
            let found = match (program.literal()?.as_str(), args.as_slice()) {
                ("cd", [to]) if gone == Folder::Own => {
                    gone = self.folder(to)?;
                    continue;
                }
                ("pwd", []) => gone,
                ("dirname", [of]) if self.is_itself(of) || self.folder(of) == Some(Folder::Own) => {
                    Folder::Own
                }
                ("readlink" | "realpath", [of]) => self.folder(of)?,
                ("git", [one, two]) if is(one, "rev-parse") && is(two, "--show-toplevel") => {
                    Folder::Own
                }
                _ => return None,
            };
            printed = Some(printed.map_or(found, |it| it.max(found)));
        }
        printed
    }

    /// Whether a word is the name of the script.
    fn is_itself(&self, word: &Word) -> bool {
        match word.filled().as_slice() {
            [Piece::Variable { name, more, .. }] => {
                let is_plain = match more {
                    More::Nothing => true,
                    More::Element(element) => element == "0",
                    More::Changed(change) => change == ":-$0",
                    More::Length => false,
                };
                is_plain && ITSELF.contains(&name.as_str()) && !self.values.contains_key(name)
            }
            [Piece::Commands { range, .. }] => {
                let Some(last) = range.clone().next_back() else { return false };
                let command = &self.script.commands[last];
                let Some((program, args)) = command.words.split_first() else { return false };
                let resolves = is(program, "readlink") || is(program, "realpath");
                let is_alone = range.len() == 1 && command.settings.is_empty();
                matches!(without_options(args).as_slice(), [of] if self.is_itself(of))
                    && resolves
                    && is_alone
            }
            _ => false,
        }
    }
}

/// Whether a word is this one.
pub(super) fn is(word: &Word, text: &str) -> bool {
    word.literal().as_deref() == Some(text)
}

fn without_options(args: &[Word]) -> Vec<&Word> {
    let is_option =
        |it: &&Word| !["--", "-P", "-L", "-f", "-e", "-m"].iter().any(|option| is(it, option));
    args.iter().filter(is_option).collect()
}

/// Whether a command prints nothing but a number.
fn counts(command: &Command) -> bool {
    const COUNTING: [&str; 9] =
        ["date +%s", "id -g", "id -u", "nproc", "wc", "wc -c", "wc -l", "wc -m", "wc -w"];
    let words: Option<Vec<String>> = command.words.iter().map(Word::literal).collect();
    let is_one = command.kind == Kind::Simple && command.settings.is_empty();
    is_one && words.is_some_and(|words| COUNTING.contains(&words.join(" ").as_str()))
}

/// Every variable that a text sets, with its value where it is known.
fn settings(script: &Script) -> Vec<(String, Option<Word>)> {
    let mut found = Vec::new();
    for command in &script.commands {
        let program = command.words.first().and_then(Word::literal).unwrap_or_default();
        let mut set = |setting: Setting| {
            let value = Some(setting.value).filter(|_| !setting.is_added);
            found.push((setting.name, value));
        };
        command.settings.iter().cloned().for_each(&mut set);
        command.words.iter().filter_map(Word::setting).for_each(&mut set);
        if command.kind == Kind::Loop {
            let words = command.words[1..].iter().map(|word| (program.clone(), Some(word.clone())));
            found.extend(words);
            if command.words.len() == 1 {
                found.push((program.clone(), None));
            }
        }
        if SETS.contains(&program.as_str()) {
            let names = command.words.iter().skip(1).filter_map(Word::literal);
            found.extend(names.map(|name| (name, None)));
        }
        let all = command.words.iter().chain(&command.targets).chain(&command.inputs);
        let values = command.settings.iter().map(|setting| &setting.value);
        for (name, more) in all.chain(values).flat_map(Word::variables) {
            // A default may be set where a variable is used.
            if matches!(more, More::Changed(it) if it.starts_with('=') || it.starts_with(":=")) {
                found.push((name.to_owned(), None));
            }
        }
    }
    found
}

/// The last parts of the names of files that a text writes, and how others of these end.
fn written(script: &Script) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut names, mut endings, mut is_open) = (BTreeSet::new(), BTreeSet::new(), false);
    for command in &script.commands {
        let program = command.words.first().and_then(Word::literal).unwrap_or_default();
        let args = command.words.iter().filter(|_| WRITES.contains(&program.as_str()));
        for word in command.targets.iter().chain(args) {
            match (word.literal(), word.filled().last()) {
                // It may be the value of an option that it is joined to.
                (Some(text), _) if text.starts_with('-') => drop(endings.insert(text)),
                (Some(text), _) => drop(names.insert(last(&text).to_owned())),
                (None, Some(Piece::Text { text, .. })) => {
                    is_open = true;
                    endings.insert(last(text).to_owned());
                }
                (None, _) => is_open = true,
            }
        }
    }
    // One that is not known may be any that stands there.
    if is_open {
        let values = settings(script).into_iter().filter_map(|(_, value)| value?.literal());
        names.extend(values.map(|value| last(&value).to_owned()));
    }
    endings.remove("");
    (names, endings)
}

/// The lists that a text declares to have names for their elements.
fn keyed(script: &Script) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for command in &script.commands {
        let [program, option, names @ ..] = command.words.as_slice() else { continue };
        let declares = program.literal().is_some_and(|it| DECLARES.contains(&it.as_str()));
        if declares && is(option, "-A") {
            let set = names.iter().filter_map(Word::setting).map(|it| it.name);
            found.extend(set.chain(names.iter().filter_map(Word::literal)));
        }
    }
    found
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether the files that fit a pattern are looked for: not all that there is in several folders.
pub(super) fn is_coverable(pattern: &str) -> bool {
    if pattern.contains(['[', '{', '$', '~', '\\']) || pattern.starts_with('/') {
        return false;
    }
    let (folders, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
    let has_start = !name.starts_with(['*', '?']);
    let is_open = |name: &str| name.contains(['*', '?']);
    has_start || (!["", "."].contains(&folders) && !is_open(folders))
}

/// Whether a path leads elsewhere, or to the project by another way than its own.
fn is_elsewhere(path: &str) -> bool {
    let others = ["/proc", "/dev", "/tmp", "/var", "/run", "//"];
    let leads_back = path.starts_with('/') && path.contains("/..");
    path.contains("://") || leads_back || others.iter().any(|other| path.starts_with(other))
}
