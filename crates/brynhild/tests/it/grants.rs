//! Grants cover only the named paths: no symlink that a command may have made, or that is part of a
//! project, extends them.

mod protected_names;
mod servers;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::json;
use testkit::{ModelServer, Project, Reply, Run};

use crate::python_plugins::{plugin, tool};
use crate::{has_bubblewrap, project, project_with};

/// A home with keys beside the project.
fn with_keys(project: &Project) -> PathBuf {
    let keys = project.home().join("keys");
    fs::create_dir_all(&keys).unwrap();
    fs::write(keys.join("k"), "CANARY\n").unwrap();
    keys
}

fn confined_in(project: &Project, directory: &Path, script: &str) -> Run {
    project.command(&["sandbox", "run", "--", "sh", "-c", script]).cwd(directory).run()
}

#[test]
fn symlink_in_place_of_a_granted_directory_grants_nothing() {
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
fn user_symlink_is_visible_under_its_written_name() {
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
fn writable_paths_and_project_keep_symlink_names() {
    let project = project();
    let (home, data) = (project.home(), project.home().with_file_name("data"));
    fs::create_dir_all(data.join("work")).unwrap();
    symlink(data.join("work"), home.join("work")).unwrap();
    symlink(project.path(), home.join("proj")).unwrap();
    project.file("sub/a.txt", "a\n").config("sandbox: {allowed_paths: ['~/work']}\n");
    let script = "cat ~/proj/sub/a.txt; echo x > ~/work/new; cat ~/work/new";
    for below in ["", "sub"] {
        let run = project
            .command(&["sandbox", "run", "--", "sh", "-c", script])
            .cwd(project.path().join(below))
            .env("PWD", home.join("proj").join(below))
            .run();
        assert_eq!(run.success().stdout, "a\nx\n", "{run}");
        assert_eq!(fs::read_to_string(data.join("work/new")).unwrap(), "x\n");
    }
}

#[test]
fn home_behind_a_symlink_keeps_its_name() {
    let project = project();
    let home = project.home().with_file_name("linked");
    symlink("home", &home).unwrap();
    let tool = home.join(".cargo/bin/mytool");
    fs::create_dir_all(tool.parent().unwrap()).unwrap();
    fs::write(&tool, "#!/bin/sh\necho it runs\n").unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(home.join("rc"), "rc\n").unwrap();
    symlink("rc", home.join(".npmrc")).unwrap();
    project.config("sandbox: {read_paths: ['~/.npmrc']}\n");
    let run = project
        .command(&["sandbox", "run", "--", "sh", "-c", "mkdir ~/.x && cat ~/.npmrc && mytool"])
        .env("HOME", &home)
        .env("PATH", format!("{}/.cargo/bin:/usr/bin:/bin", home.display()))
        .run();
    assert_eq!(run.success().stdout, "rc\nit runs\n", "{run}");
}

#[test]
fn parents_and_subdirectories_of_the_project_can_be_granted() {
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
fn symlink_of_another_project_grants_nothing() {
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
        // The directory could not be moved away in the first place.
        return;
    }
    let attack = format!("cat {0}/k; echo PWN > {0}/new", keys.display());
    let run = confined_in(&project, &project.path(), &attack);
    assert!(run.stderr.contains("a command could have made it"), "{run}");
    assert!(!run.stdout.contains("CANARY"), "{run}");
    let input = json!({"file_path": keys.join("new"), "content": "PWN"}).to_string();
    project.brynhild(&["--mode", "yolo", "tools", "exec", "Write", "--input", &input]);
    assert!(!keys.join("new").exists());
    // The user names the directory.
    project.config(&format!("sandbox: {{allowed_paths: ['{}']}}\n", keys.display()));
    assert!(confined_in(&project, &project.path(), &attack).success().stdout.contains("CANARY"));
}

#[test]
fn symlink_named_like_a_toolchain_exposes_nothing() {
    let project = project();
    let keys = with_keys(&project);
    fs::create_dir_all(project.path().join(".local/bin")).unwrap();
    symlink(&keys, project.path().join(".rustup")).unwrap();
    for directory in [project.path().join(".local/bin"), PathBuf::from("./.local/bin")] {
        let script = format!("cat {}/k; echo on", keys.display());
        let run = project
            .command(&["sandbox", "run", "--", "sh", "-c", &script])
            .env("PATH", format!("/usr/bin:/bin:{}", directory.display()))
            .run();
        assert_eq!(run.success().stdout, "on\n", "{run}");
    }
}

#[test]
fn conversation_stays_in_its_directory_after_a_swap() {
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
        // If the directory cannot be moved, nothing changes.
        fs::write(inner.join("gone"), "").unwrap();
    }
    running.wait();
    let last = server.chats().pop().unwrap().body.to_string();
    assert!(!last.contains("CANARY"), "{last}");
}

#[test]
fn symlink_made_by_a_command_is_no_project() {
    let project = project();
    let keys = with_keys(&project);
    let (top, inner) = (project.path(), project.path().join("sub"));
    fs::create_dir(&inner).unwrap();
    fs::create_dir(keys.join("deep")).unwrap();
    let exchange = format!("mv sub sub2; ln -s sub2 own; ln -s {} sub", keys.display());
    confined_in(&project, &top, &exchange).success();
    if !inner.is_symlink() {
        // If the symlink is gone, there is no directory to enter.
        return;
    }
    let there = |directory: &Path, variables: &[(&str, &Path)]| {
        let command = project.command(&["sandbox", "run", "--", "cat", "k"]).cwd(directory);
        variables.iter().fold(command, |command, (name, value)| command.env(name, value)).run()
    };
    let root = "BRYNHILD_PROJECT_ROOT";
    for run in [
        there(&inner, &[("PWD", &inner)]),
        there(&top, &[(root, &inner)]),
        there(&top, &[(root, Path::new("sub"))]),
        there(&inner, &[("PWD", &inner), (root, &inner)]),
        there(&inner, &[("PWD", &inner), (root, Path::new("."))]),
        there(&inner.join("deep"), &[("PWD", &inner.join("deep")), (root, Path::new(".."))]),
    ] {
        assert_eq!(run.code(2).stdout, "", "{run}");
        let keys = keys.canonicalize().unwrap();
        let remedy = format!(
            "a command could have made it; if it is yours, enter where it leads (`cd {}`)",
            keys.display()
        );
        assert!(run.stderr.contains(&remedy), "{run}");
    }
    for run in [
        there(&keys, &[("PWD", &keys)]),
        there(&inner, &[("PWD", &inner), (root, &keys)]),
        // The start names no directory: no command can replace the project itself by a symlink.
        there(&keys, &[("PWD", &top)]),
    ] {
        assert_eq!(run.success().stdout, "CANARY\n", "{run}");
    }
    project.file("sub2/k", "own\n");
    let own = top.join("own");
    assert_eq!(there(&own, &[("PWD", &own)]).success().stdout, "own\n");
}

#[test]
fn removed_symlink_of_a_command_is_no_project() {
    let project = project();
    let keys = with_keys(&project);
    let (top, inner) = (project.path(), project.path().join("sub"));
    fs::create_dir_all(inner.join("deep")).unwrap();
    fs::create_dir(keys.join("deep")).unwrap();
    fs::write(keys.join("deep/k"), "CANARY\n").unwrap();
    confined_in(&project, &top, "true").success();
    let there = |directory: &Path, way: &Path, named: Option<&Path>| {
        let command = project.command(&["sandbox", "run", "--", "cat", "k"]).cwd(directory);
        let command = command.env("PWD", way);
        match named {
            None => command.run(),
            Some(named) => command.env("BRYNHILD_PROJECT_ROOT", named).run(),
        }
    };
    // The directory is back in its place, or nothing is; below it as well.
    for way in [&inner, &top.join("gone"), &top.join("gone/deep"), &inner.join("deep")] {
        for named in [None, Some(Path::new("."))] {
            let run = there(&keys, way, named);
            assert_eq!(run.code(2).stdout, "", "{run}");
            let keys = keys.canonicalize().unwrap().display().to_string();
            assert!(run.stderr.contains("by a link that is gone"), "{run}");
            assert!(run.stderr.contains(&format!("`cd {keys}`")), "{run}");
        }
    }
    for named in [None, Some(keys.as_path())] {
        let way = if named.is_some() { &inner } else { &keys };
        assert_eq!(there(&keys, way, named).success().stdout, "CANARY\n");
    }
    // A renamed directory is still in the project.
    fs::rename(&inner, top.join("renamed")).unwrap();
    project.file("renamed/k", "own\n");
    assert_eq!(there(&top.join("renamed"), &inner, None).success().stdout, "own\n");
}

#[test]
fn secret_directory_is_no_project_unless_named() {
    let project = project();
    let keys = project.home().join(".ssh");
    fs::create_dir_all(keys.join("deep")).unwrap();
    fs::write(keys.join("deep/k"), "CANARY\n").unwrap();
    let command = || project.command(&["sandbox", "run", "--", "cat", "k"]).cwd(keys.join("deep"));
    for run in [
        command().run(),
        command().env("BRYNHILD_PROJECT_ROOT", ".").run(),
        command().env("BRYNHILD_PROJECT_ROOT", "..").run(),
    ] {
        assert_eq!(run.code(2).stdout, "", "{run}");
        assert!(run.stderr.contains(".ssh, where secrets are kept"), "{run}");
    }
    for named in [keys.as_path(), Path::new("~/.ssh")] {
        let run = command().env("BRYNHILD_PROJECT_ROOT", named).run();
        assert_eq!(run.success().stdout, "CANARY\n", "{run}");
    }
}

#[test]
fn hide_rule_does_not_make_read_only_paths_writable() {
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

/// A plugin whose tool runs a command, with what the user grants it.
fn with_runner(project: &Project, grants: &str) {
    let body = "done = subprocess.run(['sh', '-c', input['c']], capture_output=True, text=True)\n\
                return ToolResult(True, done.stdout + done.stderr)";
    plugin(project, "runner", &[("tools/runs.py", &tool("runs", body))]);
    project.config(&format!("plugins: {{runner: {{sandbox: {{{grants}}}}}}}\n"));
}

fn run_by_plugin(project: &Project, directory: &Path, script: &str) -> Run {
    let input = json!({"c": script}).to_string();
    let words = ["--mode", "yolo", "tools", "exec", "runs", "--input", &input];
    project.command(&words).cwd(directory).run()
}

#[test]
fn symlinks_do_not_extend_plugin_write_grants() {
    let project = project();
    let keys = with_keys(&project);
    let top = project.path();
    for directory in ["out", "within", ".git/hooks"] {
        fs::create_dir_all(top.join(directory)).unwrap();
    }
    with_runner(&project, "write: [out, new/deep]");
    let run = run_by_plugin(&project, &top, "touch out/a new/deep/a && echo written");
    assert!(run.success().stdout.contains("written"), "{run}");
    fs::rename(top.join("out"), top.join("before")).unwrap();
    let script = "cat out/k; echo PWN > out/planted; echo PWN > planted";
    for (target, words) in [
        (keys.clone(), "a command could have made it"),
        (PathBuf::from("../home/keys"), "a command could have made it"),
        (PathBuf::from(".git/hooks"), "`.git` in a workspace stays read-only"),
        (PathBuf::from("."), "cannot be a directory of the process' own"),
    ] {
        symlink(&target, top.join("out")).unwrap();
        let run = run_by_plugin(&project, &top, script);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains(words) && !said.contains("CANARY"), "{target:?} {run}");
        for directory in [&keys, &top, &top.join(".git/hooks")] {
            assert!(!directory.join("planted").exists(), "{target:?} {directory:?}");
        }
        fs::remove_file(top.join("out")).unwrap();
    }
    symlink("within", top.join("out")).unwrap();
    run_by_plugin(&project, &top, "touch out/a").success();
    assert!(top.join("within/a").exists());
}

#[test]
fn missing_granted_directories_follow_no_symlink() {
    let project = project();
    let keys = with_keys(&project);
    symlink(&keys, project.path().join("out")).unwrap();
    symlink(keys.join("new"), project.path().join("dangling")).unwrap();
    with_runner(&project, "write: [out/deep, dangling, '~/made/deep']");
    let run = run_by_plugin(&project, &project.path(), "touch ~/made/deep/a");
    assert!(run.stderr.contains("cannot make"), "{run}");
    assert!(!keys.join("deep").exists() && !keys.join("new").exists());
    assert!(project.home().join("made/deep").is_dir());
}

#[test]
fn symlinks_do_not_choose_the_program_of_a_plugin() {
    let project = project();
    let keys = with_keys(&project);
    symlink(keys.join("k"), project.path().join("program")).unwrap();
    with_runner(&project, "exec: [./program]");
    let script = format!("cat {}/k program", keys.display());
    let run = run_by_plugin(&project, &project.path(), &script);
    assert!(!format!("{}{}", run.stdout, run.stderr).contains("CANARY"), "{run}");
}

#[test]
fn plugin_write_grants_are_checked_for_made_symlinks() {
    let project = project();
    let keys = with_keys(&project);
    let data = project.home().join("data");
    fs::create_dir(&data).unwrap();
    with_runner(&project, "write: ['~/data']");
    let script = format!("ln -s {} {}/led", keys.display(), data.display());
    run_by_plugin(&project, &project.path(), &script).success();
    let led = data.join("led");
    assert!(led.is_symlink());
    let run =
        project.command(&["sandbox", "run", "--", "cat", "k"]).cwd(&led).env("PWD", &led).run();
    assert!(run.code(2).stderr.contains("a command could have made it"), "{run}");
    project.config("sandbox: {allowed_paths: ['~/data/led']}\n");
    let run = confined_in(&project, &project.path(), &format!("cat {}/k; echo on", keys.display()));
    assert_eq!(run.success().stdout, "on\n", "{run}");
    assert!(run.stderr.contains("a command could have made it"), "{run}");
}
