//! A model server on loopback that answers from a script, in the format of each request's path.
//! It runs on threads of its own, so plain synchronous tests can use it. Dropping it ends it.

mod connection;
mod http;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::reply::Reply;

const DEADLINE: Duration = Duration::from_secs(30);

/// A running server.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// `GET` or `POST`.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as JSON; null where it is none.
    pub body: Value,
    /// The body as it came.
    pub text: String,
    /// When its first byte came.
    pub arrived: Instant,
}

impl Recorded {
    /// The first header of this name, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

impl ModelServer {
    /// Starts a server that gives these replies, one to each chat request. Further ones get a 500.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::serve(Source::List {
            replies: replies.into_iter().collect(),
            next: 0,
            repeat_last: false,
        })
    }

    /// Starts a server that makes up each reply from the request.
    pub fn respond_with(respond: impl FnMut(&Recorded) -> Reply + Send + 'static) -> Self {
        Self::serve(Source::Made(Box::new(respond)))
    }

    /// Gives the last reply of the list again and again.
    #[must_use]
    pub fn repeat_last(self) -> Self {
        if let Source::List { repeat_last, .. } = &mut self.shared.lock().source {
            *repeat_last = true;
        }
        self
    }

    /// Keeps no requests, so that very many of them take no memory.
    #[must_use]
    pub fn forget_requests(self) -> Self {
        self.shared.lock().forgets = true;
        self
    }

    /// Leaves the bodies of requests as they are: [`Recorded::body`] stays null. Parsing a long
    /// history takes longer than sending it.
    #[must_use]
    pub fn unparsed(self) -> Self {
        self.shared.lock().bodies = Bodies::AsText;
        self
    }

    /// Lists these models; without it there is one, `test-model`.
    #[must_use]
    pub fn models<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.shared.lock().models = names.into_iter().map(str::to_owned).collect();
        self
    }

    /// Answers requests for the list of models with this reply, which has a body or a status.
    #[must_use]
    pub fn models_reply(self, reply: Reply) -> Self {
        self.shared.lock().models_reply = Some(reply);
        self
    }

    /// The base URL, such as `http://127.0.0.1:41234`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// All requests so far, in the order in which they were complete.
    pub fn requests(&self) -> Vec<Recorded> {
        let state = self.shared.lock();
        state.requests.iter().map(|request| Recorded::clone(request)).collect()
    }

    /// The chat requests so far; those for the list of models left out.
    pub fn chats(&self) -> Vec<Recorded> {
        let mut requests = self.requests();
        requests.retain(|request| request.method == "POST");
        requests
    }

    /// Waits until so many requests have come, and returns all there are.
    pub fn wait_for_requests(&self, count: usize) -> Vec<Recorded> {
        self.wait(&format!("{count} requests"), |state| state.requests.len() >= count);
        self.requests()
    }

    /// Waits until a request has come that is as `is_it` says.
    pub fn wait_for_request(&self, what: &str, is_it: impl Fn(&Recorded) -> bool) {
        self.wait(what, |state| state.requests.iter().any(|request| is_it(request)));
    }

    /// Waits until so many replies have reached the point where they stall.
    pub fn wait_for_stalls(&self, count: usize) {
        self.wait(&format!("{count} stalled replies"), |state| state.stalled >= count);
    }

    /// Waits until so many clients have hung up while a reply was on its way.
    pub fn wait_for_hang_ups(&self, count: usize) {
        self.wait(&format!("{count} clients to hang up"), |state| state.hung_up >= count);
    }

    /// Lets everything that stalls go on, and whatever would stall later.
    pub fn release(&self) {
        self.shared.lock().released = true;
        self.shared.changed.notify_all();
    }

    fn serve(source: Source) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
        let address = listener.local_addr().expect("the port that was bound");
        let shared =
            Arc::new(Shared { state: Mutex::new(State::new(source)), changed: Condvar::new() });
        let server = Arc::clone(&shared);
        let accepting = std::thread::spawn(move || accept(&listener, &server));
        Self { address, shared, accepting: Some(accepting) }
    }

    fn wait(&self, what: &str, is_reached: impl Fn(&State) -> bool) {
        let state = self.shared.lock();
        let (state, waited) = self
            .shared
            .changed
            .wait_timeout_while(state, DEADLINE, |state| !is_reached(state))
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            let came: Vec<String> = state
                .requests
                .iter()
                .map(|request| format!("{} {}", request.method, request.path))
                .collect();
            drop(state);
            panic!("the model server waited in vain for {what}; the requests were {came:?}");
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        {
            let mut state = self.shared.lock();
            state.stopping = true;
            for connection in state.connections.values() {
                // It fails where the client has hung up already.
                let _ = connection.shutdown(Shutdown::Both);
            }
        }
        self.shared.changed.notify_all();
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The processing of request bodies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bodies {
    Parsed,
    AsText,
}

struct State {
    source: Source,
    models: Vec<String>,
    models_reply: Option<Reply>,
    requests: Vec<Arc<Recorded>>,
    forgets: bool,
    bodies: Bodies,
    connections: HashMap<usize, TcpStream>,
    stalled: usize,
    hung_up: usize,
    released: bool,
    stopping: bool,
}

impl State {
    fn new(source: Source) -> Self {
        Self {
            source,
            models: vec![String::from("test-model")],
            models_reply: None,
            requests: Vec::new(),
            forgets: false,
            bodies: Bodies::Parsed,
            connections: HashMap::new(),
            stalled: 0,
            hung_up: 0,
            released: false,
            stopping: false,
        }
    }
}

enum Source {
    List { replies: Vec<Reply>, next: usize, repeat_last: bool },
    Made(Box<dyn FnMut(&Recorded) -> Reply + Send>),
}

impl Source {
    fn next(&mut self, request: &Recorded) -> Reply {
        match self {
            Self::Made(respond) => respond(request),
            Self::List { replies, next, repeat_last } => {
                *next += 1;
                let reply = replies.get(*next - 1);
                let last = if *repeat_last { replies.last() } else { None };
                reply.or(last).cloned().unwrap_or_else(|| {
                    Reply::failure(400).body(&format!(
                        "the test scripted {} replies, and this is chat request {next}",
                        replies.len()
                    ))
                })
            }
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut serving = Vec::new();
    for (number, connection) in listener.incoming().enumerate() {
        if shared.lock().stopping {
            break;
        }
        let Ok(connection) = connection else { continue };
        if let Ok(other) = connection.try_clone() {
            shared.lock().connections.insert(number, other);
        }
        let shared = Arc::clone(shared);
        serving.push(std::thread::spawn(move || {
            connection::serve(connection, number, &shared);
        }));
    }
    for thread in serving {
        let _ = thread.join();
    }
}
