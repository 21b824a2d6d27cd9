//! Signing in to servers: with an authorization code (PKCE) and a redirect to this machine, or
//! without a page, by a client's secret or key or by an identity provider. Keys are kept in private
//! files.

mod browser;
mod discovery;
mod key_file;
mod programmatic;
mod signing;

use std::sync::Arc;
use std::time::Duration;

use contract::secret::Secret;
use futures::future::BoxFuture;
use reqwest::Url;
use rmcp::transport::auth::{
    AuthClient, AuthError, AuthorizationManager, AuthorizationMetadata, AuthorizationRequest,
    AuthorizationSession, OAuthClientConfig,
};
use tokio::net::TcpListener;

use crate::config::Address;
use crate::failure::Failure;
use crate::http_client::install_crypto;

pub use key_file::Credentials;
pub use programmatic::{IdentityProvider, sign_in_as_program, sign_in_by_identity_provider};
pub use signing::SigningKey;

/// How long the user has to sign in.
const SIGN_IN_TIMEOUT: Duration = Duration::from_mins(5);

/// The name under which we register.
const NAME: &str = "Brynhild";

/// A client that a server knows already.
#[derive(Clone, Debug)]
pub struct Client {
    pub id: String,
    pub authentication: ClientAuthentication,
}

/// The authentication of a client.
#[derive(Clone, Debug)]
pub enum ClientAuthentication {
    None,
    Secret(Secret<String>),
    /// A key that signs assertions.
    Key(Arc<SigningKey>),
}

/// The client to sign in as. By default we register.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// A client that the server knows already.
    pub client: Option<Client>,
    /// The URL of a document that describes this client, for servers that read such documents.
    pub metadata_url: Option<String>,
}

fn failed(url: &str, error: &AuthError) -> Failure {
    Failure::new(format!("cannot sign in to {url}: {error}"))
}

/// A client that sends and renews the key for an address. None if there is no usable one.
pub(crate) async fn signed_in(
    address: &Address,
    credentials: &Credentials,
    http: reqwest::Client,
) -> Result<Option<AuthClient<reqwest::Client>>, Failure> {
    let url = &address.url;
    if !credentials.has(url) {
        return Ok(None);
    }
    let wrong = |error: AuthError| failed(url, &error);
    let mut manager = new_manager(url).await.map_err(wrong)?;
    let metadata = discovery::metadata(&manager, address, None).await?;
    manager.set_metadata(metadata);
    let client = credentials.key_file(url, None).client().map_err(wrong)?;
    manager.set_credential_store(credentials.key_file(url, None));
    let is_usable = manager.initialize_from_store().await.map_err(wrong)?;
    if let Some((id, secret)) = client.filter(|_| is_usable) {
        // The redirect address is not used when a key is renewed.
        let config = OAuthClientConfig::new(id, "http://127.0.0.1/callback");
        manager.configure_client(config.with_client_secret(secret)).map_err(wrong)?;
    }
    Ok(is_usable.then(|| AuthClient::new(http, manager)))
}

fn new_manager(url: &str) -> BoxFuture<'static, Result<AuthorizationManager, AuthError>> {
    install_crypto();
    Box::pin(AuthorizationManager::new(url.to_owned()))
}

/// An address to sign in to, and its authorization server.
struct LoginContext {
    manager: AuthorizationManager,
    metadata: AuthorizationMetadata,
    /// True if the authorization server takes the URL of a document as a client's id.
    reads_documents: bool,
}

/// Finds the authorization server of an address.
async fn prepare(address: &Address) -> Result<LoginContext, Failure> {
    let mut manager =
        new_manager(&address.url).await.map_err(|error| failed(&address.url, &error))?;
    let challenge = discovery::challenge(address).await;
    let metadata = discovery::metadata(&manager, address, challenge.as_deref()).await?;
    let reads = metadata.additional_fields.get("client_id_metadata_document_supported");
    let reads_documents = reads.is_some_and(|reads| *reads == true);
    manager.set_metadata(metadata.clone());
    Ok(LoginContext { manager, metadata, reads_documents })
}

