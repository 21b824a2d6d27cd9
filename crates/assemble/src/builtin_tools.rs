//! The built-in tools of a conversation, and the registry of all tools.

use std::path::Path;
use std::sync::Arc;

use agent::registry::{IsHidden, Registry};
use contract::skill::Skill;
use contract::tool::Tool;

use crate::assembly::Assembly;
use crate::output;
use crate::{permissions, web};

/// The built-in tools that are not disabled.
pub fn enabled(
    assembly: &Assembly,
    root: &Path,
    skills: Vec<Skill>,
    activate_skill: Option<tools::ActivateSkill>,
) -> Vec<Arc<dyn Tool>> {
    let config = assembly.config();
    let is_off = |name: &str| config.tools.disabled.get(name).copied().unwrap_or(false);
    // Without Bash there are no background commands.
    let disabled = |name: &str| is_off(name) || (name == "Jobs" && is_off("Bash"));
    if disabled("__builtin__") {
        return Vec::new();
    }
    let own_paths = config.tools.each.iter().filter(|(_, tool)| !tool.allowed_paths.is_empty());
    let own_paths = own_paths.map(|(name, tool)| (name.clone(), tool.allowed_paths.clone()));
    let all = tools::all(&tools::Settings {
        root: root.to_owned(),
        home: assembly.environment.home.clone(),
        allowed_paths: config.sandbox.allowed_paths.clone(),
        own_paths: own_paths.collect(),
        readable_paths: permissions::readable(assembly),
        skills,
        activate_skill,
        single_hosts: assembly.sandbox().is_ok_and(|it| it.enforces().single_hosts),
        jobs: Arc::clone(assembly.jobs()),
        web: web::access(assembly),
    });
    all.into_iter().filter(|tool| !disabled(&tool.spec().name)).collect()
}

pub(crate) fn registry(tools: Vec<Arc<dyn Tool>>, is_hidden: Option<IsHidden>) -> Registry {
    let (registry, clashes) = Registry::new(tools, is_hidden);
    for clash in clashes {
        output::warning(&clash);
    }
    registry
}
