//! A single protected file that the user grants for writing.

use serde_json::json;

use crate::{has_bubblewrap, project};

#[test]
fn granted_local_file_is_writable_for_tools_and_commands() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    project.file(".claude/notes.local.md", "a\n").file(".claude/other.local.md", "a\n");
    let file = project.path().canonicalize().unwrap().join(".claude/notes.local.md");
    project.config(&format!("sandbox: {{allowed_paths: ['{}']}}\n", file.display()));
    let exec = |tool: &str, input: &serde_json::Value| {
        project.brynhild(&["--yes", "tools", "exec", tool, "--input", &input.to_string()])
    };
    exec("Write", &json!({"file_path": file, "content": "written\n"})).success();
    assert_eq!(project.read(".claude/notes.local.md"), "written\n");
    let write = |name: &str| json!({"command": format!("echo ran > .claude/{name}.local.md")});
    exec("Bash", &write("notes")).success();
    assert_eq!(project.read(".claude/notes.local.md"), "ran\n");
    exec("Bash", &write("other"));
    assert_eq!(project.read(".claude/other.local.md"), "a\n", "it was not granted");
}
