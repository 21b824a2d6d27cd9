//! The helper as a program that can be started.

use std::path::{Path, PathBuf};

/// A program whose `main` hands `PROGRAM __confine ARGS` to [`helper_main`](crate::helper_main).
#[derive(Clone, Debug)]
pub struct Helper {
    file: PathBuf,
    carried: Option<&'static [u8]>,
}

impl Helper {
    /// The program in `file`.
    pub fn file(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into(), carried: None }
    }

    /// A program that is carried along as `bytes`, the same ones throughout a process. They are
    /// started from memory, or `file` is where there are none or memory cannot be.
    pub fn carried(bytes: &'static [u8], file: impl Into<PathBuf>) -> Self {
        Self { file: file.into(), carried: (!bytes.is_empty()).then_some(bytes) }
    }

    /// Where this process and what it forks find the program.
    pub(crate) fn path(&self) -> &Path {
        #[cfg(target_os = "linux")]
        if let Some(path) = self.carried.and_then(memory::path) {
            return path;
        }
        &self.file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_none_was_built_the_file_is_the_helper() {
        assert_eq!(Helper::carried(b"", "/bin/true").path(), Path::new("/bin/true"));
    }
}

#[cfg(target_os = "linux")]
mod memory {
    use std::fs::File;
    use std::io::{self, Write};
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::path::{Path, PathBuf};
    use std::sync::OnceLock;

    use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, memfd_create, open};
    use rustix::io::Errno;

    /// The memory that holds the program, and its path.
    struct Held {
        path: PathBuf,
        _file: OwnedFd,
    }

    pub(super) fn path(bytes: &[u8]) -> Option<&'static Path> {
        static HELD: OnceLock<Option<Held>> = OnceLock::new();
        HELD.get_or_init(|| hold(bytes).ok()).as_ref().map(|held| held.path.as_path())
    }

    fn hold(bytes: &[u8]) -> io::Result<Held> {
        let mut written = File::from(create()?);
        written.write_all(bytes)?;
        let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        fcntl_add_seals(&written, seals)?;
        // What somebody may write, be it only by its descriptor, is not executed.
        let file = open(of(&written), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Held { path: of(&file), _file: file })
    }

    fn create() -> io::Result<OwnedFd> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Kernels before 6.3 do not know the flag, and need none.
        match memfd_create("brynhild-helper", flags | MemfdFlags::EXEC) {
            Err(Errno::INVAL) => Ok(memfd_create("brynhild-helper", flags)?),
            other => Ok(other?),
        }
    }

    fn of(file: &impl AsRawFd) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn what_is_held_can_be_read_and_never_written() {
            let held = hold(b"#!/bin/true\n").unwrap();
            assert_eq!(std::fs::read(&held.path).unwrap(), b"#!/bin/true\n");
            let opened = std::fs::OpenOptions::new().write(true).open(&held.path);
            opened.and_then(|mut file| file.write_all(b"x")).unwrap_err();
        }
    }
}
