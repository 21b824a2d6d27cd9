//! The policy of a session whose rules may change while it goes on. What was approved until the end
//! of the session goes on to hold, as far as the rules of the moment let it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contract::action::{Action, View};
use contract::policy::{Approvals, Granted, Mode, Policy, Reach, Ruling, StoredApproval};
use contract::tool::ToolSpec;

/// A policy that another one can take the place of.
pub(super) struct Renewable(Mutex<State>);

struct State {
    policy: Arc<dyn Approvals>,
    /// What was approved until the session ends.
    approved: Vec<(ToolSpec, Vec<Action>)>,
    /// What of it was taken back.
    forgotten: Vec<String>,
    /// In whose name something was granted.
    granted: Vec<String>,
}

impl Renewable {
    /// Begins with a policy.
    pub(super) fn new(policy: Arc<dyn Approvals>) -> Self {
        let (approved, forgotten, granted) = (Vec::new(), Vec::new(), Vec::new());
        Self(Mutex::new(State { policy, approved, forgotten, granted }))
    }

    /// Goes on with another. Returns in whose name something was granted before: whether that still
    /// counts is for the caller to say.
    pub(super) fn renew(&self, policy: Arc<dyn Approvals>) -> Vec<String> {
        let mut state = self.state();
        for (tool, actions) in &state.approved {
            policy.remember(tool, actions);
        }
        for rule in &state.forgotten {
            policy.forget(rule);
        }
        state.policy = policy;
        std::mem::take(&mut state.granted)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn present(&self) -> Arc<dyn Approvals> {
        Arc::clone(&self.state().policy)
    }

    /// Notes what was approved, and that its rules hold again.
    fn note(&self, tool: &ToolSpec, actions: &[Action], rules: &[String]) {
        let mut state = self.state();
        state.approved.push((tool.clone(), actions.to_vec()));
        state.forgotten.retain(|rule| !rules.contains(rule));
    }
}

impl Policy for Renewable {
    fn judge(&self, tool: &ToolSpec, actions: &[Action], mode: Mode) -> Ruling {
        self.present().judge(tool, actions, mode)
    }

    fn view(&self, tool: &ToolSpec) -> View {
        self.present().view(tool)
    }
}

impl Approvals for Renewable {
    fn remember(&self, tool: &ToolSpec, actions: &[Action]) -> Vec<String> {
        let rules = self.present().remember(tool, actions);
        self.note(tool, actions, &rules);
        rules
    }

    fn rememberable(&self, tool: &ToolSpec, actions: &[Action]) -> Vec<String> {
        self.present().rememberable(tool, actions)
    }

    fn store(&self, tool: &ToolSpec, actions: &[Action], reach: Reach) -> StoredApproval {
        let kept = self.present().store(tool, actions, reach);
        // What was written down is read again, and can be taken back there.
        if kept.problem.is_some() {
            self.note(tool, actions, &kept.rules);
        }
        kept
    }

    fn session(&self) -> Vec<String> {
        self.present().session()
    }

    fn forget(&self, rule: &str) -> bool {
        let mut state = self.state();
        state.forgotten.push(rule.to_owned());
        state.policy.forget(rule)
    }

    fn grant(&self, rules: &[String], origin: &str) -> Granted {
        let mut state = self.state();
        if !state.granted.iter().any(|earlier| earlier == origin) {
            state.granted.push(origin.to_owned());
        }
        // What the user took back, nobody else gives again.
        let mut rules = rules.to_vec();
        rules.retain(|rule| !state.forgotten.contains(rule));
        state.policy.grant(&rules, origin)
    }
}
