//! Agents of other programs that a role hands work to. By the A2A protocol one message goes out by
//! JSON-RPC, and a task is looked at until it has ended; one that is served as a model is asked for
//! a completion.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::secret::Secret;
use contract::tool::{Plan, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::builtin::http;
use crate::host::{Exchange, HttpClient};

const LARGEST: usize = 4 << 20;
const PAUSE: Duration = Duration::from_millis(300);
const UNDER_WAY: [&str; 2] = ["submitted", "working"];

#[derive(Clone, Debug)]
pub struct Address {
    url: Url,
    headers: BTreeMap<String, Secret<String>>,
}

impl Address {
    /// An address with http or https; an error says what is wrong with it.
    pub fn new(url: &str, headers: BTreeMap<String, Secret<String>>) -> Result<Self, String> {
        Ok(Self { url: http::address(url)?, headers })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Speech {
    Tasks,
    /// As a model of this name, below `/v1/chat/completions`.
    Completions(String),
}

pub struct RemoteAgent {
    spec: Arc<ToolSpec>,
    address: Address,
    speech: Speech,
    time: Duration,
    requests: Arc<dyn HttpClient>,
}

impl RemoteAgent {
    pub fn new(
        spec: Arc<ToolSpec>,
        (address, speech): (Address, Speech),
        time: Duration,
        requests: Arc<dyn HttpClient>,
    ) -> Self {
        Self { spec, address, speech, time, requests }
    }

    async fn post(&self, url: Url, body: &Value) -> Result<Value, String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &self.address.headers {
            let wrong = || format!("the header `{name}` cannot be sent");
            let name = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
            let mut value = HeaderValue::try_from(value.expose()).map_err(|_| wrong())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let exchange = Exchange {
            method: Method::POST,
            url,
            headers,
            body: Some(body.to_string().into_bytes()),
            limit: LARGEST,
            timeout: self.time,
        };
        let answered = self.requests.exchange(exchange).await?;
        if !(200..300).contains(&answered.status) {
            return Err(format!("HTTP {}", answered.status));
        }
        serde_json::from_str(&answered.text)
            .map_err(|error| format!("it answered with what is no JSON: {error}"))
    }

    async fn ask(&self, method: &str, params: Value) -> Result<Value, String> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = self.post(self.address.url.clone(), &body).await?;
        if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
            let words = error.get("message").and_then(Value::as_str).unwrap_or("no reason given");
            return Err(words.to_owned());
        }
        Ok(answer.get("result").cloned().unwrap_or_default())
    }

    async fn completed(&self, model: &str, prompt: &str) -> Result<String, String> {
        let mut url = self.address.url.clone();
        url.path_segments_mut()
            .map_err(|()| "nothing can stand below its address".to_owned())?
            .pop_if_empty()
            .extend(["v1", "chat", "completions"]);
        let messages = json!([{"role": "user", "content": prompt}]);
        let answer = self.post(url, &json!({"model": model, "messages": messages})).await?;
        let words = answer.pointer("/choices/0/message/content").and_then(Value::as_str);
        words.map(str::to_owned).ok_or_else(|| "its answer has no message".to_owned())
    }

    async fn work(&self, prompt: &str, id: &str) -> Result<String, String> {
        if let Speech::Completions(model) = &self.speech {
            return self.completed(model, prompt).await;
        }
        let message = json!({
            "kind": "message", "role": "user", "messageId": id,
            "parts": [{"kind": "text", "text": prompt}],
        });
        let mut result = self.ask("message/send", json!({"message": message})).await?;
        while UNDER_WAY.contains(&state(&result)) {
            let task = result.get("id").cloned().unwrap_or_default();
            if task.is_null() {
                return Err("its task has no id to ask for".to_owned());
            }
            tokio::time::sleep(PAUSE).await;
            result = self.ask("tasks/get", json!({"id": task})).await?;
        }
        let words = words(&result);
        match state(&result) {
            "" | "completed" if !words.is_empty() => Ok(words),
            "" | "completed" => Err("it ended without a word".to_owned()),
            state if words.is_empty() => Err(format!("its task is {state}")),
            state => Err(format!("its task is {state}: {words}")),
        }
    }
}

fn state(result: &Value) -> &str {
    result.pointer("/status/state").and_then(Value::as_str).unwrap_or_default()
}

/// The words of a message or of a task's results; of its last message where it has none.
fn words(result: &Value) -> String {
    let texts = |parts: &Value| -> Vec<String> {
        let parts = parts.as_array().into_iter().flatten();
        parts.filter_map(|part| part.get("text")?.as_str().map(str::to_owned)).collect()
    };
    let artifacts = result.get("artifacts").and_then(Value::as_array).into_iter().flatten();
    let mut found: Vec<String> = artifacts.flat_map(|it| texts(&it["parts"])).collect();
    if found.is_empty() {
        found = texts(&result["parts"]);
    }
    if found.is_empty() {
        found = result.pointer("/status/message/parts").map(texts).unwrap_or_default();
    }
    found.join("\n")
}

#[async_trait]
impl Tool for RemoteAgent {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, _args: &Value) -> Result<Plan, ToolError> {
        Ok(Plan::from(vec![Action::Connect { host: http::host(&self.address.url) }]))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let prompt = call.args.get("prompt").and_then(Value::as_str).unwrap_or_default();
        let work = tokio::time::timeout(self.time, self.work(prompt, call.id.as_str()));
        let done = tokio::select! {
            done = work => done,
            () = context.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        let done = done.unwrap_or_else(|_| {
            Err(format!("it did not answer within {} s", self.time.as_secs_f64()))
        });
        Ok(match done {
            Ok(words) => ToolOutput::success(words),
            Err(why) => ToolOutput::failure(format!("[DELEGATION ERROR] {why}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_found_in_messages_results_and_states() {
        let text =
            |text: &str| json!([{"kind": "text", "text": text}, {"kind": "data", "data": {}}]);
        assert_eq!(words(&json!({"kind": "message", "parts": text("a")})), "a");
        let task = json!({
            "status": {"state": "completed", "message": {"parts": text("late")}},
            "artifacts": [{"parts": text("a")}, {"parts": text("b")}],
        });
        assert_eq!((words(&task).as_str(), state(&task)), ("a\nb", "completed"));
        let failed = json!({"status": {"state": "failed", "message": {"parts": text("no")}}});
        assert_eq!((words(&failed).as_str(), state(&failed)), ("no", "failed"));
    }
}
