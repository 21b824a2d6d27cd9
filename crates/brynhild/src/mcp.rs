//! The MCP servers of this run: from which files they come, what they may do, and who answers
//! them. Nothing is started before something needs it.

pub(crate) mod backend;
pub(crate) mod command_lines;
mod dressed;
pub(crate) mod files;
mod front;
mod offered;
mod person;
mod starting;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ::mcp::config::{Found, Scope, Server, Source, Transport};
use ::mcp::oauth::Credentials;
use ::mcp::person::Person;
use ::mcp::resources::{LIST, READ};
use ::mcp::{PromptCommand, Resolver, Servers, Settings, State, Surroundings};
use config::origin::Layer;
use config::redact;
use contract::policy::Ruling;
use contract::sandbox::Limits;
use contract::tool::Tool;
use futures::future::join_all;
use serde_json::{Map, Value, json};
use tools::tool_search::Deferral;

use crate::assemble;
use crate::dialects::{Listed, Named, UNSTARTED};
use crate::exit::{Exit, Problem};
use crate::output;
use crate::permissions;
use crate::plugin_set;
use crate::world::World;
pub(crate) use dressed::Dressed;
pub(crate) use front::Front;
use person::Answering;
use starting::Starting;

/// The word for servers among plugins.
const NAME: &str = "mcp";

/// The variable by which a server knows that it was started as one.
const SERVED: &str = "BRYNHILD_MCP_SERVED";

/// Keys of `mcp` that are settings and no servers.
const SETTINGS: [&str; 5] =
    ["servers", "defer_above", "defer_bytes", "client_metadata_url", "start_wait_sec"];

/// The servers of this run.
pub(crate) struct Mcp {
    pub(crate) servers: Servers,
    person: Arc<Answering>,
    starting: Arc<Starting>,
}

impl Mcp {
    /// Reads the files that describe servers and what is kept of them. Tells what is wrong.
    pub(crate) fn open(world: &World) -> Result<Self, Problem> {
        let found = found(world);
        for problem in &found.problems {
            output::warning(problem);
        }
        Self::of(world, found.servers)
    }

    /// The same with these servers.
    pub(crate) fn of(world: &World, servers: Vec<Server>) -> Result<Self, Problem> {
        Self::resolving(world, servers, None)
    }

    /// The same with names in their addresses that `resolver` looks up.
    pub(crate) fn resolving(
        world: &World,
        servers: Vec<Server>,
        resolver: Option<Resolver>,
    ) -> Result<Self, Problem> {
        let person = Arc::new(Answering::new(world));
        let servers = Servers::new(Settings {
            servers,
            cache: world.cache_dir()?.join("cache/mcp"),
            pins: world.cache_dir()?.join("mcp-pins"),
            credentials: credentials(world)?,
            sandbox: assemble::sandbox(world)?,
            surroundings: surroundings(world)?,
            person: Arc::clone(&person) as Arc<dyn Person>,
            notice: Arc::new(|text| output::warning(&text)),
            others: world.made.front.get().map(|front| front.updates.clone()),
            resolver,
        });
        Ok(Self { servers, person, starting: Arc::default() })
    }

    /// Whether the user lets a server be reached that somebody else has chosen.
    pub(crate) async fn may_reach(&self, server: &str, host: &str) -> bool {
        self.person.may_reach(server, host).await
    }

    /// Starts servers of which nothing is known, so that the model can be told what they offer.
    pub(crate) async fn learn(&self) {
        self.servers.learn().await.iter().for_each(starting::tell);
    }

    /// The same for one call of a tool: those that may bring it, and those that hooks ask.
    pub(crate) async fn learn_for(&self, world: &World, tool: &str) {
        let hooks = world.claude().loaded.iter().flat_map(plugins::claude::Loaded::servers_asked);
        let asked: Vec<&str> = hooks.collect();
        let is_asked = |server: &str| {
            let plain = server.rsplit(':').next().unwrap_or(server);
            asked.iter().any(|name| *name == server || *name == plain)
        };
        // These are of all servers together.
        let is_of_all = [LIST, READ].contains(&tool);
        let is_needed = |server: &str| is_of_all || is_name_of(server, tool) || is_asked(server);
        let learning = self.servers.learning().into_iter().filter(|it| is_needed(&it.server));
        let learned = join_all(learning.map(|it| it.learned)).await;
        learned.iter().filter_map(|it| it.as_ref().err()).for_each(starting::tell);
    }

