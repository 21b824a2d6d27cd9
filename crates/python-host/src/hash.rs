//! Short content hashes, for names of files and directories of ours.

/// The beginning of the hash of some bytes, in hexadecimal.
pub(crate) fn short_hash(bytes: &[u8]) -> String {
    short(blake3::Hasher::new().update(bytes))
}

/// The beginning of a hash, in hexadecimal.
pub(crate) fn short(hasher: &blake3::Hasher) -> String {
    hasher.finalize().to_hex()[..32].to_owned()
}
