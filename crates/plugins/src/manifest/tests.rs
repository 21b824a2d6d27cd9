use std::fs;

use serde_json::json;

use super::*;
use crate::plugin::NetworkPermission;

fn parsed(text: &str) -> Read {
    parse(text, Path::new("plugin.yaml"))
}

fn complaint(text: &str) -> String {
    let problem = parsed(text).problem.expect("a problem");
    format!("{} | {}", problem.what, problem.hint)
}

#[test]
fn a_whole_manifest_is_read() {
    let read = parsed(
        "name: my-plugin\nversion: \"1.2\"\ndescription: Does it\nauthor: Me\nlicense: MIT\n\
         commands: [a]\ntools: [b]\nhooks: true\nskills: [c]\nproviders: [d]\nrules: [e]\n\
         brynhild_version: \">=0.1.0\"\ndependencies: [httpx]\n\
         sandbox: {network: [api.example.com], read: [/data], write: ['~/x'], env: [KEY], exec: [node]}\n",
    );
    assert_eq!((&read.problem, read.notes.len()), (&None, 0));
    let manifest = read.manifest.unwrap();
    assert_eq!((manifest.name.as_str(), manifest.version.as_str()), ("my-plugin", "1.2"));
    assert!(manifest.hooks);
    assert_eq!(manifest.dependencies, ["httpx"]);
    assert_eq!(manifest.sandbox.network, NetworkPermission::Hosts(vec!["api.example.com".into()]));
    assert_eq!(manifest.sandbox.write, [Path::new("~/x")]);
}

#[test]
fn unquoted_version_is_read_literally() {
    for (typed, version) in [("1.0", "1.0"), ("1.10  # ten", "1.10"), ("2", "2")] {
        let read = parsed(&format!("name: a\nversion: {typed}\n"));
        assert_eq!(read.manifest.unwrap().version, version);
        assert_eq!(read.problem, None);
        assert!(read.notes[0].what.starts_with("line 2: "), "{:?}", read.notes);
    }
}

#[test]
fn unknown_key_gets_a_suggestion() {
    let text = "name: a\nversion: '1'\ndesciption: x\nhomepage: y\nprofiles: [z]\n";
    assert!(parsed(text).manifest.is_some());
    let words = complaint(text);
    assert!(words.contains("line 3: `desciption` is not a key"), "{words}");
    assert!(words.contains("did you mean `description`?"), "{words}");
    assert!(words.contains("line 4: `homepage`"), "{words}");
    assert!(words.contains("every file in the plugin's `profiles` directory is loaded"), "{words}");
}

#[test]
fn unusable_manifest_is_one_message() {
    let table = [
        ("", "line 1: the manifest is empty"),
        ("- a\n", "line 1: the manifest is not a mapping"),
        ("name: [\n", "this is not YAML"),
        ("version: '1'\n", "`name` is missing"),
        ("name: a\n", "`version` is missing"),
        ("name: My_Plugin\nversion: '1'\n", "line 1: the name \"My_Plugin\" has other characters"),
        ("name: 7\nversion: '1'\n", "line 1: `name` is not text"),
        ("name: -a\nversion: '1'\n", "begins or ends with a hyphen"),
        ("name: a\nversion: [1]\n", "line 2: `version` is not text"),
        ("name: a\nname: b\nversion: '1'\n", "line 2: this is not YAML: duplicate key name"),
    ];
    for (text, wanted) in table {
        assert!(parsed(text).manifest.is_none(), "{text}");
        let words = complaint(text);
        assert!(words.contains(wanted) && words.contains("left out"), "{text}: {words}");
    }
}

#[test]
fn each_invalid_field_is_one_message() {
    let text = "name: a\nversion: '1'\ndescription: [x]\nauthor: 1\nlicense: {}\ncommands: 3\n\
                tools: [1, t]\nhooks: 'yes'\nskills: true\nproviders: {a: b}\nrules: one\n\
                brynhild_version: '>=99'\ndependencies: 1\nsandbox: {network: maybe, write: 3, x: 1}\n";
    let read = parsed(text);
    let manifest = read.manifest.unwrap();
    assert_eq!(manifest.tools, ["t"]);
    assert_eq!(manifest.rules, ["one"]);
    assert!(!manifest.hooks);
    let words = read.problem.unwrap().what;
    for line in [3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14] {
        assert!(words.contains(&format!("line {line}: ")), "{line}: {words}");
    }
    assert!(words.contains("`sandbox.x` is not known"), "{words}");
    assert!(words.contains("`sandbox.network` is neither true, false nor"), "{words}");
    assert_eq!(manifest.sandbox.network, NetworkPermission::None);
}

