//! The built-in tool types that work on this machine: files, programs, databases, repositories.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Run};

use crate::{has_bubblewrap, project, project_with};

/// A project with a flat role that has these tools.
pub(super) fn with_tools(tools: &Value) -> Project {
    let project = project();
    project.file("role.yaml", role(tools));
    project
}

pub(super) fn role(tools: &Value) -> String {
    format!("name: helper\nprompt: You help.\ntools: {tools}\n")
}

pub(super) fn exec(project: &Project, tool: &str, input: &Value, flags: &[&str]) -> Run {
    let input = input.to_string();
    let words = ["tools", "exec", tool, "--role", "role.yaml", "--input", &input, "--json"];
    project.brynhild(&[&words, flags].concat())
}

/// The output of a call that must succeed.
pub(super) fn output(project: &Project, tool: &str, input: &Value) -> String {
    let run = exec(project, tool, input, &["--yes"]);
    run.success().json()["output"].as_str().unwrap().to_owned()
}

/// The error of a call that must fail, else its output.
pub(super) fn failure(project: &Project, tool: &str, input: &Value) -> String {
    let object = exec(project, tool, input, &["--yes"]).code(1).json();
    let text = object["error"].as_str().or(object["output"].as_str());
    text.unwrap_or_else(|| panic!("{object}")).to_owned()
}

#[test]
fn role_reads_files_without_asking_and_asks_to_write() {
    let project = with_tools(&json!([{"type": "filesystem", "read_only": false}]));
    project.file("notes/a.txt", "hello\n").file(".git/config", "[core]\n");
    let read = exec(&project, "read_file", &json!({"path": "notes/a.txt"}), &[]);
    assert_eq!(read.success().json()["output"], "hello\n");
    assert_eq!(output(&project, "list_directory", &json!({"path": "notes"})), "a.txt");
    let args = json!({"path": "notes/b.txt", "content": "grüße"});
    exec(&project, "write_file", &args, &[]).code(3);
    exec(&project, "write_file", &args, &["--yes", "--mode", "read-only"]).code(1);
    assert_eq!(output(&project, "write_file", &args), "Written 7 bytes to notes/b.txt");
    assert_eq!(project.read("notes/b.txt"), "grüße");
    let hook = json!({"path": ".git/config", "content": "x"});
    let denied = exec(&project, "write_file", &hook, &["--yes"]).code(1).json();
    assert_eq!(denied["outcome"], "denied", "{denied}");
    for path in ["../home/x", "/etc/passwd"] {
        let said = failure(&project, "read_file", &json!({"path": path}));
        assert!(said.contains("is outside allowed directories"), "{said}");
    }
}

#[test]
fn role_tools_cannot_read_the_home_in_any_mode() {
    let project = project();
    let home = project.home();
    std::fs::write(home.join("taxes"), "mine").unwrap();
    std::fs::write(home.join("a.db"), "").unwrap();
    std::os::unix::fs::symlink(&home, project.path().join("out")).unwrap();
    for root in [home.to_str().unwrap(), "out"] {
        project.file(
            "role.yaml",
            role(&json!([
                {"type": "filesystem", "root_path": root, "read_only": false},
                {"type": "sql", "database": "~/a.db"},
            ])),
        );
        for (tool, input) in [
            ("read_file", json!({"path": "taxes"})),
            ("list_directory", json!({})),
            ("write_file", json!({"path": "taxes", "content": "theirs"})),
            ("write_file", json!({"path": ".local/bin/git", "content": "x"})),
            ("query_database", json!({"sql": "SELECT 1"})),
        ] {
            let run = exec(&project, tool, &input, &["--mode", "yolo"]);
            assert!(run.code(3).stdout.contains("outside the workspace"), "{tool}: {run}");
        }
    }
    assert_eq!(std::fs::read_to_string(home.join("taxes")).unwrap(), "mine");
    assert!(!home.join(".local/bin/git").exists());
}

