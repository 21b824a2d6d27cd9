//! Work after a process has ended: checks the writable roots, brings back what a hook wrote, and
//! removes scratch space.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use contract::sandbox::{Blocked, SandboxError};
use contract::text::escaped;

use crate::blocked::BlockedLog;
use crate::tree::{Outcome, ProtectedMounts, Tree};
use crate::{Notice, Settings};

const UNSIGNED: &str = "commits made in the sandbox are not signed; sign the last one with \
                        `git commit --amend --no-edit -S`";
static TOLD: AtomicBool = AtomicBool::new(false);

/// The work after a process; dropping it does it.
#[derive(Default)]
pub(crate) struct Cleanup {
    /// Writable roots with the mounts that protect them.
    pub(crate) trees: Vec<(Arc<Tree>, ProtectedMounts)>,
    /// Paths that the process owns, in which nothing is protected.
    pub(crate) private: Vec<PathBuf>,
    /// Directories whose disks must not be filled.
    pub(crate) disks: Vec<PathBuf>,
    #[cfg(target_os = "linux")]
    pub(crate) scratch: Option<crate::scratch::Scratch>,
    /// The proxy of the process.
    #[cfg(target_os = "linux")]
    pub(crate) proxy: Option<crate::proxy::Proxy>,
    /// Directories that stand in for some of the workspace.
    #[cfg(target_os = "linux")]
    pub(crate) trusted: Option<crate::trusted_copies::TrustedCopies>,
    /// Another directory to remove.
    pub(crate) directory: Option<tempfile::TempDir>,
    pub(crate) blocked: BlockedLog,
    pub(crate) notice: Option<Notice>,
    signs_commits: bool,
}

impl fmt::Debug for Cleanup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Cleanup").finish_non_exhaustive()
    }
}

impl Cleanup {
    /// Registers a process that may write these trees.
    pub(crate) fn begin(
        trees: Vec<Arc<Tree>>,
        private: Vec<PathBuf>,
        settings: &Settings,
    ) -> Result<Self, SandboxError> {
        let mut cleanup = Self::default();
        cleanup.notice.clone_from(&settings.notice);
        cleanup.signs_commits = settings.signs_commits;
        cleanup.private = private;
        for tree in trees {
            let mounts = tree.begin()?;
            cleanup.disks.push(tree.root().to_owned());
            cleanup.trees.push((tree, mounts));
        }
        cleanup.disks.extend(cleanup.private.iter().cloned());
        Ok(cleanup)
    }

    pub(crate) fn mounts(&self) -> impl Iterator<Item = &ProtectedMounts> {
        self.trees.iter().map(|(_, mounts)| mounts)
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        let say = |text: String| {
            if let Some(notice) = &self.notice {
                notice(one_line(&text));
            }
        };
        #[cfg(target_os = "linux")]
        if let Some(Err(error)) = self.trusted.take().map(|trusted| trusted.settle()) {
            say(format!("cannot copy the files that a hook wrote to the project: {error}"));
        }
        for (tree, mounts) in std::mem::take(&mut self.trees) {
            let outcome = tree.finish(&mounts, &self.private);
            let paths = outcome.quarantined.iter().map(|(path, _)| path).chain(&outcome.restored);
            for path in paths {
                self.blocked.add(Blocked::Write(path.clone()));
            }
            if let Some(text) = describe(&outcome) {
                say(text);
            }
            if outcome.is_commit && self.signs_commits && !TOLD.swap(true, Ordering::Relaxed) {
                say(UNSIGNED.to_owned());
            }
            for error in outcome.failed {
                say(format!("cannot undo a change of a protected file: {error}"));
            }
        }
    }
}

/// One notice about what was undone.
fn describe(outcome: &Outcome) -> Option<String> {
    let names = |paths: Vec<&PathBuf>| {
        let shown: Vec<String> =
            paths.iter().take(5).map(|path| format!("`{}`", path.display())).collect();
        let more = paths.len().saturating_sub(shown.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", shown.join(", "))
    };
    let mut parts = Vec::new();
    if let Some((_, place)) = outcome.quarantined.first() {
        let paths = names(outcome.quarantined.iter().map(|(path, _)| path).collect());
        let directory = place.parent().unwrap_or(place).display();
        parts.push(format!(
            "a command created {paths}, which other programs execute; moved to `{directory}`"
        ));
    }
    if !outcome.restored.is_empty() {
        let paths = names(outcome.restored.iter().collect());
        parts.push(format!("a command changed {paths}, which is protected; the change was undone"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// A text as one line: names can contain newlines.
fn one_line(text: &str) -> String {
    let ends = text.char_indices().filter(|(_, letter)| ['\n', '\r'].contains(letter));
    escaped(text, ends).into_owned()
}
