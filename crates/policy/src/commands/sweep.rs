//! Commands that read whole folders, and what they would come upon there that a rule denies or
//! that looks like a secret. Sees too many rather than too few; never used to allow.

mod expression;
mod fd;
mod followed;
mod found;
mod kept;
mod left_out;
mod noted;
mod operands;
mod packed;
mod restored;
mod skipped;
mod starts;
mod unpacked;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use contract::policy::Decision;

use super::Read;
use crate::call::{Call, Verdict};
use crate::findings::{BUILT_IN, Finding, Lift, ask};
use crate::glob::{Reading, meet};
use crate::ground::{Sought, Width};
use crate::paths::is_secret;
use crate::programs::{self, Knowledge};
use crate::rules::{Rule, Target, Touch};
use crate::shell::{Fit, Piece, Word, base_name};
use followed::{Links, links};
pub(super) use found::done_by;
pub(super) use kept::{shows, subcommand};
pub(super) use left_out::is_left_out;
use noted::Noted;
use skipped::Skip;
use starts::{Start, folders};

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
pub(super) fn sweeps_folders(name: &str) -> bool {
    matches!(name, "git" | "rg" | "ag" | "ack" | "ugrep" | "rgrep" | "grep" | "egrep" | "fgrep"
        | "zgrep" | "diff" | "find" | "gfind" | "patch" | "tar" | "gtar" | "bsdtar" | "star"
        | "unzip" | "cpio" | "7z" | "7za" | "7zr" | "7zz" | "unrar" | "rar" | "ar" | "jar"
        | "cp" | "gcp" | "rsync" | "scp" | "zip" | "gzip" | "fd" | "fdfind" | "pax")
}

/// A search of folders.
struct Sweep<'a> {
    /// Where it looks; where it runs if nowhere else.
    places: Vec<Piece>,
    /// The folder that it goes to before.
    goes_to: Option<Piece>,
    width: Width,
    /// What it does to the files.
    touch: Touch,
    reach: Reach,
    /// Whether it may also come upon what lies elsewhere in the project.
    is_wide: bool,
    /// Patterns for names, one of which must fit.
    only: Vec<&'a str>,
    /// Endings of names, one of which must fit.
    ends: Vec<&'a str>,
    /// Names of folders that it does not enter.
    never: Vec<&'a str>,
    /// What else it leaves out.
    skips: Vec<Skip<'a>>,
    /// What it does with links on its way.
    links: Links,
    /// Whether it stays in its places, and goes no further down.
    is_flat: bool,
    /// Whether it comes upon names that begin with a dot, where it stays.
    has_dots: bool,
}

/// Which files a sweep comes upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Reach {
    /// All in its places, or where it runs if none of these is there: they may be something else.
    Searched,
    /// All in its places, which are known for certain: nothing where they are not there.
    Given,
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
    /// The same where rules speak of files: no mode lifts that.
    is_untold: bool,
}