#[test]
fn file_rules_apply_to_role_tools() {
    let project = with_tools(&json!([{"type": "filesystem"}]));
    project.config("permissions: {deny: ['Read(secret/**)']}\n").file("secret/a", "x");
    let run = exec(&project, "read_file", &json!({"path": "secret/a"}), &["--yes"]);
    assert_eq!(run.code(1).json()["outcome"], "denied", "{run}");
}

#[test]
fn a_program_runs_without_a_shell() {
    let project = with_tools(&json!([{"type": "shell"}]));
    assert_eq!(
        output(&project, "run_shell", &json!({"command": "echo '$HOME' \"a b\""})),
        "STDOUT:\n$HOME a b\n"
    );
    assert_eq!(output(&project, "run_shell", &json!({"command": "true"})), "(no output)");
    for (command, wanted) in [
        ("sh -c 'rm x'", "Error: 'sh' runs other programs"),
        ("ls | wc", "Error: shell operator '|' is not allowed"),
        ("/bin/rm -rf x", "Error: command 'rm' is blocked"),
        ("echo 'x", "a quote is not closed"),
    ] {
        let said = failure(&project, "run_shell", &json!({"command": command}));
        assert!(said.contains(wanted), "{said}");
    }
    exec(&project, "run_shell", &json!({"command": "touch made"}), &[]).code(3);
    output(&project, "run_shell", &json!({"command": "touch made"}));
    assert_eq!(project.read("made"), "");
    project
        .file("role.yaml", role(&json!([{"type": "shell", "allowed_commands": ["sh", "echo"]}])));
    let said =
        failure(&project, "run_shell", &json!({"command": "sh -c 'echo x; echo y >&2; exit 3'"}));
    assert_eq!(said, "Exit code: 3\nSTDOUT:\nx\n\nSTDERR:\ny\n");
    project.file("echo", "disguised");
    let said = failure(&project, "run_shell", &json!({"command": "./echo a"}));
    assert!(said.contains("must be listed as that path"), "{said}");
}

#[test]
fn role_program_is_limited_by_its_entry() {
    let project = with_tools(&json!([{"type": "shell", "timeout_seconds": 0.2}]));
    let said = failure(&project, "run_shell", &json!({"command": "sleep 60"}));
    assert_eq!(said, "Execution timed out after 0.2s");
    let entry = json!({"type": "shell", "allowed_commands": ["seq"], "max_output_bytes": 40});
    project.file("role.yaml", role(&json!([entry])));
    let cut = output(&project, "run_shell", &json!({"command": "seq 1 9999"}));
    assert!(cut.starts_with("STDOUT:\n1\n2\n") && cut.ends_with("\n[truncated]"), "{cut}");
    assert!(cut.len() <= 40, "{cut}");
    let said = failure(&project, "run_shell", &json!({"command": "cat x"}));
    assert!(said.contains("Error: command 'cat' is not in the allowed list: ['seq']"), "{said}");
}

#[test]
fn role_code_runs_confined() {
    let project = with_tools(&json!([{"type": "python"}]));
    let code = "import sys\nprint('hi', 1 + 1)\nprint('bad', file=sys.stderr)";
    assert_eq!(
        output(&project, "run_python", &json!({"code": code})),
        "STDOUT:\nhi 2\n\nSTDERR:\nbad\n"
    );
    let said = failure(&project, "run_python", &json!({"code": "raise ValueError('no')"}));
    assert!(
        said.starts_with("Exit code: 1\nSTDERR:\n") && said.contains("ValueError: no"),
        "{said}"
    );
    assert_eq!(output(&project, "run_python", &json!({"code": ""})), "(no output)");
    exec(&project, "run_python", &json!({"code": "print(1)"}), &[]).code(3);
    if has_bubblewrap() {
        let code = "import socket\nsocket.create_connection(('1.1.1.1', 53), 2)";
        let said = failure(&project, "run_python", &json!({"code": code}));
        assert!(said.contains("Network is unreachable"), "{said}");
    }
}

