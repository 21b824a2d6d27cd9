//! HTTP interfaces that are declared as data.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use super::{Answer, Seen, Server, exec};
use crate::{project, project_with};

/// The interface of the guide, at another address.
fn github(url: &str) -> Value {
    json!({
        "type": "api", "name": "github", "description": "GitHub REST API", "base_url": url,
        "headers": {"Accept": "application/vnd.github.v3+json"},
        "auth": {"Authorization": "Bearer ${GITHUB_TOKEN}"},
        "endpoints": [
            {
                "name": "get_repo", "method": "GET", "path": "/repos/{owner}/{repo}",
                "description": "Get repository information",
                "parameters": [
                    {"name": "owner", "type": "string", "required": true, "description": "Repository owner"},
                    {"name": "repo", "type": "string", "required": true},
                ],
                "response_extract": "$.full_name",
            },
            {
                "name": "create_issue", "method": "POST", "path": "/repos/{owner}/{repo}/issues",
                "parameters": [
                    {"name": "owner", "type": "string", "required": true},
                    {"name": "repo", "type": "string", "required": true},
                    {"name": "title", "type": "string", "required": true},
                    {"name": "body", "type": "string", "required": false, "default": ""},
                ],
                "body_template": {"title": "{title}", "body": "{body}"},
                "response_extract": "$.html_url",
            },
            {"name": "raw", "path": "/raw", "headers": {"X-Missing": "${NOT_SET}"}},
        ],
    })
}

fn answer(seen: &Seen) -> Answer {
    let body = match seen.line.as_str() {
        "GET /repos/octo/hello" => json!({"full_name": "octo/hello"}).to_string(),
        "POST /repos/octo/hello/issues" => json!({"html_url": "https://x/1"}).to_string(),
        "GET /raw" => format!("you sent {}", seen.header("authorization").unwrap_or_default()),
        "GET /repos/moved/x" => {
            return (302, vec![("Location", "http://127.0.0.1:1/".to_owned())], String::new());
        }
        "GET /repos/odd/x" => json!({"name": "x"}).to_string(),
        _ => return (404, Vec::new(), "x".repeat(600)),
    };
    (200, Vec::new(), body)
}

/// A project whose configuration declares the interface, with its key set.
fn declared(server: &Server, more: &str) -> Project {
    let project = project().env("GITHUB_TOKEN", "ghp-very-secret");
    let tools = json!([github(&server.url())]);
    project.config(&format!("api:\n  allow_private: [127.0.0.1]\n  tools: {tools}\n{more}"));
    project
}

#[test]
fn configured_endpoints_are_tools() {
    let server = Server::start(answer);
    let project = declared(&server, "");
    let list = project.brynhild(&["tools", "list", "--json"]).json();
    let named = |name: &str| {
        list.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone()
    };
    assert_eq!(named("get_repo")["description"], "Get repository information");
    assert_eq!(named("create_issue")["description"], "POST /repos/{owner}/{repo}/issues");
    let schema = project.brynhild(&["tools", "schema", "get_repo"]).json();
    let owner = &schema["input_schema"]["properties"]["owner"];
    assert_eq!(owner, &json!({"type": "string", "description": "Repository owner"}));
    let run = exec(&project, "get_repo", &json!({"owner": "octo", "repo": "hello"}));
    assert_eq!(run.success().json()["output"], "octo/hello");
    let issue = json!({"owner": "octo", "repo": "hello", "title": "It \"breaks\""});
    assert_eq!(exec(&project, "create_issue", &issue).json()["output"], "https://x/1");
    let seen = server.seen();
    assert_eq!(seen[0].header("authorization"), Some("Bearer ghp-very-secret"));
    assert_eq!(seen[0].header("accept"), Some("application/vnd.github.v3+json"));
    let body: Value = serde_json::from_str(&seen[1].body).unwrap();
    assert_eq!(body, json!({"title": "It \"breaks\"", "body": ""}));
    assert_eq!(seen[1].header("content-type"), Some("application/json"));
}

#[test]
fn endpoint_failures_have_fixed_messages() {
    let server = Server::start(answer);
    let project = declared(&server, "");
    for (owner, wanted) in [
        ("nobody", format!("HTTP 404: {}", "x".repeat(500))),
        ("moved", "HTTP 302: ".to_owned()),
        ("odd", "JSONPath '$.full_name' not found in response".to_owned()),
    ] {
        let run = exec(&project, "get_repo", &json!({"owner": owner, "repo": "x"}));
        assert_eq!(run.code(1).json()["error"], wanted);
    }
    drop(server);
    let closed = declared(
        &Server { address: ([127, 0, 0, 1], 1).into(), seen: std::sync::Arc::default() },
        "",
    );
    let run = exec(&closed, "raw", &json!({}));
    let error = run.code(1).json()["error"].as_str().unwrap().to_owned();
    assert!(error.starts_with("HTTP error: "), "{error}");
}

