//! The proof that one simple command is allowed: every word, every file, every variable.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use contract::policy::Decision;

use super::repositories;
use crate::call::{Call, Verdict};
use crate::findings::BUILT_IN;
use crate::glob::{Reading, could_stand_for, meet, outline, stands_for};
use crate::ground::Look;
use crate::paths::{Place, normalize};
use crate::programs::{self, Knowledge, Looked, Operand, builds, git, launching, versions};
use crate::rules::{CommandPattern, Target};
use crate::shell::{Cwd, Flow, Simple, Word, wrappers};

/// Whether a simple command may run unasked.
pub(crate) enum Grant {
    /// It may.
    Granted {
        /// In words.
        why: String,
        /// Where that stands.
        origin: String,
        /// Whether it changes nothing.
        read_only: bool,
    },
    /// Not without asking, for this reason.
    Doubtful(String),
}

/// Variables that change nothing but language, time zone and color.
const HARMLESS_VARIABLES: &[&str] = &[
    "LC_ALL",
    "LANG",
    "LC_CTYPE",
    "LC_COLLATE",
    "LC_NUMERIC",
    "LC_TIME",
    "LANGUAGE",
    "TZ",
    "NO_COLOR",
    "CLICOLOR",
    "FORCE_COLOR",
    "TERM",
    "COLUMNS",
    "LINES",
    "RUST_BACKTRACE",
    "CARGO_TERM_COLOR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "CI",
];

/// How many wrappers in a row are looked through.
const WRAPPED: usize = 8;

/// Judges one simple command by allow rules and built-in knowledge.
pub(crate) fn grant(call: &Call<'_>, part: &Simple) -> Grant {
    let outside =
        |folder: &PathBuf| call.places.place(&call.ground.leads(folder)) == Place::Outside;
    if part.cwd.folders.iter().any(outside) {
        return Grant::Doubtful(String::from("it runs outside the workspace"));
    }
    for (name, value) in &part.assignments {
        if !is_harmless(name, value) {
            return Grant::Doubtful(format!("it sets `{name}`"));
        }
    }
    for redirect in &part.redirects {
        if let Err(why) = redirected(call, part, redirect.flow, &redirect.target) {
            return Grant::Doubtful(why);
        }
    }
    match part.argv.as_slice() {
        [] if part.assignments.is_empty() => known("it only opens files that may be opened"),
        [] => Grant::Doubtful(String::from("it sets a variable for what comes after it")),
        argv => program(call, argv, &part.cwd, OWN),
    }
}

/// The program and arguments that run in the end, once transparent wrappers are taken away.
pub(crate) fn unwrapped(argv: &[Word]) -> &[Word] {
    let mut inner = argv;
    for _ in 0..WRAPPED {
        let Some(wrapper) = inner.first().and_then(|name| wrappers::find(&name.text)) else {
            break;
        };
        let texts = inner[1..].iter().map(|word| word.text.as_str());
        match wrapper.transparent(&texts.take(64).collect::<Vec<&str>>()) {
            Some(at) => inner = &inner[at + 1..],
            None => break,
        }
    }
    inner
}

