//! Every command that a text could run, at any depth and any length: what deny rules and the floor
//! look at. It over-approximates, so nothing it misses may depend on its being right.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::tolerant::{self, Piece, Segment, Target};
use super::wrappers::{self, Inner};
use super::{Grammar, braces, is_deceptive, raw};
use crate::paths::normalize;

/// How deep shell text within shell text is followed; deeper text is read by its words.
pub(crate) const NESTING: usize = 8;
/// How many wrappers in a row are looked through one by one.
const WRAPPED: usize = 16;
/// How many folders a script may be in.
const FOLDERS: usize = 32;

/// How certain it is that a run of words is a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The first word is the program.
    Exact,
    /// Any word may be the program.
    Loose,
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
}

impl Found {
    /// The program and its arguments.
    pub(crate) fn argv(&self) -> &[Piece] {
        &self.words[self.start..self.end]
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
    loose: bool,
    /// Bytes that may yet be read as shell text within shell text.
    effort: usize,
}

/// Surveys `text`, run in `cwd` by a user whose home is `home`.
pub(crate) fn survey(text: &str, cwd: &Path, home: Option<&Path>, grammar: Grammar) -> Survey {
    let mut survey = Survey {
        commands: Vec::new(),
        redirections: Vec::new(),
        folders: Rc::new([normalize(cwd)]),
        home: home.map(normalize),
        adrift: false,
        effort: 4 * text.len() + 4096,
        loose: grammar == Grammar::Broken || text.chars().any(is_deceptive),
    };
    survey.script(text, 0);
    if survey.loose {
        survey.loosen(text);
    }
    survey
}

impl Survey {
    /// Adds the commands of shell text.
    fn script(&mut self, text: &str, depth: usize) {
        if depth > NESTING || text.len() > self.effort {
            self.loose = true;
            self.words_of(contract::text::head(text, self.effort));
            self.effort = 0;
            return;
        }
        self.effort -= text.len();
        let scan = tolerant::scan(text);
        self.loose |= scan.torn;
        let mut listening: HashMap<usize, Listens> = HashMap::new();
        for segment in scan.segments {
            let pipeline = segment.pipeline;
            let listens = self.segment(segment, depth);
            // Whatever comes before a shell in its pipeline may write text that it runs.
            self.loose |= listens == Listens::Shell;
            if listens != Listens::No {
                listening.insert(pipeline, listens);
            }
        }
        for (pipeline, text) in scan.fed {
            match listening.get(&pipeline) {
                Some(Listens::Shell) => {
                    self.script(&text, depth + 1);
                    self.words_of(&text);
                }
                Some(Listens::Interpreter) => self.words_of(&text),
                Some(Listens::No) | None => {}
            }
        }
    }

    /// Adds one segment; returns whether it runs what it is fed.
    fn segment(&mut self, segment: Segment, depth: usize) -> Listens {
        for target in segment.redirects {
            self.redirections.push(Redirection { target, folders: Rc::clone(&self.folders) });
        }
        let words = expanded(segment.words);
        let start = program_index(&words);
        self.loose |= words[..start].iter().any(|word| word.text == "case");
        for word in &words[..start] {
            if let Some((_, value)) = word.text.split_once('=')
                && value.contains(char::is_whitespace)
                && start < words.len()
            {
                self.script(value, depth + 1);
            }
        }
        let words = Rc::new(words);
        // A function's body may begin in the same run of words as its name.
        if let Some(body) = words[start..].iter().position(|word| word.text == "{") {
            self.command(&words, start + body + 1, depth);
        }
        self.command(&words, start, depth)
    }

    fn add(&mut self, words: &Rc<Vec<Piece>>, start: usize, end: usize, fit: Fit) {
        self.commands.push(Found {
            words: Rc::clone(words),
            start,
            end,
            fit,
            folders: Rc::clone(&self.folders),
            adrift: self.adrift,
        });
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
        self.options_that_run(&words[start..], depth);
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
            if let Some(listens) = self.special(name, words, args, depth) {
                return listens;
            }
            let Some(wrapper) = wrappers::find(name) else {
                return Listens::No;
            };
            if name == "env" {
                self.split_strings(&words[args..], depth);
            }
            let texts: Vec<&str> =
                words[args..].iter().map(|w| w.text.as_str()).take(256).collect();
            match wrapper.inner(&texts) {
                Inner::At(at) => start = args + at,
                Inner::Unclear => {
                    self.add(words, args, words.len(), Fit::Loose);
                    return Listens::No;
                }
                Inner::Nothing => return Listens::No,
            }
        }
        self.add(words, start, words.len(), Fit::Loose);
        Listens::No
    }

