//! Trust in what a workspace brings that could run or redirect. It is given to bytes, by their hash,
//! for one real path, and kept outside the workspace. Nothing of a workspace decides on it, and no
//! byte is interpreted before it is decided: looking only reads.

mod changes;
mod command_lines;
pub(crate) mod guard;
pub(crate) mod question;
mod scripts;
mod snapshot;
mod store;
mod surfaces;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use snapshot::{Kind, Snapshot};
pub(crate) use store::{Decision, Record, Store};

use contract::vouch::Vouch;

use crate::config::Loaded;
pub(crate) use guard::Of;
use guard::{Guard, Held, Stamps};
use scripts::Text;
use snapshot::{Entry, Part};
use surfaces::Effect;

/// The project's file of hooks, from its root.
pub(crate) const HOOKS: &str = ".brynhild/hooks.yaml";

/// The project's file of MCP servers, from its root.
pub(crate) const SERVERS: &str = ".mcp.json";

/// Files of a workspace that the person trusts, with the very bytes that were trusted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trusted {
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// What is run from where it lies, to be looked at again when it is.
    scripts: Arc<Scripts>,
    held: Option<Held>,
}

#[derive(Debug, Default)]
struct Scripts {
    root: PathBuf,
    entries: Vec<Entry>,
    /// What the search for them began with.
    texts: Vec<Text>,
    /// All that it may find, from the root.
    known: BTreeSet<String>,
    looked: Mutex<Looked>,
}

/// What a search looked at, to know whether another one could find something else.
#[derive(Debug, Default)]
struct Looked {
    folders: BTreeSet<PathBuf>,
    /// The stamps of the folders when nothing but what was trusted was found by them.
    seen: Option<u64>,
}

impl Looked {
    fn stamp(&self) -> Option<u64> {
        let mut stamps = Stamps::default();
        stamps.folders(&self.folders);
        stamps.settled()
    }
}

impl Scripts {
    /// Whether the scripts would find nothing but what was trusted. What was not there when they were
    /// must stay absent: a guard could load it, and be another one.
    fn are_alone(&self) -> Result<(), String> {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = looked.stamp();
        if stamp.is_some() && stamp == looked.seen {
            return Ok(());
        }
        looked.seen = None;
        let remedy = "nothing of this project runs until `brynhild trust` has shown it";
        let named = scripts::named((&self.root, &self.root), &self.texts)
            .map_err(|problem| format!("{problem}; {remedy}"))?;
        if let Some(path) = named.all().find(|path| !self.known.contains(*path)) {
            return Err(format!(
                "`{path}` came to scripts that you trust, which could load it; {remedy}"
            ));
        }
        looked.folders = named.looked;
        looked.seen = looked.stamp();
        Ok(())
    }
}

impl Trusted {
    /// Looks, whenever something of the workspace is about to run, whether it is what was trusted.
    pub(crate) fn vouch(&self) -> Vouch {
        let scripts = Arc::clone(&self.scripts);
        Vouch::new(move || {
            let fixed = scripts.entries.iter().map(|entry| {
                entry.fixed(&scripts.root).ok_or_else(|| {
                    format!(
                        "`{}` changed since you trusted it; nothing of this project runs until \
                         `brynhild trust` has shown it",
                        entry.part.path
                    )
                })
            });
            let fixed = fixed.collect::<Result<Vec<_>, String>>()?;
            scripts.are_alone()?;
            Ok(fixed)
        })
    }

    /// The trusted bytes of a file; none where it is not trusted, or was reached by a link.
    pub(crate) fn bytes(&self, path: &Path) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// The trusted files beneath a folder with their bytes.
    pub(crate) fn beneath(&self, folder: &Path) -> Vec<(&Path, &[u8])> {
        let files = self.files.iter().filter(|(path, _)| path.starts_with(folder));
        files.map(|(path, bytes)| (path.as_path(), bytes.as_slice())).collect()
    }

    /// Only for tests of what trust changes.
    #[cfg(test)]
    pub(crate) fn for_test(files: BTreeMap<PathBuf, Vec<u8>>) -> Self {
        Self { files, ..Self::default() }
    }

    fn of(root: &Path, snapshot: &Snapshot) -> Self {
        let is_needed = |part: &Part| {
            let is_read = part.effect() == Effect::Sets
                || [HOOKS, SERVERS].contains(&part.path.as_str())
                || [".claude/", ".brynhild/agents/"].iter().any(|it| part.path.starts_with(it));
            part.kind == Kind::File && is_read
        };
        let entries = snapshot.entries.iter().filter(|entry| is_needed(&entry.part));
        let files = entries.map(|entry| (root.join(&entry.part.path), entry.bytes.clone()));
        let is_script = |entry: &&Entry| {
            let counts = entry.part.is_named || scripts::is_hook(&entry.part.path);
            counts && entry.part.kind == Kind::File
        };
        let known = snapshot.entries.iter().map(|entry| entry.part.path.clone());
        let scripts = Scripts {
            root: root.to_owned(),
            entries: snapshot.entries.iter().filter(is_script).map(Entry::without_bytes).collect(),
            texts: scripts::texts(root, &snapshot.entries),
            known: known.chain(snapshot.outward.iter().cloned()).collect(),
            looked: Mutex::new(Looked { folders: snapshot.looked.clone(), seen: None }),
        };
        let held = Some(Held::project(root, snapshot));
        Self { files: files.collect(), scripts: Arc::new(scripts), held }
    }
}

/// How the person stands to a workspace as it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    parts: Vec<Part>,
    state: State,
    /// What keeps the decisions, or the files, from being read.
    problem: Option<String>,
}

