//! Tools of InitRunner roles that are Python: custom modules, tool types of packages and of single
//! files, through the shipped program.

mod confined;
mod types;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Run};

use crate::{project, project_with, without_sandbox_warning};

const TOOLS: &str = r#"
"""Things to do."""
from typing import List, Literal, Optional

_COUNT = 0

def _helper():
    return 1

def search(query: str, limit: int = 3, kind: Literal["word", "line"] = "word",
           tags: Optional[List[str]] = None, tool_config: dict = None) -> str:
    """Search the archive.

    Args:
        query: What to look for.
        limit: How many results.
        tool_config: Not for models.
    """
    return f"[{tool_config.get('prefix')}] {query} {limit} {kind} {tags}"

async def later(n: int) -> dict:
    """Count."""
    import asyncio
    global _COUNT
    await asyncio.sleep(0)
    _COUNT += n
    return {"count": _COUNT, "none": None}

def fails(text: str):
    raise ValueError(text)
"#;

const ROLE: &str = "name: archivist\nprompt: You search.\ntools:\n  - type: custom\n    \
                    module: my_tools\n    config: {prefix: P, api_key: HUSH}\n";

/// A project with a role and its module.
fn with_tools(project: Project) -> Project {
    project.file("my_tools.py", TOOLS).file("role.yaml", ROLE);
    project
}

/// Runs a tool of the role with approval.
fn exec(project: &Project, tool: &str, input: &Value) -> Run {
    let input = input.to_string();
    project.brynhild(&["tools", "exec", tool, "--role", "role.yaml", "--input", &input, "--yes"])
}

/// The output of a tool of the role, on success or failure.
fn tool_output(project: &Project, tool: &str, input: &Value) -> String {
    let run = exec(project, tool, input);
    format!("{}{}", run.stdout, without_sandbox_warning(&run.stderr)).trim().to_owned()
}

