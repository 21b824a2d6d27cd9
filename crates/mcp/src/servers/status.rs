//! The status of a server, for lists and `mcp test`.

use std::collections::BTreeSet;
use std::sync::Arc;

use contract::tool::Tool;
use serde::Serialize;
use serde_json::{Value, json};

use super::named;
use crate::catalog::Catalog;
use crate::config::Transport;
use crate::server_state::ServerState;
use crate::{prompts, sanitize};

/// The state of a server's catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CatalogState {
    /// The server is switched off.
    Disabled,
    /// It was never started.
    Unknown,
    /// Its catalog is known.
    Known,
    /// Its catalog has changed since the user agreed to it.
    Changed,
    /// It could not be started.
    Failed,
}

/// A server as the user sees it.
#[derive(Clone, Debug, Serialize)]
pub struct ServerStatus {
    pub name: String,
    pub scope: String,
    /// The file that configures it.
    pub origin: String,
    /// `stdio` or `http`.
    pub transport: &'static str,
    /// Its command line or address.
    pub target: String,
    pub state: CatalogState,
    /// The revision of the protocol it speaks.
    pub protocol: Option<String>,
    /// Its name for itself.
    pub server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The invisible text that was removed from its descriptions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<String>,
    /// Its tools, by the names that the model calls.
    pub tools: Vec<String>,
    /// The tools that are left out, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Its prompts, as commands.
    pub prompts: Vec<String>,
    pub resources: bool,
    /// A hash over what the model reads of it.
    pub digest: Option<String>,
    /// The changes that wait for the user's consent.
    pub changes: Vec<Value>,
    /// The reason why it could not be started.
    pub error: Option<String>,
}

impl ServerStatus {
    /// The status line by line, for lists of plugins.
    pub fn report(&self) -> Vec<String> {
        let mut lines = vec![format!("{}: {}", self.transport, self.target)];
        lines.extend(match self.state {
            CatalogState::Disabled => Some("not loaded: it is disabled".to_owned()),
            CatalogState::Unknown => Some("it was never started".to_owned()),
            CatalogState::Failed => {
                self.error.as_ref().map(|it| format!("it could not be started: {it}"))
            }
            CatalogState::Changed => Some("it has changed, and waits for your consent".to_owned()),
            CatalogState::Known => None,
        });
        if self.state != CatalogState::Disabled {
            let lists =
                [("tools", &self.tools), ("left out", &self.left_out), ("commands", &self.prompts)];
            let filled = lists.iter().filter(|(_, names)| !names.is_empty());
            lines.extend(filled.map(|(title, names)| format!("{title}: {}", names.join(", "))));
        }
        lines
    }
}

/// The status of a server. Starts nothing.
pub(super) fn status(of: &Arc<ServerState>) -> ServerStatus {
    let server = &of.server;
    let transport = match &server.transport {
        Transport::Stdio(_) => "stdio",
        Transport::Http(_) => "http",
    };
    let catalog = of.catalog();
    let pending = of.pending_changes();
    let error = of.failure();
    let state = match (&catalog, &error) {
        _ if !server.enabled => CatalogState::Disabled,
        (_, Some(_)) => CatalogState::Failed,
        (None, None) => CatalogState::Unknown,
        (Some(_), None) if pending.is_empty() => CatalogState::Known,
        (Some(_), None) => CatalogState::Changed,
    };
    let tools = catalog.as_ref().map_or(&[][..], |it| &it.tools);
    let tools = named(of, tools, &mut BTreeSet::new());
    let tasks = catalog.iter().flat_map(|it| &it.tasks);
    let prompts = prompts::commands(std::slice::from_ref(of));
    let filled = |text: String| Some(text).filter(|text| !text.is_empty());
    let of = |pick: fn(&Catalog) -> String| catalog.as_deref().map(pick).and_then(filled);
    ServerStatus {
        name: server.name.clone(),
        scope: server.scope.label(),
        origin: server.origin.clone(),
        transport,
        target: server.shown.clone(),
        state,
        protocol: of(|it| it.protocol.clone()),
        server: of(|it| it.server.clone()),
        instructions: of(|it| it.instructions.clone()),
        hidden: catalog.as_deref().and_then(sanitize::report),
        tools: tools.iter().map(|tool| tool.spec().name.clone()).collect(),
        left_out: tasks
            .map(|it| format!("{it}: it can be run as a task only, which is not supported"))
            .collect(),
        prompts: prompts.into_iter().map(|(command, ..)| command.name).collect(),
        resources: catalog.as_ref().is_some_and(|it| it.resources),
        digest: of(Catalog::digest),
        changes: pending
            .into_iter()
            .map(|(tool, change)| json!({"tool": tool, "change": change}))
            .collect(),
        error,
    }
}
