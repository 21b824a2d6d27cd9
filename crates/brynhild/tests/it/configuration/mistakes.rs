//! Mistakes in a configuration are reported once, with their place and a hint.

use std::fs;

use testkit::Project;

use super::warnings;
use crate::project;

#[test]
fn unknown_key_is_one_warning_with_a_suggestion() {
    let project = project();
    project.config("version: 1\nbehavior:\n  max_token: 100\nsandbx: {}\nnothing_like_it: 1\n");
    let file = project.config_directory().join("config.yaml");
    let file = file.display();
    let expected = [
        format!("{file}:3: unknown key `behavior.max_token` (did you mean `max_tokens`?)"),
        format!("{file}:4: unknown key `sandbx` (did you mean `sandbox`?)"),
        format!("{file}:5: unknown key `nothing_like_it`"),
    ];
    for command in ["config", "tools list", "session list", "models aliases", "demo --json"] {
        let words: Vec<&str> = command.split(' ').collect();
        let run = project.brynhild(&words);
        run.success();
        assert_eq!(warnings(&run), expected, "{command}: {run}");
    }
}

#[test]
fn unknown_environment_variable_gets_a_suggestion() {
    let project = project()
        .env("BRYNHILD_BEHAVIOR__MAX_TOKEN", "5")
        .env("BRYNHILD_SANDBX__ENABLED", "true")
        .env("BRYNHILD_DEBUG", "1");
    let run = project.brynhild(&["config"]);
    run.success();
    let place = |name: &str| format!("environment variable {name}: {name} is not a setting ");
    let expected = [
        place("BRYNHILD_BEHAVIOR__MAX_TOKEN") + "(did you mean `BRYNHILD_BEHAVIOR__MAX_TOKENS`?)",
        place("BRYNHILD_SANDBX__ENABLED") + "(did you mean `BRYNHILD_SANDBOX__ENABLED`?)",
    ];
    let found: Vec<String> = warnings(&run)
        .iter()
        .map(|line| line.replacen("environment variable BRYNHILD", "BRYNHILD", 1))
        .collect();
    for (found, expected) in found.iter().zip(&expected) {
        let expected = expected.split_once(": ").unwrap().1;
        assert!(found.ends_with(expected), "{found} / {expected}");
    }
    assert_eq!(found.len(), 2, "{run}");
}

#[test]
fn renamed_environment_variables_are_errors() {
    for (old, modern) in [
        ("BRYNHILD_MODEL", "BRYNHILD_MODELS__DEFAULT"),
        ("BRYNHILD_PROVIDER", "BRYNHILD_PROVIDERS__DEFAULT"),
        ("BRYNHILD_LOG_DIR", "BRYNHILD_LOGGING__DIR"),
        ("BRYNHILD_DISABLED_TOOLS", "BRYNHILD_TOOLS__DISABLED="),
    ] {
        let project = project().env(old, "x");
        let run = project.brynhild(&["config"]);
        run.code(2);
        assert!(run.stderr.contains(old) && run.stderr.contains(modern), "{run}");
        let run = project.command(&["config"]).env("BRYNHILD_SKIP_MIGRATION_CHECK", "1").run();
        run.success();
    }
    project().command(&["config"]).env("BRYNHILD_MODEL", "").run().success();
}

/// Runs `config` with a user file of this text: exit code 2 and a message that names the file.
fn refused(text: &[u8]) -> String {
    let project = project();
    let file = project.config_directory().join("config.yaml");
    fs::create_dir_all(project.config_directory()).unwrap();
    fs::write(&file, text).unwrap();
    let run = project.brynhild(&["config"]);
    run.code(2);
    assert_eq!(run.stdout, "", "{run}");
    assert!(run.stderr.contains(&file.display().to_string()), "{run}");
    run.stderr.clone()
}

#[test]
fn a_broken_file_stops_the_program_with_its_line() {
    for (text, parts) in [
        (
            "version: 1\nmodels: [a\n",
            &["invalid YAML: the bracket `[` is never closed at line 2"] as &[&str],
        ),
        ("a: 1\na: 2\n", &["invalid YAML", "duplicate key", "line 2"]),
        ("- a\n- b\n", &["config must be a YAML mapping (dict), got list"]),
        ("just words\n", &["config must be a YAML mapping (dict), got str"]),
        (
            "behavior:\n  max_tokens: many\n",
            &["line 2", "behavior.max_tokens is \"many\"", "200000"],
        ),
        ("behavior: {max_tokens: 0}\n", &["line 1", "from 1 to 200000"]),
        ("behavior: {mode: wild}\n", &["one of read-only, ask, normal, yolo"]),
        ("sandbox:\n  enabled: maybe\n", &["line 2", "true or false"]),
        ("version: 2\n", &["version is 2, expected 1"]),
        ("models: {aliases: [a]}\n", &["models.aliases", "a mapping"]),
        ("x: !unknown 1\n", &["unknown tag", "!delete and !replace"]),
    ] {
        let told = refused(text.as_bytes());
        for part in parts {
            assert!(told.contains(part), "{part:?} is missing for {text:?}: {told}");
        }
    }
    assert!(refused(b"a: \xff\n").contains("UTF-8"));
    assert!(refused(&vec![b'#'; (1 << 20) + 1]).contains("1 MiB"));
}

