//! Keeps what happened, then tells it: log first, history second, listeners last.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use contract::event::{Event, Level, What};
use contract::id::{Seq, SessionId, Timestamp};
use contract::log::{Log, LogError};
use tokio::sync::mpsc;

use crate::transcript::Transcript;

/// The record of one conversation.
pub(crate) struct Journal {
    log: Arc<dyn Log>,
    teller: Teller,
    /// The history as the log has it.
    pub(crate) transcript: Transcript,
}

/// Tells listeners about events that are not kept.
#[derive(Clone)]
pub(crate) struct Teller {
    session: SessionId,
    seq: Arc<AtomicU64>,
    events: mpsc::Sender<Arc<Event>>,
}

impl Journal {
    /// Continues after `history`.
    pub(crate) fn new(
        log: Arc<dyn Log>,
        session: SessionId,
        history: &[Event],
        events: mpsc::Sender<Arc<Event>>,
    ) -> Self {
        let last = history.last().map_or(0, |event| event.seq.0);
        let teller = Teller { session, seq: Arc::new(AtomicU64::new(last)), events };
        Self { log, teller, transcript: Transcript::of(history) }
    }

    /// Keeps these events for good, in one write, then tells them.
    pub(crate) async fn commit(&mut self, whats: Vec<What>) -> Result<(), LogError> {
        let events = self.write(whats)?;
        self.log.sync()?;
        self.tell(events).await;
        Ok(())
    }

    /// Keeps these events and tells them. They outlive this program at once, and a power cut from
    /// the next [`Journal::sync`] on.
    pub(crate) async fn note(&mut self, whats: Vec<What>) -> Result<(), LogError> {
        let events = self.write(whats)?;
        self.tell(events).await;
        Ok(())
    }

    /// Waits until all that was noted is on disk. What leaves the program comes after this.
    pub(crate) fn sync(&self) -> Result<(), LogError> {
        self.log.sync()
    }

    fn write(&mut self, whats: Vec<What>) -> Result<Vec<Event>, LogError> {
        if whats.is_empty() {
            return Ok(Vec::new());
        }
        let first = self.teller.seq.load(Ordering::Relaxed) + 1;
        let at = Timestamp::now();
        let session = &self.teller.session;
        let event = |(seq, what)| Event { seq: Seq(seq), session: session.clone(), at, what };
        let events: Vec<Event> = (first..).zip(whats).map(event).collect();
        self.log.append(&events)?;
        let last = first - 1 + events.len() as u64;
        self.teller.seq.store(last, Ordering::Relaxed);
        for event in &events {
            self.transcript.apply(&event.what);
        }
        Ok(events)
    }

    async fn tell(&self, events: Vec<Event>) {
        for event in events {
            self.teller.send(event).await;
        }
    }

    /// Keeps a notice and tells it.
    pub(crate) async fn notice(
        &mut self,
        level: Level,
        text: String,
        hint: Option<String>,
    ) -> Result<(), LogError> {
        self.note(vec![What::Notice { level, text, hint }]).await
    }

    /// Tells what need not be kept.
    pub(crate) fn teller(&self) -> Teller {
        self.teller.clone()
    }
}

impl Teller {
    /// The conversation this tells about.
    pub(crate) fn session(&self) -> &SessionId {
        &self.session
    }

    /// Tells listeners something that the log does not keep.
    pub(crate) async fn tell(&self, what: What) {
        let seq = Seq(self.seq.load(Ordering::Relaxed));
        let event = Event { seq, session: self.session.clone(), at: Timestamp::now(), what };
        self.send(event).await;
    }

    async fn send(&self, event: Event) {
        // A front end that has gone is noticed by the conversation, whose inputs close with it.
        let _ = self.events.send(Arc::new(event)).await;
    }
}
