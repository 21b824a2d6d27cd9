//! Limits and failures of undo.

use std::fs;

use contract::event::EventKind;
use contract::id::SessionId;
use contract::sandbox::Access;

use super::super::Workspace;
use super::fixture::Rig;
use crate::snapshots;

fn stored(rig: &Rig) -> u64 {
    fn size(directory: &std::path::Path) -> u64 {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        let size = |path: std::path::PathBuf| {
            let is_blobs = path.file_name().unwrap().to_string_lossy().starts_with("blobs-");
            match (path.is_dir(), is_blobs) {
                (true, _) => size(&path),
                (false, true) => fs::metadata(path).unwrap().len(),
                (false, false) => 0,
            }
        };
        entries.map(size).sum()
    }
    size(rig.store_directory())
}

#[test]
fn too_large_file_is_reported_and_unchanged() {
    let rig = Rig::with_limits(100, 1 << 20);
    rig.file("large.bin", &"x".repeat(101));
    rig.file("small.txt", "1");
    let changed = rig.command("both", || {
        rig.file("large.bin", &"y".repeat(102));
        rig.file("small.txt", "2");
        rig.file("made.bin", &"z".repeat(103));
    });
    assert_eq!(changed, ["large.bin", "made.bin", "small.txt"]);
    let report = rig.undo(1);
    let kept: Vec<_> = report.kept.iter().map(|kept| &*kept.path).collect();
    assert_eq!(kept, ["large.bin", "made.bin"]);
    assert_eq!(report.kept[1].why, "it was too large to save, so it was not deleted");
    assert_eq!(rig.read("small.txt"), "1");
    assert_eq!(rig.read("large.bin").len(), 102);
    rig.forced();
    assert!(!rig.path("made.bin").exists(), "by force it goes for good");
}

fn notices(rig: &Rig) -> Vec<String> {
    let text = |what| match what {
        EventKind::Notice { text, .. } => Some(text),
        _ => None,
    };
    rig.events().into_iter().filter_map(text).collect()
}

#[test]
fn too_large_workspace_is_not_covered() {
    let rig = Rig::with_limits(1 << 20, 1000);
    for number in 0..5 {
        rig.file(&format!("{number}.txt"), &format!("{number}").repeat(400));
    }
    let why = rig.keeper().covers().unwrap_err();
    assert!(why.contains("more than 200000 files"), "{why}");
    rig.command("one", || rig.file("0.txt", "changed"));
    rig.command("two", || rig.file("1.txt", "changed"));
    assert_eq!(notices(&rig).len(), 1, "{:?}", notices(&rig));
    assert_eq!(stored(&rig), 0);
    // Calls that name their files can be undone all the same.
    rig.write("2.txt", || rig.file("2.txt", "changed"));
    rig.undo(1);
    assert_eq!(rig.read("2.txt"), "2".repeat(400));
    let again = rig.restarted();
    again.command("three", || rig.file("3.txt", "changed"));
    assert!(again.keeper().covers().is_err());
    assert_eq!(stored(&rig), 407, "only the file that was named");
}

#[test]
fn workspace_is_covered_until_it_grows_too_large() {
    let rig = Rig::with_limits(1 << 20, 1000);
    rig.file("a.txt", "1");
    assert_eq!(rig.keeper().covers(), Ok(()));
    rig.command("one", || rig.file("a.txt", "2"));
    assert_eq!(rig.keeper().covers(), Ok(()));
    rig.file("large.txt", &"x".repeat(900));
    let again = rig.restarted();
    again.command("two", || rig.file("a.txt", "3"));
    assert!(again.keeper().covers().is_err());
    again.command("three", || rig.file("a.txt", "4"));
    assert_eq!(notices(&again).len(), 1);
    assert_eq!(rig.read("a.txt"), "4");
}

#[test]
fn unchanged_workspace_near_the_limit_is_not_rewritten() {
    let rig = Rig::with_limits(1 << 20, 10_000);
    for number in 0..7 {
        rig.file(&format!("{number}.txt"), &number.to_string().repeat(1000));
    }
    rig.command("one", || rig.file("small.txt", &"x".repeat(600)));
    rig.command("two", || rig.file("small.txt", &"y".repeat(700)));
    let files = |rig: &Rig| -> Vec<_> {
        let directory =
            fs::read_dir(rig.store_directory()).unwrap().next().unwrap().unwrap().path();
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
        let mut files: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        files.retain(|name| name.to_string_lossy().starts_with("blobs-"));
        files
    };
    assert!(stored(&rig) > 7_500);
    for _ in 0..3 {
        let again = rig.restarted();
        again.command("more", || {});
        assert_eq!(files(&again), ["blobs-0"]);
    }
}

#[test]
fn a_failed_snapshot_is_reported_and_nothing_is_lost() {
    let rig = Rig::new();
    rig.file("a.txt", "1");
    rig.command("one", || rig.file("a.txt", "2"));
    rig.begin("two");
    let workspace = fs::read_dir(rig.store_directory()).unwrap().next().unwrap().unwrap().path();
    rig.call(Access::Workspace, || {
        rig.file("a.txt", "3");
        // No record can be written.
        fs::rename(workspace.join("turns"), workspace.join("away")).unwrap();
        fs::write(workspace.join("turns"), "in the way").unwrap();
    });
    rig.end();
    assert!(rig.keeper().covers().unwrap_err().contains("cannot save snapshots"));
    assert_eq!(notices(&rig).len(), 1);
    fs::remove_file(workspace.join("turns")).unwrap();
    fs::rename(workspace.join("away"), workspace.join("turns")).unwrap();
    rig.command("three", || rig.file("b.txt", "new"));
    assert_eq!(rig.keeper().covers(), Ok(()));
    // The author of the change is unknown, so only force undoes it.
    rig.forced();
    assert_eq!(rig.read("a.txt"), "2");
    assert!(!rig.path("b.txt").exists());
}

