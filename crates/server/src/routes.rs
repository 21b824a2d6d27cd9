//! The routes. Each request passes the guard, then its credentials and their scope are checked.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use bytes::Bytes;
use contract::id::{Seq, SessionId};
use contract::policy::Mode;
use formats::percent;
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode, header};
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::body::{Body, collected, read};
use crate::credentials::{Client, Credentials, Scopes};
use crate::guard::Door;
use crate::host::{Failure, Wanted};
use crate::hub::Hub;
use crate::queue::{Queue, Weight};
use crate::replay::internal;
use crate::reply::{self, Reply};
use crate::service::Service;
use crate::{attach, markdown, openai, page};

/// The largest body.
const MAX_BODY: usize = 8 << 20;
/// Sessions in a list, if nothing is said.
const LIST: usize = 50;
/// Files that complete a word.
const FILES: usize = 50;
/// Texts that are parsed at once.
const TEXTS: usize = 1_000;
/// The first message of a stream: the time after which browsers come back.
pub(crate) const RETRY: &str = "retry: 1000\n\n";

pub(crate) struct Server {
    pub(crate) hub: Rc<Hub>,
    credentials: Credentials,
    /// The address as clients write it.
    place: String,
    version: &'static str,
}

/// The query of a request, decoded.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    fn of(parts: &Parts) -> Self {
        let pairs = parts.uri.query().unwrap_or_default().split('&');
        let pairs = pairs.filter_map(|pair| pair.split_once('='));
        Self(pairs.map(|(name, value)| (decoded(name), decoded(value))).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Failure> {
        let parse = |text: &str| {
            text.parse().map_err(|_| Failure::bad(format!("`{name}={text}` is not a number")))
        };
        self.get(name).map(parse).transpose()
    }
}

