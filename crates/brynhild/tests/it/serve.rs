//! `brynhild serve` as browsers and programs use it, over plain sockets.

mod a2a;
mod attacks;
mod clients;
mod joining;
mod limits;
mod played_roles;
mod questions;
mod roles;
mod sharing;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Running};

use crate::{project, project_with};

const TOKEN: &str = "0123456789abcdef";
/// Time after which a stream that brings nothing has failed.
const PATIENCE: Duration = Duration::from_secs(20);
const OTHER: &str = "fedcba9876543210";

/// A reply to a request.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn of(mut stream: impl Read) -> Self {
        let mut bytes = Vec::new();
        // A server that refuses a body closes the connection before it has read it.
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    fn ok(&self) -> Value {
        assert!(self.status / 100 == 2, "{self:?}");
        if self.body.is_empty() { Value::Null } else { self.json() }
    }
}

struct Server {
    running: Running,
    port: u16,
    code: String,
}

impl Server {
    fn start(project: &Project, flags: &[&str]) -> Self {
        Self::at(project, 0, flags)
    }

    fn at(project: &Project, port: u16, flags: &[&str]) -> Self {
        let listen = format!("127.0.0.1:{port}");
        let args = ["serve", "--listen", &listen, "--token-env", "TOKEN", "--token-env", "OTHER"];
        let args = [&args, flags].concat();
        let command = project.command(&args).env("TOKEN", TOKEN).env("OTHER", OTHER);
        let running = command.spawn();
        let link = running.line(0);
        let (place, code) = link.split_once("/#").unwrap();
        let port = place.rsplit(':').next().unwrap().parse().unwrap();
        Self { running, port, code: code.to_owned() }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).unwrap()
    }

    /// Sends the text of a request, with `HOST` for this server.
    fn raw(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        let host = format!("127.0.0.1:{}", self.port);
        let _ = stream.write_all(request.replace("HOST", &host).as_bytes());
        Answer::of(stream)
    }

    fn send(&self, token: &str, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.raw(&request(token, method, path, body))
    }

    fn get(&self, path: &str) -> Value {
        self.send(TOKEN, "GET", path, None).ok()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.send(TOKEN, "POST", path, Some(body)).ok()
    }

    /// Opens a session in a mode. Returns its ID.
    fn open(&self, project: &Project, mode: &str) -> String {
        let opened = self.post("/v1/sessions", &json!({"cwd": project.path(), "mode": mode}));
        opened["id"].as_str().unwrap().to_owned()
    }

    fn prompt(&self, session: &str, text: &str) {
        self.input(session, &json!({"input": "prompt", "text": text}));
    }

    fn input(&self, session: &str, input: &Value) -> Value {
        self.post(&format!("/v1/sessions/{session}/inputs"), input)
    }

    /// The kept events after a position, as the log has them.
    fn log(&self, session: &str) -> Vec<Value> {
        let head = "Accept: application/x-ndjson\r\nConnection: close\r\n";
        let path = format!("/v1/sessions/{session}/events?limit=100000");
        let page = self.raw(&format!(
            "GET {path} HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer {TOKEN}\r\n{head}\r\n"
        ));
        page.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn stream(&self, session: &str, query: &str) -> Stream {
        let path = format!("/v1/sessions/{session}/events?{query}");
        Stream::open(self.connect(), self.port, &path)
    }

    fn kill(self) {
        self.running.kill();
        self.running.wait();
    }
}

