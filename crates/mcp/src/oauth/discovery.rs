//! Finds the authorization server of a server.

use std::time::Duration;

use reqwest::Url;
use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationMetadata};

use crate::config::Address;
use crate::failure::Failure;
use crate::http_client;

/// How long a machine may take to answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The metadata of the authorization server of an address.
pub(super) async fn metadata(
    manager: &AuthorizationManager,
    address: &Address,
    challenge: Option<&str>,
) -> Result<AuthorizationMetadata, Failure> {
    let resolved = manager.resolve_metadata_from_challenge(challenge).await;
    match resolved {
        Ok(resolution) => Ok(resolution.metadata),
        Err(AuthError::AuthorizationServerMismatch { expected_issuer, received_issuer }) => {
            let names_another = challenge.is_some_and(|it| it.contains("resource_metadata"));
            let at_home = home(address, &expected_issuer, &received_issuer);
            if let Some(home) = at_home.filter(|_| !names_another)
                && let Some(metadata) = at(address, &home).await
            {
                return Ok(metadata);
            }
            let error = AuthError::AuthorizationServerMismatch { expected_issuer, received_issuer };
            Err(super::failed(&address.url, &error))
        }
        Err(error) => Err(super::failed(&address.url, &error)),
    }
}

/// The challenge of a server to a request without a key.
pub(super) async fn challenge(address: &Address) -> Option<String> {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let request = http_client::client(&address.url)
        .ok()?
        .post(&address.url)
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream")
        .timeout(REQUEST_TIMEOUT)
        .body(body);
    // Without an answer the usual places are looked at.
    let answer = request.send().await.ok()?;
    answer.headers().get("www-authenticate")?.to_str().ok().map(str::to_owned)
}

/// The machine of an address, where both names of an issuer are of it and the one that was asked
/// for is the machine itself. In the revision of 2025-03-26 the machine of the server is its own
/// authorization server, and some give themselves a name with a path.
fn home(address: &Address, expected: &str, received: &str) -> Option<Url> {
    let own = Url::parse(&address.url).ok()?;
    let (expected, received) = (Url::parse(expected).ok()?, Url::parse(received).ok()?);
    let is_same = own.origin() == expected.origin() && own.origin() == received.origin();
    (is_same && expected.path() == "/").then(|| {
        let mut home = own;
        home.set_path("/");
        home.set_query(None);
        home.set_fragment(None);
        home
    })
}

/// The description at a machine that is its own authorization server; none where it names another
/// one by the means of later revisions, or any page of another machine.
async fn at(address: &Address, home: &Url) -> Option<AuthorizationMetadata> {
    let client = http_client::client(&address.url).ok()?;
    let path = Url::parse(&address.url).ok()?.path().to_owned();
    let get = async |path: &str| {
        let place = home.join(path).ok()?;
        client.get(place).timeout(REQUEST_TIMEOUT).send().await.ok()
    };
    for path in [path.as_str(), ""] {
        let place = format!("/.well-known/oauth-protected-resource{path}");
        if get(&place).await?.status().is_success() {
            return None;
        }
    }
    let answer = get("/.well-known/oauth-authorization-server").await?;
    let body = http_client::body(answer.error_for_status().ok()?).await.ok()?;
    let metadata: AuthorizationMetadata = serde_json::from_slice(&body).ok()?;
    let pages = [
        Some(&metadata.authorization_endpoint),
        Some(&metadata.token_endpoint),
        metadata.registration_endpoint.as_ref(),
    ];
    let is_home = |page: &String| Url::parse(page).is_ok_and(|it| it.origin() == home.origin());
    let is_own = pages.into_iter().flatten().all(is_home);
    is_own.then_some(metadata)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn only_the_host_itself_is_its_own_authorization_server() {
        let address = Address { url: "https://h.example/mcp".into(), headers: BTreeMap::new() };
        let home = |expected, received| home(&address, expected, received).map(|it| it.to_string());
        let own = Some("https://h.example/".to_owned());
        assert_eq!(home("https://h.example/", "https://h.example/oauth"), own);
        assert_eq!(home("https://h.example", "https://evil.example/oauth"), None);
        assert_eq!(home("https://h.example/a", "https://h.example/b"), None);
        assert_eq!(home("https://other.example/", "https://other.example/b"), None);
        assert_eq!(home("https://h.example/", "http://h.example/"), None);
    }
}
