//! The last commands that were typed, for hooks that run before the shell lines of their texts.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use contract::id::SessionId;
use contract::prompt_lines::{PromptLine, PromptLines};

use crate::commands::SESSION;

const MAX_EXPANSIONS: usize = 16;

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
        kept.truncate(MAX_EXPANSIONS - 1);
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
        let mut lines: Vec<PromptLine> = lines.collect();
        if lines.is_empty() {
            lines = images(prompt);
        }
        lines
    }
}

/// The images that a prompt names: `@shot.png`, `@"my shot.png"`, or the absolute path of a file.
fn images(prompt: &str) -> Vec<PromptLine> {
    let mut found = Vec::new();
    let mut rest = prompt;
    while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
        rest = &rest[start..];
        let quoted = rest.strip_prefix("@\"").and_then(|it| it.split_once('"'));
        let (marker, path) = if let Some((path, _)) = quoted {
            (&rest[..path.len() + 3], path)
        } else {
            let word = &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())];
            let is_mark = |c| "\"'`(),;:!?".contains(c);
            let word = word.trim_start_matches(is_mark);
            let word = word.trim_end_matches(|c| c == '.' || is_mark(c));
            (word, word.strip_prefix('@').unwrap_or(word))
        };
        let is_mention = marker.starts_with('@') && !path.is_empty();
        if (is_mention || Path::new(path).is_absolute() && Path::new(path).is_file())
            && Path::new(path).extension().is_some_and(|it| is_image(&it.to_string_lossy()))
        {
            let (marker, command) = (marker.to_owned(), path.to_owned());
            found.push(PromptLine { marker, command, is_image: true, ..PromptLine::default() });
        }
        let end = rest.find(marker).map_or(0, |at| at + marker.len()).max(1);
        let end = rest[end..].find(char::is_whitespace).map_or(rest.len(), |at| at + end);
        rest = &rest[end..];
    }
    found
}

fn is_image(extension: &str) -> bool {
    let known = ["png", "jpg", "jpeg", "gif", "webp"];
    known.iter().any(|known| known.eq_ignore_ascii_case(extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_named_by_mentions_and_absolute_paths() {
        let found = |prompt: &str| -> Vec<(String, String)> {
            images(prompt).into_iter().map(|line| (line.marker, line.command)).collect()
        };
        let expected = [("@shot.png", "shot.png"), ("@\"my shot.PNG\"", "my shot.PNG")];
        let expected = expected.map(|(marker, path)| (marker.to_owned(), path.to_owned()));
        assert_eq!(found("see (@shot.png), and @\"my shot.PNG\"!"), expected);
        assert_eq!(found("a@b.png /no/such/file.png @notes.md shot.png \u{e9} @"), []);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.webp");
        std::fs::write(&path, "").unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(found(&format!("look: '{path}'.")), [(path.to_owned(), path.to_owned())]);
    }

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
        for _ in 0..MAX_EXPANSIONS {
            expansions.note(expanded("other", "other"));
        }
        assert_eq!(found("Do it in s1"), None);
    }
}
