//! A home that lasts, for processes that start anew each time: a directory of their own, in which links
//! lead to what the confinement shows of the user's. It is made inside of the sandbox, so that
//! nothing that a process leaves there can lead out of them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Directories that programs share. They are made anew, so that what is kept in them lasts too.
const SHARED: [&str; 6] = [".cache", ".cargo", ".config", ".local", "share", "state"];

/// Variables that name places in the home that was there before.
const PLACES: [&str; 4] = ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"];

/// Makes the home in `directory` and lets the variables say so. Where it cannot be made, they name the
/// one that was there before.
pub(crate) fn settle(directory: &Path, env: &mut BTreeMap<String, String>) {
    let Some(before) = env.get("HOME").filter(|home| !home.is_empty()) else { return };
    if fill(Path::new(before), directory).is_ok() {
        env.insert("HOME".to_owned(), directory.to_string_lossy().into_owned());
        env.retain(|name, _| !PLACES.contains(&name.as_str()));
    }
}

fn fill(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    // Nothing is linked from a home directory that the confinement hides.
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let place = to.join(&name);
        if SHARED.map(OsStr::new).contains(&name.as_os_str()) {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                fill(&path, &place)?;
            }
        } else if path.exists() && !place.exists() {
            link(&path, &place);
        }
    }
    Ok(())
}

/// Puts a link in the place of one that leads nowhere, or of nothing. What cannot be linked is not
/// there, as before.
fn link(path: &Path, place: &Path) {
    if place.is_symlink() {
        let _ = fs::remove_file(place);
    }
    // Not to a link, which may be gone the next time.
    let _ = symlink(fs::read_link(path).as_deref().unwrap_or(path), place);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_home_paths_are_found_in_a_separate_home() {
        let base = tempfile::tempdir().unwrap();
        let (home, directory) = (base.path().join("home"), base.path().join("data/home"));
        fs::create_dir_all(home.join(".rustup/bin")).unwrap();
        fs::create_dir_all(home.join(".config/git")).unwrap();
        fs::create_dir_all(directory.join(".config/mine")).unwrap();
        symlink("/nowhere", home.join("dangling")).unwrap();
        let home = home.to_string_lossy().into_owned();
        for _ in 0..2 {
            let pairs = [("HOME", home.as_str()), ("XDG_CONFIG_HOME", "/x"), ("A", "b")];
            let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let mut env = BTreeMap::from(pairs);
            settle(&directory, &mut env);
            assert_eq!(env["HOME"], directory.to_string_lossy());
            assert_eq!(env.keys().collect::<Vec<_>>(), ["A", "HOME"]);
        }
        assert!(directory.join(".rustup").is_symlink() && directory.join(".rustup/bin").is_dir());
        assert!(
            !directory.join(".config").is_symlink() && directory.join(".config/git").is_symlink()
        );
        assert!(
            directory.join(".config/mine").is_dir() && !directory.join("dangling").is_symlink()
        );
        fs::remove_file(directory.join(".rustup")).unwrap();
        symlink("/nowhere", directory.join(".rustup")).unwrap();
        let mut env = BTreeMap::from([("HOME".to_owned(), home)]);
        settle(&directory, &mut env);
        assert!(directory.join(".rustup/bin").is_dir());
    }

    #[test]
    fn failed_home_leaves_the_environment_unchanged() {
        let base = tempfile::tempdir().unwrap();
        let file = base.path().join("file");
        fs::write(&file, "").unwrap();
        let before = BTreeMap::from([("HOME".to_owned(), "/".to_owned())]);
        let mut env = before.clone();
        settle(&file.join("home"), &mut env);
        assert_eq!(env, before);
    }
}
