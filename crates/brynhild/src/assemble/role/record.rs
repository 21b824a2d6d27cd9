//! Roles of sessions: the record in the log, by which a session goes on as its role.

use std::collections::BTreeMap;
use std::path::PathBuf;

use contract::event::EventKind;
use serde::Deserialize;
use serde_json::json;

use super::{ChosenRole, choose, named};
use crate::assemble::assembly::Assembly;
use crate::assemble::session_choice;
use crate::exit::Problem;

/// The role that a session plays, as its log names it.
#[derive(Deserialize)]
pub(crate) struct RoleRecord {
    file: PathBuf,
    variables: BTreeMap<String, String>,
}

impl RoleRecord {
    const PLUGIN: &str = "initrunner";
    const NAME: &str = "role";

    /// The record in an event, if there is one.
    pub(crate) fn of(event: &EventKind) -> Option<Result<Self, Problem>> {
        let EventKind::Custom { plugin, name, data } = event else { return None };
        let unreadable =
            |error| Problem::failed(format!("the role of the session cannot be read: {error}"));
        let is_role = plugin == Self::PLUGIN && name == Self::NAME;
        is_role.then(|| Self::deserialize(data).map_err(unreadable))
    }
}

impl ChosenRole {
    /// The event that names it in the log of its session.
    pub(crate) fn record(&self) -> EventKind {
        EventKind::Custom {
            plugin: RoleRecord::PLUGIN.to_owned(),
            name: RoleRecord::NAME.to_owned(),
            data: json!({"file": self.role.file.to_string_lossy(), "variables": self.given}),
        }
    }
}

/// Has a session play a role that a client names: a file of its project, or one of the user's own.
pub(crate) fn choose_offered(assembly: &mut Assembly, name: &str) -> Result<(), Problem> {
    let (file, cwd) = (named(assembly, name)?, &assembly.environment.cwd);
    if cwd.join(name).exists() && !file.canonicalize()?.starts_with(cwd.canonicalize()?) {
        return Err(Problem::misuse(format!("{name} is outside of {}", cwd.display()))
            .hint("name a role of the project, or one of your own"));
    }
    choose(assembly, &file, &BTreeMap::new())
}

/// Has the session that the flags continue play the role with which it began.
pub(crate) fn resume(assembly: &mut Assembly) -> Result<(), Problem> {
    let record = if assembly.role.is_none() { session_choice::first_role(assembly)? } else { None };
    record.map_or(Ok(()), |record| choose(assembly, &record.file, &record.variables))
}
