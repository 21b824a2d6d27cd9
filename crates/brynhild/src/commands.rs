//! The commands, one file each.

mod api;
mod chat;
mod config;
mod demo;
mod git;
mod logs;
mod models;
mod permissions;
mod policy;
mod profile;
mod rules;
mod sandbox;
mod schema;
mod session;
mod skill;
mod tools;
mod trust;

use clap::CommandFactory;
use serde_json::json;

use crate::args::{Cli, Command, ConfigCommand, Global, OutputFormat};
use crate::exit::{Exit, Outcome, Problem};
use crate::output;
use crate::world::World;

/// Runs what was typed.
pub(crate) fn run(cli: Cli) -> Outcome {
    if cli.global.version {
        output::line(format_args!("brynhild, version {}", env!("CARGO_PKG_VERSION")))?;
        return Ok(Exit::Done);
    }
    match cli.command {
        None => {
            // Without a command there is only the interactive interface, which is not here yet.
            Err(Problem::misuse("no command was given").hint(
                "`brynhild chat PROMPT` answers a prompt, `brynhild demo` shows a whole task",
            ))
        }
        Some(Command::Schema) => schema::events(),
        Some(Command::Completions { shell }) => schema::completions(shell),
        Some(Command::Man) => schema::manual(),
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
        Command::Chat(_) => trust::settled(World::read(global)?),
        Command::Tools { .. } => trust::told(World::read(global)?),
        _ => trust::required(World::read(global)?),
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

fn with_world(world: &World, command: Command) -> Outcome {
    match command {
        Command::Chat(args) => asynchronously(chat::run(world, &args)),
        Command::Demo => asynchronously(demo::run(world)),
        Command::Config { command } => config::run(world, command),
        Command::Api { command } => asynchronously(api::run(world, &command)),
        Command::Models { command } => asynchronously(models::run(world, &command)),
        Command::Session { command } => session::run(world, &command),
        Command::Tools { command } => asynchronously(tools::run(world, &command)),
        Command::Logs { command } => logs::run(world, &command),
        Command::Skill { command } => skill::run(world, &command),
        Command::Rules { command } => rules::run(world, &command),
        Command::Profile { command } => profile::run(world, &command),
        Command::Policy { command } => policy::run(world, &command),
        Command::Permissions { command } => asynchronously(permissions::run(world, command)),
        Command::Trust(args) => asynchronously(trust::run(world, &args)),
        Command::Untrust { path } => trust::untrust(world, path.as_deref()),
        Command::Git { command } => asynchronously(git::run(world, &command)),
        Command::Sandbox { command } => asynchronously(sandbox::run(world, command)),
        Command::Schema | Command::Completions { .. } | Command::Man => {
            unreachable!("handled before the configuration is read")
        }
    }
}

/// Runs a command that waits for things. One thread is enough and starts fastest.
fn asynchronously<T>(work: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(work);
    // A blocked thread (a search on a slow disk) must not hold up the exit.
    runtime.shutdown_background();
    outcome
}

/// The command line, for completions and the manual.
pub(crate) fn command_line() -> clap::Command {
    Cli::command()
}
