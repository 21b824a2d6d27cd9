use serde_json::json;

use super::*;
use crate::initrunner::registry::Types;
use crate::plugin::PluginSettings;

fn entry(fields: Value) -> Entry {
    let Value::Object(fields) = fields else { panic!("no mapping") };
    fields
}

fn role(file: &std::path::Path) -> RoleFacts<'_> {
    RoleFacts {
        name: "r",
        description: "",
        prompt: "",
        file,
        imports: &Value::Null,
        tools: Vec::new(),
        tool_time: None,
        is_strict: true,
    }
}

#[test]
fn invalid_entries_are_reported_without_running() {
    let said = |fields| {
        let findings = check(&role("role.yaml".as_ref()), &entry(fields), "tools[0]");
        findings.into_iter().map(|it| it.message).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(said(json!({"type": "custom", "module": "m", "config": {}})), "");
    assert_eq!(said(json!({"type": "custom"})), "module: Field required");
    assert!(said(json!({"type": "custom", "module": 3})).contains("valid string"));
    assert!(said(json!({"type": "custom", "module": "m", "config": []})).contains("dictionary"));
    let said = said(json!({"type": "custom", "module": "m", "modul": 1}));
    assert_eq!(said, "Unknown keys for tool 'custom': ['modul']");
}

#[test]
fn environment_references_are_found_at_any_depth() {
    let one =
        entry(json!({"type": "x", "a": "${A} ${B_1}", "b": [{"c": "${C}${"}], "d": "${no-name}"}));
    let names: Vec<String> = variables(&[&one]).into_iter().collect();
    assert_eq!(names, ["A", "B_1", "C"]);
}

#[test]
fn worker_gets_its_entries_and_granted_environment() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["m.py", "pkg/__init__.py", "data/x.txt", "spaced/inner.py", "notes.md"] {
        let file = directory.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
    }
    let file = directory.path().join("role.yaml");
    let role = role(&file);
    let custom =
        entry(json!({"type": "custom", "module": "spaced.inner", "config": {"k": "${KEY}"}}));
    let linear = entry(json!({"type": "linear", "token": "${TOKEN}", "approval": "required"}));
    let wanted = Wanted {
        role: &role,
        entries: vec![&custom, &linear],
        types: Types::default(),
        sites: Vec::new(),
        depth: Depth::Run,
    };
    let mut settings = PluginSettings::default();
    settings.grants.env = vec!["KEY".into(), "OTHER".into()];
    let plugin = plugin(&wanted, settings);
    let own = &plugin.settings.own;
    assert_eq!(own["variables"], json!(["KEY"]));
    assert_eq!(own["entries"][0]["module"], "spaced.inner");
    let config = json!({"token": "${TOKEN}", "approval": "required"});
    assert_eq!(own["entries"][1], json!({"type": "linear", "config": config}));
    let watched: Vec<String> = plugin
        .manifest
        .tools
        .iter()
        .map(|path| {
            let path = std::path::Path::new(path);
            path.strip_prefix(directory.path()).unwrap().display().to_string()
        })
        .collect();
    assert_eq!(watched, ["m.py", "pkg", "spaced"]);
}
