//! The symlinks in a path.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// As in Linux.
const MAX_LINKS: u32 = 40;

/// Resolves a path as the system would, but continues after a part that is missing. Calls `passed`
/// with each symlink in it, together with the rest of the path.
pub(crate) fn follow_links(path: &Path, passed: &mut dyn FnMut(PathBuf)) -> io::Result<PathBuf> {
    let parts = |path: &Path| -> Vec<OsString> {
        let components = path.components().rev();
        components.map(|part| part.as_os_str().to_owned()).collect()
    };
    let mut ahead = parts(path);
    let mut resolved = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = ahead.pop() {
        match Path::new(&part).components().next() {
            Some(Component::RootDir) => resolved = PathBuf::from("/"),
            Some(Component::ParentDir) => drop(resolved.pop()),
            Some(Component::Normal(name)) => {
                let next = resolved.join(name);
                match std::fs::read_link(&next) {
                    Ok(target) => {
                        links += 1;
                        if links > MAX_LINKS {
                            return Err(io::Error::other("too many symbolic links"));
                        }
                        passed(ahead.iter().rev().fold(next, |path, part| path.join(part)));
                        ahead.extend(parts(&target));
                    }
                    Err(_) => resolved = next,
                }
            }
            Some(Component::CurDir | Component::Prefix(_)) | None => {}
        }
    }
    Ok(resolved)
}
