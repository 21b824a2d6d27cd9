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
use crate::assemble::workers;
use crate::assemble::world::World;
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
            let world = World::for_talk(cli.global)?;
            if interactive::is_wanted(&world) {
                asynchronously(interactive::run(world, None))
            } else {
                asynchronously(repl::run(trust::settled(world)?))
            }
        }
        Some(Command::Schema) => schema::events(),
        Some(Command::Completions { shell }) => schema::completions(shell),
        Some(Command::Man) => schema::manual(),
        Some(Command::Stubs { install }) => stubs::install(&cli.global, &install),
        Some(Command::Run(args)) if args.interactive && !args.dry_run => {
            let words = role::words(&args, &cli.global).1.join(" ");
            let words = Some(words).filter(|words| !words.trim().is_empty());
            let world = playing(cli.global, &args)?;
            if interactive::is_wanted(&world) {
                asynchronously(interactive::run(world, words))
            } else {
                asynchronously(repl::run_after(world, words))
            }
        }
        Some(Command::Config { command: Some(ConfigCommand::Path { all }) }) => {
            config::path(&cli.global, all)
        }
        Some(command) => {
            let wants_json = cli.global.format() == Some(OutputFormat::Json);
            let world = match world(cli.global, &command) {
                Ok(world) => world,
                Err(problem) if wants_json => return json_error(problem),
                Err(problem) => return Err(problem),
            };
            match with_world(&world, command) {
                Err(problem) if world.wants_json() => json_error(problem),
                outcome => outcome,
            }
        }
    }
}

/// Reads what a command works with, and sees to trust where the command needs it.
fn world(global: Global, command: &Command) -> Result<World, Problem> {
    match command {
        Command::Trust(_) | Command::Untrust { .. } => World::without_project(global),
        Command::Chat(args) => {
            let mut world = trust::settled(World::for_talk(global)?)?;
            if let Some(name) = &args.agent {
                crate::assemble::role::persona::be(&mut world, name)?;
            }
            Ok(world)
        }
        Command::Run(args) => playing(global, args),
        Command::Tools { command } => {
            let mut world = trust::told(World::read(global)?)?;
            if let Some(path) = role_of(command) {
                world.global.role_file = Some(path.to_owned());
                crate::assemble::role::choose(&mut world, path, &BTreeMap::new())?;
            }
            Ok(world)
        }
        Command::Mcp { command } => {
            let mut world = trust::told(World::read(global)?)?;
            if let McpCommand::Serve { role: Some(path), .. } = command {
                world.global.role_file = Some(path.clone());
                crate::assemble::role::choose(&mut world, path, &BTreeMap::new())?;
            }
            Ok(world)
        }
        Command::Hooks { .. } => trust::told(World::read(global)?),
        Command::Validate { role } => {
            let global = Global { role_file: Some(role.clone()), ..global };
            trust::required(World::read(global)?)
        }
        Command::Session { .. }
        | Command::Stats(_)
        | Command::Permissions { .. }
        | Command::Audit { .. }
        | Command::Sandbox { command: SandboxCommand::Doctor } => {
            trust::required(World::beside_project(global)?)
        }
        _ => trust::required(World::read(global)?),
    }
}

/// What a run of a role works with.
fn playing(mut global: Global, args: &RunArgs) -> Result<World, Problem> {
    global.json |= args.format == Some(RunFormat::Json);
    let (path, _) = role::words(args, &global);
    global.role_file = Some(path.clone());
    let mut world = trust::settled(World::for_talk(global)?)?;
    crate::assemble::role::choose(&mut world, &path, &role::given(args)?)?;
    Ok(world)
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
        Command::Typed { .. }
        | Command::Hooks { .. }
        | Command::Skill { .. }
        | Command::Rules { .. }
        | Command::Profile { .. } => true,
        _ => false,
    }
}

fn with_world(world: &World, command: Command) -> Outcome {
    if shows_contributions(&command) && workers::has_packages(world) {
        asynchronously(async {
            workers::learn(world).await;
            Ok(())
        })?;
    }
    match command {
        Command::Chat(args) => asynchronously(chat::run(world, &args)),
        Command::Run(args) => asynchronously(role::run(world, &args)),
        Command::Validate { role } => asynchronously(role::validate(world, &role)),
        Command::Init(args) => init::run(world, &args),
        Command::Demo => asynchronously(demo::run(world)),
        Command::Config { command } => config::run(world, command),
        Command::Api { command } => asynchronously(api::run(world, &command)),
        Command::Models { command } => asynchronously(models::run(world, &command)),
        Command::Session { command } => session::run(world, &command),
        Command::Stats(args) => asynchronously(stats::run(world, &args)),
        Command::Tools { command } => asynchronously(tools::run(world, &command)),
        Command::Logs { command } => logs::run(world, &command),
        Command::Mcp { command } => asynchronously(mcp::run(world, &command)),
        Command::Plugin { command } => {
            asynchronously(plugin::run(world, &command.unwrap_or(PluginCommand::List)))
        }
        Command::Typed { command } => asynchronously(command::run(world, &command)),
        Command::Hooks { command } => asynchronously(hooks::run(world, &command)),
        Command::Agents { command } => agents::run(world, &command),
        Command::Skill { command } => skill::run(world, &command),
        Command::Rules { command } => rules::run(world, &command),
        Command::Profile { command } => profile::run(world, &command),
        Command::Policy { command } => asynchronously(policy::run(world, &command)),
        Command::Permissions { command } => asynchronously(permissions::run(world, command)),
        Command::Audit { command } => audit::run(world, command),
        Command::Trust(args) => asynchronously(trust::run(world, &args)),
        Command::Untrust { path } => trust::untrust(world, path.as_deref()),
        Command::Sandbox { command } => asynchronously(sandbox::run(world, command)),
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
