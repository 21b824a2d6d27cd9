//! The files of a workspace that its command lines would run: those that they name, and those that
//! these name in turn. Trust covers them, wherever they lie. Only reads, and runs nothing; a name too
//! many makes trust asked for once more, one too few would let a change pass.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use contract::text::normalize;

use super::command_lines::command_lines;
use super::snapshot::{Entry, Kind};
use super::surfaces::Effect;

const MOST_FILES: usize = 500;
const MOST_BYTES: u64 = 1 << 20;
const MOST_WORDS: usize = 20_000;

/// Endings of what interpreters run.
const ENDINGS: [&str; 20] = [
    "sh", "bash", "zsh", "fish", "ksh", "py", "pyw", "js", "mjs", "cjs", "ts", "mts", "rb", "pl",
    "pm", "php", "lua", "ps1", "awk", "tcl",
];

/// Programs that run what a file of a fixed name says.
const RUNNERS: [(&[&str], &[&str]); 3] = [
    (&["make", "gmake"], &["Makefile", "makefile", "GNUmakefile"]),
    (&["npm", "npx", "yarn", "pnpm", "bun"], &["package.json"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
];

/// How a file came to be named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// By a command line: whatever it is, something reads it.
    CommandLine,
    /// By a script: it counts if it could run.
    Script,
}

/// The files that `entries` name and that lie beneath `root`, from there, without those that are
/// entries themselves.
pub(crate) fn named(root: &Path, entries: &[Entry]) -> Result<Vec<String>, String> {
    let known: BTreeSet<&str> = entries.iter().map(|entry| entry.part.path.as_str()).collect();
    let mut found: BTreeSet<PathBuf> = BTreeSet::new();
    let mut left: VecDeque<(PathBuf, String)> = VecDeque::new();
    let mut search = Search { root, found: &mut found, left: &mut left };
    for entry in entries.iter().filter(|entry| entry.part.kind == Kind::File) {
        let folder = root.join(&entry.part.path);
        let folder = folder.parent().unwrap_or(root);
        for line in command_lines(&entry.part.path, &entry.bytes) {
            search.take(&line, folder, By::CommandLine);
        }
        let is_script = entry.part.effect() == Effect::Runs && !is_data(&entry.part.path);
        if is_script && entry.bytes.len() as u64 <= MOST_BYTES {
            search.take(&String::from_utf8_lossy(&entry.bytes), folder, By::Script);
        }
    }
    while let Some((folder, text)) = left.pop_front() {
        if found.len() > MOST_FILES {
            return Err(format!("its command lines lead to more than {MOST_FILES} files"));
        }
        let mut search = Search { root, found: &mut found, left: &mut left };
        search.take(&text, &folder, By::Script);
    }
    let paths = found.iter().filter_map(|path| path.strip_prefix(root).ok()?.to_str());
    Ok(paths.filter(|path| !known.contains(path)).map(str::to_owned).collect())
}

struct Search<'a> {
    root: &'a Path,
    found: &'a mut BTreeSet<PathBuf>,
    /// Texts that are still to be looked at, with the folders that they lie in.
    left: &'a mut VecDeque<(PathBuf, String)>,
}

impl Search<'_> {
    /// Looks for names of files in a text.
    fn take(&mut self, text: &str, folder: &Path, by: By) {
        for word in words(text).into_iter().take(MOST_WORDS) {
            for base in [folder, self.root] {
                let runs = RUNNERS.iter().filter(|(names, _)| names.contains(&word.as_str()));
                for file in runs.flat_map(|(_, files)| files.iter()) {
                    self.note(&self.root.join(file), By::CommandLine);
                }
                let Some(path) = self.within(base, &word) else { continue };
                self.note(&path, by);
                if by == By::Script {
                    self.note_module(base, &word);
                }
            }
        }
    }

    /// What a language takes a name without an ending for.
    fn note_module(&mut self, base: &Path, word: &str) {
        let names = [word.to_owned(), word.trim_start_matches('.').replace('.', "/")];
        for name in names.iter().filter(|name| !name.is_empty()) {
            let Some(path) = self.within(base, name) else { continue };
            for ending in ENDINGS {
                let mut file = path.clone().into_os_string();
                file.push(format!(".{ending}"));
                self.note(Path::new(&file), By::Script);
            }
            for inner in ["__init__.py", "__main__.py", "index.js", "index.ts"] {
                self.note(&path.join(inner), By::Script);
            }
        }
    }

    /// A word as a path beneath the root.
    fn within(&self, base: &Path, word: &str) -> Option<PathBuf> {
        let path = normalize(&base.join(word));
        (path.starts_with(self.root) && path != self.root).then_some(path)
    }

    fn note(&mut self, path: &Path, by: By) {
        // A link that leads elsewhere later names another file then.
        let Ok(path) = fs::canonicalize(path) else { return };
        let Ok(found) = fs::metadata(&path) else { return };
        if !found.is_file() || !path.starts_with(self.root) || self.found.contains(&path) {
            return;
        }
        let is_small = found.len() <= MOST_BYTES;
        let bytes = if is_small { fs::read(&path).unwrap_or_default() } else { Vec::new() };
        let could_run = found.permissions().mode() & 0o111 != 0
            || path.extension().is_some_and(|it| ENDINGS.iter().any(|ending| it == *ending))
            || bytes.starts_with(b"#!");
        if by == By::Script && !could_run {
            return;
        }
        let folder = path.parent().unwrap_or(self.root).to_owned();
        self.left.push_back((folder, String::from_utf8_lossy(&bytes).into_owned()));
        self.found.insert(path);
    }
}

