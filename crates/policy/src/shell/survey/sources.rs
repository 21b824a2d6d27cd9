//! Programs whose output a shell runs. Of those that print what stands in the text the words are
//! known; what any other prints, only it knows. Names them, decides nothing.

mod around;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::flow::{Flow, is_opening};
use super::names::gathers;
use super::runners::REMOTE;
use super::{Found, WRAPPED, base_name, program_index};
use crate::glob::{Reading, meet};
use crate::shell::tolerant::{Expansion, Piece, Segment, Target, Value};
use crate::shell::wrappers::{self, Inner};
use around::is_shell_variable;

/// More substitutions are not looked at one by one.
const MOST: usize = 64;
/// Of a substitution no more is looked at.
const LONG: usize = 256;

/// Programs that write what they fetch or decode into files which they name.
const DECODERS: &[&str] =
    &["wget", "curl", "aria2c", "axel", "fetch", "openssl", "gpg", "xxd", "uudecode", "base64"];

/// What alone knows a text: a program that prints it, or a file that nothing here has written.
#[derive(Clone)]
pub(super) struct Source {
    name: Rc<str>,
    /// A shell may be given any file to run, as it may be given a script.
    is_file: bool,
}

impl Source {
    pub(super) fn program(name: &str) -> Self {
        Self { name: Rc::from(name), is_file: false }
    }

    pub(super) fn is_program(&self, name: &str) -> bool {
        &*self.name == name && !self.is_file
    }

    pub(super) fn file(name: &str) -> Self {
        Self { name: Rc::from(name), is_file: true }
    }
}

/// Where text comes from that a shell runs.
#[derive(Default)]
pub(crate) struct Sources {
    /// Whether a shell runs what a substitution prints.
    pub(super) substituted: bool,
    /// A program whose output a shell runs, where only that program knows what it prints.
    pub(crate) unclear: Option<String>,
    /// Whether that is of no interest, or not in the text that is being read.
    pub(super) is_idle: bool,
    /// What the command reads whose text is being read.
    around: Option<Source>,
    /// What goes into a function.
    into_function: Option<Source>,
    /// Whether a variable may stand for another one.
    has_references: bool,
    /// The functions of the text.
    pub(super) functions: HashSet<String>,
    /// Variables that hold such output, by name.
    held: HashMap<String, Source>,
    /// Files that were written, by their last name, and such output where it went into them.
    written: HashMap<String, Option<Source>>,
}

/// What a segment is given, where that is not known.
#[derive(Default)]
pub(super) struct Passed {
    /// Its input, where a shell of this machine is among its words.
    input: Option<Source>,
    /// What is put into its words.
    words: Option<Source>,
    /// All that it reads, whatever does.
    given: Option<Source>,
    /// Whether a variable that is known to name a shell runs its input.
    is_run: bool,
    /// Whether a shell ran what a substitution prints before it came.
    was_substituted: bool,
}

impl Sources {
    /// Follows them where that is wanted.
    pub(super) fn new(wanted: bool) -> Self {
        Self { is_idle: !wanted, ..Self::default() }
    }

    /// Whether there is still something to find.
    pub(super) fn is_open(&self) -> bool {
        !self.is_idle && self.unclear.is_none()
    }

    /// Looks for such a program in the substitutions of the text, where a shell runs any.
    pub(super) fn look_into(&mut self, text: &str) {
        if self.substituted && self.is_open() {
            self.unclear = substituted(text);
        }
    }

