//! What Python could take for a module in a folder where it looks for them first: whatever name appears
//! there comes before the same name of its library, also where only the library asks for it.

use std::fs;
use std::path::{Path, PathBuf};

const ENDINGS: [&str; 5] = ["py", "pyw", "pyc", "so", "pyd"];

/// Whether Python runs it, by its name or by what it says of itself.
pub(crate) fn is_python(path: &Path, bytes: &[u8]) -> bool {
    // The interpreter may stand behind a shell's line or two.
    const START: usize = 256;
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(START)]);
    let says_so = || ["python", "pypy", "uv run"].iter().any(|name| start.contains(name));
    path.extension().is_some_and(|it| it == "py" || it == "pyw")
        || (start.starts_with("#!") && says_so())
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
