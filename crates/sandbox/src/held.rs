//! Paths beneath a workspace by which something is done. Confined processes may run there meanwhile, and
//! any of them can put a link in the place of a folder after it was looked at: what moves, writes, links,
//! changes or keeps something by such a path holds the folder first. Only looks may do without.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::contents;

const PIECE: usize = 64 << 10;

/// A path whose folder is held open, so that nothing can be put in the place of what leads to it. No link
/// on the way is followed; what has the name itself may be one.
#[derive(Debug)]
pub(crate) struct Held {
    #[cfg(target_os = "linux")]
    _folder: Option<OwnedFd>,
    path: PathBuf,
}

impl Held {
    /// Where it lies in the folder that is held; what is done by it must not follow a link of that name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What the file of that name holds, with what it was when it was opened. Nothing else is read.
    pub(crate) fn read(&self, most: u64) -> io::Result<(Metadata, Vec<u8>)> {
        let file: File = contents::open_plain(&self.path)?;
        let found = file.metadata()?;
        let mut bytes = Vec::new();
        // It could grow while it is read.
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        let is_whole = u64::try_from(bytes.len()).is_ok_and(|length| length <= most);
        if is_whole { Ok((found, bytes)) } else { Err(io::ErrorKind::FileTooLarge.into()) }
    }
}

impl Held {
    /// Reads what the file of that name holds piece by piece, with what it was when it was opened. It may be
    /// larger than what should be in memory.
    pub(crate) fn read_pieces(&self, mut each: impl FnMut(&[u8])) -> io::Result<Metadata> {
        let mut file: File = contents::open_plain(&self.path)?;
        let found = file.metadata()?;
        let mut piece = Vec::with_capacity(PIECE);
        // All but the last have the same length, however much the system gives at a time.
        while file.by_ref().take(PIECE as u64).read_to_end(&mut piece)? > 0 {
            each(&piece);
            piece.clear();
        }
        Ok(found)
    }
}

/// Some folders can be entered and not listed.
#[cfg(target_os = "linux")]
const ONLY_ENTERED: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const ONLY_ENTERED: OFlags = OFlags::empty();

/// What the folder at a path is, if no link leads there.
pub fn folder_at(path: &Path) -> io::Result<Metadata> {
    File::from(folder(path)?).metadata()
}

/// Opens a folder part by part: older kernels know no other way that follows no link. It may be one that
/// can be entered and not listed.
pub(crate) fn folder(path: &Path) -> io::Result<OwnedFd> {
    let mut parts = path.components();
    if parts.next() != Some(Component::RootDir) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut folder = folder_in(&CWD, Path::new("/"))?;
    for part in parts {
        let Component::Normal(name) = part else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        folder = folder_in(&folder, Path::new(name))?;
    }
    Ok(folder)
}

/// Opens the folder that has a name in another one; a link is none.
pub(crate) fn folder_in(above: &impl AsFd, name: &Path) -> io::Result<OwnedFd> {
    let flags = ONLY_ENTERED | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(above, name, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::NOTDIR => {
            let words = format!("`{}` on the way is a link, or no folder", name.display());
            io::Error::new(io::ErrorKind::NotADirectory, words)
        }
        other => other.into(),
    })
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::os::fd::{AsFd, AsRawFd};

    use rustix::io::Errno;

    use super::{Held, Path, PathBuf, folder, io};

    impl Held {
        /// Holds the folder of a path, which is absolute and has no `..`.
        pub(crate) fn of(path: &Path) -> io::Result<Self> {
            let parts = path.parent().zip(path.file_name());
            let (parent, name) = parts.ok_or(io::ErrorKind::InvalidInput)?;
            match folder(parent) {
                Ok(folder) => {
                    let path = place(&folder).join(name);
                    Ok(Self { _folder: Some(folder), path })
                }
                // No confined process can set a limit on the descriptors of this one. Who has done it does
                // not want what was planted to stay for that, so the way is looked at instead.
                Err(error) if is_limit(&error) && has_no_link(parent) => {
                    Ok(Self { _folder: None, path: path.to_owned() })
                }
                Err(error) => Err(error),
            }
        }
    }

    /// A path of a folder that is open, which nothing can be put in the place of.
    pub(crate) fn place(folder: &impl AsFd) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd()))
    }

    fn is_limit(error: &io::Error) -> bool {
        error.raw_os_error() == Some(Errno::MFILE.raw_os_error())
    }

    fn has_no_link(folder: &Path) -> bool {
        let is_folder = |it: &Path| fs::symlink_metadata(it).is_ok_and(|found| found.is_dir());
        folder.ancestors().all(is_folder)
    }
}

