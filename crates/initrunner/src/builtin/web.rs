//! `web_reader` and `web_scraper`: fetch a page as Markdown.

use std::net::Ipv6Addr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::tool::{Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue, USER_AGENT};
use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::options::Options;
use super::{About, Built, ToolHost, http, shortened, text};
use crate::documents::DocumentPlace;
use crate::host::{Exchange, HttpClient, HttpReply};
use crate::html;

pub(super) const KEYS: &[&str] =
    &["allowed_domains", "blocked_domains", "max_content_bytes", "timeout_seconds", "user_agent"];

const MOVES: usize = 5;
/// Bytes of a page for one byte of what the model reads: markup and scripts take most of it.
const MARKUP: usize = 8;

pub(super) fn build_reader(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let about = About {
        name: "fetch_page",
        description: "Fetch a web page and return it as Markdown.",
        kind: "web_reader",
        risk: Risk::ReadOnly,
        properties: properties(),
        required: &["url"],
    };
    Ok(Built::of([Arc::new(Page::made(options, tool_host, about)?)]))
}

pub(super) fn build_scraper(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let about = About {
        name: "scrape_page",
        description: match tool_host.documents {
            Some(_) => "Fetch a web page and store its text among the documents of this agent.",
            None => "Fetch a web page and return its text.",
        },
        kind: "web_scraper",
        risk: Risk::ReadOnly,
        properties: properties(),
        required: &["url"],
    };
    let mut page = Page::made(options, tool_host, about)?;
    page.documents.clone_from(&tool_host.documents);
    let mut built = Built::of([Arc::new(page)]);
    if tool_host.documents.is_none() {
        let note = "pages are returned and not stored: the role has no `ingest`";
        built.notes.push(note.to_owned());
    }
    Ok(built)
}

fn properties() -> Value {
    json!({"url": {"type": "string", "description": "The address, with http or https"}})
}

/// A domain of a list as addresses have it, in ASCII. An error says that it names no host, and what would.
fn domain(written: &str) -> Result<String, String> {
    let host = |name: &str| {
        let name = match name.parse::<Ipv6Addr>() {
            Ok(address) => format!("[{address}]"),
            Err(_) => name.to_owned(),
        };
        let is_other = |c: char| c.is_whitespace() || "*/\\?#@%".contains(c);
        let has_port = name.contains(':') && !name.ends_with(']');
        let url = Url::parse(&format!("http://{name}")).ok()?;
        url.host_str().filter(|_| !has_port && !name.contains(is_other)).map(str::to_owned)
    };
    let name = written.trim().trim_matches('.');
    host(name).ok_or_else(|| {
        let rest = name.split_once("://").map_or(name, |(_, rest)| rest);
        let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let rest = rest.trim_start_matches("*.");
        let meant = rest.rsplit_once(':').map_or(rest, |(rest, _)| rest);
        let meant = host(meant).unwrap_or_else(|| String::from("example.com"));
        format!(
            "{written:?}, which names no host (write it alone, as in `{meant}`; its subdomains \
             belong to it)"
        )
    })
}

struct Page {
    spec: Arc<ToolSpec>,
    allowed: Vec<String>,
    blocked: Vec<String>,
    limit: usize,
    timeout: Duration,
    headers: HeaderMap,
    requests: Arc<dyn HttpClient>,
    /// The documents that a page is stored in, instead of being returned.
    documents: Option<DocumentPlace>,
}

