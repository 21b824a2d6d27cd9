//! The commands, one file each.

mod acp;
mod api;
mod approvals;
mod autonomous;
mod chat;
mod composed;
mod config;
mod contributions;
mod demo;
mod doctor;
mod earlier_messages;
mod evals;
mod grant;
mod hooks;
mod interactive;
mod live;
mod login;
mod logs;
mod mcp;
pub(crate) mod memory;
mod models;
mod permissions;
pub(crate) mod plugin;
mod repl;
mod role;
mod role_runner;
mod role_server;
mod sandbox;
mod schema;
mod serve;
pub(crate) mod session;
pub(crate) mod stats;
mod task_journal;
mod tools;
mod trust;
use std::collections::BTreeMap;
use std::io::{self, BufRead as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use args::{
    ChatArgs, Cli, Command, CommandCommand, ConfigCommand, Global, McpCommand, MemoryCommand,
    OutputFormat, PluginCommand, RunArgs, RunAudit, RunFormat, SandboxCommand, ToolsCommand,
};
use assemble::assembly::{Assembly, workers};
use assemble::environment::{self, Terminal};
use assemble::exit::{Exit, Outcome, Problem};
use assemble::output;
use assemble::run_context::RunContext;
use clap::CommandFactory;
use contract::text::{closest, head, visible};
use login::Start;
use serde_json::{Value, json};
use tokio::runtime::Builder;

pub(crate) fn run(mut cli: Cli) -> Outcome {
    if cli.global.version {
        output::line(format_args!("brynhild, version {}", env!("CARGO_PKG_VERSION")))?;
        return Ok(Exit::Done);
    }
    if let Some(directory) = &cli.global.cwd {
        environment::enter(directory).map_err(|error| {
            let text = format!("cannot work in {}: {error}", directory.display());
            Problem::misuse(text).hint("`--cwd` needs a directory that exists")
        })?;
    }
    cli.global.mcp_servers = assemble::mcp::given(&cli.global.mcp_config)?;
    match prompt_command(cli.command, &cli.global, &cli.chat)? {
        None => {
            let run = match login::first_start(conversation(cli.global)?)? {
                Start::Ready(run) => *run,
                Start::Demo(assembly) => return with_interface(demo::run(&assembly)),
                Start::Quit => return Ok(Exit::Misuse),
            };
            let words = Some(cli.chat.prompt.join(" ")).filter(|words| !words.trim().is_empty());
            if interactive::is_wanted(&run) {
                with_interface(interactive::run(Assembly::new(run), words))
            } else {
                asynchronously(repl::run_after(Assembly::new(trust::settled(run)?), words))
            }
        }
        Some(Command::Plugin { command: Some(PluginCommand::Dev(args)) })
            if args.call.is_empty() =>
        {
            let run = conversation(plugin::dev::conversation(cli.global, &args)?)?;
            asynchronously(repl::run_after(Assembly::new(trust::settled(run)?), None))
        }
        Some(Command::Acp { login: false }) => asynchronously(acp::run(cli.global)),
        Some(Command::Serve(args)) => asynchronously(serve::run(cli.global, args)),
        Some(Command::Schema { inputs }) => schema::print(inputs),
        Some(Command::Completions { shell }) => schema::completions(shell),
        Some(Command::Man) => schema::manual(),
        Some(Command::Stubs { install }) => schema::stubs(&cli.global, &install),
        Some(Command::Run(args)) if args.interactive && !args.dry_run => {
            let words = role::words(&args, &cli.global).1.join(" ");
            let words = Some(words).filter(|words| !words.trim().is_empty());
            let assembly = role_assembly(cli.global, &args)?;
            if interactive::is_wanted(&assembly) {
                with_interface(interactive::run(assembly, words))
            } else {
                asynchronously(repl::run_after(assembly, words))
            }
        }
        Some(Command::Config { command: Some(ConfigCommand::Path { all }) }) => {
            config::path(&cli.global, all)
        }
        Some(command) => {
            let wants_json = cli.global.format() == Some(OutputFormat::Json);
            let assembly = match assembly_for(cli.global, &command) {
                Ok(assembly) => assembly,
                Err(problem) if wants_json => return json_error(problem),
                Err(problem) => return Err(problem),
            };
            match dispatch(&assembly, command) {
                Err(problem) if assembly.wants_json() => json_error(problem),
                outcome => outcome,
            }
        }
    }
}

/// The command, or `chat` if there is none and the prompt is answered once. A word that looks like
/// a misspelled command is not a prompt.
fn prompt_command(
    command: Option<Command>,
    global: &Global,
    args: &ChatArgs,
) -> Result<Option<Command>, Problem> {
    if let Some(command) = command {
        let command = match command {
            Command::Flow(flow) => flow.into_command(),
            Command::A2a(a2a) => a2a.into_command(),
            other => other,
        };
        if *args == ChatArgs::default() {
            return Ok(Some(command));
        }
        return Err(Problem::misuse("an option of `chat` comes before another command")
            .hint("`brynhild COMMAND --help` lists the options of a command"));
    }
    let word = args.prompt.first().filter(|word| !word.contains(char::is_whitespace));
    if let Some(word) = word.filter(|_| !global.print) {
        let known = Cli::command();
        if let Some(similar) = closest(word, known.get_subcommands().map(clap::Command::get_name)) {
            return Err(Problem::misuse(format!("unrecognized subcommand '{word}'")).hint(format!(
                "a similar command is '{similar}'; `brynhild -p \"{word} …\"` sends it as a prompt"
            )));
        }
    }
    let terminal = Terminal::read();
    let has_words = !args.prompt.is_empty();
    let is_once = global.print
        || args.has_options()
        || !terminal.stdin && (has_words || !global.plain)
        || has_words && (!terminal.stdout || global.format().is_some());
    Ok(is_once.then(|| Command::Chat(args.clone())))
}

/// Reads the configuration for a conversation. Asks if the directory is too wide for a project.
fn conversation(global: Global) -> Result<RunContext, Problem> {
    let run = RunContext::for_conversation(global)?;
    let Some(root) = run.wide_root().filter(|_| run.can_ask() && !run.global.yes) else {
        return Ok(run);
    };
    let holds_home = run.environment.home.as_ref().is_some_and(|home| home.starts_with(root));
    let limit = if holds_home { ", but not run commands, since these never see it" } else { "" };
    let question = format!(
        "{} is not a project directory: the model could read everything in it{limit}. Work here?",
        root.display()
    );
    if !confirmed(&run, &question)? {
        return Ok(run);
    }
    RunContext::for_conversation(Global { allows_wide_root: true, ..run.global })
}

/// Reads the configuration for a command, and checks trust as far as the command needs it.
fn assembly_for(global: Global, command: &Command) -> Result<Assembly, Problem> {
    let run = match command {
        Command::Trust(_) | Command::Untrust { .. } => RunContext::without_project(global)?,
        Command::Chat(args) => {
            let mut assembly = Assembly::new(trust::settled(conversation(global)?)?);
            if let Some(name) = &args.agent {
                assemble::role::persona::choose_agent(&mut assembly, name)?;
            }
            assemble::role::record::resume(&mut assembly)?;
            return Ok(assembly);
        }
        Command::Run(args) => return role_assembly(global, args),
        Command::Approve(args) => {
            let (global, path, calls) = approvals::paused(global, args)?;
            let variables = calls.into_iter().next().map(|call| call.variables);
            let mut assembly = playing(global, &path, &variables.unwrap_or_default())?;
            let is_autonomous = approvals::is_autonomous(&assembly, &args.run_id)?;
            if let Some(chosen) = &mut assembly.role {
                chosen.set_autonomous(is_autonomous);
            }
            return Ok(assembly);
        }
        Command::Test(args) => {
            let global = Global { run_audit: RunAudit::Off, ..global };
            let (role, _) = evals::files(args)?;
            return playing(global, &role, &BTreeMap::new());
        }
        Command::Tools(_) | Command::Mcp(_) | Command::Hooks(_) => {
            let mut assembly = Assembly::new(RunContext::read(global)?);
            trust::check_and_warn(&assembly)?;
            if let Some(path) = role_of(command) {
                assembly.global.role_file = Some(path.to_owned());
                assemble::role::choose(&mut assembly, path, &BTreeMap::new())?;
            }
            return Ok(assembly);
        }
        Command::Memory(command) => {
            let role_file = Some(command.role().to_owned());
            let run = RunContext::read(Global { role_file, ..global })?;
            let mut assembly = Assembly::new(trust::required(run)?);
            if let MemoryCommand::Consolidate { role } = command {
                assemble::role::choose(&mut assembly, role, &BTreeMap::new())?;
            }
            return Ok(assembly);
        }
        Command::Validate { role } | Command::Ingest { role, .. } => {
            let global = Global { role_file: Some(role.clone()), ..global };
            trust::required(RunContext::read(global)?)?
        }
        Command::Login { .. }
        | Command::Acp { .. }
        | Command::Logout { .. }
        | Command::Doctor
        | Command::Session(_)
        | Command::Stats(_)
        | Command::Permissions { .. }
        | Command::Audit { .. }
        | Command::Sandbox(SandboxCommand::Doctor) => {
            trust::required(RunContext::without_broken_project_files(global)?)?
        }
        _ => trust::required(RunContext::read(global)?)?,
    };
    Ok(Assembly::new(run))
}

fn role_assembly(mut global: Global, args: &RunArgs) -> Result<Assembly, Problem> {
    global.json |= args.format == Some(RunFormat::Json);
    global.run_audit = args.run_audit();
    let (path, _) = role::words(args, &global);
    let mut assembly = conversing(global, &path)?;
    composed::choose(&mut assembly, &path, args)?;
    if args.flow_run.is_some() && assembly.role.is_some() {
        return Err(Problem::misuse(format!("{} is not a flow", path.display())));
    }
    if let Some(role) = &mut assembly.role {
        role.set_run(args);
    }
    Ok(assembly)
}

/// The assembly of a run that plays a role.
fn playing(
    global: Global,
    path: &Path,
    given: &BTreeMap<String, String>,
) -> Result<Assembly, Problem> {
    let mut assembly = conversing(global, path)?;
    assemble::role::choose(&mut assembly, path, given)?;
    Ok(assembly)
}

/// The assembly of a run of the document at a path, before a role is chosen.
fn conversing(mut global: Global, path: &Path) -> Result<Assembly, Problem> {
    global.role_file = Some(path.to_owned());
    Ok(Assembly::new(trust::settled(conversation(global)?)?))
}

fn role_of(command: &Command) -> Option<&Path> {
    match command {
        Command::Tools(
            ToolsCommand::List { role, .. }
            | ToolsCommand::Schema { role, .. }
            | ToolsCommand::Exec { role, .. },
        )
        | Command::Mcp(McpCommand::Serve { role, .. }) => role.as_deref(),
        _ => None,
    }
}

fn json_error(problem: Problem) -> Outcome {
    let mut object = json!({"error": problem.message()});
    if let Some(hint) = &problem.hint {
        object["hint"] = hint.as_str().into();
    }
    // If standard output is closed, standard error may work.
    if output::json(&object).is_err() { Err(problem) } else { Ok(problem.exit) }
}

/// Returns true if a command shows contributions of packages.
fn shows_contributions(command: &Command) -> bool {
    match command {
        Command::Plugin { command } => {
            matches!(command, None | Some(PluginCommand::List | PluginCommand::Show { .. }))
        }
        Command::Typed(_)
        | Command::Hooks(_)
        | Command::Skill(_)
        | Command::Rules(_)
        | Command::Profile(_) => true,
        _ => false,
    }
}

/// Returns true if a command shows so little that warnings about other plugins would hide it.
fn is_selective(command: &Command) -> bool {
    match command {
        Command::Plugin { command } => matches!(command, Some(PluginCommand::Show { .. })),
        Command::Typed(command) => matches!(command, CommandCommand::List),
        _ => false,
    }
}

fn dispatch(assembly: &Assembly, command: Command) -> Outcome {
    if is_selective(&command) {
        assembly.hold_problems();
    }
    if shows_contributions(&command) && workers::has_packages(assembly) {
        asynchronously(async {
            workers::learn(assembly).await;
            Ok(())
        })?;
    }
    match command {
        Command::Chat(args) => asynchronously(chat::run(assembly, &args)),
        Command::Run(args) if args.serve => asynchronously(role_server::run(assembly, &args)),
        Command::Run(args) => asynchronously(composed::run(assembly, &args)),
        Command::Validate { role } => asynchronously(composed::validate(assembly, &role)),
        Command::Test(args) => asynchronously(evals::run(assembly, &args)),
        Command::Memory(command) => asynchronously(memory::run(assembly, &command)),
        Command::Pending { limit } => approvals::pending(assembly, limit),
        Command::Approve(args) => asynchronously(approvals::approve(assembly, &args)),
        Command::Ingest { role, force } => asynchronously(role::ingest(assembly, &role, force)),
        Command::Demo => with_interface(demo::run(assembly)),
        Command::Acp { .. } => login::login(assembly, None),
        Command::Login { provider } => login::login(assembly, provider.as_deref()),
        Command::Logout { provider } => login::logout(assembly, provider.as_deref()),
        Command::Doctor => asynchronously(doctor::run(assembly)),
        Command::Config { command } => config::run(assembly, command),
        Command::Api(command) => asynchronously(api::run(assembly, &command)),
        Command::Models(command) => asynchronously(models::run(assembly, &command)),
        Command::Session(command) => session::run(assembly, &command),
        Command::Stats(args) => asynchronously(stats::run(assembly, &args)),
        Command::Tools(command) => asynchronously(tools::run(assembly, &command)),
        Command::Logs(command) => logs::run(assembly, &command),
        Command::Mcp(command) => asynchronously(mcp::run(assembly, &command)),
        Command::Plugin { command } => {
            asynchronously(plugin::run(assembly, &command.unwrap_or(PluginCommand::List)))
        }
        Command::Typed(command) => asynchronously(contributions::command(assembly, &command)),
        Command::Hooks(command) => asynchronously(hooks::run(assembly, &command)),
        Command::Agents(_) => contributions::agents(assembly),
        Command::Skill(command) => contributions::skill(assembly, &command),
        Command::Rules(command) => contributions::rules(assembly, &command),
        Command::Profile(command) => contributions::profile(assembly, &command),
        Command::Policy(command) => asynchronously(permissions::policy(assembly, &command)),
        Command::Permissions { command } => asynchronously(permissions::run(assembly, command)),
        Command::Audit { command } => permissions::audit(assembly, command),
        Command::Trust(args) => asynchronously(trust::run(assembly, &args)),
        Command::Untrust { path } => trust::untrust(assembly, path.as_deref()),
        Command::Sandbox(command) => asynchronously(sandbox::run(assembly, command)),
        Command::Flow(_)
        | Command::A2a(_)
        | Command::Schema { .. }
        | Command::Completions { .. }
        | Command::Man
        | Command::Serve(_)
        | Command::Stubs { .. } => unreachable!("handled before the configuration is read"),
    }
}

/// Task polls between two checks for input; a streamed reply has many.
const EVENT_INTERVAL: u32 = 16;

/// Runs an asynchronous command. One thread is enough and starts fastest.
fn asynchronously<T>(work: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    block_on(Builder::new_current_thread(), work)
}

/// Runs the interface on this thread. The tasks that it spawns, which read and write files, have
/// another, so keys and frames do not wait for them.
fn with_interface<T>(work: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1);
    block_on(builder, work)
}

