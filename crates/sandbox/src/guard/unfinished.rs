//! Looks that a killed program left undone. What was there before a command is on the disk while it runs,
//! under a lock that ends with the program; the next start does by it what is done after a command.
//!
//! The person may have worked in the project since. So the program says four times a second that it is
//! alive: what came by then is treated as after any command, what came later is told and left alone.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use contract::sandbox::SandboxError;
use rustix::fs::{FlockOperation, flock};
use tempfile::NamedTempFile;

use super::{After, Birth, put_away, unsearched};
use crate::held::Held;
use crate::nested::{Nested, Planted, When};
use crate::protected::{is_bare_repository, is_empty_folder};
use crate::stubs::{FORGOTTEN, private_directory};
use crate::{Settings, User};

/// So long after it was last seen alive the program may have been killed: on a busy machine it says so late.
const LATE: Duration = Duration::from_secs(2);
/// So many paths are named at once.
const NAMED: usize = 20;

/// A look that is still to be done. Dropping this says that it was.
#[derive(Debug)]
pub(crate) struct Unfinished {
    record: NamedTempFile,
}

impl Unfinished {
    /// Writes down in `state` what was there before a command, which must not start earlier.
    pub(crate) fn begin(state: &Path, after: &After) -> Result<Self, SandboxError> {
        let folder = folder(state);
        let begun = private_directory(&folder).and_then(|()| write(&folder, &encode(after)));
        begun.map(|record| Self { record }).map_err(|error| {
            let folder = folder.display();
            SandboxError::Refused(format!("cannot write down what is there: {error} (in {folder})"))
        })
    }

    /// What says, with the time of its content, until when the program was alive.
    pub(crate) fn pulse(&self) -> Option<File> {
        self.record.as_file().try_clone().ok()
    }
}

fn folder(state: &Path) -> PathBuf {
    state.join("unfinished")
}

fn write(folder: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    loop {
        let mut record = tempfile::Builder::new().prefix("look-").tempfile_in(folder)?;
        flock(record.as_file(), FlockOperation::LockExclusive)?;
        // A start beside this one may have taken it for one that nobody has, and removed it.
        if record.as_file().metadata()?.nlink() > 0 {
            record.write_all(bytes)?;
            return Ok(record);
        }
    }
}

/// A root with what was there before a command.
#[derive(Debug)]
struct Left {
    root: PathBuf,
    /// What tells it from another folder at the same path.
    birth: Vec<u8>,
    before: Nested,
    was_bare: bool,
    /// Stubs, by what tells each from another folder.
    stubs: Vec<(PathBuf, Vec<u8>)>,
    /// What no mount kept from the command.
    open: Vec<PathBuf>,
}

/// Fields that end with a zero, three for each thing. The last says that nothing is missing.
fn encode(after: &After) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4096);
    let mut put = |kind: &str, path: &Path, more: &[u8]| {
        for field in [kind.as_bytes(), path.as_os_str().as_bytes(), more] {
            bytes.extend_from_slice(field);
            bytes.push(0);
        }
    };
    for (root, nested) in &after.nested {
        let was_bare = !after.roots.contains(root);
        put("root", root, if was_bare { b"bare" } else { b"" });
        let birth = Birth::of(root).map(|birth| birth.words()).unwrap_or_default();
        put("birth", root, birth.as_bytes());
        nested.encode(&mut put);
        for hold in after.holds.iter().filter(|hold| hold.root == *root) {
            for (path, birth) in hold.stubs() {
                put("stub", path, birth.words().as_bytes());
            }
            for path in &hold.more {
                put("open", path, b"");
            }
        }
        let linked = after.linked.iter().filter(|(within, _)| within == root);
        for path in linked.flat_map(|(_, linked)| linked.paths()) {
            put("open", path, b"");
        }
    }
    put("end", Path::new(""), b"");
    bytes
}

/// A root that was renamed: where it was, and where it is.
type Moved = (PathBuf, PathBuf);

