//! A conversation beside the user's for one task: rules, hooks and sandbox apply, and nothing is
//! saved.

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

use crate::answering_model::AnsweringModel;
use crate::fallback::Fallback;

/// The parts that conversations beside the one of the user share.
#[derive(Clone)]
pub struct SideConversation {
    pub answering: Option<Arc<AnsweringModel>>,
    pub policy: Arc<dyn Approvals>,
    pub hooks: Vec<Arc<dyn Hook>>,
    pub confinement: Confinement,
    pub settings: Settings,
    pub fallback: Option<Fallback>,
    pub session: SessionId,
}

impl SideConversation {
    /// Opens one with these tools, whose name clashes were reported before.
    pub fn open(&self, tools: Vec<Arc<dyn Tool>>, settings: Settings) -> Conversation {
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