#[test]
fn role_database_is_read_only() {
    let project = with_tools(&json!([{"type": "sql", "database": "a.db", "read_only": false}]));
    let run = |sql: &str| output(&project, "query_database", &json!({"sql": sql}));
    assert_eq!(run("CREATE TABLE t (id INTEGER, name TEXT)"), "OK (0 rows affected)");
    assert_eq!(run("INSERT INTO t VALUES (1, 'a'), (2, NULL), (3, 'c')"), "OK (3 rows affected)");
    project.file("role.yaml", role(&json!([{"type": "sql", "database": "a.db", "max_rows": 2}])));
    let read = |sql: &str| exec(&project, "query_database", &json!({"sql": sql}), &[]);
    let rows =
        "id | name\n---+-----\n1  | a   \n2  | None\n[truncated: only the first 2 rows are shown]";
    assert_eq!(read("SELECT * FROM t").success().json()["output"], rows);
    let one = read("SELECT count(*) AS n FROM t").success().json();
    assert_eq!(one["output"], "n\n-\n3");
    for sql in [
        "DELETE FROM t",
        "INSERT INTO t VALUES (4, 'x')",
        "DROP TABLE t",
        "PRAGMA query_only = OFF",
        "PRAGMA journal_mode = WAL",
        "ATTACH DATABASE 'b.db' AS b",
        "VACUUM INTO 'copy.db'",
        "SELECT load_extension('x')",
        "CREATE TEMP TABLE x (a)",
    ] {
        let object = read(sql).code(1).json();
        let error = object["error"].as_str().unwrap();
        assert!(error.starts_with("SQL error: "), "{sql}: {error}");
    }
    assert_eq!(read("SELECT count(*) FROM t").json()["output"], "count(*)\n--------\n3       ");
    assert!(!project.path().join("copy.db").exists() && !project.path().join("b.db").exists());
    let error = read("SELECT missing FROM t").code(1).json()["error"].clone();
    assert_eq!(error, "SQL error: no such column: missing");
}

#[test]
fn role_database_in_memory_is_per_call_and_times_out() {
    let entry =
        json!({"type": "sql", "database": ":memory:", "read_only": false, "timeout_seconds": 1});
    let project = with_tools(&json!([entry]));
    let run = |sql: &str| exec(&project, "query_database", &json!({"sql": sql}), &["--yes"]);
    run("CREATE TABLE t (x)").success();
    run("SELECT * FROM t").code(1);
    let endless =
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c";
    let said = run(endless).code(1).json()["error"].clone();
    assert_eq!(said, "Execution timed out after 1s");
}

/// Makes the project a repository with two commits.
#[expect(clippy::disallowed_methods, reason = "a test makes a repository with plain git")]
fn repository(project: &Project) {
    let identity = "[user]\n\tname = Una\n\temail = una@example.org\n";
    std::fs::write(project.home().join(".gitconfig"), identity).unwrap();
    let script = "git init -q -b main && printf 'one\\n' > a.txt && git add a.txt && git commit -qm first \
                  && printf 'two\\n' >> a.txt && git commit -qam second && printf 'three\\n' >> a.txt";
    let done = std::process::Command::new("/bin/bash")
        .args(["-c", script])
        .current_dir(project.path())
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", project.home())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn role_reads_a_repository_without_asking() {
    let project = with_tools(&json!([{"type": "git"}]));
    repository(&project);
    let look = |tool: &str, input: Value| {
        let run = exec(&project, tool, &input, &["--mode", "read-only"]);
        run.success().json()["output"].as_str().unwrap().to_owned()
    };
    let status = look("git_status", json!({}));
    assert!(status.starts_with("## main\n M a.txt"), "{status}");
    let log = look("git_log", json!({"max_count": 1}));
    assert!(log.ends_with(" second") && log.lines().count() == 1, "{log}");
    assert!(look("git_diff", json!({})).ends_with("+three"));
    assert!(look("git_diff", json!({"ref": "HEAD~1", "path": "a.txt"})).contains("+two\n+three"));
    assert_eq!(look("git_diff", json!({"staged": true})), "(no output)");
    let shown = look("git_show", json!({}));
    assert!(shown.contains(" 1 file changed") && shown.ends_with("+two"), "{shown}");
    assert!(look("git_blame", json!({"path": "a.txt"})).contains("(Una "));
    assert_eq!(look("git_changed_files", json!({})), "M\ta.txt");
    assert_eq!(look("git_list_files", json!({})), "a.txt");
    let said = failure(&project, "git_show", &json!({"ref": "nowhere"}));
    assert!(said.starts_with("Exit code: 128\nSTDERR:\nfatal: "), "{said}");
    let said = failure(&project, "git_diff", &json!({"ref": "--output=x"}));
    assert!(said.contains("'--output=x' is not a commit, branch or tag"), "{said}");
}