fn block_on<T>(
    mut builder: Builder,
    work: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Problem> {
    // The runtime panics if it can open no files, so that is checked before.
    drop([UnixStream::pair()?, UnixStream::pair()?, UnixStream::pair()?]);
    let runtime = builder.enable_all().event_interval(EVENT_INTERVAL).build()?;
    let outcome = runtime.block_on(work);
    // A blocked thread (a search on a slow disk) must not hold up the exit.
    runtime.shutdown_background();
    outcome
}

/// The beginning of a line, cut between words.
fn shortened(line: &str, limit: usize) -> String {
    let cut = head(line, limit);
    if cut.len() == line.len() {
        return line.to_owned();
    }
    format!("{}…", cut.rsplit_once(' ').map_or(cut, |(words, _)| words))
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_default()
}

/// The JSON value of `--input`.
fn json_input(flag: &str, input: &str) -> Result<Value, Problem> {
    serde_json::from_str(input)
        .map_err(|error| Problem::misuse(format!("`{flag}` is not valid JSON: {error}")))
}

fn print_problems(problems: &[plugins::problem::Problem]) {
    for problem in problems {
        output::error(&problem.to_string());
        output::hint(&problem.hint);
    }
}

/// Asks a yes-or-no question on the terminal. `--yes` answers it; without a terminal the answer is no.
fn confirmed(run: &RunContext, question: &str) -> io::Result<bool> {
    if run.global.yes || !run.environment.terminal.stdin {
        return Ok(run.global.yes);
    }
    let mut err = io::stderr().lock();
    write!(err, "{} [y/N] ", visible(question))?;
    err.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
