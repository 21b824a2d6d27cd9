//! What `fd` finds, and what it gives to the programs that it runs. Sees too many rather than too few.

use super::followed::links;
use super::found::done_by;
use super::{Reach, Sweep, few, values};
use crate::ground::Width;
use crate::programs::fd::{Said, said};
use crate::rules::Touch;
use crate::shell::Piece;

/// What it gives to a program for each file that it finds.
pub(super) fn executed(args: &[Piece]) -> Option<Sweep<'_>> {
    let (own, actions) = split(args);
    let touches = actions.iter().filter_map(|words| done_by(words));
    let both = |one, other| if one == other { one } else { Touch::Any };
    let touch = touches.reduce(both)?;
    Some(Sweep { touch, ..found(&own) })
}

/// What it prints the names of.
pub(super) fn listed(args: &[Piece]) -> Sweep<'_> {
    found(&split(args).0)
}

/// Its own words, and those of each program that it runs.
fn split(args: &[Piece]) -> (Vec<&Piece>, Vec<Vec<Piece>>) {
    let (mut own, mut actions) = (Vec::new(), Vec::new());
    let mut words = args.iter();
    while let Some(word) = words.next() {
        // Letters before that of the program are its own.
        own.push(word);
        let Said::Runs(first) = said(&word.text) else { continue };
        let first = (!first.is_empty()).then(|| Piece { text: first.to_owned(), ..word.clone() });
        let rest = words.by_ref().take_while(|word| word.text != ";").cloned();
        actions.push(first.into_iter().chain(rest).collect());
    }
    (own, actions)
}

/// The letters of a word, if it is made of options of one letter, without a program that it runs.
fn letters(word: &Piece) -> &str {
    let letters = word.text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    letters.and_then(|letters| letters.split(['x', 'X']).next()).unwrap_or_default()
}

/// The files that it finds with its own words.
fn found<'a>(own: &[&'a Piece]) -> Sweep<'a> {
    let shows_all = |word: &&Piece| {
        let is_begun = |long: &&str| word.text.starts_with(*long);
        ["--h", "--n", "--u"].iter().any(is_begun) || letters(word).contains(['H', 'I', 'u'])
    };
    let width = if own.iter().any(shows_all) { Width::Everything } else { Width::Found };
    let words: Vec<Piece> = own.iter().map(|word| (*word).clone()).collect();
    let links = links("fd", &words);
    let Some(operands) = operands(own) else {
        let here = Piece { text: String::from("."), ..Piece::default() };
        let places = own.iter().filter(|word| !word.text.starts_with('-'));
        let places = places.map(|word| (*word).clone()).chain([here]).collect();
        return Sweep { width, links, ..Sweep::of(places, Touch::Read, Reach::Searched) };
    };
    let told = || own.iter().copied();
    // The first of its operands is an expression for names, or a pattern.
    let pattern = operands.first().map_or("", |word| word.text.as_str());
    let is_glob = told().any(|word| word.text == "--glob" || letters(word).contains('g'));
    let only = Some(pattern).filter(|it| is_glob && it.starts_with("*.") && !it.contains('{'));
    let is_name = |end: &&str| !end.is_empty() && end.chars().all(char::is_alphanumeric);
    let end = pattern.strip_prefix("\\.").and_then(|end| end.strip_suffix('$'));
    let mut ends: Vec<&str> = end.filter(|_| !is_glob).filter(is_name).into_iter().collect();
    ends.extend(values(told(), &["-e", "--extension"]));
    // Behind other letters it may be one more of them.
    if told().any(|word| letters(word).get(1..).is_some_and(|rest| rest.contains('e'))) {
        ends.clear();
    }
    let places = operands.iter().skip(1).map(|word| (*word).clone());
    let further = values(told(), &["--search-path", "--base-directory", "-C"]).into_iter();
    let further = further.map(|it| Piece { text: it.to_owned(), ..Piece::default() });
    let places = places.chain(further).collect();
    let only = few(only.into_iter().collect());
    Sweep { width, ends: few(ends), only, links, ..Sweep::of(places, Touch::Read, Reach::Searched) }
}

/// Its operands; none where a word may be one or the value of an option.
fn operands<'a>(own: &[&'a Piece]) -> Option<Vec<&'a Piece>> {
    let mut operands = Vec::new();
    let mut words = own.iter().copied();
    while let Some(word) = words.next() {
        if word.dynamic {
            return None;
        }
        if word.text == "--" {
            operands.extend(words.by_ref());
            continue;
        }
        match said(&word.text) {
            Said::Operand => operands.push(word),
            Said::Option | Said::Runs(_) => {}
            Said::Valued => {
                words.next();
            }
            Said::Unknown => return None,
        }
    }
    Some(operands)
}
