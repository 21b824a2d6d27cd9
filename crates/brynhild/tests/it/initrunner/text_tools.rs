//! The built-in tool types that compute, keep lists and look at tables, and scripts.

use serde_json::{Value, json};
use testkit::{ModelServer, Reply};

use super::builtin::{exec, failure, output, role, with_tools};
use crate::{project, project_with};

fn names(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

/// The text of the last tool result of a request.
fn result(request: &Value) -> &str {
    request["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap()
}

#[test]
fn thoughts_and_todos_last_for_one_run() {
    let think = || Reply::calls([("think", json!({"thought": "slowly"}))]);
    let model = ModelServer::start([
        think(),
        Reply::calls([("add_todo", json!({"description": "first"}))]),
        Reply::calls([("update_todo", json!({"item_id": "none", "status": "completed"}))]),
        Reply::calls([("finish_task", json!({"summary": "done", "status": "blocked"}))]),
        Reply::text("One."),
        think(),
        Reply::calls([("list_todos", json!({}))]),
        Reply::text("Two."),
    ]);
    let project = project_with(&model);
    project.file("role.yaml", role(&json!(["think", "todo"])));
    let run = project.command(&["run", "role.yaml", "-i"]).stdin("one\ntwo\n").run();
    assert_eq!(run.success().stdout, "One.\nTwo.\n", "{run}");
    let chats = model.chats();
    assert_eq!(
        names(&chats[0].body),
        [
            "think",
            "add_todo",
            "batch_add_todos",
            "update_todo",
            "remove_todo",
            "list_todos",
            "get_next_todo",
            "finish_task",
        ]
    );
    assert_eq!(result(&chats[1].body), "Thoughts (1):\n  1. slowly");
    let added = result(&chats[2].body);
    assert!(added.starts_with("Added: ") && added.ends_with("[MEDIUM] first (pending)"), "{added}");
    assert_eq!(result(&chats[3].body), "Todo item 'none' not found");
    assert_eq!(result(&chats[4].body), "Task finished (blocked).");
    assert_eq!(result(&chats[6].body), "Thoughts (1):\n  1. slowly");
    assert_eq!(result(&chats[7].body), "(No todo items)");
}

#[test]
fn todos_need_no_approval_and_follow_role_rules() {
    let entry = json!({"type": "todo", "permissions": {"deny": ["description=*secret*"]}});
    let project = with_tools(&json!([entry]));
    exec(&project, "add_todo", &json!({"description": "a"}), &["--mode", "read-only"]).success();
    let run = exec(&project, "add_todo", &json!({"description": "a secret"}), &["--yes"]);
    assert!(run.code(1).stdout.contains("blocked by rule"), "{run}");
    for (entry, wanted) in [
        (json!({"type": "todo", "shared": true}), "'shared_path' is required when shared is true"),
        (
            json!({"type": "todo", "max_items": 101}),
            "`max_items` is not a whole number from 1 to 100",
        ),
        (json!({"type": "think", "odd": 1}), "Unknown keys for tool 'think': ['odd']"),
    ] {
        project.file("role.yaml", role(&json!([entry])));
        let run = project.brynhild(&["validate", "role.yaml"]);
        assert!(run.code(1).stderr.contains(wanted), "{run}");
    }
}

#[test]
fn calculator_follows_python_without_approval() {
    let project = with_tools(&json!(["calculator"]));
    let run = exec(&project, "calculate", &json!({"expression": "2 ** 100 // 3"}), &[]);
    assert_eq!(run.success().json()["output"], "422550200076076467165567735125");
    let said = failure(&project, "calculate", &json!({"expression": "9 ** 9 ** 9"}));
    assert_eq!(said, "Error: result too large (overflow)");
    let said = failure(&project, "calculate", &json!({"expression": "1 + 1".repeat(300)}));
    assert_eq!(said, "Error: expression exceeds maximum length (1000 chars)");
    let run = project.brynhild(&["validate", "role.yaml"]);
    assert!(!run.success().stderr.contains("not supported"), "{run}");
}

#[test]
fn csv_files_are_inspected_summarized_and_queried() {
    let project =
        with_tools(&json!([{"type": "csv_analysis", "root_path": "data", "max_rows": 3}]));
    project
        .file("data/a.csv", "name,n,note\nada,1,\"x|y\"\nbob,2.5,\nada,4,z\nlate,9,z\n")
        .file("data/a.txt", "x")
        .file("data/bad.csv", b"a,b\n\xff,1\n");
    assert_eq!(
        output(&project, "inspect_csv", &json!({"path": "a.csv"})),
        "**File:** a.csv\n**Rows inspected:** 3 (truncated)\n**Columns:** 3\n\n| Column | Type |\n\
         | --- | --- |\n| name | string |\n| n | float |\n| note | string |\n\n\
         **First 5 rows:**\n\n| name | n | note |\n| --- | --- | --- |\n| ada | 1 | x\\|y |\n\
         | bob | 2.5 |  |\n| ada | 4 | z |"
    );
    let said = output(&project, "summarize_csv", &json!({"path": "a.csv", "column": "name"}));
    assert_eq!(
        said,
        "**Column:** name\n**Summary:** categorical | unique=2, top values: 'ada':2, 'bob':1\n\
         **Rows:** 3"
    );
    let said = output(&project, "summarize_csv", &json!({"path": "a.csv"}));
    assert!(said.contains("| n | numeric \\| count_non_empty=3, min=1.0000"), "{said}");
    let query = json!({
        "path": "a.csv", "filter_column": "name", "filter_value": "ada", "columns": "n, name",
    });
    assert_eq!(
        output(&project, "query_csv", &query),
        "**File:** a.csv\n**Rows inspected:** 3, **Rows matched:** 2\n\n| n | name |\n| --- | --- |\n\
         | 1 | ada |\n| 4 | ada |"
    );
    for (input, wanted) in [
        (json!({"path": "none.csv"}), "Error: file not found: none.csv"),
        (json!({"path": "a.txt"}), "Error: file type .txt is not allowed (allowed: .csv)"),
        (
            json!({"path": "../role.csv"}),
            "Error: path '../role.csv' is outside allowed directories",
        ),
        (json!({"path": "bad.csv"}), "Error: file is not valid UTF-8"),
        (
            json!({"path": "a.csv", "columns": "x, n"}),
            "Error: unknown column(s): x. Available: name, n, note",
        ),
        (
            json!({"path": "a.csv", "filter_column": "x"}),
            "Error: column 'x' not found. Available: name, n, note",
        ),
    ] {
        assert_eq!(failure(&project, "query_csv", &input), wanted);
    }
}

#[test]
fn file_rules_apply_to_csv_files() {
    let project = with_tools(&json!(["csv_analysis"]));
    project.config("permissions: {deny: ['Read(secret/**)']}\n").file("secret/a.csv", "a\n1\n");
    let run = exec(&project, "inspect_csv", &json!({"path": "secret/a.csv"}), &["--yes"]);
    assert_eq!(run.code(1).json()["outcome"], "denied", "{run}");
}

#[test]
fn scripts_run_confined_with_their_parameters() {
    let scripts = json!([
        {
            "name": "greet", "body": "echo \"$GREETING, $NAME\"\necho x > made\n",
            "parameters": [
                {"name": "name", "required": true, "description": "Who"},
                {"name": "greeting", "default": "Hello"},
            ],
        },
        {"name": "count", "interpreter": "python3", "body": "import sys\nprint(6 * 7)\nsys.exit(3)"},
        {"name": "listed", "allowed_commands": ["echo"], "body": "# words\necho 'a|b'\n"},
        {"name": "unlisted", "allowed_commands": ["echo"], "body": "echo a\n/bin/cat b\n"},
        {"name": "piped", "allowed_commands": ["echo"], "body": "echo a | echo b\n"},
        {"name": "lost", "interpreter": "no-such-program", "body": "x"},
    ]);
    let project = with_tools(&json!([{"type": "script", "scripts": scripts}]));
    exec(&project, "greet", &json!({"name": "Ada"}), &[]).code(3);
    let said = output(&project, "greet", &json!({"name": "Ada; exit 1"}));
    assert_eq!(said, "STDOUT:\nHello, Ada; exit 1\n");
    assert_eq!(project.read("made"), "x\n");
    assert_eq!(failure(&project, "count", &json!({})), "Exit code: 3\nSTDOUT:\n42\n");
    assert_eq!(output(&project, "listed", &json!({})), "STDOUT:\na|b\n");
    for (name, wanted) in [
        ("unlisted", "Error: command 'cat' on line 2 is not in the allowed list: ['echo']"),
        ("piped", "Error: shell operator '|' on line 1 is not allowed with allowed_commands"),
        ("lost", "Error: interpreter 'no-such-program' not found"),
    ] {
        assert_eq!(failure(&project, name, &json!({})), wanted);
    }
    let denied = project.config("permissions: {deny: ['Bash(echo:*)']}\n");
    let run = exec(denied, "listed", &json!({}), &["--yes"]);
    assert_eq!(run.code(1).json()["outcome"], "denied", "{run}");
}

#[test]
fn wrong_scripts_are_errors_of_the_role() {
    let project = project();
    for (scripts, wanted) in [
        (json!([]), "at least one script must be defined"),
        (json!([{"name": "a-b", "body": "x"}]), "'a-b' is not a valid Python identifier"),
        (json!([{"name": "a", "body": " "}]), "script body must not be empty"),
        (
            json!([{"name": "a", "body": "x"}, {"name": "a", "body": "y"}]),
            "script names must be unique",
        ),
    ] {
        project.file("role.yaml", role(&json!([{"type": "script", "scripts": scripts}])));
        let run = project.brynhild(&["validate", "role.yaml"]);
        assert!(run.code(1).stderr.contains(wanted), "{run}");
    }
}

#[test]
fn estimator_example_runs_with_its_scenario() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let role = format!("{examples}/roles/estimator.yaml");
    let scenario = format!("{examples}/scenarios/estimate.yaml");
    let prompt = "How much paint for 3 walls?";
    let args = ["run", &role, "--provider", "script", "--model", &scenario, "-p", prompt];
    let run = project().brynhild(&args);
    let wanted = "You need 3.75 liters: three walls of 10 square meters, and 8 square meters for a \
                  liter.\n";
    assert_eq!(run.success().stdout, wanted, "{run}");
}
