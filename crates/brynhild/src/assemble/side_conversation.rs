//! A conversation beside the user's, for one piece of work: its calls go the same way as any, through
//! rules, hooks and sandbox, and nothing of it is kept. The session that it is a part of begins and
//! ends elsewhere.

use std::sync::Arc;

use agent::conversation::{Beginning, Conversation, Share};
use agent::registry::Registry;
use agent::settings::{Parts, Settings};
use contract::hook::Hook;
use contract::id::SessionId;
use contract::policy::Approvals;
use contract::sandbox::Confinement;
use contract::tool::Tool;
use sessions::unsaved::Unsaved;

use crate::assemble::answering_model::AnsweringModel;
use crate::assemble::fallback::Fallback;

/// What such conversations share.
#[derive(Clone)]
pub(crate) struct SideConversation {
    /// Who answers in them, where there is a model.
    pub(crate) answering: Option<Arc<AnsweringModel>>,
    /// Judges calls.
    pub(crate) policy: Arc<dyn Approvals>,
    /// What is asked about calls.
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    /// Starts processes.
    pub(crate) confinement: Confinement,
    /// How they go.
    pub(crate) settings: Settings,
    /// Why the mode `normal` works like `ask`.
    pub(crate) fallback: Option<Fallback>,
    /// What hooks know them by.
    pub(crate) session: SessionId,
}

impl SideConversation {
    /// Begins one with these tools, whose clashes were told elsewhere.
    pub(crate) fn open(&self, tools: Vec<Arc<dyn Tool>>, settings: Settings) -> Conversation {
        let (registry, _) = Registry::new(tools, None);
        let parts = Parts {
            provider: self.answering.as_ref().map(|answering| Arc::clone(&answering.provider)),
            registry: Arc::new(registry),
            policy: Arc::clone(&self.policy),
            confinement: self.confinement.clone(),
            log: Arc::new(Unsaved),
            keys: self.answering.as_ref().map(|answering| answering.keys()).unwrap_or_default(),
            hooks: self.hooks.clone(),
            snapshots: None,
            renewal: None,
            lines: None,
            jobs: None,
            fallback: self.fallback.clone(),
        };
        let beginning = Beginning {
            session: self.session.clone(),
            history: Vec::new(),
            notices: Vec::new(),
            share: Share::Part,
        };
        Conversation::open(parts, settings, beginning)
    }
}
