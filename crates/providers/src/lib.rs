//! Model providers: one file for each wire format, and vendors as data in `compatible.yaml`.
//!
//! A provider sends a request and hands out the reply as it comes. It does not retry, does not run
//! tools, and reads neither files nor the environment: addresses and keys come in as an
//! [`Instance`]. The one exception is the proxy variables, which the HTTP client reads by itself
//! for servers that are not on this machine.

mod anthropic;
mod body;
pub mod catalog;
mod endpoint;
mod failure;
pub mod fallback;
mod gemini;
mod http;
mod images;
pub mod key;
pub mod learning;
pub mod lines;
pub mod listed;
pub mod model_cache;
mod ollama;
mod openai_chat;
#[cfg(any(test, fuzzing))]
pub mod oracles;
mod reply;
mod responses;
pub mod script;
pub mod single;
pub mod sse;
mod think_tags;
pub mod witness;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use contract::provider::{Failure, Provider, ProviderError};
use contract::secret::Secret;
use tokio::net::TcpStream;

use catalog::{Vendor, Wire};
use endpoint::Endpoint;
use failure::Origin;
use http::{Headers, Http};
use openai_chat::{Address, OpenaiChat};

pub use http::Timeouts;

/// The time for a local server to accept a connection.
const ANSWER_PATIENCE: Duration = Duration::from_millis(150);

/// A provider as it is configured. Has no `Debug`, because headers can hold secrets.
#[derive(Clone)]
pub struct Instance {
    /// The name in the configuration.
    pub name: String,
    pub vendor: &'static Vendor,
    /// The address, if it differs from the vendor's.
    pub base_url: Option<String>,
    pub api_key: Option<Secret<String>>,
    /// The variable that the key comes from, named in hints.
    pub key_env: Option<String>,
    /// Headers of every request, over those of the vendor.
    pub headers: BTreeMap<String, String>,
    pub timeouts: Timeouts,
    pub api: Api,
    /// Receives requests and replies.
    pub witness: Option<Arc<dyn witness::Witness>>,
}

/// The method of a server that has several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Api {
    /// As the catalog says for the vendor and the model.
    #[default]
    Usual,
    /// Chat completions.
    Chat,
    Responses,
}

impl Api {
    /// Reads `chat` or `responses`.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "chat" => Some(Self::Chat),
            "responses" => Some(Self::Responses),
            _ => None,
        }
    }
}

impl Instance {
    /// The vendor with its defaults, without a key.
    pub fn of(vendor: &'static Vendor) -> Self {
        Self {
            name: vendor.name.clone(),
            vendor,
            base_url: None,
            api_key: None,
            key_env: vendor.key_env.clone(),
            headers: BTreeMap::new(),
            api: Api::Usual,
            timeouts: if vendor.local { Timeouts::LOCAL } else { Timeouts::REMOTE },
            witness: None,
        }
    }

    fn label(&self) -> String {
        if self.name == self.vendor.name { self.vendor.label.clone() } else { self.name.clone() }
    }
}

