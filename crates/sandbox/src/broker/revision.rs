//! Finds the commit that a name stands for. Names are looked up in the repository's own files; git
//! is asked about ids only.

use contract::broker::BrokerError;

use super::git::{Git, Index};
use super::reference::{at, is_short, tip};
use super::repository::Repository;

/// Where a name is looked for, in git's order.
const PLACES: [&str; 4] = ["refs/tags/", "refs/heads/", "refs/remotes/", "refs/"];

/// The id of the commit that `name` stands for: `HEAD`, a branch, a tag, an id or the beginning of
/// one, and `~` and `^` after any of them.
pub(crate) async fn commit(
    git: &Git,
    repository: &Repository,
    name: &str,
) -> Result<String, BrokerError> {
    let unknown = || BrokerError::Refused(format!("there is no commit {name:?}"));
    let (base, steps) = name.split_at(name.find(['~', '^']).unwrap_or(name.len()));
    if !steps.chars().all(|c| matches!(c, '~' | '^' | '0'..='9')) {
        return Err(unknown());
    }
    let is_hex = base.len() >= 4 && base.bytes().all(|byte| byte.is_ascii_hexdigit());
    let start = match base {
        "HEAD" | "@" => tip(repository, &repository.head()?)?,
        _ => named(repository, base)?.or_else(|| is_hex.then(|| base.to_owned())),
    };
    let start = start.ok_or_else(unknown)?;
    let words = format!("{start}{steps}^{{commit}}");
    let words = ["rev-parse", "--quiet", "--verify", "--end-of-options", &words];
    git.id(Index::Kept, &words, b"").await.map_err(|_| unknown())
}

fn named(repository: &Repository, base: &str) -> Result<Option<String>, BrokerError> {
    if !is_short(base) {
        return Ok(None);
    }
    for place in PLACES {
        let full = format!("{place}{base}");
        // A branch `a` and a tag `a/b` live beside each other, but not a name and a folder of it.
        if let Ok(Some(id)) = at(repository, &full) {
            return Ok(Some(id));
        }
    }
    if base.starts_with("refs/") { at(repository, base) } else { Ok(None) }
}
