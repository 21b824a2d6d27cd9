//! Protected files that have further names: a mount keeps a command from the protected one, but not
//! from the others, so they are compared when it has ended. What git and editors obey is small and comes
//! back; of packages that were linked from a store only times and a sum of what they hold are known.

mod asked;

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, Metadata};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use contract::sandbox::SandboxError;

use self::asked::{Asked, Moment, NEAR};
use super::snapshot::{Saved, parts, read, write};
use super::{named, quarantine, with_rights};
use crate::held::Held;
use crate::listings::{self, Clock, Seen};
use crate::nested::{SKIPPED, is_protected};

/// So much is kept to be brought back, of all files together.
const KEPT_BYTES: u64 = 1 << 20;
/// So much is read to know its sum, of all files together.
const SUMMED_BYTES: u64 = 256 << 20;
/// So many entries are looked at, and so many of what package managers have fetched, where there are
/// often very many that share their content with a store.
const ENTRIES: usize = 300_000;
const FETCHED_ENTRIES: usize = 20_000;

/// What tells a file or folder from another at the same path. Numbers are given again, times of birth
/// are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Birth {
    number: (u64, u64),
    time: Option<SystemTime>,
}

impl Birth {
    /// That of what stands at `path`, links not followed.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().as_ref().map(Self::seen)
    }

    /// That of what was looked at.
    pub(crate) fn seen(found: &Metadata) -> Self {
        Self { number: (found.dev(), found.ino()), time: found.created().ok() }
    }

    /// The number of the file system.
    pub(crate) fn device(&self) -> u64 {
        self.number.0
    }

    /// It in words, which are the same for the same file.
    pub(crate) fn words(&self) -> String {
        format!("{:?} {:?}", self.number, self.time)
    }
}

/// The files that have further names.
#[derive(Debug, Default)]
pub(crate) struct Linked {
    /// With their content.
    kept: Vec<(PathBuf, Birth, Saved)>,
    /// How long all that is.
    kept_bytes: u64,
    /// With their times, and the sum of what they hold.
    noted: Vec<(PathBuf, Birth, Stamp, Option<u64>)>,
    /// How much was read for the sums.
    summed_bytes: u64,
}

/// When a file was changed. The first of these no process can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    change: (i64, i64),
    content: (i64, i64, u64),
}

impl Stamp {
    fn seen(found: &Metadata) -> Self {
        Self {
            change: (found.ctime(), found.ctime_nsec()),
            content: (found.mtime(), found.mtime_nsec(), found.len()),
        }
    }
}

/// A file whose sum is known.
type Summed = (Birth, Stamp, u64);

/// The sum of what a file holds. Its key is nobody else's, so that no other content can be made for it;
/// and what was read once is not read again before it changes.
fn sum(path: &Path, birth: &Birth, stamp: Stamp) -> Option<u64> {
    static KNOWN: Mutex<BTreeMap<(u64, u64), Summed>> = Mutex::new(BTreeMap::new());
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_same = |it: &Summed| it.0 == *birth && it.1 == stamp;
    if let Some((_, _, sum)) = known().get(&birth.number).filter(|it| is_same(it)) {
        return Some(*sum);
    }
    let mut hasher = KEY.build_hasher();
    let read = |held: Held| held.read_pieces(|piece| hasher.write(piece));
    let found = Held::of(path).and_then(read).ok()?;
    if Birth::seen(&found) != *birth || Stamp::seen(&found) != stamp {
        return None;
    }
    let sum = hasher.finish();
    known().insert(birth.number, (birth.clone(), stamp, sum));
    Some(sum)
}

/// What counts in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    /// Everything: it is a part of something protected.
    Protected,
    /// Protected names: otherwise it holds what any folder of a project does. To ask for the links of
    /// each of its files would hold up every command.
    Checkout,
}

/// How many entries a folder has, and the folders among them.
type Walked = (usize, Vec<(PathBuf, Within)>);

