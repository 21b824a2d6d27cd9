//! Protected names deeper in a writable root: repositories within the repository, settings of
//! editors and assistants in folders; at its top those for which nothing is mounted. Sockets, too, since
//! one walk finds both. The search is bounded, so that it stays cheap in any tree; submodules are known
//! without a search. Only looks.

#[cfg(test)]
pub(crate) mod tests;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use contract::protected::{FOREMOST, OTHERS, protected};
use contract::text::normalize;

use crate::User;
use crate::closed::{self, Opened, Shut};
use crate::contents::{self, Found};
use crate::discovery::{common, git_directory, real};
use crate::git_pointers::Pointers;
use crate::gitlinks;
use crate::guard::QUARANTINE;
use crate::harmless::{is_harmless, is_harmless_directory};
use crate::listings::{self, Clock, Listing};
use crate::other_repositories;
use crate::protected::{is_bare_repository, is_empty_folder};
use crate::version_files;

pub(crate) use written::When;

/// How far a short look goes, and a whole one: a command may have made very much.
const DEPTH: [usize; 2] = [5, 64];
const ENTRIES: [usize; 2] = [3000, 300_000];
/// So many entries of one name that was not looked at before are compared with the time.
const HELD: usize = 300_000;
/// So many links lead on to others, as for the kernel.
const LINKS: usize = 40;
/// Clocks of file systems may be a little behind.
const LAG: Duration = Duration::from_millis(20);
/// Folders that hold what tools have fetched or made, where no one works.
pub(crate) const SKIPPED: [&str; 4] = [".git", "node_modules", "target", ".venv"];
/// What git obeys in a repository, whatever lies there.
pub(crate) const OBEYED: [&str; 5] = ["config", "config.worktree", "commondir", "hooks", "modules"];
/// What makes a folder a repository for git, together or with another folder behind it.
pub(crate) const BARE: [&str; 4] = ["HEAD", "objects", "refs", "commondir"];

/// Folders, with the numbers that they have in the file system.
type Folders = BTreeMap<PathBuf, u64>;

/// What was found beneath a root.
#[derive(Debug, Default)]
pub(crate) struct Nested {
    /// Protected names below the top; of a link where it leads.
    pub(crate) names: BTreeMap<PathBuf, Option<PathBuf>>,
    /// Folders that git takes for repositories by what is in them, or because a `.git` leads there.
    bare: BTreeSet<PathBuf>,
    /// What git obeys in these; of a link where it leads.
    pub(crate) parts: BTreeMap<PathBuf, Option<PathBuf>>,
    /// The `.git` of every submodule, there or not.
    pub(crate) links: BTreeSet<PathBuf>,
    /// What the settings of the repository, and of those within it, lead to, there or not.
    pub(crate) pointers: BTreeSet<PathBuf>,
    /// What the settings of repositories within it, and links with protected names, lead to, there or not.
    pub(crate) further: BTreeSet<PathBuf>,
    /// Links with protected names to folders that hold them: what is obeyed of these nobody can tell.
    pub(crate) around: BTreeSet<PathBuf>,
    /// Links with the names of files that choose a version.
    version_links: BTreeSet<PathBuf>,
    /// Where the files of those repositories are.
    trees: BTreeSet<PathBuf>,
    /// Further repositories, which only a whole look finds, each as it was.
    known: BTreeMap<PathBuf, (u64, u64)>,
    /// The folders on the way.
    folders: Folders,
    /// Those that only a whole look finds.
    whole: Folders,
    /// Whether there was more than even a whole look sees.
    pub(crate) is_boundless: bool,
    /// Folders that cannot be entered, so that nothing in them is obeyed.
    shut: BTreeMap<PathBuf, Shut>,
    /// Folders that were opened to look into them.
    opened: Opened,
    /// Sockets on the way.
    pub(crate) sockets: Vec<PathBuf>,
    /// Whether settings or hooks name more than is looked at.
    pub(crate) is_unclear: bool,
    /// Whether there was more than is looked at.
    pub(crate) is_cut: bool,
    /// When this was found.
    since: Option<SystemTime>,
    pub(crate) user: Option<User>,
}