#[cfg(target_os = "linux")]
pub(crate) use linux::place;

/// Other systems have no path of an open folder, so that it is the path itself, and a process that is fast
/// enough can exchange what leads to it.
#[cfg(not(target_os = "linux"))]
impl Held {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned() })
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_link_on_the_way_is_not_followed_and_one_at_the_end_is_what_is_held() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "mine").unwrap();
        symlink("a", root.join("link")).unwrap();
        symlink("b/file", root.join("a/end")).unwrap();
        let held = Held::of(&root.join("a/b/file")).unwrap();
        assert_eq!(held.read(4).unwrap().1, b"mine");
        let long: Vec<u8> = (0..=250).cycle().take(3 * PIECE + 5).collect();
        fs::write(root.join("a/b/long"), &long).unwrap();
        let (mut pieces, mut whole) = (Vec::new(), Vec::new());
        let long_file = Held::of(&root.join("a/b/long")).unwrap();
        long_file
            .read_pieces(|piece| {
                pieces.push(piece.len());
                whole.extend_from_slice(piece);
            })
            .unwrap();
        assert!(whole == long && pieces == [PIECE, PIECE, PIECE, 5], "{pieces:?}");
        assert_eq!(held.read(3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        for name in ["link/b/file", "a/b/file/x", "link/end"] {
            let error = Held::of(&root.join(name)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotADirectory, "{name}");
        }
        let error = Held::of(&root.join("nothing/x")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let end = Held::of(&root.join("a/end")).unwrap();
        assert!(fs::symlink_metadata(end.path()).unwrap().is_symlink() && end.read(9).is_err());
        for name in ["a/../a/b", ".."] {
            let error = Held::of(&root.join(name)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name}");
        }
        assert!(Held::of(Path::new("a/b")).is_err() && Held::of(Path::new("/")).is_err());
        assert!(Held::of(Path::new("/tmp")).unwrap().path().is_dir());
    }

    #[test]
    fn only_a_folder_that_no_link_leads_to_is_found() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("sub/x")).unwrap();
        symlink("sub", base.join("link")).unwrap();
        let found = folder_at(&base.join("sub/x")).unwrap();
        assert_eq!(found.ino(), fs::metadata(base.join("sub/x")).unwrap().ino());
        assert!(folder_at(&base.join("link/x")).is_err() && folder_at(&base.join("link")).is_err());
    }

    #[test]
    fn what_is_held_stays_the_same_whatever_takes_its_place() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        for name in ["x", "home"] {
            fs::create_dir(root.join(name)).unwrap();
            fs::write(root.join(name).join("file"), name).unwrap();
        }
        let held = Held::of(&root.join("x/file")).unwrap();
        fs::rename(root.join("x"), root.join("aside")).unwrap();
        symlink("home", root.join("x")).unwrap();
        assert_eq!(held.read(9).unwrap().1, b"x");
        fs::remove_file(held.path()).unwrap();
        assert!(root.join("home/file").exists() && !root.join("aside/file").exists());
    }

    #[test]
    fn a_folder_that_can_be_entered_and_not_listed_can_be_held() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        fs::create_dir(root.join("x")).unwrap();
        fs::write(root.join("x/file"), "mine").unwrap();
        fs::set_permissions(root.join("x"), fs::Permissions::from_mode(0o311)).unwrap();
        assert_eq!(Held::of(&root.join("x/file")).unwrap().read(9).unwrap().1, b"mine");
    }
}
