//! The skills of the user, the project and plugins.

use std::path::{Path, PathBuf};

use contract::skill::Skill;
use plugins::dialects::{PROJECT_SKILLS, USER_SKILLS};

use crate::assembly::Assembly;
use crate::output;
use crate::run_context::RunContext;

/// The skills of the user, the project and plugins.
pub fn find(assembly: &Assembly, root: &Path) -> Vec<Skill> {
    let project = PROJECT_SKILLS.iter().copied().chain([".brynhild/skills"]);
    let project = project.filter(|_| assembly.has_project());
    let places = plugins::skills::Places {
        global: own_skills(assembly),
        custom: custom_skills(assembly),
        project: project.map(|directory| root.join(directory)).collect(),
        cache: assembly.loaded.config_dir.as_ref().map(|dir| dir.join("cache/skills.json")),
    };
    let found = plugins::skills::discover(&places, &assembly.contributions());
    output::problems(&found.problems);
    found.skills
}

/// Directories of skills outside of the project, which the model may read and run scripts of.
pub(crate) fn directories(assembly: &Assembly) -> Vec<PathBuf> {
    let plugins = assembly.plugins().active().filter(|plugin| !plugin.manifest.skills.is_empty());
    let mut directories = own_skills(assembly);
    directories.extend(custom_skills(assembly));
    directories.extend(plugins.map(|plugin| plugin.root.join("skills")));
    directories.extend(
        assembly.loaded_plugins().flat_map(|it| &it.skills).filter_map(|it| it.directory.clone()),
    );
    directories.retain(|directory| directory.is_dir());
    directories
}

fn own_skills(run: &RunContext) -> Vec<PathBuf> {
    let dir = run.loaded.config_dir.iter().map(|dir| dir.join(::setup::user_files::SKILLS));
    let homes = run.environment.home.iter();
    let others = homes.flat_map(|home| USER_SKILLS.iter().map(|it| home.join(it)));
    dir.chain(others).collect()
}

/// The skill directories of `BRYNHILD_SKILL_PATH`.
fn custom_skills(run: &RunContext) -> Vec<PathBuf> {
    let path = run.environment.variable("BRYNHILD_SKILL_PATH").unwrap_or_default();
    std::env::split_paths(path).filter(|path| !path.as_os_str().is_empty()).collect()
}