fn is_harmless(name: &str, value: &str) -> bool {
    if ["PAGER", "GIT_PAGER"].contains(&name) {
        return value == "cat";
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.@-/".contains(c);
    let relative = !value.starts_with('/') && !value.contains("..");
    HARMLESS_VARIABLES.contains(&name) && value.chars().all(plain) && relative
}

fn redirected(call: &Call<'_>, part: &Simple, flow: Flow, target: &Word) -> Result<(), String> {
    let operand = Operand::from(target);
    match flow {
        Flow::Duplicate | Flow::Data | Flow::Heredoc => Ok(()),
        Flow::Read | Flow::Write if target.text == "/dev/null" => Ok(()),
        Flow::Read => readable(call, &operand, &part.cwd, Call::may_read),
        Flow::Write => {
            for path in paths(call, &operand, &part.cwd)? {
                for path in [call.ground.leads(&path), path] {
                    if let Verdict::Doubtful(why, _) = call.may_write(&path) {
                        return Err(format!("it writes `{}`: {why}", path.display()));
                    }
                }
            }
            Ok(())
        }
    }
}

/// What Bash does by itself, before it looks for a program.
const OWN: &[&str] = &[
    "echo", "printf", "pwd", "test", "[", "[[", "true", "false", ":", "type", "cd", "command",
    "time", "ulimit", "umask",
];

/// Judges a program with its arguments; `own` are names that need no program.
fn program(call: &Call<'_>, argv: &[Word], cwd: &Cwd, own: &[&str]) -> Grant {
    if let Some(why) = unsure(call, &argv[0].text, own) {
        return Grant::Doubtful(why);
    }
    if let Some(granted) = rule(call, argv, cwd, CommandPattern::is_exact) {
        return granted;
    }
    let name = &argv[0];
    if name.quoted || name.glob {
        return Grant::Doubtful(String::from("its program's name is quoted or a pattern"));
    }
    if name.text == "command"
        && argv.get(1).is_some_and(|word| ["-v", "-V"].contains(&word.text.as_str()))
    {
        return known("it only looks up a program");
    }
    if let Some(wrapper) = wrappers::find(&name.text) {
        let inner = unwrapped(argv);
        // `cd` behind `time` or `command` would move what comes after it.
        let wrapped = inner
            .first()
            .is_none_or(|name| name.text == "cd" || wrappers::find(&name.text).is_some());
        if wrapped || argv.iter().any(|word| word.glob) {
            // A rule must spell out what is run, and by a wrapper that is nothing without it.
            let spelled = |pattern: &CommandPattern| wrapper.is_opaque() && pattern.length() > 1;
            return rule(call, argv, cwd, spelled).unwrap_or_else(|| {
                Grant::Doubtful(format!("`{}` runs another program", name.text))
            });
        }
        return program(call, inner, cwd, &[]);
    }
    if name.text == "cd" {
        return change_folder(call, argv, cwd);
    }
    if says_version(call, argv, cwd) {
        return known(&format!("`{}` only says its version", name.text));
    }
    checked(call, argv, cwd)
}

/// Whether a program of the system's own is asked for its version, and is that program.
fn says_version(call: &Call<'_>, argv: &[Word], cwd: &Cwd) -> bool {
    let name = argv[0].text.as_str();
    let is_chosen = versions::CHOSEN.contains(&name);
    if !versions::is_asked(argv) || !(is_chosen || versions::PROGRAMS.contains(&name)) {
        return false;
    }
    let Some(ground) = call.ground.look().filter(|ground| ground.is_own(name)) else {
        return false;
    };
    if !is_chosen {
        return true;
    }
    let chooses = |folder: &Path| {
        versions::CHOOSING.iter().any(|file| ground.real(&folder.join(file)).is_some())
    };
    !cwd.folders.iter().any(|folder| call.ground.leads(folder).ancestors().any(chooses))
}

/// Why a name may not mean the program that it means to the user.
pub(crate) fn unsure(call: &Call<'_>, name: &str, own: &[&str]) -> Option<String> {
    let place = call.search.doubtful.as_ref()?;
    let is_found = |path: &str| {
        let is_there = |look: &dyn Look| {
            path.split(':').any(|folder| look.real(&Path::new(folder).join(name)).is_some())
        };
        call.ground.look().is_some_and(is_there)
    };
    let is_sure = match call.sure {
        // What tells where programs lie would tell something else than is true.
        Some(_) if ["type", "command", "which", "whereis", "hash"].contains(&name) => false,
        Some(path) => name.contains('/') || own.contains(&name) || is_found(path),
        None => name.contains('/') || own.contains(&name) || call.search.certain.contains(name),
    };
    let why = || format!("`{name}` may be a program in `{}`, on the search path", place.display());
    (!is_sure).then(why)
}

fn known(why: &str) -> Grant {
    Grant::Granted { why: why.to_owned(), origin: BUILT_IN.to_owned(), read_only: true }
}

/// What an allow rule or setting grants that spells out this command, among those that `wanted`
/// admits.
fn rule(
    call: &Call<'_>,
    argv: &[Word],
    cwd: &Cwd,
    wanted: impl Fn(&CommandPattern) -> bool,
) -> Option<Grant> {
    // What a rule names in the project is another file in another folder.
    let at_home = !cwd.moved || cwd.folders.iter().all(|it| *it == call.places.workspace);
    let is_meant =
        |pattern: &CommandPattern| at_home || pattern.cwd.is_some() || !pattern.names_file();
    // A remembered rule for first words was made by an approval that had none but ordinary others.
    let is_narrow = |pattern: &CommandPattern| {
        pattern.is_exact() || pattern.cwd.is_none() || builds::ordinary(argv).is_some()
    };
    let covers = |pattern: &CommandPattern| {
        wanted(pattern)
            && pattern.covers(argv, &cwd.folders)
            && is_meant(pattern)
            && is_narrow(pattern)
            && launching::starts_nothing(argv, &|at| pattern.spells(at))
            && ((0..argv.len()).all(|at| pattern.spells(at))
                || repositories::start_nothing(call, argv, cwd, &|at| pattern.spells(at)).is_ok())
    };
    let rule = call
        .rules_that(Decision::Allow)
        .find(|rule| matches!(&rule.matcher.target, Target::Command(pattern) if covers(pattern)));
    let (why, origin) = if let Some(rule) = rule {
        (rule.why(), rule.origin.clone())
    } else {
        let text = call.settings.allowed_commands.iter().find(|text| {
            CommandPattern::parse_prefix(text).is_ok_and(|pattern| covers(&pattern))
        })?;
        (
            format!("`{text}` is allowed to this tool"),
            format!("tools.{}.allowed_commands", call.tool.name),
        )
    };
    Some(Grant::Granted { why, origin, read_only: false })
}

/// Judges a program by its argument checker, where there is one, and by prefix rules.
fn checked(call: &Call<'_>, argv: &[Word], cwd: &Cwd) -> Grant {
    let name = &argv[0].text;
    let there = match git::folder(&argv[1..]).filter(|folder| name == "git" && *folder != ".") {
        Some(folder) if is_plain_folder(call, Path::new(folder), cwd) => {
            let folders = cwd.folders.iter().map(|it| normalize(&it.join(folder)));
            Some(Cwd { folders: folders.collect(), moved: true })
        }
        Some(_) => return Grant::Doubtful(String::from("it works on another repository")),
        None => None,
    };
    let cwd = there.as_ref().unwrap_or(cwd);
    let (identity, outcome) = match programs::check(argv) {
        Knowledge::Checked { identity, outcome } => (identity, outcome),
        Knowledge::Unknown => {
            return rule(call, argv, cwd, |_| true).unwrap_or_else(|| {
                Grant::Doubtful(if launching::starts_nothing(argv, &|_| false) {
                    repositories::start_nothing(call, argv, cwd, &|_| false)
                        .err()
                        .unwrap_or_else(|| format!("no rule allows `{name}`"))
                } else {
                    format!(
                        "no rule spells out these words, with which `{name}` could start programs"
                    )
                })
            });
        }
    };
    let outcome = outcome.map_err(|doubt| doubt.0).and_then(|looked| match name.as_str() {
        "git" => runs_nothing(call, cwd).map(|()| looked),
        "diff" if compares_folders(call, &looked, cwd) => {
            Err(String::from("it compares what is in folders"))
        }
        _ => Ok(looked),
    });
    let doubt = match outcome.and_then(|looked| all_readable(call, &looked, cwd)) {
        Ok(()) => return known(&format!("`{name}` with these arguments only looks")),
        Err(doubt) => doubt,
    };
    // A rule for such a subcommand, or for all of git, means also what changes something.
    if name == "git"
        && git::may_change(&argv[1..])
        && let Some(granted) = rule(call, argv, cwd, |pattern| pattern.length() <= identity)
    {
        return granted;
    }
    // What a rule spells out beyond the program is the user's word; the rest is checked.
    let spelled = |pattern: &CommandPattern| {
        let length = pattern.length();
        if length <= identity || length > argv.len() {
            return false;
        }
        let rest = argv[..identity].iter().chain(&argv[length..]);
        match programs::check(&rest.cloned().collect::<Vec<Word>>()) {
            Knowledge::Checked { outcome, .. } => {
                let runs_nothing = name != "git" || runs_nothing(call, cwd).is_ok();
                outcome.is_ok_and(|looked| all_readable(call, &looked, cwd).is_ok()) && runs_nothing
            }
            Knowledge::Unknown => false,
        }
    };
    rule(call, argv, cwd, spelled).unwrap_or(Grant::Doubtful(doubt))
}

/// Whether one of the files is a folder: then others in it are read.
fn compares_folders(call: &Call<'_>, looked: &Looked, cwd: &Cwd) -> bool {
    let Some(ground) = call.ground.look() else { return false };
    let is_folder = |operand: &Operand| {
        let paths = paths(call, operand, cwd).unwrap_or_default();
        paths.iter().any(|path| operand.glob || ground.names(path).is_some())
    };
    looked.contents.iter().any(is_folder)
}

/// Whether git, in the folders that it may be in, runs nothing but itself.
fn runs_nothing(call: &Call<'_>, cwd: &Cwd) -> Result<(), String> {
    let Some(ground) = call.ground.look() else { return Ok(()) };
    let what = cwd.folders.iter().find_map(|folder| ground.git_runs(folder));
    what.map_or(Ok(()), |what| Err(format!("git would run what the repository names: {what}")))
}

fn all_readable(call: &Call<'_>, looked: &Looked, cwd: &Cwd) -> Result<(), String> {
    for operand in looked.contents.iter().filter(|operand| operand.text != "-") {
        readable(call, operand, cwd, Call::may_read)?;
    }
    for operand in &looked.names {
        readable(call, operand, cwd, Call::may_list)?;
    }
    Ok(())
}

fn readable<'a>(
    call: &Call<'a>,
    operand: &Operand,
    cwd: &Cwd,
    judge: impl Fn(&Call<'a>, &Path, Reading) -> Verdict,
) -> Result<(), String> {
    let reading = if operand.glob { Reading::Shell } else { Reading::Literal };
    for path in paths(call, operand, cwd)? {
        // In the workspace a pattern is what lies there, where somebody can tell.
        let is_listed = operand.glob
            && call.ground.look().is_some()
            && call.places.place(&path) != Place::Outside;
        if !is_listed && let Verdict::Doubtful(why, _) = judge(call, &path, reading) {
            return Err(format!("it reads `{}`: {why}", path.display()));
        }
        for meant in meant(call, &path, operand.glob)? {
            if is_listed && let Verdict::Doubtful(why, _) = judge(call, &meant, Reading::Literal) {
                return Err(format!("it reads `{}`: {why}", meant.display()));
            }
            let end = call.ground.leads(&meant);
            if end != meant
                && let Verdict::Doubtful(why, _) = judge(call, &end, Reading::Literal)
            {
                let (meant, end) = (meant.display(), end.display());
                return Err(format!("it reads `{meant}`, which leads to `{end}`: {why}"));
            }
        }
    }
    Ok(())
}

/// How many names a pattern may stand for.
const MEANT: usize = 2000;

/// The files that a path stands for, where somebody can tell.
fn meant(call: &Call<'_>, path: &Path, glob: bool) -> Result<Vec<PathBuf>, String> {
    let Some(ground) = call.ground.look().filter(|_| glob) else {
        return Ok(vec![path.to_owned()]);
    };
    let mut found = vec![PathBuf::new()];
    for component in path.components() {
        let pattern = component.as_os_str().to_string_lossy();
        if !pattern.contains(['*', '?', '[', '\\', '(', '+', '@', '!']) {
            for path in &mut found {
                path.push(component);
            }
            continue;
        }
        let mut matched = Vec::new();
        for folder in &found {
            let entries = match ground.entries(folder) {
                Some(entries) => entries,
                // A file has no entries either.
                None if ground.real(&folder.join(".")).is_none() => continue,
                None => return Err(format!("`{}` cannot be listed", folder.display())),
            };
            let pattern = (pattern.as_ref(), Reading::Names);
            let fits = |name: &OsStr| match outline(name) {
                Some(outline) => could_stand_for(pattern, &outline),
                None => stands_for(pattern, &name.to_string_lossy()),
            };
            let names = entries.iter().map(|(name, _)| name);
            matched.extend(names.filter(|name| fits(name)).map(|name| folder.join(name)));
            if matched.len() > MEANT {
                return Err(format!("`{}` stands for too many files", path.display()));
            }
        }
        found = matched;
    }
    Ok(found)
}

/// Every path that an operand may mean. `..` is followed only where no symbolic link can be in
/// the way: at the start, from a folder that was not reached by `cd`, or where somebody has looked.
fn paths(call: &Call<'_>, operand: &Operand, cwd: &Cwd) -> Result<Vec<PathBuf>, String> {
    let path = Path::new(&operand.text);
    let mut named = false;
    let mut before = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir
                if (named || cwd.moved || path.is_absolute())
                    && !is_plain_folder(call, &before, cwd) =>
            {
                return Err(format!("`{}` may lead through a link", operand.text));
            }
            Component::Normal(name) => {
                named = true;
                let name = name.to_string_lossy();
                let dots = name.starts_with('.')
                    && meet((&name, Reading::Shell), ("..", Reading::Literal));
                if operand.glob && dots {
                    return Err(format!("`{}` could mean `..`", operand.text));
                }
            }
            Component::ParentDir
            | Component::CurDir
            | Component::RootDir
            | Component::Prefix(_) => {}
        }
        before.push(component);
    }
    let folders = cwd.folders.iter();
    Ok(folders.map(|folder| normalize(&folder.join(path))).collect())
}

