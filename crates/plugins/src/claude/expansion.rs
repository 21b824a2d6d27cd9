//! The last commands that were typed, for hooks that run before the shell lines of their texts.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use contract::id::SessionId;
use contract::prompt_lines::{PromptLine, PromptLines};

use crate::commands::SESSION;

const KEPT: usize = 16;

#[derive(Clone)]
pub struct Expanded {
    pub name: String,
    pub args: String,
    pub source: String,
    pub text: String,
    pub lines: Vec<PromptLine>,
}

#[derive(Default)]
pub struct Expansions(Mutex<VecDeque<Expanded>>);

impl Expansions {
    pub fn note(&self, expanded: Expanded) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.truncate(KEPT - 1);
        kept.push_front(expanded);
    }

    /// The command that a prompt of this session comes from; none for plain words.
    pub(crate) fn behind(&self, prompt: &str, session: &str) -> Option<Expanded> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_sent = |expanded: &&Expanded| {
            let text = expanded.text.replace(SESSION, session);
            !text.trim().is_empty() && prompt.contains(text.trim())
        };
        kept.iter().find(is_sent).cloned()
    }
}

impl PromptLines for Expansions {
    fn take(&self, prompt: &str, session: &SessionId) -> Vec<PromptLine> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let in_session = |text: &str| text.replace(SESSION, session.as_str());
        let sent = kept.iter_mut().find(|expanded| {
            let text = in_session(&expanded.text);
            !expanded.lines.is_empty() && prompt.contains(text.trim())
        });
        let lines = sent.map(|expanded| std::mem::take(&mut expanded.lines)).unwrap_or_default();
        let lines = lines.into_iter().map(|line| PromptLine {
            marker: in_session(&line.marker),
            command: in_session(&line.command),
            ..line
        });
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_is_recognized_by_its_command_text() {
        let expansions = Expansions::default();
        let expanded = |name: &str, text: &str| Expanded {
            name: name.to_owned(),
            args: String::new(),
            source: String::new(),
            text: text.to_owned(),
            lines: Vec::new(),
        };
        expansions.note(expanded("first", "Do it in ${CLAUDE_SESSION_ID}\n"));
        expansions.note(expanded("empty", " "));
        let found = |prompt: &str| expansions.behind(prompt, "s1").map(|it| it.name);
        assert_eq!(found("Do it in s1").as_deref(), Some("first"));
        assert_eq!(found("something else"), None);
        let line = PromptLine { marker: "!`x`".to_owned(), ..PromptLine::default() };
        let lines = vec![line.clone()];
        expansions.note(Expanded { lines, ..expanded("lines", "See !`x`") });
        let session = SessionId::parse("s1").unwrap();
        assert_eq!(expansions.take("See !`x`", &session), [line]);
        assert_eq!(expansions.take("See !`x`", &session), []);
        for _ in 0..KEPT {
            expansions.note(expanded("other", "other"));
        }
        assert_eq!(found("Do it in s1"), None);
    }
}
