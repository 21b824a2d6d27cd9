//! Looks at a single path and changes it. Follows no symbolic link, not even on the way, and opens
//! nothing but regular files. A file changes in one step: a temporary file takes its name.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{self as system, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::depot::Depot;
use super::git_state;
use super::state::{Hash, Name, State, Why};

/// What changed no longer ago than this may change again without a trace in its times.
const RECENT: Duration = Duration::from_millis(50);
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const PERMISSIONS: u32 = 0o7777;

/// Takes bytes in, within limits.
pub(super) struct Keep<'a> {
    pub(super) depot: &'a mut Depot,
    /// The largest file that is kept.
    pub(super) max_file: u64,
}

/// Tells whether something is as it was, and whether it changed a moment ago.
pub(super) fn mark(stat: &Stat, now: SystemTime) -> (u64, bool) {
    let facts = [
        wide(stat.st_ino),
        wide(stat.st_dev),
        wide(stat.st_size),
        wide(stat.st_mode),
        wide(stat.st_mtime),
        wide(stat.st_mtime_nsec),
        wide(stat.st_ctime),
        wide(stat.st_ctime_nsec),
    ];
    let mix = |mark: u64, fact: u64| {
        let mixed = (mark ^ fact).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    };
    let mark = facts.into_iter().fold(0x243f_6a88_85a3_08d3, mix);
    let fraction = Duration::from_nanos(wide(stat.st_ctime_nsec));
    let changed = UNIX_EPOCH + Duration::from_secs(wide(stat.st_ctime)) + fraction;
    (mark, changed + RECENT > now)
}

/// A number whose width differs between systems.
fn wide<T: TryInto<u64>>(number: T) -> u64 {
    number.try_into().unwrap_or(0)
}

/// The permission bits.
pub(super) fn mode(stat: &Stat) -> u32 {
    u32::try_from(wide(stat.st_mode)).unwrap_or(0) & PERMISSIONS
}

/// Whether it is a directory.
pub(super) fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// What the system knows of a name in a directory; none where there is no such name.
pub(super) fn stat(directory: impl AsFd, name: &OsStr) -> io::Result<Option<Stat>> {
    match system::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Opens a directory by its name in another.
pub(super) fn open_within(directory: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(system::openat(directory, name, DIRECTORY, Mode::empty())?)
}

/// Whether the names in a directory can be read; also where it is not there any more.
pub(super) fn may_open(directory: impl AsFd, name: &OsStr) -> io::Result<bool> {
    match system::openat(directory, name, DIRECTORY, Mode::empty()) {
        Err(Errno::ACCESS) => Ok(false),
        Err(error @ (Errno::MFILE | Errno::NFILE)) => Err(error.into()),
        Ok(_) | Err(_) => Ok(true),
    }
}

/// Opens a directory by its absolute path, no part of which may be a symbolic link.
pub(super) fn open(path: &Path) -> io::Result<OwnedFd> {
    let mut directory = system::open("/", DIRECTORY | STEP, Mode::empty())?;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { continue };
        // A step needs the right to pass through a directory; the last must be readable.
        let flags = if parts.peek().is_some() { DIRECTORY | STEP } else { DIRECTORY };
        directory = system::openat(&directory, name, flags, Mode::empty())?;
    }
    Ok(directory)
}

#[cfg(target_os = "linux")]
const STEP: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const STEP: OFlags = OFlags::RDONLY;

impl Keep<'_> {
    /// What stands at a name that `stat` is about. Its bytes are kept.
    pub(super) fn state(
        &mut self,
        directory: impl AsFd,
        name: &OsStr,
        stat: &Stat,
    ) -> io::Result<State> {
        let size = wide(stat.st_size);
        let unkept = |why| State::Unkept { why, size, mark: mark(stat, UNIX_EPOCH).0 };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if !may_open(&directory, name)? => Ok(unkept(Why::Closed)),
            FileType::Directory => Ok(State::Directory { mode: mode(stat) }),
            FileType::Symlink => match system::readlinkat(directory, name, Vec::new()) {
                Ok(target) => {
                    let target = OsString::from_vec(target.into_bytes());
                    Ok(State::Link { target: Name::of(&target) })
                }
                Err(Errno::NOENT) => Ok(State::Absent),
                Err(_) => Ok(unkept(Why::Unreadable)),
            },
            FileType::RegularFile if size > self.max_file => Ok(unkept(Why::TooLarge)),
            FileType::RegularFile => match self.read(directory, name) {
                Ok(None) => Ok(unkept(Why::TooLarge)),
                Ok(Some(bytes)) => {
                    let (hash, size) = (Hash::of(&bytes), bytes.len() as u64);
                    if !self.depot.holds(hash) && !self.depot.has_room(size) {
                        return Ok(unkept(Why::NoRoom));
                    }
                    self.depot.put(hash, &bytes)?;
                    Ok(State::File { hash, size, mode: mode(stat) })
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(State::Absent),
                Err(_) => Ok(unkept(Why::Unreadable)),
            },
            _ => Ok(unkept(Why::Special)),
        }
    }

    /// Returns true if two versions of git's index differ at most in file times.
    pub(super) fn is_same_index(&mut self, one: &State, other: &State) -> io::Result<bool> {
        let (Some(one), Some(other)) = (one.hash(), other.hash()) else { return Ok(false) };
        let (one, other) = (self.depot.get(one)?, self.depot.get(other)?);
        Ok(one.zip(other).is_some_and(|(one, other)| git_state::is_same_index(&one, &other)))
    }

    /// The bytes of a regular file; none where they are too many.
    fn read(&self, directory: impl AsFd, name: &OsStr) -> io::Result<Option<Vec<u8>>> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(system::openat(directory, name, flags, Mode::empty())?);
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
        file.take(self.max_file + 1).read_to_end(&mut bytes)?;
        Ok((bytes.len() as u64 <= self.max_file).then_some(bytes))
    }

    /// What stands at an absolute path. Its bytes are kept.
    pub(super) fn look(&mut self, path: &Path) -> io::Result<State> {
        self.look_again(path, &State::Absent)
    }

    /// The same in the terms in which a record tells of it.
    pub(super) fn look_again(&mut self, path: &Path, recorded: &State) -> io::Result<State> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let directory = match open(parent) {
            Ok(directory) => directory,
            Err(error) if is_absence(&error) => return Ok(State::Absent),
            Err(error) => return Err(error),
        };
        match stat(&directory, name)? {
            // A directory that was looked into before it was closed is known by its permissions.
            Some(stat) if is_directory(&stat) && recorded.is_directory() => {
                Ok(State::Directory { mode: mode(&stat) })
            }
            Some(stat) => self.state(&directory, name, &stat),
            None => Ok(State::Absent),
        }
    }
}

