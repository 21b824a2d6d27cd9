//! The protocol between the program and a worker: JSON-RPC 2.0, one object a line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The version of the agreement with `host.py`.
pub(crate) const PROTOCOL: u32 = 1;
/// The request was cancelled.
pub(crate) const CANCELLED: i64 = -32800;

/// A request of ours.
#[derive(Serialize)]
pub(crate) struct Call<'a, P: Serialize> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    params: &'a P,
}

/// A request as one line.
pub(crate) fn request<P: Serialize>(
    id: u64,
    method: &str,
    params: &P,
) -> serde_json::Result<Vec<u8>> {
    let mut line = Vec::with_capacity(256);
    serde_json::to_writer(&mut line, &Call { jsonrpc: "2.0", id, method, params })?;
    line.push(b'\n');
    Ok(line)
}

/// The line that cancels request `id`.
pub(crate) fn cancel(id: u64) -> Vec<u8> {
    let text = format!(r#"{{"jsonrpc":"2.0","method":"cancel","params":{{"id":{id}}}}}"#);
    [text.as_bytes(), b"\n"].concat()
}

/// A line of the worker's.
#[derive(Deserialize)]
pub(crate) struct Incoming<'a> {
    /// The request that it answers.
    #[serde(default)]
    pub(crate) id: Option<u64>,
    /// The name of a notification.
    #[serde(default)]
    pub(crate) method: Option<String>,
    #[serde(default, borrow)]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) error: Option<Fault>,
}

/// Why a request failed in the worker.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Fault {
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) data: Option<Value>,
}

impl Fault {
    /// A field of what came with it.
    pub(crate) fn datum(&self, name: &str) -> Option<&str> {
        self.data.as_ref()?.get(name)?.as_str()
    }
}

/// The parameters of an `event` notification.
#[derive(Deserialize)]
pub(crate) struct EventNote<'a> {
    pub(crate) id: u64,
    #[serde(borrow)]
    pub(crate) event: &'a RawValue,
}

/// The parameters of a `log` notification.
#[derive(Deserialize)]
pub(crate) struct LogNote {
    #[serde(default)]
    pub(crate) text: String,
}

/// The parameters of a `loading` notification.
#[derive(Deserialize)]
pub(crate) struct LoadingNote {
    /// The file; none where it is loaded.
    #[serde(default)]
    pub(crate) file: Option<String>,
}

/// The answer to `initialize`.
#[derive(Deserialize)]
pub(crate) struct Welcome {
    pub(crate) protocol: u32,
}

/// The parameters of `initialize`.
#[derive(Serialize)]
pub(crate) struct Initialize<'a> {
    pub(crate) protocol: u32,
    pub(crate) dialect: &'static str,
    pub(crate) cwd: String,
    pub(crate) project_root: String,
    pub(crate) config: &'a Value,
    /// Files that it must not load, with how they ended a process.
    pub(crate) left_out: BTreeMap<String, String>,
    /// The one of these behind which it must load none.
    pub(crate) last: Option<String>,
    /// The dialect's own parameters for the adapter.
    #[serde(flatten)]
    pub(crate) rest: Map<String, Value>,
}

/// The answer to `call`.
#[derive(Deserialize)]
pub(crate) struct CallResult {
    #[serde(default)]
    pub(crate) success: bool,
    #[serde(default)]
    pub(crate) output: String,
    #[serde(default)]
    pub(crate) error: Option<String>,
    #[serde(default)]
    pub(crate) traceback: Option<String>,
    #[serde(default)]
    pub(crate) live: Option<Live>,
}

/// The properties of a tool that changed since it was last described.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Live {
    #[serde(default)]
    pub(crate) description: Option<String>,
    #[serde(default)]
    pub(crate) input_schema: Option<Value>,
    #[serde(default)]
    pub(crate) requires_permission: Option<bool>,
}

/// The answer to `look`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Looked {
    #[serde(default)]
    pub(crate) live: Option<Live>,
}

/// The answer to `open_provider`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Opened {
    pub(crate) handle: Value,
    #[serde(default = "yes")]
    pub(crate) supports_tools: bool,
    #[serde(default)]
    pub(crate) default_reasoning_format: Option<String>,
}

fn yes() -> bool {
    true
}

/// The answer to `models`.
#[derive(Deserialize)]
pub(crate) struct Models {
    #[serde(default)]
    pub(crate) models: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_line() {
        let line = request(7, "call", &serde_json::json!({"a": "b\nc"})).unwrap();
        let text = String::from_utf8(line).unwrap();
        assert_eq!(
            text,
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"call\",\"params\":{\"a\":\"b\\nc\"}}\n"
        );
    }

    #[test]
    fn answers_faults_and_notes_are_distinguished() {
        let answer: Incoming = serde_json::from_str(r#"{"id":1,"result":{}}"#).unwrap();
        assert!(answer.id == Some(1) && answer.result.is_some() && answer.error.is_none());
        let text = r#"{"id":1,"error":{"code":-32000,"message":"m","data":{"type":"ValueError"}}}"#;
        let fault = serde_json::from_str::<Incoming>(text).unwrap().error.unwrap();
        assert_eq!(fault.datum("type"), Some("ValueError"));
        let note: Incoming =
            serde_json::from_str(r#"{"method":"event","params":{"id":2,"event":{}}}"#).unwrap();
        assert_eq!(note.method.as_deref(), Some("event"));
    }
}
