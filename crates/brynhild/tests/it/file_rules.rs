//! Deny rules for files are enforced by the sandbox: no program reaches the files in any way.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;
use testkit::{Project, Run};

use crate::backends::Backend;
use crate::git::shell;
use crate::mcp::until;
use crate::{has_bubblewrap, project};

const RULES: &str = "permissions:\n  deny:\n    - Read(.env)\n    - Read(secret/**)\n    \
                     - Read(a/b/key)\n    - Write(tests/**)\n    - Write(*.lock)\n";

fn closed() -> Project {
    let project = project();
    project.config(RULES);
    project
        .file(".env", "CANARY in the variables\n")
        .file("sub/.env", "CANARY further down\n")
        .file("secret/k", "CANARY in a directory\n")
        .file("a/b/key", "CANARY in its place\n")
        .file("tests/t.rs", "as it was\n")
        .file("Cargo.lock", "as it was\n")
        .file("src/a.txt", "open\n");
    project
}

fn confined(project: &Project, command: &str) -> Run {
    project.brynhild(&["sandbox", "run", "--", "sh", "-c", command])
}

/// A program whose text names nothing of what it reads.
const EVERYTHING: &str = "import os, sys\nfor directory, _, names in os.walk('.'):\n    \
                          for name in names:\n        try:\n            \
                          sys.stdout.write(open(os.path.join(directory, name)).read())\n        \
                          except OSError as error:\n            print(error.strerror)\n";

#[test]
fn home_rules_apply_to_a_project_in_the_home() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let app = project.home().join("app");
    fs::create_dir_all(app.join(".brynhild")).unwrap();
    fs::write(app.join("f"), "CANARY\n").unwrap();
    let script = ["sandbox", "run", "--", "sh", "-c", "cat f; echo PWN > f; echo PWN > new"];
    for (rule, is_seen) in
        [("Read(~/**)", false), ("Read(~)", false), ("Write(~/**)", true), ("Write(~)", true)]
    {
        project.config(&format!("permissions: {{deny: ['{rule}']}}\n"));
        let run = project.command(&script).cwd(&app).run();
        if is_seen {
            assert_eq!(run.stdout, "CANARY\n", "{rule} {run}");
            assert_eq!(fs::read_to_string(app.join("f")).unwrap(), "CANARY\n", "{rule}");
            assert!(!app.join("new").exists(), "{rule} {run}");
        } else {
            assert!(!run.stdout.contains("CANARY"), "{rule} {run}");
            assert!(run.stderr.contains("a rule denies reading"), "{rule} {run}");
        }
    }
}

#[test]
fn grant_in_a_denied_directory_is_hidden_and_reported_once() {
    let project = project();
    let home = project.home();
    fs::create_dir_all(home.join("dot/d")).unwrap();
    fs::write(home.join("dot/d/f"), "CANARY\n").unwrap();
    symlink("dot/d", home.join(".dlink")).unwrap();
    symlink("dot/d/f", home.join(".flink")).unwrap();
    for (rule, key, path) in [
        ("Read(~/dot/**)", "read_paths", "~/dot/d"),
        ("Read(~/dot/**)", "allowed_paths", "~/dot/d"),
        ("Read(~/.dlink/**)", "read_paths", "~/.dlink"),
        ("Read(~/.flink)", "read_paths", "~/.flink"),
    ] {
        project.config(&format!(
            "permissions: {{deny: ['{rule}']}}\nsandbox: {{{key}: ['{path}']}}\n"
        ));
        let run = confined(&project, "cat ~/dot/d/f ~/.dlink/f ~/.flink; echo on");
        assert_eq!(run.success().stdout, "on\n", "{run}");
        let told: Vec<&str> = run.stderr.lines().filter(|line| line.contains("grants")).collect();
        let [told] = told[..] else { panic!("{run}") };
        assert!(told.starts_with(&format!("warning: `sandbox.{key}` grants ")), "{run}");
        assert!(told.contains(&format!("the rule `{rule}` denies reading it")), "{run}");
    }
}