    /// Handles programs that take text to run, or change the folder.
    fn special(
        &mut self,
        name: &str,
        words: &Rc<Vec<Piece>>,
        args: usize,
        depth: usize,
    ) -> Option<Listens> {
        let rest = &words[args..];
        match name {
            "cd" | "pushd" | "chdir" => self.change_folder(rest),
            "eval" => {
                let joined: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
                self.script(&joined.join(" "), depth + 1);
                self.loose |= rest.iter().any(|word| word.dynamic);
            }
            "coproc" => self.add(words, args, words.len(), Fit::Loose),
            "find" | "fd" | "fdfind" => self.actions(words, args, depth),
            "git" => self.git_programs(words, args, depth),
            _ if wrappers::is_shell(name) => return Some(self.shell(name, words, args, depth)),
            _ if wrappers::is_interpreter(name) => {
                for word in rest {
                    if word.text.contains(|c: char| c.is_whitespace() || "('\";".contains(c)) {
                        self.words_of(&word.text);
                    }
                }
                return Some(Listens::Interpreter);
            }
            _ => return None,
        }
        Some(Listens::No)
    }

    /// A shell: text in its arguments, or a command in them, or else text on its standard input.
    fn shell(&mut self, name: &str, words: &Rc<Vec<Piece>>, args: usize, depth: usize) -> Listens {
        const REMOTE: &[&str] =
            &["ssh", "docker", "podman", "kubectl", "parallel", "su", "tmux", "screen"];
        let mut takes_text = false;
        let mut after_c = matches!(name, "trap");
        for word in &words[args..] {
            let value = word.text.rsplit_once('=').map_or("", |(_, value)| value);
            if after_c || word.text.contains(|c: char| c.is_whitespace() || ";|&$`<>(".contains(c))
            {
                takes_text = true;
                self.loose |= word.dynamic;
                self.script(&word.text, depth + 1);
                self.script(value, depth + 1);
            } else if name == "alias" && !value.is_empty() {
                self.script(value, depth + 1);
            }
            after_c = word.text.starts_with('-') && word.text.contains('c');
            takes_text |= after_c;
        }
        if REMOTE.contains(&name) {
            self.add(words, args, words.len(), Fit::Loose);
        }
        if let Some(wrapper) = wrappers::find(name) {
            let texts: Vec<&str> =
                words[args..].iter().map(|w| w.text.as_str()).take(256).collect();
            if let Inner::At(at) = wrapper.inner(&texts)
                && depth < NESTING
            {
                self.command(words, args + at, depth + 1);
            } else {
                self.add(words, args, words.len(), Fit::Loose);
            }
        }
        let mut operands = words[args..].iter().filter(|word| !word.text.starts_with('-'));
        let from_input = operands.next().is_none_or(|word| {
            matches!(word.text.as_str(), "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
        });
        let told_to = words[args..].iter().any(|word| matches!(word.text.as_str(), "-s" | "-"));
        if matches!(name, "at" | "batch") || (!takes_text && (from_input || told_to)) {
            Listens::Shell
        } else {
            Listens::No
        }
    }

    /// `env -S 'program arguments'`.
    fn split_strings(&mut self, args: &[Piece], depth: usize) {
        for word in args {
            if word.text.contains(char::is_whitespace) {
                let text = word.text.trim_start_matches("--split-string=");
                let text = text.trim_start_matches("-S");
                self.script(text, depth + 1);
            }
        }
    }

    /// `find ... -exec program ... ;`
    fn actions(&mut self, words: &Rc<Vec<Piece>>, args: usize, depth: usize) {
        const RUNNERS: &[&str] =
            &["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
        let mut at = args;
        while at < words.len() {
            if RUNNERS.contains(&words[at].text.as_str()) {
                let end = words[at + 1..]
                    .iter()
                    .position(|word| matches!(word.text.as_str(), ";" | "+"))
                    .map_or(words.len(), |length| at + 1 + length);
                let inner: Rc<Vec<Piece>> = Rc::new(words[at + 1..end].to_vec());
                if depth < NESTING {
                    self.command(&inner, 0, depth + 1);
                } else {
                    self.add(words, at + 1, end, Fit::Loose);
                }
                at = end;
            }
            at += 1;
        }
    }

    /// Programs that git is told to run.
    fn git_programs(&mut self, words: &Rc<Vec<Piece>>, args: usize, depth: usize) {
        let rest = &words[args..];
        for (word, next) in rest.iter().zip(rest.iter().skip(1)) {
            match word.text.as_str() {
                "-c" => {
                    let value = next.text.split_once('=').map_or("", |(_, value)| value);
                    self.script(value.trim_start_matches('!'), depth + 1);
                }
                "-x" | "--exec" | "foreach" => self.script(&next.text, depth + 1),
                _ => {}
            }
        }
        if let Some(at) = rest.iter().position(|word| word.text == "run") {
            self.add(words, args + at + 1, words.len(), Fit::Exact);
        }
    }

    /// Options whose value is a program, whatever program takes them.
    fn options_that_run(&mut self, args: &[Piece], depth: usize) {
        const OPTIONS: &[&str] = &[
            "--pre",
            "--compress-program",
            "--use-compress-program",
            "--to-command",
            "--pager",
            "--upload-pack",
            "--receive-pack",
            "--rsh",
            "--checkpoint-action",
            "--exec",
            "--open-files-in-pager",
            "--hostname-bin",
            "--extcmd",
        ];
        for (at, word) in args.iter().enumerate() {
            let (name, value) = match word.text.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word.text.as_str(), None),
            };
            if OPTIONS.contains(&name) {
                let next = args.get(at + 1).map(|word| word.text.as_str());
                if let Some(text) = value.or(next) {
                    self.script(text.trim_start_matches("exec="), depth + 1);
                }
            }
        }
    }