/// Links with names that programs look for.
pub(crate) struct Links {
    /// Protected names.
    pub(crate) protected: BTreeSet<PathBuf>,
    /// Names of files that choose a version.
    pub(crate) versions: BTreeSet<PathBuf>,
}

/// What was put there meanwhile.
#[derive(Debug)]
pub(crate) struct Planted {
    pub(crate) paths: Vec<PathBuf>,
    /// Whether there was too much to find it all.
    pub(crate) is_cut: bool,
    /// What has to stay open until it is moved away.
    pub(crate) opened: Opened,
}

/// When the look is taken.
#[derive(Clone, Copy)]
enum Moment<'a> {
    /// Before a command. What is found so is protected by mounts, and they have their price.
    Before,
    /// The same where this does not see all.
    Whole,
    /// After a command, before which this was found.
    After(&'a Nested),
}

/// Looks beneath `root`, where a command is going to run for this user.
pub(crate) fn look(root: &Path, user: Option<&User>) -> Nested {
    let mut found = look_at(root, user, Moment::Before);
    found.trees = found.repositories(root);
    found.follow_settings(root, &found.trees.clone());
    found.follow_names(root);
    if found.is_cut {
        let mut whole = Nested::default();
        whole.walk(root, Moment::Whole);
        whole.follow(root);
        let known = whole.all_repositories();
        found.known = known.filter_map(|path| Some((path.clone(), identity(path)?))).collect();
        found.is_boundless = whole.is_cut;
        found.whole = whole.folders;
    }
    found
}

fn has_protected_name(path: &Path) -> bool {
    path.file_name().and_then(protected).is_some()
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// The folders beneath `root` that have repositories of their own, as far as a short search finds them.
pub(crate) fn trees(root: &Path) -> BTreeSet<PathBuf> {
    look_at(root, None, Moment::Before).repositories(root)
}

/// The links beneath `root` with the names of files that choose a version, as far as a short search finds
/// them.
pub(crate) fn version_links(root: &Path) -> BTreeSet<PathBuf> {
    look_at(root, None, Moment::Before).version_links
}

/// The link with a protected name beneath `root` that leads to a path or to a folder that holds it, as far as a
/// short search finds one.
pub(crate) fn obeyed_by_link(root: &Path, path: &Path) -> Option<PathBuf> {
    let found = look_at(root, None, Moment::Before);
    let mut led = found.led_by_names(root).into_iter();
    led.find(|(link, led)| path.starts_with(led) && has_protected_name(link)).map(|(link, _)| link)
}

/// Every link beneath `root` by whose name programs obey what it leads to: a whole look, for what is seldom
/// asked.
pub(crate) fn obeyed_links(root: &Path) -> Links {
    let found = look_at(root, None, Moment::Whole);
    let foremost = FOREMOST.map(|name| root.join(name)).into_iter().filter(|it| it.is_symlink());
    let is_link = |(path, target): &(&PathBuf, &Option<PathBuf>)| {
        target.is_some() && !found.version_links.contains(*path)
    };
    let names = found.names.iter().filter(is_link).map(|(path, _)| path.clone());
    Links { protected: names.chain(foremost).collect(), versions: found.version_links }
}

fn look_at(root: &Path, user: Option<&User>, moment: Moment<'_>) -> Nested {
    let links = gitlinks::find(root).into_iter().map(|folder| folder.join(".git")).collect();
    let pointers = Pointers::of(root, root, user);
    let (is_unclear, pointers) = (pointers.is_cut, pointers.paths.into_iter().collect());
    let since = SystemTime::now().checked_sub(LAG);
    let user = user.cloned();
    let mut found = Nested { links, pointers, is_unclear, since, user, ..Nested::default() };
    for path in found.links.union(&found.pointers).cloned().collect::<Vec<_>>() {
        found.note(path);
    }
    found.walk(root, moment);
    found.follow(root);
    found
}

/// The first link on the way from `root` to a path; the path itself may be one, too.
pub(crate) fn link_on_the_way(root: &Path, path: &Path) -> Option<PathBuf> {
    let folders = path.ancestors().skip(1).take_while(|folder| *folder != root);
    let is_link = |it: &&Path| fs::symlink_metadata(it).is_ok_and(|found| found.is_symlink());
    folders.filter(is_link).last().map(Path::to_owned)
}

/// The folder that a link leads to, where no walk from `root` comes to it.
fn leads_aside(root: &Path, link: &Path) -> Option<PathBuf> {
    // Most links lead to files, which costs less to find out.
    let place =
        fs::metadata(link).ok().filter(fs::Metadata::is_dir).and(fs::canonicalize(link).ok())?;
    let below = place.strip_prefix(root).ok()?;
    let is_skipped = below.iter().any(|part| SKIPPED.iter().any(|skip| part == *skip));
    (is_skipped && !below.starts_with(".git")).then_some(place)
}

/// A walk beneath a root, level by level.
struct Walk<'a> {
    root: &'a Path,
    moment: Moment<'a>,
    clock: Option<Clock>,
    /// How many more entries are looked at.
    left: usize,
    /// The folders of the next level.
    below: Vec<PathBuf>,
    /// Places that only links led to.
    aside: BTreeSet<PathBuf>,
}

