//! `http`: requests below one address. No path leads to another host or above that address.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::tool::{Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::options::Options;
use super::{About, Built, ToolHost, shortened, text};
use crate::host::{Exchange, HttpClient};

const ANSWER: usize = 100 << 10;
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn build(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let base = address(options.required("base_url")?)?;
    let methods = options.texts("allowed_methods")?.unwrap_or_else(|| vec!["GET".to_owned()]);
    let methods: Vec<String> = methods.iter().map(|method| method.to_uppercase()).collect();
    for method in &methods {
        Method::from_bytes(method.as_bytes())
            .map_err(|_| format!("`allowed_methods` has {method:?}, which is not a method"))?;
    }
    let mut headers = HeaderMap::new();
    for (name, value) in options.table("headers")? {
        let wrong = || format!("`headers` has {name:?}, which is not a header");
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let only_looks =
        methods.iter().all(|method| ["GET", "HEAD", "OPTIONS"].contains(&method.as_str()));
    let description =
        format!("Make an HTTP request to {base} and return the status and what came back.");
    let about = About {
        name: "http_request",
        description: &description,
        kind: "http",
        risk: if only_looks { Risk::ReadOnly } else { Risk::Mutating },
        properties: json!({
            "method": {"type": "string", "description": format!("One of {}", methods.join(", "))},
            "path": {"type": "string", "description": "What follows the base address, with its query"},
            "body": {"type": "string", "default": "", "description": "The body, where there is one"},
        }),
        required: &["method", "path"],
    };
    let spec = ToolSpec { requires_permission: true, ..about.spec(tool_host) };
    let requests = tool_host.requests.clone();
    Ok(Built::of([Arc::new(HttpRequest { spec: spec.into(), base, methods, headers, requests })]))
}

pub(crate) fn address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text.trim()).map_err(|_| format!("{text:?} is not an address"))?;
    if !["http", "https"].contains(&url.scheme()) || url.host_str().is_none() {
        return Err(format!("{text:?} is not an http or https address"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(String::from("an address must not hold a login"));
    }
    Ok(url)
}

pub(crate) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Returns true if a path holds `..` once a server has read the slashes that are spelled out in it.
fn climbs(path: &str) -> bool {
    let path =
        path.to_ascii_lowercase().replace("%2f", "/").replace("%5c", "/").replace("%2e", ".");
    path.split(['/', '\\']).any(|segment| segment == "..")
}

struct HttpRequest {
    spec: Arc<ToolSpec>,
    base: Url,
    methods: Vec<String>,
    headers: HeaderMap,
    requests: Arc<dyn HttpClient>,
}

impl HttpRequest {
    fn target(&self, args: &Value) -> Result<(Method, Url), String> {
        let method = text(args, "method").to_uppercase();
        if !self.methods.contains(&method) {
            return Err(format!("Error: HTTP method {method} is not allowed"));
        }
        let base = self.base.as_str().trim_end_matches('/');
        let whole = format!("{base}/{}", text(args, "path").trim_start_matches('/'));
        let url = Url::parse(&whole).map_err(|error| format!("the path is not valid: {error}"))?;
        let below = self.base.path().trim_end_matches('/');
        let is_below = url.path() == below || url.path().starts_with(&format!("{below}/"));
        if url.origin() != self.base.origin() || !is_below || climbs(url.path()) {
            return Err(format!("the path leaves {}", self.base));
        }
        let method = Method::from_bytes(method.as_bytes()).map_err(|error| error.to_string())?;
        Ok((method, url))
    }
}

#[async_trait]
impl Tool for HttpRequest {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let (_, url) = self.target(args).map_err(ToolError::Input)?;
        Ok(Plan::from(vec![Action::Connect { host: host(&url) }]))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (method, url) = self.target(&call.args).map_err(ToolError::Input)?;
        let body = text(&call.args, "body");
        let mut headers = self.headers.clone();
        let is_json =
            serde_json::from_str::<Value>(body).is_ok_and(|it| it.is_object() || it.is_array());
        if is_json && !headers.contains_key(CONTENT_TYPE) {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let exchange = Exchange {
            method,
            url,
            headers,
            body: Some(body.as_bytes().to_vec()).filter(|body| !body.is_empty()),
            limit: ANSWER + 1,
            timeout: PATIENCE,
        };
        let answered = tokio::select! {
            answered = self.requests.exchange(exchange) => answered,
            () = context.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        Ok(match answered {
            Ok(answered) => {
                let body = shortened(answered.text, ANSWER);
                let words = format!("HTTP {}\n{body}", answered.status);
                let success = answered.status < 400;
                ToolOutput { success, output: words, ..ToolOutput::default() }
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

    fn tool(base: &str) -> Arc<dyn Tool> {
        let entry = json!({"base_url": base, "allowed_methods": ["get", "POST"]});
        let tool_host = fixture::tool_host(Path::new("/"));
        build(&Options::new(entry.as_object().unwrap()), &tool_host).unwrap().tools.remove(0)
    }

    fn target(base: &str, path: &str) -> Result<Vec<Action>, String> {
        let args = json!({"method": "get", "path": path});
        tool(base).actions(&args).map(|plan| plan.actions).map_err(|error| error.to_string())
    }

    #[test]
    fn a_path_stays_below_its_address() {
        let host = |host: &str| vec![Action::Connect { host: host.to_owned() }];
        assert_eq!(target("https://a.test/v1/", "/x?y=1").unwrap(), host("a.test"));
        assert_eq!(target("https://a.test:8443", "").unwrap(), host("a.test:8443"));
        for path in
            ["../admin", "%2e%2e/admin", "x/../../y", "\\..\\..\\y", "..%2f..%2Fa", "x%5c.%2E"]
        {
            assert!(
                target("https://a.test/v1", path).unwrap_err().contains("the path leaves"),
                "{path}"
            );
        }
        let away = target("https://a.test/v1", "//evil.test/x").unwrap();
        assert_eq!(away, host("a.test"));
    }

    #[test]
    fn only_allowed_methods_are_used() {
        let said = tool("https://a.test").actions(&json!({"method": "DELETE", "path": "/"}));
        let wanted = "Error: HTTP method DELETE is not allowed";
        assert_eq!(said.unwrap_err().to_string(), wanted);
        assert_eq!(tool("https://a.test").spec().risk_level, Risk::Mutating);
    }

    #[test]
    fn an_address_is_checked() {
        for bad in ["nowhere", "ftp://a.test", "https://u:p@a.test"] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }
}
