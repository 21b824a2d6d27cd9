//! The built-in tools through `tools exec` and through a model's calls.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Run};

use crate::{project, project_with};

fn exec(project: &Project, tool: &str, input: &Value) -> Run {
    let input = input.to_string();
    project.brynhild(&["tools", "exec", tool, "--input", &input, "--yes"])
}

#[test]
fn read_numbers_lines_and_pages() {
    let project = project();
    project
        .file("a.txt", "line 1\nline 2\nline 3\nline 4\nline 5\n")
        .file("empty.txt", "")
        .file("binary", b"a\0b");
    let run = exec(&project, "Read", &json!({"file_path": "a.txt", "offset": 1, "limit": 2}));
    run.success();
    assert!(run.stdout.starts_with("     2|line 2\n     3|line 3\n"), "{run}");
    assert!(run.stdout.contains("offset=3"), "{run}");
    assert_eq!(exec(&project, "Read", &json!({"file_path": "empty.txt"})).stdout, "(empty file)\n");
    for (name, words) in
        [("binary", "binary"), ("missing", "File not found: missing"), (".", "Not a file: .")]
    {
        let run = exec(&project, "Read", &json!({"file_path": name}));
        run.code(1);
        assert!(run.stderr.contains(words), "{run}");
    }
}

#[test]
fn write_and_edit_keep_line_endings_and_modes() {
    let project = project();
    let run = exec(&project, "Write", &json!({"file_path": "new/a.txt", "content": "é\n"}));
    run.success();
    assert_eq!(run.stdout, "Wrote 3 bytes to new/a.txt\n");
    project.file("dos.txt", "one\r\ntwo\r\n");
    let edit = json!({"file_path": "dos.txt", "old_string": "one\ntwo", "new_string": "1\n2"});
    exec(&project, "Edit", &edit).success();
    assert_eq!(project.read("dos.txt"), "1\r\n2\r\n");
    project.file("twice.txt", "a a\n");
    let edit = json!({"file_path": "twice.txt", "old_string": "a", "new_string": "b"});
    let run = exec(&project, "Edit", &edit);
    run.code(1);
    assert!(run.stderr.contains("old_string found 2 times, must be unique"), "{run}");
}

#[test]
fn edit_refuses_a_file_that_changed_since_it_was_read() {
    let server = ModelServer::start([
        Reply::calls([("Read", json!({"file_path": "a.txt"}))]),
        Reply::calls([("Bash", json!({"command": "echo other > a.txt"}))]),
        Reply::calls([(
            "Edit",
            json!({"file_path": "a.txt", "old_string": "other", "new_string": "mine"}),
        )]),
        Reply::text("stopped"),
    ]);
    let project = project_with(&server);
    project.file("a.txt", "first\n");
    project.brynhild(&["chat", "--yes", "change it"]).success();
    assert_eq!(project.read("a.txt"), "other\n");
    let last = server.chats().last().unwrap().body["messages"].as_array().unwrap().last().cloned();
    let told = last.unwrap()["content"].as_str().unwrap().to_owned();
    assert!(told.contains("changed since"), "{told}");
}

#[test]
fn grep_and_glob_need_no_other_program_and_honor_ignore_files() {
    let project = project();
    project
        .file(".gitignore", "target\n")
        .file("src/a.rs", "fn main() {}\n// --pre=bash\n")
        .file("target/b.rs", "fn main() {}\n");
    let input = json!({"pattern": "fn main", "output_mode": "files_with_matches"}).to_string();
    let words = ["tools", "exec", "Grep", "--input", &input];
    let run = project.command(&words).env("PATH", "/nonexistent").run();
    run.success();
    assert!(run.stdout.ends_with("src/a.rs\n") && run.stdout.lines().count() == 1, "{run}");
    let run = exec(&project, "Grep", &json!({"pattern": "--pre=bash"}));
    assert!(run.stdout.contains("a.rs:2:// --pre=bash"), "{run}");
    let run = exec(&project, "Glob", &json!({"pattern": "*.rs"}));
    assert_eq!(run.stdout, "src/a.rs\n");
    let run = exec(&project, "Grep", &json!({"pattern": "nothing like it"}));
    assert_eq!(run.stdout, "No matches found\n");
    let run = exec(&project, "Grep", &json!({"pattern": "("}));
    run.code(1);
}

