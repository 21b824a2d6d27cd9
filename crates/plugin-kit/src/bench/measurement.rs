//! Times the calls of one tool and those of a bare process, in turns.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use contract::action::View;
use contract::id::SessionId;
use contract::message::ToolCall;
use contract::sandbox::Confinement;
use contract::tool::{Tool, ToolContext};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::process::{PluginProcess, plugin_process};
use super::reference::{Echo, Reference};
use super::{Figure, ToolFigures};

/// Fresh starts of the plugin for each tool.
pub const ROUNDS: usize = 3;
/// The most warm calls after one start.
const CALLS: usize = 100;
/// The most time for the warm calls after one start.
const CALL_TIME: Duration = Duration::from_secs(1);

/// Directories that a sandbox may have an own version of.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// The times of one tool, and of the bare process that it is compared with.
pub struct Measurement {
    call: ToolCall,
    process: Option<PluginProcess>,
    bare: Option<(Reference, Echo)>,
    starts: Vec<Duration>,
    first_calls: Vec<Duration>,
    warm_calls: Vec<Duration>,
    bare_starts: Vec<Duration>,
    bare_rounds: Vec<Duration>,
    /// True if the process outlives a call.
    is_lasting: bool,
}

impl Measurement {
    /// Prepares to measure a call. The plugin may write the directories `own`, and those for
    /// temporary files.
    pub fn new(call: ToolCall, process: Option<PluginProcess>, own: &[&Path]) -> io::Result<Self> {
        let own = [&TEMPORARY.map(Path::new), own].concat();
        let bare = process.as_ref().map(|process| {
            let reference = Reference::new(&process.program, &own);
            reference.echo().map(|echo| (reference, echo))
        });
        Ok(Self {
            call,
            process,
            bare: bare.transpose()?,
            starts: Vec::new(),
            first_calls: Vec::new(),
            warm_calls: Vec::new(),
            bare_starts: Vec::new(),
            bare_rounds: Vec::new(),
            is_lasting: false,
        })
    }

    /// Records a start of the plugin that began at `started` and is over.
    pub fn record_start(&mut self, started: Instant) {
        self.starts.push(started.elapsed());
    }

    /// Times the first and some warm calls of a tool whose process does not run yet. Fails with the
    /// words of a call that failed.
    pub async fn time_calls(
        &mut self,
        tool: &dyn Tool,
        confinement: Confinement,
        view: View,
    ) -> Result<(), String> {
        let begin = Instant::now();
        let context = &ToolContext {
            session: SessionId::parse("plugin-bench").map_err(|error| error.to_string())?,
            spill: confinement.profile.workspace.join(".brynhild-output"),
            confinement,
            cancel: CancellationToken::new(),
            progress: mpsc::channel(1).0,
            view,
            actions: Vec::new(),
            redactors: None,
        };
        self.first_calls.push(time_call(tool, &self.call, context).await?);
        let params = json!({"tool": self.call.name, "input": self.call.args});
        let line = json!({"id": 1, "method": "call", "params": params}).to_string();
        for _ in 0..CALLS {
            self.warm_calls.push(time_call(tool, &self.call, context).await?);
            if let Some((_, echo)) = &mut self.bare {
                self.bare_rounds.push(echo.time_round(&line).map_err(|error| error.to_string())?);
            }
            if begin.elapsed() > CALL_TIME {
                break;
            }
        }
        let echo = self.bare.as_ref().map(|(_, echo)| echo.id());
        self.is_lasting = plugin_process(echo).is_some();
        if let Some((reference, _)) = &self.bare {
            self.bare_starts.push(reference.time_start().map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    pub fn figures(self) -> ToolFigures {
        let compared_with = self.bare.as_ref().map(|(reference, _)| {
            let bare = format!("`{}`", reference.shown());
            let warm = "a warm call: times a line through a pipe to such a process and back";
            if self.is_lasting { format!("{bare}; {warm}") } else { bare }
        });
        let bare_memory = self.bare.as_ref().and_then(|(_, echo)| echo.megabytes());
        // A tool that starts a process for each call is compared with one.
        let bare_calls = if self.is_lasting { &self.bare_rounds } else { &self.bare_starts };
        let memory = |it: &PluginProcess| Figure { value: it.megabytes, bare: bare_memory };
        ToolFigures {
            start: Figure::of_times(&self.starts, &self.bare_starts),
            first_call: Figure::of_times(&self.first_calls, &self.bare_starts),
            warm_call: Figure::of_times(&self.warm_calls, bare_calls),
            memory: self.process.as_ref().map(memory),
            name: self.call.name,
            program: self.process.map(|it| it.program),
            compared_with,
        }
    }
}

async fn time_call(
    tool: &dyn Tool,
    call: &ToolCall,
    context: &ToolContext,
) -> Result<Duration, String> {
    let started = Instant::now();
    let output = tool.run(call, context).await.map_err(|error| error.to_string())?;
    let time = started.elapsed();
    if output.success { Ok(time) } else { Err(output.for_model()) }
}
