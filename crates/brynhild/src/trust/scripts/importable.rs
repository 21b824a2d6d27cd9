//! What Python could take for a module in a folder where it looks for them first: whatever name appears
//! there comes before the same name of its library, also where only the library asks for it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const ENDINGS: [&str; 5] = ["py", "pyw", "pyc", "so", "pyd"];

/// Names in a folder, and in those within it, that are looked at before it counts as a package.
const MOST_NAMES: usize = 2_000;

/// What Python keeps for itself, and imports nothing from by that name.
const CACHE: &str = "__pycache__";

/// What an `import` could find.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Importable {
    /// Files.
    pub(crate) files: Vec<PathBuf>,
    /// Folders that are packages for what lies in them, without a file that says so.
    pub(crate) packages: Vec<PathBuf>,
    /// Folders that are none as long as nothing comes to them.
    pub(crate) others: BTreeSet<PathBuf>,
}

/// Whether Python runs it, by its name or by what it says of itself.
pub(crate) fn is_python(path: &Path, bytes: &[u8]) -> bool {
    // The interpreter may stand behind a shell's line or two.
    const START: usize = 256;
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(START)]);
    let says_so = || ["python", "pypy", "uv run"].iter().any(|name| start.contains(name));
    path.extension().is_some_and(|it| it == "py" || it == "pyw")
        || (start.starts_with("#!") && says_so())
}

/// What an `import` could find in a folder.
pub(crate) fn importable(folder: &Path) -> Importable {
    let mut found = Importable::default();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if has_ending(&path) {
            found.files.push(path);
        } else if path.is_dir() {
            let starts = ENDINGS.map(|ending| path.join(format!("__init__.{ending}")));
            let starts: Vec<PathBuf> = starts.into_iter().filter(|it| it.exists()).collect();
            if starts.is_empty() && can_be_imported(&path) {
                found.weigh(path);
            }
            found.files.extend(starts);
        }
    }
    found
}

impl Importable {
    /// Whether a folder that does not say so is a package.
    fn weigh(&mut self, folder: PathBuf) {
        let (mut looked, mut left) = (BTreeSet::new(), MOST_NAMES);
        if matches!(holds_none(&folder, &mut looked, &mut left), Ok(true)) {
            self.others.append(&mut looked);
        } else {
            self.packages.push(folder);
        }
    }
}

/// Whether there is nothing to import in a folder, however deep; not where it is too large to say.
fn holds_none(folder: &Path, looked: &mut BTreeSet<PathBuf>, left: &mut usize) -> io::Result<bool> {
    looked.insert(folder.to_owned());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(fewer) = left.checked_sub(1) else { return Ok(false) };
        *left = fewer;
        if !can_be_imported(&path) {
            continue;
        }
        if has_ending(&path) || (path.is_dir() && !holds_none(&path, looked, left)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn has_ending(path: &Path) -> bool {
    path.extension().is_some_and(|it| ENDINGS.iter().any(|ending| it == *ending))
}

/// Whether an `import` can say the name, as far as the first dot.
fn can_be_imported(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let stem = name.split('.').next().unwrap_or_default();
    let mut letters = stem.chars();
    let is_letter = |letter: char| letter.is_alphabetic() || letter == '_';
    letters.next().is_some_and(is_letter)
        && letters.all(|letter| is_letter(letter) || letter.is_numeric())
        && name != CACHE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_anything_to_import_in_it_is_a_package() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in [
            "a.py",
            "native.cpython-312.so",
            "stated/__init__.py",
            "plain/deep/x.py",
            "cached/__pycache__/x.pyc",
            "target/libx-1.so",
            "docs/a.md",
            "docs/deep/a.md",
            "my-tools/x.py",
            ".hidden/x.py",
            "__pycache__/a.pyc",
        ] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), "").unwrap();
        }
        fs::create_dir(root.join("large")).unwrap();
        for number in 0..=MOST_NAMES {
            fs::write(root.join(format!("large/{number}.txt")), "").unwrap();
        }
        let mut found = importable(root);
        found.files.sort();
        found.packages.sort();
        let all = |names: &[&str]| names.iter().map(|name| root.join(name)).collect::<Vec<_>>();
        assert_eq!(found.files, all(&["a.py", "native.cpython-312.so", "stated/__init__.py"]));
        assert_eq!(found.packages, all(&["large", "plain"]));
        let others: Vec<PathBuf> = found.others.into_iter().collect();
        assert_eq!(others, all(&["cached", "docs", "docs/deep", "target"]));
    }
}
