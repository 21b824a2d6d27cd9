//! Files that a command names, and rules about them. Sees too many rather than too few; never used to
//! allow.

mod unknown;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::Read;
use super::meanings::{is_cluster, meanings};
use super::writes::only_reads;
use crate::call::Call;
use crate::glob::Reading;
use crate::ground::Ends;
use crate::rules::{Rule, Target, Touch};
use crate::shell::{Found, Piece, resolve};
use unknown::Unknown;

/// Words of longer texts are not looked up on disk.
const LINKED: usize = 4096;

/// More parts of words are not looked up on disk.
const LED: usize = 512;

/// The first file that the text names and a rule about files speaks of. Any word may be read; a
/// word is taken to be written unless its program is known to only look.
pub(super) fn named_file<'a>(call: &Call<'_>, read: &Read<'a>, rule: &Rule) -> Option<String> {
    let survey = read.survey;
    let Target::Path(touch, pattern) = &rule.matcher.target else {
        return None;
    };
    // Links are followed on disk, which takes too long for very long texts.
    let count: usize = survey.commands.iter().map(|found| found.argv().len()).sum();
    let is_short = count <= LINKED;
    // Most words are in the same few folders.
    let mut near_folders: Option<(*const PathBuf, [bool; 2])> = None;
    // Many words come again and again, and did not fit the first time: all folders, or one of them.
    let mut tried: HashSet<(&Piece, *const PathBuf)> = HashSet::new();
    let mut tried_in: HashSet<(&str, [bool; 4], &Path)> = HashSet::new();
    // So many parts of words were looked up on disk.
    let mut led = 0;
    // A link may have any name.
    let may_be_link = is_short && call.ground.look().is_some();
    let unknown = Unknown::new(call, read, pattern, may_be_link);
    let mut fits = |word: &'a Piece, folders: &'a [PathBuf]| {
        let [is_near, is_led] = match near_folders {
            Some((seen, known)) if seen == folders.as_ptr() => known,
            Some(_) | None => [
                folders.iter().any(|folder| pattern.could_be(&folder.to_string_lossy())),
                unknown.leads_from(folders),
            ],
        };
        near_folders = Some((folders.as_ptr(), [is_near, is_led]));
        let is_unknown = is_led || unknown.concerns(word);
        let is_candidate = is_near || is_unknown || word.home || may_be_link;
        if (!is_candidate && !pattern.could_be(&word.text))
            || !tried.insert((word, folders.as_ptr()))
        {
            return false;
        }
        if is_unknown && unknown.is_told_by(word, folders) {
            return true;
        }
        meanings(&word.text).any(|text| {
            // A part of a word is looked up on disk only where its end is its own.
            let is_whole = text.len() == word.text.len();
            led += usize::from(!is_whole);
            let may_lead = may_be_link && (is_whole || (led <= LED && !is_cluster(&word.text)));
            if !is_near && !word.home && !may_lead && !pattern.could_be(text) {
                return false;
            }
            let home = word.home && text.starts_with('~');
            let word = Piece { text: text.to_owned(), home, ..word.clone() };
            let links = if may_lead { Links::Followed } else { Links::AsNamed };
            let kind = [word.dynamic, word.home, word.glob, may_lead];
            let is_new = |folder: &&'a PathBuf| tried_in.insert((text, kind, folder.as_path()));
            let mut folders = folders.iter().filter(is_new);
            folders.any(|folder| is_file_of((call, &read.ends), rule, (&word, folder), links))
        })
    };
    for redirection in &survey.redirections {
        let target = &redirection.target;
        let how = if target.writes { Touch::Write } else { Touch::Read };
        if touch.includes(how) && fits(&target.word, &redirection.folders) {
            return Some(target.word.text.clone());
        }
    }
    let mut last: Option<&Found> = None;
    for found in &survey.commands {
        // What a wrapper runs is a part of words that were looked at already.
        let seen = last.is_some_and(|last| last.ends_like(found));
        if seen || (*touch == Touch::Write && only_reads(found.argv())) {
            continue;
        }
        last = Some(found);
        // What is set for a program is handed to it too.
        let mut words = found.before().iter().chain(found.argv());
        if let Some(word) = words.find(|word| fits(word, &found.folders)) {
            return Some(word.text.clone());
        }
    }
    None
}

/// Whether links are looked up on disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    Followed,
    AsNamed,
}

/// Whether a rule about files speaks of the path that a word means in a folder.
fn is_file_of(
    (call, ends): (&Call<'_>, &Ends<'_>),
    rule: &Rule,
    named: (&Piece, &Path),
    links: Links,
) -> bool {
    let (word, folder) = named;
    let Target::Path(_, pattern) = &rule.matcher.target else {
        return false;
    };
    let Some(path) = resolve(word, folder, call.places.home.as_deref()) else {
        return false;
    };
    let fits = |path: &Path, reading| pattern.matches((path, reading), call.places, rule.decision);
    let reading = if word.glob { Reading::Shell } else { Reading::Literal };
    if fits(&path, reading) {
        return true;
    }
    if links == Links::AsNamed {
        return false;
    }
    // What comes before the first wildcard is looked up.
    let wild = if word.glob { word.text.find(['*', '?', '[']) } else { None };
    let end = wild.map(|at| word.text[..at].rfind('/').map_or(0, |slash| slash + 1));
    let (known, rest) = word.text.split_at(end.unwrap_or(word.text.len()));
    let leads = |end: PathBuf| {
        let end = if rest.is_empty() { end } else { end.join(rest) };
        end != path && fits(&end, reading)
    };
    if !word.glob && leads(ends.of(&path)) {
        return true;
    }
    // A link is followed before the `..` behind it is.
    let is_led_back = known.split('/').any(|part| part == "..");
    let home = call.places.home.as_deref().filter(|_| word.home);
    let walked = || match home {
        Some(home) => ends.walked(home, known.trim_start_matches(['~', '/'])),
        None => ends.walked(folder, known),
    };
    (word.glob || is_led_back) && walked().is_some_and(leads)
}
