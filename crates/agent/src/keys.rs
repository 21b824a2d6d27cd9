//! Keeps keys out of what is kept, told and put into the history: a model may say one, and a result
//! may hold one. Pieces of a reply that is still coming in are looked at one by one.

use contract::event::What;
use contract::secret::Secret;

/// What is shorter could stand in anything.
const SHORTEST: usize = 16;

/// The keys that must not appear.
#[derive(Clone, Default)]
pub(crate) struct Keys(Vec<Secret<String>>);

impl Keys {
    /// Those of `keys` that cannot be mistaken for something else.
    pub(crate) fn new(keys: &[Secret<String>]) -> Self {
        Self(keys.iter().filter(|key| key.expose().len() >= SHORTEST).cloned().collect())
    }

    /// What happened, without any key in it.
    pub(crate) fn hidden(&self, what: What) -> What {
        if self.0.is_empty() {
            return what;
        }
        let Ok(mut text) = serde_json::to_string(&what) else { return what };
        let mut is_found = false;
        for key in &self.0 {
            let written = serde_json::Value::from(key.expose().as_str()).to_string();
            let written = &written[1..written.len() - 1];
            if text.contains(written) {
                text = text.replace(written, "[redacted]");
                is_found = true;
            }
        }
        if !is_found {
            return what;
        }
        // Only text within strings is other than before.
        serde_json::from_str(&text).unwrap_or(what)
    }
}

#[cfg(test)]
mod tests {
    use contract::event::Level;

    use super::*;

    fn notice(text: &str) -> What {
        What::Notice { level: Level::Info, text: text.to_owned(), hint: None }
    }

    #[test]
    fn a_key_is_taken_out_and_nothing_else() {
        let keys = ["sk-Zx9/Qw+\"Er7\\Ty5Ui3Op1==", "short"].map(|key| Secret::new(key.to_owned()));
        let keys = Keys::new(&keys);
        let said = keys.hidden(notice("it is sk-Zx9/Qw+\"Er7\\Ty5Ui3Op1==, short"));
        assert_eq!(said, notice("it is [redacted], short"));
        assert_eq!(keys.hidden(notice("nothing\n\"here\"")), notice("nothing\n\"here\""));
    }
}
