//! The person's own settings of git, as confined commands get them: a copy of what names no program
//! that git runs while it looks, and of nothing that may be a key. Git itself decides about
//! conditions.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::contents;
use crate::git_programs::is_harmless;
use crate::git_settings::{Setting, settings};
use crate::stubs::private_directory;

const MOST_BYTES: u64 = 1 << 20;
/// So many files are followed; people have a few.
const MOST_FILES: usize = 64;

/// Sections in which addresses with logins, and keys of other programs, stand.
const PRIVATE: [&str; 11] = [
    "browser",
    "github",
    "http",
    "hub",
    "instaweb",
    "lfs",
    "remote",
    "sendemail",
    "svn",
    "svn-remote",
    "web",
];

/// What stands in or beside a key, whatever setting holds it.
const MARKS: [&str; 18] = [
    "--key",
    "--user",
    " -u ",
    "akia",
    "apikey",
    "api_key",
    "api-key",
    "authorization",
    "bearer",
    "gho_",
    "ghp_",
    "github_pat_",
    "glpat-",
    "passw",
    "secret",
    "sk-",
    "token",
    "xox",
];

/// Settings that ask for what is not there in a sandbox: keys, and further files of the home.
const ELSEWHERE: [(&str, &str); 7] = [
    ("commit", "gpgsign"),
    ("commit", "template"),
    ("core", "hookspath"),
    ("core", "worktree"),
    ("init", "templatedir"),
    ("push", "gpgsign"),
    ("tag", "gpgsign"),
];

/// The copies.
#[derive(Debug, PartialEq, Eq)]
pub struct GitGlobal {
    /// The folder that holds them, and nothing else.
    pub folder: PathBuf,
    /// What `GIT_CONFIG_GLOBAL` has to name.
    pub file: PathBuf,
}

/// Copies the settings of the person with this home and these variables to a folder in `state`; none
/// where there are none. What lies in one of the `writable` folders is no person's own.
pub fn git_global(
    home: Option<&Path>,
    variables: &BTreeMap<String, String>,
    state: &Path,
    writable: &[PathBuf],
) -> Option<GitGlobal> {
    let given = |name: &str| variables.get(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let folder = given("XDG_CONFIG_HOME").or_else(|| Some(home?.join(".config")));
    let usual = |name: &str| folder.as_ref().map(|folder| folder.join("git").join(name));
    let sources: Vec<PathBuf> = match variables.get("GIT_CONFIG_GLOBAL") {
        Some(only) => vec![PathBuf::from(only)],
        None => usual("config").into_iter().chain(home.map(|it| it.join(".gitconfig"))).collect(),
    };
    // Those of other homes and variables are nobody's business here.
    let folder = state.join("git").join(named("of", &sources));
    let mut copies = Copies { home, writable, folder, followed: 0, kept: BTreeSet::new() };
    let mut text = Vec::new();
    for (key, name) in [("excludesfile", "ignore"), ("attributesfile", "attributes")] {
        let copy = usual(name).and_then(|file| copies.list(&file));
        text.extend(copy.map(|copy| lead("core", key, &copy)).unwrap_or_default());
    }
    for source in sources.iter().filter(|source| source.is_absolute()) {
        text.extend(copies.text(source).unwrap_or_default());
    }
    let file = if text.is_empty() { None } else { copies.keep("all", &sources, &text) };
    copies.remove_others();
    Some(GitGlobal { file: file?, folder: copies.folder })
}

/// A setting that names a file.
fn lead(section: &str, key: &str, file: &Path) -> Vec<u8> {
    let setting = Setting::named(&format!("{section}.{key}"), "");
    setting.map(|it| it.with(file.as_os_str().as_bytes()).written()).unwrap_or_default()
}

struct Copies<'a> {
    home: Option<&'a Path>,
    writable: &'a [PathBuf],
    folder: PathBuf,
    /// How many files were read so far.
    followed: usize,
    /// The copies that are made of what there is now.
    kept: BTreeSet<PathBuf>,
}

/// A name that sources give to what is made of them.
fn named(kind: &str, sources: &[PathBuf]) -> String {
    let mut hasher = DefaultHasher::new();
    (kind, sources).hash(&mut hasher);
    format!("{kind}-{:016x}", hasher.finish())
}

