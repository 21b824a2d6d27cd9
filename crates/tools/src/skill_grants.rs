//! `allowed-tools` of a skill: while the skill is active, these tools run without approval, unless
//! a rule, the mode or a hard limit forbids it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use contract::policy::Approvals;
use serde_json::json;

use crate::ActivateSkill;

#[derive(Clone)]
pub struct Grants {
    allowed: BTreeMap<String, Vec<String>>,
    policy: Arc<dyn Approvals>,
    /// The names of the active skills and commands that grant tools.
    active: Arc<Mutex<BTreeSet<String>>>,
}

impl Grants {
    /// The tools that skills and commands allow, by the names of these in lower case.
    pub fn new(allowed: BTreeMap<String, Vec<String>>, policy: Arc<dyn Approvals>) -> Self {
        Self { allowed, policy, active: Arc::default() }
    }

    /// Activates a skill. Returns the tools that run without approval from then on.
    pub fn activate(&self, name: &str) -> Vec<String> {
        let name = name.trim().to_lowercase();
        let Some(tools) = self.allowed.get(&name) else { return Vec::new() };
        // `*` is not a list of tools.
        let named: Vec<String> = tools.iter().filter(|tool| *tool != "*").cloned().collect();
        let rules = self.policy.grant(&named, &format!("skill {name}")).rules;
        self.active.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
        rules
    }

    /// Repeats the grants of `earlier`, as far as they still apply.
    pub fn renew(&self, earlier: &Self) {
        let active = earlier.active.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for name in active {
            self.activate(&name);
        }
    }

    /// Activates each skill whose instructions `LearnSkill` returns, with the session's id in the
    /// place of `session_word`.
    pub fn activation(&self, session_word: &'static str) -> ActivateSkill {
        let grants = self.clone();
        Arc::new(move |skill, session, output| {
            output.output = output.output.replace(session_word, session.as_str());
            let granted = grants.activate(skill);
            if !granted.is_empty() {
                output.facts.insert(String::from("granted"), json!(granted));
            }
        })
    }
}
