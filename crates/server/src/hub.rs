//! All sessions: opens and closes them, and tells clients which of them changed.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::time::Duration;

use contract::event::{EventKind, Input};
use contract::id::{SessionId, Timestamp};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::fold::Fold;
use crate::frames;
use crate::host::{Failure, Holder, Host, Listed, Opening, Reachable, Wanted};
use crate::queue::{Queue, Weight};
use crate::replay;
use crate::room::Room;

/// Time between two looks at the sessions of other programs.
const TICK: Duration = Duration::from_secs(2);
/// Looks between two pings.
const PING: u32 = 5;
/// Logs of sessions that were used so recently are searched for open questions.
const RECENT: i64 = 7 * 24 * 3600;

pub(crate) struct Hub {
    pub(crate) host: Rc<dyn Host>,
    pub(crate) reachable: Reachable,
    pub(crate) question_limit: Duration,
    /// The directories that sessions may work in; empty for all.
    projects: Vec<PathBuf>,
    pub(crate) cwd: PathBuf,
    rooms: RefCell<HashMap<SessionId, Rc<Room>>>,
    readers: RefCell<Vec<Queue>>,
    /// The summaries that readers know.
    told: RefCell<HashMap<SessionId, Value>>,
    /// Open questions of stored sessions, by the time of their last event.
    questions: RefCell<HashMap<SessionId, (Timestamp, usize)>>,
    ticks: Cell<u32>,
}

impl Hub {
    pub(crate) fn new(
        host: Rc<dyn Host>,
        (cwd, projects): (PathBuf, Vec<PathBuf>),
        reachable: Reachable,
        question_limit: Duration,
    ) -> Self {
        Self {
            host,
            reachable,
            question_limit,
            projects,
            cwd,
            rooms: RefCell::default(),
            readers: RefCell::default(),
            told: RefCell::default(),
            questions: RefCell::default(),
            ticks: Cell::default(),
        }
    }

    /// Serves a conversation that is open already.
    pub(crate) fn adopt(self: &Rc<Self>, opened: crate::host::Opened, fold: Fold) {
        let room = Rc::new(Room::new(opened.id.clone(), fold));
        self.rooms.borrow_mut().insert(opened.id.clone(), Rc::clone(&room));
        room.begin(opened, self.listener());
    }

