//! Has files kept before calls change them, and tells what became of them.

use std::sync::Arc;

use contract::event::EventKind;
use contract::snapshots::{Effect, Snapshots};

use crate::journal::{Journal, Logged};
use crate::settings::Parts;
use crate::tool_call::Prepared;
use crate::turn_context::{self, TurnContext};

/// Returns true if files were stored, so that changes have to be reported.
pub(crate) async fn before(
    context: TurnContext<'_>,
    journal: &mut Journal,
    calls: &[Prepared],
) -> Logged<bool> {
    let effects: Vec<Effect> = calls.iter().filter_map(Prepared::effect).collect();
    let Some(snapshots) = context.parts.snapshots.as_ref().filter(|_| !effects.is_empty()) else {
        return Ok(false);
    };
    let cancel = context.cancel.clone();
    let whats = blocking(snapshots, move |snapshots| snapshots.before(&effects, &cancel)).await;
    journal.note(whats).await?;
    Ok(true)
}

pub(crate) async fn after(context: TurnContext<'_>, journal: &mut Journal) -> Logged {
    let Some(snapshots) = &context.parts.snapshots else { return Ok(()) };
    let whats = blocking(snapshots, |snapshots| snapshots.after()).await;
    journal.note(whats).await
}

pub(crate) async fn recover(parts: &Parts, journal: &mut Journal) -> Logged {
    let Some(snapshots) = &parts.snapshots else { return Ok(()) };
    let whats = blocking(snapshots, |snapshots| snapshots.recover()).await;
    journal.note(whats).await
}

async fn blocking(
    snapshots: &Arc<dyn Snapshots>,
    work: impl FnOnce(&dyn Snapshots) -> Vec<EventKind> + Send + 'static,
) -> Vec<EventKind> {
    let snapshots = Arc::clone(snapshots);
    turn_context::blocking(move || work(snapshots.as_ref())).await.unwrap_or_default()
}