#[test]
fn rule_for_the_whole_project_exposes_nothing_above() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let (root, home) = (project.path(), project.home());
    fs::write(home.join("secret"), "CANARY\n").unwrap();
    let given = format!("Write({}/**)", root.display());
    // A project may have this rule, since it only denies.
    for (rule, is_theirs) in [("Write(/**)", true), ("Write(/)", true), (&given, false)] {
        let rules = format!("permissions: {{deny: ['{rule}']}}\n");
        project.config(if is_theirs { "{}\n" } else { &rules });
        project.file(".brynhild/config.yaml", if is_theirs { &rules } else { "{}\n" });
        let run = confined(&project, "cat ~/secret; echo x > ~/made; echo x > new; echo on");
        assert_eq!(run.success().stdout, "on\n", "{rule}: {run}");
        assert!(run.stderr.contains("Read-only file system"), "{rule}: {run}");
        assert!(!home.join("made").exists() && !root.join("new").exists(), "{rule}: {run}");
        let mounts =
            confined(&project, "cut -d ' ' -f 5 /proc/self/mountinfo").success().stdout.clone();
        let above: Vec<&Path> = mounts
            .lines()
            .map(Path::new)
            .filter(|it| root.starts_with(it) && root != **it)
            .collect();
        // Created for the command: the root itself, scratch space and an empty home.
        let own = |it: &&Path| ["/", "/tmp"].contains(&it.to_str().unwrap()) || home == **it;
        let is_once = |it: &&Path| above.iter().filter(|other| *other == it).count() == 1;
        assert!(above.iter().all(|it| own(it) && is_once(it)), "{rule}: {above:?}");
    }
}

#[test]
fn denied_files_are_hidden_from_commands() {
    if !has_bubblewrap() {
        return;
    }
    let project = closed();
    // Without the rules it does.
    project.config("{}\n").file("all.py", EVERYTHING);
    let run = confined(&project, "python3 all.py");
    assert_eq!(run.success().stdout.matches("CANARY").count(), 4, "{run}");
    project.config(RULES);
    let input = json!({"command": "python3 all.py"}).to_string();
    for words in [
        &["sandbox", "run", "--", "python3", "all.py"][..],
        &["sandbox", "run", "--profile", "read-only", "--", "python3", "all.py"],
        &["--mode", "yolo", "tools", "exec", "Bash", "--input", &input],
    ] {
        let run = project.brynhild(words);
        assert!(run.success().stdout.contains("open\n"), "{run}");
        assert!(!run.stdout.contains("CANARY"), "{run}");
        assert!(run.stdout.contains("Permission denied"), "{run}");
    }
}

#[test]
fn denied_files_cannot_be_read_by_other_paths() {
    if !has_bubblewrap() {
        return;
    }
    let project = closed();
    std::os::unix::fs::symlink("secret/k", project.path().join("link")).unwrap();
    for command in [
        "cat link",
        "mv secret other; cat other/k",
        "mv a c; cat c/b/key",
        "mv sub other; cat other/.env",
        "ln .env e; cat e",
        "chmod 644 .env; cat .env",
        "rm -f .env; cat .env",
        "umount .env; cat .env",
        "cd sub; cat $PWD/.env ../.env",
        "cp -a . /tmp/copy; cat /tmp/copy/.env /tmp/copy/secret/k",
    ] {
        let run = confined(&project, command);
        assert!(!run.stdout.contains("CANARY"), "{command}: {run}");
        // Undoes a move that had no effect.
        confined(&project, "[ -e other ] && mv other sub");
    }
    for (file, words) in [(".env", "variables"), ("secret/k", "directory"), ("a/b/key", "place")] {
        let text = fs::read_to_string(project.path().join(file)).unwrap();
        assert!(text.contains(words), "{file}");
    }
}

#[test]
fn write_denied_files_are_unchanged() {
    if !has_bubblewrap() {
        return;
    }
    let project = closed();
    for command in [
        "echo new > tests/t.rs",
        "rm -rf tests",
        "mv tests other",
        "touch tests/new",
        "python3 -c 'import os; os.replace(\"src/a.txt\", \"Cargo\" + \".lock\")'",
        "python3 -c 'open(\"Cargo\" + \".lock\", \"w\")'",
    ] {
        let run = confined(&project, command);
        assert_ne!(run.status.code(), Some(0), "{command}: {run}");
    }
    for file in ["tests/t.rs", "Cargo.lock"] {
        assert_eq!(fs::read_to_string(project.path().join(file)).unwrap(), "as it was\n");
    }
    // It is read and run as ever, and everything else is written.
    let run = confined(&project, "cat tests/t.rs Cargo.lock && echo new > src/a.txt");
    assert_eq!(run.success().stdout, "as it was\nas it was\n");
    assert_eq!(fs::read_to_string(project.path().join("src/a.txt")).unwrap(), "new\n");
}

