//! Roles: checked, played, and limited.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use super::{Answer, Seen, Server};
use crate::{project, project_with, without_sandbox_warning};

fn answer(seen: &Seen) -> Answer {
    (200, Vec::new(), json!({"line": seen.line}).to_string())
}

/// A flat role with one API tool at `url`, and more keys.
fn role(url: &str, more: &str) -> String {
    let api = json!({
        "type": "api", "name": "echo", "base_url": url,
        "endpoints": [{
            "name": "echo", "path": "/{word}", "description": "Says it again",
            "parameters": [{"name": "word", "type": "string", "required": true}],
            "response_extract": "$.line",
        }],
    });
    format!("name: parrot\ndescription: Repeats\nprompt: You repeat words.\ntools: [{api}]\n{more}")
}

/// A project with a role in `role.yaml`, and this server as its model.
fn with_role(model: &ModelServer, text: &str) -> Project {
    let project = project_with(model);
    project.config_more("api: {allow_private: [127.0.0.1]}\n").file("role.yaml", text);
    project
}

fn names(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

#[test]
fn role_runs_with_only_its_prompt_and_tools() {
    let server = Server::start(answer);
    let model = ModelServer::start([
        Reply::calls([("echo", json!({"word": "hi"}))]),
        Reply::text("It said hi."),
    ]);
    let project = with_role(&model, &role(&server.url(), ""));
    let run = project.brynhild(&["run", "role.yaml", "-p", "say hi", "--yes"]);
    assert_eq!(run.success().stdout.trim(), "It said hi.");
    let chats = model.chats();
    assert_eq!(names(&chats[0].body), ["echo"]);
    let messages = chats[0].body["messages"].as_array().unwrap();
    assert_eq!(messages[0]["content"], "You repeat words.");
    assert!(messages[1].to_string().contains("say hi"), "{messages:?}");
    assert!(chats[1].text.contains("GET /hi"), "{}", chats[1].text);
}

#[test]
fn role_json_has_the_documented_keys() {
    let server = Server::start(answer);
    let model = ModelServer::start([
        Reply::calls([("echo", json!({"word": "hi"}))]).usage(10, 2),
        Reply::text("Done.").usage(20, 3),
    ]);
    let project = with_role(&model, &role(&server.url(), ""));
    let run = project.brynhild(&["run", "role.yaml", "-p", "x", "--yes", "--format", "json"]);
    let object = run.success().json();
    for (key, value) in [
        ("output", json!("Done.")),
        ("error", Value::Null),
        ("success", json!(true)),
        ("tokens_in", json!(30)),
        ("tokens_out", json!(5)),
        ("total_tokens", json!(35)),
        ("tool_calls", json!(1)),
        ("tool_call_names", json!(["echo"])),
    ] {
        assert_eq!(object[key], value, "{key}");
    }
    assert!(object["run_id"].is_string() && object["duration_ms"].is_number(), "{object}");
}

#[test]
fn a_dry_run_asks_no_model() {
    let model = ModelServer::start([]);
    let project = with_role(&model, &role("https://example.com", ""));
    let run = project.brynhild(&["run", "role.yaml", "-p", "x", "--dry-run"]);
    assert_eq!(run.success().stdout, "[dry-run] Simulated response.\n");
    let run = project.brynhild(&["run", "role.yaml", "-p", "x", "--dry-run", "--format", "json"]);
    assert_eq!(run.json()["output"], "[dry-run] Simulated response.");
    assert!(model.requests().is_empty());
}

#[test]
fn role_variables_fill_the_prompt() {
    let model = ModelServer::start([Reply::text("ok"), Reply::text("ok")]);
    let text = "name: greeter\nprompt: 'Greet {{who}} {{times}} times.'\ndeps_schema:\n  \
                properties: {who: {type: string}, times: {type: integer, default: 2}}\n";
    let project = with_role(&model, text).env("INITRUNNER_VAR_TIMES", "3");
    project.brynhild(&["run", "role.yaml", "-p", "x", "--var", "who=Ann"]).success();
    let prompt = &model.chats()[0].body["messages"][0]["content"];
    assert_eq!(prompt, "Greet Ann 3 times.");
    for (flags, wanted) in [
        (vec![], "pass `--var who=VALUE`"),
        (vec!["--var", "who=A", "--var", "times=many"], "is not a valid integer"),
        (vec!["--var", "whom=A"], "no variable `whom`"),
        (vec!["--var", "who"], "not of the form NAME=VALUE"),
    ] {
        let run = project.brynhild(&[vec!["run", "role.yaml", "-p", "x"], flags].concat());
        assert!(run.code(2).stderr.contains(wanted), "{run}");
    }
}

#[test]
fn guardrails_end_a_run() {
    let server = Server::start(answer);
    let call = || Reply::calls([("echo", json!({"word": "hi"}))]).usage(10, 5);
    let run = |more: &str| {
        let model = ModelServer::start([call(), call(), Reply::text("Done.")]);
        let project = with_role(&model, &role(&server.url(), more));
        project.brynhild(&["run", "role.yaml", "-p", "x", "--yes", "--format", "json"])
    };
    for (more, wanted) in [
        ("guardrails: {max_tool_calls: 1}\n", "max_tool_calls (1)"),
        ("guardrails: {max_tokens_per_run: 8}\n", "max_tokens_per_run (8)"),
        ("guardrails: {input_tokens_limit: 15}\n", "input_tokens_limit (15)"),
        ("guardrails: {total_tokens_limit: 15}\n", "total_tokens_limit (15)"),
        ("guardrails: {max_request_limit: 2}\n", "max_request_limit (2)"),
    ] {
        let run = run(more);
        let object = run.code(5).json();
        assert_eq!(object["success"], false);
        assert!(object["error"].as_str().unwrap().contains(wanted), "{object}");
    }
    run("guardrails: {max_tool_calls: 2}\n").success();
}

#[test]
fn calls_to_unknown_tools_are_limited() {
    let server = Server::start(answer);
    let wrong = || Reply::calls([("nosuch", json!({})), ("echo", json!({"wrong": 1}))]);
    let model = ModelServer::start([wrong(), wrong(), Reply::text("Done.")]);
    let project = with_role(&model, &role(&server.url(), "guardrails: {max_tool_calls: 2}\n"));
    let run = project.brynhild(&["run", "role.yaml", "-p", "x", "--yes", "--format", "json"]);
    let object = run.code(5).json();
    assert!(object["error"].as_str().unwrap().contains("max_tool_calls (2)"), "{object}");
    assert_eq!(model.chats().len(), 2);
}

#[test]
fn an_answer_with_a_schema_is_checked() {
    let more = "output: {type: json_schema, schema: {type: object, properties: {n: {type: integer}}, \
                required: [n]}}\n";
    let run = |reply: Reply| {
        let model = ModelServer::start([reply]).repeat_last();
        let project = with_role(&model, &role("https://example.com", more));
        project.brynhild(&["run", "role.yaml", "-p", "x"])
    };
    let by_call = run(Reply::calls([("final_result", json!({"n": 7}))]));
    assert_eq!(by_call.success().stdout, "{\"n\":7}\n");
    let by_words = run(Reply::text("```json\n{\"n\": 8}\n```"));
    assert_eq!(by_words.success().stdout, "{\"n\":8}\n");
    for words in ["seven", "{\"n\": \"x\"}"] {
        let wrong = run(Reply::text(words));
        assert!(wrong.code(1).stderr.contains("does not fit the role's schema"), "{wrong}");
    }
}

#[test]
fn role_skills_add_prompt_and_tools() {
    let model = ModelServer::start([Reply::text("ok")]);
    let text = "name: reader\nprompt: You read.\nskills: [notes]\n";
    let project = with_role(&model, text);
    let api = json!({
        "type": "api", "name": "n", "base_url": "https://example.com",
        "endpoints": [{"name": "note", "path": "/"}],
    });
    let skill = format!("---\nname: notes\ndescription: Notes\ntools: [{api}]\n---\nTake notes.\n");
    project.file("skills/notes/SKILL.md", skill);
    project.brynhild(&["run", "role.yaml", "-p", "x"]).success();
    let request = &model.chats()[0].body;
    let prompt = request["messages"][0]["content"].as_str().unwrap();
    assert!(prompt.contains("### Skill: notes\nTake notes."), "{prompt}");
    assert_eq!(names(request), ["note"]);
}

#[test]
fn tools_of_a_role_are_listed_and_run() {
    let server = Server::start(answer);
    let project = project();
    project
        .config("api: {allow_private: [127.0.0.1]}\n")
        .file("r/role.yaml", role(&server.url(), ""));
    let list = project.brynhild(&["tools", "list", "--role", "r", "--json"]).json();
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert_eq!(list[0]["name"], "echo");
    let run = project.brynhild(&[
        "tools",
        "exec",
        "echo",
        "--role",
        "r/role.yaml",
        "--input",
        "{\"word\": \"a b\"}",
        "--yes",
    ]);
    assert_eq!(run.success().stdout, "GET /a%20b\n");
}

#[test]
fn user_role_is_an_agent() {
    let model = ModelServer::start([Reply::text("ok")]);
    let project = project_with(&model);
    let file = project.config_directory().join("agents/poet.yaml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, "name: poet\nprompt: You rhyme.\n").unwrap();
    project.brynhild(&["chat", "x", "--agent", "poet"]).success();
    assert_eq!(model.chats()[0].body["messages"][0]["content"], "You rhyme.");
    let missing = project.brynhild(&["chat", "x", "--agent", "painter"]);
    assert!(missing.code(2).stderr.contains("there is no agent painter"), "{missing}");
}

#[test]
fn the_examples_are_valid_roles() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/roles");
    let project = project();
    // One of them looks at the repository that it is used in.
    project.file(".git/HEAD", "ref: refs/heads/main\n");
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "yaml") {
            let run = project.brynhild(&["validate", path.to_str().unwrap()]);
            assert_eq!(without_sandbox_warning(&run.success().stderr), "", "{run}");
        }
    }
}

