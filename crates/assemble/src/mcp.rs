//! Connects MCP servers to the configuration, rules, trust and terminal. Starts nothing before it
//! is needed.

pub(crate) mod plugin_servers;
pub mod terminal;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::mcp::config::{
    self as server_config, ConfigPlaces, DiscoveredServers, Server, ServerPolicy, Source,
};
use ::mcp::oauth::Credentials;
use ::mcp::{
    CatalogState, ClientRegistry, Failure, LaunchSettings, PromptCommand, Resolver, Servers,
    Settings, UserPrompt,
};
use args::McpScope;
use config::origin::Layer;
use config::redact;
use contract::sandbox::{Limits, SandboxError};
use futures::FutureExt as _;
use plugins::dialects::{Loaded, Named};
use plugins::open_plugins::Listed;
use plugins::plugin::{PluginState, ReportLine};
use serde_json::{Map, Value};
use tools::tool_search::Deferral;

use crate::answering_model::AnsweringModel;
use crate::assembly::Assembly;
use crate::exit::{Exit, Problem};
use crate::output;
use crate::run_context::RunContext;
use crate::signals::Signals;
use crate::{permissions, tool_size};
use terminal::Terminal;

const NAME: &str = "mcp";

/// Set for servers, so that they know they were started as one.
const SERVED: &str = "BRYNHILD_MCP_SERVED";

/// The configured servers. Prints warnings about their configuration.
pub fn open(assembly: &Assembly) -> Result<Servers, Problem> {
    let found = discover(assembly);
    for warning in &found.warnings {
        output::warning(warning);
    }
    with_servers(assembly, found.servers, None)
}

/// These servers, with `resolver` for their hosts if there is one.
pub fn with_servers(
    assembly: &Assembly,
    servers: Vec<Server>,
    resolver: Option<Resolver>,
) -> Result<Servers, Problem> {
    let frontend = Arc::new(Terminal::new(assembly));
    let clients = clients(assembly).cloned();
    let user = UserPrompt::new(Arc::clone(&frontend) as _, clients.clone(), assembly.global.yes);
    let settings = Settings {
        cache: assembly.cache_dir()?.join("cache/mcp"),
        pins: assembly.cache_dir()?.join(setup::user_files::MCP_PINS),
        credentials: credentials(assembly)?,
        sandbox: assembly.sandbox()?,
        launch: launch_settings(assembly)?,
        frontend,
        user: Arc::new(user),
        clients,
        resolver,
    };
    Ok(Servers::new(settings, servers))
}

fn clients(assembly: &Assembly) -> Option<&Arc<ClientRegistry>> {
    assembly.services.clients.get()
}

pub(crate) fn set_model(servers: &Servers, answering: &AnsweringModel) {
    servers.set_model(Arc::clone(&answering.provider), answering.model.clone());
}

/// Starts servers that are not cached: all, or for one tool call those that may have it or that
/// hooks call.
pub(crate) async fn fetch(assembly: &Assembly, servers: &Servers, tool: Option<&str>) {
    let Some(tool) = tool else { return servers.fetch_catalogs().await };
    let hooks = assembly.loaded_plugins().flat_map(Loaded::servers_asked);
    let called: Vec<&str> = hooks.collect();
    let is_called = |server: &str| {
        let plain = server.rsplit(':').next().unwrap_or(server);
        called.iter().any(|name| *name == server || *name == plain)
    };
    servers.fetch_catalogs_for(tool, is_called).await;
}

/// Starts servers that are not cached; slow ones continue in the background.
pub(crate) async fn start(run: &RunContext, servers: &Servers) -> Result<(), Exit> {
    let wait = run.config().mcp.get("start_wait_sec").and_then(Value::as_u64);
    let interrupt = || {
        let mut signals = Signals::new().map_err(|_| Exit::Failed)?;
        Ok(async move { signals.next().await }.boxed())
    };
    servers.start_unknown(Duration::from_secs(wait.unwrap_or_default()), interrupt).await
}

/// The servers after a configuration change. Unchanged ones keep running.
pub(crate) async fn renewed(
    assembly: &Assembly,
    before: Option<Arc<Servers>>,
) -> Result<Option<Arc<Servers>>, Problem> {
    if !is_used(assembly) {
        if let Some(before) = before {
            before.shutdown().await;
        }
        return Ok(None);
    }
    let found = discover(assembly);
    let servers = match before {
        Some(before) if before.are(&found.servers) => return Ok(Some(before)),
        Some(before) => before.reconfigured(found.servers).await,
        None => with_servers(assembly, found.servers, None)?,
    };
    for warning in &found.warnings {
        output::warning(warning);
    }
    // A signal that ends the wait ends the conversation too.
    let _ = start(assembly, &servers).await;
    Ok(Some(Arc::new(servers)))
}

