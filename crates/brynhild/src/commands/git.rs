//! `git`: commits through the broker, as the model's tool does.

use std::time::Duration;

use contract::broker::{BrokerError, CommitRequest, Committed};
use contract::policy::Mode;
use contract::text::normalize;
use serde_json::json;
use tokio::time::timeout;

use crate::args::GitCommand;
use crate::assemble;
use crate::exit::{Exit, Outcome, Problem};
use crate::frontends::Signals;
use crate::output;
use crate::world::World;

/// How long a signal takes at most until we hear of it.
const HEARD: Duration = Duration::from_millis(100);

/// Runs a `git` command.
pub(crate) async fn run(world: &World, command: &GitCommand) -> Outcome {
    let GitCommand::Commit { message, paths } = command;
    let root = world.root()?;
    if world.mode() == Mode::ReadOnly {
        return Err(Problem::failed(
            "nothing is written in read-only mode, so nothing is committed",
        )
        .hint("`--mode normal` allows it"));
    }
    let broker = assemble::broker(world, root)?;
    let cwd = &world.environment.cwd;
    let request = CommitRequest {
        message: message.join("\n\n"),
        paths: paths.iter().map(|path| normalize(&cwd.join(path))).collect(),
    };
    // Before the work begins: from then on an interrupt leaves the repository as it was.
    let mut signals = Signals::new()?;
    let interrupted = |exit| Problem::new(exit, "interrupted; nothing was committed");
    let made = tokio::select! {
        made = broker.commit(&request) => made,
        exit = signals.next() => return Err(interrupted(exit)),
    };
    let committed = match made {
        Ok(committed) => committed,
        // The terminal tells git, too, which may have ended before we hear of it.
        Err(error) => match timeout(HEARD, signals.next()).await {
            Ok(exit) => return Err(interrupted(exit)),
            Err(_) => return Err(problem(&error)),
        },
    };
    show(world, &committed, &request.message)?;
    Ok(Exit::Done)
}

fn problem(error: &BrokerError) -> Problem {
    let exit = match error {
        BrokerError::NothingToCommit(_)
        | BrokerError::InProgress(_)
        | BrokerError::Locked(_)
        | BrokerError::Failed(_) => Exit::Failed,
        BrokerError::NotARepository(_) | BrokerError::NoIdentity | BrokerError::Refused(_) => {
            Exit::Misuse
        }
    };
    Problem::new(exit, error.to_string())
}

fn show(world: &World, committed: &Committed, message: &str) -> Result<(), Problem> {
    let Committed { id, branch, files, notes } = committed;
    if world.wants_json() {
        output::json(&json!({"commit": id, "branch": branch, "files": files, "notes": notes}))?;
        return Ok(());
    }
    let branch = branch.as_deref().unwrap_or("detached HEAD");
    let subject = message.trim().lines().next().unwrap_or_default();
    let head = format!("[{branch} {}] {subject}", &id[..id.len().min(12)]);
    output::line(crate::frontends::question::one_line(&head))?;
    for file in files {
        output::line(format_args!("  {}", crate::frontends::question::one_line(file)))?;
    }
    for note in notes {
        output::warning(note);
    }
    Ok(())
}
