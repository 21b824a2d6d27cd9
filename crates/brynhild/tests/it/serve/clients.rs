//! Clients that come and go, read slowly, or find their server killed.

use std::io::{BufRead as _, Read as _};
use std::net::Shutdown;

use serde_json::{Value, json};
use testkit::{ModelServer, Reply};

use super::{Server, Stream, write_call};
use crate::project_with;

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Reads some bytes of a stream, then hangs up. Returns the events that arrived whole.
fn cut_off(server: &Server, session: &str, after: u64, bytes: u64) -> Vec<Value> {
    let Stream(mut reader) = server.stream(session, &format!("after={after}"));
    let mut text = Vec::new();
    let stream = reader.get_ref().try_clone().unwrap();
    // The end of the stream does not come by itself.
    stream.set_read_timeout(Some(std::time::Duration::from_millis(5))).unwrap();
    let mut chunk = vec![0; usize::try_from(bytes).unwrap()];
    let mut length = 0;
    while length < chunk.len() {
        match reader.read(&mut chunk[length..]) {
            Ok(0) | Err(_) => break,
            Ok(count) => length += count,
        }
    }
    text.extend_from_slice(&chunk[..length]);
    let _ = stream.shutdown(Shutdown::Both);
    let text = String::from_utf8_lossy(&text).into_owned();
    let whole = text.rfind("\n\n").map_or("", |end| &text[..end]);
    let messages = whole.split("\n\n").filter(|message| message.starts_with("id: "));
    let data = messages.filter_map(|message| message.split_once("\ndata: "));
    data.map(|(_, data)| serde_json::from_str(data).unwrap()).collect()
}

#[test]
fn clients_that_are_cut_off_miss_nothing() {
    let replies =
        (0..8).map(|number| Reply::text(format!("reply {number} ").repeat(20)).delta_size(40));
    let model = ModelServer::start(replies);
    let project = project_with(&model);
    let server = Server::start(&project, &[]);
    let session = server.open(&project, "normal");
    let mut stream = server.stream(&session, "after=0");
    let (mut numbers, mut cuts, mut clients) = (Numbers(7), 0, Vec::new());
    let mut events: Vec<Value> = Vec::new();
    std::thread::scope(|scope| {
        let turns = scope.spawn(|| {
            for number in 0..8 {
                server.prompt(&session, &format!("prompt {number}"));
                stream.wait_for("turn_finished");
            }
        });
        while cuts < 1_000 {
            let last = events.last().map_or(0, |event| event["seq"].as_u64().unwrap());
            // The first clients follow the turns, the others find them done.
            if turns.is_finished() {
                let details = server.get(&format!("/v1/sessions/{session}"));
                if details["seq"].as_u64() == Some(last) {
                    clients.push(std::mem::take(&mut events));
                    continue;
                }
            }
            events.extend(cut_off(&server, &session, last, numbers.below(4_000)));
            cuts += 1;
        }
    });
    let log = server.log(&session);
    assert!(clients.len() > 10, "{} clients read all", clients.len());
    for events in &clients {
        assert_eq!(events, &log);
    }
    assert_eq!(events, log[..events.len()]);
}

