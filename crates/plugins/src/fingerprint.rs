//! Fingerprints of a plugin's files: by their times and sizes, which is quick, and by their content.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ::files::bounded;
use ::files::stamp::Stamp;
use ::files::surroundings::Surroundings;
use rustix::fs::Stat;

use crate::confine::description_variables;
use crate::directories::{Directories, Kind, file_type};
use crate::hash::short;
use crate::plugin::{Dialect, Plugin, PluginSettings};

const MOST_FILES: usize = 20_000;
const DEEPEST: usize = 16;
/// Bytes whose content counts; of what follows, times and sizes do.
const MOST_BYTES: usize = 64 << 20;

const SKIPPED: [&str; 8] =
    [".git", ".hg", ".mypy_cache", ".pytest_cache", ".venv", "__pycache__", "node_modules", "venv"];

/// Hashes a plugin's files, unless their times are known. None if there are too many of them.
pub(crate) fn files_of(plugin: &Plugin, directories: &Directories) -> Option<[String; 2]> {
    let files = Files::of(plugin, directories)?;
    let (root, name) = (&plugin.root, plugin.name());
    let stamp = hashed(|hasher| files.stamp(hasher));
    let known = directories.hashes(root, name, &stamp);
    Some(known.unwrap_or_else(|| {
        let (is_settled, hashes) = (files.are_settled(), files.hashes());
        if is_settled {
            directories.keep_hashes(root, name, stamp, hashes.clone());
        }
        hashes
    }))
}

pub(crate) struct Files {
    found: Vec<(PathBuf, Stat)>,
    /// True if a running process goes on until a module changes, whatever else does.
    is_lasting: bool,
}

impl Files {
    fn of(plugin: &Plugin, directories: &Directories) -> Option<Self> {
        if plugin.is_among_others() {
            return Some(Self { found: Vec::new(), is_lasting: false });
        }
        match plugin.manifest.dialect {
            Dialect::Brynhild => Self::below(&plugin.root, directories),
            Dialect::Lmao => Self::around(plugin, directories),
            Dialect::InitRunner => Self::among(plugin, directories),
        }
    }

    /// Looks at all files below `root` that count, or at `root` where it is a file itself.
    pub(crate) fn below(root: &Path, directories: &Directories) -> Option<Self> {
        let mut walk = Walk { directories, found: Vec::new(), seen: HashSet::new() };
        if directories.is_file(root) {
            walk.found.extend(directories.look(root).map(|found| (root.to_path_buf(), found)));
        } else {
            walk.directory(root, 0)?;
        }
        walk.found.sort_by(|a, b| a.0.cmp(&b.0));
        Some(Self { found: walk.found, is_lasting: false })
    }

    /// The files that a role's Python depends on: those that it names, and those in directories that it
    /// names. The rest of its directory may be a whole project.
    fn among(plugin: &Plugin, directories: &Directories) -> Option<Self> {
        let mut found = Vec::new();
        for path in &plugin.manifest.tools {
            found.extend(Self::below(Path::new(path), directories)?.found);
        }
        Some(Self { found, is_lasting: false })
    }

    /// The files around LMAO's plugins: they may read any of them to describe themselves.
    fn around(plugin: &Plugin, directories: &Directories) -> Option<Self> {
        let files = plugin.manifest.tools.iter().map(Path::new);
        let around: BTreeSet<&Path> = files.filter_map(Path::parent).collect();
        let is_within = |it: &Path| it.ancestors().skip(1).any(|other| around.contains(other));
        let mut found = Vec::new();
        for directory in around.iter().filter(|it| !is_within(it)) {
            found.extend(Self::below(directory, directories)?.found);
        }
        Some(Self { found, is_lasting: true })
    }

    /// The modules alone, where nothing else ends a process: what comes and goes in the directory of
    /// LMAO's plugins must not cost them what they keep in memory.
    fn lasting(&self) -> Option<Self> {
        let is_module = |path: &Path| {
            path.extension()
                .is_some_and(|ending| ["py", "pyc", "so"].iter().any(|it| ending == *it))
        };
        let modules = self.found.iter().filter(|(path, _)| is_module(path));
        self.is_lasting.then(|| Self { found: modules.cloned().collect(), ..*self })
    }

    /// Hashes of the content: of all files, and of those that a running process depends on.
    fn hashes(&self) -> [String; 2] {
        let all = hashed(|hasher| self.content(hasher));
        let process = self.lasting().map(|files| hashed(|hasher| files.content(hasher)));
        [all.clone(), process.unwrap_or(all)]
    }

    /// Returns true if any further change of them must show in their times.
    pub(crate) fn are_settled(&self) -> bool {
        let now = SystemTime::now();
        self.found.iter().all(|(_, found)| Stamp::of(found).is_settled(now))
    }

    pub(crate) fn stamp(&self, hasher: &mut blake3::Hasher) {
        for (path, found) in &self.found {
            name(hasher, path);
            stamp(hasher, found);
        }
    }

