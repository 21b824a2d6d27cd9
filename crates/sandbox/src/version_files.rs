//! Files that choose a version of a program in a folder, by which every start of it there goes, a prompt's
//! included. Most name a version; one that names a path makes a program of the project run instead.

use std::ffi::OsStr;
use std::path::Path;

use crate::contents::{self, Found};
use crate::{led, nested};

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

/// Why such a file at `path` would make programs of the project at `root` run once these lines are added, or any
/// where they are not known. What a link of such a name leads to is such a file.
pub fn leads_to_program(path: &Path, root: &Path, added: Option<&[&str]>) -> Option<String> {
    let leads = |name: &OsStr| {
        let is_led = |words| added.is_none_or(|it| it.iter().any(|line| names_path(line, words)));
        words(name).is_some_and(is_led)
    };
    let is_linked = || {
        let links = nested::version_links(root).into_iter();
        let mut links = links.filter(|link| link.file_name().is_some_and(leads));
        links.any(|link| led::way(&link).is_some_and(|(end, _)| end == path))
    };
    let may_lead = FILES.iter().any(|(name, _)| leads(OsStr::new(name)));
    let does_lead = may_lead && (path.file_name().is_some_and(leads) || is_linked());
    does_lead.then(|| "it names a path from which programs of yours would be run".to_owned())
}

/// Whether it is such a file and names no path.
pub(crate) fn is_harmless(path: &Path) -> bool {
    path.file_name().is_some_and(|name| is_harmless_as(name, path))
}

/// Whether what is at `path` would be such a file, and name no path, if a link of this name led there.
pub(crate) fn is_harmless_as(name: &OsStr, path: &Path) -> bool {
    let Some(words) = words(name) else { return false };
    match contents::file(path, MOST_BYTES) {
        Found::Absent => true,
        Found::Unknown => false,
        Found::Read(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            !text.lines().any(|line| names_path(line, words))
        }
    }
}

fn names_path(line: &str, words: &[&str]) -> bool {
    let said = said(line);
    words.iter().any(|word| said.contains(word))
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

    #[test]
    fn a_change_leads_to_a_program_if_what_it_adds_does_or_is_not_known() {
        let base = tempfile::tempdir().unwrap();
        for (link, target) in [("rust-toolchain", "tc"), (".tool-versions", "rust-toolchain")] {
            std::os::unix::fs::symlink(target, base.path().join(link)).unwrap();
        }
        let leads = |name: &str, line: &str| {
            let path = base.path().join(name);
            leads_to_program(&path, base.path(), Some(&["x", line])).is_some()
        };
        for (name, line) in [
            ("a/Rust-Toolchain.toml", "path = \"evil\""),
            ("rust-toolchain.toml", "\"\\u0070ath\" = 'evil'"),
            ("rust-toolchain.toml", "toolchain = { \"#\" = 1, path = 'evil' }"),
            ("rust-toolchain", "/w/evil"),
            (".tool-versions", "nodejs path:./evil"),
            ("tc", "/w/evil"),
        ] {
            assert!(leads(name, line), "{name}: {line}");
        }
        for (name, line) in [
            ("a/rust-toolchain.toml", "channel = \"1.90\" # no path"),
            ("rust-toolchain", "nightly"),
            (".tool-versions", "nodejs 22.1.0"),
            ("other.toml", "path = \"x\""),
            ("tc", "nightly"),
        ] {
            assert!(!leads(name, line), "{name}: {line}");
        }
        let unknown =
            |name: &str| leads_to_program(&base.path().join(name), base.path(), None).is_some();
        assert!(unknown("a/rust-toolchain") && unknown("tc") && !unknown("other"));
    }
}
