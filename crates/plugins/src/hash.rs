//! Short content hashes, for names of files and directories of ours.

pub(crate) fn short_hash(bytes: &[u8]) -> String {
    short(blake3::Hasher::new().update(bytes))
}

pub(crate) fn short(hasher: &blake3::Hasher) -> String {
    hasher.finalize().to_hex()[..32].to_owned()
}
