//! Files that choose a version of a program in a folder. One that names a path makes every start of that
//! program there run what lies in the project, also that of a prompt or an editor.

use std::path::Path;

/// Such files, with what they hold where they name a path. A custom toolchain of rustup has no slash.
const FILES: [(&str, &[&str]); 3] = [
    ("rust-toolchain.toml", &["path", "/", "\\"]),
    ("rust-toolchain", &["path", "/", "\\"]),
    (".tool-versions", &["path:"]),
];

/// Why a change of a file would make programs of the project run, where it says so, or is not known.
pub(crate) fn leads_to_program(path: &Path, diff: Option<&str>) -> Option<String> {
    let name = path.file_name()?;
    let (_, words) = FILES.iter().find(|(file, _)| name.eq_ignore_ascii_case(file))?;
    let is_path = |line: &str| words.iter().any(|word| said(line).contains(word));
    let mut added = diff.into_iter().flat_map(str::lines).filter_map(|line| line.strip_prefix('+'));
    let leads = diff.is_none() || added.any(|line| !line.starts_with("++ ") && is_path(line));
    leads.then(|| "it names a path from which programs of yours would be run".to_owned())
}

/// A line without its comment, where that is certain: a `#` may stand in a text in quotes, which may have
/// begun on another line.
fn said(line: &str) -> &str {
    let (mut open, mut is_escaped) = (None, false);
    if ["'''", "\"\"\""].iter().any(|quotes| line.contains(quotes)) {
        return line;
    }
    for (at, letter) in line.char_indices() {
        match open {
            None if letter == '#' => return &line[..at],
            None => open = Some(letter).filter(|it| ['"', '\''].contains(it)),
            Some(_) if is_escaped => is_escaped = false,
            Some('"') if letter == '\\' => is_escaped = true,
            Some(quote) if letter == quote => open = None,
            Some(_) => {}
        }
    }
    line
}
