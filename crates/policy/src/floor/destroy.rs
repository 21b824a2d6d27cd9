//! Deleting, moving and re-owning whole trees.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use contract::policy::Decision;

use crate::glob::{Reading, meet};
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

/// How bad losing a path is.
enum Loss {
    None,
    Grave(String),
    Total(String),
}

/// Judges a text of a program that deletes the tree of this name.
pub(crate) fn judge_call(target: &str, command: &Found, places: &Places) -> Option<Decision> {
    let home = target == "~" || target.starts_with("~/");
    let target = Piece { text: target.to_owned(), home, ..Piece::default() };
    let losses = losses(&target, command, places, false).into_iter();
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
    places: &Places,
) -> Option<(Decision, String)> {
    let here = Piece { text: String::from("."), ..Piece::default() };
    let (targets, verb) = match name {
        "rm" | "shred" if recursive(args, "rR") => (operands(args), "deletes"),
        // A variable may hold the option.
        "rm" | "shred" if args.iter().any(|word| word.dynamic && word.text.is_empty()) => {
            let known: Vec<_> = operands(args).into_iter().filter(|word| !word.dynamic).collect();
            if known.is_empty() {
                return None;
            }
            (known, "deletes")
        }
        "chmod" | "chown" | "chgrp" | "chattr" if recursive(args, "R") => {
            (operands(args).into_iter().skip(1).collect(), "changes all of")
        }
        "setfacl" if recursive(args, "R") => (operands(args), "changes all of"),
        "trash" | "trash-put" => (operands(args), "throws away"),
        "gio"
            if args
                .first()
                .is_some_and(|word| matches!(word.text.as_str(), "trash" | "remove")) =>
        {
            (operands(&args[1..]), "throws away")
        }
        "mv" => {
            let mut sources = operands(args);
            sources.pop();
            (sources, "moves")
        }
        "tar" if args.iter().any(|word| word.text == "--remove-files") => {
            (operands(args), "moves into an archive")
        }
        "zip" if recursive(args, "r") && args.iter().any(moves) => {
            (operands(args), "moves into an archive")
        }
        "find" if deletes(args) => {
            let mut points = starting_points(args);
            if points.is_empty() {
                points.push(&here);
            }
            (points, "deletes files in")
        }
        "rsync" if args.iter().any(|word| word.text.starts_with("--del")) => {
            let destination = operands(args).pop();
            (destination.into_iter().collect(), "deletes files in")
        }
        _ => return None,
    };
    if targets.is_empty() && matches!(name, "rm" | "shred") {
        let why = format!("it {verb} what it is given on its standard input");
        return Some((Decision::Ask, why));
    }
    if let Some(sought) = sought_repository(args).filter(|_| name == "find") {
        let why = format!("it deletes what is called `{sought}`, the repository's history");
        return Some((Decision::Ask, why));
    }
    let filtered = name == "find" && args.windows(2).any(|pair| is_filter(&pair[0], &pair[1]));
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
        for loss in losses(target, command, places, filtered) {
            let (decision, why) = match loss {
                Loss::None => continue,
                Loss::Total(what) if name == "rm" || deletes_all(name, args) => {
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

/// Judges a program that deletes the files whose names another one prints for it.
pub(crate) fn judge_listed(
    name: &str,
    args: &[Piece],
    command: &Found,
    places: &Places,
) -> Option<(Decision, String)> {
    if !matches!(name, "rm" | "unlink" | "shred" | "trash" | "trash-put") {
        return None;
    }
    let is_lister = |word: &Piece| matches!(word.text.as_str(), "git" | "find");
    let at = args.iter().position(is_lister)?;
    let given = &args[at + 1..];
    if args[at].text == "find" {
        let delete = Piece { text: String::from("-delete"), ..Piece::default() };
        let (_, why) = judge("find", &[given, &[delete]].concat(), command, places)?;
        return Some((Decision::Ask, why));
    }
    let listing = given.iter().position(|word| word.text == "ls-files")?;
    let mut named = given[listing + 1..].iter().filter(|word| !word.text.starts_with('-'));
    let whole = |word: &Piece| matches!(word.text.as_str(), "." | "./" | ":/" | "*");
    let why = String::from("it deletes every file that git keeps, also with uncommitted work");
    named.all(whole).then_some((Decision::Ask, why))
}

fn recursive(args: &[Piece], letters: &str) -> bool {
    args.iter().any(|word| {
        let text = word.text.as_str();
        if let Some(long) = text.strip_prefix("--") {
            return long.len() >= 3 && "recursive".starts_with(long);
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

/// Whether an option of `zip` says that what is packed goes away.
fn moves(word: &Piece) -> bool {
    let is_short = word.text.starts_with('-') && !word.text.starts_with("--");
    word.text == "--move" || (is_short && word.text.contains('m'))
}

fn deletes(args: &[Piece]) -> bool {
    args.iter().enumerate().any(|(at, word)| match word.text.as_str() {
        "-delete" => true,
        "-exec" | "-execdir" | "-ok" | "-okdir" => args
            .get(at + 1)
            .is_some_and(|program| matches!(program.text.as_str(), "rm" | "unlink" | "shred")),
        _ => false,
    })
}

fn starting_points(args: &[Piece]) -> Vec<&Piece> {
    args.iter()
        .skip_while(|word| matches!(word.text.as_str(), "-L" | "-H" | "-P"))
        .take_while(|word| !word.text.starts_with(['-', '(', '!']))
        .collect()
}

/// Whether `find` deletes whatever it comes to.
fn deletes_all(name: &str, args: &[Piece]) -> bool {
    const PLAIN: &[&str] = &["-delete", "-depth", "-xdev", "-mount", "-print", "-L", "-H", "-P"];
    let mut expression = args.iter().filter(|word| word.text.starts_with(['-', '(', '!']));
    name == "find" && expression.all(|word| PLAIN.contains(&word.text.as_str()))
}

/// Whether a test leaves files out.
fn is_filter(test: &Piece, value: &Piece) -> bool {
    let is_test = matches!(
        test.text.as_str(),
        "-name" | "-iname" | "-path" | "-ipath" | "-regex" | "-iregex" | "-mtime" | "-mmin"
    );
    is_test && value.text.contains(|c| !"*.?/".contains(c))
}

fn losses(target: &Piece, command: &Found, places: &Places, filtered: bool) -> Vec<Loss> {
    if target.dynamic {
        let what = String::from("a path that only the running shell knows");
        return vec![Loss::Grave(what)];
    }
    let relative = !target.home && !target.text.starts_with('/');
    let mut losses: Vec<Loss> = command
        .folders
        .iter()
        .map(|folder| {
            if !target.home && places.is_ordinary(&target.text, folder) {
                return Loss::None;
            }
            match resolve(target, folder, places.home.as_deref()) {
                Some(path) => loss(&path, target.glob, places, filtered),
                None => Loss::Total(String::from("the home folder")),
            }
        })
        .collect();
    if relative && command.adrift {
        let what = String::from("a path in a folder that only the running shell knows");
        losses.push(Loss::Grave(what));
    }
    losses
}

fn loss(path: &Path, glob: bool, places: &Places, filtered: bool) -> Loss {
    // `folder/*` is all of the folder.
    let last = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let all_of = glob
        && last.is_some_and(|name| {
            ["x", ".x"].iter().any(|any| meet((&name, Reading::Shell), (any, Reading::Literal)))
                && !name.contains('x')
        });
    let folder: PathBuf = match path.parent() {
        Some(parent) if all_of => parent.to_path_buf(),
        Some(_) | None => path.to_path_buf(),
    };
    let shown = folder.display();
    if glob && let Some(what) = kept_by_pattern(&folder, places) {
        return what;
    }
    if places.workspace.starts_with(&folder) {
        return match (folder == places.workspace, all_of, filtered) {
            (true, _, true) => Loss::None,
            (true, true, _) => Loss::Grave(String::from("everything in the workspace")),
            _ => Loss::Total(format!("`{shown}`, which holds the workspace")),
        };
    }
    if places.home.as_ref().is_some_and(|home| home.starts_with(&folder)) {
        return Loss::Total(format!("`{shown}`, which holds the home folder"));
    }
    let inside = places.place(&folder) == Place::Inside;
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
        (_, true) if folder.starts_with("/tmp") || folder.starts_with("/var/tmp") => Loss::None,
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
fn is_repository(name: &str) -> bool {
    meet((&name.to_ascii_lowercase(), Reading::Shell), (".git", Reading::Literal))
}

/// What `find` looks for by a name that a repository's history has.
fn sought_repository(args: &[Piece]) -> Option<&str> {
    let is_left_out = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| args.get(at));
        let after = args.get(at + 2);
        before.is_some_and(|word| matches!(word.text.as_str(), "!" | "-not"))
            || after.is_some_and(|word| word.text == "-prune")
    };
    let tells = |name: &str| name.contains(char::is_alphanumeric) && is_repository(name);
    args.iter().zip(args.iter().skip(1)).enumerate().find_map(|(at, (test, value))| {
        let is_meant = match test.text.as_str() {
            "-name" | "-iname" => tells(&value.text),
            "-path" | "-ipath" | "-wholename" | "-iwholename" => value.text.split('/').any(tells),
            "-regex" | "-iregex" => value.text.contains(".git"),
            _ => false,
        };
        (is_meant && !is_left_out(at)).then_some(value.text.as_str())
    })
}
