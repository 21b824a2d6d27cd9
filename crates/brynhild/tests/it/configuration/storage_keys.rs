//! `session` and `logging`: the stored files and their directories.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use testkit::{ModelServer, Project, Reply, Run};

use crate::project;

fn project_with_model() -> Project {
    let project = project();
    project.file("say.yaml", "name: say\nturns: [{text: hello}]\n");
    project
}

fn chat(project: &Project, args: &[&str]) -> Run {
    let words = [&["chat", "--provider", "script", "--model", "say.yaml", "go"], args].concat();
    let run = project.brynhild(&words);
    run.success();
    run
}

fn sessions(project: &Project, args: &[&str]) -> usize {
    let run = project.brynhild(&[&["session", "list", "--json"], args].concat());
    run.json().as_array().unwrap().len()
}

fn files(directory: &Path) -> usize {
    fs::read_dir(directory).map_or(0, Iterator::count)
}

#[test]
fn sessions_are_saved_unless_disabled() {
    let project = project_with_model();
    project.config("session: {auto_save: false}\nlogging: {enabled: false}");
    chat(&project, &[]);
    assert_eq!(sessions(&project, &[]), 0);
    project.config("logging: {enabled: false}");
    chat(&project, &[]);
    assert_eq!(sessions(&project, &[]), 1);
    chat(&project, &["--no-save"]);
    assert_eq!(sessions(&project, &[]), 1);
}

#[test]
fn number_of_listed_sessions_is_configurable() {
    let project = project_with_model();
    project.config("logging: {enabled: false}");
    for name in ["a", "b", "c"] {
        chat(&project, &["--session", name]);
    }
    assert_eq!(sessions(&project, &[]), 3);
    project.config("session: {history_limit: 2}");
    assert_eq!(sessions(&project, &[]), 2);
    assert_eq!(sessions(&project, &["--limit", "1"]), 1);
    assert_eq!(sessions(&project, &["--limit", "9"]), 3);
    project.config("session: {history_limit: 0}");
    assert_eq!(sessions(&project, &[]), 3);
}

#[test]
fn logs_are_written_only_if_configured() {
    let project = project_with_model();
    let directory = project.home().join("logs");
    let set = |more: &str| {
        project.config(&format!("logging: {{dir: {}, {more}}}", directory.display()));
    };
    set("enabled: false");
    chat(&project, &[]);
    assert_eq!(files(&directory), 0);
    set("enabled: true");
    chat(&project, &["--no-log"]);
    assert_eq!(files(&directory), 0);
    chat(&project, &[]);
    assert_eq!(files(&directory), 1);
    let run = project.brynhild(&["logs", "list", "--json"]);
    assert_eq!(run.json()["log_dir"], directory.to_str().unwrap());
    assert_eq!(run.json()["logs"].as_array().unwrap().len(), 1);
}

#[test]
fn log_directory_is_private_unless_configured() {
    let project = project_with_model();
    let directory = project.home().join("logs");
    let mode = |private: bool| {
        project.config(&format!("logging: {{dir: {}, private: {private}}}", directory.display()));
        chat(&project, &[]);
        fs::metadata(&directory).unwrap().permissions().mode() & 0o777
    };
    assert_eq!(mode(false), 0o700, "what is made is private to begin with");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(mode(false), 0o755);
    assert_eq!(mode(true), 0o700);
}

#[test]
fn log_can_be_one_file_for_all_conversations() {
    let project = project_with_model();
    let file = project.home().join("all.jsonl");
    project.config(&format!("log_file: {}", file.display()));
    chat(&project, &[]);
    chat(&project, &[]);
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.matches("\"session_start\"").count(), 2, "{text}");
}

#[test]
fn log_level_limits_the_contents() {
    let project = project();
    project.file(
        "say.yaml",
        "name: say\nturns:\n  - tool_calls: [{name: Inspect, input: {operation: cwd}}]\n  - text: hi\n",
    );
    let lines = |level: &str| {
        let file = project.home().join(format!("{level}.jsonl"));
        project.config(&format!("log_file: {}\nlogging: {{level: {level}}}", file.display()));
        chat(&project, &[]);
        fs::read_to_string(&file).unwrap().lines().count()
    };
    assert!(lines("debug") > lines("info"));
    assert!(lines("info") >= lines("error"));
}

#[test]
fn raw_log_has_requests_without_keys() {
    let server = ModelServer::start([Reply::text("hello")]).repeat_last();
    let project = project().env("MY_KEY", "very-secret");
    let directory = project.home().join("logs");
    let set = |raw: bool| {
        project.config(&format!(
            "providers:\n  default: test\n  test: {{type: openai, base_url: {}/v1, api_key_env: \
             MY_KEY}}\nlogging: {{dir: {}, raw_payloads: {raw}}}\n",
            server.url(),
            directory.display()
        ));
    };
    set(false);
    project.brynhild(&["chat", "go"]).success();
    assert_eq!(files(&directory), 1);
    set(true);
    project.brynhild(&["chat", "go"]).success();
    assert_eq!(files(&directory), 3, "one more log, and a raw one");
    for entry in fs::read_dir(&directory).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains("very-secret"), "{text}");
    }
}

#[test]
fn model_list_is_cached() {
    let server = ModelServer::start([]);
    let project = project();
    let asked = |ttl: u32| {
        project.config(&format!(
            "providers:\n  default: test\n  test: {{type: openai, base_url: {}/v1, cache_ttl: {ttl}}}\n",
            server.url()
        ));
        let before = server.requests().len();
        project.brynhild(&["models", "list"]).success();
        project.brynhild(&["models", "list"]).success();
        server.requests().len() - before
    };
    assert_eq!(asked(0), 2);
    assert_eq!(asked(3600), 0, "the list of the run before is still good");
}