fn names(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

#[test]
fn module_functions_are_role_tools() {
    let model = ModelServer::start([
        Reply::calls([("search", json!({"query": "owls", "limit": "2", "tags": ["a"]}))]),
        Reply::calls([("later", json!({"n": 2})), ("later", json!({"n": 3}))]),
        Reply::text("Found."),
    ]);
    let project = with_tools(project_with(&model));
    let run = project.brynhild(&["run", "role.yaml", "-p", "owls?", "--yes"]);
    assert_eq!(run.success().stdout.trim(), "Found.");
    let chats = model.chats();
    assert_eq!(names(&chats[0].body), ["fails", "later", "search"]);
    let tool = &chats[0].body["tools"][2]["function"];
    assert_eq!(tool["description"], "Search the archive.");
    assert_eq!(
        tool["parameters"],
        json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for."},
                "limit": {"type": "integer", "default": 3, "description": "How many results."},
                "kind": {"type": "string", "enum": ["word", "line"], "default": "word"},
                "tags": {
                    "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
                    "default": null,
                },
            },
            "required": ["query"],
            "additionalProperties": false,
        })
    );
    assert!(!chats[0].text.contains("HUSH") && !chats[0].text.contains("tool_config"));
    assert!(chats[1].text.contains("[P] owls 2 word ['a']"), "{}", chats[1].text);
    // One worker serves all calls, so that a module keeps what it knows.
    let last = chats[2].body["messages"].as_array().unwrap();
    assert_eq!(last[last.len() - 2]["content"], r#"{"count":2,"none":null}"#);
    assert_eq!(last[last.len() - 1]["content"], r#"{"count":5,"none":null}"#);
}

#[test]
fn model_cannot_set_the_tool_configuration() {
    let project = with_tools(project());
    let given = json!({"query": "q", "tool_config": {"prefix": "EVIL"}});
    assert_eq!(exec(&project, "search", &given).success().stdout.trim(), "[P] q 3 word None");
}

#[test]
fn single_function_can_be_selected() {
    let project = with_tools(project());
    project.file("role.yaml", ROLE.replace("my_tools\n", "my_tools\n    function: later\n"));
    let run = project.brynhild(&["tools", "list", "--role", "role.yaml", "--json"]);
    let tools = run.success().json();
    assert_eq!(tools.as_array().unwrap().len(), 1);
    assert_eq!(
        (&tools[0]["name"], &tools[0]["source"]),
        (&json!("later"), &json!("role:archivist"))
    );
    let run = project.brynhild(&["tools", "schema", "later", "--role", "role.yaml"]);
    assert_eq!(run.success().json()["input_schema"]["required"], json!(["n"]));
}

#[test]
fn arguments_are_coerced_and_faults_listed() {
    let project = with_tools(project());
    assert_eq!(
        exec(&project, "later", &json!({"n": "7"})).success().stdout.trim(),
        r#"{"count":7,"none":null}"#
    );
    let wrong = tool_output(&project, "later", &json!({"n": "x"}));
    assert!(wrong.contains("1 validation error:") && wrong.contains("int_parsing"), "{wrong}");
    assert!(wrong.contains("Fix the errors and try again."), "{wrong}");
    assert!(tool_output(&project, "later", &json!({})).contains("Missing required parameters: n"));
    let more = tool_output(&project, "later", &json!({"n": 1, "m": 2}));
    assert!(more.contains('m') && !more.contains("count"), "{more}");
    let wrong = tool_output(&project, "search", &json!({"query": "q", "kind": "page"}));
    assert!(wrong.contains("page"), "{wrong}");
}

#[test]
fn exception_is_returned_to_the_model() {
    let model = ModelServer::start([
        Reply::calls([("fails", json!({"text": "no such owl"}))]),
        Reply::text("It failed."),
    ]);
    let project = with_tools(project_with(&model));
    let run = project.brynhild(&["run", "role.yaml", "-p", "x", "--yes"]);
    assert_eq!(run.success().stdout.trim(), "It failed.");
    assert!(model.chats()[1].text.contains("ValueError: no such owl"));
}

#[test]
fn unloadable_module_stops_the_role() {
    let project = project();
    project.file("empty.py", "X = 1\n").file("wants.py", "import not_there\ndef f(): pass\n");
    let pip = |name: &str, missing: &str| {
        format!(
            "Could not load module '{name}': missing dependency '{missing}'. Install it with: pip \
             install {missing}"
        )
    };
    for (entry, wanted) in [
        ("module: xyz", pip("xyz", "xyz")),
        ("module: wants", pip("wants", "not_there")),
        ("module: empty\n    function: foo", "Function 'foo' not found in module 'empty'".into()),
        (
            "module: empty",
            "No public callable functions found in module 'empty'. Add public functions or specify \
             'function' explicitly."
                .into(),
        ),
        ("function: f", "module: Field required".into()),
        ("module: empty\n    modul: x", "Unknown keys for tool 'custom': ['modul']".into()),
    ] {
        project.file("role.yaml", format!("name: r\nprompt: x\ntools:\n  - type: custom\n    {entry}\n"));
        let run = project.brynhild(&["validate", "role.yaml"]);
        assert!(run.code(1).stderr.contains(&wanted), "{run}");
        let run = project.brynhild(&["run", "role.yaml", "-p", "x", "--dry-run"]);
        assert!(run.code(2).stderr.contains(&wanted), "{run}");
        let run = project.brynhild(&["tools", "list", "--role", "role.yaml"]);
        assert!(run.code(2).stderr.contains(&wanted), "{run}");
    }
}

#[test]
fn unchanged_modules_start_without_python() {
    let project = with_tools(project());
    project.file("my_tools.py", format!("print('imported')\n{TOOLS}"));
    let list = || project.brynhild(&["tools", "list", "--role", "role.yaml"]);
    assert!(list().success().stderr.contains("imported"));
    project.file("unrelated.log", "x");
    let run = list();
    assert!(run.success().stdout.contains("search") && !run.stderr.contains("imported"), "{run}");
    let run = project.brynhild(&["validate", "role.yaml"]);
    assert!(run.success().stdout.contains("Valid") && !run.stderr.contains("imported"), "{run}");
    project.file("my_tools.py", format!("print('again')\n{TOOLS}\ndef more(): pass\n"));
    let run = list();
    assert!(run.success().stdout.contains("more") && run.stderr.contains("again"), "{run}");
}

#[test]
fn entry_and_role_rules_apply() {
    let project = with_tools(project());
    let text = format!("{ROLE}    permissions: {{deny: ['query=*secret*']}}\n");
    project.file("role.yaml", &text);
    let denied = tool_output(&project, "search", &json!({"query": "a secret"}));
    assert!(denied.contains("Permission denied: search -- blocked by rule: query=*secret*"));
    let rules = "security: {tools: {allowed_custom_modules: [json], audit_hooks_enabled: true}}\n";
    project.file("role.yaml", format!("{ROLE}{rules}"));
    let run = project.brynhild(&["validate", "role.yaml"]);
    let wanted = "Custom tool imports module 'typing' which is not in allowlist";
    assert!(run.code(1).stderr.contains(wanted), "{run}");
    assert!(run.stderr.contains("security.tools.audit_hooks_enabled: it has no effect"), "{run}");
}

#[test]
fn blocked_module_runs_if_the_role_allows() {
    let project = with_tools(project());
    project.file(
        "my_tools.py",
        "import os\ndef where() -> str:\n    return os.path.basename(os.getcwd())\n",
    );
    let run = exec(&project, "where", &json!({}));
    assert!(run.code(2).stderr.contains("Custom tool imports blocked module 'os'"), "{run}");
    assert!(run.stderr.contains("`security.tools.blocked_custom_modules` of the role"), "{run}");
    let rules = "security: {tools: {blocked_custom_modules: []}}\n";
    project.file("role.yaml", format!("{ROLE}{rules}"));
    let run = exec(&project, "where", &json!({}));
    assert_eq!(run.success().stdout.trim(), "project");
}

#[test]
fn env_file_beside_a_user_role_is_read() {
    let model =
        ModelServer::start([Reply::calls([("search", json!({"query": "q"}))]), Reply::text("ok")]);
    let project = project_with(&model);
    let directory = project.home().join("mine");
    std::fs::create_dir_all(&directory).unwrap();
    let role = ROLE.replace("prefix: P", "prefix: '${FROM_FILE}'");
    for (name, text) in [("my_tools.py", TOOLS), ("role.yaml", &role), (".env", "FROM_FILE=seen\n")]
    {
        std::fs::write(directory.join(name), text).unwrap();
    }
    let role = directory.join("role.yaml").display().to_string();
    project.brynhild(&["run", &role, "-p", "x", "--yes"]).success();
    assert!(model.chats()[1].text.contains("[seen] q"), "{}", model.chats()[1].text);
}

#[test]
fn timeout_excludes_the_start_of_python() {
    let project = with_tools(project());
    let slow = "import time\ntime.sleep(2.5)\ndef quick() -> str:\n    return 'ok'\n";
    project.file("my_tools.py", slow);
    project.file("role.yaml", format!("{ROLE}execution: {{tool_timeout_seconds: 2}}\n"));
    let run = exec(&project, "quick", &json!({}));
    assert_eq!(run.success().stdout.trim(), "ok");
}

#[test]
fn late_call_is_stopped() {
    let project = with_tools(project());
    project.file("my_tools.py", "def hang():\n    while True: pass\ndef quick(): return 'ok'\n");
    project.file("role.yaml", format!("{ROLE}execution: {{tool_timeout_seconds: 2}}\n"));
    let stopped = tool_output(&project, "hang", &json!({}));
    assert!(
        stopped.contains("did not finish within 2 s")
            && stopped.contains("plugins.archivist.timeout")
    );
    assert_eq!(tool_output(&project, "quick", &json!({})), "ok");
}

#[test]
fn role_tools_are_offered_to_other_agents() {
    let project = with_tools(project());
    let message = |id: u64, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}});
    let lines = [
        message(0, "initialize", hello),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        message(1, "tools/list", json!({})),
        message(2, "tools/call", json!({"name": "search", "arguments": {"query": "q"}})),
    ];
    let args = ["mcp", "serve", "--role", "role.yaml", "--mode", "yolo"];
    let run = project.command(&args).stdin(lines.join("\n") + "\n").run();
    let replies = run.success().json_lines();
    let reply = |id: u64| replies.iter().find(|line| line["id"] == id).unwrap()["result"].clone();
    let listed = reply(1)["tools"].clone();
    let listed: Vec<&str> =
        listed.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(listed, ["fails", "later", "search"]);
    assert!(reply(2)["content"].to_string().contains("[P] q 3 word None"), "{run}");
}

