//! Deleting, moving and re-owning whole trees.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use contract::policy::Decision;

use super::Around;
use super::found;
use super::targets::{Destroyed, targets};
use crate::glob::{Reading, meet};
use crate::ground;
use crate::paths::{Place, Places};
use crate::shell::{Found, Piece, resolve};

/// Folders of the system; losing one loses the machine.
const SYSTEM: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "lib32",
    "lib64",
    "proc",
    "root",
    "sbin",
    "sys",
    "usr",
    "System",
    "Library",
    "Users",
    "Applications",
];

/// Where anybody keeps what is soon forgotten; the last two are what they are on a Mac.
const SCRATCH: &[&str] = &["/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp"];

/// How bad losing a path is.
enum Loss {
    None,
    Grave(String),
    Total(String),
}

/// Judges a text of a program that deletes the tree of this name.
pub(crate) fn judge_call(target: &str, command: &Found, around: &Around<'_>) -> Option<Decision> {
    let home = target == "~" || target.starts_with("~/");
    let target = Piece { text: target.to_owned(), home, ..Piece::default() };
    let manner = Manner { is_filtered: false, follows: false };
    let losses = losses(&target, command, around, manner).into_iter();
    let decisions = losses.filter_map(|loss| match loss {
        Loss::None => None,
        Loss::Grave(_) => Some(Decision::Ask),
        Loss::Total(_) => Some(Decision::Deny),
    });
    decisions.max()
}

/// Judges a program that destroys trees.
pub(crate) fn judge(
    name: &str,
    args: &[Piece],
    command: &Found,
    around: &Around<'_>,
) -> Option<(Decision, String)> {
    let here = Piece { text: String::from("."), ..Piece::default() };
    let Destroyed { targets, verb, is_filtered, follows } = targets(name, args, &here)?;
    if targets.is_empty() && name == "rm" {
        let why = format!("it {verb} what it is given on its standard input");
        return Some((Decision::Ask, why));
    }
    if let Some(sought) = found::sought_repository(args).filter(|_| name == "find") {
        let why = format!("it deletes what is called `{sought}`, the repository's history");
        return Some((Decision::Ask, why));
    }
    let mut worst: Option<(Decision, String)> = None;
    let mut known: HashSet<&Piece> = HashSet::new();
    let mut last: Option<&Piece> = None;
    for target in targets {
        // Nothing is worse than the worst, and many words come again and again.
        let is_worst = worst.as_ref().is_some_and(|(decision, _)| *decision == Decision::Deny);
        if is_worst || last == Some(target) || !known.insert(target) {
            continue;
        }
        last = Some(target);
        // Those of JavaScript fill in patterns themselves.
        let is_wild = name != "rm" && is_final(name) && target.text.contains(['*', '?', '[']);
        // To these two stars stand for any folders, and for none.
        let text = if is_wild { target.text.replace("**/", "") } else { target.text.clone() };
        let target = &Piece { text, glob: target.glob || is_wild, ..target.clone() };
        for loss in losses(target, command, around, Manner { is_filtered, follows }) {
            let (decision, why) = match loss {
                Loss::None => continue,
                Loss::Total(what)
                    if is_final(name) || (name == "find" && found::deletes_all(args)) =>
                {
                    (Decision::Deny, format!("it {verb} {what}"))
                }
                Loss::Total(what) | Loss::Grave(what) => {
                    (Decision::Ask, format!("it {verb} {what}"))
                }
            };
            if worst.as_ref().is_none_or(|(before, _)| decision > *before) {
                worst = Some((decision, why));
            }
        }
    }
    worst
}

/// Judges a program that destroys the files whose names another one prints for it.
pub(crate) fn judge_listed(
    name: &str,
    args: &[Piece],
    command: &Found,
    around: &Around<'_>,
) -> Option<(Decision, String)> {
    let is_lister =
        |word: &Piece| matches!(word.text.as_str(), "git" | "find" | "rg" | "fd" | "fdfind");
    let at = args.iter().position(is_lister)?;
    let given = &args[at + 1..];
    if args[at].text == "find" {
        let run = ["-exec", name].map(|text| Piece { text: text.to_owned(), ..Piece::default() });
        let (_, why) = judge("find", &[given, &run].concat(), command, around)?;
        return Some((Decision::Ask, why));
    }
    if !matches!(name, "rm" | "unlink" | "shred" | "trash" | "trash-put") {
        return None;
    }
    let has_files = given.iter().any(|word| word.text == "--files");
    match args[at].text.as_str() {
        "rg" if has_files => return found::listed_all(given),
        "fd" | "fdfind" => return found::listed_all(given),
        _ => {}
    }
    let listing = given.iter().position(|word| word.text == "ls-files")?;
    let mut named = given[listing + 1..].iter().filter(|word| !word.text.starts_with('-'));
    let whole = |word: &Piece| matches!(word.text.as_str(), "." | "./" | ":/" | "*");
    let why = String::from("it deletes every file that git keeps, also with uncommitted work");
    named.all(whole).then_some((Decision::Ask, why))
}

