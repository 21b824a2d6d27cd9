//! The shapes of commands that are not told of: a program that runs nothing of the project, or one covered file, by
//! its path or behind the name of an interpreter. Values are not followed, so that a variable in the place of a
//! program, a script or a folder is told of.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::rc::Rc;

use policy::script::{self, Command, Kind as Of, Piece, Word};

use super::super::written::targets;
use super::super::{Entry, Kind};
use super::languages::{Language, interpreter};
use super::programs::{is_double_test, is_name, name, runs_nothing, takes_options};
use super::variables::{could_load, is_plain, loads};
use super::written::{is_elsewhere, name_unless_loaded, said};
use super::{By, Facts, Lines, Place, Weight};

/// Variables that hold the project's folder, and that of a plugin.
const PROJECT: [&str; 2] = ["CLAUDE_PROJECT_DIR", "PWD"];
const PLUGIN: [&str; 3] = ["CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT", "BRYNHILD_PLUGIN_PATH"];
/// Names in capitals that neither a shell nor what starts one sets.
const OWN: [&str; 7] = ["BASEDIR", "BASE_DIR", "DIR", "HERE", "ROOT", "SCRIPTDIR", "SCRIPT_DIR"];
/// How a script says which folder it lies in.
const HERE: [&str; 2] = ["$(dirname \"$0\")", "$(cd \"$(dirname \"$0\")\" && pwd)"];

/// Names of functions that are usual, and no programs.
#[rustfmt::skip]
const FUNCTIONS: [&str; 21] = [
    "allow", "approve", "ask", "block", "cleanup", "debug", "deny", "die", "err", "error", "fail", "info", "log", "main",
    "msg", "note", "pass", "say", "usage", "warn", "warning",
];
/// What a text may be kept for by `trap`.
const SIGNALS: [&str; 11] = ["EXIT", "ERR", "HUP", "INT", "QUIT", "TERM", "0", "1", "2", "3", "15"];
/// What prints nothing but a number, of what it reads.
const COUNTS: [[&str; 2]; 4] = [["date", "+%s"], ["wc", "-c"], ["wc", "-l"], ["wc", "-w"]];
/// Words of a shell that start no program by themselves.
#[rustfmt::skip]
const FORMS: [&str; 16] = [
    "[", "[[", "alias", "cd", "declare", "export", "getopts", "local", "printf", "pushd", "read", "readonly", "set", "shift",
    "test", "unset",
];
/// Pieces of a text that are gone through where it is not understood as a whole.
const MOST_PARTS: usize = 8;

/// Where a text stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// Its file, from the root.
    pub(super) path: &'a str,
    /// The folder that it is started in, if that is not the project's.
    pub(super) folder: Option<&'a str>,
    /// Whether nothing but Bash reads it.
    pub(super) is_bash: bool,
    /// Whether it is the text of a script.
    pub(super) is_script: bool,
}

/// What is certain where a command stands.
#[derive(Clone, Debug, Default)]
struct Known<'a> {
    /// Variables that hold the folder of the script.
    folders: Vec<&'a str>,
    functions: Vec<&'a str>,
    /// Variables that were set to a number.
    numbers: Vec<&'a str>,
    /// Variables that hold the path of a file with a name of chance.
    temporary: Vec<&'a str>,
}

/// The commands of texts, by the hash of these: most are asked for more than once.
pub(super) type Parsed = RefCell<HashMap<blake3::Hash, Rc<Result<Vec<Command>, usize>>>>;

pub(super) struct Shapes<'a> {
    place: Place<'a>,
    parsed: &'a Parsed,
    covered: BTreeSet<&'a str>,
    /// Those of them that count because something leads to them.
    scripts: BTreeSet<&'a str>,
    /// Links, which are never read through, but may be written through.
    links: BTreeSet<&'a str>,
    /// Names of files in scripts of other languages than a shell's.
    said: BTreeSet<String>,
    /// What was known before.
    pub(super) facts: &'a Facts,
    next: Facts,
}

