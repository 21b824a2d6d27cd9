//! What one program finds and another one is given: by `find` itself, or by names that are printed. Sees too many
//! rather than too few.

use super::super::writes::{only_checks, only_reads};
use super::followed::{Links, links};
use super::{Reach, Sweep, expression, fd, few, kept, skipped};
use crate::ground::Width;
use crate::rules::Touch;
use crate::shell::{LISTERS, Piece, base_name};

/// Programs that show nothing of what is in the files that they are given.
const NAMING: &[&str] = &[
    "echo", "printf", "ls", "stat", "test", "basename", "dirname", "realpath", "readlink", "du",
    "chmod", "chown", "touch", "mkdir", "rm", "rmdir", "unlink", "true", "file",
];

/// Those of them that change nothing either.
const QUIET: &[&str] = &[
    "echo", "printf", "ls", "stat", "test", "basename", "dirname", "realpath", "readlink", "du",
    "true", "file",
];

/// What `find` deletes, or gives to a program that shows or changes it.
pub(super) fn found(args: &[Piece]) -> Option<Sweep<'_>> {
    let is_action =
        |word: &Piece| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    let deletes = args.iter().any(|word| word.text == "-delete");
    let is_end = |word: &Piece| matches!(word.text.as_str(), ";" | "+");
    let actions = args.iter().enumerate().filter(|(_, word)| is_action(word));
    let touches = actions.filter_map(|(at, _)| {
        let words = &args[at + 1..];
        done_by(&words[..words.iter().position(is_end).unwrap_or(words.len())])
    });
    let touch = touches.reduce(|one, other| if one == other { one } else { Touch::Any });
    let touch = match (deletes, touch) {
        (true, Some(Touch::Read | Touch::Any)) => Touch::Any,
        (true, _) => Touch::Write,
        (false, touch) => touch?,
    };
    let below = below(args);
    Some(Sweep { touch, links: opened(below.links, args, touch), ..below })
}

/// What a program does to the files that it is given, as far as rules speak of it.
pub(in crate::commands) fn done_by(words: &[Piece]) -> Option<Touch> {
    let program = words.first().map_or("", |word| base_name(&word.text));
    // What a redirection does.
    match program {
        "<" => return Some(Touch::Read),
        ">" => return Some(Touch::Write),
        _ => {}
    }
    match (NAMING.contains(&program), only_reads(words)) {
        (true, true) => None,
        (true, false) => (!QUIET.contains(&program)).then_some(Touch::Write),
        (false, true) => Some(Touch::Read),
        (false, false) if only_checks(words) => Some(Touch::Read),
        (false, false) => Some(Touch::Any),
    }
}

/// The files below the places that `find` begins at.
fn below(args: &[Piece]) -> Sweep<'_> {
    let links = links("find", args);
    let is_place = |word: &&Piece| !word.text.starts_with(['-', '(', '!']);
    let options = args.iter().take_while(|word| matches!(word.text.as_str(), "-L" | "-H" | "-P"));
    let has_follower = options.clone().any(|word| word.text != "-P");
    let args = &args[options.count()..];
    let places: Vec<Piece> = args.iter().take_while(is_place).cloned().collect();
    // Beside a place a variable may hold an alternative.
    let is_open = places.iter().skip(1).any(|word| word.dynamic && word.text.is_empty());
    let only = if is_open { Vec::new() } else { expression::names(&args[places.len()..]) };
    let only = few(only);
    let is_sure = |word: &Piece| !word.dynamic && !word.glob;
    let reach = match places.as_slice() {
        [] => Reach::Searched,
        places if places.iter().all(is_sure) => Reach::Given,
        _ => Reach::Searched,
    };
    let expression = &args[places.len()..];
    let skips = if has_follower { Vec::new() } else { skipped::by_find(&places, expression) };
    Sweep { only, skips, links, ..Sweep::of(places, Touch::Read, reach) }
}

/// What becomes of links that are found, where something is done to all that is found by these arguments.
fn opened(links: Links, args: &[Piece], touch: Touch) -> Links {
    let is_action = |word: &Piece| {
        ["-exec", "-ok", "-print", "-fprint", "-delete"].iter().any(|it| word.text.starts_with(it))
    };
    let is_split = args.iter().any(|word| matches!(word.text.as_str(), "," | "("));
    // Then only files are left that are no links, wherever something is done.
    let is_plain = |tests: &[Piece]| {
        let tests: Vec<&str> = tests.iter().map(|word| word.text.as_str()).collect();
        let is_type = |it: &[&str]| matches!(it, ["-type", "f"]);
        let is_negated = |it: &[&str]| matches!(it, ["!" | "-not", "-type", "f"]);
        tests.windows(2).any(is_type) && !tests.windows(3).any(is_negated)
    };
    let parts: Vec<&[Piece]> =
        args.split(|word| matches!(word.text.as_str(), "-o" | "-or")).collect();
    let acts = parts.iter().any(|part| part.iter().any(is_action));
    let is_narrow = !is_split
        && parts.iter().all(|part| match part.iter().position(is_action) {
            Some(at) => is_plain(&part[..at]),
            None => acts || is_plain(part),
        });
    let opens = links == Links::Left && touch != Touch::Write && !is_narrow;
    if opens { Links::Opened } else { links }
}

