//! The histories of conversations that clients name. The server forgets them after a time.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::host::Earlier;

/// A conversation that nobody continues is forgotten after this time.
const LIFE: Duration = Duration::from_hours(1);
/// Messages of a conversation.
const MESSAGES: usize = 40;

/// Bytes of all conversations.
const MAX_BYTES: usize = 64 << 20;

/// An agent, and the ID of a conversation with it.
pub(super) type Key = (usize, String);

pub(super) struct Conversations {
    max_count: usize,
    /// With the time of their last use, which is their order.
    kept: RefCell<VecDeque<(Key, Instant, Vec<Earlier>)>>,
}

impl Conversations {
    pub(super) fn new(max_count: usize) -> Self {
        Self { max_count, kept: RefCell::default() }
    }

    /// The history of a conversation; none if it is not known.
    pub(super) fn history(&self, key: &Key, now: Instant) -> Option<Vec<Earlier>> {
        let mut kept = self.kept.borrow_mut();
        kept.retain(|(_, used, _)| now.saturating_duration_since(*used) < LIFE);
        kept.iter().find(|(known, ..)| known == key).map(|(.., history)| history.clone())
    }

    /// Keeps a history with the exchange that followed it.
    pub(super) fn keep(
        &self,
        key: Key,
        mut history: Vec<Earlier>,
        exchange: [Earlier; 2],
        now: Instant,
    ) {
        history.extend(exchange);
        let excess = history.len().saturating_sub(MESSAGES);
        // A history does not begin with an answer.
        let answers = history[excess..].iter().take_while(|it| matches!(it, Earlier::Answer(_)));
        history.drain(..excess + answers.count());
        let mut kept = self.kept.borrow_mut();
        kept.retain(|(known, ..)| *known != key);
        kept.push_back((key, now, history));
        let mut bytes = 0;
        let fits = kept.iter().rev().take(self.max_count).take_while(|(.., history)| {
            bytes += history.iter().map(Earlier::length).sum::<usize>();
            bytes <= MAX_BYTES
        });
        let excess = kept.len() - fits.count();
        kept.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(text: &str) -> [Earlier; 2] {
        [Earlier::Prompt(text.to_owned()), Earlier::Answer(text.to_uppercase())]
    }

    #[test]
    fn histories_are_bounded_in_length_number_and_time() {
        let (conversations, now) = (Conversations::new(2), Instant::now());
        let key = |name: &str| (0, name.to_owned());
        for number in 0..=MESSAGES / 2 {
            let history = conversations.history(&key("x"), now).unwrap_or_default();
            conversations.keep(key("x"), history, exchange(&number.to_string()), now);
        }
        let history = conversations.history(&key("x"), now).unwrap();
        assert_eq!((history.len(), &history[..2]), (MESSAGES, &exchange("1")[..]));
        let later = now + Duration::from_secs(1);
        conversations.keep(key("y"), Vec::new(), exchange("d"), later);
        conversations.keep(key("z"), Vec::new(), exchange("e"), later);
        assert!(conversations.history(&key("x"), later).is_none());
        assert!(conversations.history(&key("y"), later).is_some());
        assert!(conversations.history(&key("y"), later + LIFE).is_none());
        let large =
            Earlier::File { media_type: "image/png".into(), data: "A".repeat(MAX_BYTES - 2) };
        conversations.keep(key("y"), Vec::new(), exchange("d"), later);
        conversations.keep(key("x"), vec![large], exchange("f"), later);
        assert!(conversations.history(&key("y"), later).is_none(), "too many bytes");
        assert_eq!(conversations.history(&key("x"), later).unwrap().len(), 3);
    }
}