fn is_data(path: &str) -> bool {
    [".yaml", ".yml", ".json"].iter().any(|ending| path.ends_with(ending))
}

/// Words that could be paths, each once. What output is sent to is none.
fn words(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for quote in ['\'', '"'] {
        words.extend(text.split(quote).skip(1).step_by(2).filter(|it| it.len() < 1024).map(plain));
    }
    let is_end = |c: char| c.is_whitespace() || "'\"`;|&()<>=,[]{}".contains(c);
    let mut start = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| is_end(*c)).chain([(text.len(), ' ')]) {
        let before = text[..start].trim_end_matches(|c: char| c.is_whitespace() || c == '"');
        if start < at && !before.ends_with('>') {
            let word = &text[start..at];
            // What follows a variable in braces lies in the folder that it names.
            let is_below = before.ends_with('}');
            words.insert(plain(if is_below { word.trim_start_matches('/') } else { word }));
        }
        start = at + c.len_utf8();
        if at == text.len() {
            break;
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A word without the variable that stands for the project's folder.
fn plain(word: &str) -> String {
    let rest = word.trim().trim_end_matches([':', '.']);
    let rest = match rest.strip_prefix('$').and_then(|rest| rest.split_once('/')) {
        Some((_, rest)) => rest,
        None => rest,
    };
    rest.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::snapshot::Snapshot;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn paths(root: &Path) -> Vec<String> {
        let snapshot = Snapshot::read(root).unwrap();
        let named = snapshot.entries.iter().filter(|entry| entry.part.is_named);
        named.map(|entry| entry.part.path.clone()).collect()
    }

    #[test]
    fn what_command_lines_name_counts_and_what_that_names_in_turn() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let hooks = "hooks:\n  a:\n    - {command: './h.sh >> hooks.log'}\n    - {script: ../h2.py}\n\
                     \x20   - {command: 'make check'}\n";
        write(&root, ".brynhild/hooks.yaml", hooks);
        let servers = format!(
            r#"{{"mcpServers": {{"a": {{"command": "node", "args": ["{}/m.js", "${{X}}/conf.json", "two words"]}}}}}}"#,
            root.display()
        );
        write(&root, ".mcp.json", &servers);
        for (path, text) in [
            ("h.sh", "#!/bin/sh\n. ./lib/common.sh; cat notes.txt src/main.rs\n"),
            ("lib/common.sh", "python3 -m tool.deep\n"),
            ("tool/deep.py", "import helper\n"),
            ("tool/helper.py", ""),
            ("h2.py", "from package import x\n"),
            ("package/__init__.py", ""),
            ("m.js", "require('./side')"),
            ("side.js", ""),
            ("conf.json", "{}"),
            ("two words", ""),
            ("Makefile", "check:\n"),
            ("hooks.log", "x"),
            ("notes.txt", "x"),
            ("src/main.rs", ""),
            ("other.sh", ""),
        ] {
            write(&root, path, text);
        }
        let wanted = [
            "Makefile",
            "conf.json",
            "h.sh",
            "h2.py",
            "lib/common.sh",
            "m.js",
            "package/__init__.py",
            "side.js",
            "tool/deep.py",
            "tool/helper.py",
            "two words",
        ];
        assert_eq!(paths(&root), wanted);
    }

    #[test]
    fn nothing_outside_of_the_project_is_named_and_links_count_by_where_they_lead() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("w");
        write(&base, "outside.sh", "");
        write(&root, "real.sh", "");
        std::os::unix::fs::symlink("real.sh", root.join("link.sh")).unwrap();
        std::os::unix::fs::symlink("../outside.sh", root.join("out.sh")).unwrap();
        let hooks = "hooks: {a: [{command: './link.sh ../outside.sh ./out.sh /etc/passwd'}]}\n";
        write(&root, ".brynhild/hooks.yaml", hooks);
        assert_eq!(paths(&root), ["real.sh"]);
    }
}
