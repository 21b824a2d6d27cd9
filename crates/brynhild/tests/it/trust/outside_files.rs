//! Symlinks out of a project: their targets are neither obeyed nor shown.

use std::fs;
use std::os::unix::fs::symlink;

use testkit::Project;

use crate::project;

/// A project with a symlink of this name to a user's file with this text.
fn with_link(name: &str, text: &str) -> Project {
    let project = project();
    let own = project.home().join("own");
    fs::write(&own, text).unwrap();
    fs::create_dir_all(project.path().join(".brynhild")).unwrap();
    symlink(own, project.path().join(name)).unwrap();
    project
}

#[test]
fn settings_file_outside_is_reported_and_not_read() {
    for text in ["SECRET: 1\n", "machine h password SECRET: [\n", "models: {default: SECRET}\n"] {
        let project = with_link(".brynhild/config.yaml", text);
        for words in [&["config", "show"][..], &["tools", "list"], &["policy", "check", "ls"]] {
            let run = project.brynhild(words);
            run.code(2);
            assert!(run.stderr.contains("a symlink to a file outside the project, "), "{run}");
            assert!(!format!("{run}").contains("SECRET"), "{run}");
        }
        let safe = project.brynhild(&["--safe", "config", "show"]);
        assert!(!format!("{safe}").contains("SECRET"), "{safe}");
    }
}

#[test]
fn settings_directory_outside_is_not_read() {
    let project = project();
    let elsewhere = project.home().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::write(elsewhere.join("config.yaml"), "models: {default: SECRET}\n").unwrap();
    symlink(&elsewhere, project.path().join(".brynhild")).unwrap();
    let run = project.brynhild(&["config", "show"]);
    run.code(2);
    assert!(!format!("{run}").contains("SECRET"), "{run}");
    let shown = project.brynhild(&["trust"]);
    assert!(shown.stderr.contains(".brynhild (a symlink, not followed)"), "{shown}");
}

#[test]
fn env_file_outside_is_ignored_with_a_warning() {
    let project = with_link(".env", "BRYNHILD_MODELS__DEFAULT=SECRET\nBRYNHILD_SECRET=1\n");
    let run = project.brynhild(&["config", "show"]);
    run.success();
    assert!(run.stderr.contains(".env: it is a symlink to a file outside the project"), "{run}");
    assert!(!format!("{run}").contains("SECRET"), "{run}");
    // One that stays in the project is the project's word as before.
    let project = self::project();
    project.file("shared.env", "BRYNHILD_MODELS__DEFAULT=chosen\n");
    symlink("shared.env", project.path().join(".env")).unwrap();
    assert!(project.brynhild(&["config", "show"]).stdout.contains("default: chosen"));
}

#[test]
fn model_aliases_outside_are_not_read() {
    let project = with_link(".brynhild/model-aliases.yaml", "password SECRET: [\n");
    let project = project.env("OPENAI_API_KEY", "sk-test");
    let run = project.brynhild(&["api", "test", "--model", "any"]);
    assert!(run.stderr.contains("a symlink to a file outside the project"), "{run}");
    assert!(!format!("{run}").contains("SECRET"), "{run}");
}
