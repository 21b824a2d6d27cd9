//! Records which commit each submodule stands at. The submodule's pointers are read here; git is
//! never started in one, since its settings would be obeyed there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use contract::broker::BrokerError;

use super::git::{Git, Index};
use super::reference;
use super::repository::Repository;
use super::scope::Scope;
use crate::held::Held;

/// The mode of an entry that stands for a commit of another repository.
const POINTER: &str = "160000 ";

/// Brings the pointers in `scope` up to date in the index.
pub(crate) async fn record(
    git: &Git,
    repository: &Repository,
    scope: &Scope,
) -> Result<(), BrokerError> {
    if !repository.root.join(".gitmodules").is_file() {
        return Ok(());
    }
    let printed = git.run(Index::Kept, &["ls-files", "-z", "-s"], scope.paths(), b"").await?;
    let mut lines = Vec::new();
    for entry in printed.split(|byte| *byte == 0) {
        let Some((recorded, path)) = pointer(entry) else {
            continue;
        };
        let found = stands_at(repository, path).filter(|id| id.len() == recorded.len());
        if let Some(id) = found.filter(|id| id != recorded) {
            lines.extend_from_slice(format!("{POINTER}{id}\t").as_bytes());
            lines.extend_from_slice(path);
            lines.push(0);
        }
    }
    if !lines.is_empty() {
        git.run(Index::Kept, &["update-index", "-z", "--index-info"], &[], &lines).await?;
    }
    Ok(())
}

/// The recorded commit and the path of an entry that is a pointer.
fn pointer(entry: &[u8]) -> Option<(&str, &[u8])> {
    let rest = entry.strip_prefix(POINTER.as_bytes())?;
    let tab = rest.iter().position(|byte| *byte == b'\t')?;
    let (id, stage) = std::str::from_utf8(&rest[..tab]).ok()?.split_once(' ')?;
    (stage == "0").then_some((id, &rest[tab + 1..]))
}

/// The commit that the submodule at `path` stands at; none where it is not checked out, or where
/// its `.git` leads to what is not this repository's submodule.
fn stands_at(repository: &Repository, path: &[u8]) -> Option<String> {
    let git = repository.root.join(OsStr::from_bytes(path)).join(".git");
    // A link in the place of the folder would tell where another repository stands.
    let git = Held::of(&git).ok().filter(|git| git.path().exists())?;
    let module = Repository::find(git.path().parent()?).ok()?;
    let modules = repository.common.join("modules").canonicalize();
    let is_ours = |modules: PathBuf| module.own.starts_with(modules);
    let is_plain = module.own == git.path();
    if !is_plain && !modules.is_ok_and(is_ours) {
        return None;
    }
    reference::tip(&module, &module.head().ok()?).ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settled_pointers_are_taken() {
        let id = "a".repeat(40);
        let entry = format!("160000 {id} 0\tmy sub");
        assert_eq!(pointer(entry.as_bytes()), Some((id.as_str(), b"my sub".as_slice())));
        assert_eq!(pointer(format!("100644 {id} 0\tfile").as_bytes()), None);
        assert_eq!(pointer(format!("160000 {id} 2\tsub").as_bytes()), None);
        assert_eq!(pointer(b""), None);
    }
}
