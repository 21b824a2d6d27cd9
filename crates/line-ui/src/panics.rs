//! The message after a panic: its place, and how to continue. It never contains a secret.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::PanicHookInfo;
use std::sync::{Mutex, PoisonError};

use contract::id::SessionId;

use crate::output;

/// The session that was opened last.
static SESSION: Mutex<Option<SessionId>> = Mutex::new(None);

/// A run of letters and digits that is longer may be a key.
const LONGEST_WORD: usize = 20;

/// The exit code after a panic, which is Rust's own.
const EXIT_CODE: i32 = 101;

/// Reports every panic in our words and ends the program, on whichever thread it happens. Release
/// builds abort on a panic, so that no build may rely on unwinding.
#[expect(clippy::exit, reason = "nothing can go on after a panic")]
pub fn install_hook() {
    std::panic::set_hook(Box::new(|panic| {
        output::error(&words(panic));
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            output::hint(&backtrace.to_string());
        }
        // Not waited for: whoever panics may hold it.
        let session = SESSION.try_lock().ok().and_then(|session| session.clone());
        output::hint(&hint(session.as_ref()));
        std::process::exit(EXIT_CODE)
    }));
}

/// Names the session that a panic would leave.
pub fn in_session(id: &SessionId) {
    *SESSION.lock().unwrap_or_else(PoisonError::into_inner) = Some(id.clone());
}

fn words(panic: &PanicHookInfo<'_>) -> String {
    let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
    let what =
        panic.payload_as_str().map_or_else(String::new, |what| format!(": {}", masked(what)));
    format!("the program panicked{place}{what}")
}

fn hint(session: Option<&SessionId>) -> String {
    let fault = "this is a bug in Brynhild; please report it";
    match session {
        Some(id) => {
            format!("session {id} is saved; `brynhild --resume {id}` continues it; {fault}")
        }
        None => fault.to_owned(),
    }
}

/// A message without what may be a key: words that are long and hold letters and digits.
fn masked(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
    let mut masked = String::new();
    for piece in text.split_inclusive(|c: char| !is_part(c)) {
        let word = piece.trim_end_matches(|c: char| !is_part(c));
        let has = |test: fn(&char) -> bool| word.chars().any(|c| test(&c));
        let may_be_key = word.len() > LONGEST_WORD
            && has(char::is_ascii_digit)
            && has(char::is_ascii_alphabetic);
        masked.push_str(if may_be_key { "[hidden]" } else { word });
        masked.push_str(&piece[word.len()..]);
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_message_redacts_possible_keys() {
        let key = "sk-or-v1-0123456789abcdef0123456789abcdef";
        let told = masked(&format!("cannot parse \"Bearer {key}\": it's wrong, really"));
        assert_eq!(told, "cannot parse \"Bearer [hidden]\": it's wrong, really");
        let plain = "index out of bounds: the len is 3 but the index is 12345";
        assert_eq!(masked(plain), plain);
    }
}
