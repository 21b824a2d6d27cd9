//! The tools that skills and commands grant. A skill of an untrusted project grants nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::policy::Approvals;
use contract::skill::Skill;
use tools::skill_grants::Grants;

use crate::assembly::Assembly;
use crate::run_context::RunContext;

pub(crate) fn grants(assembly: &Assembly, skills: &[Skill], policy: Arc<dyn Approvals>) -> Grants {
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
    Grants::new(allowed, policy)
}

fn is_in_project(run: &RunContext, skill: &Skill) -> bool {
    let directory = skill.directory.as_ref().and_then(|directory| directory.canonicalize().ok());
    directory.is_some_and(|it| run.root().is_ok_and(|root| it.starts_with(root)))
}

/// The grant name of a command's tools; no skill can have it.
pub fn grant_name(command: &plugins::commands::Command) -> String {
    format!("/{}", command.qualified()).to_lowercase()
}
