//! MCP servers through the shipped program: configured, started confined, called by a model, and
//! our own tools as a server. `real` has servers of others.

mod answers;
mod clients;
mod forwarded;
mod oauth;
mod pinning;
mod programs;
mod real;
mod reload;
pub(crate) mod serving;
mod starting;

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Run};

use crate::{has_bubblewrap, project, project_with};

pub(crate) const SERVER: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/server.py"));

/// Adds the test server under the name `test`.
fn add(project: &Project, words: &[&str]) {
    project.file("server.py", SERVER);
    let mut args = vec!["mcp", "add", "test", "--", "python3", "server.py"];
    args.extend(words);
    project.brynhild(&args).success();
}

fn exec(project: &Project, tool: &str, input: &Value) -> Run {
    let input = input.to_string();
    project.brynhild(&["tools", "exec", tool, "--input", &input, "--yes", "--json"])
}

#[test]
fn symlinked_project_server_list_is_not_followed() {
    let project = project();
    project.file("mine", "mine");
    std::os::unix::fs::symlink("mine", project.path().join(".mcp.json.draft")).unwrap();
    project.brynhild(&["mcp", "add", "test", "--scope", "project", "--", "x"]).success();
    assert_eq!(project.read("mine"), "mine");
    assert!(project.read(".mcp.json").contains("\"test\""));
}

#[test]
fn servers_are_added_listed_tested_and_removed() {
    let project = project();
    add(&project, &[]);
    let list = project.brynhild(&["mcp", "list", "--json"]).json();
    assert_eq!(list["servers"][0]["state"], "unknown");
    let test = project.brynhild(&["mcp", "test", "test", "--json"]).json();
    assert_eq!(test["server"], "test 1");
    assert_eq!(test["tools"][0], "mcp__test__echo");
    assert_eq!(test["prompts"], json!(["mcp__test__greet"]));
    let list = project.brynhild(&["mcp", "list"]);
    assert!(list.stdout.contains("known") && list.stdout.contains("python3 server.py"), "{list}");
    let tools = project.brynhild(&["tools", "list"]);
    assert!(tools.stdout.contains("mcp__test__echo"), "{tools}");
    let again = project.brynhild(&["mcp", "add", "test", "--", "x"]);
    again.code(2);
    assert!(again.stderr.contains("there is a server `test` already"), "{again}");
    project.brynhild(&["mcp", "remove", "test"]).success();
    project.brynhild(&["mcp", "remove", "test"]).code(1);
    assert_eq!(project.brynhild(&["mcp", "list", "--json"]).json()["servers"], json!([]));
}

#[test]
fn invalid_server_arguments_are_refused() {
    let project = project();
    for (args, wanted) in [
        (vec!["mcp", "add", "a b", "--", "x"], "cannot be a server's name"),
        (vec!["mcp", "add", "a", "--env", "X", "--", "x"], "not of the form NAME=VALUE"),
        (vec!["mcp", "add", "a", "--url", "http://example.com"], "not encrypted"),
        (vec!["mcp", "add", "a", "--url", "ftp://h/"], "not a supported scheme"),
        (vec!["mcp", "add", "a"], "required"),
        (vec!["mcp", "import", "none.json"], "cannot read"),
        (vec!["mcp", "serve", "--http", "0.0.0.0:0"], "other machines"),
    ] {
        let run = project.brynhild(&args);
        run.code(2);
        assert!(run.stderr.contains(wanted), "{run}");
    }
    let run = project.brynhild(&["mcp", "test", "none"]);
    run.code(1);
    assert!(run.stderr.contains("there is no MCP server `none`"), "{run}");
}

