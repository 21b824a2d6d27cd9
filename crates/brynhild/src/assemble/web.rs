//! The requests of the web tools, and their search engine.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::secret::Secret;
use plugins::rest;
use serde_json::Value;
use tools::web::{SearchEngine, SearchSettings, Url, WebAccess, WebClient, WebReply, WebRequest};

use crate::assemble::run_context::RunContext;
use crate::output;

const PAGE_LIMIT: usize = 8 << 20;
const TIMEOUT: Duration = Duration::from_secs(30);

/// The access of the web tools; none with `--safe`, which has no network.
pub(crate) fn access(run: &RunContext) -> Option<WebAccess> {
    if run.global.safe {
        return None;
    }
    let hosts = run.config().api.get("allow_private").and_then(Value::as_array);
    let hosts = hosts.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    let search = search(run).unwrap_or_else(|problem| {
        output::warning(&format!("WebSearch is not available: {problem}"));
        None
    });
    let engine = search.as_ref().and_then(|it| it.server.host_str()).map(str::to_owned);
    let hosts: Vec<String> = hosts.chain(engine).collect();
    let client = Requests(rest::Settings::new(BTreeMap::new(), &hosts));
    Some(WebAccess { client: Arc::new(client), search })
}

fn search(run: &RunContext) -> Result<Option<SearchSettings>, String> {
    let web = &run.config().web;
    let (engine, server, variable) = match web.search.as_deref() {
        None => return Ok(None),
        Some("brave") => {
            (SearchEngine::Brave, "https://api.search.brave.com", Some("BRAVE_API_KEY"))
        }
        Some("tavily") => (SearchEngine::Tavily, "https://api.tavily.com", Some("TAVILY_API_KEY")),
        Some(_) => (SearchEngine::SearXng, "", None),
    };
    let server = web.search_url.as_deref().unwrap_or(server);
    if server.is_empty() {
        return Err(String::from("set `web.search_url` to the address of the SearXNG server"));
    }
    let server = Url::parse(server)
        .map_err(|error| format!("`web.search_url` {server:?} is not a URL: {error}"))?;
    let variable = web.search_key_env.as_deref().or(variable);
    let key = match variable {
        None => String::new(),
        Some(name) => {
            let value = run.environment.variable(name);
            value.ok_or_else(|| format!("set the environment variable {name}"))?.to_owned()
        }
    };
    Ok(Some(SearchSettings { engine, key: Secret::new(key), server }))
}

struct Requests(rest::Settings);

#[async_trait]
impl WebClient for Requests {
    async fn send(&self, request: WebRequest) -> Result<WebReply, String> {
        let WebRequest { method, url, headers, body } = request;
        // The question named this host. A private address is refused if it hides behind a name.
        let host = url.host_str().unwrap_or_default();
        let settings = if is_local(host) {
            rest::Settings::new(BTreeMap::new(), &[host.to_owned()])
        } else {
            self.0.clone()
        };
        let (limit, timeout) = (PAGE_LIMIT, TIMEOUT);
        let exchange = rest::Exchange { method, url, headers, body, limit, timeout };
        let answered = settings.exchange(exchange).await?;
        let text = answered.text();
        let rest::Answered { status, kind: content_type, location, .. } = answered;
        Ok(WebReply { status, content_type, location, text })
    }

    fn markdown(&self, page: &str, url: &Url) -> String {
        initrunner::html::markdown(page, Some(url))
    }
}

/// Returns true for `localhost` and for literal addresses of this machine or of a private network,
/// but not for link-local ones, at which clouds serve credentials.
fn is_local(host: &str) -> bool {
    match host.trim_start_matches('[').trim_end_matches(']').parse() {
        Ok(IpAddr::V4(address)) => address.is_loopback() || address.is_private(),
        Ok(IpAddr::V6(address)) => address.is_loopback() || address.is_unique_local(),
        Err(_) => host == "localhost",
    }
}
