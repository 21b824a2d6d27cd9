//! `mcp`: servers of tools, and our tools as a server.

mod login;
mod serving;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use ::files::yaml;
use ::mcp::config::foreign;
use ::mcp::config::{
    ConfigProblem, EditError, FileKind, ProblemKind, Scope, ServerFile, Source, unpinned_package,
};
use ::mcp::{ApprovedChanges, CatalogState, ServerStatus, serve, tool_name};
use contract::secret::Secret;
use contract::text::visible;
use plugins::env::home_relative;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::args::{McpAddArgs, McpCommand, McpScope};
use crate::assemble::assembly::Assembly;
use crate::assemble::audit::Audit;
use crate::assemble::mcp::{self, problem};
use crate::assemble::run_context::RunContext;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;
use crate::signals::Signals;
use serving::ServingHost;

/// Runs an `mcp` command.
pub(crate) async fn run(assembly: &Assembly, command: &McpCommand) -> Outcome {
    match command {
        McpCommand::Add(args) => add(assembly, args),
        McpCommand::List => list(assembly),
        McpCommand::Remove { name, scope } => remove(assembly, name, *scope),
        McpCommand::Test { name } => test(assembly, name).await,
        McpCommand::Approve { name } => approve(assembly, name).await,
        McpCommand::Import { file, scope, unpinned } => {
            import(assembly, file, *scope, Versions::wanted(*unpinned))
        }
        McpCommand::Login(args) => login::login(assembly, args).await,
        McpCommand::Logout { name } => login::logout(assembly, name),
        McpCommand::Serve { http: None, .. } => offer(assembly, Offered::Streams).await,
        McpCommand::Serve { http: Some(address), token_env, no_token, .. } => {
            let token = match token(assembly, token_env.as_deref())? {
                None if !no_token => Token::Made(serve::token().map_err(problem)?),
                None => Token::None,
                Some(token) => Token::Given(token),
            };
            offer(assembly, Offered::At(*address, token)).await
        }
    }
}

fn add(run: &RunContext, args: &McpAddArgs) -> Outcome {
    let mut entry = Map::new();
    if let Some(url) = &args.url {
        entry.insert("type".to_owned(), json!("http"));
        entry.insert("url".to_owned(), json!(url));
        let headers = pairs(&args.headers)?;
        if !headers.is_empty() {
            entry.insert("headers".to_owned(), json!(headers));
        }
    } else {
        let (command, rest) = args
            .command
            .split_first()
            .ok_or_else(|| Problem::misuse("name a program after `--`, or an address"))?;
        entry.insert("command".to_owned(), json!(command));
        if !rest.is_empty() {
            entry.insert("args".to_owned(), json!(rest));
        }
        let env = pairs(&args.env)?;
        if !env.is_empty() {
            entry.insert("env".to_owned(), json!(env));
        }
        let grants = grants(run, args);
        if !grants.is_empty() {
            if args.scope == McpScope::Project {
                return Err(Problem::misuse("a project's server cannot grant itself anything")
                    .hint(format!(
                        "set `mcp.servers.{}.sandbox` in your own configuration",
                        args.name
                    )));
            }
            entry.insert("sandbox".to_owned(), Value::Object(grants));
        }
    }
    let mut entries = Map::from_iter([(args.name.clone(), Value::Object(entry))]);
    pin(&mut entries, args.scope, Versions::wanted(args.unpinned))?;
    let path = write(run, args.scope, &entries, args.force)?;
    // What follows may hold a key.
    let address = args.url.as_deref().map(|url| url.split(['?', '#']).next().unwrap_or(url));
    let program = args.command.first().map(String::as_str);
    let what = address.or(program).unwrap_or_default();
    let audit = Audit::new(run.config_dir()?);
    audit.note_or_tell("server added", &format!("{}: {what}", args.name), run.root().ok());
    told(run, &[&args.name], &path, args.scope)
}

