//! Folders that another confined process exchanges for links between a look and what is done by it.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::snapshot::{Saved, read, write};
use super::{Linked, QUARANTINE, Snapshot, move_to_quarantine, quarantine, with_rights};
use crate::nested::{self, look};

/// A project, and a home that nothing may happen to.
struct Place {
    base: tempfile::TempDir,
    root: PathBuf,
    home: PathBuf,
    names: [&'static str; 4],
}

impl Place {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().canonicalize().unwrap();
        let (root, home) = (path.join("root"), path.join("home"));
        let names = [".claude/settings.json", ".vscode/tasks.json", ".envrc", "secret"];
        let place = Self { base, root, home, names };
        for name in names {
            place.write(&place.home.join(name), "theirs");
        }
        fs::create_dir(&place.root).unwrap();
        place
    }

    fn write(&self, path: &Path, text: &str) {
        assert!(path.starts_with(self.base.path().canonicalize().unwrap()));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Puts a link to the home in the place of the folder `x`.
    fn exchange(&self) {
        fs::rename(self.path("x"), self.path("aside")).unwrap();
        symlink(&self.home, self.path("x")).unwrap();
    }

    /// Nothing left the home, came there or was changed.
    fn is_untouched(&self) {
        for name in self.names {
            assert_eq!(fs::read_to_string(self.home.join(name)).unwrap(), "theirs", "{name}");
        }
        let count = |path: &Path| fs::read_dir(path).unwrap().count();
        assert_eq!(count(&self.home), 4);
        assert_eq!((count(&self.home.join(".claude")), count(&self.home.join(".vscode"))), (1, 1));
        assert!(!self.path(QUARANTINE).exists(), "an empty one goes again");
    }
}

#[test]
fn what_was_planted_is_not_moved_out_of_what_a_link_leads_to() {
    let place = Place::new();
    fs::create_dir(place.path("x")).unwrap();
    let before = nested::look(&place.root, None);
    place.write(&place.path("x/.claude/settings.json"), "evil");
    place.write(&place.path("x/.envrc"), "evil");
    let planted = before.planted(&place.root).paths;
    assert_eq!(planted, [place.path("x/.claude"), place.path("x/.envrc")]);
    place.exchange();
    for path in &planted {
        let error = quarantine(&place.root, path).unwrap_err().to_string();
        assert!(error.contains("`x` on the way is a link"), "{error}");
        // As it is done where the root is another disk.
        assert!(move_to_quarantine(&place.path("x"), path).is_err());
        assert!(move_to_quarantine(&place.path("x"), &place.path("aside/.envrc")).is_err());
    }
    place.is_untouched();
    assert!(place.path("aside/.envrc").exists());
}

#[test]
fn no_right_is_changed_behind_a_link() {
    let place = Place::new();
    place.write(&place.path("x/.claude/x"), "");
    place.exchange();
    let modes = || [".claude", ""].map(|it| fs::metadata(place.home.join(it)).unwrap().mode());
    for name in [".claude", ""] {
        let mode = fs::Permissions::from_mode(0o500);
        fs::set_permissions(place.home.join(name), mode).unwrap();
    }
    let before = modes();
    let done: io::Result<()> = with_rights(&place.root, &place.path("x/.claude/x"), || {
        assert_eq!(modes(), before);
        Err(io::ErrorKind::PermissionDenied.into())
    });
    assert!(done.is_err());
    assert_eq!(modes(), before);
    for name in ["", ".claude"] {
        let mode = fs::Permissions::from_mode(0o700);
        fs::set_permissions(place.home.join(name), mode).unwrap();
    }
}

#[test]
fn a_snapshot_is_neither_taken_from_what_a_link_leads_to_nor_brought_back_there() {
    let place = Place::new();
    place.write(&place.path("x/.vscode/tasks.json"), "mine");
    place.write(&place.path("x/.git/config"), "mine");
    fs::set_permissions(place.path("x/.vscode"), fs::Permissions::from_mode(0o711)).unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().mode() & 0o777;
    let theirs = mode(place.home.join(".vscode"));
    assert_ne!(theirs, 0o711);
    let snapshot = Snapshot::take(&place.root, &look(&place.root, None)).unwrap();
    place.exchange();
    // Before the way is cleared, modes and git directories are put back.
    let mut told = Vec::new();
    snapshot.restore(&mut told);
    let errors: Vec<_> = told.iter().filter_map(|it| it.as_ref().err()).collect();
    assert_eq!(errors.len(), 2, "{told:?}");
    assert_eq!(mode(place.home.join(".vscode")), theirs);
    assert_eq!(fs::read_to_string(place.path("x/.vscode/tasks.json")).unwrap(), "mine");
    fs::remove_dir_all(place.path(QUARANTINE)).unwrap();
    place.is_untouched();
}

#[test]
fn content_behind_a_link_is_neither_read_nor_written() {
    let place = Place::new();
    fs::create_dir(place.path("x")).unwrap();
    place.exchange();
    for name in ["x/.vscode/tasks.json", "x/.vscode", "x/nothing"] {
        let error = read(&place.path(name)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory, "{name}");
    }
    assert_eq!(read(&place.path("gone/x")).unwrap(), None);
    let names = vec![place.path("x/.vscode")];
    let error = Snapshot::of(&place.root, names).unwrap_err().to_string();
    assert!(error.contains("x/.vscode cannot be guarded"), "{error}");
    let file = Saved::File { bytes: b"evil".to_vec(), mode: 0o600 };
    for saved in [file, Saved::Folder, Saved::Link("evil".into())] {
        assert!(write(&place.path("x/new"), &saved).is_err());
    }
    place.is_untouched();
}

#[test]
fn files_with_further_names_are_neither_kept_nor_brought_back_behind_a_link() {
    let place = Place::new();
    place.write(&place.path("x/.vscode/tasks.json"), "mine");
    // The same file by another name, so that it is found to be the one that was seen.
    fs::remove_file(place.home.join(".vscode/tasks.json")).unwrap();
    let theirs = place.home.join(".vscode/tasks.json");
    fs::hard_link(place.path("x/.vscode/tasks.json"), &theirs).unwrap();
    let names = [place.path("x/.vscode")];
    let linked = Linked::find(&place.root, &names).unwrap().unwrap();
    place.exchange();
    fs::write(place.path("aside/.vscode/tasks.json"), "theirs").unwrap();
    let told = linked.restore(&place.root);
    assert!(told.len() == 1 && told[0].is_err(), "{told:?}");
    let error = Linked::find(&place.root, &names).unwrap_err().to_string();
    assert!(error.contains("cannot be compared"), "{error}");
    place.is_untouched();
}
