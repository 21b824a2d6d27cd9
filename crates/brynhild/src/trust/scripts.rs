//! The files of a workspace that its command lines would run: those that they name, and those that
//! these name in turn. Trust covers them, wherever they lie. Only reads, and runs nothing; a name too
//! many makes trust asked for once more, one too few would let a change pass.

mod importable;
#[cfg(test)]
mod tests;
mod unfollowed;
mod words;

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use contract::text::normalize;

use super::command_lines::command_lines;
use super::snapshot::{Entry, Kind};
use super::surfaces::Effect;
pub(crate) use importable::{importable, is_python};
use words::{goes_through_folders, names_itself, words};

const MOST_FILES: usize = 500;
const MOST_BYTES: u64 = 1 << 20;
const MOST_WORDS: usize = 20_000;

/// Endings of what interpreters run.
const ENDINGS: [&str; 21] = [
    "sh", "bash", "zsh", "fish", "ksh", "py", "pyw", "js", "mjs", "cjs", "ts", "mts", "rb", "pl",
    "pm", "php", "lua", "ps1", "awk", "tcl", "mk",
];

/// Folders that one text may lead into.
const MOST_FOLDERS: usize = 16;
/// Folders of modules that one text may name though they are not there.
const MOST_EXPECTED: usize = 64;
/// Folders of which everything counts, since a name in them is not known.
const MOST_OPEN: usize = 20_000;

/// What a text says that runs the words of files, whatever their names are.
const READS_CODE: [&str; 5] = ["exec(", "eval(", "runpy", "compile(", "vm.run"];

/// Programs that run what a file of a fixed name says.
const RUNNERS: [(&[&str], &[&str]); 4] = [
    (&["make", "gmake"], &["Makefile", "makefile", "GNUmakefile"]),
    (
        &["npm", "npx", "yarn", "pnpm", "bun"],
        &["package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml"],
    ),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["task"], &["Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"]),
];

/// What interpreters take a folder for.
const ENTRANCES: [&str; 8] = [
    "__init__.py",
    "__main__.py",
    "index.js",
    "index.mjs",
    "index.cjs",
    "index.ts",
    "index.mts",
    "package.json",
];

/// How a file came to be named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// By a command line: whatever it is, something reads it.
    CommandLine,
    /// By a script: it counts if it could run.
    Script,
}

/// What command lines and scripts lead to.
pub(crate) struct Named {
    /// The files beneath the root, from there.
    pub(crate) files: BTreeSet<String>,
    /// The folders beneath it where Python would look for modules, be they there or not.
    pub(crate) modules: BTreeSet<PathBuf>,
}

/// What `entries` name beneath `root`, themselves included. It may be named from `home`.
pub(crate) fn named((root, home): (&Path, &Path), entries: &[Entry]) -> Result<Named, String> {
    let mut search = Search::new(root, home);
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
    while let Some((folder, text)) = search.left.pop_front() {
        search.check()?;
        let runs_any = READS_CODE.iter().any(|part| text.contains(part));
        search.take(&text, &folder, if runs_any { By::CommandLine } else { By::Script });
    }
    for folder in search.modules.clone() {
        search.note_modules(&folder);
    }
    search.check()?;
    let paths = search.found.iter().filter_map(|path| path.strip_prefix(root).ok()?.to_str());
    Ok(Named { files: paths.map(str::to_owned).collect(), modules: search.modules })
}

/// Of each entry that runs something which no reading finds, its path and that something.
pub(crate) fn unfollowed(entries: &[Entry]) -> Vec<(String, String)> {
    let of = |entry: &Entry| {
        let path = &entry.part.path;
        let found = if path.ends_with("package.json") {
            let is_own = !path.contains("node_modules/");
            is_own.then(|| unfollowed::in_package(&entry.bytes)).flatten()
        } else if is_data(path) {
            let mut lines = command_lines(path, &entry.bytes).into_iter();
            lines.find_map(|line| unfollowed::in_shell(&line))
        } else if entry.part.effect() == Effect::Runs || entry.part.is_named {
            unfollowed::in_script(path, &String::from_utf8_lossy(&entry.bytes))
        } else {
            None
        };
        found.map(|found| (path.clone(), found))
    };
    entries.iter().filter(|entry| entry.part.kind == Kind::File).filter_map(of).collect()
}

