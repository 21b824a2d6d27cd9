//! A policy whose rules may change during a session. Session approvals stay, as far as the new
//! rules allow.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contract::action::{Action, View};
use contract::policy::{Approvals, Granted, Mode, Policy, Reach, Ruling, StoredApproval};
use contract::tool::ToolSpec;

pub struct Renewable(Mutex<State>);

struct State {
    policy: Arc<dyn Approvals>,
    approved: Vec<(ToolSpec, Vec<Action>)>,
    forgotten: Vec<String>,
}

impl Renewable {
    pub fn new(policy: Arc<dyn Approvals>) -> Self {
        Self(Mutex::new(State { policy, approved: Vec::new(), forgotten: Vec::new() }))
    }

    /// Replaces the policy. Earlier grants end with it; the caller repeats those that still apply.
    pub fn renew(&self, policy: Arc<dyn Approvals>) {
        let mut state = self.state();
        for (tool, actions) in &state.approved {
            policy.remember(tool, actions);
        }
        for rule in &state.forgotten {
            policy.forget(rule);
        }
        state.policy = policy;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn present(&self) -> Arc<dyn Approvals> {
        Arc::clone(&self.state().policy)
    }

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
        // A stored approval is read again from its file, and revoked there.
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
        let state = self.state();
        // A rule that the user revoked is not granted again.
        let mut rules = rules.to_vec();
        rules.retain(|rule| !state.forgotten.contains(rule));
        state.policy.grant(&rules, origin)
    }
}
