//! The files of a workspace that its command lines would run: those that they name, and those that
//! these name in turn. Trust covers them, wherever they lie. Only reads, and runs nothing; a name too
//! many makes trust asked for once more, one too few would let a change pass.

mod folders;
mod importable;
mod inert;
mod packages;
mod patterns;
mod reading;
mod run;
#[cfg(test)]
mod tests;
mod told;
mod words;
mod written;

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use contract::text::normalize;

use super::command_lines::{Run, command_lines, commands};
use super::snapshot::{Entry, Kind};
use super::surfaces::Effect;
use folders::{Folders, Names, Start};
use importable::{importable, is_python};
use reading::{Language, Reading, Word};
pub(crate) use told::{Place, Told, told};

const MOST_FILES: usize = 500;
const MOST_BYTES: u64 = 1 << 20;
const MOST_WORDS: usize = 20_000;

/// Endings of what interpreters run.
#[rustfmt::skip]
const ENDINGS: [&str; 31] = [
    "sh", "bash", "zsh", "fish", "ksh", "py", "pyw", "js", "mjs", "cjs", "node", "ts", "mts", "cts",
    "jsx", "tsx", "rb", "pl", "pm", "php", "lua", "ps1", "awk", "sed", "tcl", "mk", "R", "r", "jl", "exs",
    "groovy",
];

/// Levels of folders that a text goes through.
const DEEPEST: usize = 32;
/// Folders that one text may lead into.
const MOST_FOLDERS: usize = 128;
/// Folders of which everything counts, since a name in them is not known.
const MOST_OPEN: usize = 20_000;

/// What a text says that runs the words of files, whatever their names are.
const READS_CODE: [&str; 7] =
    ["exec(", "eval(", "runpy", "compile(", "vm.run", "runInThisContext", "runInNewContext"];

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum By {
    /// By a command line, or by what loads or runs it: whatever it is, something reads it.
    CommandLine,
    /// By a script: it counts if it could run.
    Script,
}

/// A text in which names are looked for.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    /// The folder that it lies in.
    folder: PathBuf,
    words: String,
    /// Paths that are given on their own.
    paths: Vec<String>,
    by: By,
    /// Whether Python runs it, which looks for modules beside it.
    is_python: bool,
    language: Language,
}

/// What command lines and scripts lead to.
#[derive(Debug)]
pub(crate) struct Named {
    /// The files beneath the root, from there.
    pub(crate) files: BTreeSet<String>,
    /// The folders beneath it that Python would take for packages though they do not say so.
    pub(crate) packages: BTreeSet<String>,
    /// The links beneath it that lead out of it, or nowhere.
    pub(crate) outward: BTreeSet<String>,
    /// The links beneath it that something writes through.
    pub(crate) written: BTreeSet<String>,
    /// The folders that were looked into, be they there or not, and the files that do not count for what
    /// they are: as long as no name comes to those, and these stay as they are, the same search finds
    /// the same.
    pub(crate) looked: BTreeSet<PathBuf>,
}

/// The texts of `entries` that a search begins with.
pub(crate) fn texts(root: &Path, entries: &[Entry]) -> Vec<Text> {
    let mut texts = Vec::new();
    let is_source = |entry: &&Entry| entry.part.kind == Kind::File && !entry.part.is_named;
    for entry in entries.iter().filter(is_source) {
        let path = root.join(&entry.part.path);
        let folder = path.parent().unwrap_or(root).to_owned();
        let (name, bytes) = (&entry.part.path, &entry.bytes);
        let line = |folder: PathBuf, words: String, language| Text {
            folder,
            words,
            paths: Vec::new(),
            by: By::CommandLine,
            is_python: false,
            language,
        };
        let run: BTreeSet<Run> = commands(name, bytes).into_iter().collect();
        let is_run = |shown: &String| run.iter().any(|it| it.command == *shown);
        let shown = command_lines(name, bytes).into_iter().filter(|line| !is_run(line));
        texts.extend(shown.map(|words| line(folder.clone(), words, Language::Other)));
        for Run { command, folder: started, paths, .. } in run {
            let started = started.map(|it| normalize(&root.join(it)));
            let folders = started.filter(|it| it.starts_with(root)).into_iter();
            for folder in folders.chain([folder.clone()]) {
                let text = line(folder, command.clone(), Language::Shell);
                texts.push(Text { paths: paths.clone(), ..text });
            }
        }
        let is_script = entry.part.effect() == Effect::Runs && !is_data(&entry.part.path);
        if is_script && entry.bytes.len() as u64 <= MOST_BYTES {
            let words = String::from_utf8_lossy(&entry.bytes).into_owned();
            let is_python = is_hook(&entry.part.path) && is_python(&path, &entry.bytes);
            let language = Language::of(&entry.part.path, &words);
            let paths = Vec::new();
            texts.push(Text { folder, words, paths, by: By::Script, is_python, language });
        }
    }
    texts
}