    /// Follows what a segment reads, sets, writes and prints. Its commands are looked at after
    /// that, and then this is settled.
    pub(super) fn pass(&mut self, segment: &Segment, flow: &mut Flow) -> Passed {
        if !self.is_open() {
            return Passed::default();
        }
        let was_substituted = std::mem::take(&mut self.substituted);
        if segment.is_data {
            self.hold_data(segment, flow);
            return Passed { was_substituted, ..Passed::default() };
        }
        let words = &segment.words;
        let is_bare = segment.redirects.is_empty() && segment.expansions.is_empty();
        if is_bare && words.iter().all(|word| word.text.is_empty()) {
            // Nothing but parentheses, or what opens and never closes: a text may have many of them.
            let ended = self.nest(segment, &[], flow);
            let own = words.first().map(|_| flow.printed_by(""));
            let output = own.or(ended).or_else(|| flow.input_of(segment));
            flow.printed(segment, output);
            return Passed { was_substituted, ..Passed::default() };
        }
        let start = program_index(words);
        let at = program_at(words, start);
        let is_loop = words.get(start).is_some_and(|word| is_opening(&word.text));
        if words.get(start).is_some_and(|word| word.text == "coproc") {
            // Whatever is said to it later.
            flow.input = Some(Source::program("coproc"));
        }
        let ended = self.nest(segment, &words[..start + usize::from(is_loop)], flow);
        let piped = flow.piped(segment.pipeline);
        let input = self.reads(segment, flow).or(piped);
        let given = input.clone().or_else(|| flow.input_of(segment));
        self.set(segment, at, flow, given.as_ref());
        let is_program = !is_loop && (start == 0 || may_lead(&words[start - 1].text));
        if is_program {
            let run = self.put_into(segment, flow, Some(at));
            let run = run.or_else(|| self.run_by_another_name(segment, at, flow));
            self.unclear = run.map(|it| it.name.to_string());
            if words.get(at).is_some_and(|word| word.text == "exec") && at + 1 == words.len() {
                flow.input.clone_from(&input);
            }
        }
        let own = if is_program { self.prints(segment, at, flow) } else { None }.or(ended);
        let passes_on = words.get(at).is_none_or(|word| base_name(&word.text) == "cat");
        let output = own.or(if passes_on { given.clone() } else { input });
        self.write(segment, at, flow, output.as_ref(), given.as_ref());
        let put = self.put_into_words(segment, at, flow);
        flow.printed(segment, output);
        let is_shell = has_shell(words);
        if is_shell {
            flow.shells.insert(segment.pipeline);
        }
        let is_function = words.get(at).is_some_and(|word| self.functions.contains(&word.text));
        let calls = given.clone().filter(|_| is_function);
        self.into_function = self.into_function.take().or(calls);
        let is_run = is_shell_variable(segment, at);
        let listed = given.clone().or_else(|| self.named_list(words.get(at..).unwrap_or_default()));
        let is_shell = is_shell || is_run;
        let input = listed.filter(|source| gathers(words) || (is_shell && !source.is_file));
        Passed { input, words: put, given, is_run, was_substituted }
    }

    /// Opens and closes groups around a segment; returns what comes out of those that it closes.
    fn nest(&self, segment: &Segment, keywords: &[Piece], flow: &mut Flow) -> Option<Source> {
        let behind = flow.behind();
        let behind = behind.and_then(|it| self.reads(&it.reads, flow).or(it.printed));
        flow.nest(segment, keywords, behind)
    }

    /// Such output that a segment runs under another name than that of the variable which holds it, or
    /// gives to a function that runs what it is given.
    fn run_by_another_name(&self, segment: &Segment, at: usize, flow: &mut Flow) -> Option<Source> {
        let stands = |it: &&Expansion| it.word == Some(at);
        let named = segment.expansions.iter().filter(stands).find_map(|it| match &it.value {
            Value::Variable(name) => Some(name.as_str()),
            Value::Printed(_) => None,
        });
        flow.runs_arguments |= named == Some("@");
        if named.is_some() && self.has_references {
            return self.held.values().next().cloned();
        }
        let first = || self.put_into(segment, flow, Some(at + 1));
        match segment.words.get(at).map(|word| word.text.as_str()) {
            Some("alias") => self.put_into_words(segment, at, flow),
            Some(name) if flow.runs_arguments && self.functions.contains(name) => first(),
            Some(_) | None => None,
        }
    }

    /// What is put into the words of a segment, where a shell that reads them would run it.
    fn put_into_words(&self, segment: &Segment, at: usize, flow: &Flow) -> Option<Source> {
        let words = &segment.words;
        let names_file = names_file(words.get(at..).unwrap_or_default());
        segment.expansions.iter().find_map(|expansion| {
            let word = words.get(expansion.word?);
            // That is the name of a script, which is like any other.
            if names_file && matches!(expansion.value, Value::Variable(_)) {
                return None;
            }
            let source = self.stands_for(expansion, flow)?;
            // What is in a file is mostly a value, unless it stands where a command does.
            let is_led = |word: &Piece| {
                word.text.trim().is_empty() || word.text.contains([';', '&', '|', '\n'])
            };
            (!source.is_file || word.is_some_and(is_led)).then_some(source)
        })
    }