#[test]
fn file_rules_apply_to_plugins() {
    if !has_bubblewrap() {
        return;
    }
    let project = closed();
    let file = project.config_directory().join("plugins/peek");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let script = "#!/bin/sh\nif [ \"$1\" = --schema ]; then echo '{\"name\": \"peek\", \
                  \"description\": \"Peeks\"}'; exit; fi\ncat .env secret/k src/a.txt 2>&1\n";
    fs::write(&file, script).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let peek = ["tools", "exec", "peek", "--input", "{}", "--yes"];
    let run = project.brynhild(&peek);
    assert!(run.stdout.contains("open") && !run.stdout.contains("CANARY"), "{run}");
    project.config("{}\n");
    assert!(project.brynhild(&peek).stdout.contains("CANARY"));
}

#[test]
fn sandbox_leaves_no_files_in_the_project() {
    if !has_bubblewrap() {
        return;
    }
    let project = closed();
    shell(&project, "git init -q . && git add -A");
    confined(&project, "ls").success();
    let status = "git status --porcelain | grep -v '^A'; stat -c '%a %n' .env secret";
    let found = shell(&project, status);
    assert_eq!(found.trim(), "644 .env\n755 secret", "{found}");
}

#[test]
fn start_in_a_denied_directory_is_refused() {
    if !has_bubblewrap() {
        return;
    }
    let project = closed();
    shell(&project, "git init -q .");
    let inside = project.path().join("secret");
    let run = project.command(&["sandbox", "run", "--", "true"]).cwd(inside).run();
    assert_ne!(run.status.code(), Some(0), "{run}");
    assert!(run.stderr.contains("a rule denies reading"), "{run}");
}

#[test]
fn trusted_script_exposes_no_other_denied_file() {
    if !has_bubblewrap() {
        return;
    }
    let project = closed();
    let hooks = "hooks:\n  pre_tool_use:\n    - {name: one, type: command, command: sh secret/hook.sh}\n    \
                 - {name: two, type: command, command: sh tests/hook.sh}\n";
    let all = "cat secret/* tests/t.rs > seen; echo x > tests/new; echo x > tests/t.rs; true\n";
    project
        .file(".brynhild/hooks.yaml", hooks)
        .file("secret/hook.sh", "sh all.sh; echo one >> ran\n")
        .file("tests/hook.sh", "sh all.sh; echo two >> ran\n")
        .file("all.sh", all);
    project.brynhild(&["trust", "--yes"]).success();
    let input = json!({"command": "true"}).to_string();
    project.brynhild(&["--mode", "yolo", "tools", "exec", "Bash", "--input", &input]).success();
    let read = |name: &str| fs::read_to_string(project.path().join(name)).unwrap();
    assert_eq!(read("ran"), "one\ntwo\n");
    assert!(read("seen").contains("as it was") && !read("seen").contains("CANARY"));
    assert_eq!(read("tests/t.rs"), "as it was\n");
    assert!(!project.path().join("tests/new").exists());
}

/// Exchanges the directories `x` and `y` until it is ended.
const EXCHANGE: &str = "import ctypes\nlibrary = ctypes.CDLL(None)\nopen('begun', 'w').close()\n\
                        while True:\n    library.renameat2(-100, b'x', -100, b'y', 2)\n";

