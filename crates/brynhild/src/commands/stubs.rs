//! `stubs`: writes the Python packages that plugins import into a directory, so that authors can test
//! their plugins without this program. Reads no configuration.

use std::path::Path;

use serde_json::json;

use crate::args::{Global, OutputFormat};
use crate::exit::{Exit, Outcome, Problem};
use crate::output;

/// Writes them.
pub(crate) fn install(global: &Global, directory: &Path) -> Outcome {
    let files = python_host::write_stubs(directory).map_err(|error| {
        Problem::failed(format!("cannot write to {}: {error}", directory.display()))
            .hint("name a directory that you may write to")
    })?;
    let shown = directory.display().to_string();
    if global.format() == Some(OutputFormat::Json) {
        output::json(&json!({"path": shown, "files": files.len()}))?;
        return Ok(Exit::Done);
    }
    output::told(format_args!("{} files are in {shown}.", files.len()))?;
    output::hint(&format!("`PYTHONPATH={shown} python3 test_my_tool.py` finds them"));
    Ok(Exit::Done)
}
