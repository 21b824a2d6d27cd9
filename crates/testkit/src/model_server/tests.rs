//! Talks to the server through a bare socket.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::*;

struct Client(BufReader<TcpStream>);

/// A reply as bytes: its head, its body without framing, and whether the framing was complete.
struct Answer {
    head: String,
    body: Vec<u8>,
    complete: bool,
}

impl Answer {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// The objects after `data:`, or those on lines of their own.
    fn events(&self) -> Vec<Value> {
        self.text()
            .lines()
            .map(|line| line.strip_prefix("data: ").unwrap_or(line))
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }
}

impl Client {
    fn of(server: &ModelServer) -> Self {
        let stream = TcpStream::connect(server.address()).expect("a connection");
        Self(BufReader::new(stream))
    }

    fn send(&mut self, request: &str) {
        let stream = self.0.get_mut();
        stream.write_all(request.as_bytes()).expect("sent");
    }

    fn post(&mut self, path: &str, body: &Value) {
        let body = body.to_string();
        let length = body.len();
        self.send(&format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\nX-Test: yes\r\n\r\n{body}"
        ));
    }

    fn chat(&mut self, path: &str, stream: bool) -> Answer {
        self.post(path, &json!({"model": "m", "stream": stream}));
        self.answer()
    }

    fn get(&mut self, path: &str, headers: &str) -> Answer {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n"));
        self.answer()
    }

    fn answer(&mut self) -> Answer {
        let head = self.head();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = Vec::new();
        let complete = if let Some(length) = length {
            let length: u64 = length.parse().expect("a length");
            let read = self.0.by_ref().take(length).read_to_end(&mut body);
            read.is_ok_and(|read| read as u64 == length)
        } else {
            self.chunks(&mut body)
        };
        Answer { head, body, complete }
    }

    fn head(&mut self) -> String {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(self.0.read_line(&mut head).expect("a line"), 0, "no head");
        }
        head
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> bool {
        loop {
            let mut size = String::new();
            if !matches!(self.0.read_line(&mut size), Ok(1..)) {
                return false;
            }
            let size = u64::from_str_radix(size.trim(), 16).expect("a size");
            let mut chunk = Vec::new();
            let read = self.0.by_ref().take(size + 2).read_to_end(&mut chunk);
            chunk.truncate(usize::try_from(size).expect("small"));
            body.append(&mut chunk);
            if read.is_err() || size == 0 {
                return size == 0;
            }
        }
    }
}

fn ask(reply: Reply, path: &str, stream: bool) -> Answer {
    let server = ModelServer::start([reply]);
    Client::of(&server).chat(path, stream)
}

fn full() -> Reply {
    Reply::text("hello wörld")
        .thinking("let me think")
        .call("Bash", &json!({"command": "ls -la"}))
        .usage(10, 5)
        .cached(4)
        .cost(0.25)
}

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const OLLAMA: &str = "/api/chat";

