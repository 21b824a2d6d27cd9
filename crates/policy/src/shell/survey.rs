//! Every command that a text could run, at any depth and any length: what deny rules and the floor
//! look at. It over-approximates, so nothing it misses may depend on its being right.

mod actions;
mod edits;
mod env;
mod fed;
mod flow;
mod folders;
mod listed;
mod loose;
mod made;
mod merge;
mod names;
mod pathspecs;
mod printing;
mod put;
mod reached;
mod runners;
mod sources;
mod spoken;
mod told;
mod untaken;
mod variables;
mod words;
mod written;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};

use super::constants::Constants;
use super::tolerant::{self, Piece, Segment, Target};
use super::wrappers::{self, Inner};
use super::{Grammar, braces, deceptive, raw};
use crate::paths::normalize;
use fed::texts_of;
use folders::Way;
pub(crate) use listed::LISTERS;
use names::Names;
pub(crate) use reached::reaches_interpreter;
use sources::Sources;
pub(crate) use spoken::Kind;
pub(crate) use told::NAME;
pub(crate) use untaken::untaken;
pub(crate) use variables::{names_program, sets_variables};
pub(crate) use words::{Reach, base_name, is_reserved, resolve};
use words::{is_start_file, program_index, stages};
use written::Scripts;

/// How deep shell text within shell text is followed; deeper text is read by its words.
pub(crate) const NESTING: usize = 8;
/// How many wrappers in a row are looked through one by one.
const WRAPPED: usize = 16;
/// Texts of more segments are expected to repeat some.
const FEW: usize = 8;
/// Segments with more words are not expected to come again.
const REPEATED: usize = 64;
/// So many words of a pipeline are kept for a command that takes them as arguments.
const GATHERED: usize = 64;
/// So many words are looked through for commands within commands, and one more for every two bytes: words
/// that are no wrappers are seen once, so that no ordinary text comes near.
const PATIENCE: usize = 8 * 1024;

/// How certain it is that a run of words is a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fit {
    /// The first word is the program.
    Exact,
    /// Any word may be the program.
    Loose,
    /// The first word is the program; which of the words after its own it gets is not known.
    Handed,
}

/// Whether a command runs the text on its standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listens {
    /// No.
    No,
    /// As a shell does.
    Shell,
    /// As a program in another language.
    Interpreter,
}

/// Segments that were seen already, with what became of them and whether a shell in them runs what a
/// substitution prints: long texts say the same again and again.
type Known = HashMap<Rc<Vec<Piece>>, (Listens, bool)>;

/// Which part of the text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Whole,
    Inner,
}

/// A command that the text could run.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    words: Rc<Vec<Piece>>,
    start: usize,
    end: usize,
    /// Where its program stands.
    pub(crate) fit: Fit,
    /// The folders it could run in.
    pub(crate) folders: Rc<[PathBuf]>,
    /// Whether it could run in a folder that is not known.
    pub(crate) adrift: bool,
    /// What its words are.
    pub(crate) kind: Kind,
}

impl Found {
    /// The program and its arguments.
    pub(crate) fn argv(&self) -> &[Piece] {
        &self.words[self.start..self.end]
    }

    /// Whether it only starts `other`, which is a part of its words.
    pub(crate) fn runs(&self, other: &Self) -> bool {
        self.ends_like(other) && self.start < other.start
    }

    /// What stands before the program in the same run of words: variables that are set for it.
    pub(crate) fn before(&self) -> &[Piece] {
        &self.words[..self.start]
    }

    /// Whether all words of `other` are among the last of this one, in the same folders.
    pub(crate) fn ends_like(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.words, &other.words)
            && self.end == other.end
            && self.start <= other.start
            && Rc::ptr_eq(&self.folders, &other.folders)
    }
}

/// A file that the text reads or writes by redirection.
#[derive(Clone, Debug)]
pub(crate) struct Redirection {
    /// The file.
    pub(crate) target: Target,
    /// The folders it is relative to.
    pub(crate) folders: Rc<[PathBuf]>,
}

