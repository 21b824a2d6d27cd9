//! The page of `serve` in a browser. It runs where `BRYNHILD_BROWSER` names a directory with
//! playwright-core (`.ci/run` installs it) and Chromium is installed, and is skipped loudly elsewhere.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Running};

use crate::project_with;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/page.mjs");
const PATIENCE: Duration = Duration::from_mins(5);
const STEPS: usize = 34;

const MARKDOWN: &str = "# Heading\n\nSome **bold** text, `code` and a [link](https://example.org/).\n\n\
                        - an item\n\n```rust\nfn main() {}\n```\n";
/// Text that does something if a page takes it for HTML.
const HOSTILE: &str = "<img src=x onerror=window.pwned=1> <script>window.pwned=1</script> \
                       [click](javascript:window.pwned=1) <svg onload=window.pwned=1> ![p](x)\n\n\
                       <iframe src=javascript:window.pwned=1></iframe>\n\n`<b>`";

/// The directory with playwright-core, and Chromium; none if one of them is not there.
#[expect(clippy::disallowed_methods, reason = "whoever runs the tests names the directory")]
fn installed() -> Option<(PathBuf, PathBuf)> {
    let package = std::env::var_os("BRYNHILD_BROWSER").map(PathBuf::from);
    let package =
        package.filter(|directory| directory.join("node_modules/playwright-core").exists());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let browser =
        std::env::split_paths(&path).map(|it| it.join("chromium")).find(|program| program.exists());
    let found = package.zip(browser);
    if found.is_none() {
        let words =
            "SKIPPED: the page in Chromium, to which BRYNHILD_BROWSER and PATH do not lead\n";
        std::io::stderr().write_all(words.as_bytes()).unwrap();
    }
    found
}

/// The replies of the model, by the last prompt.
fn reply(messages: &Value) -> Reply {
    let messages = messages.as_array().unwrap();
    let prompt = messages.iter().rfind(|message| message["role"] == "user").unwrap();
    let prompt = prompt["content"].to_string();
    if prompt.contains("steer") {
        return Reply::text("Steered.");
    }
    if messages.last().unwrap()["role"] == "tool" {
        return Reply::text(if prompt.contains("hostile") { HOSTILE } else { "Done." });
    }
    if prompt.contains("stream") {
        let words: Vec<String> = (0..300).map(|number| format!("word {number} ")).collect();
        return Reply::text(words.concat()).stall_at(10_000);
    }
    if prompt.contains("hostile") {
        return hostile();
    }
    if prompt.contains("look") {
        return Reply::text("Looked around.");
    }
    let (tool, args) = if prompt.contains("run") {
        let command = "echo begun; until [ -e go ]; do sleep 0.1; done; echo over";
        ("Bash", json!({"command": command}))
    } else if prompt.contains("write") {
        ("Write", json!({"file_path": "made.txt", "content": "one\ntwo\nthree\n"}))
    } else if prompt.contains("todos") {
        let done = json!({"content": "Write it", "status": "completed"});
        ("TodoWrite", json!({"todos": [done, {"content": "Test it", "status": "pending"}]}))
    } else if prompt.contains("delegate") {
        let args = json!({"prompt": "look", "description": "Look around"});
        ("Task", args)
    } else if prompt.contains("destroy") {
        ("Bash", json!({"command": "git reset --hard HEAD"}))
    } else if prompt.contains("wide") {
        ("Bash", json!({"command": format!("touch {}", "x".repeat(200))}))
    } else {
        return Reply::text(MARKDOWN).thinking("Short.");
    };
    Reply::calls([(tool, args)])
}

fn hostile() -> Reply {
    let echo = format!("echo '{HOSTILE}'");
    let deceptive = "cat '<img src=x>' \u{202e} # p\u{430}ypal";
    let calls = [
        ("Bash", json!({"command": echo})),
        (
            "Write",
            json!({"file_path": "<img src=x onerror=window.pwned=1>.txt", "content": HOSTILE}),
        ),
        ("Bash", json!({"command": deceptive, "reason": HOSTILE})),
    ];
    let said = Reply::text(HOSTILE).thinking(HOSTILE);
    calls.iter().fold(said, |reply, (tool, args)| reply.call(tool, args))
}

/// A server, and the link to its page.
fn serve(project: &Project, address: &str) -> (Running, String) {
    let serving = project.command(&["serve", "--listen", address]).patience(PATIENCE).spawn();
    let link = serving.line(0);
    (serving, link)
}

#[test]
fn page_passes_its_script_in_chromium() {
    let Some((package, browser)) = installed() else { return };
    let model = ModelServer::respond_with(|request| reply(&request.body["messages"]));
    let model = model.models(["test-model", "other-model"]);
    let project = project_with(&model);
    project.file("notes.txt", "notes\n");
    let (mut serving, link) = serve(&project, "127.0.0.1:0");
    let address = link.trim_start_matches("http://").split('/').next().unwrap().to_owned();
    let path = project.path().canonicalize().unwrap();
    let args = [SCRIPT.into(), PathBuf::from(link), path, browser];
    let script = project.program("node", &args).env("BRYNHILD_BROWSER", package);
    let mut script = script.patience(PATIENCE).spawn();
    for number in 0.. {
        let said = script.line(number);
        match said.as_str() {
            "finished" => break,
            "please release" => {
                model.release();
                script.send("released\n");
            }
            "please restart" => {
                serving.kill();
                serving.wait();
                let again = serve(&project, &address);
                serving = again.0;
                script.send(&format!("{}\n", again.1));
            }
            step => assert!(step.starts_with("ok "), "{step}"),
        }
    }
    let run = script.wait();
    run.success();
    let steps = run.stdout.lines().filter(|line| line.starts_with("ok ")).count();
    assert_eq!(steps, STEPS, "{run}");
}
