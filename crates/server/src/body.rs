//! Bodies of requests, and of replies: whole, from a client's queue, or passed on from another server.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use serde::de::DeserializeOwned;

use crate::host::Failure;
use crate::queue::Queue;

/// Time for a body to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);

pub(crate) enum Body {
    Whole(Option<Bytes>),
    Queued(Queue),
    Forwarded(Incoming),
}

impl Body {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Some(bytes.into()).filter(|bytes: &Bytes| !bytes.is_empty()))
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Queued(queue) => {
                let bytes = ready!(queue.poll_next(context));
                Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
            }
            Self::Forwarded(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Queued(_) => SizeHint::new(),
            Self::Forwarded(body) => body.size_hint(),
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Self::Queued(queue) = self {
            queue.close();
        }
    }
}

/// Reads the body of a request that has one.
pub(crate) async fn collected(
    parts: &Parts,
    body: Incoming,
    limit: usize,
) -> Result<Bytes, Failure> {
    if !matches!(parts.method, Method::POST | Method::PATCH) {
        return Ok(Bytes::new());
    }
    let too_large = || {
        let what = format!("a body has at most {limit} bytes");
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, what)
    };
    let length = parts.headers.get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok());
    if length.and_then(|it| it.parse::<u64>().ok()).is_some_and(|it| it > limit as u64) {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_TIME, Limited::new(body, limit).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Failure::bad("the body broke off")),
        Err(_) => Err(Failure::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
    }
}

/// Reads a body of JSON.
pub(crate) fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, Failure> {
    let body = if body.is_empty() { b"{}" } else { body.as_ref() };
    serde_json::from_slice(body)
        .map_err(|error| Failure::bad(format!("the body is wrong: {error}")))
}
