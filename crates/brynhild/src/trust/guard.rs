//! Looks again whenever a process is about to be started from bytes of a workspace, or to be asked
//! something, whether these are still the ones that the person trusts. Who relies on trust says so
//! here; the sandbox that all processes come from asks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{SystemTime, UNIX_EPOCH};

use contract::sandbox::{Child, Profile, Sandbox, SandboxError, Spawn};
use tokio::io::AsyncWrite;

use super::snapshot::{Entry, Part, Snapshot};
use super::store::{Decision, Store};
use super::{folder_key, surfaces};

/// Seconds for which the time of a file is not relied upon: it can change again and look the same.
const UNSETTLED: i64 = 2;

/// The places whose bytes are relied upon, with what was trusted of them.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    relied: Mutex<BTreeMap<PathBuf, Relied>>,
    /// The places that a process lives from which is shown a folder around them.
    shared: Mutex<BTreeMap<PathBuf, BTreeSet<PathBuf>>>,
}

#[derive(Debug)]
struct Relied {
    held: Held,
    config_dir: PathBuf,
    /// The stamps of the files when they were last found to be the trusted ones.
    seen: Option<u64>,
}

/// What was trusted.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    scope: Scope,
    hash: String,
    entries: Arc<[Entry]>,
    led_to: Arc<BTreeSet<String>>,
    /// What lies elsewhere and is run by what is relied upon.
    elsewhere: Arc<[PathBuf]>,
    /// The folders that this was found by.
    looked: Arc<BTreeSet<PathBuf>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Scope {
    /// All that the project with this root brings; of it counts what lies in the place, and what
    /// command lines lead to.
    Project(PathBuf),
    /// The place by itself.
    Folder(Of),
}

/// What a folder that is trusted by itself is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// A plugin: all of it counts.
    Plugin,
    /// Roles, which may lie among the files that they work on: what could be loaded counts.
    Roles,
}

impl Held {
    /// What a project brings.
    pub(super) fn project(root: &Path, snapshot: &Snapshot) -> Self {
        let named = snapshot.entries.iter().filter(|entry| entry.part.is_named);
        let named = named.map(|entry| root.join(&entry.part.path));
        let elsewhere = named.collect();
        Self { elsewhere, ..Self::of(Scope::Project(root.to_owned()), snapshot) }
    }

    /// A folder of a plugin or of roles.
    pub(super) fn folder(snapshot: &Snapshot, of: Of) -> Self {
        Self::of(Scope::Folder(of), snapshot)
    }

    fn of(scope: Scope, snapshot: &Snapshot) -> Self {
        let entries = snapshot.entries.iter().map(Entry::without_bytes).collect();
        let led_to = Arc::new(snapshot.led_to.clone());
        let (hash, looked) = (snapshot.hash.clone(), Arc::new(snapshot.looked.clone()));
        Self { scope, hash, entries, led_to, elsewhere: Arc::default(), looked }
    }

    /// Whether what counts in `place` is what the person trusts at this moment.
    fn holds(&mut self, place: &Path, config_dir: &Path) -> Result<bool, String> {
        let (key, now) = match &self.scope {
            Scope::Project(root) => (root.clone(), Snapshot::read(root)?),
            Scope::Folder(_) => (folder_key(place), Snapshot::of_folder(place)?),
        };
        let (records, _) = Store::new(config_dir).read()?;
        let record = records.into_iter().find(|record| record.path == key);
        let Some(record) = record.filter(|record| record.decision == Decision::Trusted) else {
            return Ok(false);
        };
        let is_same = || {
            let known = |it: &Entry| (it.part.clone(), it.mode, it.hash.clone());
            let counts = |led_to, it: &&Entry| self.counts(place, led_to, it);
            let now_known = now.entries.iter().filter(|it| counts(&now.led_to, it)).map(known);
            now_known.eq(self.entries.iter().filter(|it| counts(&self.led_to, it)).map(known))
        };
        let holds = now.hash == record.hash || (self.hash == record.hash && is_same());
        self.looked = Arc::new(now.looked);
        Ok(holds)
    }

