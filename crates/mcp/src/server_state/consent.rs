//! The user's consent to a server's program and catalog, and the changes since. A tool whose
//! description has changed, or a program whose file has, is used only after the user has seen that.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use contract::id::CallId;

use super::ServerState;
use crate::catalog::{Catalog, CatalogHashes, Change, ToolEntry};
use crate::failure::Failure;
use crate::pins::{self, Files, UnapprovedProgram};

/// Upper bound on the calls with shown changes that are remembered: refused calls never end.
const MAX_SHOWN: usize = 256;

/// The consent to changes.
#[derive(Clone, Copy)]
pub(crate) enum Consent<'a> {
    /// None.
    None,
    /// That of the user who let this call run, to the changes that were shown with it.
    Call(&'a CallId),
    /// That of the user, to everything.
    User,
}

/// The approved catalog and the changes since.
#[derive(Default)]
pub(super) struct Approvals {
    /// The catalog as far as the user agreed to it.
    pub(super) catalog: Option<Arc<Catalog>>,
    /// The changes since, by the server's name for the tool.
    pending: BTreeMap<String, Change>,
    /// The calls with which changes were shown, the last one at the end.
    shown: VecDeque<(CallId, ShownChanges)>,
}

/// The changes that the user saw with a call: letting it run is consent to these alone.
struct ShownChanges {
    program: Option<UnapprovedProgram>,
    tool: Option<Change>,
}

impl Approvals {
    pub(super) fn new(cached: Option<Catalog>) -> Self {
        Self { catalog: cached.map(Arc::new), ..Self::default() }
    }

    /// Returns true if the text of everything that the user agreed to is known. Otherwise the catalog
    /// is not cached: a later start would do without the lost tool, and not ask about it.
    fn is_complete(&self) -> bool {
        !self.pending.values().any(|change| matches!(change, Change::Reworded(_)))
    }

    /// Remembers the changes that are shown with a call, in place of earlier ones.
    fn show(&mut self, call: &CallId, shown: Option<ShownChanges>) {
        self.take_shown(call);
        self.shown.extend(shown.map(|shown| (call.clone(), shown)));
        if self.shown.len() > MAX_SHOWN {
            self.shown.pop_front();
        }
    }

    fn take_shown(&mut self, call: &CallId) -> Option<ShownChanges> {
        let at = self.shown.iter().position(|(id, _)| id == call)?;
        self.shown.remove(at).map(|(_, shown)| shown)
    }
}

impl ServerState {
    /// Compares a fresh catalog with the approved one. The first one is approved as it is: to
    /// configure a server is to agree to it.
    pub(super) fn reconcile(&self, fresh: Catalog) {
        let mut approvals = self.approvals();
        let cached = approvals.catalog.take().filter(|catalog| catalog.failure.is_none());
        let pinned = self.pinned_catalog();
        // A cached catalog without pins was approved as well.
        let unpinned = cached.as_ref().map(|it| it.hashes()).filter(|_| pinned.is_none());
        if let Some(hashes) = &unpinned {
            self.pin_catalog(hashes.clone());
        }
        let Some(hashes) = pinned.or(unpinned) else {
            self.pin_catalog(fresh.hashes());
            self.write_cache(&fresh);
            approvals.catalog = Some(Arc::new(fresh));
            approvals.pending.clear();
            return;
        };
        let approved = cached.as_deref().cloned().unwrap_or_default().approved(&fresh, &hashes);
        let pending = approved.changes(&fresh, &hashes);
        let is_new = |name: &&String| approvals.pending.get(*name) != pending.get(*name);
        let news: Vec<&str> = pending.keys().filter(is_new).map(String::as_str).collect();
        if !news.is_empty() {
            self.warn(&format!(
                "its description of {} has changed since you agreed to it; you are asked before \
                 that is used (`brynhild mcp approve {}` shows and takes all of it)",
                news.join(", "),
                self.server.name,
            ));
        }
        let Catalog { tools, instructions, .. } = approved;
        let catalog = Catalog { instructions, tools, ..fresh };
        approvals.pending = pending;
        if cached.as_deref() != Some(&catalog) && approvals.is_complete() {
            self.write_cache(&catalog);
        }
        approvals.catalog = Some(Arc::new(catalog));
    }

    /// The approved catalog's hashes. None if the user was never asked, empty if they are unreadable.
    fn pinned_catalog(&self) -> Option<CatalogHashes> {
        self.pins.catalog().unwrap_or_else(|error| {
            self.warn(&format!("cannot read the approved version of the server ({error})"));
            Some(CatalogHashes::default())
        })
    }

