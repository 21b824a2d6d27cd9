//! Where something is mounted. Read anew for each decision that needs it, since disks come and go.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// All mount points; none where the system has no such list.
pub(super) fn listed() -> Option<Vec<PathBuf>> {
    let lines = fs::read("/proc/self/mountinfo").ok()?;
    Some(lines.split(|byte| *byte == b'\n').filter_map(place).collect())
}

/// Whether a folder is on another device than the one that it lies in.
pub(super) fn is_mount(folder: &Path) -> bool {
    let device = |path: &Path| path.symlink_metadata().map(|metadata| metadata.dev()).ok();
    let above = folder.parent().and_then(device);
    device(folder).zip(above).is_some_and(|(device, above)| device != above)
}

/// The mount point in a line, in which blanks and the like are written as octal numbers.
fn place(line: &[u8]) -> Option<PathBuf> {
    let mut rest = line.split(|byte| *byte == b' ').nth(4)?;
    let mut path = Vec::with_capacity(rest.len());
    while let Some((byte, after)) = rest.split_first() {
        let octal = (*byte == b'\\').then(|| after.get(..3)).flatten();
        let code =
            octal.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok());
        path.push(code.unwrap_or(*byte));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    Some(PathBuf::from(OsString::from_vec(path)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{is_mount, place};

    #[test]
    fn a_line_names_its_mount_point_whatever_characters_that_has() {
        let line =
            br"36 35 98:0 /mnt1 /mnt/my\040disk\134x rw,noatime master:1 - ext3 /dev/root rw";
        assert_eq!(place(line).as_deref(), Some(Path::new(r"/mnt/my disk\x")));
        assert_eq!(place(b""), None);
    }

    #[test]
    fn a_folder_on_the_disk_of_its_parent_is_no_mount_point() {
        assert!(is_mount(Path::new("/dev")));
        assert!(!is_mount(Path::new("/usr/bin")));
        assert!(!is_mount(Path::new("/nowhere/at/all")));
    }
}
