//! Links that a sweep follows on its way, and what it comes upon where they lead. Sees too many rather than too few.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use contract::policy::Decision;
use foldhash::HashMap;

use super::left_out::is_begun;
use super::unpacked::{has, has_letter};
use super::{FOLDERS, Seen, Start, Sweep, is_about, speaks};
use crate::call::Call;
use crate::ground::{Entry, Look, Sought, Width};
use crate::rules::Rule;
use crate::shell::Piece;

/// More links are not followed for one start.
const MOST: usize = 4096;

/// What is done with links on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Links {
    Left,
    /// They are not gone through, but given to what opens them.
    Opened,
    Followed,
}

/// Whether a program follows links below the folders that it is given.
pub(super) fn links(name: &str, args: &[Piece]) -> Links {
    let letter = |letters: &str| letters.chars().any(|letter| has_letter(args, letter));
    let long = |options: &[&str]| {
        args.iter().any(|word| options.iter().any(|option| is_begun(word, option)))
    };
    let first = args.first().map_or("", |word| word.text.as_str());
    let is_bundled = || !first.starts_with('-') && first.contains('h');
    let is_followed = match name {
        "grep" | "egrep" | "fgrep" | "zgrep" | "rgrep" => {
            letter("R") || long(&["--dereference-recursive"])
        }
        "find" | "gfind" => args.iter().any(|word| matches!(word.text.as_str(), "-L" | "-follow")),
        "rg" | "fd" | "fdfind" => letter("L") || long(&["--follow"]),
        "ag" | "ack" | "ugrep" => letter("fRS") || long(&["--follow", "--dereference"]),
        "cp" | "gcp" => letter("L") || long(&["--dereference"]),
        "tar" | "gtar" | "bsdtar" | "star" => {
            letter("hL") || is_bundled() || long(&["--dereference"])
        }
        "rsync" => {
            let options = ["--copy-links", "--copy-dirlinks", "--copy-unsafe-links"];
            letter("Lk") || long(&options)
        }
        "zip" => !letter("y") && !has(args, &["--symlinks"]),
        "7z" | "7za" | "7zr" | "7zz" => !has(args, &["-snl"]),
        "pax" => letter("L"),
        "diff" => !long(&["--no-dereference"]),
        "scp" => true,
        _ => false,
    };
    if is_followed { Links::Followed } else { Links::Left }
}

/// Adds what a sweep comes upon where the links lead that it follows.
pub(super) fn look<'a>(call: &Call<'a>, (sweep, start): (&Sweep<'_>, &Start), seen: &mut Seen<'a>) {
    let is_denied = seen.ruled.as_ref().is_some_and(|(rule, _)| rule.decision == Decision::Deny);
    let Some(ground) = call.ground.look() else { return };
    if sweep.links == Links::Left || is_denied {
        return;
    }
    let decisions = [Decision::Deny, Decision::Ask].into_iter();
    let rules = decisions.flat_map(|decision| call.rules_that(decision));
    let rules: Vec<&Rule> = rules.filter(|rule| is_about(rule, sweep.touch)).collect();
    if rules.is_empty() {
        return;
    }
    let mut way = Way { ground, sweep, start, folders: vec![start.named.clone()], left: MOST };
    let sought = way.go(&mut |path| {
        let Some(rule) = rules.iter().find(|rule| speaks(call, rule, path)) else { return false };
        if seen.ruled.as_ref().is_none_or(|(it, _)| rule.decision > it.decision) {
            seen.ruled = Some((*rule, path.to_owned()));
        }
        rule.decision == Decision::Deny
    });
    if sought == Sought::TooMany {
        (seen.is_unsure, seen.is_untold) = (true, true);
    }
}

/// The way through a start, and through the folders that links lead to.
struct Way<'a> {
    ground: &'a dyn Look,
    sweep: &'a Sweep<'a>,
    start: &'a Start,
    folders: Vec<PathBuf>,
    /// How many links may yet be followed.
    left: usize,
}

impl Way<'_> {
    /// The first file that links lead to which is `wanted`.
    fn go(&mut self, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        let mut at = 0;
        while let Some(folder) = self.folders.get(at).cloned() {
            if at > FOLDERS {
                return Sought::TooMany;
            }
            let width = if at == 0 { self.sweep.width } else { Width::Everything };
            let (ground, mut listing) = (self.ground, Listing::default());
            let sought = ground.seek(&folder, width, &mut |path| {
                let is_opened =
                    self.sweep.opens(path, &folder) && (at > 0 || self.start.means(path));
                if at > 0 && is_opened && wanted(path) {
                    return true;
                }
                let end = listing.end(ground, path);
                end.is_some_and(|end| {
                    self.left = self.left.saturating_sub(1);
                    let is_opened = is_opened && (self.is_opened() || !self.enters(&end));
                    self.left == 0 || (is_opened && wanted(&end))
                })
            });
            match sought {
                Sought::Nothing => at += 1,
                Sought::Found(_) if self.left == 0 => return Sought::TooMany,
                Sought::Found(_) | Sought::TooMany => return sought,
            }
        }
        Sought::Nothing
    }

    /// Whether links are opened where they are found, and those to folders not gone through.
    fn is_opened(&self) -> bool {
        self.sweep.links == Links::Opened
    }

    /// Notes a folder that a link leads to; says whether it is one.
    fn enters(&mut self, end: &Path) -> bool {
        if self.ground.real(&end.join(".")).is_none() {
            return false;
        }
        let sweep = self.sweep;
        // All that lies below the start is looked at anyway.
        let is_whole =
            sweep.width == Width::Everything && sweep.never.is_empty() && sweep.skips.is_empty();
        let is_known = is_whole && end.starts_with(&self.start.real)
            || self.folders.iter().skip(1).any(|it| end.starts_with(it));
        if !is_known {
            self.folders.push(end.to_owned());
        }
        true
    }
}

/// What the names in the last folder are names of.
#[derive(Default)]
struct Listing {
    folder: PathBuf,
    files: HashMap<OsString, Entry>,
}

impl Listing {
    /// Where a path leads that may be a link.
    fn end(&mut self, ground: &dyn Look, path: &Path) -> Option<PathBuf> {
        let folder = path.parent()?;
        if self.folder != folder {
            folder.clone_into(&mut self.folder);
            self.files = ground.entries(folder).unwrap_or_default().into_iter().collect();
        }
        let is_file = self.files.get(path.file_name()?) == Some(&Entry::File);
        if is_file { None } else { ground.real(path).filter(|end| end != path) }
    }
}