/// A name or a value of a query.
fn decoded(text: &str) -> String {
    String::from_utf8_lossy(&percent::decode(&text.replace('+', " "))).into_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewSession {
    cwd: Option<PathBuf>,
    name: Option<String>,
    model: Option<String>,
    mode: Option<Mode>,
    fork: Option<Fork>,
    role: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fork {
    session: SessionId,
    seq: Seq,
}

/// The scope that changing to a mode needs: no request widens more than its client may approve.
pub(crate) fn scope_of_mode(mode: Mode) -> Scopes {
    if mode == Mode::Yolo { Scopes::ApproveAlways } else { Scopes::Approve }
}

pub(crate) fn need(client: &Client, needed: Scopes) -> Result<(), Failure> {
    if client.scopes >= needed {
        return Ok(());
    }
    let what = format!("these credentials do not have the scope `{}`", needed.as_str());
    Err(Failure::new(StatusCode::FORBIDDEN, what))
}

impl Server {
    pub(crate) fn new(
        hub: Rc<Hub>,
        credentials: Credentials,
        place: String,
        version: &'static str,
    ) -> Self {
        Self { hub, credentials, place, version }
    }

    /// Offers the user a link for one browser.
    pub(crate) fn offer_link(&self) -> std::io::Result<String> {
        let link = format!("{}/#{}", self.place, self.credentials.new_code()?);
        self.hub.host.offer_link(&link);
        Ok(link)
    }

    fn log_in(&self, body: &Bytes) -> Result<Reply, Failure> {
        #[derive(Deserialize)]
        struct Login {
            code: String,
        }
        let Login { code } = read(body)?;
        let failed = |error: std::io::Error| internal(error.to_string());
        let Some(cookie) = self.credentials.log_in(&code).map_err(failed)? else {
            let failure = Failure::new(StatusCode::UNAUTHORIZED, "the code is wrong or used");
            return Err(failure.hint("open the last link that `brynhild serve` printed"));
        };
        self.offer_link().map_err(failed)?;
        let mut reply = reply::nothing();
        let cookie = HeaderValue::from_str(&cookie).map_err(|error| internal(error.to_string()))?;
        reply.headers_mut().insert(header::SET_COOKIE, cookie);
        Ok(reply)
    }

    async fn route(
        self: &Rc<Self>,
        parts: &Parts,
        body: &Bytes,
        client: Client,
    ) -> Result<Reply, Failure> {
        let query = Query::of(parts);
        let path = parts.uri.path();
        let segments: Vec<&str> = path.split('/').skip(2).collect();
        if let ["sessions", id, rest @ ..] = segments.as_slice() {
            let id = SessionId::parse(id).map_err(|_| Failure::no_session(id))?;
            return Box::pin(self.session((parts, &query), body, &client, (id, rest))).await;
        }
        let hub = &self.hub;
        match (parts.method.as_str(), segments.as_slice()) {
            ("GET", ["sessions"]) => self.list(&query).await,
            ("POST", ["sessions"]) => self.create(body, &client).await,
            ("GET", ["events"]) => {
                let queue = Queue::default();
                queue.push(Weight::Kept, &Bytes::from_static(RETRY.as_bytes()));
                hub.follow(queue.clone()).await?;
                Ok(reply::events(Body::Queued(queue)))
            }
            ("GET", ["commands"]) => {
                let cwd = self.directory(&query).await?;
                Ok(reply::ok(&json!({"commands": hub.host.commands(&cwd)?})))
            }
            ("GET", ["models"]) => {
                let models = hub.host.models(&self.directory(&query).await?).await?;
                let ours =
                    |(id, provider): &(String, String)| json!({"id": id, "provider": provider});
                let ours: Vec<Value> = models.iter().map(ours).collect();
                let theirs = |(id, provider): &(String, String)| json!({"id": id, "object": "model", "created": 0, "owned_by": provider});
                let theirs: Vec<Value> = models.iter().map(theirs).collect();
                Ok(reply::ok(&json!({"object": "list", "data": theirs, "models": ours})))
            }
            ("GET", ["files"]) => {
                let mut files = hub.host.files(&self.directory(&query).await?)?;
                let wanted = query.get("q").unwrap_or_default().to_lowercase();
                files.retain(|file| file.to_lowercase().contains(&wanted));
                files.sort_by_key(|file| (file.len(), file.clone()));
                files.truncate(FILES);
                Ok(reply::ok(&json!({"files": files})))
            }
            ("POST", ["markdown"]) => {
                #[derive(Deserialize)]
                struct Texts {
                    texts: Vec<String>,
                }
                let Texts { texts } = read(body)?;
                if texts.len() > TEXTS {
                    return Err(Failure::bad(format!("more than {TEXTS} texts")));
                }
                let trees: Vec<Vec<Value>> = texts.iter().map(|it| markdown::tree(it)).collect();
                Ok(reply::ok(&json!({"trees": trees})))
            }
            ("POST", ["chat", "completions"]) => {
                need(&client, Scopes::Prompt)?;
                openai::complete(hub, read(body)?).await
            }
            (
                _,
                ["sessions" | "events" | "commands" | "models" | "files" | "markdown" | "login"]
                | ["chat", "completions"],
            ) => Err(method_not_allowed()),
            _ => Err(not_found(path)),
        }
    }

    /// The directory that a request is about.
    async fn directory(&self, query: &Query) -> Result<PathBuf, Failure> {
        if let Some(id) = query.get("session") {
            let id = SessionId::parse(id).map_err(|_| Failure::no_session(id))?;
            let room = self.hub.room(&id).await?;
            let cwd = room.fold.borrow().cwd.clone();
            return Ok(cwd.into());
        }
        let cwd = query.get("cwd").map_or(self.hub.cwd.as_path(), Path::new);
        self.hub.checked_directory(cwd)
    }

    async fn list(&self, query: &Query) -> Result<Reply, Failure> {
        let mut sessions = self.hub.summaries().await?;
        if let Some(cwd) = query.get("cwd") {
            sessions.retain(|summary| summary["cwd"] == cwd);
        }
        if let Some(words) = query.get("q") {
            let words = words.to_lowercase();
            let has = |value: &Value| {
                value.as_str().is_some_and(|text| text.to_lowercase().contains(&words))
            };
            sessions.retain(|it| has(&it["title"]) || has(&it["id"]) || has(&it["cwd"]));
        }
        if let Some(last) = query.get("cursor") {
            let position = sessions.iter().position(|summary| summary["id"] == last);
            let position = position.ok_or_else(|| Failure::bad("the cursor is not known"))?;
            sessions.drain(..=position);
        }
        let limit = query.number("limit")?.map_or(LIST, |it| usize::try_from(it).unwrap_or(LIST));
        let limit = limit.clamp(1, 1_000);
        let has_more = sessions.len() > limit;
        sessions.truncate(limit);
        let cursor = sessions.last().filter(|_| has_more).map(|summary| summary["id"].clone());
        Ok(reply::ok(&json!({"sessions": sessions, "cursor": cursor})))
    }

    async fn create(&self, body: &Bytes, client: &Client) -> Result<Reply, Failure> {
        need(client, Scopes::Prompt)?;
        let NewSession { cwd, name, model, mut mode, fork, role } = read(body)?;
        if role.is_some() && fork.is_some() {
            return Err(Failure::bad("a copy of a session plays the role of its origin"));
        }
        if let Some(mode) = mode {
            need(client, scope_of_mode(mode))?;
        }
        let name = name.map(|name| SessionId::parse(&name)).transpose();
        let session = name.map_err(|error| Failure::bad(error.to_string()))?;
        if session.as_ref().is_some_and(|id| self.hub.host.exists(id)) {
            return Err(Failure::conflict("a session has this name"));
        }
        let (mut session, mut cwd, mut up_to) = (session, cwd, None);
        if let Some(Fork { session: origin, seq }) = fork {
            let room = self.hub.room(&origin).await?;
            cwd = Some(room.fold.borrow().cwd.clone().into());
            // A copy has no more rights than its origin.
            mode = mode.or(Some(room.mode()));
            (session, up_to) = (Some(origin), Some(seq));
        }
        let cwd = self.hub.checked_directory(cwd.as_deref().unwrap_or(&self.hub.cwd))?;
        let wanted = Wanted { session, cwd, model, mode, role, fork: up_to, ..Wanted::default() };
        let room = self.hub.create(wanted).await?;
        Ok(reply::json(StatusCode::CREATED, &room.details()))
    }
}

impl Service for Server {
    async fn admit(
        self: &Rc<Self>,
        parts: &Parts,
        body: Incoming,
        door: &Door,
    ) -> Result<Reply, Failure> {
        door.check(parts)?;
        let path = parts.uri.path().to_owned();
        if !path.starts_with("/v1/") {
            if parts.method != Method::GET {
                return Err(method_not_allowed());
            }
            return page::find(&path).ok_or_else(|| not_found(&path));
        }
        if path == "/v1/health" && parts.method == Method::GET {
            return Ok(reply::ok(
                &json!({"version": self.version, "schema": contract::log::FORMAT}),
            ));
        }
        let is_login = path == "/v1/login" && parts.method == Method::POST;
        let client = match door {
            Door::Unix => {
                let name = "socket".to_owned();
                Some(Client { name, scopes: Scopes::ApproveAlways })
            }
            Door::Tcp { .. } => self.credentials.client(&parts.headers),
            Door::Joining => self.credentials.client(&parts.headers).map(|client| {
                // Another server says who its client is.
                let name = parts.headers.get(attach::CLIENT).and_then(|it| it.to_str().ok());
                Client { name: name.map_or(client.name, str::to_owned), ..client }
            }),
        };
        if client.is_none() && !is_login {
            let failure =
                Failure::new(StatusCode::UNAUTHORIZED, "credentials are missing or wrong");
            return Err(
                failure.hint("open the link that `brynhild serve` printed, or send a token")
            );
        }
        let body = collected(parts, body, MAX_BODY).await?;
        match client {
            Some(client) if !is_login => self.route(parts, &body, client).await,
            _ => self.log_in(&body),
        }
    }

    fn report(&self, text: &str) {
        self.hub.host.refused(text);
    }
}

pub(crate) fn not_found(path: &str) -> Failure {
    Failure::new(StatusCode::NOT_FOUND, format!("there is no {path}"))
}

pub(crate) fn method_not_allowed() -> Failure {
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, "this path does not have this method")
}
