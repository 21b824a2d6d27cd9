//! One client's connection: reads its requests, sends the replies with the faults the script asks
//! for.

use std::io::{self, BufReader, ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::http::{self, Framing};
use super::{Bodies, Recorded, Shared};
use crate::reply::{End, Faults, Reply};
use crate::wire::{Format, Transfer};

const WRITE: usize = 16 * 1024;

/// A reply ready to be sent.
struct Response {
    head: Vec<u8>,
    body: Vec<u8>,
    framing: Framing,
    faults: Faults,
    withheld: bool,
}

/// Serves one connection until one of the sides ends it.
pub(super) fn serve(connection: TcpStream, number: usize, shared: &Shared) {
    let _ = connection.set_nodelay(true);
    let mut reader = BufReader::new(connection);
    while let Ok(Some(mut request)) = http::read(&mut reader) {
        if shared.lock().bodies == Bodies::Parsed {
            request.body = serde_json::from_str(&request.text).unwrap_or_default();
        }
        let Some(response) = answer(&Arc::new(request), shared) else {
            break;
        };
        match send(reader.get_mut(), &response, shared) {
            Ok(None) => {}
            Ok(Some(End::Closed)) => break,
            Ok(Some(End::Reset)) => {
                let at_once = Some(Duration::ZERO);
                let _ = rustix::net::sockopt::set_socket_linger(reader.get_ref(), at_once);
                // The reset goes out when the last handle closes, and in place of an end in order.
                shared.lock().connections.remove(&number);
                return;
            }
            Err(_) => {
                shared.lock().hung_up += 1;
                shared.changed.notify_all();
                break;
            }
        }
    }
    let _ = reader.get_ref().shutdown(Shutdown::Both);
    shared.lock().connections.remove(&number);
}

/// Notes the request and finds the reply to it; none when the server is about to end.
fn answer(request: &Arc<Recorded>, shared: &Shared) -> Option<Response> {
    let mut state = shared.lock();
    if state.stopping {
        return None;
    }
    if !state.forgets {
        state.requests.push(Arc::clone(request));
    }
    shared.changed.notify_all();
    let path = request.path.split('?').next().unwrap_or_default();
    let listing = if path.ends_with("/api/tags") {
        Some(Format::Ollama)
    } else if !path.ends_with("/models") {
        None
    } else if request.header("anthropic-version").is_some() {
        Some(Format::Anthropic)
    } else if request.header("x-goog-api-key").is_some() {
        Some(Format::Gemini)
    } else {
        Some(Format::OpenAiChat)
    };
    let response = match (request.method.as_str(), listing, Format::of_path(path)) {
        ("GET", Some(format), _) => {
            let models = format.models(&state.models).to_string().into_bytes();
            let reply = state.models_reply.clone().unwrap_or_default();
            render(reply, format, Transfer::Whole, |_| models)
        }
        ("POST", _, Some(format)) => {
            let number = state.requests.iter();
            let number = number.filter(|request| request.method == "POST").count();
            let reply = state.source.next(request);
            let transfer = format.transfer(&request.body);
            render(reply, format, transfer, |reply| format.body(reply, &request.body, number))
        }
        (method, ..) => {
            let body = format!("the test's model server knows no {method} {path}");
            let reply = Reply::failure(404).body(&body);
            render(reply, Format::OpenAiChat, Transfer::Whole, |_| Vec::new())
        }
    };
    Some(response)
}

/// Puts a reply into bytes; `content` gives the body where the script gives none.
fn render(
    reply: Reply,
    format: Format,
    transfer: Transfer,
    content: impl FnOnce(&Reply) -> Vec<u8>,
) -> Response {
    let status = reply.status.unwrap_or(200);
    let transfer = if status == 200 { transfer } else { Transfer::Whole };
    let mut body = match &reply.body {
        Some(body) => body.clone(),
        None if status == 200 => content(&reply),
        None => {
            let message = format!("the test scripted status {status}");
            format.error(&message).to_string().into_bytes()
        }
    };
    for (at, bytes) in &reply.faults.mangled {
        for (old, new) in body.iter_mut().skip(*at).zip(bytes) {
            *old = *new;
        }
    }
    let framing = match transfer {
        Transfer::Streamed => Framing::Chunks,
        Transfer::Whole => Framing::Length(body.len()),
    };
    let content_type = format.content_type(transfer).to_owned();
    let mut headers = vec![(String::from("content-type"), content_type)];
    for (name, value) in reply.headers {
        headers.retain(|(other, _)| *other != name);
        headers.push((name, value));
    }
    Response {
        head: http::head(status, &headers, framing),
        body,
        framing,
        faults: reply.faults,
        withheld: reply.withheld,
    }
}

fn send(
    connection: &mut TcpStream,
    response: &Response,
    shared: &Shared,
) -> io::Result<Option<End>> {
    let Response { head, body, faults, .. } = response;
    if response.withheld {
        stall(connection, shared)?;
    }
    connection.write_all(head)?;
    let end = faults.end.map_or(body.len(), |(at, _)| at.min(body.len()));
    let stall_at = faults.stall_at.filter(|at| *at < end);
    send_part(connection, response, 0..stall_at.unwrap_or(end))?;
    if let Some(at) = stall_at {
        stall(connection, shared)?;
        send_part(connection, response, at..end)?;
    }
    if let Some((_, end)) = faults.end {
        return Ok(Some(end));
    }
    if response.framing == Framing::Chunks {
        connection.write_all(b"0\r\n\r\n")?;
    }
    Ok(None)
}

fn send_part(
    connection: &mut TcpStream,
    response: &Response,
    range: std::ops::Range<usize>,
) -> io::Result<()> {
    let size = response.faults.chunk_size.unwrap_or(WRITE);
    let mut due = Instant::now();
    for chunk in response.body[range].chunks(size) {
        if let Some(pace) = response.faults.pace {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            due += pace;
        }
        match response.framing {
            Framing::Length(_) => connection.write_all(chunk)?,
            Framing::Chunks => {
                let mut framed = format!("{:x}\r\n", chunk.len()).into_bytes();
                framed.extend_from_slice(chunk);
                framed.extend_from_slice(b"\r\n");
                connection.write_all(&framed)?;
            }
        }
    }
    Ok(())
}

/// Waits until the server is released; fails when the client hangs up first.
fn stall(connection: &TcpStream, shared: &Shared) -> io::Result<()> {
    shared.lock().stalled += 1;
    shared.changed.notify_all();
    connection.set_read_timeout(Some(Duration::from_millis(20)))?;
    loop {
        let state = shared.lock();
        if state.stopping {
            return Ok(());
        }
        if state.released {
            break;
        }
        drop(state);
        match connection.peek(&mut [0]) {
            Ok(0) => return Err(ErrorKind::ConnectionAborted.into()),
            Ok(_) => std::thread::yield_now(),
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
    connection.set_read_timeout(None)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