/// The grants of the flags to a program.
fn grants(run: &RunContext, args: &McpAddArgs) -> Map<String, Value> {
    // A shell leaves `~` alone in quotes.
    let full = |path: &std::path::PathBuf| {
        run.environment.cwd.join(home_relative(run.environment.home.as_deref(), path))
    };
    let paths = |paths: &[std::path::PathBuf]| paths.iter().map(full).collect::<Vec<_>>();
    let mut grants = Map::new();
    if args.allow_network {
        grants.insert("network".to_owned(), json!(true));
    }
    for (key, named) in [("read", &args.allow_read), ("write", &args.allow_write)] {
        if !named.is_empty() {
            grants.insert(key.to_owned(), json!(paths(named)));
        }
    }
    grants
}

/// Writes servers into the file of a scope, after a check of each.
fn write(
    run: &RunContext,
    scope: McpScope,
    entries: &Map<String, Value>,
    force: bool,
) -> Result<std::path::PathBuf, Problem> {
    for (name, entry) in entries {
        for warning in check(run, name, entry)? {
            output::warning(&warning);
        }
    }
    let mut file = open_file(run, scope)?;
    let servers = file.servers().map_err(edit_problem)?;
    if let Some(name) = entries.keys().find(|it| servers.contains_key(*it)).filter(|_| !force) {
        return Err(Problem::misuse(format!("there is a server `{name}` already"))
            .hint("`--force` replaces it; `brynhild mcp remove` removes it"));
    }
    servers.extend(entries.clone());
    let path = file.path.clone();
    file.save()?;
    Ok(path)
}

/// The file for the servers of a scope.
fn open_file(run: &RunContext, scope: McpScope) -> Result<ServerFile, Problem> {
    let kind = match scope {
        McpScope::User => FileKind::User,
        McpScope::Project => FileKind::Project,
    };
    ServerFile::open(mcp::file(run, scope)?, kind).map_err(edit_problem)
}

fn edit_problem(error: EditError) -> Problem {
    match error {
        EditError::Content(text) => Problem::misuse(text),
        EditError::Io(error) => error.into(),
    }
}

/// Refuses an entry that could not be used. Returns warnings about its parts.
fn check(run: &RunContext, name: &str, entry: &Value) -> Result<Vec<String>, Problem> {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    if !is_plain || tool_name::prefix(name).is_none() {
        return Err(Problem::misuse(format!("`{}` cannot be a server's name", visible(name)))
            .hint("use letters, digits, `_`, `-` and `.`"));
    }
    let mut document = Map::new();
    document.insert(name.to_owned(), entry.clone());
    let source = Source {
        origin: "this".to_owned(),
        scope: Scope::User,
        document: json!({"mcpServers": document}),
    };
    let parsed = ::mcp::config::read(&[source], &mcp::variables(run));
    // A variable may be set where the server is used.
    let left_out = parsed.problems.iter().find(|it| it.kind == ProblemKind::LeftOut);
    match left_out {
        Some(problem) => Err(Problem::misuse(problem.message())),
        None => Ok(parsed.problems.iter().map(ConfigProblem::message).collect()),
    }
}

/// Which versions of packages the user wants.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Versions {
    /// Those that are named.
    Named,
    /// The newest, whatever it is.
    Newest,
}

impl Versions {
    fn wanted(is_unpinned: bool) -> Self {
        if is_unpinned { Self::Newest } else { Self::Named }
    }
}

