//! The commands, one file each.

mod agents;
mod api;
mod audit;
mod chat;
mod command;
mod config;
mod demo;
mod hooks;
mod init;
mod interactive;
mod logs;
mod mcp;
pub(crate) mod models;
mod permissions;
pub(crate) mod plugin;
mod policy;
mod profile;
mod repl;
mod role;
mod rules;
mod sandbox;
mod schema;
pub(crate) mod session;
mod skill;
pub(crate) mod stats;
mod stubs;
mod tools;
mod trust;
mod undo;

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::Path;

use clap::CommandFactory;
use serde_json::json;

use crate::args::{
    Cli, Command, ConfigCommand, Global, McpCommand, OutputFormat, PluginCommand, RunArgs,
    RunFormat, SandboxCommand, ToolsCommand,
};
use crate::assemble::assembly::Assembly;
use crate::assemble::run_context::RunContext;
use crate::assemble::workers;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;

/// Runs what was typed.
pub(crate) fn run(cli: Cli) -> Outcome {
    if cli.global.version {
        output::line(format_args!("brynhild, version {}", env!("CARGO_PKG_VERSION")))?;
        return Ok(Exit::Done);
    }
    match cli.command {
        None if cli.global.print => Err(repl::nothing_said()),
        None => {
            let run = RunContext::for_conversation(cli.global)?;
            if interactive::is_wanted(&run) {
                asynchronously(interactive::run(Assembly::new(run), None))
            } else {
                asynchronously(repl::run(Assembly::new(trust::settled(run)?)))
            }
        }
        Some(Command::Schema) => schema::events(),
        Some(Command::Completions { shell }) => schema::completions(shell),
        Some(Command::Man) => schema::manual(),
        Some(Command::Stubs { install }) => stubs::install(&cli.global, &install),
        Some(Command::Run(args)) if args.interactive && !args.dry_run => {
            let words = role::words(&args, &cli.global).1.join(" ");
            let words = Some(words).filter(|words| !words.trim().is_empty());
            let assembly = playing(cli.global, &args)?;
            if interactive::is_wanted(&assembly) {
                asynchronously(interactive::run(assembly, words))
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

/// Reads the configuration for a command, and checks trust as far as the command needs it.
fn assembly_for(global: Global, command: &Command) -> Result<Assembly, Problem> {
    let run = match command {
        Command::Trust(_) | Command::Untrust { .. } => RunContext::without_project(global)?,
        Command::Chat(args) => {
            let mut assembly =
                Assembly::new(trust::settled(RunContext::for_conversation(global)?)?);
            if let Some(name) = &args.agent {
                crate::assemble::role::persona::choose_agent(&mut assembly, name)?;
            }
            return Ok(assembly);
        }
        Command::Run(args) => return playing(global, args),
        Command::Tools(command) => {
            let mut assembly = Assembly::new(RunContext::read(global)?);
            trust::check_and_warn(&assembly)?;
            if let Some(path) = role_of(command) {
                assembly.global.role_file = Some(path.to_owned());
                crate::assemble::role::choose(&mut assembly, path, &BTreeMap::new())?;
            }
            return Ok(assembly);
        }
        Command::Mcp(command) => {
            let mut assembly = Assembly::new(RunContext::read(global)?);
            trust::check_and_warn(&assembly)?;
            if let McpCommand::Serve { role: Some(path), .. } = command {
                assembly.global.role_file = Some(path.clone());
                crate::assemble::role::choose(&mut assembly, path, &BTreeMap::new())?;
            }
            return Ok(assembly);
        }
        Command::Hooks(_) => {
            let run = RunContext::read(global)?;
            trust::check_and_warn(&run)?;
            run
        }
        Command::Validate { role } => {
            let global = Global { role_file: Some(role.clone()), ..global };
            trust::required(RunContext::read(global)?)?
        }
        Command::Session(_)
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

/// What a run of a role works with.
fn playing(mut global: Global, args: &RunArgs) -> Result<Assembly, Problem> {
    global.json |= args.format == Some(RunFormat::Json);
    let (path, _) = role::words(args, &global);
    global.role_file = Some(path.clone());
    let mut assembly = Assembly::new(trust::settled(RunContext::for_conversation(global)?)?);
    crate::assemble::role::choose(&mut assembly, &path, &role::given(args)?)?;
    Ok(assembly)
}

/// The role whose tools a command is about.
fn role_of(command: &ToolsCommand) -> Option<&Path> {
    match command {
        ToolsCommand::List { role, .. }
        | ToolsCommand::Schema { role, .. }
        | ToolsCommand::Exec { role, .. } => role.as_deref(),
        ToolsCommand::Stats { .. } => None,
    }
}

/// Says what went wrong as a JSON object.
fn json_error(problem: Problem) -> Outcome {
    let mut object = json!({"error": problem.message()});
    if let Some(hint) = &problem.hint {
        object["hint"] = hint.as_str().into();
    }
    // Where standard output takes nothing, standard error may.
    if output::json(&object).is_err() { Err(problem) } else { Ok(problem.exit) }
}

/// Whether a command shows what packages may contribute.
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

fn dispatch(assembly: &Assembly, command: Command) -> Outcome {
    if shows_contributions(&command) && workers::has_packages(assembly) {
        asynchronously(async {
            workers::learn(assembly).await;
            Ok(())
        })?;
    }
    match command {
        Command::Chat(args) => asynchronously(chat::run(assembly, &args)),
        Command::Run(args) => asynchronously(role::run(assembly, &args)),
        Command::Validate { role } => asynchronously(role::validate(assembly, &role)),
        Command::Init(args) => init::run(assembly, &args),
        Command::Demo => asynchronously(demo::run(assembly)),
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
        Command::Typed(command) => asynchronously(command::run(assembly, &command)),
        Command::Hooks(command) => asynchronously(hooks::run(assembly, &command)),
        Command::Agents(command) => agents::run(assembly, &command),
        Command::Skill(command) => skill::run(assembly, &command),
        Command::Rules(command) => rules::run(assembly, &command),
        Command::Profile(command) => profile::run(assembly, &command),
        Command::Policy(command) => asynchronously(policy::run(assembly, &command)),
        Command::Permissions { command } => asynchronously(permissions::run(assembly, command)),
        Command::Audit { command } => audit::run(assembly, command),
        Command::Trust(args) => asynchronously(trust::run(assembly, &args)),
        Command::Untrust { path } => trust::untrust(assembly, path.as_deref()),
        Command::Sandbox(command) => asynchronously(sandbox::run(assembly, command)),
        Command::Schema | Command::Completions { .. } | Command::Man | Command::Stubs { .. } => {
            unreachable!("handled before the configuration is read")
        }
    }
}

/// Steps of tasks between two looks at keys and sockets: a reply that streams in has many.
const TASKS: u32 = 16;

/// Runs a command that waits for things. One thread is enough and starts fastest.
fn asynchronously<T>(work: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    // The runtime needs open files of its own, without which the library panics.
    drop([UnixStream::pair()?, UnixStream::pair()?, UnixStream::pair()?]);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().event_interval(TASKS).build()?;
    let outcome = runtime.block_on(work);
    // A blocked thread (a search on a slow disk) must not hold up the exit.
    runtime.shutdown_background();
    outcome
}

/// The command line, for completions and the manual.
pub(crate) fn command_line() -> clap::Command {
    Cli::command()
}