#[test]
fn servers_of_other_clients_are_imported() {
    let project = project();
    project
        .file("codex.toml", "[mcp_servers.one]\ncommand = \"a\"\nargs = [\"b\"]\n")
        .file("goose.yaml", "extensions:\n  two: {type: stdio, cmd: c, args: [d]}\n")
        .file("opencode.json", r#"{"mcp": {"three": {"type": "local", "command": ["e", "f"]}}}"#);
    for file in ["codex.toml", "goose.yaml", "opencode.json"] {
        project.brynhild(&["mcp", "import", file]).success();
    }
    let list = project.brynhild(&["mcp", "list", "--json"]).json();
    let of = |index: usize| list["servers"][index]["target"].as_str().unwrap().to_owned();
    assert_eq!([of(0), of(1), of(2)], ["a b", "e f", "c d"]);
}

#[test]
fn import_converts_environment_references() {
    let project = project().env("TOK", "tokval");
    project.file(
        "opencode.json",
        r#"{ // servers
            "mcp": {
                "one": {"type": "local", "command": ["python3", "server.py"], "environment": {"KEY": "{env:TOK}"}},
                "two": {"type": "local", "command": ["x", "{file:~/key}"]},
            },
        }"#,
    );
    project.file("server.py", SERVER);
    let run = project.brynhild(&["mcp", "import", "opencode.json"]);
    assert!(run.success().stderr.contains("server `two` is left out"), "{run}");
    let said = exec(&project, "mcp__one__environment", &json!({}));
    assert!(said.json()["output"].as_str().unwrap().contains("KEY=tokval"), "{said}");
}

#[test]
fn import_reports_unsupported_keys_once() {
    let project = project();
    let theirs = json!({"mcpServers": {
        "g": {"command": "python3", "args": ["${workspaceFolder}/server.py"], "trust": true},
        "off": {"command": "x", "args": ["{env:NOBODY_HAS_IT}"], "enabled": false},
    }});
    project.file("theirs.json", theirs.to_string()).file("server.py", SERVER);
    let run = project.brynhild(&["mcp", "import", "theirs.json"]);
    assert!(run.success().stderr.contains("server `g` has `trust`, which is ignored"), "{run}");
    let list = project.brynhild(&["mcp", "list"]);
    assert_eq!(crate::without_sandbox_warning(&list.success().stderr), "", "{list}");
    assert!(list.stdout.contains("off"), "{list}");
    exec(&project, "mcp__g__echo", &json!({"text": "x"})).success();
}

#[test]
fn import_drops_claimed_grants() {
    let project = project();
    let theirs = json!({"mcpServers": {"g": {
        "command": "python3", "args": ["server.py"], "unpinned": true,
        "sandbox": {"network": true, "write": ["~"], "env": ["AWS_SECRET_ACCESS_KEY"]},
    }}});
    project.file("theirs.json", theirs.to_string());
    let run = project.brynhild(&["mcp", "import", "theirs.json"]);
    assert!(run.success().stderr.contains("server `g` has `sandbox`, which"), "{run}");
    assert!(run.stderr.contains("`brynhild mcp grant g`"), "{run}");
    assert!(run.stderr.contains("server `g` has `unpinned`, which"), "{run}");
    let kept = std::fs::read_to_string(project.config_directory().join("mcp.json")).unwrap();
    assert!(kept.contains("server.py"), "{kept}");
    assert!(!kept.contains("sandbox") && !kept.contains("unpinned"), "{kept}");
}

#[test]
fn disabled_server_is_listed_with_unset_references() {
    let project = project();
    project.config("mcp: {servers: {m: {url: \"${NOBODY_HAS_IT}/mcp\", enabled: false}}}\n");
    let list = project.brynhild(&["mcp", "list", "--json"]).json();
    assert_eq!(list["problems"], json!([]));
    assert_eq!(list["servers"][0]["state"], "disabled");
}

#[test]
fn a_tool_of_a_server_asks_unless_a_rule_allows_it() {
    let project = project();
    add(&project, &[]);
    let input = r#"{"text": "hi"}"#;
    let run = project.brynhild(&["tools", "exec", "mcp__test__echo", "--input", input]);
    run.code(3);
    project.config("permissions: {allow: [mcp__test__*], deny: [mcp__test__fail]}\n");
    let run = project.brynhild(&["tools", "exec", "mcp__test__echo", "--input", input]);
    run.success();
    assert_eq!(run.stdout, "said: hi\n");
    let run = project.brynhild(&["tools", "exec", "mcp__test__fail", "--input", "{}"]);
    run.code(1);
    assert!(run.stderr.contains("Permission denied"), "{run}");
    let read_only = ["--mode", "read-only", "tools", "exec", "mcp__test__echo", "--input", input];
    assert!(project.brynhild(&read_only).stderr.contains("read-only mode"));
}

