//! Tests of `Grep`.

use std::os::unix::fs::symlink;

use super::*;
use crate::tests::fixture::{self, Project};

fn tool(project: &Project) -> Grep {
    Grep::new(Arc::clone(&project.paths))
}

/// Runs a search and takes the project's path off every line.
async fn grep(project: &Project, args: Value) -> String {
    let prefix = format!("{}/", project.paths.root().display());
    let text = project.output(&tool(project), args).await;
    text.replace(&prefix, "")
}

fn sample() -> Project {
    Project::with(&[
        ("a.rs", "one\ntwo\nthree\nfour\nfive two\n"),
        ("b/c.py", "two = 2\r\n"),
        ("b/d.rs", "nothing\n"),
        (".gitignore", "ignored\n"),
        ("ignored/x.rs", "two\n"),
        (".hidden/x.rs", "two\n"),
        ("binary", "two\0two\n"),
    ])
}

#[tokio::test]
async fn grep_prints_absolute_paths_in_order() {
    let project = sample();
    let text = project.output(&tool(&project), json!({"pattern": "two"})).await;
    let root = project.paths.root().display();
    let expected = format!("{root}/a.rs:2:two\n{root}/a.rs:5:five two\n{root}/b/c.py:1:two = 2");
    assert_eq!(text, expected);
}

#[tokio::test]
async fn grep_can_list_files_and_counts() {
    let project = sample();
    let args = json!({"pattern": "two", "output_mode": "files_with_matches"});
    assert_eq!(grep(&project, args).await, "a.rs\nb/c.py");
    let args = json!({"pattern": "TWO", "-i": true, "output_mode": "count"});
    assert_eq!(grep(&project, args).await, "a.rs:2\nb/c.py:1");
}

#[tokio::test]
async fn context_lines_are_marked_and_groups_are_set_apart() {
    let project = sample();
    let args = json!({"pattern": "two", "-A": 1, "type": "rust"});
    let expected = "a.rs:2:two\na.rs-3-three\n--\na.rs:5:five two";
    assert_eq!(grep(&project, args).await, expected);
    let args = json!({"pattern": "three", "-C": 1});
    assert_eq!(grep(&project, args).await, "a.rs-2-two\na.rs:3:three\na.rs-4-four");
    let args = json!({"pattern": "one|= 2", "-B": 1});
    assert_eq!(grep(&project, args).await, "a.rs:1:one\n--\nb/c.py:1:two = 2");
}

#[tokio::test]
async fn globs_and_types_and_paths_narrow_the_search() {
    let project = sample();
    let only = async |args: Value| {
        let mut args = args;
        args["pattern"] = json!("two");
        args["output_mode"] = json!("files_with_matches");
        grep(&project, args).await
    };
    assert_eq!(only(json!({"glob": "*.py"})).await, "b/c.py");
    assert_eq!(only(json!({"glob": "!*.py"})).await, "a.rs");
    assert_eq!(only(json!({"type": "py"})).await, "b/c.py");
    assert_eq!(only(json!({"path": "b"})).await, "b/c.py");
    assert_eq!(only(json!({"path": "a.rs"})).await, "a.rs");
    assert_eq!(only(json!({"path": "ignored/x.rs"})).await, "ignored/x.rs");
}

#[tokio::test]
async fn grep_pattern_may_begin_with_a_dash() {
    let project = Project::with(&[("a", "x --pre=bash y\n")]);
    assert_eq!(grep(&project, json!({"pattern": "--pre=bash"})).await, "a:1:x --pre=bash y");
    assert_eq!(grep(&project, json!({"pattern": "-e"})).await, "No matches found");
}

