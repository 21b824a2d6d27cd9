//! The session of one client: it begins with the client's first request that hooks can see, and ends
//! when the client leaves.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use contract::id::{InvalidSessionId, SessionId};
use contract::tool::{ToolOutput, ToolSpec};
use futures::future::join_all;
use tokio::runtime::Handle;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::backend::{Backend, Call};
use super::host::Offer;

use crate::mutex::lock;

/// The name of the first session for hooks; later ones have a number behind it.
const SESSION: &str = "mcp-serve";

pub(super) struct Sessions {
    first: SessionId,
    count: AtomicU64,
    /// Sessions that have begun and not ended.
    open: Mutex<BTreeSet<SessionId>>,
    /// Tasks that end the sessions of clients that have left.
    ending: TaskTracker,
}

impl Sessions {
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

    fn open(&self) -> MutexGuard<'_, BTreeSet<SessionId>> {
        lock(&self.open)
    }
}

impl Backend {
    /// Ends a session, unless another task does.
    async fn end_session(&self, session: &SessionId) {
        if self.sessions.open().remove(session) {
            self.host.end_session(&self.current.last(), session).await;
        }
    }

    pub(super) async fn end_sessions(&self) {
        let open = self.sessions.open().clone();
        join_all(open.iter().map(|session| self.end_session(session))).await;
        self.sessions.ending.close();
        self.sessions.ending.wait().await;
    }
}

/// The session of one client. It ends when this is dropped.
pub(super) struct ClientSession {
    backend: Arc<Backend>,
    id: OnceCell<SessionId>,
    runtime: Handle,
}

/// A request of a client, with the offer at that time.
pub(super) struct Request<'a> {
    pub(super) backend: &'a Backend,
    pub(super) offer: Arc<Offer>,
    pub(super) session: &'a SessionId,
}

impl ClientSession {
    pub(super) fn new(backend: Arc<Backend>) -> Self {
        Self { backend, id: OnceCell::new(), runtime: Handle::current() }
    }

    /// A request that cannot be cancelled.
    pub(super) async fn request(&self) -> Request<'_> {
        self.cancellable_request(&CancellationToken::new()).await
    }

    /// A request. If it is cancelled, it does not wait for a renewal of the offer.
    async fn cancellable_request(&self, cancel: &CancellationToken) -> Request<'_> {
        let backend = self.backend.as_ref();
        let offer = tokio::select! {
            biased;
            () = cancel.cancelled() => backend.current.last(),
            offer = backend.current.refreshed() => offer,
        };
        let begin = async || {
            let session = backend.sessions.next();
            backend.sessions.open().insert(session.clone());
            backend.host.begin_session(&offer, &session).await;
            session
        };
        let session = self.id.get_or_init(begin).await;
        Request { backend, offer, session }
    }

    /// Judges a call and runs it. None if there is no such tool.
    pub(super) async fn call(&self, call: Call) -> Option<(Arc<ToolSpec>, ToolOutput)> {
        let request = self.cancellable_request(&call.cancel).await;
        let mut specs = request.offer.specs.iter();
        let spec = Arc::clone(specs.find(|spec| spec.name == call.name)?);
        let output = request.perform(request.offer.tools.clone(), call).await;
        Some((spec, output))
    }
}

impl Drop for ClientSession {
    fn drop(&mut self) {
        let Some(session) = self.id.take() else { return };
        let backend = Arc::clone(&self.backend);
        let ending = async move { backend.end_session(&session).await };
        self.backend.sessions.ending.spawn_on(ending, &self.runtime);
    }
}
