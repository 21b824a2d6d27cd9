//! A policy that stores approvals which outlive the session.

use std::path::PathBuf;

use contract::action::{Action, View};
use contract::policy::{Approvals, Granted, Mode, Policy, Reach, Ruling, StoredApproval};
use contract::tool::ToolSpec;

use crate::remembered::{Memory, RememberedRules};

pub struct RuleStore<J> {
    pub judge: J,
    /// The memories that an approval of these actions would store.
    pub memories: fn(&J, &ToolSpec, &[Action]) -> Vec<Memory>,
    /// None if there is no place to store approvals in.
    pub remembered: Option<RememberedRules>,
    pub root: PathBuf,
    /// The loosest mode that the site allows.
    pub bound: Option<Mode>,
}

impl<J: Approvals> Policy for RuleStore<J> {
    fn judge(&self, tool: &ToolSpec, actions: &[Action], mode: Mode) -> Ruling {
        let mode = self.bound.map_or(mode, |bound| mode.min(bound));
        self.judge.judge(tool, actions, mode)
    }

    fn view(&self, tool: &ToolSpec) -> View {
        self.judge.view(tool)
    }
}

impl<J: Approvals> Approvals for RuleStore<J> {
    fn remember(&self, tool: &ToolSpec, actions: &[Action]) -> Vec<String> {
        self.judge.remember(tool, actions)
    }

    fn rememberable(&self, tool: &ToolSpec, actions: &[Action]) -> Vec<String> {
        self.judge.rememberable(tool, actions)
    }

    fn session(&self) -> Vec<String> {
        self.judge.session()
    }

    fn forget(&self, rule: &str) -> bool {
        self.judge.forget(rule)
    }

    fn grant(&self, rules: &[String], origin: &str) -> Granted {
        self.judge.grant(rules, origin)
    }

    fn store(&self, tool: &ToolSpec, actions: &[Action], reach: Reach) -> StoredApproval {
        let memories = (self.memories)(&self.judge, tool, actions);
        let rules = self.judge.remember(tool, actions);
        if rules.is_empty() {
            return StoredApproval::default();
        }
        let written = match &self.remembered {
            Some(store) if !memories.is_empty() => store.add(memories, &self.root, reach),
            Some(_) => Err(String::from("this permission cannot be stored")),
            None => Err(String::from("there is no home directory to store permissions in")),
        };
        StoredApproval { rules, problem: written.err() }
    }
}
