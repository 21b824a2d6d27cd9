//! `brynhild demo` and scenarios of the `script` provider.

use crate::project;

#[test]
fn demo_runs_without_key_server_or_terminal() {
    let run = project().brynhild(&["demo"]);
    run.success();
    assert!(run.stdout.starts_with("The tests pass."), "{run}");
    for step in ["● Glob", "● Bash", "● Read", "● Edit", "✗ Bash", "✓ Bash", "✓ Edit"]
    {
        assert!(run.stderr.contains(step), "{step} is missing: {run}");
    }
}

#[test]
fn demo_reports_missing_requirements() {
    let project = project();
    let run = project.command(&["demo"]).env("PATH", project.path()).run();
    assert!(run.code(2).stderr.contains("no `python3` in PATH"), "{run}");
    assert_eq!(run.stdout, "");
}

#[test]
fn demo_leaves_no_files() {
    let project = project();
    let temp = project.home().join("temp");
    std::fs::create_dir_all(&temp).unwrap();
    project.command(&["demo"]).env("TMPDIR", &temp).run().success();
    let left: Vec<_> = std::fs::read_dir(&temp).unwrap().map(|it| it.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
    let run = project.brynhild(&["session", "list", "--json"]);
    assert_eq!(run.json(), serde_json::json!([]));
}

#[test]
fn demo_prints_json() {
    let run = project().brynhild(&["demo", "--json"]);
    run.success();
    let answer = run.json();
    assert_eq!(answer["provider"], "script");
    assert_eq!(answer["stop_reason"], "end_turn");
    assert_eq!(answer["tool_calls"][0]["tool"], "Glob");
}

#[test]
fn a_scenario_file_plays_the_model() {
    let project = project();
    project.file("notes.txt", "the secret word is mango\n").file(
        "scenario.yaml",
        "name: look\nturns:\n  - tool_calls:\n      - name: Read\n        input: {file_path: \
         notes.txt}\n  - expect:\n      tool_results:\n        - contains: mango\n    text: It is \
         mango.\n",
    );
    let run = project.brynhild(&["chat", "--provider", "script", "--model", "scenario.yaml", "go"]);
    run.success();
    assert_eq!(run.stdout, "It is mango.\n");
}

#[test]
fn failed_expectation_shows_the_difference() {
    let project = project();
    project.file(
        "scenario.yaml",
        "name: strict\nturns:\n  - expect:\n      last_user: {contains: banana}\n    text: hello\n",
    );
    let run = project.brynhild(&["chat", "--provider", "script", "--model", "scenario.yaml", "go"]);
    run.code(1);
    for part in ["scenario.yaml", "banana", "go"] {
        assert!(run.stderr.contains(part), "{part} is missing: {run}");
    }
}

#[test]
fn a_broken_scenario_is_misuse_and_names_its_line() {
    let project = project();
    project.file("scenario.yaml", "name: typo\nturns:\n  - txt: hello\n");
    let run = project.brynhild(&["chat", "--provider", "script", "--model", "scenario.yaml", "go"]);
    run.code(2);
    for part in ["scenario.yaml", "line 3", "text"] {
        assert!(run.stderr.contains(part), "{part} is missing: {run}");
    }
    let run = project.brynhild(&["chat", "--provider", "script", "--model", "nowhere.yaml", "go"]);
    run.code(2);
    assert!(run.stderr.contains("nowhere.yaml"), "{run}");
}

#[test]
fn failed_model_switch_keeps_the_conversation() {
    let project = crate::project();
    project.file("scenario.yaml", "name: two\nturns:\n  - text: first\n  - text: second\n");
    let run = project
        .command(&["--plain", "--provider", "script", "--model", "scenario.yaml"])
        .stdin("one\n/model nowhere.yaml\ntwo\n")
        .run();
    assert!(run.code(2).stdout.contains("second"), "{run}");
    assert!(run.stderr.contains("nowhere.yaml"), "{run}");
}

#[test]
fn agent_plays_the_scenario_from_its_first_turn() {
    let project = project();
    project.file(
        "play.yaml",
        "turns:\n  - tool_calls: [{name: Task, input: {description: Look, prompt: Look around, \
         subagent_type: general-purpose}}]\n  - text: Seen.\n",
    );
    let run =
        project.brynhild(&["--provider", "script", "--model", "play.yaml", "-p", "go", "--json"]);
    let answer = run.success().json();
    assert_eq!(answer["response"], "Seen.");
    // The agent calls `Task` too, which it does not have, and then gives the second reply.
    let results = answer["tool_results"].as_array().unwrap();
    assert!(
        results.iter().any(|it| it["output"].as_str().is_some_and(|it| it.contains("Seen."))),
        "{run}"
    );
}
