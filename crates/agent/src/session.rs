//! The beginning and the end of a session with several conversations: hooks are notified of both once.

use std::sync::Arc;

use contract::event::Event;
use contract::hook::{Hook, HookContext};
use contract::log::Log;
use tokio::sync::mpsc;

use crate::hooks::Hooks;
use crate::journal::{Journal, Logged};
use crate::settings::Budget;

/// The listeners of a session.
pub struct Listeners {
    /// The hooks, in the order in which they are asked.
    pub hooks: Vec<Arc<dyn Hook>>,
    pub context: HookContext,
    /// Keeps what is said of it.
    pub log: Arc<dyn Log>,
}

impl Listeners {
    /// Tells that the session begins. Returns what there is to tell people.
    pub async fn greet(self) -> Logged<Vec<Arc<Event>>> {
        self.told(async |hooks, journal| hooks.greet(journal).await).await
    }

    /// Tells that it ends, without letting anybody delay that for long.
    pub async fn part(self) -> Logged<Vec<Arc<Event>>> {
        self.told(async |hooks, journal| hooks.farewell(journal).await).await
    }

    async fn told(
        self,
        tell: impl AsyncFnOnce(&Hooks, &mut Journal) -> Logged,
    ) -> Logged<Vec<Arc<Event>>> {
        let (events_in, mut events) = mpsc::channel(1);
        let session = self.context.session.clone();
        let past: (&[Event], _) = (&[], Budget::default());
        let mut journal = Journal::new((&self.log, &[]), session, past, events_in);
        let hooks = Hooks::new(self.hooks, self.context);
        let telling = async move {
            // The channel closes with the journal.
            let told = tell(&hooks, &mut journal).await;
            drop(journal);
            told
        };
        let listening = async {
            let mut heard = Vec::new();
            while let Some(event) = events.recv().await {
                heard.push(event);
            }
            heard
        };
        let (told, heard) = tokio::join!(telling, listening);
        told.map(|()| heard)
    }
}
