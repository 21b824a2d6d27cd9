//! Commands that read whole folders, and what they would come upon there that a rule denies or
//! that looks like a secret. Sees too many rather than too few; never used to allow.

mod kept;
mod operands;
mod packed;
mod unpacked;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use contract::policy::Decision;

use super::Read;
use super::writes::only_reads;
use crate::call::{Call, Verdict};
use crate::findings::{BUILT_IN, Finding, Lift, ask};
use crate::glob::{Reading, meet};
use crate::ground::{Ends, Sought, Width};
use crate::paths::is_secret;
use crate::programs::{self, Knowledge};
use crate::rules::{Rule, Target, Touch};
use crate::shell::{Fit, LISTERS, Piece, Word, base_name, resolve};

/// Folders beyond this number are not gone through for one command.
const FOLDERS: usize = 32;

/// Searches beyond this number are not looked at one by one.
const SEARCHES: usize = 64;

/// Nor are searches beyond this number of words, each with all words that follow it.
const WORDS: usize = 8 * 1024;

/// More patterns for names are not tried.
const PATTERNS: usize = 32;

/// Whether a program can search folders, or write into them what others have named.
#[rustfmt::skip]
fn sweeps_folders(name: &str) -> bool {
    matches!(name, "git" | "rg" | "ag" | "ack" | "ugrep" | "rgrep" | "grep" | "egrep" | "fgrep"
        | "zgrep" | "diff" | "find" | "gfind" | "patch" | "tar" | "gtar" | "bsdtar" | "star"
        | "unzip" | "cpio" | "7z" | "7za" | "7zr" | "7zz" | "unrar" | "rar" | "ar" | "jar"
        | "cp" | "gcp" | "rsync" | "scp" | "zip" | "gzip")
}

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

/// A search of folders.
struct Sweep<'a> {
    /// Where it looks; where it runs if nowhere else.
    places: Vec<Piece>,
    width: Width,
    /// What it does to the files.
    touch: Touch,
    reach: Reach,
    /// Whether it may also come upon what lies elsewhere in the project.
    is_wide: bool,
    /// Patterns for names, one of which must fit.
    only: Vec<&'a str>,
    /// Names of folders that it does not enter.
    never: Vec<&'a str>,
}

/// A folder at which a sweep begins.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Start {
    named: PathBuf,
    /// Where that leads.
    real: PathBuf,
}

impl Start {
    /// The true path of what lies below, where it has another name.
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(&self.named).ok().filter(|_| self.named != self.real)?;
        // Joining nothing would add a slash.
        let is_self = below.as_os_str().is_empty();
        Some(if is_self { self.real.clone() } else { self.real.join(below) })
    }
}

/// Which files a sweep comes upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Reach {
    /// All in its places, or where it runs if none of these is there: they may be something else.
    Searched,
    /// All in its places, and nowhere else.
    Whole,
    /// Those that others name, which may be fewer than there are, or more; nowhere else either.
    Named,
    /// Those that git keeps, which may be fewer than there are.
    Kept,
}

/// What a sweep comes upon.
#[derive(Default)]
struct Seen<'a> {
    ruled: Option<(&'a Rule, PathBuf)>,
    secret: Option<PathBuf>,
    is_unsure: bool,
    /// Whether what git keeps cannot be told, where rules speak of files.
    is_untold: bool,
}