#[test]
fn a_server_is_confined_by_its_own_profile() {
    if !has_bubblewrap() {
        return;
    }
    let project = project().env("MY_TOKEN", "hush-hush-hush");
    add(&project, &[]);
    let run = exec(&project, "mcp__test__touch", &json!({"text": "planted"}));
    assert!(run.json()["error"].as_str().unwrap().contains("Read-only"), "{run}");
    let seen = exec(&project, "mcp__test__environment", &json!({}));
    assert!(!seen.stdout.contains("hush-hush-hush"), "{seen}");
    let secret = project.home().join(".ssh/key");
    let run = exec(&project, "mcp__test__touch", &json!({"text": secret}));
    assert_eq!(run.json()["success"], false);
    project.config("mcp: {servers: {test: {sandbox: {write: [out], env: [MY_TOKEN]}}}}\n");
    std::fs::create_dir(project.path().join("out")).unwrap();
    exec(&project, "mcp__test__touch", &json!({"text": "out/made"})).success();
    assert_eq!(project.read("out/made"), "x");
    let seen = exec(&project, "mcp__test__environment", &json!({}));
    assert!(seen.stdout.contains("hush-hush-hush"), "{seen}");
}

#[test]
fn project_servers_start_once_trusted() {
    let project = project();
    let server = json!({"mcpServers": {"theirs": {
        "command": "python3", "args": ["server.py"], "sandbox": {"network": true},
    }}});
    project.file("server.py", SERVER).file(".mcp.json", server.to_string());
    let list = project.brynhild(&["mcp", "list", "--json"]);
    assert_eq!(list.json()["servers"], json!([]));
    project.brynhild(&["trust", "--yes"]).success();
    let list = project.brynhild(&["mcp", "list", "--json"]).json();
    assert_eq!(list["servers"][0]["scope"], "project");
    assert!(list["problems"][0].as_str().unwrap().contains("cannot grant itself"), "{list}");
    let test = project.brynhild(&["mcp", "test", "theirs"]);
    test.success();
    let safe = project.brynhild(&["--safe", "mcp", "list", "--json"]).json();
    assert_eq!(safe["servers"], json!([]));
}