    /// The file from which `xargs` takes words.
    fn named_list(&self, words: &[Piece]) -> Option<Source> {
        let (program, args) = words.split_first()?;
        if !matches!(base_name(&program.text), "xargs" | "parallel") {
            return None;
        }
        args.iter().zip(args.iter().skip(1).map(Some).chain([None])).find_map(|(word, next)| {
            let attached = ["--arg-file=", "-a"].iter().find_map(|it| word.text.strip_prefix(it));
            match attached.unwrap_or_default() {
                "" if matches!(word.text.as_str(), "-a" | "--arg-file") => {
                    self.held_by(&next?.text)
                }
                file => self.held_by(file),
            }
        })
    }

    /// What only a file knows: one that nothing here has written, or such output.
    fn held_by(&self, file: &str) -> Option<Source> {
        if file.is_empty() || matches!(file, "-" | "/dev/null" | "/dev/stdin") {
            return None;
        }
        let known = if self.written.is_empty() { None } else { self.written.get(base_name(file)) };
        known.cloned().unwrap_or_else(|| Some(Source::file(file)))
    }

    /// Says what became of a segment: whether a shell in it runs its input.
    pub(super) fn settle(&mut self, passed: Passed, is_run: bool) {
        let words = passed.words.filter(|_| self.substituted);
        let run = passed.input.filter(|_| is_run || passed.is_run).or(words);
        if self.unclear.is_none() {
            self.unclear = run.map(|source| source.name.to_string());
        }
        self.substituted |= passed.was_substituted;
    }

    /// What such output is put into: a word, or the input.
    fn put_into(&self, segment: &Segment, flow: &Flow, word: Option<usize>) -> Option<Source> {
        let each = segment.expansions.iter().filter(|expansion| expansion.word == word);
        each.take(MOST).find_map(|expansion| self.stands_for(expansion, flow))
    }

    fn stands_for(&self, expansion: &Expansion, flow: &Flow) -> Option<Source> {
        match &expansion.value {
            Value::Variable(name) => self.held.get(name).cloned(),
            Value::Printed(made) => {
                let first = flow.outputs.partition_point(|(at, _)| *at < made.start);
                let (at, source) = flow.outputs.get(first)?;
                (*at < made.end).then(|| source.clone())
            }
        }
    }

    /// What a segment reads by redirection.
    fn reads(&self, segment: &Segment, flow: &Flow) -> Option<Source> {
        let files = segment.redirects.iter().filter(|target| !target.writes);
        let is_known = |target: &&Target| !target.word.dynamic || target.is_descriptor;
        let mut files = files.filter(is_known).filter_map(|target| {
            let file = target.word.text.as_str();
            // Who has opened a descriptor, and for what, nobody knows; but the first is the input.
            let is_number = !file.is_empty() && file.bytes().all(|byte| byte.is_ascii_digit());
            if (is_number && file != "0") || target.word.dynamic {
                return Some(Source::program(&format!("<&{file}")));
            }
            self.held_by(file).filter(|_| file != "0")
        });
        files.next().or_else(|| self.put_into(segment, flow, None))
    }

    /// Words that are no command go into a variable, or into the file of a here-document.
    fn hold_data(&mut self, segment: &Segment, flow: &mut Flow) {
        let mut each = segment.expansions.iter();
        let source = each.find_map(|expansion| self.stands_for(expansion, flow));
        if let Some(source) = source {
            self.held.insert(flow.variable.clone(), source.clone());
            let files = flow.files.iter().map(|file| (file.clone(), Some(source.clone())));
            self.written.extend(files);
        }
        flow.count += 1;
    }

