//! What is mounted where something is destroyed. The system's list is asked for when a target needs it, once for a
//! command.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use crate::glob::{Reading, meet};
use crate::ground::{Ends, Ground, is_wild};

/// The mount points, once they are asked for.
pub(super) struct Mounts<'a> {
    ground: &'a Ground,
    /// In order, so that what lies in one folder is together; none where there is no list.
    listed: OnceCell<Option<Vec<PathBuf>>>,
}

impl<'a> Mounts<'a> {
    pub(super) fn new(ground: &'a Ground) -> Self {
        Self { ground, listed: OnceCell::new() }
    }

    fn listed(&self) -> Option<&[PathBuf]> {
        let list = || {
            let mut mounts = self.ground.look()?.mounts()?;
            mounts.sort();
            Some(mounts)
        };
        self.listed.get_or_init(list).as_deref()
    }

    /// What is mounted at a path or below it, where links are followed already.
    pub(super) fn at(&self, path: &Path) -> Option<PathBuf> {
        let Some(listed) = self.listed() else {
            let look = self.ground.look()?;
            return look.is_mount(path).then(|| path.to_owned());
        };
        let from = listed.partition_point(|mount| mount.as_path() < path);
        listed.get(from).filter(|mount| mount.starts_with(path)).cloned()
    }

    /// What is mounted at a path that a pattern could mean, or below it.
    pub(super) fn meant(&self, pattern: &Path, ends: &Ends<'_>) -> Option<PathBuf> {
        let Some(listed) = self.listed() else {
            let text = pattern.to_string_lossy();
            let meant = ends.meant(Path::new("/"), &text, Reading::Names);
            return meant.paths.iter().find_map(|path| self.at(path));
        };
        let fits = |mount: &&PathBuf| {
            let mut names = mount.components();
            pattern.components().all(|wild| {
                let wild = wild.as_os_str().to_string_lossy();
                names.next().is_some_and(|name| {
                    let name = name.as_os_str().to_string_lossy();
                    wild == name
                        || (is_wild(&wild)
                            && meet((&wild, Reading::Shell), (&name, Reading::Literal)))
                })
            })
        };
        listed.iter().find(fits).cloned()
    }
}