    /// The same for a conversation, which goes on without those that are slow. A signal that ends
    /// the wait is the error.
    pub(crate) async fn begin(&self, world: &World) -> Result<(), Exit> {
        let wait = world.config().mcp.get("start_wait_sec").and_then(Value::as_u64);
        self.starting.begin(&self.servers, Duration::from_secs(wait.unwrap_or_default())).await
    }

    /// Their tools, and those that come with them.
    pub(crate) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.servers.tools()
    }

    /// The same for whoever can show what a model cannot see.
    pub(crate) fn all_tools(&self) -> Vec<Arc<dyn Tool>> {
        self.servers.all_tools()
    }

    /// What servers tell the model of themselves, as a part of the system prompt.
    pub(crate) fn instructions(&self) -> String {
        let told = self.servers.instructions().into_iter();
        let parts = told.map(|(server, words)| format!("### {server}\n\n{words}"));
        let parts: Vec<String> = parts.collect();
        if parts.is_empty() {
            return parts.concat();
        }
        format!("## What MCP servers say about their tools\n\n{}", parts.join("\n\n"))
    }

    /// Names the model that writes for servers, where a user agrees to it.
    pub(crate) fn set_mind(&self, mind: &assemble::Mind) {
        self.person.set_mind(Arc::clone(&mind.provider), mind.model.clone());
    }

    /// Asks running servers again that said they changed. Whether [`Mcp::tools`] has others.
    pub(crate) async fn refresh(&self) -> bool {
        self.servers.refresh().await
    }

    /// Ends everything that runs.
    pub(crate) async fn shutdown(&self) {
        self.starting.end().await;
        self.servers.shutdown().await;
    }
}

/// The servers after a change of what describes them. Those that are described as before go on.
pub(crate) async fn renewed(
    world: &World,
    before: Option<Arc<Mcp>>,
) -> Result<Option<Arc<Mcp>>, Problem> {
    if !is_used(world) {
        if let Some(before) = before {
            before.shutdown().await;
        }
        return Ok(None);
    }
    let found = found(world);
    let mcp = match before {
        Some(before) if before.servers.are(&found.servers) => return Ok(Some(before)),
        Some(before) => {
            let servers = before.servers.replaced(found.servers).await;
            let person = Arc::clone(&before.person);
            Mcp { servers, person, starting: Arc::clone(&before.starting) }
        }
        None => Mcp::of(world, found.servers)?,
    };
    for problem in &found.problems {
        output::warning(problem);
    }
    // A signal that ends the wait is heard by the conversation too.
    let _ = mcp.begin(world).await;
    Ok(Some(Arc::new(mcp)))
}

/// The text of a server's prompt that a user typed as a command; none where no server has one
/// of that name.
pub(crate) async fn prompt(
    world: &World,
    name: &str,
    typed: &str,
) -> Result<Option<String>, Problem> {
    if !name.starts_with("mcp__") || !is_used(world) {
        return Ok(None);
    }
    let mcp = Mcp::open(world)?;
    let of_name = mcp.servers.learning().into_iter().filter(|it| is_name_of(&it.server, name));
    for learning in of_name {
        if let Err(failure) = learning.learned.await {
            starting::tell(&failure);
        }
    }
    if !mcp.servers.commands().iter().any(|command| command.name == name) {
        mcp.shutdown().await;
        return Ok(None);
    }
    let text = mcp.servers.prompt(name, typed).await;
    mcp.shutdown().await;
    text.map(Some).map_err(problem)
}

/// Whether a tool or a prompt of a server may have this name.
fn is_name_of(server: &str, name: &str) -> bool {
    let prefix = ::mcp::name::prefix(server).unwrap_or_default();
    name.strip_prefix("mcp__").is_some_and(|rest| rest.starts_with(&format!("{prefix}__")))
}

