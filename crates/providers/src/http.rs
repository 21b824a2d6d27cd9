//! The HTTP client. It is built at the first request: certificates are read only for TLS, so that a
//! plain server answers a few milliseconds after the program starts.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use contract::provider::{Delivery, Failure, ProviderError};
use contract::secret::Secret;
use contract::text::visible;
use reqwest::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::Value;
use tokio::time::timeout;

use crate::endpoint::Endpoint;
use crate::failure::Origin;
use crate::witness::{Direction, Testimony, Witness};

/// The largest reply that is read whole.
const MAX_REPLY: usize = 64 * 1024 * 1024;
/// The largest part of an error that is read.
const MAX_ERROR: usize = 64 * 1024;
const ERROR_PATIENCE: Duration = Duration::from_secs(5);

/// The timeouts of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For the start of an answer.
    pub headers: Duration,
    /// For more bytes of an answer that has begun.
    pub between_bytes: Duration,
    /// For the start of an answer that comes in one piece.
    pub whole: Duration,
}

impl Timeouts {
    /// For servers in data centers.
    pub const REMOTE: Self = Self {
        connect: Duration::from_secs(30),
        headers: Duration::from_secs(90),
        between_bytes: Duration::from_mins(1),
        whole: Duration::from_mins(10),
    };

    /// For local servers, which load models and read prompts slowly.
    pub const LOCAL: Self = Self {
        connect: Duration::from_secs(30),
        headers: Duration::from_mins(5),
        between_bytes: Duration::from_mins(5),
        whole: Duration::from_mins(30),
    };
}

/// A server: its address, its headers, and the client, once there is one.
pub(crate) struct Http {
    /// The name of the provider in the configuration.
    pub(crate) name: String,
    pub(crate) origin: Arc<Origin>,
    pub(crate) timeouts: Timeouts,
    endpoint: Endpoint,
    headers: HeaderMap,
    client: OnceLock<Client>,
    witness: Option<Arc<dyn Witness>>,
}

/// An answer of which the head was received.
pub(crate) struct Answer {
    pub(crate) response: Response,
    pub(crate) testimony: Testimony,
}

/// The headers of every request, with those that hold secrets marked.
#[derive(Default)]
pub(crate) struct Headers(HeaderMap);

impl Headers {
    /// Adds headers from the configuration or the catalog; a later one replaces an earlier one.
    pub(crate) fn extend(&mut self, more: &BTreeMap<String, String>) -> Result<(), ProviderError> {
        for (name, value) in more {
            let wrong = |what: &str| ProviderError {
                kind: Failure::Rejected,
                message: format!("the {what} of header `{}` cannot be sent", visible(name)),
                hint: Some("correct `headers` of this provider".into()),
            };
            let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("name"))?;
            let mut value = HeaderValue::from_str(value).map_err(|_| wrong("value"))?;
            value.set_sensitive(true);
            self.0.insert(parsed, value);
        }
        Ok(())
    }

    /// Adds the key, with `prefix` before it.
    pub(crate) fn key(
        &mut self,
        name: &'static str,
        prefix: &str,
        key: &Secret<String>,
    ) -> Result<(), ProviderError> {
        let text = format!("{prefix}{}", key.expose().trim());
        let mut value = HeaderValue::from_str(&text).map_err(|_| ProviderError {
            kind: Failure::Auth,
            message: "the API key contains invalid characters".into(),
            hint: Some("set it again, without line breaks or quotes".into()),
        })?;
        value.set_sensitive(true);
        self.0.insert(name, value);
        Ok(())
    }
}

impl Http {
    /// Prepares to talk to `endpoint`. Sends nothing.
    pub(crate) fn new(
        name: String,
        origin: Origin,
        endpoint: Endpoint,
        headers: Headers,
        timeouts: Timeouts,
    ) -> Self {
        Self {
            name,
            origin: Arc::new(origin),
            timeouts,
            endpoint,
            headers: headers.0,
            client: OnceLock::new(),
            witness: None,
        }
    }

    /// Shows every exchange to a witness.
    pub(crate) fn witnessed(mut self, witness: Option<Arc<dyn Witness>>) -> Self {
        self.witness = witness;
        self
    }

