//! Where sweeps begin: the folders that words name, or what patterns stand for.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::super::Read;
use super::super::dots::led_back;
use super::super::writes::only_reads;
use super::{Reach, Sweep};
use crate::call::Call;
use crate::glob::{Reading, covers};
use crate::ground::Ends;
use crate::programs;
use crate::shell::{Fit, Found, Piece, resolve};

/// A folder at which a sweep begins.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Start {
    pub(super) named: PathBuf,
    /// Where that leads.
    pub(super) real: PathBuf,
    within: Within,
}

/// What counts of all that lies in a folder.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Within {
    All,
    /// What a pattern stands for, and what lies below that.
    Meant(String, Reading),
    /// What a pattern stands for alone.
    Matched(String, Reading),
    /// The entries of the folder, without those that begin with a dot.
    Visible,
    /// All entries of the folder.
    Entries,
}

impl Start {
    /// Whether a path is one that it means.
    pub(super) fn means(&self, path: &Path) -> bool {
        let is_covered = |it: &Path, pattern: &str, reading: &Reading| {
            covers((pattern, *reading), &it.to_string_lossy())
        };
        let is_entry = || path == self.named || path.parent() == Some(&self.named);
        let is_hidden = || path.file_name().is_some_and(|it| it.to_string_lossy().starts_with('.'));
        match &self.within {
            Within::All => true,
            Within::Meant(pattern, reading) => {
                let mut around = path.ancestors().take_while(|it| *it != self.named);
                around.any(|it| is_covered(it, pattern, reading))
            }
            Within::Matched(pattern, reading) => is_covered(path, pattern, reading),
            Within::Visible => is_entry() && !is_hidden(),
            Within::Entries => is_entry(),
        }
    }

    /// The true path of what lies below, where it has another name.
    pub(super) fn real(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(&self.named).ok().filter(|_| self.named != self.real)?;
        // Joining nothing would add a slash.
        let is_self = below.as_os_str().is_empty();
        Some(if is_self { self.real.clone() } else { self.real.join(below) })
    }
}

impl Sweep<'_> {
    /// What counts in its places.
    fn entries(&self) -> Within {
        match (self.is_flat, self.has_dots) {
            (false, _) => Within::All,
            (true, false) => Within::Visible,
            (true, true) => Within::Entries,
        }
    }
}

/// Programs that make no folder and no link, whatever else they do; those that they run are looked at by themselves.
const MAKING_NONE: &[&str] =
    &["chmod", "find", "rm", "rmdir", "sed", "touch", "unlink", "wc", "xargs"];

/// Whether nothing in a text makes places that are not there yet.
pub(super) fn are_settled(read: &Read<'_>) -> bool {
    let only_looks = |found: &Found| {
        let name = found.argv().first().map_or("", |word| word.text.as_str());
        let is_told = matches!(found.fit, Fit::Exact | Fit::Handed);
        let makes_none = name == "cd" || MAKING_NONE.contains(&name);
        // Of what is handed on, not all words are arguments.
        let is_reader = || found.fit == Fit::Handed && name != "git" && programs::is_known(name);
        is_told && (makes_none || only_reads(found.argv()) || is_reader())
    };
    read.survey.commands.iter().all(only_looks)
        && !read.survey.redirections.iter().any(|it| it.target.writes)
}

/// The folders that a sweep goes through when it runs in `folder`.
pub(super) fn folders(
    (call, command): (&Call<'_>, &Read<'_>),
    sweep: &Sweep<'_>,
    folder: &Path,
) -> Vec<Start> {
    let ends = &command.ends;
    let mut starts = Vec::new();
    let mut known: HashSet<&Piece> = HashSet::new();
    let places = sweep.places.iter().filter(|place| known.insert(*place));
    for place in places.flat_map(|place| meanings((call, command), sweep, (place, folder))) {
        // What comes before the first wildcard holds all that it could mean.
        let wild = if place.glob { place.text.find(['*', '?', '[']) } else { None };
        let text = match wild {
            Some(at) => place.text[..at].rsplit_once('/').map_or("", |(folder, _)| folder),
            None => &place.text,
        };
        let whole = resolve(&place, folder, call.places.home.as_deref());
        // What some shells alone understand may be anything there.
        let whole = whole.filter(|_| wild.is_some() && !place.text.contains(['(', ')', '|']));
        let pattern = whole.map(|it| (it.to_string_lossy().into_owned(), command.globs().reading));
        // What copies does not follow them.
        let is_led = !sweep.is_narrow() || goes_back(&place.text);
        if let Some((pattern, reading)) = pattern.as_ref().filter(|_| is_led) {
            starts.extend(led_by(ends, folder, &place, (pattern, *reading)));
        }
        let within = match pattern {
            Some((pattern, reading)) if sweep.is_flat => Within::Matched(pattern, reading),
            Some((pattern, reading)) => Within::Meant(pattern, reading),
            None => sweep.entries(),
        };
        let place = Piece { text: text.to_owned(), ..place.clone() };
        let path = resolve(&place, folder, call.places.home.as_deref());
        let named = path.unwrap_or_else(|| folder.to_owned());
        // A link is followed before the `..` behind it is.
        let is_led_back = !place.home && goes_back(text);
        let walked = if is_led_back { ends.walked(folder, text) } else { None };
        // A word may be something else than a place.
        let walked = walked.filter(|walked| *walked != named);
        let walked = walked.map(|walked| (walked, sweep.entries()));
        for (named, within) in std::iter::once((named, within)).chain(walked) {
            starts.extend(ends.real(&named).map(|real| Start { named, real, within }));
        }
    }
    let mut others = Vec::new();
    if sweep.is_wide || is_of_process(folder) || sweep.places.iter().any(leads_to_process) {
        others.push(call.places.workspace.clone());
    }
    let is_bound = sweep.is_narrow() || sweep.reach == Reach::Given;
    let is_elsewhere = sweep.places.is_empty() || !is_bound;
    if starts.is_empty() && others.is_empty() && is_elsewhere {
        let is_kept = sweep.reach == Reach::Kept;
        let top = || elsewhere(call, sweep, folder).unwrap_or(call.places.workspace.clone());
        others.push(if is_kept { top() } else { folder.to_owned() });
    }
    for named in others {
        let real = ends.real(&named).unwrap_or_else(|| named.clone());
        starts.push(Start { named, real, within: sweep.entries() });
    }
    starts
}

