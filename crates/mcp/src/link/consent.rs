//! What a user agreed to of a server, and what has changed since. A tool that reads otherwise,
//! or a program whose file is another, is used only after a user has seen the change.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use contract::id::CallId;

use super::Link;
use crate::catalog::{Catalog, Change, Offer};
use crate::config::{Server, Transport};
use crate::failure::Failure;
use crate::pins::{self, Doubt, Files};
use crate::settings::Settings;

/// The most calls of which it is kept what was shown with them: those that were refused stay.
const MOST_SHOWN: usize = 256;

/// Who agrees to what has changed.
#[derive(Clone, Copy)]
pub(crate) enum Consent<'a> {
    /// Nobody.
    None,
    /// Whoever let this call run, as far as the change was shown with it.
    Call(&'a CallId),
    /// A user, at this very moment.
    User,
}

/// What is known of a server.
#[derive(Default)]
pub(super) struct Known {
    /// What it offers as far as a user agreed.
    pub(super) catalog: Option<Arc<Catalog>>,
    /// What has changed since, by the server's name for the tool.
    pending: BTreeMap<String, Change>,
    /// The calls with which something was shown, the last one at the end.
    shown: VecDeque<(CallId, Shown)>,
}

/// What a user saw with a call: by letting it run they agree to this and to nothing else.
struct Shown {
    /// What was odd about the program.
    doubt: Option<Doubt>,
    /// What had changed of the tool.
    change: Option<Change>,
}

impl Known {
    /// What was kept.
    pub(super) fn of(kept: Option<Catalog>) -> Self {
        Self { catalog: kept.map(Arc::new), ..Self::default() }
    }

    /// Whether it is known how all that a user agreed to reads. A list without a tool whose words are
    /// lost is not worth keeping: a later start would do without the tool, and not ask about it.
    fn is_whole(&self) -> bool {
        !self.pending.values().any(|change| matches!(change, Change::Reworded(_)))
    }

    /// Notes what is shown with a call, in place of all that was shown with one of that name.
    fn show(&mut self, call: &CallId, shown: Option<Shown>) {
        self.hide(call);
        self.shown.extend(shown.map(|shown| (call.clone(), shown)));
        if self.shown.len() > MOST_SHOWN {
            self.shown.pop_front();
        }
    }

    /// Takes what was shown with a call.
    fn hide(&mut self, call: &CallId) -> Option<Shown> {
        let at = self.shown.iter().position(|(id, _)| id == call)?;
        self.shown.remove(at).map(|(_, shown)| shown)
    }
}

impl Link {
    /// Compares what the server offers with what the user agreed to. The first list is taken
    /// as it is: to configure a server is to agree to it.
    pub(super) fn reconcile(&self, fresh: Catalog) {
        let mut known = self.known();
        let kept = known.catalog.take().filter(|catalog| catalog.failure.is_none());
        let pinned = self.offer();
        // A list that nobody has hashed yet was agreed to as well.
        let unpinned = kept.as_ref().map(|kept| kept.offer()).filter(|_| pinned.is_none());
        if let Some(offer) = &unpinned {
            self.pin(offer.clone());
        }
        let Some(offer) = pinned.or(unpinned) else {
            self.pin(fresh.offer());
            self.keep(&fresh);
            known.catalog = Some(Arc::new(fresh));
            known.pending.clear();
            return;
        };
        let words = kept.as_deref().cloned().unwrap_or_default();
        let agreed = words.agreed(&fresh, &offer);
        let pending = agreed.changes(&fresh, &offer);
        let is_new = |name: &&String| known.pending.get(*name) != pending.get(*name);
        let news: Vec<&str> = pending.keys().filter(is_new).map(String::as_str).collect();
        if !news.is_empty() {
            self.say(&format!(
                "its description of {} has changed since you agreed to it; you are asked before \
                 that is used (`brynhild mcp approve {}` shows and takes all of it)",
                news.join(", "),
                self.server.name,
            ));
        }
        let catalog = Catalog { tools: agreed.tools, instructions: agreed.instructions, ..fresh };
        known.pending = pending;
        if kept.as_deref() != Some(&catalog) && known.is_whole() {
            self.keep(&catalog);
        }
        known.catalog = Some(Arc::new(catalog));
    }

    /// What a user agreed to of what it offers; none where they were never asked, and nothing where
    /// that cannot be read.
    fn offer(&self) -> Option<Offer> {
        self.pins.offer().unwrap_or_else(|error| {
            self.say(&format!("what you agreed to of it cannot be read ({error})"));
            Some(Offer::default())
        })
    }