impl Nested {
    /// Adds the names, bare repositories and sockets beneath `root`.
    fn walk(&mut self, root: &Path, moment: Moment<'_>) {
        let extent = usize::from(!matches!(moment, Moment::Before));
        let (clock, left) = (Clock::of(root), ENTRIES[extent]);
        let (below, aside) = (vec![root.to_owned()], BTreeSet::new());
        let mut walk = Walk { root, moment, clock, left, below, aside };
        for depth in 0..DEPTH[extent] {
            for folder in std::mem::take(&mut walk.below) {
                let listing = self.list(&walk, &folder, depth == 0);
                self.sort(&mut walk, folder, &listing);
                if listing.is_cut || listing.count > walk.left {
                    self.is_cut = true;
                    return;
                }
                walk.left -= listing.count;
            }
        }
        self.is_cut |= !walk.below.is_empty();
    }

    /// What is in a folder. One that can be entered and not listed is opened after a command, as is what
    /// that has closed; what nobody could enter hides nothing.
    fn list(&mut self, walk: &Walk<'_>, folder: &Path, is_top: bool) -> Arc<Listing> {
        let list = || Found::of(listings::list(folder, is_top, walk.left, walk.clock));
        let mut listed = list();
        if let (Found::Unknown, Moment::After(before)) = (&listed, walk.moment) {
            let shut = Shut::of(folder);
            if shut.is_none() || shut.as_ref() != before.shut.get(folder) {
                self.opened.open(walk.root, folder);
                listed = list();
            }
        }
        if matches!(listed, Found::Unknown) {
            match Shut::of(folder) {
                Some(shut) => drop(self.shut.insert(folder.to_owned(), shut)),
                None => self.is_cut = true,
            }
        }
        listed.known().unwrap_or_default()
    }

    /// Adds what counts in a folder.
    fn sort(&mut self, walk: &mut Walk<'_>, folder: PathBuf, listing: &Listing) {
        for path in &listing.names {
            self.note(path.clone());
        }
        for link in &listing.links {
            let place = leads_aside(walk.root, link);
            let place = place.filter(|place| walk.aside.insert(place.clone()));
            let number = place.as_ref().and_then(|place| Some(identity(place)?.1));
            self.folders.extend(place.clone().zip(number));
            walk.below.extend(place);
        }
        self.sockets.extend_from_slice(&listing.sockets);
        self.folders.extend(listing.folders.iter().cloned());
        walk.below.extend(listing.folders.iter().map(|(path, _)| path.clone()));
        let may_be_bare = listing.bare_parts > 1;
        if may_be_bare && matches!(walk.moment, Moment::After(_)) && !closed::can_enter(&folder) {
            self.opened.open(walk.root, &folder);
        }
        if may_be_bare && is_bare_repository(&folder) {
            self.bare.insert(folder);
        }
    }

