//! Changes files of the working tree for a switch. Git makes them elsewhere and never writes here: a
//! confined process that runs meanwhile can put a link in the place of a folder, and none is followed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use contract::broker::BrokerError;

use crate::held::Held;

/// A name at which something else is to stand.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: PathBuf,
    before: Kind,
    after: Kind,
}

/// What stands at a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Nothing,
    /// A file or a link.
    File,
    /// The folder of a submodule, into which nothing is put.
    Module,
}

impl Entry {
    /// The ways from the index to a tree, as `git diff-index --cached --raw -z TREE` prints them.
    pub(crate) fn all(printed: &[u8]) -> Vec<Self> {
        let mut fields = printed.split(|byte| *byte == 0);
        let mut entries = Vec::new();
        while let (Some(modes), Some(name)) = (fields.next(), fields.next()) {
            let kind = |mode: Option<&[u8]>| match mode {
                None | Some(b"000000") => Kind::Nothing,
                Some(b"160000") => Kind::Module,
                Some(_) => Kind::File,
            };
            let modes = modes.strip_prefix(b":").unwrap_or(modes);
            let mut modes = modes.split(|byte| *byte == b' ');
            let (after, before) = (kind(modes.next()), kind(modes.next()));
            entries.push(Self { name: OsStr::from_bytes(name).into(), before, after });
        }
        entries
    }

    /// Whether git has to make a file for it.
    pub(crate) fn is_file(&self) -> bool {
        self.after == Kind::File
    }
}

/// Brings the files beneath `root` to what `entries` say; new ones are taken from `made`. Nothing changes
/// where a file would be lost that git does not keep: git itself takes ignored ones for worthless.
pub(crate) fn change(root: &Path, made: &Path, entries: &[Entry]) -> Result<(), BrokerError> {
    let kept = entries.iter().filter(|entry| entry.before == Kind::File);
    let kept: BTreeSet<&Path> = kept.map(|entry| entry.name.as_path()).collect();
    for entry in entries.iter().filter(|entry| entry.after == Kind::File) {
        if let Some(lost) = in_the_way(root, &entry.name, &kept) {
            return Err(BrokerError::Refused(format!(
                "{} is there and git does not keep it, so it would be lost; move it away first",
                lost.display()
            )));
        }
    }
    for entry in entries.iter().filter(|entry| entry.before != entry.after) {
        remove(root, entry);
    }
    for entry in entries {
        let done = match entry.after {
            Kind::Nothing => Ok(()),
            Kind::File => put(&made.join(&entry.name), &root.join(&entry.name), entry.before),
            Kind::Module => make_folder(&root.join(&entry.name)),
        };
        done.map_err(|error| {
            let name = entry.name.display();
            BrokerError::Failed(format!(
                "cannot write {name}, files before it have changed: {error}"
            ))
        })?;
    }
    Ok(())
}

/// What lies at a name, or in a folder there, and is not `kept`.
fn in_the_way(root: &Path, name: &Path, kept: &BTreeSet<&Path>) -> Option<PathBuf> {
    let held = Held::of(&root.join(name)).ok()?;
    let found = fs::symlink_metadata(held.path()).ok()?;
    if !found.is_dir() {
        return (!kept.contains(name)).then(|| name.to_owned());
    }
    let entries = fs::read_dir(held.path()).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| name.join(entry.file_name()));
    names.find_map(|name| in_the_way(root, &name, kept))
}

/// Removes what stood there, and folders in which nothing is left. What cannot be removed stays as a file
/// that git does not know, as it does with git itself.
fn remove(root: &Path, entry: &Entry) {
    let path = root.join(&entry.name);
    let remove = |path: &Path, by: fn(&Path) -> io::Result<()>| by(Held::of(path)?.path());
    let _ = match entry.before {
        Kind::Nothing => return,
        Kind::File => remove(&path, |path| fs::remove_file(path)),
        Kind::Module => remove(&path, |path| fs::remove_dir(path)),
    };
    for folder in path.ancestors().skip(1).take_while(|folder| *folder != root) {
        if remove(folder, |path| fs::remove_dir(path)).is_err() {
            break;
        }
    }
}