#[tokio::test]
async fn grep_reports_invalid_arguments() {
    let project = sample();
    let tool = tool(&project);
    let fail = async |args: Value| project.fail(&tool, args).await;
    let message = fail(json!({"pattern": "a("})).await;
    assert!(message.starts_with("invalid regular expression: "), "{message}");
    assert!(message.contains("unclosed group"), "{message}");
    let message = fail(json!({"pattern": "a", "path": "none"})).await;
    assert_eq!(message, "Path not found: none");
    let message = fail(json!({"pattern": "a", "type": "klingon"})).await;
    assert!(message.contains("unknown file type `klingon`"), "{message}");
    let message = fail(json!({"pattern": "a", "glob": "{a"})).await;
    assert!(message.contains("invalid glob `{a`"), "{message}");
    let message = fixture::refusal(&tool, &json!({"pattern": "a", "path": "~/.ssh"}));
    assert!(message.starts_with("Read access denied: ~/.ssh is in a protected location. "));
    assert_eq!(fixture::refusal(&tool, &json!({"pattern": ""})), "No pattern provided");
}

#[tokio::test]
async fn grep_limit_is_deterministic() {
    let project = Project::new();
    for number in 0..300 {
        project.write(&format!("f{number:03}"), "hit\nmiss\nhit\n");
    }
    let root = project.paths.root().display();
    let args = json!({"pattern": "hit", "limit": 5});
    let expected = format!(
        "{root}/f000:1:hit\n{root}/f000:3:hit\n{root}/f001:1:hit\n{root}/f001:3:hit\n\
         {root}/f002:1:hit\n... (truncated at 5 lines; narrow the search or raise `limit`)"
    );
    for _ in 0..5 {
        let output = project.run(&tool(&project), args.clone()).await;
        assert_eq!(output.output, expected);
        assert_eq!(output.facts["truncated"], true);
    }
    let args = json!({"pattern": "hit", "limit": 300, "output_mode": "files_with_matches"});
    assert!(!grep(&project, args).await.contains("truncated"));
}

#[tokio::test]
async fn a_limit_within_one_file_and_a_long_line_are_cut() {
    let long = format!("{}\n", "é".repeat(5_000));
    let project = Project::with(&[("a", &"hit\n".repeat(20_000)), ("b", &long)]);
    let text = grep(&project, json!({"pattern": "hit"})).await;
    assert_eq!(text.lines().count(), 10_001);
    assert!(text.contains("truncated at 10000 lines"));
    let text = grep(&project, json!({"pattern": "é"})).await;
    assert!(text.ends_with(" … [line cut: 10000 bytes in all]"));
    assert_eq!(text.matches('é').count(), 2_000);
}

#[tokio::test]
async fn separators_between_files_count_toward_the_limit() {
    let project = Project::with(&[("a", "hit\n"), ("b", "hit\n")]);
    let text = grep(&project, json!({"pattern": "hit", "-C": 1, "limit": 2})).await;
    assert!(text.contains("truncated at 2 lines"), "{text}");
}

#[tokio::test]
async fn grep_skips_symlinks_and_secret_paths() {
    let project = Project::with(&[("a", "hit\n")]);
    let home = project.path("..");
    std::fs::write(home.join("secret"), "hit\n").unwrap();
    symlink(home.join("secret"), project.path("link")).unwrap();
    assert_eq!(grep(&project, json!({"pattern": "hit"})).await, "a:1:hit");
    let above = home.parent().unwrap().to_str().unwrap();
    let from_above = grep(&project, json!({"pattern": "hit", "path": above, "glob": "!spilled"}));
    let text = from_above.await;
    assert_eq!(text, "a:1:hit");
}

#[tokio::test]
async fn grep_does_not_block_on_a_fifo() {
    let project = Project::with(&[("a", "hit\n")]);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, project.path("pipe"), kind, mode, 0).unwrap();
    assert_eq!(grep(&project, json!({"pattern": "hit"})).await, "a:1:hit");
    let message = project.fail(&tool(&project), json!({"pattern": "hit", "path": "pipe"})).await;
    assert_eq!(message, "Not a file: pipe");
}

#[tokio::test]
async fn a_cancelled_search_stops() {
    let project = sample();
    let (context, _lines) = project.context();
    context.cancel.cancel();
    let call = fixture::call(json!({"pattern": "two"}));
    let result = tool(&project).run(&call, &context).await;
    assert!(matches!(result, Err(ToolError::Cancelled)));
}