/// What `texts` name beneath `root`. It may be named from `home`.
pub(crate) fn named((root, home): (&Path, &Path), texts: &[Text]) -> Result<Named, String> {
    let mut search = Search::new(root, home);
    // What is found may say where more is to be looked for.
    loop {
        let searched = search.searched.clone();
        search = Search { searched: searched.clone(), ..Search::new(root, home) };
        search.follow(texts)?;
        if search.searched == searched {
            break;
        }
    }
    let from_root = |paths: BTreeSet<PathBuf>| {
        let paths = paths.iter().filter_map(|path| path.strip_prefix(root).ok()?.to_str());
        paths.map(str::to_owned).collect()
    };
    let listed = search.folders.into_paths().chain(search.looked);
    Ok(Named {
        files: from_root(search.found),
        packages: from_root(search.packages),
        outward: from_root(search.outward),
        written: from_root(search.written),
        looked: listed.collect(),
    })
}

impl Named {
    /// All that is there for a script to find.
    pub(crate) fn all(&self) -> impl Iterator<Item = &String> {
        self.files.iter().chain(&self.packages).chain(&self.outward).chain(&self.written)
    }
}

/// Whether a file is one of hooks, or a hook.
pub(crate) fn is_hook(path: &str) -> bool {
    ["/hooks/", "/hooks.yaml"].iter().any(|part| path.contains(part))
}

struct Search<'a> {
    root: &'a Path,
    home: &'a Path,
    found: BTreeSet<PathBuf>,
    packages: BTreeSet<PathBuf>,
    outward: BTreeSet<PathBuf>,
    written: BTreeSet<PathBuf>,
    /// Texts that are still to be looked at.
    left: VecDeque<Text>,
    /// Folders where Python looks for modules, which are added when all texts were looked at.
    modules: BTreeSet<PathBuf>,
    /// The names in folders that were looked into.
    folders: Folders,
    /// Folders that were looked into for modules, and files that were looked at and do not count.
    looked: BTreeSet<PathBuf>,
    /// What was looked at once, which finds nothing more a second time.
    noted: HashSet<(PathBuf, By)>,
    /// The folders of which all counts, and how many levels below them.
    open: HashSet<(PathBuf, usize, By)>,
    /// Folders where interpreters look for what any text names.
    searched: BTreeSet<PathBuf>,
    /// What keeps the search from seeing all.
    problem: Option<String>,
}

impl<'a> Search<'a> {
    fn new(root: &'a Path, home: &'a Path) -> Self {
        Self {
            root,
            home,
            found: BTreeSet::new(),
            packages: BTreeSet::new(),
            outward: BTreeSet::new(),
            written: BTreeSet::new(),
            left: VecDeque::new(),
            modules: BTreeSet::new(),
            folders: Folders::default(),
            looked: BTreeSet::new(),
            noted: HashSet::new(),
            open: HashSet::new(),
            searched: BTreeSet::new(),
            problem: None,
        }
    }

    /// Looks for all that `texts` lead to.
    fn follow(&mut self, texts: &[Text]) -> Result<(), String> {
        for text in texts {
            self.take(text);
        }
        while let Some(text) = self.left.pop_front() {
            self.check()?;
            self.take(&text);
        }
        for folder in self.modules.clone() {
            self.note_modules(&folder);
        }
        self.check()
    }

    /// Whether it leads to less than a person could be asked about.
    fn check(&self) -> Result<(), String> {
        if self.found.len() > MOST_FILES {
            return Err(format!("its command lines lead to more than {MOST_FILES} files"));
        }
        if self.open.len() > MOST_OPEN {
            return Err(format!("its command lines lead into more than {MOST_OPEN} folders"));
        }
        self.problem.clone().map_or(Ok(()), Err)
    }