    fn listener(self: &Rc<Self>) -> impl Fn(&Rc<Room>) + 'static {
        let hub: Weak<Self> = Rc::downgrade(self);
        move |room| {
            if let Some(hub) = hub.upgrade() {
                hub.tell(room.summary());
            }
        }
    }

    /// A directory that sessions may work in.
    pub(crate) fn checked_directory(&self, cwd: &Path) -> Result<PathBuf, Failure> {
        let shown = cwd.display();
        let found = cwd.canonicalize().ok().filter(|found| cwd.is_absolute() && found.is_dir());
        let found = found.ok_or_else(|| {
            Failure::bad(format!("{shown} is not the absolute path of a directory"))
        })?;
        if self.projects.is_empty() || self.projects.iter().any(|it| found.starts_with(it)) {
            return Ok(found);
        }
        let what = format!("{shown} is outside of the directories that this server offers");
        Err(Failure::new(StatusCode::FORBIDDEN, what).hint("`--project` names them"))
    }

    fn is_offered(&self, cwd: &str) -> bool {
        self.projects.is_empty() || self.projects.iter().any(|it| Path::new(cwd).starts_with(it))
    }

    /// The room of a session that is open here.
    pub(crate) fn live(&self, id: &SessionId) -> Option<Rc<Room>> {
        self.rooms.borrow().get(id).filter(|room| room.is_live()).cloned()
    }

    /// The program that has a session open, if it is not this one.
    pub(crate) fn holder(&self, id: &SessionId) -> Option<Holder> {
        let known = self.rooms.borrow().get(id).cloned();
        if known.is_some_and(|room| room.is_live() || room.opening.try_lock().is_err()) {
            return None;
        }
        self.host.holder(id).filter(|holder| {
            let own = &self.reachable.socket;
            holder.reachable.as_ref().is_none_or(|other| other.socket != *own)
        })
    }

    /// The room of a session; its state is that of the log if it is not open here.
    pub(crate) async fn room(&self, id: &SessionId) -> Result<Rc<Room>, Failure> {
        if let Some(room) = self.live(id) {
            return Ok(room);
        }
        if !self.host.exists(id) {
            return Err(Failure::no_session(id.as_str()));
        }
        let fold = replay::fold(self.host.logs(), id.clone()).await?;
        if !self.is_offered(&fold.cwd) {
            return Err(Failure::no_session(id.as_str()));
        }
        let mut rooms = self.rooms.borrow_mut();
        let room = rooms.entry(id.clone());
        let room = room.or_insert_with(|| Rc::new(Room::new(id.clone(), Fold::default())));
        if !room.is_live() {
            *room.fold.borrow_mut() = fold;
        }
        Ok(Rc::clone(room))
    }

    /// The room of a session, which is opened if it is not.
    pub(crate) async fn open(self: &Rc<Self>, id: &SessionId) -> Result<Rc<Room>, Failure> {
        let room = self.room(id).await?;
        let _opening = room.opening.lock().await;
        if !room.is_live() {
            let (cwd, mode) = {
                let fold = room.fold.borrow();
                (fold.cwd.clone().into(), Some(fold.mode))
            };
            // A session goes on in the mode that it had.
            let wanted = Wanted { session: Some(id.clone()), cwd, mode, ..Wanted::default() };
            self.start(&room, wanted).await?;
        }
        Ok(Rc::clone(&room))
    }

    async fn start(self: &Rc<Self>, room: &Rc<Room>, wanted: Wanted) -> Result<(), Failure> {
        let opened = self.host.open(wanted, &self.reachable).await?;
        room.begin(opened, self.listener());
        self.tell(room.summary());
        Ok(())
    }

    /// Opens a new session.
    pub(crate) async fn create(self: &Rc<Self>, wanted: Wanted) -> Result<Rc<Room>, Failure> {
        let opened = self.host.open(wanted.clone(), &self.reachable).await?;
        let id = opened.id.clone();
        let mut fold = if wanted.fork.is_some() {
            replay::fold(self.host.logs(), id.clone()).await?
        } else {
            Fold::default()
        };
        (fold.cwd, fold.role) = (wanted.cwd.display().to_string(), wanted.role);
        self.adopt(opened, fold);
        let room = self.live(&id).ok_or_else(|| Failure::no_session(id.as_str()))?;
        self.tell(room.summary());
        Ok(room)
    }

    /// Opens the sessions that the program around the server hands over.
    pub(crate) async fn take_over(self: Rc<Self>, openings: Option<mpsc::Receiver<Opening>>) {
        let Some(mut openings) = openings else { return };
        while let Some((wanted, opened)) = openings.recv().await {
            // A program that does not wait any more needs no result.
            let _ = opened.send(self.open_as(wanted).await);
        }
    }

    /// Opens a session as it is wanted, if it is not open.
    async fn open_as(self: &Rc<Self>, wanted: Wanted) -> Result<(), Failure> {
        let Some(id) = wanted.session.clone().filter(|id| self.host.exists(id)) else {
            return self.create(wanted).await.map(drop);
        };
        let room = self.room(&id).await?;
        let _opening = room.opening.lock().await;
        if room.is_live() { Ok(()) } else { self.start(&room, wanted).await }
    }

    /// Opens a session again with another model.
    pub(crate) async fn switch(
        self: &Rc<Self>,
        room: &Rc<Room>,
        model: String,
    ) -> Result<(), Failure> {
        let _opening = room.opening.lock().await;
        let (before, mode) = match &*room.live.borrow() {
            Some(live) if live.model == model => return Ok(()),
            Some(live) => (live.model.clone(), live.mode),
            None => return Err(Failure::conflict("the session is not open any more")),
        };
        if room.fold.borrow().is_running {
            return Err(Failure::conflict("the model cannot change while the session is at work")
                .hint("interrupt it, or wait for the end of the turn"));
        }
        room.close().await;
        let cwd = PathBuf::from(&room.fold.borrow().cwd);
        let role = room.fold.borrow().role.clone().filter(|_| room.seq().0 == 0);
        let (session, mode) = (Some(room.id.clone()), Some(mode));
        let before_switch = Wanted { session, cwd, mode, role, ..Wanted::default() };
        let wanted = |model| Wanted { model: Some(model), ..before_switch.clone() };
        match self.start(room, wanted(model)).await {
            Ok(()) => Ok(()),
            Err(failure) => {
                self.start(room, wanted(before)).await?;
                Err(failure)
            }
        }
    }

    /// Ends a session, if it is open.
    pub(crate) async fn close(&self, room: &Rc<Room>) {
        let _opening = room.opening.lock().await;
        room.close().await;
    }

    pub(crate) async fn delete(&self, id: &SessionId) -> Result<(), Failure> {
        let room = self.room(id).await?;
        let _opening = room.opening.lock().await;
        room.close().await;
        if self.host.exists(id) {
            self.host.delete(id)?;
        }
        room.dismiss();
        self.rooms.borrow_mut().remove(id);
        self.forget(id);
        Ok(())
    }

    fn forget(&self, id: &SessionId) {
        self.told.borrow_mut().remove(id);
        self.announce(&frames::named("removed", &json!({"id": id})), Weight::Kept);
    }

    /// Gives a session a title, which is kept like everything that happens in it.
    pub(crate) async fn retitle(&self, room: &Room, title: String) -> Result<(), Failure> {
        if room.seq().0 == 0 {
            return Err(Failure::conflict("a session has a title when it has a first prompt"));
        }
        room.input(Input::Record(EventKind::Titled { title })).await
    }

    // The list.

    fn announce(&self, frame: &bytes::Bytes, weight: Weight) {
        let mut readers = self.readers.borrow_mut();
        readers.retain(|reader| !reader.is_over());
        for reader in &*readers {
            reader.push(weight, frame);
        }
    }

    /// Tells readers of the list about a session, if they do not know it.
    fn tell(&self, summary: Value) {
        let Some(id) = summary["id"].as_str().and_then(|id| SessionId::parse(id).ok()) else {
            return;
        };
        if self.told.borrow().get(&id) == Some(&summary) {
            return;
        }
        let json = serde_json::to_string(&summary).unwrap_or_default();
        self.told.borrow_mut().insert(id, summary);
        self.announce(&format!("data: {json}\n\n").into(), Weight::Kept);
    }

    /// Lets a client follow the list from here on.
    pub(crate) async fn follow(&self, queue: Queue) -> Result<(), Failure> {
        // What the client reads before is what it knows.
        let _ = self.summaries().await?;
        self.readers.borrow_mut().push(queue);
        Ok(())
    }

    /// The summaries of all sessions, the last used first.
    pub(crate) async fn summaries(&self) -> Result<Vec<Value>, Failure> {
        let listed = self.host.list()?;
        let mut summaries = Vec::new();
        for entry in listed.into_iter().filter(|entry| self.is_offered(&entry.cwd)) {
            summaries.push(self.summary(entry).await);
        }
        // A session without an event is not stored.
        let known: Vec<Value> = summaries.iter().map(|summary| summary["id"].clone()).collect();
        for room in self.rooms.borrow().values().filter(|room| room.is_live()) {
            if !known.contains(&json!(room.id)) {
                summaries.insert(0, room.summary());
            }
        }
        Ok(summaries)
    }

    async fn summary(&self, entry: Listed) -> Value {
        let Listed { id, cwd, title, updated_at } = entry;
        if let Some(room) = self.live(&id) {
            return room.summary();
        }
        let is_held = self.holder(&id).is_some();
        let questions = if is_held { 0 } else { self.open_questions(&id, updated_at).await };
        let state = match (is_held, questions) {
            (true, _) => "elsewhere",
            (false, 0) => "ended",
            (false, _) => "asking",
        };
        json!({
            "id": id,
            "title": title,
            "cwd": cwd,
            "updated_at": updated_at,
            "state": state,
            "questions": questions,
        })
    }

    async fn open_questions(&self, id: &SessionId, at: Timestamp) -> usize {
        if Timestamp::now().0.as_second() - at.0.as_second() > RECENT {
            return 0;
        }
        if let Some((_, count)) = self.questions.borrow().get(id).filter(|(known, _)| *known == at)
        {
            return *count;
        }
        // A log that cannot be read has no question that could be answered.
        let fold = replay::fold(self.host.logs(), id.clone()).await.unwrap_or_default();
        let count = fold.pending.len();
        self.questions.borrow_mut().insert(id.clone(), (at, count));
        count
    }

    /// Looks after all sessions until it is dropped.
    pub(crate) async fn tick(self: Rc<Self>) {
        let mut interval = tokio::time::interval(TICK);
        loop {
            interval.tick().await;
            self.ticks.set(self.ticks.get() + 1);
            let has_ping = self.ticks.get().is_multiple_of(PING);
            let rooms: Vec<Rc<Room>> = self.rooms.borrow().values().cloned().collect();
            for room in rooms {
                if room.has_clients() {
                    room.touch();
                }
                if has_ping {
                    room.ping();
                }
                room.give_up(self.question_limit);
                if room.is_unused() {
                    self.close(&room).await;
                }
                // One that a request or a replay still uses stays: this list and the map have the others.
                let is_used = Rc::strong_count(&room) > 2 || room.has_clients();
                if !room.is_live() && !is_used && room.grants.borrow().is_empty() {
                    self.rooms.borrow_mut().remove(&room.id);
                }
            }
            self.readers.borrow_mut().retain(|reader| !reader.is_over());
            if self.readers.borrow().is_empty() {
                continue;
            }
            if has_ping {
                self.announce(&frames::named("ping", &json!({})), Weight::Transient);
            }
            // A list that cannot be read changes nothing.
            if let Ok(summaries) = self.summaries().await {
                let ids: Vec<&str> = summaries.iter().filter_map(|it| it["id"].as_str()).collect();
                let told = self.told.borrow();
                let gone = told.keys().filter(|id| !ids.contains(&id.as_str()));
                let gone: Vec<SessionId> = gone.cloned().collect();
                drop(told);
                for id in &gone {
                    self.forget(id);
                }
                for summary in summaries {
                    self.tell(summary);
                }
            }
        }
    }

    pub(crate) async fn close_all(&self) {
        let rooms: Vec<Rc<Room>> = self.rooms.borrow().values().cloned().collect();
        for room in rooms {
            self.close(&room).await;
            room.dismiss();
        }
        self.readers.borrow_mut().drain(..).for_each(|reader| reader.end());
    }
}
