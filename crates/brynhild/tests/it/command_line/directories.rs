//! Starts outside of any project, without a home, and in a deleted directory.

use std::fs;
use std::path::Path;

use testkit::Project;

use super::LOOKING;
use crate::project;

#[test]
fn commands_without_a_project_work_in_the_home_and_root() {
    let project = project();
    for place in [project.home(), "/".into(), "/tmp".into()] {
        for line in LOOKING.iter().chain(&["demo", "skill validate no-skill"]) {
            let words: Vec<&str> = line.split(' ').collect();
            let run = project.command(&words).cwd(&place).run();
            run.code(i32::from(line.starts_with("skill validate")));
        }
    }
}

#[test]
fn commands_with_a_project_refuse_a_too_wide_directory() {
    let project = project();
    for place in [project.home(), "/".into()] {
        for line in [
            "chat --provider script --model demo hello",
            "tools exec Read --input {\"file_path\":\"x\"}",
            "sandbox run -- true",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let run = project.command(&words).cwd(&place).run();
            run.code(2);
            let place = place.canonicalize().unwrap();
            let told = format!("error: {} is not a project directory", place.display());
            assert!(run.stderr.starts_with(&told), "{run}");
            assert!(run.stderr.contains("BRYNHILD_PROJECT_ROOT"), "{run}");
        }
    }
}

#[test]
fn too_wide_directory_has_no_skills_and_rules() {
    let project = project();
    let skill = "---\nname: stray\ndescription: Lies about.\n---\n\nDo it.\n";
    let directory = project.home().join(".brynhild/skills/stray");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("SKILL.md"), skill).unwrap();
    fs::write(project.home().join("AGENTS.md"), "Stray rules.\n").unwrap();
    fs::create_dir_all(project.config_directory().join("rules")).unwrap();
    fs::write(project.config_directory().join("rules/mine.md"), "My rules.\n").unwrap();
    let home = project.home();
    let list = project.command(&["skill", "list"]).cwd(&home).run();
    assert!(!list.stdout.contains("stray"), "{list}");
    let rules = project.command(&["rules", "show"]).cwd(&home).run();
    assert!(rules.stdout.contains("My rules.") && !rules.stdout.contains("Stray"), "{rules}");
}

/// A project in which programs run without a home.
fn homeless() -> (Project, Vec<&'static str>) {
    let project = Project::with_binary("/usr/bin/env");
    (project, vec!["-u", "HOME", env!("CARGO_BIN_EXE_brynhild")])
}

#[test]
fn commands_that_store_nothing_work_without_a_home() {
    let (project, start) = homeless();
    for line in LOOKING.iter().filter(|line| !line.starts_with("session")) {
        let words: Vec<&str> = start.iter().copied().chain(line.split(' ')).collect();
        let run = project.brynhild(&words);
        run.success();
        assert!(!run.stderr.contains("panicked"), "{line}: {run}");
    }
}

#[test]
fn missing_home_error_names_the_environment_variable() {
    let (project, start) = homeless();
    for line in ["session list", "session show last"] {
        let words: Vec<&str> = start.iter().copied().chain(line.split(' ')).collect();
        let run = project.brynhild(&words);
        run.code(2);
        assert!(run.stderr.contains("hint: set HOME or BRYNHILD_CONFIG_DIR"), "{line}: {run}");
        let own = project.path().join("own");
        let run = project.command(&words).env("BRYNHILD_CONFIG_DIR", &own);
        let run = run.env("BRYNHILD_LOGGING__ENABLED", "false").run();
        assert!(!run.stderr.contains("HOME"), "{line}: {run}");
    }
}

#[test]
fn deleted_working_directory_is_reported() {
    let project = Project::with_binary("/bin/sh");
    let script = format!(
        "mkdir gone && cd gone && rmdir ../gone && {} config",
        env!("CARGO_BIN_EXE_brynhild")
    );
    let run = project.brynhild(&["-c", &script]);
    run.code(2);
    assert!(run.stderr.starts_with("error: "), "{run}");
}

#[test]
fn a_project_is_found_from_a_directory_in_it() {
    let project = project();
    project.file("Cargo.toml", "").file("src/deep/a.txt", "mango\n");
    let read = ["tools", "exec", "Read", "--input", r#"{"file_path":"src/deep/a.txt"}"#];
    let run = project.command(&read).cwd("src/deep").run();
    run.success();
    assert!(run.stdout.contains("mango"), "{run}");
    let run = project.command(&["config", "--json"]).cwd("src/deep").run();
    assert_eq!(run.json()["project_root"], project.path().to_str().unwrap());
    let other = project.path().join("src");
    let run = project.command(&["config", "--json"]).env("BRYNHILD_PROJECT_ROOT", &other).run();
    assert_eq!(run.json()["project_root"], other.to_str().unwrap());
    assert!(Path::new(&other).is_dir());
}
