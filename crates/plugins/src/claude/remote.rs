//! Handlers that ask an address that the plugin may reach, or a model.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::time::Duration;

use ::files::surroundings::Surroundings;
use contract::sandbox::{Network, is_usual_port};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};

use super::decision;
use super::event::Event;
use crate::hooks::moment::Reply;
use crate::rest::{Exchange, Settings};

const LARGEST: usize = 1 << 20;
/// Longer than any handler waits: who waits for it has the deadline.
const CLIENT_TIMEOUT: Duration = Duration::from_hours(24);

pub(super) struct Post<'a> {
    pub(super) url: &'a str,
    pub(super) headers: &'a BTreeMap<String, String>,
    pub(super) variables: &'a [String],
    pub(super) network: &'a Network,
}

impl Post<'_> {
    pub(super) async fn send(
        &self,
        event: Event,
        requests: &Settings,
        surroundings: &Surroundings,
        input: &[u8],
    ) -> Result<Reply, String> {
        let url = Url::parse(self.url).map_err(|error| error.to_string())?;
        reachable(self.network, &url)?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in self.headers {
            let wrong = || format!("the header `{name}` cannot be sent");
            let name = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
            let value = filled(value, self.variables, &surroundings.variables);
            let mut value = HeaderValue::try_from(value).map_err(|_| wrong())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let exchange = Exchange {
            method: Method::POST,
            url,
            headers,
            body: Some(input.to_owned()),
            limit: LARGEST,
            timeout: CLIENT_TIMEOUT,
        };
        let answered = requests.exchange(exchange).await?;
        Ok(decision::read_answer(event, answered.status, &answered.text()))
    }
}

fn reachable(network: &Network, url: &Url) -> Result<(), String> {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or_default();
    let is_named = |name: &String| {
        // Hosts of addresses are in lower case, and those of the newer kind in brackets.
        let name = name.trim().to_ascii_lowercase();
        let name = if name.parse::<Ipv6Addr>().is_ok() { format!("[{name}]") } else { name };
        let with_port = name.strip_suffix(&format!(":{port}"));
        let name = with_port.unwrap_or(&name);
        let is_beneath = |end: &str| {
            host.strip_suffix(end).is_some_and(|start| start.len() > 1 && start.ends_with('.'))
        };
        let is_host =
            name == host || name == "*" || name.strip_prefix("*.").is_some_and(is_beneath);
        is_host && (with_port.is_some() || is_usual_port(host, port))
    };
    match network {
        Network::Host => Ok(()),
        Network::Hosts(hosts) if hosts.names.iter().any(is_named) => Ok(()),
        Network::Hosts(hosts) => {
            let place =
                if is_usual_port(host, port) { host.to_owned() } else { format!("{host}:{port}") };
            Err(format!("it may not reach {place}; `{place}` in `{}` allows it", hosts.key))
        }
        Network::None => Err(format!(
            "it may not reach {host}: it has no network; `sandbox.network` under the plugin's name \
             in `plugins` allows it"
        )),
    }
}

/// A header with the values of `$NAME` and `${NAME}`; one that is not allowed, or not set, is empty.
fn filled(text: &str, allowed: &[String], variables: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('$') {
        out.push_str(&rest[..start]);
        rest = &rest[start + 1..];
        let is_braced = rest.starts_with('{');
        let inner = rest.trim_start_matches('{');
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = &inner[..end.unwrap_or(inner.len())];
        if name.is_empty() || (is_braced && !inner[name.len()..].starts_with('}')) {
            out.push('$');
            continue;
        }
        if allowed.iter().any(|it| it == name) {
            out.push_str(variables.get(name).map_or("", String::as_str));
        }
        rest = &inner[name.len()..];
        rest = if is_braced { rest.strip_prefix('}').unwrap_or(rest) } else { rest };
    }
    out.push_str(rest);
    out
}

pub(super) fn asked(prompt: &str, input: &[u8]) -> String {
    let input = String::from_utf8_lossy(input);
    let question = if prompt.contains("$ARGUMENTS") {
        prompt.replace("$ARGUMENTS", &input)
    } else {
        format!("{prompt}\n\nARGUMENTS: {input}")
    };
    format!(
        "{question}\n\nAnswer with one JSON object and nothing else: {{\"ok\": true}}, or {{\"ok\": \
         false, \"reason\": \"..\"}} where it must not go on like this."
    )
}

#[cfg(test)]
mod tests {
    use contract::sandbox::Hosts;

    use super::*;

    #[test]
    fn only_named_hosts_are_reached() {
        let url = |text: &str| Url::parse(text).unwrap();
        let names = ["api.test", "*.wide.test", "port.test:8443"].map(str::to_owned).to_vec();
        let network = Network::Hosts(Hosts { names, key: "the key".to_owned() });
        for good in ["https://api.test/x", "http://a.wide.test", "https://port.test:8443/"] {
            assert_eq!(reachable(&network, &url(good)), Ok(()), "{good}");
        }
        for bad in [
            "https://evil-api.test",
            "https://xwide.test",
            "https://port.test/",
            "http://api.test:22",
        ] {
            assert!(reachable(&network, &url(bad)).unwrap_err().contains("the key"), "{bad}");
        }
        assert!(reachable(&Network::None, &url("https://api.test")).is_err());
        assert!(reachable(&Network::Host, &url("https://api.test")).is_ok());
    }

    #[test]
    fn host_patterns_match_as_for_processes() {
        let may_reach = |name: &str, url: &str| {
            let hosts = Hosts { names: vec![name.to_owned()], key: String::new() };
            reachable(&Network::Hosts(hosts), &Url::parse(url).unwrap()).is_ok()
        };
        assert!(may_reach("*", "https://api.test/x") && !may_reach("*", "https://api.test:22/"));
        assert!(
            may_reach("*.Wide.test", "https://a.WIDE.test")
                && may_reach("API.test", "http://api.test")
        );
        assert!(may_reach("2001:db8::1", "http://[2001:db8::1]/"));
        assert!(may_reach("[2001:db8::1]:8080", "http://[2001:db8::1]:8080/"));
        assert!(!may_reach("*.wide.test", "http://wide.test") && !may_reach("*", "ftp://api.test"));
    }

    #[test]
    fn headers_expand_allowed_environment_variables() {
        let variables = BTreeMap::from([("A", "1"), ("B", "2")].map(|(k, v)| (k.into(), v.into())));
        let filled = |text: &str| filled(text, &["A".to_owned()], &variables);
        assert_eq!(filled("Bearer $A/${A}"), "Bearer 1/1");
        assert_eq!(filled("x$B-${B}y$"), "x-y$");
        assert_eq!(filled("$ {A ${A-"), "$ {A ${A-");
    }
}