/// The steps that follow from what a command would come upon in folders.
pub(super) fn sweeps(call: &Call<'_>, read: &Read<'_>) -> Vec<Finding> {
    let survey = read.survey;
    if call.ground.look().is_none() {
        return Vec::new();
    }
    let mut steps: Vec<Finding> = Vec::new();
    let mut known = HashSet::new();
    let is_changed = OnceCell::new();
    let is_settled = OnceCell::new();
    let mut noted = Noted::new(call, &read.ends);
    let (mut count, mut words) = (0, 0);
    for found in &survey.commands {
        let argv = found.argv();
        let starts = match found.fit {
            Fit::Exact | Fit::Handed => 0..argv.len().min(1),
            Fit::Loose => 0..argv.len(),
        };
        let handed = (found.fit == Fit::Handed).then(|| found::listed(argv)).flatten();
        let starts = starts.filter(|at| sweeps_folders(base_name(&argv[*at].text)));
        let length = |at: usize| argv.len() - at;
        let is_comparing = argv.first().is_some_and(|word| base_name(&word.text) == "diff");
        let searches = starts.flat_map(|at| {
            let words = &argv[at..];
            // What git brings back is of interest to rules alone.
            let restored = restored::sweep(words).filter(|it| has_rules_about(call, it.touch));
            [(length(at), sweep(words)), (0, packed::sweep(words)), (0, restored)]
        });
        for (length, sweep) in searches.chain(handed.map(|sweep| (length(0), Some(sweep)))) {
            // What only packs, unpacks or copies is of interest to rules alone.
            let is_copied = |it: &Sweep<'_>| it.is_narrow() && !is_comparing;
            let sweep = sweep.filter(|it| !is_copied(it) || has_rules_about(call, it.touch));
            words += length;
            count += usize::from(sweep.is_some());
            if count > SEARCHES || words > WORDS {
                let why = "it searches too often to tell what it comes upon";
                steps.push(ask("search", why, BUILT_IN).lifted_by(Lift::Never));
                return steps;
            }
            let Some(mut sweep) = sweep else { continue };
            let is_left_out =
                matches!(sweep.width, Width::Searched | Width::Visible | Width::Found);
            if is_left_out && *is_changed.get_or_init(|| left_out::is_changed_by(read)) {
                sweep.width = Width::Everything;
            }
            let is_given = sweep.reach == Reach::Given;
            if is_given && !*is_settled.get_or_init(|| starts::are_settled(read)) {
                sweep.reach = Reach::Searched;
            }
            let starts = found.folders.iter().flat_map(|it| folders((call, read), &sweep, it));
            for folder in starts {
                let only = [sweep.only.as_slice(), &sweep.ends].concat();
                let left_out = (sweep.never.clone(), sweep.skips.clone());
                let kind = (sweep.width, sweep.touch, sweep.reach, sweep.links);
                if !known.insert((folder.clone(), kind, only, left_out)) {
                    continue;
                }
                if known.len() > FOLDERS {
                    let why = "it searches too many folders to tell what it comes upon";
                    let lift = if has_rules(call) { Lift::Never } else { Lift::ByMode };
                    steps.push(ask("search", why, BUILT_IN).lifted_by(lift));
                    return steps;
                }
                let mut seen = seen(call, (&sweep, &folder), &mut noted);
                followed::look(call, (&sweep, &folder), &mut seen);
                steps.extend(judged(&sweep, &folder.named, seen));
            }
        }
    }
    let mut told: Vec<Finding> = Vec::new();
    for step in steps {
        if !told.iter().any(|it| it.reason == step.reason) {
            told.push(step);
        }
    }
    told
}

