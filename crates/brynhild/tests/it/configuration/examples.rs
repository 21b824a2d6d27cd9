//! The examples that come with the program work.

use std::fs;
use std::path::{Path, PathBuf};

use crate::project;

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(path)
}

#[test]
fn example_configuration_loads_without_warnings() {
    let project = project();
    project.config(&fs::read_to_string(example("config/config.yaml")).unwrap());
    let run = project.brynhild(&["config", "show"]);
    run.success();
    assert_eq!(run.stderr, "");
}

#[test]
fn example_configuration_uses_the_key_that_is_found() {
    let project = project();
    project.config(&fs::read_to_string(example("config/config.yaml")).unwrap());
    let run = project.command(&["api", "providers"]).env("OPENAI_API_KEY", "k").run();
    assert!(run.success().stdout.contains("openai would answer: OPENAI_API_KEY"), "{run}");
}

#[test]
fn documented_scenario_with_expectations_plays() {
    let page = fs::read_to_string(example("../docs/reference/scenarios.md")).unwrap();
    let scenario = page.split("```yaml").nth(3).unwrap().split("```").next().unwrap();
    let project = project();
    project.file("play.yaml", scenario);
    let run = project.brynhild(&["--provider", "script", "--model", "play.yaml", "-p", "hello"]);
    assert_eq!(run.success().stdout, "Hello.\n");
}

#[test]
fn the_example_scenarios_play() {
    let project = project();
    project.file("notes.txt", "one\ntwo\nthree\n");
    let scenario = example("scenarios/count-lines.yaml");
    let play = |model: &Path, prompt: &str| {
        let model = model.to_str().unwrap();
        let words = ["chat", "--no-log", "--yes", "--provider", "script", "--model", model, prompt];
        project.brynhild(&words)
    };
    let run = play(&scenario, "Count the lines of notes.txt");
    run.success();
    assert_eq!(run.stdout, "`wc` says: 3 notes.txt\n");
    let run = play(&scenario, "Do something else");
    run.code(1);
    assert!(run.stderr.contains("count-lines.yaml"), "{run}");
    let run = play(&example("scenarios/rename.yaml"), "Rename the greeting");
    run.success();
    assert_eq!(project.read("greeting.txt"), "hello, world\n");
    assert!(run.stdout.contains("greeting.txt"), "{run}");
}
