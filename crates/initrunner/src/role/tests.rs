use serde_json::json;

use super::*;

fn reading(yaml: &str) -> Reading {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("role.yaml");
    std::fs::write(&file, yaml).unwrap();
    read(&file)
}

/// A role without findings that has these keys besides a name and a prompt.
pub(crate) fn test_role(more: &str) -> Role {
    let reading = reading(&format!("name: helper\nprompt: You help.\n{more}"));
    assert_eq!(reading.findings, []);
    reading.role.unwrap()
}

fn said(yaml: &str) -> Vec<String> {
    let word = |finding: &Finding| {
        let severity = if finding.severity == Severity::Error { "error" } else { "warning" };
        format!("{severity} {}: {}", finding.path, finding.message)
    };
    reading(yaml).findings.iter().map(word).collect()
}

const FLAT: &str = "
name: helper
description: Helps
prompt: You help {{who}}.
model: openai:gpt-5-mini
tools:
  - datetime
  - custom: {module: mine}
  - type: api
    name: x
skills: [notes]
deps_schema: {properties: {who: {type: string}}}
output: {type: json_schema, schema: {type: object}}
guardrails: {max_tokens_per_run: 10, max_tool_calls: 2, timeout_seconds: 1.5, cost_limit: 0.5}
";

#[test]
fn a_flat_role_is_read() {
    let reading = reading(FLAT);
    assert_eq!(reading.findings, []);
    let role = reading.role.unwrap();
    assert_eq!((role.name.as_str(), role.description.as_str()), ("helper", "Helps"));
    assert_eq!(role.model.provider.as_deref(), Some("openai"));
    assert_eq!(role.model.name.as_deref(), Some("gpt-5-mini"));
    let kinds: Vec<&str> = role.tools.iter().map(|tool| tool.kind.as_str()).collect();
    assert_eq!(kinds, ["datetime", "custom", "api"]);
    assert_eq!(json!(role.tools[1].fields), json!({"module": "mine", "type": "custom"}));
    assert_eq!(role.skills, ["notes"]);
    assert_eq!(role.output.unwrap(), json!({"type": "object"}));
    let limits = role.guardrails;
    assert_eq!((limits.output_tokens, limits.tool_calls, limits.requests), (10, 2, 30));
    assert_eq!((limits.time.as_millis(), limits.cost), (1500, Some(0.5)));
}

#[test]
fn role_in_an_envelope_is_equal() {
    let yaml = "
apiVersion: initrunner/v1
kind: Agent
metadata: {name: helper, description: Helps}
spec:
  role: You help.
  model: {provider: openai, name: gpt-5-mini, temperature: 0.1, max_tokens: 100}
  tools: [{type: datetime}]
  memory: {max_sessions: 3}
  sinks: [{type: file}]
  triggers: [{type: cron, schedule: '* * * * *'}]
  unknown: 1
";
    let reading = reading(yaml);
    let role = reading.role.clone().unwrap();
    assert_eq!((role.prompt.as_str(), role.model.max_tokens), ("You help.", Some(100)));
    assert_eq!(
        said(yaml),
        [
            "warning spec.unknown: it is not known and is ignored",
            "warning triggers: it only matters for the daemon, and does nothing here",
            "warning sinks: it only matters for the daemon, and does nothing here",
        ]
    );
}

#[test]
fn invalid_role_is_reported_with_its_place() {
    for (yaml, wanted) in [
        ("name: Bad_Name\nprompt: x", "error name: a name has lower-case"),
        ("prompt: x", "error name: it is missing"),
        ("name: a", "error : this is not a role"),
        ("name: a\nprompt: x\nmodell: y", "error modell: it is not known; did you mean `model`?"),
        (
            "name: a\nprompt: x\nguardrails: {max_tool_calls: many}",
            "error guardrails.max_tool_calls: ",
        ),
        ("name: a\nprompt: '{{x}}'", "error deps_schema: `{{x}}` is used in the prompt"),
        ("name: a\nprompt: x\ntools: [{a: 1, b: 2}]", "error tools[0]: it has no `type`"),
        ("name: a\nagents: {b: x}", "error agents: a document with this key has several agents"),
        ("kind: Compose\nspec: {}", "error kind: `kind: Compose` is called `kind: Flow`"),
        ("kind: Team\nspec: {}", "error kind: a team has several agents"),
        ("name: a\nprompt: x: y", "error : line 2: "),
        ("[1]", "error : the file is not a mapping"),
        ("name: a\nprompt: x\nmodel: {temperature: 3}", "error model.temperature: "),
        ("name: a\nprompt: x\noutput: {type: json_schema}", "error output: it needs one of"),
    ] {
        let said = said(yaml);
        assert!(said[0].starts_with(wanted), "{yaml}: {said:?}");
        assert!(reading(yaml).role.is_none(), "{yaml}");
    }
}

