//! How a confined model changes a repository: asked for here, done on the host by a broker that runs
//! nothing that the repository chose.

use std::path::PathBuf;

use async_trait::async_trait;
use serde::Serialize;

/// A commit to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitRequest {
    /// Its message.
    pub message: String,
    /// The files and folders in the workspace whose changes it takes; none means all of them.
    pub paths: Vec<PathBuf>,
}

/// A commit that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Committed {
    /// Its full id.
    pub id: String,
    /// The branch it is on; none where `HEAD` is detached.
    pub branch: Option<String>,
    /// The files that differ from the commit before, relative to the repository.
    pub files: Vec<String>,
    /// What was left out or done otherwise than git by itself would.
    pub notes: Vec<String>,
}

/// A change of a repository beside a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Goes to a branch, a tag or a commit.
    Switch(String),
    /// Makes a branch where `HEAD` is, and goes there.
    Create(String),
    /// Makes a tag by its name, its message where it has one, and its commit.
    Tag(String, Option<String>, String),
}

/// What a change came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// The commit that is checked out, or that has the tag; none on a branch without any.
    pub id: Option<String>,
    /// The branch that is checked out; none where `HEAD` is detached.
    pub branch: Option<String>,
    /// The files that differ from those before, relative to the repository.
    pub files: Vec<String>,
    /// What was done otherwise than git by itself would.
    pub notes: Vec<String>,
}

/// Why a repository was not changed. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// There is nothing to commit to.
    #[error("{} is not in a git repository; `git init` makes one", .0.display())]
    NotARepository(PathBuf),
    /// The commit would be the same as the one before.
    #[error("nothing to commit: {0}")]
    NothingToCommit(String),
    /// Another operation has to be ended first.
    #[error("{0} is in progress in this repository; finish or abort it with git first")]
    InProgress(String),
    /// Another process works on the repository.
    #[error(
        "{} exists: another git process works on this repository; wait for it, or remove the file \
         if there is none",
        .0.display()
    )]
    Locked(PathBuf),
    /// Nobody is known to be the author.
    #[error(
        "git does not know who you are: set user.name and user.email with `git config --global`, \
         or GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL; the repository's own settings are not used"
    )]
    NoIdentity,
    /// It must not be done in this way.
    #[error("{0}")]
    Refused(String),
    /// It went wrong.
    #[error("{0}")]
    Failed(String),
}

/// Changes a repository on the host.
#[async_trait]
pub trait Broker: Send + Sync {
    /// The branch that a commit would go to; none where `HEAD` is detached. Starts no process.
    fn branch(&self) -> Result<Option<String>, BrokerError>;

    /// Makes a commit. Dropping the future before its end leaves the repository as it was.
    async fn commit(&self, request: &CommitRequest) -> Result<Committed, BrokerError>;

    /// Changes the repository otherwise. Loses nothing that is not committed; must run to its end.
    async fn change(&self, _: &Change) -> Result<Changed, BrokerError> {
        Err(BrokerError::Refused(String::from("this broker makes commits only")))
    }
}
