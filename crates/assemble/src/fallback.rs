//! The reasons for which the mode `normal` works like `ask`: the sandbox or undo cannot do its job.

use std::sync::Arc;

use sessions::snapshots::SessionSnapshots;

use crate::assembly::Assembly;
use crate::exit::Problem;
use crate::permissions;

/// Says why `normal` works like `ask`; none if it does not.
pub(crate) type Fallback = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// Returns the check of whether this run can be confined and undone.
pub fn fallback(
    assembly: &Assembly,
    undo: Option<Arc<SessionSnapshots>>,
) -> Result<Fallback, Problem> {
    let sandbox = assembly.sandbox()?;
    let has_file_rules = permissions::file_rules(assembly)?.is_some();
    let is_undo_off = !assembly.config().undo.enabled;
    Ok(Arc::new(move || {
        let enforced = sandbox.enforces();
        if !enforced.confined {
            return Some("there is no sandbox".to_owned());
        }
        if has_file_rules && !enforced.file_rules {
            return Some("this sandbox cannot enforce deny rules for files".to_owned());
        }
        if is_undo_off {
            return Some("undo is turned off (`undo.enabled`)".to_owned());
        }
        undo.as_ref()?.covers().err()
    }))
}