    /// Tools that nobody has agreed to yet; offered, and asked about.
    pub(crate) fn added(&self) -> Vec<crate::catalog::ToolEntry> {
        let known = self.known();
        let added = known.pending.values().filter_map(|change| match change {
            Change::Added(entry) | Change::Reworded(entry) => Some(entry.clone()),
            Change::Altered { .. } | Change::Instructions { .. } => None,
        });
        added.collect()
    }

    /// The changes that wait for a user, in words, by tool.
    pub(crate) fn pending(&self) -> Vec<(String, String)> {
        let known = self.known();
        let words =
            |(name, change): (&String, &Change)| (name.clone(), change.describe(&self.server.name));
        known.pending.iter().map(words).collect()
    }

    /// What a user should see before this call of `tool` runs.
    pub(crate) async fn caution(&self, tool: &str, call: &CallId) -> Option<String> {
        let doubt = self.doubt().await;
        let mut known = self.known();
        let change = known.pending.get(tool).cloned();
        let server = &self.server.name;
        let mut texts = Vec::new();
        texts.extend(doubt.as_ref().map(|doubt| {
            let text = format!("MCP server `{server}` would run {}", doubt.names());
            match &doubt.unknown {
                Some(why) => format!("{text}, and what you agreed to cannot be read ({why})"),
                None => format!("{text}, which is not what you agreed to"),
            }
        }));
        texts.extend(change.as_ref().map(|change| change.describe(server)));
        let is_odd = !texts.is_empty();
        known.show(call, is_odd.then_some(Shown { doubt, change }));
        is_odd.then(|| texts.join("\n"))
    }

    /// Takes what was shown with a call; says what was not.
    pub(crate) fn settle(&self, tool: &str, call: &CallId) -> Result<(), String> {
        let mut known = self.known();
        let shown = known.hide(call).and_then(|shown| shown.change);
        let Some(change) = known.pending.get(tool).cloned() else { return Ok(()) };
        if shown.as_ref() != Some(&change) {
            let server = &self.server.name;
            return Err(format!(
                "not run: MCP server `{server}` has changed this tool since the user agreed to \
                 it. Call it again; the user is then shown the change and asked."
            ));
        }
        known.pending.remove(tool);
        self.take(&mut known, &[change]);
        Ok(())
    }

    /// Takes every change.
    pub(crate) fn settle_all(&self) {
        let mut known = self.known();
        let all: Vec<Change> = std::mem::take(&mut known.pending).into_values().collect();
        if !all.is_empty() {
            self.take(&mut known, &all);
        }
    }

    fn take(&self, known: &mut Known, changes: &[Change]) {
        let mut offer = Offer::default();
        for change in changes {
            offer.extend(change.offer());
        }
        self.pin(offer);
        let is_whole = known.is_whole();
        if let Some(catalog) = &mut known.catalog {
            let catalog = Arc::make_mut(catalog);
            for change in changes {
                catalog.accept(change);
            }
            if is_whole {
                self.keep(catalog);
            }
        }
    }

    /// Keeps what a user agreed to of what it offers.
    fn pin(&self, offer: Offer) {
        if let Err(error) = self.pins.agree_to_offer(offer) {
            self.say(&format!("cannot keep what you agreed to of it: {error}"));
        }
    }

    /// The files of the program that would be started and that nobody agreed to as they are.
    pub(crate) async fn other_files(&self) -> Vec<String> {
        self.doubt().await.map(|doubt| doubt.files.into_keys().collect()).unwrap_or_default()
    }

    /// What is odd about the program that would be started; nothing while one runs. One that somebody
    /// is busy with may only be starting, or about to.
    async fn doubt(&self) -> Option<Doubt> {
        if self.is_running() {
            return None;
        }
        match self.read_files().await {
            Ok(files) => self.pins.doubt(&files),
            Err(failure) => Some(Doubt { files: Files::new(), unknown: Some(failure.whole()) }),
        }
    }

    fn is_running(&self) -> bool {
        let slot = self.slot.try_lock().ok();
        let connection = slot.as_ref().and_then(|slot| slot.connection.as_ref());
        connection.is_some_and(|it| !it.is_closed())
    }

