//! The files that a server's command runs. What a server works on is none of them: that changes all
//! the time.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, DirEntry, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::{Files, Hashes};
use crate::config::command_line::{self, Command, Stands, UNKNOWN};
use crate::config::interpreters::{given, is_known, may_begin};
use crate::config::{Program, Scope, Server};
use crate::launch::{self, Surroundings};

/// The endings of files that are run.
const SCRIPTS: [&str; 16] = [
    "bash", "cjs", "cts", "jar", "js", "lua", "mjs", "mts", "php", "pl", "py", "pyz", "rb", "sh",
    "ts", "wasm",
];
/// Directories of the system, whose files are its packages' where nobody but root can write them.
const SYSTEM: [&str; 9] =
    ["/bin", "/lib", "/lib64", "/opt", "/sbin", "/snap", "/usr", "/Library", "/System"];
/// Directories that a package manager fills, whoever owns them.
const PACKAGES: [&str; 5] = [
    "/gnu/store",
    "/home/linuxbrew/.linuxbrew",
    "/nix/store",
    "/opt/homebrew",
    "/usr/local/Cellar",
];
/// Variables that name files which are loaded before anything else.
const LOADED: [&str; 10] = [
    "BASH_ENV",
    "DYLD_INSERT_LIBRARIES",
    "ENV",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LD_PRELOAD",
    "NODE_OPTIONS",
    "PERL5OPT",
    "PYTHONSTARTUP",
    "RUBYOPT",
];
/// Words are looked for in so many directories that others name; of more the command is not understood.
const MOST_DIRECTORIES: usize = 32;
/// So many files of a directory are looked at for one whose name is not known.
const MOST_FILES: usize = 256;
/// So many words may begin a command within another.
const MOST_STARTS: usize = 64;
/// The kernel reads no more of a first line.
const LINE: u64 = 256;

/// The files that a server's command runs. Of servers that are not the user's own only those in
/// the workspace count: the rest is judged where these come from. Reads all of them.
pub(crate) fn files(
    server: &Server,
    program: &Program,
    surroundings: &Surroundings,
    hashes: &Hashes,
) -> Files {
    let root = fs::canonicalize(&surroundings.workspace);
    let found = search(server, program, surroundings);
    let counts = |path: &PathBuf| {
        let is_inside = root.as_ref().is_ok_and(|root| path.starts_with(root));
        path.is_file() && (is_inside || (server.scope == Scope::User && !is_of_system(path)))
    };
    // What cannot be read now is not what was read before.
    let read = |path: &PathBuf| opened(path).and_then(|file| hashes.of(path, &file));
    let content = |path: &PathBuf| read(path).unwrap_or_else(|_| "unreadable".to_owned());
    let run = found.into_iter().filter(counts);
    run.map(|path| (path.display().to_string(), content(&path))).collect()
}

/// All files that a command runs, whoever they belong to.
fn search(server: &Server, program: &Program, surroundings: &Surroundings) -> BTreeSet<PathBuf> {
    let env = launch::environment(server, program, surroundings, Path::new(""));
    let data = launch::data_directory(server, surroundings);
    let directory = launch::working_directory((server, program), surroundings, &data);
    let args = launch::arguments((server, program), &surroundings.workspace);
    let line: Vec<String> = std::iter::once(program.command.clone()).chain(args).collect();
    let read = (surroundings.reader)(&line, &directory, surroundings.home.as_deref());
    let mut search = Search {
        path: env.get("PATH").cloned().unwrap_or_default(),
        home: surroundings.home.clone(),
        is_followed: read.is_followed,
        named: Vec::new(),
        looked: HashSet::new(),
        found: BTreeSet::new(),
    };
    search.program(&program.command, std::slice::from_ref(&surroundings.workspace));
    let given = program.env.keys().chain(&program.inherited).chain(&server.grants.env);
    let given: Vec<(&String, &String)> =
        given.filter(|name| *name != "PATH").filter_map(|name| env.get_key_value(name)).collect();
    // A word may be meant from a directory that is named behind it.
    for _ in 0..2 {
        let directory = std::slice::from_ref(&directory);
        for (name, value) in &given {
            search.variable(name, value, directory);
        }
        for word in &read.named {
            search.word(word, search.meant(false), directory);
        }
        for command in &read.commands {
            search.command(command);
        }
    }
    search.found
}

