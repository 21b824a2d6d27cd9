//! What Python could take for a module in a folder where it looks for them first: whatever name appears
//! there comes before the same name of its library, also where only the library asks for it.

use std::fs;
use std::path::{Path, PathBuf};

const ENDINGS: [&str; 5] = ["py", "pyw", "pyc", "so", "pyd"];

/// Whether Python runs it.
pub(crate) fn is_python(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "py" || it == "pyw")
}

/// The files in a folder that an `import` could find.
pub(crate) fn importable(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|it| ENDINGS.iter().any(|ending| it == *ending)) {
            found.push(path);
        } else if path.is_dir() {
            let starts = ENDINGS.map(|ending| path.join(format!("__init__.{ending}")));
            found.extend(starts.into_iter().filter(|start| start.exists()));
        }
    }
    found
}
