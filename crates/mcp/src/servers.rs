//! All configured servers together: the tools, prompts and resources that they bring.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::sandbox::Sandbox;
use contract::text::head;
use contract::tool::Tool;
use futures::future::{BoxFuture, FutureExt as _, join_all};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::catalog::{Catalog, PromptEntry, ToolEntry};
use crate::config::{Scope, Server, Transport};
use crate::connection::Watch;
use crate::failure::Failure;
use crate::launch::Surroundings;
use crate::link::{Consent, Link};
use crate::name;
use crate::oauth::Credentials;
use crate::person::Person;
use crate::pins::Hashes;
use crate::prompts::{self, PromptCommand};
use crate::remote::Resolver;
use crate::resources::{self, Keeping};
use crate::schema;
use crate::tool::McpTool;

/// The most that the model reads of what one server tells of itself.
const LONGEST_INSTRUCTIONS: usize = 4000;

/// What servers work with.
pub struct Settings {
    /// The servers.
    pub servers: Vec<Server>,
    /// The directory in which is kept what they offer.
    pub cache: PathBuf,
    /// The directory in which is kept what the user agreed to of them.
    pub pins: PathBuf,
    /// The keys of those that the user signed in to.
    pub credentials: Credentials,
    /// Starts their programs.
    pub sandbox: Arc<dyn Sandbox>,
    /// What they find around themselves.
    pub surroundings: Surroundings,
    /// Answers them.
    pub person: Arc<dyn Person>,
    /// Takes what people should know.
    pub notice: Arc<dyn Fn(String) + Send + Sync>,
    /// Set where others are served beside a model: takes the addresses of resources that have
    /// changed. Results then keep what a model cannot see.
    pub others: Option<broadcast::Sender<String>>,
    /// Looks up the names in addresses of servers, where not any address will do.
    pub resolver: Option<Resolver>,
}

/// What all links share.
pub(crate) struct Shared {
    pub(crate) cache: PathBuf,
    pub(crate) pins: PathBuf,
    pub(crate) credentials: Credentials,
    pub(crate) sandbox: Arc<dyn Sandbox>,
    pub(crate) surroundings: Surroundings,
    /// The workspace, named without links.
    pub(crate) root: PathBuf,
    pub(crate) person: Arc<dyn Person>,
    pub(crate) notice: Arc<dyn Fn(String) + Send + Sync>,
    pub(crate) others: Option<broadcast::Sender<String>>,
    pub(crate) resolver: Option<Resolver>,
    pub(crate) hashes: Hashes,
}

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    contract::id::Timestamp::now().0.as_second()
}

/// All configured servers.
pub struct Servers {
    shared: Arc<Shared>,
    links: Vec<Arc<Link>>,
    /// What tools were made of when somebody last asked for them, or whether they have changed.
    offered: Mutex<Offered>,
}

/// A server that is being asked what it offers, and what comes of it.
pub struct Learning {
    /// Its name.
    pub server: String,
    /// Whether it was asked before, in vain.
    pub was_tried: bool,
    /// Goes on until it has answered, or failed.
    pub learned: BoxFuture<'static, Result<(), Failure>>,
}

/// How much is known of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is switched off.
    Disabled,
    /// It was never started.
    Unknown,
    /// What it offers is known.
    Known,
    /// Some of what it offers has changed since the user agreed to it.
    Changed,
    /// It could not be started.
    Failed,
}

/// A server as people see it.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// Whose word it is.
    pub scope: String,
    /// The file it stands in.
    pub origin: String,
    /// `stdio` or `http`.
    pub transport: &'static str,
    /// Its command line or address.
    pub target: String,
    /// How much is known of it.
    pub state: State,
    /// The revision of the protocol it speaks.
    pub protocol: Option<String>,
    /// Its name for itself.
    pub server: Option<String>,
    /// What it tells the model of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// What of its words is kept from the model because nobody would see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<String>,
    /// Its tools, under the names the model calls.
    pub tools: Vec<String>,
    /// Those that are left out, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Its prompts, as commands.
    pub prompts: Vec<String>,
    /// Whether it has resources.
    pub resources: bool,
    /// A hash over what the model reads of it.
    pub digest: Option<String>,
    /// What waits for the user's consent.
    pub changes: Vec<Value>,
    /// Why it could not be started.
    pub error: Option<String>,
}

/// What a user has agreed to.
pub struct Approved {
    /// The files of its program that were not what they had agreed to.
    pub files: Vec<String>,
    /// What has changed of its tools, in words, by tool.
    pub changes: Vec<(String, String)>,
}

