//! The dangerous-path floor: what is never done without a person, in any mode and under any flag.
//! It looks at every command a text could run, and asks too often rather than too rarely.

mod destroy;
mod git;

use std::borrow::Cow;

use contract::policy::Decision;

use crate::commands::{Index, written};
use crate::paths::Places;
use crate::shell::{Fit, Found, Piece, Survey};

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

/// Programs that the floor knows.
const PROGRAMS: &[&str] = &[
    "rm",
    "rmdir",
    "unlink",
    "shred",
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
    "find",
    "rsync",
    "dd",
    "mkfs",
    "mke2fs",
    "mkdosfs",
    "mkntfs",
    "newfs",
    "mkswap",
    "wipefs",
    "fdisk",
    "sfdisk",
    "cfdisk",
    "sgdisk",
    "gdisk",
    "parted",
    "blkdiscard",
    "git",
];

/// More dangers than this are not listed.
const LISTED: usize = 8;

/// Everything dangerous about `text`, as surveyed.
pub(crate) fn dangers(text: &str, survey: &Survey, index: &Index, places: &Places) -> Vec<Danger> {
    let mut found = Vec::new();
    if is_fork_bomb(text) {
        found.push(Danger {
            decision: Decision::Ask,
            subject: text.to_owned(),
            why: String::from("a function that starts itself twice fills the machine"),
        });
    }
    for name in PROGRAMS {
        for (command, at) in index.running(survey, name) {
            found.extend(judge(name, command, &command.argv()[at..], places));
        }
    }
    for (command, at) in index.running_any(survey, "mkfs.") {
        found.extend(judge("mkfs", command, &command.argv()[at..], places));
    }
    found.extend(through_links(survey, index));
    found.extend(calls(text, survey, places));
    found.sort_by_key(|danger| std::cmp::Reverse(danger.decision));
    found.dedup();
    found.truncate(LISTED);
    found.extend(overwritten_disk(text, survey));
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

/// What a program in another language deletes, where it says so by name.
fn calls(text: &str, survey: &Survey, places: &Places) -> Option<Danger> {
    const CALLS: &[&str] = &[
        "rmtree(",
        "remove_tree(",
        "rm_rf(",
        "rm_rf ",
        "rm_r(",
        "rm_r ",
        "rmSync(",
        "rmdirSync(",
        "rimraf(",
        "rimraf.sync(",
        "remove_dir_all(",
        "removeSync(",
        "fs.rm(",
        "fs.rmdir(",
        "promises.rm(",
    ];
    const PARTS: &[&str] = &["rmtree", "remove", "rm_r", "rmSync", "rmdirS", "rimraf", "s.rm"];
    let command = survey.commands.first()?;
    if !PARTS.iter().any(|part| text.contains(part)) {
        return None;
    }
    let is_quote = |c: char| c == '"' || c == '\'';
    let named = CALLS.iter().flat_map(|call| {
        text.match_indices(call).take(LISTED).filter_map(|(at, call)| {
            let after = contract::text::head(&text[at + call.len()..], 400).trim_start();
            let after = after.trim_start_matches("os.path.expanduser(").trim_start_matches('\\');
            let literal = after.strip_prefix(is_quote)?;
            let end = literal.find(|c| is_quote(c) || c == '\\')?;
            Some((call, &literal[..end]))
        })
    });
    let judged = named.filter_map(|(call, target)| {
        let decision = destroy::judge_call(target, command, places)?;
        let subject = format!("{call}{target}");
        Some(Danger { decision, subject, why: String::from("it deletes a whole tree") })
    });
    judged.max_by_key(|danger| danger.decision)
}

fn overwritten_disk(text: &str, survey: &Survey) -> Option<Danger> {
    if !text.contains("/dev/") {
        return None;
    }
    let redirected = survey.redirections.iter().map(|redirection| &redirection.target);
    let redirected =
        redirected.filter(|target| target.writes).map(|target| Cow::Borrowed(&target.word));
    let written = survey.commands.iter().flat_map(|found| written(found.argv()));
    let disk = redirected.chain(written).find(|word| is_disk(&word.text))?;
    Some(Danger {
        decision: Decision::Ask,
        subject: disk.into_owned().text,
        why: String::from("it overwrites a disk"),
    })
}

fn judge(name: &str, command: &Found, words: &[Piece], places: &Places) -> Option<Danger> {
    let args = words.get(1..).unwrap_or_default();
    // What `xargs` deletes is asked about as a whole.
    if command.fit == Fit::Handed {
        let (decision, why) = destroy::judge_listed(name, args, command, places)?;
        return Some(Danger { decision, subject: shown(words), why });
    }
    let (decision, why) = match name {
        "rm" | "rmdir" | "unlink" | "shred" | "mv" | "chmod" | "chown" | "chgrp" | "chattr"
        | "setfacl" | "trash" | "trash-put" | "gio" | "tar" | "zip" | "find" | "rsync" => {
            destroy::judge(name, args, command, places)?
        }
        "dd" => (Decision::Ask, overwritten(args)?),
        "mkswap" | "wipefs" | "fdisk" | "sfdisk" | "cfdisk" | "sgdisk" | "gdisk" | "parted"
        | "blkdiscard" => (Decision::Ask, String::from("it changes a disk")),
        "git" => (Decision::Ask, git::judge(args)?),
        "mkfs" | "mke2fs" | "mkdosfs" | "mkntfs" | "newfs" => {
            (Decision::Ask, String::from("it formats a disk"))
        }
        _ => return None,
    };
    Some(Danger { decision, subject: shown(words), why })
}

/// What `dd` overwrites, where that may be a device.
fn overwritten(args: &[Piece]) -> Option<String> {
    args.iter().find_map(|word| {
        let target = word.text.strip_prefix("of=")?;
        let is_device = target.starts_with("/dev/") && target != "/dev/null";
        let what = match (is_device, word.dynamic && target.is_empty()) {
            (true, _) => "a device",
            (false, true) => "a file that only the running shell knows",
            (false, false) => return None,
        };
        Some(format!("it overwrites {what}"))
    })
}

/// A command as people read it, shortened.
pub(crate) fn shown(words: &[Piece]) -> String {
    let words: Vec<&str> = words.iter().take(24).map(|word| word.text.as_str()).collect();
    contract::text::head(&words.join(" "), 200).to_owned()
}

/// Whether a path is a whole disk or a part of one.
fn is_disk(path: &str) -> bool {
    path.strip_prefix("/dev/").is_some_and(|device| {
        ["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "dm-", "mapper/", "md", "loop"]
            .iter()
            .any(|kind| device.starts_with(kind))
    })
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
