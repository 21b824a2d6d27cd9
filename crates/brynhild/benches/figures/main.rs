//! Figures of the shipped program, each beside the limit that the machine sets, measured in the
//! same run and in turns with it. `cargo bench -p brynhild` prints them all;
//! `cargo bench -p brynhild -- rounds search` prints some.

mod chibi;
mod confined;
mod decisions;
mod floor;
mod hook;
mod initrunner;
mod interrupt;
mod job;
mod keys;
mod limits;
mod plot;
mod python;
mod report;
mod rounds;
mod scale;
mod search;
mod start;
mod undo;
mod whole;
mod workspaces;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use report::Report;

type Measure = fn(&mut Report);

/// The parts that can be asked for by name.
const PARTS: [(&str, Measure); 15] = [
    ("start", start::measure),
    ("rounds", rounds::measure),
    ("whole", whole::measure),
    ("search", search::measure),
    ("python", python::measure),
    ("initrunner", initrunner::measure),
    ("chibi", chibi::measure),
    ("hook", hook::measure),
    ("confined", confined::measure),
    ("decisions", decisions::measure),
    ("scale", scale::measure),
    ("undo", undo::measure),
    ("workspaces", workspaces::measure),
    ("interrupt", interrupt::measure),
    ("keys", keys::measure),
];

/// The helper of the sandbox: the program itself.
fn helper() -> PathBuf {
    env!("CARGO_BIN_EXE_brynhild").into()
}

fn main() -> io::Result<ExitCode> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    // The same file serves as the minimal program that ours is compared with.
    if let Some(role) = words.first().and_then(|word| floor::Role::of(word)) {
        floor::play(role, &words[1..]);
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = |name: &str| {
        let mut names = words.iter().filter(|word| !word.to_string_lossy().starts_with('-'));
        names.clone().next().is_none() || names.any(|word| word == name)
    };
    let mut report = Report::default();
    for (_, measure) in PARTS.iter().filter(|(name, _)| wanted(name)) {
        measure(&mut report);
    }
    report.print(&mut io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}
