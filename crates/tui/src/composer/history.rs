//! The prompts of before, to go back to. The host stores them.

const MAX_ENTRIES: usize = 2000;

/// Earlier messages, the newest last.
#[derive(Default)]
pub(crate) struct History {
    entries: Vec<String>,
    /// Where we are in it; none while something else is written.
    at: Option<usize>,
    /// The text before going back.
    stash: String,
}

impl History {
    /// Begins with the entries that the host has stored.
    pub(crate) fn load(&mut self, entries: Vec<String>) {
        let added = std::mem::replace(&mut self.entries, entries);
        for entry in added {
            self.add(&entry);
        }
    }

    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &String> {
        self.entries.iter().rev()
    }

    pub(crate) fn add(&mut self, text: &str) {
        self.at = None;
        self.entries.retain(|entry| entry != text);
        self.entries.push(text.to_owned());
        if self.entries.len() > MAX_ENTRIES {
            self.entries.remove(0);
        }
    }

    /// The entry before, given the text that is being written.
    pub(crate) fn back(&mut self, written: &str) -> Option<String> {
        let at = match self.at {
            None => {
                written.clone_into(&mut self.stash);
                self.entries.len().checked_sub(1)?
            }
            Some(at) => at.checked_sub(1)?,
        };
        self.at = Some(at);
        self.entries.get(at).cloned()
    }

    /// The entry after; at the end the text that was being written.
    pub(crate) fn forth(&mut self) -> Option<String> {
        let at = self.at? + 1;
        if let Some(entry) = self.entries.get(at) {
            self.at = Some(at);
            return Some(entry.clone());
        }
        self.at = None;
        Some(std::mem::take(&mut self.stash))
    }

    /// Takes note that another text is being written.
    pub(crate) fn leave(&mut self) {
        self.at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_navigation_returns_to_the_draft() {
        let mut history = History::default();
        history.load(vec!["one".into(), "two".into()]);
        history.add("three");
        history.add("two");
        assert_eq!(history.back("draft").as_deref(), Some("two"));
        assert_eq!(history.back("").as_deref(), Some("three"));
        assert_eq!(history.back("").as_deref(), Some("one"));
        assert_eq!(history.back(""), None);
        assert_eq!(history.forth().as_deref(), Some("three"));
        history.forth();
        assert_eq!(history.forth().as_deref(), Some("draft"));
        assert_eq!(history.forth(), None);
    }
}
