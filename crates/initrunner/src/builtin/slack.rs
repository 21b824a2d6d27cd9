//! `slack`: sends messages to a webhook. Its address is a secret, which nobody is shown.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::secret::Secret;
use contract::tool::{Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::options::Options;
use super::{About, Built, ToolHost, http, shortened, text};
use crate::host::{Exchange, HttpClient};

pub(super) const KEYS: &[&str] = &[
    "webhook_url",
    "default_channel",
    "username",
    "icon_emoji",
    "timeout_seconds",
    "max_response_bytes",
];

pub(super) fn build(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let written = options.required("webhook_url")?;
    let filled = tool_host.requests.expand(written);
    // What an unset variable leaves is told when a message is sent, as with other tools.
    let webhook = if filled.contains("${") { None } else { Some(http::address(&filled)) };
    let webhook = webhook.transpose().map_err(|_| "`webhook_url` is not an address".to_owned())?;
    let owned = |key| options.text(key).map(|text| text.map(str::to_owned));
    let about = About {
        name: "send_slack_message",
        description: "Send a message to Slack.",
        kind: "slack",
        risk: Risk::HighImpact,
        properties: json!({
            "text": {"type": "string", "description": "The message"},
            "channel": {
                "anyOf": [{"type": "string"}, {"type": "null"}], "default": null,
                "description": "Another channel than usual",
            },
            "blocks": {
                "anyOf": [
                    {"type": "array", "items": {"type": "object"}}, {"type": "string"},
                    {"type": "null"},
                ],
                "default": null,
                "description": "Block Kit blocks, where the message has any",
            },
        }),
        required: &["text"],
    };
    let tool = SlackMessage {
        spec: about.spec(tool_host).into(),
        webhook: webhook.map(Secret::new),
        written: written.to_owned(),
        channel: owned("default_channel")?,
        username: owned("username")?,
        icon: owned("icon_emoji")?,
        timeout: options.timeout(30)?,
        limit: options.count("max_response_bytes", 1024)?,
        requests: tool_host.requests.clone(),
    };
    let mut built = Built::of([]);
    if tool.webhook.is_none() {
        built.notes.push(format!("`webhook_url` is {written}, which is not set"));
    }
    built.tools.push(Arc::new(tool));
    Ok(built)
}

struct SlackMessage {
    spec: Arc<ToolSpec>,
    webhook: Option<Secret<Url>>,
    written: String,
    channel: Option<String>,
    username: Option<String>,
    icon: Option<String>,
    timeout: Duration,
    limit: usize,
    requests: Arc<dyn HttpClient>,
}

impl SlackMessage {
    fn webhook(&self) -> Result<&Url, ToolError> {
        let webhook = self.webhook.as_ref().map(Secret::expose);
        webhook.ok_or_else(|| ToolError::Input(format!("{} is not set", self.written)))
    }

    fn payload(&self, args: &Value) -> Result<Value, String> {
        let mut payload = json!({"text": text(args, "text")});
        let channel = Some(text(args, "channel")).filter(|channel| !channel.is_empty());
        let parts = [
            ("channel", channel.or(self.channel.as_deref())),
            ("username", self.username.as_deref()),
            ("icon_emoji", self.icon.as_deref()),
        ];
        for (key, value) in parts {
            if let Some(value) = value {
                payload[key] = value.into();
            }
        }
        if let Some(blocks @ Value::Array(_)) = args.get("blocks") {
            payload["blocks"] = blocks.clone();
        }
        // Some models write the list as a text.
        let blocks = text(args, "blocks");
        if !blocks.trim().is_empty() {
            let blocks: Value = serde_json::from_str(blocks)
                .map_err(|error| format!("`blocks` is not valid JSON: {error}"))?;
            if !blocks.is_array() {
                return Err(String::from("`blocks` is not JSON list"));
            }
            payload["blocks"] = blocks;
        }
        Ok(payload)
    }
}

#[async_trait]
impl Tool for SlackMessage {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        self.payload(args).map_err(ToolError::Input)?;
        Ok(Plan::from(vec![Action::Connect { host: http::host(self.webhook()?) }]))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let url = self.webhook()?.clone();
        let payload = self.payload(&call.args).map_err(ToolError::Input)?;
        let kind = HeaderValue::from_static("application/json");
        let secret = url.path().to_owned();
        let exchange = Exchange {
            method: Method::POST,
            url,
            headers: HeaderMap::from_iter([(CONTENT_TYPE, kind)]),
            body: Some(payload.to_string().into_bytes()),
            limit: self.limit + 1,
            timeout: self.timeout,
        };
        let answered = tokio::select! {
            answered = self.requests.exchange(exchange) => answered,
            () = context.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        Ok(match answered {
            Ok(answered) => {
                let said = answered.text;
                let said =
                    if secret.len() > 1 { said.replace(&secret, "[redacted]") } else { said };
                let said = shortened(said, self.limit);
                if (200..300).contains(&answered.status) {
                    ToolOutput::success(format!("Message sent: {said}"))
                } else {
                    ToolOutput::failure(format!("HTTP {}: {said}", answered.status))
                }
            }
            Err(error) => ToolOutput::failure(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::tests::fixture;
    use super::*;

    fn built(entry: &Value) -> Result<Built, String> {
        build(&Options::new(entry.as_object().unwrap()), &fixture::tool_host(Path::new("/")))
    }

    #[test]
    fn address_from_the_environment_is_judged_by_host() {
        let tool = built(&json!({"webhook_url": "${HOOK}"})).unwrap().tools.remove(0);
        let actions = tool.actions(&json!({"text": "hi"})).unwrap().actions;
        assert_eq!(actions, [Action::Connect { host: "x.test".to_owned() }]);
        let error = tool.actions(&json!({"text": "hi", "blocks": "{}"})).unwrap_err();
        assert_eq!(error.to_string(), "`blocks` is not JSON list");
    }

    #[test]
    fn unset_address_is_reported() {
        let built = built(&json!({"webhook_url": "${NOT_SET}"})).unwrap();
        assert_eq!(built.notes, ["`webhook_url` is ${NOT_SET}, which is not set"]);
        let error = built.tools[0].actions(&json!({"text": "hi"})).unwrap_err();
        assert_eq!(error.to_string(), "${NOT_SET} is not set");
    }

    #[test]
    fn invalid_address_is_an_error_without_its_text() {
        assert_eq!(
            built(&json!({"webhook_url": "s3cret"})).err().unwrap(),
            "`webhook_url` is not an address"
        );
        assert_eq!(built(&json!({})).err().unwrap(), "`webhook_url` is missing");
    }
}
