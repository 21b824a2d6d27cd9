//! The connection: reads lines, answers requests, and keeps the open sessions.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;
use std::rc::Rc;

use contract::id::SessionId;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle, JoinSet, LocalSet};

use crate::host::{Failure, Host, Wanted};
use crate::lines::{self, Line, MAX_LINE_BYTES};
use crate::peer::{self, Message, Peer};
use crate::session::{Order, Session};
use crate::wire::{
    Authenticate, CancelRequest, ClientAbilities, Code, Initialize, ListSessions, McpServer,
    NewSession, OfSession, Prompt, SetConfigOption, SetMode, StoredSession, VERSION,
};
use crate::{content, listing};

/// Speaks the protocol with one client until its input ends, then closes all sessions.
pub async fn serve(
    host: Rc<dyn Host>,
    version: &'static str,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + 'static,
) -> io::Result<()> {
    let tasks = LocalSet::new();
    tasks.run_until(connected(host, version, input, output)).await
}

async fn connected(
    host: Rc<dyn Host>,
    version: &'static str,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + 'static,
) -> io::Result<()> {
    let (peer, outbox) = Peer::new();
    let mut writing = tokio::task::spawn_local(outbox.write(output));
    let server = Rc::new(Server {
        host,
        version,
        peer,
        abilities: Cell::default(),
        is_ready: Cell::new(false),
        sessions: RefCell::default(),
        opening: RefCell::default(),
        tasks: RefCell::default(),
    });
    let mut input = BufReader::with_capacity(1 << 16, input);
    let ended = loop {
        tokio::select! {
            line = lines::next(&mut input, MAX_LINE_BYTES) => match line {
                Ok(Some(line)) => server.line(line),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            },
            // Nobody reads any more.
            _ = &mut writing => break Ok(()),
        }
    };
    server.close_all().await;
    server.peer.close();
    if !writing.is_finished() {
        // A client that is gone needs no answers.
        let _ = writing.await;
    }
    ended
}

struct Server {
    host: Rc<dyn Host>,
    version: &'static str,
    peer: Peer,
    abilities: Cell<ClientAbilities>,
    is_ready: Cell<bool>,
    sessions: RefCell<BTreeMap<String, OpenSession>>,
    /// Requests that open sessions, by their IDs as JSON.
    opening: RefCell<HashMap<String, AbortHandle>>,
    /// Work for requests that are answered later.
    tasks: RefCell<JoinSet<()>>,
}

struct OpenSession {
    orders: mpsc::UnboundedSender<Order>,
    task: JoinHandle<()>,
}

/// How a session comes to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    New,
    /// With all that happened before.
    Load,
    Resume,
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Failure> {
    serde_json::from_value(params).map_err(|error| Failure::params(error.to_string()))
}

impl Server {
    fn line(self: &Rc<Self>, line: Line) {
        let message = match line {
            Line::TooLong => {
                let text = format!("a line has more than {MAX_LINE_BYTES} bytes");
                Err(Box::new((Value::Null, Failure::new(Code::Parse, text))))
            }
            Line::Text(text) if text.trim_ascii().is_empty() => return,
            Line::Text(text) => peer::parse(&text),
        };
        match message {
            Ok(Message::Request { id, method, params }) => {
                match self.request(&id, &method, params) {
                    // It is answered later.
                    Ok(None) => {}
                    Ok(Some(result)) => self.peer.respond(&id, Ok(result)),
                    Err(failure) => self.peer.respond(&id, Err(failure)),
                }
            }
            Ok(Message::Notification { method, params }) => self.notification(&method, params),
            Ok(Message::Response { id, result }) => self.peer.answered(&id, result),
            Err(broken) => {
                let (id, failure) = *broken;
                self.peer.respond(&id, Err(failure));
            }
        }
    }

