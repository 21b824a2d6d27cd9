//! Pipes in the place of files: whoever wants to read one is told at once, and nobody waits for a
//! writer.

use std::fs;
use std::path::Path;

use rustix::fs::{CWD, Mode, mkfifoat};
use testkit::Project;

use crate::project;
use crate::python_plugins::{plugin, tool};

const REFUSED: &str = "not a regular file";

fn pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    mkfifoat(CWD, path, Mode::RWXU).unwrap();
}

/// The lines of a text that name a file.
fn lines_about<'a>(text: &'a str, file: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.contains(file) && line.contains(REFUSED)).collect()
}

#[test]
fn fifo_among_plugin_files_is_one_message() {
    let project = project();
    let good = tool("good", "return ToolResult(True, 'fine')");
    let root = plugin(&project, "mixed", &[("tools/good.py", &good)]);
    pipe(&root.join("tools/bad.py"));
    pipe(&root.join("providers/worse.py"));
    // A fifo that is neither tool nor provider is ignored.
    pipe(&root.join("helper.py"));
    for _ in 0..2 {
        let run = project.brynhild(&["tools", "list"]);
        assert!(run.success().stdout.contains("good"), "{run}");
        for file in ["tools/bad.py", "providers/worse.py"] {
            assert_eq!(lines_about(&run.stderr, file).len(), 1, "{file}: {run}");
        }
    }
    let run = project.brynhild(&["plugin", "validate", &root.display().to_string()]);
    for file in ["tools/bad.py", "providers/worse.py"] {
        assert_eq!(lines_about(&run.stderr, file).len(), 1, "{file}: {run}");
    }
}

#[test]
fn fifo_in_place_of_a_foreign_plugin_is_one_message() {
    let project = project();
    let directory = project.config_directory().join("plugins");
    pipe(&directory.join("lmao-one/tool.py"));
    pipe(&directory.join("alone"));
    pipe(&directory.join("apart/apart"));
    let run = project.brynhild(&["tools", "list"]);
    for file in ["lmao-one/tool.py", "plugins/alone", "apart/apart"] {
        assert_eq!(lines_about(&run.success().stderr, file).len(), 1, "{file}: {run}");
    }
}

fn refused(project: &Project, words: &[&str], file: &str) {
    let run = project.brynhild(words);
    assert!(!run.status.success(), "{run}");
    let is_told = |line: &str| {
        line.contains(file) && (line.contains(REFUSED) || line.contains("no regular file"))
    };
    assert!(run.stderr.lines().any(is_told), "{file}: {run}");
}

#[test]
fn fifo_in_place_of_a_role_file_is_refused() {
    let project = project();
    for file in ["pipe.yaml", "agent.md", "my_tools.py", "schema.json"] {
        pipe(&project.path().join(file));
    }
    refused(&project, &["validate", "pipe.yaml"], "pipe.yaml");
    refused(&project, &["chat", "--agent", "agent.md", "hi"], "agent.md");
    let role = "name: rr\nprompt: x\ntools:\n  - {type: custom, module: my_tools}\n";
    project.file("tools.yaml", role);
    refused(&project, &["validate", "tools.yaml"], "my_tools.py");
    let output = "output: {type: json_schema, schema_file: schema.json}\n";
    project.file("answer.yaml", format!("name: rr\nprompt: x\n{output}"));
    refused(&project, &["validate", "answer.yaml"], "schema");
}
