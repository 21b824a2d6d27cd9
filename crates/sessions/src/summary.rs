//! The summary of a session that a list shows: a fold over its events.

use contract::event::{Event, EventKind};
use contract::id::{CallId, SessionId, Timestamp};
use contract::text;
use serde::{Deserialize, Serialize};

/// The outline of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Its name.
    pub id: SessionId,
    /// The directory it works in.
    pub cwd: String,
    /// When it began.
    pub created_at: Timestamp,
    /// When the last thing happened in it.
    pub updated_at: Timestamp,
    /// The model that answers; empty where none was ever chosen.
    pub model: String,
    /// The provider's name; empty where none was ever chosen.
    pub provider: String,
    /// Its title.
    pub title: Option<String>,
    /// How many messages the conversation has.
    pub message_count: u64,
    /// How many times the user asked for something.
    pub turns: u64,
    /// Its cost in US dollars, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The beginning of what the user asked for first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_prompt: Option<String>,
}

impl Summary {
    /// The title, or the first sentence of the first prompt, shortened; empty without both.
    pub fn label(&self) -> String {
        const MAX_BYTES: usize = 60;
        if let Some(title) = &self.title {
            return text::one_line(title);
        }
        let prompt = self.first_prompt.as_deref().unwrap_or_default();
        let end = [". ", "? ", "! "].iter().filter_map(|mark| prompt.find(mark)).min();
        let sentence = text::one_line(end.map_or(prompt, |end| &prompt[..=end]));
        let sentence = sentence.trim_end_matches(['.', ' ']);
        let words = text::head(sentence, MAX_BYTES);
        if words.len() == sentence.len() {
            return words.to_owned();
        }
        format!("{}…", words.rsplit_once(' ').map_or(words, |(whole, _)| whole))
    }

    fn add_cost(&mut self, cost: Option<f64>) {
        if let Some(cost) = cost {
            *self.cost_usd.get_or_insert(0.0) += cost;
        }
    }
}

/// Folds events into a [`Summary`].
pub(crate) struct Summarizer {
    pub(crate) summary: Summary,
    has_begun: bool,
    /// Calls without an end so far.
    pub(crate) open_calls: Vec<CallId>,
}

impl Summarizer {
    pub(crate) fn new(id: SessionId, at: Timestamp) -> Self {
        let summary = Summary {
            id,
            cwd: String::new(),
            created_at: at,
            updated_at: at,
            model: String::new(),
            provider: String::new(),
            title: None,
            message_count: 0,
            turns: 0,
            cost_usd: None,
            first_prompt: None,
        };
        Self { summary, has_begun: false, open_calls: Vec::new() }
    }

    pub(crate) fn resume(summary: Summary, open_calls: Vec<CallId>) -> Self {
        Self { summary, has_begun: true, open_calls }
    }

    pub(crate) fn add(&mut self, event: &Event) {
        let summary = &mut self.summary;
        if !self.has_begun {
            self.has_begun = true;
            summary.created_at = event.at;
        }
        // The events of a fork are older than the fork.
        summary.updated_at = event.at.max(summary.created_at);
        if event.within.is_some() {
            if let EventKind::ReplyFinished { usage, .. } = &event.kind {
                summary.add_cost(usage.cost_usd);
            }
            return;
        }
        match &event.kind {
            EventKind::SessionStarted { cwd, .. } => summary.cwd.clone_from(cwd),
            EventKind::Titled { title } => summary.title = Some(title.clone()),
            EventKind::Configured { provider, model, .. } => {
                summary.provider.clone_from(provider);
                summary.model.clone_from(model);
            }
            EventKind::TurnStarted { prompt } => {
                summary.turns += 1;
                summary.message_count += 1;
                if summary.first_prompt.is_none() {
                    summary.first_prompt = Some(beginning(prompt));
                }
            }
            EventKind::Injected { .. } => summary.message_count += 1,
            EventKind::ReplyFinished { reply, usage } => {
                let is_silent = reply.text().is_empty() && reply.thinking().is_empty();
                summary.message_count += u64::from(!is_silent);
                summary.add_cost(usage.cost_usd);
            }
            EventKind::ToolCalled { call } => {
                summary.message_count += 1;
                self.open_calls.push(call.id.clone());
            }
            EventKind::ToolFinished { call, .. } => {
                match self.open_calls.iter().position(|open| open == call) {
                    Some(position) => drop(self.open_calls.swap_remove(position)),
                    None => summary.message_count += 1,
                }
            }
            EventKind::RequestSent { .. }
            | EventKind::ReplyDelta { .. }
            | EventKind::ToolJudged { .. }
            | EventKind::Asked { .. }
            | EventKind::Answered { .. }
            | EventKind::ToolProgress { .. }
            | EventKind::Notice { .. }
            | EventKind::Compacted { .. }
            | EventKind::FilesChanged { .. }
            | EventKind::FilesRestored { .. }
            | EventKind::JobStarted { .. }
            | EventKind::JobFinished { .. }
            | EventKind::Custom { .. }
            | EventKind::TurnFinished { .. }
            | EventKind::SessionEnded => {}
        }
    }
}