#[test]
fn validate_reports_errors_and_unsupported_keys() {
    let project = project();
    project.file(
        "good.yaml",
        role("https://example.com", "sinks: [{type: file}]\ntriggers: [{type: cron}]\n"),
    );
    let run = project.brynhild(&["validate", "good.yaml"]);
    assert!(run.success().stdout.contains("Valid"), "{run}");
    for key in ["sinks", "triggers"] {
        let wanted = format!("{key}: it only matters for the daemon, and does nothing here");
        assert!(run.stderr.contains(&wanted), "{run}");
    }
    project.file("envelope.yaml", "apiVersion: initrunner/v1\nkind: Agent\nmetadata: {name: ab}\nspec: {role: Hello, model: {provider: openai, name: x}}\n");
    project.brynhild(&["validate", "envelope.yaml"]).success();
    project.file("bad.yaml", "name: Bad Name\nprompt: x\ntools: [linear]\nskills: [none]\n");
    let run = project.brynhild(&["validate", "bad.yaml", "--json"]);
    assert_eq!(run.code(1).json()["valid"], false);
    project.file("linear.yaml", "name: a\nprompt: x\ntools: [linear]\n");
    let run = project.brynhild(&["validate", "linear.yaml"]);
    let wanted = "Tool type 'linear' not found. No plugins installed. Install one with: pip install initrunner-linear";
    assert!(run.code(1).stderr.contains(wanted), "{run}");
    assert!(
        project.brynhild(&["validate", "none.yaml"]).code(2).stderr.contains("there is no role")
    );
}

