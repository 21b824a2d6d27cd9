//! Chat completions of agents: conversations, streams, and calls that wait for approval.

use std::cell::Cell;
use std::convert::Infallible;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use contract::id::Timestamp;
use http::request::Parts;
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::body::{Body, read};
use crate::completion::{Exchange, Request, Shape, framed, usage_of};
use crate::credentials;
use crate::host::{Earlier, Failure};
use crate::queue::{Queue, Weight};
use crate::replay::internal;
use crate::reply::{self, Reply};
use crate::role_host::{Listener, RunEnd, Work};

use super::{RoleServer, error_of, header_of};

pub(super) const CONVERSATION: HeaderName = HeaderName::from_static("x-conversation-id");
const HEARTBEAT: Duration = Duration::from_secs(10);

pub(super) async fn complete(
    server: &Rc<RoleServer>,
    parts: &Parts,
    body: &Bytes,
) -> Result<Reply, Failure> {
    let request: Request = read(body)?;
    let agent = server.agent(request.model.as_deref())?;
    let last = request.messages.iter().rposition(|message| message.role == "user");
    let last = last.ok_or_else(|| Failure::bad("`messages` has no message of the user"))?;
    let Exchange { earlier, files, prompt, .. } = Exchange::of(&request.messages[..=last], true)?;
    let id = header_of(parts, CONVERSATION.as_str()).map(str::to_owned);
    let key = id.clone().map(|id| (agent, id));
    let known = key.as_ref().and_then(|it| server.conversations.history(it, Instant::now()));
    let mut history = known.unwrap_or(earlier);
    history.extend(files);
    let own = Rc::clone(server);
    let work = async move |listener| {
        let work = Work::Prompt { agent, history: history.clone(), prompt: prompt.clone() };
        let end = own.host.run(work, listener).await?;
        if let Some(key) = key.filter(|_| end.waiting.is_empty()) {
            let exchange = [Earlier::Prompt(prompt), Earlier::Answer(end.text.clone())];
            own.conversations.keep(key, history, exchange, Instant::now());
        }
        Ok(end)
    };
    let mut reply = if request.stream {
        let (queue, shape) = (Queue::default(), shape(&server.agents[agent].name)?);
        server.runs.spawn(stream(Rc::clone(server), (queue.clone(), shape), work));
        reply::events(Body::Queued(queue))
    } else {
        answered(server, work).await?
    };
    if let Some(id) = id.and_then(|id| HeaderValue::from_str(&id).ok()) {
        reply.headers_mut().insert(CONVERSATION, id);
    }
    Ok(reply)
}

/// Decides about the calls that a run waits for, and continues it.
pub(super) async fn approve(
    server: &Rc<RoleServer>,
    parts: &Parts,
    run_id: &str,
    body: &Bytes,
) -> Result<Reply, Failure> {
    let by = header_of(parts, "x-resolved-by").unwrap_or("api").to_owned();
    let work = Work::Resume { run_id: run_id.to_owned(), approved: read(body)?, by };
    let host = Rc::clone(&server.host);
    let work = async move |listener| host.run(work, listener).await;
    answered(server, work).await
}

/// Waits for the end of a run, which ends early if the client goes away.
async fn answered(
    server: &Rc<RoleServer>,
    work: impl AsyncFnOnce(Listener) -> Result<RunEnd, Failure> + 'static,
) -> Result<Reply, Failure> {
    let (mut sender, receiver) = oneshot::channel();
    let own = Rc::clone(server);
    server.runs.spawn(async move {
        let done = own.runs.run(work, Rc::new(|_: &str| ()), sender.closed()).await;
        // The client may be gone.
        let _ = sender.send(done);
    });
    let end: Result<RunEnd, Failure> =
        receiver.await.map_err(|_| internal("the run broke off".to_owned()))?;
    let end = end?;
    let shape = shape(&server.agents[end.agent].name)?;
    let mut body = shape.whole(&end.text, reason(&end), &end.usage);
    if !end.waiting.is_empty() {
        add_waiting(&mut body, &end);
    }
    Ok(reply::ok(&body))
}

fn add_waiting(to: &mut Value, end: &RunEnd) {
    to["run_id"] = end.run_id.as_str().into();
    to["pending_approvals"] = end.waiting.clone().into();
}

fn shape(model: &str) -> Result<Shape, Failure> {
    let id = credentials::random().map_err(|error| internal(error.to_string()))?;
    let (id, model) = (format!("chatcmpl-{id}"), model.to_owned());
    Ok(Shape { id, model, created: Timestamp::now() })
}

fn reason(end: &RunEnd) -> &'static str {
    if end.waiting.is_empty() { "stop" } else { "tool_calls_pending_approval" }
}

async fn stream(
    server: Rc<RoleServer>,
    (queue, shape): (Queue, Shape),
    work: impl AsyncFnOnce(Listener) -> Result<RunEnd, Failure> + 'static,
) {
    let push = |bytes: &Bytes| queue.push(Weight::Kept, bytes);
    push(&shape.chunk(&json!({"role": "assistant", "content": ""}), None));
    let shape = Rc::new(shape);
    let has_told = Rc::new(Cell::new(false));
    let tell = {
        let (queue, shape, has_told) = (queue.clone(), Rc::clone(&shape), Rc::clone(&has_told));
        move |piece: &str| {
            has_told.set(true);
            queue.push(Weight::Kept, &shape.chunk(&json!({"content": piece}), None));
        }
    };
    let running = server.runs.run(work, Rc::new(tell), queue.closed());
    let done = tokio::select! {
        done = running => done,
        never = beat(&queue) => match never {},
    };
    match done {
        Ok(end) => {
            if !has_told.get() && !end.text.is_empty() {
                push(&shape.chunk(&json!({"content": end.text}), None));
            }
            let choice = json!({"index": 0, "delta": {}, "finish_reason": reason(&end)});
            let mut last = shape.json("chat.completion.chunk", &[choice]);
            last["usage"] = usage_of(&end.usage);
            if !end.waiting.is_empty() {
                let mut event = json!({"event": "approval_required"});
                add_waiting(&mut event, &end);
                add_waiting(&mut last, &end);
                push(&framed(&event));
            }
            push(&framed(&last));
        }
        Err(error) => push(&framed(&error_of(&error))),
    }
    push(&Bytes::from_static(b"data: [DONE]\n\n"));
    queue.end();
}

/// Shows a waiting client and the proxies before it that the server works.
async fn beat(queue: &Queue) -> Infallible {
    let mut interval = tokio::time::interval(HEARTBEAT);
    interval.tick().await;
    loop {
        interval.tick().await;
        queue.push(Weight::Transient, &Bytes::from_static(b": heartbeat\n\n"));
    }
}
