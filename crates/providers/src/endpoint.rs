//! Base addresses as users write them: with or without scheme, port and path.

use contract::provider::{Failure, ProviderError};
use contract::text::visible;
use formats::address;
use reqwest::Url;

/// The address of a provider.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    url: Url,
}

impl Endpoint {
    /// Reads a base address. Without a scheme, one on this machine or in a private network is
    /// plain `http`, any other `https`; `bare_port` is for an address with neither scheme nor port.
    pub(crate) fn parse(text: &str, bare_port: Option<u16>) -> Result<Self, ProviderError> {
        let wrong = |why: &str| ProviderError {
            kind: Failure::Rejected,
            message: format!("base_url `{}` is not usable: {why}", shown(text)),
            hint: Some("write it like `http://localhost:8080/v1`".into()),
        };
        let text = text.trim();
        let has_scheme = text.contains("://");
        let parsed =
            if has_scheme { Url::parse(text) } else { Url::parse(&format!("http://{text}")) };
        let mut url = parsed.map_err(|error| wrong(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("only http and https are supported"));
        }
        if url.host_str() == Some("0.0.0.0") {
            url.set_host(Some("127.0.0.1")).map_err(|error| wrong(&error.to_string()))?;
        }
        if !has_scheme {
            if url.port().is_none() && bare_port.is_some() {
                url.set_port(bare_port).map_err(|()| wrong("it takes no port"))?;
            } else if bare_port.is_none() && !is_near(&url) {
                url.set_scheme("https").map_err(|()| wrong("it takes no scheme"))?;
            }
        }
        url.set_query(None);
        url.set_fragment(None);
        Ok(Self { url })
    }

    /// The address of `path`, perhaps with a query, below this one.
    pub(crate) fn join(&self, path: &str) -> Url {
        let (path, query) = path.split_once('?').map_or((path, None), |(a, b)| (a, Some(b)));
        let mut url = self.url.clone();
        url.set_query(query);
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}{path}"));
        url
    }

    /// The address of `path` for messages, without user name and password.
    pub(crate) fn shown(&self, path: &str) -> String {
        let mut url = self.join(path);
        // Both fail only for addresses that can have no login.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.to_string()
    }

    /// The password in the address, or a key in place of a user name.
    pub(crate) fn password(&self) -> Option<String> {
        let user = Some(self.url.username()).filter(|user| user.len() >= 8);
        self.url.password().or(user).map(str::to_owned)
    }

    /// Changes the path.
    pub(crate) fn with_path(mut self, change: impl FnOnce(&str) -> String) -> Self {
        let path = change(self.url.path().trim_end_matches('/'));
        self.url.set_path(&path);
        self
    }

    /// Host and port for messages; never a user name or password.
    pub(crate) fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        match self.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// Host and port for a connection.
    pub(crate) fn socket(&self) -> (String, u16) {
        let host = self.url.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        (host.to_owned(), self.url.port_or_known_default().unwrap_or(80))
    }

    /// Returns true for an address without TLS.
    pub(crate) fn is_plain(&self) -> bool {
        self.url.scheme() == "http"
    }

    /// Returns true for an address on this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        address::is_loopback(host) || host.ends_with(".localhost")
    }
}

fn shown(text: &str) -> String {
    let text = visible(text);
    match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => {
            format!("{}[redacted]{}", &text[..scheme + 3], &text[at..])
        }
        (None, Some(at)) => format!("[redacted]{}", &text[at..]),
        _ => text.into_owned(),
    }
}

fn is_near(url: &Url) -> bool {
    url.host_str().is_some_and(|host| match address::parse(host) {
        Some(_) => address::is_local(host),
        None => !host.trim_end_matches(".local").contains('.'),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str, bare_port: Option<u16>) -> String {
        Endpoint::parse(text, bare_port).unwrap().join("/x").to_string()
    }

    #[test]
    fn addresses_are_completed() {
        for (text, bare_port, expected) in [
            ("https://a.example/api/v1/", None, "https://a.example/api/v1/x"),
            ("localhost:1234/v1", None, "http://localhost:1234/v1/x"),
            ("10.0.0.5:8000/v1", None, "http://10.0.0.5:8000/v1/x"),
            ("api.example.com/v1", None, "https://api.example.com/v1/x"),
            ("box", Some(11434), "http://box:11434/x"),
            ("box.example:9", Some(11434), "http://box.example:9/x"),
            ("http://box/ollama", Some(11434), "http://box/ollama/x"),
            ("0.0.0.0", Some(11434), "http://127.0.0.1:11434/x"),
            ("[::1]:80/p", None, "http://[::1]/p/x"),
        ] {
            assert_eq!(url(text, bare_port), expected, "{text}");
        }
    }

    #[test]
    fn loopback_is_recognized_by_name_and_number() {
        for text in ["http://127.8.0.1", "http://localhost", "http://[::1]:8", "http://a.localhost"]
        {
            assert!(Endpoint::parse(text, None).unwrap().is_loopback(), "{text}");
        }
        for text in ["http://10.0.0.1", "http://localhost.example.com", "http://127.0.0.1.example"]
        {
            assert!(!Endpoint::parse(text, None).unwrap().is_loopback(), "{text}");
        }
    }

    #[test]
    fn a_password_in_the_address_is_never_shown() {
        let endpoint = Endpoint::parse("http://user:hunter2@box:1/v1", None).unwrap();
        assert_eq!(endpoint.host(), "box:1");
        let error = Endpoint::parse("ftp://user:hunter2@box", None).unwrap_err();
        assert!(!error.message.contains("hunter2"), "{}", error.message);
    }

    #[test]
    fn invalid_address_is_refused_with_an_example() {
        for text in ["", "http://", "file:///etc/passwd", "http://a b"] {
            let error = Endpoint::parse(text, None).unwrap_err();
            assert!(error.message.contains("base_url"), "{text}");
            assert!(error.hint.is_some());
        }
    }
}
