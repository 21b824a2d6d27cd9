//! Records events: log first, history second, listeners last. All conversations of a session share a
//! log.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contract::event::{CallOutcome, Event, EventKind, Level, NoticeTopic, Subconversation};
use contract::id::{Seq, SessionId, Timestamp};
use contract::log::{Log, LogError};
use contract::message::Reply;
use contract::secret::Secret;
use tokio::sync::mpsc;
use tokio::sync::mpsc::PermitIterator;

use crate::account::Account;
use crate::keys::{self, Keys};
use crate::settings::Budget;
use crate::transcript::{self, TakenIds, Transcript};

/// The result of work that records events.
pub(crate) type Logged<T = ()> = Result<T, LogError>;

pub(crate) struct Journal {
    sender: EventSender,
    pub(crate) transcript: Transcript,
    pub(crate) refused: Vec<String>,
    pub(crate) has_heard: bool,
    left_open: Vec<(Subconversation, Vec<EventKind>)>,
}

/// Tells listeners about events of one conversation that are not kept.
#[derive(Clone)]
pub(crate) struct EventSender {
    book: Arc<Book>,
    within: Option<Subconversation>,
    account: Arc<Account>,
}

/// The log that all conversations of a session share.
struct Book {
    log: Arc<dyn Log>,
    keys: Keys,
    session: SessionId,
    events: mpsc::Sender<Arc<Event>>,
    page: Mutex<Page>,
}

struct Page {
    seq: u64,
    calls: TakenIds,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeping {
    Noted,
    Synced,
}

impl Journal {
    pub(crate) fn new(
        (log, keys): (&Arc<dyn Log>, &[Secret<String>]),
        session: SessionId,
        (history, budget): (&[Event], Budget),
        events: mpsc::Sender<Arc<Event>>,
    ) -> Self {
        let seq = history.last().map_or(0, |event| event.seq.0);
        let mut calls = TakenIds::default();
        for event in history {
            if let EventKind::ReplyFinished { reply, .. } = &event.kind {
                for call in reply.calls() {
                    calls.take(&call.id);
                }
            }
        }
        let page = Mutex::new(Page { seq, calls });
        let transcript = Transcript::of(history);
        let account = Account::new(budget, transcript.usage().clone());
        let (log, keys) = (Arc::clone(log), Keys::new(keys));
        let book = Arc::new(Book { log, keys, session, events, page });
        let sender = EventSender { book, within: None, account };
        let left_open = transcript::left_open(history);
        Self { sender, transcript, refused: Vec::new(), has_heard: false, left_open }
    }

    pub(crate) async fn commit(&mut self, whats: Vec<EventKind>) -> Logged {
        self.write(whats, Keeping::Synced).await
    }

    /// Logs events and sends them to listeners. They survive a power cut from the next sync on.
    pub(crate) async fn note(&mut self, whats: Vec<EventKind>) -> Logged {
        self.write(whats, Keeping::Noted).await
    }

    /// Waits until all that was noted is on disk. What leaves the program comes after this.
    pub(crate) fn sync(&self) -> Logged {
        self.sender.book.log.sync()
    }

    async fn write(&mut self, whats: Vec<EventKind>, keeping: Keeping) -> Logged {
        let within = self.sender.within.as_ref();
        let events = self.sender.book.write(within, whats, keeping).await?;
        for event in &events {
            self.transcript.apply_at(event.seq, &event.kind);
            self.sender.account.take(&event.kind);
            self.refused.extend(refusal(&event.kind));
        }
        Ok(())
    }

    pub(crate) async fn close(&mut self) -> Logged {
        for (within, whats) in std::mem::take(&mut self.left_open) {
            self.sender.book.write(Some(&within), whats, Keeping::Noted).await?;
        }
        let closing = self.transcript.closing(&self.sender.account.turn());
        self.note(closing).await
    }

    /// Closes a conversation that was dropped, without waiting.
    pub(crate) fn abandon(&mut self) {
        let closing = self.transcript.closing(&self.sender.account.turn());
        if closing.is_empty() {
            return;
        }
        let book = &self.sender.book;
        // If it cannot be written, the outer conversation fails, too.
        let entered = book.enter(self.sender.within.as_ref(), closing, (None, Keeping::Noted));
        for event in entered.unwrap_or_default() {
            let _ = book.events.try_send(event);
        }
    }

