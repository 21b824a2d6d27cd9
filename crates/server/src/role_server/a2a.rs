//! The protocol A2A 1.0: methods of JSON-RPC by which other agents hand over tasks.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use contract::id::Timestamp;
use http::StatusCode;
use http::request::Parts;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::body::Body;
use crate::completion::framed;
use crate::credentials;
use crate::host::{Earlier, Failure};
use crate::queue::{Queue, Weight};
use crate::reply::{self, Reply};
use crate::role_host::{Agent, RunEnd, Work};

use super::{RoleServer, header_of};

/// The path of the card, which needs no key.
pub(super) const CARD: &str = "/.well-known/agent-card.json";
/// The largest body: a file of 20 MB in base64, and text.
pub(super) const MAX_BODY: usize = 28 << 20;
/// Tasks that the server remembers; the oldest that has ended is forgotten first.
const TASKS: usize = 1_000;
const MEDIA_TYPES: [&str; 2] = ["text/plain", "application/json"];

/// The code and the text of an error.
type RpcError = (i32, &'static str);

const NOT_JSON: RpcError = (-32_700, "the body is not JSON");
const NO_REQUEST: RpcError = (-32_600, "this is not a request of JSON-RPC 2.0");
const NO_METHOD: RpcError = (-32_601, "there is no such method");
const NO_MESSAGE: RpcError =
    (-32_602, "`message` needs the role `ROLE_USER`, and parts that are not empty");
const INTERNAL: RpcError = (-32_603, "no random numbers are available");
const NO_TASK: RpcError = (-32_001, "there is no such task");
const NOT_CANCELABLE: RpcError = (-32_002, "the task has ended");
const HAS_ENDED: RpcError = (-32_004, "the task has ended, and takes no further message");
const NO_TEXT: RpcError = (-32_005, "a file is text or JSON, in base64");
const OTHER_VERSION: RpcError = (-32_009, "only version 1.0 is known; send `A2A-Version: 1.0`");

/// The description of an agent for others.
pub(super) fn card(agent: &Agent, url: &str, (version, has_key): (&str, bool)) -> Value {
    let Agent { name, description, tags } = agent;
    let interface = json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
    let mut card = json!({
        "name": name,
        "description": description,
        "version": version,
        "supportedInterfaces": [interface],
        "capabilities":
            {"streaming": true, "pushNotifications": false, "extendedAgentCard": false},
        "defaultInputModes": MEDIA_TYPES,
        "defaultOutputModes": MEDIA_TYPES,
        "skills": [{"id": name, "name": name, "description": description, "tags": tags}],
    });
    if has_key {
        card["securitySchemes"] =
            json!({"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}});
        card["securityRequirements"] = json!([{"schemes": {"bearer": {"list": []}}}]);
    }
    card
}

fn envelope(id: &Value, key: &str, value: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, key: value})
}

/// Answers a request.
pub(super) async fn call(server: &Rc<RoleServer>, parts: &Parts, body: &Bytes) -> Reply {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let done = perform(server, parts, &request).await;
    done.unwrap_or_else(|(code, text)| {
        let error = json!({"code": code, "message": text});
        reply::ok(&envelope(&request["id"], "error", &error))
    })
}

async fn perform(
    server: &Rc<RoleServer>,
    parts: &Parts,
    request: &Value,
) -> Result<Reply, RpcError> {
    if request.is_null() {
        return Err(NOT_JSON);
    }
    let method = request["method"].as_str().filter(|_| request["jsonrpc"] == "2.0");
    let method = method.ok_or(NO_REQUEST)?;
    if header_of(parts, "a2a-version")
        .is_none_or(|version| version != "1" && !version.starts_with("1."))
    {
        return Err(OTHER_VERSION);
    }
    let params = &request["params"];
    let named = || server.tasks.get(&params["id"]).ok_or(NO_TASK);
    let result = |value| reply::ok(&envelope(&request["id"], "result", &value));
    let stream = |task: Rc<Task>| reply::events(Body::Queued(task.follow(&request["id"])));
    Ok(match method {
        "SendMessage" => {
            let task = begin(server, &params["message"])?;
            if params["configuration"]["returnImmediately"] != true {
                task.ended().await;
            }
            result(json!({"task": task.json()}))
        }
        "SendStreamingMessage" => stream(begin(server, &params["message"])?),
        "GetTask" => result(named()?.json()),
        "CancelTask" => {
            let task = named().and_then(|task| task.open(NOT_CANCELABLE))?;
            task.cancel.send_replace(true);
            task.ended().await;
            result(task.json())
        }
        "SubscribeToTask" => stream(named().and_then(|task| task.open(HAS_ENDED))?),
        _ => return Err(NO_METHOD),
    })
}

/// Begins the task that a message describes.
fn begin(server: &Rc<RoleServer>, message: &Value) -> Result<Rc<Task>, RpcError> {
    if !message["taskId"].is_null() {
        return Err(server.tasks.get(&message["taskId"]).map_or(NO_TASK, |_| HAS_ENDED));
    }
    let parts = message["parts"].as_array().filter(|_| message["role"] == "ROLE_USER");
    let texts = parts.ok_or(NO_MESSAGE)?.iter().map(text_of);
    let prompt = texts.collect::<Result<Vec<String>, RpcError>>()?.join("\n");
    if prompt.trim().is_empty() {
        return Err(NO_MESSAGE);
    }
    let task = server.tasks.begin(message).map_err(|_| INTERNAL)?;
    server.runs.spawn(Rc::clone(&task).work(Rc::clone(server), prompt));
    Ok(task)
}

/// The text of a part of a message.
fn text_of(part: &Value) -> Result<String, RpcError> {
    if let Some(text) = part["text"].as_str().or(part["url"].as_str()) {
        return Ok(text.to_owned());
    }
    let Some(raw) = part["raw"].as_str() else {
        return part.get("data").map(Value::to_string).ok_or(NO_MESSAGE);
    };
    let kind = part["mediaType"].as_str().unwrap_or_default();
    let bytes = STANDARD.decode(raw).ok();
    let bytes = bytes.filter(|_| kind.starts_with("text/") || kind == "application/json");
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or(NO_TEXT)
}

#[derive(Default)]
pub(super) struct Tasks(RefCell<VecDeque<Rc<Task>>>);

impl Tasks {
    fn get(&self, id: &Value) -> Option<Rc<Task>> {
        self.0.borrow().iter().find(|task| *id == *task.id).cloned()
    }

    fn begin(&self, message: &Value) -> io::Result<Rc<Task>> {
        let context = message["contextId"].as_str().map(str::to_owned);
        let task = Rc::new(Task {
            id: credentials::random()?,
            context_id: context.map_or_else(credentials::random, Ok)?,
            message: message.clone(),
            status: RefCell::new(json!({"state": "TASK_STATE_SUBMITTED"})),
            ..Task::default()
        });
        let mut tasks = self.0.borrow_mut();
        tasks.push_back(Rc::clone(&task));
        if tasks.len() > TASKS
            && let Some(oldest) = tasks.iter().position(|task| task.has_ended())
        {
            tasks.remove(oldest);
        }
        Ok(task)
    }
}

#[derive(Default)]
struct Task {
    id: String,
    context_id: String,
    message: Value,
    status: RefCell<Value>,
    /// The answer so far.
    text: RefCell<String>,
    is_data: Cell<bool>,
    /// The streams of clients, with the IDs of their requests.
    followers: RefCell<Vec<(Value, Queue)>>,
    cancel: watch::Sender<bool>,
    end: watch::Sender<bool>,
}

impl Task {
    fn has_ended(&self) -> bool {
        *self.end.borrow()
    }

    /// The task, unless it has ended.
    fn open(self: Rc<Self>, otherwise: RpcError) -> Result<Rc<Self>, RpcError> {
        if self.has_ended() { Err(otherwise) } else { Ok(self) }
    }

    async fn ended(&self) {
        // The sender lives as long as the task.
        let _ = self.end.subscribe().wait_for(|ended| *ended).await;
    }

    fn json(&self) -> Value {
        let (id, context, status) = (&self.id, &self.context_id, &*self.status.borrow());
        let mut task =
            json!({"id": id, "contextId": context, "status": status, "history": [self.message]});
        if !self.text.borrow().is_empty() {
            task["artifacts"] = json!([self.artifact(&self.part())]);
        }
        task
    }

    fn artifact(&self, part: &Value) -> Value {
        json!({"artifactId": format!("{}-result", self.id), "name": "result", "parts": [part]})
    }

    fn part(&self) -> Value {
        let text = self.text.borrow();
        match serde_json::from_str::<Value>(&text) {
            Ok(data) if self.is_data.get() => json!({"data": data, "mediaType": MEDIA_TYPES[1]}),
            _ => json!({"text": *text}),
        }
    }

    /// A stream of the task: its present state, then each change.
    fn follow(&self, id: &Value) -> Queue {
        let queue = Queue::default();
        let task = envelope(id, "result", &json!({"task": self.json()}));
        queue.push(Weight::Kept, &framed(&task));
        if self.has_ended() {
            queue.end();
        }
        self.followers.borrow_mut().push((id.clone(), queue.clone()));
        queue
    }

    /// Shows a change to all that follow the task.
    fn tell(&self, key: &str, mut change: Value) {
        change["taskId"] = self.id.as_str().into();
        change["contextId"] = self.context_id.as_str().into();
        for (id, queue) in self.followers.borrow().iter() {
            let update = envelope(id, "result", &json!({key: change}));
            queue.push(Weight::Kept, &framed(&update));
        }
    }

    fn tell_part(&self, part: &Value, appends: bool, is_last: bool) {
        let artifact = self.artifact(part);
        let change = json!({"artifact": artifact, "append": appends, "lastChunk": is_last});
        self.tell("artifactUpdate", change);
    }

    fn change(&self, state: &str, text: Option<String>) {
        let state = format!("TASK_STATE_{state}");
        let mut status = json!({"state": state, "timestamp": Timestamp::now().0.to_string()});
        if let Some(text) = text {
            let id = format!("{}-status", self.id);
            status["message"] =
                json!({"role": "ROLE_AGENT", "messageId": id, "parts": [{"text": text}]});
        }
        self.status.replace(status.clone());
        self.tell("statusUpdate", json!({"status": status}));
    }

    /// Has the agent work on the task. The history of the context continues.
    async fn work(self: Rc<Self>, server: Rc<RoleServer>, prompt: String) {
        self.change("WORKING", None);
        let key = (0, self.context_id.clone());
        let history = server.conversations.history(&key, Instant::now()).unwrap_or_default();
        let work = Work::Prompt { agent: 0, history: history.clone(), prompt: prompt.clone() };
        let own = Rc::clone(&self);
        let tell = move |piece: &str| {
            let appends = !own.text.borrow().is_empty();
            own.text.borrow_mut().push_str(piece);
            own.tell_part(&json!({"text": piece}), appends, false);
        };
        let mut cancel = self.cancel.subscribe();
        let is_canceled = async { drop(cancel.wait_for(|cancels| *cancels).await) };
        let work = async |listener| server.host.run(work, listener).await;
        let done = server.runs.run(work, Rc::new(tell), is_canceled).await;
        if let Ok(RunEnd { text, waiting, .. }) = &done
            && waiting.is_empty()
        {
            let exchange = [Earlier::Prompt(prompt), Earlier::Answer(text.clone())];
            server.conversations.keep(key, history, exchange, Instant::now());
        }
        self.finish(done);
        self.end.send_replace(true);
        self.followers.take().iter().for_each(|(_, queue)| queue.end());
    }

    fn finish(&self, done: Result<RunEnd, Failure>) {
        let is_canceled = *self.cancel.borrow();
        match done {
            _ if is_canceled => self.change("CANCELED", None),
            Ok(end) if !end.waiting.is_empty() => {
                let text = format!("calls wait for `brynhild approve {} --all`", end.run_id);
                self.change("INPUT_REQUIRED", Some(text));
            }
            Ok(end) => {
                self.is_data.set(end.is_data);
                let told = self.text.replace(end.text);
                let rest = if told.is_empty() { self.part() } else { json!({"text": ""}) };
                self.tell_part(&rest, !told.is_empty(), true);
                self.change("COMPLETED", None);
            }
            Err(failure) => {
                let is_refused =
                    failure.status == StatusCode::BAD_REQUEST && failure.code.is_none();
                let state = if is_refused { "REJECTED" } else { "FAILED" };
                self.change(state, Some(failure.message));
            }
        }
    }
}