/// What tools were made of.
#[derive(Default)]
struct Offered {
    catalogs: Vec<Arc<Catalog>>,
    /// The tools that nobody has agreed to yet.
    added: Vec<String>,
}

impl Offered {
    /// Whether a model would read the same.
    fn reads_as(&self, other: &Self) -> bool {
        let is_same = |(a, b): (&Arc<Catalog>, &Arc<Catalog>)| {
            Arc::ptr_eq(a, b) || (a.tools == b.tools && a.instructions == b.instructions)
        };
        self.added == other.added
            && self.catalogs.len() == other.catalogs.len()
            && self.catalogs.iter().zip(&other.catalogs).all(is_same)
    }
}

impl Servers {
    /// Reads what is kept of servers. Starts nothing.
    pub fn new(settings: Settings) -> Self {
        let workspace = &settings.surroundings.workspace;
        let shared = Arc::new(Shared {
            root: workspace.canonicalize().unwrap_or_else(|_| workspace.clone()),
            cache: settings.cache,
            pins: settings.pins,
            credentials: settings.credentials,
            sandbox: settings.sandbox,
            surroundings: settings.surroundings,
            person: settings.person,
            notice: settings.notice,
            others: settings.others,
            resolver: settings.resolver,
            hashes: Hashes::default(),
        });
        let link = |server| Arc::new(Link::new(server, Arc::clone(&shared)));
        let links = settings.servers.into_iter().map(link).collect();
        Self::of(shared, links)
    }

    /// Whether these are the servers, as they are described.
    pub fn are(&self, servers: &[Server]) -> bool {
        self.links.iter().map(|link| &link.server).eq(servers)
    }

    /// The same with other servers: those that are described as before go on as they are, and what
    /// ran for the others ends.
    pub async fn replaced(&self, servers: Vec<Server>) -> Self {
        let known = |server: &Server| self.links.iter().find(|link| link.server == *server);
        let link = |server: Server| match known(&server) {
            Some(link) => Arc::clone(link),
            None => Arc::new(Link::new(server, Arc::clone(&self.shared))),
        };
        let links: Vec<Arc<Link>> = servers.into_iter().map(link).collect();
        let stays = |link: &Arc<Link>| links.iter().any(|other| Arc::ptr_eq(link, other));
        join_all(self.links.iter().filter(|link| !stays(link)).map(|link| link.close())).await;
        Self::of(Arc::clone(&self.shared), links)
    }

    fn of(shared: Arc<Shared>, links: Vec<Arc<Link>>) -> Self {
        let servers = Self { shared, links, offered: Mutex::default() };
        servers.is_offer_new();
        servers
    }

    fn active(&self) -> Vec<Arc<Link>> {
        self.links.iter().filter(|link| link.server.enabled).cloned().collect()
    }

    fn link(&self, name: &str) -> Result<&Arc<Link>, Failure> {
        self.links.iter().find(|link| link.server.name == name).ok_or_else(|| {
            let names: Vec<&str> =
                self.links.iter().map(|link| link.server.name.as_str()).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Failure::hinted(format!("there is no MCP server `{name}`"), format!("known: {known}"))
        })
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The names of servers of which it is not known what they offer, and that would be asked.
    pub fn unknown(&self) -> Vec<String> {
        let unknown = self.active().into_iter().filter(|link| link.is_unknown());
        unknown.map(|link| link.server.name.clone()).collect()
    }

    /// Starts, all at once, the servers of which nothing is known. Returns what went wrong.
    pub async fn learn(&self) -> Vec<Failure> {
        let learned = join_all(self.learning().into_iter().map(|it| it.learned)).await;
        learned.into_iter().filter_map(Result::err).collect()
    }

    /// The servers of which nothing is known, to be started one beside the other.
    pub fn learning(&self) -> Vec<Learning> {
        let unknown = self.active().into_iter().filter(|it| it.is_unknown() && !it.is_starting());
        let learning = unknown.map(|link| Learning {
            server: link.server.name.clone(),
            was_tried: link.was_tried(),
            learned: async move { link.learn().await }.boxed(),
        });
        learning.collect()
    }

    /// Notes which servers were waited for in vain: the next start does not wait for them.
    pub fn note_wait(&self, waited: Duration) {
        self.active().iter().for_each(|link| link.note_wait(waited));
    }

    /// The names of servers that are being started to learn what they offer.
    pub fn starting(&self) -> Vec<String> {
        let starting = self.active().into_iter().filter(|link| link.is_starting());
        starting.map(|link| link.server.name.clone()).collect()
    }

    /// Why servers are left alone that could not be started a short while ago.
    pub fn troubles(&self) -> Vec<String> {
        let left_alone = self.active().into_iter().filter(|link| !link.is_unknown());
        left_alone.filter_map(|link| link.trouble()).collect()
    }

    /// The tools as a model is offered them: those of servers, and those that come with them.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.active().iter().for_each(|link| link.tell_hidden());
        self.is_offer_new();
        let mut tools = self.of_resources(Keeping::Words);
        tools.extend(self.of_servers().into_iter().map(|tool| tool as Arc<dyn Tool>));
        tools
    }