/// Whether a program deletes whole trees for good.
fn is_final(name: &str) -> bool {
    matches!(name, "rm" | "rimraf" | "del" | "del-cli")
}

/// How a program goes about it.
#[derive(Clone, Copy)]
struct Manner {
    /// Whether most of what is there is left out.
    is_filtered: bool,
    /// Whether a link that is named itself is gone through.
    follows: bool,
}

fn losses(target: &Piece, command: &Found, around: &Around<'_>, manner: Manner) -> Vec<Loss> {
    if target.dynamic {
        let what = String::from("a path that only the running shell knows");
        return vec![Loss::Grave(what)];
    }
    let places = around.places;
    let relative = !target.home && !target.text.starts_with('/');
    let mut losses = Vec::new();
    for folder in command.folders.iter() {
        let is_ordinary = !target.home && places.is_ordinary(&target.text, folder);
        if is_ordinary && !manner.follows && !target.text.contains('/') {
            let path = around.ends.of(folder).join(&target.text);
            losses.push(mounted(&path, false, around, manner));
            continue;
        }
        let Some(path) = resolve(target, folder, places.home.as_deref()) else {
            losses.push(Loss::Total(String::from("the home folder")));
            continue;
        };
        let judged = |path: &Path, glob: bool| match loss(path, glob, places, manner.is_filtered) {
            Loss::None => mounted(path, glob, around, manner),
            worse @ (Loss::Grave(_) | Loss::Total(_)) => worse,
        };
        losses.push(judged(&path, target.glob));
        let led = ends(target, folder, around, manner.follows).into_iter();
        let others = led.filter(|(end, _)| *end != path);
        losses.extend(others.map(|(end, glob)| judged(&end, glob)));
    }
    if relative && command.adrift {
        let what = String::from("a path in a folder that only the running shell knows");
        losses.push(Loss::Grave(what));
    }
    losses
}

/// Where a target leads by the links that are there, each with whether it is a pattern. A link that is named
/// itself counts only where the program follows it, or the name ends with a slash.
fn ends(target: &Piece, folder: &Path, around: &Around<'_>, follows: bool) -> Vec<(PathBuf, bool)> {
    let Around { places, ends, .. } = around;
    let whole = match (target.home, &places.home) {
        (true, Some(home)) => home.join(target.text.trim_start_matches('~').trim_matches('/')),
        (true, None) => return Vec::new(),
        (false, _) => folder.join(&target.text),
    };
    let root = Path::new("/");
    let whole = whole.to_string_lossy();
    let is_entered = follows || ["/", "/.", "/.."].iter().any(|end| target.text.ends_with(end));
    let Some((parent, name)) = whole.trim_end_matches('/').rsplit_once('/') else {
        return Vec::new();
    };
    let is_wild = |text: &str| target.glob && ground::is_wild(text);
    let mut found = Vec::new();
    if is_wild(parent) || (is_entered && is_wild(name)) {
        let entered = ends.meant(root, &whole, Reading::Names);
        found.extend(entered.paths.iter().filter(|_| is_entered).map(|it| (it.clone(), false)));
        let above = ends.meant(root, parent, Reading::Names);
        // A shell fills in only what is there.
        let is_there = |folder: &&PathBuf| {
            if is_wild(name) {
                !ends.meant(folder, name, Reading::Names).paths.is_empty()
            } else {
                ends.is_there(&folder.join(name))
            }
        };
        let above = above.paths.iter().filter(is_there);
        found.extend(above.map(|it| (it.join(name), is_wild(name))));
    } else if is_entered && !is_wild(name) {
        found.extend(ends.walked(root, &whole).map(|it| (it, false)));
    } else {
        found.extend(ends.walked(root, parent).map(|it| (it.join(name), is_wild(name))));
    }
    found
}

