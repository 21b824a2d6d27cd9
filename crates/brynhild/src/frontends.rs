//! Front ends: each shows the same events. None knows a particular tool or provider.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use agent::conversation::Conversation;
use async_trait::async_trait;
use contract::event::{Answer, Event, Input, Outcome, What};
use tokio::signal::unix::{Signal, SignalKind, signal};

mod draft;
pub(crate) mod json;
mod markdown;
mod nested;
pub(crate) mod plain;
pub(crate) mod question;
pub(crate) mod quiet;
pub(crate) mod repl;
pub(crate) mod stream_json;
pub(crate) mod style;
pub(crate) mod tee;
pub(crate) mod tui;
pub(crate) mod verdict;

use crate::exit::Exit;
use verdict::Verdict;

/// Events taken at once before the output is flushed.
const BATCH: usize = 256;
/// How often a running line is redrawn.
const TICK: Duration = Duration::from_millis(100);

/// Shows events.
#[async_trait(?Send)]
pub(crate) trait View {
    /// Shows one.
    fn event(&mut self, event: &Event) -> io::Result<()>;
    /// Answers a question about a call. Waits for a person where there is one.
    async fn ask(&mut self, event: &Event) -> io::Result<Answer>;
    /// Redraws what moves while nothing happens. `false` where nothing ever moves.
    fn tick(&mut self) -> io::Result<bool> {
        Ok(false)
    }
    /// Brings what was shown before the person's eyes.
    fn flush(&mut self) -> io::Result<()>;
    /// Shows the end.
    fn close(&mut self, verdict: &Verdict) -> io::Result<()>;
    /// Takes note of what happened after the end: the session was closed.
    fn after(&mut self, _event: &Event) {}
}

/// Sends `input` into a conversation, shows what happens until the work is done, and closes it.
pub(crate) async fn run(
    mut conversation: Conversation,
    input: Input,
    view: &mut dyn View,
) -> io::Result<Verdict> {
    let shown = match show(&mut conversation, input, view).await {
        Ok(verdict) => view.close(&verdict).and_then(|()| view.flush()).map(|()| verdict),
        Err(error) => Err(error),
    };
    // Also where nobody can see it any more: what runs is stopped and written down.
    for event in conversation.finish().await {
        view.after(&event);
    }
    shown
}

/// Sends `input` into a conversation and shows what happens until that work is done.
pub(crate) async fn show(
    conversation: &mut Conversation,
    input: Input,
    view: &mut dyn View,
) -> io::Result<Verdict> {
    let mut signals = Signals::new()?;
    let mut verdict = Verdict::default();
    let mut batch: Vec<Arc<Event>> = Vec::with_capacity(BATCH);
    let mut is_moving = view.tick()?;
    // A turn that was broken off in an earlier run is closed before ours begins.
    let mut has_begun = !matches!(input, Input::Prompt(_));
    // The conversation ends by itself where this fails, and the loop below sees that.
    let _ = conversation.inputs.send(input).await;
    loop {
        tokio::select! {
            count = conversation.events.recv_many(&mut batch, BATCH) => {
                if count == 0 {
                    return Ok(verdict);
                }
                for event in batch.drain(..) {
                    verdict.take(&event);
                    view.event(&event)?;
                    match &event.what {
                        What::TurnStarted { .. } if event.within.is_none() => has_begun = true,
                        What::Asked { call, .. } => {
                            let answer = tokio::select! {
                                answer = view.ask(&event) => answer?,
                                exit = signals.next() => {
                                    verdict.interrupt(exit);
                                    Answer::Cancel
                                }
                            };
                            let input = Input::Answer { call: call.clone(), answer };
                            let _ = conversation.inputs.send(input).await;
                        }
                        What::TurnFinished { outcome, .. }
                            if event.within.is_none() && (has_begun || is_early(outcome)) =>
                        {
                            return Ok(verdict);
                        }
                        _ => {}
                    }
                }
                view.flush()?;
            }
            exit = signals.next() => {
                if verdict.interrupt(exit) {
                    return Ok(verdict);
                }
                let _ = conversation.inputs.send(Input::Interrupt).await;
            }
            () = tokio::time::sleep(TICK), if is_moving => is_moving = view.tick()?,
        }
    }
}

/// Whether an end may come before the turn has begun.
fn is_early(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Failed { .. } | Outcome::Blocked { .. } => true,
        Outcome::Answered { stop_reason } => stop_reason == "skipped",
        Outcome::Finished(_)
        | Outcome::Limited { .. }
        | Outcome::Stuck { .. }
        | Outcome::Cancelled => false,
    }
}

/// The signals that stop a run.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    quit: Signal,
    /// Caught and never read: a file that may not grow is then an error of that write, which can
    /// be told, and not the end of the program.
    _file_size: Signal,
}

impl Signals {
    /// Catches them from here on.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            quit: signal(SignalKind::quit())?,
            _file_size: signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?,
        })
    }

    /// The next of them, as the exit it leads to.
    pub(crate) async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
            _ = self.hangup.recv() => Exit::HungUp,
            _ = self.quit.recv() => Exit::Quit,
        }
    }
}
