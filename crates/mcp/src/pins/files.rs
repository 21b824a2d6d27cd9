//! The files that a server's command line names: its program, and scripts among the arguments and
//! the words of their texts. Data files do not count: they change all the time. Files that a script
//! loads, and those that a shell finds by a variable, a pattern or `cd`, are not seen.

use std::fs;
use std::io::{self, Read as _};
use std::iter;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ::files::bounded::open;

use super::Files;
use crate::config::{Program, Scope, Server, Transport};
use crate::launch::{Launch, LaunchSettings, is_executable};

const SCRIPTS: [&str; 16] = [
    "bash", "cjs", "cts", "jar", "js", "lua", "mjs", "mts", "php", "pl", "py", "pyz", "rb", "sh",
    "ts", "wasm",
];
/// Programs whose first argument is a script, whatever its name.
const INTERPRETERS: [&str; 10] =
    ["bash", "bun", "deno", "node", "perl", "php", "python", "python3", "ruby", "sh"];
/// Directories of the system: their files belong to packages if only root can write them.
const SYSTEM: [&str; 9] =
    ["/bin", "/lib", "/lib64", "/opt", "/sbin", "/snap", "/usr", "/Library", "/System"];
/// Directories of package managers, of any owner.
const PACKAGES: [&str; 5] = [
    "/gnu/store",
    "/home/linuxbrew/.linuxbrew",
    "/nix/store",
    "/opt/homebrew",
    "/usr/local/Cellar",
];
/// The largest file that is read. A larger one is identified by its size and its last change.
const MAX_HASHED: u64 = 1 << 30;

/// The files that a server's command line names, with their hashes. Of servers that are not the
/// user's own, only files in the workspace count. Reads all of them.
pub(crate) fn files(server: &Server, settings: &LaunchSettings) -> Files {
    let Transport::Stdio(program) = &server.transport else { return Files::new() };
    let workspace = fs::canonicalize(&settings.workspace);
    let counts = |path: &PathBuf| {
        let is_inside = workspace.as_ref().is_ok_and(|root| path.starts_with(root));
        is_inside || (server.scope == Scope::User && !is_of_system(path))
    };
    let named = named(program, &Launch::new(server, program, settings)).into_iter().filter(counts);
    // A file that cannot be read is another one than it was.
    let hash = |path: &Path| hash(path).unwrap_or_else(|_| "unreadable".to_owned());
    named.map(|path| (path.display().to_string(), hash(&path))).collect()
}

/// The program and the scripts, by their real paths.
fn named(program: &Program, launch: &Launch<'_>) -> Vec<PathBuf> {
    let directory = launch.working_directory();
    let name = program.command.rsplit('/').next().unwrap_or_default();
    let words = launch.arguments().into_iter().enumerate().flat_map(|(at, word)| {
        // The text of `sh -c` names scripts as well.
        let inner = shlex::split(&word).unwrap_or_default();
        iter::once(word).chain(inner).map(move |word| (at, word))
    });
    let scripts = words.filter_map(|(at, word)| {
        // The value of an option may be a script as well.
        let word = word.rsplit('=').next().unwrap_or(&word).trim_matches([';', '&', '|', '(', ')']);
        let path = directory.join(word).canonicalize().ok()?;
        let is_script = (at == 0 && INTERPRETERS.contains(&name)) || can_run(&path);
        is_script.then_some(path)
    });
    let file = launch.program_file().and_then(|path| path.canonicalize().ok());
    file.into_iter().chain(scripts).filter(|path| path.is_file()).collect()
}

fn hash(path: &Path) -> io::Result<String> {
    let file = open(path)?;
    let about = file.metadata()?;
    if about.size() > MAX_HASHED {
        let (size, changed) = (about.size(), (about.ctime(), about.ctime_nsec()));
        return Ok(format!("not read: {size} bytes, changed {changed:?}"));
    }
    let mut hasher = blake3::Hasher::new();
    // It may grow while it is read.
    hasher.update_reader(file.take(MAX_HASHED))?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// Returns true if a file is a script or a program, by its name, mode or first line.
fn can_run(path: &Path) -> bool {
    let extension = path.extension().map(|it| it.to_string_lossy().to_lowercase());
    if extension.is_some_and(|it| SCRIPTS.contains(&it.as_str())) {
        return true;
    }
    let mut start = [0; 2];
    let read = open(path).and_then(|mut file| file.read_exact(&mut start));
    is_executable(path) || (read.is_ok() && start == *b"#!")
}

/// Returns true if a file belongs to the system or a package manager: it changes with upgrades, made
/// by somebody who could change everything else.
fn is_of_system(path: &Path) -> bool {
    let is_below = |directories: &[&str]| directories.iter().any(|it| path.starts_with(it));
    let is_of_root = || path.metadata().is_ok_and(|it| it.uid() == 0 && it.mode() & 0o022 == 0);
    is_below(&PACKAGES) || (is_below(&SYSTEM) && is_of_root())
}
