//! The audit log of decisions, in the configuration directory.

use std::path::Path;

use audit::decisions::Audit;

use crate::output;

/// Opens the log.
pub fn open(config_dir: &Path) -> Audit {
    Audit::new(config_dir, output::warning)
}
