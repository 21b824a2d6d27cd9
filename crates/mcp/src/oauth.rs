//! Signing in to servers: an authorization code with PKCE, taken back on an address of this
//! machine, once and within minutes. Keys are kept in files of the person's own.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use contract::secret::Secret;
use futures::future::BoxFuture;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession, CredentialStore,
    StoredCredentials,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::config::Address;
use crate::failure::Failure;

/// How long the person has to sign in.
const PATIENCE: Duration = Duration::from_mins(5);
/// The longest request that the browser's return may be.
const LONGEST_REQUEST: usize = 16 * 1024;

/// The keys that the person got by signing in: one file for each address.
#[derive(Clone, Debug)]
pub struct Credentials {
    folder: PathBuf,
}

impl Credentials {
    /// Keys in a folder.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn path(&self, url: &str) -> PathBuf {
        self.folder.join(format!("{}.json", &blake3::hash(url.as_bytes()).to_hex()[..24]))
    }

    /// Whether there is a key for an address.
    pub fn has(&self, url: &str) -> bool {
        self.path(url).exists()
    }

    /// Forgets the key for an address; tells whether there was one.
    pub fn forget(&self, url: &str) -> std::io::Result<bool> {
        match fs::remove_file(self.path(url)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// A client that a server knows already.
#[derive(Clone, Debug)]
pub struct Client {
    /// Its id.
    pub id: String,
    /// Its secret, where it has one.
    pub secret: Option<Secret<String>>,
}

/// The file of one key.
struct Keeper {
    path: PathBuf,
}

impl Keeper {
    fn failed(&self, error: &dyn std::fmt::Display) -> AuthError {
        AuthError::CredentialStoreError(format!("{}: {error}", self.path.display()))
    }
}

#[async_trait]
impl CredentialStore for Keeper {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        match fs::read(&self.path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map(Some).map_err(|error| self.failed(&error))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(&error)),
        }
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let bytes = serde_json::to_vec(&credentials).map_err(|error| self.failed(&error))?;
        write(&self.path, &bytes).map_err(|error| self.failed(&error))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(self.failed(&error)),
            _ => Ok(()),
        }
    }
}

/// Puts bytes in place of a file that its owner alone can read.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    if let Err(error) = fs::remove_file(&draft)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut file = fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&draft, path)
}

/// What renews the key for an address; none where there is no usable one.
pub(crate) async fn manager(
    url: &str,
    credentials: &Credentials,
) -> Result<Option<AuthorizationManager>, Failure> {
    let failed = |error: AuthError| Failure::new(format!("cannot sign in to {url}: {error}"));
    let mut manager = fresh(url).await.map_err(failed)?;
    manager.set_credential_store(Keeper { path: credentials.path(url) });
    let is_usable = manager.initialize_from_store().await.map_err(failed)?;
    Ok(is_usable.then_some(manager))
}

fn fresh(url: &str) -> BoxFuture<'static, Result<AuthorizationManager, AuthError>> {
    Box::pin(AuthorizationManager::new(url.to_owned()))
}

/// Signs in: tells the address to open, and waits until the browser comes back.
pub async fn sign_in(
    address: &Address,
    credentials: &Credentials,
    client: Option<&Client>,
    show: impl FnOnce(&str),
) -> Result<(), Failure> {
    let url = &address.url;
    let failed = |error: AuthError| Failure::new(format!("cannot sign in to {url}: {error}"));
    let broken =
        |error: std::io::Error| Failure::new(format!("cannot wait for the browser: {error}"));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(broken)?;
    let port = listener.local_addr().map_err(broken)?.port();
    let redirect = format!("http://127.0.0.1:{port}/callback");
    let mut manager = fresh(url).await.map_err(failed)?;
    manager.set_credential_store(Keeper { path: credentials.path(url) });
    let challenge = challenge(address).await;
    let resolved = manager.resolve_metadata_from_challenge(challenge.as_deref()).await;
    let resolution = resolved.map_err(failed)?;
    manager.set_metadata(resolution.metadata);
    let mut request = AuthorizationRequest::new(redirect.as_str())
        .with_initial_scope_selection()
        .with_client_name("Brynhild");
    if let Some(client) = client {
        request = request.with_preregistered_client(&client.id);
        if let Some(secret) = &client.secret {
            request = request.with_client_secret(secret.expose());
        }
    }
    let session =
        AuthorizationSession::new(manager, request).await.map_err(|(_, error)| failed(error))?;
    let page = session.get_authorization_url();
    check_page(page)?;
    show(page);
    let returned = tokio::time::timeout(PATIENCE, returned(&listener))
        .await
        .map_err(|_| Failure::new(format!("nobody signed in to {url} within five minutes")))?
        .map_err(broken)?;
    let back = format!("http://127.0.0.1:{port}{returned}");
    session.handle_callback_url(&back).await.map_err(failed)?;
    Ok(())
}

/// What a server says to somebody who has not signed in.
async fn challenge(address: &Address) -> Option<String> {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let request = crate::remote::client(&address.url)
        .ok()?
        .post(&address.url)
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream")
        .timeout(Duration::from_secs(10))
        .body(body);
    // Without an answer the usual places are looked at.
    let answer = request.send().await.ok()?;
    answer.headers().get("www-authenticate")?.to_str().ok().map(str::to_owned)
}

/// Refuses pages that are none: what a server names as its page is opened by a person.
fn check_page(page: &str) -> Result<(), Failure> {
    let is_web = page.starts_with("https://")
        || page.starts_with("http://127.0.0.1")
        || page.starts_with("http://localhost");
    if is_web && page.chars().all(|c| c.is_ascii_graphic()) {
        return Ok(());
    }
    Err(Failure::new(format!("the server names a page to sign in that is not safe: {page}")))
}

/// The path and query with which the browser came back.
async fn returned(listener: &TcpListener) -> std::io::Result<String> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let Some(target) = target(&mut stream).await else { continue };
        let is_ours = target.starts_with("/callback?");
        let (status, text) = if is_ours {
            ("200 OK", "Signed in. You can close this page.")
        } else {
            ("404 Not Found", "There is nothing here.")
        };
        let reply = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{text}",
            text.len()
        );
        // The browser's page is a courtesy; what counts has arrived.
        let _ = stream.write_all(reply.as_bytes()).await;
        let _ = stream.shutdown().await;
        if is_ours {
            return Ok(target);
        }
    }
}

/// What a request asks for.
async fn target(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut buffer).await.ok()?;
        if count == 0 || request.len() > LONGEST_REQUEST {
            return None;
        }
        request.extend_from_slice(&buffer[..count]);
    }
    let request = String::from_utf8(request).ok()?;
    let mut words = request.lines().next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    (method == "GET" && target.starts_with('/')).then(|| target.to_owned())
}
