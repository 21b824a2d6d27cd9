//! Error messages about providers: which one, which host, its own message, and a hint.
//! Texts of a provider are shortened, escaped and redacted before they are shown.

mod transport;
mod words;

use std::time::Duration;

use contract::provider::{Failure, ProviderError};
use contract::secret::Secret;
use contract::text::{head, visible};
use reqwest::header::HeaderMap;
use serde_json::Value;

/// The largest part of a provider's own message that is shown, in bytes.
const SHOWN: usize = 1000;

/// The provider that a message is about.
#[derive(Debug, Default)]
pub(crate) struct Origin {
    pub(crate) provider: String,
    pub(crate) host: String,
    /// The environment variable with the key.
    pub(crate) key_env: Option<String>,
    /// Texts that are redacted: the key, the values of extra headers.
    pub(crate) secrets: Vec<Secret<String>>,
}

impl Origin {
    /// An answer with a status that is not a success.
    pub(crate) fn status(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> ProviderError {
        let said = words::of_body(body);
        let wait = words::retry_after(headers, jiff::Timestamp::now());
        let code = words::code_of_body(body).unwrap_or_default();
        let kind = kind_of_status(status, (&code, said.as_deref().unwrap_or_default()), wait);
        let said = match (&said, status, headers.get("location")) {
            (_, 300..=399, Some(location)) => {
                format!("redirected to {}", String::from_utf8_lossy(location.as_bytes()))
            }
            (Some(said), ..) => said.clone(),
            (None, ..) => reason(status).to_owned(),
        };
        let what = format!("answered HTTP {status}: {}", self.shown(&said));
        self.error(kind, &what, self.hint(kind, status))
    }

    /// An error object in place of a reply or a part of one.
    pub(crate) fn reported(&self, error: &Value) -> ProviderError {
        let said = words::of_error(error).unwrap_or_else(|| error.to_string());
        let code = words::code_of(error);
        let (kind, status) = match code.as_deref().map(str::parse::<u16>) {
            Some(Ok(status)) => (kind_of_status(status, ("", &said), None), status),
            _ => (kind_of_word(code.as_deref().unwrap_or_default(), &said), 0),
        };
        let what = format!("reported an error: {}", self.shown(&said));
        self.error(kind, &what, self.hint(kind, status))
    }

    /// A request that got no answer.
    pub(crate) fn transport(&self, error: reqwest::Error) -> ProviderError {
        transport::explain(self, error)
    }

    /// No data arrived for `limit`.
    pub(crate) fn idle(&self, limit: Duration, awaited: &str) -> ProviderError {
        let what = format!("sent no {awaited} for {}", seconds(limit));
        let hint = "the server may be overloaded or still loading the model; try again";
        self.error(Failure::Idle, &what, Some(hint.into()))
    }

    /// The reply broke off.
    pub(crate) fn cut(&self) -> ProviderError {
        let hint = "the connection was lost; try again";
        self.error(Failure::Cut, "ended in the middle of the reply", Some(hint.into()))
    }

    /// An answer that is not in the format of the provider.
    pub(crate) fn garbled(&self, what: &str, sample: &[u8]) -> ProviderError {
        // Redacted before it is cut, or a part of a secret would stay.
        let sample = String::from_utf8_lossy(&sample[..sample.len().min(64 << 10)]);
        let sample = self.shown(sample.trim());
        let what = match head(&sample, 200) {
            "" => format!("sent {what}"),
            sample => format!("sent {what}: {sample}"),
        };
        let hint = "check `base_url` and the provider's `type`";
        self.error(Failure::Garbled, &what, Some(hint.into()))
    }

    /// A web page in place of a reply.
    pub(crate) fn page(&self, body: &[u8]) -> ProviderError {
        let title = words::page_title(&String::from_utf8_lossy(body));
        let what = match title {
            Some(title) => format!("sent a web page titled `{}`", self.shown(&title)),
            None => "sent a web page".to_owned(),
        };
        let hint = "check `base_url`, and whether this network wants you to sign in first";
        self.error(Failure::Garbled, &format!("{what} instead of a reply"), Some(hint.into()))
    }

    fn error(&self, kind: Failure, what: &str, hint: Option<String>) -> ProviderError {
        ProviderError { kind, message: format!("{} ({}) {what}", self.provider, self.host), hint }
    }

    /// The text without any key in it.
    pub(crate) fn without_secrets(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            if secret.expose().len() >= 4 {
                text = text.replace(secret.expose(), "[redacted]");
            }
        }
        text
    }

