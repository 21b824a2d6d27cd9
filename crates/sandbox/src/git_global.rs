//! The git settings that confined commands get in place of the user's own: a generated file with
//! the identity and a few harmless keys, and variables that switch off what cannot work in the
//! sandbox.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::contents::{self, private_directory};
use crate::git_settings::{Setting, settings};

const MAX_BYTES: u64 = 1 << 20;
/// Files that are followed by includes.
const MAX_FILES: usize = 64;

/// Keys that are copied.
#[rustfmt::skip]
const COPIED: [(&str, &str); 6] = [
    ("user", "name"), ("user", "email"), ("init", "defaultbranch"), ("core", "autocrlf"),
    ("pull", "rebase"), ("safe", "directory"),
];

/// Settings that override those of the repository: signing needs keys that are hidden, and a
/// tracking branch needs a write to `.git/config`, which is read-only.
const OVERRIDES: [(&str, &str); 3] =
    [("commit.gpgSign", "false"), ("tag.gpgSign", "false"), ("branch.autoSetupMerge", "false")];

/// Without tracking branches, `git push` has to find the branch by its name.
const DEFAULTS: &str = "[push]\n\tdefault = current\n";

/// The settings for confined commands.
#[derive(Debug, PartialEq, Eq)]
pub struct GitGlobal {
    /// The directory that contains the files, and nothing else.
    pub directory: PathBuf,
    /// The environment variables.
    pub env: BTreeMap<String, String>,
    /// True if the user or the repository has commits signed.
    pub signs_commits: bool,
}

/// Generates the settings for work in `workspace` in a directory in `state`. `None` if they cannot
/// be written. Files in one of the `writable` directories are not the user's own.
pub fn git_global(
    home: Option<&Path>,
    variables: &BTreeMap<String, String>,
    state: &Path,
    writable: &[PathBuf],
) -> Option<GitGlobal> {
    let given = |name: &str| variables.get(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let config = given("XDG_CONFIG_HOME").or_else(|| Some(home?.join(".config")));
    let usual = |name: &str| config.as_ref().map(|config| config.join("git").join(name));
    let sources: Vec<PathBuf> = match variables.get("GIT_CONFIG_GLOBAL") {
        Some(only) => vec![PathBuf::from(only)],
        None => usual("config").into_iter().chain(home.map(|it| it.join(".gitconfig"))).collect(),
    };
    let mut reader = Reader { home, writable, files: 0, found: Vec::new() };
    for source in sources.iter().filter(|source| source.is_absolute()) {
        reader.follow(source);
    }
    let is = |section: &str, key: &str| {
        reader.found.iter().rev().find(|(it, _)| it.is(section, key)).cloned()
    };
    let own = writable.first().map(|it| contents::file(&it.join(".git/config"), MAX_BYTES).known());
    let own = own.flatten().and_then(|text| settings(&text)).unwrap_or_default();
    let own = own.into_iter().rfind(|it| it.is("commit", "gpgsign"));
    let signing = own.or_else(|| is("commit", "gpgsign").map(|(it, _)| it));
    let signs_commits = signing.is_some_and(|it| it.is_true());
    let excludes = is("core", "excludesfile").and_then(|(it, base)| reader.path(&it, &base));
    let excludes = excludes.or_else(|| usual("ignore")).and_then(|file| reader.read(&file));
    // Other projects may get other settings.
    let mut hasher = DefaultHasher::new();
    (&sources, writable).hash(&mut hasher);
    let directory = state.join("git").join(format!("{:016x}", hasher.finish()));
    private_directory(&directory).ok()?;
    let mut text = DEFAULTS.as_bytes().to_vec();
    if let Some(bytes) = excludes {
        let file = directory.join("ignore");
        write(&file, &bytes)?;
        text.extend(Setting::new("core", "excludesfile", file.as_os_str().as_bytes()).written());
    }
    let is_copied = |it: &Setting| COPIED.iter().any(|(section, key)| it.is(section, key));
    for (setting, _) in reader.found.iter().filter(|(it, _)| is_copied(it)) {
        text.extend(setting.written());
    }
    let file = directory.join("config");
    write(&file, &text)?;
    let mut env = BTreeMap::from([
        ("GIT_CONFIG_GLOBAL".to_owned(), file.to_str()?.to_owned()),
        ("GIT_CONFIG_COUNT".to_owned(), OVERRIDES.len().to_string()),
    ]);
    for (number, (key, value)) in OVERRIDES.iter().enumerate() {
        env.insert(format!("GIT_CONFIG_KEY_{number}"), (*key).to_owned());
        env.insert(format!("GIT_CONFIG_VALUE_{number}"), (*value).to_owned());
    }
    Some(GitGlobal { directory, env, signs_commits })
}

/// Writes a file, unless it has this content. Never half of it: a command may read it.
fn write(path: &Path, bytes: &[u8]) -> Option<()> {
    if contents::plain_file(path, MAX_BYTES).known().is_some_and(|found| found == bytes) {
        return Some(());
    }
    let mut file = tempfile::NamedTempFile::new_in(path.parent()?).ok()?;
    file.write_all(bytes).ok()?;
    file.persist(path).ok().map(drop)
}

struct Reader<'a> {
    home: Option<&'a Path>,
    writable: &'a [PathBuf],
    /// Files that were read.
    files: usize,
    /// Settings, each with the directory of its file.
    found: Vec<(Setting, PathBuf)>,
}

