//! Caches: private JSON files. A lost or broken cache costs only time, so nothing is synced.

use std::io;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bounded;
use crate::private::{self, Durability};

/// The largest cache that is read, in bytes.
const SIZE_LIMIT: u64 = 64 << 20;

/// Reads a cache; none if it is missing, too large or in another format.
pub fn read<T: DeserializeOwned>(file: &Path) -> Option<T> {
    serde_json::from_slice(&bounded::read(file, SIZE_LIMIT).ok()??).ok()
}

/// Replaces a cache in one step.
pub fn write(file: &Path, value: &impl Serialize) -> io::Result<()> {
    let bytes = serde_json::to_vec(value)?;
    let _lock = private::lock(file)?;
    private::replace(file, &bytes, Durability::Unsynced)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn written_cache_is_private_and_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("cache/skills.json");
        write(&file, &[1, 2]).unwrap();
        assert_eq!(read(&file), Some(vec![1, 2]));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    }

    #[test]
    fn missing_or_broken_cache_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("cache.json");
        assert_eq!(read::<Vec<u32>>(&file), None);
        fs::write(&file, "[1,").unwrap();
        assert_eq!(read::<Vec<u32>>(&file), None);
    }
}
