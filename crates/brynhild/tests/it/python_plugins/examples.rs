//! Every plugin in `examples/plugins` does what it says.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use testkit::{ModelServer, Project, Reply, Run};

use super::documents::{site, venv};
use super::{output, results, write};
use crate::{has_bubblewrap, project, project_with};

fn example(name: &str) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins").join(name);
    directory.canonicalize().unwrap().display().to_string()
}

fn with(project: &Project, name: &str, args: &[&str]) -> Run {
    project.brynhild(&[&["--plugin-dir", &example(name)], args].concat())
}

#[test]
fn every_example_is_a_valid_plugin() {
    let project = project();
    let names = [
        "field-notes",
        "force-guard",
        "house-rules",
        "line-count",
        "parrot",
        "review",
        "small-models",
        "tool-log",
    ];
    for name in names {
        let run = project.brynhild(&["plugin", "validate", &example(name)]);
        assert!(run.success().stderr.is_empty(), "{run}");
    }
}

#[test]
fn example_tool_counts_lines() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    project.file("a.txt", "1\n2\n3\n").file("b.md", "1\n");
    let run = with(&project, "line-count", &["tools", "exec", "line_count", "--json"]);
    assert_eq!(output(&run), "       3 .txt\n       1 .md");
}

#[test]
fn example_contributions_reach_the_model() {
    let server =
        ModelServer::start([Reply::text("Read."), Reply::text("Ruled."), Reply::text("Short.")]);
    let project = project_with(&server);
    with(&project, "review", &["chat", "/rv", "develop"]).success();
    with(&project, "house-rules", &["chat", "Hello"]).success();
    with(&project, "small-models", &["--model", "qwen2.5-coder:7b", "chat", "Hello"]).success();
    let chats = server.chats();
    let text = |chat: usize| chats[chat].body["messages"].to_string();
    assert!(text(0).contains("where none is named: develop"));
    assert!(text(1).contains("72 columns") && text(1).contains("**changelog**"));
    assert!(text(2).contains("Keep answers under ten lines."));
    assert_eq!(chats[2].body["temperature"], json!(0.2));
}

#[test]
fn full_example_plugin_has_every_part() {
    if !has_bubblewrap() {
        return;
    }
    let server = ModelServer::start([
        Reply::calls([("note", json!({"text": "the port is fixed", "tag": "server"}))]),
        Reply::text("Kept."),
        Reply::text("Listed."),
    ]);
    let project = project_with(&server);
    let run = with(&project, "field-notes", &["chat", "Keep it"]);
    assert_eq!(run.success().stdout.trim(), "Kept.", "{run}");
    assert_eq!(results(&server, 1), ["kept; 1 in all"]);
    let first = server.chats()[0].body["messages"][0].to_string();
    assert!(
        first.contains("Keep no secrets in notes.") && first.contains("**sorting-notes**"),
        "{first}"
    );
    assert!(!first.contains("Notes of earlier sessions"));
    with(&project, "field-notes", &["chat", "/nt", "server"]).success();
    let later = server.chats()[2].body["messages"].to_string();
    assert!(
        later.contains("Notes of earlier sessions: 1.") && later.contains("(tag `server`"),
        "{later}"
    );
    let offline =
        with(&project, "field-notes", &["--provider", "notebook", "chat", "What was it?"]);
    assert_eq!(offline.success().stdout.trim(), "- the port is fixed [server]", "{offline}");
    let resolved = with(&project, "field-notes", &["profile", "resolve", "note-taker-8b"]);
    assert_eq!(resolved.success().stdout.trim(), "note-taker");
    let reference = [
        "tools",
        "exec",
        "LearnSkill",
        "--input",
        r#"{"skill": "sorting-notes", "reference": "words.md"}"#,
    ];
    let reference = with(&project, "field-notes", &reference);
    assert!(reference.success().stdout.contains("begins with a verb"), "{reference}");
}

#[test]
fn lists_include_foreign_plugins() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let list = with(&project, "commit-guard", &["plugin", "list", "--json"]).json();
    let row = list["plugins"].as_array().unwrap()[0].clone();
    assert_eq!((&row["name"], &row["dialect"]), (&"commit-guard".into(), &"chibi".into()));
    assert_eq!(list["enabled_count"], 1);
    let shown = with(&project, "commit-guard", &["plugins", "show", "commit-guard"]);
    assert!(shown.success().stdout.contains("check_commit_message"), "{shown}");
}

#[test]
fn example_package_works_once_installed() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let environment = project.home().join("environment");
    venv(&environment);
    install(&PathBuf::from(example("word-kit")), &site(&environment));
    project.config("plugins: {python: ~/environment/bin/python}\n");
    project.file("a.txt", "Cat cat dog\n");
    let row = project.brynhild(&["plugin", "show", "word-kit", "--json"]).json();
    assert_eq!(row["description"], "Words of a project and how often they occur");
    let args = ["tools", "exec", "word_count", "--json", "--input", r#"{"words": ["cat", "cow"]}"#];
    assert_eq!(output(&project.brynhild(&args)), "     2 cat\n     0 cow");
    let command = project.brynhild(&["command", "render", "glossary", "docs"]);
    assert!(command.success().stdout.contains("terms in docs"), "{command}");
    assert!(project.brynhild(&["skill", "list"]).stdout.contains("naming"));
    assert!(project.brynhild(&["rules", "show"]).stdout.contains("One thing has one name"));
}

/// Puts a package where an installer would, by what its `pyproject.toml` says.
fn install(package: &Path, site: &Path) {
    for file in fs::read_dir(package.join("src/word_kit")).unwrap().flatten() {
        if file.path().is_file() {
            let text = fs::read_to_string(file.path()).unwrap();
            write(&site.join("word_kit").join(file.file_name()), &text);
        }
    }
    let mut points = String::new();
    let mut is_point = false;
    for line in fs::read_to_string(package.join("pyproject.toml")).unwrap().lines() {
        let group = line.strip_prefix("[project.entry-points.\"");
        if let Some(group) = group.and_then(|group| group.strip_suffix("\"]")) {
            is_point = true;
            points.extend(["[", group, "]\n"]);
        } else if line.starts_with('[') {
            is_point = false;
        } else if is_point {
            points.extend([line.replace('"', "").as_str(), "\n"]);
        }
    }
    write(&site.join("word_kit-1.0.0.dist-info/entry_points.txt"), &points);
    write(&site.join("word_kit-1.0.0.dist-info/METADATA"), "Name: word-kit\nVersion: 1.0.0\n");
}