    fn request(
        self: &Rc<Self>,
        id: &Value,
        method: &str,
        params: Value,
    ) -> Result<Option<Value>, Failure> {
        if method != "initialize" && !self.is_ready.get() {
            return Err(Failure::new(Code::InvalidRequest, "`initialize` comes first"));
        }
        match method {
            "initialize" => Ok(Some(self.initialize(&read(params)?))),
            "authenticate" => {
                let Authenticate { method_id } = read(params)?;
                Err(Failure::params(format!("there is no method {method_id:?} to authenticate by")))
            }
            "session/new" => {
                let NewSession { cwd, mcp_servers, additional_directories } = read(params)?;
                check_directories(&cwd, additional_directories.as_deref())?;
                self.open(id, Opening::New, self.wanted(None, cwd, mcp_servers));
                Ok(None)
            }
            "session/load" => self.stored(id, Opening::Load, params),
            "session/resume" => self.stored(id, Opening::Resume, params),
            "session/list" => {
                let ListSessions { cwd, cursor } = read(params)?;
                listing::page(self.host.list()?, cwd.as_deref(), cursor.as_deref()).map(Some)
            }
            "session/close" => {
                let OfSession { session_id } = read(params)?;
                let closing = self.closing(&session_id);
                let closing = closing.ok_or_else(|| Failure::unknown_session(&session_id))?;
                self.after(closing, id, |_| Ok(json!({})));
                Ok(None)
            }
            "session/delete" => {
                let OfSession { session_id } = read(params)?;
                // A name that no session can have names none.
                let Ok(session) = SessionId::parse(&session_id) else { return Ok(Some(json!({}))) };
                let delete = move |server: &Self| {
                    if server.host.exists(&session) {
                        server.host.delete(&session)?;
                    }
                    Ok(json!({}))
                };
                match self.closing(&session_id) {
                    None => delete(self).map(Some),
                    Some(closing) => {
                        self.after(closing, id, delete);
                        Ok(None)
                    }
                }
            }
            "session/prompt" => {
                let Prompt { session_id, prompt } = read(params)?;
                let text = content::text(prompt)?;
                self.order(&session_id, Order::Prompt { id: id.clone(), text })
            }
            "session/set_mode" => {
                let SetMode { session_id, mode_id } = read(params)?;
                self.order(&session_id, Order::Mode { id: id.clone(), mode: mode_id })
            }
            "session/set_config_option" => {
                let SetConfigOption { session_id, config_id, value } = read(params)?;
                let order = Order::Config { id: id.clone(), config: config_id, value };
                self.order(&session_id, order)
            }
            _ => {
                let text = format!("there is no method {method:?}");
                Err(Failure::new(Code::MethodNotFound, text))
            }
        }
    }

    fn notification(&self, method: &str, params: Value) {
        match method {
            "session/cancel" => match read::<OfSession>(params) {
                Ok(OfSession { session_id }) => {
                    // A session that is gone has nothing to cancel.
                    let _ = self.order(&session_id, Order::Cancel);
                }
                Err(failure) => {
                    self.host.warn(&format!("`session/cancel` is ignored: {}", failure.message));
                }
            },
            "$/cancel_request" => {
                let Ok(CancelRequest { request_id }) = read(params) else { return };
                let opening = self.opening.borrow_mut().remove(&request_id.to_string());
                if let Some(opening) = opening {
                    opening.abort();
                    let cancelled = Failure::new(Code::Cancelled, "the request was cancelled");
                    return self.peer.respond(&request_id, Err(cancelled));
                }
                for session in self.sessions.borrow().values() {
                    let _ = session.orders.send(Order::CancelRequest(request_id.clone()));
                }
            }
            _ => {}
        }
    }