#[test]
fn all_mistakes_are_reported() {
    let told = refused(b"behavior: {max_tokens: x, verbose: x}\nsession: {history_limit: -1}\n");
    for key in ["behavior.max_tokens", "behavior.verbose", "session.history_limit"] {
        assert!(told.contains(key), "{told}");
    }
}

#[test]
fn provider_without_a_type_gets_a_hint() {
    let told = refused(b"providers:\n  mine:\n    base_url: http://localhost:1\n");
    assert!(told.contains("line 2") && told.contains("type: openai"), "{told}");
}

#[test]
fn invalid_environment_variable_is_reported() {
    let run = project().command(&["config"]).env("BRYNHILD_BEHAVIOR__MAX_TOKENS", "x").run();
    run.code(2);
    assert!(run.stderr.contains("BRYNHILD_BEHAVIOR__MAX_TOKENS"), "{run}");
    let run = project().command(&["config"]).env("BRYNHILD_TOOLS__DISABLED", "{\"Bash\"").run();
    run.code(2);
    assert!(run.stderr.contains("not valid JSON"), "{run}");
}

fn broken() -> Project {
    let project = project();
    project.file(".brynhild/config.yaml", "behavior:\n  mode: [\n");
    project
}

#[test]
fn broken_project_file_stops_the_program() {
    let project = broken();
    let run = project.brynhild(&["tools", "list"]);
    run.code(2);
    assert!(run.stderr.contains("project/.brynhild/config.yaml: invalid YAML"), "{run}");
    assert!(run.stderr.contains("hint: `brynhild config path`"), "{run}");
}

#[test]
fn config_path_works_with_a_broken_file() {
    let project = broken();
    let run = project.brynhild(&["config", "path"]);
    run.success();
    let file = project.path().join(".brynhild/config.yaml");
    assert!(run.stdout.contains(&format!("✓ Project: {}\n", file.display())), "{run}");
}

#[test]
fn broken_configuration_is_reported_as_json() {
    let run = broken().brynhild(&["config", "show", "--json"]);
    run.code(2);
    let answer = run.json();
    assert!(answer["error"].as_str().unwrap().contains("invalid YAML"), "{run}");
    assert!(answer["hint"].as_str().unwrap().contains("config path"), "{run}");
}

#[test]
fn commands_that_need_no_configuration_work_with_a_broken_one() {
    let project = broken();
    for command in ["--version", "--help", "chat --help", "schema", "man", "completions bash"] {
        let words: Vec<&str> = command.split(' ').collect();
        project.brynhild(&words).success();
    }
}

/// Commands that need nothing of a project.
const BESIDE: [&[&str]; 5] =
    [&["permissions"], &["session", "list"], &["sandbox", "doctor"], &["stats"], &["audit"]];

#[test]
fn broken_project_file_stops_only_commands_that_need_it() {
    let large = "A=1\n".repeat(300_000);
    for (name, bytes) in [
        (".env", &b"NAME=M\xfcller\n"[..]),
        (".env", large.as_bytes()),
        (".brynhild/config.yaml", b"a: [\n"),
    ] {
        let project = project();
        project.file(name, "");
        fs::write(project.path().join(name), bytes).unwrap();
        for words in BESIDE {
            let run = project.brynhild(words);
            assert_ne!(run.status.code(), Some(2), "{run}");
            assert!(
                run.stderr.contains("warning: ignored: this command does not need it"),
                "{run}"
            );
        }
        project.brynhild(&["chat", "go"]).code(2);
    }
    // Mistakes in the user's own file still stop the program.
    let project = project().env("BRYNHILD_ENV_FILE", "own.env");
    project.file("own.env", "");
    fs::write(project.path().join("own.env"), b"\xff\n").unwrap();
    project.brynhild(&["stats"]).code(2);
}

#[test]
fn relative_home_is_refused() {
    let project = project();
    let run = project.command(&["session", "list"]).env("HOME", "rel").run();
    assert!(run.code(2).stderr.contains("HOME is `rel`, and must be an absolute path"), "{run}");
    assert!(!project.path().join("rel").exists());
}
