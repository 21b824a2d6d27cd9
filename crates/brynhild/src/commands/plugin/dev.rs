//! `plugin dev`: works with a plugin that is being written. Naming its directory is consent to run
//! it, in its sandbox.

use std::path::{Path, PathBuf};

use args::{Global, PluginDevArgs};
use assemble::assembly::Assembly;
use assemble::exit::{Outcome, Problem};
use assemble::output;
use assemble::run_context::RunContext;
use assemble::session_choice::SessionStorage;
use assemble::signals::Signals;
use files::changes::ChangeTracker;
use plugin_kit::dev::wait_for_change;
use serde_json::Value;

use super::testing::{plugin_directory, role_file};
use crate::commands::{chat, json_input, tools};

/// The flags of a conversation with the plugin, which shows the events of calls.
pub(crate) fn conversation(global: Global, args: &PluginDevArgs) -> Result<Global, Problem> {
    let run = RunContext::without_project(global)?;
    let mut global = run.global.clone();
    global.plugin_dir.push(directory(&run, &args.directory)?);
    global.verbose = true;
    Ok(global)
}

fn directory(run: &RunContext, named: &Path) -> Result<PathBuf, Problem> {
    let directory = plugin_directory(run, named)?;
    if role_file(&directory).is_some() {
        let named = named.display();
        return Err(Problem::misuse(format!("{named} is a role, not a plugin"))
            .hint(format!("`brynhild run {named} --interactive` converses with it")));
    }
    Ok(directory)
}

/// Calls a tool of the plugin, and again whenever a file of the plugin changes.
pub(super) async fn run(assembly: &Assembly, args: &PluginDevArgs) -> Outcome {
    let directory = directory(assembly, &args.directory)?;
    let [tool, input] = &args.call[..] else {
        return Err(Problem::misuse("`--once` needs `--call TOOL JSON`"));
    };
    let input = json_input("--call", input)?;
    let mut signals = Signals::new()?;
    let tracker = ChangeTracker::new(directory.clone());
    loop {
        let seen = tracker.cursor();
        let mut global = assembly.global.clone();
        global.plugin_dir.push(directory.clone());
        let fresh = Assembly::new(RunContext::again(global, assembly.environment.clone())?);
        let mut view = chat::view(&fresh, true, SessionStorage::Unsaved, Value::Null);
        let call = tools::call(tool, input.clone());
        let exit = match tools::call_once(&fresh, call, view.as_mut()).await {
            Ok(verdict) => tools::exit_of(&verdict),
            Err(problem) if args.once => return Err(problem),
            Err(problem) => {
                output::error(&problem.message());
                problem.exit
            }
        };
        if args.once || exit.is_signal() {
            return Ok(exit);
        }
        output::hint(&format!("waiting for a change in {}", args.directory.display()));
        tokio::select! {
            changed = wait_for_change(&tracker, seen) => changed?,
            exit = signals.next() => return Ok(exit),
        }
    }
}
