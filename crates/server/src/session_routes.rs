//! The routes of one session.

use std::path::PathBuf;
use std::rc::Rc;

use bytes::Bytes;
use contract::event::{Direction, EventKind, Input, Level};
use contract::id::{Seq, SessionId};
use contract::policy::Mode;
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::body::{Body, read};
use crate::credentials::{Client, Scopes};
use crate::host::{Expansion, Failure};
use crate::queue::{Queue, Weight};
use crate::reply::{self, Reply};
use crate::room::Room;
use crate::routes::{Query, RETRY, Server, method_not_allowed, need, scope_of_mode};
use crate::{answers, attach, frames, replay};

/// Events in a page, if nothing is said.
const PAGE: usize = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Changes {
    title: Option<String>,
    model: Option<String>,
    mode: Option<Mode>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Restore {
    #[serde(default = "one")]
    turns: usize,
}

fn one() -> usize {
    1
}

fn is_busy(room: &Room) -> Result<(), Failure> {
    if room.fold.borrow().is_running {
        return Err(Failure::conflict("the session is at work")
            .hint("interrupt it, or wait for the end of the turn"));
    }
    Ok(())
}

impl Server {
    pub(crate) async fn session(
        self: &Rc<Self>,
        (parts, query): (&Parts, &Query),
        body: &Bytes,
        client: &Client,
        (id, rest): (SessionId, &[&str]),
    ) -> Result<Reply, Failure> {
        let hub = &self.hub;
        let method = parts.method.as_str();
        let changes = match (method, rest) {
            ("GET", [] | ["events" | "changes" | "export"]) => false,
            ("PATCH" | "DELETE", []) | ("POST", ["inputs" | "undo" | "redo"]) => true,
            (_, [] | ["events" | "changes" | "export" | "inputs" | "undo" | "redo"]) => {
                return Err(method_not_allowed());
            }
            _ => {
                let path = parts.uri.path();
                return Err(Failure::new(StatusCode::NOT_FOUND, format!("there is no {path}")));
            }
        };
        if changes {
            need(client, Scopes::Prompt)?;
        }
        let mut input = None;
        if rest == ["inputs"] {
            input = Some(read_input(body)?);
        }
        let patch = match (method, rest) {
            ("PATCH", []) => Some(read::<Changes>(body)?),
            _ => None,
        };
        authorize(client, input.as_ref().map(|(input, _)| input), patch.as_ref())?;
        if let Some(holder) = hub.holder(&id) {
            // A log can be read whoever writes it.
            if let Some(reachable) = &holder.reachable {
                return attach::forward(reachable, parts, body, client).await;
            }
            if changes {
                let what = format!("session {id} is open in another program");
                return Err(Failure::conflict(what)
                    .hint("close it there, `/serve` it there, or fork the session"));
            }
        }
        match (method, rest) {
            ("GET", []) => Ok(reply::ok(&hub.room(&id).await?.details())),
            ("GET", ["events"]) => self.events(&id, query, &parts.headers).await,
            ("GET", ["changes"]) => {
                let cwd = PathBuf::from(&hub.room(&id).await?.fold.borrow().cwd);
                let turns = query.number("turns")?.and_then(|turns| u32::try_from(turns).ok());
                let has_diffs = query.get("diff").is_some_and(|diff| diff != "0");
                let turns = hub.host.changes(&id, &cwd, turns, has_diffs)?;
                Ok(reply::ok(&json!({"turns": turns})))
            }
            ("GET", ["export"]) => {
                hub.room(&id).await?;
                Ok(reply::text("text/markdown; charset=utf-8", hub.host.export(&id)?))
            }
            ("POST", ["inputs"]) => {
                let (input, name) = input.ok_or_else(|| Failure::bad("there is no input"))?;
                self.input(&id, input, name, client).await
            }
            ("POST", [direction]) => {
                let Restore { turns } = read(body)?;
                let direction =
                    if *direction == "undo" { Direction::Undo } else { Direction::Redo };
                self.restore(&id, direction, turns).await
            }
            ("DELETE", []) => {
                hub.delete(&id).await?;
                Ok(reply::nothing())
            }
            _ => {
                let patch = patch.ok_or_else(method_not_allowed)?;
                self.patch(&id, patch).await
            }
        }
    }

    async fn patch(&self, id: &SessionId, patch: Changes) -> Result<Reply, Failure> {
        let room = self.hub.open(id).await?;
        let Changes { title, model, mode } = patch;
        if let Some(model) = model {
            self.hub.switch(&room, model).await?;
        }
        if let Some(mode) = mode {
            change_mode(&room, mode).await?;
        }
        if let Some(title) = title {
            self.hub.retitle(&room, title).await?;
        }
        Ok(reply::ok(&room.details()))
    }

    async fn events(
        &self,
        id: &SessionId,
        query: &Query,
        headers: &HeaderMap,
    ) -> Result<Reply, Failure> {
        let room = self.hub.room(id).await?;
        let mut after = query.number("after")?;
        if after.is_none()
            && let Some(last) = headers.get("last-event-id").and_then(|it| it.to_str().ok())
        {
            let wrong = |_| Failure::bad("`Last-Event-ID` is not a position");
            after = Some(last.parse().map_err(wrong)?);
        }
        let logs = self.hub.host.logs();
        let accepted = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
        if accepted.is_some_and(|kinds| kinds.contains("application/x-ndjson")) {
            let limit = query.number("limit")?.and_then(|limit| usize::try_from(limit).ok());
            let after = Seq(after.unwrap_or(0));
            let page = if room.seq() <= after {
                Vec::new()
            } else {
                replay::page(logs, id.clone(), after, limit.unwrap_or(PAGE).max(1)).await?
            };
            return Ok(reply::text("application/x-ndjson", page));
        }
        let queue = Queue::default();
        queue.push(Weight::Kept, &Bytes::from_static(RETRY.as_bytes()));
        let after = match (after, query.number("tail")?) {
            (Some(after), _) => after,
            (None, Some(tail)) => {
                let from = room.seq().0.saturating_sub(tail);
                if from > 0 {
                    queue.push(Weight::Kept, &frames::named("start", &json!({"from": from + 1})));
                }
                from
            }
            (None, None) => 0,
        };
        let feeding = replay::feed(logs, room, queue.clone(), Seq(after));
        tokio::task::spawn_local(feeding);
        Ok(reply::events(Body::Queued(queue)))
    }

    async fn input(
        &self,
        id: &SessionId,
        input: Input,
        name: Option<String>,
        client: &Client,
    ) -> Result<Reply, Failure> {
        let room = match &input {
            // They have no meaning for a session that is not open.
            Input::Interrupt | Input::End => self.hub.room(id).await?,
            _ => self.hub.open(id).await?,
        };
        let mut accepted = json!({"seq": room.seq()});
        match input {
            Input::Prompt { text } => {
                if let Some(name) = &name {
                    let before = room.prompts.borrow().get(name).cloned();
                    if let Some(before) = before {
                        return Ok(reply::json(StatusCode::ACCEPTED, &before));
                    }
                    room.prompts.borrow_mut().insert(name.clone(), accepted.clone());
                }
                if let Some(shown) = self.prompt(&room, text).await? {
                    accepted = json!({"seq": room.seq(), "turn": false, "text": shown});
                }
                if let Some(name) = name {
                    room.prompts.borrow_mut().insert(name, accepted.clone());
                }
                return Ok(reply::json(StatusCode::ACCEPTED, &accepted));
            }
            Input::Answer { call, answer, .. } => {
                if let Some(reply) = answers::give(&room, client, call, answer).await? {
                    return Ok(reply);
                }
            }
            Input::Mode { mode } => change_mode(&room, mode).await?,
            Input::End => self.hub.close(&room).await,
            Input::Interrupt if !room.is_live() => {}
            input => room.input(input).await?,
        }
        Ok(reply::json(StatusCode::ACCEPTED, &json!({"seq": room.seq()})))
    }

    /// Sends typed text. Returns text for the user if it begins no turn.
    async fn prompt(&self, room: &Rc<Room>, text: String) -> Result<Option<String>, Failure> {
        let live = room.live.borrow().as_ref().map(|it| (Rc::clone(&it.commands), it.mode));
        let Some((commands, mode)) = live else {
            return Err(Failure::conflict("the session is not open any more"));
        };
        let expansion = if text.starts_with('/') {
            commands.expand(&text, mode).await?
        } else {
            Expansion::Work(Box::new(Input::Prompt { text }))
        };
        let (text, inputs) = match expansion {
            Expansion::Work(input) => {
                let begins_turn = matches!(*input, Input::Prompt { .. });
                room.input(*input).await?;
                return Ok((!begins_turn).then(String::new));
            }
            Expansion::Show { text, inputs } => (text, inputs),
            // Modes are changed where their scopes are checked.
            Expansion::Mode(_) => {
                return Err(Failure::bad("a mode is an input of its own")
                    .hint(r#"send `{"input": "mode", "mode": …}`"#));
            }
            Expansion::Model(model) => {
                self.hub.switch(room, model).await?;
                let model = room.live.borrow().as_ref().map(|live| live.model.clone());
                (format!("The model is {}.", model.unwrap_or_default()), Vec::new())
            }
        };
        for input in inputs {
            room.input(input).await?;
        }
        if !text.is_empty() {
            room.tell(Level::Info, text.clone(), None);
        }
        Ok(Some(text))
    }

    async fn restore(
        &self,
        id: &SessionId,
        direction: Direction,
        turns: usize,
    ) -> Result<Reply, Failure> {
        let room = self.hub.open(id).await?;
        is_busy(&room)?;
        let commands = room.live.borrow().as_ref().map(|live| Rc::clone(&live.commands));
        let commands =
            commands.ok_or_else(|| Failure::conflict("the session is not open any more"))?;
        let (report, events): (Value, Vec<EventKind>) = commands.restore(direction, turns).await?;
        for event in events {
            room.input(Input::Record(event)).await?;
        }
        Ok(reply::ok(&report))
    }
}

/// Checks the scope that an input or a change needs.
fn authorize(
    client: &Client,
    input: Option<&Input>,
    patch: Option<&Changes>,
) -> Result<(), Failure> {
    match input {
        Some(Input::Answer { answer, .. }) if answers::is_remembered(answer) => {
            need(client, Scopes::ApproveAlways)?;
        }
        Some(Input::Answer { .. }) => need(client, Scopes::Approve)?,
        Some(Input::Mode { mode }) => need(client, scope_of_mode(*mode))?,
        _ => {}
    }
    match patch.and_then(|patch| patch.mode) {
        Some(mode) => need(client, scope_of_mode(mode)),
        None => Ok(()),
    }
}

async fn change_mode(room: &Room, mode: Mode) -> Result<(), Failure> {
    {
        let mut live = room.live.borrow_mut();
        let live = live.as_mut();
        let live = live.ok_or_else(|| Failure::conflict("the session is not open any more"))?;
        if !live.modes.contains(&mode) {
            return Err(Failure::new(StatusCode::FORBIDDEN, "this mode is not allowed here"));
        }
        live.mode = mode;
        live.commands.set_mode(mode);
    }
    room.input(Input::Mode { mode }).await
}

/// Reads an input, and the name that makes a prompt one of its kind.
fn read_input(body: &Bytes) -> Result<(Input, Option<String>), Failure> {
    let mut value: Value = read(body)?;
    let name = value.as_object_mut().and_then(|input| input.remove("id"));
    let name = match name {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) if name.len() <= 100 => Some(name),
        Some(_) => return Err(Failure::bad("`id` is a text of at most 100 bytes")),
    };
    let input = serde_json::from_value(value);
    let input = input.map_err(|error| {
        Failure::bad(format!("this is not an input: {error}"))
            .hint("`brynhild schema --inputs` describes them")
    })?;
    Ok((input, name))
}