fn request(token: &str, method: &str, path: &str, body: Option<&Value>) -> String {
    let body = body.map(ToString::to_string).unwrap_or_default();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// A message of an event stream.
#[derive(Clone, Debug, PartialEq)]
struct Message {
    id: Option<u64>,
    name: Option<String>,
    data: Value,
}

struct Stream(BufReader<TcpStream>);

impl Stream {
    /// Asks by HTTP/1.0, so that the body is the stream itself.
    fn open(mut stream: TcpStream, port: u16, path: &str) -> Self {
        let head = format!("Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n");
        stream.write_all(format!("GET {path} HTTP/1.0\r\n{head}").as_bytes()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            assert!(reader.read_line(&mut line).unwrap() > 0, "no stream at {path}");
        }
        Self(reader)
    }

    /// The next message; none at the end.
    fn message(&mut self) -> Option<Message> {
        let mut message = Message { id: None, name: None, data: Value::Null };
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("id", id)) => message.id = Some(id.parse().unwrap()),
                Some(("event", name)) => message.name = Some(name.to_owned()),
                Some(("data", data)) => message.data = serde_json::from_str(data).unwrap(),
                None if !message.data.is_null() => return Some(message),
                _ => {}
            }
        }
    }

    /// The next event of the session.
    fn event(&mut self) -> Value {
        // Pings come every 10 seconds.
        for _ in 0..3 {
            let message = self.message().expect("an event");
            if message.name.is_none() {
                return message.data;
            }
        }
        panic!("no event comes");
    }

    fn wait_for(&mut self, kind: &str) -> Value {
        loop {
            let event = self.event();
            if event["type"] == kind {
                return event;
            }
        }
    }
}

fn write_call() -> Reply {
    Reply::calls([("Write", json!({"file_path": "made.txt", "content": "hi\n"}))])
}

#[test]
fn session_is_opened_prompted_listed_and_deleted() {
    let server = ModelServer::start([Reply::text("Hello **there**."), Reply::text("Again.")]);
    let project = project_with(&server);
    let ours = Server::start(&project, &[]);
    assert_eq!(ours.raw("GET /v1/health HTTP/1.0\r\nHost: HOST\r\n\r\n").ok()["schema"], 1);
    let session = ours.open(&project, "normal");
    let path = format!("/v1/sessions/{session}");
    assert_eq!(ours.get(&path)["state"], "idle");
    let mut stream = ours.stream(&session, "after=0");
    let named = json!({"input": "prompt", "text": "hi", "id": "one"});
    ours.input(&session, &named);
    assert_eq!(stream.wait_for("turn_started")["prompt"], "hi");
    stream.wait_for("turn_finished");
    // The prompt of this name was sent.
    ours.input(&session, &named);
    ours.prompt(&session, "more");
    assert_eq!(stream.wait_for("turn_started")["prompt"], "more");
    stream.wait_for("turn_finished");
    let log = ours.log(&session);
    let replayed = ours.stream(&session, "after=0");
    let mut replayed = replayed;
    for event in &log {
        let message = replayed.message().unwrap();
        assert_eq!((message.id, &message.data), (event["seq"].as_u64(), event));
    }
    let mut tail = ours.stream(&session, "tail=2");
    let start = tail.message().unwrap();
    assert_eq!(
        (start.name.as_deref(), &start.data["from"]),
        (Some("start"), &json!(log.len() - 1))
    );
    let titled = ours.send(TOKEN, "PATCH", &path, Some(&json!({"title": "Greeting"})));
    assert_eq!(titled.status, 200, "{titled:?}");
    stream.wait_for("titled");
    let listed = ours.get("/v1/sessions?q=greeting");
    assert_eq!(listed["sessions"][0]["id"], session.as_str());
    assert_eq!(listed["sessions"][0]["state"], "idle");
    assert_eq!(ours.get("/v1/sessions?q=nothing-like-it")["sessions"], json!([]));
    let export = ours.send(TOKEN, "GET", &format!("{path}/export"), None);
    assert!(export.body.contains("Hello **there**."), "{}", export.body);
    let mode = ours.send(TOKEN, "PATCH", &path, Some(&json!({"mode": "read-only"})));
    assert_eq!(mode.status, 200, "{mode:?}");
    let fork = json!({"fork": {"session": session, "seq": log.len() / 2}});
    let copy = ours.post("/v1/sessions", &fork);
    assert_eq!((&copy["seq"], &copy["mode"]), (&json!(log.len() / 2), &json!("read-only")));
    assert_eq!(ours.send(TOKEN, "DELETE", &path, None).status, 204);
    assert_eq!(ours.send(TOKEN, "GET", &path, None).status, 404);
    let mut rest = std::iter::from_fn(|| stream.message());
    assert!(
        rest.all(|it| ["configured", "session_ended"].contains(&it.data["type"].as_str().unwrap()))
    );
}