    /// Whether a file matters in `place`, where command lines lead to those of `led_to`.
    fn counts(&self, place: &Path, led_to: &BTreeSet<String>, entry: &Entry) -> bool {
        let Entry { part, mode, .. } = entry;
        match &self.scope {
            Scope::Project(root) => part.is_named || root.join(&part.path).starts_with(place),
            Scope::Folder(Of::Plugin) => true,
            Scope::Folder(Of::Roles) => {
                led_to.contains(&part.path) || mode & 0o111 != 0 || is_loaded(part)
            }
        }
    }
}

/// Whether Python, or we, would load a file for its name; a link may lead to one that is.
fn is_loaded(part: &Part) -> bool {
    const ENDINGS: [&str; 8] = ["py", "pyc", "pth", "so", "zip", "yaml", "yml", "json"];
    let ending = Path::new(&part.path).extension().and_then(|ending| ending.to_str());
    part.kind != super::Kind::File || ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

impl Guard {
    /// Something in `place` is used because the person trusts it.
    pub(crate) fn rely(&self, place: &Path, held: Held, config_dir: &Path) {
        let relied = Relied { held, config_dir: config_dir.to_owned(), seen: None };
        self.lock().insert(place.to_owned(), relied);
    }

    /// One process lives from all of these places, and is shown the folder that they lie in.
    pub(crate) fn share(&self, folder: &Path, places: impl IntoIterator<Item = PathBuf>) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.insert(folder.to_owned(), places.into_iter().collect());
    }

    /// Those of some places that are relied upon, and of what is shared in them.
    fn among(&self, places: &[PathBuf]) -> Vec<PathBuf> {
        let relied = self.lock();
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let within = places.iter().filter_map(|place| shared.get(place)).flatten();
        places.iter().chain(within).filter(|place| relied.contains_key(*place)).cloned().collect()
    }

    /// Whether all of these places are what the person trusts; the error says what to do.
    fn check(&self, places: &[PathBuf]) -> Result<(), String> {
        let mut relied = self.lock();
        places.iter().try_for_each(|place| match relied.get_mut(place) {
            Some(relied) => relied.check(place),
            None => Ok(()),
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<PathBuf, Relied>> {
        self.relied.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Relied {
    /// By the stamps of the files; by their bytes where a stamp is another one.
    fn check(&mut self, place: &Path) -> Result<(), String> {
        let settled = self.stamps(place).settled();
        if settled.is_some() && settled == self.seen {
            return Ok(());
        }
        self.seen = None;
        let command = match &self.held.scope {
            Scope::Project(_) => String::from("brynhild trust"),
            Scope::Folder(_) => format!("brynhild trust --plugin-dir {}", place.display()),
        };
        let remedy = format!("`{command}` shows it and asks");
        let shown = place.display();
        match self.held.holds(place, &self.config_dir) {
            Ok(true) => {
                self.seen = self.stamps(place).settled();
                Ok(())
            }
            Ok(false) => Err(format!(
                "{shown} is not what you trusted any more, so nothing of it runs; {remedy}"
            )),
            Err(problem) => Err(format!("nothing of {shown} runs: {problem}; {remedy}")),
        }
    }

    fn stamps(&self, place: &Path) -> Stamps {
        let mut stamps = Stamps::default();
        stamps.look(place);
        stamps.look(&self.config_dir.join("trust.jsonl"));
        for path in self.held.elsewhere.iter() {
            stamps.note(path);
        }
        stamps.folders(&self.held.looked);
        stamps
    }
}

/// When files changed, and how many bytes they have.
#[derive(Default)]
pub(super) struct Stamps {
    hasher: DefaultHasher,
    newest: i64,
}

impl Stamps {
    fn look(&mut self, path: &Path) {
        let Some(found) = self.note(path) else { return };
        let Some(entries) = found.is_dir().then(|| path.read_dir().ok()).flatten() else { return };
        let mut names: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        names.retain(|path| {
            !path.file_name().is_some_and(|it| surfaces::is_history(&it.to_string_lossy()))
        });
        names.sort_unstable();
        for path in names {
            self.look(&path);
        }
    }

    /// One file, or a folder without what lies in it.
    fn note(&mut self, path: &Path) -> Option<Metadata> {
        let found = path.symlink_metadata().ok()?;
        self.add(path, &found);
        Some(found)
    }

    /// Folders by the names in them, wherever links lead to them; also that one is not there.
    pub(super) fn folders(&mut self, paths: &BTreeSet<PathBuf>) {
        for path in paths {
            match path.metadata() {
                Ok(found) => self.add(path, &found),
                Err(_) => path.hash(&mut self.hasher),
            }
        }
    }

    fn add(&mut self, path: &Path, found: &Metadata) {
        let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
        (path, found.mode(), found.ino(), found.size(), times).hash(&mut self.hasher);
        self.newest = self.newest.max(found.ctime());
    }

    /// One number for all of them; none while a change could go unnoticed by it.
    pub(super) fn settled(&self) -> Option<u64> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let is_settled = self.newest.saturating_add(UNSETTLED) < now.cast_signed();
        is_settled.then(|| self.hasher.finish())
    }
}

/// Starts and lets speak only what lives from bytes that are still trusted.
pub(crate) struct Guarded {
    sandbox: Arc<dyn Sandbox>,
    guard: Arc<Guard>,
}

impl Guarded {
    /// Puts the guard before a sandbox.
    pub(crate) fn new(sandbox: Arc<dyn Sandbox>, guard: Arc<Guard>) -> Self {
        Self { sandbox, guard }
    }
}

impl Sandbox for Guarded {
    fn describe(&self) -> String {
        self.sandbox.describe()
    }

    fn start(&self, spawn: &Spawn, profile: &Profile) -> Result<Child, SandboxError> {
        // A process of a plugin is shown the plugin's own folder.
        let places = self.guard.among(&profile.read);
        self.guard.check(&places).map_err(SandboxError::Refused)?;
        let mut child = self.sandbox.start(spawn, profile)?;
        if !places.is_empty() {
            let guard = &self.guard;
            child.stdin = child.stdin.map(|line| -> Box<dyn AsyncWrite + Send + Unpin> {
                Box::new(Line { inner: line, guard: Arc::clone(guard), places })
            });
        }
        Ok(child)
    }
}

/// The way to a process that was started from trusted bytes and may load more of them.
struct Line {
    inner: Box<dyn AsyncWrite + Send + Unpin>,
    guard: Arc<Guard>,
    places: Vec<PathBuf>,
}

impl AsyncWrite for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Err(words) = self.guard.check(&self.places) {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::PermissionDenied, words)));
        }
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_what_was_trusted_until_its_bytes_or_the_decision_change() {
        let folder = tempfile::tempdir().unwrap();
        let (config_dir, place) = (folder.path().join("config"), folder.path().join("p"));
        std::fs::create_dir_all(&place).unwrap();
        std::fs::create_dir_all(&config_dir).unwrap();
        std::fs::write(place.join("a.py"), "1").unwrap();
        let decide = |decision| {
            let snapshot = Snapshot::of_folder(&place).unwrap();
            Store::new(&config_dir).decide(&folder_key(&place), &snapshot, decision).unwrap();
            snapshot
        };
        let guard = Guard::default();
        let places = [place.clone()];
        assert!(guard.check(&places).is_ok(), "nobody relies on it");
        let roles = Held::folder(&decide(Decision::Trusted), Of::Roles);
        let plugin = Held::folder(&decide(Decision::Trusted), Of::Plugin);
        guard.rely(&place, roles.clone(), &config_dir);
        assert_eq!(guard.among(&[folder.path().to_owned(), place.clone()]), places);
        guard.check(&places).unwrap();
        std::fs::write(place.join("data.txt"), "no code").unwrap();
        guard.check(&places).unwrap();
        guard.rely(&place, plugin, &config_dir);
        assert!(guard.check(&places).is_err(), "of a plugin all counts");
        guard.rely(&place, roles, &config_dir);
        std::fs::write(place.join("a.py"), "2").unwrap();
        assert!(guard.check(&places).unwrap_err().contains("brynhild trust --plugin-dir"));
        decide(Decision::Trusted);
        guard.check(&places).unwrap();
        decide(Decision::Withdrawn);
        assert!(guard.check(&places).is_err());
    }
}
