//! Chat completions as OpenAI's clients ask for them. Each is a session that is not saved, in
//! read-only mode: nobody is there to answer questions.

use std::rc::Rc;

use bytes::Bytes;
use contract::event::{Answer, EventKind, Input, Outcome, Piece};
use contract::id::{SessionId, Timestamp};
use contract::message::{StopReason, Usage};
use contract::policy::Mode;
use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::json;

use crate::body::Body;
use crate::completion::{Exchange, Request, Shape, framed, usage_of};
use crate::host::{Conversation, Failure, Opened, Wanted};
use crate::hub::Hub;
use crate::queue::{Queue, Weight};
use crate::reply::{self, Reply};

/// Names the session in the reply.
const SESSION: HeaderName = HeaderName::from_static("x-brynhild-session");

pub(crate) async fn complete(hub: &Rc<Hub>, request: Request) -> Result<Reply, Failure> {
    let Exchange { system, mut earlier, files, prompt } = Exchange::of(&request.messages, false)?;
    earlier.extend(files);
    let now = Timestamp::now();
    let id = SessionId::parse(&format!("chat-{}", now.0.as_microsecond()));
    let id = id.map_err(|error| Failure::bad(error.to_string()))?;
    let wanted = Wanted {
        session: Some(id.clone()),
        cwd: hub.cwd.clone(),
        // Clients that must name a model name the program.
        model: request.model.filter(|model| model != "brynhild" && !model.is_empty()),
        mode: Some(Mode::ReadOnly),
        system: Some(system.join("\n\n")).filter(|text| !text.is_empty()),
        unsaved: Some(earlier),
        ..Wanted::default()
    };
    let opened = hub.host.open(wanted, &hub.reachable).await?;
    let Opened { conversation, id, model, .. } = opened;
    let prompt = Input::Prompt { text: prompt };
    if conversation.inputs().send(prompt).await.is_err() {
        return Err(crate::replay::internal("the conversation ended".to_owned()));
    }
    let shape = Shape { id: format!("chatcmpl-{id}"), model, created: now };
    let mut reply = if request.stream {
        let queue = Queue::default();
        let has_usage = request.stream_options.include_usage;
        tokio::task::spawn_local(stream(conversation, queue.clone(), shape, has_usage));
        reply::events(Body::Queued(queue))
    } else {
        let done = run(conversation, |_| true).await;
        let (reason, text, usage) = done?;
        reply::ok(&shape.whole(&text, reason, &usage))
    };
    if let Ok(id) = HeaderValue::from_str(id.as_str()) {
        reply.headers_mut().insert(SESSION, id);
    }
    Ok(reply)
}

/// Runs the turn. `tell` gets each piece of text, and returns false if nobody listens any more.
async fn run(
    mut conversation: Box<dyn Conversation>,
    mut tell: impl FnMut(&str) -> bool,
) -> Result<(&'static str, String, Usage), Failure> {
    let (mut text, mut end) = (String::new(), None);
    while let Some(event) = conversation.next_event().await {
        match &event.kind {
            EventKind::Asked { call, .. } => {
                let (call, answer, by) = (call.clone(), Answer::Unavailable, None);
                // A conversation that takes no answer ends by itself.
                let _ = conversation.inputs().send(Input::Answer { call, answer, by }).await;
            }
            _ if event.within.is_some() => {}
            EventKind::ReplyDelta { piece: Piece::Text { text: piece } } => {
                text.push_str(piece);
                if !tell(piece) {
                    let _ = conversation.inputs().send(Input::Interrupt).await;
                }
            }
            EventKind::TurnFinished { outcome, usage } => {
                end = Some((outcome.clone(), usage.clone()));
                break;
            }
            _ => {}
        }
    }
    conversation.finish().await;
    match end {
        Some((Outcome::Failed { error, hint }, _)) => {
            Err(Failure { hint, ..Failure::new(StatusCode::BAD_GATEWAY, error) })
        }
        Some((Outcome::Answered { stop_reason: StopReason::MaxTokens }, usage)) => {
            Ok(("length", text, usage))
        }
        Some((_, usage)) => Ok(("stop", text, usage)),
        None => Err(crate::replay::internal("the conversation ended".to_owned())),
    }
}

async fn stream(conversation: Box<dyn Conversation>, queue: Queue, shape: Shape, has_usage: bool) {
    queue.push(Weight::Kept, &shape.chunk(&json!({"role": "assistant", "content": ""}), None));
    let done = run(conversation, |piece| {
        queue.push(Weight::Kept, &shape.chunk(&json!({"content": piece}), None));
        !queue.is_over()
    })
    .await;
    match done {
        Ok((reason, _, usage)) => {
            queue.push(Weight::Kept, &shape.chunk(&json!({}), Some(reason)));
            if has_usage {
                let mut last = shape.json("chat.completion.chunk", &[]);
                last["usage"] = usage_of(&usage);
                queue.push(Weight::Kept, &framed(&last));
            }
        }
        Err(failure) => {
            let error = json!({"error": {"message": failure.message, "type": "server_error"}});
            queue.push(Weight::Kept, &framed(&error));
        }
    }
    queue.push(Weight::Kept, &Bytes::from_static(b"data: [DONE]\n\n"));
    queue.end();
}