/// All that a text could do.
pub(crate) struct Survey {
    /// Its commands.
    pub(crate) commands: Vec<Found>,
    /// Its redirections.
    pub(crate) redirections: Vec<Redirection>,
    folders: Rc<[PathBuf]>,
    home: Option<PathBuf>,
    adrift: bool,
    /// How `cd` follows a `..`, if it is not told.
    way: Way,
    reach: Reach,
    /// Words with wildcards that stand for no files.
    patterns: HashSet<String>,
    loose: bool,
    /// What the text is that is read next.
    part: Part,
    /// What the words are that are being read.
    kind: Kind,
    /// Whether something runs a file of shell text.
    runs_file: bool,
    /// Bytes that may yet be read as shell text within shell text.
    effort: usize,
    /// Words that may yet be looked through for commands within commands; none where they were not
    /// enough, so that what was left was read by its words alone.
    patience: Option<usize>,
    /// What variables are set to.
    constants: Constants,
    /// Variables of git that are set.
    pub(crate) assigned: HashSet<String>,
    /// What the text itself gives a meaning.
    names: Names,
    /// What `printf` prints, put together.
    printed: Vec<String>,
    /// Where text comes from that a shell runs.
    pub(crate) sources: Sources,
    /// What is written into files.
    scripts: Scripts,
    /// A program whose names of files were too many words to follow.
    pub(crate) overlong: Option<String>,
    /// Programs that are given names of files which stand in a file.
    pub(crate) told: HashSet<Vec<Piece>>,
}

/// Surveys `text`, run in `cwd` by a user whose home is `home`.
pub(crate) fn survey(
    text: &str,
    (cwd, home): (&Path, Option<&Path>),
    grammar: Grammar,
    reach: Reach,
) -> Survey {
    let wanted = reach == Reach::Sources;
    let mut survey = Survey {
        commands: Vec::new(),
        redirections: Vec::new(),
        folders: Rc::new([normalize(cwd)]),
        home: home.map(normalize),
        adrift: false,
        way: Way::default(),
        reach,
        patterns: HashSet::new(),
        part: Part::Whole,
        kind: Kind::Usual,
        runs_file: false,
        effort: 4 * text.len() + 4096,
        patience: Some(text.len() / 2 + PATIENCE),
        loose: grammar == Grammar::Broken || deceptive(text).is_some(),
        constants: Constants::default(),
        assigned: HashSet::new(),
        names: Names::of(text),
        printed: Vec::new(),
        sources: Sources::new(wanted),
        scripts: Scripts::default(),
        overlong: None,
        told: HashSet::new(),
    };
    if wanted {
        survey.sources.functions.clone_from(&survey.names.functions);
    }
    for (name, values) in names::arrays(text) {
        // What is added to an array becomes words of their own; the end of a substitution is not its.
        let values = values.split("$(").next().unwrap_or_default();
        survey.constants.set(name, &format!(" {values}"));
    }
    let is_misread = survey.loose;
    survey.script(text, 0);
    survey.functions_that_are_given(text);
    survey.with_constants(text);
    survey.made_by_others(text);
    if survey.scripts.edits_by_file {
        survey.run_by_script(text, 0);
    }
    survey.written_scripts();
    survey.sources.look_into(text);
    survey.sources.run_by(&survey.commands, survey.names.has_own_path);
    // What is run from a file may be what the same text has just written there.
    let is_doubted = survey.runs_file && reach != Reach::Here;
    let runs_written = || is_doubted || survey.runs_written_file();
    let is_copied = survey.copies_unknown();
    if survey.loose || is_copied || (survey.writes_file() && runs_written()) {
        survey.loosen(text);
    }
    // Of what may be read in another way nothing is certain.
    survey.patterns.retain(|_| !is_misread);
    survey.merge();
    survey
}