    fn shown(&self, text: &str) -> String {
        let mut text = self.without_secrets(&visible(text));
        let short = head(&text, SHOWN);
        if short.len() < text.len() {
            text = format!("{short} …");
        }
        text
    }

    fn hint(&self, kind: Failure, status: u16) -> Option<String> {
        let text = match kind {
            Failure::Auth if status == 403 => {
                "the key may not do this: check its rights, or choose another model".into()
            }
            Failure::Auth => match &self.key_env {
                Some(variable) => format!("set `{variable}` to a valid key"),
                None => "check this provider's key".into(),
            },
            Failure::Payment => {
                format!("add credits to the account at {}, or choose another model", self.provider)
            }
            Failure::NotFound => {
                "check the model's name (`brynhild models list`) and `base_url`".into()
            }
            Failure::TooLong => {
                "the conversation does not fit into the model: start a session, or choose a model \
                 with a larger context"
                    .into()
            }
            Failure::RateLimited(Some(wait)) if wait >= Duration::from_secs(1) => {
                format!("it asks to wait {}; do so, or choose another model", seconds(wait))
            }
            Failure::RateLimited(_) => "wait a little, or choose another model".into(),
            Failure::Unavailable(Some(wait)) if wait >= Duration::from_secs(1) => {
                format!("the provider has a problem and asks to wait {}", seconds(wait))
            }
            Failure::Unavailable(_) => "the provider has a problem: try again later".into(),
            Failure::Rejected if status == 407 => {
                "give the proxy's user and password in its address".into()
            }
            Failure::Rejected
            | Failure::Unreachable
            | Failure::Idle
            | Failure::Cut
            | Failure::Garbled
            | Failure::Filtered
            | Failure::Expectation => return None,
        };
        Some(text)
    }
}

/// The kind of failure, by the status and the provider's own code and message.
fn kind_of_status(status: u16, (code, said): (&str, &str), wait: Option<Duration>) -> Failure {
    match status {
        401 | 403 => Failure::Auth,
        402 => Failure::Payment,
        413 => Failure::TooLong,
        400 | 422 | 500 if is_too_long(code, said) => Failure::TooLong,
        400 if code == "content_filter" => Failure::Filtered,
        300..=399 | 404 | 405 | 410 => Failure::NotFound,
        // Waiting does not help against missing credits.
        429 if is_about_money(code) => Failure::Payment,
        429 => Failure::RateLimited(wait),
        408 | 425 | 500..=599 => Failure::Unavailable(wait),
        _ => Failure::Rejected,
    }
}

fn kind_of_word(code: &str, said: &str) -> Failure {
    if is_too_long(code, said) {
        Failure::TooLong
    } else if has(code, &["rate_limit", "too_many"]) {
        Failure::RateLimited(None)
    } else if has(code, &["authentication", "permission", "api_key"]) {
        Failure::Auth
    } else if is_about_money(code) {
        Failure::Payment
    } else if has(code, &["not_found"]) || said.contains("not found") {
        Failure::NotFound
    } else if has(code, &["invalid"]) {
        Failure::Rejected
    } else {
        Failure::Unavailable(None)
    }
}

fn is_too_long(code: &str, said: &str) -> bool {
    words::says_too_long(said) || has(code, &["context_length", "too_large"])
}

fn is_about_money(code: &str) -> bool {
    has(code, &["billing", "insufficient", "credit"])
}

fn has(code: &str, words: &[&str]) -> bool {
    words.iter().any(|word| code.contains(word))
}

fn reason(status: u16) -> &'static str {
    reqwest::StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or("no reason given")
}

fn seconds(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{} ms", duration.as_millis())
    }
}

#[cfg(test)]
mod tests;
