//! Vectors of texts from a model behind an interface like that of OpenAI.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Method, Url};
use serde::Deserialize;
use serde_json::json;

use crate::endpoint::Endpoint;
use crate::host::{Exchange, HttpClient};
use crate::role::EmbeddingSettings;

const TIMEOUT: Duration = Duration::from_mins(1);
const REPLY_BYTES: usize = 32 << 20;
/// Texts of one request.
const BATCH: usize = 64;

/// The usual model of a provider.
const USUAL_MODELS: [(&str, &str); 4] = [
    ("openai", "text-embedding-3-small"),
    ("anthropic", "text-embedding-3-small"),
    ("google", "text-embedding-004"),
    ("ollama", "nomic-embed-text"),
];

/// A model that makes vectors of texts.
pub struct Embedder {
    url: Url,
    headers: HeaderMap,
    pub(crate) model: String,
    requests: Arc<dyn HttpClient>,
}

#[derive(Deserialize)]
struct Reply {
    data: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    index: usize,
    embedding: Vec<f32>,
}

impl Embedder {
    /// The model that settings name. An error says why there is none.
    pub fn new(
        settings: &EmbeddingSettings,
        requests: Arc<dyn HttpClient>,
    ) -> Result<Self, String> {
        let provider = settings.provider.as_deref().unwrap_or_default();
        let Endpoint { url, headers } = Endpoint::new(
            (provider, settings.base_url.as_deref(), settings.api_key_env.as_deref()),
            "embeddings",
            &*requests,
        )?;
        let known = USUAL_MODELS.iter().find(|(name, _)| *name == provider).map(|it| it.1);
        let model = settings.model.as_deref().or(known);
        let model = model.ok_or("`model` is missing")?.to_owned();
        Ok(Self { url, headers, model, requests })
    }

    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    pub(crate) async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, String> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            let failed = |what: String| format!("embeddings from {}: {what}", self.host());
            let mut data = self.request(batch).await.map_err(failed)?;
            data.sort_by_key(|item| item.index);
            if data.len() != batch.len() {
                return Err(failed(format!("{} vectors for {} texts", data.len(), batch.len())));
            }
            vectors.extend(data.into_iter().map(|item| item.embedding));
        }
        Ok(vectors)
    }

    async fn request(&self, texts: &[String]) -> Result<Vec<Embedding>, String> {
        let exchange = Exchange {
            method: Method::POST,
            url: self.url.clone(),
            headers: self.headers.clone(),
            body: Some(json!({"model": self.model, "input": texts}).to_string().into_bytes()),
            limit: REPLY_BYTES,
            timeout: TIMEOUT,
        };
        let reply = self.requests.exchange(exchange).await?;
        if reply.status != 200 {
            let text: String = reply.text.chars().take(200).collect();
            return Err(format!("HTTP {}: {text}", reply.status));
        }
        let reply: Reply = serde_json::from_str(&reply.text).map_err(|error| error.to_string())?;
        Ok(reply.data)
    }
}

/// The cosine of the angle between two vectors; none if they do not have the same length.
pub(crate) fn cosine(one: &[f32], other: &[f32]) -> Option<f64> {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let length = (dot(one, one) * dot(other, other)).sqrt();
    (one.len() == other.len() && length > 0.0).then(|| dot(one, other) / length)
}

pub(crate) fn to_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

pub(crate) fn from_bytes(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number)).collect()
}
