//! Removes keys from events and from the history: replies and results may contain one.

mod dressed;

use std::sync::Arc;

use contract::event::{EventKind, Piece};
use contract::tool::RedactorFactory;

pub(crate) use dressed::KeyRedactor;
pub use dressed::Keys;

pub(crate) fn hidden(keys: &Keys, what: EventKind) -> EventKind {
    if keys.is_empty() {
        return what;
    }
    let Ok(text) = serde_json::to_string(&what) else { return what };
    match keys.hide(&text) {
        std::borrow::Cow::Borrowed(_) => what,
        // Only text within strings differs.
        std::borrow::Cow::Owned(text) => serde_json::from_str(&text).unwrap_or(what),
    }
}

pub(crate) fn veils(keys: &Keys) -> Option<RedactorFactory> {
    let keys = keys.clone();
    (!keys.is_empty())
        .then(|| -> RedactorFactory { Arc::new(move || Box::new(KeyRedactor::new(&keys))) })
}

/// Redacts the pieces of a reply: the possible beginning of a key waits for more.
pub(crate) struct Pieces {
    held: KeyRedactor,
    last: Option<Kind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
}

impl Kind {
    fn piece(self, text: String) -> Option<Piece> {
        let piece = match self {
            Self::Text => Piece::Text { text },
            Self::Thinking => Piece::Thinking { text },
        };
        let (Piece::Text { text } | Piece::Thinking { text }) = &piece else { return None };
        (!text.is_empty()).then_some(piece)
    }
}

impl Pieces {
    pub(crate) fn new(keys: &Keys) -> Self {
        Self { held: KeyRedactor::new(keys), last: None }
    }

    pub(crate) fn take(&mut self, piece: Piece) -> Vec<Piece> {
        let (kind, text) = match piece {
            Piece::Text { text } => (Kind::Text, text),
            Piece::Thinking { text } => (Kind::Thinking, text),
            other => return self.finish().into_iter().chain([other]).collect(),
        };
        let waited = if self.last == Some(kind) { None } else { self.finish() };
        self.last = Some(kind);
        waited.into_iter().chain(kind.piece(self.held.push_text(&text))).collect()
    }

    pub(crate) fn finish(&mut self) -> Option<Piece> {
        self.last.take()?.piece(self.held.finish_text())
    }
}

#[cfg(test)]
mod tests {
    use contract::event::Level;
    use contract::secret::Secret;

    use super::*;

    fn keys() -> Keys {
        Keys::new(&["sk-Zx9/Qw+\"Er7\\Ty5Ui3Op1==", "short"].map(|key| Secret::new(key.to_owned())))
    }

    fn notice(text: &str) -> EventKind {
        EventKind::Notice { level: Level::Info, text: text.to_owned(), hint: None, topic: None }
    }

    fn text(text: &str) -> Piece {
        Piece::Text { text: text.to_owned() }
    }

    fn thinking(text: &str) -> Piece {
        Piece::Thinking { text: text.to_owned() }
    }

    #[test]
    fn redaction_replaces_the_key_only() {
        let said = hidden(&keys(), notice("it is sk-Zx9/Qw+\"Er7\\Ty5Ui3Op1==, short"));
        assert_eq!(said, notice("it is [redacted], short"));
        let harmless = notice("nothing\n\"here\"");
        assert_eq!(hidden(&keys(), harmless.clone()), harmless);
    }

    #[test]
    fn streamed_pieces_are_redacted_in_order() {
        let mut pieces = Pieces::new(&keys());
        let said = ["the key sk-", "Zx9/Qw+\"Er7\\Ty", "5Ui3Op1==!", " sk"].map(text);
        let mut told: Vec<Piece> = said.into_iter().flat_map(|it| pieces.take(it)).collect();
        told.extend(pieces.take(thinking("hm s")));
        told.extend(pieces.take(Piece::Call { name: "Read".to_owned() }));
        told.extend(pieces.finish());
        let wanted = vec![
            text("the key "),
            text("[redacted]!"),
            text(" "),
            text("sk"),
            thinking("hm "),
            thinking("s"),
            Piece::Call { name: "Read".to_owned() },
        ];
        assert_eq!(told, wanted);
    }
}