impl Copies<'_> {
    /// What a file holds, where it is the person's own.
    fn read(&mut self, file: &Path) -> Option<Vec<u8>> {
        self.followed += 1;
        let real = fs::canonicalize(file).ok()?;
        let is_writable = self.writable.iter().any(|folder| real.starts_with(folder));
        let is_read = self.followed <= MOST_FILES && !is_writable;
        is_read.then(|| contents::file(&real, MOST_BYTES).known())?
    }

    /// The settings of a file that are passed on, with those of what it includes.
    fn text(&mut self, file: &Path) -> Option<Vec<u8>> {
        let settings = settings(&self.read(file)?)?;
        let folder = file.parent()?;
        let mut text = Vec::new();
        for setting in settings {
            let key = setting.key.as_str();
            let written = match (setting.section.as_str(), key) {
                ("include", "path") => {
                    let included = self.path(&setting, folder);
                    included.and_then(|it| self.text(&it))
                }
                ("includeif", "path") => self.condition(&setting, folder),
                ("core", "excludesfile" | "attributesfile") => {
                    let copy = self.path(&setting, folder).and_then(|it| self.list(&it));
                    copy.map(|copy| lead("core", key, &copy))
                }
                _ => is_passed(&setting).then(|| setting.written()),
            };
            text.extend(written.unwrap_or_default());
        }
        Some(text)
    }

    /// A conditional include of a copy of what is included.
    fn condition(&mut self, setting: &Setting, folder: &Path) -> Option<Vec<u8>> {
        let file = self.path(setting, folder)?;
        let text = self.text(&file)?;
        let copy = self.keep("part", &[file], &text)?;
        let condition = setting.subsection()?.to_vec();
        let (kind, place) = condition.split_at(condition.iter().position(|it| *it == b':')? + 1);
        let start = match place.get(..2) {
            Some(b"~/") => self.home?,
            Some(b"./") => folder,
            _ => Path::new(""),
        };
        let place = if start == Path::new("") { place } else { &place[1..] };
        let condition = [kind, start.as_os_str().as_bytes(), place].concat();
        Some(setting.with(copy.as_os_str().as_bytes()).below(condition).written())
    }

    /// A copy of a list of patterns.
    fn list(&mut self, file: &Path) -> Option<PathBuf> {
        let bytes = self.read(file)?;
        self.keep("list", &[file.to_owned()], &bytes)
    }

    /// The path that a setting names in a folder.
    fn path(&self, setting: &Setting, folder: &Path) -> Option<PathBuf> {
        let value = setting.bytes();
        let path = match (value.strip_prefix(b"~/"), self.home) {
            (Some(rest), Some(home)) => home.join(OsStr::from_bytes(rest)),
            _ => folder.join(setting.plain_path()?),
        };
        Some(path)
    }

    /// Writes a copy under a name that its sources have given it, unless it is there.
    fn keep(&mut self, kind: &str, sources: &[PathBuf], bytes: &[u8]) -> Option<PathBuf> {
        let path = self.folder.join(named(kind, sources));
        self.kept.insert(path.clone());
        if contents::plain_file(&path, MOST_BYTES).known().is_some_and(|found| found == bytes) {
            return Some(path);
        }
        private_directory(&self.folder).ok()?;
        // Never half of it: another command may read it at this moment.
        let mut file = tempfile::NamedTempFile::new_in(&self.folder).ok()?;
        file.write_all(bytes).ok()?;
        file.persist(&path).ok()?;
        Some(path)
    }

    /// Removes the copies of what is there no more: who took a word out of a file wants it gone. What
    /// cannot be removed is none of these.
    fn remove_others(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let is_copy =
            |path: &PathBuf| path.file_name().is_some_and(|it| !it.as_bytes().starts_with(b"."));
        for path in entries.map(|entry| entry.path()).filter(is_copy) {
            if !self.kept.contains(&path) {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// Whether commands get a setting.
fn is_passed(setting: &Setting) -> bool {
    let (section, key) = (setting.section.as_str(), setting.key.as_str());
    let is_data = section == "safe" || is_harmless(setting);
    let text = setting.text().to_lowercase();
    let is_key = MARKS.iter().any(|mark| text.contains(mark) || key.contains(mark));
    // An address may hold a login.
    let is_key = is_key || (text.contains("://") && text.contains('@'));
    is_data && !is_key && !PRIVATE.contains(&section) && !ELSEWHERE.contains(&(section, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct World {
        base: tempfile::TempDir,
        variables: BTreeMap<String, String>,
    }

    impl World {
        fn new() -> Self {
            let base = tempfile::tempdir().unwrap();
            fs::create_dir_all(base.path().join("home/.config/git")).unwrap();
            Self { base, variables: BTreeMap::new() }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.base.path().canonicalize().unwrap().join(name)
        }

        fn file(&self, name: &str, text: &str) {
            fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
            fs::write(self.path(name), text).unwrap();
        }

        fn copies(&self) -> Option<GitGlobal> {
            let (home, work) = (self.path("home"), self.path("work"));
            git_global(Some(&home), &self.variables, &self.path("state"), &[work])
        }

        fn copied(&self) -> Option<String> {
            self.copies().map(|found| fs::read_to_string(found.file).unwrap())
        }
    }

    #[test]
    fn data_is_passed_on_and_keys_and_programs_are_not() {
        let world = World::new();
        assert_eq!(world.copied(), None);
        let kept = "[user]\n\tname = \"U \\\"x\\\" # y\"\n[alias]\n\tst = \"status -sb\"\n\
                    [branch \"a \\\"b\"]\n\tautosetuprebase = \"always\"\n[core]\n\tbare\n\
                    [safe]\n\tdirectory = \"*\"\n";
        let left = "[credential]\nhelper = store\n[github]\noauth-x = 1\n[http]\nextraHeader = A: b\n\
                    [core]\nfsmonitor = ./x\nsshCommand = x\n[alias]\np = !curl -H 'X-Token: 1'\nq = !curl -u me:x h\n\
                    [url \"https://a:b@c\"]\ninsteadOf = x\n[filter \"lfs\"]\nclean = x\n\
                    [pull]\nx = https://u:p@h/\n[commit]\ngpgsign = true\n[diff]\nexternal = x\n";
        world.file("home/.gitconfig", &format!("{kept}{left}"));
        assert_eq!(world.copied().unwrap(), kept);
        world.file("home/.gitconfig", "[broken");
        assert_eq!(world.copied(), None);
    }

    #[test]
    fn files_are_found_where_git_finds_them_and_outside_of_what_commands_write() {
        let mut world = World::new();
        world.file("home/.config/git/config", "[user]\nname = a\n");
        world.file("home/.gitconfig", "[user]\nname = b\n[include]\npath = more\npath = ~/none\n");
        world.file("home/more", "[user]\nemail = c\n[include]\npath = ../work/evil\n");
        world.file("work/evil", "[user]\nemail = evil\n");
        let name = |name: &str| format!("[user]\n\tname = \"{name}\"\n");
        let email = "[user]\n\temail = \"c\"\n";
        assert_eq!(world.copied().unwrap(), format!("{}{}{email}", name("a"), name("b")));
        world.file("elsewhere/git/config", "[user]\nname = d\n");
        let place = |world: &World, name: &str| world.path(name).to_str().unwrap().to_owned();
        world.variables.insert("XDG_CONFIG_HOME".to_owned(), place(&world, "elsewhere"));
        assert_eq!(world.copied().unwrap(), format!("{}{}{email}", name("d"), name("b")));
        world.file("my", "[user]\nname = e\n");
        world.variables.insert("GIT_CONFIG_GLOBAL".to_owned(), place(&world, "my"));
        assert_eq!(world.copied().unwrap(), name("e"));
        std::os::unix::fs::symlink(world.path("work/evil"), world.path("link")).unwrap();
        for path in [place(&world, "work/evil"), place(&world, "link"), String::new()] {
            world.variables.insert("GIT_CONFIG_GLOBAL".to_owned(), path);
            assert_eq!(world.copied(), None);
        }
    }

    #[test]
    fn lists_and_conditional_files_are_copied_too() {
        let world = World::new();
        let home = world.path("home");
        world.file("home/.config/git/ignore", "*.usual\n");
        world.file("home/mine", "*.mine\n");
        world.file("home/at-work", "[user]\nemail = w\n");
        world.file(
            "home/.gitconfig",
            "[includeIf \"gitdir:~/work/\"]\npath = at-work\n[core]\nexcludesFile = ~/mine\n\
             [include]\npath = .gitconfig\n",
        );
        let text = world.copied().unwrap();
        let condition = format!("[includeif \"gitdir:{}/work/\"]", home.display());
        assert!(text.contains(&condition), "{text}");
        let copies = text.lines().filter_map(|line| line.split('"').nth(1));
        let copies = copies.filter(|path| path.starts_with(world.path("state").to_str().unwrap()));
        let copies: Vec<String> = copies.map(|path| fs::read_to_string(path).unwrap()).collect();
        assert_eq!(copies[..3], ["*.usual\n", "[user]\n\temail = \"w\"\n", "*.mine\n"]);
        let folder = world.copies().unwrap().folder;
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 4);
        // What is taken out of the settings is gone from their copies.
        world.file("home/.gitconfig", "[user]\nname = a\n");
        assert_eq!(world.copies().unwrap().folder, folder);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    }
}
