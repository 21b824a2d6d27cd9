//! Requests and responses of providers, in a file beside the conversation log: one JSON object a line with
//! `timestamp`, `direction`, `provider`, `model`, `endpoint` and `payload`.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use contract::id::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::{Error, Settings, files};
use crate::error::{FileError, cannot};

/// Writes down exchanges with a provider as they happen.
pub struct RawLog {
    /// The file.
    pub path: PathBuf,
    file: Mutex<File>,
    zone: TimeZone,
}

/// One exchange.
pub struct RawExchange<'a> {
    /// `request`, `response`, `stream_complete` or `error`.
    pub direction: &'a str,
    /// The provider's name.
    pub provider: &'a str,
    /// The model.
    pub model: &'a str,
    /// The address.
    pub endpoint: &'a str,
    /// The body; as JSON if it is JSON, else as text.
    pub payload: &'a [u8],
    /// Milliseconds since the request.
    pub duration_ms: u64,
}

impl RawLog {
    /// Begins a log that is named for the moment, in a file of its own.
    pub fn create(settings: &Settings, at: Timestamp) -> Result<Self, Error> {
        let (path, file) = files::create(settings, at, "brynhild_raw")?;
        Ok(Self { path, file: Mutex::new(file), zone: settings.zone.clone() })
    }

    /// Writes down an exchange.
    pub fn record(&self, exchange: &RawExchange<'_>) -> Result<(), FileError> {
        let payload: Value = serde_json::from_slice(exchange.payload)
            .unwrap_or_else(|_| String::from_utf8_lossy(exchange.payload).into());
        let now = Timestamp::now().0.to_zoned(self.zone.clone());
        let line = json!({
            "timestamp": now.strftime("%Y-%m-%dT%H:%M:%S%.6f").to_string(),
            "direction": exchange.direction,
            "provider": exchange.provider,
            "model": exchange.model,
            "endpoint": exchange.endpoint,
            "payload": payload,
            "duration_ms": exchange.duration_ms,
        });
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(file, "{line}").map_err(cannot("write", &self.path))
    }
}

/// The line of an exchange in a raw log, for people.
pub fn exchange(number: usize, line: &Value) -> String {
    let [time, direction, endpoint] =
        ["timestamp", "direction", "endpoint"].map(|key| line[key].as_str().unwrap_or_default());
    let payload = &line["payload"];
    let payload = payload.as_str().map_or_else(|| format!("{payload:#}"), str::to_owned);
    format!("== [{number}] {time} {direction} {endpoint}\n{}\n\n", payload.trim_end())
}

/// The line of an exchange in a raw log, with the size of its payload instead of the payload.
pub fn summary(number: usize, line: &Value) -> Value {
    let payload = &line["payload"];
    let size = payload.as_str().map_or_else(|| payload.to_string().len(), str::len);
    json!({
        "index": number,
        "timestamp": line["timestamp"],
        "direction": line["direction"],
        "provider": line["provider"],
        "model": line["model"],
        "endpoint": line["endpoint"],
        "size": size,
        "duration_ms": line["duration_ms"],
    })
}