impl<'a> Shapes<'a> {
    pub(super) fn new(
        place: Place<'a>,
        entries: &'a [Entry],
        (facts, parsed): (&'a Facts, &'a Parsed),
    ) -> Self {
        let files = entries.iter().filter(|entry| entry.part.kind == Kind::File);
        let path = |entry: &'a Entry| entry.part.path.as_str();
        let covered = files.clone().map(path).collect();
        let scripts = files.clone().filter(|entry| entry.part.is_named).map(path).collect();
        let links =
            entries.iter().filter(|entry| entry.part.kind == Kind::Link).map(path).collect();
        let said = said(files);
        Self { place, parsed, covered, scripts, links, said, facts, next: Facts::default() }
    }

    pub(super) fn into_facts(self) -> Facts {
        self.next
    }

    /// The path of a hook's script, where that is not covered.
    pub(super) fn in_file(&mut self, line: &Line<'_>, path: &str) -> Option<String> {
        let bare = path.strip_prefix("./").unwrap_or(path);
        let found: Vec<String> = [parent(line.path), ""]
            .iter()
            .filter_map(|folder| self.beneath(folder, bare))
            .chain(self.in_project(path))
            .collect();
        let is_covered = !found.is_empty();
        for path in found {
            self.runs(path, By::Script);
        }
        (!is_covered).then(|| path.to_owned())
    }