/// Goes through a command for the files that it runs. A file too many is asked about once more, one
/// too few could change unseen.
struct Search {
    /// Where programs are looked for.
    path: String,
    home: Option<PathBuf>,
    /// Whether the command is understood; else every file counts that a word names.
    is_followed: bool,
    /// Directories that words name, from which others may be meant, since many ways lead there.
    named: Vec<PathBuf>,
    /// What was looked at already.
    looked: HashSet<(PathBuf, Meant)>,
    found: BTreeSet<PathBuf>,
}

/// How a word is meant.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Meant {
    /// As a file that is run.
    Run,
    /// As anything: it counts where it can be run.
    Any,
}

impl Search {
    /// Notes the files that may stand for a program: a path as seen from directories, or what a search path
    /// leads to, which may be made of directories that were named.
    fn program(&mut self, program: &str, directories: &[PathBuf]) {
        let name = self.at_home(program);
        let paths: Vec<PathBuf> = if name.contains('/') {
            directories.iter().map(|directory| directory.join(&name)).collect()
        } else {
            let named = self.named.iter().map(|directory| directory.join(&name));
            let first = launch::resolved(&name, Path::new("/"), &self.path);
            first.into_iter().chain(named.filter(|it| launch::is_executable(it))).collect()
        };
        for path in paths.iter().filter_map(|path| path.canonicalize().ok()) {
            self.note(path);
        }
    }

    /// Notes a file, and what its first line says runs it.
    fn note(&mut self, path: PathBuf) {
        let directory = path.parent().unwrap_or(Path::new("/"));
        let behind =
            interpreter(&path).and_then(|name| launch::resolved(&name, directory, &self.path));
        self.found.extend(behind.and_then(|path| path.canonicalize().ok()));
        self.found.insert(path);
    }

    /// A word in which the home stands for itself.
    fn at_home(&self, word: &str) -> String {
        match (word.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest).to_string_lossy().into_owned(),
            _ => word.to_owned(),
        }
    }

    fn meant(&self, is_run: bool) -> Meant {
        if is_run || !self.is_followed { Meant::Run } else { Meant::Any }
    }

    /// Notes what a variable of the program names.
    fn variable(&mut self, name: &str, value: &str, directories: &[PathBuf]) {
        let meant = if LOADED.contains(&name) { Meant::Run } else { Meant::Any };
        for word in value.split_whitespace() {
            self.word(word, meant, directories);
        }
        if name == "PYTHONPATH" {
            for directory in value.split(':') {
                for file in ["sitecustomize.py", "usercustomize.py"] {
                    self.word(&format!("{directory}/{file}"), Meant::Run, directories);
                }
            }
        }
    }

    /// Notes what a word names, seen from directories: files that run, and a directory from which others may
    /// be meant.
    fn word(&mut self, word: &str, meant: Meant, directories: &[PathBuf]) {
        let directories = [directories, &self.named].concat();
        for name in names(word) {
            let Some((start, rest)) = name.split_once(UNKNOWN) else {
                self.look(&self.at_home(name), meant, &directories);
                continue;
            };
            if meant == Meant::Run {
                self.beginning(&self.at_home(start), &directories);
            }
            for part in rest.split(UNKNOWN) {
                self.look(part.trim_matches('/'), meant, &directories);
            }
        }
    }

    /// Notes what lies at a path, seen from each of some directories.
    fn look(&mut self, name: &str, meant: Meant, directories: &[PathBuf]) {
        if name.is_empty() {
            return;
        }
        for directory in directories {
            let path = directory.join(name);
            let is_new = !self.looked.contains(&(path.clone(), Meant::Run));
            if !is_new || !self.looked.insert((path.clone(), meant)) {
                continue;
            }
            let Ok(path) = path.canonicalize() else { continue };
            if !path.is_dir() {
                if meant == Meant::Run || can_run(&path) {
                    self.note(path);
                }
            } else if self.named.len() == MOST_DIRECTORIES {
                self.is_followed = false;
            } else if !self.named.contains(&path) {
                self.named.push(path);
            }
        }
    }

    /// Notes the files whose paths begin so: the rest is only known to a shell.
    fn beginning(&mut self, start: &str, directories: &[PathBuf]) {
        let (directory, start) = start.rsplit_once('/').unwrap_or(("", start));
        if directory.is_empty() && start.is_empty() {
            return;
        }
        let directories: BTreeSet<PathBuf> =
            directories.iter().map(|from| from.join(directory)).collect();
        for entries in directories.iter().filter_map(|directory| fs::read_dir(directory).ok()) {
            let begins = |entry: &DirEntry| entry.file_name().to_string_lossy().starts_with(start);
            let files = entries.flatten().filter(begins).take(MOST_FILES);
            let paths = files.filter_map(|file| file.path().canonicalize().ok());
            for path in paths.filter(|path| !path.is_dir()) {
                self.note(path);
            }
        }
    }

    /// Notes what a command runs.
    fn command(&mut self, command: &Command) {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        let Some(first) = words.first() else { return };
        let run = run(&words, command.stands);
        for (at, word) in words.iter().enumerate() {
            let may_be_program = match command.stands {
                Stands::First => at == 0,
                // A path may as well be something that it works on.
                Stands::Behind | Stands::Anywhere => !word.contains('/'),
            };
            if may_be_program {
                self.program(word, &command.directories);
            }
            self.word(word, self.meant(run.contains(&at)), &command.directories);
        }
        // One that is not known may take a text for a command.
        if command.stands != Stands::Anywhere && !is_known(&command_line::name(first)) {
            for text in words.iter().filter(|word| word.contains(char::is_whitespace)) {
                let words = text.split(|c: char| c.is_whitespace() || "'\"`;&|()<>".contains(c));
                let words = words.filter(|word| !word.is_empty()).map(str::to_owned).collect();
                let stands = Stands::Anywhere;
                self.command(&Command { words, stands, directories: command.directories.clone() });
            }
        }
    }
}

