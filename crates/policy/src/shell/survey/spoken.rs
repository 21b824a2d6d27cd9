//! What commands only say: words that `echo` prints onto the terminal or into a file are no names of files, as
//! long as nothing in the same text takes them for such. Where that is not certain, they count.

use std::collections::HashSet;

use super::names::gathers;
use super::{base_name, program_index};
use crate::shell::tolerant::{Piece, Segment, Value};

/// In texts of more words all of them count.
const LONG: usize = 2048;
/// And where more files are written.
const FILES: usize = 16;

/// Programs that show what they are given, and take none of it for the name of a file.
#[rustfmt::skip]
const SHOWING: &[&str] = &[
    "head", "tail", "wc", "sort", "uniq", "cat", "less", "grep", "egrep", "fgrep", "tr", "cut", "nl", "tee",
    "crontab", "echo", "printf",
];

/// Programs that leave what a text has just written as it is, or only show it.
#[rustfmt::skip]
const QUIET: &[&str] = &[
    "git", "echo", "printf", "grep", "egrep", "fgrep", "cat", "head", "tail", "ls", "test", "[", "[[", "touch",
    "mkdir", "cd", "true", ":", "tee", "crontab",
];

/// What the words of a command are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Those of a command.
    Usual,
    /// Those of a command of which nothing in the text takes what it prints for names.
    Apart,
    /// Those of a text, read without regard to what they are there.
    Raw,
    /// The same of the whole text, whose patterns are known.
    Whole,
    /// A file into which a text writes, and no command.
    Target,
}

/// What the segments of one text say together.
struct Text<'a> {
    segments: &'a [Segment],
    stages: &'a [u32],
    /// Whether what a segment prints is put into another.
    is_put: Vec<bool>,
    /// The segments that may take what a file holds for names if they name it; none where one may in any case.
    loud: Option<Vec<&'a Segment>>,
}

/// The segments whose words go nowhere but to the terminal or into a file that nothing else here reads for names.
pub(super) fn only_said(
    segments: &[Segment],
    stages: &[u32],
    functions: &HashSet<String>,
) -> HashSet<usize> {
    let says = |segment: &Segment| {
        let is_test = segment.words.iter().any(|word| word.text == "[[");
        let saying = [
            "echo", "printf", "grep", "egrep", "fgrep", "rg", "git", "test", "[", "cp", "ls",
            "stat", "find", "python3", "python", "node",
        ];
        is_test || saying.contains(&name_of(segment))
    };
    let length: usize = segments.iter().map(|it| 1 + it.words.len() + it.redirects.len()).sum();
    if length > LONG
        || !functions.is_empty()
        || !segments.iter().any(says)
        || segments.iter().any(turns_around)
    {
        return HashSet::new();
    }
    // What comes out of a group goes further with it.
    if segments
        .iter()
        .any(|it| is_group(it) && (stages[it.pipeline] > 1 || !it.redirects.is_empty()))
    {
        return HashSet::new();
    }
    let is_put = put_elsewhere(segments);
    let mut text = Text { segments, stages, is_put, loud: None };
    text.loud = text.loud();
    let said = (0..segments.len()).filter(|at| says(&segments[*at]) && text.is_apart(*at));
    said.collect()
}

/// Whether a segment ends a group of others.
pub(super) fn is_group(segment: &Segment) -> bool {
    let first = segment.words.first().map_or("", |word| word.text.as_str());
    segment.closes > 0 || matches!(first, "}" | "fi" | "done" | "esac")
}

/// Of each segment, whether what it prints is put into another.
pub(super) fn put_elsewhere(segments: &[Segment]) -> Vec<bool> {
    let mut is_put = vec![false; segments.len()];
    for segment in segments {
        let values = segment.expansions.iter().map(|it| &it.value);
        for value in values.chain(segment.named.iter().map(|(value, _)| value)) {
            if let Value::Printed(range) = value {
                is_put[range.start.min(segments.len())..range.end.min(segments.len())].fill(true);
            }
        }
    }
    is_put
}