/// Refuses entries that would run whatever version is newest, or notes that the user wants it. A
/// project's file cannot say that: the question for trust does.
fn pin(
    entries: &mut Map<String, Value>,
    scope: McpScope,
    versions: Versions,
) -> Result<(), Problem> {
    let mut refused = Vec::new();
    for (name, entry) in entries {
        // What a file of others says of itself is not the user's wish.
        let Some(package) = unpinned_package(entry) else { continue };
        match (versions, entry.as_object_mut()) {
            (Versions::Newest, Some(entry)) if scope == McpScope::User => {
                entry.insert("unpinned".to_owned(), Value::Bool(true));
            }
            (Versions::Newest, _) => {}
            (Versions::Named, _) => refused.push(format!("`{name}` {}", package.describe())),
        }
    }
    if refused.is_empty() {
        return Ok(());
    }
    Err(Problem::misuse(format!("nothing was added: {}", refused.join("; ")))
        .hint("`--unpinned` adds it as it is: it may then be another program at every start"))
}

fn told(run: &RunContext, names: &[&str], path: &Path, scope: McpScope) -> Outcome {
    if run.wants_json() {
        output::json(&json!({"added": names, "file": path}))?;
    } else {
        output::told(format_args!("Added {} to {}", names.join(", "), path.display()))?;
    }
    if scope == McpScope::Project {
        output::hint("`brynhild trust` lets what the project brings have an effect");
    }
    Ok(Exit::Done)
}

fn list(assembly: &Assembly) -> Outcome {
    let found = mcp::discover(assembly);
    let problems = found.warnings;
    let statuses = mcp::with_servers(assembly, found.servers, None)?.statuses();
    if assembly.wants_json() {
        output::json(&json!({"servers": statuses, "problems": problems}))?;
        return Ok(Exit::Done);
    }
    for problem in &problems {
        output::warning(problem);
    }
    if statuses.is_empty() {
        output::hint("`brynhild mcp add NAME -- COMMAND` adds a server");
        return Ok(Exit::Done);
    }
    let mut rows = vec![["NAME", "STATE", "TOOLS", "SCOPE", "TARGET"].map(str::to_owned).to_vec()];
    rows.extend(statuses.iter().map(|status| {
        vec![
            status.name.clone(),
            state(status.state).to_owned(),
            if status.tools.is_empty() { String::new() } else { status.tools.len().to_string() },
            status.scope.clone(),
            status.target.clone(),
        ]
    }));
    output::line(output::table(&rows).trim_end())?;
    for status in &statuses {
        let name = &status.name;
        for what in &status.left_out {
            output::hint(&visible(&format!("a tool of `{name}` is left out: {what}")));
        }
    }
    Ok(Exit::Done)
}

fn state(state: CatalogState) -> &'static str {
    match state {
        CatalogState::Disabled => "off",
        CatalogState::Unknown => "not started yet",
        CatalogState::Known => "known",
        CatalogState::Changed => "changed",
        CatalogState::Failed => "failed",
    }
}

fn remove(assembly: &Assembly, name: &str, scope: Option<McpScope>) -> Outcome {
    let scopes = scope.map_or(vec![McpScope::User, McpScope::Project], |scope| vec![scope]);
    for scope in scopes {
        if scope == McpScope::Project && assembly.root().is_err() {
            continue;
        }
        let mut file = open_file(assembly, scope)?;
        let is_removed = file.servers().map_err(edit_problem)?.shift_remove(name).is_some();
        if is_removed {
            let path = file.path.clone();
            file.save()?;
            if assembly.wants_json() {
                output::json(&json!({"removed": name, "file": path}))?;
            } else {
                output::told(format_args!("Removed {name} from {}", path.display()))?;
            }
            return Ok(Exit::Done);
        }
    }
    let problem = Problem::failed(format!("no file has a server `{name}`"));
    let is_configured = mcp::discover(assembly).servers.iter().any(|server| server.name == name);
    Err(if is_configured {
        problem.hint("it stands in your configuration: remove `mcp.servers` of that name there")
    } else {
        problem.hint("`brynhild mcp list` shows what there is")
    })
}

async fn test(assembly: &Assembly, name: &str) -> Outcome {
    let servers = mcp::open(assembly)?;
    let tested = servers.test(name).await;
    servers.shutdown().await;
    let status = tested.map_err(problem)?;
    if assembly.wants_json() {
        output::json(&status)?;
        return Ok(Exit::Done);
    }
    output::line(describe(&status))?;
    Ok(Exit::Done)
}

