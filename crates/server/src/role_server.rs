//! A server of roles: the checks of its requests, its routes, and its start.

mod a2a;
mod completions;
mod conversations;
mod runs;
mod settings;
mod token_bucket;

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use blake3::Hash;
use bytes::Bytes;
use contract::secret::Secret;
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode, header};
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::LocalSet;

use crate::body::collected;
use crate::credentials;
use crate::guard::Door;
use crate::host::Failure;
use crate::listen::Listeners;
use crate::reply::{self, Reply};
use crate::role_host::{Agent, RoleHost};
use crate::routes::{method_not_allowed, not_found};
use crate::service::Service;

use a2a::Tasks;
use completions::CONVERSATION;
use conversations::Conversations;
use runs::Runs;
pub use settings::RoleServerSettings;
use token_bucket::TokenBucket;

/// Headers that pages of other origins may send.
const ALLOWED_HEADERS: &str =
    "Authorization, Content-Type, X-Conversation-Id, X-Resolved-By, A2A-Version";

/// The options of a server of roles.
pub struct RoleServerOptions {
    pub address: SocketAddr,
    /// The key of clients. If there is none, an address that other machines reach gets a new one.
    pub key: Option<Secret<String>>,
    /// Origins of pages that may send requests, besides those of the settings.
    pub cors_origins: Vec<String>,
    pub settings: RoleServerSettings,
    /// True if the first agent is offered by A2A, and not as a model.
    pub is_a2a: bool,
    /// The address that its card names, if it is another one.
    pub public_url: Option<String>,
    pub version: &'static str,
}

struct RoleServer {
    agents: Vec<Agent>,
    runs: Runs,
    conversations: Conversations,
    host: Rc<dyn RoleHost>,
    key: Option<Hash>,
    options: RoleServerOptions,
    bucket: TokenBucket,
    /// The card of the agent, if it is offered by A2A.
    card: Option<Value>,
    tasks: Tasks,
}

impl RoleServer {
    /// The place of the agent that a request names. If there is only one, every name means it.
    fn agent(&self, model: Option<&str>) -> Result<usize, Failure> {
        if self.agents.len() == 1 {
            return Ok(0);
        }
        let name = model.ok_or_else(|| Failure::bad("`model` is missing"))?;
        let place = self.agents.iter().position(|agent| agent.name == name);
        place.ok_or_else(|| {
            let text = format!("there is no model `{name}`; `GET /v1/models` lists them");
            let failure = Failure::new(StatusCode::NOT_FOUND, text);
            Failure { code: Some("model_not_found"), ..failure }
        })
    }

    fn check(&self, parts: &Parts) -> Result<(), Failure> {
        let scheme = header_of(parts, "x-forwarded-proto").and_then(|it| it.split(',').next());
        if self.options.settings.server.require_https
            && scheme.is_none_or(|scheme| scheme.trim() != "https")
        {
            let failure = Failure::new(StatusCode::FORBIDDEN, "the role requires HTTPS");
            return Err(Failure { code: Some("https_required"), ..failure });
        }
        if let Some(key) = self.key {
            let sent = header_of(parts, "authorization").and_then(|it| it.strip_prefix("Bearer "));
            if sent.is_none_or(|sent| blake3::hash(sent.as_bytes()) != key) {
                let what = "the API key is missing or wrong";
                return Err(Failure::new(StatusCode::UNAUTHORIZED, what));
            }
        }
        let is_allowed = self.bucket.take(Instant::now()).then_some(());
        is_allowed.ok_or_else(|| Failure::new(StatusCode::TOO_MANY_REQUESTS, "too many requests"))
    }

    async fn route(self: &Rc<Self>, parts: &Parts, body: &Bytes) -> Result<Reply, Failure> {
        let path = parts.uri.path();
        let segments: Vec<&str> = path.split('/').skip(2).collect();
        match (parts.method.as_str(), segments.as_slice()) {
            ("GET", ["models"]) => {
                let model = |agent: &Agent| json!({"id": agent.name, "object": "model", "created": 0, "owned_by": "brynhild"});
                let models: Vec<Value> = self.agents.iter().map(model).collect();
                Ok(reply::ok(&json!({"object": "list", "data": models})))
            }
            ("POST", ["chat", "completions"]) => completions::complete(self, parts, body).await,
            ("POST", ["approvals", run_id]) => {
                completions::approve(self, parts, run_id, body).await
            }
            (_, ["models"] | ["chat", "completions"] | ["approvals", _]) => {
                Err(method_not_allowed())
            }
            _ => Err(not_found(path)),
        }
    }
}

