//! How far a role reaches that came with a project and is not trusted: it decides neither where a key
//! goes nor which files of the user's are read.

use std::path::Path;

use initrunner::role::Role;

use super::python;
use crate::assembly::Assembly;
use crate::exit::{Exit, Problem};
use crate::output;

/// Refuses a file that a role names outside of its directory, unless the role is the user's own or
/// trusted.
pub(super) fn check(assembly: &Assembly, role: &Role, path: &Path) -> Result<(), String> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if real(path).starts_with(real(role.directory())) || python::is_trusted(assembly, role) {
        return Ok(());
    }
    Err(format!(
        "{} is outside the role's directory, and the role belongs to an untrusted project",
        path.display()
    ))
}

/// The address that a role names for its model, where it may name one.
pub(super) fn address(assembly: &Assembly, role: &Role) -> Option<String> {
    let address = role.model.base_url.clone()?;
    if python::is_trusted(assembly, role) {
        return Some(address);
    }
    output::warning(&format!(
        "the role names {address} as the address of its model, and came with a project that is not \
         trusted; the default provider is used"
    ));
    None
}

/// Returns true if a role came with a project, and the user has not trusted its bytes.
pub(super) fn came_with_project(assembly: &Assembly, role: &Role) -> bool {
    !python::is_trusted(assembly, role)
}

/// Stops where trust is required and the role came without it.
pub(super) fn required(assembly: &Assembly, role: &Role) -> Result<(), Problem> {
    if !assembly.global.require_trust || python::is_trusted(assembly, role) {
        return Ok(());
    }
    let text = format!("trust is required and missing: {}", role.file.display());
    Err(Problem::new(Exit::PermissionNeeded, text).hint("name this file on the command line"))
}