    /// Notes the variables that a segment sets.
    fn set(&mut self, segment: &Segment, at: usize, flow: &mut Flow, given: Option<&Source>) {
        let words = &segment.words;
        let program = words.get(at).map_or("", |word| word.text.as_str());
        let rest = words.get(at + 1..).unwrap_or_default();
        let declares =
            matches!(program, "declare" | "typeset" | "export" | "local" | "readonly" | "let");
        let refers = |word: &Piece| word.text.starts_with('-') && word.text.contains('n');
        self.has_references |= declares && rest.iter().any(refers);
        // What stands before a program is set for it, also behind `env`.
        let end = if declares { words.len() } else { at.min(words.len()) };
        let name_of = |word: &Piece| {
            let (name, _) = word.text.split_once('=')?;
            // One element stands for the whole.
            let name = name.split('[').next().unwrap_or(name);
            Some(name.trim_end_matches('+').to_owned())
        };
        if let Some(name) = words[..end].iter().rev().find_map(name_of) {
            flow.variable = name;
        }
        for expansion in &segment.expansions {
            let word = expansion.word.and_then(|at| words[..end].get(at));
            if let Some(name) = word.and_then(name_of)
                && let Some(source) = self.stands_for(expansion, flow)
            {
                self.held.insert(name, source);
            }
        }
        let any = || segment.expansions.iter().find_map(|it| self.stands_for(it, flow));
        let names = match program {
            "read" | "mapfile" | "readarray" => given.cloned().zip(Some(rest)),
            "for" | "select" => any().zip(rest.get(..1)),
            "printf" if rest.first().is_some_and(|word| word.text == "-v") => {
                any().zip(rest.get(1..2))
            }
            "set" => {
                let source = any();
                self.held.extend(source.map(|source| (String::from("@"), source)));
                None
            }
            _ => None,
        };
        if let Some((source, names)) = names {
            let names = names.iter().filter(|name| !name.text.starts_with('-'));
            self.held.extend(names.map(|name| (name.text.clone(), source.clone())));
            let unnamed = ["REPLY", "MAPFILE"].map(|name| (name.to_owned(), source.clone()));
            self.held.extend(unnamed);
        }
    }

    /// What a segment prints, where only its program knows that.
    fn prints(&self, segment: &Segment, at: usize, flow: &Flow) -> Option<Source> {
        let (program, args) = segment.words.get(at..)?.split_first()?;
        let name = base_name(&program.text);
        let mut given = segment.expansions.iter().filter(|it| it.word.is_some_and(|it| it > at));
        if program.dynamic || !(name.is_empty() || is_clear(name, args.first())) {
            return Some(flow.printed_by(name));
        }
        let put = given.clone().find_map(|expansion| self.stands_for(expansion, flow));
        if put.is_some() || name != "cat" {
            return put;
        }
        let mut files = args.iter().filter(|word| !word.dynamic && !word.text.starts_with('-'));
        let is_variable = |it: &Expansion| matches!(it.value, Value::Variable(_));
        let any = || given.any(is_variable).then(|| Source::file(name));
        files.find_map(|word| self.held_by(&word.text)).or_else(any)
    }

    /// Notes the files that a segment writes.
    fn write(
        &mut self,
        segment: &Segment,
        at: usize,
        flow: &mut Flow,
        output: Option<&Source>,
        given: Option<&Source>,
    ) {
        let words = segment.words.get(at..).unwrap_or_default();
        let name = words.first().map_or("", |word| base_name(&word.text));
        let args = words.get(1..).unwrap_or_default();
        let operands = args.iter().map(|word| word.text.as_str()).filter(|it| !it.starts_with('-'));
        let taken = || operands.clone().find_map(|word| self.written.get(base_name(word))?.clone());
        let (source, copies): (_, Vec<&str>) = match name {
            "tee" | "sponge" => (given.cloned(), operands.collect()),
            "dd" => {
                let value = |name: &str| operands.clone().find_map(|word| word.strip_prefix(name));
                let read = value("if=").and_then(|file| self.written.get(base_name(file))?.clone());
                (read.or(given.cloned()), value("of=").into_iter().collect())
            }
            "cp" | "mv" | "ln" | "install" => (taken(), operands.collect()),
            _ if DECODERS.contains(&name) => {
                let values = args.iter().filter_map(|word| word.text.rsplit_once('='));
                let files = operands.chain(values.map(|(_, value)| value)).collect();
                (Some(Source::program(name)), files)
            }
            _ => (output.cloned(), Vec::new()),
        };
        let targets = segment.redirects.iter().filter(|target| target.writes);
        let files = targets.map(|target| target.word.text.as_str()).chain(copies);
        let files = files.filter(|file| !file.is_empty() && *file != "/dev/null");
        let files: Vec<String> = files.map(|file| base_name(file).to_owned()).collect();
        for file in &files {
            let known = self.written.entry(file.clone()).or_default();
            *known = source.clone().or_else(|| known.take());
        }
        if !files.is_empty() {
            flow.files = files;
        }
    }