/// The text of a server's prompt typed as a command; none if no server has it.
pub async fn prompt(
    assembly: &Assembly,
    name: &str,
    typed: &str,
) -> Result<Option<String>, Problem> {
    if !name.starts_with("mcp__") || !is_used(assembly) {
        return Ok(None);
    }
    let servers = open(assembly)?;
    let text = servers.prompt(name, typed).await;
    servers.shutdown().await;
    text.map_err(problem)
}

/// The known prompts of servers as commands. Starts nothing.
pub fn commands(assembly: &Assembly) -> Vec<PromptCommand> {
    if !is_used(assembly) {
        return Vec::new();
    }
    let servers = with_servers(assembly, discover(assembly).servers, None);
    servers.map(|servers| servers.commands()).unwrap_or_default()
}

/// The failure of a server with an exit code and a hint.
pub fn problem(failure: Failure) -> Problem {
    let hint = failure.hint().map(str::to_owned);
    let is_unsafe = matches!(failure, Failure::Sandbox(SandboxError::Unavailable { .. }));
    let exit = if is_unsafe { Exit::Unsafe } else { Exit::Failed };
    Problem { exit, error: failure.into(), hint }
}

/// The stored logins of servers.
pub fn credentials(run: &RunContext) -> Result<Credentials, Problem> {
    Ok(Credentials::new(run.cache_dir()?.join(setup::user_files::MCP_CREDENTIALS)))
}

/// The file that lists the servers of a scope.
pub fn file(run: &RunContext, scope: McpScope) -> Result<PathBuf, Problem> {
    match scope {
        McpScope::User => Ok(run.config_dir()?.join(setup::user_files::MCP_SERVERS)),
        McpScope::Project => Ok(run.root()?.join(::trust::SERVERS)),
    }
}

/// Reads the servers of `--mcp-config`, by name.
pub fn given(configs: &[String]) -> Result<Map<String, Value>, Problem> {
    let mut servers = Map::new();
    for config in configs {
        let is_inline = config.trim_start().starts_with('{');
        let text = if is_inline { Ok(config.clone()) } else { std::fs::read_to_string(config) };
        let document = text.map_err(|error| error.to_string()).and_then(|text| {
            serde_json::from_str::<Value>(&text).map_err(|error| error.to_string())
        });
        let found = document.and_then(|mut document| match document["mcpServers"].take() {
            Value::Object(found) => Ok(found),
            _ => Err("it has no object `mcpServers`".to_owned()),
        });
        servers.extend(found.map_err(|what| {
            Problem::misuse(format!("cannot use `--mcp-config {config}`: {what}"))
                .hint("it must be a file such as `.mcp.json`, or its JSON")
        })?);
    }
    Ok(servers)
}