impl Reader<'_> {
    /// The content of a file, if it is the user's own.
    fn read(&mut self, file: &Path) -> Option<Vec<u8>> {
        self.files += 1;
        let real = fs::canonicalize(file).ok()?;
        let is_writable = self.writable.iter().any(|directory| real.starts_with(directory));
        let is_read = self.files <= MAX_FILES && !is_writable;
        is_read.then(|| contents::file(&real, MAX_BYTES).known())?
    }

    /// Reads a file and what it includes.
    fn follow(&mut self, file: &Path) {
        let all = self.read(file).and_then(|text| settings(&text)).unwrap_or_default();
        let base = file.parent().unwrap_or(Path::new("/")).to_owned();
        for setting in all {
            let is_included = setting.section == "include" || self.applies(&setting);
            if is_included && setting.key == "path" {
                if let Some(path) = self.path(&setting, &base) {
                    self.follow(&path);
                }
            } else {
                self.found.push((setting, base.clone()));
            }
        }
    }

    /// Returns true for `includeIf "gitdir:DIRECTORY/"` around the workspace.
    fn applies(&self, setting: &Setting) -> bool {
        let pattern = setting.subsection().and_then(|it| it.strip_prefix(b"gitdir:"));
        let Some(pattern) = pattern.filter(|_| setting.section == "includeif") else {
            return false;
        };
        let directory = self.expanded(pattern);
        pattern.ends_with(b"/") && self.writable.first().is_some_and(|it| it.starts_with(directory))
    }

    fn path(&self, setting: &Setting, base: &Path) -> Option<PathBuf> {
        let value = setting.bytes();
        (!value.is_empty()).then(|| base.join(self.expanded(value)))
    }

    fn expanded(&self, path: &[u8]) -> PathBuf {
        match (path.strip_prefix(b"~/"), self.home) {
            (Some(rest), Some(home)) => home.join(OsStr::from_bytes(rest)),
            _ => PathBuf::from(OsStr::from_bytes(path)),
        }
    }
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
            Self { base: tempfile::tempdir().unwrap(), variables: BTreeMap::new() }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.base.path().canonicalize().unwrap().join(name)
        }

        fn file(&self, name: &str, text: &str) {
            fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
            fs::write(self.path(name), text).unwrap();
        }

        fn generated(&self) -> GitGlobal {
            let (home, work) = (self.path("home"), self.path("home/work/project"));
            git_global(Some(&home), &self.variables, &self.path("state"), &[work]).unwrap()
        }

        fn text(&self) -> String {
            let text = fs::read_to_string(&self.generated().env["GIT_CONFIG_GLOBAL"]).unwrap();
            text.strip_prefix(DEFAULTS).unwrap().to_owned()
        }
    }

    #[test]
    fn git_global_copies_the_identity_and_no_programs() {
        let world = World::new();
        assert_eq!(world.text(), "");
        let kept = "[user]\n\tname = \"U \\\"x\\\" # y\"\n[pull]\n\trebase = \"true\"\n";
        let left = "[credential]\nhelper = store\n[alias]\nst = status\n[core]\nfsmonitor = ./x\n\
                    [filter \"lfs\"]\nclean = x\n[commit]\ngpgsign\n[http]\nextraHeader = A: b\n";
        world.file("home/.gitconfig", &format!("{kept}{left}"));
        assert_eq!(world.text(), kept);
        assert!(world.generated().signs_commits);
        world.file("home/.gitconfig", "[broken");
        assert_eq!(world.text(), "");
    }

    #[test]
    fn git_global_follows_includes_outside_of_the_workspace() {
        let mut world = World::new();
        world.file("home/.config/git/config", "[user]\nname = a\n");
        world.file("home/.config/git/ignore", "*.log\n");
        world.file(
            "home/.gitconfig",
            "[include]\npath = more\n[includeIf \"gitdir:~/work/\"]\npath = at-work\n\
             [includeIf \"gitdir:~/other/\"]\npath = other\n",
        );
        world.file("home/more", "[include]\npath = work/project/evil\n[user]\nname = b\n");
        world.file("home/work/project/evil", "[user]\nemail = evil\n");
        world.file("home/at-work", "[user]\nemail = w\n");
        world.file("home/other", "[user]\nemail = o\n");
        let text = world.text();
        let ignore = world.generated().directory.join("ignore");
        assert!(text.contains(ignore.to_str().unwrap()), "{text}");
        assert_eq!(fs::read_to_string(ignore).unwrap(), "*.log\n");
        assert!(text.ends_with("name = \"b\"\n[user]\n\temail = \"w\"\n"), "{text}");
        let evil = world.path("home/work/project/evil");
        world.variables.insert("GIT_CONFIG_GLOBAL".into(), evil.to_str().unwrap().into());
        assert!(!world.text().contains("evil\n"));
    }
}