impl Survey {
    /// Adds the commands of shell text.
    fn script(&mut self, text: &str, depth: usize) {
        let part = std::mem::replace(&mut self.part, Part::Inner);
        if text.is_empty() {
            return;
        }
        if depth > NESTING || text.len() > self.effort {
            self.loose = true;
            self.words_of(contract::text::head(text, self.effort));
            self.effort = 0;
            return;
        }
        self.effort -= text.len();
        let scan = tolerant::scan(text);
        // A function or an alias may run what it is given.
        let is_plain = self.names.functions.is_empty() && !text.contains("alias");
        self.loose |= scan.torn || (scan.has_message && !is_plain);
        self.patterns.extend(scan.patterns.into_iter().filter(|_| !scan.torn));
        // A short text has little to say twice.
        let is_long = scan.segments.len() > FEW;
        let mut known = Known::new();
        let mut listening: HashMap<usize, Listens> = HashMap::new();
        let mut said: HashMap<usize, Vec<String>> = HashMap::new();
        let stages = stages(&scan.segments);
        let fed: HashMap<usize, &String> = scan.fed.iter().map(|(at, text)| (*at, text)).collect();
        // Quick to tell, since long texts have very many segments.
        if text.contains("read") || text.contains("mapfile") {
            self.read_by(&scan.segments, &fed, &stages);
        }
        let given = self.listed(&scan.segments);
        self.told_by_files(&scan.segments);
        let mut dropped = HashSet::new();
        let mut earlier: HashMap<usize, Vec<Piece>> = HashMap::new();
        let mut flow = self.sources.flow(&scan.segments, fed.keys().copied().collect());
        let apart = if part == Part::Whole && !scan.torn {
            spoken::only_said(&scan.segments, &stages, &self.names.functions)
        } else {
            HashSet::new()
        };
        for (at, segment) in scan.segments.into_iter().enumerate() {
            let pipeline = segment.pipeline;
            if stages[pipeline] > 1 || fed.contains_key(&pipeline) {
                let before = earlier.entry(pipeline).or_default();
                self.appended(&segment.words, before, (fed.get(&pipeline).copied(), depth));
                if before.len() + segment.words.len() <= GATHERED {
                    before.extend(segment.words.iter().cloned());
                } else {
                    dropped.insert(pipeline);
                }
                if dropped.contains(&pipeline) && names::gathers(&segment.words) {
                    self.overlong = Some(String::from("xargs"));
                }
            }
            // Only what has company in its pipeline can be fed to something.
            let texts = if stages[pipeline] > 1 { texts_of(&segment.words) } else { Vec::new() };
            self.note_written(&segment, fed.get(&pipeline).copied());
            let passed = self.sources.pass(&segment, &mut flow);
            // What the same words run may be what they are given.
            let is_apart = apart.contains(&at);
            let seen = is_long.then_some(&mut known);
            let seen = seen.filter(|_| !passed.is_given() && !is_apart);
            let around = self.sources.enter(&passed);
            let kind = if is_apart { Kind::Apart } else { Kind::Usual };
            let around_it = std::mem::replace(&mut self.kind, kind);
            let listens = self.segment(segment, depth, seen);
            self.kind = around_it;
            self.sources.leave(around);
            self.sources.settle(passed, listens == Listens::Shell);
            if listens == Listens::Interpreter {
                for text in said.remove(&pipeline).into_iter().flatten() {
                    self.words_of(&text);
                    self.words_of(&raw::unescaped(&text));
                }
            } else if listens == Listens::Shell {
                // Its words are looked at anyway, but not what it would run by them.
                for text in said.remove(&pipeline).into_iter().flatten() {
                    self.script(&text, depth + 1);
                }
            } else if !texts.is_empty() {
                said.entry(pipeline).or_default().extend(texts);
            }
            // Whatever comes before a shell in its pipeline may write text that it runs.
            self.loose |= listens == Listens::Shell;
            if listens != Listens::No {
                listening.insert(pipeline, listens);
            }
        }
        self.given_lists(given);
        self.fed(scan.fed, &listening, &flow, depth);
    }

    /// Adds programs that are given names of files by another one, in all folders that were gone to.
    fn given_lists(&mut self, given: Vec<Rc<Vec<Piece>>>) {
        for words in given {
            let program = words.first().filter(|_| words.len() > GATHERED);
            self.overlong = program.map(|it| it.text.clone()).or(self.overlong.take());
            if self.affords(2 * words.len()) {
                self.handed(&words);
            }
        }
    }

