//! The way out for a process that was granted single hosts: a proxy on the outer side of its network
//! namespace. It knows hosts by name, resolves them itself, and dials nothing that was not granted.
//!
//! The socket is made inside the namespace and handed out, so that nothing but that one process can
//! reach it, and nothing of ours has to run inside.

mod gate;
mod request;
#[cfg(target_os = "linux")]
mod socket;

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use contract::sandbox::{Hosts, Network};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, JoinSet};

use crate::blocked::BlockedLog;
use crate::{Backend, HostRules, Notice, ProxyObserver};
use gate::Gate;
use request::{Form, Request};
#[cfg(target_os = "linux")]
pub(crate) use socket::{offer, receive};

/// Where the process finds its proxy, on its own loopback.
const PORT: u16 = 3128;

/// How many connections one process has at a time; more of them wait.
const CONNECTIONS: usize = 256;
const HEAD: usize = 64 << 10;
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// A running proxy; dropping it ends it with all its connections.
#[derive(Debug)]
pub(crate) struct Proxy {
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    /// Serves `hosts` on `listener`, except those that `rules` deny. `notice` is called for
    /// each refused host, once; `on_proxy_request` is called for each connection. Needs a runtime.
    pub(crate) fn start(
        listener: TcpListener,
        hosts: &Hosts,
        rules: Option<HostRules>,
        (notice, on_proxy_request): (Option<Notice>, Option<ProxyObserver>),
        blocked: BlockedLog,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let gate = Arc::new(Gate::new(hosts, rules, notice, on_proxy_request).with_log(blocked));
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                while connections.len() >= CONNECTIONS {
                    connections.join_next().await;
                }
                tokio::select! {
                    accepted = listener.accept() => match accepted {
                        Ok((client, _)) => {
                            let gate = Arc::clone(&gate);
                            connections.spawn(async move {
                                // A connection that breaks is the affair of its two ends.
                                let _ = serve(client, &gate).await;
                            });
                        }
                        Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                    },
                    Some(_) = connections.join_next() => {}
                }
            }
        });
        Ok(Self { task })
    }
}

/// The variables by which programs find the proxy.
pub(crate) fn variables(hosts: &Hosts) -> Vec<(String, String)> {
    let address = format!("http://127.0.0.1:{PORT}");
    let mut variables = vec![("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned())];
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        variables.push((name.to_owned(), address.clone()));
        variables.push((name.to_lowercase(), address.clone()));
    }
    // A loopback that was granted is the host's; otherwise it is the one inside.
    let own = if gate::has_loopback(hosts) { "" } else { "localhost,127.0.0.1,::1" };
    for name in ["NO_PROXY", "no_proxy"] {
        variables.push((name.to_owned(), own.to_owned()));
    }
    variables
}

/// Says that a backend cannot grant single hosts, if the process was granted some.
pub(crate) fn tell_refused(network: &Network, backend: Backend, notice: Option<&Notice>) {
    if let (Network::Hosts(hosts), Some(notice)) = (network, notice) {
        notice(format!(
            "there is no network: `{}` names single hosts, which only bubblewrap can allow ({backend})",
            hosts.key
        ));
    }
}

async fn serve(mut client: TcpStream, gate: &Gate) -> io::Result<()> {
    let Ok(read) = tokio::time::timeout(HEAD_TIMEOUT, read_head(&mut client)).await else {
        return Ok(());
    };
    let (head, rest) = read?;
    let request = match Request::parse(&head) {
        Ok(request) => request,
        Err(why) => return answer(&mut client, "400 Bad Request", &why).await,
    };
    let mut server = match gate.dial(&request.host, request.port).await {
        Ok(server) => server,
        Err(refusal) => return answer(&mut client, refusal.status, &refusal.why).await,
    };
    match &request.form {
        Form::Tunnel => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
        Form::Plain(head) => server.write_all(head).await?,
    }
    server.write_all(&rest).await?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

/// The head of a request, and what came with it.
async fn read_head(client: &mut TcpStream) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut bytes = Vec::with_capacity(4096);
    loop {
        let seen = bytes.len().saturating_sub(3);
        if client.read_buf(&mut bytes).await? == 0 || bytes.len() > HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let end = bytes[seen..].windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let rest = bytes.split_off(seen + end + 4);
            return Ok((bytes, rest));
        }
    }
}

async fn answer(client: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{why}\n",
        why.len() + 1
    );
    client.write_all(text.as_bytes()).await?;
    client.shutdown().await
}

#[cfg(test)]
mod tests;
