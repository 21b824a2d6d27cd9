//! Tests of `Edit`.

use contract::action::Action;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::read::Read;
use crate::tests::fixture::{self, Project};

fn tool(project: &Project) -> Edit {
    Edit::new(Arc::clone(&project.paths), Arc::clone(&project.seen))
}

fn edit(old: &str, new: &str) -> Value {
    json!({"file_path": "f", "old_string": old, "new_string": new})
}

#[tokio::test]
async fn an_edit_replaces_and_shows_the_change() {
    let project = Project::with(&[("f", "one\ntwo\nthree")]);
    let output = project.run(&tool(&project), edit("two", "2")).await;
    assert_eq!(output.output, "Replaced 1 occurrence(s) in f");
    assert_eq!(project.read("f"), b"one\n2\nthree");
    let Some(Display::Diff { unified, .. }) = output.display else {
        panic!("no diff");
    };
    assert!(unified.contains("-two\n+2\n"), "{unified}");
}

#[tokio::test]
async fn edit_keeps_line_endings_bom_and_mode() {
    let project = Project::with(&[("f", "\u{feff}a\r\nb\r\nc")]);
    let mode = std::fs::Permissions::from_mode(0o754);
    std::fs::set_permissions(project.path("f"), mode).unwrap();
    project.output(&tool(&project), edit("a\nb", "x\ny\nz")).await;
    assert_eq!(project.read("f"), "\u{feff}x\r\ny\r\nz\r\nc".as_bytes());
    let metadata = std::fs::metadata(project.path("f")).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o754);
}

#[tokio::test]
async fn replace_all_replaces_every_occurrence() {
    let project = Project::with(&[("f", "a a a")]);
    let tool = tool(&project);
    let message = project.fail(&tool, edit("a", "b")).await;
    assert_eq!(message, "old_string found 3 times, must be unique (or use replace_all)");
    let mut args = edit("a", "b");
    args["replace_all"] = json!(true);
    assert_eq!(project.output(&tool, args).await, "Replaced 3 occurrence(s) in f");
    assert_eq!(project.read("f"), b"b b b");
}

#[tokio::test]
async fn edit_of_an_uneditable_file_is_refused() {
    let project = Project::with(&[("directory/x", "")]);
    let tool = tool(&project);
    assert_eq!(project.fail(&tool, edit("a", "b")).await, "File not found: f");
    project.write("f", b"\xff\xfe");
    assert_eq!(project.fail(&tool, edit("a", "b")).await, "File is not valid UTF-8: f");
    project.write("f", "text");
    let message = project.fail(&tool, edit("zz", "b")).await;
    assert_eq!(message, "old_string not found in file");
    let refuse = |args: Value| fixture::refusal(&tool, &args);
    assert!(refuse(edit("", "b")).starts_with("No old_string provided"));
    assert!(refuse(edit("a", "a")).starts_with("old_string and new_string are the same"));
    let outside = json!({"file_path": "/dev/null", "old_string": "a", "new_string": "b"});
    assert!(refuse(outside).starts_with("Write access denied: /dev/null is in a protected"));
    let directory = json!({"file_path": "directory", "old_string": "a", "new_string": "b"});
    assert_eq!(project.fail(&tool, directory).await, "Not a file: directory");
}

#[test]
fn actions_show_the_diff_and_no_other_content() {
    let project = Project::with(&[("f", "secret = 1\n")]);
    let tool = tool(&project);
    let path = project.path("f");
    let actions = tool.actions(&edit("1", "2")).unwrap().actions;
    assert_eq!(actions[0], Action::Read { path: path.clone() });
    let Action::Write { diff, .. } = &actions[1] else {
        panic!("{actions:?}");
    };
    assert!(diff.as_deref().unwrap().contains("-secret = 1\n+secret = 2\n"));
    let actions = tool.actions(&edit("sekret = 1", "2")).unwrap().actions;
    assert_eq!(actions[1], Action::Write { path, diff: None });
}

