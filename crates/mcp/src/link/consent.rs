//! What a person agreed to of a server, and what has changed since. A tool that reads otherwise,
//! or a program whose file is another, is used only after a person has seen the change.

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::id::CallId;

use super::Link;
use crate::catalog::{Catalog, Change};
use crate::config::{Server, Transport};
use crate::failure::Failure;
use crate::launch::Surroundings;
use crate::pins::{self, Doubt, Files};

/// Who agrees to what has changed.
#[derive(Clone, Copy)]
pub(crate) enum Consent<'a> {
    /// Nobody.
    None,
    /// Whoever let this call run, as far as the change was shown with it.
    Call(&'a CallId),
    /// A person, at this very moment.
    Person,
}

/// What is known of a server.
#[derive(Default)]
pub(super) struct Known {
    /// What it offers as far as a person agreed.
    pub(super) catalog: Option<Arc<Catalog>>,
    /// What has changed since, by the server's name for the tool.
    pending: BTreeMap<String, Change>,
    /// The calls with which something was shown.
    shown: BTreeMap<CallId, Shown>,
}

/// What a person saw with a call: by letting it run they agree to this and to nothing else.
struct Shown {
    /// What was odd about the program.
    doubt: Option<Doubt>,
    /// What had changed of the tool.
    change: Option<Change>,
}

impl Known {
    /// What was kept.
    pub(super) fn of(catalog: Option<Catalog>) -> Self {
        Self { catalog: catalog.map(Arc::new), ..Self::default() }
    }
}

impl Link {
    /// Compares what the server offers with what the person agreed to. The first list is taken
    /// as it is: to configure a server is to agree to it.
    pub(super) fn reconcile(&self, fresh: Catalog) {
        let mut known = self.known();
        let agreed = known.catalog.take().filter(|catalog| catalog.failure.is_none());
        let Some(agreed) = agreed else {
            self.keep(&fresh);
            known.catalog = Some(Arc::new(fresh));
            known.pending.clear();
            return;
        };
        let pending = agreed.changes(&fresh);
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
        let catalog = Catalog {
            tools: agreed.tools.clone(),
            instructions: agreed.instructions.clone(),
            ..fresh
        };
        if catalog != *agreed {
            self.keep(&catalog);
        }
        known.catalog = Some(Arc::new(catalog));
        known.pending = pending;
    }

    /// Tools that nobody has agreed to yet; offered, and asked about.
    pub(crate) fn added(&self) -> Vec<crate::catalog::ToolEntry> {
        let known = self.known();
        let added = known.pending.values().filter_map(|change| match change {
            Change::Added(entry) => Some(entry.clone()),
            Change::Altered { .. } | Change::Instructions { .. } => None,
        });
        added.collect()
    }

    /// The changes that wait for a person, in words, by tool.
    pub(crate) fn pending(&self) -> Vec<(String, String)> {
        let known = self.known();
        let words =
            |(name, change): (&String, &Change)| (name.clone(), change.describe(&self.server.name));
        known.pending.iter().map(words).collect()
    }

    /// What a person should see before this call of `tool` runs.
    pub(crate) fn caution(&self, tool: &str, call: &CallId) -> Option<String> {
        let doubt = self.doubt();
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
        if texts.is_empty() {
            return None;
        }
        known.shown.insert(call.clone(), Shown { doubt, change });
        Some(texts.join("\n"))
    }

    /// Takes what was shown with a call; says what was not.
    pub(crate) fn settle(&self, tool: &str, call: &CallId) -> Result<(), String> {
        let mut known = self.known();
        let shown = known.shown.remove(call).and_then(|shown| shown.change);
        let Some(change) = known.pending.get(tool).cloned() else { return Ok(()) };
        if shown.as_ref() != Some(&change) {
            let server = &self.server.name;
            return Err(format!(
                "not run: MCP server `{server}` has changed this tool since the person agreed to \
                 it. Call it again; the person is then shown the change and asked."
            ));
        }
        self.take(&mut known, tool, &change);
        Ok(())
    }

    /// Takes every change.
    pub(crate) fn settle_all(&self) {
        let mut known = self.known();
        for (tool, change) in std::mem::take(&mut known.pending) {
            self.take(&mut known, &tool, &change);
        }
    }

    fn take(&self, known: &mut Known, tool: &str, change: &Change) {
        known.pending.remove(tool);
        if let Some(catalog) = &mut known.catalog {
            Arc::make_mut(catalog).accept(change);
            self.keep(catalog);
        }
    }

    /// What is odd about the program that would be started; nothing while one runs.
    fn doubt(&self) -> Option<Doubt> {
        let is_running = match self.slot.try_lock() {
            Ok(slot) => slot.connection.as_ref().is_some_and(|it| !it.is_closed()),
            Err(_) => true,
        };
        let files = || files(&self.server, &self.shared.surroundings);
        if is_running { None } else { self.pins.doubt(&files()) }
    }

    /// Lets the program start where its files are those a person agreed to, or agrees to by this.
    /// Returns these.
    pub(super) async fn settle_files(&self, consent: Consent<'_>) -> Result<Files, Failure> {
        let name = &self.server.name;
        let (server, shared) = (self.server.clone(), Arc::clone(&self.shared));
        let read = tokio::task::spawn_blocking(move || files(&server, &shared.surroundings));
        let files = read.await.map_err(|error| {
            Failure::new(format!("cannot read the program of MCP server `{name}`: {error}"))
        })?;
        let Some(doubt) = self.pins.doubt(&files) else { return Ok(files) };
        let is_agreed = match consent {
            Consent::None => false,
            Consent::Person => true,
            Consent::Call(call) => {
                let known = self.known();
                known.shown.get(call).is_some_and(|shown| shown.doubt.as_ref() == Some(&doubt))
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
}

/// The files that a server's command runs.
fn files(server: &Server, surroundings: &Surroundings) -> Files {
    match &server.transport {
        Transport::Stdio(program) => pins::files(server, program, surroundings),
        Transport::Http(_) => Files::new(),
    }
}
