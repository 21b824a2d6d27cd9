//! Reasoning in tags before the answer: local servers send it as text if the model is not configured.

use crate::reply::Deltas;

/// The opening and closing tags.
const TAGS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// Separates reasoning from text in the pieces of a reply.
#[derive(Debug, Default)]
pub(crate) struct ThinkTags {
    place: Place,
    /// Text that may be the start of a tag.
    held: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Only white space so far.
    #[default]
    Beginning,
    /// Inside of tags, with the closing one.
    Within(&'static str),
    /// After the tags, where white space is not part of the answer.
    Behind,
    /// In the answer.
    Answer,
}

impl ThinkTags {
    /// Takes a piece of text.
    pub(crate) fn text(&mut self, piece: &str, out: &mut Deltas) {
        if self.place == Place::Answer {
            return out.text(piece);
        }
        self.held.push_str(piece);
        while self.step(out) {}
    }

    /// Ends the text.
    pub(crate) fn end(&mut self, out: &mut Deltas) {
        let held = std::mem::take(&mut self.held);
        match self.place {
            Place::Within(_) => out.thinking(&held),
            Place::Beginning | Place::Behind | Place::Answer => out.text(&held),
        }
        self.place = Place::Answer;
    }

    /// Advances by one step; returns false if more text is needed.
    fn step(&mut self, out: &mut Deltas) -> bool {
        match self.place {
            Place::Beginning => {
                let begun = self.held.trim_start();
                if let Some((tag, end)) = TAGS.iter().find(|(tag, _)| begun.starts_with(tag)) {
                    self.held = begun[tag.len()..].to_owned();
                    self.place = Place::Within(end);
                    return true;
                }
                if TAGS.iter().any(|(tag, _)| tag.starts_with(begun)) {
                    return false;
                }
                self.answer(out)
            }
            Place::Within(end) => {
                if let Some((thought, rest)) = self.held.split_once(end) {
                    out.thinking(thought);
                    self.held = rest.to_owned();
                    self.place = Place::Behind;
                    return true;
                }
                let split = self.held.len() - beginning_of(end, &self.held);
                out.thinking(&self.held[..split]);
                self.held.drain(..split);
                false
            }
            Place::Behind => {
                self.held = self.held.trim_start().to_owned();
                if self.held.is_empty() { false } else { self.answer(out) }
            }
            Place::Answer => false,
        }
    }

    fn answer(&mut self, out: &mut Deltas) -> bool {
        out.text(&std::mem::take(&mut self.held));
        self.place = Place::Answer;
        false
    }
}

/// Counts the bytes at the end of `text` that may be the start of `tag`.
fn beginning_of(tag: &str, text: &str) -> usize {
    (1..tag.len()).rev().find(|length| text.ends_with(&tag[..*length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use contract::provider::Delta;

    use super::*;

    fn told(pieces: &[&str]) -> (String, String) {
        let (mut tags, mut out) = (ThinkTags::default(), Deltas::default());
        for piece in pieces {
            tags.text(piece, &mut out);
        }
        tags.end(&mut out);
        let (mut thought, mut said) = (String::new(), String::new());
        for delta in out.drain() {
            match delta {
                Delta::Thinking(text) => thought.push_str(&text),
                Delta::Text(text) => said.push_str(&text),
                _ => panic!("nothing else"),
            }
        }
        (thought, said)
    }

    #[test]
    fn tagged_text_before_the_answer_is_reasoning() {
        let own = |(thought, said): (&str, &str)| (thought.to_owned(), said.to_owned());
        for (text, expected) in [
            ("<think>plan</think>\n\nanswer", ("plan", "answer")),
            ("\n<thinking>a < b</thinking>answer </think>", ("a < b", "answer </think>")),
            ("<think>only thought</think>\n", ("only thought", "")),
            ("<think>never ends </thi", ("never ends </thi", "")),
            ("<thin air", ("", "<thin air")),
            ("say <think>x</think>", ("", "say <think>x</think>")),
            ("  plain", ("", "  plain")),
            ("<", ("", "<")),
        ] {
            assert_eq!(told(&[text]), own(expected), "{text}");
            let letters: Vec<String> = text.chars().map(String::from).collect();
            let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
            assert_eq!(told(&letters), own(expected), "{text} by letters");
        }
    }
}
