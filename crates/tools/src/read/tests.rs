//! Tests of `Read`.

use contract::action::Action;
use std::io::Read as _;
use std::os::unix::fs::symlink;

use super::*;
use crate::tests::fixture::{self, Project};

fn tool(project: &Project) -> Read {
    Read::new(Arc::clone(&project.paths), Arc::clone(&project.seen))
}

async fn shown(content: &[u8], mut args: Value) -> String {
    let project = Project::new();
    project.write("f", content);
    args["file_path"] = json!("f");
    project.output(&tool(&project), args).await
}

#[tokio::test]
async fn lines_are_numbered() {
    assert_eq!(shown(b"a\nb", json!({})).await, "     1|a\n     2|b");
    assert_eq!(shown(b"a\r\n\r\nb\r\n", json!({})).await, "     1|a\n     2|\n     3|b");
    assert_eq!(shown("\u{feff}a\n".as_bytes(), json!({})).await, "     1|a");
    assert_eq!(shown(b"", json!({})).await, "(empty file)");
    assert_eq!(shown(b"\n", json!({})).await, "     1|");
}

#[tokio::test]
async fn read_page_names_the_next_offset() {
    let text = shown(b"a\nb\nc\nd\n", json!({"offset": 1, "limit": 2})).await;
    assert_eq!(text, "     2|b\n     3|c\n… (1 more lines, continue with offset=3)");
    let text = shown(b"a\nb\n", json!({"offset": 1})).await;
    assert_eq!(text, "     2|b");
    let text = shown(b"a\nb\n", json!({"offset": 9})).await;
    assert_eq!(text, "(no lines at offset 9: the file has 2 lines)");
    let text = shown("x\n".repeat(2_500).as_bytes(), json!({})).await;
    assert!(text.ends_with("  2000|x\n… (500 more lines, continue with offset=2000)"));
}

#[tokio::test]
async fn read_page_is_bounded_in_bytes() {
    let line = format!("{}\n", "y".repeat(1_000));
    let text = shown(line.repeat(1_000).as_bytes(), json!({"limit": 1_000_000})).await;
    assert!(text.len() < (256 << 10) + 100, "{}", text.len());
    assert!(text.contains("more lines, continue with offset="));
}

#[tokio::test]
async fn a_long_line_is_cut_with_a_mark() {
    let text = shown("é".repeat(2_000).as_bytes(), json!({})).await;
    assert!(!text.contains("line cut"));
    let text = shown("é".repeat(500_000).as_bytes(), json!({})).await;
    assert_eq!(text.matches('é').count(), 2_000);
    assert!(text.ends_with(" … [line cut: 1000000 bytes in all]"));
}

#[tokio::test]
async fn read_refuses_binary_files_and_directories() {
    let project = Project::new();
    project.write("latin", b"caf\xe9\n");
    project.write("program", b"\x7fELF\0\0");
    project.write("directory/file", "");
    let tool = tool(&project);
    let fail = async |path: &str| project.fail(&tool, json!({"file_path": path})).await;
    assert_eq!(fail("latin").await, "File is not valid UTF-8: latin");
    assert_eq!(fail("program").await, "Binary file: program (6 bytes); Read shows text only");
    assert_eq!(fail("directory").await, "Not a file: directory");
    assert_eq!(fail("/dev/zero").await, "Not a file: /dev/zero");
    assert_eq!(fail("missing").await, "File not found: missing");
    assert_eq!(fail("latin/below").await, "File not found: latin/below");
}

#[test]
fn read_actions_name_the_resolved_path_and_symlinks() {
    let project = Project::with(&[("real", "x")]);
    symlink("real", project.path("link")).unwrap();
    let tool = tool(&project);
    let actions = tool.actions(&json!({"file_path": "./link"})).unwrap().actions;
    let paths = ["real", "link"].map(|name| Action::Read { path: project.path(name) });
    assert_eq!(actions, paths);
    let message = fixture::refusal(&tool, &json!({"file_path": "~/.netrc"}));
    assert!(message.starts_with("Read access denied: ~/.netrc is in a protected location. "));
    let message = fixture::refusal(&tool, &json!({"file_path": " "}));
    assert_eq!(message, "No file_path provided");
}

#[tokio::test]
async fn read_does_not_follow_a_symlink_made_after_approval() {
    let project = Project::with(&[("notes", "x")]);
    std::fs::write(project.path("../secret"), "key").unwrap();
    let tool = tool(&project);
    let args = json!({"file_path": "notes"});
    let (mut context, _lines) = project.context();
    context.actions = tool.actions(&args).unwrap().actions;
    std::fs::remove_file(project.path("notes")).unwrap();
    symlink(project.path("../secret"), project.path("notes")).unwrap();
    let output = tool.run(&fixture::call(args), &context).await.unwrap();
    let message = output.error.unwrap();
    assert!(message.starts_with("notes pointed to another file"), "{message}");
}

#[test]
fn endless_file_is_read_in_bounded_memory() {
    let endless = std::io::repeat(b'\n').take(u64::MAX);
    let range = Range { offset: 3, limit: 2 };
    let page = Page::read(endless, range, &tokio_util::sync::CancellationToken::new()).unwrap();
    assert_eq!((page.text.as_str(), page.lines), ("     4|\n     5|", 2));
    assert_eq!(page.rest, Rest::Unknown);
    assert!(page.hash.is_none());
}

#[tokio::test]
async fn a_cancelled_read_stops() {
    let project = Project::with(&[("f", "x")]);
    let (context, _lines) = project.context();
    context.cancel.cancel();
    let call = fixture::call(json!({"file_path": "f"}));
    let result = tool(&project).run(&call, &context).await;
    assert!(matches!(result, Err(ToolError::Cancelled)));
}

#[tokio::test]
async fn read_does_not_follow_a_changed_symlink() {
    let project = Project::new();
    project.write("d/f", "open");
    project.write("secret/f", "closed");
    let reader = tool(&project);
    let args = json!({"file_path": "d/f"});
    let (mut context, _lines) = project.context();
    context.actions = reader.actions(&args).unwrap().actions;
    std::fs::rename(project.path("d"), project.path("old")).unwrap();
    symlink("secret", project.path("d")).unwrap();
    let output = reader.run(&fixture::call(args), &context).await.unwrap();
    assert!(!output.success);
    assert!(output.error.unwrap().contains("pointed to another file"), "{}", output.output);
}

#[test]
fn read_actions_report_a_missing_file() {
    let project = Project::with(&[("f", "one")]);
    let obstacle =
        |path: &str| tool(&project).actions(&json!({"file_path": path})).unwrap().obstacle;
    assert!(obstacle("f").is_none() && obstacle("g").is_some() && obstacle(".").is_some());
}
