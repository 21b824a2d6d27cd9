//! Starts the helper as the supervisor of a command. The helper takes its time to load, so it is called
//! before it is known what the command may touch, and waits to be told.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use contract::sandbox::{ChannelEnds, Child, SandboxError};

use crate::channel::PrivateChannel;
use crate::cleanup::Cleanup;
use crate::failure::{Failure, start_error};
use crate::launch::{self, Descriptors, Launcher, Outcome, Started};
use crate::plan::Plan;
use crate::request::Request;
use crate::running::{End, Lifeline, Running};
use crate::{HELPER_COMMAND, Settings, helper};

/// A helper that waits for its plan. Dropping it sends it away.
pub(crate) struct Supervisor {
    started: Started,
    plan: File,
    status: PipeReader,
    lifeline: PipeWriter,
    ready: PipeWriter,
    channel: Option<ChannelEnds>,
    words: String,
    launcher: Arc<Launcher>,
}

impl Supervisor {
    /// Calls one for `request`.
    pub(crate) fn call(
        request: &Request,
        settings: &Settings,
        launcher: &Arc<Launcher>,
    ) -> Result<Self, Failure> {
        let fault = |error| Failure::from(start_error(&request.program, error));
        Self::begin(request, settings, launcher).map_err(fault)
    }

    fn begin(request: &Request, settings: &Settings, launcher: &Arc<Launcher>) -> io::Result<Self> {
        let (status, told) = io::pipe()?;
        let (heard, lifeline) = io::pipe()?;
        let (awaited, ready) = io::pipe()?;
        let mut handed = Descriptors::default();
        let plan = handed.add_empty(helper::PLAN)?;
        handed.add(helper::STATUS, told.into());
        handed.add(helper::LIFELINE, heard.into());
        handed.add(helper::READY, awaited.into());
        let (channel, theirs) = PrivateChannel::split(PrivateChannel::open(request.channel)?);
        handed.add_channel(theirs);
        let mut command = launch::command(&settings.helper, request.stdin);
        command.arg0("brynhild").args([HELPER_COMMAND, helper::WATCH]).args(&handed.words);
        let started = launcher.begin(command, handed.inherited)?;
        let path = settings.helper.display();
        let words = format!("the helper {path} did not start the command");
        let launcher = Arc::clone(launcher);
        Ok(Self { started, plan, status, lifeline, ready, channel, words, launcher })
    }

    /// Tells it what to start.
    pub(crate) fn watch(
        mut self,
        request: &Request,
        plan: &Plan,
        after: Cleanup,
    ) -> Result<Child, Failure> {
        let fault = |error| Failure::from(start_error(&request.program, error));
        self.plan.write_all(&plan.encode()).map_err(fault)?;
        let child = self.started.child().map_err(fault)?;
        // A helper that has ended already says why, or that it is silent.
        let _ = self.ready.write_all(&helper::GO);
        let end = End::Supervisor(Lifeline::new(OwnedFd::from(self.lifeline)));
        let child = Running::adopt(child, self.channel, end, after, self.launcher);
        let child = child.map_err(fault)?;
        match launch::outcome(self.status) {
            Outcome::Running => Ok(child),
            Outcome::NotExecuted(error) => Err(fault(error)),
            Outcome::MountChanged(words) | Outcome::Failed(words) => {
                Err(SandboxError::Refused(format!("the helper {words}")).into())
            }
            Outcome::Silent => Err(SandboxError::Refused(self.words).into()),
        }
    }
}