#[test]
fn swapped_directories_expose_no_denied_file() {
    if !has_bubblewrap() {
        return;
    }
    let project = closed();
    project.config("{}\n").file("exchange.py", EXCHANGE).file("x/.claude/settings.json", "{}");
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("key"), "CANARY outside\n").unwrap();
    std::os::unix::fs::symlink(outside.path(), project.path().join("y")).unwrap();
    let exchanging = project.command(&["sandbox", "run", "--", "python3", "exchange.py"]).spawn();
    until("it has begun", || project.path().join("begun").exists());
    for _ in 0..20 {
        // It may be refused, since nothing stays in its place.
        let run = confined(&project, "cat x/key y/key; touch x/planted y/planted");
        assert!(!run.stdout.contains("CANARY"), "{run}");
    }
    exchanging.kill();
    let names: Vec<_> = fs::read_dir(outside.path()).unwrap().flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn commands_cannot_prepare_a_bypass_of_file_rules() {
    if !has_bubblewrap() {
        return;
    }
    let project = closed();
    std::os::unix::fs::symlink("real", project.path().join("led")).unwrap();
    project.file("real/f", "CANARY behind a link\n").file("x/bb/key", "CANARY by two names\n");
    let rules = "permissions:\n  deny:\n    - Read(.env)\n    - Read(a/**)\n    - Read(a/b/key)\n    \
                 - Read(led/**)\n    - Read(**/bb/key)\n    - Write(a/b)\n    - Read(secret/**)\n";
    project.config(rules);
    let long = "import os\nname = 'd' * 200\nwhile len(os.getcwd()) < 3800:\n    os.mkdir(name)\n    \
                os.chdir(name)\nname = 'e' * (4083 - len(os.getcwd()))\nos.mkdir(name)\nos.chdir(name)\n\
                open('.env', 'w').close()\n";
    project.file("long.py", long);
    let decoys = "for i in $(seq 310); do mkdir -p aa$i; : > aa$i/.env; done";
    for (first, then) in [
        ("chmod 600 sub; chmod 400 x/bb", "chmod 755 sub x/bb; cat sub/.env x/bb/key"),
        ("chmod 300 sub x", "chmod 755 sub x; cat sub/.env x/bb/key a/b/key secret/k"),
        ("rm led", "cat real/f"),
        ("mv x/bb x/cc", "cat x/cc/key"),
        (decoys, "cat secret/k x/bb/key sub/.env real/f"),
        ("rm -rf aa*; python3 long.py", "cat secret/k a/b/key real/f"),
    ] {
        confined(&project, first);
        let run = confined(&project, then);
        assert!(!run.stdout.contains("CANARY"), "{first}: {run}");
        assert!(!run.stderr.contains("landlock"), "{first}: {run}");
    }
}

/// The input and the output of a file tool.
fn used(project: &Project, tool: &str, input: &serde_json::Value) -> String {
    let input = input.to_string();
    let run = project.brynhild(&["--mode", "yolo", "tools", "exec", tool, "--input", &input]);
    format!("{}{}", run.stdout, run.stderr)
}

#[test]
fn file_rules_apply_to_symlinks_and_their_targets() {
    let project = project();
    project
        .file("conf/e", "CANARY=1\n")
        .file("real/k", "CANARY\n")
        .file("deep/plain", "CANARY\n")
        .file("sub/.env", "CANARY\n")
        .file("src/a", "open\n");
    for (link, target) in [
        (".env", "conf/e"),
        ("secret", "real"),
        ("src/key.pem", "../deep/plain"),
        ("src/open", "../sub/.env"),
        ("src/a.key", "a"),
    ] {
        std::os::unix::fs::symlink(target, project.path().join(link)).unwrap();
    }
    let all = |project: &Project| {
        let read = |path: &str| used(project, "Read", &json!({"file_path": path}));
        let grep = |path: &str| used(project, "Grep", &json!({"pattern": "CANARY", "path": path}));
        let glob = used(project, "Glob", &json!({"pattern": "secret/*"}));
        let reads = [".env", "secret/k", "src/key.pem", "src/open"].map(read);
        (reads, [".env", "secret", "src/open"].map(grep), glob)
    };
    // Without the rules they are read.
    let (reads, searches, listed) = all(&project);
    assert!(reads.iter().all(|said| said.contains("CANARY")), "{reads:?}");
    assert!(searches.iter().all(|said| said.contains("CANARY")), "{searches:?}");
    assert!(listed.contains("real/k"), "{listed}");
    project.config(
        "permissions: {deny: [Read(.env), Write(.env), 'Read(secret/**)', 'Write(secret/**)', \
         'Read(**/*.pem)', 'Write(**/*.key)']}\n",
    );
    let (reads, searches, listed) = all(&project);
    assert!(reads.iter().all(|said| !said.contains("CANARY")), "{reads:?}");
    assert!(searches.iter().all(|said| !said.contains("CANARY")), "{searches:?}");
    assert!(!listed.contains("real/k"), "{listed}");
    let edit = json!({"file_path": "src/a.key", "old_string": "open", "new_string": "x"});
    assert!(used(&project, "Edit", &edit).contains("denied"));
    for path in [".env", "secret/n", "src/open", "src/a.key"] {
        let said = used(&project, "Write", &json!({"file_path": path, "content": "x"}));
        assert!(said.contains("denied"), "{path}: {said}");
    }
    for path in [".env", "secret/k", "src/open"] {
        let edit = json!({"file_path": path, "old_string": "CANARY", "new_string": "x"});
        let said = used(&project, "Edit", &edit);
        assert!(said.contains("denied") && !said.contains("CANARY"), "{path}: {said}");
    }
    assert_eq!(fs::read_to_string(project.path().join("conf/e")).unwrap(), "CANARY=1\n");
    assert_eq!(fs::read_to_string(project.path().join("real/k")).unwrap(), "CANARY\n");
    assert!(!project.path().join("real/n").exists());
    assert!(used(&project, "Read", &json!({"file_path": "src/a"})).contains("open"));
}

