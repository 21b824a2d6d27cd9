//! The user's decisions about projects, with the functions of other crates that they need.

use std::path::Path;

use trust::program::Program;
use trust::store::Store;

use crate::audit;

static PROGRAM: Program = Program {
    without_hidden: |text| plugins::hidden::strip(text).text,
    unpinned_package: |entry| Some(mcp::config::unpinned_package(entry)?.describe()),
    diff: |before, after| tools::diff::between(before, after, 2, None),
    note: |config_dir, decision, hash, root| {
        audit::open(config_dir).note(decision, hash, Some(root))
    },
};

/// Opens the decisions.
pub fn open(config_dir: &Path) -> Store {
    Store::new(config_dir, &PROGRAM)
}
