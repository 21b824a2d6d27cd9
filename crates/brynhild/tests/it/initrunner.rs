//! Tools and roles for InitRunner, through the shipped program.

mod api;
mod approvals;
mod audio;
mod autonomy;
mod builtin;
mod delegation;
mod documents;
mod email;
mod evals;
mod flows;
mod memory;
mod roles;
mod runs;
mod search;
mod security;
mod several_agents;
mod spawn;
mod text_tools;
mod web;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;
use testkit::{Project, Run};

/// A request that came in.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Method and path with its query.
    pub(crate) line: String,
    /// The headers, names in lower case.
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn body(&self) -> &str {
        &self.body
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }
}

/// A server on loopback that answers each request with a status, further headers and a body. Its
/// thread ends with the program.
pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

pub(crate) type Answer = (u16, Vec<(&'static str, String)>, String);

impl Server {
    pub(crate) fn start(answer: impl Fn(&Seen) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that goes away early is not a fault.
                let _ = serve(stream, &answer, &kept);
            }
        });
        Self { address, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(
    stream: TcpStream,
    answer: &impl Fn(&Seen) -> Answer,
    kept: &Mutex<Vec<Seen>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let seen = Seen { line, headers, body: String::from_utf8(body).unwrap() };
    kept.lock().unwrap().push(seen.clone());
    let (status, headers, body) = answer(&seen);
    let lines: Vec<String> =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let more = lines.concat();
    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{more}", body.len());
    let mut stream = reader.into_inner();
    stream.write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes())
}

/// Runs a tool with approval.
fn exec(project: &Project, tool: &str, input: &Value) -> Run {
    let input = input.to_string();
    project.brynhild(&["tools", "exec", tool, "--input", &input, "--yes", "--json"])
}