#[test]
fn bash_returns_streams_and_code_without_state() {
    let project = project();
    let run = exec(&project, "Bash", &json!({"command": "echo out; echo err >&2; exit 3"}));
    run.code(1);
    assert_eq!(run.stdout, "out\n\n--- stderr ---\nerr\n");
    assert!(run.stderr.contains("Exit code 3"), "{run}");
    exec(&project, "Bash", &json!({"command": "cd /tmp; X=1"})).success();
    let run = exec(&project, "Bash", &json!({"command": "pwd; echo [$X]"}));
    assert_eq!(run.stdout, format!("{}\n[]\n", project.path().display()));
}

#[test]
fn timeout_kills_all_children() {
    let project = project();
    let command = "trap '' TERM; (sleep 600; touch late) & sleep 600";
    let run = exec(&project, "Bash", &json!({"command": command, "timeout": 300}));
    run.code(1);
    assert!(run.stderr.contains("Command timed out after 300ms"), "{run}");
}

#[test]
fn huge_output_is_cut_and_saved_to_a_file() {
    let project = project();
    let run = exec(&project, "Bash", &json!({"command": "seq 1 200000"}));
    run.success();
    assert!(run.stdout.len() < 60_000, "{}", run.stdout.len());
    assert!(run.stdout.starts_with("1\n2\n") && run.stdout.ends_with("200000\n"));
    assert!(run.stdout.contains("[TRUNCATED"), "no note");
}

#[test]
fn inspect_learn_skill_and_finish_answer() {
    let project = project();
    project.file("a.txt", "hello");
    let run = exec(&project, "Inspect", &json!({"operation": "ls"}));
    run.success();
    assert!(run.stdout.contains("a.txt"), "{run}");
    let run = exec(&project, "LearnSkill", &json!({}));
    assert!(run.stdout.contains("commit-helper"), "{run}");
    let run = exec(&project, "LearnSkill", &json!({"skill": "commit-helper"}));
    assert!(run.stdout.contains("<skill name=\"commit-helper\">"), "{run}");
    let escape = json!({"skill": "commit-helper", "reference": "~/.bashrc"});
    exec(&project, "LearnSkill", &escape).code(1);
    let run = exec(&project, "Finish", &json!({"status": "success", "summary": "done"}));
    assert_eq!(run.stdout, "Status: success\nSummary: done\n");
}

#[test]
fn invalid_input_is_reported_before_a_run() {
    let project = project();
    let cases = [
        ("Write", json!({"file_path": "a"}), "Missing required parameters: content"),
        ("Read", json!({"file_path": 5}), "file_path"),
        ("Finish", json!({"status": "great", "summary": "x"}), "status"),
        ("Bash", json!({"command": " "}), "No command provided"),
    ];
    for (tool, input, words) in cases {
        let run = exec(&project, tool, &input);
        run.code(1);
        assert!(run.stderr.contains(words), "{run}");
    }
}

#[test]
fn file_tools_ask_about_files_outside_the_project() {
    let project = project();
    std::os::unix::fs::symlink(project.home(), project.path().join("link")).unwrap();
    for path in ["link/evil", "~/evil.txt", "/tmp/evil.txt"] {
        let input = json!({"file_path": path, "content": "x"}).to_string();
        let run = project.brynhild(&["tools", "exec", "Write", "--input", &input]);
        run.code(3);
        assert!(run.stderr.contains("outside the workspace"), "{run}");
    }
    assert!(!project.home().join("evil").exists() && !project.home().join("evil.txt").exists());
    let run = exec(&project, "Read", &json!({"file_path": "~/.netrc"}));
    run.code(1);
    assert!(run.stderr.contains("Read access denied"), "{run}");
}
