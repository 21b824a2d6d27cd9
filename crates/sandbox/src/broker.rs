//! Commits, switches branches and tags on the host, for a model whose own processes see `.git`
//! read-only.
//!
//! Git runs with settings of ours over the repository's objects and a copy of its index, so no hook,
//! filter, pager, monitor or other program of the repository's choice ever starts. Only plumbing is
//! used: `git add` and `git commit` would start git again in every submodule, with its settings. It
//! runs behind walls, within which it writes objects and our own folder alone.

mod folder;
mod git;
mod lock;
mod message;
mod obeyed;
mod preferences;
mod reach;
mod reference;
mod repository;
mod revision;
mod scope;
mod staging;
mod submodules;
mod switch;
mod tag;
mod tree;
mod waiting;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::broker::{Broker, BrokerError, Change, Changed, CommitRequest, Committed};

use crate::{FileRules, User};
use git::{Git, Index};
use lock::Lock;
use preferences::Preferences;
use reference::Move;
use repository::{Head, Repository};
use scope::Scope;
use switch::Destination;
use tag::Tag;

const PATIENCE: Duration = Duration::from_mins(10);
/// After this long it is worth a look at what git may be waiting for.
const SUSPICION: Duration = Duration::from_secs(3);

/// What the broker needs to know.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The workspace, a real path. Nothing outside of it is committed.
    pub workspace: PathBuf,
    /// A directory of the user, outside of any workspace, for what git is told.
    pub state: PathBuf,
    /// The home whose git settings say who commits.
    pub home: Option<PathBuf>,
    /// The user's variables; those that name author and committer count.
    pub env: BTreeMap<String, String>,
    /// What no commit may take, and no switch may change.
    pub rules: Option<Arc<dyn FileRules>>,
}

/// Makes commits in the repository of a workspace.
#[derive(Debug)]
pub(crate) struct GitBroker {
    settings: Settings,
}

impl GitBroker {
    /// A broker for a workspace.
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// Git for a repository, with what the settings of both sides mean for it.
    async fn ready(&self, repository: &Repository) -> Result<(Git, Preferences), BrokerError> {
        let mut git = Git::new(repository, &self.settings.state)?;
        let preferences = Preferences::read(&git, repository, &self.settings).await?;
        preferences.check(repository)?;
        if let Some(format) = preferences.format() {
            git.use_format(format)?;
        }
        let lists = preferences.lists(&self.settings);
        git.settings = preferences.carried(&lists);
        git.enter(repository, lists.into_iter().map(|(_, path)| path).collect())?;
        git.env = preferences.identity(&self.settings.env)?;
        git.rules.clone_from(&self.settings.rules);
        git.user = User::new(self.settings.home.clone(), &self.settings.env);
        Ok((git, preferences))
    }

    async fn attempt(&self, request: &CommitRequest) -> Result<Committed, BrokerError> {
        let message = message::tidy(&request.message)?;
        let repository = Repository::find(&self.settings.workspace)?;
        let scope = Scope::of(&request.paths, &self.settings.workspace, &repository.root)?;
        let (git, preferences) = self.ready(&repository).await?;

        // From here on no other git changes the index or moves `HEAD` to another branch.
        let index = git.lock(&repository.own.join("index"))?;
        repository.is_idle()?;
        let head = repository.head()?;
        let parent = reference::tip(&repository, &head)?;
        git.copy_index(&repository)?;
        let staged =
            staging::stage(&git, &repository, &preferences, &scope, parent.as_deref()).await?;
        let id = commit_tree(&git, &staged.tree, parent.as_deref(), &message).await?;
        let committer = committer(&git, &id).await?;

        let mut notes = preferences.notes(&repository);
        notes.extend(staged.notes);
        let commit = Commit { id, parent, subject: message::subject(&message), committer };
        let always = preferences.logs_moves();
        notes.extend(conclude(&git, &repository, &head, &commit, index)?);
        notes.extend(log(&repository, &head, &commit, always));
        Ok(Committed { id: commit.id, branch: head.branch(), files: staged.files, notes })
    }
}

#[async_trait]
impl Broker for GitBroker {
    fn branch(&self) -> Result<Option<String>, BrokerError> {
        Ok(Repository::find(&self.settings.workspace)?.head()?.branch())
    }