#[tokio::test]
async fn edit_refuses_a_file_changed_since_it_was_read() {
    let project = Project::with(&[("f", "one")]);
    let tool = tool(&project);
    let read = Read::new(Arc::clone(&project.paths), Arc::clone(&project.seen));
    project.output(&read, json!({"file_path": "f"})).await;
    project.write("f", "one!");
    let message = project.fail(&tool, edit("one", "two")).await;
    assert_eq!(message, "f changed since it was last read in this session; read it again");
    assert_eq!(project.read("f"), b"one!");
}

#[tokio::test]
async fn rewritten_file_with_equal_bytes_is_unchanged() {
    let project = Project::with(&[("f", "one")]);
    let read = Read::new(Arc::clone(&project.paths), Arc::clone(&project.seen));
    project.output(&read, json!({"file_path": "f"})).await;
    std::fs::remove_file(project.path("f")).unwrap();
    project.write("f", "one");
    project.output(&tool(&project), edit("one", "two")).await;
    project.output(&tool(&project), edit("two", "three")).await;
    assert_eq!(project.read("f"), b"three");
}

type Change = (&'static str, fn(&std::path::Path));

/// Changes of another process to the file; each leaves a trace that an edit must not erase.
const CHANGES: [Change; 3] = [
    ("another version", |path| {
        let beside = path.with_extension("other");
        std::fs::write(&beside, "theirs: text\n").unwrap();
        std::fs::rename(beside, path).unwrap();
    }),
    ("gone", |path| std::fs::remove_file(path).unwrap()),
    ("a directory", |path| {
        // In one step, as the file must not be missed in between.
        let beside = path.with_extension("directory");
        std::fs::create_dir(&beside).unwrap();
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        let here = rustix::fs::CWD;
        rustix::fs::renameat_with(here, &beside, here, path, flags).unwrap();
    }),
];

/// Returns true if the change of the other process is still in the file.
fn is_visible(change: &str, path: &std::path::Path) -> bool {
    match change {
        "another version" => std::fs::read(path).is_ok_and(|text| text.starts_with(b"theirs: ")),
        "gone" => !path.exists(),
        _ => path.is_dir(),
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn concurrent_change_during_an_edit_is_not_lost() {
    for round in 0..150_u32 {
        let project = Project::with(&[("f", "ours: text\n")]);
        let read = Read::new(Arc::clone(&project.paths), Arc::clone(&project.seen));
        project.output(&read, json!({"file_path": "f"})).await;
        let (name, change) = CHANGES[(round % 3) as usize];
        let path = project.path("f");
        let start = Arc::new(std::sync::Barrier::new(2));
        let other = std::thread::spawn({
            let (path, start) = (path.clone(), Arc::clone(&start));
            move || {
                start.wait();
                // Somewhere in the time that an edit takes.
                for turn in 0..fastrand::u32(..60_000) {
                    std::hint::black_box(turn);
                }
                change(&path);
            }
        });
        start.wait();
        let output = project.run(&tool(&project), edit("text", "edited")).await;
        other.join().unwrap();
        assert!(is_visible(name, &path), "round {round}, {name}: {output:?}");
    }
}

#[tokio::test]
async fn edit_writes_only_the_judged_file() {
    let project = Project::with(&[("f", "one\ntwo\n")]);
    let tool = tool(&project);
    let call = fixture::call(edit("two", "2"));
    let (mut context, _lines) = project.context();
    context.actions = tool.actions(&call.args).unwrap().actions;
    project.write("f", "evil\ntwo\n");
    let output = tool.run(&call, &context).await.unwrap();
    assert!(
        !output.success && output.for_model().contains("changed after this call was decided"),
        "{output:?}"
    );
    assert_eq!(project.read("f"), b"evil\ntwo\n");
    project.write("f", "one\ntwo\n");
    assert!(tool.run(&call, &context).await.unwrap().success, "it is the file that was judged");
}

#[test]
fn actions_report_why_an_edit_would_fail() {
    let project = Project::with(&[("f", "one")]);
    let obstacle = |path: &str, old: &str| {
        let args = json!({"file_path": path, "old_string": old, "new_string": "x"});
        tool(&project).actions(&args).unwrap().obstacle
    };
    assert_eq!(obstacle("f", "one"), None);
    assert!(obstacle("f", "two").unwrap().reveals_content);
    let missing = obstacle("g", "one").unwrap();
    assert_eq!((missing.text.as_str(), missing.reveals_content), ("File not found: g", false));
}
