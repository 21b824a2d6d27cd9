//! Symbolic links on the way to a file.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Follows the path as the system would, but goes on where something is missing. `passed` is told each link on the
/// way, with what follows it.
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
            Some(Component::ParentDir) => {
                resolved.pop();
            }
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

const MAX_LINKS: u32 = 40;

/// The names by which an absolute path is known on the way to where it leads: each link, with what follows it.
pub fn names_on_the_way(path: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    // Where links lead in a circle nothing is reached.
    let _ = follow_links(path, &mut |name| names.push(name));
    names
}
