//! `search`: pages and news by one of four providers.

mod provider;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::action::Action;
use contract::secret::Secret;
use contract::tool::{Risk, ToolSpec};
use reqwest::Url;
use serde_json::{Value, json};

use super::function::{self, Function};
use super::options::Options;
use super::{About, Built, ToolHost, http, shortened, text};
use crate::host::HttpClient;
use provider::{Hit, Kind, Provider};

pub(super) const KEYS: &[&str] =
    &["provider", "api_key", "max_results", "safe_search", "timeout_seconds"];

/// The variable with another address for requests, such as a proxy of the user's.
const ADDRESS_VARIABLE: &str = "INITRUNNER_SEARCH_URL";

const OUTPUT_LIMIT: usize = 65_536;

pub(super) fn build(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let name = options.text("provider")?.unwrap_or("duckduckgo");
    let provider = Provider::parse(name)?;
    let mut built = Built::default();
    let mut key = String::new();
    if provider != Provider::DuckDuckGo {
        let written = options.text("api_key")?.filter(|key| !key.trim().is_empty());
        let written = written.ok_or_else(|| format!("provider '{name}' requires 'api_key'"))?;
        key = tool_host.requests.expand(written);
        if key.contains("${") {
            built.notes.push(format!("`api_key` is {written}, which is not set"));
        }
    }
    let address = tool_host.surroundings.variables.get(ADDRESS_VARIABLE);
    let address = address.filter(|it| !it.is_empty());
    let address = address.map(|it| http::address(it)).transpose();
    let search = Arc::new(Settings {
        provider,
        key: Secret::new(key),
        address: address.map_err(|what| format!("{ADDRESS_VARIABLE}: {what}"))?,
        max_results: options.count("max_results", 10)?,
        safe: options.flag("safe_search", true)?,
        timeout: options.timeout(15)?,
        requests: Arc::clone(&tool_host.requests),
    });
    for kind in [Kind::Web, Kind::News] {
        // What is looked for leaves the machine.
        let spec = ToolSpec { requires_permission: true, ..described(kind).spec(tool_host) };
        built.tools.push(function::tool(Search { kind, settings: Arc::clone(&search) }, spec));
    }
    Ok(built)
}

fn described(kind: Kind) -> About<'static> {
    let mut properties = json!({
        "query": {"type": "string", "description": "What to look for"},
        "num_results": {"type": "integer", "default": 5, "description": "Results at most"},
    });
    let (name, description) = match kind {
        Kind::Web => ("web_search", "Search the web and return titles, addresses and snippets."),
        Kind::News => {
            properties["days_back"] = json!({
                "type": "integer", "default": 7, "description": "The age of news in days at most",
            });
            ("news_search", "Search the news and return titles, addresses and snippets.")
        }
    };
    let (kind, risk, required) = ("search", Risk::ReadOnly, &["query"][..]);
    About { name, description, kind, risk, properties, required }
}

struct Settings {
    provider: Provider,
    key: Secret<String>,
    address: Option<Url>,
    max_results: usize,
    safe: bool,
    timeout: Duration,
    requests: Arc<dyn HttpClient>,
}

struct Search {
    kind: Kind,
    settings: Arc<Settings>,
}

impl Search {
    async fn hits(&self, args: &Value) -> Result<Vec<Hit>, String> {
        let settings = &self.settings;
        if settings.key.expose().contains("${") {
            return Err(String::from("the variable in `api_key` is not set"));
        }
        let count = |key: &str, usual| args.get(key).and_then(Value::as_u64).unwrap_or(usual);
        let wanted = usize::try_from(count("num_results", 5)).unwrap_or(usize::MAX);
        let query = provider::Query {
            kind: self.kind,
            text: text(args, "query"),
            count: wanted.clamp(1, settings.max_results),
            days_back: count("days_back", 7),
            safe: settings.safe,
            key: settings.key.expose(),
            address: settings.address.as_ref(),
            timeout: settings.timeout,
        };
        let mut hits = settings.provider.search(&query, settings.requests.as_ref()).await?;
        hits.truncate(query.count);
        Ok(hits)
    }
}

#[async_trait]
impl Function for Search {
    fn actions(&self, _: &Value) -> Result<Vec<Action>, String> {
        let address = self.settings.address.as_ref();
        let hosts = address.map_or_else(
            || self.settings.provider.hosts(self.kind).iter().map(|it| (*it).to_owned()).collect(),
            |address| vec![http::host(address)],
        );
        Ok(hosts.into_iter().map(|host: String| Action::Connect { host }).collect())
    }

    async fn call(&self, args: &Value) -> Result<String, String> {
        let timeout = self.settings.timeout;
        let hits = tokio::time::timeout(timeout, self.hits(args))
            .await
            .map_err(|_| format!("Error: search timed out after {}s", timeout.as_secs_f64()))?;
        let key = self.settings.key.expose();
        let redacted = |error: String| match key.as_str() {
            "" => error,
            key => error.replace(key, "[redacted]"),
        };
        let hits = hits.map_err(|error| format!("Error: search failed: {}", redacted(error)))?;
        if hits.is_empty() {
            return Ok(String::from("No results found."));
        }
        let lines = hits.iter().zip(1..).map(|(hit, number)| {
            format!("{number}. **{}**\n   {}\n   {}\n", hit.title, hit.url, hit.snippet)
        });
        Ok(shortened(lines.collect::<Vec<_>>().join("\n"), OUTPUT_LIMIT))
    }
}
