//! Streamable HTTP on an address of this machine. A page in a browser cannot use it: `Host`, `Origin`
//! and `Sec-Fetch-Site` are checked, and a token where one is set.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use contract::secret::Secret;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ring::rand::{SecureRandom as _, SystemRandom};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{SessionId, SessionManager};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::client_session::ClientSession;
use super::replay::ReplayBuffer;
use super::{Backend, Server};
use crate::failure::Failure;
use crate::mutex::lock;

/// The path under which tools are offered.
const PATH: &str = "/mcp";
/// The largest request.
const MAX_REQUEST: usize = 32 << 20;
/// Connections at once, at most; a client that listens keeps one.
const MAX_CLIENTS: usize = 512;
/// Sessions at once, at most: a client that vanishes leaves its own behind.
const MOST_SESSIONS: usize = 256;
/// Names the session in requests and replies.
pub(super) const SESSION: &str = "mcp-session-id";

type Reply = Response<BoxBody<Bytes, Infallible>>;
type Service = StreamableHttpService<Server, LocalSessionManager>;

/// A token that nobody can guess.
pub fn token() -> Result<Secret<String>, Failure> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Failure::new("no random numbers are available"))?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(bytes)))
}

/// Serves clients at an address until `cancel` fires. `ready` hears the address once it is open.
pub async fn http(
    backend: Arc<Backend>,
    address: SocketAddr,
    token: Option<Secret<String>>,
    cancel: CancellationToken,
    ready: impl FnOnce(&str),
) -> Result<(), Failure> {
    if !address.ip().is_loopback() {
        return Err(Failure::new(format!("{address} can be reached by other machines"))
            .hinted("name an address of this machine, such as 127.0.0.1:0"));
    }
    let failed =
        |error: std::io::Error| Failure::new(format!("cannot listen at {address}: {error}"));
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let port = address.port();
    let config = StreamableHttpServerConfig::default()
        .with_allowed_origins([format!("http://localhost:{port}"), format!("http://{address}")])
        .with_max_request_body_bytes(MAX_REQUEST)
        .with_cancellation_token(cancel.child_token());
    let shared_session = Arc::new(ClientSession::new(Arc::clone(&backend)));
    let make = move || Ok(Server::new(Arc::clone(&backend), Some(Arc::clone(&shared_session))));
    let sessions = Sessions::default();
    let service = Service::new(make, Arc::clone(&sessions.open), config);
    ready(&format!("http://{address}{PATH}"));
    let gate = Arc::new(Gate { service, sessions, token });
    let mut clients = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept(), if clients.len() < MAX_CLIENTS => accepted,
            Some(_) = clients.join_next(), if !clients.is_empty() => continue,
            () = cancel.cancelled() => break,
        };
        // A client that went away while it was accepted is not a reason to stop.
        let Ok((stream, _)) = accepted else { continue };
        let gate = Arc::clone(&gate);
        clients.spawn(async move {
            let answer = service_fn(move |request| {
                let gate = Arc::clone(&gate);
                async move { Ok::<_, Infallible>(gate.answer(request).await) }
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), answer);
            // An error of one connection concerns only its client.
            let _ = connection.await;
        });
    }
    clients.shutdown().await;
    Ok(())
}

/// The checks that every request passes.
struct Gate {
    service: Service,
    sessions: Sessions,
    token: Option<Secret<String>>,
}

impl Gate {
    async fn answer(&self, request: Request<Incoming>) -> Reply {
        if request.uri().path() != PATH {
            return refusal(StatusCode::NOT_FOUND, "tools are at /mcp");
        }
        // Another port of this machine is another page's, which browsers call the same site.
        let site = request.headers().get("sec-fetch-site");
        if site.is_some_and(|site| site != "same-origin" && site != "none") {
            return refusal(StatusCode::FORBIDDEN, "requests from other sites are refused");
        }
        if let Some(token) = &self.token {
            let sent = request.headers().get(header::AUTHORIZATION);
            let sent = sent.and_then(|value| value.to_str().ok()).unwrap_or_default();
            let sent = sent.strip_prefix("Bearer ").unwrap_or_default();
            // Hashes are compared so that the time tells nothing of the token.
            if blake3::hash(sent.as_bytes()) != blake3::hash(token.expose().as_bytes()) {
                return refusal(StatusCode::UNAUTHORIZED, "the token is missing or wrong");
            }
        }
        let is_last = request.method() == Method::DELETE;
        let named = request.headers().get(SESSION).cloned();
        let mut reply = self.service.handle(request).await;
        let named = named.as_ref().or_else(|| reply.headers().get(SESSION));
        if let Some(id) = named.and_then(|value| value.to_str().ok())
            && reply.status().is_success()
        {
            self.sessions.used(id, is_last).await;
        }
        // The session is gone with the answer: clients take 202 for a promise.
        if is_last && reply.status() == StatusCode::ACCEPTED {
            *reply.status_mut() = StatusCode::NO_CONTENT;
        }
        reply
    }
}

/// The sessions of all clients, the longest unused first.
struct Sessions {
    open: Arc<LocalSessionManager>,
    order: Mutex<VecDeque<SessionId>>,
}

impl Default for Sessions {
    fn default() -> Self {
        let open =
            LocalSessionManager::default().with_event_store(Arc::new(ReplayBuffer::default()));
        Self { open: Arc::new(open), order: Mutex::default() }
    }
}

impl Sessions {
    /// Notes that a session was used. Closes the least recently used one if there are too many.
    async fn used(&self, id: &str, is_last: bool) {
        let unused = {
            let mut order = lock(&self.order);
            order.retain(|known| known.as_ref() != id);
            if !is_last {
                order.push_back(id.into());
            }
            (order.len() > MOST_SESSIONS).then(|| order.pop_front()).flatten()
        };
        if let Some(id) = unused {
            // One that has ended on its own needs no end.
            let _ = self.open.close_session(&id).await;
        }
    }
}

fn refusal(status: StatusCode, text: &'static str) -> Reply {
    let mut reply = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *reply.status_mut() = status;
    reply
}
