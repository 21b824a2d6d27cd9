//! The files of a workspace that its command lines name literally: `FILE ARGS` and
//! `interpreter FILE ARGS`. Whatever those files start is not searched for; it runs in the sandbox.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use files::path::normalize;

use super::{CoveredFile, Entry, Kind};
use crate::command_lines::{Start, command_lines};
use crate::program::Program;

const INTERPRETERS: [&str; 13] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "node", "ruby", "perl", "php",
    "lua",
];

/// Variables that name a directory which relative paths are looked up in anyway.
const DIRECTORIES: [&str; 3] = ["CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "BRYNHILD_CWD"];

/// Characters by which a shell does more than start one program.
const METACHARACTERS: &str = "$`|&;<>(){}[]*?~!#\n\\=";

pub(crate) fn covered(root: &Path, entries: &[Entry], program: &Program) -> BTreeSet<CoveredFile> {
    let mut parts = BTreeSet::new();
    for (entry, _, start) in starts(entries, program) {
        parts.extend(files(root, &entry.part.path, &start));
    }
    parts
}

/// The command lines of `entries` that run more than trust can see, each with its file.
pub(crate) fn uncovered(
    root: &Path,
    entries: &[Entry],
    program: &Program,
) -> Vec<(String, String)> {
    let is_uncovered = |entry: &Entry, start: &Start| {
        let (script, is_literal) = script(start);
        !is_literal || script.is_none() || files(root, &entry.part.path, start).is_empty()
    };
    let starts = starts(entries, program).filter(|(entry, _, start)| is_uncovered(entry, start));
    starts.map(|(entry, shown, _)| (entry.part.path.clone(), shown)).collect()
}

fn starts<'a>(
    entries: &'a [Entry],
    program: &Program,
) -> impl Iterator<Item = (&'a Entry, String, Start)> {
    let files =
        entries.iter().filter(|entry| entry.part.kind == Kind::File && !entry.part.is_named);
    files.flat_map(|entry| {
        let lines = command_lines(&entry.part.path, &entry.bytes, program);
        lines.into_iter().filter_map(move |line| Some((entry, line.shown, line.start?)))
    })
}

/// The program or script that a command line names, and false if the line does more than run it.
fn script(start: &Start) -> (Option<String>, bool) {
    match start {
        Start::File(path) => (Some(path.clone()), true),
        Start::Words { words, .. } => (first_file(words), true),
        Start::Shell(text) => {
            let text = DIRECTORIES.iter().fold(text.clone(), |text, name| {
                text.replace(&format!("${{{name}}}"), ".").replace(&format!("${name}"), ".")
            });
            let end = text.find(|c| METACHARACTERS.contains(c));
            let literal = match end {
                None => text.as_str(),
                // The word that the character is a part of is not literal.
                Some(end) => text[..end].rfind(char::is_whitespace).map_or("", |end| &text[..end]),
            };
            (shlex::split(literal).and_then(|words| first_file(&words)), end.is_none())
        }
    }
}

fn first_file(words: &[String]) -> Option<String> {
    let program = words.first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    if INTERPRETERS.contains(&name) {
        return words.get(1).filter(|word| !word.starts_with('-')).cloned();
    }
    program.contains('/').then(|| program.clone())
}

/// The file that a command line of `source` names, with the symlinks on the way to it.
fn files(root: &Path, source: &str, start: &Start) -> Vec<CoveredFile> {
    let (Some(script), _) = script(start) else { return Vec::new() };
    let mut directories = vec![root.to_owned()];
    if let Start::Words { directory: Some(directory), .. } = start {
        directories.push(root.join(directory));
    }
    // A plugin's command lines are relative to the plugin, a file's to its directory.
    directories.extend(root.join(source).parent().map(Path::to_owned));
    if source.starts_with(".brynhild/plugins/") {
        let plugin: PathBuf = Path::new(source).components().take(3).collect();
        directories.push(root.join(plugin));
    }
    let mut parts = Vec::new();
    for directory in directories {
        let path = normalize(&directory.join(&script));
        parts.extend(resolved(root, &path).into_iter().flatten());
    }
    parts
}

fn resolved(root: &Path, path: &Path) -> Option<Vec<CoveredFile>> {
    let within = path.strip_prefix(root).ok()?;
    let real = path.canonicalize().ok().filter(|real| real.is_file())?;
    let part = |path: &Path, kind| {
        let path = path.strip_prefix(root).ok()?.to_str()?.to_owned();
        Some(CoveredFile { path, kind, is_named: true })
    };
    let mut parts: Vec<CoveredFile> = part(&real, Kind::File).into_iter().collect();
    let mut place = root.to_owned();
    for name in within.components() {
        place.push(name);
        if place.is_symlink() {
            parts.extend(part(&place, Kind::Link));
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_of_a_shell_line_is_found_and_the_rest_flagged() {
        for (line, script_name, is_literal) in [
            ("./a.sh x", Some("./a.sh"), true),
            ("python3 tools/x.py 'two words'", Some("tools/x.py"), true),
            ("\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/x.sh", Some("./.claude/hooks/x.sh"), true),
            ("./a.sh >> hook.log", Some("./a.sh"), false),
            ("cd t && ./a.sh", None, false),
            ("make lint", None, true),
            ("python3 -m x", None, true),
            ("A=1 ./a.sh", None, false),
            ("'open", None, true),
        ] {
            let found = script(&Start::Shell(line.to_owned()));
            assert_eq!(found, (script_name.map(str::to_owned), is_literal), "{line}");
        }
    }
}
