//! The requests of each search provider, and the hits in its replies.

use std::time::Duration;

use fancy_regex::Regex;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Method, Url};
use serde_json::{Value, json};

use crate::host::{Exchange, HttpClient};
use crate::html::plain;

const REPLY_LIMIT: usize = 4 << 20;

/// The name by which DuckDuckGo serves its plain pages.
const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Web,
    News,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Provider {
    DuckDuckGo,
    SerpApi,
    Brave,
    Tavily,
}

pub(super) struct Query<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    pub(super) count: usize,
    pub(super) days_back: u64,
    pub(super) safe: bool,
    pub(super) key: &'a str,
    /// In place of the provider's own address.
    pub(super) address: Option<&'a Url>,
    pub(super) timeout: Duration,
}

pub(super) struct Hit {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) snippet: String,
}

impl Provider {
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        Ok(match name {
            "duckduckgo" => Self::DuckDuckGo,
            "serpapi" => Self::SerpApi,
            "brave" => Self::Brave,
            "tavily" => Self::Tavily,
            _ => {
                return Err(format!(
                    "`provider: {name}` is not known; there are duckduckgo, serpapi, brave and tavily"
                ));
            }
        })
    }

    /// The hosts that a search reaches.
    pub(super) fn hosts(self, kind: Kind) -> &'static [&'static str] {
        match (self, kind) {
            (Self::DuckDuckGo, Kind::Web) => &["html.duckduckgo.com"],
            (Self::DuckDuckGo, Kind::News) => &["duckduckgo.com"],
            (Self::SerpApi, _) => &["serpapi.com"],
            (Self::Brave, _) => &["api.search.brave.com"],
            (Self::Tavily, _) => &["api.tavily.com"],
        }
    }

    /// An error is text for the model.
    pub(super) async fn search(
        self,
        query: &Query<'_>,
        requests: &dyn HttpClient,
    ) -> Result<Vec<Hit>, String> {
        let host = self.hosts(query.kind)[0];
        let count = query.count.to_string();
        let safe = |strict: &'static str| if query.safe { strict } else { "off" };
        let no_headers = HeaderMap::new();
        match (self, query.kind) {
            (Self::DuckDuckGo, Kind::Web) => {
                let safe = if query.safe { "-1" } else { "-2" };
                let url = query.url(host, "/html/", &[("q", query.text), ("kp", safe)])?;
                let page = query.get(url, browser_headers(), requests).await?;
                Ok(page_hits(&page))
            }
            (Self::DuckDuckGo, Kind::News) => duckduckgo_news(query, host, requests).await,
            (Self::SerpApi, kind) => {
                let (engine, field) = match kind {
                    Kind::Web => ("google", "/organic_results"),
                    Kind::News => ("google_news", "/news_results"),
                };
                let parameters = [
                    ("q", query.text),
                    ("num", &count),
                    ("api_key", query.key),
                    ("safe", safe("active")),
                    ("engine", engine),
                ];
                let url = query.url(host, "/search", &parameters)?;
                let reply = query.get(url, no_headers, requests).await?;
                json_hits(&reply, field, ["title", "link", "snippet"])
            }
            (Self::Brave, kind) => {
                let (path, field) = match kind {
                    Kind::Web => ("/res/v1/web/search", "/web/results"),
                    Kind::News => ("/res/v1/news/search", "/results"),
                };
                let parameters =
                    [("q", query.text), ("count", &count), ("safesearch", safe("moderate"))];
                let url = query.url(host, path, &parameters)?;
                let mut key = HeaderValue::from_str(query.key)
                    .map_err(|_| String::from("`api_key` cannot be sent in a header"))?;
                key.set_sensitive(true);
                let name = HeaderName::from_static("x-subscription-token");
                let headers = HeaderMap::from_iter([(name, key)]);
                let reply = query.get(url, headers, requests).await?;
                json_hits(&reply, field, ["title", "url", "description"])
            }
            (Self::Tavily, kind) => {
                let topic = if kind == Kind::Web { "general" } else { "news" };
                let body = json!({
                    "query": query.text, "max_results": query.count, "api_key": query.key,
                    "topic": topic,
                });
                let url = query.url(host, "/search", &[])?;
                let reply = query.post(url, &body, requests).await?;
                json_hits(&reply, "/results", ["title", "url", "content"])
            }
        }
    }
}

impl Query<'_> {
    fn url(&self, host: &str, path: &str, parameters: &[(&str, &str)]) -> Result<Url, String> {
        let base = match self.address {
            Some(address) => address.clone(),
            None => Url::parse(&format!("https://{host}")).map_err(|error| error.to_string())?,
        };
        let mut url = base.join(path).map_err(|error| error.to_string())?;
        if !parameters.is_empty() {
            url.query_pairs_mut().extend_pairs(parameters);
        }
        Ok(url)
    }

    async fn get(
        &self,
        url: Url,
        headers: HeaderMap,
        requests: &dyn HttpClient,
    ) -> Result<String, String> {
        self.send((Method::GET, url), headers, None, requests).await
    }

    async fn post(
        &self,
        url: Url,
        body: &Value,
        requests: &dyn HttpClient,
    ) -> Result<String, String> {
        let json = HeaderValue::from_static("application/json");
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, json)]);
        let body = Some(body.to_string().into_bytes());
        self.send((Method::POST, url), headers, body, requests).await
    }

    async fn send(
        &self,
        (method, url): (Method, Url),
        headers: HeaderMap,
        body: Option<Vec<u8>>,
        requests: &dyn HttpClient,
    ) -> Result<String, String> {
        let (limit, timeout) = (REPLY_LIMIT, self.timeout);
        let exchange = Exchange { method, url, headers, body, limit, timeout };
        let reply = requests.exchange(exchange).await?;
        match reply.status {
            200..300 => Ok(reply.text),
            status => Err(format!("HTTP {status}: {}", contract::text::head(&reply.text, 500))),
        }
    }
}

