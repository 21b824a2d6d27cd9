//! Clients of `mcp serve --http` that come, vanish, come back and ask for the rest.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Project, Running};

use super::tell;
use crate::mcp::serving::{call, initialize};
use crate::project;

/// A server on this machine, with the address to reach it at.
pub(crate) fn serving_http(project: &Project) -> (Running, String) {
    let command =
        project.command(&["--yes", "mcp", "serve", "--http", "127.0.0.1:0", "--no-token"]);
    let serving = command.patience(Duration::from_mins(5)).spawn();
    serving.wait_for_stderr("/mcp");
    let said = serving.stderr();
    let host = said.split("http://").nth(1).unwrap().split("/mcp").next().unwrap().to_owned();
    (serving, host)
}

/// Sends a request and leaves the line open.
pub(crate) fn send(host: &str, method: &str, more: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(host).unwrap();
    let length = body.len();
    let text = format!(
        "{method} /mcp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
         Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n{more}\r\n{body}"
    );
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

/// The answer to a request.
pub(crate) fn answer(mut stream: TcpStream) -> String {
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

/// Begins a session. Returns its name.
pub(crate) fn begin(host: &str) -> String {
    let first = answer(send(host, "POST", "", &initialize(&json!({})).to_string()));
    let id = first.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
    });
    id.unwrap_or_else(|| panic!("no session: {first}"))
}

#[test]
fn http_session_delete_is_answered() {
    let project = project();
    let (serving, host) = serving_http(&project);
    let id = begin(&host);
    let farewell = answer(send(&host, "DELETE", &format!("Mcp-Session-Id: {id}\r\n"), ""));
    assert!(farewell.starts_with("HTTP/1.1 204"), "{farewell}");
    serving.interrupt();
    serving.wait().code(130);
}

/// Kilobytes that a server takes, and its descriptors.
fn taken(serving: &Running) -> (u64, usize) {
    let directory = std::path::Path::new("/proc").join(serving.id().to_string());
    let status = std::fs::read_to_string(directory.join("status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let size = line.split_whitespace().next().unwrap().parse().unwrap();
    (size, std::fs::read_dir(directory.join("fd")).unwrap().count())
}

/// Clients at once, each of which begins a session, listens, asks and vanishes, again and again
/// while `goes_on`. Returns how many sessions that were.
fn churn(host: &str, goes_on: impl Fn(usize) -> bool + Sync) -> usize {
    const CLIENTS: usize = 200;
    let client = || {
        let mut rounds = 0;
        while goes_on(rounds) {
            let more = format!("Mcp-Session-Id: {}\r\n", begin(host));
            let listening = send(host, "GET", &more, "");
            let ping = json!({"jsonrpc": "2.0", "id": rounds, "method": "ping"}).to_string();
            let asked = send(host, "POST", &more, &ping);
            if rounds % 2 == 0 {
                let said = answer(asked);
                // A session that was silent while so many others began has made room.
                let is_known = said.contains("200 OK") || said.contains("404 Not Found");
                assert!(is_known, "{said}");
            }
            drop(listening);
            rounds += 1;
        }
        rounds
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    })
}

/// Lets clients churn, first to warm up, and looks at what the server takes before and after.
fn vanish(warms_up: impl Fn(usize) -> bool + Sync, goes_on: impl Fn(usize) -> bool + Sync) {
    let project = project();
    let (serving, host) = serving_http(&project);
    churn(&host, warms_up);
    let before = taken(&serving);
    let count = churn(&host, goes_on);
    assert!(!begin(&host).is_empty(), "it serves all the same");
    let after = taken(&serving);
    tell(&format!("{count} sessions of 200 clients at once: {before:?}, then {after:?}"));
    assert!(after.0 < before.0 + 16_000, "{before:?} became {after:?}");
    assert!(after.1 < 100, "{after:?}");
    serving.interrupt();
    serving.wait().code(130);
}

#[cfg(target_os = "linux")]
#[test]
fn vanished_clients_leak_nothing() {
    // Several times as many sessions as are retained.
    vanish(|rounds| rounds < 4, |rounds| rounds < 2);
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "takes a minute: two hundred clients come and go"]
fn vanished_clients_leak_nothing_for_a_minute() {
    let warm = Instant::now() + Duration::from_secs(30);
    let end = warm + Duration::from_mins(1);
    vanish(|_| Instant::now() < warm, |_| Instant::now() < end);
}

/// The events of a stream, each as its name and what it says, until `is_last` or its end.
fn events(stream: TcpStream, is_last: impl Fn(&Value) -> bool) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    let mut said = Value::Null;
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        if let Some(data) = line.strip_prefix("data: ") {
            said = serde_json::from_str(data).unwrap_or_default();
        } else if let Some(id) = line.strip_prefix("id: ") {
            found.push((id.to_owned(), said.clone()));
            if is_last(&said) {
                break;
            }
        }
    }
    found
}

#[test]
fn reconnected_client_gets_missed_events_once() {
    let project = project();
    let (serving, host) = serving_http(&project);
    let session = format!("Mcp-Session-Id: {}\r\n", begin(&host));
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    answer(send(&host, "POST", &session, &ready));
    let command = "for i in 1 2 3; do echo $i; done; until [ -e go ]; do sleep 0.05; done; \
                   for i in 4 5 6; do echo $i; done";
    let mut asked = call(1, "Bash", &json!({"command": command}));
    asked["params"]["_meta"] = json!({"progressToken": "t"});
    let progress = |value: &Value| value["params"]["message"].as_str().map(str::to_owned);
    // The line breaks off in the middle of what is said.
    let first = events(send(&host, "POST", &session, &asked.to_string()), |said| {
        progress(said).as_deref() == Some("2")
    });
    let last = first.last().unwrap().0.clone();
    std::fs::write(project.path().join("go"), "").unwrap();
    // While it goes on, and once more when it is over.
    for round in 0..2 {
        let more = format!("{session}Last-Event-ID: {last}\r\n");
        let rest = events(send(&host, "GET", &more, ""), |_| false);
        let said: Vec<String> = rest.iter().filter_map(|(_, said)| progress(said)).collect();
        assert_eq!(said, ["3", "4", "5", "6"], "round {round}: {rest:?}");
        let result = &rest.last().unwrap().1["result"]["content"][0]["text"];
        assert_eq!(result, "1\n2\n3\n4\n5\n6", "round {round}: {rest:?}");
    }
    serving.interrupt();
    serving.wait().code(130);
}
