//! `WebSearch`: web search by the engine of the configuration.

use std::sync::Arc;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::tool::{Plan, Recovery, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::web::{self, SearchEngine, SearchSettings, WebClient, WebRequest};
use crate::{arguments, describe};

const DEFAULT_COUNT: usize = 5;
const MAX_COUNT: usize = 20;
const ERROR_LENGTH: usize = 500;

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    query: String,
    #[serde(default, deserialize_with = "arguments::count")]
    count: Option<usize>,
}

impl Args {
    fn parse(args: &Value) -> Result<Self, ToolError> {
        let args: Self = arguments::parse("WebSearch", args)?;
        if args.query.trim().is_empty() {
            return Err(ToolError::Input("No query provided".to_owned()));
        }
        Ok(args)
    }
}

pub(crate) struct WebSearch {
    spec: Arc<ToolSpec>,
    client: Arc<dyn WebClient>,
    settings: SearchSettings,
}

impl WebSearch {
    pub(crate) fn new(client: Arc<dyn WebClient>, settings: SearchSettings) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "The search terms"},
                "count": {"type": "integer", "minimum": 1, "maximum": MAX_COUNT, "description": "The number of results (default 5)"}
            },
            "required": ["query"]
        });
        let words = include_str!("web_search.md");
        let spec = describe::spec("WebSearch", words, "web", Risk::ReadOnly, schema);
        let spec = ToolSpec { recovery_policy: Recovery::Confirm, ..spec }.into();
        Self { spec, client, settings }
    }

    async fn search(&self, args: &Args) -> Result<String, String> {
        let count = args.count.unwrap_or(DEFAULT_COUNT).clamp(1, MAX_COUNT);
        let engine = self.settings.engine;
        let reply = self.client.send(self.request(&args.query, count)?).await?;
        if !(200..300).contains(&reply.status) {
            let text = contract::text::head(&reply.text, ERROR_LENGTH);
            return Err(format!("HTTP {}: {text}", reply.status));
        }
        let reply: Value = serde_json::from_str(&reply.text)
            .map_err(|error| format!("the reply of the search engine is not JSON: {error}"))?;
        let (field, snippet) = match engine {
            SearchEngine::Brave => ("/web/results", "description"),
            SearchEngine::Tavily | SearchEngine::SearXng => ("/results", "content"),
        };
        let results = reply.pointer(field).and_then(Value::as_array).into_iter().flatten();
        let line = |(number, result): (usize, &Value)| {
            let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
            format!("{number}. {}\n   {}\n   {}", text("title"), text("url"), text(snippet))
        };
        let lines: Vec<String> = (1..).zip(results.take(count)).map(line).collect();
        Ok(if lines.is_empty() { String::from("No results found") } else { lines.join("\n\n") })
    }

    fn request(&self, query: &str, count: usize) -> Result<WebRequest, String> {
        let SearchSettings { engine, key, server } = &self.settings;
        let json = HeaderValue::from_static("application/json");
        let count_text = count.to_string();
        let (path, parameters) = match engine {
            SearchEngine::Brave => {
                ("res/v1/web/search", vec![("q", query), ("count", &count_text)])
            }
            SearchEngine::Tavily => ("search", Vec::new()),
            SearchEngine::SearXng => ("search", vec![("q", query), ("format", "json")]),
        };
        let mut url = below(server, path)?;
        if !parameters.is_empty() {
            url.query_pairs_mut().extend_pairs(parameters);
        }
        let mut headers = HeaderMap::from_iter([(ACCEPT, json.clone())]);
        if !key.expose().is_empty() {
            let (name, text) = match engine {
                SearchEngine::Brave => ("x-subscription-token", key.expose().clone()),
                SearchEngine::Tavily | SearchEngine::SearXng => {
                    ("authorization", format!("Bearer {}", key.expose()))
                }
            };
            let mut value = HeaderValue::from_str(&text)
                .map_err(|_| String::from("the key of the search engine is invalid"))?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        let (method, body) = match engine {
            SearchEngine::Tavily => {
                headers.insert(CONTENT_TYPE, json);
                let body = json!({"query": query, "max_results": count});
                (Method::POST, Some(body.to_string().into_bytes()))
            }
            SearchEngine::Brave | SearchEngine::SearXng => (Method::GET, None),
        };
        Ok(WebRequest { method, url, headers, body })
    }
}

/// A path below the address of a server, which may have a path of its own.
fn below(server: &Url, path: &str) -> Result<Url, String> {
    let base = format!("{}/{path}", server.as_str().trim_end_matches('/'));
    Url::parse(&base).map_err(|error| error.to_string())
}

#[async_trait]
impl Tool for WebSearch {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        Args::parse(args)?;
        Ok(Plan::from(vec![Action::Connect { host: web::host(&self.settings.server) }]))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let args = Args::parse(&call.args)?;
        let results = tokio::select! {
            results = self.search(&args) => results,
            () = context.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        Ok(results.map_or_else(
            |error| ToolOutput::failure(format!("Search failed: {error}")),
            ToolOutput::success,
        ))
    }
}
