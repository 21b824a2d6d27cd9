//! What goes wrong on the way to a server behind an address, in words for people.

use std::error::Error;

use rmcp::ServiceError;
use rmcp::service::ClientInitializeError;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, StreamableHttpError,
};

use crate::config::{Address, Server, Transport};
use crate::failure::Failure;
use crate::oauth::Credentials;

/// The machine could not be talked to: why. None where it could.
pub(super) fn unreachable(error: &ClientInitializeError) -> Option<String> {
    let cause = way(error)?;
    let is_network = chain(cause).any(|cause| {
        cause.downcast_ref::<reqwest::Error>().is_some_and(|it| it.is_connect() || it.is_timeout())
    });
    is_network.then(|| innermost(cause))
}

/// Why a handshake came to nothing.
pub(super) fn in_words(error: &ClientInitializeError) -> String {
    match way(error) {
        Some(cause) => innermost(cause),
        None => error.to_string(),
    }
}

/// What happened on the way, where that was it.
fn way(error: &ClientInitializeError) -> Option<&(dyn Error + 'static)> {
    match error {
        ClientInitializeError::TransportError { error, .. } => Some(error.error.as_ref()),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => way(fallback),
        _ => None,
    }
}

/// Why a request came to nothing.
pub(super) fn of_request(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => error.message.to_string(),
        ServiceError::TransportSend(error) => innermost(error.error.as_ref()),
        ServiceError::TransportClosed => "it ended the conversation".to_owned(),
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

/// What is behind all else.
fn innermost(error: &(dyn Error + 'static)) -> String {
    chain(error).last().unwrap_or(error).to_string()
}

/// A server that wants somebody to sign in; where its own description sends a key, that is wrong.
pub(super) fn signed_out(server: &Server, address: &Address) -> Failure {
    let name = server.name.clone();
    if address.headers.keys().any(|header| header.eq_ignore_ascii_case("authorization")) {
        return Failure::new(format!(
            "MCP server `{name}` refuses the key that its `Authorization` header sends"
        ));
    }
    Failure::SignIn { server: name }
}

/// The failure of a request that a server refused for want of rights; none where that is not it.
/// The rights are noted for the next time the user signs in.
pub(super) fn of_rights(
    server: &Server,
    credentials: &Credentials,
    error: &ServiceError,
) -> Option<Failure> {
    let (Transport::Http(address), ServiceError::TransportSend(error)) = (&server.transport, error)
    else {
        return None;
    };
    let error: &(dyn Error + 'static) = error.error.as_ref();
    let rights = chain(error).find_map(|it| it.downcast_ref::<InsufficientScopeError>());
    if let Some(rights) = rights {
        let scope = rights.required_scope.clone().unwrap_or_default();
        if let Err(error) = credentials.want(&address.url, &scope) {
            return Some(Failure::new(format!("cannot note what it wants: {error}")));
        }
        return Some(Failure::Scope { server: server.name.clone(), scope });
    }
    let is_out = chain(error).any(|it| it.downcast_ref::<AuthRequiredError>().is_some());
    is_out.then(|| signed_out(server, address))
}
