//! Listens at an address or a socket, and serves connections.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use contract::secret::Secret;
use files::private::{self, Durability};
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::{JoinSet, LocalSet};

use crate::credentials::{self, Credentials, Scopes, Token};
use crate::guard::Door;
use crate::host::{Failure, Host, Opening, Reachable};
use crate::hub::Hub;
use crate::reply::Reply;
use crate::routes::Server;
use crate::service::Service;

/// Connections at once, at most; a client that listens keeps one.
const MAX_CONNECTIONS: usize = 512;
/// Time before the next client is accepted after an error, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);
/// Time for the head of a request to arrive.
const HEAD: Duration = Duration::from_secs(15);
/// Bytes of the head of a request.
const HEAD_SIZE: usize = 64 << 10;
/// Bytes that the system holds for a client that reads slowly.
const SEND_BUFFER: usize = 256 << 10;
/// The longest path of a socket that all systems allow.
const SOCKET_PATH: usize = 100;

/// The place where clients connect.
#[derive(Clone, Debug)]
pub enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Address {
    /// Reads the address that the command line names. Only a proxy may be reached from outside.
    pub fn parse(named: &str, cwd: &Path, is_proxied: bool) -> Result<Self, Failure> {
        if let Some(path) = named.strip_prefix("unix:") {
            return Ok(Self::Unix(cwd.join(path)));
        }
        let address = named.replace("localhost:", "127.0.0.1:").parse();
        let address: SocketAddr = address.map_err(|_| {
            Failure::bad(format!("`{named}` is not an address"))
                .hint("`127.0.0.1:4117`, or `unix:PATH` for a socket")
        })?;
        if !address.ip().is_loopback() && !is_proxied {
            return Err(Failure::bad(format!("{address} can be reached by other machines"))
                .hint("listen at 127.0.0.1, or name the proxy that adds TLS by `--behind-proxy`"));
        }
        Ok(Self::Tcp(address))
    }
}

/// The settings of a server.
pub struct Options {
    pub address: Address,
    /// The name of a proxy in front, which adds TLS.
    pub public: Option<String>,
    pub tokens: Vec<Token>,
    /// The private directory for cookies, and for the socket at which other programs join sessions.
    pub state: Option<PathBuf>,
    /// The directory that is meant if a request names none.
    pub cwd: PathBuf,
    /// The directories that sessions may work in; empty for all.
    pub projects: Vec<PathBuf>,
    /// True if the page opens in a browser.
    pub opens_page: bool,
    /// Time that a question waits if no client is connected.
    pub question_limit: Duration,
    /// Sessions that the program around the server hands over.
    pub openings: Option<mpsc::Receiver<Opening>>,
    pub version: &'static str,
}

/// A socket whose file is removed in the end.
pub(crate) struct Socket {
    path: PathBuf,
    listener: UnixListener,
}

