//! Requests and replies as they are sent, for users who debug. Headers are left out: they have keys.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::failure::Origin;

/// Receives requests and replies.
pub trait Witness: Send + Sync {
    fn saw(&self, exchange: &Exchange<'_>);
}

/// One message on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    pub direction: Direction,
    pub endpoint: &'a str,
    pub payload: &'a [u8],
    /// Since the request was sent.
    pub elapsed: Duration,
}

/// The direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the provider.
    Request,
    /// From the provider, in one piece.
    Response,
    /// From the provider, all pieces of a stream.
    StreamComplete,
    /// From the provider, saying that it failed.
    Error,
}

impl Direction {
    /// The name in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
            Self::StreamComplete => "stream_complete",
            Self::Error => "error",
        }
    }
}

/// The witness of one request, with the part of the answer that was received.
#[derive(Clone, Default)]
pub(crate) struct Testimony {
    witness: Option<Arc<dyn Witness>>,
    origin: Option<Arc<Origin>>,
    endpoint: String,
    sent: Option<Instant>,
    stream: Vec<u8>,
}

impl Testimony {
    /// Shows a request to the witness, if there is one.
    pub(crate) fn of_request(
        witness: Option<&Arc<dyn Witness>>,
        origin: &Arc<Origin>,
        endpoint: &str,
        body: &[u8],
    ) -> Self {
        let Some(witness) = witness else { return Self::default() };
        let testimony = Self {
            witness: Some(Arc::clone(witness)),
            origin: Some(Arc::clone(origin)),
            endpoint: endpoint.to_owned(),
            sent: Some(Instant::now()),
            stream: Vec::new(),
        };
        testimony.show(Direction::Request, body);
        testimony
    }

    /// Shows a message, without a key that the server has repeated.
    pub(crate) fn show(&self, direction: Direction, payload: &[u8]) {
        if let Some(witness) = &self.witness {
            let elapsed = self.sent.map(|sent| sent.elapsed()).unwrap_or_default();
            let clean = match (&self.origin, std::str::from_utf8(payload)) {
                (Some(origin), Ok(text)) => Some(origin.without_secrets(text)),
                _ => None,
            };
            let payload = clean.as_ref().map_or(payload, |text| text.as_bytes());
            witness.saw(&Exchange { direction, endpoint: &self.endpoint, payload, elapsed });
        }
    }

    /// Adds a piece of a stream, which is shown at its end.
    pub(crate) fn piece(&mut self, chunk: &[u8]) {
        if self.witness.is_some() {
            self.stream.extend_from_slice(chunk);
        }
    }
}

impl Drop for Testimony {
    fn drop(&mut self) {
        if !self.stream.is_empty() {
            self.show(Direction::StreamComplete, &self.stream);
        }
    }
}
