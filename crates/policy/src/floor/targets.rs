//! What programs destroy, by their options and operands. Decides nothing itself.

use super::found::{self, Deed};
use crate::shell::Piece;

/// What a program destroys, and in which way.
pub(super) struct Destroyed<'a> {
    pub(super) targets: Vec<&'a Piece>,
    /// In words.
    pub(super) verb: &'static str,
    /// Whether most of what is there is left out.
    pub(super) is_filtered: bool,
    /// Whether a link that is named itself is gone through.
    pub(super) follows: bool,
}

impl<'a> Destroyed<'a> {
    fn new(targets: Vec<&'a Piece>, verb: &'static str) -> Self {
        Self { targets, verb, is_filtered: false, follows: false }
    }

    fn through_links(self) -> Self {
        Self { follows: true, ..self }
    }
}

/// What a program destroys; `here` is where it runs.
pub(super) fn targets<'a>(name: &str, args: &'a [Piece], here: &'a Piece) -> Option<Destroyed<'a>> {
    let has = |option: &str| args.iter().any(|word| abbreviates(&word.text, option));
    Some(match name {
        "rm" if recursive(args, "rR") => Destroyed::new(operands(args), "deletes"),
        // These need no option for it.
        "rimraf" | "del" | "del-cli" => Destroyed::new(operands(args), "deletes"),
        // A variable may hold the option.
        "rm" if args.iter().any(|word| word.dynamic && word.text.is_empty()) => {
            let known: Vec<_> = operands(args).into_iter().filter(|word| !word.dynamic).collect();
            if known.is_empty() {
                return None;
            }
            Destroyed::new(known, "deletes")
        }
        "chmod" | "chown" | "chgrp" | "chattr" if recursive(args, "R") => {
            Destroyed::new(changed(name, args), "changes all of").through_links()
        }
        "setfacl" if recursive(args, "R") => {
            Destroyed::new(operands(args), "changes all of").through_links()
        }
        "trash" | "trash-put" => Destroyed::new(operands(args), "throws away"),
        "gio"
            if args
                .first()
                .is_some_and(|word| matches!(word.text.as_str(), "trash" | "remove")) =>
        {
            Destroyed::new(operands(&args[1..]), "throws away")
        }
        // What is lost so is lost for good; a single file that only the shell knows is mostly a small one.
        "shred" | "truncate" | "srm" => {
            let known = operands(args).into_iter().filter(|word| !word.dynamic);
            Destroyed::new(known.collect(), "overwrites").through_links()
        }
        "mv" => Destroyed::new(moved(args), "moves"),
        "tar" if has("--remove-files") => Destroyed::new(operands(args), "moves into an archive"),
        "zip" if (recursive(args, "r") || has("--recurse-paths")) && args.iter().any(moves) => {
            Destroyed::new(operands(args), "moves into an archive")
        }
        "7z" if has("-sdel") => {
            let packed = operands(args).into_iter().skip(2).collect();
            Destroyed::new(packed, "moves into an archive")
        }
        "wipe" if recursive(args, "r") => Destroyed::new(operands(args), "overwrites"),
        // What a pattern stands for stays, by another name.
        "rename" => {
            let named = operands(args).into_iter().filter(|word| !word.glob);
            Destroyed::new(named.collect(), "renames")
        }
        "rclone" => synchronized_by_words(args)?,
        "fd" => listed(args, here)?,
        "find" => searched(args, here)?,
        "rsync" => synchronized(args)?,
        _ => return None,
    })
}

fn searched<'a>(args: &'a [Piece], here: &'a Piece) -> Option<Destroyed<'a>> {
    let deed = found::deed(args)?;
    let mut points = found::starting_points(args);
    if points.is_empty() {
        points.push(here);
    }
    let verb = match deed {
        Deed::Deletes => "deletes files in",
        Deed::Changes => "changes files in",
    };
    Some(Destroyed {
        targets: points,
        verb,
        is_filtered: found::is_narrowed(args, deed),
        follows: found::follows(args),
    })
}

