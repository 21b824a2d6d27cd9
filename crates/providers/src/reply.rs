//! A reply in progress: reads the bytes of an answer, lets a wire format decode them, and returns the
//! deltas. Detects silence and lost connections.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use contract::message::StopReason;
use contract::provider::{Delivery, Delta, ProviderError, ReplyStream};
use futures::StreamExt;
use futures::stream;
use tokio::time::{Instant, timeout};

use crate::failure::Origin;
use crate::http::{Answer, Http, content_type, is_page};
use crate::lines::TooLong;
use crate::sse::Parser;

/// Timeouts that a stream may fill with keep-alives before it is idle.
const KEEP_ALIVES: u32 = 10;
/// The time to wait for usage after a reply is complete.
const AFTERWORD: Duration = Duration::from_secs(5);
/// The time to wait for the end of an answer, so that its connection can be used again.
const FAREWELL: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The reply is not complete.
    #[default]
    Open,
    /// The model has stopped; usage may follow.
    Complete,
    /// The answer has ended.
    Done,
}

/// Decodes a wire format from the bytes of an answer and then its end.
pub(crate) trait Decoder: Send + 'static {
    /// Takes more bytes of a streamed reply.
    fn feed(&mut self, chunk: &[u8], out: &mut Deltas) -> Result<(), ProviderError>;

    /// Takes a reply that came in one piece.
    fn whole(&mut self, body: &[u8], out: &mut Deltas) -> Result<(), ProviderError>;

    /// Takes the end: adds the stop reason, or fails if the reply was cut.
    fn end(&mut self, out: &mut Deltas) -> Result<(), ProviderError>;

    fn stage(&self) -> Stage;
}

/// A reply whose wire format is server-sent events.
pub(crate) trait EventReply: Send + 'static {
    fn new(origin: Arc<Origin>) -> Self;

    /// Takes the data of an event.
    fn event(&mut self, data: &str, out: &mut Deltas) -> Result<(), ProviderError>;

    /// Takes a reply that came in one piece.
    fn whole(&mut self, body: &str, out: &mut Deltas) -> Result<(), ProviderError>;

    /// Takes the end of a reply that is complete: adds the stop reason.
    fn end(&mut self, out: &mut Deltas);

    fn state(&self) -> (&Origin, Stage);
}

/// Decodes server-sent events.
pub(crate) struct EventDecoder<R> {
    parser: Parser,
    reply: R,
}

impl<R: EventReply> EventDecoder<R> {
    pub(crate) fn new(origin: Arc<Origin>) -> Self {
        Self { parser: Parser::default(), reply: R::new(origin) }
    }
}

impl<R: EventReply> Decoder for EventDecoder<R> {
    fn feed(&mut self, chunk: &[u8], out: &mut Deltas) -> Result<(), ProviderError> {
        let Self { parser, reply } = self;
        let fed = parser.feed(chunk, |event| reply.event(event.data, out).map_err(Broken::from));
        fed.map_err(|broken| broken.explain(reply.state().0))
    }

    fn whole(&mut self, body: &[u8], out: &mut Deltas) -> Result<(), ProviderError> {
        self.reply.whole(&String::from_utf8_lossy(body), out)?;
        self.end(out)
    }

    fn end(&mut self, out: &mut Deltas) -> Result<(), ProviderError> {
        if self.stage() == Stage::Open {
            return Err(self.reply.state().0.cut());
        }
        self.reply.end(out);
        Ok(())
    }

    fn stage(&self) -> Stage {
        self.reply.state().1
    }
}

/// Deltas that were not returned yet. Text that arrives together is one delta.
#[derive(Debug, Default)]
pub(crate) struct Deltas {
    queue: VecDeque<Delta>,
    progressed: bool,
}

impl Deltas {
    pub(crate) fn text(&mut self, more: &str) {
        if let Some(Delta::Text(text)) = self.queue.back_mut() {
            text.push_str(more);
        } else if !more.is_empty() {
            self.queue.push_back(Delta::Text(more.to_owned()));
        }
    }

    pub(crate) fn thinking(&mut self, more: &str) {
        if let Some(Delta::Thinking(text)) = self.queue.back_mut() {
            text.push_str(more);
        } else if !more.is_empty() {
            self.queue.push_back(Delta::Thinking(more.to_owned()));
        }
    }

    /// Adds anything else.
    pub(crate) fn push(&mut self, delta: Delta) {
        self.queue.push_back(delta);
    }

    /// Adds the end of the reply.
    pub(crate) fn stopped(&mut self, reason: StopReason) {
        self.push(Delta::Stopped(reason));
    }

    /// Records progress beyond a keep-alive.
    pub(crate) fn progress(&mut self) {
        self.progressed = true;
    }

    #[cfg(test)]
    pub(crate) fn drain(&mut self) -> Vec<Delta> {
        self.queue.drain(..).collect()
    }
}