    /// Looks for such a file among what `commands` run, by their paths or, where they `may_be_named`, by
    /// their names alone.
    pub(super) fn run_by(&mut self, commands: &[Found], may_be_named: bool) {
        if self.written.is_empty() || !self.is_open() {
            return;
        }
        let unclear = |source: &&Source| !source.is_file;
        let source = |word: &Piece| {
            let name = base_name(&word.text);
            if !word.glob {
                return self.written.get(name)?.as_ref().filter(unclear);
            }
            let fits = |file: &str| meet((name, Reading::Shell), (file, Reading::Literal));
            let mut held = self.written.iter().take(MOST).filter(|(file, _)| fits(file));
            held.find_map(|(_, source)| source.as_ref().filter(unclear))
        };
        let found = commands.iter().find_map(|found| {
            let (program, args) = found.argv().split_first()?;
            let name = base_name(&program.text);
            let runs = wrappers::is_shell(name) || wrappers::is_interpreter(name);
            let runs = runs || matches!(name, "source" | ".");
            let file = if runs { files_run(name, args).find_map(source) } else { None };
            let is_path = may_be_named || program.text.contains('/');
            file.or_else(|| if is_path { source(program) } else { None })
        });
        self.unclear = found.map(|source| source.name.to_string());
    }
}

/// Letters of shells and interpreters at the end of options that take the word behind them.
const VALUED: &[char] = &['r', 'f', 'x', 'W', 'X', 'I', 'M', 'L', 'l', 'o', 'O', 'C', 'e', 'E'];
/// What a text says that runs what it is given.
const RUNNING: &[&str] = &[
    "exec", "eval", "system", "do", "require", "load", "source", ".", "open", "import", "spawn",
    "run",
];

/// The words of a shell or an interpreter that may name what it runs: all before its script, and that. What
/// comes behind is given to the script; behind a text only where that could run it.
fn files_run<'a>(name: &str, args: &'a [Piece]) -> impl Iterator<Item = &'a Piece> {
    let is_option = |word: &Piece| word.text.starts_with(['-', '+']) && word.text.len() > 1;
    // The same letter is another option elsewhere.
    let letters: &[char] = match name {
        "perl" => &['e', 'E'],
        "ruby" => &['e'],
        "node" | "nodejs" | "bun" | "deno" => &['e', 'p'],
        _ if wrappers::is_shell(name) || name.starts_with("python") => &['c'],
        _ => &[],
    };
    let is_text = |word: &Piece| {
        let is_bundle = is_option(word) && !word.text.starts_with("--");
        (is_bundle && word.text.ends_with(letters))
            || matches!(word.text.as_str(), "--eval" | "--print")
    };
    let takes_next = |option: &str| match option.strip_prefix("--") {
        Some(long) => !long.is_empty() && !long.contains('='),
        None => option.starts_with(['-', '+']) && option.ends_with(VALUED),
    };
    let mut end = args.len();
    for (at, word) in args.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |at| args[at].text.as_str());
        if word.text == "-m" {
            end = at + 2;
            break;
        }
        if is_text(word) {
            let mut words = args
                .get(at + 1)
                .map_or("", |it| it.text.as_str())
                .split(|c: char| !c.is_alphanumeric() && c != '.');
            end = if words.any(|it| RUNNING.contains(&it)) { args.len() } else { at + 1 };
            break;
        }
        if !is_option(word) && !takes_next(before) {
            end = at + 1;
            break;
        }
    }
    args.iter().take(end.min(MOST))
}

