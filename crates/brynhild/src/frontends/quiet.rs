//! Shows nothing of a run but questions and warnings; whoever started it shows the result.

use std::io;

use async_trait::async_trait;
use contract::event::{Answer, Event, What};

use super::style::Palette;
use super::verdict::Verdict;
use super::{View, question};
use crate::world::World;

/// A view that keeps quiet.
pub(crate) struct Quiet {
    can_ask: bool,
    palette: Palette,
}

impl Quiet {
    /// Asks where somebody sits who could answer, and the answer is not for a program.
    pub(crate) fn new(world: &World) -> Self {
        let terminal = world.environment.terminal;
        let can_ask = terminal.stdin && terminal.stderr && !world.wants_json();
        Self { can_ask, palette: world.palette() }
    }
}

#[async_trait(?Send)]
impl View for Quiet {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        if let What::Notice { text, .. } = &event.what {
            super::warn(event, text);
        }
        Ok(())
    }

    async fn ask(&mut self, event: &Event) -> io::Result<Answer> {
        if self.can_ask {
            return question::ask(event, self.palette).await;
        }
        Ok(Answer::Nobody)
    }

    fn shows_calls_at_end(&self) -> bool {
        true
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self, _verdict: &Verdict) -> io::Result<()> {
        Ok(())
    }
}
