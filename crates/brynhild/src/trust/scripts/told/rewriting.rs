//! Lines of scripts in other languages than a shell's that write what is run: a script that is covered, or a file that
//! is named like code beside the word that writes it.

use std::collections::BTreeSet;

use super::super::ENDINGS;
use super::languages::{Language, names};
use super::written::is_sign;

/// Words by which Python writes, moves or links files.
#[rustfmt::skip]
const PYTHON: [&str; 17] = [
    "O_CREAT", "O_RDWR", "O_WRONLY", "copy", "copy2", "copyfile", "copytree", "extractall", "hardlink_to", "link", "move",
    "rename", "symlink", "symlink_to", "urlretrieve", "write_bytes", "write_text",
];
/// How those of JavaScript begin.
#[rustfmt::skip]
const JAVASCRIPT: [&str; 9] = [
    "appendFile", "copyFile", "cpSync", "createWriteStream", "link", "openSync", "rename", "symlink", "writeFile",
];
/// The same of Perl and Ruby.
const OTHERS: [&str; 10] =
    ["copy", "cp", "link", "ln_s", "move", "mv", "rename", "symlink", "sysopen", "write"];

/// Words before the name of what is loaded.
const LOADERS: [&str; 3] = ["from", "import", "require"];

/// The lines of a text that write, if it names one of the covered files, or one like code on the same line.
pub(super) fn rewriting(language: Language, text: &str, covered: &BTreeSet<&str>) -> Vec<String> {
    let own = |path: &&str| path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let covered: BTreeSet<String> = covered.iter().map(own).collect();
    let said = |line: &str, is_meant: &dyn Fn(&str) -> bool| {
        line.split(is_sign).filter(|name| is_meant(&name.to_ascii_lowercase())).count()
    };
    // What is loaded by its name is not written by that.
    let loaded = |line: &str| usize::from(names(line).any(|(_, name)| LOADERS.contains(&name)));
    let names_covered =
        text.lines().any(|line| said(line, &|name| covered.contains(name)) > loaded(line));
    let is_code = |name: &str| {
        let parts = name.rsplit_once('.').filter(|(start, _)| !start.is_empty());
        parts.is_some_and(|(_, ending)| ENDINGS.contains(&ending))
    };
    let is_told =
        |line: &&str| writes(language, line) && (names_covered || said(line, &is_code) > 0);
    text.lines().filter(is_told).map(str::to_owned).collect()
}

fn writes(language: Language, line: &str) -> bool {
    let mut names = names(line);
    match language {
        Language::Shell | Language::Binary => false,
        Language::Python => names.any(|(at, name)| {
            PYTHON.contains(&name)
                || name == "open" && opens(&line[at..])
                || name == "replace" && line[..at].ends_with("os.")
        }),
        Language::JavaScript => {
            names.any(|(_, name)| JAVASCRIPT.iter().any(|start| name.starts_with(start)))
        }
        Language::Perl | Language::Ruby => names.any(|(_, name)| OTHERS.contains(&name)),
    }
}

/// Whether a call of `open` is given a mode in which it writes.
fn opens(call: &str) -> bool {
    let is_mode = |text: &str| {
        (1..=4).contains(&text.len())
            && text.bytes().all(|it| b"rwaxbtU+".contains(&it))
            && text.contains(['w', 'a', 'x', '+'])
    };
    call.split(['"', '\'']).skip(1).step_by(2).any(is_mode) || call.contains("mode")
}
