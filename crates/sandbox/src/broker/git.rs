//! Runs git in a folder of settings that we made: nothing that the repository or the environment
//! says can make it start another program.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use contract::broker::BrokerError;
use contract::sandbox::Stdin;
use tokio::io::AsyncWriteExt;

use super::folder::Folder;
use super::lock::Lock;
use super::reach::Reach;
use super::repository::{Repository, regular};
use crate::launch::{self, Launcher};
use crate::system_program::trusted;
use crate::{FileRules, User};

/// The only places where git is looked for.
const PLACES: [&str; 4] =
    ["/usr/bin/git", "/bin/git", "/usr/local/bin/git", "/run/current-system/sw/bin/git"];

const INDEX: u64 = 4 << 30;
const LIST: u64 = 4 << 20;

/// What holds whatever anybody's settings say.
const FIXED: [&str; 12] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "core.logAllRefUpdates=false",
    "core.commitGraph=false",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=false",
    "credential.helper=",
    "submodule.recurse=false",
    "protocol.allow=never",
    "gc.auto=0",
];

/// Git with a git directory of our own over the repository's objects and a copy of its index.
#[derive(Debug)]
pub(crate) struct Git {
    program: PathBuf,
    launcher: Arc<Launcher>,
    folder: Folder,
    /// The top of the working tree.
    pub(crate) root: PathBuf,
    objects: PathBuf,
    /// Settings beyond the fixed ones, as `name=value`.
    pub(crate) settings: Vec<OsString>,
    /// Variables beyond the fixed ones.
    pub(crate) env: BTreeMap<String, OsString>,
    /// Rules for the files of the working tree.
    pub(crate) rules: Option<Arc<dyn FileRules>>,
    /// Whose settings the person's own git obeys.
    pub(crate) user: User,
}

/// Which index a step works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Index {
    /// The copy of the repository's, which will take its place.
    Kept,
    /// One for the commit alone.
    Committed,
}

impl Git {
    /// Makes the folder in `state`, a place of the user's outside of the workspace. All that git can do at
    /// first is to read settings, which include files from wherever the user likes.
    pub(crate) fn new(repository: &Repository, state: &Path) -> Result<Self, BrokerError> {
        let cannot = |error: std::io::Error| {
            BrokerError::Failed(format!("cannot keep things in {}: {error}", state.display()))
        };
        let program = find()?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(cannot)?;
        let state = state.canonicalize().map_err(cannot)?;
        if state.starts_with(&repository.root) {
            let (root, state) = (repository.root.display(), state.display());
            let text = format!("{root} holds Brynhild's own files in {state}; use git itself");
            return Err(BrokerError::Refused(text));
        }
        let folder = Folder::make(&state).map_err(cannot)?;
        for name in ["refs", "objects", "info"] {
            fs::create_dir(folder.path().join(name)).map_err(cannot)?;
        }
        let git = Self {
            program,
            launcher: started(Reach { read: vec!["/".into()], write: Vec::new() })?,
            folder,
            root: repository.root.clone(),
            objects: repository.common.join("objects"),
            settings: Vec::new(),
            env: BTreeMap::new(),
            rules: None,
            user: User::default(),
        };
        git.write("HEAD", b"ref: refs/heads/broker\n")?;
        git.write("config", b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n")?;
        Ok(git)
    }

    /// Locks a file of the repository, which need not exist.
    pub(crate) fn lock(&self, target: &Path) -> Result<Lock, BrokerError> {
        self.folder.lock(target)
    }

    /// Whether a rule denies to read a file of the working tree.
    pub(crate) fn is_hidden(&self, name: &[u8]) -> bool {
        let path = self.root.join(OsStr::from_bytes(name));
        self.rules.as_ref().is_some_and(|rules| rules.hides(&path))
    }

    /// Whether a rule denies to write a file of the working tree.
    pub(crate) fn is_kept(&self, name: &[u8]) -> bool {
        let path = self.root.join(OsStr::from_bytes(name));
        self.rules.as_ref().is_some_and(|rules| rules.hides(&path) || rules.keeps(&path))
    }

    /// Uses another kind of ids than usual.
    pub(crate) fn use_format(&self, name: &str) -> Result<(), BrokerError> {
        let text = format!(
            "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectformat = {name}\n"
        );
        self.write("config", text.as_bytes())
    }

    /// Lets it read files and objects of the repository, and these `lists` of patterns, and write objects and
    /// its folder. From here on it reaches nothing else.
    pub(crate) fn enter(
        &mut self,
        repository: &Repository,
        lists: Vec<PathBuf>,
    ) -> Result<(), BrokerError> {
        let folder = self.folder.path().to_owned();
        let read = [repository.objects(), vec![self.root.clone()], lists].concat();
        self.launcher = started(Reach { read, write: vec![self.objects.clone(), folder] })?;
        Ok(())
    }

    /// Copies what the repository knows about its files: the index, and local lists of patterns.
    pub(crate) fn copy_index(&self, repository: &Repository) -> Result<(), BrokerError> {
        let index = repository.own.join("index");
        if let Some(bytes) = regular(&index, INDEX)? {
            self.write("index", &bytes)?;
            // Git compares this time with those of the files to find changes within one tick.
            let time = fs::symlink_metadata(&index).and_then(|found| found.modified());
            let copy = fs::File::options().write(true).open(self.index_path(Index::Kept));
            let copied = copy.and_then(|copy| copy.set_modified(time?));
            copied
                .map_err(|error| BrokerError::Failed(format!("cannot copy the index: {error}")))?;
        }
        for name in ["info/exclude", "info/attributes"] {
            if let Some(bytes) = regular(&repository.common.join(name), LIST)? {
                self.write(name, &bytes)?;
            }
        }
        for entry in fs::read_dir(&repository.own).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.strip_prefix("sharedindex.").is_some_and(super::reference::is_id)
                && let Some(bytes) = regular(&entry.path(), INDEX)?
            {
                self.write(&name, &bytes)?;
            }
        }
        Ok(())
    }

