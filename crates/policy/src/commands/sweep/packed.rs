//! What programs put into archives and copies: all that lies in the folders that they are given. Sees too many
//! rather than too few.

use super::followed::links;
use super::unpacked::{copied, has, has_letter};
use super::{Reach, Sweep, skipped};
use crate::rules::Touch;
use crate::shell::{Piece, base_name};

/// The sweep that a program which packs or copies folders is.
pub(super) fn sweep(words: &[Piece]) -> Option<Sweep<'_>> {
    let (program, args) = words.split_first()?;
    let name = base_name(&program.text);
    let first = args.first().map_or("", |word| word.text.as_str());
    let is_deep = |letters: &str| {
        let is_given = letters.chars().any(|letter| has_letter(args, letter));
        is_given || has(args, &["--recursive", "--archive", "--recurse-paths"])
    };
    let packs = match name {
        "tar" | "gtar" | "bsdtar" | "star" => {
            let is_bare = !first.starts_with('-') && first.contains(['c', 'r', 'u']);
            let long = has(args, &["--create", "--append", "--update"]);
            is_bare || long || "cru".chars().any(|letter| has_letter(args, letter))
        }
        "cp" | "gcp" | "rsync" | "scp" => is_deep("rRa"),
        "zip" | "gzip" => is_deep("rR"),
        "7z" | "7za" | "7zr" | "7zz" => matches!(first, "a" | "u"),
        "pax" => has_letter(args, 'w'),
        _ => false,
    };
    if !packs {
        return None;
    }
    let operands = if matches!(name, "cp" | "gcp" | "rsync" | "scp") {
        copied(name, args).0
    } else {
        args.iter().filter(|it| !it.text.starts_with('-')).collect()
    };
    // What is left out is told in many ways.
    let is_left_out = |word: &Piece| {
        let text = word.text.as_str();
        ["--exclude", "--filter", "-x", "-X", "-i"].iter().any(|option| text.starts_with(option))
    };
    let is_part = args.iter().any(is_left_out);
    // What only the running shell knows is mostly not everything.
    let skips = skipped::by_packing(name, args);
    let is_excluded = |word: &Piece| {
        let mut pairs = args.iter().zip(args.iter().skip(1)).filter(|_| skips.is_some());
        pairs.any(|(option, value)| option.text == "--exclude" && std::ptr::eq(value, word))
    };
    let operands =
        operands.into_iter().filter(|it| (!it.dynamic || it.is_above()) && !is_excluded(it));
    let places: Vec<Piece> = operands.cloned().collect();
    if places.is_empty() {
        return None;
    }
    let reach = if is_part { Reach::Named } else { Reach::Whole };
    let (skips, links) = (skips.unwrap_or_default(), links(name, args));
    Some(Sweep { skips, links, ..Sweep::of(places, Touch::Read, reach) })
}
