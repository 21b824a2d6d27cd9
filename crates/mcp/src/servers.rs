//! All configured servers together: the tools, prompts and resources that they bring.

mod startup;
mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use contract::provider::Provider;
use contract::text::head;
use contract::tool::Tool;
use futures::future::{BoxFuture, FutureExt as _, join_all};
use serde_json::Value;

use crate::catalog::{Catalog, PromptEntry, ToolEntry};
use crate::config::{Scope, Server};
use crate::failure::Failure;
use crate::frontend::Frontend;
use crate::mutex::lock;
use crate::prompts::{self, PromptCommand};
use crate::resource_tools::{self, ResourceOutput};
use crate::sanitize;
use crate::server_state::{Consent, ServerState};
use crate::server_tool::ServerTool;
use crate::settings::Settings;
use crate::tool_name;
use startup::Startup;

pub use status::{CatalogState, ServerStatus};

/// Upper bound on the instructions of one server in the system prompt.
const MAX_INSTRUCTIONS: usize = 4000;

/// All configured servers.
pub struct Servers {
    settings: Arc<Settings>,
    states: Vec<Arc<ServerState>>,
    /// The offer when the tools were last made, or compared.
    last_offer: Mutex<Offered>,
    startup: Arc<Startup>,
}

/// The start of a server to fetch_catalog its catalog.
pub(crate) struct CatalogFetch {
    server: String,
    failed_before: bool,
    outcome: BoxFuture<'static, Result<(), Failure>>,
}

/// The changes that the user has agreed to.
pub struct ApprovedChanges {
    /// The files of its program that were not the approved ones.
    pub files: Vec<String>,
    /// The changes of its tools in words, by tool.
    pub changes: Vec<(String, String)>,
}

/// The approved catalogs, and the names of tools that nobody has agreed to yet.
type Offered = (Vec<Arc<Catalog>>, Vec<String>);

impl Servers {
    /// Reads the cached catalogs of servers. Starts nothing.
    pub fn new(settings: Settings, servers: Vec<Server>) -> Self {
        let settings = Arc::new(settings);
        let state = |server| Arc::new(ServerState::new(server, Arc::clone(&settings)));
        let states = servers.into_iter().map(state).collect();
        Self::with_states(settings, states, Arc::default())
    }

    /// Returns true if these are the servers, by their whole configuration.
    pub fn are(&self, servers: &[Server]) -> bool {
        self.states.iter().map(|state| &state.server).eq(servers)
    }

    /// The servers of another configuration. Servers that are configured as before keep running, the
    /// others are stopped.
    pub async fn reconfigured(&self, servers: Vec<Server>) -> Self {
        let known = |server: &Server| self.states.iter().find(|state| state.server == *server);
        let state = |server: Server| match known(&server) {
            Some(state) => Arc::clone(state),
            None => Arc::new(ServerState::new(server, Arc::clone(&self.settings))),
        };
        let states: Vec<Arc<ServerState>> = servers.into_iter().map(state).collect();
        let stays = |state: &Arc<ServerState>| states.iter().any(|other| Arc::ptr_eq(state, other));
        join_all(self.states.iter().filter(|state| !stays(state)).map(|state| state.close())).await;
        Self::with_states(Arc::clone(&self.settings), states, Arc::clone(&self.startup))
    }

    fn with_states(
        settings: Arc<Settings>,
        states: Vec<Arc<ServerState>>,
        startup: Arc<Startup>,
    ) -> Self {
        let servers = Self { settings, states, last_offer: Mutex::default(), startup };
        servers.take_offer_change();
        servers
    }

    fn frontend(&self) -> &Arc<dyn Frontend> {
        &self.settings.frontend
    }

    fn active(&self) -> Vec<Arc<ServerState>> {
        self.states.iter().filter(|state| state.server.enabled).cloned().collect()
    }