/// Which words of a command name files that are run, whatever they look like.
fn run(words: &[&str], stands: Stands) -> BTreeSet<usize> {
    let name = |at: usize| command_line::name(words[at]);
    let is_certain = stands == Stands::First && is_known(&name(0));
    let others = (1..words.len()).filter(|at| !is_certain && may_begin(words[*at]));
    let mut run = BTreeSet::new();
    for start in std::iter::once(0).chain(others).take(MOST_STARTS) {
        let files = given(&name(start), &words[start + 1..]).unwrap_or_default().files;
        run.extend(files.into_iter().map(|at| start + 1 + at));
    }
    // What an unknown program runs may be any word, up to one that is known to be it.
    if stands == Stands::Behind && !is_known(&name(0)) {
        let known = (1..words.len()).find(|at| may_begin(words[*at]) || words[at - 1] == "--");
        run.extend(0..known.map_or(words.len(), |at| at + 1));
    }
    run
}

/// What a word may name: all of it, the value of an option, or each part of a list of paths.
fn names(word: &str) -> Vec<&str> {
    let whole = match word.strip_prefix('-') {
        Some(option) if option.starts_with('-') => None,
        // A letter with its value.
        Some(_) => word.get(2..),
        None => Some(word),
    };
    let mut names: Vec<&str> = whole.into_iter().chain(word.split(['=', ':', ','])).collect();
    names.retain(|name| !name.is_empty() && !name.starts_with('-'));
    names.dedup();
    names
}

/// What the first line of a file says runs it: a path, or a name that `env` looks for.
fn interpreter(path: &Path) -> Option<String> {
    let mut start = Vec::new();
    opened(path).ok()?.take(LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = str::from_utf8(line).ok()?;
    let mut words = line.split_whitespace();
    let first = words.next()?;
    if first.rsplit('/').next() != Some("env") {
        return Some(first.to_owned());
    }
    // Options, and variables that it sets, stand before the name.
    let is_name = |word: &&str| !word.starts_with('-') && !word.contains('=');
    words
        .map(|word| word.strip_prefix("-S").filter(|rest| !rest.is_empty()).unwrap_or(word))
        .find(is_name)
        .map(str::to_owned)
}

/// Opens a file, and nothing else: a pipe would wait for somebody who writes.
fn opened(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Whether a file can be a part of the program, and not only something that it works on.
fn can_run(path: &Path) -> bool {
    let extension = path.extension().map(|it| it.to_string_lossy().to_lowercase());
    if extension.is_some_and(|it| SCRIPTS.contains(&it.as_str())) {
        return true;
    }
    let mut start = [0; 2];
    let begun = opened(path).and_then(|mut file| file.read_exact(&mut start));
    launch::is_executable(path) || (begun.is_ok() && start == *b"#!")
}

/// Whether a file is the system's or a package manager's: these change with every upgrade, by
/// somebody who could change everything else.
fn is_of_system(path: &Path) -> bool {
    let is_below =
        |directories: &[&str]| directories.iter().any(|directory| path.starts_with(directory));
    let is_of_root = || path.metadata().is_ok_and(|it| it.uid() == 0 && it.mode() & 0o022 == 0);
    is_below(&PACKAGES) || (is_below(&SYSTEM) && is_of_root())
}
