//! As much of HTTP/1.1 as a model's client uses: requests with a length or in chunks, replies with
//! a length or in chunks, connections that stay open.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::Value;

use super::Recorded;

/// The framing of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// By a length in the head.
    Length(usize),
    /// By a last chunk.
    Chunks,
}

/// Reads one request, its body as text alone; none when the client has hung up.
pub(super) fn read(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Recorded>> {
    if reader.fill_buf()?.is_empty() {
        return Ok(None);
    }
    let arrived = Instant::now();
    let first = line(reader)?;
    let mut words = first.split(' ').map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Err(io::Error::other(format!("no request line: {first:?}")));
    };
    let mut headers = Vec::new();
    loop {
        let line = line(reader)?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut recorded =
        Recorded { method, path, headers, body: Value::Null, text: String::new(), arrived };
    let body = body(reader, &recorded)?;
    recorded.text = String::from_utf8(body)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok(Some(recorded))
}

/// The head of a reply.
pub(super) fn head(status: u16, headers: &[(String, String)], framing: Framing) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} Scripted\r\n");
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    let _ = match framing {
        Framing::Length(length) => write!(head, "content-length: {length}\r\n\r\n"),
        Framing::Chunks => write!(head, "transfer-encoding: chunked\r\n\r\n"),
    };
    head.into_bytes()
}

fn line(reader: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    line.truncate(line.trim_end().len());
    Ok(line)
}

fn body(reader: &mut BufReader<TcpStream>, request: &Recorded) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if request.header("transfer-encoding") == Some("chunked") {
        loop {
            let size = line(reader)?;
            let size = u64::from_str_radix(&size, 16).map_err(io::Error::other)?;
            reader.by_ref().take(size).read_to_end(&mut body)?;
            line(reader)?;
            if size == 0 {
                return Ok(body);
            }
        }
    }
    let length = request.header("content-length").unwrap_or("0");
    let length: usize = length.parse().map_err(io::Error::other)?;
    body.resize(length, 0);
    reader.read_exact(&mut body)?;
    Ok(body)
}