    fn find(&self, name: &str) -> Result<&Arc<ServerState>, Failure> {
        self.states.iter().find(|state| state.server.name == name).ok_or_else(|| {
            let names: Vec<&str> =
                self.states.iter().map(|state| state.server.name.as_str()).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let failure = Failure::new(format!("there is no MCP server `{name}`"));
            failure.hinted(format!("known: {known}"))
        })
    }

    /// Sets the model that writes for servers if the user agrees. The first one stays.
    pub fn set_model(&self, provider: Arc<dyn Provider>, model: String) {
        self.settings.user.set_model(provider, model);
    }

    /// Asks if a server may be reached that a role of an untrusted project names.
    pub async fn may_connect(&self, server: &str, host: &str) -> bool {
        self.settings.user.may_connect(server, host).await
    }

    /// Starts, all at once, the servers whose catalog is not known, and waits for them. Failures are
    /// reported.
    pub async fn fetch_catalogs(&self) {
        self.fetch_catalogs_of(|_| true).await;
    }

    /// Starts the servers that can have a tool or prompt of this name, and those that `is_needed`
    /// selects, if their catalog is not known.
    pub async fn fetch_catalogs_for(&self, name: &str, is_needed: impl Fn(&str) -> bool) {
        // These tools belong to all servers together.
        let is_of_all =
            [resource_tools::LIST_RESOURCES, resource_tools::READ_RESOURCE].contains(&name);
        let may_have = |server: &str| {
            let prefix = tool_name::prefix(server).unwrap_or_default();
            name.strip_prefix("mcp__").is_some_and(|it| it.starts_with(&format!("{prefix}__")))
        };
        self.fetch_catalogs_of(|server| is_of_all || may_have(server) || is_needed(server)).await;
    }

    async fn fetch_catalogs_of(&self, is_needed: impl Fn(&str) -> bool) {
        let fetches = self.catalog_fetches().into_iter().filter(|it| is_needed(&it.server));
        for outcome in join_all(fetches.map(|it| it.outcome)).await {
            if let Err(failure) = outcome {
                failure.report(self.frontend().as_ref());
            }
        }
    }

    fn catalog_fetches(&self) -> Vec<CatalogFetch> {
        let unknown = self.active().into_iter().filter(|it| it.is_unknown() && !it.is_starting());
        let fetches = unknown.map(|state| CatalogFetch {
            server: state.server.name.clone(),
            failed_before: state.has_failed(),
            outcome: async move { state.fetch_catalog().await }.boxed(),
        });
        fetches.collect()
    }

    /// The names of servers that are being started to fetch_catalog their catalogs.
    pub fn starting(&self) -> Vec<String> {
        let starting = self.active().into_iter().filter(|state| state.is_starting());
        starting.map(|state| state.server.name.clone()).collect()
    }

    /// The failures of servers that are not tried again yet.
    fn recent_failures(&self) -> Vec<String> {
        let left_alone = self.active().into_iter().filter(|state| !state.is_unknown());
        left_alone.filter_map(|state| state.failure()).collect()
    }

