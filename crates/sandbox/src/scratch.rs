//! Scratch space for one process: a home directory and a directory for temporary files.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::contents::private_directory;
use crate::trusted_copies;

/// A directory for one process alone.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub(crate) directory: tempfile::TempDir,
    /// Locked while in use, so that a sweep knows what was abandoned.
    _lock: File,
}

impl Scratch {
    /// Makes one whose `home` leads to these toolchains of the real one.
    pub(crate) fn new(state: &Path, home: Option<&(&Path, Vec<&str>)>) -> io::Result<Self> {
        let parent = state.join("scratch");
        private_directory(&parent)?;
        let directory = tempfile::Builder::new().prefix("run-").tempdir_in(parent)?;
        let lock = File::open(directory.path())?;
        flock(&lock, FlockOperation::LockShared)?;
        private_directory(&directory.path().join("tmp"))?;
        let own = directory.path().join("home");
        private_directory(&own)?;
        for (home, name) in
            home.iter().flat_map(|(home, names)| names.iter().map(move |name| (home, name)))
        {
            let link = own.join(name);
            if let Some(parent) = link.parent() {
                private_directory(parent)?;
            }
            std::os::unix::fs::symlink(home.join(name), link)?;
        }
        Ok(Self { directory, _lock: lock })
    }

    /// Adds symlinks to readable paths of the real home, unless something is in the way.
    pub(crate) fn show<'a>(
        &self,
        home: Option<&Path>,
        names: impl Iterator<Item = (&'a PathBuf, &'a PathBuf)>,
    ) -> io::Result<()> {
        let own = self.directory.path().join("home");
        for (path, real) in names {
            let below = home.and_then(|home| path.strip_prefix(home).ok());
            let Some(link) = below.map(|below| own.join(below)).filter(|it| *it != own) else {
                continue;
            };
            let is_led = link.ancestors().take_while(|it| *it != own).any(Path::is_symlink);
            if is_led || link.exists() {
                continue;
            }
            std::fs::create_dir_all(link.parent().unwrap_or(&own))?;
            std::os::unix::fs::symlink(real, link)?;
        }
        Ok(())
    }
}

/// Removes scratch space and views that a killed program left.
pub(crate) fn sweep(state: &Path) {
    let entries =
        ["scratch", trusted_copies::VIEWS].map(|name| std::fs::read_dir(state.join(name)));
    for entry in entries.into_iter().flatten().flatten().flatten() {
        let path = entry.path();
        let is_abandoned = File::open(&path)
            .is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok());
        if is_abandoned {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn readable_home_paths_are_found_in_the_scratch_home() {
        let base = tempfile::tempdir().unwrap();
        let (state, home) = (base.path().join("state"), base.path().join("home"));
        let hooks = home.join(".config/brynhild/hooks");
        fs::create_dir_all(&hooks).unwrap();
        fs::write(hooks.join("gate.sh"), "x").unwrap();
        let scratch = Scratch::new(&state, None).unwrap();
        let paths =
            [hooks.clone(), hooks.join("gate.sh"), hooks.clone(), home.clone(), "/usr".into()];
        let (name, gate) = (home.join(".gate"), hooks.join("gate.sh"));
        let names = paths.iter().map(|path| (path, path)).chain([(&name, &gate)]);
        scratch.show(Some(&home), names).unwrap();
        assert_eq!(fs::read(scratch.directory.path().join("home/.gate")).unwrap(), b"x");
        let found = scratch.directory.path().join("home/.config/brynhild/hooks/gate.sh");
        assert_eq!(fs::read(found).unwrap(), b"x");
        assert_eq!(fs::read_dir(scratch.directory.path().join("home")).unwrap().count(), 2);
    }

    #[test]
    fn abandoned_scratch_space_is_removed_and_used_space_is_not() {
        let state = tempfile::tempdir().unwrap();
        let used = Scratch::new(state.path(), None).unwrap();
        let abandoned = state.path().join("scratch/run-x");
        fs::create_dir_all(abandoned.join("tmp")).unwrap();
        sweep(state.path());
        assert!(used.directory.path().is_dir() && !abandoned.exists());
    }
}
