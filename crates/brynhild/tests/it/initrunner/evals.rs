//! `test`: suites of cases for roles.

use serde_json::{Value, json};
use testkit::{ModelServer, Reply};

use crate::project_with;

const ROLE: &str = "name: helper\nprompt: You help.\ntools: [datetime]\n";
const SUITE: &str = "\
apiVersion: initrunner/v1
kind: TestSuite
metadata: {name: smoke}
role: role.yaml
cases:
  - name: greets
    prompt: Say hello
    expected_output: hello
    assertions:
      - {type: contains, value: hello}
      - {type: tool_order, sequence: [current_time]}
      - {type: llm_judge, criteria: [it is polite]}
  - name: counts
    prompt: How many?
    tags: [numbers]
    assertions: [{type: regex, pattern: '^[0-9]+$'}]
";

#[test]
fn suite_passes_only_if_every_assertion_holds() {
    let verdict =
        r#"{"results": [{"criterion": "it is polite", "passed": true, "reason": "yes"}]}"#;
    let server = ModelServer::start([
        Reply::calls([("current_time", json!({}))]),
        Reply::text("hello you"),
        Reply::text(verdict),
        Reply::text("many"),
    ]);
    let project = project_with(&server);
    project.file("role.yaml", ROLE).file("suite.yaml", SUITE);
    let tested = project.brynhild(&["test", "suite.yaml", "-o", "out.json"]);
    tested.code(1);
    assert!(tested.stdout.contains("greets  PASS"), "{tested}");
    assert!(tested.stdout.contains("counts: Output does not match pattern '^[0-9]+$'"), "{tested}");
    assert!(tested.stdout.ends_with("1/2 passed\n"), "{tested}");
    let report: Value = serde_json::from_str(&project.read("out.json")).unwrap();
    assert_eq!(report["summary"]["failed"], 1, "{report}");
    assert_eq!(report["cases"][0]["tool_calls"], json!(["current_time"]));
    assert_eq!(report["cases"][0]["assertions"][2]["message"], "1/1 criteria passed");
    let question = server.chats()[2].body["messages"].to_string();
    assert!(question.contains("it is polite") && question.contains("hello you"), "{question}");
}

#[test]
fn tag_and_parallel_cases_select_and_keep_order() {
    let server = ModelServer::start([Reply::text("7")]).repeat_last();
    let project = project_with(&server);
    project.file("role.yaml", ROLE).file("suite.yaml", SUITE);
    let tested =
        project.brynhild(&["test", "role.yaml", "-s", "suite.yaml", "--tag", "numbers", "-j", "2"]);
    assert_eq!(tested.success().stdout.lines().last(), Some("1/1 passed"), "{tested}");
}

#[test]
fn dry_run_asks_no_model() {
    let server = ModelServer::start([]);
    let project = project_with(&server);
    project.file("role.yaml", ROLE).file("suite.yaml", SUITE);
    let tested = project.brynhild(&["test", "suite.yaml", "--dry-run", "--verbose"]);
    tested.code(1);
    assert!(tested.stdout.contains("Output contains 'hello'"), "{tested}");
    assert!(tested.stdout.contains("[skipped] LLM judge not run in dry-run mode"), "{tested}");
    assert!(server.chats().is_empty());
}

#[test]
fn bad_suite_says_what_to_correct() {
    let project = crate::project();
    project.file("role.yaml", ROLE);
    project.file("suite.yaml", SUITE.replace("type: contains", "type: includes"));
    let tested = project.brynhild(&["test", "role.yaml", "-s", "suite.yaml"]);
    assert!(tested.code(2).stderr.contains("unknown variant `includes`"), "{tested}");
    let none = project.brynhild(&["test", "role.yaml"]);
    assert!(none.code(2).stderr.contains("-s SUITE.yaml"), "{none}");
}
