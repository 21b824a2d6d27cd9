//! Keys: none of their bytes is on disk, in what is printed, or in what commands see.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use crate::project;

const KEY: &str = "sk-test-0123456789abcdefghij";

/// Runs the program with a mask that keeps nothing from anybody.
#[expect(clippy::disallowed_methods, reason = "only a shell sets the mask for one program")]
pub(super) fn with_open_mask(project: &Project, args: &[&str], temp: &Path) -> Output {
    std::process::Command::new("/bin/sh")
        .args(["-c", "umask 000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_brynhild")])
        .args(args)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", project.home())
        .env("TMPDIR", temp)
        .env("TEST_KEY", KEY)
        .current_dir(project.path())
        .output()
        .unwrap()
}

/// Calls `visit` with every file and directory beneath one.
pub(crate) fn each_file(directory: &Path, visit: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        visit(&path);
        if path.is_dir() && !path.is_symlink() {
            each_file(&path, visit);
        }
    }
}

fn keyed(server: &ModelServer) -> Project {
    let project = project();
    project.config(&format!(
        "providers:\n  default: test\n  instances:\n    test:\n      type: openai\n      base_url: \
         {}/v1\n      default_model: test-model\n      api_key_env: TEST_KEY\nlogging:\n  level: \
         debug\n  raw_payloads: true\n",
        server.url()
    ));
    project
}

#[test]
fn key_in_a_result_or_reply_is_neither_stored_nor_sent() {
    let server = ModelServer::start([
        Reply::calls([("Read", json!({"file_path": "keyfile"}))]),
        Reply::text(format!("your key is {KEY}")),
    ]);
    let project = keyed(&server).env("TEST_KEY", KEY);
    project.file("keyfile", format!("a key: {KEY}\n"));
    let run = project.brynhild(&["--output-format", "json", "chat", "look"]);
    run.success();
    assert!(!run.stdout.contains(KEY) && run.stdout.contains("your key is [redacted]"), "{run}");
    let sent = server.chats()[1].body.to_string();
    assert!(sent.contains("a key: [redacted]") && !sent.contains(KEY), "{sent}");
    each_file(&project.home(), &mut |path| {
        if path.is_file() {
            let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
            assert!(!text.contains(KEY), "{}", path.display());
        }
    });
}

#[test]
fn encoded_key_from_a_server_is_not_in_the_raw_log() {
    const SHOWN: &str = "proj/Zx9+Qw\\Er7\"Ty5Ui3Op1As2Df4";
    // printf '%s' "user:$SHOWN" | base64
    const BASE64: &str = "dXNlcjpwcm9qL1p4OStRd1xFcjciVHk1VWkzT3AxQXMyRGY0";
    const PERCENT: &str = "proj%2FZx9%2BQw%5CEr7%22Ty5Ui3Op1As2Df4";
    let said = json!({"error": {"message": format!("{SHOWN} {BASE64} ?key={PERCENT}")}});
    let garbled = [&b"\xff "[..], SHOWN.as_bytes()].concat();
    let server = ModelServer::start([
        Reply::failure(401).body(&said.to_string()),
        Reply::failure(400).raw(garbled),
    ]);
    let place = project();
    let logs = place.path().join("logs");
    for _ in 0..2 {
        let project = keyed(&server).env("TEST_KEY", SHOWN).env("BRYNHILD_LOGGING__DIR", &logs);
        assert_ne!(project.brynhild(&["chat", "hi"]).status.code(), Some(0));
    }
    let mut raw = String::new();
    each_file(&logs, &mut |path| raw.push_str(&String::from_utf8_lossy(&fs::read(path).unwrap())));
    assert!(raw.matches("[redacted]").count() >= 4 && raw.contains("?key=[redacted]"), "{raw}");
    for part in ["Ty5Ui3Op1As2Df4", "VHk1VWkzT3AxQXMy"] {
        assert!(!raw.contains(part), "{part}: {raw}");
    }
}

#[test]
fn key_is_neither_on_disk_nor_printed() {
    let echo = Reply::calls([(
        "Bash",
        json!({"command": "env; cat /proc/self/environ; cat /proc/$PPID/environ; cat ~/.config/brynhild/config.yaml"}),
    )]);
    let refused = json!({"error": {"message": format!("incorrect API key provided: {KEY}")}});
    let refused = Reply::failure(401).body(&refused.to_string());
    let server = ModelServer::start([echo, Reply::text("done"), refused]);
    let project = keyed(&server).env("TEST_KEY", KEY).env("COPY_OF_IT", KEY);
    let temp = project.home().join("temp");
    fs::create_dir(&temp).unwrap();
    let mut printed = String::new();
    for words in [
        vec!["chat", "look", "--mode", "yolo", "--verbose"],
        vec!["chat", "again", "--verbose"],
        vec!["config", "show"],
        vec!["config", "show", "--json"],
        vec!["session", "list", "--json"],
        vec!["logs", "list"],
    ] {
        let run = project.command(&words).env("TMPDIR", &temp).run();
        printed.push_str(&run.stdout);
        printed.push_str(&run.stderr);
    }
    assert_eq!(server.chats().len(), 3);
    let sent = server.chats()[0].header("authorization").unwrap_or_default().to_owned();
    assert!(sent.contains(KEY), "the key is not even used: {sent}");
    assert!(!printed.contains(KEY), "{printed}");
    let told = server.chats()[1].body.to_string();
    assert!(!told.contains(KEY), "the model was told: {told}");
    let mut files = 0;
    for directory in [project.home(), project.path()] {
        each_file(&directory, &mut |path| {
            let bytes = if path.is_file() { fs::read(path).unwrap() } else { Vec::new() };
            let has = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
            assert!(!has, "{} holds the key", path.display());
            files += 1;
        });
    }
    assert!(files >= 4, "only {files} files were looked at");
}

#[test]
fn key_in_the_configuration_is_not_shown() {
    let server = ModelServer::start([Reply::text("done")]);
    let project = project();
    project.config(&format!(
        "providers:\n  default: test\n  instances:\n    test:\n      type: openai\n      base_url: \
         {}/v1\n      default_model: test-model\n      api_key: {KEY}\n",
        server.url()
    ));
    for words in [
        ["config", "show"].as_slice(),
        &["config", "show", "--json"],
        &["config", "check"],
        &["chat", "hello"],
        &["policy", "check", "ls"],
    ] {
        let run = project.brynhild(words);
        assert!(!run.stdout.contains(KEY) && !run.stderr.contains(KEY), "{words:?}: {run}");
    }
}

#[test]
fn server_keys_are_in_no_error_output_or_file() {
    let secret = "mcp-secret-11Aa";
    let project = project();
    let server = json!({
        "command": "sh",
        "args": ["-c", "echo TOK=$TOK >&2; exit 1"],
        "env": {"TOK": secret},
    });
    project.config(&json!({"mcp": {"servers": {"s": server}}}).to_string());
    let test = project.brynhild(&["mcp", "test", "s"]);
    assert!(test.stderr.contains("TOK=[redacted]"), "{test}");
    for args in [&["mcp", "test", "s"][..], &["config", "show"], &["--json", "config", "show"]] {
        let run = project.brynhild(args);
        assert!(!run.stdout.contains(secret) && !run.stderr.contains(secret), "{run}");
    }
    let directory = project.config_directory();
    each_file(&directory, &mut |path| {
        let is_own = path.ends_with("config.yaml");
        let bytes = fs::read(path).unwrap_or_default();
        assert!(is_own || !String::from_utf8_lossy(&bytes).contains(secret), "{}", path.display());
    });
}