    fn note(&mut self, path: PathBuf) {
        // Nobody obeys an empty folder, and those that another sandbox holds are such.
        let target = target(&path).filter(|_| !is_empty_folder(&path));
        let is_version = path.file_name().is_some_and(version_files::is_name);
        if is_version && matches!(target, Some(Some(_))) {
            self.version_links.insert(path.clone());
        }
        if let Some(target) = target.filter(|_| !version_files::is_harmless(&path)) {
            self.names.insert(path, target);
        }
    }

    /// Adds the repositories beneath `root` that a `.git` leads to, and what git obeys in all of them.
    fn follow(&mut self, root: &Path) {
        let own = root.join(".git");
        let files = self.names.keys().filter(|path| path.ends_with(".git") && path.is_file());
        let led = files.filter_map(|path| git_directory(path.parent()?));
        let led: Vec<PathBuf> =
            led.flat_map(|git| [common(&git).ok(), Some(git)]).flatten().collect();
        let is_within = |git: &PathBuf| git.starts_with(root) && !git.starts_with(&own);
        self.bare.extend(led.into_iter().filter(is_within));
        let stores = self.names.keys().filter_map(|path| other_repositories::git_directory(path));
        self.bare.extend(stores.collect::<Vec<_>>());
        let parts = self.bare.iter().flat_map(|git| OBEYED.map(|part| git.join(part)));
        let others = self.names.keys().filter_map(|path| other_repositories::obeyed(path));
        for part in parts.chain(others.flatten()).collect::<Vec<_>>() {
            if let Some(target) = target(&part) {
                self.parts.insert(part, target);
            }
        }
    }

    /// Every `.git`, and every folder that is a repository by itself.
    fn all_repositories(&self) -> impl Iterator<Item = &PathBuf> {
        self.names.keys().filter(|path| path.ends_with(".git")).chain(&self.bare)
    }

    /// The folders that have repositories of their own, and those that are such.
    fn repositories(&self, root: &Path) -> BTreeSet<PathBuf> {
        let names = self.names.keys().chain(&self.links);
        let git = names.filter(|path| path.ends_with(".git")).filter_map(|path| path.parent());
        let bare = self.bare.iter().map(PathBuf::as_path);
        // Nobody works in what was put away, and what is in it may be hostile.
        let is_away = |name: &OsStr| name.as_bytes().starts_with(QUARANTINE.as_bytes());
        let is_away = |tree: &&Path| tree.strip_prefix(root).is_ok_and(|it| it.iter().any(is_away));
        let all = git.chain(bare).filter(|tree| *tree != root && !is_away(tree));
        all.map(Path::to_owned).collect()
    }

    /// Adds what the settings of these repositories within the repository lead to.
    fn follow_settings(&mut self, root: &Path, trees: &BTreeSet<PathBuf>) {
        for tree in trees {
            let led = Pointers::of(root, tree, self.user.as_ref());
            self.is_unclear |= led.is_cut;
            for path in led.paths {
                if !self.pointers.contains(&path) {
                    self.note(path.clone());
                    self.further.insert(path);
                }
            }
        }
    }

    /// Adds what protected names beneath `root` lead to that are links.
    fn follow_names(&mut self, root: &Path) {
        for (link, path) in self.led_by_names(root) {
            if !link.starts_with(&path) {
                self.note(path.clone());
                self.further.insert(path);
            } else if has_protected_name(&link) {
                self.around.insert(link);
            }
        }
    }

    /// The names beneath `root` that are links, each with what it leads to; of a repository that is
    /// known by itself.
    fn led_by_names(&self, root: &Path) -> Vec<(PathBuf, PathBuf)> {
        let links = self.names.iter().filter(|(link, _)| !link.ends_with(".git"));
        let led = links.filter_map(|(link, target)| {
            let path = real(&normalize(&link.parent()?.join(target.as_ref()?)));
            path.starts_with(root).then(|| (link.clone(), path))
        });
        led.collect()
    }

