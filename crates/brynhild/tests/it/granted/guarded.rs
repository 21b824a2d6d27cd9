//! In folders that a plugin or an MCP server is granted for writing, what the host obeys is kept from it as in the
//! project.

use std::fs;
use std::path::Path;

use serde_json::json;
use testkit::Project;

use super::{run_by_plugin, with_runner};
use crate::mcp::SERVER;
use crate::{has_bubblewrap, project};

/// A folder with a repository, and with another and settings of an editor further down.
fn with_names(folder: &Path) {
    for name in [".git/hooks", "rep/.git/hooks", "pk/.vscode"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    fs::write(folder.join("pk/.vscode/tasks.json"), "mine").unwrap();
}

/// What a process would like to write there, and the host to obey.
const OBEYED: [&str; 5] = [
    ".git/hooks/pre-commit",
    "rep/.git/config",
    "pk/.vscode/tasks.json",
    ".envrc",
    "rep/.claude/settings.json",
];

fn assert_kept(folder: &Path) {
    assert_eq!(fs::read_to_string(folder.join("pk/.vscode/tasks.json")).unwrap(), "mine");
    for name in OBEYED.iter().filter(|name| !name.ends_with("tasks.json")) {
        assert!(!folder.join(name).exists(), "{} {name}", folder.display());
    }
}

#[test]
fn a_plugin_plants_nothing_in_folders_that_it_may_write() {
    let project = project();
    let (sub, notes) = (project.path().join("sub"), project.home().join("notes"));
    with_names(&sub);
    with_names(&notes);
    with_runner(&project, "write: [sub, '~/notes']");
    let write = OBEYED.map(|name| format!("(mkdir -p {0}; echo PWN > {name})", parent(name)));
    let write = write.join("; ");
    let script = format!(
        "for it in {} {}; do (cd $it; echo x > free; {write}); done; \
         mkdir $BRYNHILD_PLUGIN_DATA/.vscode; echo x > $BRYNHILD_PLUGIN_DATA/.vscode/own",
        sub.display(),
        notes.display()
    );
    let run = run_by_plugin(&project, &project.path(), &script);
    for folder in [&sub, &notes] {
        assert_eq!(fs::read_to_string(folder.join("free")).unwrap(), "x\n", "{run}");
        assert_kept(folder);
    }
    assert!(run.stderr.contains("rep/.claude"), "{run}");
    let own = project.config_folder().join("plugin-data/runner/.vscode/own");
    assert!(own.exists(), "{run}");
}

fn parent(name: &str) -> String {
    Path::new(name).parent().map(|it| format!("./{}", it.display())).unwrap_or_default()
}

/// Adds the server that writes what it is told, with these flags.
fn add_server(project: &Project, flags: &[&str]) {
    project.file("server.py", SERVER);
    let server = project.path().join("server.py").display().to_string();
    let words = [&["mcp", "add", "test"], flags, &["--", "python3", &server]].concat();
    project.brynhild(&words).success();
}

#[test]
fn a_server_plants_nothing_in_folders_that_it_may_write() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let (sub, notes) = (project.path().join("sub"), project.home().join("notes"));
    with_names(&sub);
    with_names(&notes);
    // In quotes `~` comes as it is.
    add_server(&project, &["--allow-write", "sub", "--allow-write", "~/notes"]);
    for folder in [&sub, &notes] {
        fs::create_dir(folder.join("rep/.claude")).unwrap();
        fs::write(folder.join("rep/.claude/mine"), "mine").unwrap();
        for (name, is_free) in OBEYED.iter().map(|it| (it, false)).chain([(&"free", true)]) {
            let input = json!({"text": folder.join(name)}).to_string();
            let words = ["tools", "exec", "mcp__test__touch", "--input", &input, "--yes", "--json"];
            let run = project.brynhild(&words);
            assert_eq!(run.json()["success"], is_free, "{run}");
        }
        assert_kept(folder);
        assert!(folder.join("free").exists());
    }
}
