//! The user's decision about a workspace, compared with its files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::hook::Hook;
use contract::sandbox::Fixed;
use contract::trust_check::TrustCheck;

use crate::changed_guard::ChangedGuard;
use crate::changes::changes;
use crate::snapshot::{self, CoveredFile, Entry, Kind, Snapshot};
use crate::store::{Decision, PluginGuard, Record, Store, TrustedCopy};
use crate::surfaces::{self, Needs};
use crate::{HOOKS, SERVERS};

const HINT: &str = "run `brynhild trust` to see the changes and decide";

const SHOWN_NAMES: usize = 5;

/// Files of a workspace that the user trusts, with the bytes that were trusted.
#[derive(Clone, Debug)]
pub struct Trusted {
    files: BTreeMap<PathBuf, Vec<u8>>,
    pub(crate) root: PathBuf,
    pub(crate) store: Store,
}

impl Trusted {
    /// The trusted bytes of a file; none if it is not trusted, or was reached through a symlink.
    pub fn bytes(&self, path: &Path) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    pub fn beneath(&self, directory: &Path) -> Vec<(&Path, &[u8])> {
        let files = self.files.iter().filter(|(path, _)| path.starts_with(directory));
        files.map(|(path, bytes)| (path.as_path(), bytes.as_slice())).collect()
    }

    fn of(root: &Path, store: &Store, snapshot: &Snapshot) -> Self {
        let is_read = |part: &CoveredFile| {
            let is_configuration = part.surface().needs == Needs::Settings
                || [HOOKS, SERVERS].contains(&part.path.as_str())
                || [".claude/", ".brynhild/agents/"].iter().any(|it| part.path.starts_with(it));
            part.kind == Kind::File && is_configuration
        };
        let entries = snapshot.entries.iter().filter(|entry| is_read(&entry.part));
        let files = entries.map(|entry| (root.join(&entry.part.path), entry.bytes.clone()));
        Self { files: files.collect(), root: root.to_owned(), store: store.clone() }
    }

    fn trust_check(&self) -> TrustCheck {
        let (root, store) = (self.root.clone(), self.store.clone());
        TrustCheck::new(move || {
            let snapshot = verified(&root, &store)?;
            let scripts = snapshot.entries.into_iter().filter(Entry::is_script);
            Ok(scripts.map(|entry| entry.fixed(&root)).collect::<Vec<Fixed>>())
        })
    }
}

/// Files that the user trusted and that changed since. They do nothing, except that the hooks among
/// them refuse the calls that they guarded.
#[derive(Clone, Debug, Default)]
pub struct Stale {
    changed: Vec<String>,
    /// The trusted files that define hooks, with the bytes that were trusted.
    hooks: BTreeMap<PathBuf, Vec<u8>>,
    guards: Vec<PluginGuard>,
}

impl Stale {
    fn of(root: &Path, store: &Store, record: &Record, now: Option<&Snapshot>) -> Self {
        let copy = store.copy(record);
        let changed = match now {
            Some(snapshot) => changed_paths(&copy, snapshot, store),
            None => vec![root.display().to_string()],
        };
        let defining = copy.files.into_iter().filter(|it| surfaces::defines_hooks(&it.path));
        let hooks = defining.filter_map(|it| Some((root.join(&it.path), it.text?.into_bytes())));
        Self { changed, hooks: hooks.collect(), guards: copy.guards }
    }

    /// The hook files with this ending, with the bytes that were trusted.
    pub fn hook_files(&self, ending: &str) -> Vec<(&Path, &[u8])> {
        let files = self.hooks.iter().map(|(path, bytes)| (path.as_path(), bytes.as_slice()));
        files.filter(|(path, _)| path.to_string_lossy().ends_with(ending)).collect()
    }

    pub fn plugin_guards(&self) -> impl Iterator<Item = Arc<dyn Hook>> {
        let guard =
            |(plugin, point): &PluginGuard| ChangedGuard::new(plugin, point, &self.reason());
        self.guards.iter().map(move |it| Arc::new(guard(it)) as Arc<dyn Hook>)
    }

    fn reason(&self) -> String {
        format!("{} changed since you trusted this project; {HINT}", listed(&self.changed))
    }

    fn may_guard(&self) -> bool {
        !self.hooks.is_empty() || !self.guards.is_empty()
    }
}

