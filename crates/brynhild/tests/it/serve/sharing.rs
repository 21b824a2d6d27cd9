//! `/serve`: a terminal shares the session that it shows.

use std::io::Write as _;
use std::net::TcpStream;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Terminal};

use super::{Answer, PATIENCE};
use crate::project_with;

const SIZE: (u16, u16) = (120, 30);

/// A browser that logged in with the link on a terminal.
struct Browser {
    port: String,
    cookie: String,
}

impl Browser {
    fn of(terminal: &Terminal) -> Self {
        let screen = terminal.wait_for("a browser logs in with");
        let link = screen.split("logs in with http://127.0.0.1:").nth(1).unwrap();
        let (port, code) = link.split_whitespace().next().unwrap().split_once("/#").unwrap();
        let mut browser = Self { port: port.to_owned(), cookie: "a=b".to_owned() };
        let answer = browser.send("POST", "/v1/login", &json!({"code": code}));
        let cookie = answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        let (cookie, _) = cookie.unwrap().split_once(';').unwrap();
        cookie.clone_into(&mut browser.cookie);
        browser
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let Self { port, cookie } = self;
        let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (body, host) = (body.to_string(), format!("Host: 127.0.0.1:{port}"));
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\n{host}\r\nCookie: {cookie}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).unwrap();
        Answer::of(stream)
    }

    /// The details of the only session.
    fn session(&self) -> Value {
        let sessions = self.send("GET", "/v1/sessions", &json!({})).ok();
        let [session] = sessions["sessions"].as_array().unwrap().as_slice() else {
            panic!("{sessions}");
        };
        self.send("GET", &format!("/v1/sessions/{}", session["id"].as_str().unwrap()), &json!({}))
            .ok()
    }

    fn prompt(&self, text: &str) {
        let path = format!("/v1/sessions/{}/inputs", self.session()["id"].as_str().unwrap());
        self.send("POST", &path, &json!({"input": "prompt", "text": text})).ok();
    }
}

fn start(project: &Project) -> Terminal {
    let terminal = project.terminal::<&str>(&[], SIZE);
    terminal.wait_for("Ask anything");
    terminal
}

#[test]
fn terminal_shares_the_session_that_it_shows() {
    let replies = ["Here first.", "From the browser.", "Here again."].map(Reply::text);
    let model = ModelServer::start(replies);
    let project = project_with(&model);
    let terminal = start(&project);
    terminal.send("one\r");
    terminal.wait_for("Here first.");
    terminal.send("/serve 127.0.0.1:0\r");
    let browser = Browser::of(&terminal);
    terminal.wait_for("Here first.");
    assert_eq!(browser.session()["state"], "idle");
    browser.prompt("two");
    terminal.wait_for("From the browser.");
    terminal.send("three\r");
    terminal.wait_for("Here again.");
    let last = &model.chats()[2].body["messages"];
    let texts: Vec<&Value> = last.as_array().unwrap().iter().map(|it| &it["content"]).collect();
    assert!(texts.contains(&&json!("two")) && texts.contains(&&json!("three")), "{texts:?}");
    terminal.send("/serve\r");
    terminal.wait_for("a server has this session already");
    terminal.send("/quit\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert!(terminal.output().contains("continues this conversation"));
}

#[test]
fn session_without_a_prompt_is_shared_in_its_mode() {
    let model = ModelServer::start([Reply::text("Hello.")]);
    let project = project_with(&model);
    let terminal = start(&project);
    terminal.send("/mode read-only\r");
    terminal.wait_for("Mode read-only");
    terminal.send("/serve 127.0.0.1:0\r");
    let browser = Browser::of(&terminal);
    assert_eq!(browser.session()["mode"], "read-only");
    terminal.wait_for("test-model · read-only");
    browser.prompt("hi");
    terminal.wait_for("Hello.");
    // Another session is shared by the same server.
    terminal.send("/new\r");
    terminal.wait_until("an empty conversation", |it| !it.contents().contains("Hello."));
    terminal.send("/serve\r");
    terminal.wait_for("This session is served");
    let sessions = browser.send("GET", "/v1/sessions", &json!({})).ok();
    let states: Vec<&Value> =
        sessions["sessions"].as_array().unwrap().iter().map(|it| &it["state"]).collect();
    assert_eq!(states, ["idle", "idle"], "{sessions}");
}

#[test]
fn address_in_use_leaves_the_session_in_the_terminal() {
    let model = ModelServer::start([Reply::text("Before."), Reply::text("After.")]);
    let project = project_with(&model);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let terminal = start(&project);
    terminal.send("one\r");
    terminal.wait_for("Before.");
    terminal.send(&format!("/serve {}\r", taken.local_addr().unwrap()));
    terminal.wait_for("chooses a free port");
    terminal.send("two\r");
    terminal.wait_for("After.");
}
