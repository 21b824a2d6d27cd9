//! The requests of the web tools, and their search engine.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use formats::address;
use plugins::rest;
use serde_json::Value;
use tools::web::{EngineChoice, Url, WebAccess, WebClient, WebReply, WebRequest};

use crate::output;
use crate::run_context::RunContext;

const PAGE_LIMIT: usize = 8 << 20;
const TIMEOUT: Duration = Duration::from_secs(30);

/// The access of the web tools; none with `--safe`, which has no network.
pub(crate) fn access(run: &RunContext) -> Option<WebAccess> {
    if run.global.safe {
        return None;
    }
    let hosts = run.config().api.get("allow_private").and_then(Value::as_array);
    let hosts = hosts.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    let configured = &run.config().web;
    let choice = EngineChoice {
        engine: configured.search.as_deref(),
        server: configured.search_url.as_deref(),
        key_variable: configured.search_key_env.as_deref(),
    };
    let search = choice.settings(|name| run.environment.variable(name)).unwrap_or_else(|problem| {
        output::warning(&format!("WebSearch is not available: {problem}"));
        None
    });
    let engine = search.as_ref().and_then(|it| it.server.host_str()).map(str::to_owned);
    let hosts: Vec<String> = hosts.chain(engine).collect();
    let client = Requests(rest::Settings::new(BTreeMap::new(), &hosts));
    Some(WebAccess { client: Arc::new(client), search })
}

struct Requests(rest::Settings);

#[async_trait]
impl WebClient for Requests {
    async fn send(&self, request: WebRequest) -> Result<WebReply, String> {
        let WebRequest { method, url, headers, body } = request;
        // The question named this host. A private address is refused if it hides behind a name.
        let host = url.host_str().unwrap_or_default();
        let settings = if address::is_local(host) {
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