fn judged(sweep: &Sweep<'_>, folder: &Path, seen: Seen<'_>) -> Vec<Finding> {
    let mut steps = Vec::new();
    if let Some((rule, path)) = seen.ruled {
        let subject = path.display().to_string();
        steps.push(if sweep.is_unsure() && rule.decision == Decision::Deny {
            // It shows the file only if git keeps it and only if it changed, or touches it only if it is
            // named there.
            let is_written = matches!(rule.matcher.target, Target::Path(Touch::Write, _));
            let does = if is_written { "write" } else { "show" };
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
    if seen.is_unsure {
        let why = if seen.is_untold && sweep.reach == Reach::Kept {
            "what git keeps there cannot be told, and a rule may deny some of it"
        } else {
            "it holds too many files to tell whether one of them is a secret or denied"
        };
        let lift = if seen.is_untold { Lift::Never } else { Lift::ByMode };
        steps.push(ask(&folder.display().to_string(), why, BUILT_IN).lifted_by(lift));
    }
    steps
}

/// Whether rules deny the reading of files, or want it asked about.
pub(super) fn has_rules(call: &Call<'_>) -> bool {
    has_rules_about(call, Touch::Read)
}

pub(super) fn has_rules_about(call: &Call<'_>, done: Touch) -> bool {
    let decisions = [Decision::Deny, Decision::Ask].into_iter();
    decisions.flat_map(|it| call.rules_that(it)).any(|rule| is_about(rule, done))
}

/// Whether a rule speaks of files to which this is done.
fn is_about(rule: &Rule, done: Touch) -> bool {
    let speaks = |touch: Touch| touch == Touch::Any || done == Touch::Any || touch == done;
    matches!(&rule.matcher.target, Target::Path(touch, _) if speaks(*touch))
}

/// Goes through a folder for what rules deny or ask about, and for secrets.
fn seen<'a>(
    call: &Call<'a>,
    (sweep, start): (&Sweep<'_>, &Start),
    noted: &mut Noted<'_>,
) -> Seen<'a> {
    let folder = start.named.as_path();
    let rules: Vec<&Rule> = [Decision::Deny, Decision::Ask]
        .into_iter()
        .flat_map(|decision| call.rules_that(decision))
        .filter(|rule| is_about(rule, sweep.touch))
        .collect();
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
        if !sweep.opens(path, folder) || !start.means(path) {
            return false;
        }
        let real = start.real(path);
        let names = || std::iter::once(path).chain(real.as_deref());
        let speaks = |rule: &&&Rule| names().any(|path| speaks(call, rule, path));
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
    // What git writes by itself it keeps, or has kept; the names that it prints may be of others.
    let is_own = is_kept && sweep.width == Width::Everything;
    let sought = if is_own && sweep.touch == Touch::Write {
        Sought::Nothing
    } else {
        noted.seek(ground, (start, sweep.width), &mut |path| look(path, !is_kept))
    };
    let is_below = |path: &Path| path.starts_with(folder) || path.starts_with(&start.real);
    // Of what lies there git may keep less, and also what is ignored or gone.
    let is_denied = matches!(sought, Sought::Found(_));
    let mut is_wanted = |path: &Path| is_below(path) && (is_denied || look(path, true));
    let is_told = !is_kept || noted.kept(ground, start, &mut is_wanted) != Sought::TooMany;
    let is_known = sought != Sought::TooMany || (is_kept && rules.is_empty());
    seen.is_unsure = !is_known || !is_told;
    seen.is_untold = seen.is_unsure && !rules.is_empty();
    seen
}

/// Whether a rule speaks of a file.
fn speaks(call: &Call<'_>, rule: &Rule, path: &Path) -> bool {
    match &rule.matcher.target {
        Target::Path(_, pattern) => {
            pattern.could_be(&path.to_string_lossy())
                && pattern.matches((path, Reading::Literal), call.places, rule.decision)
        }
        Target::Anything
        | Target::AnyCommand
        | Target::Command(_)
        | Target::Host(_)
        | Target::What(_) => false,
    }
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
    /// One of all that is in some places.
    fn of(places: Vec<Piece>, touch: Touch, reach: Reach) -> Self {
        Self {
            places,
            goes_to: None,
            width: Width::Everything,
            touch,
            reach,
            is_wide: false,
            only: Vec::new(),
            ends: Vec::new(),
            never: Vec::new(),
            skips: Vec::new(),
            links: Links::Left,
            is_flat: false,
            has_dots: false,
        }
    }

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
        let ends = |end: &&str| {
            name.strip_suffix(&*end.to_lowercase()).is_some_and(|it| it.ends_with('.'))
        };
        (self.only.is_empty() || self.only.iter().any(fits))
            && (self.ends.is_empty() || self.ends.iter().any(ends))
            && !self.never.iter().any(is_closed)
            && !self.skips.iter().any(|skip| skip.covers(self.shown(), below))
    }

    /// How the place at which it begins is shown, where that is one.
    fn shown(&self) -> &str {
        match self.places.as_slice() {
            [place] => &place.text,
            [] => ".",
            _ => "",
        }
    }
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
    let plain = || {
        let (places, reach) = places(name, words);
        Sweep { links: links(name, args), ..Sweep::of(places, Touch::Read, reach) }
    };
    match name {
        "git" => kept::sweep(args),
        "find" | "gfind" => found::found(args),
        "fd" | "fdfind" => fd::executed(args),
        "rg" if long(&["--files", "--type-list", "--version"]) || short(&['V']) => None,
        "rg" => Some(ripgrep(words)),
        "ag" | "ack" | "ugrep" | "rgrep" => Some(plain()),
        "diff" => compared(args),
        "grep" | "egrep" | "fgrep" | "zgrep"
            if args.iter().any(left_out::is_deep) || short(&['r', 'R', 'd']) =>
        {
            // Where something is left out first, all else is searched.
            let excludes = |arg: &Piece| {
                arg.text.starts_with("--exclude") && !arg.text.starts_with("--exclude-dir")
            };
            let shortened = |arg: &Piece| {
                left_out::is_begun(arg, "--include") && !arg.text.starts_with("--include")
            };
            let is_sure = left_out::are_options(args, &["--include"])
                && !args.iter().any(|arg| excludes(arg) || shortened(arg));
            let only = if is_sure { few(values(args, &["--include"])) } else { Vec::new() };
            let never = few(left_out::folders(args));
            Some(Sweep { only, never, skips: skipped::by_grep(args), ..plain() })
        }
        _ => unpacked::sweep(words),
    }
}

/// What `rg` searches, or only lists.
fn ripgrep(words: &[Piece]) -> Sweep<'_> {
    let args = words.get(1..).unwrap_or_default();
    let has = |option: &str, letter: char| {
        let is_short = |text: &str| text.starts_with('-') && !text.starts_with("--");
        args.iter().map(|arg| arg.text.as_str()).any(|text| {
            text.split('=').next() == Some(option) || (is_short(text) && text.contains(letter))
        })
    };
    let only = values(args, &["-g", "--glob", "--iglob"]);
    let only: Vec<&str> = only.into_iter().filter(|glob| !glob.starts_with('!')).collect();
    // What is named to it is searched though it is ignored.
    let bare = args.iter().any(|arg| arg.glob || left_out::disregards(&arg.text))
        || has("--unrestricted", 'u')
        || !only.is_empty();
    let width = if bare {
        Width::Everything
    } else if has("--hidden", '.') {
        Width::Searched
    } else {
        Width::Visible
    };
    let never = if only.is_empty() { few(left_out::globs(args)) } else { Vec::new() };
    let is_sure = left_out::are_options(args, &["-g", "--glob", "--iglob"]);
    let only = if is_sure { few(only) } else { Vec::new() };
    let (places, reach) = places("rg", words);
    // Files that are named to it are searched whatever their type.
    let is_file = |place: &Piece| place.text.trim_matches(['.', '/']).contains('.');
    let ends = if bare || places.iter().any(is_file) { Vec::new() } else { left_out::types(args) };
    let links = links("rg", args);
    Sweep { width, only, ends, never, links, ..Sweep::of(places, Touch::Read, reach) }
}