    pub(crate) fn make_ids_unique(&self, reply: &mut Reply) {
        self.sender.book.page().calls.make_unique(reply);
    }

    pub(crate) async fn warn(&mut self, text: impl Into<String>) -> Logged {
        self.notice(Level::Warning, text.into(), None).await
    }

    pub(crate) async fn notice(
        &mut self,
        level: Level,
        text: String,
        hint: Option<String>,
    ) -> Logged {
        self.note(vec![EventKind::Notice { level, text, hint, topic: None }]).await
    }

    pub(crate) async fn notice_about(
        &mut self,
        topic: NoticeTopic,
        level: Level,
        text: String,
        hint: Option<String>,
    ) -> Logged {
        self.note(vec![EventKind::Notice { level, text, hint, topic: Some(topic) }]).await
    }

    pub(crate) fn sender(&self) -> EventSender {
        self.sender.clone()
    }

    pub(crate) fn account(&self) -> &Account {
        &self.sender.account
    }
}

impl EventSender {
    pub(crate) fn session(&self) -> &SessionId {
        &self.book.session
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.book.keys
    }

    pub(crate) fn depth(&self) -> u32 {
        self.account.depth()
    }

    pub(crate) async fn tell(&self, what: EventKind) {
        // A front end that has gone is noticed by the conversation, whose inputs close with it.
        let Ok(room) = self.book.events.reserve().await else { return };
        let seq = Seq(self.book.page().seq);
        room.send(Arc::new(self.book.event(seq, self.within.as_ref(), what)));
    }

    pub(crate) async fn keep(&self, whats: Vec<EventKind>) -> Logged {
        self.book.write(self.within.as_ref(), whats, Keeping::Noted).await.map(drop)
    }

    pub(crate) fn journal_within(&self, within: Subconversation, budget: Budget) -> Journal {
        let account = self.account.within(budget);
        Journal {
            sender: EventSender { book: Arc::clone(&self.book), within: Some(within), account },
            transcript: Transcript::default(),
            refused: Vec::new(),
            has_heard: false,
            left_open: Vec::new(),
        }
    }
}

impl Book {
    /// Keeps events and tells them. Nothing of another conversation comes between the two.
    async fn write(
        &self,
        within: Option<&Subconversation>,
        whats: Vec<EventKind>,
        keeping: Keeping,
    ) -> Logged<Vec<Arc<Event>>> {
        if whats.is_empty() {
            return Ok(Vec::new());
        }
        // None without listeners, or if the channel is too small.
        let room = self.events.reserve_many(whats.len()).await.ok();
        let has_room = room.is_some();
        let events = self.enter(within, whats, (room, keeping))?;
        if !has_room {
            for event in &events {
                let _ = self.events.send(Arc::clone(event)).await;
            }
        }
        Ok(events)
    }

    fn enter(
        &self,
        within: Option<&Subconversation>,
        whats: Vec<EventKind>,
        (room, keeping): (Option<PermitIterator<'_, Arc<Event>>>, Keeping),
    ) -> Logged<Vec<Arc<Event>>> {
        let mut page = self.page();
        let at = Timestamp::now();
        let event = |(seq, what)| Event { at, ..self.event(Seq(seq), within, what) };
        let events: Vec<Event> = (page.seq + 1..).zip(whats).map(event).collect();
        self.log.append(&events)?;
        page.seq += events.len() as u64;
        if keeping == Keeping::Synced {
            self.log.sync()?;
        }
        let events: Vec<Arc<Event>> = events.into_iter().map(Arc::new).collect();
        for (permit, event) in room.into_iter().flatten().zip(&events) {
            permit.send(Arc::clone(event));
        }
        Ok(events)
    }

    fn event(&self, seq: Seq, within: Option<&Subconversation>, what: EventKind) -> Event {
        let (session, what) = (self.session.clone(), keys::hidden(&self.keys, what));
        Event { seq, session, at: Timestamp::now(), within: within.cloned(), kind: what }
    }

    fn page(&self) -> MutexGuard<'_, Page> {
        self.page.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refusal(what: &EventKind) -> Option<String> {
    let EventKind::ToolFinished { name, outcome, output, .. } = what else { return None };
    let is_refused =
        matches!(outcome, CallOutcome::Denied | CallOutcome::Unanswered | CallOutcome::NoSandbox);
    is_refused.then(|| format!("{name}: {}", output.for_model()))
}