#[test]
fn changed_files_are_shown_and_undone() {
    let server = ModelServer::start([write_call(), Reply::text("Done.")]);
    let project = project_with(&server);
    let ours = Server::start(&project, &[]);
    let session = ours.open(&project, "normal");
    let mut stream = ours.stream(&session, "after=0");
    ours.prompt(&session, "write");
    stream.wait_for("turn_finished");
    let path = format!("/v1/sessions/{session}");
    let changes = ours.get(&format!("{path}/changes?diff=1"));
    let file = &changes["turns"][0]["files"][0];
    assert_eq!((&file["path"], &file["change"]), (&json!("made.txt"), &json!("created")));
    assert!(file["diff"].as_str().unwrap().contains("+hi"), "{file}");
    let undone = ours.post(&format!("{path}/undo"), &json!({}));
    assert_eq!(undone["files"][0]["path"], "made.txt");
    assert!(!project.path().join("made.txt").exists());
    stream.wait_for("files_restored");
    ours.post(&format!("{path}/redo"), &json!({}));
    assert_eq!(project.read("made.txt"), "hi\n");
}

#[test]
fn lists_complete_what_a_user_types() {
    let server = ModelServer::start([]);
    let project = project_with(&server);
    project.file("src/parser.rs", "").file("notes.txt", "");
    let ours = Server::start(&project, &[]);
    assert_eq!(ours.get("/v1/files?q=pars")["files"], json!(["src/parser.rs"]));
    let commands = ours.get("/v1/commands");
    let names: Vec<&Value> =
        commands["commands"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert!(names.contains(&&json!("compact")) && !names.contains(&&json!("quit")), "{names:?}");
    let models = ours.get("/v1/models");
    assert_eq!(models["models"][0], json!({"id": "test-model", "provider": "test"}));
    assert_eq!(models["data"][0]["id"], "test-model");
    let texts = json!({"texts": ["*a* <b>", "[x](javascript:y)"]});
    let trees = ours.post("/v1/markdown", &texts);
    assert_eq!(
        trees["trees"],
        json!([
            [{"t": "p", "c": [{"t": "em", "c": ["a"]}, " <b>"]}],
            [{"t": "p", "c": [{"t": "a", "c": ["x"]}]}],
        ])
    );
}

#[test]
fn list_stream_tells_of_states_and_questions() {
    let server = ModelServer::start([write_call(), Reply::text("Done.")]);
    let project = project_with(&server);
    let ours = Server::start(&project, &[]);
    let mut list = Stream::open(ours.connect(), ours.port, "/v1/events");
    let session = ours.open(&project, "ask");
    let mut states = Vec::new();
    ours.prompt(&session, "write");
    while states.last() != Some(&json!(["idle", 0])) || states.len() < 4 {
        let summary = list.event();
        assert_eq!(summary["id"], session.as_str());
        states.push(json!([summary["state"], summary["questions"]]));
        if summary["questions"] == 1 {
            let asked = &ours.get(&format!("/v1/sessions/{session}"))["pending"][0];
            let answer = json!({"input": "answer", "call": asked["call"], "answer": "once"});
            ours.input(&session, &answer);
        }
    }
    states.dedup();
    let expected =
        [json!(["idle", 0]), json!(["running", 0]), json!(["asking", 1]), json!(["running", 0])];
    assert_eq!(states[..4], expected, "{states:?}");
}

#[test]
fn socket_is_for_its_owner_and_needs_no_token() {
    let server = ModelServer::start([]);
    let project = project_with(&server);
    let path = project.path().join("s.sock");
    let listen = format!("unix:{}", path.display());
    let running = project.command(&["serve", "--listen", &listen]).spawn();
    running.wait_for_stderr("serving at");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"GET /v1/sessions HTTP/1.0\r\n\r\n").unwrap();
    assert_eq!(Answer::of(stream).ok()["sessions"], json!([]));
    running.signal(Signal::INT);
    running.wait();
    assert!(!path.exists());
}