/// The steps that follow from what a command would come upon in folders.
pub(super) fn sweeps(call: &Call<'_>, read: &Read<'_>) -> Vec<Finding> {
    let (survey, ends) = (read.survey, &read.ends);
    if call.ground.look().is_none() {
        return Vec::new();
    }
    let mut steps: Vec<Finding> = Vec::new();
    let mut known = HashSet::new();
    let (mut count, mut words) = (0, 0);
    for found in &survey.commands {
        let argv = found.argv();
        let starts = match found.fit {
            Fit::Exact | Fit::Handed => 0..argv.len().min(1),
            Fit::Loose => 0..argv.len(),
        };
        let handed = (found.fit == Fit::Handed).then(|| listed(argv)).flatten();
        let starts = starts.filter(|at| sweeps_folders(base_name(&argv[*at].text)));
        let length = |at: usize| argv.len() - at;
        let searches = starts.flat_map(|at| {
            let words = &argv[at..];
            [(length(at), sweep(words)), (0, packed::sweep(words))]
        });
        for (length, sweep) in searches.chain(handed.map(|sweep| (length(0), Some(sweep)))) {
            // What only packs, unpacks or copies is of interest to rules alone.
            let sweep = sweep.filter(|it| !it.is_narrow() || has_rules_about(call, it.touch));
            words += length;
            count += usize::from(sweep.is_some());
            if count > SEARCHES || words > WORDS {
                let why = "it searches too often to tell what it comes upon";
                steps.push(ask("search", why, BUILT_IN).lifted_by(Lift::Never));
                return steps;
            }
            let Some(sweep) = sweep else { continue };
            let starts = found.folders.iter().flat_map(|it| folders((call, ends), &sweep, it));
            for folder in starts {
                let (only, never) = (sweep.only.clone(), sweep.never.clone());
                let kind = (sweep.width, sweep.touch, sweep.reach);
                if !known.insert((folder.clone(), kind, only, never)) {
                    continue;
                }
                if known.len() > FOLDERS {
                    let why = "it searches too many folders to tell what it comes upon";
                    let lift = if has_rules(call) { Lift::Never } else { Lift::ByMode };
                    steps.push(ask("search", why, BUILT_IN).lifted_by(lift));
                    return steps;
                }
                let seen = seen(call, &sweep, &folder);
                steps.extend(judged(&sweep, &folder.named, seen));
            }
        }
    }
    steps.dedup_by(|a, b| a.reason == b.reason);
    steps
}

fn judged(sweep: &Sweep<'_>, folder: &Path, seen: Seen<'_>) -> Vec<Finding> {
    let mut steps = Vec::new();
    if let Some((rule, path)) = seen.ruled {
        let subject = path.display().to_string();
        steps.push(if sweep.is_unsure() && rule.decision == Decision::Deny {
            // It shows the file only if git keeps it and only if it changed, or touches it only if it is
            // named there.
            let does = if sweep.touch == Touch::Write { "write" } else { "show" };
            let why = format!("it could {does} what this rule denies: {}", rule.why());
            ask(&subject, &why, &rule.origin).lifted_by(Lift::Never)
        } else {
            Call::step(rule, &subject)
        });
    }
    if let Some(path) = seen.secret {
        let why = "the search comes upon it, and its name says that it holds a secret";
        steps.push(ask(&path.display().to_string(), why, BUILT_IN).lifted_by(Lift::ByMode));
    }
    if seen.is_untold {
        let why = "what git keeps there cannot be told, and a rule may deny some of it";
        steps.push(ask(&folder.display().to_string(), why, BUILT_IN).lifted_by(Lift::Never));
    } else if seen.is_unsure {
        let why = "it holds too many files to tell whether one of them is a secret or denied";
        steps.push(ask(&folder.display().to_string(), why, BUILT_IN).lifted_by(Lift::ByMode));
    }
    steps
}

/// Whether rules deny the reading of files, or want it asked about.
pub(super) fn has_rules(call: &Call<'_>) -> bool {
    has_rules_about(call, Touch::Read)
}

fn has_rules_about(call: &Call<'_>, done: Touch) -> bool {
    let decisions = [Decision::Deny, Decision::Ask].into_iter();
    decisions.flat_map(|it| call.rules_that(it)).any(|rule| is_about(rule, done))
}

/// Whether a rule speaks of files to which this is done.
fn is_about(rule: &Rule, done: Touch) -> bool {
    let speaks = |touch: Touch| touch == Touch::Any || done == Touch::Any || touch == done;
    matches!(&rule.matcher.target, Target::Path(touch, _) if speaks(*touch))
}

