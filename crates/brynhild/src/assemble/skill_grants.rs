//! `allowed-tools` of a skill: while the skill is active, these tools run without approval, unless
//! a rule, the mode or a hard limit forbids it. A skill of an untrusted project grants nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use contract::policy::Approvals;
use contract::skill::Skill;
use plugins::commands::SESSION;
use serde_json::json;
use tools::ActivateSkill;

use crate::assemble::assembly::Assembly;
use crate::assemble::run_context::RunContext;

#[derive(Clone)]
pub(crate) struct Grants {
    allowed: BTreeMap<String, Vec<String>>,
    policy: Arc<dyn Approvals>,
    /// The names of the active skills and commands that grant tools.
    active: Arc<Mutex<BTreeSet<String>>>,
}

impl Grants {
    pub(crate) fn new(assembly: &Assembly, skills: &[Skill], policy: Arc<dyn Approvals>) -> Self {
        let is_trusted = assembly.trust.trusted().is_some();
        // The trust in a project covers its skill directories only.
        let counts = |skill: &&Skill| match skill.source.as_str() {
            "project" => is_trusted,
            source => source.starts_with("plugin:") || !is_in_project(assembly, skill),
        };
        let entry = |skill: &Skill| (skill.name.to_lowercase(), skill.allowed_tools.clone());
        let mut allowed: BTreeMap<String, Vec<String>> =
            skills.iter().filter(counts).map(entry).collect();
        for command in assembly.loaded_plugins().flat_map(|it| &it.commands) {
            let tools = command.recipe.iter().flat_map(|recipe| &recipe.allowed_tools);
            allowed.insert(grant_name(command), tools.cloned().collect());
        }
        Self { allowed, policy, active: Arc::default() }
    }

    /// Activates a skill. Returns the tools that run without approval from then on.
    pub(crate) fn activate(&self, name: &str) -> Vec<String> {
        let name = name.trim().to_lowercase();
        let Some(tools) = self.allowed.get(&name) else { return Vec::new() };
        // `*` is not a list of tools.
        let named: Vec<String> = tools.iter().filter(|tool| *tool != "*").cloned().collect();
        let rules = self.policy.grant(&named, &format!("skill {name}")).rules;
        self.active.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
        rules
    }

    /// Repeats the grants of `earlier`, as far as they still apply.
    pub(crate) fn renew(&self, earlier: &Self) {
        let active = earlier.active.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for name in active {
            self.activate(&name);
        }
    }

    /// Activates each skill whose instructions `LearnSkill` returns.
    pub(crate) fn activation(&self) -> ActivateSkill {
        let grants = self.clone();
        Arc::new(move |skill, session, output| {
            output.output = output.output.replace(SESSION, session.as_str());
            let granted = grants.activate(skill);
            if !granted.is_empty() {
                output.facts.insert(String::from("granted"), json!(granted));
            }
        })
    }
}

fn is_in_project(run: &RunContext, skill: &Skill) -> bool {
    let directory = skill.directory.as_ref().and_then(|directory| directory.canonicalize().ok());
    directory.is_some_and(|it| run.root().is_ok_and(|root| it.starts_with(root)))
}

/// The grant name of a command's tools; no skill can have it.
pub(crate) fn grant_name(command: &plugins::commands::Command) -> String {
    format!("/{}", command.qualified()).to_lowercase()
}
