//! Streamable HTTP on an address of this machine. A page in a browser cannot use it: `Host` and
//! `Origin` are checked, and a token where one is set.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use contract::secret::Secret;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Backend, Server};
use crate::failure::Failure;

/// The path under which tools are offered.
const PATH: &str = "/mcp";
/// The largest request.
const LARGEST: usize = 32 << 20;
/// Clients at once, at most.
const MOST_CLIENTS: usize = 64;

type Reply = Response<BoxBody<Bytes, Infallible>>;
type Service = StreamableHttpService<Server, LocalSessionManager>;

/// Serves clients at an address until `cancel` fires. `ready` hears the address once it is open.
pub async fn http(
    backend: Arc<dyn Backend>,
    address: SocketAddr,
    token: Option<Secret<String>>,
    cancel: CancellationToken,
    ready: impl FnOnce(&str),
) -> Result<(), Failure> {
    if !address.ip().is_loopback() {
        return Err(Failure::hinted(
            format!("{address} can be reached by other machines"),
            "name an address of this machine, such as 127.0.0.1:0",
        ));
    }
    let failed =
        |error: std::io::Error| Failure::new(format!("cannot listen at {address}: {error}"));
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let config = StreamableHttpServerConfig::default()
        .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*"])
        .with_max_request_body_bytes(LARGEST)
        .with_cancellation_token(cancel.child_token());
    let make = move || Ok(Server::new(Arc::clone(&backend)));
    let service = Service::new(make, Arc::new(LocalSessionManager::default()), config);
    ready(&format!("http://{address}{PATH}"));
    let token = Arc::new(token);
    let mut clients = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept(), if clients.len() < MOST_CLIENTS => accepted,
            Some(_) = clients.join_next(), if !clients.is_empty() => continue,
            () = cancel.cancelled() => break,
        };
        // A client that went away while it was accepted is no reason to stop.
        let Ok((stream, _)) = accepted else { continue };
        let (service, token) = (service.clone(), Arc::clone(&token));
        clients.spawn(async move {
            let answer = service_fn(move |request| {
                let (service, token) = (service.clone(), Arc::clone(&token));
                async move {
                    Ok::<_, Infallible>(answer(&service, token.as_ref().as_ref(), request).await)
                }
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), answer);
            // What goes wrong on one connection is that client's to see.
            let _ = connection.await;
        });
    }
    clients.shutdown().await;
    Ok(())
}

async fn answer(
    service: &Service,
    token: Option<&Secret<String>>,
    request: Request<Incoming>,
) -> Reply {
    if request.uri().path() != PATH {
        return refusal(StatusCode::NOT_FOUND, "tools are at /mcp");
    }
    if let Some(token) = token {
        let sent = request.headers().get(header::AUTHORIZATION);
        let sent = sent.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let sent = sent.strip_prefix("Bearer ").unwrap_or_default();
        // Hashes are compared so that the time tells nothing of the token.
        if blake3::hash(sent.as_bytes()) != blake3::hash(token.expose().as_bytes()) {
            return refusal(StatusCode::UNAUTHORIZED, "the token is missing or wrong");
        }
    }
    let is_farewell = request.method() == Method::DELETE;
    let mut reply = service.handle(request).await;
    // The session is gone with the answer: clients take 202 for a promise.
    if is_farewell && reply.status() == StatusCode::ACCEPTED {
        *reply.status_mut() = StatusCode::NO_CONTENT;
    }
    reply
}

fn refusal(status: StatusCode, text: &'static str) -> Reply {
    let mut reply = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *reply.status_mut() = status;
    reply
}
