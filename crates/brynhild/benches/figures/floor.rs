//! The minimal program: it makes the system calls that a job cannot do without, and no others.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};

use crate::job::command;

const BODY: &str = r#"{"model":"test-model","stream":true,"messages":[]}"#;
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// What the minimal program is asked to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing.
    Nothing,
    /// `ADDRESS FILE`: write down a record for good, ask a server once, read the answer.
    Ask,
    /// `ADDRESS ROUNDS`: ask a server so often, and run `true` between one answer and the next.
    Converse,
    /// `REPORT PROGRAM ARGS..`: run a program and write down what it cost.
    Measure,
}

impl Role {
    const ALL: [Self; 4] = [Self::Nothing, Self::Ask, Self::Converse, Self::Measure];

    /// The word for it on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "__nothing",
            Self::Ask => "__ask",
            Self::Converse => "__converse",
            Self::Measure => "__measure",
        }
    }

    /// The role with this name.
    pub(crate) fn of(word: &OsStr) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == word)
    }
}

/// Plays a role.
pub(crate) fn play(role: Role, words: &[OsString]) {
    let word = |index: usize| words[index].to_str().expect("an argument of plain text");
    match role {
        Role::Nothing => {}
        Role::Ask => {
            write_down(Path::new(&words[1]));
            let mut connection = connect(word(0));
            ask(&mut connection);
        }
        Role::Converse => {
            let rounds: usize = word(1).parse().expect("a number of rounds");
            let mut connection = connect(word(0));
            for round in 0..rounds {
                if round > 0 {
                    command(Path::new("true")).status().expect("`true` to run");
                }
                ask(&mut connection);
            }
        }
        Role::Measure => measure(Path::new(&words[0]), Path::new(&words[1]), &words[2..]),
    }
}

fn write_down(path: &Path) {
    let mut file = File::create(path).expect("a file");
    file.write_all(&[b'x'; 512]).and_then(|()| file.sync_data()).expect("a record on disk");
}

fn connect(address: &str) -> TcpStream {
    let connection = TcpStream::connect(address).expect("a connection to the server");
    connection.set_nodelay(true).expect("a connection without delay");
    connection
}

/// Sends a request and reads to the end of its answer.
fn ask(connection: &mut TcpStream) {
    let length = BODY.len();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\
         \r\n{BODY}"
    );
    connection.write_all(request.as_bytes()).expect("a request to be sent");
    let mut buffer = vec![0; 64 * 1024];
    let mut tail = Vec::new();
    while !tail.ends_with(LAST_CHUNK) {
        let count = connection.read(&mut buffer).expect("an answer");
        assert!(count > 0, "the answer broke off");
        let from = count.saturating_sub(LAST_CHUNK.len());
        tail.extend_from_slice(&buffer[from..count]);
        tail.drain(..tail.len().saturating_sub(LAST_CHUNK.len()));
    }
}

/// Runs a program. This process is small: the peak of a program counts from that of its parent.
fn measure(report: &Path, program: &Path, args: &[OsString]) {
    let started = Instant::now();
    let status = command(program).args(args).status().expect("a program to measure");
    let wall = started.elapsed().as_secs_f64();
    assert!(status.success(), "{} {args:?} ended with {status}", program.display());
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the usage of the program");
    let seconds = |time: nix::sys::time::TimeVal| {
        let micros = i32::try_from(time.tv_usec()).expect("less than a second");
        let whole = i32::try_from(time.tv_sec()).expect("a program that ends");
        f64::from(whole) + f64::from(micros) / 1e6
    };
    let cpu = seconds(usage.user_time()) + seconds(usage.system_time());
    let kilobytes = u32::try_from(usage.max_rss()).expect("a program of this world");
    let megabytes = f64::from(kilobytes) / 1024.0;
    fs::write(report, format!("{wall} {cpu} {megabytes}")).expect("a report to be written");
}