/// The text of a header.
fn header_of<'a>(parts: &'a Parts, name: &str) -> Option<&'a str> {
    parts.headers.get(name).and_then(|value| value.to_str().ok()).filter(|text| !text.is_empty())
}

/// The body of an error, as OpenAI's clients read it.
fn error_of(failure: &Failure) -> Value {
    let kind = match failure.status.as_u16() {
        401 => "authentication_error",
        403 => failure.code.unwrap_or("permission_error"),
        413 => "request_too_large",
        429 => "rate_limit_exceeded",
        504 => "timeout",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    };
    let code = failure.code.unwrap_or(kind);
    json!({"error": {"message": failure.message, "type": kind, "code": code}})
}

impl Service for RoleServer {
    async fn admit(
        self: &Rc<Self>,
        parts: &Parts,
        body: Incoming,
        door: &Door,
    ) -> Result<Reply, Failure> {
        door.check(parts)?;
        let path = parts.uri.path();
        if parts.method == Method::OPTIONS {
            return Ok(reply::nothing());
        }
        if path == "/health" && parts.method == Method::GET {
            return Ok(reply::ok(&json!({"status": "ok"})));
        }
        match &self.card {
            Some(card) if path == a2a::CARD => Ok(reply::ok(card)),
            Some(_) if path == "/" && parts.method == Method::POST => {
                self.check(parts)?;
                let body = collected(parts, body, a2a::MAX_BODY).await?;
                Ok(a2a::call(self, parts, &body).await)
            }
            None if path.starts_with("/v1/") => {
                self.check(parts)?;
                let limit = self.options.settings.server.max_request_body_bytes;
                self.route(parts, &collected(parts, body, limit).await?).await
            }
            _ => Err(not_found(path)),
        }
    }

    fn report(&self, text: &str) {
        self.host.report(text);
    }

    fn failure(&self, failure: &Failure) -> Reply {
        let mut reply = reply::json(failure.status, &error_of(failure));
        if failure.status == StatusCode::TOO_MANY_REQUESTS {
            let seconds = HeaderValue::from_str(&self.bucket.wait().to_string());
            let _ = seconds.map(|it| reply.headers_mut().insert(header::RETRY_AFTER, it));
        }
        reply
    }

    fn finish(&self, parts: &Parts, reply: &mut Reply) {
        let Some(origin) = parts.headers.get(header::ORIGIN) else { return };
        let is_allowed = |it: &String| it == "*" || origin == it.as_str();
        if !self.options.cors_origins.iter().any(is_allowed) {
            return;
        }
        let headers = reply.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, CONVERSATION.into());
        if parts.method == Method::OPTIONS {
            for (name, value) in [
                (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
                (header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS),
                (header::ACCESS_CONTROL_MAX_AGE, "600"),
            ] {
                headers.insert(name, HeaderValue::from_static(value));
            }
        }
    }
}

/// Serves agents until `until` is done, then ends their runs in order. `ready` hears the address,
/// and the key if it is a new one.
pub async fn serve_roles(
    host: Rc<dyn RoleHost>,
    agents: Vec<Agent>,
    mut options: RoleServerOptions,
    until: impl Future<Output = ()>,
    ready: impl FnOnce(&str, Option<&str>),
) -> io::Result<()> {
    let listener = TcpListener::bind(options.address).await?;
    let address = listener.local_addr()?;
    let place = format!("http://{address}");
    let key = options.key.take();
    let is_open = key.is_none() && !address.ip().is_loopback();
    let new_key = if is_open { Some(credentials::random()?) } else { None };
    let key = key.map(|key| key.expose().clone()).or_else(|| new_key.clone());
    let RoleServerSettings { server: settings, rate } = options.settings.clone();
    options.cors_origins.extend(settings.cors_origins);
    let door = Door::role(address, key.is_some(), options.cors_origins.clone());
    let url = options.public_url.take().unwrap_or_else(|| format!("{place}/"));
    let described = agents.first().filter(|_| options.is_a2a);
    let server = Rc::new(RoleServer {
        card: described.map(|agent| a2a::card(agent, &url, (options.version, key.is_some()))),
        tasks: Tasks::default(),
        agents,
        runs: Runs::default(),
        conversations: Conversations::new(settings.max_conversations),
        host,
        key: key.map(|key| blake3::hash(key.as_bytes())),
        options,
        bucket: TokenBucket::new(&rate, Instant::now()),
    });
    ready(&place, new_key.as_deref());
    let listeners = Listeners { door, tcp: Some(listener), unix: None, joining: None };
    let serving = async {
        let mut connections = listeners.serve(&server, until).await;
        server.runs.end().await;
        connections.shutdown().await;
    };
    LocalSet::new().run_until(serving).await;
    Ok(())
}
