//! The Python side of the host, which the program carries within itself and writes to disk once.

mod list;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use files::private;
use list::FILES;

/// The name of the directory that holds the payload: it changes with every byte of it.
pub(crate) const IDENTITY: &str = env!("PAYLOAD");

/// The directory of the payload, which need not exist.
pub(crate) fn place(state: &Path) -> PathBuf {
    state.join("python").join(IDENTITY)
}

/// Ensures that the payload is at its path, complete and unchanged.
pub(crate) fn unpack(state: &Path) -> io::Result<PathBuf> {
    let place = place(state);
    if is_intact(&place) {
        return Ok(place);
    }
    let parent = state.join("python");
    private::make_directory(&parent)?;
    let staging = tempfile::Builder::new().prefix("unpacking-").tempdir_in(&parent)?;
    write(staging.path())?;
    // The existing one was changed; it is moved away in one step.
    if place.exists() {
        let aside = tempfile::Builder::new().prefix("replaced-").tempdir_in(&parent)?;
        fs::rename(&place, aside.path().join("payload"))?;
    }
    match fs::rename(staging.path(), &place) {
        Ok(()) => {
            drop(staging.keep());
            Ok(place)
        }
        // Another process was quicker.
        Err(_) if is_intact(&place) => Ok(place),
        Err(error) => Err(error),
    }
}

/// Writes the packages that plugins import into `directory`, for work without this program.
pub fn write_stubs(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for (name, bytes) in FILES {
        if let Some(name) = name.strip_prefix("shim/") {
            let file = directory.join(name);
            write_file(&file, bytes)?;
            written.push(file);
        }
    }
    Ok(written)
}

fn write(directory: &Path) -> io::Result<()> {
    FILES.iter().try_for_each(|(name, bytes)| write_file(&directory.join(name), bytes))
}

fn write_file(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(file, bytes)
}

/// Returns true if every file is there unchanged, and no other beside what Python compiled.
fn is_intact(place: &Path) -> bool {
    let is_same = |(name, bytes): &(&str, &[u8])| {
        let file = place.join(name);
        fs::symlink_metadata(&file).is_ok_and(|found| found.len() == bytes.len() as u64)
            && fs::read(&file).is_ok_and(|found| found == *bytes)
    };
    FILES.iter().all(is_same) && count(place) == Some(FILES.len())
}

/// The number of files that are no bytecode.
fn count(directory: &Path) -> Option<usize> {
    let mut total = 0;
    for entry in fs::read_dir(directory).ok()? {
        let entry = entry.ok()?;
        if entry.file_name() == "__pycache__" {
            continue;
        }
        total += if entry.file_type().ok()?.is_dir() { count(&entry.path())? } else { 1 };
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files_below(directory: &Path, base: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(base).unwrap().to_str().unwrap().to_owned();
            if name == "tests" || name.ends_with("__pycache__") {
                continue;
            }
            if path.is_dir() {
                files_below(&path, base, found);
            } else {
                found.push(name);
            }
        }
    }

    #[test]
    fn payload_has_every_python_file() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
        let mut found = Vec::new();
        files_below(&source, &source, &mut found);
        found.sort();
        let carried: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        assert_eq!(carried, found, "the list in payload/list.rs is not that of the directory");
    }

    #[test]
    fn payload_name_depends_on_every_byte() {
        let mut hasher = blake3::Hasher::new();
        for part in FILES.iter().flat_map(|(name, bytes)| [name.as_bytes(), bytes]) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        assert_eq!(crate::hash::short(&hasher), IDENTITY);
    }

    #[test]
    fn changed_payload_is_replaced() {
        let state = tempfile::tempdir().unwrap();
        let place = unpack(state.path()).unwrap();
        let host = place.join("host.py");
        let first = fs::metadata(&host).unwrap().modified().unwrap();
        fs::create_dir_all(place.join("__pycache__")).unwrap();
        fs::write(place.join("__pycache__/x.pyc"), "bytecode").unwrap();
        assert_eq!(unpack(state.path()).unwrap(), place);
        assert_eq!(fs::metadata(&host).unwrap().modified().unwrap(), first);
        assert!(place.join("__pycache__/x.pyc").exists());
        fs::write(&host, "import evil").unwrap();
        unpack(state.path()).unwrap();
        assert!(is_intact(&place) && !place.join("__pycache__").exists());
        fs::write(place.join("json.py"), "import evil").unwrap();
        unpack(state.path()).unwrap();
        assert!(is_intact(&place) && !place.join("json.py").exists());
        assert_eq!(fs::read_dir(place.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn stubs_have_the_packages_only() {
        let directory = tempfile::tempdir().unwrap();
        let written = write_stubs(directory.path()).unwrap();
        assert!(directory.path().join("brynhild/__init__.py").is_file());
        assert!(!written.is_empty() && !directory.path().join("host.py").exists());
    }
}
