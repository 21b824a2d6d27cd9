//! Requests that the server must refuse: of other pages, of clients without credentials, and broken ones.

use std::io::Write as _;

use serde_json::json;
use testkit::{ModelServer, Reply};

use super::{Answer, OTHER, Server, TOKEN, request};
use crate::{has_bubblewrap, project_with};

/// Each request with the status of its refusal. `TOK` stands for the header with a valid token.
const REFUSED: &[(u16, &str)] = &[
    // Without credentials, or with wrong ones.
    (401, "GET /v1/sessions HTTP/1.1\r\nHost: HOST\r\n"),
    (401, "GET /v1/events HTTP/1.1\r\nHost: HOST\r\n"),
    (401, "GET /v1/nothing HTTP/1.1\r\nHost: HOST\r\n"),
    (401, "GET /v1/sessions HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer guess\r\n"),
    (401, "GET /v1/sessions?token=0123456789abcdef HTTP/1.1\r\nHost: HOST\r\n"),
    (401, "GET /v1/sessions?access_token=0123456789abcdef HTTP/1.1\r\nHost: HOST\r\n"),
    (401, "GET /v1/sessions HTTP/1.1\r\nHost: HOST\r\nReferer: http://HOST/#0123456789abcdef\r\n"),
    (401, "GET /v1/sessions HTTP/1.1\r\nHost: HOST\r\nCookie: brynhild-1=0123456789abcdef\r\n"),
    (
        401,
        "GET /v1/sessions HTTP/1.1\r\nHost: HOST\r\nAuthorization: Basic MDEyMzQ1Njc4OWFiY2RlZg==\r\n",
    ),
    // A foreign name for this address.
    (421, "GET /v1/sessions HTTP/1.1\r\nHost: evil.example\r\nTOK"),
    (421, "GET / HTTP/1.1\r\nHost: evil.example\r\n"),
    (421, "GET /v1/health HTTP/1.1\r\nHost: 0.0.0.0:PORT\r\n"),
    (421, "GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n"),
    (421, "GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1.evil.example:PORT\r\n"),
    (421, "GET /v1/health HTTP/1.1\r\nHost: [::ffff:127.0.0.1]:PORT\r\n"),
    (421, "GET /v1/health HTTP/1.1\r\nTOK"),
    (421, "GET /v1/health HTTP/1.1\r\nHost: HOST\r\nHost: evil.example\r\n"),
    (421, "GET http://evil.example/v1/health HTTP/1.1\r\nHost: HOST\r\n"),
    (421, "GET http://HOST/v1/health HTTP/1.1\r\nHost: evil.example\r\n"),
    (421, "GET /v1/health HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\n"),
    (421, "GET /v1/health HTTP/1.1\r\nHost: [::]:PORT\r\n"),
    (421, "GET /v1/health HTTP/1.1\r\nHost: [::1]\r\n"),
    // Other pages.
    (403, "GET /v1/sessions HTTP/1.1\r\nHost: HOST\r\nTOKOrigin: http://evil.example\r\n"),
    (403, "GET /v1/sessions HTTP/1.1\r\nHost: HOST\r\nTOKOrigin: null\r\n"),
    (403, "GET /v1/sessions HTTP/1.1\r\nHost: HOST\r\nTOKOrigin: http://127.0.0.1:1\r\n"),
    (403, "GET /v1/sessions HTTP/1.1\r\nHost: HOST\r\nTOKSec-Fetch-Site: cross-site\r\n"),
    (403, "GET /v1/sessions HTTP/1.1\r\nHost: HOST\r\nTOKSec-Fetch-Site: same-site\r\n"),
    (403, "GET /assets/app.js HTTP/1.1\r\nHost: HOST\r\nSec-Fetch-Site: cross-site\r\n"),
    (
        403,
        "GET / HTTP/1.1\r\nHost: HOST\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n",
    ),
    (403, "OPTIONS /v1/sessions HTTP/1.1\r\nHost: HOST\r\nOrigin: http://evil.example\r\n"),
    // Bodies that a page can send without asking first.
    (
        415,
        "POST /v1/sessions HTTP/1.1\r\nHost: HOST\r\nTOKContent-Type: text/plain\r\nContent-Length: 2\r\n",
    ),
    (415, "POST /v1/sessions HTTP/1.1\r\nHost: HOST\r\nTOKContent-Length: 2\r\n"),
    (
        415,
        "POST /v1/login HTTP/1.1\r\nHost: HOST\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 2\r\n",
    ),
    (
        415,
        "POST /v1/sessions HTTP/1.1\r\nHost: HOST\r\nTOKContent-Type: multipart/form-data\r\n\
         Content-Length: 2\r\n",
    ),
    // Large ones.
    (
        413,
        "POST /v1/sessions HTTP/1.1\r\nHost: HOST\r\nTOKContent-Type: application/json\r\n\
         Content-Length: 1073741824\r\n",
    ),
    // Other protocols, methods and paths.
    (
        400,
        "GET /v1/events HTTP/1.1\r\nHost: HOST\r\nTOKConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n",
    ),
    (405, "PUT /v1/sessions HTTP/1.1\r\nHost: HOST\r\nTOK"),
    (405, "OPTIONS /v1/sessions HTTP/1.1\r\nHost: HOST\r\nTOK"),
    (404, "GET /v1/../../etc/passwd HTTP/1.1\r\nHost: HOST\r\nTOK"),
    (404, "GET /assets/..%2f..%2fCargo.toml HTTP/1.1\r\nHost: HOST\r\n"),
    (404, "GET /v1/sessions/..%2f..%2fx HTTP/1.1\r\nHost: HOST\r\nTOK"),
    // Requests that hide another one.
    (
        400,
        "POST /v1/sessions HTTP/1.1\r\nHost: HOST\r\nTOKContent-Type: application/json\r\n\
         Content-Length: 5\r\nContent-Length: 6\r\n",
    ),
    (400, "POST /v1/sessions HTTP/1.1\r\nHost: HOST\r\nTOKTransfer-Encoding: nonsense\r\n"),
    (400, "GET /v1/health HTTP/1.1\r\nHost: HOST\r\nX: a\0b\r\n"),
    (400, "GET /v1/health HTTP/1.1\r\nHost: HOST\r\nX: a\r\n Host: evil.example\r\n"),
    (400, "GET /v1/health HTTP/1.1\r\nHost : HOST\r\n"),
];

