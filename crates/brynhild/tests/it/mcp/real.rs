//! Servers of others, from npm and PyPI. They run where a directory with them is named by
//! `BRYNHILD_MCP_SERVERS` (see docs/internals/mcp-conformance.md), and are skipped loudly elsewhere.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{Project, Run};

use crate::project;

/// The program of a server; none where it is not there.
#[expect(clippy::disallowed_methods, reason = "whoever runs the tests names the directory")]
fn program(name: &str) -> Option<PathBuf> {
    let directory = std::env::var_os("BRYNHILD_MCP_SERVERS").map(PathBuf::from);
    let places = ["node_modules/.bin", "bin"];
    let found = directory.and_then(|directory| {
        places.iter().map(|place| directory.join(place).join(name)).find(|path| path.exists())
    });
    if found.is_none() {
        let words = format!("SKIPPED: {name}, which BRYNHILD_MCP_SERVERS does not lead to\n");
        std::io::stderr().write_all(words.as_bytes()).unwrap();
    }
    found
}

/// Adds a server whose program may read its own installation.
fn add(project: &Project, name: &str, program: &str, args: &[&str]) -> Option<()> {
    let program = self::program(program)?;
    let directory = program.ancestors().nth(2)?;
    let directory =
        if directory.ends_with("node_modules") { directory.parent()? } else { directory };
    let entry = json!({"command": program, "args": args, "sandbox": {"read": [directory]}});
    project.config(&json!({"mcp": {"servers": {name: entry}}}).to_string());
    Some(())
}

fn exec(project: &Project, tool: &str, input: &Value) -> Run {
    let input = input.to_string();
    project.brynhild(&["tools", "exec", tool, "--input", &input, "--yes"])
}

#[test]
fn everything_server_echoes_a_message() {
    let project = project();
    if add(&project, "everything", "mcp-server-everything", &[]).is_none() {
        return;
    }
    let test = project.brynhild(&["mcp", "test", "everything", "--json"]);
    test.success();
    assert_eq!(test.json()["resources"], true);
    let run = exec(&project, "mcp__everything__echo", &json!({"message": "hello"}));
    assert!(run.stdout.contains("hello"), "{run}");
}

#[test]
fn the_filesystem_server_reads_the_workspace() {
    let project = project();
    let directory = project.path().canonicalize().unwrap();
    let directory = directory.to_str().unwrap();
    if add(&project, "files", "mcp-server-filesystem", &[directory]).is_none() {
        return;
    }
    project.file("a.txt", "in the workspace");
    let run = exec(&project, "mcp__files__read_text_file", &json!({"path": "a.txt"}));
    assert!(run.stdout.contains("in the workspace"), "{run}");
    let write = json!({"path": "b.txt", "content": "x"});
    exec(&project, "mcp__files__write_file", &write);
    assert!(!project.path().join("b.txt").exists(), "nothing grants it the workspace");
}

#[test]
fn time_server_returns_the_time() {
    let project = project();
    if add(&project, "time", "mcp-server-time", &["--local-timezone", "UTC"]).is_none() {
        return;
    }
    let run = exec(&project, "mcp__time__get_current_time", &json!({"timezone": "UTC"}));
    assert!(run.stdout.contains("UTC"), "{run}");
}

#[test]
fn the_git_server_reads_a_repository() {
    let project = project();
    if add(&project, "git", "mcp-server-git", &[]).is_none() {
        return;
    }
    project
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/config", "[core]\n\trepositoryformatversion = 0\n")
        .file(".git/objects/info/packs", "")
        .file(".git/refs/heads/.keep", "");
    let place = project.path().canonicalize().unwrap();
    let run = exec(&project, "mcp__git__git_status", &json!({"repo_path": place}));
    assert!(run.stdout.contains("On branch main"), "{run}");
}