fn browser_headers() -> HeaderMap {
    HeaderMap::from_iter([
        (USER_AGENT, HeaderValue::from_static(BROWSER)),
        (ACCEPT, HeaderValue::from_static("text/html, application/json")),
    ])
}

fn json_hits(reply: &str, field: &str, names: [&str; 3]) -> Result<Vec<Hit>, String> {
    let reply: Value =
        serde_json::from_str(reply).map_err(|error| format!("the reply is not JSON: {error}"))?;
    let items = reply.pointer(field).and_then(Value::as_array).into_iter().flatten();
    let hit = |item: &Value| {
        let text = |name: &str| plain(item.get(name).and_then(Value::as_str).unwrap_or_default());
        Hit { title: text(names[0]), url: text(names[1]), snippet: text(names[2]) }
    };
    Ok(items.map(hit).collect())
}

/// News need a token that stands in the page of the same search.
async fn duckduckgo_news(
    query: &Query<'_>,
    host: &str,
    requests: &dyn HttpClient,
) -> Result<Vec<Hit>, String> {
    let page = query.url(host, "/", &[("q", query.text), ("iar", "news")])?;
    let page = query.get(page, browser_headers(), requests).await?;
    let token = captures(r#"vqd=["']?([\d-]+)"#, &page);
    let token = token.first().ok_or("the page of the search has no token for news")?;
    let age = match query.days_back {
        0..=1 => "d",
        2..=7 => "w",
        _ => "m",
    };
    let parameters = [
        ("l", "wt-wt"),
        ("o", "json"),
        ("noamp", "1"),
        ("q", query.text),
        ("vqd", token[0].as_str()),
        ("p", if query.safe { "-1" } else { "-2" }),
        ("df", age),
    ];
    let url = query.url(host, "/news.js", &parameters)?;
    let reply = query.get(url, browser_headers(), requests).await?;
    json_hits(&reply, "/results", ["title", "url", "excerpt"])
}

/// The groups of each match of a pattern.
fn captures(pattern: &str, text: &str) -> Vec<Vec<String>> {
    let Ok(pattern) = Regex::new(pattern) else { return Vec::new() };
    let groups = |found: fancy_regex::Captures<'_, str>| {
        found.iter().skip(1).flatten().map(|group| group.as_str().to_owned()).collect()
    };
    pattern.captures_iter(text).flatten().map(groups).collect()
}

/// The hits in DuckDuckGo's plain page.
fn page_hits(page: &str) -> Vec<Hit> {
    // Each hit begins with its title; the snippet stands before the next one.
    let parts = page.split("class=\"result__a\"").skip(1);
    let hit = |part: &str| {
        let link = captures(r#"(?s)^[^>]*?href="([^"]*)"[^>]*>(.*?)</a>"#, part);
        let snippet = captures(r#"(?s)class="result__snippet"[^>]*>(.*?)</a>"#, part);
        let link = link.first()?;
        let snippet = snippet.first().map(|groups| plain(&groups[0])).unwrap_or_default();
        Some(Hit { title: plain(&link[1]), url: target(&link[0])?, snippet })
    };
    parts.filter_map(hit).collect()
}

/// The address behind a link of DuckDuckGo's; none for advertisements.
fn target(link: &str) -> Option<String> {
    let link = link.replace("&amp;", "&");
    let base = Url::parse("https://duckduckgo.com").ok()?;
    let url = base.join(&link).ok()?;
    match url.path() {
        "/l/" => url.query_pairs().find(|(name, _)| name == "uddg").map(|(_, it)| it.into_owned()),
        "/y.js" => None,
        _ => Some(url.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_are_found_in_a_plain_page() {
        let page = r#"<div class="result"><h2><a rel="nofollow" class="result__a"
            href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.test%2Fx%3Fy%3D1&amp;rut=9">The <b>A</b> &amp; O</a></h2>
            <a class="result__snippet" href="x">About
            <b>a</b>.</a></div><a class="result__a" href="//duckduckgo.com/y.js?ad=1">Ad</a>
            <a class="result__a" href="https://b.test/">B</a>"#;
        let hits = page_hits(page);
        let found: Vec<_> =
            hits.iter().map(|hit| [&hit.title[..], &hit.url, &hit.snippet]).collect();
        assert_eq!(
            found,
            [["The A & O", "https://a.test/x?y=1", "About a."], ["B", "https://b.test/", ""]]
        );
    }
}