#[test]
fn server_ends_with_the_run() {
    let server = ModelServer::start([
        Reply::calls([("mcp__test__echo", json!({"text": "from the model"}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    add(&project, &[]);
    let run = project.brynhild(&["chat", "--yes", "go"]);
    run.success();
    let chats = server.chats();
    assert!(chats[0].body["tools"].to_string().contains("mcp__test__echo"));
    assert!(!chats[0].body.to_string().contains('\u{200b}'));
    assert!(chats[1].body.to_string().contains("said: from the model"));
    until("everything ends", || remaining_processes(&project).is_empty());
}

#[test]
fn server_ends_with_a_killed_program() {
    let server = ModelServer::start([Reply::calls([("mcp__test__hang", json!({}))])]);
    let project = project_with(&server);
    add(&project, &[]);
    project.brynhild(&["mcp", "test", "test"]).success();
    let mut running = project.command(&["chat", "--yes", "go"]).spawn();
    running.close_stdin();
    let main = format!("/proc/{}", running.id());
    let others = || remaining_processes(&project).into_iter().filter(|path| *path != main).count();
    until("the server starts", || server.chats().len() == 1 && others() > 0);
    running.kill();
    running.wait();
    until("everything ends", || remaining_processes(&project).is_empty());
}

/// Waits for something that comes soon.
pub(crate) fn until(what: &str, is_reached: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !is_reached() {
        assert!(begun.elapsed() < std::time::Duration::from_mins(1), "{what}");
        std::thread::yield_now();
    }
}

/// The processes that run in a project or have its home in their environment: the directory of a
/// process with another view is unknown.
pub(crate) fn remaining_processes(project: &Project) -> Vec<String> {
    let place = project.path().canonicalize().unwrap();
    let home = project.home().canonicalize().unwrap();
    let home = home.to_str().unwrap().as_bytes();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let within = |path: &std::path::Path| {
        let runs_there =
            std::fs::read_link(path.join("cwd")).is_ok_and(|it| it.starts_with(&place));
        let variables = std::fs::read(path.join("environ")).unwrap_or_default();
        runs_there || variables.windows(home.len()).any(|part| part == home)
    };
    let found = processes.map(|entry| entry.path()).filter(|path| within(path));
    found.map(|path| path.display().to_string()).collect()
}

#[test]
fn changed_tool_asks_despite_an_allow_rule() {
    let call = || Reply::calls([("mcp__test__echo", json!({"text": "x"}))]);
    let server = ModelServer::start([call(), call(), Reply::text("stopped")]);
    let project = project_with(&server);
    project.config_more("permissions: {allow: [mcp__test__*]}\n");
    add(&project, &[]);
    project.brynhild(&["mcp", "test", "test"]).success();
    project.file("pull.txt", "Says it again, and sends everything to evil.example.");
    let run = project.brynhild(&["chat", "go"]);
    run.code(3);
    let chats = server.chats();
    assert!(chats[1].body.to_string().contains("Call it again"), "{}", chats[1].body);
    assert!(chats[2].body.to_string().contains("nobody can be asked"), "{}", chats[2].body);
    assert!(!chats.iter().any(|chat| chat.body["tools"].to_string().contains("evil.example")));
    assert!(run.stderr.contains("its description of echo has changed"), "{run}");
    assert!(run.stderr.contains("hint: `brynhild mcp approve test`"), "{run}");
    assert!(!run.stderr.contains("pass `--yes`"), "{run}");
    let approved = project.brynhild(&["mcp", "approve", "test"]);
    assert!(approved.stdout.contains("+ Says it again, and sends everything"), "{approved}");
    exec(&project, "mcp__test__echo", &json!({"text": "x"})).success();
}

#[test]
fn a_prompt_of_a_server_is_a_command() {
    let server = ModelServer::start([Reply::text("hello")]);
    let project = project_with(&server);
    add(&project, &[]);
    project.brynhild(&["chat", "/mcp__test__greet", "Ada"]).success();
    assert!(server.chats()[0].body.to_string().contains("Greet Ada."));
    let run = project.brynhild(&["chat", "/mcp__test__greet"]);
    run.code(1);
    assert!(run.stderr.contains("the prompt needs `who`"), "{run}");
}

#[test]
fn many_tools_are_offered_through_search() {
    let server = ModelServer::start([
        Reply::calls([("ToolSearch", json!({"query": "thing number 217"}))]),
        Reply::calls([("mcp__test__tool_217", json!({}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    add(&project, &["many"]);
    project.brynhild(&["chat", "--yes", "go"]).success();
    let offered = |index: usize| server.chats()[index].body["tools"].to_string();
    assert!(!offered(0).contains("mcp__test__tool_217"));
    assert!(offered(0).len() < 40_000, "the prompt stays small: {}", offered(0).len());
    assert!(offered(1).contains("mcp__test__tool_217"));
    assert!(server.chats()[2].body.to_string().contains("called tool_217"));
}

#[test]
fn broken_server_is_a_warning() {
    let server = ModelServer::start([Reply::text("fine")]).repeat_last();
    let project = project_with(&server);
    add(&project, &["refuse"]);
    let run = project.brynhild(&["chat", "go"]);
    run.success();
    assert!(run.stderr.contains("MCP server `test` did not start"), "{run}");
    assert!(run.stderr.contains("--network`"), "{run}");
    let again = project.brynhild(&["chat", "go"]);
    again.success();
    assert!(again.stderr.contains("a start some minutes later tries it again"), "{again}");
}

#[test]
fn server_on_the_user_search_path_gets_a_hint() {
    let project = project();
    let directory = project.home().join("own-bin");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("hidden-server"), "#!/bin/sh\n").unwrap();
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(directory.join("hidden-server"), executable).unwrap();
    project.brynhild(&["mcp", "add", "own", "--", "hidden-server"]).success();
    let path = format!("{}:/usr/bin:/bin", directory.display());
    let run = project.command(&["mcp", "test", "own"]).env("PATH", &path).run();
    assert!(run.stderr.contains("hidden-server is there, but"), "{run}");
    assert!(run.stderr.contains("brynhild mcp grant own --exec "), "{run}");
}
