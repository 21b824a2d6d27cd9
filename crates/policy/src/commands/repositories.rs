//! The repositories that git would work on, or speak with, where a rule allows it: what these name runs as well,
//! and a project may bring one along as ordinary files.

use std::path::{Path, PathBuf};

use crate::call::Call;
use crate::ground::Look;
use crate::shell::{Cwd, Word, base_name, wrappers};

/// Subcommands whose words may name another repository.
const SPEAKING: &[&str] = &["push", "fetch", "pull", "clone", "ls-remote"];

/// Fails where git, in these folders and with these words, would run what a repository names; apart from
/// words of which `is_spelled` says that a rule has them.
pub(super) fn start_nothing(
    call: &Call<'_>,
    argv: &[Word],
    cwd: &Cwd,
    is_spelled: &dyn Fn(usize) -> bool,
) -> Result<(), String> {
    let Some(ground) = call.ground.look() else { return Ok(()) };
    let is_wrapped = || wrappers::find(base_name(&argv[0].text)).is_some();
    let git = argv.iter().position(|word| base_name(&word.text) == "git");
    let Some(git) = git.filter(|at| *at == 0 || is_wrapped()) else { return Ok(()) };
    let (subcommand, named) = begun(&argv[git + 1..]);
    // The first folder that it is told may have been gone to already.
    let whole: PathBuf = named.iter().collect();
    let behind: PathBuf = named.iter().skip(1).collect();
    let folders = cwd.folders.iter().flat_map(|it| [it.join(&whole), it.join(&behind)]);
    let folders: Vec<PathBuf> =
        folders.filter(|it| named.is_empty() || ground.real(it).is_some()).collect();
    for folder in &folders {
        if let Some(what) = ground.git_runs(folder).or_else(|| brought(ground, folder)) {
            return Err(format!("git would run what the repository names: {what}"));
        }
    }
    let behind = argv.iter().enumerate().skip(git + 1 + subcommand);
    let mut words = behind.filter(|(at, _)| !is_spelled(*at)).map(|(_, word)| word);
    let is_other = |word: &&Word| word.glob || is_there(ground, &folders, &word.text);
    match words.find(|it| speaks(&argv[git + 1 + subcommand..]) && is_other(it)) {
        Some(word) => Err(format!("git would run what the repository `{}` names", word.text)),
        None => Ok(()),
    }
}

/// Where the subcommand stands among the arguments of git, and the folders that it goes to before.
fn begun(args: &[Word]) -> (usize, Vec<&str>) {
    let (mut at, mut folders) = (0, Vec::new());
    while let Some(word) = args.get(at).filter(|word| word.text.starts_with('-')) {
        let takes_next = ["-C", "-c"].contains(&word.text.as_str());
        let folder = args.get(at + 1).filter(|_| word.text == "-C");
        folders.extend(folder.map(|it| it.text.as_str()));
        at += if takes_next { 2 } else { 1 };
    }
    (at.min(args.len()), folders)
}

/// Whether a subcommand may get the place of a repository.
fn speaks(args: &[Word]) -> bool {
    let Some((subcommand, rest)) = args.split_first() else { return false };
    let sets = || rest.iter().any(|word| ["add", "set-url"].contains(&word.text.as_str()));
    match subcommand.text.as_str() {
        "remote" | "submodule" => sets(),
        name => SPEAKING.contains(&name),
    }
}

/// What makes a folder that is no `.git` the repository that git finds first on its way up.
fn brought(ground: &dyn Look, folder: &Path) -> Option<String> {
    let is_there = |path: PathBuf| ground.real(&path).is_some();
    for around in folder.ancestors() {
        if is_there(around.join(".git")) {
            return None;
        }
        if is_there(around.join("HEAD")) {
            return Some(format!("{} is one with hooks of its own", around.display()));
        }
    }
    None
}

/// Whether a word, or the value of an option, is a repository on this machine. This one has been looked at.
fn is_there(ground: &dyn Look, folders: &[PathBuf], word: &str) -> bool {
    let value =
        if word.starts_with("--") { word.split_once('=').map(|it| it.1) } else { Some(word) };
    let Some(value) = value.filter(|it| !it.is_empty() && !it.starts_with('-') && *it != ".")
    else {
        return false;
    };
    let path = value.strip_prefix("file://").unwrap_or(value);
    let is_real = |path: &Path| ground.real(path).is_some();
    folders.iter().any(|folder| {
        // git adds the ending where it has to.
        [folder.join(path), folder.join(format!("{path}.git"))].iter().any(|it| {
            let holds = |name: &str| is_real(&it.join(name));
            (path.contains(['/', '.']) && is_real(it)) || holds("HEAD") || holds(".git")
        })
    })
}