#[test]
fn invalid_reasoning_is_reported() {
    for (reasoning, wanted) in [
        (
            "{pattern: plan_execute}",
            "error reasoning.pattern: reasoning.pattern 'plan_execute' requires a 'todo' tool in \
             spec.tools",
        ),
        (
            "{pattern: reflexion}",
            "error reasoning.pattern: reasoning.pattern 'reflexion' requires reflection_rounds > 0 \
             or non-empty reflection_dimensions",
        ),
        (
            "{reflection_dimensions: [{name: a, prompt: b}, {name: a, prompt: b}, {name: a, \
             prompt: b}, {name: a, prompt: b}]}",
            "error reasoning.reflection_dimensions: Maximum 3 reflection dimensions allowed",
        ),
        (
            "{reflection_rounds: 1, success_criteria: [a, b, c, d, e, f, g, h, i, j, k]}",
            "error reasoning.success_criteria: Maximum 10 success criteria allowed",
        ),
        ("{pattern: best}", "error reasoning.pattern: it is none of `react`, "),
        ("{reflection_rounds: 4}", "error reasoning.reflection_rounds: it is not a whole number"),
        ("{reflection_dimensions: [a]}", "error reasoning.reflection_dimensions: it has entries"),
        ("{success_criteria: [a]}", "warning reasoning.success_criteria: it does nothing here"),
        (
            "{auto_detect: false, reflection_rounds: 1}",
            "warning reasoning.reflection_rounds: it does nothing here",
        ),
    ] {
        let said = said(&format!("name: a\nprompt: x\nreasoning: {reasoning}"));
        assert!(said.len() == 1 && said[0].starts_with(wanted), "{reasoning}: {said:?}");
    }
}

#[test]
fn reference_lists_the_support_of_every_key() {
    use std::fmt::Write as _;
    let mut text = String::from("| key of a role | support |\n|---|---|\n");
    for key in shape::SUPPORTED.iter().chain(shape::COMPOSED) {
        writeln!(text, "| `{key}` | yes |").unwrap();
    }
    for key in shape::UNSUPPORTED {
        writeln!(text, "| `{key}` | no |").unwrap();
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/reference/plugin-systems.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let begin = "<!-- generated: initrunner -->\n";
    let (before, rest) = page.split_once(begin).expect("the mark");
    let (_, after) = rest.split_once("<!-- end -->").expect("the end");
    let wanted = format!("{before}{begin}\n{text}\n<!-- end -->{after}");
    #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    } else {
        assert!(page == wanted, "run `UPDATE=1 cargo test -p initrunner reference`");
    }
}

#[test]
fn reference_lists_the_types_that_are_made() {
    let page = include_str!("../../../../docs/reference/plugin-systems.md");
    let (_, types) = page.split_once("| tool type |").expect("the types of tools");
    let (types, _) = types.split_once("<!-- end -->").expect("the end");
    let yes = types.lines().filter(|line| line.contains(" | yes | "));
    let listed: Vec<&str> = yes.filter_map(|line| line.split('`').nth(1)).collect();
    let made = crate::builtin::kinds().chain(crate::builtin::MADE_BY_CALLER);
    let mut made: Vec<&str> = made.collect();
    made.sort_unstable();
    assert_eq!(listed, made, "the list in `plugins` differs from the types that are made");
}
