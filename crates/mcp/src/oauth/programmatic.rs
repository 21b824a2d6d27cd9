//! Signing in without a page: as a program with a secret or a key, or as a user known to an identity
//! provider (enterprise-managed authorization).

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use contract::secret::Secret;
use oauth2::{ClientSecret, TokenResponse as _};
use reqwest::Url;
use rmcp::transport::auth::enterprise::{
    EmaAuthorizationServer, EmaClientAssertion, EmaClientAssertionProvider,
    EmaClientAuthentication, EmaExchangeRequest,
};
use rmcp::transport::auth::{
    AuthError, AuthorizationMetadata, ClientCredentialsConfig, CredentialStore as _,
    OAuthTokenResponse, StoredCredentials, default_oauth_http_client,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::signing::SigningKey;
use super::{
    Client, ClientAuthentication, Credentials, LoginContext, failed, is_safe, prepare, scopes,
};
use crate::config::Address;
use crate::failure::Failure;
use crate::http_client;

/// How long a machine may take to answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// An identity provider, and the user's token from it.
#[derive(Clone, Debug)]
pub struct IdentityProvider {
    /// Its address, which is its name.
    pub issuer: String,
    /// Our client there.
    pub client: Client,
    /// The token that the user got when they signed in there.
    pub id_token: Secret<String>,
}

/// Signs in as a program: there is no page, and no user.
pub async fn sign_in_as_program(
    address: &Address,
    credentials: &Credentials,
    client: &Client,
) -> Result<(), Failure> {
    match &client.authentication {
        ClientAuthentication::Secret(secret) => {
            by_secret(address, credentials, client, secret).await
        }
        ClientAuthentication::Key(key) => by_key(address, credentials, client, key).await,
        ClientAuthentication::None => {
            let failure = Failure::new("a client that signs in by itself needs a secret or a key");
            Err(failure.hinted(
                "`--client-secret-env` names the variable that holds a secret, `--private-key` the \
                 file of a key",
            ))
        }
    }
}

async fn by_secret(
    address: &Address,
    credentials: &Credentials,
    client: &Client,
    secret: &Secret<String>,
) -> Result<(), Failure> {
    let LoginContext { mut manager, .. } = prepare(address).await?;
    let scopes = scopes(&manager, address, credentials).await?;
    let wrong = |error: AuthError| failed(&address.url, &error);
    let config = ClientCredentialsConfig::ClientSecret {
        client_id: client.id.clone(),
        client_secret: secret.expose().clone(),
        scopes,
        resource: Some(address.url.clone()),
    };
    // The secret is not stored: such a key is not renewed.
    manager.set_credential_store(credentials.key_file(&address.url, None));
    manager.validate_client_credentials_metadata(&config).map_err(wrong)?;
    manager.configure_client_credentials(&config).map_err(wrong)?;
    manager.exchange_client_credentials(&config).await.map_err(wrong)?;
    Ok(())
}

async fn by_key(
    address: &Address,
    credentials: &Credentials,
    client: &Client,
    key: &SigningKey,
) -> Result<(), Failure> {
    let LoginContext { manager, metadata, .. } = prepare(address).await?;
    let scope = scopes(&manager, address, credentials).await?.join(" ");
    let wrong = |words: &str| Failure::new(format!("cannot sign in to {}: {words}", address.url));
    check_key(&metadata, key).map_err(|words| wrong(&words))?;
    let issuer = metadata.issuer.as_deref();
    let issuer = issuer.ok_or_else(|| wrong("its authorization server does not say its name"))?;
    let assertion = key.assertion(&client.id, issuer)?;
    let mut form = vec![
        ("grant_type", "client_credentials"),
        ("client_assertion_type", ASSERTION_TYPE),
        ("client_assertion", assertion.as_str()),
        ("resource", address.url.as_str()),
    ];
    if !scope.is_empty() {
        form.push(("scope", scope.as_str()));
    }
    let answer =
        request_token(&metadata.token_endpoint, &form).await.map_err(|words| wrong(&words))?;
    let granted = answer.scopes().into_iter().flatten().map(|it| it.to_string()).collect();
    store(address, credentials, client, &metadata, answer, granted).await
}

/// Fails if an authorization server does not take this kind of signature from clients.
fn check_key(metadata: &AuthorizationMetadata, key: &SigningKey) -> Result<(), String> {
    let listed = |name: &str| metadata.additional_fields.get(name);
    let methods = listed("token_endpoint_auth_methods_supported").and_then(Value::as_array);
    if methods.is_some_and(|methods| !methods.iter().any(|it| it == "private_key_jwt")) {
        return Err("its authorization server takes no signatures of clients".to_owned());
    }
    if key.is_among(listed("token_endpoint_auth_signing_alg_values_supported")) {
        return Ok(());
    }
    let algorithm = key.algorithm();
    Err(format!("its authorization server does not take signatures by {algorithm}, as of this key"))
}

/// Requests a token from an authorization server.
async fn request_token(
    endpoint: &str,
    form: &[(&str, &str)],
) -> Result<OAuthTokenResponse, String> {
    #[derive(Default, Deserialize)]
    struct ErrorResponse {
        #[serde(default)]
        error: String,
        #[serde(default)]
        error_description: String,
    }
    if !is_safe(endpoint) {
        return Err(format!("the server names an address for keys that is not safe: {endpoint}"));
    }
    let mut encoded = Url::parse("form:").map_err(|error| error.to_string())?;
    encoded.query_pairs_mut().extend_pairs(form);
    let request = http_client::client(endpoint).map_err(|error| error.to_string())?.post(endpoint);
    let request = request
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Accept", "application/json")
        .timeout(REQUEST_TIMEOUT)
        .body(encoded.query().unwrap_or_default().to_owned());
    let answer = request.send().await.map_err(|error| error.without_url().to_string())?;
    let status = answer.status();
    let body = http_client::body(answer).await?;
    if status.is_success() {
        return serde_json::from_slice(&body)
            .map_err(|error| format!("its authorization server gave no key: {error}"));
    }
    // Without a body the status says something.
    let ErrorResponse { error, error_description } =
        serde_json::from_slice(&body).unwrap_or_default();
    let words = [status.as_str(), &error, &error_description];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    Err(format!("its authorization server refused: {}", words.join(", ")))
}

/// Signs in as a user known to an identity provider: it gives an assertion for this one server, and
/// the server's authorization server gives a key for the assertion.
pub async fn sign_in_by_identity_provider(
    address: &Address,
    credentials: &Credentials,
    client: &Client,
    identity: &IdentityProvider,
) -> Result<(), Failure> {
    let wrong = |words: &dyn std::fmt::Display| {
        Failure::new(format!("cannot sign in to {}: {words}", address.url))
    };
    let LoginContext { manager, metadata, .. } = prepare(address).await?;
    let scopes = scopes(&manager, address, credentials).await?;
    let issuer = metadata.issuer.as_deref();
    let issuer = issuer.ok_or_else(|| wrong(&"its authorization server does not say its name"))?;
    if let ClientAuthentication::Key(key) = &client.authentication {
        check_key(&metadata, key).map_err(|words| wrong(&words))?;
    }
    let provider = provider_metadata(&identity.issuer).await?;
    let methods = metadata.additional_fields.get("token_endpoint_auth_methods_supported");
    let own = EmaAuthorizationServer::new(issuer, &metadata.token_endpoint, &client.id)
        .with_client_authentication(authentication(client, methods));
    let theirs = &provider.token_endpoint;
    let theirs = EmaAuthorizationServer::new(&provider.issuer, theirs, &identity.client.id)
        .with_client_authentication(authentication(
            &identity.client,
            provider.token_endpoint_auth_methods_supported.as_ref(),
        ));
    let token = identity.id_token.expose();
    let request = EmaExchangeRequest::new_with_id_token(theirs, own, &address.url, token);
    let http = default_oauth_http_client().map_err(|error| wrong(&error))?;
    let key = request.with_scopes(scopes).exchange(&http, &http).await;
    let key = key.map_err(|error| wrong(&error))?;
    let mut answer = json!({"access_token": key.access_token.secret(), "token_type": "bearer"});
    if let Some(time) = key.expires_in {
        answer["expires_in"] = time.as_secs().into();
    }
    let answer = serde_json::from_value(answer).map_err(|error| wrong(&error))?;
    store(address, credentials, client, &metadata, answer, key.scopes.into_iter().collect()).await
}

/// The metadata of an identity provider.
#[derive(Deserialize)]
struct ProviderMetadata {
    issuer: String,
    token_endpoint: String,
    token_endpoint_auth_methods_supported: Option<Value>,
}

/// Looks up an identity provider by its address.
async fn provider_metadata(issuer: &str) -> Result<ProviderMetadata, Failure> {
    let wrong = |words: &dyn std::fmt::Display| {
        let hint = "`--idp-issuer` is the address that stands as `iss` in the ID token";
        Failure::new(format!("the identity provider {issuer} cannot be used: {words}")).hinted(hint)
    };
    if !is_safe(issuer) {
        return Err(wrong(&"its address is not safe; it must begin with https"));
    }
    let bare = issuer.trim_end_matches('/');
    let place = format!("{bare}/.well-known/openid-configuration");
    let answer = http_client::client(issuer)?.get(place).timeout(REQUEST_TIMEOUT).send().await;
    let answer = answer.and_then(reqwest::Response::error_for_status);
    let answer = answer.map_err(|error| wrong(&error))?;
    let body = http_client::body(answer).await.map_err(|words| wrong(&words))?;
    let provider: ProviderMetadata =
        serde_json::from_slice(&body).map_err(|error| wrong(&error))?;
    if provider.issuer.trim_end_matches('/') == bare {
        return Ok(provider);
    }
    Err(wrong(&format_args!("it calls itself {}", provider.issuer)))
}

/// The authentication of a client: as the server wants it, else in the header.
fn authentication(client: &Client, methods: Option<&Value>) -> EmaClientAuthentication {
    let takes = |name: &str| {
        methods.and_then(Value::as_array).is_some_and(|them| them.iter().any(|it| it == name))
    };
    match &client.authentication {
        ClientAuthentication::None => EmaClientAuthentication::None,
        ClientAuthentication::Secret(secret) => {
            let secret = ClientSecret::new(secret.expose().clone());
            if takes("client_secret_post") && !takes("client_secret_basic") {
                EmaClientAuthentication::ClientSecretPost(secret)
            } else {
                EmaClientAuthentication::ClientSecretBasic(secret)
            }
        }
        ClientAuthentication::Key(key) => {
            EmaClientAuthentication::JwtAssertion(Arc::new(AssertionSigner(Arc::clone(key))))
        }
    }
}

/// Signs with a client's key when it is asked to.
struct AssertionSigner(Arc<SigningKey>);

#[async_trait]
impl EmaClientAssertionProvider for AssertionSigner {
    async fn create_assertion(
        &self,
        server: &EmaAuthorizationServer,
    ) -> Result<EmaClientAssertion, Box<dyn std::error::Error + Send + Sync>> {
        Ok(EmaClientAssertion::new(self.0.assertion(&server.client_id, &server.issuer)?))
    }
}

/// Stores a key that is not renewed.
async fn store(
    address: &Address,
    credentials: &Credentials,
    client: &Client,
    metadata: &AuthorizationMetadata,
    answer: OAuthTokenResponse,
    granted: Vec<String>,
) -> Result<(), Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let key = StoredCredentials::new(client.id.clone(), Some(answer), granted, Some(now))
        .with_issuer(metadata.issuer.clone());
    let kept = credentials.key_file(&address.url, None).save(key).await;
    kept.map_err(|error| failed(&address.url, &error))
}
