//! Clients that hold connections, or send more than the server takes.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use testkit::{ModelServer, Reply};

use super::{Answer, PATIENCE, Server, TOKEN, request};
use crate::project_with;

/// More connections than the server serves at once, which are 512.
const FLOOD: usize = 600;
/// The largest body.
const BODY: usize = 8 << 20;

/// The head of a request with a body, and with a valid token.
fn head(server: &Server, length: &str) -> String {
    format!(
        "POST /v1/markdown HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\n{length}\r\n\r\n",
        server.port
    )
}

#[test]
fn unfinished_heads_delay_nobody() {
    let model = ModelServer::start([]);
    let project = project_with(&model);
    let server = Server::start(&project, &[]);
    let slow: Vec<TcpStream> = (0..50)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(b"GET /v1/health HTTP/1.1\r\nHost: 127.0").unwrap();
            stream
        })
        .collect();
    for _ in 0..10 {
        assert_eq!(server.send(TOKEN, "GET", "/v1/sessions", None).status, 200);
    }
    // They are still welcome.
    for mut stream in slow {
        let rest = format!(".0.1:{}\r\nConnection: close\r\n\r\n", server.port);
        stream.write_all(rest.as_bytes()).unwrap();
        assert_eq!(Answer::of(stream).status, 200);
    }
}

#[test]
fn flood_of_connections_ends_and_keeps_no_program_out() {
    let model = ModelServer::start([Reply::text("Joined.")]);
    let project = project_with(&model);
    let server = Server::start(&project, &[]);
    let session = server.open(&project, "normal");
    let flood: Vec<TcpStream> = (0..FLOOD).map(|_| server.connect()).collect();
    let mut waiting = server.connect();
    let text = request(TOKEN, "GET", "/v1/sessions", None);
    let text = text.replace("HOST", &format!("127.0.0.1:{}", server.port));
    waiting.write_all(text.as_bytes()).unwrap();
    let run = project.brynhild(&["--resume", &session, "-p", "hi"]);
    assert_eq!(run.success().stdout.trim(), "Joined.");
    let files = fs::read_dir(format!("/proc/{}/fd", server.running.id())).unwrap().count();
    assert!(files < FLOOD, "{files} files are open");
    drop(flood);
    waiting.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(Answer::of(waiting).status, 200);
}

#[test]
fn body_over_the_limit_closes_the_connection() {
    let model = ModelServer::start([]);
    let project = project_with(&model);
    let server = Server::start(&project, &[]);
    let refused = |stream: TcpStream| {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let answer = Answer::of(stream);
        assert_eq!(answer.status, 413, "{answer:?}");
        assert!(answer.head.contains("connection: close"), "{answer:?}");
    };
    // Announced, and never sent.
    let mut announced = server.connect();
    announced.write_all(head(&server, "Content-Length: 1073741824").as_bytes()).unwrap();
    refused(announced);
    // In pieces, of unknown length: the end never comes.
    let mut pieces = server.connect();
    pieces.write_all(head(&server, "Transfer-Encoding: chunked").as_bytes()).unwrap();
    pieces.write_all(format!("{:x}\r\n", BODY + 1).as_bytes()).unwrap();
    pieces.write_all(&vec![b' '; BODY + 1]).unwrap();
    refused(pieces);
    // A client that does not listen sends into a closed connection.
    let mut endless = server.connect();
    endless.write_all(head(&server, "Transfer-Encoding: chunked").as_bytes()).unwrap();
    let piece = [b"10000\r\n".as_slice(), &vec![b' '; 0x10000], b"\r\n"].concat();
    let sent = (0..1 << 14).take_while(|_| endless.write_all(&piece).is_ok()).count();
    assert!(sent < 1 << 14, "the server takes everything");
    let within = format!("\"{}\"", " ".repeat(BODY - 2));
    let mut stream = server.connect();
    let length = format!("Connection: close\r\nContent-Length: {BODY}");
    stream.write_all((head(&server, &length) + &within).as_bytes()).unwrap();
    assert_eq!(Answer::of(stream).status, 400);
}

#[test]
fn request_with_two_lengths_hides_no_other() {
    let model = ModelServer::start([]);
    let project = project_with(&model);
    let server = Server::start(&project, &[]);
    let hidden = "GET /v1/health HTTP/1.1\r\nHost: HOST\r\n\r\n";
    let (length, chunked) = ("Content-Length: 4\r\n", "Transfer-Encoding: chunked\r\n");
    for lengths in [[length, chunked], [chunked, length]] {
        let mut stream = server.connect();
        let lengths = lengths.concat();
        let text = head(&server, lengths.trim_end()) + "0\r\n\r\n" + hidden;
        let text = text.replace("HOST", &format!("127.0.0.1:{}", server.port));
        stream.write_all(text.as_bytes()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut answers = String::new();
        stream.read_to_string(&mut answers).unwrap();
        assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{lengths}{answers}");
        assert!(!answers.contains("\"version\""), "{answers}");
    }
}