/// All that a place may mean in a folder.
fn meanings(
    (call, read): (&Call<'_>, &Read<'_>),
    sweep: &Sweep<'_>,
    (place, folder): (&Piece, &Path),
) -> Vec<Piece> {
    let above = above(call, place, folder);
    // What copies takes what it is given, and nothing else.
    let is_taken = above.is_empty() || !sweep.is_narrow();
    let mut all: Vec<Piece> = is_taken.then(|| place.clone()).into_iter().chain(above).collect();
    let back: Vec<Piece> = all.iter().flat_map(|it| led_back(it, read)).collect();
    all.extend(back);
    all
}

/// The places that one means which begins with an expansion for a folder above.
fn above(call: &Call<'_>, place: &Piece, folder: &Path) -> Vec<Piece> {
    if !place.is_above() {
        return Vec::new();
    }
    let workspace = call.places.workspace.as_path();
    let rest = place.text.trim_start_matches('/');
    let roots = folder.ancestors().take_while(|it| it.starts_with(workspace) && *it != workspace);
    let paths = roots.chain([workspace]).map(|root| root.join(rest));
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    paths.map(|path| Piece { text: text(path), glob: place.glob, ..Piece::default() }).collect()
}

/// Whether a path has a way back.
fn goes_back(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// Whether a folder is one in which those of processes stand, which may be any.
fn is_of_process(folder: &Path) -> bool {
    folder.starts_with("/proc/self") || folder.starts_with("/dev/fd")
}

/// Whether a path goes through the folder of a process, or what a descriptor stands for.
fn leads_to_process(place: &Piece) -> bool {
    let mut parts = place.text.split('/').skip_while(|part| matches!(*part, "" | "." | ".."));
    let is_begun =
        place.text.starts_with(['/', '.']) && matches!(parts.next(), Some("proc" | "dev"));
    let is_wild = |part: &str| place.glob && part.contains(['*', '?', '[']);
    is_begun && parts.any(|part| matches!(part, "cwd" | "root" | "fd") || is_wild(part))
}

/// The top of the repository that git works on, where that is another one than the project's.
fn elsewhere(call: &Call<'_>, sweep: &Sweep<'_>, folder: &Path) -> Option<PathBuf> {
    let ground = call.ground.look()?;
    let workspace = &call.places.workspace;
    let here = || Piece { text: String::from("."), ..Piece::default() };
    let here = sweep.goes_to.clone().unwrap_or_else(here);
    let places = if sweep.places.is_empty() { std::slice::from_ref(&here) } else { &sweep.places };
    let mut tops = places.iter().map(|place| {
        let path = resolve(place, folder, None).filter(|_| !place.dynamic && !place.glob)?;
        // The disk is not asked about the project.
        if path.starts_with(workspace) {
            return None;
        }
        let top = path.ancestors().find(|it| ground.real(&it.join(".git")).is_some())?;
        let is_real = ground.real(top).is_some_and(|real| real == top);
        (is_real && ground.git_elsewhere(top).is_none()).then(|| top.to_owned())
    });
    let top = tops.next()??;
    let is_other = !top.starts_with(workspace) && !workspace.starts_with(&top);
    (is_other && tops.all(|it| it.as_ref() == Some(&top))).then_some(top)
}

/// Where links lead that a pattern stands for.
fn led_by<'a>(
    ends: &'a Ends<'_>,
    folder: &Path,
    place: &Piece,
    pattern: (&'a str, Reading),
) -> Vec<Start> {
    let meant = ends.meant(folder, &place.text, pattern.1);
    // A way back behind a wildcard leads out of what the pattern spells.
    let goes_back = goes_back(&place.text);
    let is_elsewhere = |end: &&PathBuf| goes_back || !covers(pattern, &end.to_string_lossy());
    let there = meant.paths.iter().filter(is_elsewhere).filter_map(|end| ends.real(end));
    there.map(|end| Start { named: end.clone(), real: end, within: Within::All }).collect()
}