/// Losing what is mounted at a path or below it.
fn mounted(path: &Path, glob: bool, around: &Around<'_>, manner: Manner) -> Loss {
    if manner.is_filtered {
        return Loss::None;
    }
    let (folder, _) = emptied(path, glob);
    let mount = if glob && ground::is_wild(&folder.to_string_lossy()) {
        around.mounts.meant(folder, &around.ends)
    } else {
        around.mounts.at(folder)
    };
    mount.map_or(Loss::None, |mount| {
        Loss::Grave(format!("`{}`, where a disk or folder is mounted", mount.display()))
    })
}

/// The folder of which all is lost, and whether a pattern says so: `folder/*` is all of the folder.
fn emptied(path: &Path, glob: bool) -> (&Path, bool) {
    let last = path.file_name().filter(|_| glob).map(|name| name.to_string_lossy());
    let all_of = last.is_some_and(|name| {
        ["x", ".x"].iter().any(|any| meet((&name, Reading::Shell), (any, Reading::Literal)))
            && !name.contains('x')
    });
    let folder = path.parent().filter(|_| all_of).unwrap_or(path);
    (folder, all_of && path.parent().is_some())
}

fn loss(path: &Path, glob: bool, places: &Places, filtered: bool) -> Loss {
    let (folder, all_of) = emptied(path, glob);
    let shown = folder.display();
    if glob && let Some(what) = kept_by_pattern(folder, places) {
        return what;
    }
    if places.workspace.starts_with(folder) {
        return match (folder == places.workspace, all_of, filtered) {
            (true, _, true) => Loss::None,
            (true, true, _) => Loss::Grave(String::from("everything in the workspace")),
            _ => Loss::Total(format!("`{shown}`, which holds the workspace")),
        };
    }
    if places.home.as_ref().is_some_and(|home| home.starts_with(folder)) {
        return Loss::Total(format!("`{shown}`, which holds the home folder"));
    }
    let inside = places.place(folder) == Place::Inside;
    if inside {
        let git = folder.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
        return if git {
            Loss::Grave(format!("`{shown}`, the repository's history"))
        } else {
            Loss::None
        };
    }
    let mut components = folder.components().skip(1);
    let top = components.next().map(|top| top.as_os_str().to_string_lossy().into_owned());
    let reading = if glob { Reading::Shell } else { Reading::Literal };
    let system = top.is_some_and(|top| {
        SYSTEM.iter().any(|name| meet((&top, reading), (name, Reading::Literal)))
    });
    match (system, components.next().is_some()) {
        (true, false) => Loss::Total(format!("`{shown}`, a part of the system")),
        (false, false) => Loss::Grave(format!("`{shown}`, a folder at the root")),
        (_, true) if SCRATCH.iter().any(|scratch| folder.starts_with(scratch)) => Loss::None,
        (_, true) => Loss::Grave(format!("`{shown}`, outside the workspace")),
    }
}

/// What a pattern means that nobody wants to lose.
fn kept_by_pattern(pattern: &Path, places: &Places) -> Option<Loss> {
    let shown = pattern.display();
    let is_wild = |path: &Path| path.to_string_lossy().contains(['*', '?', '[']);
    if !is_wild(pattern) {
        return None;
    }
    let names = |path: &Path| -> Vec<String> {
        path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let wanted = names(pattern);
    let is_meant = |place: &Path| {
        let place = names(place);
        let meets = |(wild, name): (&String, &String)| {
            meet((wild, Reading::Shell), (name, Reading::Literal))
        };
        wanted.len() == place.len() && wanted.iter().zip(&place).all(meets)
    };
    let holds = |place: &Path| place.ancestors().any(is_meant);
    if holds(&places.workspace) {
        return Some(Loss::Total(format!("`{shown}`, which holds the workspace")));
    }
    if places.home.as_deref().is_some_and(holds) {
        return Some(Loss::Total(format!("`{shown}`, which holds the home folder")));
    }
    // What is above the project was gone into for certain; a star that begins a name stands for no dot.
    let above = names(&places.workspace).len();
    let could_be_git =
        |name: &String| !name.starts_with('*') && is_wild(Path::new(name)) && is_repository(name);
    let is_git = wanted.iter().skip(above).any(could_be_git);
    let is_inside = places.place(pattern) == Place::Inside;
    let what = || Loss::Grave(format!("`{shown}`, the repository's history"));
    (is_git && is_inside).then(what)
}

/// Whether a name could be that of the folder in which a repository keeps its history.
pub(super) fn is_repository(name: &str) -> bool {
    meet((&name.to_ascii_lowercase(), Reading::Shell), (".git", Reading::Literal))
}
