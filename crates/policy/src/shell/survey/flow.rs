//! What goes from one command of a text to others: through pipelines and groups. Sees too much
//! rather than too little.

use std::collections::{HashMap, HashSet};

use super::sources::{Source, is_clear, program_at};
use super::{base_name, program_index};
use crate::shell::tolerant::{Piece, Segment, Value};

/// What goes from one segment of a text to others.
#[derive(Default)]
pub(super) struct Flow {
    /// How many segments there were so far.
    pub(super) count: usize,
    /// Those of them of which it is not known what they print, in their order.
    pub(super) outputs: Vec<(usize, Source)>,
    /// The same for the part of each pipeline that was seen, by its number.
    pipelines: Vec<Seen>,
    groups: Vec<Group>,
    /// The pipelines with a shell of this machine.
    pub(super) shells: HashSet<usize>,
    /// The variable and the files that were set last.
    pub(super) variable: String,
    pub(super) files: Vec<String>,
    /// Whether something runs the arguments that it gets.
    pub(super) runs_arguments: bool,
    /// What the shell itself reads from then on.
    pub(super) input: Option<Source>,
    /// What is read at the end of a group, by the number of the segment that opens it.
    behind: HashMap<usize, Behind>,
    /// The pipelines that read what stands in the text.
    pub(super) fed: HashSet<usize>,
}

/// What is read at the end of a group: the files and values of its last segment, and a program whose
/// output that is.
pub(super) struct Behind {
    pub(super) reads: Segment,
    pub(super) printed: Option<Source>,
}

/// The part of a pipeline that was seen.
#[derive(Clone)]
enum Seen {
    Nothing,
    /// It is known what it prints.
    Clear,
    Unclear(Source),
}

/// A group of commands that is open.
#[derive(Default)]
struct Group {
    input: Option<Source>,
    output: Option<Source>,
}

impl Flow {
    pub(super) fn has_shell(&self, pipeline: usize) -> bool {
        self.shells.contains(&pipeline)
    }

    /// What will go through these segments, as far as that stands behind those that it concerns.
    pub(super) fn ahead(segments: &[Segment]) -> Self {
        let mut flow = Self::default();
        let is_read_behind =
            |it: &Segment| is_reading(it) && turns(it, keywords(&it.words)).closed > 0;
        if !segments.iter().any(is_read_behind) {
            return flow;
        }
        let mut open: Vec<usize> = Vec::new();
        for (at, segment) in segments.iter().enumerate().filter(|(_, it)| !it.is_data) {
            let turns = turns(segment, keywords(&segment.words));
            for _ in 0..turns.closed {
                if let Some(from) = open.pop().filter(|_| is_reading(segment)) {
                    flow.behind.insert(from, Behind::of(segment, segments));
                }
            }
            open.extend(std::iter::repeat_n(at, turns.opened));
        }
        flow
    }

    /// What is read behind the group that the next segment opens.
    pub(super) fn behind(&mut self) -> Option<Behind> {
        if self.behind.is_empty() { None } else { self.behind.remove(&self.count) }
    }

    /// Opens and closes groups around a segment, which read what stands `behind` them; returns what
    /// comes out of those that it closes.
    pub(super) fn nest(
        &mut self,
        segment: &Segment,
        keywords: &[Piece],
        behind: Option<Source>,
    ) -> Option<Source> {
        let turns = turns(segment, keywords);
        if turns.opened + turns.closed == 0 {
            return None;
        }
        let mut closed = None;
        for _ in 0..turns.closed {
            closed = self.groups.pop().or(closed);
        }
        let fed = segment.is_fed.then(|| Source::program(">("));
        let input = fed.or(behind).or_else(|| self.input_of(segment));
        for _ in 0..turns.opened {
            self.groups.push(Group { input: input.clone(), output: None });
        }
        closed.and_then(|group| group.output)
    }