    /// Other files than this one that are covered as scripts.
    pub(super) fn others(&self, path: &str) -> BTreeSet<&'a str> {
        self.scripts.iter().copied().filter(|it| *it != path).collect()
    }

    /// The commands of a text for a shell that have none of the shapes.
    pub(super) fn in_shell(&mut self, line: &Line<'_>, text: &str) -> Lines {
        let mut found = Lines::new();
        let mut rest = text;
        // What is not understood makes all of it told of; the rest is gone through for what to name.
        for _ in 0..MOST_PARTS {
            found.extend(self.in_commands(line, rest, &Known::default()));
            let Err(at) = *self.read(rest) else { break };
            let (before, odd, after) = around(rest, at);
            found.extend(self.in_commands(line, before, &Known::default()));
            found.push((Weight::Form, odd.to_owned()));
            rest = after;
        }
        found
    }

    fn read(&self, text: &str) -> Rc<Result<Vec<Command>, usize>> {
        let mut parsed = self.parsed.borrow_mut();
        let key = blake3::hash(text.as_bytes());
        Rc::clone(parsed.entry(key).or_insert_with(|| Rc::new(script::read(text))))
    }

    /// The same of a text that is understood, where `known` is said before it.
    fn in_commands(&mut self, line: &Line<'_>, text: &str, known: &Known<'_>) -> Lines {
        let read = self.read(text);
        let Ok(commands) = read.as_ref() else { return Lines::new() };
        let numbers = numbers(commands, text);
        for command in commands {
            for (name, value) in &command.settings {
                let count = usize::from(numbers.contains(&value.range.start));
                *self.next.numbers.entry(name.clone()).or_default() += count;
                if matches!(value.pieces.first(), Some(Piece::Text(text)) if text.starts_with('-'))
                {
                    self.next.options.insert(name.clone());
                }
            }
            for name in command.settings.iter().map(|(name, _)| name.as_str()).chain(set(command)) {
                *self.next.settings.entry(name.to_owned()).or_default() += 1;
            }
        }
        let here: Vec<&Command> =
            commands.iter().filter(|it| self.is_here(line, it, text)).collect();
        let is_in_here = |command: &Command| {
            here.iter()
                .any(|it| it.range.start < command.range.start && command.range.end <= it.range.end)
        };
        // All are looked at, since each may say what is run.
        let mut found = Lines::new();
        for command in commands.iter().filter(|it| !is_in_here(it)) {
            let before = commands
                .iter()
                .filter(|it| it.is_own && it.range.end <= command.range.start)
                .collect::<Vec<_>>();
            let folders = before.iter().filter(|it| here.iter().any(|here| here.range == it.range));
            let alone = before.iter().filter(|it| it.words.is_empty());
            let functions = before.iter().filter(|it| it.kind == Of::Function);
            let mut known = known.clone();
            known.folders.extend(folders.map(|it| it.settings[0].0.as_str()));
            known.functions.extend(functions.filter_map(|it| it.words.first()?.literal()));
            for (name, value) in alone.flat_map(|it| &it.settings) {
                let said = text[value.range.clone()].trim_matches('"');
                let is_number = numbers.contains(&value.range.start);
                known.numbers.extend(is_number.then_some(name.as_str()));
                let is_temporary = said == "$(mktemp)" && self.facts.settings.get(name) == Some(&1);
                known.temporary.extend(is_temporary.then_some(name.as_str()));
            }
            if !self.is_silent(line, &known, command) {
                let first = text[command.range.clone()].lines().next().unwrap_or_default();
                found.push((weight(command), first.to_owned()));
            }
        }
        found
    }

    /// Whether a command sets a variable, which nothing else sets, to the folder of its script, and does so
    /// whatever comes before it.
    fn is_here(&self, line: &Line<'_>, command: &Command, text: &str) -> bool {
        let [(name, value)] = command.settings.as_slice() else { return false };
        let value = text[value.range.clone()].trim_matches('"');
        let by_bash = value.replace("${BASH_SOURCE[0]}", "$0");
        let is_sourced = by_bash == value && self.facts.is_run(line.path, By::Sourced);
        let is_alone = command.words.is_empty() && command.is_own;
        let is_small = name.starts_with(|c: char| c.is_ascii_lowercase())
            && !name.contains(|c: char| c.is_ascii_uppercase());
        line.is_script
            && is_alone
            && !is_sourced
            && (is_small || OWN.contains(&name.as_str()))
            && HERE.contains(&by_bash.as_str())
            && self.facts.settings.get(name) == Some(&1)
    }

    fn is_silent(&mut self, line: &Line<'_>, known: &Known<'_>, command: &Command) -> bool {
        let program = command.words.first().and_then(Word::literal);
        let is_given = |name: &str| {
            (loads(name) || could_load(name)) && (name != "IFS" || program != Some("read"))
        };
        let settings = command.settings.iter();
        let mut names = settings
            .filter(|(name, value)| !is_plain(name, value.literal()))
            .map(|(name, _)| name.as_str());
        let is_set = match (command.words.is_empty(), program) {
            (true, _) => names.all(|name| !loads(name)),
            (false, Some("export")) => names.next().is_none(),
            (false, Some("local")) => names.all(|name| !loads(name)),
            (false, _) => !names.any(is_given),
        };
        if !is_set || !targets(command).iter().all(|it| self.is_target(known, it)) {
            return false;
        }
        match command.kind {
            Of::Group => true,
            Of::Function => program.is_some_and(is_function),
            Of::Sum => command.words.iter().all(|it| self.is_summed(known, it)),
            Of::Loop => program.is_some_and(|name| !loads(name)),
            Of::Test => match command.words.as_slice() {
                [open, test @ .., _] if open.literal() == Some("[[") => {
                    is_double_test(test, line.is_bash)
                }
                [open, test @ ..] => runs_nothing(open.literal().unwrap_or_default(), test),
                [] => false,
            },
            Of::Simple => command.words.is_empty() || self.is_run_known(line, known, command),
        }
    }

    /// Whether a variable holds a number for certain: the text of another would be worked out, and so may run
    /// something.
    fn is_summed(&self, known: &Known<'_>, name: &Word) -> bool {
        let Some(name) = name.literal() else { return false };
        let (settings, numbers) = (self.facts.settings.get(name), self.facts.numbers.get(name));
        known.numbers.contains(&name) && settings == numbers && !loads(name)
    }

    /// Whether `trap` is given a text of these shapes for the end of the script.
    fn is_trap(&mut self, line: &Line<'_>, known: &Known<'_>, args: &[Word]) -> bool {
        let [text, signals @ ..] = args else { return false };
        let is_signal = |it: &Word| it.literal().is_some_and(|it| SIGNALS.contains(&it));
        let Some(text) = text.literal().filter(|_| signals.iter().all(is_signal)) else {
            return false;
        };
        let is_read = self.read(text).is_ok();
        text == "-" || is_read && self.in_commands(line, text, known).is_empty()
    }

    /// Whether a file that is written is none of those that are run or could be loaded.
    fn is_target(&self, known: &Known<'_>, word: &Word) -> bool {
        let is_temporary = match word.pieces.as_slice() {
            [Piece::Variable(name)] => known.temporary.contains(&name.as_str()),
            _ => false,
        };
        // What is covered is loaded or run by something, whatever its ending.
        let is_unrun = |name: &str| {
            let ran = self.facts.ran.keys().map(String::as_str);
            let covered = self.scripts.iter().chain(&self.links).copied();
            let mut names = ran.chain(covered).filter_map(|it| it.rsplit('/').next());
            !names.any(|it| it.eq_ignore_ascii_case(name))
        };
        let name = name_unless_loaded(word, &self.said);
        is_temporary || is_elsewhere(word, self.place) || name.is_some_and(is_unrun)
    }

    /// Whether the words are a program that runs nothing, or one file that is covered.
    fn is_run_known(&mut self, line: &Line<'_>, known: &Known<'_>, command: &Command) -> bool {
        let Command { words, settings, .. } = command;
        let [program, args @ ..] = words.as_slice() else { return true };
        let by = match program.literal().map(name) {
            Some("tee") => return true,
            Some("trap") => return self.is_trap(line, known, args),
            Some(name) if known.functions.contains(&name) => return is_function(name),
            // Names in words, which are put together elsewhere, would be set without a look at them.
            Some("export") => return args.is_empty(),
            Some("local") => return is_local(args, settings),
            Some("cd") => {
                return is_project(args) && line.folder.is_none() && self.place != Place::Folder;
            }
            Some("." | "source") => By::Sourced,
            Some("bash") => By::Bash,
            Some(name) => match interpreter(name) {
                Some(Language::Shell) => By::Shell,
                Some(language) => By::Interpreter(language),
                None if name.contains('/') => By::Itself,
                None => return runs_nothing(name, args) && !self.hides_options(name, args),
            },
            None => By::Itself,
        };
        let file = if by == By::Itself { Some(program) } else { args.first() };
        // A shell looks for a name without a folder elsewhere first.
        let is_name =
            |it: &&Word| by == By::Sourced && it.literal().is_some_and(|it| !it.contains('/'));
        let Some(file) = file.filter(|it| !is_name(it)) else { return false };
        let found = self.files(line, &known.folders, file);
        let is_covered = !found.is_empty();
        for path in found {
            self.runs(path, by);
        }
        is_covered
    }

    /// Whether a program may be given an option by a variable.
    fn hides_options(&self, name: &str, args: &[Word]) -> bool {
        let is_option = |word: &Word| match word.pieces.first() {
            Some(Piece::Variable(name)) => self.facts.options.contains(name),
            _ => false,
        };
        takes_options(name) && args.iter().any(is_option)
    }

    fn runs(&mut self, path: String, by: By) {
        self.next.ran.entry(path).or_default().insert(by);
    }

    /// The covered files that a word names.
    fn files(&self, line: &Line<'_>, folders: &[&str], word: &Word) -> Vec<String> {
        let started = line.folder.unwrap_or_default();
        let is_project = self.place != Place::Folder;
        let found = match word.pieces.as_slice() {
            [Piece::Text(path)] if is_project => {
                // A hook's own folder comes first.
                let own =
                    path.strip_prefix("./").filter(|_| !line.is_script && line.folder.is_none());
                let own = own.and_then(|it| self.beneath(parent(line.path), it));
                vec![own, self.beneath(started, path), self.in_project(path)]
            }
            [Piece::Variable(name) | Piece::Bare(name), Piece::Text(path)] => {
                let Some(rest) = path.strip_prefix('/') else { return Vec::new() };
                match name.as_str() {
                    "PWD" if is_project => vec![self.beneath(started, rest)],
                    name if PROJECT.contains(&name) && is_project => vec![self.beneath("", rest)],
                    name if PLUGIN.contains(&name) => {
                        let above = Path::new(line.path).ancestors().skip(1);
                        above.map(|it| self.beneath(&it.to_string_lossy(), rest)).collect()
                    }
                    name if folders.contains(&name) => vec![self.beneath(parent(line.path), rest)],
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        };
        found.into_iter().flatten().collect()
    }

    /// The covered file of this path in a folder. It may begin with steps upwards.
    fn beneath(&self, folder: &str, path: &str) -> Option<String> {
        let mut names: Vec<&str> = folder.split('/').filter(|it| !["", "."].contains(it)).collect();
        let mut rest = path.strip_prefix("./").unwrap_or(path);
        while let Some(after) = rest.strip_prefix("../") {
            names.pop()?;
            rest = after;
        }
        names.extend(rest.split('/'));
        let is_plain =
            !rest.split('/').any(|it| ["", ".", ".."].contains(&it)) && !rest.starts_with('-');
        let path = names.join("/");
        (is_plain && self.covered.contains(path.as_str())).then_some(path)
    }

    /// The covered file of a path that begins with the project's own.
    fn in_project(&self, path: &str) -> Option<String> {
        let Place::Project(root) = self.place else { return None };
        let rest = Path::new(path).strip_prefix(root).ok().filter(|_| path.starts_with('/'))?;
        self.beneath("", rest.to_str()?)
    }
}

/// A text in which something is not understood: what stands before that line, it, and what follows.
fn around(text: &str, at: usize) -> (&str, &str, &str) {
    let at = text.floor_char_boundary(at);
    let start = text[..at].rfind('\n').map_or(0, |it| it + 1);
    let (before, rest) = text.split_at(start);
    let blank = rest.len() - rest.trim_start().len();
    let (line, after) = rest[blank..].split_once('\n').unwrap_or((&rest[blank..], ""));
    (before, line, after)
}

/// How much a command says of what is run.
fn weight(command: &Command) -> Weight {
    let program = command.words.first().and_then(Word::literal);
    let is_form = command.kind != Of::Simple
        || command.words.is_empty()
        || program.is_some_and(|it| FORMS.contains(&it));
    if is_form { Weight::Form } else { Weight::Runs }
}

/// Whether a function of this name hides no program, and no word of a shell.
fn is_function(name: &str) -> bool {
    let is_plain =
        name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_');
    FUNCTIONS.contains(&name) || is_plain && name.contains('_')
}

fn is_digits(text: &str) -> bool {
    (1..=15).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit())
}

