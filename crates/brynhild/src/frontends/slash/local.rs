//! Commands that run a shell line in the sandbox. Their output is shown, and not sent to the model.

use assemble::assembly::Assembly;
use assemble::exit::Problem;
use assemble::run_context::RunContext;
use contract::policy::Mode;
use contract::sandbox::{Access, Fixed};
use plugins::claude::shell;
use plugins::commands::{Command, Rank};

pub(super) async fn run(
    assembly: &Assembly,
    command: &Command,
    line: &str,
    words: &str,
) -> Result<String, Problem> {
    let root = assembly.root()?;
    let mut profile = assemble::confinement::command_profile(assembly, root);
    if command.source == "project" {
        profile.fixed = trusted_files(assembly, command)?;
    }
    // A plugin's command may only read.
    let is_own = command.plugin.is_none();
    let may_write = is_own && assembly.mode() != Mode::ReadOnly;
    profile.access = if may_write { Access::Workspace } else { Access::ReadOnly };
    let directory = command.path.as_deref().and_then(|path| path.parent());
    profile.read.extend(directory.map(ToOwned::to_owned));
    profile.env.insert("BRYNHILD_ARGS".to_owned(), words.to_owned());
    let sandbox = assembly.sandbox()?;
    let printed = shell::output(&*sandbox, &profile, line, root).await;
    printed.map_err(|why| Problem::failed(format!("`/{}` did not run: {why}", command.name)))
}

/// A project's command runs only while the user trusts its bytes.
fn trusted_files(run: &RunContext, command: &Command) -> Result<Vec<Fixed>, Problem> {
    let refused = |why: String| {
        Problem::misuse(format!("`/{}` does not run: {why}", command.name))
            .hint("`brynhild trust` shows what it would run")
    };
    if command.rank == Rank::Guest {
        return Err(refused("it belongs to an untrusted project".to_owned()));
    }
    run.trust.trust_check().ask().map_err(refused)
}
