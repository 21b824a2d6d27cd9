//! `mcp`: servers of tools, and our tools as a server.

mod login;
mod serving;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::mcp::config::foreign;
use ::mcp::config::{
    ConfigProblem, EditError, FileKind, ProblemKind, Scope, ServerFile, Source, unpinned_package,
};
use ::mcp::{ApprovedChanges, CatalogState, ServerStatus, serve, tool_name};
use args::{McpAddArgs, McpCommand, McpScope};
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::mcp::{self, problem};
use assemble::run_context::RunContext;
use assemble::signals::Signals;
use assemble::{audit, output};
use contract::secret::Secret;
use contract::text::visible;
use formats::yaml;
use plugins::env::home_relative;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::grant;
use serving::ServingHost;

pub(crate) async fn run(assembly: &Assembly, command: &McpCommand) -> Outcome {
    match command {
        McpCommand::Add(args) => add(assembly, args),
        McpCommand::List => list(assembly),
        McpCommand::Remove { name, scope } => remove(assembly, name, *scope),
        McpCommand::Test { name } => test(assembly, name).await,
        McpCommand::Approve { name } => approve(assembly, name).await,
        McpCommand::Grant(args) => grant::server(assembly, args),
        McpCommand::Import { file, scope, unpinned } => import(assembly, file, *scope, *unpinned),
        McpCommand::Login(args) => login::login(assembly, args).await,
        McpCommand::Logout { name } => login::logout(assembly, name),
        McpCommand::Serve { http: None, .. } => serve_tools(assembly, None).await,
        McpCommand::Serve { http: Some(address), token_env, no_token, .. } => {
            let (mut token, mut hint) = (token(assembly, token_env.as_deref())?, String::new());
            if token.is_none() && !no_token {
                let created = serve::token().map_err(problem)?;
                hint = format!(" with `Authorization: Bearer {}`", created.expose());
                token = Some(created);
            }
            serve_tools(assembly, Some(HttpEndpoint { address: *address, token, hint })).await
        }
    }
}

fn add(run: &RunContext, args: &McpAddArgs) -> Outcome {
    let entry = if let Some(url) = &args.url {
        json!({"type": "http", "url": url, "headers": pairs(&args.headers)?})
    } else {
        let (command, rest) = args
            .command
            .split_first()
            .ok_or_else(|| Problem::misuse("name a program after `--`, or an address"))?;
        let grants = grants(run, args);
        if grants != json!({}) && args.scope == McpScope::Project {
            let hint =
                format!("`brynhild mcp grant {}` grants it in your configuration", args.name);
            return Err(
                Problem::misuse("a project's server cannot grant itself anything").hint(hint)
            );
        }
        json!({"command": command, "args": rest, "env": pairs(&args.env)?, "sandbox": grants})
    };
    let mut entries = Map::from_iter([(args.name.clone(), without_empty(entry))]);
    pin(&mut entries, args.scope, args.unpinned)?;
    let path = write(run, args.scope, &entries, args.force)?;
    // The query of an address may contain a key.
    let address = args.url.as_deref().map(|url| url.split(['?', '#']).next().unwrap_or(url));
    let program = args.command.first().map(String::as_str);
    let what = address.or(program).unwrap_or_default();
    let audit = audit::open(run.config_dir()?);
    audit.note_or_warn("server added", &format!("{}: {what}", args.name), run.root().ok());
    report_added(run, &[&args.name], &path, args.scope)
}

fn grants(run: &RunContext, args: &McpAddArgs) -> Value {
    // A shell does not expand `~` in quotes.
    let home = run.environment.home.as_deref();
    let full = |path: &PathBuf| run.environment.cwd.join(home_relative(home, path));
    let paths = |paths: &[PathBuf]| paths.iter().map(full).collect::<Vec<_>>();
    let network = args.allow_network.then_some(true);
    let (read, write) = (paths(&args.allow_read), paths(&args.allow_write));
    without_empty(json!({"network": network, "read": read, "write": write}))
}

/// An object without its fields that are null, `[]` or `{}`.
fn without_empty(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, it| ![Value::Null, json!([]), json!({})].contains(it));
    }
    object
}

/// Writes servers into the file of a scope, after a check of each.
fn write(
    run: &RunContext,
    scope: McpScope,
    entries: &Map<String, Value>,
    force: bool,
) -> Result<PathBuf, Problem> {
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
    let document = json!({"mcpServers": {name: entry}});
    let source = Source { origin: "this".to_owned(), scope: Scope::User, document };
    let parsed = ::mcp::config::read(&[source], &mcp::variables(run));
    // A variable may be set where the server is used.
    let left_out = parsed.problems.iter().find(|it| it.kind == ProblemKind::LeftOut);
    match left_out {
        Some(problem) => Err(Problem::misuse(problem.message())),
        None => Ok(parsed.problems.iter().map(ConfigProblem::message).collect()),
    }
}

/// Refuses entries that would run the newest version of a package, unless that is wanted. Then a
/// user's entry notes it; a project's file cannot, since the question for trust does.
fn pin(
    entries: &mut Map<String, Value>,
    scope: McpScope,
    is_unpinned: bool,
) -> Result<(), Problem> {
    let mut refused = Vec::new();
    for (name, entry) in entries {
        // An `unpinned` of an imported file is not the user's wish.
        let Some(package) = unpinned_package(entry) else { continue };
        if !is_unpinned {
            refused.push(format!("`{name}` {}", package.describe()));
        } else if scope == McpScope::User {
            entry["unpinned"] = true.into();
        }
    }
    if refused.is_empty() {
        return Ok(());
    }
    Err(Problem::misuse(format!("nothing was added: {}", refused.join("; ")))
        .hint("`--unpinned` adds it as it is: it may then be another program at every start"))
}

