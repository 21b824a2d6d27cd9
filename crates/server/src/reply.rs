//! Replies, with the headers that all of them carry.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use serde::Serialize;
use serde_json::json;

use crate::body::Body;
use crate::host::Failure;

pub(crate) type Reply = Response<Body>;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; manifest-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// Headers of every reply. Nothing may be read by other pages, so no header allows it.
const COMMON: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
];

pub(crate) fn of(status: StatusCode, kind: &'static str, body: Body) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    for (name, value) in COMMON {
        reply.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

pub(crate) fn text(kind: &'static str, text: impl Into<Bytes>) -> Reply {
    of(StatusCode::OK, kind, Body::whole(text))
}

pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Reply {
    // Types of this crate have no keys that JSON cannot have.
    let bytes = serde_json::to_vec(value).unwrap_or_default();
    of(status, "application/json", Body::whole(bytes))
}

pub(crate) fn ok(value: &impl Serialize) -> Reply {
    json(StatusCode::OK, value)
}

pub(crate) fn nothing() -> Reply {
    let mut reply = of(StatusCode::NO_CONTENT, "text/plain", Body::whole(Bytes::new()));
    reply.headers_mut().remove(header::CONTENT_TYPE);
    reply
}

pub(crate) fn failure(failure: &Failure) -> Reply {
    let mut error = json!({"message": failure.message});
    if let Some(hint) = &failure.hint {
        error["hint"] = hint.as_str().into();
    }
    json(failure.status, &json!({"error": error}))
}

/// A stream of events.
pub(crate) fn events(body: Body) -> Reply {
    let mut reply = of(StatusCode::OK, "text/event-stream", body);
    // Proxies that collect replies would hold events back.
    let name = HeaderName::from_static("x-accel-buffering");
    reply.headers_mut().insert(name, HeaderValue::from_static("no"));
    reply
}