/// The scopes to ask for: those the server names, and those it granted and wanted since.
async fn scopes(
    manager: &AuthorizationManager,
    address: &Address,
    credentials: &Credentials,
) -> Result<Vec<String>, Failure> {
    let mut scopes = manager.select_initial_scopes(&[]).await;
    let known = credentials.scopes(&address.url);
    let (granted, wanted) = known.map_err(|error| failed(&address.url, &error))?;
    if !wanted.is_empty() {
        for scope in granted.into_iter().chain(wanted) {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
    }
    Ok(scopes)
}

/// Signs in: shows the page to open, and waits until the browser returns.
pub async fn sign_in(
    address: &Address,
    credentials: &Credentials,
    identity: &Identity,
    show: impl FnOnce(&str),
) -> Result<(), Failure> {
    let url = &address.url;
    let wrong = |error: AuthError| failed(url, &error);
    let broken =
        |error: std::io::Error| Failure::new(format!("cannot wait for the browser: {error}"));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(broken)?;
    let port = listener.local_addr().map_err(broken)?.port();
    let redirect = format!("http://127.0.0.1:{port}/callback");
    let LoginContext { mut manager, reads_documents, .. } = prepare(address).await?;
    let scopes = scopes(&manager, address, credentials).await?;
    let request = AuthorizationRequest::new(redirect.as_str())
        .with_initial_scope_selection()
        .with_scopes(scopes.clone());
    let (request, secret) = match (&identity.client, &identity.metadata_url) {
        (Some(client), _) => {
            let secret = match &client.authentication {
                ClientAuthentication::None => None,
                ClientAuthentication::Secret(secret) => Some(secret.expose().clone()),
                ClientAuthentication::Key(_) => {
                    return Err(Failure::new("a page cannot be signed by a key")
                        .hinted("`--client-credentials` signs in by the key alone"));
                }
            };
            (request.with_preregistered_client(&client.id), secret)
        }
        (None, Some(document)) if reads_documents => {
            (request.with_client_metadata_url(document), None)
        }
        (None, _) => {
            let names: Vec<&str> = scopes.iter().map(String::as_str).collect();
            let registered = manager.register_client(NAME, &redirect, &names).await;
            let client = registered.map_err(wrong)?;
            (request.with_preregistered_client(client.client_id), client.client_secret)
        }
    };
    let request = match &secret {
        Some(secret) => request.with_client_secret(secret),
        None => request,
    };
    manager.set_credential_store(credentials.key_file(url, secret));
    let session =
        AuthorizationSession::new(manager, request).await.map_err(|(_, error)| wrong(error))?;
    let page = session.get_authorization_url();
    if !is_safe(page) {
        let text = format!("the server names a page to sign in that is not safe: {page}");
        return Err(Failure::new(text));
    }
    show(page);
    let returned = tokio::time::timeout(SIGN_IN_TIMEOUT, browser::returned(&listener))
        .await
        .map_err(|_| Failure::new(format!("no login to {url} within five minutes")))?
        .map_err(broken)?;
    let back = format!("http://127.0.0.1:{port}{returned}");
    session.handle_callback_url(&back).await.map_err(wrong)?;
    Ok(())
}

/// Returns true if data to a URL is encrypted, or stays on this machine.
fn is_safe(address: &str) -> bool {
    let is_plain = address.chars().all(|c| c.is_ascii_graphic());
    let Some(url) = Url::parse(address).ok().filter(|_| is_plain) else { return false };
    match url.scheme() {
        "https" => true,
        "http" => matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unencrypted_url_is_safe_on_this_machine_alone() {
        for address in ["https://a.example/x", "http://127.0.0.1:8/x", "http://localhost/x"] {
            assert!(is_safe(address), "{address}");
        }
        for address in [
            "http://a.example/x",
            "http://127.0.0.1.a.example/x",
            "http://localhost@a.example/x",
            "file:///x",
            "javascript:x",
            "https://a.example/ x",
            "",
        ] {
            assert!(!is_safe(address), "{address}");
        }
    }
}
