//! A control group around one command, where the program may make one: the only thing that bounds
//! how many processes root has.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use contract::sandbox::Limits;

const PREFIX: &str = "brynhild-";
/// How often the memory of one process all of them may have together.
const TOGETHER: u64 = 4;

/// A control group; dropping it removes it, when nothing runs in it any more.
#[derive(Debug)]
pub(crate) struct Group {
    folder: PathBuf,
}

impl Group {
    /// Makes a group with these limits.
    pub(crate) fn new(limits: &Limits) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let group = Self { folder: parent()?.join(name) };
        fs::create_dir(&group.folder)?;
        fs::write(group.folder.join("pids.max"), limits.processes.to_string())?;
        let all = limits.memory.saturating_mul(TOGETHER);
        // Not every hierarchy counts memory; each process has its own limit in any case.
        let _ = fs::write(group.folder.join("memory.max"), all.to_string());
        Ok(group)
    }

    /// The file by which a process enters.
    pub(crate) fn door(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(self.folder.join("cgroup.procs"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // What is still busy is removed by the sweep of a later start.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Whether a group can be made here.
pub(crate) fn is_usable() -> bool {
    Group::new(&Limits::default()).and_then(|group| group.door()).is_ok()
}

/// Removes groups that a killed program left.
pub(crate) fn sweep() {
    let is_root = rustix::process::geteuid().is_root();
    let Some(parent) = is_root.then(parent).and_then(Result::ok) else {
        return;
    };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        if owner.is_some_and(|owner| !Path::new("/proc").join(owner).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The folder in which groups that count processes can be made.
fn parent() -> io::Result<PathBuf> {
    let memberships = fs::read_to_string("/proc/self/cgroup")?;
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    find(&memberships, &mounts).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

fn find(memberships: &str, mounts: &str) -> Option<PathBuf> {
    for line in memberships.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let path = Path::new(path);
        if controllers.split(',').any(|name| name == "pids") {
            return mounted(mounts, "cgroup", "pids", path);
        }
        if controllers.is_empty() && !memberships.contains("pids:") {
            // A group that has members cannot have groups with limits below it, so this one's
            // sibling is made.
            return mounted(mounts, "cgroup2", "", path.parent().unwrap_or(path));
        }
    }
    None
}

/// Where the group `path` is seen in the file system of this kind.
fn mounted(mounts: &str, kind: &str, option: &str, path: &Path) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        let is_kind = after.next() == Some(kind);
        let options = after.nth(1)?;
        if !is_kind || !(option.is_empty() || options.split(',').any(|name| name == option)) {
            return None;
        }
        let mut before = before.split(' ').skip(3);
        let (root, place) = (before.next()?, before.next()?);
        Some(Path::new(place).join(path.strip_prefix(root).ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_found_in_both_kinds_of_hierarchies() {
        let old = "30 25 0:27 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n";
        let found = find("8:pids:/a/b\n0::/\n", old);
        assert_eq!(found, Some(PathBuf::from("/sys/fs/cgroup/pids/a/b")));
        let unified = "30 25 0:26 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n";
        let found = find("0::/user.slice/app.scope\n", unified);
        assert_eq!(found, Some(PathBuf::from("/sys/fs/cgroup/user.slice")));
        let inside = "30 25 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        assert_eq!(find("0::/docker/x/y\n", inside), Some(PathBuf::from("/sys/fs/cgroup")));
        assert_eq!(find("0::/\n", ""), None);
    }
}