#[test]
fn file_rules_apply_to_git_tools() {
    let project = with_tools(&json!([{"type": "git"}]));
    repository(&project);
    project.config("permissions: {deny: ['Read(a.txt)']}\n");
    for mode in ["normal", "yolo"] {
        for (tool, input) in [
            ("git_show", json!({"ref": ":0:a.txt"})),
            ("git_show", json!({"ref": "HEAD:a.txt"})),
            ("git_diff", json!({"path": "a.txt"})),
            ("git_blame", json!({"path": "a.txt"})),
        ] {
            let run = exec(&project, tool, &input, &["--mode", mode]);
            assert_eq!(run.code(1).json()["outcome"], "denied", "{tool} {input}: {run}");
        }
        for (tool, input) in [
            ("git_status", json!({})),
            ("git_log", json!({})),
            ("git_changed_files", json!({})),
            ("git_list_files", json!({})),
            ("git_diff", json!({"path": "role.yaml"})),
        ] {
            exec(&project, tool, &input, &["--mode", mode]).success();
        }
    }
}

#[test]
fn git_tools_commit_branch_and_tag_in_the_sandbox() {
    let project = with_tools(&json!([{"type": "git", "read_only": false}]));
    repository(&project);
    let args = json!({"message": "third", "paths": "a.txt"});
    exec(&project, "git_commit", &args, &["--mode", "ask"]).code(3);
    let said = output(&project, "git_commit", &args);
    assert!(said.starts_with("[main ") && said.contains("] third\n"), "{said}");
    assert!(output(&project, "git_log", &json!({"max_count": 1})).ends_with(" third"));
    let said = output(&project, "git_checkout", &json!({"branch": "topic", "create": true}));
    assert_eq!(said, "Switched to a new branch 'topic'");
    let args = json!({"name": "v1", "message": "the first", "ref": "topic"});
    output(&project, "git_tag", &args);
    assert!(output(&project, "git_show", &json!({"ref": "v1"})).contains("the first"));
    let said = failure(&project, "git_checkout", &json!({"branch": "nowhere"}));
    assert!(said.contains("nowhere"), "{said}");
}

#[test]
fn time_tool_works_in_every_mode() {
    let project = with_tools(&json!([{"datetime": {"default_timezone": "Asia/Kolkata"}}]));
    let now = exec(&project, "current_time", &json!({}), &["--mode", "read-only"]);
    let told = now.success().json()["output"].as_str().unwrap().to_owned();
    assert!(told.contains("+05:30 (") && told.ends_with("M IST)"), "{told}");
    let date = output(&project, "parse_date", &json!({"text": "15/11/2026", "format": "%d/%m/%Y"}));
    assert_eq!(date, "2026-11-15T00:00:00");
    let said = failure(&project, "current_time", &json!({"timezone": "Nowhere"}));
    assert_eq!(said, "Error: invalid timezone 'Nowhere'");
}

