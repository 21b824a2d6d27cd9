//! The files that a server's command runs. What a server works on is none of them: that changes all
//! the time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::Files;
use crate::config::shell::{self, Behind};
use crate::config::{Program, Scope, Server};
use crate::launch::{self, Surroundings};

/// Programs that run the file which they are given first.
const INTERPRETERS: [&str; 16] = [
    "bash", "bun", "deno", "java", "lua", "node", "perl", "php", "pypy", "python", "ruby", "sh",
    "ts-node", "tsx", "uv", "zsh",
];
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
/// How deep commands within commands are looked at.
const DEPTH: usize = 8;

/// The files that a server's command runs. Of servers that are not the person's own only those in
/// the workspace count: the rest is judged where these come from. Reads all of them.
pub(crate) fn files(server: &Server, program: &Program, surroundings: &Surroundings) -> Files {
    let root = fs::canonicalize(&surroundings.workspace);
    let mut search =
        Search { path: launch::search_path(server, program, surroundings), found: Vec::new() };
    let args: Vec<&str> = program.args.iter().map(String::as_str).collect();
    let folder = launch::working_folder(program, surroundings);
    search.program(&program.command, &surroundings.workspace);
    search.arguments(&program.command, &args, &folder, DEPTH);
    let counts = |path: &PathBuf| {
        let is_inside = root.as_ref().is_ok_and(|root| path.starts_with(root));
        path.is_file() && (is_inside || (server.scope == Scope::User && !is_of_system(path)))
    };
    // What cannot be read now is not what was read before.
    let hashed = |path: &PathBuf| hash(path).unwrap_or_else(|_| "unreadable".to_owned());
    let run = search.found.into_iter().filter(counts);
    run.map(|path| (path.display().to_string(), hashed(&path))).collect()
}

/// Goes through a command for the files that it runs.
struct Search {
    /// Where programs are looked for.
    path: String,
    found: Vec<PathBuf>,
}

impl Search {
    /// Notes the file that stands for a program, as seen from a folder.
    fn program(&mut self, program: &str, folder: &Path) {
        let file = launch::resolved(program, folder, &self.path);
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
        self.found.push(path);
    }

    /// Notes what a program would run of its arguments.
    fn arguments(&mut self, program: &str, args: &[&str], folder: &Path, depth: usize) {
        let name = shell::name(program);
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let mut is_run_next = INTERPRETERS.contains(&plain);
        for word in args.iter().filter(|word| !word.starts_with('-')) {
            let Ok(path) = folder.join(word).canonicalize() else { continue };
            if std::mem::take(&mut is_run_next) || can_run(&path) {
                self.note(path);
            }
        }
        let Some(depth) = depth.checked_sub(1) else { return };
        match shell::behind(&name, args) {
            Some(Behind::Command(words)) => self.command(words, folder, depth),
            Some(Behind::Script(script)) => self.script(script, folder, depth),
            None => {}
        }
    }

    fn command(&mut self, words: &[&str], folder: &Path, depth: usize) {
        if let Some((program, args)) = words.split_first() {
            self.program(program, folder);
            self.arguments(program, args, folder, depth);
        }
    }

    fn script(&mut self, script: &str, folder: &Path, depth: usize) {
        let mut folder = folder.to_owned();
        for command in shell::commands(script) {
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            match words.as_slice() {
                ["cd", place] | ["cd", "--", place] => folder.push(place),
                words => self.command(words, &folder, depth),
            }
        }
    }
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

fn hash(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(opened(path)?)?;
    Ok(hasher.finalize().to_hex().to_string())
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
