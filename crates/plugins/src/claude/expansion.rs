//! Commands that were typed, for the hooks that hear of them when their texts are sent. What a text
//! has run comes after those hooks. Keeps the last few.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use contract::hook::{Advice, Hook, HookError, Moment, OnFailure, Scene, WordsVerdict};

use super::command::SESSION;

/// Commands that are kept.
const KEPT: usize = 16;

/// A command that was typed, with the text that it stands for.
#[derive(Clone)]
pub struct Expanded {
    /// Its name as it was typed, without the slash.
    pub name: String,
    /// What was typed after it.
    pub args: String,
    /// Where the command comes from.
    pub source: String,
    /// The text that is sent.
    pub text: String,
    /// Makes the text that the model reads of it, where something is run for that.
    pub fill: Option<Arc<dyn Fill>>,
}

/// Makes the text of a command whole.
#[async_trait]
pub trait Fill: Send + Sync {
    /// The text with the output of what is run for it, in a session.
    async fn fill(&self, session: &str) -> Result<String, String>;
}

/// The commands that were typed last.
#[derive(Default)]
pub struct Expansions(Mutex<VecDeque<Expanded>>);

impl Expansions {
    /// Keeps one in mind.
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

/// Makes texts of commands whole, once nobody has refused them.
pub(crate) struct Filling(pub(crate) Arc<Expansions>);

#[async_trait]
impl Hook for Filling {
    fn name(&self) -> &'static str {
        "the text of a command"
    }

    fn wants(&self, moment: Moment) -> bool {
        moment == Moment::BeforePrompt
    }

    fn on_failure(&self) -> OnFailure {
        OnFailure::Block
    }

    async fn before_prompt(
        &self,
        scene: &Scene,
        prompt: &str,
    ) -> Result<Advice<WordsVerdict>, HookError> {
        let session = scene.session.as_str();
        let expanded = self.0.behind(prompt, session).filter(|_| scene.within.is_none());
        let Some((text, fill)) = expanded.and_then(|it| Some((it.text, it.fill?))) else {
            return Ok(Advice::default());
        };
        let text = text.replace(SESSION, session);
        let filled = fill.fill(session).await.map_err(HookError)?;
        Ok(WordsVerdict::Replace(prompt.replacen(text.trim(), filled.trim(), 1)).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_known_by_the_text_of_its_command() {
        let expansions = Expansions::default();
        let expanded = |name: &str, text: &str| Expanded {
            name: name.to_owned(),
            args: String::new(),
            source: String::new(),
            text: text.to_owned(),
            fill: None,
        };
        expansions.note(expanded("first", "Do it in ${CLAUDE_SESSION_ID}\n"));
        expansions.note(expanded("empty", " "));
        let found = |prompt: &str| expansions.behind(prompt, "s1").map(|it| it.name);
        assert_eq!(found("<prompt>\nDo it in s1\n</prompt>").as_deref(), Some("first"));
        assert_eq!(found("something else"), None);
        for _ in 0..KEPT {
            expansions.note(expanded("other", "other"));
        }
        assert_eq!(found("Do it in s1"), None);
    }
}
