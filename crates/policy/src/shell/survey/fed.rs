//! Text that one command of a pipeline, or a redirection behind a group, gives to others. Sees too much rather
//! than too little.

use foldhash::{HashMap, HashMapExt};

use super::flow::Flow;
use super::spoken::is_group;
use super::written::said;
use super::{Listens, Survey, program_index};
use crate::shell::tolerant::{Piece, Segment, Value};

/// So many lines are read into variables.
const LINES: usize = 4;
/// More of what is said is not put together.
const SAID: usize = 4096;

/// The texts among words that could be commands: those that hold more than a name, and all of them as
/// they are printed.
pub(super) fn texts_of(words: &[Piece]) -> Vec<String> {
    let holds_more =
        |text: &&String| text.contains(|c: char| c.is_whitespace() || ";&|<>$(`".contains(c));
    let length: usize = words.iter().map(|word| word.text.len()).sum();
    let mut texts: Vec<String> =
        words.iter().map(|word| &word.text).filter(holds_more).cloned().collect();
    let whole = if length <= SAID { said(words) } else { None };
    texts.extend(whole.filter(|whole| !whole.is_empty() && !texts.contains(whole)));
    texts
}

fn is_reader(words: &[Piece]) -> bool {
    let program = words.get(program_index(words));
    program.is_some_and(|it| matches!(it.text.as_str(), "read" | "mapfile" | "readarray"))
}

/// What a process says for a segment that reads it as its input.
fn printed_for(segment: &Segment, segments: &[Segment]) -> Option<String> {
    let values = segment.expansions.iter().filter(|it| it.word.is_none()).map(|it| &it.value);
    let mut printed = values.filter_map(|value| match value {
        Value::Printed(range) => said(&segments.get(range.start)?.words),
        Value::Variable(_) => None,
    });
    printed.next()
}

impl Survey {
    /// Adds what is run of the texts that are fed to pipelines.
    pub(super) fn fed(
        &mut self,
        fed: Vec<(usize, String)>,
        listening: &HashMap<usize, Listens>,
        flow: &Flow,
        depth: usize,
    ) {
        for (pipeline, text) in fed {
            match listening.get(&pipeline) {
                Some(Listens::Shell) => {
                    // Of a word that is nothing but an expansion nothing is left.
                    let begin = text.trim_start();
                    self.sources.substituted |= begin.is_empty() || begin.starts_with(['$', '`']);
                    // A program in another language has no substitutions.
                    let was_idle = self.sources.is_idle;
                    self.sources.is_idle |= !flow.has_shell(pipeline);
                    self.script(&text, depth + 1);
                    self.sources.is_idle = was_idle;
                    self.words_of(&text);
                }
                Some(Listens::Interpreter) => self.words_of(&text),
                Some(Listens::No) | None => {}
            }
        }
    }

    /// Notes what builtins read: what is fed to them or to a group around them, and what is said before them
    /// in their pipeline.
    pub(super) fn read_by(
        &mut self,
        segments: &[Segment],
        fed: &HashMap<usize, &String>,
        stages: &[u32],
    ) {
        let behind = segments.iter().filter(|it| is_group(it));
        let behind = behind.flat_map(|it| {
            let own = fed.get(&it.pipeline).map(|text| (*text).clone());
            own.into_iter().chain(printed_for(it, segments))
        });
        let behind: Vec<String> = behind.take(LINES).collect();
        let mut piped: HashMap<usize, String> = HashMap::new();
        for segment in segments {
            let words = &segment.words;
            if !is_reader(words) {
                let is_piped = stages[segment.pipeline] > 1;
                let text = if is_piped { said(words) } else { None };
                piped.extend(text.map(|text| (segment.pipeline, text)));
                continue;
            }
            let own = fed.get(&segment.pipeline).copied();
            let own = own.or_else(|| piped.get(&segment.pipeline)).cloned();
            let own = own.or_else(|| printed_for(segment, segments));
            for text in own.into_iter().chain(behind.iter().cloned()).take(LINES) {
                let lines = text.lines().filter(|line| !line.trim().is_empty());
                lines.take(LINES).for_each(|line| self.read_into(words, line));
                // Into an array goes each of them.
                if text.lines().nth(1).is_some() {
                    self.read_into(words, &text.split_whitespace().collect::<Vec<_>>().join(" "));
                }
            }
        }
    }

    /// Variables that a builtin reads from a line.
    fn read_into(&mut self, words: &[Piece], line: &str) {
        let words = words[program_index(words)..].iter().skip(1).map(|word| word.text.as_str());
        let names: Vec<&str> = words.filter(|word| !word.starts_with('-')).collect();
        let mut rest = line.trim();
        for (at, name) in names.iter().enumerate() {
            let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            self.constants.set(name, if at + 1 < names.len() { word } else { rest });
            rest = after.trim_start();
        }
        if names.is_empty() {
            self.constants.set("REPLY", rest);
        }
    }
}
