//! Which names of a workspace are not looked at: those that its ignore files name, and what is made
//! anew at any time.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use contract::protected::protected;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::state::Hash;
use super::tracked::{Indexes, Tracked};

/// Files with ignore rules, the stronger first.
pub(super) const RULE_FILES: [&str; 2] = [".ignore", ".gitignore"];
/// In a folder, says that everything in it can be made anew.
pub(super) const CACHE_TAG: &str = "CACHEDIR.TAG";
/// Ignored where no file says otherwise.
const USUAL: &str = "node_modules/\n__pycache__/\n";
/// Folders above the workspace that are searched for ignore files.
const ABOVE: usize = 32;
const LARGEST: u64 = 1 << 20;

/// The rules in force in one folder.
#[derive(Clone)]
pub(super) struct Rules {
    /// Names them: the same rules have the same.
    pub(super) id: u64,
    levels: Arc<Level>,
    tracked: Arc<Tracked>,
    /// Whether the folder itself is ignored, so that only what git tracks in it is looked at.
    pub(super) is_narrow: bool,
}

struct Level {
    above: Option<Arc<Level>>,
    folder: Box<Path>,
    /// The texts, the stronger first; read into a matcher when a name has to be matched.
    texts: Vec<Vec<u8>>,
    matchers: OnceLock<Vec<Gitignore>>,
}

impl Level {
    fn matchers(&self) -> &[Gitignore] {
        self.matchers.get_or_init(|| {
            let build = |text: &Vec<u8>| {
                let mut builder = GitignoreBuilder::new(&self.folder);
                for line in String::from_utf8_lossy(text).lines() {
                    // A line that is no pattern ignores nothing, as git has it.
                    let _ = builder.add_line(None, line);
                }
                builder.build().unwrap_or_else(|_| Gitignore::empty())
            };
            self.texts.iter().map(build).collect()
        })
    }
}

impl Rules {
    /// The rules above a workspace and of its repository's own.
    pub(super) fn above(root: &Path, indexes: &mut Indexes) -> Self {
        let mut above = Vec::new();
        let mut folder = root;
        while !folder.join(".git").exists() && above.len() < ABOVE {
            let Some(parent) = folder.parent() else { break };
            above.push(parent);
            folder = parent;
        }
        // Outside of a repository nothing above counts.
        let repository = folder.join(".git").exists().then_some(folder);
        let usual = vec![USUAL.as_bytes().to_vec()];
        let tracked = repository.map(|folder| indexes.of(folder)).unwrap_or_default();
        let levels = Arc::new(Level::new(None, root, Vec::new()));
        let mut rules = Self { id: tracked.id, levels, tracked, is_narrow: false }
            .with(repository.unwrap_or(root), usual);
        let Some(repository) = repository else { return rules };
        rules = rules.with(repository, texts(&repository.join(".git/info"), &["exclude"]));
        for folder in above.into_iter().rev().filter(|folder| folder.starts_with(repository)) {
            rules = rules.with(folder, texts(folder, &RULE_FILES));
        }
        rules
    }

    /// The rules in a folder below, which holds these ignore files.
    pub(super) fn within(&self, folder: &Path, files: &[OsString]) -> Self {
        if files.is_empty() {
            return self.clone();
        }
        let is_there = |name: &&&str| files.iter().any(|file| file == **name);
        let present: Vec<&str> = RULE_FILES.iter().filter(is_there).copied().collect();
        self.with(folder, texts(folder, &present))
    }

    fn with(&self, folder: &Path, texts: Vec<Vec<u8>>) -> Self {
        if texts.is_empty() {
            return self.clone();
        }
        let mut named = self.id.to_le_bytes().to_vec();
        for text in &texts {
            named.extend_from_slice(&Hash::of(text).0);
        }
        let hash = Hash::of(&named).0;
        let id = hash.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
        let level = Level::new(Some(Arc::clone(&self.levels)), folder, texts);
        Self { id, levels: Arc::new(level), ..self.clone() }
    }

    /// The rules in a folder that is looked at only for what git tracks in it.
    pub(super) fn narrow(&self) -> Self {
        const NARROW: u64 = 0x6e61_7272_6f77;
        let id = if self.is_narrow { self.id } else { self.id ^ NARROW };
        Self { id, is_narrow: true, ..self.clone() }
    }

    /// What becomes of a path directly in the folder of these rules.
    pub(super) fn verdict(&self, path: &Path, is_folder: bool) -> Verdict {
        if !self.is_narrow && !self.names(path, is_folder) {
            Verdict::Seen
        } else if self.tracked.holds(path, is_folder) {
            Verdict::Tracked
        } else {
            Verdict::Ignored
        }
    }

    /// Whether an ignore file names a path.
    fn names(&self, path: &Path, is_folder: bool) -> bool {
        let mut level = Some(&self.levels);
        while let Some(Level { above, .. }) = level.map(AsRef::as_ref) {
            for matcher in level.into_iter().flat_map(|level| level.matchers()) {
                match matcher.matched(path, is_folder) {
                    Match::None => {}
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                }
            }
            level = above.as_ref();
        }
        false
    }
}

/// What becomes of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is looked at.
    Seen,
    /// An ignore file names it, but git tracks it, or something in it: that is looked at.
    Tracked,
    /// It is left alone.
    Ignored,
}

impl Level {
    fn new(above: Option<Arc<Self>>, folder: &Path, texts: Vec<Vec<u8>>) -> Self {
        Self { above, folder: folder.into(), texts, matchers: OnceLock::new() }
    }
}

/// Whether a name is never looked at: no tool and no confined process writes it, or it is that of a
/// file which a tool is about to give its real name.
pub(super) fn is_closed(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    if bytes.starts_with(b".brynhild-") && bytes.ends_with(b".tmp") {
        return true;
    }
    // Every protected name begins so, or like a short name of an old file system.
    let first = name.as_encoded_bytes().first();
    first.is_none_or(|first| !first.is_ascii_alphanumeric() || *first == b'g' || *first == b'G')
        && protected(name).is_some()
}

fn texts(folder: &Path, names: &[&str]) -> Vec<Vec<u8>> {
    let read = |name: &&str| {
        let path = folder.join(name);
        let metadata = fs::symlink_metadata(&path).ok()?;
        let is_usable = metadata.is_file() && metadata.len() <= LARGEST;
        is_usable.then(|| fs::read(&path).ok()).flatten()
    };
    names.iter().filter_map(read).collect()
}
