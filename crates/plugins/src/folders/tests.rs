use std::os::unix::fs::symlink;
use std::time::Duration;

use super::*;

fn names(folders: &Folders, folder: &Path) -> Vec<String> {
    let (paths, _) = folders.entries(folder, 100).unwrap();
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().map(name).collect()
}

/// Has everything that was seen count as old enough to be kept.
fn settle(folders: &Folders) {
    let mut state = folders.state();
    let seen: Vec<_> = state.seen.iter().map(|(path, it)| (path.clone(), Arc::clone(it))).collect();
    for (path, listing) in seen {
        let path = PathBuf::from(path);
        let stamp = Stamp::of(&Look::of(&fs::metadata(&path).unwrap()));
        assert!(stamp.is_settled(SystemTime::now() + Duration::from_secs(5)));
        state.keep(&path, stamp, Some(&listing));
    }
}

#[test]
fn a_folder_that_has_not_changed_is_not_read_again() {
    let place = tempfile::tempdir().unwrap();
    let (file, folder) = (place.path().join("kept.json"), place.path().join("folder"));
    fs::create_dir_all(folder.join("sub")).unwrap();
    fs::write(folder.join("a"), "").unwrap();
    symlink("a", folder.join("link")).unwrap();
    let first = Folders::load(Some(file.clone()), None);
    assert_eq!(names(&first, &folder), ["a", "link", "sub"]);
    settle(&first);
    first.save();
    // What is kept is told apart from what is there by saying something else.
    let text = fs::read_to_string(&file).unwrap().replace("fa/llink", "fb/llink");
    fs::write(&file, text).unwrap();
    let second = Folders::load(Some(file.clone()), None);
    assert_eq!(names(&second, &folder), ["b", "link", "sub"]);
    assert_eq!(second.kind(&folder.join("sub")), Some(Kind::Folder));
    assert_eq!(second.kind(&folder.join("link")), Some(Kind::Link));
    fs::write(folder.join("c"), "").unwrap();
    assert_eq!(names(&second, &folder), ["b", "link", "sub"], "one look holds for a run");
    second.again();
    assert_eq!(names(&second, &folder), ["a", "c", "link", "sub"]);
}

#[test]
fn a_folder_that_changed_a_moment_ago_is_not_kept() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("kept.json");
    let folders = Folders::load(Some(file.clone()), None);
    names(&folders, place.path());
    folders.save();
    assert!(!file.exists());
    settle(&folders);
    folders.again();
    fs::write(place.path().join("a"), "").unwrap();
    assert_eq!(names(&folders, place.path()), ["a"]);
    assert!(folders.state().kept.is_empty(), "what was kept before is dropped");
}

#[test]
fn nothing_is_kept_of_a_project() {
    let place = tempfile::tempdir().unwrap();
    let project = place.path().to_path_buf();
    let folders = Folders::load(Some(project.join("kept.json")), Some(project.clone()));
    names(&folders, &project);
    settle(&folders);
    folders.again();
    let state = folders.state();
    let kept = state.kept.get(project.to_str().unwrap()).unwrap().1.clone();
    drop(state);
    assert_eq!(kept, "");
    fs::write(project.join("a"), "").unwrap();
    let stamp = Stamp::of(&Look::of(&fs::metadata(&project).unwrap()));
    folders.state().keep(&project, stamp, Some(&Listing::default()));
    assert_eq!(names(&folders, &project), ["a"], "what is kept of it does not count");
}

#[test]
fn what_is_absent_and_what_is_behind_a_link_is_told() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path().canonicalize().unwrap();
    fs::create_dir(base.join("folder")).unwrap();
    fs::write(base.join("folder/file"), "").unwrap();
    symlink("folder", base.join("link")).unwrap();
    symlink("nowhere", base.join("dangling")).unwrap();
    let folders = Folders::default();
    assert!(folders.is_folder(&base.join("link")) && folders.is_file(&base.join("link/file")));
    assert!(folders.has(&base.join("dangling")) && !folders.is_file(&base.join("dangling")));
    assert!(!folders.has(&base.join("none/deeper")) && !folders.has(&base.join("folder/file/x")));
    assert_eq!(names(&folders, &base.join("none")), Vec::<String>::new());
    assert_eq!(folders.resolved(&base.join("link")).unwrap(), base.join("folder"));
    assert!(folders.resolved(&base.join("dangling")).is_err());
    assert!(folders.look(&base.join("folder/file")).unwrap().is_file());
    assert!(folders.look(&base.join("dangling")).is_none());
}

#[test]
fn a_broken_or_absent_file_costs_nothing() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("kept.json");
    for text in ["", "{", "[]", "{\"format\": 99, \"folders\": {}}"] {
        fs::write(&file, text).unwrap();
        assert!(Folders::load(Some(file.clone()), None).state().kept.is_empty());
    }
    let stamp = Stamp::of(&Look::of(&fs::metadata(&file).unwrap()));
    for line in ["x", "fb/fa", "fa/", "fa/fa"] {
        assert!(Kept(stamp, line.to_owned()).listing().is_none(), "{line}");
    }
    assert!(Kept(stamp, String::new()).listing().unwrap().entries.is_empty());
}
