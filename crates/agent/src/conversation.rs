//! A conversation: inputs go in, events come out. Every front end drives it through this door.

use std::collections::VecDeque;
use std::sync::Arc;

use contract::event::{Event, Input, Outcome, What};
use contract::id::SessionId;
use contract::log::{FORMAT, LogError};
use contract::message::ToolCall;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::journal::Journal;
use crate::settings::{Parts, Settings};
use crate::tool_call::{Answers, Bench};
use crate::turn;

/// A running conversation. It ends when [`Input::End`] arrives or `inputs` is dropped.
pub struct Conversation {
    /// What happens, in order.
    pub events: mpsc::Receiver<Arc<Event>>,
    /// What the front end wants.
    pub inputs: mpsc::Sender<Input>,
    task: JoinHandle<()>,
}

/// What a conversation starts from.
pub struct Beginning {
    /// Its name.
    pub session: SessionId,
    /// What happened before, from the log.
    pub history: Vec<Event>,
    /// Things to tell as soon as it begins.
    pub notices: Vec<What>,
}

impl Conversation {
    /// Starts a conversation. Nothing is written before its first input.
    pub fn open(parts: Parts, settings: Settings, beginning: Beginning) -> Self {
        let (events_in, events) = mpsc::channel(1024);
        let (inputs, inputs_out) = mpsc::channel(64);
        let Beginning { session, history, notices } = beginning;
        let journal = Journal::new(Arc::clone(&parts.log), session, &history, events_in);
        let opening = opening(&parts, &settings, &history, notices);
        drop(history);
        let actor = Actor {
            parts,
            settings,
            journal,
            inputs: inputs_out,
            queue: VecDeque::new(),
            answers: Answers::default(),
            opening,
            is_ending: false,
        };
        Self { events, inputs, task: tokio::spawn(actor.serve()) }
    }

    /// Closes it, waits until all is written, and returns what still happened.
    pub async fn finish(self) -> Vec<Arc<Event>> {
        drop(self.inputs);
        let mut events = self.events;
        let mut last = Vec::new();
        while let Some(event) = events.recv().await {
            last.push(event);
        }
        if let Err(error) = self.task.await
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
        last
    }
}

/// What must be in the log before the first turn.
fn opening(parts: &Parts, settings: &Settings, history: &[Event], notices: Vec<What>) -> Vec<What> {
    let mut opening = Vec::new();
    if history.is_empty() {
        let cwd = settings.cwd.display().to_string();
        opening.push(What::SessionStarted { cwd, format: FORMAT, forked_from: None });
    }
    if let Some(provider) = &parts.provider {
        // Also where nothing has changed: whoever listens to this run alone learns who answers.
        opening.push(What::Configured {
            provider: provider.name().to_owned(),
            model: settings.request.model.clone(),
            mode: settings.mode,
            system: settings.system.clone(),
        });
    }
    opening.extend(notices);
    opening
}

struct Actor {
    parts: Parts,
    settings: Settings,
    journal: Journal,
    inputs: mpsc::Receiver<Input>,
    queue: VecDeque<Input>,
    answers: Answers,
    opening: Vec<What>,
    is_ending: bool,
}

/// Work that an input asks for.
enum Work {
    Turn(String),
    Single(ToolCall),
}

impl Actor {
    async fn serve(mut self) {
        let mut has_begun = false;
        while let Some(work) = self.next().await {
            has_begun = true;
            if let Err(error) = self.perform(work).await {
                self.report(&error).await;
            }
        }
        if has_begun && let Err(error) = self.journal.note(vec![What::SessionEnded]).await {
            self.report(&error).await;
        }
    }

    /// The next piece of work; none when the conversation is over.
    async fn next(&mut self) -> Option<Work> {
        loop {
            let input = match self.queue.pop_front() {
                Some(input) => input,
                None if self.is_ending => return None,
                None => self.inputs.recv().await?,
            };
            match input {
                Input::Prompt(prompt) => return Some(Work::Turn(prompt)),
                Input::Call(call) => return Some(Work::Single(call)),
                Input::End => return None,
                // Nothing is running that these could be meant for.
                Input::Answer { .. } | Input::Interrupt => {}
            }
        }
    }

    async fn perform(&mut self, work: Work) -> Result<(), LogError> {
        let mut opening = std::mem::take(&mut self.opening);
        opening.extend(self.journal.transcript.closing());
        if !opening.is_empty() {
            self.journal.note(opening).await?;
        }
        let cancel = CancellationToken::new();
        let bench = Bench {
            parts: &self.parts,
            settings: &self.settings,
            answers: &self.answers,
            cancel: &cancel,
        };
        let journal = &mut self.journal;
        let outcome = {
            let work = async move {
                match work {
                    Work::Turn(prompt) => turn::run(bench, journal, prompt).await,
                    Work::Single(call) => turn::run_single(bench, journal, call).await,
                }
            };
            tokio::pin!(work);
            loop {
                tokio::select! {
                    outcome = &mut work => break outcome?,
                    input = self.inputs.recv(), if !self.is_ending => match input {
                        Some(Input::Answer { call, answer }) => self.answers.give(&call, answer),
                        Some(Input::Interrupt) => cancel.cancel(),
                        Some(input @ (Input::Prompt(_) | Input::Call(_))) => {
                            self.queue.push_back(input);
                        }
                        Some(Input::End) | None => {
                            self.is_ending = true;
                            self.queue.clear();
                            cancel.cancel();
                        }
                    }
                }
            }
        };
        let usage = self.journal.transcript.usage().clone();
        self.journal.commit(vec![What::TurnFinished { outcome, usage }]).await
    }

    /// Tells of a failure that could not be written.
    async fn report(&mut self, error: &LogError) {
        let hint = "free some space or check the folder, then resume the session".to_owned();
        let outcome = Outcome::Failed { error: error.to_string(), hint: Some(hint) };
        let usage = self.journal.transcript.usage().clone();
        self.journal.teller().tell(What::TurnFinished { outcome, usage }).await;
    }
}
