//! The session of one client: it begins with the first thing that the client has done, and ends when
//! the client leaves.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ::mcp::Watch;
use ::mcp::serve::{Asker, Call, Called, Guest, Resources};
use agent::session::Listeners;
use async_trait::async_trait;
use contract::event::{Event, EventKind, Level};
use contract::hook::HookContext;
use contract::id::{InvalidSessionId, SessionId};
use contract::log::LogError;
use futures::future::join_all;
use serde_json::Value;
use sessions::unsaved::Unsaved;
use tokio::runtime::Handle;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Guarded;
use super::present::Moment;
use crate::output;

/// What hooks know the first session by; later ones have a number behind it.
const SESSION: &str = "mcp-serve";

/// The sessions of all clients.
pub(super) struct Visits {
    first: SessionId,
    count: AtomicU64,
    /// Those that have begun and not ended.
    open: Mutex<BTreeSet<SessionId>>,
    /// The ends of those whose client has left.
    ending: TaskTracker,
}

impl Visits {
    /// No client has come yet.
    pub(super) fn new() -> Result<Self, InvalidSessionId> {
        Ok(Self {
            first: SessionId::parse(SESSION)?,
            count: AtomicU64::new(1),
            open: Mutex::default(),
            ending: TaskTracker::new(),
        })
    }

    fn next(&self) -> SessionId {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let numbered = SessionId::parse(&format!("{SESSION}-{number}"));
        if number == 1 { self.first.clone() } else { numbered.unwrap_or(self.first.clone()) }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, BTreeSet<SessionId>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guarded {
    fn listeners(&self, moment: &Moment, session: &SessionId) -> Listeners {
        let cwd = self.settings.cwd.clone();
        Listeners {
            hooks: moment.hooks.clone(),
            scene: HookContext { session: session.clone(), cwd, within: None },
            log: Arc::new(Unsaved),
        }
    }

    async fn begin_visit(&self, moment: &Moment, session: &SessionId) {
        self.visits.open().insert(session.clone());
        tell(self.listeners(moment, session).greet().await);
    }

    /// Ends a session, unless somebody else does.
    async fn end_visit(&self, session: &SessionId) {
        if self.visits.open().remove(session) {
            tell(self.listeners(&self.present.moment(), session).part().await);
        }
    }

    /// Ends all sessions.
    pub(super) async fn end_visits(&self) {
        let open = self.visits.open().clone();
        join_all(open.iter().map(|session| self.end_visit(session))).await;
        self.visits.ending.close();
        self.visits.ending.wait().await;
    }
}

/// Says what hooks had to say to people.
fn tell(heard: Result<Vec<Arc<Event>>, LogError>) {
    let heard = match heard {
        Ok(heard) => heard,
        Err(error) => return output::warning(&error.to_string()),
    };
    for event in heard {
        if let EventKind::Notice { level: Level::Warning | Level::Error, text, .. } = &event.kind {
            output::warning(text);
        }
    }
}

/// One client.
pub(super) struct Visit {
    guarded: Arc<Guarded>,
    session: OnceCell<SessionId>,
    runtime: Handle,
}

/// Something that a client wants, with what was offered when it said so.
pub(super) struct Request<'a> {
    pub(super) guarded: &'a Guarded,
    pub(super) moment: Arc<Moment>,
    pub(super) session: &'a SessionId,
}

impl Visit {
    pub(super) fn new(guarded: Arc<Guarded>) -> Self {
        Self { guarded, session: OnceCell::new(), runtime: Handle::current() }
    }

    /// What somebody wants from here on. Whoever withdraws it does not wait for what has changed.
    async fn request(&self, cancel: &CancellationToken) -> Request<'_> {
        let guarded = &self.guarded;
        let moment = tokio::select! {
            biased;
            () = cancel.cancelled() => guarded.present.moment(),
            moment = guarded.present.look() => moment,
        };
        let begin = async || {
            let session = guarded.visits.next();
            guarded.begin_visit(&moment, &session).await;
            session
        };
        let session = self.session.get_or_init(begin).await;
        Request { guarded, moment, session }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else { return };
        let guarded = Arc::clone(&self.guarded);
        let ending = async move { guarded.end_visit(&session).await };
        self.guarded.visits.ending.spawn_on(ending, &self.runtime);
    }
}

#[async_trait]
impl Guest for Visit {
    async fn call(&self, call: Call) -> Option<Called> {
        let request = self.request(&call.cancel).await;
        let registry = &request.moment.registry;
        let spec = Arc::clone(registry.specs().iter().find(|spec| spec.name == call.name)?);
        let output = request.perform(registry.tools().cloned().collect(), call).await;
        Some(Called { spec, output })
    }

    async fn resources(&self) -> Resources {
        self.request(&CancellationToken::new()).await.readable().await
    }

    async fn read(&self, uri: &str, asker: Arc<dyn Asker>) -> Result<Option<Value>, String> {
        self.request(&CancellationToken::new()).await.held(uri, asker).await
    }

    async fn watch(&self, uri: &str, watch: Watch) -> Result<(), String> {
        self.request(&CancellationToken::new()).await.watched(uri, watch).await
    }
}
