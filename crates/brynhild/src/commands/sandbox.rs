//! `sandbox`: runs a command confined, and says what confinement there is.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use args::{SandboxCommand, SandboxProfile};
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::run_context::RunContext;
use assemble::signals::Signals;
use clap::ValueEnum;
use contract::policy::Mode;
use contract::sandbox::{
    Access, Channel, Child, Exit as Ended, Network, SandboxError, Spawn, Stdin,
};
use line_ui::terminal_filter::TerminalFilter;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// A shell's exit code if a program was not found.
const NOT_FOUND: u8 = 127;
/// A shell's exit code if a program was found and could not be started.
const NOT_STARTED: u8 = 126;

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
        // A read-only command gets no network either.
        confinement.profile.network = Network::None;
    }
    let mut signals = Signals::new()?;
    let child = confinement.start(&spawn).map_err(|error| unstarted(assembly, &spawn, &error))?;
    let Child { stdin, stdout, stderr, mut process, .. } = child;
    let terminal = assembly.environment.terminal;
    let streams = async {
        tokio::try_join!(
            copy(stdout, io::stdout(), terminal.stdout.then(TerminalFilter::default)),
            copy(stderr, io::stderr(), terminal.stderr.then(TerminalFilter::default))
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

/// The reason why a command did not start, with the exit code that a shell would use.
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

/// A hint if a program exists but a confined process cannot see it.
fn hidden(run: &RunContext, program: &Path) -> Option<String> {
    let search = run.environment.variable("PATH").unwrap_or_default();
    let directories = std::env::split_paths(search);
    let named = program.components().count() == 1 && !program.is_absolute();
    let places: Vec<PathBuf> = if named {
        directories.map(|directory| directory.join(program)).collect()
    } else {
        vec![run.environment.cwd.join(program)]
    };
    // A file that is not executable would not run outside either.
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

/// Forwards our standard input; never returns unless it fails.
async fn feed(to: Option<Box<dyn AsyncWrite + Send + Unpin>>) -> io::Result<()> {
    let (sender, mut pieces) = mpsc::channel::<Vec<u8>>(4);
    // A read of a terminal cannot be cancelled, so it is on a thread that may outlive the command.
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
            // The command may close its input early.
            if to.write_all(&piece).await.is_err() || to.flush().await.is_err() {
                break;
            }
        }
    }
    std::future::pending().await
}

/// Forwards the command's output: filtered to a terminal, otherwise unchanged.
async fn copy(
    mut from: Box<dyn AsyncRead + Send + Unpin>,
    mut to: impl Write,
    mut filter: Option<TerminalFilter>,
) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = from.read(&mut buffer).await?;
        match &mut filter {
            Some(filter) if count == 0 => to.write_all(filter.finish().as_bytes())?,
            Some(filter) => to.write_all(filter.push(&buffer[..count]).as_bytes())?,
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
    let (mut data, mut lines) = (Vec::new(), Vec::new());
    for sandbox::BackendReport { backend, usable, chosen, holds, lacks, .. } in &reports {
        let cause = usable.as_ref().err();
        data.push(json!({
            "backend": backend.name(),
            "usable": usable.is_ok(),
            "chosen": chosen,
            "cause": cause.map(|cause| cause.what.clone()),
            "remedy": cause.map(|cause| cause.remedy.clone()),
            "holds": holds,
            "lacks": lacks,
        }));
        let is_shown = assembly.global.verbose || exit == Exit::Unsafe;
        if !is_shown {
            continue;
        }
        lines.push(match cause {
            None if *chosen => format!("{backend}: is used"),
            None => format!("{backend}: would work"),
            Some(cause) => format!("{backend}: does not work: {cause}"),
        });
        let remedy = cause.map(|cause| &cause.remedy).filter(|remedy| !remedy.is_empty());
        lines.extend(remedy.map(|remedy| format!("  remedy: {remedy}")));
        lines.extend(holds.iter().map(|held| format!("  holds: {held}")));
        lines.extend(lacks.iter().map(|lack| format!("  lacks: {lack}")));
    }
    if let Some(chosen) = reports.iter().find(|report| report.chosen) {
        let network = if assembly.config().sandbox.allow_network { "on" } else { "off" };
        let place = assembly.place().display();
        lines.insert(0, format!("OK: {}", chosen.backend));
        lines.insert(1, format!("Network: {network}. Writes: {place} and /tmp."));
    }
    if exit == Exit::Unsafe {
        lines.push("Nothing can confine a process here, so no command will run.".to_owned());
    }
    assembly.report(&data, lines.join("\n"))?;
    Ok(exit)
}