/// The prompts of servers as far as they are known, as commands. Starts nothing, and tells nothing.
pub(crate) fn commands(world: &World) -> Vec<PromptCommand> {
    if !is_used(world) {
        return Vec::new();
    }
    let mcp = Mcp::of(world, found(world).servers);
    mcp.map(|mcp| mcp.servers.commands()).unwrap_or_default()
}

/// What lets a call run that a server's own change holds up, whatever rules allow; none where that is
/// not the cause.
pub(crate) fn remedy(ruling: &Ruling, source: &str, args: &Value) -> Option<String> {
    let is_held_up = ruling.reasons.iter().any(|reason| reason.origin == source);
    let server = match source.strip_prefix(NAME)?.rsplit_once(':') {
        Some((_, server)) => server,
        None => args.get("server")?.as_str()?,
    };
    is_held_up
        .then(|| format!("`brynhild mcp approve {server}` shows what changed and agrees to it"))
}

/// A failure as the program reports it.
pub(crate) fn problem(failure: ::mcp::Failure) -> Problem {
    let hint = failure.hint().map(str::to_owned);
    let exit = match &failure {
        ::mcp::Failure::Sandbox(contract::sandbox::SandboxError::Unavailable { .. }) => {
            crate::exit::Exit::Unsafe
        }
        _ => crate::exit::Exit::Failed,
    };
    Problem { exit, error: failure.into(), hint }
}

/// The keys of servers that the user signed in to.
pub(crate) fn credentials(world: &World) -> Result<Credentials, Problem> {
    Ok(Credentials::new(world.cache_dir()?.join("mcp-credentials")))
}

/// All servers that are described anywhere, the user's own first. Only reads.
pub(crate) fn found(world: &World) -> Found {
    if world.global.safe {
        return Found::default();
    }
    let mut sources = configured(world);
    let mut problems = Vec::new();
    if let Ok(path) = files::own(world) {
        match files::read(&path) {
            Ok(Some(document)) => {
                let origin = path.display().to_string();
                sources.insert(1, Source { origin, scope: Scope::User, document });
            }
            Ok(None) => {}
            Err(problem) => problems.push(problem),
        }
    }
    match project(world) {
        Ok(source) => sources.extend(source),
        Err(problem) => problems.push(problem),
    }
    sources.extend(world.claude().sources());
    let mut found = ::mcp::config::read(&sources, &variables(world), command_lines::read);
    if let Some(front) = world.made.front.get() {
        let is_other = |server: &Server| match &server.transport {
            Transport::Http(address) => !front.is_at(address),
            Transport::Stdio(_) => true,
        };
        found.servers.retain(is_other);
    }
    let denied = leave_out_denied(world, &mut found.servers);
    found.problems.extend(denied);
    let switches = plugin_set::state(world);
    for server in &mut found.servers {
        world.claude().equip(world, server);
        let shown = plugins::claude::unquoted(&server.shown);
        server.shown = redact::without_keys(&shown);
        server.enabled &= !plugin_set::is_off(world, &switches, NAME, &server.name);
    }
    found.problems.extend(problems);
    found.problems.extend(found.servers.iter().filter_map(unpinned));
    found
}

/// Leaves out servers at a host that a rule denies, and says which.
fn leave_out_denied(world: &World, servers: &mut Vec<Server>) -> Vec<String> {
    let rules = match permissions::host_rules(world) {
        Ok(Some(rules)) => rules,
        Ok(None) => return Vec::new(),
        Err(problem) => {
            servers.clear();
            return vec![problem.message()];
        }
    };
    let mut said = Vec::new();
    servers.retain(|server| {
        let Transport::Http(address) = &server.transport else { return true };
        let mut host = address.host();
        if !host.rsplit(']').next().is_some_and(|rest| rest.contains(':')) {
            host += if address.url.starts_with("https:") { ":443" } else { ":80" };
        }
        let rule = rules.denying(&host);
        said.extend(rule.map(|rule| {
            let name = &server.name;
            format!("MCP server `{name}` is left out: the rule `{rule}` denies its host")
        }));
        rule.is_none()
    });
    said
}

