//! A service: answers the requests of all connections. Each kind of server implements it.

use std::rc::Rc;

use http::request::Parts;
use http::{HeaderValue, Request, header};
use hyper::body::Incoming;

use crate::guard::Door;
use crate::host::Failure;
use crate::reply::{self, Reply};

pub(crate) trait Service: 'static {
    /// Checks a request and answers it.
    async fn admit(
        self: &Rc<Self>,
        parts: &Parts,
        body: Incoming,
        door: &Door,
    ) -> Result<Reply, Failure>;

    /// Reports a refused request.
    fn report(&self, text: &str);

    /// The reply to a request that failed.
    fn failure(&self, failure: &Failure) -> Reply {
        reply::failure(failure)
    }

    /// Completes the headers of a reply.
    fn finish(&self, _: &Parts, _: &mut Reply) {}

    async fn answer(self: &Rc<Self>, request: Request<Incoming>, door: &Door, peer: &str) -> Reply {
        let (parts, body) = request.into_parts();
        // A request with two lengths may hide another one, which is not to be read.
        let mut closes = parts.headers.contains_key(header::TRANSFER_ENCODING);
        let mut reply = match self.admit(&parts, body, door).await {
            Ok(reply) => reply,
            Err(refusal) => {
                let status = refusal.status.as_u16();
                if matches!(status, 401 | 403 | 408 | 413 | 415 | 421) {
                    let line = format!("{} {} from {peer}", parts.method, parts.uri.path());
                    let line = contract::text::head(&line, 200);
                    let line = contract::text::one_line(line);
                    let why = &refusal.message;
                    self.report(&format!("refused ({status}): {line}: {why}"));
                }
                // The rest of the body is not read.
                closes |= status == 413 || status == 408;
                self.failure(&refusal)
            }
        };
        if closes {
            reply.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        self.finish(&parts, &mut reply);
        reply
    }
}
