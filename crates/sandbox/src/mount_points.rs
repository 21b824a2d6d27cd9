//! Where something is mounted, and how often that was meant. A mount that another confined process led
//! astray lies where none was meant, whatever lies on top of the place it was meant for.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, StatxAttributes, StatxFlags, statx};

/// What bubblewrap always mounts by itself. What it mounts where it can are parts of `/proc` over
/// themselves, and the terminal.
const ITS_OWN: [&str; 8] = [
    "/",
    "/dev/full",
    "/dev/null",
    "/dev/pts",
    "/dev/random",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];

/// How often something is mounted at a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MountPoints(BTreeMap<PathBuf, usize>);

impl MountPoints {
    /// Those that this process sees.
    pub(crate) fn here() -> io::Result<Self> {
        let mut found = Self::default();
        for line in fs::read("/proc/self/mountinfo")?.split(|&byte| byte == b'\n') {
            found.take(line);
        }
        Ok(found)
    }

    /// Adds what a line of the kernel's list says, unless bubblewrap itself puts it there where it can.
    fn take(&mut self, line: &[u8]) -> Option<()> {
        let mut fields = line.split(|&byte| byte == b' ').skip(3);
        let (part, place) = (fields.next()?, unescaped(fields.next()?));
        let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
        let itself = place.strip_prefix("/proc").ok().filter(|_| kind == b"proc");
        let is_itself = itself.is_some_and(|below| {
            below != Path::new("") && Path::new("/").join(below) == unescaped(part)
        });
        let is_terminal = kind == b"devpts" && place == Path::new("/dev/console");
        if !is_itself && !is_terminal {
            self.add(place, 1);
        }
        Some(())
    }

    pub(crate) fn add(&mut self, path: PathBuf, count: usize) {
        *self.0.entry(path).or_default() += count;
    }

    /// Adds those of `others` that lie below a folder: they come along with it.
    pub(crate) fn add_below(&mut self, folder: &Path, others: &Self) {
        for (path, count) in others.iter().filter(|(path, _)| path.starts_with(folder)) {
            if path != folder {
                self.add(path.to_owned(), count);
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Path, usize)> {
        self.0.iter().map(|(path, count)| (path.as_path(), *count))
    }

    /// The first of these that is there more often than was meant, or than bubblewrap makes it.
    pub(crate) fn astray(&self, meant: &Self) -> Option<&Path> {
        let own = |path: &Path| ITS_OWN.iter().filter(|own| Path::new(own) == path).count();
        let most = |path: &Path| meant.0.get(path).copied().unwrap_or_default() + own(path);
        self.iter().find(|(path, count)| *count > most(path)).map(|(path, _)| path)
    }
}

/// What is no disk and lets nothing be made in it.
const UNMADE: [&[u8]; 6] = [b"proc", b"sysfs", b"devpts", b"debugfs", b"tracefs", b"securityfs"];

/// The folders that are mounted so that something could be made in them, as far as this process reaches them.
pub(crate) fn writable() -> io::Result<BTreeSet<PathBuf>> {
    let list = fs::read("/proc/self/mountinfo")?;
    let lines = list.split(|&byte| byte == b'\n');
    Ok(lines.filter_map(writable_by).filter(|path| is_mounted_folder(path)).collect())
}

/// Where a line of the kernel's list says that something is mounted which may be written.
fn writable_by(line: &[u8]) -> Option<PathBuf> {
    let mut fields = line.split(|&byte| byte == b' ').skip(4);
    let (place, options) = (unescaped(fields.next()?), fields.next()?);
    let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
    (options.split(|&byte| byte == b',').any(|it| it == b"rw") && !UNMADE.contains(&kind))
        .then_some(place)
}

/// Whether a path leads to the top of what is mounted there, and not to what was mounted over it. No server is asked.
fn is_mounted_folder(path: &Path) -> bool {
    let flags = AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let found = statx(CWD, path, flags, StatxFlags::TYPE);
    found.is_ok_and(|found| {
        let is_folder = FileType::from_raw_mode(found.stx_mode.into()) == FileType::Directory;
        is_folder && found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
    })
}

/// A path of the kernel's list, in which some bytes stand as three digits behind a backslash.
fn unescaped(text: &[u8]) -> PathBuf {
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| first == b'\\');
        let digits =
            digits.and_then(|it| u8::from_str_radix(std::str::from_utf8(it).ok()?, 8).ok());
        bytes.push(digits.unwrap_or(first));
        rest = if digits.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(paths: &[(&str, usize)]) -> MountPoints {
        let mut points = MountPoints::default();
        for (path, count) in paths {
            points.add(PathBuf::from(path), *count);
        }
        points
    }

    #[test]
    fn what_lies_where_nothing_was_meant_or_too_often_is_astray() {
        let meant = points(&[("/p", 1), ("/p/x", 2)]);
        let astray = |found: &[(&str, usize)]| points(found).astray(&meant).map(Path::to_owned);
        assert_eq!(astray(&[("/", 1), ("/dev/null", 1), ("/p", 1), ("/p/x", 2)]), None);
        assert_eq!(astray(&[("/p", 1), ("/p/x", 1), ("/p/z", 1)]), Some("/p/z".into()));
        assert_eq!(astray(&[("/p", 2)]), Some("/p".into()));
        assert_eq!(astray(&[("/", 2)]), Some("/".into()));
    }

    #[test]
    fn what_is_mounted_in_a_folder_comes_along_with_it() {
        let mut meant = points(&[("/p", 1)]);
        meant.add_below(Path::new("/p"), &points(&[("/p", 1), ("/p/disk", 2), ("/pp", 1)]));
        assert_eq!(meant, points(&[("/p", 1), ("/p/disk", 2)]));
    }

    #[test]
    fn what_bubblewrap_mounts_over_itself_is_told_from_what_goes_astray() {
        let mut found = MountPoints::default();
        for line in [
            "86 84 0:5 / /proc rw - proc proc rw",
            "87 86 0:5 /bus /proc/bus ro - proc proc rw",
            "88 86 254:0 /home/u /proc/irq rw shared:1 - ext4 /dev/vda rw",
            "89 86 0:6 /3 /dev/console rw - devpts devpts rw",
            "",
        ] {
            found.take(line.as_bytes());
        }
        assert_eq!(found, points(&[("/proc", 1), ("/proc/irq", 1)]));
    }

    #[test]
    fn what_is_writable_is_told_from_what_is_not() {
        for (line, place) in [
            ("25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw", Some("/dev/shm")),
            ("26 24 8:1 /a\\040b /m\\040n rw shared:1 - ext4 /dev/sda rw", Some("/m n")),
            ("27 24 8:1 / /cd ro,relatime - iso9660 /dev/sr0 ro", None),
            ("22 27 0:21 / /proc rw,relatime - proc proc rw", None),
            ("", None),
        ] {
            assert_eq!(writable_by(line.as_bytes()), place.map(PathBuf::from), "{line}");
        }
        let found = writable().unwrap();
        assert!(found.contains(Path::new("/")) && !found.contains(Path::new("/proc")), "{found:?}");
    }

    #[test]
    fn the_kernels_own_list_is_read() {
        assert!(MountPoints::here().unwrap().iter().any(|(path, _)| path == Path::new("/proc")));
        assert_eq!(unescaped(br"/a\040b\134c\9"), Path::new("/a b\\c\\9"));
    }
}
