//! The HTTP client for servers and authorization servers: no redirects to other hosts.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use reqwest::dns::Resolve;
use reqwest::redirect::Policy;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};

use crate::config::Address;
use crate::failure::Failure;

pub(crate) type Transport<C> = StreamableHttpClientTransport<C>;

/// Looks up host names.
pub type Resolver = Arc<dyn Resolve>;

/// The largest event that a server may send.
const MAX_EVENT: usize = 32 << 20;
/// The largest answer of an authorization server.
const MAX_ANSWER: usize = 1 << 20;

/// The headers and limits of every request.
pub(crate) fn config(address: &Address) -> Result<StreamableHttpClientTransportConfig, Failure> {
    let mut headers = HashMap::new();
    for (name, value) in &address.headers {
        let header = HeaderName::from_bytes(name.as_bytes());
        let content = HeaderValue::from_str(value.expose());
        let (Ok(header), Ok(mut content)) = (header, content) else {
            return Err(Failure::new(format!("header `{name}` of {} is not valid", address.url)));
        };
        content.set_sensitive(true);
        headers.insert(header, content);
    }
    let url = address.url.as_str();
    Ok(StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(headers)
        .max_sse_event_size(MAX_EVENT)
        .reinit_on_expired_session(true))
}

/// The body of an answer, up to a limit.
pub(crate) async fn body(mut answer: reqwest::Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    let wrong = |error: reqwest::Error| error.without_url().to_string();
    while let Some(chunk) = answer.chunk().await.map_err(wrong)? {
        if body.len() + chunk.len() > MAX_ANSWER {
            return Err("the answer has more than 1 MiB".to_owned());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// A client that follows redirects on one host only.
pub(crate) fn client(url: &str) -> Result<reqwest::Client, Failure> {
    client_with_resolver(url, None)
}

/// Chooses the cryptography of TLS, unless another part of the program has done it.
pub(crate) fn install_crypto() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// A client that looks up hosts by `resolver` if there is one.
pub(crate) fn client_with_resolver(
    url: &str,
    resolver: Option<&Resolver>,
) -> Result<reqwest::Client, Failure> {
    let policy = Policy::custom(|attempt| {
        let first = attempt.previous().first();
        let stays = first.is_some_and(|first| first.origin() == attempt.url().origin());
        if stays && attempt.previous().len() <= 5 { attempt.follow() } else { attempt.stop() }
    });
    install_crypto();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("Brynhild/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(10))
        .redirect(policy);
    if url.starts_with("http://") {
        // Plain addresses are of this machine alone: no certificates, no proxy.
        builder = builder.tls_certs_only([]).no_proxy();
    }
    if let Some(resolver) = resolver {
        // A proxy would look names up by itself.
        builder = builder.dns_resolver(Arc::clone(resolver)).no_proxy();
    }
    builder.build().map_err(|error| Failure::new(format!("cannot reach {url}: {error}")))
}
