//! The files that a server's command runs, and what they held when the person agreed to them. They
//! can change without its description changing. What a server works on is none of them: that
//! changes all the time.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::catalog;
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

/// Paths of files with their hashes.
pub(crate) type Files = BTreeMap<String, String>;

/// What a person agreed to.
#[derive(Default, PartialEq, Serialize, Deserialize)]
struct Agreed {
    /// The description with which they did.
    description: String,
    files: Files,
}

/// The file that keeps what was agreed to for one server, however its description changes.
pub(crate) struct Pins {
    path: PathBuf,
    description: String,
}

impl Pins {
    /// Those of a server whose name for tools is `prefix`.
    pub(crate) fn new(folder: &Path, prefix: &str, server: &Server) -> Self {
        let identity = serde_json::json!([server.scope.label(), server.name]);
        let name = format!("{prefix}-{}.files", catalog::digest(&identity));
        Self { path: folder.join(name), description: server.digest.clone() }
    }

    fn read(&self) -> Option<Agreed> {
        serde_json::from_slice(&fs::read(&self.path).ok()?).ok()
    }

    /// The files that are other than those agreed to. Where the person has described the server
    /// otherwise, files that were never run are agreed to by that.
    pub(crate) fn other(&self, files: &Files) -> Vec<String> {
        let Some(agreed) = self.read() else { return Vec::new() };
        let is_other = |(path, hash): &(&String, &String)| match agreed.files.get(*path) {
            Some(known) => known != *hash,
            None => agreed.description == self.description,
        };
        files.iter().filter(is_other).map(|(path, _)| path.clone()).collect()
    }

    /// Agrees to files.
    pub(crate) fn agree(&self, files: &Files) -> io::Result<()> {
        let before = self.read();
        let mut files = files.clone();
        for (path, hash) in before.iter().flat_map(|before| &before.files) {
            files.entry(path.clone()).or_insert_with(|| hash.clone());
        }
        let agreed = Agreed { description: self.description.clone(), files };
        if before.as_ref() == Some(&agreed) {
            return Ok(());
        }
        catalog::replace(&self.path, &serde_json::to_vec(&agreed)?)
    }
}

/// The files that a server's command runs. Of servers that are not the person's own only those in
/// the workspace count: the rest is judged where these come from.
pub(crate) fn files(server: &Server, program: &Program, surroundings: &Surroundings) -> Files {
    let root = fs::canonicalize(&surroundings.workspace);
    let command = launch::resolved(server, program, surroundings);
    let name = program.command.rsplit('/').next().unwrap_or_default();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let mut is_run_next = INTERPRETERS.contains(&name);
    let arguments = program.args.iter().filter(|word| !word.starts_with('-'));
    let arguments = arguments.filter_map(|word| {
        let path = surroundings.workspace.join(word).canonicalize().ok()?;
        let is_run = std::mem::take(&mut is_run_next) || can_run(&path);
        is_run.then_some(path)
    });
    let run = command.and_then(|path| path.canonicalize().ok()).into_iter().chain(arguments);
    let counts = |path: &PathBuf| {
        let is_inside = root.as_ref().is_ok_and(|root| path.starts_with(root));
        path.is_file() && (is_inside || (server.scope == Scope::User && !is_of_system(path)))
    };
    let hashed = |path: PathBuf| Some((path.display().to_string(), hash(&path).ok()?));
    run.filter(counts).filter_map(hashed).collect()
}

fn hash(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path)?)?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// Whether a file can be a part of the program, and not only something that it works on.
fn can_run(path: &Path) -> bool {
    let extension = path.extension().map(|it| it.to_string_lossy().to_lowercase());
    if extension.is_some_and(|it| SCRIPTS.contains(&it.as_str())) {
        return true;
    }
    let mut start = [0; 2];
    let begun = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    launch::is_executable(path) || (begun.is_ok() && start == *b"#!")
}

/// Whether a file is the system's or a package manager's: these change with every upgrade, by
/// somebody who could change everything else.
fn is_of_system(path: &Path) -> bool {
    let is_below = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    let is_of_root = || path.metadata().is_ok_and(|it| it.uid() == 0 && it.mode() & 0o022 == 0);
    is_below(&PACKAGES) || (is_below(&SYSTEM) && is_of_root())
}

#[cfg(test)]
mod tests;
