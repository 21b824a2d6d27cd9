//! Shows one turn of a conversation in a view: sends the input, hands over answers and typed lines,
//! and reacts to signals.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::event::{Answer, Event, EventKind, Input, Outcome};
use contract::message::StopReason;
use tokio::sync::mpsc;

use crate::exit::Exit;
use crate::steering::{self, Steering, Typed};
use crate::verdict::Verdict;
use crate::view::View;

/// Events taken at once before the output is flushed.
const BATCH: usize = 256;
/// How often a running line is redrawn.
const TICK: Duration = Duration::from_millis(100);

/// The two ends of a conversation.
pub struct Conversation<'a> {
    pub events: &'a mut mpsc::Receiver<Arc<Event>>,
    pub inputs: &'a mpsc::Sender<Input>,
}

/// The signals that stop a run.
#[async_trait]
pub trait Signals: Send {
    /// The exit code of the next signal.
    async fn next(&mut self) -> Exit;
}

/// Sends `input`, or waits for a turn that began by itself, and shows the events until the work is
/// done. Sends lines that are typed during the turn.
pub async fn show(
    conversation: Conversation<'_>,
    input: Option<Input>,
    view: &mut dyn View,
    mut steering: Option<&mut Steering>,
    signals: &mut dyn Signals,
) -> io::Result<Verdict> {
    let mut shown = TurnProgress {
        verdict: Verdict::new(view.shows_calls_at_end()),
        // A turn that an earlier run left open is closed before ours begins.
        has_begun: !matches!(input, Some(Input::Prompt { .. }) | None),
        signals,
        is_stopped: false,
        asked: Vec::new(),
    };
    let mut batch: Vec<Arc<Event>> = Vec::with_capacity(BATCH);
    let mut events =
        steering.as_deref_mut().map(|it| std::mem::take(&mut it.rest)).unwrap_or_default();
    let mut is_moving = view.tick()?;
    if let Some(input) = input {
        // If this fails, the conversation has ended, and the loop below returns.
        let _ = conversation.inputs.send(input).await;
    }
    loop {
        while let Some(event) = events.pop_front() {
            if let Some(steering) = &mut steering {
                steering.take(&event);
            }
            let is_end = shown.event(&event, view)?;
            events.extend(std::iter::from_fn(|| conversation.events.try_recv().ok()));
            let is_judged = |next: &Arc<Event>| {
                matches!(next.kind, EventKind::ToolJudged { .. } | EventKind::Asked { .. })
            };
            if !shown.asked.is_empty() && !events.front().is_some_and(is_judged) {
                shown.ask(conversation.inputs, view).await?;
            }
            if let Some(steering) = &mut steering {
                if shown.is_stopped {
                    steering.put_back();
                } else if is_step(&event) {
                    hand_over(steering, conversation.inputs).await;
                }
            }
            if is_end {
                if let Some(steering) = steering {
                    steering.rest = events;
                }
                return Ok(shown.verdict);
            }
        }
        view.flush()?;
        tokio::select! {
            count = conversation.events.recv_many(&mut batch, BATCH) => {
                if count == 0 {
                    return Ok(shown.verdict);
                }
                events.extend(batch.drain(..));
            }
            exit = shown.signals.next() => {
                shown.is_stopped = true;
                if let Some(steering) = &mut steering {
                    steering.put_back();
                }
                if shown.verdict.interrupt(exit) {
                    return Ok(shown.verdict);
                }
                let _ = conversation.inputs.send(Input::Interrupt).await;
            }
            typed = steering::next(steering.as_deref_mut()) => match typed? {
                Typed::Words(words) => {
                    view.heard(&words, "the model sees this at its next step")?;
                    let _ = conversation.inputs.send(Input::Ready(true)).await;
                }
                Typed::Command(words) => {
                    view.heard(&words, "commands run after the turn; Ctrl+C interrupts it")?;
                }
            },
            () = tokio::time::sleep(TICK), if is_moving => is_moving = view.tick()?,
        }
    }
}

/// Returns true if waiting messages are sent after an event: the model continues, or the turn
/// ended.
fn is_step(event: &Event) -> bool {
    let is_step =
        matches!(event.kind, EventKind::ToolFinished { .. } | EventKind::TurnFinished { .. });
    is_step && event.within.is_none()
}

async fn hand_over(steering: &mut Steering, inputs: &mpsc::Sender<Input>) {
    let lines = steering.hand_over();
    if lines.is_empty() {
        return;
    }
    for line in lines {
        let _ = inputs.send(Input::Prompt { text: line }).await;
    }
    let _ = inputs.send(Input::Ready(false)).await;
}

struct TurnProgress<'a> {
    verdict: Verdict,
    has_begun: bool,
    signals: &'a mut dyn Signals,
    is_stopped: bool,
    asked: Vec<Arc<Event>>,
}

impl TurnProgress<'_> {
    /// Shows one event. Returns true if it ends the work.
    fn event(&mut self, event: &Arc<Event>, view: &mut dyn View) -> io::Result<bool> {
        self.verdict.take(event);
        view.event(event)?;
        match &event.kind {
            EventKind::TurnStarted { .. } if event.within.is_none() => self.has_begun = true,
            EventKind::Asked { .. } => self.asked.push(Arc::clone(event)),
            EventKind::TurnFinished { outcome, .. } if event.within.is_none() => {
                return Ok(self.has_begun || is_early(outcome));
            }
            _ => {}
        }
        Ok(false)
    }

    async fn ask(&mut self, inputs: &mpsc::Sender<Input>, view: &mut dyn View) -> io::Result<()> {
        let asked = std::mem::take(&mut self.asked);
        let stop = || vec![Answer::Cancel; asked.len()];
        let answers = tokio::select! {
            biased;
            // One answer that stops the turn is enough.
            () = async {}, if self.is_stopped => stop(),
            answers = view.ask(&asked) => answers?,
            exit = self.signals.next() => {
                self.verdict.interrupt(exit);
                stop()
            }
        };
        for (event, answer) in asked.iter().zip(answers) {
            self.is_stopped |= answer == Answer::Cancel;
            if let EventKind::Asked { call, .. } = &event.kind {
                let input = Input::Answer { call: call.clone(), answer, by: None };
                let _ = inputs.send(input).await;
            }
        }
        Ok(())
    }
}

fn is_early(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Failed { .. } | Outcome::Blocked { .. } => true,
        Outcome::Answered { stop_reason } => *stop_reason == StopReason::Skipped,
        Outcome::Finished(_)
        | Outcome::Limited { .. }
        | Outcome::Stuck { .. }
        | Outcome::Cancelled => false,
    }
}
