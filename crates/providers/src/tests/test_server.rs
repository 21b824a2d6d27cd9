//! A server on loopback for tests: it answers each connection with the bytes it was given, in the
//! pieces it was given, and keeps what it was sent.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use contract::message::{Entry, Message};
use contract::provider::{
    Delivery, Delta, Provider, ProviderError, ReasoningFormat, ReasoningLevel, Request,
};
use contract::secret::Secret;
use contract::tool::{Recovery, Risk, ToolSpec, Traits};
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::catalog::vendor;
use crate::{Instance, Timeouts, connect};

/// The behavior after the bytes of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// The connection closes.
    Close,
    /// Sends nothing and stays open.
    Stall,
    /// The next request on the same connection gets the same answer.
    Again,
    /// The last piece again and again, until the client leaves.
    Repeat,
}

/// An answer: pieces of raw bytes, and what comes after them.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) pieces: Vec<Vec<u8>>,
    pub(crate) then: Then,
}

impl Answer {
    /// A head and a body in one piece; the body ends when the connection does.
    pub(crate) fn new(status: u16, headers: &str, body: impl Into<Vec<u8>>) -> Self {
        let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}\r\n");
        Self { pieces: vec![[head.into_bytes(), body.into()].concat()], then: Then::Close }
    }

    /// A stream that repeats its bytes.
    pub(crate) fn endless(bytes: &str) -> Self {
        let mut answer = Self::events("");
        answer.pieces.push(bytes.as_bytes().to_vec());
        answer.then(Then::Repeat)
    }

    /// A stream of events.
    pub(crate) fn events(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "content-type: text/event-stream\r\n", body)
    }

    /// A whole JSON document.
    pub(crate) fn json(body: &Value) -> Self {
        Self::new(200, "content-type: application/json\r\n", body.to_string())
    }

    /// This answer with another behavior after its bytes.
    pub(crate) fn then(mut self, then: Then) -> Self {
        self.then = then;
        self
    }
}

/// A running server.
pub(crate) struct Server {
    pub(crate) base_url: String,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers the connections in order; the last answer serves all that follow.
    pub(crate) async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&requests);
        let accepted = Arc::clone(&connections);
        tokio::spawn(async move {
            let mut answers = answers.into_iter();
            let mut answer = answers.next().unwrap();
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                accepted.fetch_add(1, Ordering::SeqCst);
                let request = read_request(&mut socket).await;
                seen.lock().unwrap().push(request);
                tokio::spawn(serve(socket, answer.clone(), Arc::clone(&seen)));
                answer = answers.next().unwrap_or(answer);
            }
        });
        Self { base_url, connections, requests }
    }

    /// The requests so far: head and body as they came.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// The connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The JSON body of the last request.
    pub(crate) fn last_body(&self) -> Value {
        let requests = self.requests();
        let (_, body) = requests.last().unwrap().split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap()
    }

    /// A provider of the vendor `name` that talks to this server.
    pub(crate) fn provider(&self, name: &str) -> Arc<dyn Provider> {
        connect(self.instance(name)).ok().unwrap()
    }

    /// The configuration of such a provider.
    pub(crate) fn instance(&self, name: &str) -> Instance {
        Instance {
            base_url: Some(self.base_url.clone()),
            api_key: Some(Secret::new("sk-test-key".into())),
            ..Instance::of(vendor(name).unwrap())
        }
    }

    /// A provider with a short timeout between bytes.
    pub(crate) fn impatient(&self, name: &str) -> Arc<dyn Provider> {
        let timeouts = Timeouts { between_bytes: Duration::from_millis(20), ..Timeouts::REMOTE };
        let instance = Instance { timeouts, ..self.instance(name) };
        connect(instance).ok().unwrap()
    }
}

async fn read_request(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        let is_tls_handshake = bytes.first() == Some(&0x16);
        if is_tls_handshake {
            return String::new();
        }
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                return text.into_owned();
            }
        }
        if socket.read_buf(&mut bytes).await.unwrap() == 0 {
            return String::from_utf8_lossy(&bytes).into_owned();
        }
    }
}

async fn serve(mut socket: TcpStream, answer: Answer, seen: Arc<Mutex<Vec<String>>>) {
    socket.set_nodelay(true).unwrap();
    for piece in &answer.pieces {
        if socket.write_all(piece).await.is_err() {
            return;
        }
        socket.flush().await.unwrap();
        tokio::task::yield_now().await;
    }
    match answer.then {
        Then::Close => {}
        Then::Stall => std::future::pending().await,
        Then::Again => {
            let request = read_request(&mut socket).await;
            if !request.is_empty() {
                seen.lock().unwrap().push(request);
                Box::pin(serve(socket, answer, seen)).await;
            }
        }
        Then::Repeat => {
            let last = answer.pieces.last().unwrap();
            while socket.write_all(last).await.is_ok() {
                tokio::task::yield_now().await;
            }
        }
    }
}

/// A request with one message.
pub(crate) fn request() -> Request {
    Request {
        model: "test-model".into(),
        system: "Be brief.".into(),
        history: Arc::new(vec![entry(Message::User { text: "hi".into() })]),
        tools: Arc::new([]),
        max_tokens: 8192,
        temperature: None,
        reasoning_level: ReasoningLevel::Auto,
        reasoning_format: ReasoningFormat::Auto,
        params: std::collections::BTreeMap::new(),
        delivery: Delivery::Streamed,
    }
}

/// A message in a history.
pub(crate) fn entry(message: Message) -> Arc<Entry> {
    Arc::new(Entry::new(message))
}

/// Two tools.
pub(crate) fn tools() -> Arc<[Arc<ToolSpec>]> {
    ["Read", "Bash"]
        .map(|name| {
            Arc::new(ToolSpec {
                name: name.into(),
                description: format!("{name} something"),
                input_schema: json!({"type": "object"}).into(),
                version: "1.0.0".into(),
                categories: Vec::new(),
                requires_permission: false,
                risk_level: Risk::ReadOnly,
                recovery_policy: Recovery::Allow,
                parallel: true,
                source: "builtin".into(),
                traits: Traits::default(),
            })
        })
        .into()
}

/// All pieces of a reply with neighboring text joined, and its failure.
pub(crate) async fn collect(
    provider: &dyn Provider,
    request: Request,
) -> (Vec<Delta>, Option<ProviderError>) {
    let mut stream = match provider.stream(request).await {
        Ok(stream) => stream,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut deltas = Vec::new();
    while let Some(delta) = stream.next().await {
        match delta {
            Ok(delta) => deltas.push(delta),
            Err(error) => {
                assert!(stream.next().await.is_none(), "an error ends the stream");
                return (joined(deltas), Some(error));
            }
        }
    }
    (joined(deltas), None)
}

/// Deltas with neighboring text and reasoning joined.
pub(crate) fn joined(deltas: Vec<Delta>) -> Vec<Delta> {
    let mut result: Vec<Delta> = Vec::new();
    for delta in deltas {
        match (result.last_mut(), delta) {
            (Some(Delta::Text(text)), Delta::Text(more))
            | (Some(Delta::Thinking(text)), Delta::Thinking(more)) => text.push_str(&more),
            (_, delta) => result.push(delta),
        }
    }
    result
}
