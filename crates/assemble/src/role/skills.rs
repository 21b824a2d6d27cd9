//! The skills of a role: those that it names, and those that it finds by itself.

use std::path::{Path, PathBuf};

use initrunner::auto_skill::{self, AutoSkill};
use initrunner::builtin;
use initrunner::role::{Finding, Role, Severity, ToolEntry};
use initrunner::skill::{self, RoleSkill, SkillDocument};

use super::{ChosenRole, reach};
use crate::assembly::Assembly;
use crate::assembly::workers;
use crate::output;
use crate::run_context::RunContext;

/// The skills that a role names. What is wrong with them is among the findings.
pub(super) fn named(
    assembly: &Assembly,
    role: &Role,
    findings: &mut Vec<Finding>,
) -> Vec<RoleSkill> {
    let directories = skill_directories(assembly);
    let mut skills = Vec::new();
    for name in &role.skills {
        let read = |path: &Path| read_skill(assembly, role, &directories, path);
        match skill::load(name, role.directory(), &directories, read) {
            Ok(mut skill) => {
                findings.extend(skill.findings.iter().cloned());
                findings.extend(wants(assembly, &skill));
                let known = role.tools.iter();
                let known: Vec<&ToolEntry> =
                    known.chain(skills.iter().flat_map(|skill: &RoleSkill| &skill.tools)).collect();
                skill.tools.retain(|entry| !known.iter().any(|other| is_same(other, entry)));
                skills.push(skill);
            }
            Err(what) => findings.push(super::error("skills", what)),
        }
    }
    skills
}

/// Reads a skill's file, in one of the user's directories or where the role may read.
fn read_skill(
    assembly: &Assembly,
    role: &Role,
    directories: &[PathBuf],
    path: &Path,
) -> Result<SkillDocument, String> {
    if !directories.iter().any(|directory| path.starts_with(directory)) {
        reach::check(assembly, role, path)?;
    }
    let (keys, body) = plugins::skills::keys_and_body(path)?;
    Ok(SkillDocument { keys, body })
}

/// The skills that a role finds by itself. Warns of those that cannot be read.
pub(super) fn automatic(assembly: &Assembly, chosen: &ChosenRole) -> Vec<AutoSkill> {
    let role = &chosen.role;
    if role.max_auto_skills == 0 {
        return Vec::new();
    }
    let environment = &assembly.environment;
    let home = |below: &str| environment.home.iter().map(|home| home.join(below)).next();
    let data = assembly.environment.initrunner_home();
    let named = environment.variable("INITRUNNER_SKILL_DIR").map(PathBuf::from);
    let own = [named, home(".agents/skills"), data.map(|data| data.join("skills"))];
    let own: Vec<PathBuf> = own.into_iter().flatten().collect();
    let beside = ["skills", ".agents/skills"].map(|below| role.directory().join(below));
    let directories: Vec<PathBuf> = beside.into_iter().chain(own.iter().cloned()).collect();
    let excluded: Vec<&str> = chosen.skills.iter().map(|skill| skill.name.as_str()).collect();
    let read = |path: &Path| read_skill(assembly, role, &own, path);
    let (skills, errors) = auto_skill::find(&directories, &excluded, role.max_auto_skills, read);
    for error in errors {
        output::warning(&format!("a skill is ignored: {error}"));
    }
    skills
}

/// The directories with skills that a role names.
fn skill_directories(run: &RunContext) -> Vec<PathBuf> {
    let home = run.environment.home.iter().map(|home| home.join(".initrunner/skills"));
    let named = run.environment.variable("INITRUNNER_SKILL_DIR").map(PathBuf::from);
    let own = run.loaded.config_dir.iter().map(|dir| dir.join(setup::user_files::SKILLS));
    named.into_iter().chain(home).chain(own).collect()
}

/// Returns true if two entries make the same tools: those of most built-in types have the same names
/// whatever their settings, and the first wins.
fn is_same(one: &ToolEntry, other: &ToolEntry) -> bool {
    one.kind == other.kind && (builtin::is_known(&one.kind) || one == other)
}

/// The requirements of a skill that are missing here.
fn wants(assembly: &Assembly, skill: &RoleSkill) -> Vec<Finding> {
    let is_unset = |name: &&String| assembly.environment.variable(name).is_none();
    let unset = skill.variables.iter().filter(is_unset);
    let unset = unset.map(|name| format!("the variable {name}, which is not set"));
    let around = workers::surroundings(assembly);
    let missing = skill.programs.iter().filter(|name| around.program(name).is_none());
    let missing = missing.map(|name| format!("the program `{name}`, which is not found"));
    let finding = |what: String| Finding {
        severity: Severity::Warning,
        path: String::from("skills"),
        message: format!("skill `{}` needs {what}", skill.name),
    };
    unset.chain(missing).map(finding).collect()
}
