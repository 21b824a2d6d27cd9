//! `sandbox`: runs a command confined, and says what confinement there is.

use std::io::{self, Write};

use clap::ValueEnum;
use contract::policy::Access;
use contract::sandbox::{Channel, Exit as Ended, Spawn, Stdin};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::args::{SandboxCommand, SandboxProfile};
use crate::assemble;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;
use crate::world::World;

/// Runs a `sandbox` command.
pub(crate) async fn run(world: &World, command: SandboxCommand) -> Outcome {
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
            confined(world, access, command).await
        }
        SandboxCommand::Doctor => doctor(world),
    }
}

async fn confined(world: &World, access: Access, command: Vec<std::ffi::OsString>) -> Outcome {
    let root = world.root()?;
    let mut words = command.into_iter();
    let program = words.next().ok_or_else(|| Problem::misuse("no command was given"))?;
    let spawn = Spawn {
        program: program.into(),
        args: words.collect(),
        cwd: world.environment.cwd.canonicalize()?,
        stdin: Stdin::Null,
        channel: Channel::None,
        env: std::collections::BTreeMap::new(),
    };
    let confinement = assemble::confinement(world, root)?.with_access(access);
    let mut child = confinement.start(&spawn).map_err(|error| {
        let hint = match &error {
            contract::sandbox::SandboxError::Unavailable { hint, .. } => Some(hint.clone()),
            _ => None,
        };
        Problem { hint, ..Problem::new(Exit::Unsafe, error.to_string()) }
    })?;
    let (out, err, ended) = tokio::join!(
        copy(child.stdout, io::stdout()),
        copy(child.stderr, io::stderr()),
        child.process.wait()
    );
    out.and(err)?;
    Ok(match ended? {
        Ended::Code(code) => Exit::Command(u8::try_from(code).unwrap_or(1)),
        Ended::Signal(signal) => Exit::Command(u8::try_from(128 + signal).unwrap_or(1)),
    })
}

async fn copy(mut from: Box<dyn AsyncRead + Send + Unpin>, mut to: impl Write) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match from.read(&mut buffer).await? {
            0 => return Ok(()),
            count => to.write_all(&buffer[..count]).and_then(|()| to.flush())?,
        }
    }
}

fn doctor(world: &World) -> Outcome {
    let reports = sandbox::doctor(&assemble::sandbox_settings(world)?);
    let exit = if reports.iter().any(|report| report.chosen) { Exit::Done } else { Exit::Unsafe };
    if world.wants_json() {
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
