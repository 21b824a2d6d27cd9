//! Addresses and keys of providers with an interface like that of OpenAI.

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};

use crate::host::HttpClient;

/// Providers with their addresses, and environment variables of keys. Anthropic has no embeddings, so
/// InitRunner takes those of OpenAI.
#[rustfmt::skip]
const PROVIDERS: [(&str, &str, &str); 4] = [
    ("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    ("anthropic", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    ("google", "https://generativelanguage.googleapis.com/v1beta/openai", "GOOGLE_API_KEY"),
    ("ollama", "http://localhost:11434/v1", ""),
];

/// An address, and the headers of a request to it.
pub(crate) struct Endpoint {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
}

impl Endpoint {
    /// The endpoint below the address of a provider; a role may name another address, and the
    /// variable of its key. An error says why there is none.
    pub(crate) fn new(
        (provider, base_url, api_key_env): (&str, Option<&str>, Option<&str>),
        path: &str,
        requests: &dyn HttpClient,
    ) -> Result<Self, String> {
        let known = PROVIDERS.iter().find(|(name, ..)| *name == provider);
        let address = base_url.or(known.map(|it| it.1));
        let address =
            address.ok_or_else(|| format!("the provider `{provider}` has none; set `base_url`"))?;
        let url = format!("{}/{path}", address.trim_end_matches('/'));
        let url = Url::parse(&url).map_err(|error| format!("`base_url` {address:?}: {error}"))?;
        let usual_key = known.filter(|_| base_url.is_none()).map_or("", |it| it.2);
        let variable = api_key_env.unwrap_or(usual_key);
        let mut headers =
            HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        if !variable.is_empty() {
            let written = format!("${{{variable}}}");
            let key = requests.expand(&written);
            if key == written {
                return Err(format!("{variable} is not set"));
            }
            let value = HeaderValue::from_str(&format!("Bearer {key}"));
            let mut value = value.map_err(|_| format!("{variable} is not a key"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(Self { url, headers })
    }
}
