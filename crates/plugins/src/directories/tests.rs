use std::os::unix::fs::symlink;
use std::time::Duration;

use super::*;

fn names(directories: &Directories, directory: &Path) -> Vec<String> {
    let (paths, _) = directories.entries(directory, 100).unwrap();
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().map(name).collect()
}

/// Makes every seen entry old enough to be cached.
fn settle(directories: &Directories) {
    let mut state = directories.state();
    let seen: Vec<_> = state.seen.iter().map(|(path, it)| (path.clone(), Arc::clone(it))).collect();
    for (path, listing) in seen {
        let path = PathBuf::from(path);
        let stamp = Stamp::of(&stat(&path).unwrap());
        assert!(stamp.is_settled(SystemTime::now() + Duration::from_secs(5)));
        state.keep(&path, stamp, Some(&listing));
    }
}

#[test]
fn unchanged_directory_is_not_read_again() {
    let place = tempfile::tempdir().unwrap();
    let (file, directory) = (place.path().join("kept.json"), place.path().join("directory"));
    fs::create_dir_all(directory.join("sub")).unwrap();
    fs::write(directory.join("a"), "").unwrap();
    symlink("a", directory.join("link")).unwrap();
    let first = Directories::load(Some(file.clone()), None);
    assert_eq!(names(&first, &directory), ["a", "link", "sub"]);
    settle(&first);
    first.save();
    // The cache has another text than the file, to tell which one was read.
    let text = fs::read_to_string(&file).unwrap().replace("fa/llink", "fb/llink");
    fs::write(&file, text).unwrap();
    let second = Directories::load(Some(file.clone()), None);
    assert_eq!(names(&second, &directory), ["b", "link", "sub"]);
    assert_eq!(second.kind(&directory.join("sub")), Some(Kind::Directory));
    assert_eq!(second.kind(&directory.join("link")), Some(Kind::Link));
    fs::write(directory.join("c"), "").unwrap();
    assert_eq!(names(&second, &directory), ["b", "link", "sub"], "one look holds for a run");
    second.again();
    assert_eq!(names(&second, &directory), ["a", "c", "link", "sub"]);
}

#[test]
fn recently_changed_directory_is_not_cached() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("kept.json");
    let directories = Directories::load(Some(file.clone()), None);
    names(&directories, place.path());
    directories.save();
    assert!(!file.exists());
    settle(&directories);
    directories.again();
    fs::write(place.path().join("a"), "").unwrap();
    assert_eq!(names(&directories, place.path()), ["a"]);
    assert!(directories.state().kept.is_empty(), "what was kept before is dropped");
}

#[test]
fn project_directories_are_not_cached() {
    let place = tempfile::tempdir().unwrap();
    let project = place.path().to_path_buf();
    let directories = Directories::load(Some(project.join("kept.json")), Some(project.clone()));
    names(&directories, &project);
    settle(&directories);
    directories.again();
    let state = directories.state();
    let kept = state.kept.get(project.to_str().unwrap()).unwrap().1.clone();
    drop(state);
    assert_eq!(kept, "");
    fs::write(project.join("a"), "").unwrap();
    let stamp = Stamp::of(&stat(&project).unwrap());
    directories.state().keep(&project, stamp, Some(&Listing::default()));
    assert_eq!(names(&directories, &project), ["a"], "what is kept of it does not count");
}

#[test]
fn missing_and_symlinked_entries_are_reported() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path().canonicalize().unwrap();
    fs::create_dir(base.join("directory")).unwrap();
    fs::write(base.join("directory/file"), "").unwrap();
    symlink("directory", base.join("link")).unwrap();
    symlink("nowhere", base.join("dangling")).unwrap();
    let directories = Directories::default();
    assert!(
        directories.is_directory(&base.join("link"))
            && directories.is_file(&base.join("link/file"))
    );
    assert!(
        directories.has(&base.join("dangling")) && !directories.is_file(&base.join("dangling"))
    );
    assert!(
        !directories.has(&base.join("none/deeper"))
            && !directories.has(&base.join("directory/file/x"))
    );
    assert_eq!(names(&directories, &base.join("none")), Vec::<String>::new());
    assert_eq!(directories.resolved(&base.join("link")).unwrap(), base.join("directory"));
    assert!(directories.resolved(&base.join("dangling")).is_err());
    assert!(file_type(&directories.look(&base.join("directory/file")).unwrap()).is_file());
    assert!(directories.look(&base.join("dangling")).is_none());
}

#[test]
fn broken_or_missing_cache_is_empty() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("kept.json");
    for text in ["", "{", "[]", "{\"format\": 99, \"directories\": {}}"] {
        fs::write(&file, text).unwrap();
        assert!(Directories::load(Some(file.clone()), None).state().kept.is_empty());
    }
    let stamp = Stamp::of(&stat(&file).unwrap());
    for line in ["x", "fb/fa", "fa/", "fa/fa"] {
        assert!(CachedListing(stamp, line.to_owned()).listing().is_none(), "{line}");
    }
    assert!(CachedListing(stamp, String::new()).listing().unwrap().entries.is_empty());
}

#[test]
fn hashes_are_cached_except_for_a_project() {
    let place = tempfile::tempdir().unwrap();
    let (file, project) = (place.path().join("kept.json"), place.path().join("project"));
    let load = || Directories::load(Some(file.clone()), Some(project.clone()));
    let hashes = ["a".to_owned(), "b".to_owned()];
    let first = load();
    for root in [place.path(), &project] {
        first.keep_hashes(root, "p", "1".to_owned(), hashes.clone());
    }
    first.save();
    assert_eq!(load().hashes(place.path(), "p", "1"), Some(hashes));
    assert_eq!(load().hashes(place.path(), "p", "2"), None);
    assert_eq!(load().hashes(&project, "p", "1"), None);
}