/// The failures between two events.
pub(crate) enum Broken {
    /// A line without end.
    TooLong,
    Failed(ProviderError),
}

impl From<TooLong> for Broken {
    fn from(_: TooLong) -> Self {
        Self::TooLong
    }
}

impl From<ProviderError> for Broken {
    fn from(error: ProviderError) -> Self {
        Self::Failed(error)
    }
}

impl Broken {
    /// The failure to report.
    pub(crate) fn explain(self, origin: &Origin) -> ProviderError {
        match self {
            Self::TooLong => origin.garbled("a line of more than 10 MB", b""),
            Self::Failed(error) => error,
        }
    }
}

/// Turns an answer into a stream of deltas.
pub(crate) async fn receive<D: Decoder>(
    http: &Http,
    answer: Answer,
    delivery: Delivery,
    mut decoder: D,
) -> Result<ReplyStream, ProviderError> {
    // Some servers answer in one piece, whatever the request.
    let came_whole = content_type(&answer.response).starts_with("application/json");
    if delivery == Delivery::Whole || came_whole {
        let body = http.whole(answer).await?;
        let mut deltas = Deltas::default();
        decoder.whole(&body, &mut deltas)?;
        return Ok(stream::iter(deltas.queue.into_iter().map(Ok)).boxed());
    }
    let flow = Flow {
        origin: http.origin.clone(),
        limit: http.timeouts.between_bytes,
        answer,
        decoder,
        deltas: Deltas::default(),
        last_progress: Instant::now(),
        seen_bytes: false,
        ending: None,
    };
    Ok(stream::unfold(flow, |mut flow| async {
        let delta = flow.next().await?;
        Some((delta, flow))
    })
    .boxed())
}

struct Flow<D> {
    origin: std::sync::Arc<Origin>,
    limit: Duration,
    answer: Answer,
    decoder: D,
    deltas: Deltas,
    last_progress: Instant,
    seen_bytes: bool,
    ending: Option<Result<(), ProviderError>>,
}

impl<D: Decoder> Flow<D> {
    async fn next(&mut self) -> Option<Result<Delta, ProviderError>> {
        loop {
            if let Some(delta) = self.deltas.queue.pop_front() {
                return Some(Ok(delta));
            }
            match self.ending.replace(Ok(())) {
                None => self.ending = self.advance().await,
                Some(Ok(())) => return None,
                Some(Err(error)) => return Some(Err(error)),
            }
        }
    }

    /// Reads one piece. Returns the end of the reply, if it has ended.
    async fn advance(&mut self) -> Option<Result<(), ProviderError>> {
        let stage = self.decoder.stage();
        let limit = match stage {
            Stage::Open => self.limit,
            Stage::Complete | Stage::Done => self.limit.min(AFTERWORD),
        };
        let failure = match timeout(limit, self.answer.response.chunk()).await {
            Ok(Ok(Some(chunk))) => return self.take(&chunk).await,
            Ok(Ok(None)) => None,
            Ok(Err(_)) => Some(self.origin.cut()),
            Err(_) => Some(self.origin.idle(limit, "more of the reply")),
        };
        match failure {
            Some(failure) if stage == Stage::Open => Some(Err(failure)),
            _ => Some(self.decoder.end(&mut self.deltas)),
        }
    }

    async fn take(&mut self, chunk: &[u8]) -> Option<Result<(), ProviderError>> {
        if !self.seen_bytes && !chunk.trim_ascii().is_empty() {
            self.seen_bytes = true;
            if is_page(chunk) {
                return Some(Err(self.origin.page(chunk)));
            }
        }
        self.answer.testimony.piece(chunk);
        if let Err(error) = self.decoder.feed(chunk, &mut self.deltas) {
            return Some(Err(error));
        }
        if self.decoder.stage() == Stage::Done {
            let farewell = async { while let Ok(Some(_)) = self.answer.response.chunk().await {} };
            // The reply is complete even so.
            let _ = timeout(FAREWELL, farewell).await;
            return Some(self.decoder.end(&mut self.deltas));
        }
        self.watch()
    }

    fn watch(&mut self) -> Option<Result<(), ProviderError>> {
        let now = Instant::now();
        if std::mem::take(&mut self.deltas.progressed) {
            self.last_progress = now;
        }
        let patience = self.limit * KEEP_ALIVES;
        let silent = now.duration_since(self.last_progress) > patience;
        silent.then(|| Err(self.origin.idle(patience, "more of the reply but keep-alives")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_arrives_together_is_one_piece() {
        let mut deltas = Deltas::default();
        deltas.thinking("a");
        deltas.thinking("b");
        deltas.text("");
        deltas.text("c");
        deltas.text("d");
        deltas.thinking("");
        assert_eq!(deltas.drain(), [Delta::Thinking("ab".into()), Delta::Text("cd".into())]);
    }
}
