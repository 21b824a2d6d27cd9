//! A session that another program of this user has open: its events and inputs over that program's
//! socket, and requests that are passed on to it.

use std::sync::Arc;
use std::{fmt, io};

use bytes::Bytes;
use contract::event::{Event, EventKind, Input, Level};
use contract::id::{Seq, SessionId, Timestamp};
use contract::policy::Mode;
use http::request::Parts;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::body::Body;
use crate::credentials::Client;
use crate::host::{Failure, Reachable};
use crate::reply::Reply;

/// Names the client of another server.
pub(crate) const CLIENT: &str = "x-brynhild-client";
/// Events and inputs that wait.
const WAITING: usize = 64;

/// A session of another program.
pub struct Attached {
    pub events: mpsc::Receiver<Arc<Event>>,
    pub inputs: mpsc::Sender<Input>,
    pub task: JoinHandle<()>,
}

/// Sends a request over a connection of its own.
async fn send(
    reachable: &Reachable,
    mut request: Request<Full<Bytes>>,
) -> io::Result<Response<Incoming>> {
    let stream = UnixStream::connect(&reachable.socket).await?;
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(io::Error::other)?;
    tokio::spawn(async move {
        // An end of the connection ends the body.
        let _ = connection.await;
    });
    let token = HeaderValue::from_str(&format!("Bearer {}", reachable.token));
    let headers = request.headers_mut();
    headers.insert(header::AUTHORIZATION, token.map_err(io::Error::other)?);
    headers.insert(header::HOST, HeaderValue::from_static("localhost"));
    sender.send_request(request).await.map_err(io::Error::other)
}

/// Passes a request on to the server that has the session.
pub(crate) async fn forward(
    reachable: &Reachable,
    parts: &Parts,
    body: &Bytes,
    client: &Client,
) -> Result<Reply, Failure> {
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
    let mut request = Request::new(Full::new(body.clone()));
    *request.method_mut() = parts.method.clone();
    *request.uri_mut() = target.parse().map_err(|_| Failure::bad("the path is wrong"))?;
    for name in
        [header::ACCEPT, header::CONTENT_TYPE, http::HeaderName::from_static("last-event-id")]
    {
        if let Some(value) = parts.headers.get(&name) {
            request.headers_mut().insert(name, value.clone());
        }
    }
    if let Ok(name) = HeaderValue::from_str(&client.name) {
        request.headers_mut().insert(CLIENT, name);
    }
    let reply = send(reachable, request).await.map_err(|error| {
        let what = format!("the program that has the session does not answer: {error}");
        Failure::new(StatusCode::BAD_GATEWAY, what)
    })?;
    Ok(reply.map(Body::Forwarded))
}

/// Follows a session of another program from the event after `after` on.
pub fn attach(reachable: Reachable, session: SessionId, after: Seq) -> Attached {
    let (events_in, events) = mpsc::channel(WAITING);
    let (inputs, inputs_out) = mpsc::channel(WAITING);
    let task = tokio::spawn(async move {
        let link = Link { reachable, session };
        tokio::select! {
            () = link.follow(after, &events_in) => {}
            () = link.pass_on(inputs_out, &events_in) => {}
        }
    });
    Attached { events, inputs, task }
}

struct Link {
    reachable: Reachable,
    session: SessionId,
}

impl Link {
    fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> io::Result<Request<Full<Bytes>>> {
        let target = format!("/v1/sessions/{}{path}", self.session);
        let bytes = body.map(ToString::to_string).unwrap_or_default();
        Request::builder()
            .method(method)
            .uri(target)
            .header(header::CONTENT_TYPE, "application/json")
            .header(CLIENT, "terminal")
            .body(Full::new(Bytes::from(bytes)))
            .map_err(io::Error::other)
    }

    /// Passes on events until the other program ends. A stream that ends is opened again.
    async fn follow(&self, mut after: Seq, to: &mpsc::Sender<Arc<Event>>) {
        while self.stream(&mut after, to).await.is_ok() {}
    }

