//! Runs approved calls, each confined as its ruling says.

use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::action::Action;
use contract::event::{CallOutcome, EventKind};
use contract::policy::{Decision, Mode};
use contract::sandbox::{Hosts, Network, SandboxError};
use contract::tool::{BUILTIN, Tool, ToolContext, ToolError, ToolOutput};
use tokio::sync::{Mutex, MutexGuard, mpsc};

use super::{Approved, Settled, why};
use crate::journal::EventSender;
use crate::keys;
use crate::parent::Parent;
use crate::turn_context::{TurnContext, blocking};

/// The time for a cancelled tool to stop by itself.
const GRACE: Duration = Duration::from_millis(150);
/// Stands for any host in [`Action::Connect`].
const ANY_HOST: &str = "*";

/// Locked while a file is written, since the check reads files that other conversations may write.
static WRITES: Mutex<()> = Mutex::const_new(());

/// Waits for the lock if a call writes files, and judges it again: what a file means to git depends on
/// files beside it. Tools of plugins may take long, so they do not get the lock.
async fn write_turn(
    context: TurnContext<'_>,
    tool: &Arc<dyn Tool>,
    actions: &[Action],
) -> Result<Option<MutexGuard<'static, ()>>, String> {
    if !actions.iter().any(|action| matches!(action, Action::Write { .. })) {
        return Ok(None);
    }
    let turn = if tool.spec().source == BUILTIN {
        tokio::select! {
            turn = WRITES.lock() => Some(turn),
            // The call stops before it writes.
            () = context.cancel.cancelled() => return Ok(None),
        }
    } else {
        None
    };
    let (policy, judged) = (Arc::clone(&context.parts.policy), Arc::clone(tool));
    let (actions, mode) = (actions.to_vec(), context.mode());
    let ruled = blocking(move || policy.judge(&judged.spec(), &actions, mode)).await;
    let Some(ruling) = ruled else { return Err("interrupted: not run".to_owned()) };
    if ruling.decision == Decision::Deny {
        return Err(format!("Permission denied: {}", why(&ruling)));
    }
    Ok(turn)
}

/// Runs an approved call to its end, or until it is cancelled.
pub(crate) async fn run(
    context: TurnContext<'_>,
    approved: Approved,
    sender: EventSender,
) -> Settled {
    let has_effect = approved.has_effect();
    let Approved { tool, call, access, actions, original, extras, .. } = approved;
    let _turn = match write_turn(context, &tool, &actions).await {
        Ok(turn) => turn,
        Err(text) => return Settled::without_running(call, CallOutcome::Denied, text),
    };
    let mut confinement = context.parts.confinement.with_access(access);
    let profile = &mut confinement.profile;
    profile.read.extend(extras.read);
    profile.env.extend(extras.env);
    profile.network = match context.mode() {
        Mode::ReadOnly => Network::None,
        Mode::Ask | Mode::Normal | Mode::Yolo => network(&profile.network, &actions),
    };
    let (progress, mut lines) = mpsc::channel(64);
    let parent = Parent::of_call(context, &call.id, &sender);
    let tool_context = ToolContext {
        session: sender.session().clone(),
        confinement,
        cancel: context.cancel.child_token(),
        progress,
        spill: context.settings.spill.clone(),
        view: context.parts.policy.view(&tool.spec()),
        actions: actions.clone(),
        redactors: keys::redactors(sender.keys()),
    };
    let started = Instant::now();
    let result = {
        let work = Arc::clone(&parent).run(tool.run(&call, &tool_context));
        let overdue = async {
            context.cancel.cancelled().await;
            if tool.spec().traits.indivisible {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(GRACE).await;
            parent.closed().await;
        };
        tokio::pin!(work, overdue);
        loop {
            tokio::select! {
                result = &mut work => break result,
                () = &mut overdue => break Err(ToolError::Cancelled),
                Some(text) = lines.recv() => {
                    sender.tell(EventKind::ToolProgress { call: call.id.clone(), text }).await;
                }
            }
        }
    };
    let duration = started.elapsed();
    // Its last lines may arrive after its end.
    while let Ok(text) = lines.try_recv() {
        sender.tell(EventKind::ToolProgress { call: call.id.clone(), text }).await;
    }
    let (outcome, output) = match result {
        Ok(output) if context.cancel.is_cancelled() && !output.success => {
            (CallOutcome::Interrupted, output)
        }
        Ok(output) => (CallOutcome::Ran, output),
        Err(error) => {
            let outcome = match error {
                ToolError::Cancelled => CallOutcome::Interrupted,
                ToolError::Denied(_) => CallOutcome::Denied,
                ToolError::Sandbox(SandboxError::Unavailable { .. }) => CallOutcome::NoSandbox,
                ToolError::Input(_) | ToolError::Sandbox(_) | ToolError::Broken(_) => {
                    CallOutcome::Ran
                }
            };
            (outcome, ToolOutput::failure(error.to_string()))
        }
    };
    Settled { call, outcome, output, duration, has_effect, actions, original }
}

/// The network of a command: the configured one and the hosts that its call connects to.
fn network(configured: &Network, actions: &[Action]) -> Network {
    let runs_command = actions.iter().any(|action| matches!(action, Action::Run { .. }));
    let connected = actions.iter().filter_map(|action| match action {
        Action::Connect { host } if runs_command => Some(host),
        Action::Connect { .. }
        | Action::Read { .. }
        | Action::Write { .. }
        | Action::Run { .. }
        | Action::LeaveSandbox { .. }
        | Action::Opaque { .. } => None,
    });
    let mut hosts = match configured {
        Network::Host => return Network::Host,
        Network::Hosts(hosts) => hosts.clone(),
        Network::None => Hosts { names: Vec::new(), key: "network".to_owned() },
    };
    for host in connected {
        if host == ANY_HOST {
            return Network::Host;
        }
        if !hosts.names.contains(host) {
            hosts.names.push(host.clone());
        }
    }
    if hosts.names.is_empty() { Network::None } else { Network::Hosts(hosts) }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn connect(host: &str) -> Action {
        Action::Connect { host: host.to_owned() }
    }

    fn run() -> Action {
        Action::Run { command: "x".to_owned(), cwd: PathBuf::from("/w") }
    }

    #[test]
    fn hosts_of_a_command_join_the_configured_network() {
        let names = |network: &Network, actions: &[Action]| match self::network(network, actions) {
            Network::Hosts(hosts) => hosts.names,
            other => panic!("{other:?}"),
        };
        assert_eq!(names(&Network::None, &[run(), connect("a.example")]), ["a.example"]);
        let configured = Hosts { names: vec!["b.example".to_owned()], key: String::new() };
        let configured = Network::Hosts(configured);
        let actions = [run(), connect("a.example"), connect("b.example")];
        assert_eq!(names(&configured, &actions), ["b.example", "a.example"]);
        assert_eq!(names(&configured, &[run()]), ["b.example"]);
        assert_eq!(network(&configured, &[run(), connect("*")]), Network::Host);
        assert_eq!(network(&Network::Host, &[run(), connect("a.example")]), Network::Host);
    }

    #[test]
    fn a_call_without_a_command_gets_no_host() {
        assert_eq!(network(&Network::None, &[connect("a.example")]), Network::None);
        assert_eq!(network(&Network::None, &[run()]), Network::None);
    }
}
