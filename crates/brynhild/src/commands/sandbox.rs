//! `sandbox`: runs a command confined, and says what confinement there is.

mod shown;

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use contract::policy::Mode;
use contract::sandbox::{
    Access, Channel, Child, Exit as Ended, Network, SandboxError, Spawn, Stdin,
};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::args::{SandboxCommand, SandboxProfile};
use crate::assemble;
use crate::assemble::assembly::Assembly;
use crate::assemble::run_context::RunContext;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;
use crate::signals::Signals;
use shown::Shown;

/// By this shells say that a program was not found.
const NOT_FOUND: u8 = 127;
/// By this shells say that a program was found and could not be started.
const NOT_STARTED: u8 = 126;

/// Runs a `sandbox` command.
pub(crate) async fn run(assembly: &Assembly, command: SandboxCommand) -> Outcome {
    match command {
        SandboxCommand::Run { profile, command } => {
            let access = match SandboxProfile::from_str(&profile, false) {
                Ok(SandboxProfile::ReadOnly) => Access::ReadOnly,
                Ok(SandboxProfile::Workspace) => Access::Workspace,
                Err(_) => {
                    let text = format!("there is no sandbox profile '{profile}'");
                    return Err(Problem::misuse(text).hint("there are read-only and workspace"));
                }
            };
            confined(assembly, access, command).await
        }
        SandboxCommand::Doctor => doctor(assembly),
    }
}

async fn confined(assembly: &Assembly, access: Access, command: Vec<OsString>) -> Outcome {
    let root = assembly.root()?;
    let mut words = command.into_iter();
    let program = words.next().ok_or_else(|| Problem::misuse("no command was given"))?;
    let spawn = Spawn {
        program: program.into(),
        args: words.collect(),
        cwd: assembly.environment.cwd.clone(),
        stdin: Stdin::Piped,
        channel: Channel::None,
        env: std::collections::BTreeMap::new(),
        home: None,
    };
    // Nothing is written in read-only mode, whatever the profile is.
    let access = if assembly.mode() == Mode::ReadOnly { Access::ReadOnly } else { access };
    let mut confinement = assemble::confinement::confinement(assembly, root)?.with_access(access);
    if access == Access::ReadOnly {
        // What may change nothing tells nobody anything either.
        confinement.profile.network = Network::None;
    }
    let mut signals = Signals::new()?;
    let child = confinement.start(&spawn).map_err(|error| unstarted(assembly, &spawn, &error))?;
    let Child { stdin, stdout, stderr, mut process, .. } = child;
    let terminal = assembly.environment.terminal;
    let streams = async {
        tokio::try_join!(
            copy(stdout, io::stdout(), terminal.stdout.then(Shown::default)),
            copy(stderr, io::stderr(), terminal.stderr.then(Shown::default))
        )
    };
    let run = async {
        let (copied, ended) = tokio::join!(streams, process.wait());
        copied.and(ended)
    };
    let ended = tokio::select! {
        ended = run => ended?,
        Err(error) = feed(stdin) => return Err(error.into()),
        exit = signals.next() => {
            process.kill();
            process.wait().await?;
            return Ok(exit);
        }
    };
    Ok(match ended {
        Ended::Code(code) => Exit::Command(u8::try_from(code).unwrap_or(1)),
        Ended::Signal(signal) => Exit::Command(u8::try_from(128 + signal).unwrap_or(1)),
    })
}

/// Why a command did not start, with the code by which shells tell it.
fn unstarted(run: &RunContext, spawn: &Spawn, error: &SandboxError) -> Problem {
    let (exit, hint) = match error {
        SandboxError::Unavailable { hint, .. } => (Exit::Unsafe, Some(hint.clone())),
        SandboxError::Refused(_) => (Exit::Unsafe, None),
        SandboxError::Start { source, .. } => {
            let is_missing = source.kind() == io::ErrorKind::NotFound;
            let code = if is_missing { NOT_FOUND } else { NOT_STARTED };
            let may_be_hidden = is_missing || source.kind() == io::ErrorKind::PermissionDenied;
            let hint = may_be_hidden.then(|| hidden(run, &spawn.program)).flatten();
            (Exit::Command(code), hint)
        }
    };
    Problem { hint, ..Problem::new(exit, error.to_string()) }
}

