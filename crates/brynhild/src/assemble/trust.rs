//! Trust in the files of a workspace that could run or redirect something. The user trusts the
//! bytes of these files, for one real path; the decision is stored outside the workspace. Nothing
//! in a workspace decides on it, and no file is interpreted before it is decided.

mod changes;
mod command_lines;
pub(crate) mod dialog;
mod named_files;
pub(crate) mod process_check;
mod snapshot;
mod store;
mod surfaces;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use config::load::Loaded;
use contract::sandbox::Fixed;
use contract::trust_check::TrustCheck;

pub(crate) use snapshot::{Kind, Snapshot};
pub(crate) use store::{Decision, PluginGuard, Record, Store};

use process_check::TrustedRoots;
use snapshot::{CoveredFile, Entry};
use store::TrustedCopy;
use surfaces::Effect;

/// The project's hook file, from its root.
pub(crate) const HOOKS: &str = ".brynhild/hooks.yaml";

/// The project's file of MCP servers, from its root.
pub(crate) const SERVERS: &str = ".mcp.json";

const HINT: &str = "run `brynhild trust` to see the changes and decide";

const SHOWN_NAMES: usize = 5;

/// Files of a workspace that the user trusts, with the bytes that were trusted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trusted {
    files: BTreeMap<PathBuf, Vec<u8>>,
    root: PathBuf,
    config_dir: PathBuf,
}

impl Trusted {
    /// The trusted bytes of a file; none if it is not trusted, or was reached through a symlink.
    pub(crate) fn bytes(&self, path: &Path) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    pub(crate) fn beneath(&self, directory: &Path) -> Vec<(&Path, &[u8])> {
        let files = self.files.iter().filter(|(path, _)| path.starts_with(directory));
        files.map(|(path, bytes)| (path.as_path(), bytes.as_slice())).collect()
    }

    fn of(root: &Path, config_dir: &Path, snapshot: &Snapshot) -> Self {
        let is_read = |part: &CoveredFile| {
            let is_configuration = part.surface().effect == Effect::Sets
                || [HOOKS, SERVERS].contains(&part.path.as_str())
                || [".claude/", ".brynhild/agents/"].iter().any(|it| part.path.starts_with(it));
            part.kind == Kind::File && is_configuration
        };
        let entries = snapshot.entries.iter().filter(|entry| is_read(&entry.part));
        let files = entries.map(|entry| (root.join(&entry.part.path), entry.bytes.clone()));
        Self { files: files.collect(), root: root.to_owned(), config_dir: config_dir.to_owned() }
    }

    fn vouch(&self) -> TrustCheck {
        let (root, config_dir) = (self.root.clone(), self.config_dir.clone());
        TrustCheck::new(move || {
            let snapshot = verified(&root, &config_dir)?;
            let scripts = snapshot.entries.into_iter().filter(Entry::is_script);
            Ok(scripts.map(|entry| entry.fixed(&root)).collect::<Vec<Fixed>>())
        })
    }
}

/// Files that the user trusted and that changed since. They do nothing, except that the hooks among
/// them refuse the calls that they guarded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stale {
    /// The files that changed, from the project's root.
    changed: Vec<String>,
    /// The trusted files that define hooks, with the bytes that were trusted.
    hooks: BTreeMap<PathBuf, Vec<u8>>,
    /// Plugins whose hooks guarded calls.
    pub(crate) guards: Vec<PluginGuard>,
}

impl Stale {
    fn of(root: &Path, store: &Store, record: &Record, now: Option<&Snapshot>) -> Self {
        let copy = store.copy(record);
        let changed = match now {
            Some(snapshot) => changed_paths(&copy, snapshot),
            None => vec![root.display().to_string()],
        };
        let defining = copy.files.into_iter().filter(|it| surfaces::defines_hooks(&it.path));
        let hooks = defining.filter_map(|it| Some((root.join(&it.path), it.text?.into_bytes())));
        Self { changed, hooks: hooks.collect(), guards: copy.guards }
    }

    /// The hook files with this ending, with the bytes that were trusted.
    pub(crate) fn hook_files(&self, ending: &str) -> Vec<(&Path, &[u8])> {
        let files = self.hooks.iter().map(|(path, bytes)| (path.as_path(), bytes.as_slice()));
        files.filter(|(path, _)| path.to_string_lossy().ends_with(ending)).collect()
    }

    /// The reason for which its hooks refuse.
    pub(crate) fn reason(&self) -> String {
        format!("{} changed since you trusted this project; {HINT}", listed(&self.changed))
    }

    fn may_guard(&self) -> bool {
        !self.hooks.is_empty() || !self.guards.is_empty()
    }
}

/// The user's decision about a workspace, compared with its files.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProjectTrust {
    parts: Vec<CoveredFile>,
    state: State,
    problem: Option<String>,
}

#[derive(Clone, Debug, Default)]
enum State {
    #[default]
    Undecided,
    Stale(Stale),
    /// The user declined these bytes, or trusts only their text.
    Refused,
    Trusted(Trusted),
}