    /// What the index holds after all steps, and since when.
    pub(crate) fn index(&self) -> Result<Option<(Vec<u8>, SystemTime)>, BrokerError> {
        let path = self.index_path(Index::Kept);
        let time = fs::metadata(&path).and_then(|found| found.modified());
        Ok(regular(&path, INDEX)?.zip(time.ok()))
    }

    /// Every setting of a file, which may be hostile: none of it is obeyed, nothing is included.
    pub(crate) async fn settings_of(
        &self,
        file: &Path,
    ) -> Result<Vec<(String, String)>, BrokerError> {
        let mut words = ["config", "--no-includes", "-z", "--list", "-f"].map(OsStr::new).to_vec();
        words.push(file.as_os_str());
        Ok(pairs(&self.finish(self.plain(Index::Kept), &words, b"").await?))
    }

    /// Every setting of the user and the system. The repository's place and branch decide about
    /// conditional includes, as usual; its settings are not among them.
    pub(crate) async fn settings_of_user(
        &self,
        own: &Path,
        home: Option<&Path>,
        env: &BTreeMap<String, String>,
    ) -> Result<Vec<(String, String)>, BrokerError> {
        let words = ["config", "-z", "--list"].map(OsStr::new);
        let mut command = self.plain(Index::Kept);
        command.env_remove("GIT_CONFIG_NOSYSTEM").env_remove("GIT_CONFIG_GLOBAL");
        command.env("GIT_DIR", own).env("GIT_COMMON_DIR", self.folder.path());
        command.envs(home.map(|home| ("HOME", home)));
        for name in ["XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"] {
            command.envs(env.get(name).map(|value| (name, value)));
        }
        Ok(pairs(&self.finish(command, &words, b"").await?))
    }

    /// Runs a step and returns what it printed.
    pub(crate) async fn run(
        &self,
        index: Index,
        words: &[&str],
        paths: &[PathBuf],
        input: &[u8],
    ) -> Result<Vec<u8>, BrokerError> {
        let mut all: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        if !paths.is_empty() {
            all.push(OsStr::new("--"));
            all.extend(paths.iter().map(|path| path.as_os_str()));
        }
        self.finish(self.settled(index), &all, input).await
    }