    /// Looks for names of files in a text.
    fn take(&mut self, text: &Text) {
        let Text { folder, words: text, paths, by, is_python, language } = text;
        let read = Reading::of(text, *language);
        self.search(&read.searched, folder);
        let (own, named) = self.bases(&read.words, folder);
        self.note_written(&read.written, &own);
        if read.says_module_path {
            self.modules.extend(named.iter().cloned());
        }
        self.modules.extend(is_python.then(|| folder.clone()));
        // Without a script Python looks for modules where it is started.
        if read.starts_python {
            self.modules.insert(self.home.to_owned());
        }
        if read.goes_through_folders {
            for folder in &named {
                self.note_all(folder, 0, By::Script);
            }
        }
        let near = [folder.to_owned(), self.home.to_owned()];
        // All of the project is too much to ask about; the question tells of it.
        for (place, is_narrow) in read.gone_through.iter().filter(|(it, _)| it != "." && it != "./")
        {
            let by = if *is_narrow { By::Script } else { By::CommandLine };
            for folder in
                near.iter().filter_map(|near| self.within(near, place)).collect::<Vec<_>>()
            {
                self.note_all(&folder, DEEPEST, by);
            }
        }
        if read.names_itself {
            let root = self.root;
            let above = near.iter().filter_map(|near| near.parent());
            let places = near.iter().map(PathBuf::as_path).chain(above);
            for place in places.filter(|place| place.starts_with(root)) {
                self.enter(place);
            }
        }
        let is_other = !is_python && *language == Language::Other;
        for steps in read.steps.iter().filter(|_| is_other) {
            let place = normalize(&folder.join(steps));
            if place.starts_with(self.root) {
                self.enter(&place);
            }
        }
        for (base, path) in own.iter().flat_map(|base| paths.iter().map(move |it| (base, it))) {
            if let Some(path) = self.within(base, path) {
                self.note(&path, By::CommandLine);
            }
        }
        let bases: BTreeSet<PathBuf> =
            [&own, &named, &self.searched].into_iter().flatten().cloned().collect();
        for base in &bases {
            let (here, packages) = (self.names(base), self.package_folders(base));
            for word in &read.words {
                for file in word.runs() {
                    self.note(&base.join(file), By::CommandLine);
                }
                // Of several files most are none that run, unless all are run.
                let any = if word.is_run { By::CommandLine } else { By::Script };
                let one = if any == By::CommandLine { any } else { *by };
                if let Some(parts) = word.text.split_once(['$', '{', '%']) {
                    self.note_open((base, near.contains(base)), parts, any);
                }
                if word.text.contains(['*', '?']) {
                    self.note_pattern(base, &word.text, any);
                    continue;
                }
                if word.starts.iter().any(|start| here.could_lead(start)) {
                    self.note_word(base, word, one);
                }
                for packages in &packages {
                    self.note_in_packages(base, packages, word);
                }
            }
        }
    }

    /// A path with a part that is not known: all in the folder that its known part names.
    fn note_open(&mut self, (base, is_near): (&Path, bool), (start, end): (&str, &str), by: By) {
        let is_script = end.rsplit_once('.').is_some_and(|(_, it)| ENDINGS.contains(&it));
        let folder = match start.rsplit_once('/') {
            Some((folder, _)) if !["", "."].contains(&folder) => {
                let is_there = self.names(base).could_lead(&Start::of(folder));
                is_there.then(|| self.within(base, folder)).flatten()
            }
            // Without such a part it is a neighbour of the text.
            Some((".", _)) if is_near => Some(base.to_owned()),
            None if is_near && is_script => Some(base.to_owned()),
            Some(_) | None => None,
        };
        // Of a neighbour, and where an ending is known, only what could run is meant.
        let by = if is_script || folder.as_deref() == Some(base) { By::Script } else { by };
        if let Some(folder) = folder {
            self.note_all(&folder, end.matches('/').count(), by);
        }
    }

    /// What counts in a folder, and so many levels below it. Links may lead in circles.
    fn note_all(&mut self, folder: &Path, levels: usize, by: By) {
        let Ok(folder) = fs::canonicalize(folder) else { return };
        let is_new =
            folder.starts_with(self.root) && self.open.insert((folder.clone(), levels, by));
        if !is_new || self.open.len() > MOST_OPEN {
            return;
        }
        for name in self.names(&folder).all() {
            let path = folder.join(name);
            if levels > 0 && path.is_dir() {
                self.note_all(&path, levels - 1, by);
            }
            self.note(&path, by);
        }
    }

    /// All that Python could find in a folder where it looks for modules. What these name in turn is
    /// not looked for: most of them are nothing but neighbours.
    fn note_modules(&mut self, folder: &Path) {
        let importable = importable(folder);
        for path in importable.files {
            let path = self.real(&path).filter(|path| path.is_file());
            self.found.extend(path);
        }
        for path in importable.packages {
            let path = self.real(&path);
            self.packages.extend(path);
        }
        self.looked.insert(folder.to_owned());
        self.looked.extend(importable.others);
    }

