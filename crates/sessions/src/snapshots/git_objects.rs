//! Finds out if the commits that a restored ref names are still there. Undo restores refs and no
//! objects, so what a turn pruned is lost.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use files::bounded;

/// Files that a git command wrote are read up to this length.
const MAX_BYTES: u64 = 64 << 20;
/// The start of a pack's index of version 2, and its number of objects by their first byte.
const PACK_HEADER: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const FAN_OUT: usize = 4 * 256;
/// Object directories that borrow from each other.
const MAX_ALTERNATES: usize = 5;

/// The names of refs in a file of git that name a missing object. `path` is below the git directory.
pub(super) fn lost_refs(objects: &Path, path: &Path, text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let is_lost = |name: &str| is_name(name) && !exists(objects, name, 0);
    if path == Path::new("packed-refs") {
        let refs = text.lines().filter_map(|line| line.split_once(' '));
        return refs.filter(|(name, _)| is_lost(name)).map(|(_, name)| short(name)).collect();
    }
    let is_ref = path == Path::new("HEAD") || path.starts_with("refs");
    let lost = is_ref && is_lost(text.trim_end());
    lost.then(|| short(&path.to_string_lossy())).into_iter().collect()
}

fn short(name: &str) -> String {
    ["refs/heads/", "refs/tags/", "refs/"]
        .into_iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name)
        .to_owned()
}

/// Returns true for the name of an object, with SHA-1 or SHA-256.
fn is_name(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|it| it.is_ascii_hexdigit())
}

/// Returns false if an object is missing. A file that cannot be read may have it.
fn exists(objects: &Path, name: &str, depth: usize) -> bool {
    let loose = objects.join(&name[..2]).join(&name[2..]);
    let packs = fs::read_dir(objects.join("pack")).into_iter().flatten().flatten();
    let mut indexes =
        packs.map(|entry| entry.path()).filter(|path| path.extension() == Some("idx".as_ref()));
    loose.exists()
        || indexes.any(|index| in_pack(&index, name).unwrap_or(true))
        || depth < MAX_ALTERNATES
            && alternates(objects).iter().any(|other| exists(other, name, depth + 1))
}

/// Looks for an object in a pack's index, see <https://git-scm.com/docs/pack-format>.
fn in_pack(index: &Path, name: &str) -> Option<bool> {
    let byte = |at: usize| u8::from_str_radix(&name[at..at + 2], 16).ok();
    let name: Vec<u8> = (0..name.len()).step_by(2).map_while(byte).collect();
    let file = bounded::open(index).ok()?;
    let mut start = [0; PACK_HEADER.len() + FAN_OUT];
    file.read_exact_at(&mut start, 0).ok()?;
    let fan_out = start.strip_prefix(&PACK_HEADER)?.as_chunks::<4>().0;
    let count = |byte: u8| u64::from(u32::from_be_bytes(fan_out[usize::from(byte)]));
    let first = *name.first()?;
    let (mut low, mut high) = (first.checked_sub(1).map_or(0, count), count(first));
    let mut found = vec![0; name.len()];
    while low < high {
        let middle = low + (high - low) / 2;
        file.read_exact_at(&mut found, start.len() as u64 + middle * name.len() as u64).ok()?;
        match found.cmp(&name) {
            std::cmp::Ordering::Equal => return Some(true),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    Some(false)
}

/// The object directories that another one borrows from.
fn alternates(objects: &Path) -> Vec<PathBuf> {
    let text = read(&objects.join("info/alternates")).unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| objects.join(OsStr::from_bytes(line))).collect()
}

/// Reads a file of git.
pub(super) fn read(path: &Path) -> Option<Vec<u8>> {
    bounded::read(path, MAX_BYTES).ok().flatten()
}