/// The files and folders that `diff` compares, also without being told to go further down.
fn compared(args: &[Piece]) -> Option<Sweep<'_>> {
    // What only the running shell knows is mostly not everything.
    let is_known = |word: &Piece| word.is_above() || !(word.dynamic || word.text.is_empty());
    let is_place = |word: &&Piece| !word.text.starts_with('-') && is_known(word);
    let places: Vec<Piece> = args.iter().filter(is_place).cloned().collect();
    let links = links("diff", args);
    let whole = |places| Sweep { links, ..Sweep::of(places, Touch::Read, Reach::Whole) };
    (!places.is_empty()).then(|| whole(places))
}

/// The places that a search looks at, and whether these are known for certain: where its arguments are not
/// understood, any word may be one.
fn places(name: &str, argv: &[Piece]) -> (Vec<Piece>, Reach) {
    let word = |text: &str, glob| Word { text: text.to_owned(), range: 0..0, glob, quoted: false };
    let words = argv[1..].iter().map(|piece| word(&piece.text, piece.glob));
    let words: Vec<Word> = std::iter::once(word(name, false)).chain(words).collect();
    let is_literal = argv.iter().all(|piece| !piece.dynamic);
    if let Knowledge::Checked { outcome: Ok(looked), .. } = programs::check(&words)
        && is_literal
    {
        let contents: HashSet<&str> = looked.contents.iter().map(|it| it.text.as_str()).collect();
        let is_place = |piece: &&Piece| contents.contains(piece.text.as_str());
        let places: Vec<Piece> = argv[1..].iter().filter(is_place).cloned().collect();
        let reach = if places.is_empty() { Reach::Searched } else { Reach::Given };
        return (places, reach);
    }
    let here = Piece { text: String::from("."), ..Piece::default() };
    let others = argv[1..].iter().filter(|piece| !piece.text.starts_with('-'));
    (others.cloned().chain([here]).collect(), Reach::Searched)
}

/// The values that leave files out; none of too many, since each is held against each file, and none where
/// one is empty or has a backslash, behind which a letter is itself: then nothing is left out.
fn few(mut values: Vec<&str>) -> Vec<&str> {
    values.sort_unstable();
    values.dedup();
    let is_unclear = |value: &&str| value.is_empty() || value.contains('\\');
    if values.len() > PATTERNS || values.iter().any(is_unclear) {
        values.clear();
    }
    values
}

/// The values of options, attached or in the word after.
fn values<'a>(args: impl IntoIterator<Item = &'a Piece>, names: &[&str]) -> Vec<&'a str> {
    let mut values = Vec::new();
    let args: Vec<&Piece> = args.into_iter().collect();
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
