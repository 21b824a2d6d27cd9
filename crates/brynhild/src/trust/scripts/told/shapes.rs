//! The shapes of commands that are not told of: a program that runs nothing of the project, or one covered file, by
//! its path or behind the name of an interpreter. Values are not followed, so that a variable in the place of a
//! program, a script or a folder is told of.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::rc::Rc;

use policy::script::{self, Command, Kind as Of, Piece, Word};

use super::super::{Entry, Kind};
use super::languages::{Language, interpreter};
use super::programs::{is_double_test, name, runs_nothing};
use super::variables::{could_load, is_plain, loads};
use super::written::{is_elsewhere, name_unless_loaded, said};
use super::{By, Facts, Place};

/// Variables that hold the project's folder, and that of a plugin.
const PROJECT: [&str; 2] = ["CLAUDE_PROJECT_DIR", "PWD"];
const PLUGIN: [&str; 3] = ["CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT", "BRYNHILD_PLUGIN_PATH"];
/// Names in capitals that neither a shell nor what starts one sets.
const OWN: [&str; 7] = ["BASEDIR", "BASE_DIR", "DIR", "HERE", "ROOT", "SCRIPTDIR", "SCRIPT_DIR"];
/// How a script says which folder it lies in.
const HERE: [&str; 2] = ["$(dirname \"$0\")", "$(cd \"$(dirname \"$0\")\" && pwd)"];

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

/// The commands of texts, by the hash of these: most are asked for more than once.
pub(super) type Parsed = RefCell<HashMap<blake3::Hash, Rc<Result<Vec<Command>, usize>>>>;

pub(super) struct Shapes<'a> {
    place: Place<'a>,
    parsed: &'a Parsed,
    covered: BTreeSet<&'a str>,
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
        let covered = files.clone().map(|entry| entry.part.path.as_str()).collect();
        let said = said(files);
        Self { place, parsed, covered, said, facts, next: Facts::default() }
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

    /// The first command of a text for a shell that has none of the shapes.
    pub(super) fn in_shell(&mut self, line: &Line<'_>, text: &str) -> Option<String> {
        let read = Rc::clone(
            self.parsed
                .borrow_mut()
                .entry(blake3::hash(text.as_bytes()))
                .or_insert_with(|| Rc::new(script::read(text))),
        );
        let commands = match read.as_ref() {
            Ok(commands) => commands,
            Err(at) => return Some(line_at(text, *at).to_owned()),
        };
        for command in commands {
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
        let mut found = None;
        for command in commands.iter().filter(|it| !is_in_here(it)) {
            let before = here.iter().filter(|it| it.range.end <= command.range.start);
            let folders: Vec<&str> = before.map(|it| it.settings[0].0.as_str()).collect();
            if !self.is_silent(line, &folders, command) && found.is_none() {
                found =
                    Some(text[command.range.clone()].lines().next().unwrap_or_default().to_owned());
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

    fn is_silent(&mut self, line: &Line<'_>, folders: &[&str], command: &Command) -> bool {
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
            (false, _) => !names.any(is_given),
        };
        let mut written: Vec<&Word> = command.targets.iter().collect();
        if program.map(name) == Some("tee") {
            written.extend(command.words[1..].iter().filter(|it| it.literal() != Some("-a")));
        }
        if !is_set || !written.iter().all(|it| self.is_target(it)) {
            return false;
        }
        match command.kind {
            Of::Group => true,
            Of::Loop => program.is_some_and(|name| !loads(name)),
            Of::Test => match command.words.as_slice() {
                [open, test @ .., _] if open.literal() == Some("[[") => {
                    is_double_test(test, line.is_bash)
                }
                [open, test @ ..] => runs_nothing(open.literal().unwrap_or_default(), test),
                [] => false,
            },
            Of::Simple => {
                command.words.is_empty() || self.is_run_known(line, folders, &command.words)
            }
        }
    }

    /// Whether a file that is written is none of those that are run or could be loaded.
    fn is_target(&self, word: &Word) -> bool {
        let is_unrun = |name: &str| {
            let mut ran = self.facts.ran.keys().filter_map(|it| it.rsplit('/').next());
            !ran.any(|it| it.eq_ignore_ascii_case(name))
        };
        is_elsewhere(word, self.place) || name_unless_loaded(word, &self.said).is_some_and(is_unrun)
    }

    /// Whether the words are a program that runs nothing, or one file that is covered.
    fn is_run_known(&mut self, line: &Line<'_>, folders: &[&str], words: &[Word]) -> bool {
        let [program, args @ ..] = words else { return true };
        let known = program.literal().map(name);
        let by = match known {
            Some("tee") => return true,
            // Names in words, which are put together elsewhere, would be set without a look at them.
            Some("export") => return args.is_empty(),
            Some("cd") => {
                return is_project(args) && line.folder.is_none() && self.place != Place::Folder;
            }
            Some("." | "source") => By::Sourced,
            Some("bash") => By::Bash,
            Some(name) => match interpreter(name) {
                Some(Language::Shell) => By::Shell,
                Some(language) => By::Interpreter(language),
                None if name.contains('/') => By::Itself,
                None => return runs_nothing(name, args),
            },
            None => By::Itself,
        };
        let file = if by == By::Itself { Some(program) } else { args.first() };
        // A shell looks for a name without a folder elsewhere first.
        let is_name =
            |it: &&Word| by == By::Sourced && it.literal().is_some_and(|it| !it.contains('/'));
        let Some(file) = file.filter(|it| !is_name(it)) else { return false };
        let found = self.files(line, folders, file);
        let is_covered = !found.is_empty();
        for path in found {
            self.runs(path, by);
        }
        is_covered
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

/// The line of a text that is not understood there.
fn line_at(text: &str, at: usize) -> &str {
    let at = text.floor_char_boundary(at);
    let start = text[..at].rfind('\n').map_or(0, |it| it + 1);
    text[start..].trim_start().lines().next().unwrap_or_default()
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
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
