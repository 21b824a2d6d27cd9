//! Chooses the role that a client of a server names, and restores the one that a session's log names.

use std::collections::BTreeMap;

use super::model::OWN_PROVIDER;
use super::{choose, named};
use crate::assembly::Assembly;
use crate::chosen_role::RoleRecord;
use crate::exit::Problem;
use crate::{provider_choice, session_choice};

/// Has a session play a role that a client names: a file of its project, or one of the user's own.
pub fn choose_offered(assembly: &mut Assembly, name: &str) -> Result<(), Problem> {
    let cwd = &assembly.environment.cwd;
    let path = cwd.join(name);
    let file = if path.is_file() {
        let (real, directory) = (path.canonicalize()?, cwd.canonicalize()?);
        real.starts_with(directory).then_some(path)
    } else {
        named(assembly, name).ok().filter(|file| file.is_file())
    };
    // It says the same of every file elsewhere.
    let file = file.ok_or_else(|| {
        Problem::misuse(format!("there is no agent {name}"))
            .hint("name a file of the project, or an agent of your own")
    })?;
    choose(assembly, &file, &BTreeMap::new())?;
    if let Some(chosen) = &mut assembly.role {
        chosen.is_recorded = true;
    }
    Ok(())
}

/// Has the session that the flags continue play the role that its log names. The model that
/// answered last answers again.
pub fn resume(assembly: &mut Assembly) -> Result<(), Problem> {
    let record =
        if assembly.role.is_none() { session_choice::recorded_role(assembly)? } else { None };
    let Some(RoleRecord { file }) = record else { return Ok(()) };
    let last = session_choice::last_model(assembly).filter(|(name, _)| name != OWN_PROVIDER);
    if let Some(last) = last.and_then(|_| provider_choice::continued(assembly)) {
        (assembly.global.provider, assembly.global.model) = (Some(last.candidate.name), last.model);
    }
    choose(assembly, &file, &BTreeMap::new()).map_err(|problem| {
        let text = format!("this session plays {}: {}", file.display(), problem.message());
        Problem::new(problem.exit, text).hint("restore the file, or name another role with `run`")
    })
}
