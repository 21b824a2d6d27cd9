//! The rules, skills and facts that the system prompt tells the model.

use std::path::{Path, PathBuf};

use contract::skill::Skill;
use tools::prompt_facts::PromptFacts;

use crate::assembly::Assembly;
use crate::output;

#[derive(Default)]
pub(crate) struct Knowledge {
    pub(crate) rules: String,
    pub(crate) skills: Vec<Skill>,
    pub(crate) facts: PromptFacts,
}

/// The rule files that apply in the current directory. Warns about unreadable ones.
pub fn rules(assembly: &Assembly, root: &Path) -> plugins::rules::FoundRules {
    let places = plugins::rules::Places {
        global: assembly.loaded.config_dir.as_ref().map(|dir| dir.join(::setup::user_files::RULES)),
        // Without a project no directory has rules.
        root: if assembly.has_project() { root.to_owned() } else { PathBuf::new() },
        cwd: assembly.environment.cwd.clone(),
    };
    let found = plugins::rules::load(&places, &assembly.plugins().contributions());
    output::problems(&found.problems);
    found
}
