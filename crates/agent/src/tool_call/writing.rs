//! Writes of files, judged again when their turn comes. What a file means to git depends on those
//! beside it, which another conversation or a hook may have written since the call was judged.

use std::sync::Arc;

use contract::action::Action;
use contract::policy::Decision;
use contract::tool::{BUILTIN, Tool};
use tokio::sync::{Mutex, MutexGuard};

use super::why;
use crate::blocking::blocking;
use crate::turn_context::TurnContext;

/// Locked while a file is written, since the check reads files that other conversations may write.
static WRITES: Mutex<()> = Mutex::const_new(());

/// Waits for the lock if a call writes files, and judges it again: what a file means to git depends on
/// files beside it. Tools of plugins may take long, so they do not get the lock.
pub(super) async fn turn(
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