impl Page {
    fn made(options: &Options<'_>, tool_host: &ToolHost, about: About<'_>) -> Result<Self, String> {
        let domains = |key| -> Result<Option<Vec<String>>, String> {
            let domain = |name: &String| domain(name).map_err(|why| format!("`{key}` has {why}"));
            let names = options.texts(key)?;
            names.map(|names| names.iter().map(domain).collect()).transpose()
        };
        let allowed = domains("allowed_domains")?;
        if allowed.as_ref().is_some_and(Vec::is_empty) {
            let why = "`allowed_domains` is empty, so that no page could be fetched";
            return Err(format!("{why} (leave it out where every domain is meant)"));
        }
        let kinds = "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9";
        let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(kinds))]);
        if let Some(name) = options.text("user_agent")? {
            let value = HeaderValue::from_str(name);
            headers
                .insert(USER_AGENT, value.map_err(|_| "`user_agent` is not a header".to_owned())?);
        }
        Ok(Self {
            spec: ToolSpec { requires_permission: true, ..about.spec(tool_host) }.into(),
            allowed: allowed.unwrap_or_default(),
            blocked: domains("blocked_domains")?.unwrap_or_default(),
            limit: options.count("max_content_bytes", 512_000)?,
            timeout: options.timeout(15)?,
            headers,
            requests: tool_host.requests.clone(),
            documents: None,
        })
    }

    /// An address that this entry lets be fetched. An error is words for the model.
    fn checked(&self, address: &str) -> Result<Url, String> {
        let url = http::address(address)?;
        let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_lowercase();
        let is_in = |domains: &[String]| {
            domains.iter().any(|domain| {
                host == *domain || host.strip_suffix(domain).is_some_and(|it| it.ends_with('.'))
            })
        };
        if is_in(&self.blocked) {
            return Err(format!("Domain '{host}' is blocked"));
        }
        if !self.allowed.is_empty() && !is_in(&self.allowed) {
            let allowed = self.allowed.join(", ");
            return Err(format!("Domain '{host}' is not allowed. Allowed domains: {allowed}"));
        }
        Ok(url)
    }

    /// Fetches a page. A move to another host is an error: that is a call of its own, judged like one.
    async fn fetched(&self, mut url: Url) -> Result<(Url, HttpReply), String> {
        for _ in 0..=MOVES {
            let exchange = Exchange {
                method: Method::GET,
                url: url.clone(),
                headers: self.headers.clone(),
                body: None,
                limit: self.limit.saturating_mul(MARKUP).saturating_add(1),
                timeout: self.timeout,
            };
            let answered = self.requests.exchange(exchange).await?;
            if !(300..400).contains(&answered.status) || answered.location.is_empty() {
                return Ok((url, answered));
            }
            let next = url.join(&answered.location).map_err(|error| error.to_string())?;
            let next = self.checked(next.as_str())?;
            if http::host(&next) != http::host(&url) {
                return Err(format!("The page has moved to {next}; fetch that address"));
            }
            url = next;
        }
        Err(format!("The page has moved more than {MOVES} times"))
    }

    /// The text of a page, or a line on it if it is stored.
    async fn fetch_and_store(&self, url: Url) -> Result<String, String> {
        let (url, answered) = self.fetched(url).await?;
        let page = self.told(&url, &answered)?;
        let Some(documents) = self.documents.clone() else { return Ok(page) };
        match documents.open()?.put_page(url.as_str(), &page).await? {
            0 => Ok(format!("No content extracted from {url}")),
            count => {
                Ok(format!("Stored {count} chunks from {url} ({} chars)", page.chars().count()))
            }
        }
    }

    fn told(&self, url: &Url, answered: &HttpReply) -> Result<String, String> {
        let status = answered.status;
        let kind =
            answered.content_type.split(';').next().unwrap_or_default().trim().to_lowercase();
        let page = answered.text.clone();
        let is_html = kind.contains("html") || (kind.is_empty() && html::looks_like(&page));
        let is_text = kind.is_empty()
            || kind.starts_with("text/")
            || ["json", "xml", "javascript", "yaml"].iter().any(|it| kind.contains(it));
        if !(200..300).contains(&status) {
            let words = if is_html { html::markdown(&page, Some(url)) } else { page };
            let words: String = words.chars().take(500).collect();
            return Err(format!("HTTP {status}: {words}"));
        }
        if is_html {
            Ok(shortened(html::markdown(&page, Some(url)), self.limit))
        } else if is_text {
            Ok(shortened(page, self.limit))
        } else {
            Err(format!("The page is not text: its type is '{kind}'"))
        }
    }
}

#[async_trait]
impl Tool for Page {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let url = self.checked(text(args, "url")).map_err(ToolError::Input)?;
        Ok(Plan::from(vec![Action::Connect { host: http::host(&url) }]))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let url = self.checked(text(&call.args, "url")).map_err(ToolError::Input)?;
        let told = tokio::select! {
            told = self.fetch_and_store(url) => told,
            () = context.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        Ok(told.map_or_else(ToolOutput::failure, ToolOutput::success))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::tests::fixture;
    use super::*;

    fn host(entry: &Value, url: &str) -> Result<String, String> {
        let tool_host = fixture::tool_host(Path::new("/"));
        let built = build_reader(&Options::new(entry.as_object().unwrap()), &tool_host).unwrap();
        let actions = built.tools[0].actions(&json!({"url": url}));
        match actions.map_err(|error| error.to_string())?.actions.remove(0) {
            Action::Connect { host } => Ok(host),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn domains_and_their_subdomains_are_allowed_and_blocked() {
        let entry =
            json!({"allowed_domains": ["Example.com"], "blocked_domains": ["b.example.com"]});
        assert_eq!(host(&entry, "https://example.com/x").unwrap(), "example.com");
        assert_eq!(host(&entry, "https://a.EXAMPLE.com./").unwrap(), "a.example.com.");
        let said = host(&entry, "https://notexample.com").unwrap_err();
        let wanted = "Domain 'notexample.com' is not allowed. Allowed domains: example.com";
        assert_eq!(said, wanted);
        let said = host(&entry, "https://x.b.example.com").unwrap_err();
        assert_eq!(said, "Domain 'x.b.example.com' is blocked");
        for bad in ["example.com", "file:///etc/passwd", "https://u@example.com"] {
            assert!(host(&json!({}), bad).is_err(), "{bad}");
        }
        let entry = json!({"blocked_domains": ["bücher.de", "xn--mnchen-3ya.de", "::1", "127.1"]});
        let blocked = [
            "http://bücher.de",
            "http://a.BÜCHER.de",
            "http://münchen.de",
            "http://[::1]",
            "http://127.0.0.1",
        ];
        for url in blocked {
            assert!(host(&entry, url).unwrap_err().ends_with("is blocked"), "{url}");
        }
        assert!(host(&entry, "http://bucher.de").is_ok());
    }

    #[test]
    fn ineffective_lists_are_errors() {
        let tool_host = fixture::tool_host(Path::new("/"));
        let said = |entry: &Value| {
            build_reader(&Options::new(entry.as_object().unwrap()), &tool_host).err().unwrap()
        };
        let empty = said(&json!({"allowed_domains": []}));
        assert!(empty.starts_with("`allowed_domains` is empty"), "{empty}");
        for (name, meant) in [
            ("*.vm", "vm"),
            ("vm:18841", "vm"),
            ("vm:80", "vm"),
            ("http://vm/x", "vm"),
            ("https://bücher.de:8443", "xn--bcher-kva.de"),
            ("a b", "example.com"),
            ("", "example.com"),
            ("*", "example.com"),
        ] {
            let said = said(&json!({"blocked_domains": [name]}));
            let wanted = format!("`blocked_domains` has {name:?}, which names no host");
            assert!(said.starts_with(&wanted), "{said}");
            assert!(said.contains(&format!("as in `{meant}`")), "{said}");
        }
    }
}
