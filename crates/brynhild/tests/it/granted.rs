//! What is granted is what the person meant: no link that a command could have made, or that a project
//! brings, decides what the next command is shown.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::json;
use testkit::{ModelServer, Project, Reply, Run};

use crate::{has_bubblewrap, project, project_with};

/// A home with keys in it; the project lies beside them.
fn with_keys(project: &Project) -> PathBuf {
    let keys = project.home().join("keys");
    fs::create_dir_all(&keys).unwrap();
    fs::write(keys.join("k"), "CANARY\n").unwrap();
    keys
}

fn confined_in(project: &Project, folder: &Path, script: &str) -> Run {
    project.command(&["sandbox", "run", "--", "sh", "-c", script]).cwd(folder).run()
}

#[test]
fn a_link_in_the_place_of_a_granted_folder_grants_nothing() {
    let project = project();
    let keys = with_keys(&project);
    fs::create_dir(project.path().join("docs")).unwrap();
    project.config(&format!(
        "sandbox: {{read_paths: ['{}']}}\n",
        project.path().join("docs").display()
    ));
    let exchange = format!("cat docs/../a.txt; rmdir docs; ln -s {} docs", keys.display());
    project.file("a.txt", "open\n");
    assert_eq!(confined_in(&project, &project.path(), &exchange).success().stdout, "open\n");
    let run = confined_in(
        &project,
        &project.path(),
        &format!("cat {}/k docs/k; echo on", keys.display()),
    );
    assert_eq!(run.success().stdout, "on\n", "{run}");
    assert!(run.stderr.contains("a command could have made it"), "{run}");
    let input = json!({"file_path": keys.join("k")}).to_string();
    let run = project.brynhild(&["tools", "exec", "Read", "--input", &input]);
    assert!(!run.status.success() && run.stdout.is_empty(), "{run}");
}

#[test]
fn what_a_link_of_the_person_s_own_leads_to_has_the_name_that_was_written() {
    let project = project();
    let home = project.home();
    fs::create_dir_all(home.join("dot/cfg/foo")).unwrap();
    fs::write(home.join("dot/npmrc"), "rc\n").unwrap();
    fs::write(home.join("dot/cfg/foo/v"), "v\n").unwrap();
    symlink("dot/npmrc", home.join(".npmrc")).unwrap();
    symlink("dot/cfg", home.join(".cfgl")).unwrap();
    project.config("sandbox: {read_paths: ['~/.npmrc', '~/.cfgl/foo']}\n");
    let run = confined_in(&project, &project.path(), "cat ~/.npmrc ~/.cfgl/foo/v");
    assert_eq!(run.success().stdout, "rc\nv\n", "{run}");
}

#[test]
fn folders_that_hold_the_project_or_lie_in_it_can_be_granted() {
    let project = project();
    let code = project.home().join("code");
    let app = code.join("app");
    fs::create_dir_all(app.join("sub/pkg/.vscode")).unwrap();
    fs::create_dir_all(app.join(".git")).unwrap();
    fs::write(app.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(app.join("sub/pkg/.vscode/s"), "1").unwrap();
    for granted in [code, app.clone(), app.join("sub"), app.join("sub/pkg")] {
        project.config(&format!("sandbox: {{allowed_paths: ['{}']}}\n", granted.display()));
        let run = confined_in(&project, &app, "echo x > sub/pkg/f; cat sub/pkg/f");
        assert_eq!(run.success().stdout, "x\n", "{granted:?} {run}");
    }
}

#[test]
fn a_link_of_another_project_opens_nothing_to_this_one() {
    let project = project();
    let keys = with_keys(&project);
    let (other, shared) = (project.home().join("other"), project.home().join("other/a/shared"));
    fs::create_dir_all(&shared).unwrap();
    fs::create_dir(other.join(".brynhild")).unwrap();
    project.config(&format!("sandbox: {{allowed_paths: ['{}']}}\n", shared.display()));
    let write = format!("echo x > {}/new && echo written", shared.display());
    assert_eq!(confined_in(&project, &project.path(), &write).success().stdout, "written\n");
    let exchange = format!("mv a b; mkdir a; ln -s {} a/shared", keys.display());
    confined_in(&project, &other, &exchange);
    if !shared.is_symlink() {
        // The folder could not be moved away in the first place.
        return;
    }
    let attack = format!("cat {0}/k; echo PWN > {0}/new", keys.display());
    let run = confined_in(&project, &project.path(), &attack);
    assert!(run.stderr.contains("a command could have made it"), "{run}");
    assert!(!run.stdout.contains("CANARY"), "{run}");
    let input = json!({"file_path": keys.join("new"), "content": "PWN"}).to_string();
    project.brynhild(&["--mode", "yolo", "tools", "exec", "Write", "--input", &input]);
    assert!(!keys.join("new").exists());
    // The person says where it lies.
    project.config(&format!("sandbox: {{allowed_paths: ['{}']}}\n", keys.display()));
    assert!(confined_in(&project, &project.path(), &attack).success().stdout.contains("CANARY"));
}

#[test]
fn a_link_with_the_name_of_a_toolchain_shows_nothing() {
    let project = project();
    let keys = with_keys(&project);
    fs::create_dir_all(project.path().join(".local/bin")).unwrap();
    symlink(&keys, project.path().join(".rustup")).unwrap();
    for folder in [project.path().join(".local/bin"), PathBuf::from("./.local/bin")] {
        let script = format!("cat {}/k; echo on", keys.display());
        let run = project
            .command(&["sandbox", "run", "--", "sh", "-c", &script])
            .env("PATH", format!("/usr/bin:/bin:{}", folder.display()))
            .run();
        assert_eq!(run.success().stdout, "on\n", "{run}");
    }
}

#[test]
fn a_conversation_stays_in_its_folder_whatever_is_put_in_its_place() {
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": "until [ -e gone ]; do sleep 0.02; done"}))]),
        Reply::calls([("Bash", json!({"command": "cat k"}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    let keys = with_keys(&project);
    let inner = project.path().join("sub");
    fs::create_dir_all(inner.join(".brynhild")).unwrap();
    let running = project.command(&["--mode", "yolo", "chat", "go"]).cwd(&inner).stdin("").spawn();
    server.wait_for_requests(1);
    let exchange = format!("mv sub sub2; ln -s {} sub; touch sub2/gone", keys.display());
    confined_in(&project, &project.path(), &exchange);
    if !inner.is_symlink() {
        // Where the folder cannot be moved there is nothing to see.
        fs::write(inner.join("gone"), "").unwrap();
    }
    running.wait();
    let last = server.chats().pop().unwrap().body.to_string();
    assert!(!last.contains("CANARY"), "{last}");
}

#[test]
fn a_rule_that_hides_a_file_opens_nothing_that_is_read_only() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    project.config("permissions: {deny: ['Read(sub/deep/secret)']}\n");
    project.file("sub/deep/secret", "CANARY\n").file("sub/other", "as it was\n");
    let script =
        "cat sub/deep/secret; echo PWN > sub/other; echo PWN > sub/deep/new; cat sub/other";
    let words = ["sandbox", "run", "--profile", "read-only", "--", "sh", "-c", script];
    let run = project.brynhild(&words);
    assert_eq!(run.success().stdout, "as it was\n", "{run}");
    assert!(!project.path().join("sub/deep/new").exists());
}
