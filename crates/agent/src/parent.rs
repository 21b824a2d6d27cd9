//! The conversation of a running call, for tools that hold a conversation within it.

use std::sync::Arc;
use std::time::Duration;

use contract::hook::Hook;
use contract::id::CallId;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::answers::Answers;
use crate::journal::EventSender;
use crate::registry::Registry;
use crate::settings::{Parts, Settings};
use crate::turn_context::TurnContext;

/// The time for a cancelled conversation to close.
const CLOSING: Duration = Duration::from_secs(5);

tokio::task_local! {
    /// The conversation of the call that runs in this task.
    static CURRENT: Arc<Parent>;
}

/// The conversation of a running call.
pub struct Parent {
    pub(crate) parts: Arc<Parts>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) hooks: Arc<[Arc<dyn Hook>]>,
    pub(crate) answers: Arc<Answers>,
    pub(crate) sender: EventSender,
    pub(crate) call: CallId,
    pub(crate) cancel: CancellationToken,
    pub(crate) stop: CancellationToken,
    pub(crate) open: watch::Sender<u32>,
}

impl Parent {
    pub(crate) fn of_call(
        context: TurnContext<'_>,
        call: &CallId,
        sender: &EventSender,
    ) -> Arc<Self> {
        Arc::new(Self {
            parts: Arc::clone(context.parts),
            settings: Arc::clone(context.settings),
            hooks: context.hooks.list(),
            answers: Arc::clone(context.answers),
            sender: sender.clone(),
            call: call.clone(),
            cancel: context.cancel.clone(),
            stop: context.stop.clone(),
            open: watch::Sender::new(0),
        })
    }

    pub(crate) async fn run<T>(self: Arc<Self>, call: impl Future<Output = T>) -> T {
        CURRENT.scope(self, call).await
    }

    /// The conversation whose call runs in this task; none outside of calls.
    pub fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    pub fn registry(&self) -> &Registry {
        &self.parts.registry
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn depth(&self) -> u32 {
        self.sender.depth()
    }

    /// Waits until no conversation is open within the call, but not for ever.
    pub(crate) async fn closed(&self) {
        let mut open = self.open.subscribe();
        let _ = tokio::time::timeout(CLOSING, open.wait_for(|count| *count == 0)).await;
    }
}