    /// The same for people and for other agents: results keep what a model cannot see.
    pub fn all_tools(&self) -> Vec<Arc<dyn Tool>> {
        self.is_offer_new();
        let mut tools = self.of_resources(Keeping::Words);
        for tool in self.of_servers() {
            tool.keep_content();
            tools.push(tool);
        }
        tools
    }

    /// What servers tell the model of themselves, as far as the user agreed to it.
    pub fn instructions(&self) -> Vec<(String, String)> {
        let told = self.active().into_iter().filter_map(|link| {
            let catalog = link.catalog()?;
            let words = schema::clean(&catalog.instructions);
            let words = head(words.trim(), LONGEST_INSTRUCTIONS).to_owned();
            (!words.is_empty()).then(|| (link.server.name.clone(), words))
        });
        told.collect()
    }

    /// The tool of a server by the names that the server and its description have, with whose word
    /// the server is.
    pub fn tool(&self, server: &str, tool: &str) -> Option<(Arc<dyn Tool>, Scope)> {
        let found = self.of_servers().into_iter().find(|it| it.is(server, tool))?;
        let scope = found.scope();
        Some((found, scope))
    }

    fn of_servers(&self) -> Vec<Arc<McpTool>> {
        let mut taken = BTreeSet::new();
        let mut of_servers = Vec::new();
        for link in &self.active() {
            let (catalog, added) = (link.catalog().unwrap_or_default(), link.added());
            let entries = catalog.tools.iter().chain(&added);
            of_servers.extend(named(link, entries, &mut taken).into_iter().map(Arc::new));
        }
        of_servers
    }

    fn of_resources(&self, keeping: Keeping) -> Vec<Arc<dyn Tool>> {
        let has_resources = |link: &Arc<Link>| link.has_resources();
        let with_resources: Vec<_> = self.active().into_iter().filter(has_resources).collect();
        resources::tools(&with_resources, keeping)
    }

    /// The tools that list and read resources, whose results hold these as they came; with the names
    /// of the servers that have some.
    pub fn resource_tools(&self) -> (Vec<Arc<dyn Tool>>, Vec<String>) {
        let with_resources = self.active().into_iter().filter(|link| link.has_resources());
        let names = with_resources.map(|link| link.server.name.clone()).collect();
        (self.of_resources(Keeping::Contents), names)
    }

    /// Has a server tell when a resource changes, or no longer.
    pub async fn watch(&self, server: &str, uri: &str, watch: Watch) -> Result<(), Failure> {
        self.link(server)?.connect(Consent::None).await?.watch(uri, watch).await
    }

    /// The prompts of servers, as commands.
    pub fn commands(&self) -> Vec<PromptCommand> {
        prompts::commands(&self.active()).into_iter().map(|(command, ..)| command).collect()
    }

    /// The text of a prompt, where `name` is one of [`Servers::commands`].
    pub async fn prompt(&self, name: &str, typed: &str) -> Result<String, Failure> {
        let commands = prompts::commands(&self.active());
        let found = commands.into_iter().find(|(command, ..)| command.name == name);
        let Some((_, link, entry)) = found else {
            return Err(Failure::new(format!("no MCP server has a prompt `{name}`")));
        };
        prompts::expand(&link, &entry, typed).await
    }

    /// The prompts of servers, each with the name of its command.
    pub fn prompts(&self) -> Vec<(String, PromptEntry)> {
        let commands = prompts::commands(&self.active()).into_iter();
        commands.map(|(command, _, entry)| (command.name, entry)).collect()
    }

