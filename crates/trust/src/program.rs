//! The functions of other crates that trust needs. The crate `assemble` passes them.

use std::path::Path;

use serde_json::Value;

#[derive(Debug)]
pub struct Program {
    /// Removes the hidden characters that are also removed before a skill or command is used.
    pub without_hidden: fn(&str) -> String,
    /// Describes the package that an MCP server runs in whatever version is newest.
    pub unpinned_package: fn(&Value) -> Option<String>,
    pub diff: fn(&str, &str) -> String,
    /// Writes a decision into the audit log in the configuration directory.
    pub note: fn(config_dir: &Path, decision: &str, hash: &str, root: &Path) -> Result<(), String>,
}

#[cfg(test)]
pub(crate) static NONE: Program = Program {
    without_hidden: |text| text.replace(['\u{200b}', '\r'], ""),
    unpinned_package: |entry| (entry["command"] == "npx").then(|| String::from("newest")),
    diff: |before, after| format!("-{before}+{after}"),
    note: |_, _, _, _| Ok(()),
};