#[derive(Clone, Debug, Default)]
enum State {
    /// Nothing was decided about these bytes.
    #[default]
    Open,
    /// Something was decided about other bytes.
    Changed,
    /// Nothing of it, or its text alone.
    Refused,
    /// All of it.
    Trusted(Trusted),
}

/// How the person stands to the workspace `root`, a real path.
pub(crate) fn standing(root: &Path, config_dir: Option<&Path>) -> Standing {
    let parts = match snapshot::parts(root) {
        Ok(parts) => parts,
        Err(problem) => {
            let problem = Some(format!("{problem}; nothing of this project is trusted"));
            return Standing { problem, ..Standing::default() };
        }
    };
    let mut standing = Standing { parts, ..Standing::default() };
    if standing.parts.is_empty() {
        return standing;
    }
    let record = config_dir.map_or(Ok(None), |config_dir| {
        let (records, problem) = Store::new(config_dir).read()?;
        standing.problem = problem;
        Ok::<_, String>(records.into_iter().find(|record| record.path == root))
    });
    match record.and_then(|record| record.map_or(Ok(State::Open), |it| compared(root, &it))) {
        Ok(state) => standing.state = state,
        Err(problem) => standing.problem = Some(problem),
    }
    standing
}

/// Whether the person trusts the bytes of a folder of a plugin or of roles in a project, which is relied upon then;
/// a message where that cannot be.
pub(crate) fn folder_standing(
    (folder, of): (&Path, Of),
    config_dir: Option<&Path>,
    guard: &Guard,
) -> Result<bool, String> {
    let Some(config_dir) = config_dir else {
        return Ok(false);
    };
    let (records, _) = Store::new(config_dir).read()?;
    let key = folder_key(folder);
    let Some(record) = records.into_iter().find(|record| record.path == key) else {
        return Ok(false);
    };
    if record.decision != Decision::Trusted {
        return Ok(false);
    }
    let snapshot = Snapshot::of_folder(folder)?;
    let is_trusted = snapshot.hash == record.hash;
    if is_trusted {
        guard.rely(folder, Held::folder(&snapshot, of), config_dir);
    }
    Ok(is_trusted)
}

/// What decisions about a plugin's folder are kept under: its manifest, as the folder itself may be
/// a project too.
pub(crate) fn folder_key(folder: &Path) -> PathBuf {
    folder.join(plugins::manifest::FILE)
}

fn compared(root: &Path, record: &Record) -> Result<State, String> {
    if record.decision == Decision::Withdrawn {
        return Ok(State::Open);
    }
    let snapshot = Snapshot::read(root)?;
    if snapshot.hash != record.hash {
        return Ok(State::Changed);
    }
    Ok(match record.decision {
        Decision::Trusted => State::Trusted(Trusted::of(root, &snapshot)),
        Decision::TextOnly | Decision::Declined => State::Refused,
        Decision::Withdrawn => State::Open,
    })
}

impl Standing {
    /// Looks whether what is trusted is still there, for when it runs.
    pub(crate) fn vouch(&self) -> Vouch {
        self.trusted().map(Trusted::vouch).unwrap_or_default()
    }

    /// Whether the project is trusted; what lies in `places` is used because of that.
    pub(crate) fn is_trusted_for(
        &self,
        places: &[&Path],
        config_dir: Option<&Path>,
        guard: &Guard,
    ) -> bool {
        let Some(trusted) = self.trusted() else { return false };
        if let (Some(held), Some(config_dir)) = (&trusted.held, config_dir) {
            for place in places {
                guard.rely(place, held.clone(), config_dir);
            }
        }
        true
    }

    /// What is trusted.
    pub(crate) fn trusted(&self) -> Option<&Trusted> {
        match &self.state {
            State::Trusted(trusted) => Some(trusted),
            State::Open | State::Changed | State::Refused => None,
        }
    }

    /// The links among what was looked at, from the project's root.
    pub(crate) fn links(&self) -> impl Iterator<Item = &str> {
        let links = self.parts.iter().filter(|part| part.kind == Kind::Link);
        links.map(|part| part.path.as_str())
    }

    /// What keeps trust from being looked up.
    pub(crate) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Whether the person should be asked: there is something to decide on, and nothing was decided.
    pub(crate) fn is_open(&self, loaded: &Loaded) -> bool {
        let is_undecided = matches!(self.state, State::Open | State::Changed);
        is_undecided && !self.ignored(loaded).is_empty()
    }

    /// The files that have no effect, or not all of it, for want of trust.
    pub(crate) fn ignored(&self, loaded: &Loaded) -> Vec<&str> {
        if self.trusted().is_some() {
            return Vec::new();
        }
        let is_ignored = |part: &&Part| match part.effect() {
            Effect::Runs => true,
            Effect::Sets => loaded.held_back.iter().any(|held| held.file.ends_with(&part.path)),
            Effect::Lies => false,
        };
        self.parts.iter().filter(is_ignored).map(|part| part.path.as_str()).collect()
    }

    /// The one warning about what is ignored.
    pub(crate) fn warning(&self, loaded: &Loaded) -> Option<String> {
        const TOLD: usize = 5;
        let ignored = self.ignored(loaded);
        if ignored.is_empty() || matches!(self.state, State::Refused) {
            return None;
        }
        let more = ignored.len().saturating_sub(TOLD);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let names = ignored.into_iter().take(TOLD).collect::<Vec<_>>().join(", ");
        let why = match self.state {
            State::Changed => "it changed since you decided on it",
            State::Open | State::Refused | State::Trusted(_) => "you have not trusted it",
        };
        Some(format!(
            "what this project brings is ignored because {why}: {names}{more} (`brynhild trust` \
             shows it and asks)"
        ))
    }
}