/// Puts a copy of `made` at `path`, in the place of what was there before.
fn put(made: &Path, path: &Path, before: Kind) -> io::Result<()> {
    let held = hold(path)?;
    let place = held.path();
    let cleared = match before {
        // Of what came meanwhile only an empty folder may go.
        Kind::Nothing => fs::remove_dir(place).or(Ok(())),
        Kind::File | Kind::Module => fs::remove_file(place),
    };
    match cleared {
        Err(error) if error.kind() == ErrorKind::IsADirectory => fs::remove_dir(place)?,
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let found = fs::symlink_metadata(made)?;
    if found.is_symlink() {
        return symlink(fs::read_link(made)?, place);
    }
    let mut options = File::options();
    options.write(true).create_new(true).mode(found.permissions().mode() & 0o777);
    io::copy(&mut File::open(made)?, &mut options.open(place)?).map(drop)
}

/// Holds the folder of a path, which is made where there is none.
fn hold(path: &Path) -> io::Result<Held> {
    match (Held::of(path), path.parent()) {
        (Err(error), Some(folder)) if error.kind() == ErrorKind::NotFound => {
            make_folder(folder)?;
            Held::of(path)
        }
        (held, _) => held,
    }
}

fn make_folder(path: &Path) -> io::Result<()> {
    match fs::create_dir(hold(path)?.path()) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn entry(name: &str, before: Kind, after: Kind) -> Entry {
        Entry { name: name.into(), before, after }
    }

    #[test]
    fn lines_of_git_are_understood() {
        let printed = b":000000 100644 0 1 A\0gone\0:100755 100644 1 2 M\0a b/c\0\
            :160000 000000 1 0 D\0module\0:120000 160000 1 2 T\0link\0";
        let expected = [
            entry("gone", Kind::File, Kind::Nothing),
            entry("a b/c", Kind::File, Kind::File),
            entry("module", Kind::Nothing, Kind::Module),
            entry("link", Kind::Module, Kind::File),
        ];
        assert_eq!(Entry::all(printed), expected);
        assert_eq!(Entry::all(b""), []);
    }

    #[test]
    fn nothing_is_written_or_removed_through_a_link() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let path = |name: &str| base.join(name);
        for folder in ["home", "work/.git/hooks", "made/x"] {
            fs::create_dir_all(path(folder)).unwrap();
        }
        fs::write(path("home/key"), "mine").unwrap();
        fs::write(path("made/x/key"), "theirs").unwrap();
        fs::write(path("made/x/pre-commit"), "theirs").unwrap();
        for (target, name) in [("../home", "x/key"), (".git/hooks", "x/pre-commit")] {
            symlink(target, path("work/x")).unwrap();
            let written = [entry(name, Kind::Nothing, Kind::File)];
            let error = change(&path("work"), &path("made"), &written).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
            let gone = [entry(name, Kind::File, Kind::Nothing)];
            change(&path("work"), &path("made"), &gone).unwrap();
            fs::remove_file(path("work/x")).unwrap();
        }
        assert_eq!(fs::read(path("home/key")).unwrap(), b"mine");
        assert_eq!(fs::read_dir(path("work/.git/hooks")).unwrap().count(), 0);
        // A link at the name itself is replaced.
        fs::create_dir(path("work/x")).unwrap();
        symlink("../../home/key", path("work/x/key")).unwrap();
        let written = [entry("x/key", Kind::File, Kind::File)];
        change(&path("work"), &path("made"), &written).unwrap();
        assert_eq!(fs::read(path("work/x/key")).unwrap(), b"theirs");
        assert_eq!(fs::read(path("home/key")).unwrap(), b"mine");
    }
}
