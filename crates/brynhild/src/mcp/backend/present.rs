//! What is offered at one time, and what takes its place where something has changed outside. To find
//! that out may take long, which is nobody's business but of the one who asked first.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::mcp::PromptEntry;
use agent::registry::Registry;
use agent::settings::{Renewal, Renewed};
use contract::event::EventKind;
use contract::hook::Hook;
use tokio::sync::watch;

use crate::args::Global;
use crate::environment::Environment;
use crate::exit::Problem;
use crate::mcp::Mcp;
use crate::mcp::offered::Offered;
use crate::output;
use crate::role::Opened;
use crate::setup::{Backstage, Reload};
use crate::world::World;

/// How long a request waits for another one that looks for changes. Most looks take much less.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is offered at one time.
pub(super) struct Moment {
    pub(super) registry: Registry,
    pub(super) hooks: Vec<Arc<dyn Hook>>,
    pub(super) offered: Arc<Offered>,
    /// The servers whose resources can be read.
    pub(super) servers: Vec<Arc<Mcp>>,
    pub(super) role: Option<Arc<Opened>>,
}

/// A prompt of a server behind this one.
pub(super) struct HandedOn<'a> {
    pub(super) mcp: &'a Arc<Mcp>,
    /// What the server's own side knows it by.
    pub(super) command: String,
    /// How it is called here.
    pub(super) name: String,
    pub(super) entry: PromptEntry,
}

impl Moment {
    pub(super) fn new(
        (registry, hooks): (Registry, Vec<Arc<dyn Hook>>),
        offered: Arc<Offered>,
        backstage: &Backstage,
    ) -> Self {
        let (servers, role) = (backstage.servers(), backstage.role());
        Self { registry, hooks, offered, servers, role }
    }

    /// The prompts of servers: who has each and under which name, and how it is called here. Those of
    /// a role's servers have their own names, as their tools do.
    pub(super) fn handed_on(&self) -> Vec<HandedOn<'_>> {
        let mut all = Vec::new();
        for mcp in &self.servers {
            for (command, entry) in mcp.servers.prompts() {
                let name = if self.role.is_some() { &entry.name } else { &command };
                all.push(HandedOn { mcp, name: name.clone(), command, entry });
            }
        }
        all
    }
}

/// What is offered now.
pub(super) struct Present {
    pub(super) global: Global,
    pub(super) environment: Environment,
    pub(super) reload: Arc<Reload>,
    pub(super) backstage: Backstage,
    pub(super) moment: Mutex<Arc<Moment>>,
    /// One looks for changes at a time.
    pub(super) looking: Arc<tokio::sync::Mutex<()>>,
    pub(super) changes: watch::Sender<u64>,
}

impl Present {
    /// What was offered when somebody last looked.
    pub(super) fn moment(&self) -> Arc<Moment> {
        Arc::clone(&self.moment.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is offered now. Where somebody else has been looking for a while, what was before that. A
    /// look goes on though whoever began it no longer waits: the next one finds what came of it.
    pub(super) async fn look(self: &Arc<Self>) -> Arc<Moment> {
        let turn = tokio::time::timeout(PATIENCE, Arc::clone(&self.looking).lock_owned()).await;
        let Ok(turn) = turn else { return self.moment() };
        let present = Arc::clone(self);
        let look = tokio::spawn(async move {
            present.renew().await;
            drop(turn);
        });
        if let Err(error) = look.await {
            output::warning(&format!("what has changed is not used: {error}"));
        }
        self.moment()
    }

    /// Takes up what has changed. What of it cannot be used is told.
    async fn renew(&self) {
        let Renewed { change, notices } = self.reload.renew().await;
        for notice in &notices {
            if let EventKind::Notice { text, .. } = notice {
                output::warning(text);
            }
        }
        let Some(change) = change else { return };
        let before = self.moment();
        let again = World::again(self.global.clone(), self.environment.clone());
        let offered = again.and_then(|world| Offered::new(world, before.role.is_none()));
        let kept = |problem: Problem| {
            output::warning(&format!("changed commands are not used: {}", problem.message()));
            Arc::clone(&before.offered)
        };
        let offered = offered.map_or_else(kept, Arc::new);
        let made = (change.registry, change.hooks);
        let moment = Arc::new(Moment::new(made, offered, &self.backstage));
        let is_other = before.registry.specs() != moment.registry.specs();
        *self.moment.lock().unwrap_or_else(PoisonError::into_inner) = moment;
        if is_other {
            self.changes.send_modify(|count| *count += 1);
        }
    }
}