#[test]
fn keys_that_say_what_holds_are_no_warnings() {
    let project = project();
    let role = json!({
        "name": "usual", "prompt": "x",
        "model": {"name": "m", "tool_choice": "auto", "prompt_cache": {"ttl": "1h"}},
        "execution": {"end_strategy": "graceful", "http_retries": 3, "http_retry_max_wait": 60},
        "tool_search": {"enabled": false},
        "security": {"tools": {
            "audit_hooks_enabled": false, "block_private_ips": true, "allow_subprocess": false,
            "allowed_write_paths": [], "mcp_command_allowlist": [],
        }},
    });
    project.file("usual.yaml", role.to_string());
    assert_eq!(project.brynhild(&["validate", "usual.yaml"]).success().stderr, "");
    let other = role.to_string().replace("graceful", "early").replace("1h\"}", "1h\"},\"seed\":1");
    project.file(
        "other.yaml",
        other.replace("\"audit_hooks_enabled\":false", "\"audit_hooks_enabled\":true"),
    );
    let run = project.brynhild(&["validate", "other.yaml"]);
    for wanted in
        ["execution.end_strategy: it is not", "security.tools.audit_hooks_enabled: it has no"]
    {
        assert!(run.success().stderr.contains(wanted), "{run}");
    }
    project.file("alone.yaml", "name: a\nprompt: x\nguardrails: {team_token_budget: 3}\n");
    let run = project.brynhild(&["validate", "alone.yaml"]);
    assert!(
        run.code(1).stderr.contains("team_token_budget is only valid when 'agents' is set"),
        "{run}"
    );
}

#[test]
fn role_on_the_command_line_uses_its_model() {
    let server = ModelServer::start([Reply::text("done")]).repeat_last();
    let text = format!(
        "name: helper\nprompt: You help.\nmodel:\n  provider: openai\n  name: m\n  base_url: \
         {}/v1\n  api_key_env: OTHER_KEY\n",
        server.url()
    );
    let project = crate::project().env("OTHER_KEY", "sk-of-the-person");
    project.file("agents/role.yaml", &text).file("../home/roles/role.yaml", &text);
    let own = project.home().join("roles/role.yaml");
    project.brynhild(&["run", own.to_str().unwrap(), "-p", "go"]).success();
    project.brynhild(&["run", "agents/role.yaml", "-p", "go"]).success();
    let keys = server.chats();
    let has_key = |chat: &testkit::Recorded| format!("{:?}", chat.headers).contains("sk-of-the");
    assert!(keys.len() == 2 && keys.iter().all(has_key), "{keys:?}");
}

