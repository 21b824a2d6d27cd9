//! Sends a request and reads the answer. Goes to no private address that the user has not named,
//! by whatever name it is reached, and follows no redirect.

use std::error::Error;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use formats::address;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, LOCATION};
use reqwest::{Client, Method, Response, Url};

use super::request::Prepared;

const LARGEST: usize = 10 << 20;
const ERROR_LENGTH: usize = 500;

pub struct Exchange {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<Vec<u8>>,
    pub limit: usize,
    pub timeout: Duration,
}

pub struct Answered {
    pub status: u16,
    pub kind: String,
    pub location: String,
    pub bytes: Vec<u8>,
}

impl Answered {
    /// The body as text, in UTF-8 or the two other encodings that servers still use.
    pub fn text(&self) -> String {
        let kind = self.kind.to_lowercase();
        let is_latin = ["iso-8859-1", "windows-1252", "latin1"].iter().any(|it| kind.contains(it));
        if is_latin && std::str::from_utf8(&self.bytes).is_err() {
            return self.bytes.iter().map(|&byte| char::from(byte)).collect();
        }
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

pub(super) struct Clients {
    allow_private: Vec<String>,
    guarded: OnceLock<Client>,
    open: OnceLock<Client>,
}

impl Clients {
    /// Clients that go to these private hosts, each a name or an address, with a port or without.
    pub(super) fn new(allow_private: &[String]) -> Self {
        let allow_private = allow_private.iter().map(|host| host.trim().to_ascii_lowercase());
        Self {
            allow_private: allow_private.collect(),
            guarded: OnceLock::new(),
            open: OnceLock::new(),
        }
    }

    pub(super) async fn send(
        &self,
        method: &Method,
        prepared: &Prepared,
    ) -> Result<String, String> {
        let client = self.client(&prepared.url)?;
        let mut request = client.request(method.clone(), prepared.url.clone());
        if let Some(body) = &prepared.body {
            request = request.json(body);
        }
        // These come last, so that a declared type of content holds.
        let request = request.headers(prepared.headers.clone());
        let mut response = request.send().await.map_err(said)?;
        let status = response.status();
        let text = read(&mut response, status.is_success()).await?;
        if status.is_success() {
            return Ok(text);
        }
        let beginning: String = text.chars().take(ERROR_LENGTH).collect();
        Err(format!("HTTP {}: {beginning}", status.as_u16()))
    }

    /// Makes one request and reads a bounded answer. Errors are words for the model.
    pub(super) async fn exchange(&self, exchange: Exchange) -> Result<Answered, String> {
        let Exchange { method, url, headers, body, limit, timeout } = exchange;
        let work = async {
            let mut request = self.client(&url)?.request(method, url).headers(headers);
            if let Some(body) = body {
                request = request.body(body);
            }
            let mut response = request.send().await.map_err(said)?;
            let header = |name: HeaderName| {
                let value = response.headers().get(name).and_then(|value| value.to_str().ok());
                value.unwrap_or_default().to_owned()
            };
            let (kind, location) = (header(CONTENT_TYPE), header(LOCATION));
            let mut bytes = Vec::new();
            while bytes.len() < limit
                && let Some(chunk) = response.chunk().await.map_err(said)?
            {
                bytes.extend_from_slice(&chunk);
            }
            bytes.truncate(limit);
            Ok(Answered { status: response.status().as_u16(), kind, location, bytes })
        };
        let late = |_| Err(format!("HTTP error: no answer within {} s", timeout.as_secs_f64()));
        tokio::time::timeout(timeout, work).await.unwrap_or_else(late)
    }

    fn client(&self, url: &Url) -> Result<&Client, String> {
        match self.resolver(url)? {
            None => made(&self.open, || builder().build()),
            Some(resolver) => made(&self.guarded, || builder().dns_resolver(resolver).build()),
        }
    }

    /// The resolver for an address; none if the user has named its host.
    pub(super) fn resolver(&self, url: &Url) -> Result<Option<Arc<dyn Resolve>>, String> {
        if self.allows(url) {
            return Ok(None);
        }
        let host = url.host_str().unwrap_or_default();
        match address::parse(host) {
            Some(address) if address::is_private(address) => {
                Err(Blocked { host: host.to_owned(), address }.to_string())
            }
            Some(_) | None => Ok(Some(Arc::new(PublicOnly))),
        }
    }

    fn allows(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let port = url.port_or_known_default().unwrap_or_default();
        let with_port = format!("{host}:{port}");
        self.allow_private
            .iter()
            .any(|allowed| [host, bare, &with_port].contains(&allowed.as_str()))
    }
}

fn made(
    kept: &OnceLock<Client>,
    make: impl FnOnce() -> reqwest::Result<Client>,
) -> Result<&Client, String> {
    if let Some(client) = kept.get() {
        return Ok(client);
    }
    let client = make().map_err(said)?;
    Ok(kept.get_or_init(|| client))
}

/// A proxy would look names up by itself, so there is none.
fn builder() -> reqwest::ClientBuilder {
    // Fails if another part of the program has done it, which is as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("Brynhild/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
}

#[derive(Debug)]
struct Blocked {
    host: String,
    address: IpAddr,
}

impl fmt::Display for Blocked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, address } = self;
        write!(formatter, "SSRF blocked: '{host}' is a private address {address}")
    }
}

impl Error for Blocked {}

/// Looks names up, and refuses those that lead to a private address.
struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let host = name.as_str();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host, 0)).await?.collect();
            if let Some(private) = found.iter().find(|found| address::is_private(found.ip())) {
                return Err(Blocked { host: host.to_owned(), address: private.ip() }.into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

async fn read(response: &mut Response, is_whole: bool) -> Result<String, String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(said)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > LARGEST {
            return Err(String::from("HTTP error: the answer is larger than 10 MiB"));
        }
        // Four bytes are the longest character.
        if !is_whole && bytes.len() > 4 * ERROR_LENGTH {
            break;
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The error without the address, which may hold the model's words.
fn said(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = vec![error.to_string()];
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if cause.is::<Blocked>() {
            return text;
        }
        if !words.iter().any(|known| known.contains(&text)) {
            words.push(text);
        }
        source = cause.source();
    }
    format!("HTTP error: {}", words.join(": "))
}