/// What a program reads that gets the names of files from another one before it.
pub(super) fn listed(words: &[Piece]) -> Option<Sweep<'_>> {
    let given = words.get(1..)?;
    let at = given.iter().position(|word| LISTERS.contains(&base_name(&word.text)))?;
    let touch = done_by(&words[..=at])?;
    let args = &given[at + 1..];
    let has = |text: &str| args.iter().any(|word| word.text == text);
    let recursive = |word: &Piece| word.text.starts_with('-') && word.text.contains('R');
    let below = |args| Sweep { touch, ..below(args) };
    match base_name(&given[at].text) {
        "find" | "gfind" => {
            let found = below(args);
            Some(Sweep { links: opened(found.links, args, touch), ..found })
        }
        "ls" => {
            let is_deep = args.iter().any(recursive);
            let dots =
                |word: &Piece| word.text.starts_with('-') && word.text.contains(['a', 'A', 'f']);
            let has_dots = args.iter().any(dots);
            let operands = args.iter().filter(|word| !word.text.starts_with('-'));
            Some(Sweep {
                places: operands.cloned().collect(),
                is_flat: !is_deep,
                has_dots,
                ..below(&[])
            })
        }
        "git" if kept::prints_names(args) => Some(kept_names(args, touch)),
        "git" => None,
        "fd" | "fdfind" => Some(Sweep { touch, ..fd::listed(args) }),
        "rg" if has("--files") => Some(Sweep { touch, ..super::ripgrep(&given[at..]) }),
        // What they show they come upon themselves.
        name @ ("grep" | "egrep" | "fgrep" | "rg") => {
            let names = |word: &Piece| {
                let letters = word.text.strip_prefix('-').unwrap_or_default();
                let is_long = letters.starts_with("-files");
                is_long || (!letters.starts_with('-') && letters.contains(['l', 'L']))
            };
            let is_changed = touch != Touch::Read && args.iter().any(names);
            let searched = || match super::sweep(&given[at..]) {
                Some(sweep) => Sweep { touch, ..sweep },
                None => Sweep { places: super::places(name, &given[at..]).0, ..below(&[]) },
            };
            is_changed.then(searched)
        }
        _ => {
            let operands = args.iter().filter(|word| !word.text.starts_with('-'));
            Some(Sweep { places: operands.cloned().collect(), ..below(&[]) })
        }
    }
}

/// The files whose names git prints.
fn kept_names(args: &[Piece], touch: Touch) -> Sweep<'_> {
    let has = |names: &[&str]| args.iter().any(|word| names.contains(&word.text.as_str()));
    let is_list = has(&["ls-files"]);
    let has_letter = |letter: char| {
        let is_short = |word: &&Piece| word.text.starts_with('-') && !word.text.starts_with("--");
        is_list && args.iter().filter(is_short).any(|word| word.text.contains(letter))
    };
    // The beginning of an option is taken for all of it.
    let is_anywhere = |word: &Piece| word.text.len() > 4 && "--no-index".starts_with(&word.text);
    let is_ignored = has_letter('i') || has(&["-i", "--ignored", "check-ignore", "clean"]);
    let is_other = has_letter('o') || has(&["-o", "--others"]);
    let (reach, width) = if is_ignored || args.iter().any(is_anywhere) {
        (Reach::Searched, Width::Everything)
    } else if is_other {
        let is_standard = has(&["--exclude-standard"]);
        (Reach::Searched, if is_standard { Width::Unignored } else { Width::Everything })
    } else {
        (Reach::Kept, Width::Unignored)
    };
    let places = kept::named_places(args);
    // Of others only what stands behind `--` is a path for certain.
    let dashes = args.iter().position(|word| word.text == "--");
    let args = if is_list { args } else { &args[dashes.unwrap_or(args.len())..] };
    let is_name = |word: &&Piece| word.text.starts_with("*.") && !word.text.contains('/');
    let operands =
        args.iter().filter(|word| !word.text.starts_with('-') && word.text != "ls-files");
    let only: Vec<&str> = operands.clone().filter(is_name).map(|it| it.text.as_str()).collect();
    let is_narrow = only.len() == operands.count();
    let only = if is_narrow { few(only) } else { Vec::new() };
    Sweep { width, only, ..Sweep::of(places, touch, reach) }
}