    /// What a confined process has put beneath `root` since this was found, and the host could obey.
    pub(crate) fn planted(&self, root: &Path) -> Planted {
        let mut later = look_at(root, self.user.as_ref(), Moment::After(self));
        // One that the command has made itself names nothing, or goes as a whole.
        let was_there = |tree: &PathBuf| {
            let is_old = |path: &Path| self.is_known(path) && !self.has_changed(path, &later);
            self.trees.contains(tree) || is_old(&tree.join(".git")) || is_old(tree)
        };
        let trees: BTreeSet<PathBuf> =
            later.repositories(root).into_iter().filter(was_there).collect();
        later.follow_settings(root, &trees);
        for path in self.pointers.union(&self.further) {
            later.note(path.clone());
        }
        let is_planted = |(path, target): &(&PathBuf, &Option<PathBuf>)| {
            self.names.get(*path) != Some(target) && self.is_planted(root, path, &later)
        };
        let mut planted: Vec<PathBuf> =
            later.names.iter().filter(is_planted).map(|(path, _)| path.clone()).collect();
        let is_new = |part: &&PathBuf| self.parts.get(*part) != later.parts.get(*part);
        let is_old = |part: &&PathBuf| {
            let mut above = part.ancestors().skip(1);
            above.any(|it| self.bare.contains(it) || self.names.contains_key(it))
        };
        planted.extend(later.parts.keys().filter(is_new).filter(is_old).cloned());
        let bare = later.bare.difference(&self.bare);
        let bare = bare.filter(|folder| self.was_made(root, folder, &later));
        let bare = bare.filter(|folder| !is_harmless_directory(folder, 0));
        planted.extend(bare.map(|folder| folder.join("HEAD")));
        for path in &planted {
            if let (Found::Unknown, Some(folder)) = (contents::kind(path), path.parent()) {
                later.opened.open(root, folder);
            }
        }
        Planted { paths: planted, is_cut: later.is_cut, opened: later.opened }
    }

    /// What has to go so that nothing planted is at `path` any more: a link on the way that came since, or
    /// what older links beneath `root` lead to.
    pub(crate) fn to_move(&self, root: &Path, path: &Path) -> PathBuf {
        let mut place = path.to_owned();
        for _ in 0..LINKS {
            let Some(link) = link_on_the_way(root, &place) else { return place };
            let target = link.parent().zip(fs::read_link(&link).ok());
            let target = target.map(|(folder, target)| normalize(&folder.join(target)));
            let target = target.filter(|target| target.starts_with(root) && target != root);
            // No look opens a link, so its time is its own.
            match (target, place.strip_prefix(&link)) {
                (Some(target), Ok(rest)) if !self.is_later(&link, self) => {
                    place = target.join(rest);
                }
                _ => return link,
            }
        }
        link_on_the_way(root, path).unwrap_or(place)
    }

    /// Whether a name that was not there, or was not looked at, is one that the host could obey.
    fn is_planted(&self, root: &Path, path: &Path, later: &Self) -> bool {
        let is_git = path.ends_with(".git");
        if other_repositories::is_harmless(path) || (is_git && is_harmless(root, path)) {
            return false;
        }
        let near = [&self.links, &self.pointers, &self.further];
        if !self.is_cut || near.iter().any(|near| near.contains(path)) {
            return true;
        }
        (is_git && self.was_put(path, later))
            || self.has_changed(path, later)
            || self.has_come(root, path, later)
    }

    /// Whether a folder on the way to `path` was put there since: to move one changes its own time and that
    /// of the folder it comes to, and none of those in it. One that is the same as before was not.
    fn has_come(&self, root: &Path, path: &Path, later: &Self) -> bool {
        for folder in path.ancestors().skip(1).take_while(|folder| *folder != root) {
            let before = self.folders.get(folder).or_else(|| self.whole.get(folder));
            if before.is_some() && before == later.folders.get(folder) {
                return false;
            }
            let both = [Some(folder), folder.parent()];
            if both.iter().flatten().all(|it| self.is_later(it, later)) {
                return true;
            }
        }
        false
    }

    /// Whether a `.git` was put where it is. Git itself writes into it, so that its time tells nothing,
    /// where it could be known; otherwise that of its folder, in which something was moved, tells more.
    fn was_put(&self, path: &Path, later: &Self) -> bool {
        let both = [Some(path), path.parent()];
        let is_later = || both.iter().flatten().all(|it| self.is_later(it, later));
        !self.is_known(path) && (!self.is_boundless || is_later())
    }