#[test]
fn documented_example_works() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/roles");
    let project = project();
    project.file("a.md", "An owl\nand another Owl\n").file("b.txt", "none\n").file("c.py", "owl\n");
    let role = format!("{directory}/librarian.yaml");
    let run = |tool: &str, input: &str| {
        let args = ["tools", "exec", tool, "--role", &role, "--input", input, "--yes"];
        project.brynhild(&args).success().json()
    };
    let lines = run("find_lines", r#"{"word": "owl"}"#);
    assert_eq!(lines, json!(["a.md:1: An owl", "a.md:2: and another Owl"]));
    assert_eq!(run("count", r#"{"what": "files"}"#)["total"], 2);
}

#[test]
fn crashing_module_is_named_and_others_work() {
    let project = with_tools(project());
    project.file("deadly.py", "import posix\nposix._exit(3)\n");
    let more = "  - {type: custom, module: deadly}\n";
    project.file("role.yaml", format!("{ROLE}{more}"));
    for _ in 0..2 {
        let run = project.brynhild(&["validate", "role.yaml"]);
        let named = "tools[1]: Could not load module 'deadly'";
        assert!(run.code(1).stderr.contains(named), "{run}");
        assert!(run.stderr.contains("deadly.py") && run.stderr.contains("exit code 3"), "{run}");
        assert!(!run.stderr.contains("tools[0]"), "{run}");
    }
    project.file("deadly.py", "def rise() -> str:\n    return 'alive'\n");
    assert_eq!(tool_output(&project, "rise", &json!({})), "alive");
}

/// The crash may be the fault of the machine, and a role does not run without its modules.
#[test]
fn crashed_module_is_retried_by_the_next_run() {
    let model = ModelServer::start([
        Reply::calls([("search", json!({"query": "owls"}))]),
        Reply::text("Found."),
    ]);
    let project = with_tools(project_with(&model));
    let deadly = "import faulthandler\nfrom pathlib import Path\n\
                  if Path(__file__).with_name('flag').exists():\n    faulthandler._sigsegv()\n";
    project.file("my_tools.py", format!("{deadly}{TOOLS}")).file("flag", "");
    let run = || project.brynhild(&["run", "role.yaml", "-p", "owls?", "--yes"]);
    let failed = run();
    assert!(failed.code(2).stderr.contains("signal 11"), "{failed}");
    assert!(failed.stderr.contains("the next run tries it again"), "{failed}");
    std::fs::remove_file(project.path().join("flag")).unwrap();
    assert_eq!(run().success().stdout.trim(), "Found.");
}
