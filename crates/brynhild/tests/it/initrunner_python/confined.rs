//! Confinement of the Python of a role: minimal access, and the grants of the user.

use std::fs;

use super::*;
use crate::has_bubblewrap;

const SPY: &str = "\
import os, pathlib, socket

def write(path: str) -> str:
    pathlib.Path(path).write_text('made')
    return 'written'

def see(name: str, tool_config: dict) -> list:
    return [os.environ.get(name), tool_config.get('key')]

def connect(port: int) -> str:
    socket.create_connection(('127.0.0.1', port), 2)
    return 'connected'

def read(path: str) -> str:
    return pathlib.Path(path).read_text()
";

/// A role of the user's own, outside of the project.
fn own_role(project: &Project) -> String {
    let directory = project.home().join("roles");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("spy.py"), SPY).unwrap();
    let role = "name: spy\nprompt: x\ntools:\n  - {type: custom, module: spy, config: {key: '${KEY}'}}\n\
         security: {tools: {blocked_custom_modules: []}}\n";
    fs::write(directory.join("spy.yaml"), role).unwrap();
    directory.join("spy.yaml").display().to_string()
}

fn call(project: &Project, role: &str, tool: &str, input: &Value) -> Run {
    let input = input.to_string();
    project.brynhild(&["tools", "exec", tool, "--role", role, "--input", &input, "--yes"])
}

#[test]
fn module_is_confined_until_granted() {
    if !has_bubblewrap() {
        return;
    }
    let project = project().env("KEY", "k1").env("OTHER", "o1");
    let role = own_role(&project);
    let place = json!({"path": project.path().join("made.txt")});
    let run = call(&project, &role, "write", &place);
    assert!(run.code(1).stderr.contains("`brynhild plugin grant spy --write .`"), "{run}");
    let secret = project.home().join("secret");
    fs::write(&secret, "hush").unwrap();
    let run = call(&project, &role, "read", &json!({"path": secret}));
    assert!(run.code(1).stderr.contains("FileNotFoundError"), "{run}");
    // A variable that the role's own file names is filled in; no other is seen.
    let run = call(&project, &role, "see", &json!({"name": "OTHER"}));
    assert_eq!(run.success().json(), json!([null, "k1"]));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = json!({"port": listener.local_addr().unwrap().port()});
    call(&project, &role, "connect", &port).code(1);
    let grants = "{write: [.], network: true, env: [OTHER]}";
    project.config(&format!("plugins: {{spy: {{sandbox: {grants}}}}}\n"));
    call(&project, &role, "write", &place).success();
    assert_eq!(project.read("made.txt"), "made");
    let run = call(&project, &role, "see", &json!({"name": "OTHER"}));
    assert_eq!(run.success().json(), json!(["o1", "k1"]));
    assert_eq!(call(&project, &role, "connect", &port).success().stdout.trim(), "connected");
}

#[test]
fn role_on_the_command_line_gets_its_grants() {
    if !has_bubblewrap() {
        return;
    }
    let project = project().env("KEY", "k1");
    project.config("plugins: {spy: {sandbox: {write: [.], env: [KEY]}}}\n");
    let role = "name: spy\nprompt: x\ntools:\n  - {type: custom, module: spy, config: {key: '${KEY}'}}\n\
         security: {tools: {blocked_custom_modules: []}}\n";
    project.file("agents/spy.py", SPY).file("agents/spy.yaml", role);
    let see = || call(&project, "agents/spy.yaml", "see", &json!({"name": "KEY"}));
    let place = json!({"path": "made.txt"});
    assert_eq!(see().success().json(), json!(["k1", "k1"]));
    call(&project, "agents/spy.yaml", "write", &place).success();
    project.file("agents/spy.py", format!("{SPY}\n# changed\n"));
    assert_eq!(see().success().json(), json!(["k1", "k1"]));
}

#[test]
fn tool_needs_approval_and_no_read_only_mode() {
    let project = with_tools(project());
    let args = ["tools", "exec", "later", "--role", "role.yaml", "--input", r#"{"n": 1}"#];
    project.brynhild(&args).code(3);
    let refused = project.brynhild(&[&args[..], &["--mode", "read-only", "--yes"]].concat());
    assert!(!refused.stdout.contains("count"), "{refused}");
    let safe = project.brynhild(&["tools", "list", "--role", "role.yaml", "--safe"]);
    assert!(!safe.stdout.contains("later") && safe.stderr.contains("--safe"), "{safe}");
}

#[test]
fn a_custom_function_takes_no_context() {
    let project = project();
    let code = "from pydantic_ai import RunContext\n\ndef uses(ctx: RunContext[None], n: int) -> int:\n    \
                return n\n\ndef plain(n: int) -> int:\n    return n\n";
    project.file("ctx.py", code);
    project.file("role.yaml", "name: t\nprompt: x\ntools: [{custom: {module: ctx}}]\n");
    let run = exec(&project, "plain", &json!({"n": 3}));
    assert_eq!(run.success().stdout.trim(), "3");
    assert!(run.stderr.contains("RunContext annotations can only be used"), "{run}");
}
