//! The part of a log that a client has not seen.

use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use contract::id::{Seq, SessionId};
use tokio::sync::mpsc;

use crate::fold::Fold;
use crate::frames::frame;
use crate::host::{Failure, Logs};
use crate::queue::{Queue, Weight};
use crate::room::Room;

/// Events in one step of a replay.
const STEP: usize = 256;

/// Reads a log on another thread.
pub(crate) async fn read<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(internal(error.to_string())))
}

pub(crate) fn internal(message: String) -> Failure {
    Failure::new(http::StatusCode::INTERNAL_SERVER_ERROR, message)
}

/// The state of a stored session. Nothing is at work in it.
pub(crate) async fn fold(logs: Arc<dyn Logs>, session: SessionId) -> Result<Fold, Failure> {
    read(move || {
        let mut fold = Fold::default();
        logs.each(&session, Seq(0), &mut |event| {
            fold.take(&event);
            true
        })?;
        fold.is_running = false;
        Ok(fold)
    })
    .await
}

/// A page of events.
pub(crate) async fn page(
    logs: Arc<dyn Logs>,
    session: SessionId,
    after: Seq,
    limit: usize,
) -> Result<Vec<u8>, Failure> {
    read(move || {
        let (mut page, mut left) = (Vec::new(), limit);
        logs.each(&session, after, &mut |event| {
            if left > 0 && serde_json::to_writer(&mut page, &event).is_ok() {
                page.push(b'\n');
                left -= 1;
            }
            left > 0
        })?;
        Ok(page)
    })
    .await
}

/// Sends a client the log after a position, then lets it follow the room.
pub(crate) async fn feed(logs: Arc<dyn Logs>, room: Rc<Room>, queue: Queue, mut after: Seq) {
    loop {
        let last = room.seq();
        if after >= last {
            // Nothing can happen between this and the comparison.
            return room.join(queue);
        }
        let (sender, mut steps) = mpsc::channel::<Vec<Bytes>>(2);
        let (logs, session) = (Arc::clone(&logs), room.id.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let mut step = Vec::new();
            let read = logs.each(&session, after, &mut |event| {
                if event.seq > last {
                    return false;
                }
                step.push(frame(&event, Weight::Kept));
                step.len() < STEP || sender.blocking_send(std::mem::take(&mut step)).is_ok()
            });
            // A client that is gone needs nothing.
            let _ = sender.blocking_send(step);
            read
        });
        while let Some(step) = steps.recv().await {
            for frame in step {
                if !queue.room().await {
                    return;
                }
                queue.push(Weight::Kept, &frame);
            }
        }
        match reading.await {
            Ok(Ok(())) => after = last,
            // The client asks again.
            Ok(Err(_)) | Err(_) => return queue.end(),
        }
    }
}
