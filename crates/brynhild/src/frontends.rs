//! Front ends: each shows the same events. None knows a particular tool or provider.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use agent::conversation::Conversation;
use async_trait::async_trait;
use contract::event::{Answer, Event, EventKind, Input, Outcome};
use contract::message::StopReason;

pub(crate) mod export;
pub(crate) mod json;
mod nested;
pub(crate) mod plain;
pub(crate) mod plugin_switch;
pub(crate) mod quiet;
pub(crate) mod slash;
pub(crate) mod steering;
pub(crate) mod stream_json;
pub(crate) mod tee;
pub(crate) mod tui;
pub(crate) mod usage_tables;
pub(crate) mod verdict;

use crate::output;
use crate::signals::Signals;
use steering::{Steering, Typed};
use verdict::Verdict;

/// Events taken at once before the output is flushed.
const BATCH: usize = 256;
/// How often a running line is redrawn.
const TICK: Duration = Duration::from_millis(100);

#[async_trait(?Send)]
pub(crate) trait View {
    fn event(&mut self, event: &Event) -> io::Result<()>;
    /// Answers the questions about the calls of one reply, in order. Waits for the user, if there
    /// is one.
    async fn ask(&mut self, asked: &[Arc<Event>]) -> io::Result<Vec<Answer>> {
        Ok(vec![Answer::Nobody; asked.len()])
    }
    /// Shows a line that was typed during the turn, and its effect.
    fn heard(&mut self, _line: &str, hint: &str) -> io::Result<()> {
        output::hint(hint);
        Ok(())
    }
    /// Redraws the animation. Returns false if there is none.
    fn tick(&mut self) -> io::Result<bool> {
        Ok(false)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn close(&mut self, _verdict: &Verdict) -> io::Result<()> {
        Ok(())
    }
    /// Records an event after the end: the session was closed.
    fn after(&mut self, _event: &Event) {}
    fn shows_calls_at_end(&self) -> bool {
        false
    }
}

/// Sends `input` into a conversation, shows what happens until the work is done, and closes it.
pub(crate) async fn run(
    mut conversation: Conversation,
    input: Input,
    view: &mut dyn View,
) -> io::Result<Verdict> {
    let shown = show(&mut conversation, Some(input), view, None).await;
    let shown = shown.and_then(|verdict| {
        view.close(&verdict)?;
        view.flush().map(|()| verdict)
    });
    let has_failed = !shown.as_ref().is_ok_and(|verdict| !verdict.is_failure());
    part(conversation, view, has_failed).await;
    shown
}

/// Closes a conversation. Warns if the end could not be logged, unless the log has failed before.
pub(crate) async fn part(conversation: Conversation, view: &mut dyn View, has_failed: bool) {
    for event in conversation.finish().await {
        view.after(&event);
        if let EventKind::TurnFinished { outcome: Outcome::Failed { error, .. }, .. } = &event.kind
            && !has_failed
        {
            output::warning(&format!("the session's end is not marked: {error}"));
        }
    }
}

/// Sends `input`, or waits for a turn that began by itself, and shows the events until the work is
/// done. Sends lines that are typed during the turn.
pub(crate) async fn show(
    conversation: &mut Conversation,
    input: Option<Input>,
    view: &mut dyn View,
    mut steering: Option<&mut Steering>,
) -> io::Result<Verdict> {
    let mut shown = TurnProgress {
        verdict: Verdict::new(view.shows_calls_at_end()),
        // A turn that an earlier run left open is closed before ours begins.
        has_begun: !matches!(input, Some(Input::Prompt(_)) | None),
        signals: Signals::new()?,
        is_stopped: false,
        asked: Vec::new(),
    };
    // A typed line is shown when it is complete, not in the middle of the answer.
    let _echo = steering.is_some().then(::tui::line::Echo::off);
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
                shown.ask(conversation, view).await?;
            }
            if let Some(steering) = &mut steering {
                if shown.is_stopped {
                    steering.put_back();
                } else if is_step(&event) {
                    hand_over(steering, conversation).await;
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
                    view.heard(&words, "the model is told at its next step")?;
                    let _ = conversation.inputs.send(Input::Ready(true)).await;
                }
                Typed::Command(words) => {
                    view.heard(&words, "commands wait for the end of the turn; Ctrl+C ends it")?;
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

async fn hand_over(steering: &mut Steering, conversation: &Conversation) {
    let lines = steering.hand_over();
    if lines.is_empty() {
        return;
    }
    for line in lines {
        let _ = conversation.inputs.send(Input::Prompt(line)).await;
    }
    let _ = conversation.inputs.send(Input::Ready(false)).await;
}

/// Prints a warning, with the agent that it concerns.
fn warn(event: &Event, text: &str) {
    let agent = event.within.as_ref();
    let agent = agent.map_or_else(String::new, |it| format!("{}: ", it.agent));
    output::warning(&format!("{agent}{text}"));
}

struct TurnProgress {
    verdict: Verdict,
    has_begun: bool,
    signals: Signals,
    is_stopped: bool,
    asked: Vec<Arc<Event>>,
}

impl TurnProgress {
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

    async fn ask(&mut self, conversation: &Conversation, view: &mut dyn View) -> io::Result<()> {
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
                let input = Input::Answer { call: call.clone(), answer };
                let _ = conversation.inputs.send(input).await;
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
