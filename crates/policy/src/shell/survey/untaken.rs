//! Words of an expression of `find` that say what it does not find. They are no files that are read.

use crate::shell::tolerant::Piece;

/// Tests that take the next word.
const VALUED: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-type",
    "-maxdepth",
    "-mindepth",
    "-size",
    "-mtime",
    "-mmin",
    "-newer",
    "-perm",
];

/// Those of them that take a pattern.
const PATTERNS: &[&str] = &["-name", "-iname", "-path", "-ipath", "-wholename"];

/// Words that take none.
const BARE: &[&str] = &[
    "-print", "-print0", "-prune", "-o", "-or", "-a", "-and", "-not", "!", "(", ")", "-delete",
    "-empty", "-xdev",
];

/// Where in the arguments of `find` such words stand; none where they are not all understood up to a program
/// that it runs.
pub(crate) fn untaken(args: &[Piece]) -> Vec<usize> {
    let text = |at: usize| args.get(at).map_or("", |word| word.text.as_str());
    let is_place = |word: &&Piece| !word.text.starts_with(['-', '(', '!']);
    let mut at = args.iter().take_while(is_place).count();
    let mut untaken = Vec::new();
    let mut negations = 0;
    while at < args.len() {
        if args[at].dynamic || matches!(text(at), "-exec" | "-execdir" | "-ok" | "-okdir") {
            return if args[at].dynamic { Vec::new() } else { untaken };
        }
        if VALUED.contains(&text(at)) {
            let is_out = negations % 2 == 1 || text(at + 2) == "-prune";
            let is_known = args.get(at + 1).is_some_and(|word| !word.dynamic);
            if is_out && is_known && PATTERNS.contains(&text(at)) {
                untaken.push(at + 1);
            }
            (at, negations) = (at + 2, 0);
        } else if BARE.contains(&text(at)) {
            let is_negation = matches!(text(at), "!" | "-not");
            negations = if is_negation { negations + 1 } else { 0 };
            at += 1;
        } else {
            return Vec::new();
        }
    }
    untaken
}