struct Search<'a> {
    root: &'a Path,
    home: &'a Path,
    found: BTreeSet<PathBuf>,
    /// Texts that are still to be looked at, with the folders that they lie in.
    left: VecDeque<(PathBuf, String)>,
    /// Folders where Python looks for modules, which are added when all texts were looked at.
    modules: BTreeSet<PathBuf>,
    /// The names in folders that were looked into.
    listed: HashMap<PathBuf, HashSet<OsString>>,
    /// The folders of which all counts, and how many levels below them.
    open: HashSet<(PathBuf, usize)>,
}

impl<'a> Search<'a> {
    fn new(root: &'a Path, home: &'a Path) -> Self {
        Self {
            root,
            home,
            found: BTreeSet::new(),
            left: VecDeque::new(),
            modules: BTreeSet::new(),
            listed: HashMap::new(),
            open: HashSet::new(),
        }
    }

    /// Whether it leads to less than a person could be asked about.
    fn check(&self) -> Result<(), String> {
        if self.found.len() > MOST_FILES {
            return Err(format!("its command lines lead to more than {MOST_FILES} files"));
        }
        if self.open.len() > MOST_OPEN {
            return Err(format!("its command lines lead into more than {MOST_OPEN} folders"));
        }
        Ok(())
    }

    /// Looks for names of files in a text.
    fn take(&mut self, text: &str, folder: &Path, by: By) {
        let words: Vec<String> = words(text).into_iter().take(MOST_WORDS).collect();
        let (own, named) = self.bases(&words, folder);
        if ["PYTHONPATH", "sys.path"].iter().any(|part| text.contains(part)) {
            self.modules.extend(named.iter().cloned());
            self.expect_modules(&words, folder);
        }
        // Without a script Python looks for modules where it is started.
        if text.contains("python") && [" -m", " -c"].iter().any(|it| text.contains(it)) {
            self.modules.insert(self.home.to_owned());
        }
        if goes_through_folders(text) {
            for folder in &named {
                self.note_all(folder, 0);
            }
        }
        let near = [folder.to_owned(), self.home.to_owned()];
        if names_itself(text) {
            let above = near.iter().filter_map(|near| near.parent());
            let places: Vec<_> = near.iter().map(PathBuf::as_path).chain(above).collect();
            for place in places {
                self.enter(place);
            }
        }
        for base in own.union(&named) {
            for word in &words {
                let runs = RUNNERS.iter().filter(|(names, _)| names.contains(&word.as_str()));
                for file in runs.flat_map(|(_, files)| files.iter()) {
                    self.note(&base.join(file), By::CommandLine);
                }
                if let Some(parts) = word.split_once(['$', '{', '%']) {
                    self.note_open(base, parts, near.contains(base));
                }
                self.note_word(base, word, by);
            }
        }
    }

    /// A path with a part that is not known: all in the folder that its known part names.
    fn note_open(&mut self, base: &Path, (start, end): (&str, &str), is_near: bool) {
        let folder = match start.rsplit_once('/') {
            Some((folder, _)) if !["", "."].contains(&folder) => self.within(base, folder),
            // Without such a part it is a neighbour of the text.
            Some((".", _)) if is_near => Some(base.to_owned()),
            None if is_near && ENDINGS.iter().any(|it| end.ends_with(&format!(".{it}"))) => {
                Some(base.to_owned())
            }
            Some(_) | None => None,
        };
        if let Some(folder) = folder {
            self.note_all(&folder, end.matches('/').count());
        }
    }

    /// What could run in a folder, and so many levels below it. Links may lead in circles.
    fn note_all(&mut self, folder: &Path, levels: usize) {
        let Ok(folder) = fs::canonicalize(folder) else { return };
        let is_new = folder.starts_with(self.root) && self.open.insert((folder.clone(), levels));
        if !is_new || self.open.len() > MOST_OPEN {
            return;
        }
        for name in self.names(&folder).clone() {
            let path = folder.join(name);
            if levels > 0 && path.is_dir() {
                self.note_all(&path, levels - 1);
            }
            self.note(&path, By::Script);
        }
    }

    /// All that Python could find in a folder where it looks for modules. What these name in turn is
    /// not looked for: most of them are nothing but neighbours.
    fn note_modules(&mut self, folder: &Path) {
        for path in importable(folder) {
            let path = fs::canonicalize(path).ok();
            self.found.extend(path.filter(|it| it.is_file() && it.starts_with(self.root)));
        }
    }

    /// Folders of modules that a text may name before they are there.
    fn expect_modules(&mut self, words: &[String], folder: &Path) {
        let places = words.iter().flat_map(|word| {
            [folder, self.home].into_iter().filter_map(|base| self.within(base, word))
        });
        let missing: Vec<_> = places.filter(|path| !path.exists()).take(MOST_EXPECTED).collect();
        self.modules.extend(missing);
    }

