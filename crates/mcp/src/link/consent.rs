//! What a person agreed to of a server, and what has changed since. A tool that reads otherwise,
//! or a program whose file is another, is used only after a person has seen the change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use contract::id::CallId;

use super::Link;
use crate::catalog::{Catalog, Change};
use crate::failure::Failure;
use crate::pins::Files;

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
    /// The calls with which a change was shown.
    shown: BTreeSet<CallId>,
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
        let files = self.changed_files();
        let mut known = self.known();
        let mut texts = Vec::new();
        if !files.is_empty() {
            texts.push(format!(
                "MCP server `{}` would run {}, which is not what you agreed to",
                self.server.name,
                files.join(", ")
            ));
        }
        texts.extend(known.pending.get(tool).map(|change| change.describe(&self.server.name)));
        if texts.is_empty() {
            return None;
        }
        known.shown.insert(call.clone());
        Some(texts.join("\n"))
    }

    /// Takes what was shown with a call; says what was not.
    pub(crate) fn settle(&self, tool: &str, call: &CallId) -> Result<(), String> {
        let mut known = self.known();
        let Some(change) = known.pending.get(tool).cloned() else { return Ok(()) };
        if !known.shown.remove(call) {
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

    /// The files of its command that are other than those a person agreed to; none while the
    /// program runs that was started from those.
    fn changed_files(&self) -> Vec<String> {
        let is_running = match self.slot.try_lock() {
            Ok(slot) => slot.connection.as_ref().is_some_and(|it| !it.is_closed()),
            Err(_) => true,
        };
        if is_running { Vec::new() } else { self.pins.other(&self.files()) }
    }

    /// Lets the program start where its files are those a person agreed to, or agrees to by this.
    /// Returns these.
    pub(super) fn settle_files(&self, consent: Consent<'_>) -> Result<Files, Failure> {
        let files = self.files();
        let other = self.pins.other(&files);
        if other.is_empty() {
            return Ok(files);
        }
        let is_agreed = match consent {
            Consent::None => false,
            Consent::Person => true,
            Consent::Call(call) => self.known().shown.contains(call),
        };
        if !is_agreed {
            return Err(Failure::hinted(
                format!(
                    "MCP server `{}` is not started: {} is not what you agreed to",
                    self.server.name,
                    other.join(", ")
                ),
                format!("`brynhild mcp approve {}` agrees to it", self.server.name),
            ));
        }
        self.agree_to_files(&files);
        Ok(files)
    }
}
