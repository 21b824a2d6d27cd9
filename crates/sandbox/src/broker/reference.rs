//! Reads and moves branches by git's own files and locks, so that no hook hears of it.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use contract::broker::BrokerError;

use super::git::Git;
use super::lock::Lock;
use super::repository::{Head, Repository, regular};

const LOOSE: u64 = 4 << 10;
const PACKED: u64 = 1 << 30;

/// Whether `text` is the full id of an object.
pub(crate) fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64)
        && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether `name` is the full name of a branch that git would allow.
pub(crate) fn is_branch(name: &str) -> bool {
    name.strip_prefix("refs/heads/").is_some_and(is_short)
}

/// Whether git would allow `short` as the name of a branch or tag.
pub(crate) fn is_short(short: &str) -> bool {
    let is_bad = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && Path::new(part).extension().is_none_or(|extension| extension != "lock")
            && !part.eq_ignore_ascii_case(".git")
    };
    short.split('/').all(is_part)
        && !short.starts_with('-')
        && !short.contains("..")
        && !short.contains("@{")
        && !short.ends_with('.')
        && !short.contains(is_bad)
        && short.len() < 1000
}

/// The commit that a commit comes after; none on a branch without any.
pub(crate) fn tip(repository: &Repository, head: &Head) -> Result<Option<String>, BrokerError> {
    match head {
        Head::Detached(id) => Ok(Some(id.clone())),
        Head::Branch(name) => at(repository, name),
    }
}

/// What a branch or tag, by its full name, points to; none where there is none of that name.
pub(crate) fn at(repository: &Repository, name: &str) -> Result<Option<String>, BrokerError> {
    let path = beneath(&repository.common, name)?;
    if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_dir()) {
        let text = String::from_utf8(regular(&path, LOOSE)?.unwrap_or_default());
        let text = text.unwrap_or_default().trim_end().to_owned();
        if is_id(&text) {
            return Ok(Some(text));
        }
        return Err(refused(&path, "does not hold the id of a commit"));
    }
    let packed = packed(repository)?;
    let found = packed.iter().find(|(other, _)| other == name);
    if found.is_none() {
        let clash = |other: &str| {
            let inside = |long: &str, short: &str| {
                long.strip_prefix(short).is_some_and(|rest| rest.starts_with('/'))
            };
            inside(other, name) || inside(name, other)
        };
        if let Some((other, _)) = packed.iter().find(|(other, _)| clash(other)) {
            let why = format!("cannot be beside {other}");
            return Err(refused(Path::new(name), &why));
        }
    }
    Ok(found.map(|(_, id)| id.clone()))
}

fn packed(repository: &Repository) -> Result<Vec<(String, String)>, BrokerError> {
    let bytes = regular(&repository.common.join("packed-refs"), PACKED)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let line = |line: &str| {
        let (id, name) = line.split_once(' ')?;
        is_id(id).then(|| (name.to_owned(), id.to_owned()))
    };
    Ok(text.lines().filter_map(line).collect())
}

/// A move of a branch, or of a detached `HEAD`, that is prepared and not yet done.
pub(crate) struct Move {
    lock: Lock,
}

impl Move {
    /// Locks what is to move, and fails where it is not at `from` any more.
    pub(crate) fn prepare(
        git: &Git,
        repository: &Repository,
        head: &Head,
        from: Option<&str>,
        to: &str,
    ) -> Result<Self, BrokerError> {
        let path = match head {
            Head::Branch(name) => beneath(&repository.common, name)?,
            Head::Detached(_) => repository.own.join("HEAD"),
        };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .map_err(|error| refused(folder, &format!("cannot be made: {error}")))?;
        }
        let mut lock = git.lock(&path)?;
        if repository.head()? != *head || tip(repository, head)?.as_deref() != from {
            let text = "another process has committed meanwhile; look at the log and try again";
            return Err(BrokerError::Failed(text.to_owned()));
        }
        lock.fill(format!("{to}\n").as_bytes())?;
        // An empty folder of that name is what a deleted branch may have left.
        let _ = fs::remove_dir(&path);
        Ok(Self { lock })
    }

    /// Does it.
    pub(crate) fn perform(self) -> Result<(), BrokerError> {
        self.lock.put()
    }
}

/// Makes a branch or tag, by its full name, that must not exist.
pub(crate) fn create(
    git: &Git,
    repository: &Repository,
    name: &str,
    to: &str,
) -> Result<(), BrokerError> {
    let path = beneath(&repository.common, name)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .map_err(|error| refused(folder, &format!("cannot be made: {error}")))?;
    }
    let mut lock = git.lock(&path)?;
    if at(repository, name)?.is_some() {
        return Err(refused(Path::new(name), "exists"));
    }
    lock.fill(format!("{to}\n").as_bytes())?;
    // An empty folder of that name is what a deleted one may have left.
    let _ = fs::remove_dir(&path);
    lock.put()
}

/// Writes a line about the move into the logs of `HEAD` and of its branch.
pub(crate) fn log(
    repository: &Repository,
    head: &Head,
    line: &str,
    always: bool,
) -> Result<(), BrokerError> {
    let mut places = vec![beneath(&repository.own, "logs/HEAD")?];
    if let Head::Branch(name) = head {
        places.push(beneath(&repository.common, &format!("logs/{name}"))?);
    }
    for place in places {
        let cannot =
            |error| BrokerError::Failed(format!("cannot log to {}: {error}", place.display()));
        if !always && fs::symlink_metadata(&place).is_err() {
            continue;
        }
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder).map_err(cannot)?;
        }
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
            .open(&place);
        file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(cannot)?;
    }
    Ok(())
}

/// The path of `name` beneath `folder`, none of whose parts is a symbolic link.
fn beneath(folder: &Path, name: &str) -> Result<PathBuf, BrokerError> {
    let mut path = folder.to_owned();
    for part in name.split('/') {
        path.push(part);
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
            return Err(refused(&path, "is a symbolic link; it is not followed"));
        }
    }
    Ok(path)
}

fn refused(path: &Path, why: &str) -> BrokerError {
    BrokerError::Refused(format!("{} {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_stay_among_the_branches_are_branches() {
        for good in ["main", "feature/x", "a.b", "ünïcode", "v1-2_3"] {
            assert!(is_branch(&format!("refs/heads/{good}")), "{good}");
        }
        for bad in [
            "",
            "-x",
            "../../config",
            "a/../b",
            "a..b",
            ".hidden",
            "a/.git/b",
            "x.lock",
            "a b",
            "a\nb",
            "a:b",
            "@{1}",
            "a/",
            "/a",
            "a//b",
            "a.",
            "a\u{7f}",
        ] {
            assert!(!is_branch(&format!("refs/heads/{bad}")), "{bad:?}");
        }
        assert!(!is_branch("refs/remotes/origin/main") && !is_branch("HEAD"));
    }

    #[test]
    fn an_id_is_a_whole_hash() {
        assert!(is_id(&"0a".repeat(20)) && is_id(&"9f".repeat(32)));
        assert!(!is_id("0a") && !is_id(&"0A".repeat(20)) && !is_id(&"-".repeat(40)));
    }
}
