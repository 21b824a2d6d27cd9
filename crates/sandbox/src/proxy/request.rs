//! Requests to the proxy: the head of an HTTP request, parsed strictly. A head that a proxy and a server
//! could interpret differently is refused.

use std::fmt::Write;

/// A request with the host that it is for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// A name or an address, in lower case and without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) form: Form,
}

/// How a request goes on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Bytes go both ways.
    Tunnel,
    /// This head goes to the server first.
    Plain(Vec<u8>),
}

/// Headers that are between a client and its proxy, and the host, which is told anew.
const BETWEEN: [&str; 6] =
    ["connection", "host", "keep-alive", "proxy-authorization", "proxy-connection", "te"];

impl Request {
    /// Reads a head, which ends in an empty line.
    pub(super) fn parse(head: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(head).map_err(|_| "the request is not text")?;
        let text = text.strip_suffix("\r\n\r\n").ok_or("the request has no end")?;
        if text.bytes().any(|byte| byte == 0) || has_bare_break(text) {
            return Err("the request has a line break or a zero where none belongs".to_owned());
        }
        let mut lines = text.split("\r\n");
        let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, version @ ("HTTP/1.1" | "HTTP/1.0")] = words[..] else {
            return Err("the request line is none of HTTP/1.1".to_owned());
        };
        if method == "CONNECT" {
            let (host, port) = authority(target)?;
            let port = port.ok_or("CONNECT needs a port")?;
            return Ok(Self { host, port, form: Form::Tunnel });
        }
        let rest = target
            .get(..7)
            .filter(|scheme| scheme.eq_ignore_ascii_case("http://"))
            .map(|_| &target[7..])
            .ok_or("a proxy takes `CONNECT host:port` and `http://` addresses")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (place, path) = rest.split_at(end);
        let (host, port) = authority(place)?;
        let slash = if path.starts_with('/') { "" } else { "/" };
        let mut head = format!("{method} {slash}{path} {version}\r\nHost: {place}\r\n");
        for line in lines {
            let (name, _) = line.split_once(':').ok_or("a header has no colon")?;
            if !is_token(name) {
                return Err(format!("`{name}` is not a name of a header"));
            }
            if !BETWEEN.contains(&name.to_ascii_lowercase().as_str()) {
                let _ = write!(head, "{line}\r\n");
            }
        }
        // Each request is judged by itself, so each has a connection of its own.
        head.push_str("Connection: close\r\n\r\n");
        Ok(Self { host, port: port.unwrap_or(80), form: Form::Plain(head.into_bytes()) })
    }
}

fn has_bare_break(text: &str) -> bool {
    let whole = text.matches("\r\n").count();
    text.matches('\r').count() != whole || text.matches('\n').count() != whole
}

fn is_token(name: &str) -> bool {
    let in_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty() && name.chars().all(in_token)
}

/// A host and its port, as they stand in an address.
pub(super) fn authority(text: &str) -> Result<(String, Option<u16>), String> {
    let fault = || format!("`{text}` is not a host");
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or_else(fault)?;
            host.parse::<std::net::Ipv6Addr>().map_err(|_| fault())?;
            (
                host,
                if port.is_empty() {
                    None
                } else {
                    Some(port.strip_prefix(':').ok_or_else(fault)?)
                },
            )
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let is_name = !host.is_empty() && host.len() <= 253 && host.chars().all(fits);
    if !(is_name || text.starts_with('[')) {
        return Err(fault());
    }
    let port = match port {
        None => None,
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(port.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(fault)?)
        }
        Some(_) => return Err(fault()),
    };
    Ok((host.to_ascii_lowercase(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(head: &str) -> Result<Request, String> {
        Request::parse(head.as_bytes())
    }

    #[test]
    fn a_tunnel_names_its_host_and_port() {
        let request = parse("CONNECT API.Example.org:443 HTTP/1.1\r\nHost: other\r\n\r\n").unwrap();
        assert_eq!((request.host.as_str(), request.port), ("api.example.org", 443));
        assert_eq!(request.form, Form::Tunnel);
        let request = parse("CONNECT [::1]:8080 HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!((request.host.as_str(), request.port), ("::1", 8080));
    }

    #[test]
    fn plain_request_is_sent_to_the_judged_host() {
        let request = parse(
            "GET http://example.org:81/a?b HTTP/1.1\r\nHost: evil.test\r\nProxy-Connection: x\r\n\
             Accept: */*\r\nConnection: keep-alive\r\n\r\n",
        );
        let request = request.unwrap();
        assert_eq!((request.host.as_str(), request.port), ("example.org", 81));
        let head = "GET /a?b HTTP/1.1\r\nHost: example.org:81\r\nAccept: */*\r\n\
                    Connection: close\r\n\r\n";
        assert_eq!(request.form, Form::Plain(head.as_bytes().to_vec()));
    }

    #[test]
    fn ambiguous_request_is_refused() {
        for head in [
            "CONNECT example.org HTTP/1.1\r\n\r\n",
            "CONNECT example.org:0 HTTP/1.1\r\n\r\n",
            "CONNECT example.org:+80 HTTP/1.1\r\n\r\n",
            "CONNECT example.org:99999 HTTP/1.1\r\n\r\n",
            "CONNECT user@example.org:80 HTTP/1.1\r\n\r\n",
            "CONNECT example.org:80@evil.test:80 HTTP/1.1\r\n\r\n",
            "CONNECT [::1 HTTP/1.1\r\n\r\n",
            "CONNECT [example.org]:80 HTTP/1.1\r\n\r\n",
            "CONNECT b\u{fc}cher.de:80 HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
            "GET https://example.org/ HTTP/1.1\r\n\r\n",
            "GET http://user:pw@example.org/ HTTP/1.1\r\n\r\n",
            "GET http://example.org\\@evil.test/ HTTP/1.1\r\n\r\n",
            "GET http:///x HTTP/1.1\r\n\r\n",
            "GET http://a/ http://b/ HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/2.0\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nX: 1\nHost: b\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost : b\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\n folded\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\n",
            "",
        ] {
            assert!(parse(head).is_err(), "{head:?}");
        }
        assert!(Request::parse(b"GET http://a\xff/ HTTP/1.1\r\n\r\n").is_err());
    }
}
