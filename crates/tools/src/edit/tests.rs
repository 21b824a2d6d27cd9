//! Tests of `Edit`.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::fixture::{self, Project};
use crate::read::Read;

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
async fn endings_mark_mode_and_last_line_stay() {
    let project = Project::with(&[("f", "\u{feff}a\r\nb\r\nc")]);
    let mode = std::fs::Permissions::from_mode(0o754);
    std::fs::set_permissions(project.path("f"), mode).unwrap();
    project.output(&tool(&project), edit("a\nb", "x\ny\nz")).await;
    assert_eq!(project.read("f"), "\u{feff}x\r\ny\r\nz\r\nc".as_bytes());
    let metadata = std::fs::metadata(project.path("f")).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o754);
}

#[tokio::test]
async fn all_occurrences_are_replaced_when_asked_for() {
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
async fn what_cannot_be_edited_is_named() {
    let project = Project::with(&[("folder/x", "")]);
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
    let outside = json!({"file_path": "/etc/hosts", "old_string": "a", "new_string": "b"});
    assert!(refuse(outside).starts_with("Write access denied: /etc/hosts is in a protected"));
    let folder = json!({"file_path": "folder", "old_string": "a", "new_string": "b"});
    assert_eq!(project.fail(&tool, folder).await, "Not a file: folder");
}

#[test]
fn actions_carry_the_diff_and_give_nothing_away_when_there_is_none() {
    let project = Project::with(&[("f", "secret = 1\n")]);
    let tool = tool(&project);
    let path = project.path("f");
    let actions = tool.actions(&edit("1", "2")).unwrap();
    assert_eq!(actions[0], Action::Read { path: path.clone() });
    let Action::Write { diff, .. } = &actions[1] else {
        panic!("{actions:?}");
    };
    assert!(diff.as_deref().unwrap().contains("-secret = 1\n+secret = 2\n"));
    let actions = tool.actions(&edit("sekret = 1", "2")).unwrap();
    assert_eq!(actions[1], Action::Write { path, diff: None });
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_read_is_left_alone() {
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
async fn a_file_written_again_with_the_same_bytes_has_not_changed() {
    let project = Project::with(&[("f", "one")]);
    let read = Read::new(Arc::clone(&project.paths), Arc::clone(&project.seen));
    project.output(&read, json!({"file_path": "f"})).await;
    std::fs::remove_file(project.path("f")).unwrap();
    project.write("f", "one");
    project.output(&tool(&project), edit("one", "two")).await;
    project.output(&tool(&project), edit("two", "three")).await;
    assert_eq!(project.read("f"), b"three");
}
