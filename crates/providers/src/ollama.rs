//! Ollama's own format: one JSON object a line, whole tool calls, no ids.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use contract::provider::{Model, Provider, ProviderError, ReplyStream, Request};
use serde_json::Value;

use crate::body::Memos;
use crate::catalog::Vendor;
use crate::endpoint::Endpoint;
use crate::http::Http;
use crate::reply::receive;
use decode::LineDecoder;

/// The default port.
pub(crate) const PORT: u16 = 11434;

pub(crate) struct Ollama {
    vendor: &'static Vendor,
    http: Http,
    memos: Memos,
}

impl Ollama {
    pub(crate) fn new(vendor: &'static Vendor, http: Http) -> Self {
        Self { vendor, http, memos: Memos::default() }
    }
}

/// A decoder for fuzzing.
#[cfg(any(test, fuzzing))]
pub(crate) fn decoder(
    origin: std::sync::Arc<crate::failure::Origin>,
) -> impl crate::reply::Decoder {
    LineDecoder::new(origin)
}

/// The base address of the methods, also from one of another format.
pub(crate) fn normalize(endpoint: Endpoint) -> Endpoint {
    endpoint.with_path(|path| {
        let endings = ["/api/chat", "/api", "/v1"];
        let base = endings.iter().find_map(|ending| path.strip_suffix(ending));
        base.unwrap_or(path).to_owned()
    })
}

#[async_trait]
impl Provider for Ollama {
    fn name(&self) -> &str {
        &self.http.name
    }

    async fn models(&self) -> Result<Vec<Model>, ProviderError> {
        let listing = self.http.get("/api/tags").await?;
        let Some(models) = listing.get("models").and_then(Value::as_array) else {
            let sample = listing.to_string();
            return Err(self.http.origin.garbled("no list of models", sample.as_bytes()));
        };
        // A model that runs has the context it was started with. Old servers do not tell.
        let running = self.http.get("/api/ps").await.unwrap_or_default();
        let started = |id: &str| {
            let mut running = running.get("models")?.as_array()?.iter();
            running
                .find(|entry| entry.get("name").is_some_and(|name| name == id))?
                .get("context_length")
        };
        let model = |entry: &Value| {
            let id = entry.get("name").or_else(|| entry.get("model"))?.as_str()?;
            let described = || entry.pointer("/details/context_length");
            let capabilities = entry.get("capabilities").and_then(Value::as_array);
            Some(Model {
                id: id.to_owned(),
                context: started(id).or_else(described).and_then(Value::as_u64),
                tools: capabilities.map(|names| names.iter().any(|name| name == "tools")),
                ..Model::default()
            })
        };
        Ok(models.iter().filter_map(model).collect())
    }

    async fn stream(&self, request: Request) -> Result<ReplyStream, ProviderError> {
        let body = encode::body(&self.vendor.quirks, &request, &self.memos);
        let response = self.http.post("/api/chat", body, request.delivery).await?;
        let decoder = LineDecoder::new(self.http.origin.clone());
        receive(&self.http, response, request.delivery, decoder).await
    }
}