/// Reads roots back; none where something is missing, so that no command can have been started.
fn decode(bytes: &[u8], user: &User, moved: &[Moved]) -> Option<Vec<Left>> {
    let at = |path: &[u8]| {
        let path = Path::new(OsStr::from_bytes(path));
        let below = |(from, to): &Moved| Some(to.join(path.strip_prefix(from).ok()?));
        moved.iter().find_map(below).unwrap_or_else(|| path.to_owned())
    };
    let mut found: Vec<Left> = Vec::new();
    let mut fields = bytes.split(|byte| *byte == 0);
    loop {
        let kind = std::str::from_utf8(fields.next()?).ok()?;
        let (path, more) = (at(fields.next()?), fields.next()?);
        match kind {
            "end" => return Some(found),
            "root" => found.push(Left {
                root: path,
                birth: Vec::new(),
                before: Nested::read_for(user.clone()),
                was_bare: more == b"bare",
                stubs: Vec::new(),
                open: Vec::new(),
            }),
            "birth" => found.last_mut()?.birth = more.to_vec(),
            "stub" => found.last_mut()?.stubs.push((path, more.to_vec())),
            "open" => found.last_mut()?.open.push(path),
            // Where a link leads.
            "name" | "part" => {
                let target = at(more);
                found.last_mut()?.before.decode(kind, &path, target.as_os_str().as_bytes())?;
            }
            _ => found.last_mut()?.before.decode(kind, &path, more)?,
        }
    }
}

/// Does the looks that were left undone anywhere. Which project was renamed is seen when something is to
/// run in it: these are the `roots`.
pub(crate) fn finish(settings: &Settings, roots: &[PathBuf]) {
    for entry in fs::read_dir(folder(&settings.state)).into_iter().flatten().flatten() {
        // What cannot be read or removed is tried again at the next start.
        let told = finish_one(&entry.path(), &settings.user, roots).unwrap_or_default();
        if let Some(notice) = &settings.notice {
            for words in told {
                notice(words);
            }
        }
    }
}

fn finish_one(record: &Path, user: &User, roots: &[PathBuf]) -> io::Result<Vec<String>> {
    let mut file = File::options().read(true).write(true).open(record)?;
    let is_in_use = flock(&file, FlockOperation::NonBlockingLockExclusive).is_err();
    if is_in_use || file.metadata()?.nlink() == 0 {
        return Ok(Vec::new());
    }
    let noted = file.metadata()?.modified()?;
    let end = noted + LATE;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let mut left = decode(&bytes, user, &[]).unwrap_or_default();
    let moved: Vec<Moved> = left.iter().filter_map(|left| left.moved(roots)).collect();
    if !moved.is_empty() {
        left = decode(&bytes, user, &moved).unwrap_or_default();
        left.iter().for_each(Left::remove_stubs);
    }
    // A disk that is not there today may be there tomorrow.
    let is_away = left.iter().any(|left| !left.is_at(&left.root));
    if is_away && noted.elapsed().is_ok_and(|age| age < FORGOTTEN) {
        return Ok(Vec::new());
    }
    let told = left.iter().filter(|left| left.is_at(&left.root)).flat_map(|left| left.finish(end));
    let told = told.collect();
    fs::remove_file(record)?;
    Ok(told)
}

impl Left {
    /// Where it is now, if it is one of the `roots` by another name.
    fn moved(&self, roots: &[PathBuf]) -> Option<Moved> {
        let now = roots.iter().filter(|_| !self.is_at(&self.root));
        let now = now.into_iter().find(|root| self.is_at(root))?;
        Some((self.root.clone(), now.clone()))
    }

    /// Whether this very folder is at a path, and not another that was put there.
    fn is_at(&self, path: &Path) -> bool {
        let is_it = |birth: Birth| birth.words().as_bytes() == self.birth;
        path.is_dir() && Birth::of(path).is_some_and(is_it)
    }

