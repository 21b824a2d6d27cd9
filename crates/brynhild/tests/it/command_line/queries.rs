//! The output of commands that show tools, skills, rules, profiles and the sandbox.

use serde_json::{Value, json};

use super::run;
use crate::project;

const NAMES: [&str; 13] = [
    "Bash",
    "Edit",
    "Finish",
    "Glob",
    "Grep",
    "Inspect",
    "Jobs",
    "LearnSkill",
    "Read",
    "Task",
    "TodoWrite",
    "WebFetch",
    "Write",
];

#[test]
fn tools_are_listed_as_text_and_json() {
    let project = project();
    let list = run(&project, "tools list");
    list.success();
    let names: Vec<&str> =
        list.stdout.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(names, NAMES);
    let longest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap();
    for more in ["tools list -v", "tools list --verbose"] {
        assert!(longest(&run(&project, more).stdout) > longest(&list.stdout), "{more}");
    }
    let tools = run(&project, "tools list --json").json();
    let bash = &tools[0];
    assert_eq!((&bash["name"], &bash["version"]), (&json!("Bash"), &json!("1.0.0")));
    assert_eq!(bash["requires_permission"], true);
    assert!(bash["categories"].is_array() && bash["description"].is_string());
    assert_eq!(tools[8]["requires_permission"], false);
}

#[test]
fn tool_schema_is_shown() {
    let schema = run(&project(), "tools schema Read").json();
    assert_eq!(schema["name"], "Read");
    assert_eq!(schema["input_schema"]["required"], json!(["file_path"]));
    let wrong = run(&project(), "tools schema read");
    wrong.code(1);
    let told = "Tool 'read' not found. Available: Bash, Edit, Finish, Glob, Grep, Inspect, \
                Jobs, LearnSkill, Read, Task, TodoWrite, WebFetch, Write";
    assert_eq!(wrong.json(), json!({"error": told}));
}

