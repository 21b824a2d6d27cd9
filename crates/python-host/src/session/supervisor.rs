//! The supervisor of a worker: takes what it says, cancels, closes down, kills, and tells how it
//! ended.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use contract::sandbox::{Child, Exit, Process};
use contract::text;
use serde_json::json;
use tokio::io::AsyncRead;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::pending::{Item, Waiter};
use super::{
    CANCEL_TIME, Cause, EndListener, INITIALIZE_ID, Instruction, RequestError, SHUTDOWN_TIME,
    SessionEnd, SessionSettings, Shared,
};
use crate::lines::{LINE_LIMIT, Line, Lines};
use crate::output::{Listener, Tail, drain};
use crate::wire::{self, EventNote, Incoming, LoadingNote, LogNote, PROTOCOL, Welcome};

/// How long the end of a process and of its prints is waited for.
const EXIT_TIME: Duration = Duration::from_secs(1);

/// Why the line to a worker is given up.
enum Ending {
    /// It closed its side.
    Closed,
    /// It closed its side because we asked for it.
    Left,
    /// It broke the agreement.
    Broke(String),
    /// We end it.
    Killed(&'static str),
}

/// Tends `child` until it has ended.
pub(super) async fn supervise(
    shared: Arc<Shared>,
    child: Child,
    opening: SessionSettings,
    instructions: UnboundedReceiver<Instruction>,
) {
    let SessionSettings { plugin, listener, on_end } = opening;
    let mut last = EndReport { shared: Arc::clone(&shared), on_end: Some(on_end), end: None };
    let Child { stdout, stderr, mut process, .. } = child;
    let tail = Arc::new(Tail::default());
    let printing = drain(stderr, plugin.clone(), Arc::clone(&tail), Arc::clone(&listener));
    let printing = AbortOnDropHandle::new(tokio::spawn(printing));
    let ending = serve(&shared, stdout, instructions, (&plugin, &listener)).await;
    shared.leaving.cancel();
    let exit = finish(process.as_mut(), &ending).await;
    // All that it printed belongs to the message about its end.
    let _ = timeout(EXIT_TIME, printing).await;
    last.end = Some(end(&plugin, &ending, exit, &tail.text()));
}

/// Tells the end, also when the task is dropped.
struct EndReport {
    shared: Arc<Shared>,
    on_end: Option<EndListener>,
    end: Option<SessionEnd>,
}

impl Drop for EndReport {
    fn drop(&mut self) {
        let stopped =
            || SessionEnd { words: Arc::from("the worker was stopped"), cause: Cause::Stopped };
        let end = self.end.take().unwrap_or_else(stopped);
        // First what the next start depends on, then those who may want one.
        if let Some(on_end) = self.on_end.take() {
            on_end(&end);
        }
        self.shared.leaving.cancel();
        self.shared.pending.fail(&end);
        self.shared.ended.cancel();
    }
}

async fn serve(
    shared: &Shared,
    stdout: Box<dyn AsyncRead + Send + Unpin>,
    mut instructions: UnboundedReceiver<Instruction>,
    (plugin, listener): (&str, &Listener),
) -> Ending {
    let mut reading = pin!(read(shared, stdout, plugin, listener));
    let mut abandoned: VecDeque<(Instant, u64)> = VecDeque::new();
    let mut farewell: Option<Instant> = None;
    loop {
        let next = abandoned.front().map(|&(at, _)| at).into_iter().chain(farewell).min();
        tokio::select! {
            biased;
            ending = &mut reading => {
                let is_asked = farewell.is_some() && matches!(ending, Ending::Closed);
                return if is_asked { Ending::Left } else { ending };
            }
            instruct = instructions.recv() => match instruct {
                Some(Instruction::Abandon(id)) if shared.pending.waits(id) => {
                    tell(shared, &wire::cancel(id)).await;
                    abandoned.push_back((Instant::now() + CANCEL_TIME, id));
                }
                Some(Instruction::Stop) if farewell.is_none() => {
                    farewell = Some(Instant::now() + SHUTDOWN_TIME);
                    if let Ok(line) = wire::request(u64::MAX, "shutdown", &json!({})) {
                        tell(shared, &line).await;
                    }
                }
                // It has ended already, or it is ending.
                Some(Instruction::Abandon(_) | Instruction::Stop) => {}
                Some(Instruction::Kill(why)) => return Ending::Killed(why),
                None => return Ending::Killed("nobody needs it"),
            },
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {
                let now = Instant::now();
                if farewell.is_some_and(|at| at <= now) {
                    return Ending::Killed("it did not close down in time");
                }
                while let Some((_, id)) = abandoned.pop_front_if(|(at, _)| *at <= now) {
                    if shared.pending.waits(id) {
                        return Ending::Killed("a cancelled request did not end");
                    }
                }
            }
        }
    }
}

/// Writes a short line, unless the worker does not even read.
async fn tell(shared: &Shared, line: &[u8]) {
    let write = async { shared.requests.lock().await.write(line).await };
    // A worker that does not read is killed when its time is up.
    let _ = timeout(CANCEL_TIME / 5, write).await;
}

async fn read(
    shared: &Shared,
    stdout: Box<dyn AsyncRead + Send + Unpin>,
    plugin: &str,
    listener: &Listener,
) -> Ending {
    let mut lines = Lines::new(stdout, LINE_LIMIT);
    loop {
        let line = match lines.next().await {
            Ok(Line::Whole(line)) => line,
            Ok(Line::End) => return Ending::Closed,
            Ok(Line::TooLong) => {
                let limit = LINE_LIMIT >> 20;
                return Ending::Broke(format!("it sent a line of more than {limit} MiB"));
            }
            Err(error) => return Ending::Broke(format!("it cannot be read from: {error}")),
        };
        let Ok(incoming) = serde_json::from_slice::<Incoming>(line) else {
            let shown = String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned();
            return Ending::Broke(format!(
                "it sent what is not an answer: {}",
                text::visible(&shown)
            ));
        };
        match (incoming.id, incoming.method.as_deref()) {
            (Some(INITIALIZE_ID), None) => {
                if let Err(words) = welcomed(&incoming) {
                    return Ending::Broke(words);
                }
            }
            (Some(id), None) => answer(shared, id, incoming).await,
            (_, Some("event")) => pass(shared, &incoming).await,
            (_, Some("log")) => {
                let note = incoming.params.map(|params| serde_json::from_str(params.get()));
                if let Some(Ok(LogNote { text })) = note {
                    listener(plugin, &text::visible(&text));
                }
            }
            (_, Some("loading")) => {
                let note = incoming.params.map(|params| serde_json::from_str(params.get()));
                if let Some(Ok(LoadingNote { file })) = note {
                    shared.loading.send_replace(file);
                }
            }
            // Messages of a later version are ignored.
            _ => {}
        }
    }
}

fn welcomed(incoming: &Incoming<'_>) -> Result<(), String> {
    if let Some(fault) = &incoming.error {
        return Err(format!("it did not start: {}", text::visible(&fault.message)));
    }
    let welcome = incoming.result.map(|result| serde_json::from_str(result.get()));
    match welcome {
        Some(Ok(Welcome { protocol: PROTOCOL })) => Ok(()),
        _ => Err(String::from("it does not speak this program's protocol")),
    }
}

async fn answer(shared: &Shared, id: u64, incoming: Incoming<'_>) {
    let Some(told) = shared.pending.take(id) else { return };
    let answer = match incoming.error {
        Some(fault) => Err(RequestError::Fault(fault)),
        None => Ok(incoming.result.map_or_else(null, ToOwned::to_owned)),
    };
    // The receiver may be gone.
    match told {
        Waiter::Answer(sender) => drop(sender.send(answer)),
        Waiter::Items(sender) => drop(sender.send(answer.map(|_| Item::End)).await),
    }
}

fn null() -> Box<serde_json::value::RawValue> {
    serde_json::value::RawValue::NULL.to_owned()
}

async fn pass(shared: &Shared, incoming: &Incoming<'_>) {
    let note = incoming.params.map(|params| serde_json::from_str::<EventNote>(params.get()));
    if let Some(Ok(note)) = note
        && let Some(taker) = shared.pending.taker(note.id)
    {
        // A stream that was dropped is cancelled already.
        let _ = taker.send(Ok(Item::Event(note.event.to_owned()))).await;
    }
}

/// Waits for the end of the process, after a kill where it does not come by itself.
async fn finish(process: &mut dyn Process, ending: &Ending) -> Option<Exit> {
    if matches!(ending, Ending::Closed | Ending::Left)
        && let Ok(Ok(exit)) = timeout(EXIT_TIME, process.wait()).await
    {
        return Some(exit);
    }
    process.kill();
    let _ = timeout(EXIT_TIME * 3, process.wait()).await;
    None
}

fn end(plugin: &str, ending: &Ending, exit: Option<Exit>, tail: &str) -> SessionEnd {
    let (how, cause) = match (ending, exit) {
        (Ending::Left, _) => ("was closed down".to_owned(), Cause::Stopped),
        (Ending::Killed(why), _) => (format!("was killed: {why}"), Cause::Stopped),
        (Ending::Broke(what), _) => (format!("was killed: {what}"), Cause::Died),
        (Ending::Closed, Some(Exit::Code(code))) => {
            (format!("ended with exit code {code}"), Cause::Died)
        }
        (Ending::Closed, Some(Exit::Signal(signal))) => {
            (format!("was ended by signal {signal}"), Cause::Died)
        }
        (Ending::Closed, None) => ("closed its line and was killed".to_owned(), Cause::Died),
    };
    let mut words = format!("the Python worker of the plugin `{plugin}` {how}");
    if cause == Cause::Died && !tail.is_empty() {
        words.push_str("; the last it printed:\n");
        words.push_str(tail);
    }
    SessionEnd { words: Arc::from(words), cause }
}