impl Text<'_> {
    fn is_apart(&self, at: usize) -> bool {
        let segment = &self.segments[at];
        if self.is_put[at] || segment.is_data {
            return false;
        }
        let is_alone = self.stages[segment.pipeline] == 1;
        // What comes before it in a pipeline gets nothing of it.
        let mut behind = self.segments[at + 1..].iter();
        if !is_alone && !behind.all(|it| shows_for(segment, it)) {
            return false;
        }
        let same = |it: &&Segment| it.pipeline == segment.pipeline;
        let pipeline: Vec<&Segment> =
            if is_alone { vec![segment] } else { self.segments.iter().filter(same).collect() };
        let redirected = pipeline.iter().flat_map(|it| &it.redirects).filter(|it| it.writes);
        let teed = pipeline.iter().filter(|it| name_of(it) == "tee").flat_map(|it| &it.words);
        let files: Vec<&Piece> = redirected
            .filter(|target| !target.is_descriptor && !is_device(&target.word.text))
            .map(|target| &target.word)
            .chain(teed)
            .collect();
        files.is_empty() || (files.len() <= FILES && self.are_left(&files))
    }

    /// Whether all others in the pipeline of a segment only show what goes through it.
    fn only_shows(&self, segment: &Segment) -> bool {
        let mut others = self.segments.iter().filter(|it| !std::ptr::eq(*it, segment));
        self.stages[segment.pipeline] == 1 || others.all(|it| shows_for(segment, it))
    }

    /// Whether nothing in the text takes what these files hold for names.
    fn are_left(&self, files: &[&Piece]) -> bool {
        if files.iter().any(|file| file.dynamic || file.glob) {
            return false;
        }
        let is_one = |word: &Piece| {
            word.glob || files.iter().any(|file| word.text.contains(base_name(&file.text)))
        };
        self.loud.as_ref().is_some_and(|loud| {
            !loud.iter().any(|segment| {
                let reads = segment.redirects.iter().any(|it| !it.writes && is_one(&it.word));
                reads || segment.words.iter().any(is_one)
            })
        })
    }
}

impl<'a> Text<'a> {
    /// The segments that may take what a file holds for names if they name it, where no other does.
    fn loud(&self) -> Option<Vec<&'a Segment>> {
        let is_left = |segment: &Segment| {
            let program = segment.words.get(program_index(&segment.words));
            program.is_none_or(|program| !program.dynamic) && !takes_list(segment)
        };
        let is_quiet = |it: &Segment| QUIET.contains(&name_of(it)) && self.only_shows(it);
        let is_loud = |it: &&Segment| !is_quiet(it);
        let are_left = !self.is_put.contains(&true) && self.segments.iter().all(is_left);
        are_left.then(|| self.segments.iter().filter(is_loud).collect())
    }
}

/// Whether another segment only shows what a segment prints, or is not in its pipeline.
fn shows_for(segment: &Segment, other: &Segment) -> bool {
    other.pipeline != segment.pipeline || (SHOWING.contains(&name_of(other)) && !takes_list(other))
}

/// Whether a program gets from its input what it reads or runs.
fn takes_list(segment: &Segment) -> bool {
    let name = name_of(segment);
    let is_list = |word: &Piece| word.text.starts_with('-') && word.text.contains("from");
    gathers(&segment.words)
        || matches!(name, "read" | "mapfile" | "readarray" | "source" | "." | "sed" | "gsed")
        || segment.words.iter().any(is_list)
}

/// Whether a command sends elsewhere what others say, or runs it.
pub(super) fn turns_around(segment: &Segment) -> bool {
    matches!(
        name_of(segment),
        "exec" | "coproc" | "eval" | "alias" | "trap" | "command" | "builtin"
    ) || segment.is_fed
}

pub(super) fn is_device(file: &str) -> bool {
    matches!(file, "/dev/null" | "/dev/stderr" | "/dev/stdout" | "/dev/tty")
}

pub(super) fn name_of(segment: &Segment) -> &str {
    let program = segment.words.get(program_index(&segment.words));
    program.map_or("", |program| base_name(&program.text))
}