    /// Lets the program start where its files are those a user agreed to, or agrees to by this.
    /// Returns these.
    pub(super) async fn settle_files(&self, consent: Consent<'_>) -> Result<Files, Failure> {
        let name = &self.server.name;
        let files = self.read_files().await?;
        let Some(doubt) = self.pins.doubt(&files) else { return Ok(files) };
        let is_agreed = match consent {
            Consent::None => false,
            Consent::User => true,
            Consent::Call(call) => {
                let known = self.known();
                let is_shown = |(id, shown): &(CallId, Shown)| {
                    id == call && shown.doubt.as_ref() == Some(&doubt)
                };
                known.shown.iter().any(is_shown)
            }
        };
        if !is_agreed {
            let why = match &doubt.unknown {
                Some(why) => format!("what you agreed to cannot be read ({why})"),
                None => format!("{} is not what you agreed to", doubt.names()),
            };
            return Err(Failure::hinted(
                format!("MCP server `{name}` is not started: {why}"),
                format!("`brynhild mcp approve {name}` agrees to it"),
            ));
        }
        self.agree_to_files(&files);
        Ok(files)
    }

    /// Lets the program start once more, where its files are still those that were looked at: the first
    /// start may have taken a while.
    pub(super) async fn unchanged(&self, files: &Files) -> Result<(), Failure> {
        let now = self.read_files().await?;
        if now == *files {
            return Ok(());
        }
        let other = now.iter().filter(|(path, hash)| files.get(*path) != Some(*hash));
        let names: Vec<&str> = other.map(|(path, _)| path.as_str()).collect();
        let (name, names) = (&self.server.name, names.join(", "));
        Err(Failure::hinted(
            format!("MCP server `{name}` is not started: its program changed meanwhile ({names})"),
            format!("`brynhild mcp test {name}` starts it as it is now"),
        ))
    }

    /// The files that the command line names, read on another thread: a program may be large.
    async fn read_files(&self) -> Result<Files, Failure> {
        let (server, settings) = (self.server.clone(), Arc::clone(&self.settings));
        let read = tokio::task::spawn_blocking(move || files(&server, &settings));
        read.await.map_err(|error| {
            let name = &self.server.name;
            Failure::new(format!("cannot read the program of MCP server `{name}`: {error}"))
        })
    }
}

/// The files that a server's command runs.
fn files(server: &Server, settings: &Settings) -> Files {
    match &server.transport {
        Transport::Stdio(program) => pins::files(server, program, &settings.surroundings),
        Transport::Http(_) => Files::new(),
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
    use crate::launch::Surroundings;
    use crate::oauth::Credentials;
    use crate::user_prompt::UserPrompt;

    fn link(directory: &Path) -> Link {
        let document = json!({"s": {"command": "python3", "args": ["server.py"]}});
        let source = Source { origin: "o".to_owned(), scope: Scope::User, document };
        let server = config::read(&[source], &BTreeMap::new()).servers.remove(0);
        let surroundings = Surroundings {
            workspace: directory.to_owned(),
            env: BTreeMap::new(),
            variables: BTreeMap::new(),
            home: None,
            data: directory.join("data"),
            mode: Mode::Normal,
            limits: Limits::default(),
            vouch: TrustCheck::default(),
        };
        let frontend = Arc::new(NoFrontend) as Arc<dyn Frontend>;
        let settings = Settings {
            cache: directory.join("cache"),
            pins: directory.join("pins"),
            credentials: Credentials::new(directory.join("keys")),
            sandbox: Arc::new(testkit::Plain::default()),
            surroundings,
            user: Arc::new(UserPrompt::new(Arc::clone(&frontend), None, false)),
            frontend,
            clients: None,
            resolver: None,
        };
        Link::new(server, Arc::new(settings))
    }

    #[tokio::test]
    async fn a_server_that_somebody_is_busy_with_does_not_count_as_running() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("server.py"), "1").unwrap();
        let link = link(directory.path());
        link.agree_to_files(&files(&link.server, &link.settings));
        let call = CallId("one".to_owned());
        let busy = link.slot.lock().await;
        assert_eq!(link.caution("echo", &call).await, None);
        fs::write(directory.path().join("server.py"), "2").unwrap();
        assert!(link.caution("echo", &call).await.is_some());
        drop(busy);
    }

    #[test]
    fn calls_that_were_refused_are_forgotten_in_the_end() {
        let mut known = Known::default();
        for number in 0..=MOST_SHOWN {
            let shown = Shown { doubt: None, change: None };
            known.show(&CallId(number.to_string()), Some(shown));
        }
        assert_eq!(known.shown.len(), MOST_SHOWN);
        assert!(known.hide(&CallId("0".to_owned())).is_none());
        assert!(known.hide(&CallId("1".to_owned())).is_some());
    }
}