/// Whether a path is a folder that no link leads to, wherever it is looked up.
fn is_plain_folder(call: &Call<'_>, path: &Path, cwd: &Cwd) -> bool {
    let Some(ground) = call.ground.look() else { return false };
    cwd.folders.iter().all(|folder| {
        let path = normalize(&folder.join(path));
        ground.real(&path).is_some_and(|real| real == path)
    })
}

fn change_folder(call: &Call<'_>, argv: &[Word], cwd: &Cwd) -> Grant {
    let target = match &argv[1..] {
        [target] => target,
        [dashes, target] if dashes.text == "--" => target,
        _ => return Grant::Doubtful(String::from("where `cd` leads is not known")),
    };
    if target.glob || target.text.starts_with('-') || target.text.is_empty() {
        return Grant::Doubtful(String::from("where `cd` leads is not known"));
    }
    match paths(call, &Operand::from(target), cwd) {
        Err(why) => Grant::Doubtful(why),
        Ok(folders) => {
            let inside = |folder: &PathBuf| {
                let ends = [folder.clone(), call.ground.leads(folder)];
                ends.iter().all(|folder| call.places.place(folder) == Place::Inside)
            };
            if folders.iter().all(inside) {
                known("it stays in the workspace")
            } else {
                Grant::Doubtful(String::from("`cd` leaves the workspace"))
            }
        }
    }
}
