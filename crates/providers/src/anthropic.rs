//! The messages API of Anthropic: thinking with signatures, prompt caching, tools.

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
use decode::MessagesDecoder;

/// The version of the API.
pub(crate) const VERSION: &str = "2023-06-01";

pub(crate) struct Anthropic {
    vendor: &'static Vendor,
    http: Http,
    memos: Memos,
}

impl Anthropic {
    pub(crate) fn new(vendor: &'static Vendor, http: Http) -> Self {
        Self { vendor, http, memos: Memos::default() }
    }
}

/// A decoder for fuzzing.
#[cfg(any(test, fuzzing))]
pub(crate) fn decoder(
    origin: std::sync::Arc<crate::failure::Origin>,
) -> impl crate::reply::Decoder {
    MessagesDecoder::new(origin)
}

/// The base address of the methods, from one with or without the version.
pub(crate) fn normalize(endpoint: Endpoint) -> Endpoint {
    endpoint.with_path(|path| {
        let base = path.strip_suffix("/messages").unwrap_or(path);
        format!("{}/v1", base.strip_suffix("/v1").unwrap_or(base))
    })
}

#[async_trait]
impl Provider for Anthropic {
    fn name(&self) -> &str {
        &self.http.name
    }

    async fn models(&self) -> Result<Vec<Model>, ProviderError> {
        let listing = self.http.get("/models").await?;
        let Some(models) = listing.get("data").and_then(Value::as_array) else {
            let sample = listing.to_string();
            return Err(self.http.origin.garbled("no list of models", sample.as_bytes()));
        };
        let model = |entry: &Value| {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).map(str::to_owned);
            Some(Model {
                id: text("id")?,
                name: text("display_name"),
                context: entry.get("max_input_tokens").and_then(Value::as_u64),
                tools: Some(true),
                ..Model::default()
            })
        };
        Ok(models.iter().filter_map(model).collect())
    }

    async fn stream(&self, request: Request) -> Result<ReplyStream, ProviderError> {
        let body = encode::body(&self.vendor.quirks, &request, &self.memos);
        let response = self.http.post("/messages", body, request.delivery).await?;
        let decoder = MessagesDecoder::new(self.http.origin.clone());
        receive(&self.http, response, request.delivery, decoder).await
    }
}
