//! The key `embeddings` of a role's documents.

use serde_json::Value;

use super::Fields;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct EmbeddingSettings {
    pub provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) api_key_env: Option<String>,
}

impl EmbeddingSettings {
    pub(crate) fn read(value: Option<&Value>, path: &str, fields: &mut Fields) -> Option<Self> {
        let from = fields.mapping(value, path)?;
        let keys = ["provider", "model", "base_url", "api_key_env"];
        fields.warn_unknown(from, path, &keys);
        let above = format!("{path}.");
        let text = |key| fields.text(from, key, &above).filter(|text| !text.is_empty());
        let [provider, model, base_url, api_key_env] = keys.map(text);
        Some(Self { provider, model, base_url, api_key_env })
    }
}
