//! Chat completions: the format of OpenAI, OpenRouter and most others. What sets vendors apart is
//! data in the catalog, never a name in this code.

mod chunk;
mod decode;
mod encode;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use contract::provider::{Delivery, Model, Provider, ProviderError, ReplyStream, Request};
use serde_json::Value;

use crate::body::Memos;
use crate::catalog::{Vendor, is_listed};
use crate::endpoint::Endpoint;
use crate::http::Http;
use crate::reply::receive;
use crate::{Api, responses};
use decode::ChatDecoder;
pub(crate) use encode::Address;

pub(crate) struct OpenaiChat {
    vendor: &'static Vendor,
    address: Address,
    api: Api,
    http: Http,
    memos: Memos,
}

impl OpenaiChat {
    pub(crate) fn new(vendor: &'static Vendor, address: Address, api: Api, http: Http) -> Self {
        Self { vendor, address, api, http, memos: Memos::default() }
    }
}

impl OpenaiChat {
    fn uses_responses(&self, model: &str) -> bool {
        match self.api {
            Api::Chat => false,
            Api::Responses => true,
            Api::Usual => {
                let reasons = is_listed(&self.vendor.quirks.responses_models, model);
                reasons && self.address == Address::Vendor
            }
        }
    }
}

/// A decoder for fuzzing.
#[cfg(any(test, fuzzing))]
pub(crate) fn decoder(
    origin: std::sync::Arc<crate::failure::Origin>,
) -> impl crate::reply::Decoder {
    ChatDecoder::new(origin)
}

/// The base address of the methods, from any part of their addresses.
pub(crate) fn normalize(endpoint: Endpoint) -> Endpoint {
    endpoint.with_path(|path| match path.strip_suffix("/chat/completions") {
        Some(base) => base.to_owned(),
        None if path.is_empty() => "/v1".to_owned(),
        None => path.to_owned(),
    })
}

#[async_trait]
impl Provider for OpenaiChat {
    fn name(&self) -> &str {
        &self.http.name
    }

    async fn models(&self) -> Result<Vec<Model>, ProviderError> {
        let listing = self.http.get("/models").await?;
        let Value::Array(models) = listing.get("data").unwrap_or(&listing) else {
            let sample = listing.to_string();
            let origin = &self.http.origin;
            return Err(origin.garbled("no list of models", sample.as_bytes()));
        };
        Ok(models.iter().filter_map(model).collect())
    }

    async fn stream(&self, request: Request) -> Result<ReplyStream, ProviderError> {
        if self.uses_responses(&request.model) {
            return responses::stream(&self.http, &self.vendor.quirks, &self.memos, &request).await;
        }
        let body = encode::body(&self.vendor.quirks, self.address, &request, &self.memos);
        let delivery: Delivery = request.delivery;
        let response = self.http.post("/chat/completions", body, delivery).await?;
        let decoder = ChatDecoder::new(self.http.origin.clone());
        receive(&self.http, response, delivery, decoder).await
    }
}

fn model(entry: &Value) -> Option<Model> {
    let id = entry.get("id")?.as_str()?;
    let text = |name: &str| entry.get(name).and_then(Value::as_str).map(str::to_owned);
    let context = [
        "/context_length",
        "/context_window",
        "/max_model_len",
        "/max_context_length",
        "/meta/n_ctx_train",
    ];
    let price = |name: &str| {
        let price = entry.get("pricing")?.get(name)?;
        let dollars = match price {
            Value::String(text) => text.parse().ok()?,
            price => price.as_f64()?,
        };
        // A negative price marks a router that charges what its choice costs.
        (dollars >= 0.0).then_some(dollars * 1e6)
    };
    let parameters = entry.get("supported_parameters").and_then(Value::as_array);
    Some(Model {
        id: id.to_owned(),
        name: text("name").or_else(|| text("display_name")),
        context: context.iter().find_map(|path| entry.pointer(path)?.as_u64()),
        input_price: price("prompt"),
        output_price: price("completion"),
        tools: parameters.map(|names| names.iter().any(|name| name == "tools")),
        reasoning: parameters.map(|names| names.iter().any(|name| name == "reasoning")),
    })
}
