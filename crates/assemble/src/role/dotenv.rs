//! The variables in `.env` files of a role.

use files::private;
use initrunner::role::Role;

use super::reach::came_with_project;
use crate::assembly::Assembly;
use crate::output;

/// Takes the variables of the `.env` beside a role, and of the user's own, that are not set. A
/// project that is not trusted sets none.
pub(super) fn take_variables(assembly: &mut Assembly, role: &Role) {
    let beside = role.directory().join(".env");
    let is_refused = came_with_project(assembly, role);
    if is_refused && beside.exists() {
        output::warning(&format!(
            "{} is not read: it belongs to an untrusted project",
            beside.display()
        ));
    }
    let beside = Some(beside).filter(|_| !is_refused);
    let own = assembly.environment.home.iter().map(|home| home.join(".initrunner/.env"));
    for file in beside.into_iter().chain(own.collect::<Vec<_>>()) {
        let text = match private::read(&file) {
            Ok(bytes) => String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned(),
            Err(why) => {
                output::warning(&format!("{} is not read: {why}", file.display()));
                continue;
            }
        };
        for line in config::dotenv::parse(&text) {
            assembly.environment.variables.entry(line.name).or_insert(line.value);
        }
    }
    if !is_refused {
        assembly.environment.variables.extend(role.environment.clone());
    }
}