    /// Adds one segment, once for each set of folders; returns whether it runs what it is fed.
    fn segment(&mut self, segment: Segment, depth: usize, known: Option<&mut Known>) -> Listens {
        for target in segment.redirects {
            self.redirections.push(Redirection { target, folders: Rc::clone(&self.folders) });
        }
        // In quotes braces stand for themselves.
        let is_braced = segment.words.iter().any(|word| word.text.contains('{'));
        let as_written = is_braced.then(|| segment.words.clone());
        let words = Rc::new(if is_braced { self.expanded(segment.words) } else { segment.words });
        if let Some(as_written) = as_written.filter(|written| *written != *words) {
            self.run_of_words(&Rc::new(as_written), depth);
        }
        // Empty words are quicker to look at than to compare, and long runs are seldom repeated.
        let is_plain = words.first().is_some_and(|word| !word.text.is_empty());
        let Some(known) = known.filter(|_| is_plain && words.len() <= REPEATED) else {
            return self.run_of_words(&words, depth);
        };
        if let Some((listens, substituted)) = known.get(&words) {
            self.sources.substituted |= substituted;
            return *listens;
        }
        let (folders, adrift) = (Rc::clone(&self.folders), self.adrift);
        let listens = self.run_of_words(&words, depth);
        if Rc::ptr_eq(&folders, &self.folders) && adrift == self.adrift {
            known.insert(words, (listens, self.sources.substituted));
        } else {
            known.clear();
        }
        listens
    }

    /// Adds what the words of a segment could run; returns whether that runs what it is fed.
    fn run_of_words(&mut self, words: &Rc<Vec<Piece>>, depth: usize) -> Listens {
        let start = program_index(words);
        let loosens = |word: &Piece| word.text == "case" || is_start_file(word);
        self.loose |= words[..start].iter().any(loosens);
        for word in &words[..start] {
            self.assigned(word, start < words.len(), depth);
        }
        if words[..start].iter().any(|word| word.text == "[[") {
            self.evaluated(&words[start..], depth);
        }
        // A function's body may begin in the same run of words as its name.
        let body = words[start..].iter().position(|word| word.text == "{");
        let body = body.map(|body| self.command(words, start + body + 1, depth));
        let listens = self.command(words, start, depth);
        body.filter(|_| listens == Listens::No).unwrap_or(listens)
    }

    /// A variable that is set, perhaps for a program.
    fn assigned(&mut self, word: &Piece, for_program: bool, depth: usize) {
        let Some((name, value)) = word.text.split_once('=') else {
            return;
        };
        self.names.has_own_path |= name.trim_end_matches('+') == "PATH";
        if name.starts_with("GIT_") {
            self.assigned.insert(name.to_owned());
        }
        if !word.dynamic {
            self.constants.set(name, value);
            // Arithmetic computes what a variable holds, and so runs what stands between brackets.
            self.evaluated(std::slice::from_ref(word), depth);
        }
        if let Some(meant) = names::set_for_shell(name) {
            self.names.mean(meant, value);
            self.script(value, depth + 1);
        }
        if name == "GIT_CONFIG_PARAMETERS" {
            self.git_settings(value, depth);
        }
        if name.starts_with("GIT_CONFIG_VALUE_") {
            self.script(value.trim_start_matches('!'), depth + 1);
            self.script(&format!("git {value}"), depth + 1);
        }
        let holds_command = for_program && value.contains(char::is_whitespace);
        if holds_command || variables::names_program(name) {
            self.script(value, depth + 1);
        }
        if variables::holds_text(name) {
            self.words_of(value);
        }
    }

    fn add(&mut self, words: &Rc<Vec<Piece>>, start: usize, end: usize, fit: Fit) {
        self.commands.push(Found {
            words: Rc::clone(words),
            start,
            end,
            fit,
            folders: Rc::clone(&self.folders),
            adrift: self.adrift,
            kind: self.kind,
        });
    }

    /// Whether a word is a pattern that stands for no files, in the crudest reading of the text.
    pub(crate) fn is_pattern(&self, found: &Found, word: &Piece) -> bool {
        found.kind == Kind::Whole && word.glob && self.patterns.contains(&word.text)
    }