    /// Tools without the user's consent. They are offered, and a call asks.
    pub(crate) fn added_tools(&self) -> Vec<ToolEntry> {
        let approvals = self.approvals();
        let added = approvals.pending.values().filter_map(|change| match change {
            Change::Added(entry) | Change::Reworded(entry) => Some(entry.clone()),
            Change::Altered { .. } | Change::Instructions { .. } => None,
        });
        added.collect()
    }

    /// The changes that wait for consent, in words, by tool.
    pub(crate) fn pending_changes(&self) -> Vec<(String, String)> {
        let approvals = self.approvals();
        let words =
            |(name, change): (&String, &Change)| (name.clone(), change.describe(&self.server.name));
        approvals.pending.iter().map(words).collect()
    }

    /// The changes that the user must see before this call of `tool` runs.
    pub(crate) async fn caution(&self, tool: &str, call: &CallId) -> Option<String> {
        let program = self.unapproved_program().await;
        let mut approvals = self.approvals();
        let change = approvals.pending.get(tool).cloned();
        let server = &self.server.name;
        let mut texts = Vec::new();
        texts.extend(program.as_ref().map(|program| {
            let text = format!("MCP server `{server}` would run {}", program.names());
            match &program.unreadable {
                Some(why) => {
                    format!("{text}, and the approved version of the server cannot be read ({why})")
                }
                None => format!("{text}, which differs from the approved version of the server"),
            }
        }));
        texts.extend(change.as_ref().map(|change| change.describe(server)));
        let has_changed = !texts.is_empty();
        let shown = ShownChanges { program, tool: change };
        approvals.show(call, has_changed.then_some(shown));
        has_changed.then(|| texts.join("\n"))
    }

    /// Approves the change of a tool that was shown with a call. Fails if another one was shown.
    pub(crate) fn approve_shown(&self, tool: &str, call: &CallId) -> Result<(), String> {
        let mut approvals = self.approvals();
        let shown = approvals.take_shown(call).and_then(|shown| shown.tool);
        let Some(change) = approvals.pending.get(tool).cloned() else { return Ok(()) };
        if shown.as_ref() != Some(&change) {
            let server = &self.server.name;
            return Err(format!(
                "not run: MCP server `{server}` has changed this tool since the user accepted \
                 it. Call it again to show the user the change."
            ));
        }
        approvals.pending.remove(tool);
        self.approve(&mut approvals, &[change]);
        Ok(())
    }

    /// Approves every change.
    pub(crate) fn approve_all(&self) {
        let mut approvals = self.approvals();
        let all: Vec<Change> = std::mem::take(&mut approvals.pending).into_values().collect();
        if !all.is_empty() {
            self.approve(&mut approvals, &all);
        }
    }

    fn approve(&self, approvals: &mut Approvals, changes: &[Change]) {
        let mut hashes = CatalogHashes::default();
        for change in changes {
            hashes.extend(change.hashes());
        }
        self.pin_catalog(hashes);
        let is_complete = approvals.is_complete();
        if let Some(catalog) = &mut approvals.catalog {
            let catalog = Arc::make_mut(catalog);
            for change in changes {
                catalog.apply(change);
            }
            if is_complete {
                self.write_cache(catalog);
            }
        }
    }

    fn pin_catalog(&self, hashes: CatalogHashes) {
        if let Err(error) = self.pins.approve_catalog(hashes) {
            self.warn(&format!("cannot store the approved version of the server: {error}"));
        }
    }

    /// The files of the program that are not approved.
    pub(crate) async fn unapproved_files(&self) -> Vec<String> {
        let program = self.unapproved_program().await;
        program.map(|it| it.files.into_keys().collect()).unwrap_or_default()
    }

    /// The program that would be started, if it is not approved. None while one runs; a server that is
    /// busy may only be starting.
    async fn unapproved_program(&self) -> Option<UnapprovedProgram> {
        if self.is_running() {
            return None;
        }
        match self.read_files().await {
            Ok(files) => self.pins.unapproved(&files),
            Err(failure) => {
                let unreadable = Some(failure.with_hint());
                Some(UnapprovedProgram { files: Files::new(), unreadable })
            }
        }
    }

    fn is_running(&self) -> bool {
        let slot = self.slot.try_lock().ok();
        let connection = slot.as_ref().and_then(|slot| slot.connection.as_ref());
        connection.is_some_and(|it| !it.is_closed())
    }

