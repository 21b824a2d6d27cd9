//! Which tools a mode lets run, and which of them a user is asked about.

use super::*;

fn three(project: &Project) {
    plugin(project, "look", &manifest("look"), ECHO);
    plugin(project, "change", &with("change", "is_destructive", json!(true)), ECHO);
    plugin(project, "sure", &with("sure", "always_confirm", json!(true)), ECHO);
    plugin(project, "only-yolo", &with("only_yolo", "allow_in_normal", json!(false)), ECHO);
}

#[test]
fn modes_gate_tools_as_documented() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    three(&project);
    // Runs without a user: 0; refused: 1; needs an answer: 3.
    for (mode, codes) in
        [("read-only", [0, 1, 3, 0]), ("normal", [0, 3, 3, 1]), ("yolo", [0, 0, 0, 0])]
    {
        let list = project.brynhild(&["tools", "list", "--mode", mode]);
        for (tool, code) in ["look", "change", "sure", "only_yolo"].into_iter().zip(codes) {
            let run = exec(&project, tool, &json!({"target": "x"}), &["--mode", mode]);
            assert_eq!(run.status.code(), Some(code), "{mode} {tool}: {run}");
            let mut lines = list.success().stdout.lines().map(str::split_whitespace);
            let line = lines.find(|line| line.clone().next() == Some(tool));
            assert_eq!(line.is_some(), code != 1, "{mode} {tool}: {list}");
            let asks = line.is_some_and(|mut line| line.nth(1) == Some("asks"));
            assert_eq!(asks, code == 3, "{mode} {tool}: {list}");
        }
    }
    let run = exec(&project, "change", &json!({}), &["--mode", "read-only"]);
    assert!(run.stderr.contains("plugin 'change' is not allowed in read-only mode"), "{run}");
    let run = exec(&project, "only_yolo", &json!({}), &[]);
    assert!(run.stderr.contains("plugin 'only_yolo' is not allowed in normal mode"), "{run}");
    let run = exec(&project, "sure", &json!({}), &[]);
    let wanted = "plugin 'sure' requires confirmation but headless mode is active";
    assert!(run.stderr.contains(wanted), "{run}");
    exec(&project, "sure", &json!({}), &["--yes"]).success();
    exec(&project, "change", &json!({}), &["--yes"]).success();
}

#[test]
fn denial_has_the_message_of_this_dialect() {
    if !has_bubblewrap() {
        return;
    }
    let server =
        ModelServer::start([Reply::calls([("sure", json!({"target": "x"}))]), Reply::text("ok")]);
    let project = project_with(&server);
    three(&project);
    let terminal = project.terminal(&["--mode", "ask", "chat", "go"], (120, 40));
    terminal.wait_for("Answer [");
    terminal.send("n\r");
    terminal.wait_for_end();
    assert!(result(&server).contains("plugin 'sure' not approved by user"), "{}", result(&server));
}

#[test]
fn a_target_stays_in_the_project() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    plugin(
        &project,
        "where",
        &manifest("where"),
        "return str(safe_target_path(target, base, extra_roots))",
    );
    std::os::unix::fs::symlink(project.home(), project.path().join("out")).unwrap();
    for target in ["../x", "out/x", "~/x"] {
        let run = exec(&project, "where", &json!({"target": target}), &[]);
        let wanted = format!("target path '{target}' escapes working directory");
        assert!(run.code(1).stderr.contains(&wanted), "{run}");
    }
    let base = project.path().canonicalize().unwrap().display().to_string();
    let run = exec(&project, "where", &json!({"target": "/etc/passwd"}), &[]);
    assert_eq!(run.success().stdout.trim(), format!("{base}/etc/passwd"));
    let run = exec(&project, "where", &json!({"target": "/etc/passwd"}), &["--mode", "yolo"]);
    assert_eq!(run.success().stdout.trim(), "/etc/passwd");
}

#[test]
fn denied_target_is_refused() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    three(&project);
    let run = exec(&project, "change", &json!({"target": ".git/config"}), &["--yes"]);
    assert_ne!(run.status.code(), Some(0), "{run}");
    assert!(run.stderr.contains("Permission denied"), "{run}");
}