impl Linked {
    /// Where they are.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        let kept = self.kept.iter().map(|(path, ..)| path.as_path());
        kept.chain(self.noted.iter().map(|(path, ..)| path.as_path()))
    }

    /// Finds them at and beneath protected paths of a root; none where there are none.
    pub(crate) fn find(root: &Path, names: &[PathBuf]) -> Result<Option<Self>, SandboxError> {
        let moment = Moment { clock: Clock::of(root), now: Instant::now() };
        let linked = Self::look(names, moment)?;
        Ok((!linked.kept.is_empty() || !linked.noted.is_empty()).then_some(linked))
    }

    fn look(names: &[PathBuf], moment: Moment) -> Result<Self, SandboxError> {
        let mut linked = Self::default();
        let mut folders = Vec::new();
        for part in names.iter().flat_map(|name| parts(name)) {
            folders.extend(linked.look_at_path(part)?);
        }
        let fetched = linked.walk(folders, moment)?;
        linked.walk_fetched(fetched)?;
        Ok(linked)
    }

    /// Looks through folders, level by level. Returns those in them that hold what tools have fetched.
    fn walk(&mut self, tops: Vec<PathBuf>, moment: Moment) -> Result<Vec<PathBuf>, SandboxError> {
        let (mut fetched, mut seen) = (Vec::new(), 0);
        for top in tops {
            let mut near = NEAR;
            let mut left = VecDeque::from([(top.clone(), Within::Protected)]);
            while let Some((folder, within)) = left.pop_front() {
                let most = ENTRIES - seen;
                let (count, below) = match within {
                    Within::Protected => {
                        let is_obeyed = folder == top || has_protected_name(&folder);
                        self.walk_protected(&folder, is_obeyed, (near, most), moment)?
                    }
                    Within::Checkout => self.walk_checkout(&folder, most, moment.clock)?,
                };
                seen += count;
                near = near.saturating_sub(count);
                if seen >= ENTRIES {
                    return Err(too_many(&top));
                }
                let is_fetched = |path: &Path| SKIPPED.iter().any(|skip| path.ends_with(skip));
                let (skipped, others) = below.into_iter().partition(|(path, _)| is_fetched(path));
                let skipped: Vec<(PathBuf, Within)> = skipped;
                fetched.extend(skipped.into_iter().map(|(path, _)| path));
                left.extend::<Vec<_>>(others);
            }
        }
        Ok(fetched)
    }

    /// Looks at the files in a folder that is a part of something protected, or the top of a checkout. What
    /// is obeyed by its name is so as well where it is a repository of its own. So many entries are asked
    /// in any case, and so many may be there.
    fn walk_protected(
        &mut self,
        folder: &Path,
        is_obeyed: bool,
        (near, most): (usize, usize),
        moment: Moment,
    ) -> Result<Walked, SandboxError> {
        let known = asked::known(folder, is_obeyed, moment);
        if let Some(known) = known.filter(|known| known.count > near) {
            for path in &known.linked {
                self.look_at_path(path.clone())?;
            }
            return Ok((known.count, known.below.clone()));
        }
        let seen = fs::metadata(folder).ok().as_ref().map(Seen::of);
        let Some(entries) = list(folder, most)? else { return Ok((0, Vec::new())) };
        let is_checkout = !is_obeyed && entries.iter().any(|entry| entry.file_name() == ".git");
        let (mut linked, mut below) = (Vec::new(), Vec::new());
        for entry in &entries {
            let kind = entry.file_type().map_err(|error| unseen(folder, &error))?;
            let is_obeyed = !is_checkout || is_protected(folder, &entry.file_name(), usize::MAX);
            if kind.is_file() && is_obeyed {
                linked.extend(self.look_at(entry, true)?.then(|| entry.path()));
            } else if kind.is_dir() {
                let within = if is_obeyed { Within::Protected } else { Within::Checkout };
                below.push((entry.path(), within));
            }
        }
        let count = entries.len();
        if let Some(seen) = seen.filter(|_| count > near) {
            let (when, below) = (moment.now, below.clone());
            let asked = Asked { seen, when, is_obeyed, count, linked, below };
            asked::remember(folder, asked, moment);
        }
        Ok((count, below))
    }

    /// The same in a folder of a checkout.
    fn walk_checkout(
        &mut self,
        folder: &Path,
        most: usize,
        clock: Option<Clock>,
    ) -> Result<Walked, SandboxError> {
        let listing = match listings::list(folder, false, most, clock) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((0, Vec::new())),
            listing => listing.map_err(|error| unseen(folder, &error))?,
        };
        if listing.is_unclear {
            return Err(unseen(folder, &io::ErrorKind::PermissionDenied.into()));
        }
        let folders = listing.folders.iter().map(|(path, _)| path).chain(&listing.skipped);
        let mut below: Vec<_> = folders.map(|path| (path.clone(), Within::Checkout)).collect();
        for name in &listing.names {
            let folder = self.look_at_path(name.clone())?;
            below.extend(folder.map(|folder| (folder, Within::Protected)));
        }
        Ok((listing.count, below))
    }

    /// Looks at what may be a file. Returns what is a folder.
    fn look_at_path(&mut self, path: PathBuf) -> Result<Option<PathBuf>, SandboxError> {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => Ok(Some(path)),
            Ok(found) => self.add(path, &found, true).map(|()| None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unseen(&path, &error)),
        }
    }

    /// Looks through the first of what tools have fetched.
    fn walk_fetched(&mut self, mut left: Vec<PathBuf>) -> Result<(), SandboxError> {
        let mut seen = 0;
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                seen += 1;
                if seen > FETCHED_ENTRIES {
                    return Ok(());
                }
                match entry.file_type() {
                    Ok(kind) if kind.is_file() => drop(self.look_at(&entry, false)?),
                    Ok(kind) if kind.is_dir() => left.push(entry.path()),
                    Ok(_) | Err(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Looks at a file. Returns whether it has further names.
    fn look_at(&mut self, entry: &fs::DirEntry, is_obeyed: bool) -> Result<bool, SandboxError> {
        match entry.metadata() {
            Ok(found) if found.nlink() > 1 => {
                self.add(entry.path(), &found, is_obeyed).map(|()| true)
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(unseen(&entry.path(), &error))
            }
            Ok(_) | Err(_) => Ok(false),
        }
    }

    /// Keeps a file that has further names: its content while there is room, otherwise its times.
    fn add(
        &mut self,
        path: PathBuf,
        found: &Metadata,
        is_obeyed: bool,
    ) -> Result<(), SandboxError> {
        if !found.is_file() || found.nlink() < 2 {
            return Ok(());
        }
        let birth = Birth::seen(found);
        let bytes = self.kept_bytes.saturating_add(found.len());
        if !is_obeyed || bytes > KEPT_BYTES {
            let stamp = Stamp::seen(found);
            self.summed_bytes = self.summed_bytes.saturating_add(found.len());
            let is_summed = self.summed_bytes <= SUMMED_BYTES;
            let sum = is_summed.then(|| sum(&path, &birth, stamp)).flatten();
            self.noted.push((path, birth, stamp, sum));
            return Ok(());
        }
        match Held::of(&path).and_then(|held| held.read(KEPT_BYTES)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(unguarded(&path, &error)),
            Ok((found, text)) => {
                // That of the file that was read, whatever was looked at before.
                let (birth, mode) = (Birth::seen(&found), found.mode() & 0o7777);
                self.kept.push((path, birth, Saved::File { bytes: text, mode }));
                self.kept_bytes = bytes;
                Ok(())
            }
        }
    }

    /// Undoes what was written by another name. What the host has put in the place of a file stays.
    pub(super) fn restore(&self, root: &Path) -> Vec<io::Result<String>> {
        let mut moved = Vec::new();
        for (path, birth, saved) in &self.kept {
            let is_same = Birth::of(path).as_ref() == Some(birth);
            if !is_same || read(path).is_ok_and(|found| found.as_ref() == Some(saved)) {
                continue;
            }
            let away = quarantine(root, path);
            let written = away.is_ok().then(|| with_rights(root, path, || write(path, saved)));
            moved.push(away);
            moved.extend(written.and_then(Result::err).map(|error| Err(named(path, &error))));
        }
        let mut doubtful = Vec::new();
        for (path, birth, stamp, before) in &self.noted {
            let found = fs::symlink_metadata(path).ok();
            let Some(found) = found.filter(|found| Birth::seen(found) == *birth) else { continue };
            let now = Stamp::seen(&found);
            if now == *stamp {
                continue;
            }
            // Times of content can be set back. That of the change is also another where a further name
            // was made or removed.
            let is_written = || Some(before.as_ref()? != &sum(path, birth, now)?);
            if now.content != stamp.content || is_written() == Some(true) {
                moved.push(quarantine(root, path));
            } else if is_written().is_none() {
                doubtful.push(path);
            }
        }
        moved.extend(doubtful.first().map(|path| {
            Ok(format!(
                "a confined process touched `{}` and {} other protected files by further names of \
                 theirs (hard links); whether it wrote into them cannot be told",
                path.display(),
                doubtful.len() - 1
            ))
        }));
        moved
    }
}

fn has_protected_name(path: &Path) -> bool {
    let parts = path.parent().zip(path.file_name());
    parts.is_some_and(|(folder, name)| is_protected(folder, name, usize::MAX))
}

/// At most so many entries of a folder; none where it is not there.
fn list(folder: &Path, most: usize) -> Result<Option<Vec<fs::DirEntry>>, SandboxError> {
    let listed = fs::read_dir(folder).and_then(|entries| entries.take(most).collect());
    match listed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        listed => listed.map(Some).map_err(|error| unseen(folder, &error)),
    }
}

fn too_many(folder: &Path) -> SandboxError {
    SandboxError::Refused(format!(
        "{} holds more files than can be looked through ({ENTRIES}) for further names (hard links), by \
         which a command could write them; move what is large out of it, or use read-only access",
        folder.display()
    ))
}

fn unseen(path: &Path, error: &io::Error) -> SandboxError {
    SandboxError::Refused(format!(
        "{} cannot be looked at ({error}), so that it may have further names (hard links), by which a \
         command could write it; make it readable, or use read-only access",
        path.display()
    ))
}

fn unguarded(path: &Path, error: &io::Error) -> SandboxError {
    SandboxError::Refused(format!(
        "{} has further names (hard links), by which a command could write it, and cannot be compared \
         afterwards ({error}); put a copy in its place, or use read-only access",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_by_another_name_is_undone_and_what_the_host_replaces_stays() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        fs::create_dir_all(path(".git/hooks")).unwrap();
        for name in [".git/config", ".git/hooks/one", ".git/hooks/two", "alone"] {
            fs::write(path(name), "mine").unwrap();
        }
        assert!(Linked::find(base.path(), &[path(".git"), path("alone")]).unwrap().is_none());
        for (name, other) in [("config", "a"), ("hooks/one", "b"), ("hooks/two", "c")] {
            fs::hard_link(path(".git").join(name), path(other)).unwrap();
        }
        let linked = Linked::find(base.path(), &[path(".git"), path("alone")]).unwrap().unwrap();
        fs::write(path("a"), "evil").unwrap();
        fs::write(path("new"), "theirs").unwrap();
        fs::rename(path("new"), path(".git/hooks/two")).unwrap();
        assert_eq!(linked.restore(base.path()).len(), 1);
        let text = |name: &str| fs::read_to_string(path(name)).unwrap();
        assert_eq!((text(".git/config"), text(".git/hooks/one")), ("mine".into(), "mine".into()));
        assert_eq!(text(".git/hooks/two"), "theirs");
        assert!(path(".brynhild-quarantine/.git_config.1").exists());
    }

    #[test]
    fn packages_of_a_store_are_neither_kept_nor_refused_and_a_write_to_one_is_found() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        let packages = path(".claude/worktrees/w/node_modules");
        fs::create_dir_all(&packages).unwrap();
        fs::create_dir(path("store")).unwrap();
        for name in ["a", "b", "c"] {
            fs::write(path("store").join(name), vec![b'x'; 1 << 20]).unwrap();
            fs::hard_link(path("store").join(name), packages.join(name)).unwrap();
        }
        let linked = Linked::find(base.path(), &[path(".claude")]).unwrap().unwrap();
        assert_eq!((linked.kept.len(), linked.noted.len()), (0, 3));
        assert!(linked.restore(base.path()).is_empty());
        fs::write(path("store/a"), "evil").unwrap();
        fs::remove_file(path("store/b")).unwrap();
        let time = fs::metadata(path("store/c")).unwrap().modified().unwrap();
        fs::write(path("store/c"), vec![b'y'; 1 << 20]).unwrap();
        fs::File::open(path("store/c")).unwrap().set_modified(time).unwrap();
        let told = linked.restore(base.path());
        assert!(told.iter().flatten().all(|words| words.contains("was moved to")), "{told:?}");
        assert_eq!(told.len(), 2);
        // Of this one only another name has gone.
        assert!(packages.join("b").exists());
        assert!(!packages.join("a").exists() && !packages.join("c").exists());
    }

    #[test]
    fn what_is_too_much_to_be_read_is_told_by_its_times() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        fs::create_dir_all(path(".claude/node_modules")).unwrap();
        fs::write(path("store"), "x").unwrap();
        fs::hard_link(path("store"), path(".claude/node_modules/a")).unwrap();
        let mut linked = Linked { summed_bytes: SUMMED_BYTES, ..Linked::default() };
        linked.walk_fetched(vec![path(".claude/node_modules")]).unwrap();
        fs::remove_file(path("store")).unwrap();
        let told = linked.restore(base.path());
        assert!(told.iter().flatten().any(|words| words.contains("cannot be told")), "{told:?}");
    }

    #[test]
    fn of_a_checkout_only_protected_names_are_asked_for_their_links() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        let names = [
            ".git",
            "src/main.rs",
            "src/.mcp.json",
            ".vscode/deep/tasks.json",
            ".github/hooks/a.json",
            ".github/a.md",
        ];
        for name in names {
            let file = path(".claude/worktrees/w").join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "mine").unwrap();
            fs::hard_link(file, path(&name.replace('/', "_"))).unwrap();
        }
        let linked = Linked::find(base.path(), &[path(".claude")]).unwrap().unwrap();
        for name in names {
            fs::write(path(&name.replace('/', "_")), "evil").unwrap();
        }
        linked.restore(base.path());
        let is_evil = |name: &&str| {
            fs::read_to_string(path(".claude/worktrees/w").join(name)).unwrap() == "evil"
        };
        let evil: Vec<&str> = names.into_iter().filter(is_evil).collect();
        assert_eq!(evil, ["src/main.rs", ".github/a.md"]);
    }

    #[test]
    fn a_protected_folder_that_is_a_repository_itself_is_looked_through() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        let names = [".claude/settings.json", ".claude/worktrees/w/.vscode/tasks.json"];
        for name in names {
            let file = path(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "mine").unwrap();
            fs::write(file.with_file_name(".git"), "gitdir: elsewhere").unwrap();
            fs::hard_link(&file, path(&name.replace('/', "_"))).unwrap();
        }
        fs::write(path(".claude/worktrees/w/.git"), "gitdir: elsewhere").unwrap();
        let linked = Linked::find(base.path(), &[path(".claude")]).unwrap().unwrap();
        for name in names {
            fs::write(path(&name.replace('/', "_")), "evil").unwrap();
        }
        linked.restore(base.path());
        for name in names {
            assert_eq!(fs::read_to_string(path(name)).unwrap(), "mine", "{name}");
        }
    }

    #[test]
    fn a_folder_of_too_many_files_is_named_as_such() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join(".claude/w");
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(list(&folder, 1).unwrap().unwrap().len(), 0);
        let words = too_many(&base.path().join(".claude")).to_string();
        assert!(words.contains(".claude holds more files than") && words.contains("300000"));
        fs::write(folder.join("x"), "").unwrap();
        assert!(
            list(&folder.join("x"), 1).unwrap_err().to_string().contains("cannot be looked at")
        );
    }

    #[test]
    fn very_many_files_hide_none_that_has_another_name() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        fs::create_dir_all(path(".git/hooks")).unwrap();
        fs::write(path(".git/hooks/pre-commit"), "mine").unwrap();
        fs::hard_link(path(".git/hooks/pre-commit"), path("b")).unwrap();
        fs::create_dir_all(path(".claude/worktrees/w")).unwrap();
        for number in 0..=FETCHED_ENTRIES {
            fs::write(path(&format!(".claude/worktrees/w/{number}")), "").unwrap();
        }
        let linked = Linked::find(base.path(), &[path(".git"), path(".claude")]).unwrap().unwrap();
        fs::write(path("b"), "evil").unwrap();
        assert_eq!(linked.restore(base.path()).len(), 1);
        assert_eq!(fs::read_to_string(path(".git/hooks/pre-commit")).unwrap(), "mine");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_lies_deep_in_a_very_large_folder_is_asked_when_it_changes_and_once_in_a_while() {
        use std::time::Duration;

        use super::asked::WHILE;

        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        fs::create_dir_all(path(".claude/w/deep")).unwrap();
        for number in 0..NEAR {
            fs::write(path(&format!(".claude/w/{number}")), "").unwrap();
        }
        for name in ["a", "b", "c"] {
            fs::write(path(&format!(".claude/w/deep/{name}")), "mine").unwrap();
        }
        fs::write(path(".claude/settings.json"), "mine").unwrap();
        crate::nested::tests::pass_time();
        fs::write(path("later"), "").unwrap();
        let begun = Instant::now();
        let found = |after: Duration| {
            let moment = Moment { clock: Clock::of(base.path()), now: begun + after };
            let linked = Linked::look(&[path(".claude")], moment).unwrap();
            let names = linked.kept.iter().map(|(path, ..)| path.file_name().unwrap().to_owned());
            let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
            names.sort();
            names.join(" ")
        };
        let link = |name: &str, other: &str| fs::hard_link(path(name), path(other)).unwrap();
        assert_eq!(found(Duration::ZERO), "");
        // Of these it is asked each time.
        link(".claude/settings.json", "x");
        assert_eq!(found(Duration::ZERO), "settings.json");
        link(".claude/w/deep/a", "y");
        assert_eq!(found(Duration::ZERO), "settings.json");
        assert_eq!(found(WHILE), "a settings.json");
        assert_eq!(found(WHILE), "a settings.json");
        fs::remove_file(path("y")).unwrap();
        link(".claude/w/deep/b", "z");
        assert_eq!(found(WHILE), "settings.json");
        // Something came into the folder.
        link("z", ".claude/w/deep/d");
        assert_eq!(found(WHILE), "b d settings.json");
    }
}
