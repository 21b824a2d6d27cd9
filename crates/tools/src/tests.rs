pub(crate) mod fixture;

use contract::tool::{Recovery, Risk};

use super::*;

#[test]
fn every_tool_has_a_description_and_a_schema() {
    let tools = all(&Settings::default());
    let names: Vec<_> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
    let expected = [
        "Bash",
        "Jobs",
        "Read",
        "Write",
        "Edit",
        "Grep",
        "Glob",
        "Inspect",
        "LearnSkill",
        "TodoWrite",
        "Finish",
    ];
    assert_eq!(names, expected);
    for tool in &tools {
        let spec = tool.spec();
        assert_eq!(spec.version, "1.0.0");
        assert_eq!(spec.source, "builtin");
        assert_eq!(spec.input_schema["type"], "object", "{}", spec.name);
        assert!(spec.description.len() > 40, "{}", spec.name);
        for required in spec.input_schema["required"].as_array().into_iter().flatten() {
            let name = required.as_str().expect("a name");
            assert!(spec.input_schema["properties"][name].is_object(), "{name}");
        }
    }
}

#[test]
fn risk_determines_permission_and_recovery() {
    let specs: Vec<_> = all(&Settings::default()).iter().map(|tool| tool.spec().clone()).collect();
    let of = |name: &str| specs.iter().find(|spec| spec.name == name).expect("a tool");
    assert_eq!(of("Bash").risk_level, Risk::HighImpact);
    assert_eq!(of("Bash").recovery_policy, Recovery::Deny);
    assert_eq!(of("Write").recovery_policy, Recovery::Confirm);
    assert!(of("Edit").requires_permission && !of("Edit").parallel);
    assert!(!of("Grep").requires_permission && of("Grep").parallel);
    assert_eq!(of("Finish").risk_level, Risk::ReadOnly);
    assert!(!of("Finish").parallel);
}