    /// Whether a folder has become a repository. One that nobody can have seen before has not if nothing came
    /// into it.
    fn was_made(&self, root: &Path, folder: &Path, later: &Self) -> bool {
        let is_new = || self.is_later(folder, later) || self.has_come(root, folder, later);
        let was_made = !self.is_known(folder) && (!self.is_boundless || is_new());
        was_made || self.has_changed(folder, later)
    }

    /// Whether a repository is one that a whole look found before.
    fn is_known(&self, path: &Path) -> bool {
        self.known.get(path).is_some_and(|known| identity(path) == Some(*known))
    }

    /// Whether a path itself has changed since, or that cannot be told. No process can set these times
    /// back. What was opened has the time of that.
    fn is_later(&self, path: &Path, later: &Self) -> bool {
        let Some(since) = self.since.and_then(|since| since.duration_since(UNIX_EPOCH).ok()) else {
            return true;
        };
        match contents::kind(path) {
            Found::Absent => false,
            Found::Read(found) => {
                let time = (found.ctime(), found.ctime_nsec());
                let time = later.opened.changed(path).unwrap_or(time);
                time >= (since.as_secs().cast_signed(), i64::from(since.subsec_nanos()))
            }
            Found::Unknown => true,
        }
    }

    /// Whether something that the host obeys has changed since.
    fn has_changed(&self, path: &Path, later: &Self) -> bool {
        obeys(path, &|path| self.is_later(path, later))
    }
}

/// Whether something that the host obeys at a path is such, or that cannot be told.
fn obeys(path: &Path, is_such: &dyn Fn(&Path) -> bool) -> bool {
    if let Some(obeyed) = other_repositories::obeyed(path) {
        return is_such(path) || obeyed.iter().any(|file| is_such(file));
    }
    let is_directory = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let is_repository = path.ends_with(".git") || is_bare_repository(path);
    if !is_directory || !is_repository {
        return holds(path, HELD, is_such);
    }
    // Git itself writes into the directory, its `HEAD` and its `index` whenever it works.
    let parts = ["config", "config.worktree", "commondir"].map(|part| path.join(part));
    parts.iter().any(|part| is_such(part)) || holds(&path.join("hooks"), HELD, is_such)
}

/// Whether a path, or something beneath it, is such, or that cannot be told: it is closed, or has more
/// entries than this.
fn holds(path: &Path, most: usize, is_such: &dyn Fn(&Path) -> bool) -> bool {
    let (mut left, mut seen) = (vec![path.to_owned()], 0);
    while let Some(path) = left.pop() {
        if is_such(&path) {
            return true;
        }
        if !fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
            continue;
        }
        match contents::list(&path, most - seen) {
            Found::Absent => {}
            Found::Read(listing) if !listing.is_cut => {
                seen += listing.entries.len();
                left.extend(listing.entries.iter().map(DirEntry::path));
            }
            Found::Read(_) | Found::Unknown => return true,
        }
    }
    false
}

/// Where a link leads; none where nothing is.
#[expect(clippy::option_option, reason = "what is there need not be a link")]
fn target(path: &Path) -> Option<Option<PathBuf>> {
    match contents::kind(path) {
        Found::Absent => None,
        Found::Read(found) if found.is_symlink() => Some(fs::read_link(path).ok()),
        Found::Read(_) | Found::Unknown => Some(None),
    }
}

/// Whether nothing else keeps this name in this folder, at this depth.
pub(crate) fn is_protected(folder: &Path, name: &OsStr, depth: usize) -> bool {
    // Protected only in one folder.
    if name == "hooks" {
        let above = folder.file_name().map(Path::new);
        return above.is_some_and(|above| protected(above.join(name)).is_some());
    }
    // Few names begin so, and the look at a name is not free.
    let may_be =
        name.as_bytes().first().is_some_and(|first| b".cCgGmMoO".contains(first) || *first > 127);
    let found = name.to_str().filter(|_| may_be).and_then(protected);
    // At the top there are mounts for the foremost names, as they are usually spelled.
    found.is_some_and(|found| depth > 0 || OTHERS.contains(&found) || name != found)
}
