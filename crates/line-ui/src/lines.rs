//! A conversation with a program over standard input: it sends inputs as lines of JSON.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read as _};
use std::sync::Arc;
use std::thread;

use contract::event::{Answer, Event, EventKind, Input, Level};
use contract::id::{CallId, Seq, SessionId, Timestamp};
use tokio::sync::mpsc;

/// The longest line in bytes.
const LONGEST: u64 = 32 << 20;
/// Events taken at once before the output is flushed.
const BATCH: usize = 256;

type Received = Result<Input, String>;

/// A problem with an input, and a hint.
pub type Refusal = (String, Option<String>);

/// Reads inputs from standard input in a thread of its own. The channel closes at the end.
fn inputs() -> mpsc::Receiver<Received> {
    let (sender, receiver) = mpsc::channel(64);
    thread::spawn(move || read(io::stdin().lock(), &sender));
    receiver
}

fn read(mut source: impl BufRead, sender: &mpsc::Sender<Received>) {
    for number in 1.. {
        let mut line = Vec::new();
        let received = match source.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(_) if line.trim_ascii().is_empty() => continue,
            Ok(count) if count as u64 == LONGEST => Err(format!("line {number} is too long")),
            Ok(_) => serde_json::from_slice(&line)
                .map_err(|error| format!("line {number} is not an input: {error}")),
            Err(error) => Err(format!("cannot read standard input: {error}")),
        };
        let is_last = matches!(received, Ok(Input::End)) || line.len() as u64 == LONGEST;
        if sender.blocking_send(received).is_err() || is_last {
            return;
        }
    }
}

/// Passes inputs on and shows events until the inputs end and the work is done. From then on nobody
/// answers questions. `prompt` returns the text that a prompt stands for; `signal` waits for a
/// signal, and returns true if everything ends at once. Returns true if an input was wrong.
pub async fn converse(
    (events, to): (&mut mpsc::Receiver<Arc<Event>>, &mpsc::Sender<Input>),
    session: &SessionId,
    prompt: impl AsyncFn(String) -> Result<String, Refusal>,
    mut show: impl FnMut(&[Arc<Event>]) -> io::Result<()>,
    mut signal: impl AsyncFnMut() -> bool,
) -> io::Result<bool> {
    let mut received = inputs();
    let (mut seq, mut is_misused) = (Seq(0), false);
    let mut batch = Vec::with_capacity(BATCH);
    let mut asked: Vec<CallId> = Vec::new();
    // Inputs that the conversation has not taken yet; its events flow meanwhile.
    let mut waiting = VecDeque::new();
    let mut is_open = true;
    loop {
        if !is_open {
            let nobody = |call| Input::Answer { call, answer: Answer::Unavailable, by: None };
            waiting.extend(asked.drain(..).map(nobody));
        }
        tokio::select! {
            count = events.recv_many(&mut batch, BATCH) => {
                if count == 0 {
                    break;
                }
                for event in &batch {
                    seq = event.seq;
                    match &event.kind {
                        EventKind::Asked { call, .. } => asked.push(call.clone()),
                        EventKind::Answered { call, .. } => asked.retain(|open| open != call),
                        _ => {}
                    }
                }
                show(&batch)?;
                batch.clear();
            }
            permit = to.reserve(), if !waiting.is_empty() => match permit {
                Ok(permit) => {
                    if let Some(input) = waiting.pop_front() {
                        permit.send(input);
                    }
                }
                Err(_) => break,
            },
            input = received.recv(), if is_open && waiting.is_empty() => {
                let taken = match input {
                    None | Some(Ok(Input::End)) => {
                        is_open = false;
                        Ok(Input::End)
                    }
                    Some(Ok(Input::Answer { call, .. })) if !asked.contains(&call) => {
                        Err((format!("no question about the call `{}` is open", call.0), None))
                    }
                    Some(Ok(Input::Prompt { text })) => {
                        prompt(text).await.map(|text| Input::Prompt { text })
                    }
                    Some(Ok(input)) => Ok(input),
                    Some(Err(what)) => {
                        is_misused = true;
                        Err((what, Some("`brynhild schema --inputs` describes them".to_owned())))
                    }
                };
                match taken {
                    Ok(input) => waiting.push_back(input),
                    Err((text, hint)) => {
                        let kind =
                            EventKind::Notice { level: Level::Error, text, hint, topic: None };
                        let (session, at) = (session.clone(), Timestamp::now());
                        show(&[Arc::new(Event { seq, session, at, within: None, kind })])?;
                    }
                }
            }
            is_over = signal() => {
                if is_over {
                    break;
                }
                is_open = false;
                waiting.extend([Input::Interrupt, Input::End]);
            }
        }
    }
    Ok(is_misused)
}
