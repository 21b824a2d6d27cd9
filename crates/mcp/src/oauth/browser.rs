//! The browser's return: one request to an address of this machine.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The longest request that the browser's return may be.
const MAX_REQUEST: usize = 16 * 1024;

/// The path and query with which the browser came back.
pub(super) async fn returned(listener: &TcpListener) -> std::io::Result<String> {
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
        // The page is optional; the code has arrived.
        let _ = stream.write_all(reply.as_bytes()).await;
        let _ = stream.shutdown().await;
        if is_ours {
            return Ok(target);
        }
    }
}

async fn target(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut buffer).await.ok()?;
        if count == 0 || request.len() > MAX_REQUEST {
            return None;
        }
        request.extend_from_slice(&buffer[..count]);
    }
    let request = String::from_utf8(request).ok()?;
    let mut words = request.lines().next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    (method == "GET" && target.starts_with('/')).then(|| target.to_owned())
}
