//! What the machine itself takes for a round: a message wakes a program, the program writes a
//! record down for good where it must, and answers.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The size of records, of replies, and of requests where nothing else is said.
pub(crate) const SIZE: usize = 1024;

/// The time a server takes to think, the same in every round: a program wakes more slowly the
/// longer it has slept.
pub(crate) const THOUGHT: Duration = Duration::from_millis(3);

/// The times of rounds that do nothing but send a request of so many bytes, with a record synced to
/// disk or without.
pub(crate) fn rounds(count: usize, record: Option<&Path>, request: usize) -> Vec<Duration> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
    let address = listener.local_addr().expect("the port that was bound");
    let connection = TcpStream::connect(address).expect("a connection");
    let record = record.map(Path::to_owned);
    let client = std::thread::spawn(move || answer(connection, record, request));
    let (mut server, _) = listener.accept().expect("a connection");
    server.set_nodelay(true).expect("a connection without delay");
    let mut buffer = vec![b'x'; request.max(SIZE)];
    let round = |_| {
        std::thread::sleep(THOUGHT);
        let started = Instant::now();
        server.write_all(&buffer[..SIZE]).expect("a message to be sent");
        server.read_exact(&mut buffer[..request]).expect("an answer");
        started.elapsed()
    };
    let times = (0..count).map(round).collect();
    drop(server);
    client.join().expect("the other side to end in order");
    times
}

fn answer(mut connection: TcpStream, record: Option<PathBuf>, request: usize) {
    connection.set_nodelay(true).expect("a connection without delay");
    let open = |path| File::options().append(true).create(true).open(path).expect("a file");
    let mut record = record.map(open);
    let mut buffer = [0; SIZE];
    let request = vec![b'x'; request];
    while connection.read_exact(&mut buffer).is_ok() {
        if let Some(file) = &mut record {
            file.write_all(&buffer).and_then(|()| file.sync_data()).expect("a record on disk");
        }
        connection.write_all(&request).expect("an answer to be sent");
    }
}