/// What to do where a program is there, but not for a confined process.
fn hidden(run: &RunContext, program: &Path) -> Option<String> {
    let search = run.environment.variable("PATH").unwrap_or_default();
    let directories = std::env::split_paths(search);
    let named = program.components().count() == 1 && !program.is_absolute();
    let places: Vec<PathBuf> = if named {
        directories.map(|directory| directory.join(program)).collect()
    } else {
        vec![run.environment.cwd.join(program)]
    };
    // What nobody can run does not run when it is seen either.
    let can_run = |found: Metadata| found.is_file() && found.permissions().mode() & 0o111 != 0;
    let place = places.into_iter().find(|place| fs::metadata(place).is_ok_and(can_run))?;
    let root = run.root().ok()?;
    if place.starts_with(root) {
        return None;
    }
    Some(format!(
        "{} is there, but a confined program does not see it: `sandbox.read_paths` in your \
         configuration names directories that it may read",
        place.display()
    ))
}

/// Hands our standard input on; never ends while the command may go on.
async fn feed(to: Option<Box<dyn AsyncWrite + Send + Unpin>>) -> io::Result<()> {
    let (sender, mut pieces) = mpsc::channel::<Vec<u8>>(4);
    // Nothing ends the wait for a terminal's next line, so it is on a thread that may stay behind.
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        let mut input = io::stdin().lock();
        while let Ok(count @ 1..) = input.read(&mut buffer) {
            if sender.blocking_send(buffer[..count].to_vec()).is_err() {
                break;
            }
        }
    })?;
    if let Some(mut to) = to {
        while let Some(piece) = pieces.recv().await {
            // Whether the command wants more is its own business.
            if to.write_all(&piece).await.is_err() || to.flush().await.is_err() {
                break;
            }
        }
    }
    std::future::pending().await
}

/// Hands on what the command writes: to a terminal as it may be shown there, else as it is.
async fn copy(
    mut from: Box<dyn AsyncRead + Send + Unpin>,
    mut to: impl Write,
    mut shown: Option<Shown>,
) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = from.read(&mut buffer).await?;
        match &mut shown {
            Some(shown) if count == 0 => to.write_all(shown.finish().as_bytes())?,
            Some(shown) => to.write_all(shown.push(&buffer[..count]).as_bytes())?,
            None => to.write_all(&buffer[..count])?,
        }
        to.flush()?;
        if count == 0 {
            return Ok(());
        }
    }
}

fn doctor(assembly: &Assembly) -> Outcome {
    let reports = sandbox::doctor(&assemble::confinement::sandbox_settings(assembly)?);
    let exit = if reports.iter().any(|report| report.chosen) { Exit::Done } else { Exit::Unsafe };
    if assembly.wants_json() {
        output::json(&reports.iter().map(describe).collect::<Vec<_>>())?;
        return Ok(exit);
    }
    for report in &reports {
        let state = match &report.usable {
            Ok(()) if report.chosen => "is used".to_owned(),
            Ok(()) => "would work".to_owned(),
            Err(cause) => format!("does not work: {cause}"),
        };
        output::line(format_args!("{}: {state}", report.rung))?;
        if let Err(cause) = &report.usable
            && !cause.remedy.is_empty()
        {
            output::line(format_args!("  remedy: {}", cause.remedy))?;
        }
        for hold in &report.holds {
            output::line(format_args!("  holds: {hold}"))?;
        }
        for lack in &report.lacks {
            output::line(format_args!("  lacks: {lack}"))?;
        }
    }
    if exit == Exit::Unsafe {
        output::line("Nothing can confine a process here, so no command will run.")?;
    }
    Ok(exit)
}

fn describe(report: &sandbox::RungReport) -> Value {
    let cause = report.usable.as_ref().err();
    json!({
        "rung": report.rung.name(),
        "usable": report.usable.is_ok(),
        "chosen": report.chosen,
        "cause": cause.map(|cause| cause.what.clone()),
        "remedy": cause.map(|cause| cause.remedy.clone()),
        "holds": report.holds,
        "lacks": report.lacks,
    })
}