/// What entries may name: the user's variables, and the workspace by the name that other clients
/// have for it.
pub(crate) fn variables(world: &World) -> BTreeMap<String, String> {
    let mut variables = world.environment.variables.clone();
    if let Ok(root) = world.root() {
        let root = root.display().to_string();
        variables.entry("workspaceFolder".to_owned()).or_insert(root);
    }
    variables
}

/// What is said of a server that runs another version whenever there is one. Of a project's the
/// question for trust has said it.
fn unpinned(server: &Server) -> Option<String> {
    let floating = server.floating.as_ref()?;
    (server.enabled && server.scope != Scope::Project).then(|| {
        let (name, what) = (&server.name, floating.describe());
        let key = format!("mcp.servers.{name}.unpinned");
        format!("MCP server `{name}` {what} (`{key}: true` says that you want it so)")
    })
}

/// All servers, for whoever switches them on and off.
pub(crate) fn named(world: &World) -> Vec<Named> {
    if !is_used(world) {
        return Vec::new();
    }
    let switches = plugin_set::state(world);
    let servers = found(world).servers.into_iter();
    let named = servers.map(|server| {
        let is_off = plugin_set::is_off(world, &switches, NAME, &server.name);
        Named {
            system: NAME,
            version: String::new(),
            description: server.shown,
            state: if server.enabled { "enabled" } else { "disabled" },
            sleeps: false,
            held_off: (!server.enabled && !is_off)
                .then(|| format!("its entry in {} says so", server.origin)),
            name: server.name,
        }
    });
    named.collect()
}

/// All servers as lists of plugins show them. Starts none.
pub(crate) fn listing(world: &World) -> Result<Vec<Listed>, Problem> {
    if !is_used(world) {
        return Ok(Vec::new());
    }
    let servers = Mcp::of(world, found(world).servers)?.servers;
    let tools = servers.tools();
    let listed = servers.statuses().into_iter().map(|status| {
        let mut report = vec![format!("{}: {}", status.transport, status.target)];
        let enabled = status.state != State::Disabled;
        report.extend(match status.state {
            State::Disabled => Some(String::from("nothing is loaded: it is switched off")),
            State::Unknown => Some(String::from("it was never started")),
            State::Failed => status.error.map(|why| format!("{UNSTARTED}{why}")),
            State::Changed => Some(String::from("it has changed, and waits for your consent")),
            State::Known => None,
        });
        let names = |what: &str, names: &[String]| {
            (!names.is_empty() && enabled).then(|| format!("{what}: {}", names.join(", ")))
        };
        report.extend(names("tools", &status.tools));
        report.extend(names("left out", &status.left_out));
        report.extend(names("commands", &status.prompts));
        let (name, path) = (status.name, status.origin);
        Listed { name, dialect: NAME, path, enabled, report, ..Listed::default() }.weighed(&tools)
    });
    Ok(listed.collect())
}

/// What the user's own files say about servers. Only reads; what cannot be read counts nothing.
pub(crate) fn own_sources(world: &World) -> Vec<Source> {
    let mut sources = configured(world);
    let own = files::own(world).ok();
    let document = own.as_ref().and_then(|path| files::read(path).ok().flatten());
    sources.extend(own.zip(document).map(|(path, document)| Source {
        origin: path.display().to_string(),
        scope: Scope::User,
        document,
    }));
    sources.retain(|source| source.scope == Scope::User);
    sources
}

/// Whether anything describes a server: a cheap look, so that a run without servers pays nothing.
pub(crate) fn is_used(world: &World) -> bool {
    // Where we serve another one of us, two could start each other without end.
    let is_served = world.environment.variable(SERVED).is_some();
    if world.global.safe || (is_served && world.made.front.get().is_some()) {
        return false;
    }
    let has_own = files::own(world).is_ok_and(|path| path.exists());
    let has_project =
        world.has_project() && world.root().is_ok_and(|root| root.join(files::PROJECT).exists());
    let named = &world.config().mcp;
    let is_configured = named.iter().any(|(key, value)| match key.as_str() {
        "servers" => value.as_object().is_some_and(|servers| !servers.is_empty()),
        key => !SETTINGS.contains(&key),
    });
    has_own || has_project || is_configured || world.claude().has_servers()
}

