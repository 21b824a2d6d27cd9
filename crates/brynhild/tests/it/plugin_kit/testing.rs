//! `plugin test`: what fails is named, for people, programs and CI.

use testkit::{Project, Run};

use super::new;
use crate::project;

fn test(project: &Project, more: &[&str]) -> Run {
    project.brynhild(&[&["plugin", "test", "greeter"], more].concat())
}

/// A project with the plugin `greeter`, in whose file `path` one text is replaced by another.
fn greeter(path: &str, from: &str, to: &str) -> Project {
    let project = project();
    new(&project, "greeter", "tool");
    replace(&project, path, from, to);
    project
}

fn replace(project: &Project, path: &str, from: &str, to: &str) {
    let path = format!("greeter/{path}");
    let text = project.read(&path);
    assert!(text.contains(from), "{text}");
    project.file(&path, text.replace(from, to));
}

#[test]
fn plugin_test_names_what_the_answer_lacks() {
    let project = greeter("tools/greeter.py", "Hello, ", "Goodbye, ");
    let run = test(&project, &[]);
    insta::assert_snapshot!(run.code(1).stdout, @r#"
    ok      the plugin is valid
    ok      example 1 of greeter
    FAILED  tests/greeter
            the answer does not contain "Hello, Ann!"
            answer: The tool says: Goodbye, Ann!
    2 passed, 1 failed
    "#);
}

#[test]
fn plugin_test_reports_failed_examples_and_calls() {
    let project = greeter("tools/greeter.py", "[{\"name\": \"Ann\"}]", "[{\"name\": \" \"}]");
    replace(&project, "tests/greeter.yaml", "input: { name: Ann }", "input: { name: ' ' }");
    let run = test(&project, &["--json"]);
    let tests = run.code(1).json()["tests"].clone();
    assert_eq!(tests[1]["failures"][0], "{\"name\":\" \"}\nthe name is empty");
    let failure = tests[2]["failures"][0].as_str().unwrap();
    assert!(failure.starts_with("exit code 1, expected 0\nscenario "), "{failure}");
    assert!(failure.contains("what was sent is not as expected"), "{failure}");
    assert_eq!((&tests[0]["passed"], &tests[2]["passed"]), (&true.into(), &false.into()));
}

#[test]
fn plugin_test_stops_at_an_invalid_plugin() {
    let project = greeter("plugin.yaml", "version", "versoin");
    let run = test(&project, &[]);
    assert!(run.code(1).stdout.contains("`version` is missing"), "{run}");
    assert!(!run.stdout.contains("tests/greeter"), "{run}");
}

#[test]
fn plugin_test_compares_golden_events() {
    let project = greeter("plugin.yaml", "0.1.0", "0.1.0");
    test(&project, &["--update"]).success();
    let golden = project.read("greeter/tests/greeter.events.jsonl");
    assert!(golden.contains(r#""cwd":"PROJECT""#) && golden.contains("\"call-1\""), "{golden}");
    let path = project.path().display().to_string();
    assert!(!golden.contains(&path) && !golden.contains("\"at\""), "{golden}");
    test(&project, &[]).success();
    replace(&project, "tools/greeter.py", "Hello, {input['name']}!", "Hello, Ann!!");
    let run = test(&project, &[]);
    assert!(run.code(1).stdout.contains("the events differ from tests/greeter.events.jsonl"));
    assert!(run.stdout.contains("\"output\":\"Hello, Ann!!\""), "{run}");
    test(&project, &["--update"]).success();
    test(&project, &[]).success();
}

#[test]
fn plugin_test_writes_junit_for_ci() {
    let project = greeter("tests/greeter.yaml", "answer: \"Hello, Ann!\"", "answer: \"<none>\"");
    test(&project, &["--junit", "report.xml"]).code(1);
    let report = project.read("report.xml");
    assert!(report.contains(r#"<testsuite name="greeter" tests="3" failures="1""#), "{report}");
    assert!(report.contains("&lt;none&gt;"), "{report}");
}

#[test]
fn plugin_test_leaves_configuration_and_keys_out() {
    let project = greeter(
        "tools/greeter.py",
        "output=f\"Hello, {input['name']}!\"",
        "output=f\"Hello, {input['name']}! {__import__('os').environ.get('SECRET_KEY')}\"",
    );
    project.config("plugins: {greeter: {sandbox: {env: [SECRET_KEY]}, enabled: false}}\n");
    let run = project.command(&["plugin", "test", "greeter"]).env("SECRET_KEY", "s3cret").run();
    run.success();
    let case = project.read("greeter/tests/greeter.yaml");
    let expect = "config: {plugins: {greeter: {greeting: x}}}\nexpect:\n  answer: \"Ann! None\"";
    project.file(
        "greeter/tests/greeter.yaml",
        case.replace("expect:\n  answer: \"Hello, Ann!\"", expect),
    );
    let run = project.command(&["plugin", "test", "greeter"]).env("SECRET_KEY", "s3cret").run();
    run.success();
}

#[test]
fn plugin_test_explains_broken_test_files() {
    let project = greeter("tests/greeter.yaml", "prompt:", "promt:");
    project.file("greeter/tests/second.yaml", "prompt: x\nturns: [{txt: a}]\n");
    let run = test(&project, &[]);
    assert!(run.code(1).stdout.contains("unknown key `promt` at line 2; did you mean `prompt`?"));
    assert!(run.stdout.contains("unknown key `txt`; did you mean `text`?"), "{run}");
    let run = project.brynhild(&["plugin", "test", "nowhere"]);
    assert!(run.code(2).stderr.contains("there is no directory nowhere"), "{run}");
}

#[test]
fn script_provider_plays_a_test_file() {
    let project = greeter("plugin.yaml", "0.1.0", "0.1.0");
    let run = project.brynhild(&[
        "--plugin-dir",
        "greeter",
        "--provider",
        "script",
        "--model",
        "greeter/tests/greeter.yaml",
        "chat",
        "Greet Ann.",
    ]);
    assert_eq!(run.success().stdout, "The tool says: Hello, Ann!\n");
}
