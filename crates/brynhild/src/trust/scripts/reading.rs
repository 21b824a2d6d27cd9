//! What a text says of files, whatever files there are. The same text says the same each time, so that one
//! is gone through once in a process, however often it is searched from.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::folders::Start;
use super::inert::without_inert;
use super::run::{gone_through, run, searched};
use super::words::{goes_through_folders, names_itself, steps, words};
use super::written::written;
use super::{MOST_WORDS, RUNNERS, dotted};

/// Endings of archives that Python takes modules from.
const ARCHIVES: [&str; 4] = [".zip", ".egg", ".whl", ".pyz"];

/// Bytes of texts whose readings are kept.
const MOST_KEPT: usize = 8 << 20;

/// What a text is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Language {
    /// That of a shell, without doubt.
    Shell,
    Other,
}

impl Language {
    /// What a script is written in.
    pub(super) fn of(path: &str, text: &str) -> Self {
        let first = text.lines().next().unwrap_or_default();
        let program =
            first.strip_prefix("#!").map(|it| it.trim().trim_start_matches("/usr/bin/env"));
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        let name = program.and_then(|it| it.split_whitespace().next());
        let is_shell = match (program, name) {
            (Some(_), Some(name)) => {
                ["bash", "dash", "sh"].contains(&name.rsplit('/').next().unwrap_or_default())
            }
            (Some(_), None) => false,
            (None, _) => ["sh", "bash"].contains(&ending),
        };
        if is_shell { Self::Shell } else { Self::Other }
    }
}

/// A word that could be the name of a file.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) text: String,
    /// The path that a language means by it as the name of a module.
    pub(super) dotted: String,
    /// How paths begin that are spelled in either way.
    pub(super) starts: [Start; 2],
    /// Whether the text loads or runs it.
    pub(super) is_run: bool,
}

impl Word {
    fn new(text: String, run: &BTreeSet<String>) -> Self {
        let dotted = dotted(&text);
        let starts = [Start::of(&text), Start::of(&dotted)];
        Self { is_run: run.contains(&text), text, dotted, starts }
    }

    /// The files of fixed names that it runs as a program.
    pub(super) fn runs(&self) -> impl Iterator<Item = &'static str> {
        let runs = RUNNERS.iter().filter(|(names, _)| names.contains(&self.text.as_str()));
        runs.flat_map(|(_, files)| files.iter().copied())
    }
}

/// What a text says.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an answer of its own about a text")]
pub(super) struct Reading {
    pub(super) words: Vec<Word>,
    /// Folders where what it starts looks for what that loads.
    pub(super) searched: BTreeSet<String>,
    /// Folders whose files it runs, and whether only those that could run by themselves.
    pub(super) gone_through: BTreeSet<(String, bool)>,
    /// Whether Python may look for modules in the folders that it names.
    pub(super) says_module_path: bool,
    /// Whether it starts Python without a script.
    pub(super) starts_python: bool,
    pub(super) goes_through_folders: bool,
    pub(super) names_itself: bool,
    /// Ways to folders that it would load if it were JavaScript.
    pub(super) steps: BTreeSet<String>,
    /// Paths that it writes to as a text for a shell.
    pub(super) written: BTreeSet<String>,
}

impl Reading {
    /// What `text` says, be it one for a shell or another.
    pub(super) fn of(text: &str, language: Language) -> Arc<Self> {
        let key = (blake3::hash(text.as_bytes()), language);
        if let Some(known) = lock().known.get(&key) {
            return Arc::clone(known);
        }
        let read = Arc::new(match language {
            Language::Shell => Self { written: written(text), ..Self::new(&without_inert(text)) },
            Language::Other => Self::new(text),
        });
        lock().keep(key, text.len(), &read);
        read
    }

    fn new(text: &str) -> Self {
        let mut run = run(text);
        let mut all = words(text);
        let has = |parts: [&str; 2]| parts.iter().any(|part| text.contains(part));
        let says_module_path = has(["PYTHONPATH", "sys.path"]);
        // Python looks into archives too.
        let is_archive = |word: &&String| ARCHIVES.iter().any(|ending| word.ends_with(ending));
        run.extend(all.iter().filter(|_| says_module_path).filter(is_archive).cloned());
        all.extend(run.iter().cloned());
        Self {
            words: all.into_iter().take(MOST_WORDS).map(|word| Word::new(word, &run)).collect(),
            searched: searched(text),
            gone_through: gone_through(text),
            says_module_path,
            starts_python: text.contains("python") && has([" -m", " -c"]),
            goes_through_folders: goes_through_folders(text),
            names_itself: names_itself(text),
            steps: steps(text),
            written: BTreeSet::new(),
        }
    }
}

/// Readings by the hash of their text.
#[derive(Default)]
struct Kept {
    known: HashMap<(blake3::Hash, Language), Arc<Reading>>,
    bytes: usize,
}

impl Kept {
    fn keep(&mut self, key: (blake3::Hash, Language), length: usize, read: &Arc<Reading>) {
        if self.bytes.saturating_add(length) > MOST_KEPT {
            *self = Self::default();
        }
        self.bytes += length;
        self.known.insert(key, Arc::clone(read));
    }
}

fn lock() -> std::sync::MutexGuard<'static, Kept> {
    static KEPT: LazyLock<Mutex<Kept>> = LazyLock::new(Mutex::default);
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}
