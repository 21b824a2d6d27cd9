//! No confinement: a session of its own, the variables of the profile, and the end of all that the
//! command started. For people who asked for it in so many words.

use std::sync::Arc;

use contract::sandbox::Child;

use crate::Settings;
use crate::cleanup::Cleanup;
use crate::failure::Failure;
use crate::launch::Launcher;
use crate::request::Request;

/// Starts `request` below a supervisor.
#[cfg(target_os = "linux")]
pub(crate) fn start(
    request: &Request,
    settings: &Settings,
    launcher: &Arc<Launcher>,
) -> Result<Child, Failure> {
    let plan = crate::plan::Plan {
        program: request.program.clone().into(),
        args: request.args.clone(),
        cwd: request.cwd.clone(),
        env: request.env.clone(),
        home: None,
        restrictions: crate::plan::Restrictions::Open,
        limits: request.limits,
        read: Vec::new(),
        write: Vec::new(),
        devices: Vec::new(),
        expected: crate::mount_check::ExpectedMounts::default(),
        filter: String::new(),
    };
    let supervisor = crate::supervisor::Supervisor::call(request, settings, launcher)?;
    supervisor.watch(request, &plan, Cleanup::default())
}

/// Starts `request` in a process group of its own.
#[cfg(not(target_os = "linux"))]
pub(crate) fn start(
    request: &Request,
    _settings: &Settings,
    launcher: &Arc<Launcher>,
) -> Result<Child, Failure> {
    use crate::failure::start_error;
    use crate::running::{End, Running};
    let fault = |error| Failure::from(start_error(&request.program, error));
    if request.channel == contract::sandbox::Channel::Private {
        let words = "a private channel needs a sandbox on this system".to_owned();
        return Err(contract::sandbox::SandboxError::Refused(words).into());
    }
    let mut command = crate::launch::command(&request.program, request.stdin);
    command.args(&request.args).envs(&request.env).current_dir(&request.cwd);
    let child = launcher.launch(command, Vec::new()).map_err(fault)?;
    Running::adopt(child, None, End::Group, Cleanup::default(), Arc::clone(launcher)).map_err(fault)
}