fn describe(status: &ServerStatus) -> String {
    let unknown = || "unknown".to_owned();
    let mut lines = vec![
        format!("{} answers: {}", status.name, status.server.clone().unwrap_or_else(unknown)),
        format!("protocol: {}", status.protocol.clone().unwrap_or_else(unknown)),
    ];
    let told = status.instructions.iter().flat_map(|words| words.lines());
    lines.extend(told.map(|line| format!("instructions: {line}")));
    lines.extend(status.hidden.iter().map(|what| format!("warning: {what}")));
    lines.extend(status.tools.iter().map(|tool| format!("tool: {tool}")));
    lines.extend(status.left_out.iter().map(|what| format!("left out: {what}")));
    lines.extend(status.prompts.iter().map(|prompt| format!("prompt: /{prompt}")));
    if status.resources {
        lines.push("it has resources".to_owned());
    }
    for change in &status.changes {
        lines.push(change["change"].as_str().unwrap_or_default().trim_end().to_owned());
    }
    let lines: Vec<String> = lines.iter().map(|line| visible(line).into_owned()).collect();
    lines.join("\n")
}

async fn approve(assembly: &Assembly, name: &str) -> Outcome {
    let servers = mcp::open(assembly)?;
    let approved = servers.approve(name).await;
    servers.shutdown().await;
    let ApprovedChanges { files, changes } = approved.map_err(problem)?;
    if assembly.wants_json() {
        let rows: Vec<Value> =
            changes.iter().map(|(tool, change)| json!({"tool": tool, "change": change})).collect();
        output::json(&json!({"approved": rows, "files": files}))?;
        return Ok(Exit::Done);
    }
    if changes.is_empty() && files.is_empty() {
        output::told(format_args!("{name} offers what you agreed to"))?;
    }
    for file in files {
        output::line(visible(&format!("{file}: {name} runs it as it is from here on")))?;
    }
    for (tool, change) in changes {
        output::told(format_args!("{tool}: {}", change.trim_end()))?;
    }
    Ok(Exit::Done)
}

fn import(run: &RunContext, file: &Path, scope: McpScope, versions: Versions) -> Outcome {
    let path = run.environment.cwd.join(file);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Problem::misuse(format!("cannot read {}: {error}", path.display())))?;
    let wrong =
        |problem: String| Problem::misuse(format!("{} cannot be read: {problem}", path.display()));
    let document: Value = match path.extension().and_then(|it| it.to_str()).unwrap_or_default() {
        "toml" => {
            let table: toml::Table = toml::from_str(&text).map_err(|it| wrong(it.to_string()))?;
            serde_json::to_value(table)?
        }
        "yaml" | "yml" => yaml::value(&text).map_err(|it| wrong(it.to_string()))?,
        _ => foreign::lenient_json(&text).map_err(wrong)?,
    };
    let entries = ::mcp::config::entries(&document).map_err(wrong)?;
    let is_server = |value: &Value| {
        ["command", "cmd", "url", "httpUrl", "serverUrl", "uri"]
            .iter()
            .any(|key| value.get(key).is_some())
    };
    let (entries, others): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|(_, value)| is_server(value));
    if entries.is_empty() {
        return Err(wrong("it describes no server".to_owned()));
    }
    let left_out = |(name, entry): (String, Value)| match check(run, &name, &entry) {
        Err(problem) => problem,
        Ok(_) => Problem::misuse(format!(
            "server `{name}` is left out: it has neither `command` nor `url`"
        )),
    };
    let mut problems: Vec<Problem> = others.into_iter().map(left_out).collect();
    let mut translated = Map::new();
    for (name, entry) in entries {
        match foreign::translated(&entry) {
            Ok(entry) => {
                let (entry, left_out) = foreign::imported(&name, &entry);
                let told = left_out.into_iter().map(|what| format!("server `{name}` {what}"));
                problems.extend(told.map(Problem::misuse));
                translated.insert(name, entry);
            }
            Err(what) => {
                problems.push(Problem::misuse(format!("server `{name}` is left out: {what}")));
            }
        }
    }
    let (mut entries, unusable) = usable(run, translated);
    problems.extend(unusable);
    if entries.is_empty() {
        let problems = problems.iter().map(Problem::message).collect::<Vec<_>>();
        return Err(wrong(problems.join("; ")));
    }
    for problem in &problems {
        output::warning(&problem.message());
    }
    pin(&mut entries, scope, versions)?;
    let names: Vec<String> = entries.keys().cloned().collect();
    let path = write(run, scope, &entries, false)?;
    told(run, &names.iter().map(String::as_str).collect::<Vec<_>>(), &path, scope)
}