    /// Posts JSON and waits for the head of a successful answer.
    pub(crate) async fn post(
        &self,
        path: &str,
        body: Vec<u8>,
        delivery: Delivery,
    ) -> Result<Answer, ProviderError> {
        let url = self.endpoint.join(path);
        let shown = self.endpoint.shown(path);
        let testimony = Testimony::of_request(self.witness.as_ref(), &self.origin, &shown, &body);
        let request = self
            .client()?
            .post(url)
            .headers(self.headers.clone())
            .header("content-type", "application/json")
            .body(body);
        let limit = match delivery {
            Delivery::Streamed => self.timeouts.headers,
            Delivery::Whole => self.timeouts.whole,
        };
        let response = self.send(request, limit, &testimony).await?;
        Ok(Answer { response, testimony })
    }

    /// Gets JSON.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, ProviderError> {
        let url = self.endpoint.join(path);
        // A server that serves one connection at a time must not wait for this one to be used again.
        let request =
            self.client()?.get(url).headers(self.headers.clone()).header(CONNECTION, "close");
        let testimony = Testimony::default();
        let response = self.send(request, self.timeouts.headers, &testimony).await?;
        let body = self.whole(Answer { response, testimony }).await?;
        serde_json::from_slice(&body)
            .map_err(|_| self.origin.garbled("something that is not JSON", &body))
    }

    /// Reads the rest of an answer in one piece.
    pub(crate) async fn whole(&self, answer: Answer) -> Result<Vec<u8>, ProviderError> {
        let Answer { mut response, testimony } = answer;
        let mut body = Vec::new();
        loop {
            let limit = self.timeouts.between_bytes;
            let chunk = timeout(limit, response.chunk())
                .await
                .map_err(|_| self.origin.idle(limit, "more of the reply"))?;
            match chunk.map_err(|_| self.origin.cut())? {
                Some(chunk) => body.extend_from_slice(&chunk),
                None => break,
            }
            if body.len() > MAX_REPLY {
                return Err(self.origin.garbled("a reply of more than 64 MB", b""));
            }
        }
        testimony.show(Direction::Response, &body);
        if is_page(&body) {
            return Err(self.origin.page(&body));
        }
        Ok(body)
    }

    async fn send(
        &self,
        request: RequestBuilder,
        limit: Duration,
        testimony: &Testimony,
    ) -> Result<Response, ProviderError> {
        let response = timeout(limit, request.send())
            .await
            .map_err(|_| self.origin.idle(limit, "answer"))?
            .map_err(|error| self.origin.transport(error))?;
        let status = response.status().as_u16();
        let is_html = content_type(&response).starts_with("text/html");
        if response.status().is_success() && !is_html {
            return Ok(response);
        }
        let headers = response.headers().clone();
        let body = error_body(response).await;
        testimony.show(Direction::Error, &body);
        if (200..300).contains(&status) {
            return Err(self.origin.page(&body));
        }
        Err(self.origin.status(status, &headers, &body))
    }

    fn client(&self) -> Result<&Client, ProviderError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // Fails if another part of the program has done it, which is as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("Brynhild/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.timeouts.connect)
            .redirect(reqwest::redirect::Policy::none());
        if self.endpoint.is_plain() {
            // An empty store keeps the client from reading the system's certificates.
            builder = builder.tls_certs_only([]);
        }
        if self.endpoint.is_loopback() {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| self.origin.transport(error))?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// The content type of an answer in lower case; empty if it has none.
pub(crate) fn content_type(response: &Response) -> String {
    let value = response.headers().get("content-type");
    value.and_then(|value| value.to_str().ok()).unwrap_or_default().to_ascii_lowercase()
}

/// Returns true if bytes that should be JSON or events are a web page.
pub(crate) fn is_page(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes.trim_ascii_start().starts_with(b"<")
}

async fn error_body(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            let room = MAX_ERROR - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if body.len() == MAX_ERROR {
                break;
            }
        }
    };
    // The part that was read explains the error.
    let _ = timeout(ERROR_PATIENCE, read).await;
    body
}