#[test]
fn hostile_requests_are_refused_and_noted() {
    let model = ModelServer::start([]);
    let project = project_with(&model);
    let server = Server::start(&project, &[]);
    let mut noted = 0;
    for (status, request) in REFUSED {
        let text = request
            .replace("TOK", &format!("Authorization: Bearer {TOKEN}\r\n"))
            .replace("PORT", &server.port.to_string());
        let answer = server.raw(&format!("{text}Connection: close\r\n\r\n"));
        assert_eq!(answer.status, *status, "{text}\n{answer:?}");
        assert!(!answer.head.contains("access-control"), "{answer:?}");
        noted += usize::from(matches!(status, 401 | 403 | 413 | 415 | 421));
    }
    server.running.wait_for_stderr("refused (415)");
    let lines = server.running.stderr();
    assert_eq!(lines.matches("refused (").count(), noted, "{lines}");
    assert!(!lines.contains(TOKEN), "{lines}");
    let audit = project.brynhild(&["audit", "--json"]).stdout;
    assert_eq!(audit.matches("request refused").count(), noted);
    assert!(model.requests().is_empty());
}

#[test]
fn page_is_served_with_a_strict_policy() {
    let model = ModelServer::start([]);
    let project = project_with(&model);
    let server = Server::start(&project, &[]);
    let page = server.raw("GET / HTTP/1.0\r\nHost: HOST\r\nSec-Fetch-Site: none\r\n\r\n");
    assert_eq!(page.status, 200);
    for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "nosniff"] {
        assert!(page.head.contains(part), "{}", page.head);
    }
    // A link in a letter may open the page.
    let link = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document";
    let opened = server.raw(&format!("GET / HTTP/1.0\r\nHost: HOST\r\n{link}\r\n\r\n"));
    assert_eq!(opened.status, 200);
}