/// The entries that can be used, and what is wrong with the others.
fn usable(run: &RunContext, entries: Map<String, Value>) -> (Map<String, Value>, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut usable = Map::new();
    for (name, entry) in entries {
        match check(run, &name, &entry) {
            Ok(_) => {
                usable.insert(name, entry);
            }
            Err(problem) => problems.push(problem),
        }
    }
    (usable, problems)
}

/// Where our tools are offered.
enum Offered {
    Streams,
    At(SocketAddr, Token),
}

/// The token that clients at an address have to send.
enum Token {
    Given(Secret<String>),
    Made(Secret<String>),
    None,
}

/// Offers our tools until the client leaves or we are told to stop.
async fn offer(assembly: &Assembly, offered: Offered) -> Outcome {
    if let Offered::At(address, _) = &offered
        && !address.ip().is_loopback()
    {
        return Err(Problem::misuse(format!("{address} can be reached by other machines"))
            .hint("name an address of this machine, such as 127.0.0.1:0"));
    }
    let root = assembly.root()?.to_owned();
    // Servers read at the handshake that they may ask, so this comes before they start.
    let clients = assembly.services.clients.get_or_init(Arc::default);
    let (backend, background) = Box::pin(ServingHost::backend(assembly, &root, clients)).await?;
    let backend = Arc::new(backend);
    let served = Arc::clone(&backend);
    let cancel = CancellationToken::new();
    let mut signals = Signals::new()?;
    let serving = async {
        match offered {
            Offered::Streams => {
                let (read, write) = (tokio::io::stdin(), tokio::io::stdout());
                serve::streams(served, read, write, cancel.clone()).await
            }
            Offered::At(address, token) => {
                let (token, told) = match token {
                    Token::None => (None, String::new()),
                    Token::Given(token) => (Some(token), String::new()),
                    Token::Made(token) => {
                        let told = format!(" with `Authorization: Bearer {}`", token.expose());
                        (Some(token), told)
                    }
                };
                let ready = |url: &str| {
                    clients.set_own_address(url);
                    output::hint(&format!("tools are offered at {url}{told}"));
                };
                serve::http(served, address, token, cancel.clone(), ready).await
            }
        }
        .map_err(problem)
    };
    tokio::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served.map(|()| Exit::Done),
        exit = signals.next() => {
            cancel.cancel();
            serving.await.map(|()| exit)
        }
    };
    backend.close().await;
    background.close().await;
    served
}

/// Names and values of `NAME=VALUE` words.
fn pairs(words: &[String]) -> Result<BTreeMap<String, String>, Problem> {
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

/// The secret in a variable.
fn token(run: &RunContext, name: Option<&str>) -> Result<Option<Secret<String>>, Problem> {
    let Some(name) = name else { return Ok(None) };
    let value = run.environment.variable(name);
    let value = value.ok_or_else(|| Problem::misuse(format!("variable `{name}` is not set")))?;
    Ok(Some(Secret::new(value.to_owned())))
}