/// Makes a provider. Nothing is sent until it is asked for something.
pub fn connect(instance: Instance) -> Result<Arc<dyn Provider>, ProviderError> {
    let vendor = instance.vendor;
    let key = instance.api_key.as_ref();
    let has_key = key.is_some_and(|key| !key.expose().trim().is_empty());
    if !has_key && vendor.key_env.is_some() && instance.base_url.is_none() {
        return Err(key_required(&instance));
    }
    if matches!(vendor.wire, Wire::Script | Wire::Plugin) {
        return Err(ProviderError {
            kind: Failure::Rejected,
            message: format!("`{}` has no server of its own", instance.name),
            hint: Some("a scenario file is given as the model".into()),
        });
    }
    let base_url = instance.base_url.as_ref().or(vendor.base_url.as_ref());
    let endpoint = parse_endpoint(vendor, base_url.map_or("", String::as_str))?;
    let headers = headers(&instance)?;
    let (is_configured, api) = (instance.base_url.is_some(), instance.api);
    let http = |endpoint: Endpoint| {
        let (timeouts, witness) = (instance.timeouts, instance.witness.clone());
        let name = instance.name.clone();
        let origin = origin(instance, &endpoint);
        Http::new(name, origin, endpoint, headers, timeouts).witnessed(witness)
    };
    Ok(match vendor.wire {
        Wire::Anthropic => {
            Arc::new(anthropic::Anthropic::new(vendor, http(anthropic::normalize(endpoint))))
        }
        Wire::Ollama => Arc::new(ollama::Ollama::new(vendor, http(ollama::normalize(endpoint)))),
        Wire::Gemini if api == Api::Chat => {
            let endpoint = gemini::normalize(endpoint).with_path(|path| format!("{path}/openai"));
            Arc::new(OpenaiChat::new(vendor, Address::Vendor, api, http(endpoint)))
        }
        Wire::Gemini => Arc::new(gemini::Gemini::new(vendor, http(gemini::normalize(endpoint)))),
        Wire::OpenaiChat | Wire::Script | Wire::Plugin => {
            let address = if is_configured { Address::Configured } else { Address::Vendor };
            Arc::new(OpenaiChat::new(vendor, address, api, http(openai_chat::normalize(endpoint))))
        }
    })
}

fn parse_endpoint(vendor: &Vendor, base_url: &str) -> Result<Endpoint, ProviderError> {
    Endpoint::parse(base_url, (vendor.wire == Wire::Ollama).then_some(ollama::PORT))
}

/// Returns true if a server accepts connections at this address. Takes 150 ms at most.
pub async fn is_answering(vendor: &Vendor, base_url: &str) -> bool {
    let Ok(endpoint) = parse_endpoint(vendor, base_url) else { return false };
    let attempt = TcpStream::connect(endpoint.socket());
    matches!(tokio::time::timeout(ANSWER_PATIENCE, attempt).await, Ok(Ok(_)))
}

fn headers(instance: &Instance) -> Result<Headers, ProviderError> {
    let mut headers = Headers::default();
    let key = instance.api_key.as_ref();
    if let Some(key) = key.filter(|key| !key.expose().trim().is_empty()) {
        match instance.vendor.wire {
            Wire::Anthropic => headers.key("x-api-key", "", key)?,
            Wire::Gemini if instance.api != Api::Chat => headers.key("x-goog-api-key", "", key)?,
            Wire::OpenaiChat | Wire::Ollama | Wire::Gemini | Wire::Script | Wire::Plugin => {
                headers.key("authorization", "Bearer ", key)?;
            }
        }
    }
    if instance.vendor.wire == Wire::Anthropic {
        headers.extend(&[("anthropic-version".into(), anthropic::VERSION.into())].into())?;
    }
    headers.extend(&instance.vendor.quirks.headers)?;
    headers.extend(&instance.headers)?;
    Ok(headers)
}

fn origin(instance: Instance, endpoint: &Endpoint) -> Origin {
    let provider = instance.label();
    let key = instance.api_key.map(|key| Secret::new(key.expose().trim().to_owned()));
    let headers = instance.headers.into_values().flat_map(|value| {
        // Of `Bearer key` a server may repeat the key alone.
        let last = value.rsplit_once(' ').map(|(_, last)| last.to_owned());
        last.into_iter().chain([value])
    });
    let hidden = headers.chain(endpoint.password()).map(Secret::new);
    let mut secrets: Vec<Secret<String>> = key.into_iter().chain(hidden).collect();
    // A longer secret may contain a shorter one, which would leave the rest of it.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.expose().len()));
    Origin { provider, host: endpoint.host(), key_env: instance.key_env, secrets }
}

fn key_required(instance: &Instance) -> ProviderError {
    let variable = instance.key_env.as_deref().or(instance.vendor.key_env.as_deref());
    let label = instance.label();
    let hint = "`brynhild api providers` shows the providers found; `brynhild demo` needs no key";
    ProviderError {
        kind: Failure::Auth,
        message: match variable {
            Some(variable) => format!("{label} API key required. Set `{variable}`"),
            None => format!("{label} API key required. Set `api_key_env` of this provider"),
        },
        hint: Some(hint.into()),
    }
}

#[cfg(test)]
mod tests;