/// The user's decision about a workspace, compared with its files.
#[derive(Clone, Debug, Default)]
pub struct ProjectTrust {
    parts: Vec<CoveredFile>,
    state: State,
    problem: Option<String>,
    /// Configuration files of which only the restrictions apply.
    restricted: Vec<PathBuf>,
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
pub fn standing(root: &Path, store: Option<&Store>) -> ProjectTrust {
    let mut standing = ProjectTrust::default();
    match snapshot::parts(root) {
        Ok(parts) => standing.parts = parts,
        Err(why) => standing.problem = Some(format!("{why}; nothing of this project is trusted")),
    }
    let Some(store) = store else { return standing };
    let (record, problem) = store.record(root).unwrap_or_else(|problem| (None, Some(problem)));
    standing.problem = problem.or(standing.problem);
    let Some(record) = record else { return standing };
    let now = store.snapshot(root);
    standing.state = match (record.decision, &now) {
        (Decision::Trusted, Ok(now)) if now.hash == record.hash => {
            State::Trusted(Trusted::of(root, store, now))
        }
        (Decision::Trusted, now) => {
            State::Stale(Stale::of(root, store, &record, now.as_ref().ok()))
        }
        (_, Ok(now)) if now.hash == record.hash => State::Refused,
        _ => State::Undecided,
    };
    standing.problem = standing.problem.or(now.err());
    standing
}

/// The files of a workspace, if those that run are the ones that the user trusts at this moment.
pub(crate) fn verified(root: &Path, store: &Store) -> Result<Snapshot, String> {
    let snapshot = store.snapshot(root).map_err(|problem| format!("{problem}; {HINT}"))?;
    let (record, _) = store.record(root)?;
    let record = record.filter(|record| record.decision == Decision::Trusted);
    let record =
        record.ok_or("you no longer trust this project; run `brynhild trust` to decide")?;
    if snapshot.hash == record.hash {
        return Ok(snapshot);
    }
    let copy = store.copy(&record);
    let mut changed = changed_paths(&copy, &snapshot, store);
    changed.retain(|path| surfaces::of(path).is_none_or(|it| it.needs == Needs::Execution));
    if changed.is_empty() && !copy.files.is_empty() {
        return Ok(snapshot);
    }
    Err(format!("{} changed since you trusted this project; {HINT}", listed(&changed)))
}

fn changed_paths(copy: &TrustedCopy, now: &Snapshot, store: &Store) -> Vec<String> {
    changes(&copy.files, now, store.program).into_iter().map(|change| change.path).collect()
}

fn listed(names: &[impl AsRef<str>]) -> String {
    let shown: Vec<&str> = names.iter().take(SHOWN_NAMES).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(SHOWN_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

impl ProjectTrust {
    pub fn trust_check(&self) -> TrustCheck {
        match &self.state {
            State::Trusted(trusted) => trusted.trust_check(),
            State::Stale(stale) => {
                let reason = stale.reason();
                TrustCheck::new(move || Err(reason.clone()))
            }
            State::Undecided | State::Refused => TrustCheck::default(),
        }
    }

    /// Names configuration files of which only the restrictions apply until they are trusted.
    pub fn restrict(&mut self, files: impl Iterator<Item = PathBuf>) {
        self.restricted = files.collect();
    }

    pub fn trusted(&self) -> Option<&Trusted> {
        if let State::Trusted(trusted) = &self.state { Some(trusted) } else { None }
    }

    pub fn stale(&self) -> Option<&Stale> {
        if let State::Stale(stale) = &self.state { Some(stale) } else { None }
    }

    /// Stores the plugins whose hooks guard calls, to refuse these calls after a change.
    pub fn note_guards(&self, guards: &[PluginGuard]) -> Result<(), String> {
        let Some(trusted) = self.trusted() else { return Ok(()) };
        trusted.store.note_guards(&trusted.root, guards)
    }

    pub fn links(&self) -> impl Iterator<Item = &str> {
        let links = self.parts.iter().filter(|part| part.kind == Kind::Link);
        links.map(|part| part.path.as_str())
    }

    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Returns true if the user has something to decide.
    pub fn is_open(&self) -> bool {
        let may_guard = self.stale().is_some_and(Stale::may_guard);
        !matches!(self.state, State::Refused) && (may_guard || !self.ignored().is_empty())
    }

    /// The files that have no effect, or not all of it, because they are not trusted.
    pub fn ignored(&self) -> Vec<&str> {
        if self.trusted().is_some() {
            return Vec::new();
        }
        let is_ignored = |part: &&CoveredFile| match part.surface().needs {
            Needs::Execution => true,
            Needs::Settings => self.restricted.iter().any(|file| file.ends_with(&part.path)),
            Needs::Nothing => false,
        };
        self.parts.iter().filter(is_ignored).map(|part| part.path.as_str()).collect()
    }

    /// Tells which files lack trust, or that they cannot be read; none if nothing lacks it.
    pub fn missing(&self) -> Option<String> {
        let ignored = self.ignored();
        if ignored.is_empty() && self.problem.is_none() {
            return None;
        }
        let files = match ignored.as_slice() {
            [] => String::from("the files of this project cannot be read"),
            names => names.join(", "),
        };
        Some(format!("trust is required and missing: {files}"))
    }

    pub fn warning(&self) -> Option<String> {
        if !self.is_open() {
            return None;
        }
        if let Some(stale) = self.stale() {
            let changed = listed(&stale.changed);
            return Some(format!(
                "this project changed since you trusted it, so its files are ignored, and calls \
                 that its hooks guarded are refused: {changed} ({HINT})"
            ));
        }
        let names = listed(&self.ignored());
        Some(format!(
            "files of this project are ignored until you trust them: {names} (run `brynhild trust` \
             to see them and decide)"
        ))
    }
}