    /// The tools as a model is offered them: those of servers, and those for resources.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.active().iter().for_each(|state| state.warn_of_hidden_text());
        self.tools_with(ServerTool::into_arc)
    }

    /// The tools for users and other agents: results include parts that a model cannot see.
    pub fn tools_with_content(&self) -> Vec<Arc<dyn Tool>> {
        self.tools_with(|mut tool| {
            tool.keeps_content = true;
            tool.into_arc()
        })
    }

    fn tools_with(&self, make: impl Fn(ServerTool) -> Arc<dyn Tool>) -> Vec<Arc<dyn Tool>> {
        self.take_offer_change();
        let mut tools = self.resource_tools(ResourceOutput::Text);
        tools.extend(self.server_tools().into_iter().map(make));
        tools
    }

    /// The tools of servers under the servers' own names for them, behind a prefix if one is given.
    pub fn tools_by_own_name(&self, prefix: Option<&str>) -> Vec<Arc<dyn Tool>> {
        self.active().iter().for_each(|state| state.warn_of_hidden_text());
        self.take_offer_change();
        let tools = self.server_tools().into_iter();
        tools.map(|tool| tool.by_own_name(prefix).into_arc()).collect()
    }

    /// The instructions of servers for the model, as far as the user agreed to them: a part of the
    /// system prompt.
    pub fn instructions(&self) -> String {
        let parts = self.active().into_iter().filter_map(|state| {
            let text = sanitize::clean(&state.catalog()?.instructions);
            let text = head(text.trim(), MAX_INSTRUCTIONS);
            (!text.is_empty()).then(|| format!("\n\n### {}\n\n{text}", state.server.name))
        });
        let parts: String = parts.collect();
        if parts.is_empty() {
            return parts;
        }
        format!("## What MCP servers say about their tools{parts}")
    }

    /// A tool by the names of its server and of the tool there.
    pub fn tool(&self, server: &str, tool: &str) -> Option<Arc<dyn Tool>> {
        self.server_tools().into_iter().find(|it| it.is(server, tool)).map(ServerTool::into_arc)
    }

    /// A tool of a server that a plugin brings, for the hooks of this plugin: it needs no permission,
    /// since the server can do no more than the plugin itself.
    pub fn plugin_tool(&self, plugin: &str, server: &str, tool: &str) -> Option<Arc<dyn Tool>> {
        let mut found = self.server_tools().into_iter().find(|it| it.is(server, tool))?;
        Arc::make_mut(&mut found.spec).requires_permission = false;
        let is_own = matches!(&found.state.server.scope, Scope::Plugin(it) if it == plugin);
        is_own.then(|| found.into_arc())
    }

    fn server_tools(&self) -> Vec<ServerTool> {
        let mut taken = BTreeSet::new();
        let mut tools = Vec::new();
        for state in &self.active() {
            let (catalog, added) = (state.catalog().unwrap_or_default(), state.added_tools());
            tools.extend(named(state, catalog.tools.iter().chain(&added), &mut taken));
        }
        tools
    }

    fn resource_tools(&self, output: ResourceOutput) -> Vec<Arc<dyn Tool>> {
        let has_resources = |state: &Arc<ServerState>| state.has_resources();
        let with_resources: Vec<_> = self.active().into_iter().filter(has_resources).collect();
        resource_tools::tools(&with_resources, output)
    }

    /// The tools that list and read resources and keep the raw contents in their results; with the
    /// names of the servers that have resources.
    pub(crate) fn raw_resource_tools(&self) -> (Vec<Arc<dyn Tool>>, Vec<String>) {
        let with_resources = self.active().into_iter().filter(|state| state.has_resources());
        let names = with_resources.map(|state| state.server.name.clone()).collect();
        (self.resource_tools(ResourceOutput::Contents), names)
    }

    /// Subscribes to the changes of a resource.
    pub(crate) async fn subscribe(&self, server: &str, uri: &str) -> Result<(), Failure> {
        self.find(server)?.connect(Consent::None).await?.subscribe(uri).await
    }

    /// The prompts of servers, as commands.
    pub fn commands(&self) -> Vec<PromptCommand> {
        prompts::commands(&self.active()).into_iter().map(|(command, ..)| command).collect()
    }

    /// The text of a prompt that the user typed as a command. None if no server has it.
    pub async fn prompt(&self, name: &str, typed: &str) -> Result<Option<String>, Failure> {
        self.fetch_catalogs_for(name, |_| false).await;
        match self.find_prompt(name) {
            Some((state, entry)) => prompts::expand(&state, &entry, typed).await.map(Some),
            None => Ok(None),
        }
    }

    fn find_prompt(&self, name: &str) -> Option<(Arc<ServerState>, PromptEntry)> {
        let mut commands = prompts::commands(&self.active()).into_iter();
        let found = commands.find(|(command, ..)| command.name == name);
        found.map(|(_, state, entry)| (state, entry))
    }

    /// The prompts of servers, each with the name of its command.
    pub(crate) fn prompts(&self) -> Vec<(String, PromptEntry)> {
        let commands = prompts::commands(&self.active()).into_iter();
        commands.map(|(command, _, entry)| (command.name, entry)).collect()
    }

    /// The messages of a prompt as its server gives them, by the name of its command.
    pub(crate) async fn prompt_messages(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<Value, Failure> {
        let Some((state, entry)) = self.find_prompt(name) else {
            return Err(Failure::new(format!("no MCP server has a prompt `{name}`")));
        };
        let values = arguments.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
        let given = prompts::fetch(&state, &entry, values.collect()).await?;
        serde_json::to_value(given.messages)
            .map_err(|error| Failure::new(format!("the prompt `{name}` is invalid: {error}")))
    }

    /// Remembers the present offer. Returns true if it differs from the one before.
    fn take_offer_change(&self) -> bool {
        let states = self.active();
        let added = states.iter().flat_map(|state| state.added_tools()).map(|tool| tool.name);
        let catalogs = states.iter().filter_map(|state| state.catalog()).collect();
        let offer = (catalogs, added.collect());
        let mut last = lock(&self.last_offer);
        let before = std::mem::replace(&mut *last, offer);
        let is_same = |(a, b): (&Arc<Catalog>, &Arc<Catalog>)| {
            Arc::ptr_eq(a, b) || (a.tools == b.tools && a.instructions == b.instructions)
        };
        let has_same_catalogs =
            before.0.len() == last.0.len() && before.0.iter().zip(&last.0).all(is_same);
        before.1 != last.1 || !has_same_catalogs
    }

    /// Asks running servers again that announced a change. Returns true if the tools differ from
    /// those at the last call of this or of [`Servers::tools`].
    pub async fn refresh(&self) -> bool {
        join_all(self.active().iter().map(|state| state.refresh())).await;
        self.take_offer_change()
    }

    /// The status of all servers.
    pub fn statuses(&self) -> Vec<ServerStatus> {
        self.states.iter().map(status::status).collect()
    }

    /// Starts a server and returns its status.
    pub async fn test(&self, name: &str) -> Result<ServerStatus, Failure> {
        let state = self.find(name)?;
        state.connect(Consent::None).await?;
        Ok(status::status(state))
    }

    /// Agrees to everything that has changed of a server.
    pub async fn approve(&self, name: &str) -> Result<ApprovedChanges, Failure> {
        let state = self.find(name)?;
        let files = state.unapproved_files().await;
        state.connect(Consent::User).await?;
        let changes = state.pending_changes();
        state.approve_all();
        Ok(ApprovedChanges { files, changes })
    }

    /// Ends all connections and programs, together.
    pub async fn shutdown(&self) {
        self.startup.cancel().await;
        join_all(self.states.iter().map(|state| state.close())).await;
    }
}

/// The tools of entries in their order. A tool whose name needs no change gets it before others do.
fn named<'a>(
    state: &Arc<ServerState>,
    entries: impl IntoIterator<Item = &'a ToolEntry>,
    taken: &mut BTreeSet<String>,
) -> Vec<ServerTool> {
    let entries = entries.into_iter();
    let admitted = entries.filter(|entry| state.server.filter.admits(&entry.name));
    let mut order: Vec<(usize, &ToolEntry)> = admitted.enumerate().collect();
    order.sort_by_key(|(_, entry)| !tool_name::is_plain(&entry.name));
    let made = order.into_iter().map(|(at, entry)| (at, ServerTool::new(state, entry, taken)));
    let mut tools: Vec<(usize, ServerTool)> = made.collect();
    tools.sort_by_key(|(at, _)| *at);
    tools.into_iter().map(|(_, tool)| tool).collect()
}
