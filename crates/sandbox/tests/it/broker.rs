//! Commits by the broker: what they must do, and what hostile repositories must not get from them.

mod commits;
mod hostile;
mod layouts;
mod switches;
mod tags;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use contract::broker::{BrokerError, CommitRequest, Committed};
use sandbox::BrokerSettings;

/// A home with an identity, and a repository in it with one commit.
struct Rig {
    folder: tempfile::TempDir,
    settings: BrokerSettings,
}

impl Rig {
    /// A workspace that is no repository.
    fn bare() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let (home, work) = (base.join("home"), base.join("home/work"));
        fs::create_dir_all(&work).unwrap();
        let identity = "[user]\n\tname = Úna User\n\temail = una@example.org\n";
        fs::write(home.join(".gitconfig"), identity).unwrap();
        let settings = BrokerSettings {
            workspace: work,
            state: home.join(".config/brynhild/sandbox"),
            home: Some(home),
            env: BTreeMap::new(),
            rules: None,
        };
        Self { folder, settings }
    }

    /// A repository without a commit.
    fn unborn() -> Self {
        let rig = Self::bare();
        rig.shell("git init -q -b main .");
        rig
    }

    /// A repository with one commit of `a.txt`.
    fn new() -> Self {
        let rig = Self::unborn();
        rig.shell("echo one > a.txt && git add . && git commit -q -m first");
        rig
    }

    /// The same broker for another workspace.
    fn at(&self, path: &str) -> BrokerSettings {
        let workspace = self.settings.workspace.join(path).canonicalize().unwrap();
        BrokerSettings { workspace, ..self.settings.clone() }
    }

    fn home(&self) -> PathBuf {
        self.settings.home.clone().unwrap()
    }

    /// Where programs that must not run leave a mark.
    fn marks(&self) -> PathBuf {
        let marks = self.folder.path().join("marks");
        fs::create_dir_all(&marks).unwrap();
        marks
    }

    /// The names of the programs that ran.
    fn fired(&self) -> Vec<String> {
        let entries = fs::read_dir(self.marks()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.settings.workspace.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn script(&self, name: &str, text: &str) {
        self.write(name, text);
        let path = self.settings.workspace.join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What a script of plain git and shell prints, in the workspace.
    fn shell(&self, script: &str) -> String {
        let output = self.try_shell(script);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{script}: {words}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[expect(clippy::disallowed_methods, reason = "the tests look at repositories with plain git")]
    fn try_shell(&self, script: &str) -> std::process::Output {
        Command::new("/bin/bash")
            .args(["-c", script])
            .current_dir(&self.settings.workspace)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.home())
            .env("MARKS", self.marks())
            .output()
            .unwrap()
    }

    async fn commit(&self, message: &str, paths: &[&str]) -> Result<Committed, BrokerError> {
        commit(&self.settings, message, paths).await
    }

    /// A commit that must succeed, after which git finds nothing wrong.
    async fn committed(&self, message: &str, paths: &[&str]) -> Committed {
        let committed = self.commit(message, paths).await.unwrap();
        assert_eq!(self.shell("git rev-parse HEAD").trim_end(), committed.id);
        self.shell("git fsck --strict --no-dangling");
        assert_eq!(self.shell("git diff --cached --name-only -- ':(literal)a.txt'"), "");
        assert!(!self.settings.workspace.join(".git/index.lock").exists());
        committed
    }

    /// Why a commit is refused, which must leave everything as it was.
    async fn refused(&self, paths: &[&str]) -> BrokerError {
        let state = "git rev-parse -q --verify HEAD; git ls-files -s; git status --porcelain";
        let before = self.try_shell(state).stdout;
        let error = self.commit("refused", paths).await.unwrap_err();
        assert_eq!(self.try_shell(state).stdout, before, "{error}");
        error
    }

    fn status(&self) -> String {
        self.shell("git status --porcelain")
    }
}

async fn commit(
    settings: &BrokerSettings,
    message: &str,
    paths: &[&str],
) -> Result<Committed, BrokerError> {
    let request = CommitRequest {
        message: message.to_owned(),
        paths: paths.iter().map(PathBuf::from).collect(),
    };
    sandbox::broker(settings.clone()).commit(&request).await
}
