//! What was found beneath a root, as bytes, for when another process does the look afterwards; and when
//! something came there, which that process has to know: the person may have worked there since.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Folders, Nested, obeys};
use crate::User;
use crate::closed::Opened;

/// When something came or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Before the look.
    Before,
    /// While the command ran.
    During,
    /// When it had ended.
    Later,
}

impl Nested {
    /// Writes it down: for each thing a kind, a path, and what more there is to say.
    pub(crate) fn encode(&self, put: &mut dyn FnMut(&str, &Path, &[u8])) {
        let since = self.since.and_then(|since| since.duration_since(UNIX_EPOCH).ok());
        let since = since.unwrap_or_default();
        let since = format!("{} {}", since.as_secs(), since.subsec_nanos());
        put("since", Path::new(""), since.as_bytes());
        for (kind, is_so) in [("cut", self.is_cut), ("boundless", self.is_boundless)] {
            if is_so {
                put(kind, Path::new(""), b"");
            }
        }
        for (kind, names) in [("name", &self.names), ("part", &self.parts)] {
            for (path, target) in names {
                put(kind, path, target.as_ref().map_or(b"", |it| it.as_os_str().as_bytes()));
            }
        }
        for (kind, paths) in [
            ("bare", &self.bare),
            ("link", &self.links),
            ("pointer", &self.pointers),
            ("further", &self.further),
            ("tree", &self.trees),
        ] {
            for path in paths {
                put(kind, path, b"");
            }
        }
        for (path, (device, number)) in &self.known {
            put("known", path, format!("{device} {number}").as_bytes());
        }
        for (kind, folders) in [("folder", &self.folders), ("whole", &self.whole)] {
            for (path, number) in folders {
                put(kind, path, number.to_string().as_bytes());
            }
        }
    }

    /// What another process found for this user, so far nothing.
    pub(crate) fn read_for(user: User) -> Self {
        Self { user: Some(user), ..Self::default() }
    }

    /// Reads one thing back. `None` where it is none.
    pub(crate) fn decode(&mut self, kind: &str, path: &Path, more: &[u8]) -> Option<()> {
        let target = || (!more.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(more)));
        let path = path.to_owned();
        match kind {
            "since" => {
                let (seconds, nanos) = numbers(more)?;
                let since = Duration::new(seconds, u32::try_from(nanos).ok()?);
                self.since = Some(UNIX_EPOCH + since);
            }
            "cut" => self.is_cut = true,
            "boundless" => self.is_boundless = true,
            "name" => drop(self.names.insert(path, target())),
            "part" => drop(self.parts.insert(path, target())),
            "known" => drop(self.known.insert(path, numbers(more)?)),
            "folder" | "whole" => {
                let folders = if kind == "folder" { &mut self.folders } else { &mut self.whole };
                read_folder(folders, path, more)?;
            }
            _ => drop(self.set(kind)?.insert(path)),
        }
        Some(())
    }

    fn set(&mut self, kind: &str) -> Option<&mut BTreeSet<PathBuf>> {
        match kind {
            "bare" => Some(&mut self.bare),
            "link" => Some(&mut self.links),
            "pointer" => Some(&mut self.pointers),
            "further" => Some(&mut self.further),
            "tree" => Some(&mut self.trees),
            _ => None,
        }
    }

    /// When what the host obeys at `path` beneath `root` came there or changed, if the command ended at
    /// a time. What is obeyed itself tells it; if that is older, what came is a folder above it.
    pub(crate) fn when(
        &self,
        (root, path): (&Path, &Path),
        opened: &Opened,
        end: SystemTime,
    ) -> When {
        let (Some(since), Some(end)) = (self.since.and_then(stamp), stamp(end)) else {
            return When::Later;
        };
        let changed = |path: &Path| opened.changed(path).or_else(|| changed(path));
        let is_during = |path: &Path| {
            let times = [changed(path), born(path)];
            times.iter().flatten().any(|time| (since..=end).contains(time))
        };
        if obeys(path, &is_during) {
            return When::During;
        }
        if obeys(path, &|path| changed(path).is_some_and(|time| time > end)) {
            return When::Later;
        }
        let above = path.ancestors().skip(1).take_while(|folder| *folder != root);
        match above.filter_map(changed).find(|time| *time >= since) {
            None => When::Before,
            Some(time) if time <= end => When::During,
            Some(_) => When::Later,
        }
    }
}

fn read_folder(folders: &mut Folders, path: PathBuf, number: &[u8]) -> Option<()> {
    folders.insert(path, std::str::from_utf8(number).ok()?.parse().ok()?);
    Some(())
}

/// Two numbers with a space between them.
fn numbers(text: &[u8]) -> Option<(u64, u64)> {
    let (first, second) = std::str::from_utf8(text).ok()?.split_once(' ')?;
    Some((first.parse().ok()?, second.parse().ok()?))
}

fn changed(path: &Path) -> Option<(i64, i64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.ctime(), found.ctime_nsec()))
}

/// When it was made, which no process can set either.
fn born(path: &Path) -> Option<(i64, i64)> {
    fs::symlink_metadata(path).and_then(|found| found.created()).ok().and_then(stamp)
}

fn stamp(time: SystemTime) -> Option<(i64, i64)> {
    let time = time.duration_since(UNIX_EPOCH).ok()?;
    Some((time.as_secs().cast_signed(), i64::from(time.subsec_nanos())))
}
