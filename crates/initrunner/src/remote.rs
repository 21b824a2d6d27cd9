//! Agents of other programs that a role hands work to. By the A2A protocol, version 1.0 or the one
//! before, one message goes out by JSON-RPC, and a task is looked at until it has ended; an agent
//! that is served as a model is asked for a completion.

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
use tokio::time::{Instant, timeout_at};

use super::builtin::http;
use crate::host::{Exchange, HttpClient};

const REPLY_LIMIT: usize = 4 << 20;
/// Pauses between looks at a task: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Characters of an error page that the model reads.
const ERROR_LENGTH: usize = 500;

const CARD: &str = ".well-known/agent-card.json";
const VERSION_HEADER: HeaderName = HeaderName::from_static("a2a-version");
/// Errors of JSON-RPC by which a server says that it speaks another version.
const METHOD_NOT_FOUND: i64 = -32601;
const VERSION_NOT_SUPPORTED: i64 = -32009;

#[derive(Clone, Debug)]
pub struct Address {
    name: String,
    url: Url,
    headers: BTreeMap<String, Secret<String>>,
}

impl Address {
    /// The http or https address of the agent `name`; an error says what is wrong with it.
    pub fn new(
        name: &str,
        url: &str,
        headers: BTreeMap<String, Secret<String>>,
    ) -> Result<Self, String> {
        Ok(Self { name: name.to_owned(), url: http::address(url)?, headers })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Speech {
    Tasks,
    /// As a model of this name, below `/v1/chat/completions`.
    Completions(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    /// The version before, with other names of methods and states.
    Older,
}

/// Why a request gave no result. All but the first two are text for the model.
enum Failure {
    Rpc { code: i64, message: String },
    Status(u16, String),
    Other(String),
}

pub struct RemoteAgent {
    spec: Arc<ToolSpec>,
    address: Address,
    speech: Speech,
    time: Duration,
    requests: Arc<dyn HttpClient>,
    /// Lets the agent remember earlier tasks of this delegate.
    context_id: String,
}

impl RemoteAgent {
    /// The tool that hands work to the agent, with its time limit.
    pub fn new(
        spec: Arc<ToolSpec>,
        (address, speech): (Address, Speech),
        time: Duration,
        requests: Arc<dyn HttpClient>,
    ) -> Self {
        let context_id = format!("{:032x}", fastrand::u128(..));
        Self { spec, address, speech, time, requests, context_id }
    }

    /// The host that the prompt goes to.
    pub fn host(&self) -> String {
        http::host(&self.address.url)
    }

    async fn send(
        &self,
        (method, url): (Method, Url),
        version: Version,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let mut headers = HeaderMap::new();
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if version == Version::One {
            headers.insert(VERSION_HEADER, HeaderValue::from_static("1.0"));
        }
        for (name, value) in &self.address.headers {
            let wrong = || Failure::Other(format!("the header `{name}` cannot be sent"));
            let name = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
            let mut value = HeaderValue::try_from(value.expose()).map_err(|_| wrong())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let body = body.map(|body| body.to_string().into_bytes());
        let (limit, timeout) = (REPLY_LIMIT, self.time);
        let exchange = Exchange { method, url, headers, body, limit, timeout };
        let reply = self.requests.exchange(exchange).await.map_err(Failure::Other)?;
        if !(200..300).contains(&reply.status) {
            return Err(Failure::Status(reply.status, reply.text));
        }
        serde_json::from_str(&reply.text)
            .map_err(|error| Failure::Other(format!("its answer is not JSON: {error}")))
    }

    /// The text for the model about a failed request.
    fn explained(&self, failure: Failure) -> String {
        let name = &self.address.name;
        match failure {
            Failure::Rpc { message, .. } => {
                format!("A2A task failed for agent '{name}': {message}")
            }
            Failure::Status(status, body) => {
                let body = contract::text::head(&body, ERROR_LENGTH);
                format!("HTTP {status} from agent '{name}': {body}")
            }
            Failure::Other(what) => format!("Failed to reach agent '{name}': {what}"),
        }
    }

    async fn ask(
        &self,
        (url, version): (&Url, Version),
        method: &str,
        params: Value,
    ) -> Result<Value, Failure> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = self.send((Method::POST, url.clone()), version, Some(&body)).await?;
        if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
            let message = error.get("message").and_then(Value::as_str);
            let message = message.unwrap_or("no reason given").to_owned();
            let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
            return Err(Failure::Rpc { code, message });
        }
        let result = answer.get("result").cloned().unwrap_or_default();
        // Since 1.0 a result says which of the two it is.
        let inner = result.get("task").or_else(|| result.get("message")).cloned();
        Ok(inner.unwrap_or(result))
    }

    /// The address and version that the agent's card names; its own address, and 1.0, without a card.
    async fn interface(&self) -> (Url, Version) {
        let own = self.address.url.clone();
        let card = self.card().await.unwrap_or_default();
        let interfaces = card.get("supportedInterfaces").and_then(Value::as_array);
        let interface = interfaces.into_iter().flatten().find(|it| {
            let version = it["protocolVersion"].as_str().unwrap_or_default();
            it["protocolBinding"] == "JSONRPC" && version.starts_with("1.")
        });
        let is_older = interfaces.is_none() && card.get("protocolVersion").is_some();
        let version = if is_older { Version::Older } else { Version::One };
        let named = interface.and_then(|it| it.get("url")).or_else(|| card.get("url"));
        let named = named.and_then(Value::as_str).and_then(|url| own.join(url).ok());
        // Only the agent's own host was judged, and gets the headers.
        let named = named.filter(|url| url.origin() == own.origin());
        (named.unwrap_or(own), version)
    }

    async fn card(&self) -> Option<Value> {
        let mut url = self.address.url.clone();
        url.path_segments_mut().ok()?.pop_if_empty().extend(CARD.split('/'));
        self.send((Method::GET, url), Version::One, None).await.ok()
    }

    async fn completed(&self, model: &str, prompt: &str) -> Result<String, String> {
        let mut url = self.address.url.clone();
        url.path_segments_mut()
            .map_err(|()| "nothing can stand below its address".to_owned())?
            .pop_if_empty()
            .extend(["v1", "chat", "completions"]);
        let messages = json!([{"role": "user", "content": prompt}]);
        let body = json!({"model": model, "messages": messages});
        let answer = self.send((Method::POST, url), Version::Older, Some(&body)).await;
        let answer = answer.map_err(|failure| self.explained(failure))?;
        let words = answer.pointer("/choices/0/message/content").and_then(Value::as_str);
        words.map(str::to_owned).ok_or_else(|| "its answer has no message".to_owned())
    }

    /// Hands over the prompt; gives the address and version that worked along with the result.
    async fn hand_over(&self, prompt: &str, id: &str) -> Result<(Url, Version, Value), Failure> {
        let (url, version) = self.interface().await;
        if version == Version::One {
            let message = json!({
                "role": "ROLE_USER", "messageId": id, "contextId": self.context_id,
                "parts": [{"text": prompt}],
            });
            match self.ask((&url, version), "SendMessage", json!({"message": message})).await {
                Err(Failure::Rpc { code: METHOD_NOT_FOUND | VERSION_NOT_SUPPORTED, .. }) => {}
                result => return Ok((url, version, result?)),
            }
        }
        let message = json!({
            "kind": "message", "role": "user", "messageId": id, "contextId": self.context_id,
            "parts": [{"kind": "text", "text": prompt}],
        });
        let params = json!({"message": message});
        let result = self.ask((&url, Version::Older), "message/send", params).await?;
        Ok((url, Version::Older, result))
    }

    /// Looks at a task until it has ended.
    async fn ended(&self, url: &Url, version: Version, mut task: Value) -> Result<Value, String> {
        let mut pause = FIRST_PAUSE;
        while ["submitted", "working"].contains(&state(&task).as_str()) {
            let id = task.get("id").cloned().unwrap_or_default();
            if id.is_null() {
                return Err(String::from("its task has no id to ask for"));
            }
            tokio::time::sleep(pause).await;
            pause = pause.mul_f64(1.5).min(LONGEST_PAUSE);
            let method = if version == Version::One { "GetTask" } else { "tasks/get" };
            let looked_at = self.ask((url, version), method, json!({"id": id})).await;
            task = looked_at.map_err(|failure| self.explained(failure))?;
        }
        Ok(task)
    }

    /// Hands over a prompt and waits for the result. An error is for the model.
    pub async fn delegate(&self, prompt: &str) -> Result<String, String> {
        self.work(prompt, &format!("{:032x}", fastrand::u128(..))).await
    }

    async fn work(&self, prompt: &str, id: &str) -> Result<String, String> {
        let name = &self.address.name;
        let deadline = Instant::now() + self.time;
        let late = |_| format!("Connection timed out to agent '{name}' at {}", self.address.url);
        if let Speech::Completions(model) = &self.speech {
            return timeout_at(deadline, self.completed(model, prompt)).await.map_err(late)?;
        }
        let handed = timeout_at(deadline, self.hand_over(prompt, id)).await.map_err(late)?;
        let (url, version, task) = handed.map_err(|failure| self.explained(failure))?;
        let id = task.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let ended = timeout_at(deadline, self.ended(&url, version, task)).await;
        let task = ended
            .map_err(|_| format!("A2A task timed out for agent '{name}' (task_id={id})"))??;
        let words = words(&task);
        match state(&task).as_str() {
            "" | "completed" if words.is_empty() => {
                Err(format!("No output from A2A agent '{name}'"))
            }
            "" | "completed" => Ok(words),
            "failed" => Err(format!("A2A task failed for agent '{name}': {words}")),
            state if words.is_empty() => Err(format!("A2A task {state} for agent '{name}'")),
            state => Err(format!("A2A task {state} for agent '{name}': {words}")),
        }
    }
}

/// The state of a task as the older version writes it; empty for a message.
fn state(task: &Value) -> String {
    let state = task.pointer("/status/state").and_then(Value::as_str).unwrap_or_default();
    state.trim_start_matches("TASK_STATE_").to_lowercase().replace('_', "-")
}

/// The text of a task's artifacts, else of its status, else of a message, else of the last message
/// of the agent in its history.
fn words(task: &Value) -> String {
    let part = |part: &Value| {
        let text = part.get("text").and_then(Value::as_str).map(str::to_owned);
        text.or_else(|| part.get("data").map(Value::to_string))
    };
    let texts = |message: &Value| -> Vec<String> {
        message["parts"].as_array().into_iter().flatten().filter_map(part).collect()
    };
    let list = |key: &str| task.get(key).and_then(Value::as_array).into_iter().flatten();
    let status = task.pointer("/status/message").map(texts).unwrap_or_default();
    let is_agent = |message: &&Value| message["role"] == "ROLE_AGENT" || message["role"] == "agent";
    let spoken = list("history").rfind(is_agent).map(texts).unwrap_or_default();
    let artifacts = list("artifacts").flat_map(texts).collect();
    let found = [artifacts, status, texts(task), spoken];
    found.into_iter().find(|texts: &Vec<String>| !texts.is_empty()).unwrap_or_default().join("\n")
}

#[async_trait]
impl Tool for RemoteAgent {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, _args: &Value) -> Result<Plan, ToolError> {
        Ok(Plan::from(vec![Action::Connect { host: self.host() }]))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let prompt = call.args.get("prompt").and_then(Value::as_str).unwrap_or_default();
        let done = tokio::select! {
            done = self.work(prompt, call.id.as_str()) => done,
            () = context.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
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
        let text = |text: &str| json!([{"text": text}]);
        assert_eq!(words(&json!({"kind": "message", "parts": text("a")})), "a");
        let task = json!({
            "status": {"state": "TASK_STATE_COMPLETED", "message": {"parts": text("late")}},
            "artifacts": [{"parts": text("a")}, {"parts": [{"data": {"n": 1}}]}],
        });
        assert_eq!((words(&task).as_str(), state(&task).as_str()), ("a\n{\"n\":1}", "completed"));
        let open = json!({"status": {"state": "input-required", "message": {"parts": text("no")}}});
        assert_eq!((words(&open).as_str(), state(&open).as_str()), ("no", "input-required"));
        let spoken = json!({
            "status": {"state": "TASK_STATE_AUTH_REQUIRED"},
            "history": [{"role": "ROLE_USER", "parts": text("q")},
                {"role": "ROLE_AGENT", "parts": text("a")}],
        });
        assert_eq!((words(&spoken).as_str(), state(&spoken).as_str()), ("a", "auth-required"));
    }
}