#[test]
fn chat_completions_are_answered_like_openai() {
    let replies = [Reply::text("Paris.").usage(7, 2), Reply::text("Rome.").delta_size(2)];
    let server = ModelServer::start(replies);
    let project = project_with(&server);
    let ours = Server::start(&project, &[]);
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "The capital of Spain?"},
        {"role": "assistant", "content": "Madrid."},
        {"role": "user", "content": [{"type": "text", "text": "Of France?"}]},
    ]);
    let body = json!({"model": "test-model", "messages": messages});
    let answer = ours.send(TOKEN, "POST", "/v1/chat/completions", Some(&body));
    assert!(answer.head.contains("x-brynhild-session: chat-"), "{}", answer.head);
    let answer = answer.ok();
    assert_eq!(server.chats().len(), 1, "{answer}");
    assert_eq!(answer["choices"][0]["message"]["content"], "Paris.");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    assert_eq!(answer["usage"]["completion_tokens"], 2);
    let sent = &server.chats()[0].body["messages"];
    let roles: Vec<&Value> = sent.as_array().unwrap().iter().map(|it| &it["role"]).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    assert!(sent[0]["content"].to_string().contains("Be brief."));
    let body = json!({"stream": true, "messages": [{"role": "user", "content": "Of Italy?"}]});
    let streamed = ours.send(TOKEN, "POST", "/v1/chat/completions", Some(&body)).body;
    let pieces = streamed.lines().filter_map(|line| line.strip_prefix("data: {"));
    let pieces = pieces.map(|line| serde_json::from_str::<Value>(&format!("{{{line}")).unwrap());
    let text: String = pieces
        .filter_map(|it| it["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(text, "Rome.");
    assert!(streamed.contains("data: [DONE]"), "{streamed}");
    assert_eq!(ours.get("/v1/sessions")["sessions"], json!([]));
}

#[test]
fn terminal_joins_a_session_of_the_server() {
    let server = ModelServer::start([Reply::text("First."), Reply::text("Second.")]);
    let project = project_with(&server);
    let ours = Server::start(&project, &[]);
    let session = ours.open(&project, "normal");
    let mut stream = ours.stream(&session, "after=0");
    ours.prompt(&session, "one");
    stream.wait_for("turn_finished");
    let run = project.brynhild(&["--resume", &session, "-p", "two"]);
    run.success();
    assert_eq!(run.stdout.trim(), "Second.");
    assert_eq!(stream.wait_for("turn_started")["prompt"], "two");
    stream.wait_for("turn_finished");
    let prompts = ours.log(&session);
    let prompts = prompts.iter().filter(|event| event["type"] == "turn_started");
    assert_eq!(prompts.count(), 2);
}

#[test]
fn screen_shows_what_happens_in_a_joined_session() {
    let server = ModelServer::start([Reply::text("From the page."), Reply::text("From here.")]);
    let project = project_with(&server);
    let ours = Server::start(&project, &[]);
    let session = ours.open(&project, "normal");
    let mut stream = ours.stream(&session, "after=0");
    ours.prompt(&session, "one");
    stream.wait_for("turn_finished");
    let terminal = project.terminal(&["--resume", &session], (80, 24));
    terminal.wait_for("From the page.");
    terminal.send("two\r");
    terminal.wait_for("From here.");
    assert_eq!(stream.wait_for("turn_started")["prompt"], "two");
}

#[test]
fn mistakes_of_the_command_line_are_explained() {
    let project = project();
    let misuse = |args: &[&str], value: &str| {
        let run = project.command(&[&["serve"], args].concat()).env("T", value).run();
        run.code(2);
        run.stderr
    };
    let outside = misuse(&["--listen", "0.0.0.0:0"], "");
    assert!(outside.contains("can be reached by other machines"), "{outside}");
    assert!(misuse(&["--listen", "here"], "").contains("is not an address"));
    assert!(misuse(&["--token-env", "T"], "short").contains("too short"));
    assert!(misuse(&["--token-env", "T:all"], TOKEN).contains("not a scope"));
    assert!(misuse(&["--token-env", "MISSING"], "").contains("is not set"));
    assert!(misuse(&["--behind-proxy", "a.example"], "").contains("--token-env"));
}