#[test]
fn entry_rules_and_approval_apply() {
    let entry = json!({
        "type": "shell", "permissions": {"default": "deny", "allow": ["command=echo *"], "deny": ["*secret*"]},
    });
    let project = with_tools(&json!([entry, {"type": "filesystem", "approval": "required"}]));
    assert_eq!(output(&project, "run_shell", &json!({"command": "echo hi"})), "STDOUT:\nhi\n");
    let said = failure(&project, "run_shell", &json!({"command": "echo secret"}));
    assert_eq!(said, "Permission denied: run_shell -- blocked by rule: *secret*");
    let said = failure(&project, "run_shell", &json!({"command": "ls"}));
    assert_eq!(said, "Permission denied: run_shell -- blocked by default policy");
    project.file("a", "x");
    let allowed = ["--mode", "normal"];
    exec(&project, "read_file", &json!({"path": "a"}), &allowed).code(3);
    for approved in [&["--yes"][..], &["--mode", "yolo"]] {
        exec(&project, "read_file", &json!({"path": "a"}), approved).success();
    }
}

#[test]
fn entry_denial_covers_every_spelling() {
    let files = json!({"type": "filesystem", "permissions": {"deny": ["path=secret/*"]}});
    let shell = json!({"type": "shell", "permissions": {"deny": ["command=echo push*"]}});
    let project = with_tools(&json!([files, shell]));
    project.file("secret/k", "K").file("src/secret.txt", "x");
    let full = project.path().join("secret/k");
    for path in ["secret/k", "./secret/k", "x/../secret/k", "secret//k", full.to_str().unwrap()] {
        let said = failure(&project, "read_file", &json!({"path": path}));
        assert!(said.ends_with("blocked by rule: path=secret/*"), "{path}: {said}");
    }
    failure(&project, "list_directory", &json!({"path": "./secret"}));
    assert_eq!(output(&project, "read_file", &json!({"path": "src/secret.txt"})), "x");
    for command in ["echo  push", " echo push", "/bin/echo push", "echo 'push'", "echo -n push"] {
        let said = failure(&project, "run_shell", &json!({"command": command}));
        assert!(said.ends_with("blocked by rule: command=echo push*"), "{command}: {said}");
    }
    assert_eq!(
        output(&project, "run_shell", &json!({"command": "echo no push"})),
        "STDOUT:\nno push\n"
    );
}

#[test]
fn invalid_entry_is_reported() {
    let project = project();
    for (entry, wanted) in [
        (json!({"type": "shell", "allowed": []}), "Unknown keys for tool 'shell': ['allowed']"),
        (json!({"type": "sql"}), "`database` is missing"),
        (
            json!({"type": "sql", "database": "/etc/x.db"}),
            "lies neither below the role's directory",
        ),
        (json!({"type": "git"}), "'.' is not a git repository"),
        (json!({"type": "http", "base_url": "nowhere"}), "is not an address"),
        (json!({"type": "datetime", "default_timezone": "x"}), "invalid timezone 'x'"),
        (json!({"type": "slack"}), "`webhook_url` is missing"),
        (json!({"type": "python", "working_dir": "/etc"}), "lies outside of the workspace"),
        (json!({"type": "mcp"}), "`command` is missing"),
        (json!({"type": "delegate"}), "`agents` is missing"),
        (json!({"type": "delegate", "agents": [{"name": "x"}]}), "there is no agent of that name"),
    ] {
        project.file("role.yaml", role(&json!([entry])));
        let run = project.brynhild(&["validate", "role.yaml"]);
        assert!(run.code(1).stderr.contains(wanted), "{entry}: {run}");
    }
    let spec = json!({"role": "x", "tools": [{"type": "datetime", "odd": 1}]});
    let envelope = json!({
        "apiVersion": "initrunner/v1", "kind": "Agent", "metadata": {"name": "ab"}, "spec": spec,
    });
    project.file("role.yaml", envelope.to_string());
    let run = project.brynhild(&["validate", "role.yaml"]);
    assert!(run.success().stderr.contains("Unknown keys for tool 'datetime': ['odd']"), "{run}");
}

