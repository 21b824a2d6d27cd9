//! The files that a server's command runs. What a server works on is none of them: that changes all
//! the time.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::{Files, Hashes};
use crate::config::shell::{self, Behind, DEPTH, Script, interpreters};
use crate::config::{Program, Scope, Server};
use crate::launch::{self, Surroundings};

/// The endings of files that are run.
const SCRIPTS: [&str; 16] = [
    "bash", "cjs", "cts", "jar", "js", "lua", "mjs", "mts", "php", "pl", "py", "pyz", "rb", "sh",
    "ts", "wasm",
];
/// Folders of the system, whose files are its packages' where nobody but root can write them.
const SYSTEM: [&str; 9] =
    ["/bin", "/lib", "/lib64", "/opt", "/sbin", "/snap", "/usr", "/Library", "/System"];
/// Folders that a package manager fills, whoever owns them.
const PACKAGES: [&str; 5] = [
    "/gnu/store",
    "/home/linuxbrew/.linuxbrew",
    "/nix/store",
    "/opt/homebrew",
    "/usr/local/Cellar",
];
/// The kernel reads no more of a first line.
const LINE: u64 = 256;

/// The files that a server's command runs. Of servers that are not the person's own only those in
/// the workspace count: the rest is judged where these come from. Reads all of them.
pub(crate) fn files(
    server: &Server,
    program: &Program,
    surroundings: &Surroundings,
    hashes: &Hashes,
) -> Files {
    let root = fs::canonicalize(&surroundings.workspace);
    let mut search = Search {
        path: launch::search_path(server, program, surroundings),
        home: surroundings.home.clone(),
        folders: vec![launch::working_folder(program, surroundings)],
        found: BTreeSet::new(),
    };
    let args: Vec<&str> = program.args.iter().map(String::as_str).collect();
    search.program(&program.command, &surroundings.workspace);
    search.arguments(&program.command, &args, DEPTH);
    let counts = |path: &PathBuf| {
        let is_inside = root.as_ref().is_ok_and(|root| path.starts_with(root));
        path.is_file() && (is_inside || (server.scope == Scope::User && !is_of_system(path)))
    };
    // What cannot be read now is not what was read before.
    let read = |path: &PathBuf| opened(path).and_then(|file| hashes.of(path, &file));
    let content = |path: &PathBuf| read(path).unwrap_or_else(|_| "unreadable".to_owned());
    let run = search.found.into_iter().filter(counts);
    run.map(|path| (path.display().to_string(), content(&path))).collect()
}

/// Goes through a command for the files that it runs. A file too many is asked about once more, one
/// too few could change unseen.
struct Search {
    /// Where programs are looked for.
    path: String,
    home: Option<PathBuf>,
    /// Where words may be meant from: where the program runs, and each folder that a word before
    /// them has named, since many ways lead there.
    folders: Vec<PathBuf>,
    found: BTreeSet<PathBuf>,
}

/// How a word is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meant {
    /// As a file that is run.
    Run,
    /// As anything: it counts where it can be run.
    Any,
}

impl Search {
    /// Notes the file that stands for a program, as seen from a folder.
    fn program(&mut self, program: &str, folder: &Path) {
        let file = launch::resolved(&self.at_home(program), folder, &self.path);
        if let Some(path) = file.and_then(|path| path.canonicalize().ok()) {
            self.note(path);
        }
    }

    /// Notes a file, and what its first line says runs it.
    fn note(&mut self, path: PathBuf) {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let behind =
            interpreter(&path).and_then(|name| launch::resolved(&name, folder, &self.path));
        self.found.extend(behind.and_then(|path| path.canonicalize().ok()));
        self.found.insert(path);
    }

    /// A word in which a shell would put the home.
    fn at_home(&self, word: &str) -> String {
        let rest = ["~/", "$HOME/"].iter().find_map(|start| word.strip_prefix(start));
        match (rest, &self.home) {
            (Some(rest), Some(home)) => home.join(rest).to_string_lossy().into_owned(),
            _ => word.to_owned(),
        }
    }

    /// Notes what a word names: files that run, and a folder from which the next may be meant.
    fn word(&mut self, word: &str, meant: Meant) {
        for name in names(word) {
            let name = self.at_home(name);
            let paths = self.folders.iter().map(|folder| folder.join(&name).canonicalize());
            for path in paths.filter_map(Result::ok).collect::<Vec<_>>() {
                if path.is_dir() {
                    if !self.folders.contains(&path) {
                        self.folders.push(path);
                    }
                } else if meant == Meant::Run || can_run(&path) {
                    self.note(path);
                }
            }
        }
    }

    /// Notes what a program would run of its arguments.
    fn arguments(&mut self, program: &str, args: &[&str], depth: usize) {
        let name = shell::name(program);
        let given = interpreters::given(&name, args);
        let behind = shell::behind(&name, args);
        for (at, word) in args.iter().enumerate() {
            let is_run = given.files.contains(&at) || behind == Some(Behind::Unclear);
            self.word(word, if is_run { Meant::Run } else { Meant::Any });
        }
        let Some(depth) = depth.checked_sub(1) else { return };
        if let Some(words) = given.command.and_then(|at| args.get(at..)) {
            self.command(words, depth);
        }
        match behind {
            Some(Behind::Command(words)) => {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                self.command(&words, depth);
            }
            Some(Behind::Script(script)) => self.script(&script, depth),
            Some(Behind::Unclear) | None => {}
        }
    }

    fn command(&mut self, words: &[&str], depth: usize) {
        let Some((program, args)) = words.split_first() else { return };
        for folder in self.folders.clone() {
            self.program(program, &folder);
        }
        // A search path may have been given to it.
        if !program.contains('/') {
            let places = self.folders.iter().skip(1).map(|folder| folder.join(program));
            let files = places.filter(|place| launch::is_executable(place));
            for path in files.filter_map(|it| it.canonicalize().ok()).collect::<Vec<_>>() {
                self.note(path);
            }
        }
        self.arguments(program, args, depth);
    }

    fn script(&mut self, text: &str, depth: usize) {
        let script = Script::read(text);
        for command in &script.commands {
            for setting in &command.settings {
                self.word(setting, Meant::Any);
            }
            let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
            self.command(&words, depth);
        }
        if !script.is_whole {
            let is_between = |c: char| c.is_whitespace() || "'\"`;&|()<>".contains(c);
            for word in text.split(is_between).filter(|word| !word.is_empty()) {
                self.word(word, Meant::Run);
            }
        }
    }
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
    let is_below = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    let is_of_root = || path.metadata().is_ok_and(|it| it.uid() == 0 && it.mode() & 0o022 == 0);
    is_below(&PACKAGES) || (is_below(&SYSTEM) && is_of_root())
}