/// Where the values begin that are numbers for certain.
fn numbers(commands: &[Command], text: &str) -> BTreeSet<usize> {
    let values = commands.iter().enumerate().flat_map(|(at, command)| {
        command.settings.iter().map(move |(_, value)| (&commands[..at], value))
    });
    let numbers = values.filter(|(before, value)| is_number(before, value, text));
    numbers.map(|(_, value)| value.range.start).collect()
}

/// Whether a value is a number, or nothing but a sum or a count. The commands in it are the last of those `before`.
fn is_number(before: &[Command], value: &Word, text: &str) -> bool {
    let said = text[value.range.clone()].trim_matches('"');
    let is_one = value.pieces.len() == 1 && said.ends_with(')');
    let is_sum = is_one && said.starts_with("$((") && said.ends_with("))");
    // What is written plainly is left to no reading of quotes, and nothing else comes into what is counted.
    let is_plain = said.starts_with("$(") && !said.contains(['\\', '\'', '"', '&']);
    let is_made = is_one && is_plain && is_count(before, value);
    is_sum || is_made || value.literal().is_some_and(is_digits)
}

/// Whether of the commands in a value only the last prints what it becomes, and that nothing but a number.
fn is_count(before: &[Command], value: &Word) -> bool {
    let near = before.iter().enumerate().rev();
    let mut inner = near
        .take_while(|(_, it)| it.range.start > value.range.start)
        .filter(|(_, it)| it.range.end < value.range.end && it.kind != Of::Group);
    let Some((at, last)) = inner.next() else { return false };
    let words: Vec<Option<&str>> = last.words.iter().map(Word::literal).collect();
    let is_known = COUNTS.iter().any(|it| words == it.map(Some));
    let is_read = |command: &Command| command.readers.iter().any(|it| it.contains(&at));
    last.kind == Of::Simple
        && last.settings.is_empty()
        && is_known
        && inner.all(|(_, it)| it.kind == Of::Simple && is_read(it))
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Whether `local` is given nothing but names and values that stay one word to every shell.
fn is_local(names: &[Word], settings: &[(String, Word)]) -> bool {
    let is_plain = |it: &Word| it.literal().is_some_and(|it| is_name(it) && !loads(it));
    names.iter().all(is_plain) && settings.iter().all(|(_, value)| value.is_one())
}

/// Whether `cd` is told to stay in the project's folder.
fn is_project(args: &[Word]) -> bool {
    matches!(args, [word] if word.pieces == [Piece::Variable("CLAUDE_PROJECT_DIR".to_owned())])
}

/// The variables that a command sets by its words.
fn set(command: &Command) -> impl Iterator<Item = &str> {
    let texts: Vec<&str> = command.words.iter().filter_map(Word::literal).collect();
    let sets = command.kind == Of::Loop || texts.first() == Some(&"read");
    texts.into_iter().filter(move |_| sets)
}
