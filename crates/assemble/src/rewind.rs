//! Going back to an earlier message of the user, for all front ends.

use contract::id::SessionId;
use sessions::earlier::{self, UserMessage};
use sessions::store::Store;

use crate::exit::Problem;

/// The session, which must be saved.
pub fn saved(id: Option<&SessionId>) -> Result<&SessionId, Problem> {
    id.ok_or_else(|| {
        Problem::misuse("this conversation is not saved, so it has no copy to go back in")
            .hint("`session.auto_save: true` saves conversations")
    })
}

/// The message of the user with a number, counted from 1.
pub fn message(store: &Store, id: &SessionId, number: usize) -> Result<UserMessage, Problem> {
    let mut messages = earlier::messages(store, id)?;
    let count = messages.len();
    let at = number.checked_sub(1).filter(|at| *at < count);
    at.map(|at| messages.swap_remove(at)).ok_or_else(|| {
        Problem::misuse(format!("there is no message {number} in this session"))
            .hint("`/rewind` lists the messages with their numbers")
    })
}
