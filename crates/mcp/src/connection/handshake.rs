//! The first words with a server: which revision of the protocol it speaks, and what to tell a
//! person where it speaks none.

use std::path::Path;

use contract::sandbox::Network;
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
use crate::launch::{self, Running};
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
    let signed_in = remote::signed_in(address, &settings.credentials, client.clone()).await?;
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

/// What a user can try, going by what a program said before it ended.
pub(crate) fn advice(server: &Server, words: &str) -> String {
    let name = &server.name;
    if server.grants.network == Network::None && says(words, &["offline", "network"]) {
        return without_network(server);
    }
    if let Some(remedy) = remedy(server, words) {
        return remedy;
    }
    if says(words, &["No such file or directory", "not found", "ENOENT", "can't open file"]) {
        return format!(
            "its program or a file is not visible to it; `mcp.servers.{name}.sandbox.exec` or \
             `.read` names further paths, and variables are passed on with `env`"
        );
    }
    format!("`mcp.servers.{name}.sandbox` grants `network`, `read`, `write`, `env` and `exec`")
}

/// What programs say where nothing may be written.
const SHUT: [&str; 3] = ["EROFS", "Read-only file system", "read-only file system"];
/// What SQLite says there; it names no file.
const SHUT_DATABASE: [&str; 2] = ["unable to open database file", "readonly database"];

/// What programs say where nobody can be reached.
const UNREACHED: [&str; 10] = [
    "ENOTFOUND",
    "EAI_AGAIN",
    "ENOTCACHED",
    "ECONNREFUSED",
    "ENETUNREACH",
    "fetch failed",
    "getaddrinfo",
    "resolve host",
    "Temporary failure in name resolution",
    "due to a connection issue",
];

/// What would let a program reach somebody; none where it can, or does not say that it could not.
fn shut_off(server: &Server, words: &str) -> Option<String> {
    let is_shut_off = server.grants.network == Network::None && says(words, &UNREACHED);
    is_shut_off.then(|| without_network(server))
}

/// The same of a result that the program does not call a failure, and that begins like one: what is
/// only about failures, such as a line of somebody's code, is no reason to open anything.
pub(crate) fn seems_shut_off(server: &Server, words: &str) -> Option<String> {
    const BEGINNINGS: [&str; 14] = [
        "error",
        "fail",
        "fetch failed",
        "unable",
        "could not",
        "couldn't",
        "cannot",
        "can't",
        "request",
        "network",
        "connection",
        "getaddrinfo e",
        "exception",
        "sorry",
    ];
    let begins = words.trim_start_matches(|c: char| !c.is_alphanumeric());
    let begins: String = begins.chars().take(40).collect::<String>().to_lowercase();
    let is_failure = BEGINNINGS.iter().any(|beginning| begins.starts_with(beginning));
    if is_failure { shut_off(server, words) } else { None }
}

/// What would let a program do what it says it could not; none where the sandbox is not the cause.
pub(crate) fn remedy(server: &Server, words: &str) -> Option<String> {
    let name = &server.name;
    if let Some(remedy) = shut_off(server, words) {
        return Some(remedy);
    }
    if says(words, &SHUT) || says(words, &SHUT_DATABASE) {
        let place = refused_place(words);
        let (place, what) = match &place {
            Some(place) => (place.as_str(), "lets it write there"),
            None => (".", "lets it write the workspace"),
        };
        return Some(format!(
            "it may write its own directory alone; `mcp.servers.{name}.sandbox.write: [{place}]` {what}"
        ));
    }
    if says(words, &["EACCES", "EPERM", "Permission denied"]) {
        return Some(format!(
            "it may read the workspace and write its own directory alone; \
             `mcp.servers.{name}.sandbox` takes `read` and `write` with further paths"
        ));
    }
    None
}

/// The directory that a write was refused in, where the line about it names the file: `.git` of a
/// repository, else the one that holds it.
fn refused_place(words: &str) -> Option<String> {
    let words = words.lines().rfind(|line| says(line, &SHUT))?;
    let is_end = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | ',' | ')');
    let marked = words.split(is_end).map(|word| word.trim_end_matches([':', '.', ';']));
    let file = marked.map(Path::new).find(|path| path.is_absolute() && path.parent().is_some())?;
    let inside = file.ancestors().find(|path| path.ends_with(".git"));
    let directory = inside.or_else(|| file.ancestors().skip(1).find(|path| path.is_dir()))?;
    (directory != Path::new("/")).then(|| directory.display().to_string())
}

fn says(words: &str, marks: &[&str]) -> bool {
    marks.iter().any(|mark| words.contains(mark))
}

fn without_network(server: &Server) -> String {
    let name = &server.name;
    format!("it runs without a network; `mcp.servers.{name}.sandbox.network: true` gives it one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_a_refused_write_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let inside = directory.path().join("dist");
        std::fs::create_dir(&inside).unwrap();
        let shown = inside.display();
        let words = format!("EROFS: read-only file system, open '{shown}/memory.jsonl.tmp'");
        assert_eq!(refused_place(&words), Some(shown.to_string()));
        let words = "fatal: Unable to create '/repo/.git/index.lock': Read-only file system";
        assert_eq!(refused_place(words).as_deref(), Some("/repo/.git"));
        assert_eq!(refused_place("Read-only file system"), None);
        let trace = format!("File \"/usr/bin/server\", line 8\nCannot open \"{shown}/d\": EROFS\n");
        assert_eq!(refused_place(&trace), Some(shown.to_string()));
        assert_eq!(refused_place("cannot open /x: Read-only file system"), None);
    }
}
