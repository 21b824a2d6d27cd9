//! Files that a text writes and then runs. Sees too many rather than too few.

use std::collections::HashSet;

use super::{Found, Redirection, Survey, base_name};
use crate::shell::tolerant::Piece;
use crate::shell::wrappers;

impl Survey {
    /// Whether the text writes a file.
    pub(super) fn writes_file(&self) -> bool {
        let redirected = |redirection: &Redirection| {
            redirection.target.writes && redirection.target.word.text != "/dev/null"
        };
        self.redirections.iter().any(redirected) || self.commands.iter().any(writes_files)
    }

    /// Whether a file runs, by its path or by what reads it, whose name the text writes.
    pub(super) fn runs_written_file(&self) -> bool {
        let mut written: HashSet<&str> = HashSet::new();
        let targets = self.redirections.iter().filter(|it| it.target.writes);
        written.extend(targets.map(|it| base_name(&it.target.word.text)));
        for found in self.commands.iter().filter(|found| writes_files(found)) {
            written.extend(found.argv()[1..].iter().map(|word| base_name(&word.text)));
        }
        let is_written = |word: &Piece| written.contains(base_name(&word.text));
        self.commands.iter().any(|found| {
            let Some((program, args)) = found.argv().split_first() else { return false };
            let name = base_name(&program.text);
            let made = ["Makefile", "makefile", "GNUmakefile"];
            let is_made = |word: &Piece| {
                let file = word.text.trim_start_matches("--file=").trim_start_matches("-f");
                written.contains(base_name(file))
            };
            (program.text.contains('/') && is_written(program))
                || (wrappers::is_interpreter(name) && args.iter().any(is_written))
                || (wrappers::listens(name) && args.iter().any(is_made))
                || (["make", "gmake"].contains(&name) && made.iter().any(|it| written.contains(it)))
        })
    }
}

/// Programs that write files which they name, or whose names they make.
const WRITERS: &[&str] = &[
    "tee", "dd", "cp", "mv", "install", "split", "csplit", "sponge", "patch", "ed", "ex", "tar",
    "cpio", "unzip", "rsync", "awk", "gawk", "mawk", "xxd", "base64", "uudecode", "ln",
];

/// Whether a command writes the files that it names.
fn writes_files(found: &Found) -> bool {
    let program = found.argv().first().map_or("", |program| base_name(&program.text));
    let has = |starts: &[&str]| {
        found.argv()[1..].iter().any(|word| starts.iter().any(|it| word.text.contains(it)))
    };
    match program {
        "sort" | "shuf" => has(&["-o", "--o"]),
        "uniq" => found.argv()[1..].iter().filter(|word| !word.text.starts_with("--")).count() > 1,
        "sed" | "gsed" => has(&["-i", "w"]),
        _ => WRITERS.contains(&program),
    }
}
