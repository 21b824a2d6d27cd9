//! `WebFetch`: a web page as Markdown.

use std::sync::Arc;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::tool::{Plan, Recovery, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use reqwest::{Method, Url};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::web::{self, WebClient, WebReply, WebRequest};
use crate::{arguments, describe};

const MAX_REDIRECTS: usize = 5;
const ERROR_LENGTH: usize = 500;
const TYPES: &str = "text/markdown, text/html;q=0.9, text/*;q=0.8, application/json;q=0.8";

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    url: String,
}

impl Args {
    fn url(args: &Value) -> Result<Url, ToolError> {
        let args: Self = arguments::parse("WebFetch", args)?;
        web::url(&args.url).map_err(ToolError::Input)
    }
}

pub(crate) struct WebFetch {
    spec: Arc<ToolSpec>,
    client: Arc<dyn WebClient>,
}

impl WebFetch {
    pub(crate) fn new(client: Arc<dyn WebClient>) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "url": {"type": "string", "description": "The URL, with http or https"}
            },
            "required": ["url"]
        });
        let words = include_str!("web_fetch.md");
        let spec = describe::spec("WebFetch", words, "web", Risk::ReadOnly, schema);
        // A URL can carry data away, so text that looks like a call is not one.
        let spec = ToolSpec { recovery_policy: Recovery::Confirm, ..spec }.into();
        Self { spec, client }
    }

    /// Fetches a page. A redirect to another host is an error, because that host needs approval.
    async fn fetch(&self, mut url: Url) -> Result<String, String> {
        for _ in 0..=MAX_REDIRECTS {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(TYPES))]);
            let (method, body) = (Method::GET, None);
            let reply = self.client.send(WebRequest { method, url: url.clone(), headers, body });
            let reply = reply.await?;
            if !(300..400).contains(&reply.status) || reply.location.is_empty() {
                return self.content(&reply, &url);
            }
            let target = url.join(&reply.location).map_err(|error| error.to_string())?;
            let target = web::url(target.as_str())?;
            if web::host(&target) != web::host(&url) {
                return Err(format!("{url} redirects to {target}; fetch that URL"));
            }
            url = target;
        }
        Err(format!("{url}: more than {MAX_REDIRECTS} redirects"))
    }

    fn content(&self, reply: &WebReply, url: &Url) -> Result<String, String> {
        let kind = reply.content_type.split(';').next().unwrap_or_default().trim().to_lowercase();
        let start = reply.text.trim_start().get(..15).unwrap_or_default().to_lowercase();
        let is_html = kind.contains("html") || (kind.is_empty() && start == "<!doctype html>");
        let is_text = kind.is_empty()
            || kind.starts_with("text/")
            || ["json", "xml", "javascript", "yaml", "toml"].iter().any(|it| kind.contains(it));
        if !is_html && !is_text {
            return Err(format!("{url} is not text: its type is {kind}"));
        }
        let text =
            if is_html { self.client.markdown(&reply.text, url) } else { reply.text.clone() };
        match reply.status {
            200..300 if text.trim().is_empty() => Ok(String::from("(the page has no text)")),
            200..300 => Ok(text),
            status => Err(format!("HTTP {status}: {}", contract::text::head(&text, ERROR_LENGTH))),
        }
    }
}

#[async_trait]
impl Tool for WebFetch {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let host = web::host(&Args::url(args)?);
        Ok(Plan::from(vec![Action::Connect { host }]))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let url = Args::url(&call.args)?;
        tokio::select! {
            page = self.fetch(url) => Ok(page.map_or_else(ToolOutput::failure, ToolOutput::success)),
            () = context.cancel.cancelled() => Err(ToolError::Cancelled),
        }
    }
}
