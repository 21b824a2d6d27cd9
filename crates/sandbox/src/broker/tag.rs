//! Makes tags: a name alone, or an object with a message.

use contract::broker::BrokerError;

use super::git::{Git, Index};
use super::repository::Repository;
use super::{message, reference, revision};

/// A tag to make.
pub(crate) struct Tag<'a> {
    pub(crate) name: &'a str,
    pub(crate) message: Option<&'a str>,
    /// The commit, by any name.
    pub(crate) target: &'a str,
}

impl Tag<'_> {
    /// Makes it, and returns the id of the commit that it names.
    pub(crate) async fn make(
        &self,
        git: &Git,
        repository: &Repository,
    ) -> Result<String, BrokerError> {
        let Self { name, message, target } = self;
        if !reference::is_short(name) {
            return Err(BrokerError::Refused(format!("{name:?} cannot be the name of a tag")));
        }
        let full = format!("refs/tags/{name}");
        if reference::at(repository, &full)?.is_some() {
            return Err(BrokerError::Refused(format!("there is a tag {name} already")));
        }
        let commit = revision::commit(git, repository, target).await?;
        let id = match message {
            None => commit.clone(),
            Some(message) => {
                let message = message::tidy(message)?;
                let tagger = who(git).await?;
                let object = format!(
                    "object {commit}\ntype commit\ntag {name}\ntagger {tagger}\n\n{message}"
                );
                git.id(Index::Kept, &["mktag"], object.as_bytes()).await?
            }
        };
        reference::create(git, repository, &full, &id)?;
        Ok(commit)
    }
}

/// Who acts and when, as git writes it.
pub(crate) async fn who(git: &Git) -> Result<String, BrokerError> {
    let printed = git.run(Index::Kept, &["var", "GIT_COMMITTER_IDENT"], &[], b"").await?;
    Ok(String::from_utf8_lossy(&printed).trim_end().to_owned())
}
