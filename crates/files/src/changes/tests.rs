use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::*;

struct Project {
    directory: tempfile::TempDir,
    tracker: ChangeTracker,
}

impl Project {
    fn new(files: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let tracker = ChangeTracker::new(directory.path().to_owned());
        let project = Self { directory, tracker };
        for file in files {
            project.write(file);
        }
        project
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn write(&self, path: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "text").unwrap();
    }

    fn since(&self, cursor: Cursor) -> Vec<String> {
        let Changes::Paths(paths) = self.tracker.since(cursor) else { panic!("unknown") };
        let short = |path: &PathBuf| {
            path.strip_prefix(self.directory.path()).unwrap().to_str().unwrap().to_owned()
        };
        paths.iter().map(short).collect()
    }
}

#[test]
fn tracker_reports_writes_removals_and_permissions() {
    let project = Project::new(&["a", "in/b", "in/c", "same"]);
    let cursor = project.tracker.cursor();
    assert!(project.since(cursor).is_empty());
    project.write("a");
    fs::remove_file(project.path("in/b")).unwrap();
    fs::set_permissions(project.path("in/c"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::read(project.path("same")).unwrap();
    assert_eq!(project.since(cursor), ["a", "in/b", "in/c"]);
    let next = project.tracker.cursor();
    assert!(project.since(next).is_empty());
    project.write("new");
    assert_eq!(project.since(next), ["new"]);
    assert_eq!(project.since(cursor), ["a", "in/b", "in/c", "new"]);
}

#[test]
fn tracker_watches_directories_that_appear() {
    let project = Project::new(&["a"]);
    let cursor = project.tracker.cursor();
    project.write("x/y/z/file");
    assert_eq!(project.since(cursor), ["x", "x/y", "x/y/z", "x/y/z/file"]);
    let cursor = project.tracker.cursor();
    project.write("x/y/z/other");
    assert_eq!(project.since(cursor), ["x/y/z/other"]);
}

#[test]
fn tracker_follows_renamed_directories() {
    let project = Project::new(&["old/in/file"]);
    let cursor = project.tracker.cursor();
    fs::rename(project.path("old"), project.path("new")).unwrap();
    project.write("new/in/later");
    assert_eq!(project.since(cursor), ["new", "new/in", "new/in/file", "new/in/later", "old"]);
    let cursor = project.tracker.cursor();
    project.write("new/in/file");
    assert_eq!(project.since(cursor), ["new/in/file"]);
}

#[test]
fn tracker_follows_directories_moved_into_one_that_appears() {
    let project = Project::new(&["old/in/file"]);
    let cursor = project.tracker.cursor();
    fs::create_dir(project.path("new")).unwrap();
    fs::rename(project.path("old"), project.path("new/old")).unwrap();
    let all = ["new", "new/old", "new/old/in", "new/old/in/file", "old"];
    assert_eq!(project.since(cursor), all);
    let cursor = project.tracker.cursor();
    project.write("new/old/in/file");
    assert_eq!(project.since(cursor), ["new/old/in/file"]);
}

#[test]
fn tracker_watches_a_directory_that_becomes_readable() {
    let project = Project::new(&["in/file"]);
    let cursor = project.tracker.cursor();
    fs::set_permissions(project.path("in"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(project.since(cursor), ["in"]);
}

#[test]
fn tracker_ignores_symlinks_and_regenerable_directories() {
    let outside = tempfile::tempdir().unwrap();
    let project = Project::new(&["node_modules/a/b", ".git/objects/ab/c", ".git/refs/heads/x"]);
    symlink(outside.path(), project.path("symlink")).unwrap();
    let cursor = project.tracker.cursor();
    project.write("node_modules/a/b");
    project.write(".git/objects/ab/d");
    project.write("in/node_modules/a");
    fs::write(outside.path().join("file"), "text").unwrap();
    assert_eq!(project.since(cursor), ["in", "in/node_modules"]);
    let cursor = project.tracker.cursor();
    project.write(".git/refs/heads/topic/y");
    project.write(".git/objects/info/alternates");
    project.write(".git/refs/heads/node_modules/z");
    let info = [".git/objects/info", ".git/objects/info/alternates"];
    let refs = [".git/refs/heads/topic", ".git/refs/heads/topic/y"];
    let odd = [".git/refs/heads/node_modules", ".git/refs/heads/node_modules/z"];
    assert_eq!(project.since(cursor), [info, odd, refs].concat());
}

#[test]
fn tracker_answers_unknown_if_the_root_is_replaced() {
    let project = Project::new(&["work/a"]);
    let tracker = ChangeTracker::new(project.path("work"));
    let cursor = tracker.cursor();
    fs::rename(project.path("work"), project.path("gone")).unwrap();
    assert_eq!(tracker.since(cursor), Changes::Unknown);
    project.write("work/b");
    assert_eq!(tracker.since(cursor), Changes::Unknown);
    let cursor = tracker.cursor();
    project.write("work/c");
    let paths = [project.path("work/c")];
    assert_eq!(tracker.since(cursor), Changes::Paths(paths.into()));
}

#[test]
fn tracker_answers_unknown_after_an_overflow_and_recovers() {
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    assert!(limit <= 1 << 20, "the queue holds {limit} events, more than this test writes");
    let project = Project::new(&["a", "b"]);
    let cursor = project.tracker.cursor();
    // Two equal events in a row would be one.
    for number in 0..=limit {
        let path = project.path(["a", "b"][number % 2]);
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    fs::create_dir(project.path("unseen")).unwrap();
    assert_eq!(project.tracker.since(cursor), Changes::Unknown);
    let cursor = project.tracker.cursor();
    project.write("unseen/file");
    assert_eq!(project.since(cursor), ["unseen/file"]);
}

#[test]
fn tracker_answers_unknown_without_a_root() {
    let tracker = ChangeTracker::new("/nonexistent/workspace".into());
    let cursor = tracker.cursor();
    assert_eq!(tracker.since(cursor), Changes::Unknown);
}

#[test]
fn tracker_watches_twenty_thousand_directories() {
    // In memory if possible: most disks take seconds for so many directories.
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let tracker = ChangeTracker::new(directory.path().to_owned());
    let project = Project { directory, tracker };
    for outer in 0..200 {
        for inner in 0..100 {
            fs::create_dir_all(project.path(&format!("{outer}/{inner}"))).unwrap();
        }
    }
    let cursor = project.tracker.cursor();
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").unwrap();
    if limit.trim().parse::<usize>().unwrap() < 30_000 {
        assert_eq!(project.tracker.since(cursor), Changes::Unknown);
        return;
    }
    fs::write(project.path("7/7/file"), "text").unwrap();
    assert_eq!(project.since(cursor), ["7/7/file"]);
    fs::remove_dir_all(project.path("8")).unwrap();
    let changes = project.since(cursor);
    assert_eq!(changes.len(), 102);
    assert!(Path::new(&changes[0]).starts_with("7"));
}

#[test]
fn journal_returns_each_path_once_since_a_cursor() {
    let mut journal = Journal::default();
    journal.add("/a".into());
    let cursor = journal.next();
    for path in ["/b", "/b", "/a"] {
        journal.add(path.into());
    }
    assert_eq!(journal.since(0).unwrap().len(), 2);
    assert_eq!(journal.since(cursor).unwrap().len(), 2);
    assert_eq!(journal.since(journal.next()).unwrap().len(), 0);
}

#[test]
fn journal_is_bounded_and_old_cursors_get_no_answer() {
    let mut journal = Journal::default();
    let old = journal.next();
    for number in 0..=JOURNAL_LIMIT {
        journal.add(format!("/{number}").into());
    }
    assert_eq!(journal.since(old), None);
    assert_eq!(journal.since(old + 1).unwrap().len(), JOURNAL_LIMIT);
    let cursor = journal.next();
    journal.forget();
    assert_eq!(journal.since(cursor), None);
    assert!(journal.since(journal.next()).unwrap().is_empty());
}