fn report_added(run: &RunContext, names: &[&str], path: &Path, scope: McpScope) -> Outcome {
    let text = format!("Added {} to {}", names.join(", "), path.display());
    run.report(&json!({"added": names, "file": path}), text)?;
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
    let row = |status: &ServerStatus| {
        let ServerStatus { name, scope, target, .. } = status;
        let tools = status.tools.len().to_string();
        let tools = if status.tools.is_empty() { "" } else { &tools };
        [name, state(status.state), tools, scope, target].map(str::to_owned)
    };
    let titles = ["NAME", "STATE", "TOOLS", "SCOPE", "TARGET"];
    output::text(output::titled_table(titles, statuses.iter().map(row)))?;
    for ServerStatus { name, left_out, .. } in &statuses {
        for what in left_out {
            output::hint(&format!("a tool of `{name}` is left out: {what}"));
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
            let text = format!("Removed {name} from {}", path.display());
            return assembly.report(&json!({"removed": name, "file": path}), text);
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
    assembly.report(&status, describe(&status))
}

fn describe(status: &ServerStatus) -> String {
    let unknown = || "unknown".to_owned();
    let mut lines = vec![
        format!("{} answers: {}", status.name, status.server.clone().unwrap_or_else(unknown)),
        format!("protocol: {}", status.protocol.clone().unwrap_or_else(unknown)),
    ];
    let instructions = status.instructions.iter().flat_map(|text| text.lines());
    lines.extend(instructions.map(|line| format!("instructions: {line}")));
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
    lines.join("\n")
}

async fn approve(assembly: &Assembly, name: &str) -> Outcome {
    let servers = mcp::open(assembly)?;
    let approved = servers.approve(name).await;
    servers.shutdown().await;
    let ApprovedChanges { files, changes } = approved.map_err(problem)?;
    let data = |(tool, change): &(_, _)| json!({"tool": tool, "change": change});
    let data: Vec<Value> = changes.iter().map(data).collect();
    let mut lines: Vec<String> = Vec::new();
    if changes.is_empty() && files.is_empty() {
        lines.push(format!("{name} equals the approved version"));
    }
    let file_line = |file: &String| format!("{file}: {name} runs it as it is from here on");
    lines.extend(files.iter().map(file_line));
    lines.extend(changes.iter().map(|(tool, change)| format!("{tool}: {}", change.trim_end())));
    assembly.report(&json!({"approved": data, "files": files}), lines.join("\n"))
}

fn import(run: &RunContext, file: &Path, scope: McpScope, is_unpinned: bool) -> Outcome {
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
    let mut usable = Map::new();
    for (name, entry) in entries {
        let entry = foreign::translated(&entry)
            .map_err(|what| Problem::misuse(format!("server `{name}` is left out: {what}")));
        let entry = entry.and_then(|entry| {
            let (entry, left_out) = foreign::imported(&name, &entry);
            let left_out = left_out.into_iter().map(|what| format!("server `{name}` {what}"));
            problems.extend(left_out.map(Problem::misuse));
            check(run, &name, &entry).map(|_| entry)
        });
        match entry {
            Ok(entry) => drop(usable.insert(name, entry)),
            Err(problem) => problems.push(problem),
        }
    }
    let mut entries = usable;
    if entries.is_empty() {
        let problems = problems.iter().map(Problem::message).collect::<Vec<_>>();
        return Err(wrong(problems.join("; ")));
    }
    for problem in &problems {
        output::warning(&problem.message());
    }
    pin(&mut entries, scope, is_unpinned)?;
    let names: Vec<String> = entries.keys().cloned().collect();
    let path = write(run, scope, &entries, false)?;
    report_added(run, &names.iter().map(String::as_str).collect::<Vec<_>>(), &path, scope)
}

struct HttpEndpoint {
    address: SocketAddr,
    /// The token that clients must send.
    token: Option<Secret<String>>,
    /// Tells the user a token that was created.
    hint: String,
}

/// Serves our tools, on standard input and output if there is no endpoint, until the client leaves
/// or a signal arrives.
async fn serve_tools(assembly: &Assembly, http: Option<HttpEndpoint>) -> Outcome {
    if let Some(HttpEndpoint { address, .. }) = &http
        && !address.ip().is_loopback()
    {
        return Err(Problem::misuse(format!("{address} can be reached by other machines"))
            .hint("name an address of this machine, such as 127.0.0.1:0"));
    }
    let root = assembly.root()?.to_owned();
    // Servers learn at the handshake that they may ask, so this comes before they start.
    let clients = assembly.services.clients.get_or_init(Arc::default);
    let (backend, background) = Box::pin(ServingHost::backend(assembly, &root, clients)).await?;
    let backend = Arc::new(backend);
    let served = Arc::clone(&backend);
    let cancel = CancellationToken::new();
    let mut signals = Signals::new()?;
    let serving = async {
        if let Some(HttpEndpoint { address, token, hint }) = http {
            let ready = |url: &str| {
                clients.set_own_address(url);
                output::hint(&format!("tools are offered at {url}{hint}"));
            };
            serve::http(served, address, token, cancel.clone(), ready).await
        } else {
            let (read, write) = (tokio::io::stdin(), tokio::io::stdout());
            serve::streams(served, read, write, cancel.clone()).await
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

fn token(run: &RunContext, name: Option<&str>) -> Result<Option<Secret<String>>, Problem> {
    let Some(name) = name else { return Ok(None) };
    let value = run.environment.variable(name);
    let value = value.ok_or_else(|| Problem::misuse(format!("variable `{name}` is not set")))?;
    Ok(Some(Secret::new(value.to_owned())))
}