#[test]
fn reserved_plugin_name_is_reported() {
    let words = complaint("name: python\nversion: '1'\n");
    assert!(words.contains("is a key of the configuration"), "{words}");
}

#[test]
fn hidden_characters_are_removed() {
    let read = parsed("name: a\nversion: '1'\ndescription: \"x\\u202ey\"\n");
    assert_eq!(read.manifest.unwrap().description, "xy");
    assert!(read.problem.unwrap().what.contains("U+202E"));
}

#[test]
fn grants_and_requests_are_read_alike() {
    let (permissions, faults) = permissions(&json!({"network": true, "env": "KEY", "write": [1]}));
    assert_eq!(permissions.network, NetworkPermission::All);
    assert_eq!(permissions.env, ["KEY"]);
    assert_eq!(faults, ["`sandbox.write` is not a list of texts"]);
}

#[test]
fn network_request_survives_encoding() {
    for permission in [
        NetworkPermission::None,
        NetworkPermission::All,
        NetworkPermission::Hosts(vec!["a".into()]),
    ] {
        let text = serde_json::to_string(&permission).unwrap();
        assert_eq!(serde_json::from_str::<NetworkPermission>(&text).unwrap(), permission);
    }
}

#[test]
fn validation_names_missing_and_undeclared_parts() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let manifest = "name: a\nversion: 1.0\ncommands: [c]\ntools: [t]\nskills: [s]\nhooks: true\n";
    fs::write(root.join(FILE), manifest).unwrap();
    fs::create_dir(root.join("providers")).unwrap();
    fs::write(root.join("providers/p.py"), "").unwrap();
    let validation = validate(&root.join(FILE));
    assert!(validation.errors.is_empty());
    let words: Vec<&str> = validation.warnings.iter().map(|it| it.what.as_str()).collect();
    let wanted = [
        "line 2: `version: 1.0` is a number and is read as text",
        "Declared command not found: c.md",
        "Declared tool not found: t.py",
        "Declared skill not found: s/SKILL.md",
        "Plugin declares hooks but hooks.yaml missing",
        "the directory `providers` has no effect, as the manifest declares no providers",
    ];
    assert_eq!(words, wanted);
}

#[test]
fn missing_directory_or_manifest_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let missing = validate(&directory.path().join("none"));
    assert!(missing.errors[0].what.starts_with("Plugin directory not found: "));
    let empty = validate(directory.path());
    assert_eq!(empty.errors[0].what, "Plugin manifest not found");
}

#[test]
fn network_accepts_only_hosts() {
    let asked = |network: &str| {
        parsed(&format!("name: a\nversion: '1'\nsandbox: {{network: {network}}}\n"))
    };
    let problem = asked("maybe").problem.expect("a problem");
    assert!(problem.what.contains("`sandbox.network` is neither true, false nor"), "{problem}");
    for host in ["api.example.com", "localhost", "[intranet]"] {
        let read = asked(host);
        assert_eq!(read.problem, None, "{host}");
        assert!(
            matches!(read.manifest.unwrap().sandbox.network, NetworkPermission::Hosts(_)),
            "{host}"
        );
    }
}

#[test]
fn style_notes_are_one_message() {
    let read = parsed("name: a\nversion: 1.0\ncommands: x\nskills: s\ndependencies: six\n");
    assert_eq!(read.notes.len(), 1, "{:?}", read.notes);
    assert!(read.notes[0].what.contains("line 2: ") && read.notes[0].what.contains("line 5: "));
}

#[test]
fn reference_lists_every_key_of_a_manifest() {
    use std::fmt::Write as _;
    let meaning = |key: &str| match key {
        "name" => "1 to 64 lower-case letters, digits and hyphens; required",
        "version" => "text; required. A bare number is read as text, with a note",
        "description" => "text, up to 1024 characters",
        "author" | "license" => "text",
        "commands" | "skills" | "rules" | "providers" => "a list of names",
        "tools" => "a list of names, or of mappings with `type: api`",
        "hooks" => "`true` if there is a `hooks.yaml`",
        "brynhild_version" => {
            "the versions it works with, such as `\">=0.1.0\"`; another one causes a warning"
        }
        "dependencies" => "Python packages, as `pip` writes them",
        "sandbox" => "access that it requests: `network`, `read`, `write`, `env`, `exec`",
        other => panic!("`{other}` needs a meaning"),
    };
    let mut table = String::from("| key | meaning |\n|---|---|\n");
    for key in fields::KEYS {
        writeln!(table, "| `{key}` | {} |", meaning(key)).unwrap();
    }
    crate::tests::fixture::check_reference("manifest.md", "keys", &table);
}