#[test]
fn an_openai_stream_carries_the_whole_reply() {
    let answer = ask(full(), CHAT, true);
    assert!(answer.complete);
    assert!(answer.head.contains("content-type: text/event-stream\r\n"));
    assert!(answer.text().ends_with("data: [DONE]\n\n"));
    let (mut text, mut thinking, mut arguments) = Default::default();
    let join = |all: &mut String, piece: &Value| all.push_str(piece.as_str().unwrap_or(""));
    for event in answer.events() {
        let delta = &event["choices"][0]["delta"];
        join(&mut text, &delta["content"]);
        join(&mut thinking, &delta["reasoning"]);
        let arguments_piece = &delta["tool_calls"][0]["function"]["arguments"];
        join(&mut arguments, arguments_piece);
    }
    assert_eq!((text.as_str(), thinking.as_str()), ("hello wörld", "let me think"));
    assert_eq!(arguments, r#"{"command":"ls -la"}"#);
    let events = answer.events();
    let last = &events[events.len() - 1];
    assert_eq!(last["usage"]["prompt_tokens_details"]["cached_tokens"], 4);
    assert_eq!(last["usage"]["cost"], 0.25);
    let before = &events[events.len() - 2];
    assert_eq!(before["choices"][0]["finish_reason"], "tool_calls");
}

#[test]
fn an_anthropic_stream_carries_the_whole_reply() {
    let answer = ask(full(), MESSAGES, true);
    let text = answer.text();
    assert!(text.starts_with("event: message_start\ndata: {"), "{text}");
    let events = answer.events();
    let of_type = |name: &str| events.iter().filter(|e| e["type"] == name).count();
    assert_eq!((of_type("content_block_start"), of_type("content_block_stop")), (3, 3));
    let deltas = |kind: &str| -> String {
        let deltas = events.iter().map(|event| &event["delta"][kind]);
        deltas.filter_map(Value::as_str).collect()
    };
    assert_eq!(deltas("thinking"), "let me think");
    assert_eq!(deltas("text"), "hello wörld");
    assert_eq!(deltas("partial_json"), r#"{"command":"ls -la"}"#);
    assert_eq!(events[0]["message"]["usage"]["input_tokens"], 6);
    assert_eq!(events[0]["message"]["usage"]["cache_read_input_tokens"], 4);
    assert_eq!(deltas("stop_reason"), "tool_use");
    assert_eq!(events[events.len() - 1]["type"], "message_stop");
}

#[test]
fn an_ollama_stream_carries_the_whole_reply_and_is_the_default() {
    let server = ModelServer::start([full()]);
    let mut client = Client::of(&server);
    client.post(OLLAMA, &json!({"model": "m"}));
    let answer = client.answer();
    assert!(answer.head.contains("application/x-ndjson"));
    let events = answer.events();
    let text: String =
        events.iter().filter_map(|event| event["message"]["content"].as_str()).collect();
    assert_eq!(text, "hello wörld");
    let call = &events[events.len() - 2]["message"]["tool_calls"][0]["function"];
    assert_eq!(call["arguments"], json!({"command": "ls -la"}));
    let last = &events[events.len() - 1];
    assert_eq!((&last["done"], &last["eval_count"]), (&json!(true), &json!(5)));
}

#[test]
fn whole_reply_is_one_object() {
    let openai = ask(full(), CHAT, false).json();
    let message = &openai["choices"][0]["message"];
    assert_eq!(message["content"], "hello wörld");
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], r#"{"command":"ls -la"}"#);
    let anthropic = ask(full(), MESSAGES, false).json();
    assert_eq!(anthropic["content"][2]["input"], json!({"command": "ls -la"}));
    assert_eq!(anthropic["usage"]["output_tokens"], 5);
    let ollama = ask(full(), OLLAMA, false).json();
    assert_eq!(ollama["message"]["thinking"], "let me think");
}

#[test]
fn calls_get_unique_ids_by_default() {
    let calls = || Reply::calls([("A", json!({})), ("B", json!({}))]);
    let server = ModelServer::start([
        calls(),
        calls().call_as("same", "C", &json!({})).call_text("D", "{\"cut"),
    ]);
    let mut client = Client::of(&server);
    let mut ids = Vec::new();
    for _ in 0..2 {
        let answer = client.chat(CHAT, false).json();
        let calls = answer["choices"][0]["message"]["tool_calls"].clone();
        ids.extend(calls.as_array().expect("calls").iter().map(|call| call["id"].clone()));
        if ids.len() == 6 {
            assert_eq!(calls[3]["function"]["arguments"], "{\"cut");
        }
    }
    assert_eq!(ids, ["call_1_1", "call_1_2", "call_2_1", "call_2_2", "same", "call_2_4"]);
}

#[test]
fn models_are_listed_in_the_format_of_the_request() {
    let server = ModelServer::start([]).models(["one", "two"]);
    let mut client = Client::of(&server);
    assert_eq!(client.get("/v1/models", "").json()["data"][1]["id"], "two");
    let anthropic = client.get("/v1/models?limit=1000", "anthropic-version: 2023-06-01\r\n");
    assert_eq!(anthropic.json()["data"][0]["display_name"], "one");
    assert_eq!(client.get("/api/tags", "").json()["models"][0]["name"], "one");
    let server = server.models_reply(Reply::failure(401));
    let answer = client.get("/v1/models", "");
    assert!(answer.head.starts_with("HTTP/1.1 401 "));
    assert_eq!(server.requests().len(), 4);
    assert!(server.chats().is_empty());
}

#[test]
fn requests_are_recorded_with_length_or_in_chunks() {
    let server = ModelServer::start([Reply::text("a"), Reply::text("b")]);
    let mut client = Client::of(&server);
    client.chat(CHAT, false);
    client.send(&format!(
        "POST {CHAT} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{{\"model\"\r\n5\r\n:\"x\"}}\r\n0\r\n\r\n"
    ));
    client.answer();
    let requests = server.wait_for_requests(2);
    assert_eq!(requests[0].method, "POST");
    assert_eq!(requests[0].path, CHAT);
    assert_eq!(requests[0].header("x-test"), Some("yes"));
    assert_eq!(requests[1].body, json!({"model": "x"}));
    assert_eq!(requests[1].text, r#"{"model":"x"}"#);
    assert!(requests[0].arrived <= requests[1].arrived);
}

#[test]
fn after_the_last_reply_comes_an_error_or_a_repeat() {
    let server = ModelServer::start([Reply::text("only")]);
    let mut client = Client::of(&server);
    client.chat(CHAT, true);
    let answer = client.chat(CHAT, true);
    assert!(answer.head.starts_with("HTTP/1.1 400 "));
    assert_eq!(answer.text(), "the test scripted 1 replies, and this is chat request 2");

    let server = ModelServer::start([Reply::text("again")]).repeat_last();
    let mut client = Client::of(&server);
    for _ in 0..3 {
        let answer = client.chat(OLLAMA, false).json();
        assert_eq!(answer["message"]["content"], "again");
    }
}

#[test]
fn replies_can_depend_on_requests() {
    let server = ModelServer::respond_with(|request| {
        Reply::text(request.body["n"].to_string()).delta_size(1)
    });
    let mut client = Client::of(&server);
    client.post(OLLAMA, &json!({"n": 123}));
    assert_eq!(client.answer().events().len(), 4);
}

#[test]
fn a_status_has_its_headers_and_its_body() {
    let reply = Reply::failure(429).header("Retry-After", "1").body("slow down");
    let answer = ask(reply, CHAT, true);
    assert!(answer.head.starts_with("HTTP/1.1 429 "));
    assert!(answer.head.contains("\r\nretry-after: 1\r\n"));
    assert_eq!(answer.text(), "slow down");
    let answer = ask(Reply::failure(529), MESSAGES, true).json();
    assert_eq!(answer["error"]["message"], "the test scripted status 529");
    let page = Reply::bytes("<html>").header("content-type", "text/html");
    let answer = ask(page, CHAT, true);
    assert!(answer.head.contains("content-type: text/html"));
    assert_eq!((answer.text().as_str(), answer.complete), ("<html>", true));
}

#[test]
fn every_chunk_size_gives_the_same_body() {
    let expected = ask(full(), CHAT, true).body;
    for size in [1, 7, 64] {
        let answer = ask(full().chunk_size(size), CHAT, true);
        assert_eq!((answer.body == expected, answer.complete), (true, true));
    }
}

#[test]
fn cut_ends_the_body_at_its_position() {
    for stream in [true, false] {
        let whole = ask(full(), CHAT, stream).body;
        for at in [0, 1, 50, whole.len() - 1] {
            let answer = ask(full().cut_at(at), CHAT, stream);
            assert_eq!(answer.body, whole[..at]);
            assert!(!answer.complete);
        }
    }
}

#[test]
fn reset_is_no_orderly_end() {
    let server = ModelServer::start([full().reset_at(20)]);
    let mut client = Client::of(&server);
    client.post(CHAT, &json!({"stream": true}));
    let error = loop {
        match client.0.read(&mut [0; 64]) {
            Ok(0) => panic!("it ended in order"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn bytes_can_be_mangled() {
    let whole = ask(Reply::text("abc"), OLLAMA, false).body;
    let mangled = ask(Reply::text("abc").mangle(2, &[0xff, 0xfe]), OLLAMA, false).body;
    assert_eq!(mangled[2..4], [0xff, 0xfe]);
    assert_eq!((&mangled[..2], &mangled[4..]), (&whole[..2], &whole[4..]));
}

#[test]
fn a_stall_lasts_until_the_server_is_released() {
    let server = ModelServer::start([full().stall_at(30), full().withhold()]);
    let mut client = Client::of(&server);
    client.post(CHAT, &json!({"stream": true}));
    client.head();
    let mut body = [0; 34];
    // The size of the chunk, its line break, and the 30 bytes before the stall.
    client.0.read_exact(&mut body).expect("the part before");
    server.wait_for_stalls(1);
    let mut other = Client::of(&server);
    other.post(CHAT, &json!({"stream": true}));
    server.wait_for_stalls(2);
    server.release();
    assert!(other.answer().complete);
    let mut rest = vec![0; 100];
    client.0.read_exact(&mut rest).expect("the part after");
}

#[test]
fn client_hangup_is_noticed() {
    let server = ModelServer::start([full().stall_at(3)]).repeat_last();
    let mut client = Client::of(&server);
    client.post(CHAT, &json!({"stream": true}));
    server.wait_for_stalls(1);
    drop(client);
    server.wait_for_hang_ups(1);
    let mut client = Client::of(&server);
    client.post(CHAT, &json!({"stream": true}));
    server.wait_for_stalls(2);
    drop(server);
    client.head();
    assert!(!client.chunks(&mut Vec::new()));
}

#[test]
fn an_unknown_path_is_answered_with_its_name() {
    let server = ModelServer::start([]);
    let answer = Client::of(&server).chat("/v2/other", true);
    assert!(answer.head.starts_with("HTTP/1.1 404 "));
    assert!(answer.text().contains("POST /v2/other"));
}
