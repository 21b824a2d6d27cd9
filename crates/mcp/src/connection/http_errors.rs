//! Messages for the errors of HTTP connections.

use std::error::Error;

use rmcp::ServiceError;
use rmcp::service::ClientInitializeError;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, StreamableHttpError,
};

use crate::config::{Address, Server, Transport};
use crate::failure::Failure;
use crate::oauth::Credentials;

/// The reason why a host cannot be reached. None if it can.
pub(super) fn unreachable(error: &ClientInitializeError) -> Option<String> {
    let cause = transport_error(error)?;
    let is_network = chain(cause).any(|cause| {
        cause.downcast_ref::<reqwest::Error>().is_some_and(|it| it.is_connect() || it.is_timeout())
    });
    is_network.then(|| innermost(cause))
}

/// The reason why a handshake failed.
pub(super) fn handshake_error(error: &ClientInitializeError) -> String {
    match transport_error(error) {
        Some(cause) => innermost(cause),
        None => error.to_string(),
    }
}

/// The transport error behind a failed handshake.
fn transport_error(error: &ClientInitializeError) -> Option<&(dyn Error + 'static)> {
    match error {
        ClientInitializeError::TransportError { error, .. } => Some(error.error.as_ref()),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => transport_error(fallback),
        _ => None,
    }
}

/// The reason why a request failed.
pub(super) fn request_error(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => error.message.to_string(),
        ServiceError::TransportSend(error) => innermost(error.error.as_ref()),
        ServiceError::TransportClosed => "it ended the session".to_owned(),
        other => other.to_string(),
    }
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error: &&'a (dyn Error + 'static)| {
        // This one does not name its cause as one.
        match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            Some(StreamableHttpError::Client(cause)) => Some(cause),
            _ => error.source(),
        }
    })
}

/// The innermost cause.
fn innermost(error: &(dyn Error + 'static)) -> String {
    chain(error).last().unwrap_or(error).to_string()
}

/// The failure of a request without a key, or with a wrong one from the configuration.
pub(super) fn sign_in_failure(server: &Server, address: &Address) -> Failure {
    if address.headers.keys().any(|header| header.eq_ignore_ascii_case("authorization")) {
        return Failure::of(server, "refuses the key that its `Authorization` header sends");
    }
    Failure::SignIn { server: server.name.clone() }
}

/// The failure of a request that needs another scope, which is noted for the next sign-in. None for
/// other failures.
pub(super) fn missing_scope(
    server: &Server,
    credentials: &Credentials,
    error: &ServiceError,
) -> Option<Failure> {
    let (Transport::Http(address), ServiceError::TransportSend(error)) = (&server.transport, error)
    else {
        return None;
    };
    let error: &(dyn Error + 'static) = error.error.as_ref();
    let missing = chain(error).find_map(|it| it.downcast_ref::<InsufficientScopeError>());
    if let Some(missing) = missing {
        let scope = missing.required_scope.clone().unwrap_or_default();
        if let Err(error) = credentials.note_wanted_scopes(&address.url, &scope) {
            return Some(Failure::new(format!("cannot note what it wants: {error}")));
        }
        return Some(Failure::Scope { server: server.name.clone(), scope });
    }
    let is_out = chain(error).any(|it| it.downcast_ref::<AuthRequiredError>().is_some());
    is_out.then(|| sign_in_failure(server, address))
}
