//! Error messages for requests without an answer, by causes that a user can fix.

use std::error::Error;
use std::io::ErrorKind;

use contract::provider::{Failure, ProviderError};

use super::Origin;

/// Explains an error of the HTTP client.
pub(super) fn explain(origin: &Origin, error: reqwest::Error) -> ProviderError {
    let error = error.without_url();
    let chain = chain(&error);
    let kind = io_kind(&error);
    let fail =
        |failure, what: String, hint: &str| origin.error(failure, &what, Some(hint.to_owned()));
    if error.is_builder() && chain.to_ascii_lowercase().contains("certificate") {
        return unreachable(origin, &chain, kind, false);
    }
    if error.is_builder() {
        let what = format!("cannot be asked: {}", origin.shown(&chain));
        return fail(Failure::Rejected, what, "check `base_url` and `headers`");
    }
    if error.is_connect() {
        return unreachable(origin, &chain, kind, error.is_timeout());
    }
    if chain.contains("invalid HTTP") {
        let what = "does not answer in HTTP".to_owned();
        return fail(Failure::Garbled, what, "check the port and scheme in `base_url`");
    }
    if error.is_timeout() {
        let what = "took too long to answer".to_owned();
        return fail(Failure::Idle, what, "try again");
    }
    let what = format!("closed the connection: {}", origin.shown(&chain));
    fail(Failure::Cut, what, "try again")
}

fn unreachable(
    origin: &Origin,
    chain: &str,
    kind: Option<ErrorKind>,
    timed_out: bool,
) -> ProviderError {
    let host = &origin.host;
    let lower = chain.to_ascii_lowercase();
    let (what, hint) = if lower.contains("proxy") || lower.contains("tunnel") {
        (
            format!("cannot be reached through the proxy: {}", origin.shown(chain)),
            "check the proxy variables of the environment".to_owned(),
        )
    } else if kind == Some(ErrorKind::ConnectionRefused) {
        (
            "refuses connections".to_owned(),
            format!("is the server running at {host}? Start it, or correct `base_url`"),
        )
    } else if lower.contains("dns error") {
        (
            "cannot be found: no such host".to_owned(),
            "check `base_url` and the network connection".to_owned(),
        )
    } else if kind == Some(ErrorKind::InvalidData)
        || lower.contains("certificate")
        || lower.contains("tls handshake")
    {
        (
            format!("cannot be reached over TLS: {}", origin.shown(chain)),
            "check the scheme in `base_url`, this machine's clock, and its certificates".to_owned(),
        )
    } else if timed_out {
        (
            "did not accept the connection in time".to_owned(),
            "check `base_url` and the network connection".to_owned(),
        )
    } else {
        (
            format!("cannot be reached: {}", origin.shown(chain)),
            "check `base_url` and the network connection".to_owned(),
        )
    };
    origin.error(Failure::Unreachable, &what, Some(hint))
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}

fn chain(error: &reqwest::Error) -> String {
    let mut text = String::new();
    for cause in causes(error) {
        let cause = cause.to_string();
        if !text.ends_with(&cause) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&cause);
        }
    }
    if text.is_empty() { error.to_string() } else { text }
}

/// The kind of the innermost system error. Wrapped ones hide their cause from `source`.
fn io_kind(error: &reqwest::Error) -> Option<ErrorKind> {
    causes(error)
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .filter_map(|outer| {
            std::iter::successors(Some(outer), |&outer| outer.get_ref()?.downcast_ref()).last()
        })
        .map(std::io::Error::kind)
        .last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_own_message() {
        let origin = Origin {
            provider: "Example".into(),
            host: "api.example".into(),
            key_env: None,
            secrets: Vec::new(),
        };
        let refused = Some(ErrorKind::ConnectionRefused);
        for (chain, kind, timed_out, words) in [
            ("tcp connect error", refused, false, "refuses connections"),
            ("tunnel error: tcp connect error", refused, false, "proxy"),
            ("dns error: failed to lookup address", None, false, "no such host"),
            ("invalid peer certificate: Expired", None, false, "TLS"),
            ("received corrupt message", Some(ErrorKind::InvalidData), false, "TLS"),
            ("deadline has elapsed", None, true, "in time"),
            ("network is unreachable", None, false, "network is unreachable"),
        ] {
            let error = unreachable(&origin, chain, kind, timed_out);
            assert_eq!(error.kind, Failure::Unreachable);
            assert!(error.message.starts_with("Example (api.example) "));
            assert!(error.message.contains(words), "{chain}: {}", error.message);
            assert!(error.hint.is_some());
        }
    }
}