    fn initialize(&self, params: &Initialize) -> Value {
        let abilities = ClientAbilities::of(params.client_capabilities.as_ref());
        self.abilities.set(abilities);
        self.is_ready.set(true);
        let login = json!({
            "type": "terminal",
            "id": "login",
            "name": "Log in to a provider",
            "description": "Stores a key and chooses a model",
            "args": ["--login"],
        });
        let methods: Vec<Value> = abilities.terminal_login.then_some(login).into_iter().collect();
        json!({
            "protocolVersion": VERSION,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": false, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": true, "sse": false},
                "sessionCapabilities": {"list": {}, "delete": {}, "resume": {}, "close": {}},
                "auth": {},
            },
            "agentInfo": {"name": "brynhild", "title": "Brynhild", "version": self.version},
            "authMethods": methods,
        })
    }

    fn wanted(
        &self,
        session: Option<SessionId>,
        cwd: std::path::PathBuf,
        mut servers: Vec<McpServer>,
    ) -> Wanted {
        servers.retain(|server| {
            let is_old = matches!(server, McpServer::Address { transport, .. }
                if *transport == crate::wire::Transport::Sse);
            if is_old {
                let name = server.name();
                self.host.warn(&format!("MCP server `{name}` is left out: SSE is not supported"));
            }
            !is_old
        });
        Wanted { session, cwd, servers, model: None, mode: None }
    }

    fn stored(
        self: &Rc<Self>,
        id: &Value,
        opening: Opening,
        params: Value,
    ) -> Result<Option<Value>, Failure> {
        let StoredSession { session_id, cwd, mcp_servers, additional_directories } = read(params)?;
        check_directories(&cwd, additional_directories.as_deref())?;
        let known = SessionId::parse(&session_id).ok().filter(|session| {
            self.sessions.borrow().contains_key(&session_id) || self.host.exists(session)
        });
        let session = known.ok_or_else(|| {
            let text = format!("there is no session {session_id:?}");
            let hint = Some("`session/list` names the stored sessions".to_owned());
            Failure { hint, ..Failure::new(Code::NotFound, text) }
        })?;
        self.open(id, opening, self.wanted(Some(session), cwd, mcp_servers.unwrap_or_default()));
        Ok(None)
    }

    /// Opens a session in a task of its own, and answers.
    fn open(self: &Rc<Self>, id: &Value, opening: Opening, wanted: Wanted) {
        let (server, request, key) = (Rc::clone(self), id.clone(), id.to_string());
        let closing = wanted.session.as_ref().and_then(|id| self.closing(id.as_str()));
        let task = self.spawn(async move {
            if let Some(closing) = closing {
                closing.finish().await;
            }
            let opened = server.opened(&request, opening, wanted).await;
            server.opening.borrow_mut().remove(&request.to_string());
            if let Err(failure) = opened {
                server.peer.respond(&request, Err(failure));
            }
        });
        self.opening.borrow_mut().insert(key, task);
    }

    async fn opened(
        self: &Rc<Self>,
        request: &Value,
        opening: Opening,
        wanted: Wanted,
    ) -> Result<(), Failure> {
        let opened = self.host.open(wanted.clone()).await?;
        let id = opened.id.clone();
        let context = (Rc::clone(&self.host), self.peer.clone());
        let (mut session, history) = Session::new(context, wanted, self.abilities.get(), opened);
        session.replay(&history, opening == Opening::Load).await;
        drop(history);
        let mut answer = session.state();
        if opening == Opening::New {
            answer["sessionId"] = id.as_str().into();
        }
        let (orders, received) = mpsc::unbounded_channel();
        // Clients drop updates of a session that they do not know yet.
        self.peer.respond(request, Ok(answer));
        let task = tokio::task::spawn_local(async move {
            session.offer_commands().await;
            session.run(received).await;
        });
        self.sessions.borrow_mut().insert(id.to_string(), OpenSession { orders, task });
        Ok(())
    }

    fn order(&self, session: &str, order: Order) -> Result<Option<Value>, Failure> {
        let sessions = self.sessions.borrow();
        match sessions.get(session) {
            Some(open) if open.orders.send(order).is_ok() => Ok(None),
            Some(_) | None => Err(Failure::unknown_session(session)),
        }
    }

    /// Begins to close a session, if it is open.
    fn closing(&self, session: &str) -> Option<Closing> {
        let OpenSession { orders, task } = self.sessions.borrow_mut().remove(session)?;
        let (sender, done) = oneshot::channel();
        // A session that ended by itself is closed.
        let _ = orders.send(Order::Close(sender));
        Some(Closing { done, task })
    }

    /// Answers a request once a session is closed.
    fn after(
        self: &Rc<Self>,
        closing: Closing,
        id: &Value,
        work: impl FnOnce(&Self) -> Result<Value, Failure> + 'static,
    ) {
        let (server, id) = (Rc::clone(self), id.clone());
        self.spawn(async move {
            closing.finish().await;
            server.peer.respond(&id, work(&server));
        });
    }

    fn spawn(&self, work: impl Future<Output = ()> + 'static) -> AbortHandle {
        let mut tasks = self.tasks.borrow_mut();
        while tasks.try_join_next().is_some() {}
        tasks.spawn_local(work)
    }

    async fn close_all(&self) {
        self.opening.borrow_mut().drain().for_each(|(_, opening)| opening.abort());
        let names: Vec<String> = self.sessions.borrow().keys().cloned().collect();
        let closing: Vec<Closing> = names.iter().filter_map(|name| self.closing(name)).collect();
        for closing in closing {
            closing.finish().await;
        }
        let mut tasks = self.tasks.take();
        while tasks.join_next().await.is_some() {}
    }
}

struct Closing {
    done: oneshot::Receiver<()>,
    task: JoinHandle<()>,
}

impl Closing {
    async fn finish(self) {
        // If the sender is gone, the session is, too.
        let _ = self.done.await;
        let _ = self.task.await;
    }
}

fn check_directories(cwd: &Path, more: Option<&[std::path::PathBuf]>) -> Result<(), Failure> {
    if !cwd.is_absolute() {
        return Err(Failure::params(format!("`cwd` is not an absolute path: {}", cwd.display())));
    }
    if more.is_some_and(|more| !more.is_empty()) {
        return Err(Failure::params("`additionalDirectories` is not supported"));
    }
    Ok(())
}
