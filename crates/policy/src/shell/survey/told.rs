//! Names of files that stand in a file, and programs that are given them: nobody has seen which they are. Sees
//! too many rather than too few.

use super::listed::Lists;
use super::names::is_gatherer;
use super::{Survey, base_name, program_index, runners};
use crate::shell::tolerant::{Piece, Segment, Target};
use crate::shell::wrappers::{self, Inner};

/// What stands for such a name among the words of the program that is given it: a number, since it may be the
/// value of an option.
pub(crate) const NAME: &str = "7150341";

/// Programs that print what is in files, the letters of those of their options that take a value, and how
/// many words there are at least where one of them is a file.
const SHOWING: &[(&str, &str, usize)] = &[
    ("cat", "", 1),
    ("tac", "", 1),
    ("rev", "", 1),
    ("head", "nc", 1),
    ("tail", "ncs", 1),
    ("sort", "kStTo", 1),
    ("uniq", "fsw", 1),
    ("cut", "bcdf", 1),
    ("base64", "w", 1),
    ("zcat", "", 1),
    ("xxd", "", 1),
    ("sed", "", 2),
    ("awk", "Fv", 2),
    ("jq", "", 2),
    ("grep", "ABCm", 2),
];
/// More words of a program are not looked at.
const LONG: usize = 256;

/// Whether a segment prints what is in a file, or reads it.
fn shows_file(segment: &Segment) -> bool {
    let words = &segment.words;
    let reads = || reads_file(segment);
    let Some((program, args)) = words[program_index(words)..].split_first() else {
        return reads();
    };
    let name = base_name(&program.text);
    if matches!(name, "tr" | "read" | "mapfile" | "readarray") {
        return reads();
    }
    let Some((_, valued, least)) = SHOWING.iter().find(|(known, ..)| *known == name) else {
        return false;
    };
    // Then it prints only names that it was given itself.
    let names_only = |word: &Piece| {
        let letters = word.text.strip_prefix('-').unwrap_or_default();
        letters.starts_with("-files") || letters.contains(['l', 'L', 'r', 'R'])
    };
    if name == "grep" && args.iter().any(names_only) {
        return false;
    }
    let is_option = |word: &str| word.len() > 1 && word.starts_with('-');
    let takes_next = |word: &str| is_option(word) && word.len() == 2 && valued.contains(&word[1..]);
    let before = std::iter::once("").chain(args.iter().map(|word| word.text.as_str()));
    let operands = args
        .iter()
        .zip(before)
        .filter(|(word, before)| !is_option(&word.text) && word.text != "-" && !takes_next(before));
    operands.count() >= *least || reads()
}

/// Whether a segment reads a file by a redirection, and not what a program in `<(..)` prints.
fn reads_file(segment: &Segment) -> bool {
    let has_process = segment.expansions.iter().any(|it| it.is_file);
    let is_file = |target: &Target| {
        let is_process = has_process && target.word.text.is_empty();
        !target.writes && !target.is_descriptor && !is_process && target.word.text != "/dev/null"
    };
    segment.redirects.iter().any(is_file)
}

impl Survey {
    /// Notes the programs that are given names which stand in a file.
    pub(super) fn told_by_files(&mut self, segments: &[Segment]) {
        let lists = Lists::of(segments, shows_file);
        for given in lists.iter().flat_map(Lists::given) {
            // What follows such a name may be any file as well.
            let is_whole = |word: &Piece| {
                let begins = word.gaps.first() == Some(&0) && word.text.starts_with('/');
                word.dynamic && (word.text.is_empty() || begins)
            };
            let is_sign = given.own.len() == 1;
            if is_sign || given.own.iter().any(is_whole) {
                let words = given.own.iter().take(LONG);
                let named = |word: &Piece| if is_whole(word) { name() } else { word.clone() };
                self.told.insert(words.map(named).collect());
            }
        }
        for (at, segment) in segments.iter().enumerate() {
            let Some(own) = segment.words.iter().position(is_gatherer) else { continue };
            let is_fed = lists.as_ref().is_some_and(|lists| lists.feed(at));
            let is_fed = is_fed || reads_file(segment);
            self.told.extend(gathered(&segment.words[own + 1..], is_fed));
        }
    }
}

/// What `xargs` with these arguments runs, where names come to it out of a file.
fn gathered(args: &[Piece], is_fed: bool) -> Option<Vec<Piece>> {
    let texts: Vec<&str> = args.iter().map(|word| word.text.as_str()).take(LONG).collect();
    let inner = match wrappers::find("xargs")?.inner(&texts) {
        Inner::At(at) => at,
        Inner::Unclear => 0,
        Inner::Nothing => return None,
    };
    let is_told = |text: &&str| {
        let is_letter = text.starts_with('-') && !text.starts_with("--") && text.contains('a');
        is_letter || text.starts_with("--arg-file")
    };
    if !is_fed && !texts[..inner].iter().any(is_told) {
        return None;
    }
    let place = runners::place(args, inner).filter(|place| !place.is_empty());
    let is_place = |word: &Piece| place.is_some_and(|place| word.text.contains(place));
    let words = args[inner..].iter().take(LONG);
    let filled = |word: &Piece| if is_place(word) { name() } else { word.clone() };
    let last = place.is_none().then(name);
    Some(words.map(filled).chain(last).collect())
}

fn name() -> Piece {
    Piece { text: NAME.to_owned(), ..Piece::default() }
}
