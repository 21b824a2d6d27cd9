//! The checks that every request passes. A page of another site, or of another port of this machine,
//! reaches this server as easily as a program does; it must not be able to read or change anything.

use std::net::SocketAddr;

use http::request::Parts;
use http::{HeaderName, Method, StatusCode, header};

use crate::host::Failure;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The way a client comes in.
#[derive(Clone, Debug)]
pub(crate) enum Door {
    Tcp {
        /// The names that `Host` may have; any if there are none.
        hosts: Vec<String>,
        /// The origins of other pages that may send requests; `*` for all.
        origins: Vec<String>,
    },
    /// A socket that only this user may open: no other credentials are needed.
    Unix,
    /// The socket at which other programs of this user join a session; they need its token.
    Joining,
}

impl Door {
    /// The door at an address. A proxy in front of it has the name `public`.
    pub(crate) fn tcp(address: SocketAddr, public: Option<&str>) -> Self {
        let port = address.port();
        let mut hosts: Vec<String> = match public {
            Some(public) => vec![public.to_ascii_lowercase()],
            None => Vec::new(),
        };
        hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}")));
        hosts.push(address.to_string());
        if port == 80 {
            hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(str::to_owned));
        }
        Self::Tcp { hosts, origins: Vec::new() }
    }

    /// The door of a server of roles. Its key keeps other pages out, whatever name they use for it.
    pub(crate) fn role(address: SocketAddr, has_key: bool, allowed: Vec<String>) -> Self {
        match Self::tcp(address, None) {
            Self::Tcp { hosts, .. } if !has_key => Self::Tcp { hosts, origins: allowed },
            _ => Self::Tcp { hosts: Vec::new(), origins: allowed },
        }
    }

    /// Refuses requests that no client of ours sends.
    pub(crate) fn check(&self, request: &Parts) -> Result<(), Failure> {
        let refused = |status, text: &str| Err(Failure::new(status, text));
        if let Self::Tcp { hosts, origins } = self {
            let mut named = request.headers.get_all(header::HOST).iter();
            let (host, second) = (named.next(), named.next());
            let is_ours =
                |name: &str| hosts.is_empty() || hosts.contains(&name.to_ascii_lowercase());
            let host_is_ours = host.and_then(|host| host.to_str().ok()).is_some_and(is_ours);
            let authority = request.uri.authority();
            if !host_is_ours
                || second.is_some()
                || authority.is_some_and(|authority| !is_ours(authority.as_str()))
            {
                let what = "`Host` does not name this server";
                return refused(StatusCode::MISDIRECTED_REQUEST, what);
            }
            let is_allowed = |origin: &str| origins.iter().any(|it| it == "*" || it == origin);
            let mut is_allowed_page = false;
            for origin in request.headers.get_all(header::ORIGIN) {
                let origin = origin.to_str().unwrap_or_default();
                let host = origin.strip_prefix("http://").or(origin.strip_prefix("https://"));
                is_allowed_page = is_allowed(origin);
                let is_own =
                    |host| hosts.iter().any(|name: &String| name.eq_ignore_ascii_case(host));
                if !is_allowed_page && !host.is_some_and(is_own) {
                    return refused(StatusCode::FORBIDDEN, "requests of other pages are refused");
                }
            }
            // Another port of this machine is another page's, which browsers call the same site.
            let mut sites = request.headers.get_all(FETCH_SITE).iter();
            let is_foreign = sites.any(|site| site != "same-origin" && site != "none");
            if is_foreign && !is_allowed_page && !opens_page(request) {
                return refused(StatusCode::FORBIDDEN, "requests of other sites are refused");
            }
        }
        if request.headers.contains_key(header::UPGRADE) {
            return refused(StatusCode::BAD_REQUEST, "there is no other protocol than HTTP");
        }
        if matches!(request.method, Method::POST | Method::PATCH) {
            let kind = request.headers.get(header::CONTENT_TYPE);
            let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
            let kind = kind.split(';').next().unwrap_or_default().trim();
            if !kind.eq_ignore_ascii_case("application/json") {
                let what = "a body has the `Content-Type` `application/json`";
                return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, what);
            }
        }
        Ok(())
    }
}

/// Returns true for a link to the page, which holds nothing that another page could use.
fn opens_page(request: &Parts) -> bool {
    let mode = request.headers.get("sec-fetch-mode");
    let target = request.headers.get("sec-fetch-dest");
    request.method == Method::GET
        && request.uri.path() == "/"
        && mode.is_some_and(|mode| mode == "navigate")
        && target.is_some_and(|target| target == "document")
}
