//! Keys are sent and never shown.

use std::fs;
use std::path::Path;

use testkit::{ModelServer, Project, Reply, Run};

use super::{TYPES, project_at};

const KEY: &str = "sk-live-0123456789abcdef";
const TOKEN: &str = "token-fedcba9876543210";

/// Panics where a file below `directory` holds a secret, unless it is the configuration.
fn check_directory(directory: &Path, secrets: &[&str]) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            check_directory(&path, secrets);
        } else if !path.ends_with("config.yaml") {
            let bytes = fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            for secret in secrets {
                assert!(!text.contains(secret), "{secret} is in {}", path.display());
            }
        }
    }
}

#[track_caller]
fn check(project: &Project, run: &Run, secrets: &[&str]) {
    for secret in secrets {
        assert!(!run.stdout.contains(secret), "{secret} on stdout\n{run}");
        assert!(!run.stderr.contains(secret), "{secret} on stderr\n{run}");
    }
    check_directory(&project.home(), secrets);
    check_directory(&project.path(), secrets);
}

fn project(kind: &str, server: &ModelServer) -> Project {
    let more = ["api_key_env: MY_KEY", &format!("headers: {{X-Token: {TOKEN}}}")];
    let project = project_at(kind, &server.url(), &more).env("MY_KEY", KEY);
    let logs = project.path().join("logs");
    project.env("BRYNHILD_LOGGING__DIR", logs)
}

#[test]
fn key_repeated_by_a_server_is_redacted() {
    let said = format!("{{\"error\":{{\"message\":\"wrong key {KEY}, token {TOKEN}\"}}}}");
    let cut = format!("{}{KEY}", "x".repeat(190));
    for kind in TYPES {
        for reply in [
            Reply::failure(401).body(&said),
            Reply::failure(400).body(&format!("no {KEY} {TOKEN}")),
            Reply::bytes(format!("data: {{{KEY} {TOKEN}\n\n")),
            Reply::bytes(format!("data: {{{cut}\n\n")),
            Reply::bytes(format!("<html><title>{KEY}</title></html>")),
            Reply::failure(308).header("location", &format!("https://x.example/?key={KEY}")),
        ] {
            let server = ModelServer::start([reply]);
            let project = project(kind, &server);
            let run = project.brynhild(&["--verbose", "chat", "--session", "s", "hi"]);
            run.code(1);
            assert!(!run.stderr.contains("sk-live"), "not even a part of it\n{run}");
            check(&project, &run, &[KEY, TOKEN]);
        }
    }
}

#[test]
fn turn_leaves_no_key_in_files_and_output() {
    for kind in TYPES {
        let call = ("Bash", serde_json::json!({"command": "env; echo done"}));
        let retry = Reply::failure(429).header("retry-after", "0").body(KEY);
        let server = ModelServer::start([Reply::calls([call]), retry, Reply::text("ok")]);
        let project = project(kind, &server);
        let run = project.brynhild(&["--verbose", "chat", "--yes", "--session", "s", "hi"]);
        assert_eq!(run.success().stdout, "ok\n", "{kind}");
        check(&project, &run, &[KEY, TOKEN]);
        let chats = server.chats();
        assert!(!chats[1].text.contains(KEY), "{kind}: a command saw the key");
        for args in [
            &["session", "show", "s", "--json"][..],
            &["session", "export", "s"],
            &["config", "show"],
            &["config", "show", "--json", "--provenance"],
            &["api", "providers", "--json"],
            &["api", "test"],
            &["logs", "view", "--json"],
        ] {
            let run = project.brynhild(args);
            check(&project, run.success(), &[KEY, TOKEN]);
        }
    }
}

#[test]
fn a_password_in_an_address_is_never_shown() {
    let server = ModelServer::start([Reply::failure(401)]).repeat_last();
    let address = format!("http://user:hunter2@{}", server.address());
    for kind in TYPES {
        let project = project_at(kind, &address, &[]);
        for args in [
            &["--verbose", "chat", "--session", "s", "hi"][..],
            &["api", "providers"],
            &["api", "providers", "--json"],
            &["api", "test", "--live"],
            &["config", "show"],
            &["config", "show", "--json"],
        ] {
            let run = project.brynhild(args);
            check(&project, &run, &["hunter2"]);
        }
    }
    let project = crate::project().env("OLLAMA_HOST", &address);
    let run = project.brynhild(&["api", "providers"]);
    assert!(run.stdout.contains("ollama would answer"), "{run}");
    check(&project, &run, &["hunter2"]);
}