#[test]
fn equal_files_are_stored_once() {
    let rig = Rig::new();
    for number in 0..20 {
        rig.file(&format!("{number}.txt"), &"the same".repeat(100));
    }
    rig.command("copy", || rig.file("copy.txt", &"the same".repeat(100)));
    rig.command("back and forth", || rig.file("copy.txt", "short"));
    rig.command("back and forth", || rig.file("copy.txt", &"the same".repeat(100)));
    assert_eq!(stored(&rig), 805);
}

#[test]
fn oldest_turns_are_dropped_for_space() {
    let rig = Rig::with_limits(1 << 20, 10_000);
    rig.file("a.txt", "0");
    for number in 1..=9 {
        let text = number.to_string().repeat(1000);
        rig.command("grow", || rig.file("a.txt", &text));
    }
    let again = rig.restarted();
    again.command("after a restart", || rig.file("a.txt", "last"));
    assert!(stored(&rig) <= 7_500, "{}", stored(&rig));
    again.undo(1);
    assert_eq!(rig.read("a.txt"), "9".repeat(1000));
    again.undo(3);
    assert_eq!(rig.read("a.txt"), "6".repeat(1000));
    let report = again.undo(9);
    assert!(report.kept[0].why.contains("no longer stored"), "{report:?}");
}

#[test]
fn deleting_a_session_removes_its_blobs() {
    let rig = Rig::new();
    rig.file("a.txt", &"1".repeat(1000));
    rig.command("edit", || rig.file("a.txt", &"2".repeat(1000)));
    let other = rig.another("other");
    other.command("edit", || rig.file("a.txt", &"3".repeat(1000)));
    assert_eq!(stored(&rig), 3000);
    let session = |name| SessionId::parse(name).unwrap();
    let each = |change: &dyn Fn(&Workspace) -> std::io::Result<()>| {
        snapshots::each_workspace(rig.store_directory(), change).unwrap();
    };
    each(&|workspace| workspace.copy(&session("sample"), &session("copy")));
    each(&|workspace| workspace.forget(&session("sample")));
    assert_eq!(stored(&rig), 3000, "a copy needs it");
    each(&|workspace| workspace.forget(&session("copy")));
    assert_eq!(stored(&rig), 2000);
    each(&|workspace| workspace.rename(&session("other"), &session("sample")));
    assert!(!other.undo(1).kept.is_empty());
    each(&|workspace| workspace.rename(&session("sample"), &session("other")));
    assert!(other.undo(1).kept.is_empty());
    assert_eq!(rig.read("a.txt"), "2".repeat(1000));
}

#[test]
fn commands_run_without_a_usable_store() {
    let rig = Rig::new();
    fs::write(rig.store_directory(), "a file is in the way").unwrap();
    rig.command("one", || rig.file("a.txt", "1"));
    rig.command("two", || rig.file("a.txt", "2"));
    let told = rig.events();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        matches!(&told[0], EventKind::Notice { text, .. } if text.contains("cannot be undone"))
    );
    fs::remove_file(rig.store_directory()).unwrap();
    rig.command("three", || rig.file("a.txt", "3"));
    rig.undo(1);
    assert_eq!(rig.read("a.txt"), "2");
}

#[test]
fn damaged_store_is_rebuilt() {
    let rig = Rig::new();
    rig.file("a.txt", "1");
    rig.command("one", || rig.file("a.txt", "2"));
    for entry in fs::read_dir(rig.store_directory()).unwrap() {
        let directory = entry.unwrap().path();
        fs::write(directory.join("tree"), "garbage").unwrap();
        fs::write(directory.join("index"), "garbage").unwrap();
    }
    let again = rig.restarted();
    let report = again.undo(1);
    assert_eq!(report.kept[0].why, "its content is no longer stored");
    assert_eq!(rig.read("a.txt"), "2");
    again.command("two", || rig.file("a.txt", "3"));
    again.undo(1);
    assert_eq!(rig.read("a.txt"), "2");
}

#[test]
fn other_writable_directories_are_covered() {
    let outside = tempfile::tempdir().unwrap();
    let outside = outside.path().canonicalize().unwrap();
    let (covered, other) = (outside.join("covered"), outside.join("other"));
    fs::create_dir_all(&covered).unwrap();
    fs::create_dir_all(&other).unwrap();
    let write = |text: &str| {
        fs::write(covered.join("x.txt"), text).unwrap();
        fs::write(other.join("x.txt"), text).unwrap();
    };
    write("1");
    let rig = Rig::new().with_other(&covered);
    rig.begin("outside");
    rig.call(Access::Workspace, || write("2"));
    rig.end();
    rig.undo(1);
    assert_eq!(fs::read_to_string(covered.join("x.txt")).unwrap(), "1");
    assert_eq!(fs::read_to_string(other.join("x.txt")).unwrap(), "2");
}