#[test]
fn code_of_a_link_logs_one_browser_in() {
    let model = ModelServer::start([]);
    let project = project_with(&model);
    let server = Server::start(&project, &[]);
    let log_in = |code: &str| {
        let body = json!({"code": code});
        server.send("none", "POST", "/v1/login", Some(&body))
    };
    assert_eq!(log_in("guess").status, 401);
    let answer = log_in(&server.code);
    assert_eq!(answer.status, 204, "{answer:?}");
    let cookie = answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let name = format!("brynhild-{}=", server.port);
    assert!(cookie.starts_with(&name), "{cookie}");
    assert!(cookie.contains("HttpOnly; SameSite=Strict; Path=/"), "{cookie}");
    assert_eq!(log_in(&server.code).status, 401);
    // Another link waits for the next browser.
    assert!(server.running.line(1).contains("/#"));
}

#[test]
fn browser_stays_logged_in_after_a_restart() {
    let model = ModelServer::start([]);
    let project = project_with(&model);
    let first = Server::start(&project, &[]);
    let body = json!({"code": first.code}).to_string();
    let mut stream = first.connect();
    let head = format!("POST /v1/login HTTP/1.0\r\nHost: 127.0.0.1:{}\r\n", first.port);
    let kind = "Content-Type: application/json\r\n";
    let text = format!("{head}{kind}Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(text.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut stream, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let cookie = text.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let port = first.port;
    first.kill();
    let second = Server::at(&project, port, &[]);
    let with = |origin: &str| -> Answer {
        second.raw(&format!(
            "GET /v1/sessions HTTP/1.0\r\nHost: HOST\r\nCookie: {cookie}\r\n{origin}\r\n"
        ))
    };
    assert_eq!(with("Sec-Fetch-Site: same-origin\r\n").status, 200);
    assert_eq!(with("Sec-Fetch-Site: same-site\r\n").status, 403);
}

#[test]
fn scope_of_a_token_limits_what_it_may_do() {
    let model = ModelServer::start([
        Reply::calls([("Write", json!({"file_path": "a", "content": "x"}))]),
        Reply::text("Done."),
    ]);
    let project =
        project_with(&model).env("READ", "readreadreadread").env("ASK", "askaskaskaskaskask");
    let project = project.env("GIVE", "givegivegivegive");
    let flags =
        ["--token-env", "READ:read", "--token-env", "ASK:prompt", "--token-env", "GIVE:approve"];
    let server = Server::start(&project, &flags);
    let session = server.open(&project, "ask");
    let mut stream = server.stream(&session, "after=0");
    let path = format!("/v1/sessions/{session}/inputs");
    let status = |token: &str, path: &str, body: &serde_json::Value| {
        server.raw(&request(token, "POST", path, Some(body))).status
    };
    let prompt = json!({"input": "prompt", "text": "write"});
    assert_eq!(status("readreadreadread", &path, &prompt), 403);
    assert_eq!(status("readreadreadread", "/v1/sessions", &json!({"cwd": project.path()})), 403);
    let yolo = json!({"cwd": project.path(), "mode": "yolo"});
    assert_eq!(status("givegivegivegive", "/v1/sessions", &yolo), 403);
    assert_eq!(
        status("askaskaskaskaskask", &path, &json!({"input": "mode", "mode": "normal"})),
        403
    );
    assert_eq!(status("givegivegivegive", &path, &json!({"input": "mode", "mode": "yolo"})), 403);
    assert_eq!(status("askaskaskaskaskask", &path, &prompt), 202);
    let call = stream.wait_for("asked")["call"].clone();
    let answer = |answer: &str| json!({"input": "answer", "call": call, "answer": answer});
    assert_eq!(status("askaskaskaskaskask", &path, &answer("once")), 403);
    assert_eq!(status("givegivegivegive", &path, &answer("always")), 403);
    assert_eq!(status("givegivegivegive", &path, &answer("once")), 202);
    assert_eq!(stream.wait_for("answered")["by"], "GIVE");
    stream.wait_for("turn_finished");
    assert_eq!(server.send("readreadreadread", "GET", "/v1/sessions", None).status, 200);
}

#[test]
fn only_offered_projects_are_reached() {
    let model = ModelServer::start([]);
    let project = project_with(&model);
    project.file("inner/a.txt", "");
    let inner = project.path().join("inner");
    let server = Server::start(&project, &["--project", &inner.display().to_string()]);
    let open = |cwd: &std::path::Path| {
        server.send(OTHER, "POST", "/v1/sessions", Some(&json!({"cwd": cwd}))).status
    };
    assert_eq!(open(&project.path()), 403);
    assert_eq!(open(&inner.join("../inner/..")), 403);
    assert_eq!(open(&inner), 201);
    let outside = format!("/v1/files?cwd={}", project.path().display());
    assert_eq!(server.send(OTHER, "GET", &outside, None).status, 403);
}

#[test]
fn wrong_inputs_are_explained_and_change_nothing() {
    let model = ModelServer::start([]);
    let project = project_with(&model);
    let server = Server::start(&project, &[]);
    let session = server.open(&project, "normal");
    let path = format!("/v1/sessions/{session}/inputs");
    for wrong in [
        json!({"input": "dance"}),
        json!({"input": "prompt"}),
        json!({"input": "prompt", "text": 1}),
        json!({"input": "record", "type": "titled", "title": "x"}),
        json!([]),
        json!("prompt"),
    ] {
        let answer = server.send(TOKEN, "POST", &path, Some(&wrong));
        assert_eq!(answer.status, 400, "{wrong} {answer:?}");
        assert!(!answer.json()["error"]["message"].as_str().unwrap().is_empty());
    }
    let unknown = json!({"input": "answer", "call": "none", "answer": "once"});
    assert_eq!(server.send(TOKEN, "POST", &path, Some(&unknown)).status, 404);
    let absent = "/v1/sessions/absent/inputs";
    let prompt = json!({"input": "prompt", "text": "x"});
    assert_eq!(server.send(TOKEN, "POST", absent, Some(&prompt)).status, 404);
    assert!(model.requests().is_empty());
}

/// Connects to the server, and looks for the socket and the tokens by which other programs join.
const CONNECTS: &str = r"
import os, socket
try:
    socket.create_connection(('127.0.0.1', PORT), 5)
    print('reach' + 'ed')
except OSError:
    print('no way')
for root, _, names in os.walk(os.path.expanduser('~')):
    for name in names:
        if name.endswith(('.sock', '.lock')) or name.startswith('cookies-'):
            print('fou' + 'nd', os.path.join(root, name))
";

/// Asks the server without a token.
const ASKS: &str = r"
import urllib.request, urllib.error
def status(path):
    try:
        return urllib.request.urlopen('http://localhost:PORT' + path, timeout=20).status
    except urllib.error.HTTPError as refusal:
        return refusal.code
print('statuses', status('/v1/health'), status('/v1/sessions'), status('/v1/events'))
";

/// Runs a Python script as a command of a session, with hosts as its network. `PORT` stands for the port
/// of the server. Returns what the model is told.
fn told_of_script(script: &str, network: &[&str], configuration: &str) -> String {
    let text = script.to_owned();
    let network = json!(network);
    let model = ModelServer::respond_with({
        let mut count = 0;
        move |request| {
            count += 1;
            let prompt = request.body["messages"].to_string();
            let port = prompt.split("port ").nth(1).unwrap_or_default();
            let port: String = port.chars().take_while(char::is_ascii_digit).collect();
            let script = text.replace("PORT", &port);
            let command = format!("python3 - <<'END'\n{script}\nEND");
            let call = json!({"command": command, "network": network, "reason": "a test"});
            match count {
                1 => Reply::calls([("Bash", call)]),
                _ => Reply::text("Done."),
            }
        }
    });
    let project = project_with(&model);
    project.config_more(configuration);
    let server = Server::start(&project, &[]);
    let session = server.open(&project, "normal");
    let mut stream = server.stream(&session, "after=0");
    server.prompt(&session, &format!("port {}", server.port));
    let judged = stream.wait_for("tool_judged");
    assert_eq!(judged["ruling"]["decision"], "allow", "{judged}");
    stream.wait_for("tool_finished")["content"].to_string()
}

#[test]
fn confined_command_does_not_reach_the_server() {
    if !has_bubblewrap() {
        return;
    }
    let told = told_of_script(CONNECTS, &[], "");
    assert!(told.contains("no way"), "{told}");
    assert!(!told.contains("reached") && !told.contains("found"), "{told}");
}

#[test]
fn granted_command_needs_a_token_of_the_server() {
    if !has_bubblewrap() {
        return;
    }
    let told = told_of_script(ASKS, &["localhost"], "permissions: {allow: ['Host(localhost)']}\n");
    assert!(told.contains("statuses 200 401 401"), "{told}");
}