    /// What comes out of the pipeline before a segment; what begins one reads what its group does.
    pub(super) fn input_of(&self, segment: &Segment) -> Option<Source> {
        let of_group = || {
            let group = self.groups.last().and_then(|group| group.input.clone());
            group.or_else(|| self.input.clone())
        };
        match self.pipelines.get(segment.pipeline) {
            Some(Seen::Clear) => None,
            Some(Seen::Unclear(source)) => Some(source.clone()),
            Some(Seen::Nothing) | None if self.fed.contains(&segment.pipeline) => None,
            Some(Seen::Nothing) | None => of_group(),
        }
    }

    /// What a program prints; the same as before, where that was the last, since long texts say the same again
    /// and again.
    pub(super) fn printed_by(&self, name: &str) -> Source {
        let last = self.outputs.last().map(|(_, last)| last);
        last.filter(|last| last.is_program(name)).cloned().unwrap_or_else(|| Source::program(name))
    }

    /// What comes out of a pipeline so far, where that is not known.
    pub(super) fn piped(&self, pipeline: usize) -> Option<Source> {
        match self.pipelines.get(pipeline) {
            Some(Seen::Unclear(source)) => Some(source.clone()),
            Some(Seen::Clear | Seen::Nothing) | None => None,
        }
    }

    pub(super) fn printed(&mut self, segment: &Segment, output: Option<Source>) {
        if self.pipelines.len() <= segment.pipeline {
            self.pipelines.resize(segment.pipeline + 1, Seen::Nothing);
        }
        let pipeline = &mut self.pipelines[segment.pipeline];
        if matches!(pipeline, Seen::Nothing) {
            *pipeline = Seen::Clear;
        }
        if let Some(output) = &output {
            *pipeline = Seen::Unclear(output.clone());
            if let Some(group) = self.groups.last_mut() {
                group.output.get_or_insert_with(|| output.clone());
            }
        }
        self.outputs.extend(output.map(|output| (self.count, output)));
        self.count += 1;
    }
}

impl Behind {
    fn of(segment: &Segment, segments: &[Segment]) -> Self {
        let redirects = segment.redirects.iter().filter(|it| !it.writes).cloned().collect();
        let input = || segment.expansions.iter().filter(|it| it.word.is_none());
        let printed = input().find_map(|it| match &it.value {
            Value::Printed(range) => segments.get(range.clone())?.iter().find_map(printer),
            Value::Variable(_) => None,
        });
        let expansions = input().cloned().collect();
        Self { reads: Segment { redirects, expansions, ..Segment::default() }, printed }
    }
}

/// How many groups begin and end with a segment.
struct Turns {
    opened: usize,
    closed: usize,
}

fn turns(segment: &Segment, keywords: &[Piece]) -> Turns {
    let mut turns = Turns { opened: segment.opens, closed: segment.closes };
    for word in keywords {
        turns.opened += usize::from(is_opening(&word.text));
        turns.closed += usize::from(matches!(word.text.as_str(), "}" | "fi" | "done" | "esac"));
    }
    turns
}

/// The words of a segment that only say how commands belong together.
fn keywords(words: &[Piece]) -> &[Piece] {
    let start = program_index(words);
    let is_loop = words.get(start).is_some_and(|word| is_opening(&word.text));
    &words[..start + usize::from(is_loop)]
}

/// Words that open a group of commands.
pub(super) fn is_opening(word: &str) -> bool {
    matches!(word, "{" | "if" | "while" | "until" | "case" | "for" | "select")
}

/// Whether a segment reads something by redirection.
fn is_reading(segment: &Segment) -> bool {
    segment.redirects.iter().any(|it| !it.writes)
        || segment.expansions.iter().any(|it| it.word.is_none())
}

/// The program of a segment, where only it knows what it prints.
fn printer(segment: &Segment) -> Option<Source> {
    let words = &segment.words;
    let (program, args) = words.get(program_at(words, program_index(words))..)?.split_first()?;
    let name = base_name(&program.text);
    let is_file = |word: &&Piece| !word.text.starts_with('-');
    if program.dynamic || !(name.is_empty() || is_clear(name, args.first())) {
        return Some(Source::program(name));
    }
    let file = args.iter().find(is_file).filter(|_| name == "cat");
    file.map(|file| Source::file(&file.text))
}