    fn change_folder(&mut self, args: &[Piece]) {
        let target = args.iter().find(|word| !matches!(word.text.as_str(), "-L" | "-P" | "--"));
        let home = Piece { text: String::from("~"), home: true, ..Piece::default() };
        let target = target.unwrap_or(&home);
        let mut folders = self.folders.to_vec();
        for folder in self.folders.iter() {
            let Some(moved) = resolve(target, folder, self.home.as_deref()) else {
                self.adrift = true;
                return;
            };
            if !folders.contains(&moved) {
                folders.push(moved);
            }
        }
        if folders.len() > FOLDERS {
            self.adrift = true;
        } else {
            self.folders = folders.into();
        }
    }

    /// Adds every word of a text as a possible command.
    fn words_of(&mut self, text: &str) {
        for run in raw::runs(text) {
            let end = run.len();
            self.add(&Rc::new(run), 0, end, Fit::Loose);
        }
    }

    /// Reads the whole text by its words, and every command found as if any word could run.
    fn loosen(&mut self, text: &str) {
        for found in &mut self.commands {
            found.fit = Fit::Loose;
        }
        self.words_of(text);
    }
}

/// The path that a word means in `folder`; none where that cannot be known.
pub(crate) fn resolve(word: &Piece, folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if word.dynamic || word.text == "-" {
        return None;
    }
    if word.home {
        let rest = word.text.trim_start_matches('~').trim_start_matches('/');
        return home.map(|home| normalize(&home.join(rest)));
    }
    Some(normalize(&folder.join(&word.text)))
}

/// The last component of a program's path, as the file system might see it.
pub(crate) fn base_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.strip_suffix(".exe").unwrap_or(name)
}

fn expanded(words: Vec<Piece>) -> Vec<Piece> {
    if !words.iter().any(|word| word.text.contains('{')) {
        return words;
    }
    let each = words.into_iter().flat_map(|word| {
        let texts = braces::expand(&word.text);
        texts.into_iter().map(move |text| Piece { text, ..word.clone() })
    });
    each.collect()
}

/// The index of the program among the words of a segment: past reserved words and assignments.
fn program_index(words: &[Piece]) -> usize {
    const RESERVED: &[&str] = &[
        "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}",
        "function", "esac", "in", "case", "[[", "]]",
    ];
    words
        .iter()
        .position(|word| {
            let reserved = RESERVED.contains(&word.text.as_str());
            !reserved && !wrappers::is_assignment(&word.text)
        })
        .unwrap_or(words.len())
}