/// Goes through a folder for what rules deny or ask about, and for secrets.
fn seen<'a>(call: &Call<'a>, sweep: &Sweep<'_>, start: &Start) -> Seen<'a> {
    let folder = start.named.as_path();
    let rules: Vec<&Rule> = [Decision::Deny, Decision::Ask]
        .into_iter()
        .flat_map(|decision| call.rules_that(decision))
        .filter(|rule| is_about(rule, sweep.touch))
        .collect();
    let speaks = |rule: &Rule, path: &Path, text: &str| match &rule.matcher.target {
        Target::Path(_, pattern) => {
            pattern.could_be(text)
                && pattern.matches((path, Reading::Literal), call.places, rule.decision)
        }
        Target::Anything
        | Target::AnyCommand
        | Target::Command(_)
        | Target::Host(_)
        | Target::What(_) => false,
    };
    let mut seen = Seen::default();
    if rules.is_empty() && !sweep.touch.includes(Touch::Read) {
        return seen;
    }
    let is_below = |rule: &&&Rule| {
        [folder, &start.real].into_iter().any(|folder| begins_below(call, rule, folder))
    };
    if let Some(rule) = rules.iter().filter(|_| sweep.begins_anew()).find(is_below) {
        seen.ruled = Some((*rule, folder.to_owned()));
        return seen;
    }
    let mut look = |path: &Path, is_read: bool| {
        if !sweep.opens(path, folder) {
            return false;
        }
        let real = start.real(path);
        let names = || std::iter::once(path).chain(real.as_deref());
        let speaks =
            |rule: &&&Rule| names().any(|path| speaks(rule, path, &path.to_string_lossy()));
        if let Some(rule) = rules.iter().find(speaks) {
            let is_stricter = seen.ruled.as_ref().is_none_or(|(it, _)| rule.decision > it.decision);
            if is_stricter {
                seen.ruled = Some((*rule, path.to_owned()));
            }
        }
        let below = path.strip_prefix(&call.places.workspace).unwrap_or(path);
        if seen.secret.is_none()
            && is_read
            && sweep.touch.includes(Touch::Read)
            && is_secret(&below.to_string_lossy(), Reading::Literal)
            && matches!(call.may_read(path, Reading::Literal), Verdict::Doubtful(..))
        {
            seen.secret = Some(path.to_owned());
        }
        seen.ruled.as_ref().is_some_and(|(rule, _)| rule.decision == Decision::Deny)
    };
    let Some(ground) = call.ground.look() else { return seen };
    let is_kept = sweep.reach == Reach::Kept;
    let sought = ground.seek(folder, sweep.width, &mut |path| look(path, !is_kept));
    let is_below = |path: &Path| path.starts_with(folder) || path.starts_with(&start.real);
    // Of what lies there git may keep less, and also what is ignored or gone.
    let is_told = !is_kept
        || ground.git_keeps(folder, &mut |path| is_below(path) && look(path, true))
            != Sought::TooMany;
    let is_known = sought != Sought::TooMany || (is_kept && rules.is_empty());
    seen.is_unsure = !is_known || !is_told;
    seen.is_untold = !is_told && !rules.is_empty();
    seen
}

/// Whether a rule names something below a folder, there or not.
fn begins_below(call: &Call<'_>, rule: &Rule, folder: &Path) -> bool {
    match &rule.matcher.target {
        Target::Path(_, pattern) => pattern.begins_below(folder, call.places),
        Target::Anything
        | Target::AnyCommand
        | Target::Command(_)
        | Target::Host(_)
        | Target::What(_) => false,
    }
}

impl Sweep<'_> {
    /// Whether it may make files that are not there yet.
    fn begins_anew(&self) -> bool {
        self.reach == Reach::Named && self.touch == Touch::Write
    }

    /// Whether it looks at its places alone, there or not.
    fn is_narrow(&self) -> bool {
        matches!(self.reach, Reach::Whole | Reach::Named)
    }

    /// Whether it comes upon fewer files than there are.
    fn is_unsure(&self) -> bool {
        matches!(self.reach, Reach::Named | Reach::Kept)
    }

    /// Whether it would open a file that it comes upon on its way from `folder`.
    fn opens(&self, path: &Path, folder: &Path) -> bool {
        let below = path.strip_prefix(folder).unwrap_or(path);
        // Some compare without case.
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let fits = |pattern: &&str| {
            let pattern = pattern.rsplit('/').next().unwrap_or(pattern);
            // Braces are not understood, so they could mean anything.
            pattern.contains('{')
                || meet((&pattern.to_lowercase(), Reading::Shell), (&name, Reading::Literal))
        };
        let is_closed = |name: &&str| below.components().any(|part| part.as_os_str() == *name);
        (self.only.is_empty() || self.only.iter().any(fits)) && !self.never.iter().any(is_closed)
    }
}

