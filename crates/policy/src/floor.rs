//! The dangerous-path floor: what is never done without a person, in any mode and under any flag.
//! It looks at every command a text could run, and asks too often rather than too rarely.

mod calls;
mod destroy;
mod disks;
mod found;
mod git;
mod mounts;
mod targets;

use contract::policy::Decision;

use crate::commands::Index;
use crate::ground::{Ends, Ground};
use crate::paths::Places;
use crate::shell::{Fit, Found, GAP, Piece, Survey};
use mounts::Mounts;

/// Something that the floor stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Danger {
    /// Ask, or deny where there is no sensible answer but no.
    pub(crate) decision: Decision,
    /// The command.
    pub(crate) subject: String,
    /// Why.
    pub(crate) why: String,
}

impl Danger {
    /// Whether it rests on a path that is not known.
    pub(crate) fn is_untold(&self) -> bool {
        self.why.contains("only the running shell knows")
    }
}

/// Programs that the floor knows.
const PROGRAMS: &[&str] = &[
    "rm",
    "rmdir",
    "unlink",
    "shred",
    "truncate",
    "srm",
    "rimraf",
    "del",
    "del-cli",
    "mv",
    "chmod",
    "chown",
    "chgrp",
    "chattr",
    "setfacl",
    "trash",
    "trash-put",
    "gio",
    "tar",
    "zip",
    "7z",
    "find",
    "fd",
    "fdfind",
    "rclone",
    "wipe",
    "rename",
    "rsync",
    "mkfs",
    "mke2fs",
    "mkdosfs",
    "mkntfs",
    "newfs",
    "git",
];

/// Other names of some of them: those of GNU beside others of the system, and programs that stand in for them.
const ALIASES: &[(&str, &str)] = &[
    ("grm", "rm"),
    ("gmv", "mv"),
    ("gchmod", "chmod"),
    ("gchown", "chown"),
    ("gchgrp", "chgrp"),
    ("gshred", "shred"),
    ("gtruncate", "truncate"),
    ("gfind", "find"),
    ("gtar", "tar"),
    ("gdd", "dd"),
    ("fdfind", "fd"),
    ("rmtrash", "trash"),
    ("7za", "7z"),
    ("7zr", "7z"),
    ("7zz", "7z"),
    ("prename", "rename"),
    ("hub", "git"),
];

/// The places that are dear, where links lead, and what is mounted.
pub(crate) struct Around<'a> {
    places: &'a Places,
    ends: Ends<'a>,
    mounts: Mounts<'a>,
}

/// More dangers than this are not listed.
const LISTED: usize = 8;

/// Everything dangerous about `text`, as surveyed.
pub(crate) fn dangers(
    text: &str,
    survey: &Survey,
    index: &Index,
    (places, ground): (&Places, &Ground),
) -> Vec<Danger> {
    let ends = Ends::new(ground, &places.workspace);
    let around = &Around { places, ends, mounts: Mounts::new(ground) };
    let mut found = Vec::new();
    if is_fork_bomb(text) {
        found.push(Danger {
            decision: Decision::Ask,
            subject: text.to_owned(),
            why: String::from("a function that starts itself twice fills the machine"),
        });
    }
    let devices = disks::PROGRAMS.iter().map(|(name, _)| name);
    let plain = PROGRAMS.iter().chain(disks::COPYING).chain(devices).map(|name| (name, name));
    for (called, name) in plain.chain(ALIASES.iter().map(|(called, name)| (called, name))) {
        for (command, at) in index.running(survey, called) {
            found.extend(judge(name, command, &command.argv()[at..], around));
        }
    }
    found.extend(put_together(text));
    for (command, at) in index.running_any(survey, "mkfs.") {
        found.extend(judge("mkfs", command, &command.argv()[at..], around));
    }
    found.extend(through_links(survey, index));
    found.extend(calls::deleting(text, survey, around));
    found.sort_by_key(|danger| std::cmp::Reverse(danger.decision));
    found.dedup();
    found.truncate(LISTED);
    found.extend(disks::overwritten_disk(text, survey));
    if around.ends.is_cut_short() {
        found.push(Danger {
            decision: Decision::Ask,
            subject: contract::text::head(text, 200).to_owned(),
            why: String::from("it destroys more paths than can be followed"),
        });
    }
    found
}