/// Whether there is nothing at a path.
pub(super) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A name in an open directory.
struct Spot {
    directory: OwnedFd,
    name: OsString,
}

impl Spot {
    fn of(path: &Path) -> io::Result<Self> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        Ok(Self { directory: open(parent)?, name: name.to_owned() })
    }

    /// Gives what `make` makes this name. `make` gets a name that is free.
    fn replace(&self, make: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
        let temporary = loop {
            let name = PathBuf::from(format!(".brynhild-{:016x}.tmp", random()));
            match make(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                outcome => {
                    outcome?;
                    break name;
                }
            }
        };
        let renamed = system::renameat(&self.directory, &temporary, &self.directory, &self.name);
        if renamed.is_err() {
            // The first error says what went wrong; a temporary file that stays does no harm.
            let _ = system::unlinkat(&self.directory, &temporary, AtFlags::empty());
        }
        renamed?;
        self.sync()
    }

    /// Gives a directory permissions that may not be opened itself.
    #[cfg(target_os = "linux")]
    fn open_up(&self, mode: Mode) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        // Linux changes no permissions by a name that could be a link; this is the directory itself.
        let found = system::openat(&self.directory, &self.name, DIRECTORY | STEP, Mode::empty())?;
        Ok(system::chmod(format!("/proc/self/fd/{}", found.as_raw_fd()), mode)?)
    }

    #[cfg(not(target_os = "linux"))]
    fn open_up(&self, mode: Mode) -> io::Result<()> {
        Ok(system::chmodat(&self.directory, &self.name, mode, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    fn sync(&self) -> io::Result<()> {
        match system::fsync(&self.directory) {
            // Some file systems cannot sync a directory, and say so.
            Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Makes a file hold these bytes.
pub(super) fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let spot = Spot::of(path)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    spot.replace(|name| {
        let file = system::openat(&spot.directory, name, flags, Mode::from_raw_mode(0o600))?;
        let mut file = File::from(file);
        let filled = file
            .write_all(bytes)
            .and_then(|()| file.set_permissions(Permissions::from_mode(mode)))
            .and_then(|()| file.sync_all());
        if filled.is_err() {
            let _ = system::unlinkat(&spot.directory, name, AtFlags::empty());
        }
        filled
    })
}

/// Makes a symbolic link.
pub(super) fn link(path: &Path, target: &Path) -> io::Result<()> {
    let spot = Spot::of(path)?;
    spot.replace(|name| Ok(system::symlinkat(target, &spot.directory, name)?))
}

/// Makes a directory, or gives one that is there these permissions.
pub(super) fn directory(path: &Path, mode: u32) -> io::Result<()> {
    let spot = Spot::of(path)?;
    match system::mkdirat(&spot.directory, &spot.name, Mode::from_raw_mode(0o700)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    match open_within(&spot.directory, &spot.name) {
        Ok(opened) => File::from(opened).set_permissions(Permissions::from_mode(mode))?,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            spot.open_up(Mode::from_raw_mode(bits(mode)))?;
        }
        Err(error) => return Err(error),
    }
    spot.sync()
}

/// Permission bits as the system counts them.
fn bits(mode: u32) -> system::RawMode {
    system::RawMode::try_from(mode & PERMISSIONS).unwrap_or(0)
}

/// Removes what is no directory.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let spot = Spot::of(path)?;
    system::unlinkat(&spot.directory, &spot.name, AtFlags::empty())?;
    spot.sync()
}

/// Removes an empty directory.
pub(super) fn remove_directory(path: &Path) -> io::Result<()> {
    let spot = Spot::of(path)?;
    system::unlinkat(&spot.directory, &spot.name, AtFlags::REMOVEDIR)?;
    spot.sync()
}

fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}