    async fn commit(&self, request: &CommitRequest) -> Result<Committed, BrokerError> {
        let attempt = self.attempt(request);
        tokio::pin!(attempt);
        if let Ok(result) = tokio::time::timeout(SUSPICION, &mut attempt).await {
            return result;
        }
        let root = Repository::find(&self.settings.workspace)?.root;
        let search = tokio::task::spawn_blocking(move || waiting::pipe(&root));
        let result = tokio::select! {
            result = &mut attempt => return result,
            found = search => found.ok().flatten(),
        };
        if let Some(pipe) = result {
            let pipe = pipe.display();
            return Err(BrokerError::Refused(format!(
                "{pipe} is a pipe, for which git would wait without end; remove it"
            )));
        }
        let late = |_| BrokerError::Failed("git did not end within ten minutes".to_owned());
        tokio::time::timeout(PATIENCE, attempt).await.map_err(late)?
    }

    async fn change(&self, change: &Change) -> Result<Changed, BrokerError> {
        let repository = Repository::find(&self.settings.workspace)?;
        let is_tag = matches!(change, Change::Tag(..));
        if !is_tag && repository.root != self.settings.workspace {
            return Err(BrokerError::Refused(format!(
                "{} is more than the workspace, and its files would change; use git itself",
                repository.root.display()
            )));
        }
        let (git, preferences) = self.ready(&repository).await?;
        let to = match change {
            Change::Switch(name) => Destination::Existing(name),
            Change::Create(name) => Destination::Created(name),
            Change::Tag(name, message, target) => {
                let tag = Tag { name, message: message.as_deref(), target };
                let id = Some(tag.make(&git, &repository).await?);
                let notes = preferences.unsigned_tags().into_iter().collect();
                return Ok(Changed { id, notes, ..Changed::default() });
            }
        };
        switch::perform(&git, &repository, &preferences, to).await
    }
}

/// A commit that exists and that nothing points to yet.
struct Commit<'a> {
    id: String,
    parent: Option<String>,
    subject: &'a str,
    committer: String,
}

async fn commit_tree(
    git: &Git,
    tree: &str,
    parent: Option<&str>,
    message: &str,
) -> Result<String, BrokerError> {
    let mut words = vec!["commit-tree", tree, "-F", "-"];
    words.extend(parent.iter().flat_map(|parent| ["-p", *parent]));
    git.id(Index::Kept, &words, message.as_bytes()).await
}

/// Who committed and when, as the commit has it.
async fn committer(git: &Git, id: &str) -> Result<String, BrokerError> {
    let commit = git.run(Index::Kept, &["cat-file", "commit", id], &[], b"").await?;
    let text = String::from_utf8_lossy(&commit);
    let line = text.lines().find_map(|line| line.strip_prefix("committer "));
    Ok(line.unwrap_or_default().to_owned())
}

/// Moves the branch and puts the index in its place; nothing waits in between, so nothing cancels it.
fn conclude(
    git: &Git,
    repository: &Repository,
    head: &Head,
    commit: &Commit<'_>,
    mut lock: Lock,
) -> Result<Option<String>, BrokerError> {
    let index = git.index()?;
    if let Some((bytes, time)) = &index {
        lock.fill(bytes)?;
        lock.date(*time)?;
    }
    let parent = commit.parent.as_deref();
    Move::prepare(git, repository, head, parent, &commit.id)?.perform()?;
    if index.is_none() {
        return Ok(None);
    }
    // The commit is made; that the index lags behind is no reason to say otherwise.
    Ok(lock.put().err().map(|error| format!("{error}; `git reset` brings the index up to date")))
}

fn log(repository: &Repository, head: &Head, commit: &Commit<'_>, always: bool) -> Option<String> {
    let nothing = "0".repeat(commit.id.len());
    let from = commit.parent.as_deref().unwrap_or(&nothing);
    let kind = if commit.parent.is_some() { "commit" } else { "commit (initial)" };
    let Commit { id, subject, committer, .. } = commit;
    let line = format!("{from} {id} {committer}\t{kind}: {subject}\n");
    reference::log(repository, head, &line, always).err().map(|error| error.to_string())
}