#[test]
fn validate_reports_empty_mappings_and_versions() {
    let project = crate::project();
    project.file("on.yaml", "name: on\nprompt: x\ndaemon: {}\ntool_search: {}\ntriggers: []\n");
    let run = project.brynhild(&["validate", "on.yaml"]);
    for wanted in ["daemon: it only matters for the daemon", "tool_search: it is not supported"] {
        assert!(run.success().stderr.contains(wanted), "{run}");
    }
    assert!(!run.stderr.contains("triggers"), "{run}");
    let envelope =
        "apiVersion: initrunner/v2\nkind: Agent\nmetadata: {name: ab}\nspec: {role: x}\n";
    project.file("odd.yaml", envelope);
    let run = project.brynhild(&["validate", "odd.yaml"]);
    assert!(run.code(1).stderr.contains("there is `initrunner/v1`"), "{run}");
}

#[test]
fn role_skill_names_requirements_and_adds_tools_once() {
    let project = project();
    let skill = "---\nname: sk1\ndescription: d\ntools: [datetime, calculator]\nrequires: {env: [NOPE_X, HOME], \
                 bins: [nosuchbin, sh]}\n---\nKnow this.\n";
    project.file("skills/sk1/SKILL.md", skill);
    project.file("role.yaml", "name: r\nprompt: x\ntools: [datetime]\nskills: [sk1]\n");
    let run = project.brynhild(&["validate", "role.yaml"]);
    for wanted in ["skill `sk1` needs the variable NOPE_X", "needs the program `nosuchbin`"] {
        assert!(run.to_string().contains(wanted), "{run}");
    }
    assert!(!run.to_string().contains("needs the variable HOME"), "{run}");
    assert!(!run.to_string().contains("program `sh`"), "{run}");
    let list = project.brynhild(&["tools", "list", "--role", "role.yaml"]);
    assert!(!list.success().stderr.contains("has a tool of that name"), "{list}");
}

#[test]
fn validate_prints_a_line_per_tool() {
    let project = project();
    let api = json!({
        "type": "api", "name": "weather", "base_url": "https://x.test",
        "endpoints": [{"name": "now", "path": "/now"}],
    });
    let tools = format!("[{api}, {{type: sql, database: a.db}}, {{type: datetime}}]");
    project.file("role.yaml", format!("name: r\nprompt: p\ntools: {tools}\n"));
    let run = project.brynhild(&["validate", "role.yaml"]);
    for line in ["api: weather (1 endpoints)", "sql: a.db", "datetime"] {
        assert!(run.success().stdout.contains(line), "{run}");
    }
    let said = project.brynhild(&["validate", "role.yaml", "--json"]).json();
    assert_eq!(said["name"], "r");
    assert_eq!(said["tools"], json!(["api: weather (1 endpoints)", "sql: a.db", "datetime"]));
}

#[test]
fn invalid_answer_schema_is_an_error() {
    let model = ModelServer::start([]);
    let project = project_with(&model);
    for schema in [
        json!({"type": "objekt"}),
        json!({"type": "object", "required": "a"}),
        json!({"type": "array", "items": {"$ref": "#/definitions/missing"}}),
        json!({"$ref": "http://127.0.0.1:9/schema.json"}),
    ] {
        let output = json!({"type": "json_schema", "schema": schema});
        project.file("role.yaml", format!("name: a\nprompt: x\noutput: {output}\n"));
        let run = project.brynhild(&["validate", "role.yaml"]);
        assert!(run.code(1).stderr.contains("output.schema: it is not a JSON Schema"), "{run}");
        project.brynhild(&["run", "role.yaml", "-p", "hi"]).code(2);
    }
    assert!(model.requests().is_empty());
}

#[test]
fn answer_schema_may_use_references() {
    let model = ModelServer::start([Reply::text("[1, 2]")]);
    let project = project_with(&model);
    let schema = json!({
        "type": "array", "items": {"$ref": "#/$defs/number"}, "$defs": {"number": {"type": "integer"}},
    });
    let output = json!({"type": "json_schema", "schema": schema});
    project.file("role.yaml", format!("name: a\nprompt: x\noutput: {output}\n"));
    project.brynhild(&["validate", "role.yaml"]).success();
    let run = project.brynhild(&["run", "role.yaml", "-p", "hi"]);
    assert_eq!(run.success().stdout.trim(), "[1,2]");
}