    async fn stream(&self, after: &mut Seq, to: &mpsc::Sender<Arc<Event>>) -> io::Result<()> {
        let request = self.request("GET", &format!("/events?after={}", after.0), None)?;
        let reply = send(&self.reachable, request).await?;
        if !reply.status().is_success() {
            return Err(io::Error::other("there is no stream"));
        }
        let (mut body, mut buffer) = (reply.into_body(), Vec::new());
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else { return Ok(()) };
            buffer.extend_from_slice(frame.data_ref().map_or(&[][..], AsRef::as_ref));
            let mut start = 0;
            while let Some(length) = buffer[start..].windows(2).position(|it| it == b"\n\n") {
                let message = &buffer[start..start + length];
                start += length + 2;
                let Some(event) = event(message) else { continue };
                if event.kind.is_kept() {
                    *after = event.seq.max(*after);
                }
                if to.send(Arc::new(event)).await.is_err() {
                    return Err(io::Error::other("nobody listens"));
                }
            }
            buffer.drain(..start);
        }
        Ok(())
    }

    /// Passes on inputs until the front end is done.
    async fn pass_on(&self, mut inputs: mpsc::Receiver<Input>, to: &mpsc::Sender<Arc<Event>>) {
        while let Some(input) = inputs.recv().await {
            let Err(problem) = self.pass(input).await else { continue };
            let (session, at) = (self.session.clone(), Timestamp::now());
            let (level, hint, topic) = (Level::Error, None, None);
            let kind = EventKind::Notice { level, text: problem, hint, topic };
            let event = Event { seq: Seq(0), session, at, within: None, kind };
            if to.send(Arc::new(event)).await.is_err() {
                return;
            }
        }
    }

    async fn pass(&self, input: Input) -> Result<(), String> {
        let (method, path, body) = match &input {
            // A message that is announced comes by itself; the other front end ends the session.
            Input::Ready(_) | Input::End => return Ok(()),
            Input::Record(EventKind::Titled { title }) => ("PATCH", "", json!({"title": title})),
            Input::Call(_) | Input::Effort(_) | Input::Record(_) => {
                return Err("this works only in the program that has the session open".to_owned());
            }
            input => ("POST", "/inputs", serde_json::to_value(input).map_err(lost)?),
        };
        self.ask(method, path, Some(&body)).await.map(drop)
    }

    /// Sends a request. Returns the reply, or the problem in words.
    async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, String> {
        let request = self.request(method, path, body).map_err(lost)?;
        let reply = send(&self.reachable, request).await.map_err(lost)?;
        let is_done = reply.status().is_success();
        let body = reply.into_body().collect().await.map_err(lost)?.to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        if is_done {
            return Ok(body);
        }
        Err(body["error"]["message"].as_str().unwrap_or("the request was refused").to_owned())
    }
}

fn lost(error: impl fmt::Display) -> String {
    format!("the program that has the session does not answer: {error}")
}

/// The mode in force in a session of another program; none if it does not say.
pub async fn mode(reachable: &Reachable, session: &SessionId) -> Option<Mode> {
    let link = Link { reachable: reachable.clone(), session: session.clone() };
    let details = link.ask("GET", "", None).await.ok()?;
    serde_json::from_value(details["mode"].clone()).ok()
}

/// Has the other program carry out a slash command. Returns what it shows, or why it does not.
pub async fn command(
    reachable: &Reachable,
    session: &SessionId,
    typed: &str,
) -> Result<String, String> {
    let link = Link { reachable: reachable.clone(), session: session.clone() };
    let input = json!({"input": "prompt", "text": typed});
    let reply = link.ask("POST", "/inputs", Some(&input)).await?;
    Ok(reply["text"].as_str().unwrap_or_default().to_owned())
}

/// The event in a message of the stream; none in a ping.
fn event(message: &[u8]) -> Option<Event> {
    let text = std::str::from_utf8(message).ok()?;
    if text.lines().any(|line| line.starts_with("event: ")) {
        return None;
    }
    let data = text.lines().find_map(|line| line.strip_prefix("data: "))?;
    serde_json::from_str(data).ok()
}