#[test]
fn tool_runs_without_a_conversation() {
    let project = project();
    project.file("a.txt", "mango\n");
    let exec = |args: &[&str]| project.brynhild(&[&["tools", "exec"], args].concat());
    let done = exec(&["Read", "--input", r#"{"file_path":"a.txt"}"#]);
    done.success();
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("     1|mango\n", ""));
    let done = exec(&["Read", "--input", r#"{"file_path":"a.txt"}"#, "--json"]);
    done.success();
    assert_eq!(done.json()["success"], true);
    assert_eq!(done.json()["error"], Value::Null);
    let failed = exec(&["Read", "--input", r#"{"file_path":"b.txt"}"#]);
    failed.code(1);
    assert_eq!(
        (failed.stdout.as_str(), failed.stderr.as_str()),
        ("", "error: File not found: b.txt\n")
    );
    let failed = exec(&["Read", "--input", r#"{"file_path":"b.txt"}"#, "--json"]);
    failed.code(1);
    assert_eq!(failed.json()["error"], "File not found: b.txt");
    for (input, told) in [("{", "not valid JSON"), ("[]", "must be a JSON object")] {
        let wrong = exec(&["Read", "--input", input]);
        wrong.code(2);
        assert!(wrong.stderr.contains(told), "{wrong}");
    }
    let missing = exec(&["Read"]);
    missing.code(1);
    assert_eq!(missing.stderr, "error: Missing required parameters: file_path\n");
}

#[test]
fn calls_are_counted_by_session_and_by_log() {
    let project = project();
    let none = run(&project, "tools stats");
    none.code(1);
    assert!(none.stderr.contains("no session") && none.stderr.contains("--log"), "{none}");
    project.file(
        "play.yaml",
        "name: play\nturns:\n  - tool_calls:\n      - {name: Inspect, input: {operation: cwd}}\n      \
         - {name: Read, input: {file_path: nowhere}}\n  - text: done\n",
    );
    let chat = "chat --provider script --model play.yaml --session s --log-file log.jsonl go";
    run(&project, chat).success();
    for line in [
        "tools stats --json",
        "tools stats --json --session s",
        "tools stats --json --of s",
        "tools stats --json --log log.jsonl",
    ] {
        let stats = run(&project, line);
        stats.success();
        let tools = &stats.json()["tools"];
        assert_eq!(tools["Inspect"]["call_count"], 1, "{line}: {stats}");
        assert_eq!(tools["Read"]["failure_count"], 1, "{line}: {stats}");
    }
    let table = run(&project, "tools stats").stdout;
    assert!(table.starts_with("TOOL") && table.contains("Inspect  1"), "{table}");
    run(&project, "tools stats --session nowhere").code(1);
}

#[test]
fn skills_are_listed_shown_and_checked() {
    let project = project();
    let skill = "---\nname: mine\ndescription: Does what I want.\n---\n\nDo it well.\n";
    project.file(".brynhild/skills/mine/SKILL.md", skill);
    let list = run(&project, "skill list --json").json();
    assert_eq!(list["project_root"], project.path().to_str().unwrap());
    assert_eq!(list["skill_count"], list["skills"].as_array().unwrap().len());
    let names: Vec<_> = list["skills"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["commit-helper", "mine", "skill-creator"]);
    let shown = run(&project, "skill show mine --body --json").json();
    assert_eq!(shown["source"], "project");
    assert!(shown["body"].as_str().unwrap().contains("Do it well."));
    assert!(run(&project, "skill show mine --body").stdout.contains("Do it well."));
    let missing = run(&project, "skill show nowhere --json");
    missing.code(1);
    assert_eq!(missing.json()["error"], "Skill not found: nowhere");
    run(&project, "skill validate .brynhild/skills/mine").success();
    let wrong = run(&project, "skill validate .");
    wrong.code(1);
    assert!(wrong.stderr.contains("hint: "), "{wrong}");
}

#[test]
fn rules_and_profiles_are_shown() {
    let project = project();
    assert_eq!(run(&project, "rules show").stdout, "No rules apply here.\n");
    project.file("AGENTS.md", "Be kind.\n");
    assert!(run(&project, "rules show").stdout.contains("Be kind."));
    let rules = run(&project, "rules show --json").json();
    assert_eq!(rules["rules"][0]["text"], "Be kind.");
    let profiles = run(&project, "profile list --json").json();
    assert_eq!(profiles["count"], profiles["profiles"].as_array().unwrap().len());
    assert_eq!(run(&project, "profile show default").json()["name"], "default");
    let missing = run(&project, "profile show nowhere");
    missing.code(1);
    assert_eq!(missing.stderr.lines().next(), Some("error: Profile not found: nowhere"));
    assert_eq!(run(&project, "profile resolve openai/gpt-oss-120b").stdout, "gpt-oss-120b\n");
    let unknown = run(&project, "chat --provider script --model demo --profile nowhere go");
    unknown.code(2);
    assert!(unknown.stderr.contains("Profile not found: nowhere"), "{unknown}");
}

#[test]
fn the_sandbox_is_examined_and_runs_a_command() {
    let project = project();
    project.file("a.txt", "mango\n");
    let doctor = run(&project, "sandbox doctor");
    assert!(doctor.success().stdout.starts_with("OK: "), "{doctor}");
    assert_eq!(doctor.stdout.lines().count(), 2, "{doctor}");
    let doctor = run(&project, "sandbox doctor --verbose");
    doctor.success();
    assert!(doctor.stdout.contains("bubblewrap: ") && doctor.stdout.contains("landlock: "));
    let backends = run(&project, "sandbox doctor --json").json();
    let chosen =
        backends.as_array().unwrap().iter().filter(|it| it["chosen"] == json!(true)).count();
    assert_eq!(chosen, 1);
    assert_eq!(run(&project, "sandbox run -- cat a.txt").stdout, "mango\n");
    run(&project, "sandbox run -- touch b.txt").success();
    assert!(project.path().join("b.txt").exists());
    for line in [
        "sandbox run --profile read-only -- touch c.txt",
        "--profile read-only sandbox run -- touch c.txt",
    ] {
        assert!(!run(&project, line).status.success(), "{line}");
        assert!(!project.path().join("c.txt").exists(), "{line}");
    }
    project
        .brynhild(&["sandbox", "run", "--", "sh", "-c", "echo out; echo err >&2; exit 7"])
        .code(7);
    let missing = run(&project, "sandbox run -- no-such-program");
    assert!(!missing.status.success());
    assert!(missing.stderr.contains("no-such-program"), "{missing}");
}

#[test]
fn manual_and_completions_are_complete() {
    let project = project();
    let manual = run(&project, "man").stdout;
    assert!(manual.contains(".TH brynhild 1") && manual.contains("0.1.0"), "{manual}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let completions = run(&project, &format!("completions {shell}")).stdout;
        assert!(completions.contains("dangerously-skip-sandbox"), "{shell}");
    }
    let schema = run(&project, "schema").json();
    assert_eq!(schema["title"], "Event");
}