#[test]
fn a_model_uses_several_types_in_one_run() {
    let model = ModelServer::start([
        Reply::calls([("read_file", json!({"path": "a.txt"})), ("current_time", json!({}))]),
        Reply::calls([("run_shell", json!({"command": "wc -l a.txt"}))]),
        Reply::text("Two lines."),
    ]);
    let project = project_with(&model);
    let tools = json!(["filesystem", "datetime", {"shell": {"allowed_commands": ["wc"]}}]);
    project.file("role.yaml", role(&tools)).file("a.txt", "one\ntwo\n");
    let run = project.brynhild(&["run", "role.yaml", "-p", "how long?", "--yes"]);
    assert_eq!(run.success().stdout.trim(), "Two lines.");
    let last = &model.chats()[2].text;
    assert!(last.contains("one\\ntwo") && last.contains("STDOUT:\\n2 a.txt"), "{last}");
}

#[test]
fn role_programs_get_the_granted_network() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let directory = project.home().join("roles");
    std::fs::create_dir_all(&directory).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let code = format!("import socket; socket.create_connection(('127.0.0.1', {port}), 2)");
    let call = |entry: &str, flags: &[&str]| {
        let role = directory.join("py.yaml");
        std::fs::write(&role, format!("name: pyr\nprompt: x\ntools: [{entry}]\n")).unwrap();
        let (tool, input) = if entry.contains("python") {
            ("run_python", json!({"code": code}))
        } else {
            ("run_shell", json!({"command": format!("python3 -c \"{code}\"")}))
        };
        let (role, input) = (role.display().to_string(), input.to_string());
        let words = ["tools", "exec", tool, "--role", &role, "--input", &input, "--yes"];
        project.brynhild(&[&words, flags].concat())
    };
    let (open, closed, shell) =
        ("{type: python, network_disabled: false}", "{type: python}", "{type: shell}");
    for entry in [open, shell] {
        let run = call(entry, &[]);
        let said = format!("{}{}", run.code(1).stdout, run.stderr);
        assert!(said.contains("`brynhild plugin grant pyr --network`"), "{run}");
    }
    project.config("plugins: {pyr: {sandbox: {network: true}}}\n");
    for entry in [open, shell] {
        call(entry, &[]).success();
        assert_ne!(call(entry, &["--mode", "read-only"]).status.code(), Some(0));
    }
    let run = call(closed, &[]);
    let said = format!("{}{}", run.code(1).stdout, run.stderr);
    assert!(said.contains("`network_disabled`"), "{run}");
    let offline = format!("{shell}]\nsecurity: {{sandbox: {{network: none}}}}\nskills: [");
    let run = call(&offline, &[]);
    let said = format!("{}{}", run.code(1).stdout, run.stderr);
    assert!(said.contains("`security.sandbox.network` of the role is `none`"), "{run}");
}

#[test]
fn working_directory_is_relative_to_the_users_directory() {
    let project = project();
    let entry = json!({"type": "shell", "allowed_commands": ["pwd"], "working_dir": "."});
    project.file("roles/s.yaml", role(&json!([entry])));
    let here = project.path().canonicalize().unwrap();
    let words = ["tools", "exec", "run_shell", "--role", "roles/s.yaml", "--yes"];
    let run = project.brynhild(&[&words[..], &["--input", r#"{"command": "pwd"}"#]].concat());
    assert!(run.success().stdout.contains(here.to_str().unwrap()), "{run}");
    assert!(!run.stdout.contains("roles"), "{run}");
    let own = project.home().join(".initrunner/roles/s.yaml");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    std::fs::write(&own, role(&json!([entry]))).unwrap();
    project.brynhild(&["validate", own.to_str().unwrap()]).success();
}