#[test]
fn invalid_header_key_is_refused_unshown() {
    let server = ModelServer::start([]);
    let project = project_at("openai", &server.url(), &["api_key_env: MY_KEY"])
        .env("MY_KEY", "sk-live-0123\nsecond");
    let run = project.brynhild(&["chat", "hi"]);
    run.code(2);
    check(&project, &run, &["sk-live-0123"]);
    assert!(run.stderr.contains("key"), "{run}");
}

#[test]
fn keys_in_headers_addresses_and_arguments_are_never_shown() {
    const SECRETS: &[&str] =
        &["HDRSECRET8", "XAPIKEY9", "URLPASSWORD99", "QUERYKEY77", "ARGTOKEN3", "MCPQUERY5"];
    let said = r#"{"error":{"message":"bad key HDRSECRET8, XAPIKEY9, URLPASSWORD99"}}"#;
    let server = ModelServer::start([Reply::failure(401).body(said)]).repeat_last();
    let address = format!("http://user:URLPASSWORD99@{}/v1?key=QUERYKEY77", server.address());
    let headers = "headers: {Authorization: Bearer HDRSECRET8, X-Api-Key: XAPIKEY9}";
    let project = project_at("openai", &address, &[headers]);
    let logs = project.path().join("logs");
    let project = project.env("BRYNHILD_LOGGING__DIR", &logs);
    project.config_more(
        "mcp: {servers: {one: {command: x, args: ['--token=ARGTOKEN3']}, two: {url: \
         'https://u:p@h/x?token=MCPQUERY5'}}}\nlogging: {raw_payloads: true}\n",
    );
    for args in [
        &["--verbose", "chat", "--session", "s", "hi"][..],
        &["models", "list"],
        &["config", "show"],
        &["config", "show", "--json", "--provenance"],
        &["mcp", "list"],
        &["mcp", "list", "--json"],
        &["plugin", "list"],
        &["api", "providers", "--json"],
    ] {
        let run = project.brynhild(args);
        check(&project, &run, SECRETS);
    }
    let raw = fs::read_dir(logs).unwrap().map(|entry| entry.unwrap().path());
    let raw = raw.filter(|path| path.to_string_lossy().contains("_raw_"));
    let raw: String = raw.map(|path| fs::read_to_string(path).unwrap()).collect();
    assert!(raw.contains("/v1/chat/completions"), "{raw}");
}

#[test]
fn no_configured_key_reaches_a_command_under_another_name() {
    let headers = "headers: {Authorization: Bearer HDRSECRET8}";
    let project = project_at("openai", "http://127.0.0.1:9/v1", &[headers]);
    let credentials = project.home().join("credentials.json");
    fs::write(&credentials, r#"{"api_key": "CREDENTIAL-1"}"#).unwrap();
    project.config_more(&format!(
        "    more: {{type: openai, credentials_path: {}}}\nopenrouter_api_key: or-configured\n\
         mcp: {{servers: {{one: {{command: x, env: {{ONE_TOKEN: MCPENVTOKEN1}}}}}}}}\n",
        credentials.display()
    ));
    for key in ["HDRSECRET8", "CREDENTIAL-1", "or-configured", "MCPENVTOKEN1"] {
        let run = project.command(&["sandbox", "run", "--", "env"]);
        let run = run.env("TERM", key).env("LC_ALL", format!("a {key}")).env("LANG", "C").run();
        assert!(!run.success().stdout.contains(key), "{run}");
        assert!(run.stdout.contains("LANG=C"), "{run}");
    }
    let run = project.brynhild(&["api", "providers"]);
    assert!(run.stdout.contains("key found in `openrouter_api_key`"), "{run}");
}
