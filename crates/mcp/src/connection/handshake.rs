//! The handshake with a server, in the newest revision of the protocol or an older one.

use futures::future::BoxFuture;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, RunningService, serve_client_with_lifecycle_and_ct};
use rmcp::transport::IntoTransport;
use rmcp::{ClientLifecycleMode, RoleClient};
use tokio_util::sync::CancellationToken;

use super::{GRACE, http_errors};
use crate::client_handler::Handler;
use crate::config::{Address, Server};
use crate::failure::Failure;
use crate::http_client;
use crate::launch::{self, ServerProcess, advice};
use crate::oauth;
use crate::settings::Settings;

/// The handshakes to try. A server that spoke an older revision before gets the older one.
pub(super) fn lifecycle(protocol: Option<&str>) -> ClientLifecycleMode {
    let newest = ProtocolVersion::LATEST;
    match protocol {
        Some(known) if !known.is_empty() && known != newest.as_str() => {
            ClientLifecycleMode::Initialize
        }
        _ => ClientLifecycleMode::Auto {
            preferred_versions: vec![newest],
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
    }
}

/// A failed handshake.
pub(super) struct HandshakeFailure {
    pub(super) failure: Failure,
    /// True if the server may speak an older revision.
    pub(super) may_be_older: bool,
}

impl From<Failure> for HandshakeFailure {
    fn from(failure: Failure) -> Self {
        Self { failure, may_be_older: false }
    }
}

/// Returns true if a server answered, but not as one that knows the newest revision; or so late that
/// its answer was taken for one to the next request.
pub(super) fn is_misunderstanding(error: &ClientInitializeError) -> bool {
    matches!(
        error,
        ClientInitializeError::ExpectedInitResponse(_)
            | ClientInitializeError::ExpectedInitResult(_)
            | ClientInitializeError::JsonRpcError(_)
            | ClientInitializeError::ConnectionClosed(_)
            | ClientInitializeError::ConflictInitResponseId(..)
            | ClientInitializeError::UncorrelatedErrorResponse { .. }
            | ClientInitializeError::LegacyFallbackFailed { .. }
    )
}

type Handshake = Result<RunningService<RoleClient, Handler>, ClientInitializeError>;

pub(super) fn shake_hands<T, E, A>(
    handler: Handler,
    transport: T,
    lifecycle: ClientLifecycleMode,
) -> BoxFuture<'static, Handshake>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
    A: 'static,
{
    let token = CancellationToken::new();
    Box::pin(serve_client_with_lifecycle_and_ct(handler, transport, lifecycle, token))
}

pub(super) async fn connect_http(
    server: &Server,
    address: &Address,
    settings: &Settings,
    handler: Handler,
    lifecycle: ClientLifecycleMode,
) -> Result<RunningService<RoleClient, Handler>, HandshakeFailure> {
    let config = http_client::config(address)?;
    let client = http_client::client_with_resolver(&address.url, settings.resolver.as_ref())?;
    let signed_in = oauth::signed_in(address, &settings.credentials, client.clone()).await?;
    let handshake = if let Some(signed_in) = signed_in {
        shake_hands(handler, http_client::Transport::with_client(signed_in, config), lifecycle)
    } else {
        shake_hands(handler, http_client::Transport::with_client(client, config), lifecycle)
    };
    handshake.await.map_err(|error| {
        if error.is_authorization_required() || error.auth_challenge().is_some() {
            return http_errors::sign_in_failure(server, address).into();
        }
        let url = &address.url;
        let sentence = if let Some(why) = http_errors::unreachable(&error) {
            format!("cannot be reached at {url}: {why}")
        } else {
            let why = http_errors::handshake_error(&error);
            format!("at {url} did not answer as one: {why}")
        };
        let may_be_older = is_misunderstanding(&error);
        HandshakeFailure { failure: Failure::of(server, sentence), may_be_older }
    })
}

/// The failure of a program that did not answer the handshake.
pub(super) async fn start_failure(
    server: &Server,
    error: &ClientInitializeError,
    running: &ServerProcess,
) -> Failure {
    let exit = running.exit(GRACE).await;
    let stderr = running.stderr();
    let how = match exit {
        Some(exit) => format!("its program ended ({})", launch::exit_text(exit)),
        None => http_errors::handshake_error(error),
    };
    let sentence = format!("did not start: {how}{}", launch::quoted_stderr(&stderr));
    Failure::of(server, sentence).hinted(advice(server, &stderr))
}