#[test]
fn bad_endpoint_fails_validation_and_not_the_run() {
    let model = ModelServer::start([Reply::text("Hello.")]);
    for endpoint in [
        json!({"name": "bad name", "path": "/e"}),
        json!({"name": "g", "path": "/g", "parameters": [{"name": "1x", "type": "string"}]}),
        json!({"name": "h", "path": "/h", "method": "HEAD"}),
    ] {
        let good = json!({"name": "good", "path": "/"});
        let api = json!({
            "type": "api", "name": "a", "base_url": "https://example.com",
            "endpoints": [good, endpoint], "colour": "red",
        });
        let project = with_role(&model, &format!("name: a\nprompt: x\ntools: [{api}]\n"));
        let run = project.brynhild(&["validate", "role.yaml"]);
        assert!(!run.code(1).stdout.contains("Valid"), "{run}");
        assert!(run.stderr.contains("error: ") && run.stderr.contains("endpoint "), "{run}");
        assert!(run.stderr.contains("warning: ") && run.stderr.contains("`colour`"), "{run}");
        let findings =
            project.brynhild(&["validate", "role.yaml", "--json"]).json()["findings"].clone();
        let severities: Vec<&str> = findings
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["severity"].as_str().unwrap())
            .collect();
        assert!(severities.contains(&"error") && severities.contains(&"warning"), "{findings}");
        let run = project.brynhild(&["tools", "list", "--role", "role.yaml"]);
        assert!(run.success().stdout.contains("good"), "{run}");
    }
}

#[test]
fn schema_of_the_answer_has_an_alias() {
    let model = ModelServer::start([Reply::text("7")]);
    let project = project_with(&model);
    let output = json!({"type": "json_schema", "schema_": {"type": "object"}});
    project.file("role.yaml", format!("name: a\nprompt: x\noutput: {output}\n"));
    let run = project.brynhild(&["validate", "role.yaml"]);
    assert!(!run.success().stderr.contains("schema_"), "{run}");
    project.brynhild(&["run", "role.yaml", "-p", "hi"]).code(1);
}

#[test]
fn tools_of_a_role_are_offered_in_its_order() {
    let model = ModelServer::start([Reply::text("done")]);
    let project = project_with(&model);
    let tools = "tools: [{type: filesystem, root_path: .}, {type: datetime}]";
    project.file("role.yaml", format!("name: a\nprompt: x\n{tools}\n"));
    project.brynhild(&["run", "role.yaml", "-p", "hi"]).success();
    let offered = model.chats()[0].body["tools"].as_array().unwrap().clone();
    let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
    let names: Vec<String> = offered.iter().map(name).collect();
    let place = |name: &str| names.iter().position(|it| it == name);
    assert!(place("read_file").unwrap() < place("current_time").unwrap(), "{names:?}");
}

#[test]
fn settings_of_the_model_are_sent_in_its_own_words() {
    let models = [("openai", "/v1"), ("anthropic", "")].map(|(kind, path)| {
        let model = ModelServer::start([Reply::text("ok")]);
        let project = project();
        project.config(&format!(
            "providers:\n  default: own\n  instances: {{own: {{type: {kind}, base_url: {}{path}, \
             default_model: m}}}}\n",
            model.url()
        ));
        project.file(
            "role.yaml",
            "name: a\nprompt: A.\nmodel: {top_p: 0.5, seed: 7, stop_sequences: [END], \
             context_window: 9000, prompt_cache: true, extra_body: {user: ann}}\nsecurity: \
             {sandbox: {backend: auto, network: none}}\n",
        );
        let run = project.brynhild(&["validate", "role.yaml"]);
        assert_eq!(without_sandbox_warning(&run.success().stderr), "", "{run}");
        project.brynhild(&["run", "role.yaml", "-p", "x"]).success();
        model
    });
    let [openai, anthropic] = models.each_ref().map(|model| model.chats()[0].body.clone());
    assert_eq!((&openai["top_p"], &openai["seed"]), (&json!(0.5), &json!(7)), "{openai}");
    assert_eq!((&openai["stop"], &openai["user"]), (&json!(["END"]), &json!("ann")), "{openai}");
    assert_eq!(anthropic["stop_sequences"], json!(["END"]), "{anthropic}");
    assert_eq!((&anthropic["top_p"], anthropic.get("seed")), (&json!(0.5), None), "{anthropic}");
}