    /// Makes these files, as the index has them, in a folder of our own, which is returned.
    pub(crate) async fn make(&self, names: &[u8]) -> Result<PathBuf, BrokerError> {
        let place = self.folder.path().join("files");
        let cannot = |error| BrokerError::Failed(format!("cannot make files: {error}"));
        fs::create_dir(&place).map_err(cannot)?;
        let mut command = self.settled(Index::Kept);
        // Of the attributes those of the index count, as in every checkout.
        command.env("GIT_WORK_TREE", &place).current_dir(&place);
        let words = ["checkout-index", "-z", "--stdin"].map(OsStr::new);
        self.finish(command, &words, names).await?;
        Ok(place)
    }

    /// Runs a step that prints one id.
    pub(crate) async fn id(
        &self,
        index: Index,
        words: &[&str],
        input: &[u8],
    ) -> Result<String, BrokerError> {
        let printed = self.run(index, words, &[], input).await?;
        let text = String::from_utf8(printed).unwrap_or_default().trim_end().to_owned();
        if super::reference::is_id(&text) {
            return Ok(text);
        }
        Err(BrokerError::Failed(format!("`git {}` did not answer with an id", words[0])))
    }

    /// Git with all settings and without a command.
    fn settled(&self, index: Index) -> tokio::process::Command {
        let mut command = self.plain(index);
        let own = self.settings.iter().map(OsString::as_os_str);
        for setting in FIXED.map(OsStr::new).into_iter().chain(own) {
            command.arg("-c").arg(setting);
        }
        command
    }

    /// Git without a setting and without a command.
    fn plain(&self, index: Index) -> tokio::process::Command {
        let mut command = launch::command(&self.program, Stdin::Piped);
        command
            .kill_on_drop(true)
            .current_dir(&self.root)
            .env("PATH", "/usr/bin:/bin")
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .env("GIT_PAGER", "cat")
            .env("GIT_EDITOR", "false")
            .env("GIT_DIR", self.folder.path())
            .env("GIT_WORK_TREE", &self.root)
            .env("GIT_OBJECT_DIRECTORY", &self.objects)
            .env("GIT_INDEX_FILE", self.index_path(index))
            .envs(&self.env)
            .arg("--no-pager");
        command
    }

    async fn finish(
        &self,
        mut command: tokio::process::Command,
        words: &[&OsStr],
        input: &[u8],
    ) -> Result<Vec<u8>, BrokerError> {
        let name = words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
        let cannot = |error: std::io::Error| BrokerError::Failed(format!("`git {name}`: {error}"));
        command.args(words);
        let mut child = self.launcher.launch(command, Vec::new()).map_err(cannot)?;
        let stdin = child.stdin.take();
        let feed = async move {
            if let Some(mut stdin) = stdin {
                // Where git does not want to read on, its exit tells why.
                let _ = stdin.write_all(input).await;
                let _ = stdin.shutdown().await;
            }
        };
        let (output, ()) = tokio::join!(child.wait_with_output(), feed);
        let output = output.map_err(cannot)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let words = String::from_utf8_lossy(&output.stderr);
        let words = words.trim();
        let words = if words.is_empty() { "it failed without a word" } else { words };
        Err(BrokerError::Failed(format!("`git {name}`: {words}")))
    }

    fn index_path(&self, index: Index) -> PathBuf {
        self.folder.path().join(match index {
            Index::Kept => "index",
            Index::Committed => "index-of-commit",
        })
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), BrokerError> {
        let path = self.folder.path().join(name);
        fs::write(&path, bytes).map_err(|error| {
            BrokerError::Failed(format!("cannot write {}: {error}", path.display()))
        })
    }
}

fn started(reach: Reach) -> Result<Arc<Launcher>, BrokerError> {
    let cannot = |error| BrokerError::Failed(format!("cannot start processes: {error}"));
    reach.launcher().map_err(cannot)
}

/// Finds git at a place that only root can change.
fn find() -> Result<PathBuf, BrokerError> {
    let mut why = "git is not installed".to_owned();
    for place in PLACES.map(Path::new) {
        match trusted(place) {
            Ok(path) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => why = format!("{} {error}", place.display()),
        }
    }
    Err(BrokerError::Failed(format!("{why}; install it from your distribution")))
}

/// Names and values as `git config -z --list` prints them.
fn pairs(printed: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(printed);
    let pair = |entry: &str| {
        // A name without a value is a switch that is on.
        let (name, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        (name.to_owned(), value.to_owned())
    };
    text.split('\0').filter(|entry| !entry.is_empty()).map(pair).collect()
}