/// The servers of the configuration, those of the user apart from those of the project.
fn configured(world: &World) -> Vec<Source> {
    let mut own = Map::new();
    let mut projects = Map::new();
    let mut sort = |path: &[&str], name: &str, value: &Value| {
        let is_own = is_own(world, &mut path.to_vec(), value);
        let entries = if is_own { &mut own } else { &mut projects };
        entries.insert(name.to_owned(), value.clone());
    };
    for (key, value) in &world.config().mcp {
        match (key.as_str(), value) {
            ("servers", Value::Object(servers)) => {
                for (name, value) in servers {
                    sort(&["mcp", "servers", name], name, value);
                }
            }
            (name, value) if !SETTINGS.contains(&name) => sort(&["mcp", name], name, value),
            _ => {}
        }
    }
    let source = |origin: &str, scope, entries| Source {
        origin: origin.to_owned(),
        scope,
        document: json!({"mcpServers": Value::Object(entries)}),
    };
    vec![
        source("config.yaml", Scope::User, own),
        source(".brynhild/config.yaml", Scope::Project, projects),
    ]
}

/// Whether every part of a setting is the user's own word.
fn is_own<'a>(world: &World, path: &mut Vec<&'a str>, value: &'a Value) -> bool {
    let layer = world.loaded.origin(path).map(|origin| origin.layer);
    if matches!(layer, Some(Layer::Project | Layer::EnvFile | Layer::Environment)) {
        return false;
    }
    let Value::Object(object) = value else { return true };
    object.iter().all(|(key, value)| {
        path.push(key);
        let is_own = is_own(world, path, value);
        path.pop();
        is_own
    })
}

/// The project's file, where the user trusts its bytes.
fn project(world: &World) -> Result<Option<Source>, String> {
    let Some(root) = world.root().ok().filter(|_| world.has_project()) else { return Ok(None) };
    let path = root.join(files::PROJECT);
    let Some(bytes) = world.trust.trusted().and_then(|trusted| trusted.bytes(&path)) else {
        return Ok(None);
    };
    let document = serde_json::from_slice(bytes)
        .map_err(|error| format!("{} is not valid JSON: {error}", path.display()))?;
    let origin = path.display().to_string();
    Ok(Some(Source { origin, scope: Scope::Project, document }))
}

fn surroundings(world: &World) -> Result<Surroundings, Problem> {
    let mut env = crate::child_environment::child_environment(world);
    // Code of the workspace must not get in by way of a search path.
    env.retain(|name, _| !matches!(name.as_str(), "PYTHONPATH" | "EDITOR" | "VISUAL"));
    env.insert(SERVED.to_owned(), "1".to_owned());
    Ok(Surroundings {
        workspace: world.root()?.to_owned(),
        env,
        variables: world.environment.variables.clone(),
        home: world.environment.home.clone(),
        reader: command_lines::read,
        data: world.cache_dir()?.join("mcp-data"),
        mode: world.mode(),
        // A server may well be a program with a large heap of its own.
        limits: Limits { memory: 8 << 30, ..Limits::default() },
        vouch: world.trust.vouch(),
    })
}

/// When tools of servers and plugins are kept from the model until it searches for them.
pub(crate) fn deferral(world: &World) -> Deferral {
    let number = |key: &str| {
        let value = world.config().mcp.get(key).and_then(Value::as_u64);
        value.and_then(|value| usize::try_from(value).ok()).unwrap_or(usize::MAX)
    };
    Deferral { tools: number("defer_above"), bytes: number("defer_bytes") }
}

/// Names and values of `NAME=VALUE` words.
pub(crate) fn pairs(words: &[String]) -> Result<BTreeMap<String, String>, Problem> {
    words
        .iter()
        .map(|word| {
            let (name, value) = word.split_once('=').ok_or_else(|| {
                Problem::misuse(format!("`{word}` is not of the form NAME=VALUE"))
            })?;
            if name.is_empty() {
                return Err(Problem::misuse(format!("`{word}` has no name")));
            }
            Ok((name.to_owned(), value.to_owned()))
        })
        .collect()
}
