//! One reply: the request goes out, pieces come in, transient failures are repeated.

use contract::event::{EventKind, Level, NoticeTopic, Piece};
use contract::message::{Part, Reply, StopReason, Usage};
use contract::provider::{Delta, Failure, Provider, ProviderError, ReplyStream, Request};
use futures::StreamExt;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::journal::{EventSender, Journal, Logged};
use crate::keys;
use crate::retry::Retry;

/// Deltas that are taken from the stream at once, so that a fast stream causes few events.
const BATCH: usize = 64;

const MAX_DEPTH: usize = 64;

/// The result of a request, with the parts of a broken reply that arrived.
pub(crate) enum RequestOutcome {
    Whole(Draft),
    Cancelled(Draft),
    Failed(Draft, ProviderError),
}

/// The pieces of a reply that listeners get.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    Everybody,
    WithoutText,
    /// Nobody: the reply is for the program.
    Nobody,
}

impl Audience {
    async fn hear(self, sender: &EventSender, piece: Piece) {
        let is_text = matches!(piece, Piece::Text { .. });
        if self == Self::Everybody || (self == Self::WithoutText && !is_text) {
            sender.tell(EventKind::ReplyDelta { piece }).await;
        }
    }

    pub(crate) async fn restart(self, sender: &EventSender, draft: &Draft) {
        if !draft.reply.parts.is_empty() {
            self.hear(sender, Piece::Restart).await;
        }
    }
}

/// A reply as far as it has arrived.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) reply: Reply,
    pub(crate) usage: Usage,
    is_whole: bool,
}

impl Draft {
    /// Makes it a broken reply: its text stays, its calls do not run.
    pub(crate) fn broken_off(mut self) -> Self {
        self.reply.parts.retain(|part| matches!(part, Part::Text { .. }));
        self.reply.stop = StopReason::Interrupted;
        self
    }

    pub(crate) fn say(&mut self, text: String) {
        let parts = &mut self.reply.parts;
        let is_text = |part: &Part| matches!(part, Part::Text { .. });
        let first = parts.iter().position(is_text);
        let place = first.unwrap_or_else(|| {
            parts.iter().position(|part| matches!(part, Part::Call(_))).unwrap_or(parts.len())
        });
        parts.retain(|part| !is_text(part));
        parts.insert(place, Part::Text { text });
    }

    fn take(&mut self, delta: Delta) -> Option<Piece> {
        match delta {
            Delta::Text(text) => {
                if let Some(Part::Text { text: so_far }) = self.reply.parts.last_mut() {
                    so_far.push_str(&text);
                } else {
                    self.reply.parts.push(Part::Text { text: text.clone() });
                }
                Some(Piece::Text { text })
            }
            Delta::Thinking(text) => {
                let last = self.reply.parts.last_mut();
                if let Some(Part::Thinking { text: so_far, opaque: None }) = last {
                    so_far.push_str(&text);
                } else {
                    self.reply.parts.push(Part::Thinking { text: text.clone(), opaque: None });
                }
                Some(Piece::Thinking { text })
            }
            Delta::ThinkingOpaque(value) => {
                let last = self.reply.parts.last_mut();
                if let Some(Part::Thinking { opaque: opaque @ None, .. }) = last {
                    *opaque = Some(value);
                } else {
                    let text = String::new();
                    self.reply.parts.push(Part::Thinking { text, opaque: Some(value) });
                }
                None
            }
            Delta::CallStarted { name } => Some(Piece::Call { name }),
            Delta::Call(mut call) => {
                // Deeper nesting cannot be read back from the log.
                if depth(&call.args) > MAX_DEPTH {
                    call.args = Value::String(call.args.to_string());
                }
                self.reply.parts.push(Part::Call(call));
                None
            }
            Delta::Usage(usage) => {
                self.usage = usage;
                None
            }
            Delta::Stopped(stop) => {
                self.reply.stop = stop;
                self.is_whole = true;
                None
            }
        }
    }
}

/// Asks for a reply, again where that makes sense, until it is whole, failed or cancelled.
pub(crate) async fn ask(
    provider: &dyn Provider,
    request: Request,
    (retry, audience): (Retry, Audience),
    journal: &mut Journal,
    cancel: &CancellationToken,
) -> Logged<RequestOutcome> {
    let mut attempt = 1;
    loop {
        let mut draft = Draft::default();
        let sender = journal.sender();
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(RequestOutcome::Cancelled(draft)),
            outcome = receive(provider, request.clone(), &mut draft, (&sender, audience)) => outcome,
        };
        let Err(error) = outcome else {
            journal.has_heard = true;
            return Ok(RequestOutcome::Whole(draft));
        };
        let Some(wait) = retry.wait(attempt, error.kind, journal.has_heard) else {
            return Ok(RequestOutcome::Failed(draft, error));
        };
        audience.restart(&sender, &draft).await;
        attempt += 1;
        let text = format!(
            "{error}; retrying in {:.1} s (attempt {attempt} of {})",
            wait.as_secs_f64(),
            retry.attempts(error.kind)
        );
        journal.notice_about(NoticeTopic::Retry, Level::Warning, text, error.hint).await?;
        tokio::select! {
            () = cancel.cancelled() => return Ok(RequestOutcome::Cancelled(draft)),
            () = tokio::time::sleep(wait) => {}
        }
    }
}

async fn receive(
    provider: &dyn Provider,
    request: Request,
    draft: &mut Draft,
    (sender, audience): (&EventSender, Audience),
) -> Result<(), ProviderError> {
    let stream: ReplyStream = provider.stream(request).await?;
    let mut batches = stream.ready_chunks(BATCH);
    let mut told = keys::Pieces::new(sender.keys());
    while let Some(batch) = batches.next().await {
        let mut pieces = Pieces::default();
        let mut failure = None;
        for delta in batch {
            match delta {
                Ok(delta) => pieces.extend(draft.take(delta)),
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        for piece in pieces.0.into_iter().flat_map(|piece| told.take(piece)) {
            audience.hear(sender, piece).await;
        }
        if let Some(error) = failure {
            return Err(error);
        }
    }
    if let Some(piece) = told.finish() {
        audience.hear(sender, piece).await;
    }
    if draft.is_whole {
        return Ok(());
    }
    Err(ProviderError {
        kind: Failure::Cut,
        message: format!("the reply of {} broke off", provider.name()),
        hint: None,
    })
}

/// Pieces for listeners, neighbors of one kind joined.
#[derive(Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    fn extend(&mut self, piece: Option<Piece>) {
        match (self.0.last_mut(), piece) {
            (_, None) => {}
            (Some(Piece::Text { text: last }), Some(Piece::Text { text }))
            | (Some(Piece::Thinking { text: last }), Some(Piece::Thinking { text })) => {
                last.push_str(&text);
            }
            (_, Some(piece)) => self.0.push(piece),
        }
    }
}

fn depth(value: &Value) -> usize {
    let deepest = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(fields) => fields.values().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    1 + deepest.unwrap_or(0)
}
