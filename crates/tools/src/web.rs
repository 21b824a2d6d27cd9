//! The web, as far as `WebFetch` and `WebSearch` need it. The program sends the requests.

use std::sync::Arc;

use async_trait::async_trait;
use contract::secret::Secret;
use reqwest::Method;
pub use reqwest::Url;
use reqwest::header::HeaderMap;

/// Requests and search of the web tools.
#[derive(Clone)]
pub struct WebAccess {
    pub client: Arc<dyn WebClient>,
    /// `WebSearch` needs an engine.
    pub search: Option<SearchSettings>,
}

#[derive(Clone)]
pub struct SearchSettings {
    pub engine: SearchEngine,
    pub key: Secret<String>,
    /// The server, which replaces the engine's own.
    pub server: Url,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEngine {
    Brave,
    Tavily,
    SearXng,
}

/// The configuration of an engine.
#[derive(Clone, Copy, Debug)]
pub struct EngineChoice<'a> {
    /// `brave` or `tavily`; any other name is a SearXNG server.
    pub engine: Option<&'a str>,
    pub server: Option<&'a str>,
    pub key_variable: Option<&'a str>,
}

impl EngineChoice<'_> {
    /// The settings, with the key from the value of a variable; none without an engine.
    ///
    /// # Errors
    ///
    /// What is missing or wrong.
    pub fn settings<'v>(
        &self,
        variable: impl FnOnce(&str) -> Option<&'v str>,
    ) -> Result<Option<SearchSettings>, String> {
        let (engine, usual, named) = match self.engine {
            None => return Ok(None),
            Some("brave") => {
                (SearchEngine::Brave, "https://api.search.brave.com", Some("BRAVE_API_KEY"))
            }
            Some("tavily") => {
                (SearchEngine::Tavily, "https://api.tavily.com", Some("TAVILY_API_KEY"))
            }
            Some(_) => (SearchEngine::SearXng, "", None),
        };
        let server = self.server.unwrap_or(usual);
        if server.is_empty() {
            return Err(String::from("set `web.search_url` to the address of the SearXNG server"));
        }
        let server = Url::parse(server)
            .map_err(|error| format!("`web.search_url` {server:?} is not a URL: {error}"))?;
        let key = match self.key_variable.or(named) {
            None => "",
            Some(name) => {
                variable(name).ok_or_else(|| format!("set the environment variable {name}"))?
            }
        };
        Ok(Some(SearchSettings { engine, key: Secret::new(key.to_owned()), server }))
    }
}

#[async_trait]
pub trait WebClient: Send + Sync {
    /// Sends a request and follows no redirect. Errors are for the model.
    async fn send(&self, request: WebRequest) -> Result<WebReply, String>;

    /// A page as Markdown, with links resolved against its URL.
    fn markdown(&self, page: &str, url: &Url) -> String;
}

pub struct WebRequest {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<Vec<u8>>,
}

pub struct WebReply {
    pub status: u16,
    pub content_type: String,
    /// The target of a redirect; empty if there is none.
    pub location: String,
    pub text: String,
}

/// Reads a URL that a tool may request. Errors are for the model.
pub(crate) fn url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text.trim()).map_err(|error| format!("Invalid URL {text:?}: {error}"))?;
    if !["http", "https"].contains(&url.scheme()) || url.host_str().is_none() {
        return Err(format!("Invalid URL {text:?}: it must start with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(String::from("Invalid URL: it contains a user name or password"));
    }
    Ok(url)
}

/// The host of a URL as permission rules name it, with its port unless that is the default.
pub(crate) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}