    /// The files of the program, if they are approved or `consent` covers them.
    pub(super) async fn check_files(&self, consent: Consent<'_>) -> Result<Files, Failure> {
        let files = self.read_files().await?;
        let Some(program) = self.pins.unapproved(&files) else { return Ok(files) };
        let is_approved = match consent {
            Consent::None => false,
            Consent::User => true,
            Consent::Call(call) => self
                .approvals()
                .shown
                .iter()
                .any(|(id, shown)| id == call && shown.program.as_ref() == Some(&program)),
        };
        if !is_approved {
            let why = match &program.unreadable {
                Some(why) => format!("the approved version of the server cannot be read ({why})"),
                None => {
                    format!("{} differs from the approved version of the server", program.names())
                }
            };
            let hint = format!("`brynhild mcp approve {}` agrees to it", self.server.name);
            let sentence = format!("is not started: {why}");
            return Err(Failure::of(&self.server, sentence).hinted(hint));
        }
        self.pin_files(&files);
        Ok(files)
    }

    /// Fails if the files of the program have changed since they were checked: the program is about to
    /// be started a second time.
    pub(super) async fn check_unchanged(&self, files: &Files) -> Result<(), Failure> {
        let now = self.read_files().await?;
        if now == *files {
            return Ok(());
        }
        let other = now.iter().filter(|(path, hash)| files.get(*path) != Some(*hash));
        let names: Vec<&str> = other.map(|(path, _)| path.as_str()).collect();
        let names = names.join(", ");
        let sentence = format!("is not started: its program has changed ({names})");
        let hint = format!("`brynhild mcp test {}` starts it as it is now", self.server.name);
        Err(Failure::of(&self.server, sentence).hinted(hint))
    }

    /// The files that the command line names, read on another thread: a program may be large.
    async fn read_files(&self) -> Result<Files, Failure> {
        let (server, settings) = (self.server.clone(), Arc::clone(&self.settings));
        let read = tokio::task::spawn_blocking(move || pins::files(&server, &settings.launch));
        read.await.map_err(|error| {
            let name = &self.server.name;
            Failure::new(format!("cannot read the program of MCP server `{name}`: {error}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use contract::policy::Mode;
    use contract::sandbox::Limits;
    use contract::trust_check::TrustCheck;
    use serde_json::json;

    use super::*;
    use crate::config::{self, Scope, Source};
    use crate::frontend::{Frontend, NoFrontend};
    use crate::launch::LaunchSettings;
    use crate::oauth::Credentials;
    use crate::settings::Settings;
    use crate::user_prompt::UserPrompt;

    fn state(directory: &Path) -> ServerState {
        let document = json!({"s": {"command": "python3", "args": ["server.py"]}});
        let source = Source { origin: "o".to_owned(), scope: Scope::User, document };
        let server = config::read(&[source], &BTreeMap::new()).servers.remove(0);
        let launch = LaunchSettings {
            workspace: directory.to_owned(),
            env: BTreeMap::new(),
            variables: BTreeMap::new(),
            home: None,
            data: directory.join("data"),
            mode: Mode::Normal,
            limits: Limits::default(),
            trust_check: TrustCheck::default(),
        };
        let frontend = Arc::new(NoFrontend) as Arc<dyn Frontend>;
        let settings = Settings {
            cache: directory.join("cache"),
            pins: directory.join("pins"),
            credentials: Credentials::new(directory.join("keys")),
            sandbox: Arc::new(testkit::Plain::default()),
            launch,
            user: Arc::new(UserPrompt::new(Arc::clone(&frontend), None, false)),
            frontend,
            clients: None,
            resolver: None,
        };
        ServerState::new(server, Arc::new(settings))
    }

    #[tokio::test]
    async fn busy_server_is_not_running() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("server.py"), "1").unwrap();
        let state = state(directory.path());
        state.pin_files(&pins::files(&state.server, &state.settings.launch));
        let call = CallId("one".to_owned());
        let busy = state.slot.lock().await;
        assert_eq!(state.caution("echo", &call).await, None);
        fs::write(directory.path().join("server.py"), "2").unwrap();
        assert!(state.caution("echo", &call).await.is_some());
        drop(busy);
    }

    #[test]
    fn changes_shown_with_old_calls_are_forgotten() {
        let mut approvals = Approvals::default();
        for number in 0..=MAX_SHOWN {
            let shown = ShownChanges { program: None, tool: None };
            approvals.show(&CallId(number.to_string()), Some(shown));
        }
        assert_eq!(approvals.shown.len(), MAX_SHOWN);
        assert!(approvals.take_shown(&CallId("0".to_owned())).is_none());
        assert!(approvals.take_shown(&CallId("1".to_owned())).is_some());
    }
}
