//! Files that only we write: private directories, and JSON that is replaced whole or not at all.

use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Makes a directory, and those above it, for this user alone.
pub(crate) fn private_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Reads a JSON file; nothing where it is missing or not what is wanted.
pub(crate) fn read_json<T: DeserializeOwned>(file: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// Writes a JSON file in one step.
pub(crate) fn write_json(file: &Path, value: &impl Serialize) -> io::Result<()> {
    let bytes = serde_json::to_vec(value)?;
    let directory = file.parent().ok_or_else(|| io::Error::other("a file in no directory"))?;
    private_directory(directory)?;
    let mut temporary = tempfile::NamedTempFile::new_in(directory)?;
    temporary.write_all(&bytes)?;
    temporary.persist(file)?;
    Ok(())
}

/// The beginning of the hash of some bytes, in hexadecimal.
pub(crate) fn short_hash(bytes: &[u8]) -> String {
    short(blake3::Hasher::new().update(bytes))
}

/// The beginning of a hash, in hexadecimal.
pub(crate) fn short(hasher: &blake3::Hasher) -> String {
    hasher.finalize().to_hex()[..32].to_owned()
}