/// The folders that a sweep goes through when it runs in `folder`.
fn folders((call, ends): (&Call<'_>, &Ends<'_>), sweep: &Sweep<'_>, folder: &Path) -> Vec<Start> {
    let mut starts = Vec::new();
    let mut known: HashSet<&Piece> = HashSet::new();
    for place in sweep.places.iter().filter(|place| known.insert(*place)) {
        // What comes before the first wildcard holds all that it could mean.
        let wild = if place.glob { place.text.find(['*', '?', '[']) } else { None };
        let text = match wild {
            Some(at) => place.text[..at].rsplit_once('/').map_or("", |(folder, _)| folder),
            None => &place.text,
        };
        let place = Piece { text: text.to_owned(), ..place.clone() };
        let path = resolve(&place, folder, call.places.home.as_deref());
        let named = path.unwrap_or_else(|| folder.to_owned());
        // A link is followed before the `..` behind it is.
        let is_led_back = !place.home && text.split('/').any(|part| part == "..");
        let walked = if is_led_back { ends.walked(folder, text) } else { None };
        // A word may be something else than a place.
        for named in std::iter::once(named).chain(walked) {
            starts.extend(ends.real(&named).map(|real| Start { named, real }));
        }
    }
    let mut others = Vec::new();
    if sweep.is_wide {
        others.push(call.places.workspace.clone());
    }
    let is_elsewhere = sweep.places.is_empty() || !sweep.is_narrow();
    if starts.is_empty() && others.is_empty() && is_elsewhere {
        let is_kept = sweep.reach == Reach::Kept;
        others.push(if is_kept { call.places.workspace.clone() } else { folder.to_owned() });
    }
    for named in others {
        let real = ends.real(&named).unwrap_or_else(|| named.clone());
        starts.push(Start { named, real });
    }
    starts
}

/// The sweep that a program with these arguments is; none where it reads only what it is given.
fn sweep(words: &[Piece]) -> Option<Sweep<'_>> {
    let (program, args) = words.split_first()?;
    let name = base_name(&program.text);
    let long = |names: &[&str]| {
        args.iter().any(|arg| names.contains(&arg.text.split('=').next().unwrap_or_default()))
    };
    let short = |letters: &[char]| {
        let mut clusters = args.iter().filter_map(|arg| arg.text.strip_prefix('-'));
        clusters.any(|cluster| !cluster.starts_with('-') && cluster.contains(letters))
    };
    let plain = || Sweep {
        places: places(name, words),
        width: Width::Everything,
        touch: Touch::Read,
        reach: Reach::Searched,
        is_wide: false,
        only: Vec::new(),
        never: Vec::new(),
    };
    match name {
        "git" => kept::sweep(args),
        "find" | "gfind" => found(args),
        "rg" if long(&["--files", "--type-list", "--version"]) || short(&['V']) => None,
        "rg" => {
            let only = values(args, &["-g", "--glob", "--iglob"]);
            let only: Vec<&str> = only.into_iter().filter(|glob| !glob.starts_with('!')).collect();
            let bare = long(&["--no-ignore", "--no-ignore-vcs", "--unrestricted"])
                || short(&['u'])
                || !only.is_empty();
            let width = if bare {
                Width::Everything
            } else if long(&["--hidden"]) || short(&['.']) {
                Width::Unignored
            } else {
                Width::Visible
            };
            Some(Sweep { width, only: few(only), ..plain() })
        }
        // Of two folders `diff` compares the files, also without being told to go further down.
        "ag" | "ack" | "ugrep" | "rgrep" | "diff" => Some(plain()),
        "grep" | "egrep" | "fgrep" | "zgrep"
            if long(&["--recursive", "--dereference-recursive", "--directories"])
                || short(&['r', 'R', 'd']) =>
        {
            let only = few(values(args, &["--include"]));
            let never = few(values(args, &["--exclude-dir"]));
            Some(Sweep { only, never, ..plain() })
        }
        _ => unpacked::sweep(words),
    }
}

/// What `find` deletes, or gives to a program that shows or changes it.
fn found(args: &[Piece]) -> Option<Sweep<'_>> {
    let is_action =
        |word: &Piece| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    let deletes = args.iter().any(|word| word.text == "-delete");
    let touch = match args.iter().position(is_action) {
        Some(action) => {
            let words = &args[action + 1..];
            let is_end = |word: &Piece| matches!(word.text.as_str(), ";" | "+");
            done_by(&words[..words.iter().position(is_end).unwrap_or(words.len())])
        }
        None => None,
    };
    let touch = match (deletes, touch) {
        (true, Some(Touch::Read | Touch::Any)) => Touch::Any,
        (true, _) => Touch::Write,
        (false, touch) => touch?,
    };
    Some(Sweep { touch, ..below(args) })
}

/// What a program does to the files that it is given, as far as rules speak of it.
fn done_by(words: &[Piece]) -> Option<Touch> {
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
        (false, false) => Some(Touch::Any),
    }
}