    /// The messages of a prompt as its server gives them, where `name` is that of its command.
    pub async fn messages(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<Value, Failure> {
        let commands = prompts::commands(&self.active());
        let found = commands.into_iter().find(|(command, ..)| command.name == name);
        let Some((_, link, entry)) = found else {
            return Err(Failure::new(format!("no MCP server has a prompt `{name}`")));
        };
        let values = arguments.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
        let given = prompts::given(&link, &entry, values.collect()).await?;
        serde_json::to_value(given.messages)
            .map_err(|error| Failure::new(format!("the prompt `{name}` makes no sense: {error}")))
    }

    /// What tools are made of, as far as it is known.
    fn offer(&self) -> Offered {
        let links = self.active();
        let added = links.iter().flat_map(|link| link.added()).map(|entry| entry.name);
        Offered {
            catalogs: links.iter().filter_map(|link| link.catalog()).collect(),
            added: added.collect(),
        }
    }

    /// Takes note of what tools are made of now. Whether that is something new.
    fn is_offer_new(&self) -> bool {
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *offered, self.offer());
        !offered.reads_as(&before)
    }

    /// Asks running servers again that said they changed. Returns whether [`Servers::tools`] gives
    /// others than when it was last asked for them, or this was asked.
    pub async fn refresh(&self) -> bool {
        join_all(self.active().iter().map(|link| link.refresh())).await;
        self.is_offer_new()
    }

    /// All servers as people see them.
    pub fn statuses(&self) -> Vec<Status> {
        self.links.iter().map(status).collect()
    }

    /// Starts a server afresh and says what it offers.
    pub async fn test(&self, name: &str) -> Result<Status, Failure> {
        let link = self.link(name)?;
        link.connect(Consent::None).await?;
        Ok(status(link))
    }

    /// Agrees to everything that has changed of a server.
    pub async fn approve(&self, name: &str) -> Result<Approved, Failure> {
        let link = self.link(name)?;
        let files = link.other_files().await;
        link.connect(Consent::Person).await?;
        let changes = link.pending();
        link.settle_all();
        Ok(Approved { files, changes })
    }

    /// Ends all conversations and programs, together.
    pub async fn shutdown(&self) {
        join_all(self.links.iter().map(|link| link.close())).await;
    }
}

/// The tools of entries in their order. One whose name needs no change has it before others get it.
fn named<'a>(
    link: &Arc<Link>,
    entries: impl IntoIterator<Item = &'a ToolEntry>,
    taken: &mut BTreeSet<String>,
) -> Vec<McpTool> {
    let entries = entries.into_iter();
    let admitted = entries.filter(|entry| link.server.filter.admits(&entry.name));
    let mut order: Vec<(usize, &ToolEntry)> = admitted.enumerate().collect();
    order.sort_by_key(|(_, entry)| !name::is_plain(&entry.name));
    let made = order.into_iter().map(|(at, entry)| (at, McpTool::new(link, entry, taken)));
    let mut tools: Vec<(usize, McpTool)> = made.collect();
    tools.sort_by_key(|(at, _)| *at);
    tools.into_iter().map(|(_, tool)| tool).collect()
}

/// Why a tool is left out.
fn left_out(tool: &str) -> String {
    format!("{tool}: it can be run as a task only, which is not supported")
}

fn status(link: &Arc<Link>) -> Status {
    let server = &link.server;
    let transport = match &server.transport {
        Transport::Stdio(_) => "stdio",
        Transport::Http(_) => "http",
    };
    let catalog = link.catalog();
    let pending = link.pending();
    let error = link.trouble();
    let state = match (&catalog, &error) {
        _ if !server.enabled => State::Disabled,
        (_, Some(_)) => State::Failed,
        (None, None) => State::Unknown,
        (Some(_), None) if pending.is_empty() => State::Known,
        (Some(_), None) => State::Changed,
    };
    let tools = catalog.as_ref().map_or(&[][..], |it| &it.tools);
    let tools = named(link, tools, &mut BTreeSet::new());
    let tools = tools.iter().map(|tool| tool.spec().name.clone()).collect();
    let prompts = prompts::commands(std::slice::from_ref(link));
    let filled = |text: String| Some(text).filter(|text| !text.is_empty());
    let of = |pick: fn(&Catalog) -> String| catalog.as_deref().map(pick).and_then(filled);
    Status {
        name: server.name.clone(),
        scope: server.scope.label(),
        origin: server.origin.clone(),
        transport,
        target: server.shown.clone(),
        state,
        protocol: of(|it| it.protocol.clone()),
        server: of(|it| it.server.clone()),
        instructions: of(|it| it.instructions.clone()),
        hidden: catalog.as_deref().and_then(schema::report),
        tools,
        left_out: catalog.iter().flat_map(|it| &it.tasks).map(|tool| left_out(tool)).collect(),
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