    /// What runs where a folder is run.
    fn enter(&mut self, folder: &Path) {
        for name in ENTRANCES {
            let by = if name == "package.json" { By::CommandLine } else { By::Script };
            self.note(&folder.join(name), by);
        }
    }

    /// Where the words of a text may be meant from: also from the folders above it, and from any
    /// folder that it names, which come second, since it may go there, look for programs there, or
    /// take modules from there.
    fn bases(&self, words: &[String], folder: &Path) -> (BTreeSet<PathBuf>, BTreeSet<PathBuf>) {
        let above = folder.ancestors().take_while(|above| above.starts_with(self.root));
        let own: Vec<PathBuf> = above.chain([self.home]).map(Path::to_path_buf).collect();
        let named = words.iter().flat_map(|word| {
            own.iter()
                .flat_map(|base| [word.clone(), word.replace('.', "/")].map(|it| base.join(it)))
        });
        let is_within = |path: &PathBuf| path.starts_with(self.root) && path.is_dir();
        let named = named.map(|path| normalize(&path)).filter(is_within);
        let named = named.filter(|path| !own.contains(path)).take(MOST_FOLDERS).collect();
        (own.iter().cloned().collect(), named)
    }

    fn note_word(&mut self, base: &Path, word: &str, by: By) {
        let Some(path) = self.within(base, word) else { return };
        if word.contains(['*', '?']) {
            return self.note_all(path.parent().unwrap_or(self.root), 0);
        }
        self.note(&path, by);
        self.note_module(base, word);
        for base in [base, self.root] {
            if self.names(base).contains(OsStr::new("node_modules")) {
                let packages = base.join("node_modules");
                self.note(&packages.join(word).join("package.json"), By::CommandLine);
                self.note(&packages.join(".bin").join(word), By::CommandLine);
                self.note_module(&packages, word);
            }
        }
    }

    /// What a language takes a name without an ending for, with the packages that it lies in.
    fn note_module(&mut self, base: &Path, word: &str) {
        let dotted = word.trim_start_matches('.').replace('.', "/");
        let packages = Path::new(&dotted).ancestors().skip(1).map(|it| it.join("__init__.py"));
        for package in packages.filter(|it| it.components().count() > 1).collect::<Vec<_>>() {
            self.note(&base.join(package), By::Script);
        }
        for name in [word.to_owned(), dotted].iter().filter(|name| !name.is_empty()) {
            let Some(path) = self.within(base, name) else { continue };
            for ending in ENDINGS {
                let mut file = path.clone().into_os_string();
                file.push(format!(".{ending}"));
                self.note(Path::new(&file), By::Script);
            }
            self.enter(&path);
        }
    }

    /// The names in a folder, which is listed once.
    fn names(&mut self, folder: &Path) -> &HashSet<OsString> {
        self.listed.entry(folder.to_owned()).or_insert_with(|| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name()).collect()
        })
    }

    /// A word as a path beneath the root.
    fn within(&self, base: &Path, word: &str) -> Option<PathBuf> {
        let path = normalize(&base.join(word));
        (path.starts_with(self.root) && path != self.root).then_some(path)
    }

    fn note(&mut self, path: &Path, by: By) {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
        if !self.names(folder).contains(name) {
            return;
        }
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
        let is_python = is_python(&path, &bytes);
        self.found.insert(path);
        self.left.push_back((folder.clone(), String::from_utf8_lossy(&bytes).into_owned()));
        if is_python {
            self.modules.insert(folder);
        } else {
            self.note_package(&folder, &bytes);
        }
    }

    /// The nearest `package.json`, where a script of JavaScript is told by it what names mean: those
    /// with a `#`, and that of the package itself.
    fn note_package(&mut self, folder: &Path, script: &[u8]) {
        let above = folder.ancestors().take_while(|above| above.starts_with(self.root));
        let file = above.map(|above| above.join("package.json")).find(|file| file.is_file());
        let Some(file) = file else { return };
        let script = String::from_utf8_lossy(script);
        let package: Option<serde_json::Value> =
            fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let name = package.as_ref().and_then(|package| package["name"].as_str());
        let names_itself = name.is_some_and(|name| !name.is_empty() && script.contains(name));
        if names_itself || ["'#", "\"#"].iter().any(|sign| script.contains(sign)) {
            self.note(&file, By::CommandLine);
        }
    }
}

fn is_data(path: &str) -> bool {
    [".yaml", ".yml", ".json"].iter().any(|ending| path.ends_with(ending))
}
