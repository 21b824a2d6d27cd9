//! The frames that wait for one client, bounded in bytes. If a client reads too slowly, pieces of
//! replies are dropped first; then the stream ends, and the client resumes where it stopped.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};

/// Bytes that wait for one client, at most.
const MAX_WAITING: usize = 2 << 20;
/// A replay goes on when fewer bytes than this wait.
const REFILL: usize = 256 << 10;
/// Frames are joined up to this size.
const CHUNK: usize = 64 << 10;

/// The importance of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    Kept,
    /// May be dropped if the client reads slowly.
    Transient,
}

#[derive(Clone, Default)]
pub(crate) struct Queue(Rc<RefCell<Inner>>);

#[derive(Default)]
struct Inner {
    frames: VecDeque<(Weight, Bytes)>,
    waiting: usize,
    reader: Option<Waker>,
    writer: Option<Waker>,
    /// Transient frames were dropped since the client had read everything.
    has_dropped: bool,
    /// No frame is added any more.
    is_over: bool,
    /// The client is gone.
    is_closed: bool,
}

impl Queue {
    pub(crate) fn is_over(&self) -> bool {
        let inner = self.0.borrow();
        inner.is_over || inner.is_closed
    }

    /// Adds a frame. Never waits.
    pub(crate) fn push(&self, weight: Weight, frame: &Bytes) {
        let mut inner = self.0.borrow_mut();
        if inner.is_over || inner.is_closed {
            return;
        }
        if inner.waiting + frame.len() > MAX_WAITING {
            inner.frames.retain(|(weight, _)| *weight == Weight::Kept);
            inner.waiting = inner.frames.iter().map(|(_, frame)| frame.len()).sum();
            inner.has_dropped = true;
        }
        // The first frame may be larger than the limit.
        let first = inner.frames.front().map_or(0, |(_, first)| first.len());
        let is_full = !inner.frames.is_empty() && inner.waiting - first + frame.len() > MAX_WAITING;
        match weight {
            Weight::Transient if inner.has_dropped => {}
            Weight::Kept if is_full => inner.is_over = true,
            _ => {
                inner.waiting += frame.len();
                inner.frames.push_back((weight, frame.clone()));
            }
        }
        if let Some(reader) = inner.reader.take() {
            reader.wake();
        }
    }

    /// Returns true once after frames were dropped and the client has read all others.
    pub(crate) fn has_caught_up(&self) -> bool {
        let mut inner = self.0.borrow_mut();
        inner.frames.is_empty() && std::mem::take(&mut inner.has_dropped)
    }

    /// Ends the stream after what waits.
    pub(crate) fn end(&self) {
        let mut inner = self.0.borrow_mut();
        inner.is_over = true;
        if let Some(reader) = inner.reader.take() {
            reader.wake();
        }
    }

    pub(crate) fn close(&self) {
        let mut inner = self.0.borrow_mut();
        inner.is_closed = true;
        inner.frames.clear();
        if let Some(writer) = inner.writer.take() {
            writer.wake();
        }
    }

    /// Waits until there is room for more. Returns false if the client is gone.
    pub(crate) async fn room(&self) -> bool {
        poll_fn(|context| {
            let mut inner = self.0.borrow_mut();
            if inner.is_closed || inner.is_over {
                return Poll::Ready(false);
            }
            if inner.waiting < REFILL {
                return Poll::Ready(true);
            }
            inner.writer = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Waits until the client is gone.
    pub(crate) async fn closed(&self) {
        poll_fn(|context| {
            let mut inner = self.0.borrow_mut();
            if inner.is_closed {
                return Poll::Ready(());
            }
            inner.writer = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// The next frames, joined.
    pub(crate) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut inner = self.0.borrow_mut();
        let Some((_, first)) = inner.frames.pop_front() else {
            if inner.is_over || inner.is_closed {
                return Poll::Ready(None);
            }
            inner.reader = Some(context.waker().clone());
            return Poll::Pending;
        };
        let mut chunk = first;
        if inner.frames.front().is_some_and(|(_, next)| chunk.len() + next.len() <= CHUNK) {
            let mut joined = BytesMut::from(chunk.as_ref());
            while let Some((_, next)) = inner.frames.pop_front() {
                if joined.len() + next.len() > CHUNK {
                    inner.frames.push_front((Weight::Kept, next));
                    break;
                }
                joined.extend_from_slice(&next);
            }
            chunk = joined.freeze();
        }
        inner.waiting = inner.waiting.saturating_sub(chunk.len());
        if inner.waiting < REFILL
            && let Some(writer) = inner.writer.take()
        {
            writer.wake();
        }
        Poll::Ready(Some(chunk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(size: usize) -> Bytes {
        vec![b'x'; size].into()
    }

    fn next(queue: &Queue) -> Poll<Option<Bytes>> {
        queue.poll_next(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn overflow_drops_pieces_and_keeps_events() {
        let queue = Queue::default();
        queue.push(Weight::Kept, &frame(10));
        queue.push(Weight::Transient, &frame(MAX_WAITING - 20));
        queue.push(Weight::Kept, &frame(100));
        queue.push(Weight::Transient, &frame(1));
        assert_eq!(next(&queue), Poll::Ready(Some(frame(110))));
        assert_eq!(next(&queue), Poll::Pending);
        assert!(queue.has_caught_up() && !queue.has_caught_up());
        queue.push(Weight::Transient, &frame(2));
        assert_eq!(next(&queue), Poll::Ready(Some(frame(2))));
    }

    #[test]
    fn overflow_of_kept_events_ends_the_stream() {
        let queue = Queue::default();
        queue.push(Weight::Kept, &frame(10));
        queue.push(Weight::Kept, &frame(MAX_WAITING));
        queue.push(Weight::Kept, &frame(1));
        queue.push(Weight::Kept, &frame(1));
        assert_eq!(next(&queue), Poll::Ready(Some(frame(10))));
        assert_eq!(next(&queue), Poll::Ready(Some(frame(MAX_WAITING))));
        assert_eq!(next(&queue), Poll::Ready(None));
    }

    #[test]
    fn large_event_passes_alone() {
        let queue = Queue::default();
        queue.push(Weight::Kept, &frame(2 * MAX_WAITING));
        assert_eq!(next(&queue), Poll::Ready(Some(frame(2 * MAX_WAITING))));
    }
}
