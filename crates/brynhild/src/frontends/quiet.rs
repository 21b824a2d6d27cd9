//! Shows only questions and warnings of a run; the caller shows the result.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use contract::event::{Answer, Event, EventKind};

use super::View;
use crate::assemble::run_context::RunContext;
use crate::output;
use crate::output::question;
use crate::output::style::Palette;

pub(crate) struct Quiet {
    can_ask: bool,
    palette: Palette,
    project: Option<PathBuf>,
    /// The hint for a call that needs approval.
    remedy: Option<String>,
}

impl Quiet {
    /// Can ask if there is a terminal, and the output is not JSON.
    pub(crate) fn new(run: &RunContext) -> Self {
        let terminal = run.environment.terminal;
        let can_ask = terminal.stdin && terminal.stderr && !run.wants_json();
        let project = run.root().ok().map(Path::to_owned);
        Self { can_ask, palette: run.palette(), project, remedy: None }
    }
}

#[async_trait(?Send)]
impl View for Quiet {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match &event.kind {
            EventKind::Notice { text, .. } => super::warn(event, text),
            EventKind::ToolJudged { source: Some(source), args, ruling, .. } => {
                self.remedy = ::mcp::approval_hint(ruling, source, args);
            }
            _ => {}
        }
        Ok(())
    }

    async fn ask(&mut self, asked: &[Arc<Event>]) -> io::Result<Vec<Answer>> {
        if self.can_ask {
            return question::ask(asked, self.project.as_deref(), self.palette).await;
        }
        if let Some(remedy) = self.remedy.take() {
            output::hint(&remedy);
        }
        Ok(vec![Answer::Nobody; asked.len()])
    }

    fn shows_calls_at_end(&self) -> bool {
        true
    }
}