    /// Removes the stubs, which the record of stubs knows by their old paths alone.
    fn remove_stubs(&self) {
        for (path, birth) in &self.stubs {
            let is_it = |found: Birth| found.words().as_bytes() == birth.as_slice();
            if Birth::of(path).is_some_and(is_it) {
                // Only an empty folder goes: whatever somebody has put there stays.
                let _ = Held::of(path).and_then(|held| fs::remove_dir(held.path()));
            }
        }
    }

    /// Does the look after a command that ended at a time.
    fn finish(&self, end: SystemTime) -> Vec<String> {
        let Planted { paths, is_cut, opened } = self.before.planted(&self.root);
        let is_filled = |(path, birth): &&(PathBuf, Vec<u8>)| {
            let is_other = |found: Birth| found.words().as_bytes() != birth.as_slice();
            Birth::of(path).is_some_and(is_other) && !is_empty_folder(path)
        };
        let mut paths: BTreeSet<PathBuf> = paths.into_iter().collect();
        paths.extend(self.stubs.iter().filter(is_filled).map(|(path, _)| path.clone()));
        if !self.was_bare && is_bare_repository(&self.root) {
            paths.insert(self.root.join("HEAD"));
        }
        let when = |path: &Path| self.before.when((&self.root, path), &opened, end);
        let (mut told, mut unsure) = (Vec::new(), Vec::new());
        for path in paths {
            match when(&path) {
                When::During => {
                    let moved = put_away(&self.root, &self.before, &path);
                    told.extend(moved.into_iter().map(super::said));
                }
                When::Later => unsure.push(path),
                When::Before => {}
            }
        }
        let is_new = |path: &&PathBuf| when(path) != When::Before;
        unsure.extend(self.open.iter().filter(is_new).cloned());
        told.extend((!unsure.is_empty()).then(|| self.unsure(&unsure)));
        told.extend(is_cut.then(|| unsearched(&self.root, &self.before)).flatten());
        drop(opened);
        told
    }