    pub(crate) fn content(&self, hasher: &mut blake3::Hasher) {
        let mut left = MOST_BYTES as u64;
        for (path, found) in &self.found {
            name(hasher, path);
            // What has grown meanwhile, or is not a file any more, counts by what was seen of it.
            let length = found.st_size.try_into().unwrap_or(u64::MAX);
            let bytes = (length <= left).then(|| bounded::head(path, MOST_BYTES));
            match bytes.flatten() {
                Some(bytes) => {
                    left -= length;
                    hasher.update(&(bytes.len() as u64).to_le_bytes());
                    hasher.update(&bytes);
                }
                None => stamp(hasher, found),
            }
        }
    }
}

/// Changes with all that a description of a plugin depends on beside its files.
pub(crate) fn identity(plugin: &Plugin, surroundings: &Surroundings) -> String {
    let (manifest, settings) = (&plugin.manifest, &plugin.settings);
    // A manifest that lies among the files counts with them.
    let is_among_files = manifest.dialect == Dialect::Brynhild && plugin.package.is_none();
    if is_among_files && *settings == PluginSettings::default() {
        let parts = [&manifest.tools, &manifest.providers].map(Vec::is_empty);
        return format!("{} {parts:?}", manifest.version);
    }
    let variables = &surroundings.variables;
    let values: Vec<_> = settings.grants.env.iter().map(|name| variables.get(name)).collect();
    // With more time a file may load that did not.
    let settings = (&settings.own, &settings.grants, values, settings.timeout);
    let facts = serde_json::to_vec(&(manifest, &plugin.package, settings));
    hashed(|hasher| {
        hasher.update(&facts.unwrap_or_default());
    })
}

pub(crate) fn environment_hash(surroundings: &Surroundings) -> String {
    hashed(|hasher| {
        for text in description_variables(surroundings).flat_map(|(name, value)| [name, value]) {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
    })
}

fn hashed(put: impl FnOnce(&mut blake3::Hasher)) -> String {
    let mut hasher = blake3::Hasher::new();
    put(&mut hasher);
    short(&hasher)
}

fn name(hasher: &mut blake3::Hasher, path: &Path) {
    let bytes = path.as_os_str().as_encoded_bytes();
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

fn stamp(hasher: &mut blake3::Hasher, found: &Stat) {
    hasher.update(&files::stamp::stamp(found).to_le_bytes());
}

struct Walk<'a> {
    directories: &'a Directories,
    found: Vec<(PathBuf, Stat)>,
    /// Directories behind links that were entered, so that links cannot lead in circles.
    seen: HashSet<(i128, i128)>,
}

impl Walk<'_> {
    fn directory(&mut self, directory: &Path, depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        let Ok(listing) = self.directories.listing(directory) else { return Some(()) };
        if listing.is_cut {
            return None;
        }
        for entry in &listing.entries {
            let is_skipped = SKIPPED.iter().any(|name| entry.name == *name);
            let path = directory.join(&entry.name);
            match entry.kind {
                Kind::Directory if is_skipped => {}
                Kind::Directory => self.directory(&path, depth + 1)?,
                Kind::File | Kind::Link => {
                    let Some(found) = self.directories.look(&path) else { continue };
                    if file_type(&found).is_file() {
                        if self.found.len() == MOST_FILES {
                            return None;
                        }
                        self.found.push((path, found));
                    } else if file_type(&found).is_dir()
                        && !is_skipped
                        && self.seen.insert((found.st_dev.into(), found.st_ino.into()))
                    {
                        self.directory(&path, depth + 1)?;
                    }
                }
                Kind::Other => {}
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn hash(root: &Path, by: fn(&Files, &mut blake3::Hasher)) -> String {
        let mut hasher = blake3::Hasher::new();
        by(&Files::below(root, &Directories::default()).unwrap(), &mut hasher);
        hasher.finalize().to_hex().to_string()
    }

    #[test]
    fn fingerprint_changes_with_any_covered_file() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("tools/__pycache__")).unwrap();
        fs::write(root.join("tools/a.py"), "1").unwrap();
        std::os::unix::fs::symlink(root, root.join("loop")).unwrap();
        let (quick, whole) = (hash(root, Files::stamp), hash(root, Files::content));
        fs::write(root.join("tools/__pycache__/a.pyc"), "x").unwrap();
        assert_eq!(hash(root, Files::stamp), quick);
        // Written anew with the same bytes: the times differ, the content does not.
        fs::remove_file(root.join("tools/a.py")).unwrap();
        fs::write(root.join("tools/b.py"), "1").unwrap();
        fs::rename(root.join("tools/b.py"), root.join("tools/a.py")).unwrap();
        assert_ne!(hash(root, Files::stamp), quick);
        assert_eq!(hash(root, Files::content), whole);
        fs::write(root.join("tools/_helper.py"), "").unwrap();
        assert_ne!(hash(root, Files::content), whole);
    }
}
