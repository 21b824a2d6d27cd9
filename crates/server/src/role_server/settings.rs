//! The keys `security.server`, `security.rate_limit` and `security.preset` of a role, as far as
//! they concern its server.

use std::num::NonZeroU32;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Http {
    pub(super) cors_origins: Vec<String>,
    pub(super) require_https: bool,
    pub(super) max_request_body_bytes: usize,
    pub(super) max_conversations: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rate {
    pub(super) requests_per_minute: NonZeroU32,
    pub(super) burst_size: NonZeroU32,
}

/// The limits of a server of roles.
#[derive(Clone, Debug)]
pub struct RoleServerSettings {
    pub(super) server: Http,
    pub(super) rate: Rate,
}

impl RoleServerSettings {
    /// Reads the keys below `security`. Keys that are written replace those of a preset.
    pub fn read(security: &Value) -> Result<Self, String> {
        let (is_public, rate) = match security["preset"].as_str().unwrap_or_default() {
            "public" | "sandbox" => (true, (30, 5)),
            "internal" => (false, (120, 20)),
            "development" => (false, (1_000, 100)),
            _ => (false, (60, 10)),
        };
        let server = json!({
            "cors_origins": [],
            "require_https": is_public,
            "max_request_body_bytes": 1 << 20,
            "max_conversations": 1_000,
        });
        let rate = json!({"requests_per_minute": rate.0, "burst_size": rate.1});
        Ok(Self {
            server: merged(&server, security, "server")?,
            rate: merged(&rate, security, "rate_limit")?,
        })
    }
}

fn merged<T: DeserializeOwned>(usual: &Value, security: &Value, key: &str) -> Result<T, String> {
    let mut keys = usual.as_object().cloned().unwrap_or_default();
    match &security[key] {
        Value::Null => {}
        Value::Object(written) => keys.extend(written.clone()),
        _ => return Err(format!("security.{key}: it is not a mapping")),
    }
    serde_json::from_value(keys.into()).map_err(|error| format!("security.{key}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_keys_replace_those_of_a_preset() {
        let security = json!({"preset": "public", "rate_limit": {"burst_size": 2}});
        let settings = RoleServerSettings::read(&security).unwrap();
        assert!(settings.server.require_https);
        let Rate { requests_per_minute, burst_size } = settings.rate;
        assert_eq!((requests_per_minute.get(), burst_size.get()), (30, 2));
        let settings = RoleServerSettings::read(&Value::Null).unwrap();
        assert_eq!(settings.server.max_request_body_bytes, 1 << 20);
    }
}