/// The files below the places that `find` begins at.
fn below(args: &[Piece]) -> Sweep<'_> {
    let is_place = |word: &&Piece| !word.text.starts_with(['-', '(', '!']);
    let options = args.iter().take_while(|word| matches!(word.text.as_str(), "-L" | "-H" | "-P"));
    let places = args.iter().skip(options.count()).take_while(is_place).cloned().collect();
    let has = |names: &[&str]| args.iter().any(|word| names.contains(&word.text.as_str()));
    let is_plain = !has(&["-o", "-or", "!", "-not", ","]);
    let only = if is_plain { few(values(args, &["-name", "-iname"])) } else { Vec::new() };
    let (width, touch) = (Width::Everything, Touch::Read);
    let (reach, is_wide, never) = (Reach::Searched, false, Vec::new());
    Sweep { places, width, touch, reach, is_wide, only, never }
}

/// What a program reads that gets the names of files from another one before it.
fn listed(words: &[Piece]) -> Option<Sweep<'_>> {
    let given = words.get(1..)?;
    let at = given.iter().position(|word| LISTERS.contains(&base_name(&word.text)))?;
    let touch = done_by(&words[..=at])?;
    let args = &given[at + 1..];
    let has = |text: &str| args.iter().any(|word| word.text == text);
    let recursive = |word: &Piece| word.text.starts_with('-') && word.text.contains('R');
    let below = |args| Sweep { touch, ..below(args) };
    match base_name(&given[at].text) {
        "find" | "gfind" => Some(below(args)),
        "ls" if !args.iter().any(recursive) => None,
        "git" if kept::prints_names(args) => {
            let is_list = has("ls-files");
            let is_kept = touch == Touch::Read && !(is_list && has("-o"));
            let reach = if is_kept { Reach::Kept } else { Reach::Searched };
            // Of others only what stands behind `--` is a path for certain.
            let dashes = args.iter().position(|word| word.text == "--");
            let args = if is_list { args } else { &args[dashes.unwrap_or(args.len())..] };
            let is_name = |word: &&Piece| word.text.starts_with("*.") && !word.text.contains('/');
            let operands =
                args.iter().filter(|word| !word.text.starts_with('-') && word.text != "ls-files");
            let only: Vec<&str> =
                operands.clone().filter(is_name).map(|it| it.text.as_str()).collect();
            let is_narrow = only.len() == operands.count();
            let only = if is_narrow { few(only) } else { Vec::new() };
            Some(Sweep { reach, only, ..below(&[]) })
        }
        "git" => None,
        "rg" if !has("--files") => None,
        _ => {
            let operands = args.iter().filter(|word| !word.text.starts_with('-'));
            Some(Sweep { places: operands.cloned().collect(), ..below(&[]) })
        }
    }
}

/// The places that a search looks at: exactly where its arguments are understood, or else any word.
fn places(name: &str, argv: &[Piece]) -> Vec<Piece> {
    let word = |text: &str, glob| Word { text: text.to_owned(), range: 0..0, glob, quoted: false };
    let words = argv[1..].iter().map(|piece| word(&piece.text, piece.glob));
    let words: Vec<Word> = std::iter::once(word(name, false)).chain(words).collect();
    let is_literal = argv.iter().all(|piece| !piece.dynamic);
    if let Knowledge::Checked { outcome: Ok(looked), .. } = programs::check(&words)
        && is_literal
    {
        let contents: HashSet<&str> = looked.contents.iter().map(|it| it.text.as_str()).collect();
        let is_place = |piece: &&Piece| contents.contains(piece.text.as_str());
        return argv[1..].iter().filter(is_place).cloned().collect();
    }
    let here = Piece { text: String::from("."), ..Piece::default() };
    let others = argv[1..].iter().filter(|piece| !piece.text.starts_with('-'));
    others.cloned().chain([here]).collect()
}

/// The values that leave files out; none of too many, which leaves out nothing: each is held against
/// each file.
fn few(mut values: Vec<&str>) -> Vec<&str> {
    values.sort_unstable();
    values.dedup();
    if values.len() > PATTERNS {
        values.clear();
    }
    values
}

/// The values of options, attached or in the word after.
fn values<'a>(args: &'a [Piece], names: &[&str]) -> Vec<&'a str> {
    let mut values = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        for name in names {
            let Some(rest) = arg.text.strip_prefix(name) else { continue };
            let is_short = !name.starts_with("--");
            if rest.is_empty() {
                values.extend(args.get(at + 1).map(|value| value.text.as_str()));
            } else if let Some(value) = rest.strip_prefix('=') {
                values.push(value);
            } else if is_short {
                values.push(rest);
            }
        }
    }
    values
}