#[test]
fn protected_symlinks_and_their_targets_are_not_written() {
    let project = project();
    project
        .file("vs/settings.json", "as it was")
        .file("env.txt", "")
        .file("b/x", "as it was")
        .file("sub/e", "");
    for (link, target) in
        [(".vscode", "vs"), (".envrc", "env.txt"), (".brynhild", "b"), ("sub/.envrc", "e")]
    {
        symlink(target, project.path().join(link)).unwrap();
    }
    for path in [
        ".vscode/tasks.json",
        "vs/tasks.json",
        ".envrc",
        "env.txt",
        ".brynhild/config.yaml",
        "b/config.yaml",
        "sub/.envrc",
    ] {
        let said = used(&project, "Write", &json!({"file_path": path, "content": "EVIL"}));
        assert!(!said.contains("Wrote"), "{path}: {said}");
    }
    for path in [".vscode/settings.json", "vs/settings.json", ".brynhild/x", "b/x"] {
        let edit = json!({"file_path": path, "old_string": "as it was", "new_string": "EVIL"});
        used(&project, "Edit", &edit);
    }
    assert_eq!(project.read("vs/settings.json"), "as it was");
    assert_eq!(project.read("b/x"), "as it was");
    assert!(!project.path().join("vs/tasks.json").exists());
    let said = used(&project, "Write", &json!({"file_path": "sub/f", "content": "x"}));
    assert!(said.contains("Wrote"), "{said}");
}

#[test]
fn symlink_chain_to_a_denied_name_is_denied() {
    for backend in Backend::here() {
        let project = backend.project();
        project.config("permissions: {deny: ['Read(**/*.pem)', 'Write(**/*.pem)']}\n");
        project.file("k", "CANARY\n").file("d/x", "open\n");
        for (target, link) in [
            ("k", "a.pem"),
            ("a.pem", "c.txt"),
            ("d", "dl"),
            ("dl/b.pem", "chain"),
            ("../k", "d/b.pem"),
        ] {
            symlink(target, project.path().join(link)).unwrap();
        }
        for command in [
            "cat c.txt",
            "cat < c.txt",
            "cat c.t?t",
            "head -n1 chain",
            "cat dl/../c.txt",
            "echo PWN > c.txt",
            "echo PWN | tee -a chain",
            "sed -i s/C/P/ c.txt",
        ] {
            let input = json!({"command": command}).to_string();
            let words = ["--mode", "yolo", "tools", "exec", "Bash", "--input", &input];
            let run = project.brynhild(&words);
            assert!(!run.status.success() && !run.stdout.contains("CANARY"), "{backend:?} {run}");
            assert_eq!(project.read("k"), "CANARY\n", "{backend:?} {run}");
        }
        let words =
            ["--mode", "yolo", "tools", "exec", "Bash", "--input", r#"{"command": "cat d/x"}"#];
        assert!(project.brynhild(&words).success().stdout.contains("open"));
    }
}
