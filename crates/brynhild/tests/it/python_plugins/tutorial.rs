//! Everything that `docs/extend/first-plugin.md` shows is done as it stands there: files are written under the
//! names before them, lines after `$` are run, and settings are settings.

use std::path::Path;
use std::process::Command;

use testkit::{ModelServer, Project, Reply};

use super::write;
use crate::{has_bubblewrap, project_with};

/// A block of the page.
struct Block {
    /// The language.
    language: String,
    text: String,
    /// The last name in backquotes before it.
    name: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut name = String::new();
    let mut open: Option<Block> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => block.text.extend([line, "\n"]),
            (None, Some(language)) => {
                let language = language.to_owned();
                open = Some(Block { language, text: String::new(), name: name.clone() });
            }
            (None, None) => {
                if let Some(last) = line.split('`').skip(1).step_by(2).last() {
                    last.clone_into(&mut name);
                }
            }
        }
    }
    blocks
}

#[test]
fn tutorial_commands_and_output_are_current() {
    if !has_bubblewrap() {
        return;
    }
    let page = include_str!("../../../../../docs/extend/first-plugin.md");
    let server = ModelServer::respond_with(|_| Reply::text("Two places."));
    let project = project_with(&server);
    let home = project.home();
    project.file("src/main.rs", "// TODO(ann): say more\nfn main() {}\n// TODO: name it\n");
    let root = home.join(".config/brynhild/plugins/todo");
    let mut count = 0;
    for block in blocks(page) {
        count += 1;
        match block.language.as_str() {
            "console" => {
                for line in block.text.lines().filter_map(|line| line.strip_prefix("$ ")) {
                    run(&project, line);
                }
            }
            "yaml" if block.text.starts_with("plugins:\n") => settings(&block.text),
            _ => write(&root.join(&block.name), &block.text),
        }
    }
    assert!(count >= 10, "{count} blocks");
    let last = server.chats().last().unwrap().body.to_string();
    for part in ["todo_list", "Every TODO names a user", "**triage**", "Go through the open points"]
    {
        assert!(last.contains(part), "{part}: {last}");
    }
    let hook = ["hooks", "test", "pre_tool_use", "--tool", "Write", "--json", "--input"];
    let bare = r#"{"file_path": "a.rs", "content": "// TODO: later"}"#;
    let blocked = project.brynhild(&[&hook[..], &[bare]].concat()).json();
    assert_eq!(blocked["result"]["action"], "block", "{blocked}");
}

/// Runs a line of the page in the project, as a user would at their home's `brynhild`.
#[expect(clippy::disallowed_methods, reason = "the page shows a shell")]
fn run(project: &Project, line: &str) {
    let binary = Path::new(env!("CARGO_BIN_EXE_brynhild")).parent().unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", binary.display());
    let done = Command::new("/bin/sh")
        .args(["-c", line])
        .current_dir(project.path())
        .env_clear()
        .env("PATH", path)
        .env("HOME", project.home())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "`{line}`: {said}");
    assert!(!said.contains("warning:"), "`{line}`: {said}");
}

/// Settings that the page shows are understood.
fn settings(yaml: &str) {
    let project = crate::project();
    project.config(yaml);
    let run = project.brynhild(&["config", "show"]);
    assert!(run.success().stderr.is_empty(), "{run}");
}
