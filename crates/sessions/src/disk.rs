//! Appends to a file so that either all of a batch is written or nothing.
//! Knows bytes only; what they mean is the caller's business.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::{FileError, cannot};

/// The operations that an append consists of.
pub(crate) trait Disk {
    /// Writes at the end; may write less than asked.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Waits until what was written is on disk.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts the file.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    /// The file's length and the number of its names.
    fn state(&self) -> io::Result<(u64, u64)>;
}

impl Disk for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(self, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn state(&self) -> io::Result<(u64, u64)> {
        let metadata = self.metadata()?;
        Ok((metadata.len(), metadata.nlink()))
    }
}

/// The writing end of a file that only grows.
pub(crate) struct Tail<D> {
    disk: D,
    /// Bytes that are known to be good.
    length: u64,
    is_dirty: bool,
    doubt: Option<&'static str>,
}

impl<D: Disk> Tail<D> {
    /// Continues after `length` good bytes.
    pub(crate) fn new(disk: D, length: u64) -> Self {
        Self { disk, length, is_dirty: false, doubt: None }
    }

    /// Returns true if the file is certainly empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0 && self.doubt.is_none()
    }

    /// Appends all of `bytes`. After an error none of them counts; where that cannot be made sure
    /// of, every further append is refused.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.trusted()?;
        self.check()?;
        if let Err(error) = self.write_all(bytes) {
            if self.disk.truncate(self.length).is_err() {
                self.doubt = Some("an earlier write broke off and could not be undone");
            }
            return Err(error);
        }
        self.length += bytes.len() as u64;
        self.is_dirty = true;
        Ok(())
    }

    /// Waits until all that was appended is on disk.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.trusted()?;
        if self.is_dirty {
            // The kernel may drop the dirty pages after a failed sync, so that a second sync
            // succeeds although the data is gone: only a reader can tell what is on disk.
            if let Err(error) = self.disk.sync() {
                self.doubt = Some("an earlier write may not have reached the disk");
                return Err(error);
            }
            self.is_dirty = false;
        }
        Ok(())
    }

    fn trusted(&self) -> io::Result<()> {
        match self.doubt {
            Some(doubt) => Err(io::Error::other(format!("{doubt}; reopen the session"))),
            None => Ok(()),
        }
    }

    fn check(&mut self) -> io::Result<()> {
        let (length, names) = self.disk.state()?;
        let doubt = match (length == self.length, names > 0) {
            (true, true) => return Ok(()),
            (_, false) => "the file was deleted by another program",
            (false, true) => "the file was changed by another program",
        };
        self.doubt = Some(doubt);
        Err(io::Error::other(format!("{doubt}; reopen the session")))
    }

    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.disk.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Waits until the names in a directory are on disk.
pub(crate) fn sync_directory(path: &Path) -> Result<(), FileError> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(cannot("sync the directory", path))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::io::Seek;

    use super::*;

    /// A real file whose operations fail by script.
    struct Faulty {
        file: File,
        /// The outcomes of writes, the first first: at most this many bytes, or an error.
        writes: Vec<Result<usize, i32>>,
        sync: Vec<i32>,
        truncate: Option<i32>,
    }

    const EIO: i32 = 5;
    const EINTR: i32 = 4;
    const ENOSPC: i32 = 28;

    impl Faulty {
        fn new(writes: Vec<Result<usize, i32>>) -> Self {
            Self { file: tempfile::tempfile().unwrap(), writes, sync: Vec::new(), truncate: None }
        }
    }

    impl Disk for Faulty {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let end = if self.writes.is_empty() {
                bytes.len()
            } else {
                self.writes.remove(0).map_err(io::Error::from_raw_os_error)?.min(bytes.len())
            };
            self.file.seek(io::SeekFrom::End(0))?;
            Write::write(&mut self.file, &bytes[..end])
        }

        fn sync(&mut self) -> io::Result<()> {
            match self.sync.pop() {
                Some(code) => Err(io::Error::from_raw_os_error(code)),
                None => self.file.sync(),
            }
        }

        fn truncate(&mut self, length: u64) -> io::Result<()> {
            match self.truncate {
                Some(code) => Err(io::Error::from_raw_os_error(code)),
                None => self.file.truncate(length),
            }
        }

        fn state(&self) -> io::Result<(u64, u64)> {
            Ok((self.file.metadata()?.len(), 1))
        }
    }

    fn content(tail: &mut Tail<Faulty>) -> String {
        let mut text = String::new();
        tail.disk.file.rewind().unwrap();
        tail.disk.file.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn short_and_interrupted_writes_are_continued() {
        let disk = Faulty::new(vec![Ok(1), Err(EINTR), Ok(2), Ok(1)]);
        let mut tail = Tail::new(disk, 0);
        tail.append(b"abcdefg").unwrap();
        assert_eq!(content(&mut tail), "abcdefg");
        assert_eq!(tail.length, 7);
    }

    #[test]
    fn failed_write_is_undone_and_can_be_retried() {
        for written in 0..5 {
            let disk = Faulty::new(vec![Ok(5), Ok(written), Err(ENOSPC)]);
            let mut tail = Tail::new(disk, 0);
            tail.append(b"good\n").unwrap();
            assert!(tail.append(b"lost\n").is_err());
            assert_eq!(content(&mut tail), "good\n");
            tail.disk.writes.clear();
            tail.append(b"more\n").unwrap();
            assert_eq!(content(&mut tail), "good\nmore\n");
        }
    }

    #[test]
    fn a_failed_write_that_cannot_be_undone_ends_the_log() {
        let mut tail = Tail::new(Faulty::new(vec![Ok(2), Err(ENOSPC)]), 0);
        tail.disk.truncate = Some(EIO);
        let first = tail.append(b"lost\n").unwrap_err();
        assert_eq!(first.raw_os_error(), Some(ENOSPC));
        let second = tail.append(b"more\n").unwrap_err().to_string();
        assert!(second.contains("reopen the session"), "{second}");
        assert_eq!(content(&mut tail), "lo");
    }

    #[test]
    fn a_failed_sync_is_never_trusted_again() {
        let mut tail = Tail::new(Faulty::new(Vec::new()), 0);
        tail.disk.sync = vec![EIO];
        tail.append(b"a\n").unwrap();
        assert_eq!(tail.sync().unwrap_err().raw_os_error(), Some(EIO));
        let again = tail.append(b"b\n").unwrap_err().to_string();
        assert!(again.contains("may not have reached the disk"), "{again}");
        assert_eq!(content(&mut tail), "a\n");
    }

    #[test]
    fn file_changed_by_another_process_is_not_written() {
        let mut tail = Tail::new(Faulty::new(Vec::new()), 0);
        tail.append(b"a\n").unwrap();
        tail.disk.file.set_len(1).unwrap();
        assert!(tail.append(b"b\n").is_err());
        assert_eq!(content(&mut tail), "a");
    }

    #[test]
    fn a_full_device_is_an_error() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let error = Tail::new(full, 0).append(b"a\n").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(ENOSPC));
    }
}