/// Reads the positions of kept events until so many turns have ended. A client that is dropped goes on
/// where it was; the result says if that happened.
fn follow(server: &Server, session: &str, mut stream: Stream, turns: u32) -> (Vec<u64>, bool) {
    let (mut kept, mut ends, mut has_resumed) = (Vec::new(), 0, false);
    while ends < turns {
        // Parsing everything would take most of the time.
        let mut line = String::new();
        if stream.0.read_line(&mut line).unwrap() == 0 {
            has_resumed = true;
            let last = kept.last().copied().unwrap_or(0);
            stream = server.stream(session, &format!("after={last}"));
        }
        if let Some(id) = line.strip_prefix("id: ") {
            let id = id.trim().parse::<u64>().unwrap();
            line.clear();
            // An event that did not arrive whole comes again.
            stream.0.read_line(&mut line).unwrap();
            if line.ends_with('\n') {
                kept.push(id);
                ends += u32::from(line.contains(r#""type":"turn_finished""#));
            }
        }
    }
    (kept, has_resumed)
}

#[test]
fn slow_client_delays_nobody_and_resumes() {
    const SIZE: usize = 3 << 19;
    let long = |mark: &str| Reply::text(mark.repeat(SIZE)).delta_size(30_000);
    let model = ModelServer::start([long("a"), long("b"), long("c")]);
    let project = project_with(&model);
    let server = Server::start(&project, &[]);
    let session = server.open(&project, "normal");
    let slow = server.stream(&session, "after=0");
    std::thread::scope(|scope| {
        let followers: Vec<_> = (0..49)
            .map(|_| {
                let stream = server.stream(&session, "after=0");
                scope.spawn(|| follow(&server, &session, stream, 3).0)
            })
            .collect();
        for number in 0..3 {
            let mut stream = server.stream(&session, "tail=0");
            server.prompt(&session, &format!("prompt {number}"));
            // Nobody reads the slow one meanwhile.
            while stream.message().is_some_and(|it| it.data["type"] != "turn_finished") {}
        }
        let expected: Vec<u64> =
            server.log(&session).iter().map(|event| event["seq"].as_u64().unwrap()).collect();
        for follower in followers {
            assert_eq!(follower.join().unwrap(), expected);
        }
        let (kept, has_resumed) = follow(&server, &session, slow, 3);
        assert_eq!(kept, expected);
        assert!(has_resumed, "the slow client was never dropped");
    });
}

#[test]
fn client_in_the_middle_of_a_reply_gets_its_beginning() {
    let text = "0123456789".repeat(50);
    let model = ModelServer::start([Reply::text(text.clone()).delta_size(10).stall_at(5_000)]);
    let project = project_with(&model);
    let server = Server::start(&project, &[]);
    let session = server.open(&project, "normal");
    let mut first = server.stream(&session, "after=0");
    server.prompt(&session, "hi");
    let told = first.wait_for("reply_delta")["text"].as_str().unwrap().to_owned();
    let mut second = server.stream(&session, "tail=0");
    assert_eq!(second.event()["piece"], "restart");
    let so_far = second.event();
    let so_far = so_far["text"].as_str().unwrap();
    assert!(so_far.starts_with(&told) && text.starts_with(so_far), "{so_far}");
    server.input(&session, &json!({"input": "interrupt"}));
    assert_eq!(second.wait_for("turn_finished")["outcome"]["outcome"], "cancelled");
}

#[test]
fn killed_server_resumes_with_the_open_question() {
    let model = ModelServer::start([write_call(), write_call(), Reply::text("Written.")]);
    let project = project_with(&model);
    let server = Server::start(&project, &[]);
    let session = server.open(&project, "ask");
    let mut stream = server.stream(&session, "after=0");
    server.prompt(&session, "write");
    let asked = stream.wait_for("asked");
    let port = server.port;
    server.kill();
    while stream.message().is_some() {}
    let server = Server::at(&project, port, &[]);
    let listed = server.get("/v1/sessions");
    assert_eq!(listed["sessions"][0]["state"], "asking", "{listed}");
    let details = server.get(&format!("/v1/sessions/{session}"));
    assert_eq!(details["pending"][0]["call"], asked["call"]);
    let mut stream = server.stream(&session, &format!("after={}", asked["seq"]));
    let answer = json!({"input": "answer", "call": asked["call"], "answer": "once"});
    server.input(&session, &answer);
    stream.wait_for("turn_started");
    assert_eq!(stream.wait_for("answered")["by"], "TOKEN");
    stream.wait_for("turn_finished");
    assert_eq!(project.read("made.txt"), "hi\n");
    let path = format!("/v1/sessions/{session}/inputs");
    assert_eq!(server.send(super::TOKEN, "POST", &path, Some(&answer)).status, 409);
}

#[test]
fn completion_brings_its_images_and_needs_a_prompt() {
    let model = ModelServer::start([Reply::text("A cat.")]);
    let project = project_with(&model);
    let server = Server::start(&project, &[]);
    let image =
        json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0="}});
    let text = |text: &str| json!({"type": "text", "text": text});
    let body = json!({"messages": [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": [text("Hi"), {"type": "refusal"}]},
        {"role": "user", "content": [text("What is it?"), image]},
    ]});
    let answer = server.post("/v1/chat/completions", &body);
    assert_eq!(answer["choices"][0]["message"]["content"], "A cat.");
    let sent = model.chats()[0].body["messages"].as_array().unwrap().clone();
    let texts: Vec<&str> = sent.iter().skip(1).filter_map(|it| it["content"].as_str()).collect();
    assert_eq!(texts, ["Hello", "Hi", "What is it?"]);
    let parts = sent.iter().filter_map(|it| it["content"].as_array()).flatten();
    assert_eq!(parts.filter(|part| **part == image).count(), 1, "{sent:?}");
    let empty = json!({"messages": [{"role": "user", "content": ""}]});
    let refused = server.send(super::TOKEN, "POST", "/v1/chat/completions", Some(&empty));
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("the prompt is empty"), "{refused:?}");
}