    /// Adds the command at `start` and all that it runs; returns whether it runs what it is fed.
    fn command(&mut self, words: &Rc<Vec<Piece>>, mut start: usize, depth: usize) -> Listens {
        let Some(first) = words.get(start) else {
            return Listens::No;
        };
        if first.text.is_empty() && words.len() == 1 {
            self.loose = true;
            return Listens::No;
        }
        // Git goes through them for each of the ways in which it runs others.
        let is_git = base_name(&first.text) == "git";
        if !self.affords((words.len() - start) * if is_git { 4 } else { 1 }) {
            self.add(words, start, words.len(), Fit::Loose);
            return Listens::No;
        }
        self.options_that_run(&words[start..], depth);
        let mut is_set = false;
        for _ in 0..WRAPPED {
            let Some(program) = words.get(start) else {
                return Listens::No;
            };
            self.add(words, start, words.len(), Fit::Exact);
            let computed =
                program.dynamic || program.text.is_empty() || program.text.contains("{}");
            self.loose |= computed || (program.glob && program.text != "[");
            let name = base_name(&program.text);
            let args = start + 1;
            self.evaluated(&words[start..args], depth);
            self.called(&program.text, &words[args..], depth);
            self.embedded(name, &words[args..], depth);
            self.moved_along(name, &words[args..]);
            if name == "git" {
                self.pathspecs(words, args);
            }
            if let Some(listens) = self.special(name, words, args, depth) {
                return listens;
            }
            let Some(wrapper) = wrappers::find(name) else {
                return Listens::No;
            };
            // All words to the end are looked at, so that another `env` among them has no more to say.
            if name == "env" && !is_set {
                is_set = true;
                for word in &words[args..] {
                    self.assigned(word, false, depth);
                }
                self.split_strings(&words[args..], depth);
                self.loose |= words[args..].iter().any(is_start_file);
            }
            let texts: Vec<&str> =
                words[args..].iter().map(|w| w.text.as_str()).take(256).collect();
            match wrapper.inner(&texts) {
                Inner::At(at) if name == "xargs" && depth < NESTING => {
                    let inner = runners::filled(&words[args..], at);
                    let is_filled = runners::runs_filled(&words[args..], at);
                    let is_open = is_filled || runners::ends_open(&inner);
                    let listens = self.command(&Rc::new(inner), 0, depth + 1);
                    return if is_open { Listens::Shell } else { listens };
                }
                Inner::At(at) => {
                    self.moved_by(name, &words[args..args + at]);
                    // To the shell a whole list may follow `time`, also one that is negated.
                    let inner = args + at;
                    let skipped = if name == "time" { program_index(&words[inner..]) } else { 0 };
                    start = inner + skipped;
                }
                Inner::Unclear => {
                    self.add(words, args, words.len(), Fit::Loose);
                    self.texts(&words[args..]);
                    return Listens::No;
                }
                Inner::Nothing if wrappers::opens_shell(name) => return Listens::Shell,
                Inner::Nothing => return Listens::No,
            }
        }
        self.add(words, start, words.len(), Fit::Loose);
        Listens::No
    }

    /// The words with what braces in them stand for.
    fn expanded(&mut self, words: Vec<Piece>) -> Vec<Piece> {
        let mut all = Vec::with_capacity(words.len());
        for word in words {
            let is_tried = word.text.contains('{') && !self.is_cut_short();
            let texts = if is_tried { braces::expand(&word.marked()) } else { Vec::new() };
            if !texts.is_empty() && self.affords(2 * (texts.len() - 1)) {
                all.extend(texts.iter().map(|text| word.saying(text)));
            } else {
                all.push(word);
            }
        }
        all
    }

    /// Takes so many words from what may yet be looked through; says whether there were as many left.
    fn affords(&mut self, words: usize) -> bool {
        self.patience = self.patience.and_then(|left| left.checked_sub(words));
        self.loose |= self.is_cut_short();
        !self.is_cut_short()
    }

    /// Whether every command is one that the text says, as far as can be told.
    pub(crate) fn is_followed(&self) -> bool {
        !self.loose && self.overlong.is_none()
    }

    /// Whether there were more commands within commands than could be followed.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.patience.is_none()
    }
}