    /// Adds folders where what this text starts looks for what it loads.
    fn search(&mut self, words: &BTreeSet<String>, folder: &Path) {
        let bases = [folder, self.home];
        let places = words.iter().flat_map(|word| bases.map(|base| self.within(base, word)));
        for path in places.flatten().collect::<Vec<_>>() {
            if self.begins(&path) && path.is_dir() {
                self.searched.insert(path);
            }
        }
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
    fn bases(&mut self, words: &[Word], folder: &Path) -> (BTreeSet<PathBuf>, BTreeSet<PathBuf>) {
        let above = folder.ancestors().take_while(|above| above.starts_with(self.root));
        let own: BTreeSet<PathBuf> = above.chain([self.home]).map(Path::to_path_buf).collect();
        let near: Vec<(&PathBuf, Rc<Names>)> =
            own.iter().map(|base| (base, self.names(base))).collect();
        let mut named = BTreeSet::new();
        for word in words {
            let spellings = [&word.text, &word.dotted].into_iter().zip(&word.starts);
            let spelled = spellings.flat_map(|it| near.iter().map(move |near| (it, near)));
            for ((spelling, start), (base, names)) in spelled {
                if !names.could_lead(start) {
                    continue;
                }
                let Some(path) = self.within(base, spelling) else { continue };
                if self.begins(&path) && path.is_dir() && !own.contains(&path) {
                    named.insert(path);
                }
            }
            if named.len() > MOST_FOLDERS {
                let what = format!("a text that it runs names more than {MOST_FOLDERS} folders");
                self.problem.get_or_insert(what);
                break;
            }
        }
        (own, named)
    }

    fn note_word(&mut self, base: &Path, word: &Word, by: By) {
        let Some(path) = self.within(base, &word.text) else { return };
        self.note(&path, by);
        self.note_module(base, word);
    }

    /// What a language takes a name without an ending for, with the packages that it lies in.
    fn note_module(&mut self, base: &Path, word: &Word) {
        let packages = Path::new(&word.dotted).ancestors().skip(1).map(|it| it.join("__init__.py"));
        for package in packages.filter(|it| it.components().count() > 1).collect::<Vec<_>>() {
            self.note(&base.join(package), By::Script);
        }
        for name in [&word.text, &word.dotted].into_iter().filter(|name| !name.is_empty()) {
            let Some(path) = self.within(base, name) else { continue };
            if !self.begins(&path) {
                continue;
            }
            for ending in ENDINGS {
                let mut file = path.clone().into_os_string();
                file.push(format!(".{ending}"));
                self.note(Path::new(&file), By::Script);
            }
            self.enter(&path);
        }
    }

    /// The names in a folder.
    fn names(&mut self, folder: &Path) -> Rc<Names> {
        self.folders.names(folder).unwrap_or_else(|error| {
            let problem = || format!("cannot read {}: {error}", folder.display());
            self.problem.get_or_insert_with(problem);
            Rc::default()
        })
    }

    /// Whether a name beside it begins like this one.
    fn begins(&mut self, path: &Path) -> bool {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
        self.names(folder).begin(name)
    }

    /// Where a path leads. A link that leads elsewhere later names another file then.
    fn real(&mut self, path: &Path) -> Option<PathBuf> {
        let real = fs::canonicalize(path).ok().filter(|real| real.starts_with(self.root));
        if real.is_none() {
            self.outward.insert(path.to_owned());
        }
        real
    }

    /// A word as a path beneath the root.
    fn within(&self, base: &Path, word: impl AsRef<Path>) -> Option<PathBuf> {
        let path = normalize(&base.join(word));
        (path.starts_with(self.root) && path != self.root).then_some(path)
    }

    fn note(&mut self, path: &Path, by: By) {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
        if !self.names(folder).contains(name) || !self.noted.insert((path.to_owned(), by)) {
            return;
        }
        let Some(path) = self.real(path) else { return };
        let Ok(found) = fs::metadata(&path) else { return };
        if !found.is_file() || self.found.contains(&path) {
            return;
        }
        let is_small = found.len() <= MOST_BYTES;
        let bytes = if is_small { fs::read(&path).unwrap_or_default() } else { Vec::new() };
        let could_run = found.mode() & 0o111 != 0
            || path.extension().is_some_and(|it| ENDINGS.iter().any(|ending| it == *ending))
            || bytes.starts_with(b"#!");
        if by == By::Script && !could_run {
            // It could become one without another name in its folder.
            self.looked.insert(path);
            return;
        }
        let folder = path.parent().unwrap_or(self.root).to_owned();
        let is_python = is_python(&path, &bytes);
        let words = String::from_utf8_lossy(&bytes).into_owned();
        let language = Language::of(&path.to_string_lossy(), &words);
        self.found.insert(path);
        if !is_python {
            self.note_package(&folder, &bytes);
        }
        let runs_any = READS_CODE.iter().any(|part| words.contains(part));
        let by = if runs_any { By::CommandLine } else { By::Script };
        let paths = Vec::new();
        self.left.push_back(Text { folder, words, paths, by, is_python, language });
    }
}

/// The path that a language means by the name of a module.
fn dotted(word: &str) -> String {
    word.trim_start_matches('.').replace('.', "/")
}

fn is_data(path: &str) -> bool {
    [".yaml", ".yml", ".json", ".md"].iter().any(|ending| path.ends_with(ending))
}
