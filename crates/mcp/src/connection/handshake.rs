//! The first words with a server: which revision of the protocol it speaks, and what to tell a
//! person where it speaks none.

use futures::future::BoxFuture;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, RunningService, serve_client_with_lifecycle_and_ct};
use rmcp::transport::IntoTransport;
use rmcp::{ClientLifecycleMode, RoleClient};
use tokio_util::sync::CancellationToken;

use super::{GRACE, trouble};
use crate::config::{Address, Server};
use crate::failure::Failure;
use crate::handler::Handler;
use crate::launch::{self, Running, advice};
use crate::oauth;
use crate::remote;
use crate::settings::Settings;

/// Which handshakes to try. A server that spoke an older revision before is asked in that way.
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

/// Why a handshake came to nothing.
pub(super) struct Refusal {
    pub(super) failure: Failure,
    /// Whether the server may not have known what it was asked.
    pub(super) may_be_older: bool,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self { failure, may_be_older: false }
    }
}

/// Whether a server answered, and not as one that knows the newest revision; or so late that its
/// answer was taken for one to the next question.
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

pub(super) async fn reach(
    server: &Server,
    address: &Address,
    settings: &Settings,
    handler: Handler,
    lifecycle: ClientLifecycleMode,
) -> Result<RunningService<RoleClient, Handler>, Refusal> {
    let config = remote::config(address)?;
    let client = remote::resolving(&address.url, settings.resolver.as_ref())?;
    let signed_in = oauth::signed_in(address, &settings.credentials, client.clone()).await?;
    let handshake = if let Some(signed_in) = signed_in {
        shake_hands(handler, remote::Transport::with_client(signed_in, config), lifecycle)
    } else {
        shake_hands(handler, remote::Transport::with_client(client, config), lifecycle)
    };
    handshake.await.map_err(|error| {
        if error.is_authorization_required() || error.auth_challenge().is_some() {
            return trouble::signed_out(server, address).into();
        }
        let (name, url) = (&server.name, &address.url);
        let message = if let Some(why) = trouble::unreachable(&error) {
            format!("MCP server `{name}` cannot be reached at {url}: {why}")
        } else {
            let why = trouble::in_words(&error);
            format!("MCP server `{name}` at {url} did not answer as one: {why}")
        };
        let may_be_older = is_misunderstanding(&error);
        Refusal { failure: Failure::new(message), may_be_older }
    })
}

/// An error with what caused it.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

pub(super) async fn not_started(
    server: &Server,
    error: &ClientInitializeError,
    running: &Running,
) -> Failure {
    let exit = running.ended(GRACE).await;
    let words = running.last_words();
    let how = match exit {
        Some(exit) => format!("its program ended ({})", launch::in_words(exit)),
        None => causes(error),
    };
    let message =
        format!("MCP server `{}` did not start: {how}{}", server.name, launch::said(&words));
    Failure::hinted(message, advice(server, &words))
}