/// What deletes through a link that the same text makes: nobody knows yet where that leads.
fn through_links(survey: &Survey, index: &Index) -> Option<Danger> {
    let last = |(command, at): (&Found, usize)| {
        let words = command.argv().get(at + 1..).unwrap_or_default();
        let name = words.last()?.text.trim_end_matches('/');
        Some(name.trim_start_matches("./").to_owned())
    };
    let made = index.running(survey, "ln").take(LISTED).filter_map(last);
    let made: Vec<String> = made.filter(|name| !name.is_empty()).collect();
    let leads = |word: &Piece| {
        let mut text = word.text.as_str();
        while let Some(rest) = text.strip_prefix("./") {
            text = rest;
        }
        let beneath = |name: &String| {
            let rest = text.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        made.iter().any(beneath)
    };
    let destroying = ["rm", "shred", "chmod", "chown", "chgrp", "find", "mv"];
    let mut commands = destroying.iter().flat_map(|name| index.running(survey, name));
    let (command, at) = commands
        .find(|(command, at)| !made.is_empty() && command.argv().iter().skip(at + 1).any(leads))?;
    Some(Danger {
        decision: Decision::Ask,
        subject: shown(&command.argv()[at..]),
        why: String::from("it goes through a link that it makes itself"),
    })
}

/// A program whose arguments only the running shell tells apart: what they are is not known here.
fn put_together(text: &str) -> Option<Danger> {
    if !text.contains("IFS") {
        return None;
    }
    let begins = |rest: &str| rest.starts_with("$IFS") || rest.starts_with("${IFS");
    let mut programs = PROGRAMS.iter().chain(disks::COPYING);
    let name = programs.find(|name| {
        text.match_indices(**name).any(|(at, name)| {
            let is_whole = !text[..at].ends_with(|c: char| c.is_alphanumeric() || "_-".contains(c));
            is_whole && begins(&text[at + name.len()..])
        })
    })?;
    Some(Danger {
        decision: Decision::Ask,
        subject: contract::text::head(text, 200).to_owned(),
        why: format!("it runs `{name}` with words that only the running shell tells apart"),
    })
}

fn judge(name: &str, command: &Found, words: &[Piece], around: &Around<'_>) -> Option<Danger> {
    let args = words.get(1..).unwrap_or_default();
    // What `xargs` deletes is asked about as a whole.
    if command.fit == Fit::Handed {
        let (decision, why) = destroy::judge_listed(name, args, command, around)?;
        return Some(Danger { decision, subject: shown(words), why });
    }
    let (decision, why) =
        match name {
            "rm" | "rmdir" | "unlink" | "shred" | "truncate" | "srm" | "rimraf" | "del"
            | "del-cli" | "mv" | "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "trash"
            | "trash-put" | "gio" | "tar" | "zip" | "7z" | "find" | "rclone" | "wipe"
            | "rename" | "rsync" => destroy::judge(name, args, command, around)?,
            "fd" | "fdfind" => destroy::judge("fd", args, command, around)
                .or_else(|| found::executed_on_all(args))?,
            "git" => (Decision::Ask, git::judge(args, command, around.places)?),
            "mkfs" | "mke2fs" | "mkdosfs" | "mkntfs" | "newfs" => {
                (Decision::Ask, String::from("it formats a disk"))
            }
            _ if disks::COPYING.contains(&name) => {
                (Decision::Ask, disks::overwritten(name, args, command)?)
            }
            _ if disks::changes(name, args) => (Decision::Ask, String::from("it changes a disk")),
            _ => return None,
        };
    Some(Danger { decision, subject: shown(words), why })
}

/// A command as people read it, shortened, with a mark for what only the running shell knows.
pub(crate) fn shown(words: &[Piece]) -> String {
    let words: Vec<String> = words.iter().take(24).map(Piece::marked).collect();
    contract::text::head(&words.join(" ").replace(GAP, "${..}"), 200).to_owned()
}

/// Whether a text defines a function that pipes into itself in the background.
fn is_fork_bomb(text: &str) -> bool {
    if !text.contains('|') || !(text.contains("()") || text.contains("function")) {
        return false;
    }
    let dense: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let name_end = |c: char| !(c.is_alphanumeric() || "_:.-".contains(c));
    dense.match_indices('|').any(|(at, _)| {
        let after = &dense[at + 1..];
        let Some(end) = after.find(name_end) else {
            return false;
        };
        let name = &after[..end];
        !name.is_empty() && after[end..].starts_with('&') && dense[..at].ends_with(name)
    })
}
