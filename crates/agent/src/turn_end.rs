//! The end of a turn: its deadline, and the events and notifications that conclude it.

use contract::event::{EventKind, Level, Outcome};
use contract::hook::Notification;
use tokio::time::Instant;

use crate::hooks::Hooks;
use crate::journal::{Journal, Logged};
use crate::settings::{RequestSettings, Settings};

pub(crate) fn overdue(outcome: Outcome, settings: &Settings) -> Outcome {
    match outcome {
        Outcome::Cancelled => settings.budget.overdue().unwrap_or(Outcome::Cancelled),
        outcome => outcome,
    }
}

/// Ends a turn: notifies hooks of a failure, reports a block, and prices the usage.
pub(crate) async fn conclude(
    hooks: &Hooks,
    journal: &mut Journal,
    request: &RequestSettings,
    outcome: Outcome,
) -> Logged {
    match &outcome {
        Outcome::Failed { error, .. } => {
            let failed =
                Notification::Failed { error: error.clone(), kind: "TurnFailed".to_owned() };
            hooks.occasion(journal, &failed).await?;
        }
        Outcome::Blocked { hook, reason } => {
            let what = if hooks.has_halted() { "the turn ends" } else { "the prompt was not sent" };
            let text = format!("{what}, because of hook {hook}: {reason}");
            journal.notice(Level::Warning, text, None).await?;
        }
        _ => {}
    }
    let RequestSettings { known, model, .. } = request;
    if let Some(prices) = known.prices_of(model) {
        journal.price(prices);
    }
    let mut usage = journal.usage();
    usage.unpriced &= !known.is_free;
    journal.commit(vec![EventKind::TurnFinished { outcome, usage }]).await
}

/// Waits for a moment that may never come.
pub(crate) async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