/// What `fd` hands to a program that deletes or changes it.
fn listed<'a>(args: &'a [Piece], here: &'a Piece) -> Option<Destroyed<'a>> {
    let is_action =
        |word: &Piece| matches!(word.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch");
    let action = args.iter().position(is_action)?;
    let verb = match found::run(&args[action + 1..])? {
        Deed::Deletes => "deletes files in",
        Deed::Changes => "changes files in",
    };
    let own = &args[..action];
    let is_ending = |word: &Piece| word.text.starts_with("-e") || word.text.starts_with("--ext");
    let is_any = |text: &str| text.chars().all(|c| "^$.*+".contains(c));
    let takes_value = |word: &Piece| {
        let options = ["-t", "--type", "-d", "--max-depth", "-E", "--exclude", "-j", "--threads"];
        options.contains(&word.text.as_str())
    };
    let is_value = |word: &Piece| {
        let at = own.iter().position(|it| std::ptr::eq(it, word));
        at.is_some_and(|at| at > 0 && takes_value(&own[at - 1]))
    };
    let mut operands = operands(own).into_iter().filter(|word| !is_value(word));
    // The first of them is an expression for names; further values of options are not told from it.
    let tells = operands.next().is_some_and(|word| !is_any(&word.text) && word.text.len() > 1);
    let mut targets: Vec<&Piece> = operands.collect();
    if targets.is_empty() {
        targets.push(here);
    }
    let is_filtered = tells || own.iter().any(is_ending);
    Some(Destroyed { is_filtered, ..Destroyed::new(targets, verb) })
}

/// What `rclone` deletes of the folders that it is given.
fn synchronized_by_words(args: &[Piece]) -> Option<Destroyed<'_>> {
    let mut operands = operands(args).into_iter();
    let subcommand = operands.next()?;
    let places: Vec<&Piece> = match subcommand.text.as_str() {
        "purge" | "delete" | "rmdirs" => operands.collect(),
        "move" => operands.take(1).collect(),
        "sync" => operands.skip(1).collect(),
        _ => return None,
    };
    Some(Destroyed::new(places, "deletes files in"))
}

fn synchronized(args: &[Piece]) -> Option<Destroyed<'_>> {
    let begins = |option: &str| args.iter().any(|word| word.text.starts_with(option));
    let mut places = operands(args);
    let destination = places.pop();
    if !begins("--remove-s") {
        places.clear();
    }
    if begins("--del") {
        places.extend(destination);
    }
    (!places.is_empty()).then(|| Destroyed::new(places, "deletes files in"))
}

/// Whether a word is a long option, as a whole or as far as some programs need it.
fn abbreviates(text: &str, option: &str) -> bool {
    const LEAST: usize = "--rem".len();
    text.len() >= LEAST.min(option.len()) && option.starts_with(text)
}

fn recursive(args: &[Piece], letters: &str) -> bool {
    args.iter().any(|word| {
        let text = word.text.as_str();
        if let Some(long) = text.strip_prefix("--") {
            return !long.is_empty() && "recursive".starts_with(long);
        }
        text.starts_with('-') && text.contains(|c| letters.contains(c))
    })
}

fn operands(args: &[Piece]) -> Vec<&Piece> {
    let dashes = args.iter().position(|word| word.text == "--");
    args.iter()
        .enumerate()
        .filter(|(at, word)| {
            dashes.is_some_and(|dashes| *at > dashes)
                || (!word.text.starts_with('-') && Some(*at) != dashes)
        })
        .map(|(_, word)| word)
        .collect()
}

/// What gets other rights: all operands but the first, which says what these are, unless an option does.
fn changed<'a>(name: &str, args: &'a [Piece]) -> Vec<&'a Piece> {
    let says = |word: &Piece| {
        let text = word.text.as_str();
        let Some(letters) = text.strip_prefix('-') else { return false };
        match name {
            "chmod" if letters.starts_with(|c| c != '-') => {
                letters.contains(|c| "rwxXstugo01234567".contains(c))
            }
            "chattr" => letters.contains(|c| !"RVfvp-".contains(c)),
            _ => text.starts_with("--ref"),
        }
    };
    let before = args.iter().take_while(|word| word.text != "--");
    let told = usize::from(!before.into_iter().any(says));
    operands(args).into_iter().skip(told).collect()
}

/// What `mv` moves: all but where it goes, which an option may name as well.
fn moved(args: &[Piece]) -> Vec<&Piece> {
    let mut sources = Vec::new();
    let mut is_told = false;
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if text == "--" {
            sources.extend(words.by_ref());
        } else if let Some(long) = text.strip_prefix("--") {
            let (name, attached) = long.split_once('=').map_or((long, false), |it| (it.0, true));
            let is_target = "target-directory".starts_with(name);
            is_told |= is_target;
            if !attached && (is_target || (name.len() > 1 && "suffix".starts_with(name))) {
                words.next();
            }
        } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            if let Some(at) = letters.find(['t', 'S']) {
                is_told |= letters[at..].starts_with('t');
                if at + 1 == letters.len() {
                    words.next();
                }
            }
        } else {
            sources.push(word);
        }
    }
    if !is_told {
        sources.pop();
    }
    sources
}

/// Whether an option of `zip` says that what is packed goes away.
fn moves(word: &Piece) -> bool {
    let is_short = word.text.starts_with('-') && !word.text.starts_with("--");
    abbreviates(&word.text, "--move") || (is_short && word.text.contains('m'))
}