    /// What the person should know of what may be theirs.
    fn unsure(&self, paths: &[PathBuf]) -> String {
        let name = |path: &PathBuf| {
            format!("`{}`", path.strip_prefix(&self.root).unwrap_or(path).display())
        };
        let named: Vec<String> = paths.iter().take(NAMED).map(name).collect();
        let more = match paths.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        super::said(Ok(format!(
            "a command ran in `{}` when brynhild was killed; since then these came or changed there, and \
             whether by that command is not known: {}{more}; look at what is not yours before something \
             obeys it",
            self.root.display(),
            named.join(", ")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nested::tests::pass_time;

    struct Place {
        base: tempfile::TempDir,
        root: PathBuf,
    }

    impl Place {
        fn new() -> Self {
            let base = tempfile::tempdir().unwrap();
            let root = base.path().canonicalize().unwrap().join("root");
            fs::create_dir(&root).unwrap();
            Self { base, root }
        }

        fn write(&self, name: &str) {
            fs::create_dir_all(self.root.join(name).parent().unwrap()).unwrap();
            fs::write(self.root.join(name), "x").unwrap();
        }

        /// What is told of what happened after a look whose program was killed so long afterwards.
        fn killed(&self, alive: Duration, act: impl FnOnce()) -> Vec<String> {
            self.killed_in(alive, act, &[])
        }

        /// The same, as it is told by a start in `roots`.
        fn killed_in(&self, alive: Duration, act: impl FnOnce(), roots: &[PathBuf]) -> Vec<String> {
            pass_time();
            let after = After::watch(std::slice::from_ref(&self.root), None, None);
            let unfinished = Unfinished::begin(self.base.path(), &after).unwrap();
            act();
            let path = unfinished.record.path();
            assert!(finish_one(path, &User::default(), roots).unwrap().is_empty(), "it is in use");
            let begun = unfinished.record.as_file().metadata().unwrap().modified().unwrap();
            let last = (begun + alive).checked_sub(LATE).unwrap();
            unfinished.pulse().unwrap().set_modified(last).unwrap();
            flock(unfinished.record.as_file(), FlockOperation::Unlock).unwrap();
            std::mem::forget(after);
            let told = finish_one(path, &User::default(), roots).unwrap();
            assert!(!path.exists());
            told
        }
    }

    #[test]
    fn what_came_before_the_kill_is_moved_away_and_nothing_else() {
        let place = Place::new();
        place.write("old/.envrc");
        place.write("e/l/e/v/e/n/.git/config");
        fs::create_dir(place.root.join("moved")).unwrap();
        place.write("aside/.claude/x");
        fs::rename(place.root.join("aside"), place.base.path().join("aside")).unwrap();
        let told = place.killed(Duration::from_mins(10), || {
            place.write(".zed/tasks.json");
            place.write("new/.envrc");
            place.write("e/l/e/v/e/n/file");
            place.write("old/file");
            fs::rename(place.base.path().join("aside"), place.root.join("moved/in")).unwrap();
        });
        assert_eq!(told.len(), 3, "{told:?}");
        for (name, is_there) in [
            (".zed", false),
            ("new/.envrc", false),
            ("moved/in/.claude", false),
            ("old/.envrc", true),
            ("e/l/e/v/e/n/.git/config", true),
        ] {
            assert_eq!(place.root.join(name).exists(), is_there, "{name}: {told:?}");
        }
    }

    #[test]
    fn a_project_that_was_renamed_is_found_by_what_it_is() {
        let place = Place::new();
        place.write("old/.envrc");
        let moved = place.root.with_file_name("moved");
        let rename = || {
            place.write("new/.envrc");
            fs::rename(&place.root, &moved).unwrap();
        };
        let other = place.base.path().to_owned();
        let told = place.killed_in(Duration::from_mins(10), rename, &[other, moved.clone()]);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("moved/new/.envrc"), "{told:?}");
        assert!(moved.join("old/.envrc").exists() && !moved.join("new/.envrc").exists());
    }

    #[test]
    fn another_folder_in_the_place_of_a_renamed_project_is_left_alone() {
        let place = Place::new();
        let moved = place.root.with_file_name("moved");
        let exchange = || {
            place.write("new/.envrc");
            fs::rename(&place.root, &moved).unwrap();
            place.write("theirs/.envrc");
        };
        let roots = [place.root.clone(), moved.clone()];
        let told = place.killed_in(Duration::from_mins(10), exchange, &roots);
        assert!(told.len() == 1 && told[0].contains("moved/new/.envrc"), "{told:?}");
        assert!(!moved.join("new/.envrc").exists() && place.root.join("theirs/.envrc").exists());
    }

    #[test]
    fn what_came_after_the_kill_is_named_and_stays() {
        let place = Place::new();
        place.write("e/l/e/v/e/n/.vscode/settings.json");
        let told = place.killed(Duration::ZERO, || {
            pass_time();
            place.write(".envrc\nx/.envrc");
            place.write("clone/.git/hooks/post-checkout");
            place.write("e/l/e/v/e/n/.vscode/settings.json");
        });
        assert_eq!(told.len(), 1, "{told:?}");
        for name in ["`.envrc\\u{a}x/.envrc`", "`clone/.git`", "`e/l/e/v/e/n/.vscode`"] {
            assert!(told[0].contains(name), "{told:?}");
        }
        assert!(place.root.join("clone/.git").exists());
    }

    #[test]
    fn a_record_that_was_not_finished_says_nothing() {
        let place = Place::new();
        place.write("a/.envrc");
        let after = After::watch(std::slice::from_ref(&place.root), None, None);
        let bytes = encode(&after);
        assert!(decode(&bytes, &User::default(), &[]).is_some());
        for end in 0..bytes.len() - 3 {
            assert!(decode(&bytes[..end], &User::default(), &[]).is_none(), "cut at {end}");
        }
    }
}