/// Compares the workspace `root`, a real path, with the user's decision about it.
pub(crate) fn standing(root: &Path, config_dir: Option<&Path>) -> ProjectTrust {
    let mut standing = ProjectTrust::default();
    match snapshot::parts(root) {
        Ok(parts) => standing.parts = parts,
        Err(why) => standing.problem = Some(format!("{why}; nothing of this project is trusted")),
    }
    let Some(config_dir) = config_dir else { return standing };
    let store = Store::new(config_dir);
    let (record, problem) = store.record(root).unwrap_or_else(|problem| (None, Some(problem)));
    standing.problem = problem.or(standing.problem);
    let Some(record) = record else { return standing };
    let now = Snapshot::read(root);
    standing.state = match (record.decision, &now) {
        (Decision::Trusted, Ok(now)) if now.hash == record.hash => {
            State::Trusted(Trusted::of(root, config_dir, now))
        }
        (Decision::Trusted, now) => {
            State::Stale(Stale::of(root, &store, &record, now.as_ref().ok()))
        }
        (_, Ok(now)) if now.hash == record.hash => State::Refused,
        _ => State::Undecided,
    };
    standing.problem = standing.problem.or(now.err());
    standing
}

/// The files of a workspace, if those that run are the ones that the user trusts at this moment.
fn verified(root: &Path, config_dir: &Path) -> Result<Snapshot, String> {
    let snapshot = Snapshot::read(root).map_err(|problem| format!("{problem}; {HINT}"))?;
    let store = Store::new(config_dir);
    let (record, _) = store.record(root)?;
    let record = record.filter(|record| record.decision == Decision::Trusted);
    let record =
        record.ok_or("you no longer trust this project; run `brynhild trust` to decide")?;
    if snapshot.hash == record.hash {
        return Ok(snapshot);
    }
    let copy = store.copy(&record);
    let mut changed = changed_paths(&copy, &snapshot);
    changed.retain(|path| surfaces::of(path).is_none_or(|it| it.effect == Effect::Runs));
    if changed.is_empty() && !copy.files.is_empty() {
        return Ok(snapshot);
    }
    Err(format!("{} changed since you trusted this project; {HINT}", listed(&changed)))
}

fn changed_paths(copy: &TrustedCopy, now: &Snapshot) -> Vec<String> {
    changes::changes(&copy.files, now).into_iter().map(|change| change.path).collect()
}

fn listed(names: &[impl AsRef<str>]) -> String {
    let shown: Vec<&str> = names.iter().take(SHOWN_NAMES).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(SHOWN_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

impl ProjectTrust {
    pub(crate) fn vouch(&self) -> TrustCheck {
        match &self.state {
            State::Trusted(trusted) => trusted.vouch(),
            State::Stale(stale) => {
                let reason = stale.reason();
                TrustCheck::new(move || Err(reason.clone()))
            }
            State::Undecided | State::Refused => TrustCheck::default(),
        }
    }

    /// Returns true if the project is trusted. Processes that read `places` then start only while
    /// it is.
    pub(crate) fn is_trusted_for(&self, places: &[&Path], roots: &TrustedRoots) -> bool {
        let Some(trusted) = self.trusted() else { return false };
        for place in places {
            roots.add(place, &trusted.root, &trusted.config_dir);
        }
        true
    }

    pub(crate) fn trusted(&self) -> Option<&Trusted> {
        if let State::Trusted(trusted) = &self.state { Some(trusted) } else { None }
    }

    pub(crate) fn stale(&self) -> Option<&Stale> {
        if let State::Stale(stale) = &self.state { Some(stale) } else { None }
    }

    /// Stores the plugins whose hooks guard calls, to refuse these calls after a change.
    pub(crate) fn note_guards(&self, guards: &[PluginGuard]) -> Result<(), String> {
        let Some(trusted) = self.trusted() else { return Ok(()) };
        Store::new(&trusted.config_dir).note_guards(&trusted.root, guards)
    }

    pub(crate) fn links(&self) -> impl Iterator<Item = &str> {
        let links = self.parts.iter().filter(|part| part.kind == Kind::Link);
        links.map(|part| part.path.as_str())
    }

    pub(crate) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    pub(crate) fn is_open(&self, loaded: &Loaded) -> bool {
        let may_guard = self.stale().is_some_and(Stale::may_guard);
        !matches!(self.state, State::Refused) && (may_guard || !self.ignored(loaded).is_empty())
    }

    /// The files that have no effect, or not all of it, because they are not trusted.
    pub(crate) fn ignored(&self, loaded: &Loaded) -> Vec<&str> {
        if self.trusted().is_some() {
            return Vec::new();
        }
        let is_ignored = |part: &&CoveredFile| match part.surface().effect {
            Effect::Runs => true,
            Effect::Sets => loaded.untrusted.iter().any(|held| held.file.ends_with(&part.path)),
            Effect::Inert => false,
        };
        self.parts.iter().filter(is_ignored).map(|part| part.path.as_str()).collect()
    }

    pub(crate) fn warning(&self, loaded: &Loaded) -> Option<String> {
        if !self.is_open(loaded) {
            return None;
        }
        if let Some(stale) = self.stale() {
            let changed = listed(&stale.changed);
            return Some(format!(
                "this project changed since you trusted it, so its files are ignored, and calls \
                 that its hooks guarded are refused: {changed} ({HINT})"
            ));
        }
        let names = listed(&self.ignored(loaded));
        Some(format!(
            "files of this project are ignored until you trust them: {names} (run `brynhild trust` \
             to see them and decide)"
        ))
    }
}