/// Whether a shell of this machine is among these words.
fn has_shell(words: &[Piece]) -> bool {
    let is_shell = |name: &str| {
        matches!(name, "source" | "." | "sed" | "gsed")
            || (wrappers::is_shell(name) && !REMOTE.contains(&name))
    };
    words.iter().any(|word| is_shell(base_name(&word.text)))
}

/// Whether these words are a shell with a file to run, and no text.
fn names_file(words: &[Piece]) -> bool {
    let Some((program, args)) = words.split_first() else { return false };
    let name = base_name(&program.text);
    let is_text = |word: &Piece| word.text.starts_with('-') && word.text.contains('c');
    match name {
        "source" | "." => true,
        "sh" | "bash" | "dash" | "ash" | "zsh" | "ksh" | "fish" => !args.iter().any(is_text),
        _ => false,
    }
}

/// Where the program stands that does the work, behind those that only start it.
pub(super) fn program_at(words: &[Piece], start: usize) -> usize {
    let mut at = start;
    for _ in 0..WRAPPED {
        let Some((program, args)) = words.get(at..).and_then(<[Piece]>::split_first) else { break };
        let name = base_name(&program.text);
        // What these add to the words is not known.
        let wrapper = wrappers::find(name).filter(|_| !matches!(name, "xargs" | "parallel"));
        let Some(wrapper) = wrapper else { break };
        let texts: Vec<&str> = args.iter().map(|word| word.text.as_str()).take(LONG).collect();
        let Inner::At(inner) = wrapper.inner(&texts) else { break };
        at += 1 + inner;
    }
    at
}

/// A program in a substitution of the text, where what it prints is not known.
fn substituted(text: &str) -> Option<String> {
    let every = |mark, step| text.match_indices(mark).step_by(step).take(MOST);
    let openings = every("$(", 1).chain(every("<(", 1)).chain(every("`", 2));
    let is_number = |(at, mark): &(usize, &str)| text[at + mark.len()..].starts_with('(');
    let bodies = openings.filter(|opening| !is_number(opening)).map(|(at, mark)| {
        let rest = contract::text::head(&text[at + mark.len()..], LONG);
        let end = rest.find(if mark == "`" { '`' } else { ')' }).unwrap_or(rest.len());
        &rest[..end]
    });
    let parts = bodies.flat_map(|body| body.split(['|', ';', '&', '\n']));
    let mut names = parts.filter_map(|part| {
        let is_set = |word: &&str| wrappers::is_assignment(word) || matches!(*word, "{" | "(");
        let mut words = part.split_whitespace().skip_while(is_set);
        let word = words.next()?.trim_matches(['"', '\'', '\\']);
        let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic() || "/.~:".contains(c));
        let name = base_name(word);
        let is_look = name == "command" && words.next().is_some_and(only_looks_up);
        (is_name && !is_look).then_some(name)
    });
    names.find(|name| !is_known(name)).map(str::to_owned)
}

/// Whether it is known what a program prints, whose first argument may tell.
pub(super) fn is_clear(name: &str, first: Option<&Piece>) -> bool {
    is_known(name) || name == "command" && first.is_none_or(|word| only_looks_up(&word.text))
}

/// Whether `command` says by this word where a program is, and does not run it.
fn only_looks_up(word: &str) -> bool {
    matches!(word, "-v" | "-V")
}

/// Programs that print what they are given, or nothing that could be a command.
#[rustfmt::skip]
fn is_known(name: &str) -> bool {
    matches!(name, "echo" | "printf" | "cat" | "cd" | "pwd" | "true" | ":" | "nproc" | "whoami"
        | "hostname" | "uname" | "id" | "mktemp" | "set" | "which" | "dirname" | "test" | "["
        | "false" | "read" | "shift" | "break" | "continue" | "return" | "exit" | "unset" | "sleep"
        | "wait" | "mkdir" | "touch" | "rm" | "cp" | "mv" | "chmod")
}

/// Whether a program may stand after a word; after some stands none, though it could be one.
fn may_lead(word: &str) -> bool {
    !matches!(word, "case" | "[[" | "]]" | "in" | "function")
}