/// The text that the user typed, if the prompt has nothing else.
pub(crate) fn typed(prompt: &str) -> Option<&str> {
    let inner = prompt.strip_prefix("<prompt>\n");
    match inner.and_then(|rest| rest.strip_suffix("\n</prompt>")) {
        Some(inner) => (!inner.contains("</prompt>")).then_some(inner),
        None => (!prompt.starts_with('<')).then_some(prompt),
    }
}

fn beginning(prompt: &str) -> String {
    // Piped input comes before the prompt.
    let prompt = prompt.rsplit_once("<prompt>\n").map_or(prompt, |(_, prompt)| prompt);
    let is_tag = |line: &str| line.starts_with('<') && line.ends_with('>');
    let mut lines = prompt.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !is_tag(line));
    text::head(line.unwrap_or_default(), 100).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn summary_describes_the_session() {
        let events = samples::conversation();
        let mut summarizer = Summarizer::new(samples::id(), Timestamp::now());
        for event in &events {
            summarizer.add(event);
        }
        insta::assert_json_snapshot!(summarizer.summary, @r#"
        {
          "id": "sample",
          "cwd": "/home/ada/project",
          "created_at": "2026-11-15T00:00:00Z",
          "updated_at": "2026-11-15T00:00:15Z",
          "model": "play",
          "provider": "script",
          "title": "Mending the parser",
          "message_count": 5,
          "turns": 1,
          "cost_usd": 0.5,
          "first_prompt": "Why does the parser fail?"
        }
        "#);
    }

    #[test]
    fn typed_text_is_found_in_a_prompt() {
        assert_eq!(typed("plain"), Some("plain"));
        assert_eq!(typed("<prompt>\nhi\n</prompt>"), Some("hi"));
        assert_eq!(typed("<stdin>\nx\n</stdin>\n\n<prompt>\nhi\n</prompt>"), None);
        assert_eq!(beginning("<stdin>\n\n  first line\nsecond"), "first line");
        assert_eq!(beginning("<stdin>\nx\n</stdin>\n\n<prompt>\nhi\n</prompt>"), "hi");
    }

    #[test]
    fn label_is_the_title_or_the_first_sentence() {
        let mut summary = Summarizer::new(samples::id(), Timestamp::now()).summary;
        assert_eq!(summary.label(), "");
        let long = "Explain in detail how the parser of the configuration reads nested lists";
        for (prompt, label) in [
            ("Fix the parser. It fails on tabs.", "Fix the parser"),
            ("Why? It worked.", "Why?"),
            ("hi", "hi"),
            (long, "Explain in detail how the parser of the configuration reads…"),
        ] {
            summary.first_prompt = Some(prompt.to_owned());
            assert_eq!(summary.label(), label);
        }
        summary.title = Some("One. Two".to_owned());
        assert_eq!(summary.label(), "One. Two");
    }
}
