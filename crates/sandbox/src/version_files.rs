//! Files that choose a version of a program in a folder, by which every start of it there goes, a prompt's
//! included. Most name a version; one that names a path makes a program of the project run instead.

use std::ffi::OsStr;
use std::path::Path;

use crate::contents::{self, Found};

const MOST_BYTES: u64 = 1 << 20;

/// Such files, with what they hold where they name a path. A custom toolchain of rustup has no slash.
const FILES: [(&str, &[&str]); 3] = [
    ("rust-toolchain.toml", &["path", "/", "\\"]),
    ("rust-toolchain", &["path", "/", "\\"]),
    (".tool-versions", &["path:"]),
];

/// Whether a file of this name chooses a version.
pub(crate) fn is_name(name: &OsStr) -> bool {
    words(name).is_some()
}

/// Whether it is such a file and names no path.
pub(crate) fn is_harmless(path: &Path) -> bool {
    let Some(words) = path.file_name().and_then(words) else { return false };
    match contents::file(path, MOST_BYTES) {
        Found::Absent => true,
        Found::Unknown => false,
        Found::Read(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            let mut lines = text.lines().map(said);
            !lines.any(|line| words.iter().any(|word| line.contains(word)))
        }
    }
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

fn words(name: &OsStr) -> Option<&'static [&'static str]> {
    let found = FILES.iter().find(|(file, _)| name.eq_ignore_ascii_case(file));
    found.map(|(_, words)| *words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_harmless_and_a_path_is_not() {
        let base = tempfile::tempdir().unwrap();
        let is_harmless = |name: &str, text: &str| {
            std::fs::write(base.path().join(name), text).unwrap();
            is_harmless(&base.path().join(name))
        };
        let toml = "rust-toolchain.toml";
        assert!(is_harmless(toml, "[toolchain] # no path\nchannel = \"1.90\"\n"));
        assert!(is_harmless("rust-toolchain", "nightly-2026-01-01\n"));
        assert!(is_harmless(".tool-versions", "nodejs 22.1.0 # path:x\npython 3.13\n"));
        for text in [
            "[toolchain]\npath='e'",
            "toolchain={path=\"e\"}",
            "toolchain.\"\\u0070ath\"='e'",
            "toolchain={'#'=1,path='e'}",
            "toolchain={'\"'=1,\"#\"=2,path='e'}",
            "toolchain={a='''\n#''',path='e'}",
        ] {
            assert!(!is_harmless(toml, text), "{text}");
        }
        assert!(!is_harmless("rust-toolchain", "/w/evil\n"));
        assert!(!is_harmless(".tool-versions", "nodejs path:./evil\n"));
        assert!(!is_harmless("other", "x") && !is_name(OsStr::new("other")));
    }
}