/// Runs `work` with the places that configure servers.
fn with_places<T>(assembly: &Assembly, work: impl FnOnce(ConfigPlaces<'_>) -> T) -> T {
    let is_own = |path: &[&str]| {
        let layer = assembly.loaded.origin(path).map(|origin| origin.layer);
        !matches!(layer, Some(Layer::Project | Layer::EnvFile | Layer::Environment))
    };
    let project = assembly.has_project().then(|| file(assembly, McpScope::Project).ok()).flatten();
    let trusted = assembly.trust.trusted();
    work(ConfigPlaces {
        section: &assembly.config().mcp,
        is_own: &is_own,
        own_file: file(assembly, McpScope::User).ok(),
        project_file: project.and_then(|path| {
            let bytes = trusted?.bytes(&path)?;
            Some((path, bytes))
        }),
        // All others are before those of an editor, which can take no name.
        plugins: plugin_servers::sources(assembly)
            .into_iter()
            .chain(assembly.services.editor_servers.get().cloned())
            .collect(),
    })
}

/// Finds all configured servers. Starts none.
pub fn discover(assembly: &Assembly) -> DiscoveredServers {
    if assembly.global.safe {
        return DiscoveredServers::default();
    }
    let rules = match permissions::host_rules(assembly) {
        Ok(rules) => rules,
        Err(problem) => {
            let warnings = vec![problem.message()];
            return DiscoveredServers { warnings, ..DiscoveredServers::default() };
        }
    };
    let denied_host = |host: &str| rules.as_ref()?.denying(host).map(ToString::to_string);
    let env = assembly.plugin_env();
    let switches = env.switches();
    let complete = |server: &mut Server| {
        plugin_servers::equip(assembly, server);
        let shown = plugins::claude::unquoted(&server.shown);
        server.shown = redact::without_keys(&shown);
    };
    let policy = ServerPolicy {
        denied_host: &denied_host,
        is_off: &|name| env.is_off(&switches, NAME, name),
        complete: &complete,
        is_own_address: &|address| clients(assembly).is_some_and(|it| it.is_own_address(address)),
    };
    with_places(assembly, |places| places.discover(&variables(assembly), &policy))
}

/// The variables that entries of servers may use.
pub fn variables(run: &RunContext) -> BTreeMap<String, String> {
    let mut variables = run.environment.variables.clone();
    if let Ok(root) = run.root() {
        let root = root.display().to_string();
        variables.entry("workspaceFolder".to_owned()).or_insert(root);
    }
    variables
}

/// All servers, for `plugin enable` and `plugin disable`.
pub(crate) fn named(assembly: &Assembly) -> Vec<Named> {
    if !is_used(assembly) {
        return Vec::new();
    }
    let env = assembly.plugin_env();
    let switches = env.switches();
    let named = discover(assembly).servers.into_iter().map(|server| {
        let is_off = env.is_off(&switches, NAME, &server.name);
        Named {
            system: NAME,
            version: String::new(),
            description: server.shown,
            state: PluginState::of(true, server.enabled),
            sleeps: false,
            held_off: (!server.enabled && !is_off)
                .then(|| format!("its entry in {} says so", server.origin)),
            name: server.name,
        }
    });
    named.collect()
}

/// The servers with their tools, as far as they are known.
pub fn listing(assembly: &Assembly) -> Result<Vec<Listed>, Problem> {
    if !is_used(assembly) {
        return Ok(Vec::new());
    }
    let servers = with_servers(assembly, discover(assembly).servers, None)?;
    let offered = servers.tools();
    let listed = servers.statuses().into_iter().map(|status| {
        let report = status.report().into_iter().map(ReportLine::Note).collect();
        let enabled = status.state != CatalogState::Disabled;
        let failure = status.error.filter(|_| status.state == CatalogState::Failed);
        let tools = if enabled { status.tools } else { Vec::new() };
        let (name, path) = (status.name, status.origin);
        let listed = Listed {
            name,
            dialect: NAME,
            path,
            enabled,
            failure,
            report,
            tools,
            ..Listed::default()
        };
        tool_size::weighed(listed, &offered)
    });
    Ok(listed.collect())
}

pub(crate) fn own_sources(assembly: &Assembly) -> Vec<Source> {
    with_places(assembly, |places| places.own_sources())
}

/// Returns true if a server is configured. Cheap, for runs without servers.
pub(crate) fn is_used(assembly: &Assembly) -> bool {
    // Two processes that serve each other would start each other without end.
    let is_served = assembly.environment.variable(SERVED).is_some();
    if assembly.global.safe || (is_served && clients(assembly).is_some()) {
        return false;
    }
    let exists = |scope| file(assembly, scope).is_ok_and(|path| path.exists());
    exists(McpScope::User)
        || (assembly.has_project() && exists(McpScope::Project))
        || server_config::configures_servers(&assembly.config().mcp)
        || assembly.services.editor_servers.get().is_some()
        || assembly.loaded_plugins().any(|it| it.described_servers().is_some())
}

fn launch_settings(assembly: &Assembly) -> Result<LaunchSettings, Problem> {
    let mut env = assembly.child_environment();
    // Code of the workspace must not be loaded through a search path.
    env.retain(|name, _| !matches!(name.as_str(), "PYTHONPATH" | "EDITOR" | "VISUAL"));
    env.insert(SERVED.to_owned(), "1".to_owned());
    Ok(LaunchSettings {
        workspace: assembly.root()?.to_owned(),
        env,
        variables: assembly.environment.variables.clone(),
        home: assembly.environment.home.clone(),
        data: assembly.cache_dir()?.join(setup::user_files::MCP_DATA),
        mode: assembly.mode(),
        // A server may need a large heap.
        limits: Limits { memory: 8 << 30, ..Limits::default() },
        trust_check: assembly.trust.trust_check(),
    })
}

/// The limits above which tools of servers and plugins are found by a search.
pub(crate) fn deferral(run: &RunContext) -> Deferral {
    let number = |key: &str| {
        let value = run.config().mcp.get(key).and_then(Value::as_u64);
        value.and_then(|value| usize::try_from(value).ok()).unwrap_or(usize::MAX)
    };
    Deferral { tools: number("defer_above"), bytes: number("defer_bytes") }
}