impl Socket {
    /// Opens a socket that only this user can use. One that nobody serves any more is replaced.
    fn bind(path: &Path) -> io::Result<Self> {
        let is_socket = path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket());
        if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { path: path.to_owned(), listener })
    }

    /// The next client that runs as this user.
    async fn accept(&self) -> UnixStream {
        loop {
            let (stream, _) = next_client(async || self.listener.accept().await).await;
            let own = rustix::process::geteuid().as_raw();
            if stream.peer_cred().is_ok_and(|peer| peer.uid() == own) {
                return stream;
            }
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // A file that stays is replaced by the next server.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Serves clients until `until` is done, then ends all sessions in order. `ready` hears the address
/// once it is open.
pub async fn serve(
    host: Rc<dyn Host>,
    options: Options,
    until: impl Future<Output = ()>,
    ready: impl FnOnce(&str, Option<&Reachable>),
) -> io::Result<()> {
    LocalSet::new().run_until(served(host, options, until, ready)).await
}

async fn served(
    host: Rc<dyn Host>,
    options: Options,
    until: impl Future<Output = ()>,
    ready: impl FnOnce(&str, Option<&Reachable>),
) -> io::Result<()> {
    let (mut port, mut tcp, mut unix) = (0, None, None);
    let door = match &options.address {
        Address::Tcp(address) => {
            let listener = TcpListener::bind(address).await?;
            let address = listener.local_addr()?;
            port = address.port();
            tcp = Some(listener);
            Door::tcp(address, options.public.as_deref())
        }
        Address::Unix(path) => {
            unix = Some(Socket::bind(path)?);
            Door::Unix
        }
    };
    let (joining, reachable) = joining(options.state.as_deref())?;
    let mut tokens = options.tokens;
    if let Some(reachable) = &reachable {
        let secret = Secret::new(reachable.token.clone());
        tokens.extend(Token::new("terminal", &secret, Scopes::ApproveAlways));
    }
    let is_secure = options.public.is_some();
    let file = options.state.as_ref().filter(|_| port != 0);
    let file = file.map(|directory| directory.join(format!("cookies-{port}")));
    let credentials = Credentials::new(tokens, port, file, is_secure);
    let place = match (&options.address, &options.public) {
        (Address::Tcp(_), Some(public)) => format!("https://{public}"),
        (Address::Tcp(address), None) => format!("http://{}", SocketAddr::new(address.ip(), port)),
        (Address::Unix(path), _) => format!("unix:{}", path.display()),
    };
    let hub = Rc::new(Hub::new(
        Rc::clone(&host),
        (options.cwd, options.projects),
        reachable.clone().unwrap_or_default(),
        options.question_limit,
    ));
    let server = Rc::new(Server::new(Rc::clone(&hub), credentials, place.clone(), options.version));
    ready(&place, reachable.as_ref());
    if tcp.is_some() {
        let link = server.offer_link()?;
        if let Some(state) = options.state.filter(|_| options.opens_page) {
            open_page(&*host, &state, &link)?;
        }
    }
    let ticking = tokio::task::spawn_local(Rc::clone(&hub).tick());
    let opening = tokio::task::spawn_local(Rc::clone(&hub).take_over(options.openings));
    let listeners = Listeners { door, tcp, unix, joining };
    let mut connections = listeners.serve(&server, until).await;
    ticking.abort();
    opening.abort();
    hub.close_all().await;
    connections.shutdown().await;
    Ok(())
}

/// The places where clients connect, and the door of the first two.
pub(crate) struct Listeners {
    pub(crate) door: Door,
    pub(crate) tcp: Option<TcpListener>,
    pub(crate) unix: Option<Socket>,
    pub(crate) joining: Option<Socket>,
}

impl Listeners {
    /// Serves clients until `until` is done. Returns the connections that are open then.
    pub(crate) async fn serve(
        &self,
        server: &Rc<impl Service>,
        until: impl Future<Output = ()>,
    ) -> JoinSet<()> {
        let Self { door, tcp, unix, joining } = self;
        let mut connections = JoinSet::new();
        tokio::pin!(until);
        loop {
            let has_room = connections.len() < MAX_CONNECTIONS;
            tokio::select! {
                () = &mut until => return connections,
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                (stream, peer) = accept(tcp.as_ref()), if has_room => {
                    let _ = stream.set_nodelay(true);
                    let _ = set_socket_send_buffer_size(&stream, SEND_BUFFER);
                    let serving = connection(server, door.clone(), peer.to_string(), stream);
                    connections.spawn_local(serving);
                }
                stream = accept_local(unix.as_ref()), if has_room => {
                    let serving = connection(server, door.clone(), "the socket".to_owned(), stream);
                    connections.spawn_local(serving);
                }
                // Programs that join are few, and a full house must not keep them out.
                stream = accept_local(joining.as_ref()) => {
                    let serving = connection(server, Door::Joining, "a program".to_owned(), stream);
                    connections.spawn_local(serving);
                }
            }
        }
    }
}

/// Opens a link in a browser. Other users see the arguments of programs, so it is in a private file.
fn open_page(host: &dyn Host, state: &Path, link: &str) -> io::Result<()> {
    let page = state.join("open.html");
    let text = format!("<meta http-equiv=\"refresh\" content=\"0;url={link}\">");
    private::replace(&page, text.as_bytes(), Durability::Unsynced)?;
    host.open_page(&page);
    Ok(())
}

/// Accepts the next client. A client that went away meanwhile is not a reason to stop.
async fn next_client<T>(accept: impl AsyncFn() -> io::Result<T>) -> T {
    loop {
        match accept().await {
            Ok(client) => return client,
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn accept(listener: Option<&TcpListener>) -> (tokio::net::TcpStream, SocketAddr) {
    match listener {
        Some(listener) => next_client(async || listener.accept().await).await,
        None => std::future::pending().await,
    }
}

async fn accept_local(socket: Option<&Socket>) -> UnixStream {
    match socket {
        Some(socket) => socket.accept().await,
        None => std::future::pending().await,
    }
}

/// Opens the socket at which other programs join sessions.
fn joining(state: Option<&Path>) -> io::Result<(Option<Socket>, Option<Reachable>)> {
    let Some(directory) = state else { return Ok((None, None)) };
    private::make_directory(directory)?;
    remove_dead_sockets(directory)?;
    let path = directory.join(format!("{}.sock", std::process::id()));
    if path.as_os_str().len() > SOCKET_PATH {
        return Ok((None, None));
    }
    let reachable = Reachable { socket: path.clone(), token: credentials::random()? };
    Ok((Some(Socket::bind(&path)?), Some(reachable)))
}

/// Removes the sockets of servers that were killed.
fn remove_dead_sockets(directory: &Path) -> io::Result<()> {
    for entry in directory.read_dir()? {
        let path = entry?.path();
        let is_socket = path.extension().is_some_and(|extension| extension == "sock");
        if is_socket && std::os::unix::net::UnixStream::connect(&path).is_err() {
            // Another server may have removed it.
            let _ = std::fs::remove_file(&path);
        }
    }
    Ok(())
}

fn connection(
    server: &Rc<impl Service>,
    door: Door,
    peer: String,
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
) -> impl Future<Output = ()> + 'static {
    let server = Rc::clone(server);
    async move {
        let (door, peer) = (Rc::new(door), Rc::new(peer));
        answer_requests(stream, move |request| {
            let (server, door, peer) = (Rc::clone(&server), Rc::clone(&door), Rc::clone(&peer));
            async move { server.answer(request, &door, &peer).await }
        })
        .await;
    }
}

/// Answers the requests of a connection until it ends.
async fn answer_requests<F: Future<Output = Reply>>(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    answer: impl Fn(Request<Incoming>) -> F,
) {
    let service = service_fn(move |request| {
        let reply = answer(request);
        async move { Ok::<_, Infallible>(reply.await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_SIZE)
        .serve_connection(TokioIo::new(stream), service);
    // An error of one connection concerns only its client.
    let _ = serving.await;
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn half_a_head_closes_the_connection_in_time() {
        let (mut client, stream) = tokio::io::duplex(1 << 10);
        let served = async |_| unreachable!("no request is complete");
        client.write_all(b"GET /v1/health HTTP/1.1\r\nHost: 127.0").await.unwrap();
        let begun = tokio::time::Instant::now();
        answer_requests(stream, served).await;
        assert_eq!(begun.elapsed(), HEAD);
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"");
    }

    #[tokio::test(start_paused = true)]
    async fn error_of_accept_is_followed_by_a_pause() {
        let (begun, calls) = (tokio::time::Instant::now(), Cell::new(0));
        let client = next_client(async || {
            calls.set(calls.get() + 1);
            if calls.get() < 4 { Err(io::Error::other("no file is left")) } else { Ok("client") }
        });
        assert_eq!(client.await, "client");
        assert_eq!((calls.get(), begun.elapsed()), (4, 3 * PAUSE));
    }
}