#[test]
fn secrets_are_sent_and_never_shown() {
    let server = Server::start(answer);
    let project = declared(&server, "");
    let run = exec(&project, "raw", &json!({}));
    assert_eq!(run.json()["output"], "you sent [redacted]");
    let seen = &server.seen()[0];
    assert_eq!(seen.header("authorization"), Some("Bearer ghp-very-secret"));
    assert_eq!(seen.header("x-missing"), Some("${NOT_SET}"));
    let injected = json!({"owner": "${GITHUB_TOKEN}", "repo": "x"});
    exec(&project, "get_repo", &injected);
    assert_eq!(server.seen()[1].line, "GET /repos/%24%7BGITHUB_TOKEN%7D/x");
    let shown = project.brynhild(&["config", "show"]);
    assert!(!shown.stdout.contains("Bearer"), "{shown}");
}

#[test]
fn arguments_stay_in_their_url_component() {
    let server = Server::start(answer);
    let project = declared(&server, "");
    let args = json!({"owner": "octo/../../admin?x=1#", "repo": "a%2e%2e/b"});
    exec(&project, "get_repo", &args);
    let line = "GET /repos/octo%2F..%2F..%2Fadmin%3Fx%3D1%23/a%252e%252e%2Fb";
    assert_eq!(server.seen()[0].line, line);
    let run = exec(&project, "get_repo", &json!({"owner": "..", "repo": "x"}));
    assert!(run.code(1).stdout.contains("must not be `.` or `..`"), "{run}");
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn private_addresses_are_refused_by_number_and_by_name() {
    let server = Server::start(answer);
    let port = server.address.port();
    for host in ["127.0.0.1", "localhost", "2130706433", "[::1]", "[::ffff:127.0.0.1]"] {
        let project = project();
        let tools = json!([github(&format!("http://{host}:{port}"))]);
        project
            .config(&format!("api:\n  allow_private: ['127.0.0.1:1', other]\n  tools: {tools}\n"));
        let run = exec(&project, "raw", &json!({}));
        let error = run.code(1).json()["error"].as_str().unwrap().to_owned();
        assert!(
            error.starts_with("SSRF blocked: '") && error.contains("private"),
            "{host}: {error}"
        );
    }
    assert!(server.seen().is_empty());
    let project = project();
    let tools = json!([github(&format!("http://localhost:{port}"))]);
    project.config(&format!("api:\n  allow_private: [localhost]\n  tools: {tools}\n"));
    exec(&project, "raw", &json!({})).success();
}

#[test]
fn a_call_is_judged_by_its_host() {
    let server = Server::start(answer);
    let run = |more: &str, flags: &[&str]| {
        let project = declared(&server, more);
        let mut args = vec!["tools", "exec", "raw", "--input", "{}", "--json"];
        args.extend(flags);
        project.brynhild(&args)
    };
    run("", &[]).code(3);
    run("", &["--yes", "--mode", "read-only"]).code(1);
    run("permissions: {deny: ['Host(127.0.0.1)']}\n", &["--yes"]).code(1);
    assert!(server.seen().is_empty());
    run("permissions: {allow: [raw]}\n", &[]).success();
}

#[test]
fn endpoint_rules_apply() {
    let server = Server::start(answer);
    let project = project();
    let mut api = github(&server.url());
    api["permissions"] = json!({"deny": ["owner=octo*"]});
    api["approval"] = "required".into();
    let tools = json!([api]);
    project.config(&format!("api:\n  allow_private: [127.0.0.1]\n  tools: {tools}\n"));
    let run = exec(&project, "get_repo", &json!({"owner": "octo", "repo": "hello"}));
    let wanted = "Permission denied: get_repo -- blocked by rule: owner=octo*";
    assert!(run.code(1).stdout.contains(wanted), "{run}");
    assert!(server.seen().is_empty());
}

#[test]
fn manifest_endpoints_see_only_granted_environment() {
    let server = Server::start(answer);
    let project = project().env("GITHUB_TOKEN", "ghp-very-secret");
    let manifest = json!({"name": "hub", "version": "1", "tools": [github(&server.url())]});
    let file = project.config_directory().join("plugins/hub/plugin.yaml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, manifest.to_string()).unwrap();
    project.config("api: {allow_private: [127.0.0.1]}\n");
    let run = exec(&project, "raw", &json!({}));
    assert!(run.stderr.contains("plugin grant hub --env GITHUB_TOKEN --env NOT_SET"), "{run}");
    assert_eq!(server.seen()[0].header("authorization"), Some("Bearer ${GITHUB_TOKEN}"));
    project.config_more("plugins: {hub: {sandbox: {env: [GITHUB_TOKEN, NOT_SET]}}}\n");
    let run = exec(&project, "raw", &json!({}));
    assert_eq!(run.stderr, "");
    assert_eq!(server.seen()[1].header("authorization"), Some("Bearer ghp-very-secret"));
    project.brynhild(&["plugin", "disable", "hub"]).success();
    assert!(exec(&project, "raw", &json!({})).code(1).stdout.contains("not found"));
}

#[test]
fn bad_endpoint_is_one_message() {
    let server = Server::start(answer);
    let project = project();
    let bad = json!({"name": "bad", "base_url": "nowhere", "endpoints": []});
    let tools = json!([bad, github(&server.url())]);
    project.config(&format!("api:\n  allow_private: [127.0.0.1]\n  tools: {tools}\n"));
    let run = exec(&project, "get_repo", &json!({"owner": "octo", "repo": "hello"}));
    run.success();
    assert!(run.stderr.contains("api bad: `base_url`"), "{run}");
    assert_eq!(run.stderr.matches("warning:").count(), 1, "{run}");
}

#[test]
fn the_example_is_a_valid_plugin_with_a_tool() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plugins/weather-api");
    let project = project();
    let run = project.brynhild(&["plugin", "validate", example]);
    assert!(run.success().stderr.is_empty(), "{run}");
    project.file("bad/plugin.yaml", "name: bad\nversion: '1'\ntools: [{type: api, name: x}]\n");
    let bad = project.brynhild(&["plugin", "validate", "bad"]);
    assert!(bad.code(1).stderr.contains("api x: `base_url` is missing"), "{bad}");
    let list = project.brynhild(&["tools", "list", "--plugin-dir", example]);
    assert!(list.success().stdout.contains("temperature"), "{list}");
}

#[test]
fn a_model_calls_an_endpoint_like_any_tool() {
    let server = Server::start(answer);
    let args = json!({"owner": "octo", "repo": "hello"});
    let model =
        ModelServer::start([Reply::calls([("get_repo", args)]), Reply::text("It is octo/hello.")]);
    let project = project_with(&model);
    let tools = json!([github(&server.url())]);
    project.config_more(&format!("api:\n  allow_private: [127.0.0.1]\n  tools: {tools}\n"));
    let run = project.brynhild(&["chat", "which?", "--yes"]);
    assert!(run.success().stdout.contains("It is octo/hello."), "{run}");
    let second = model.chats()[1].text.clone();
    assert!(second.contains("octo/hello"), "{second}");
}

#[test]
fn endpoint_values_are_coerced() {
    let server = Server::start(|_| (200, Vec::new(), String::from("ok")));
    let project = project();
    let parameters = json!([
        {"name": "n", "type": "integer", "required": true}, {"name": "b", "type": "boolean"},
        {"name": "s", "type": "string"},
    ]);
    let endpoint = json!({
        "name": "count", "path": "/c", "parameters": parameters,
        "query_params": {"n": "{n}", "b": "{b}", "s": "{s}"},
    });
    let tools = json!([{"name": "x", "base_url": server.url(), "endpoints": [endpoint]}]);
    project.config(&format!("api:\n  allow_private: [127.0.0.1]\n  tools: {tools}\n"));
    exec(&project, "count", &json!({"n": "7", "b": "yes", "s": null})).success();
    assert_eq!(server.seen()[0].line, "GET /c?n=7&b=True");
    let run = exec(&project, "count", &json!({"n": "many"}));
    assert!(run.code(1).stdout.contains("is not of type"), "{run}");
}

#[test]
fn role_on_the_command_line_sends_its_environment() {
    let server = Server::start(|seen| {
        let key = seen.header("x-key").unwrap_or_default();
        (200, Vec::new(), format!("{} {key}", seen.line))
    });
    let project = project().env("MY_KEY", "hush-hush");
    project.config("api: {allow_private: [127.0.0.1]}\n");
    let url = server.url();
    let role = json!({"name": "r", "prompt": "p", "tools": [
        {"type": "api", "name": "far", "base_url": url, "headers": {"X-Key": "${MY_KEY}"},
         "endpoints": [{"name": "ping", "path": "/ping"}]},
        {"type": "slack", "webhook_url": format!("{url}/${{MY_KEY}}")},
    ]});
    project.file("agents/role.yaml", role.to_string());
    let call = |tool: &str, input: &str| {
        let words = ["tools", "exec", tool, "--role", "agents/role.yaml", "--input", input];
        project.brynhild(&[&words[..], &["--yes"]].concat())
    };
    let run = call("ping", "{}");
    assert!(!run.success().stderr.contains("MY_KEY"), "{run}");
    let keys = server.seen();
    assert_eq!(keys.last().unwrap().header("x-key"), Some("hush-hush"), "{run}");
}
