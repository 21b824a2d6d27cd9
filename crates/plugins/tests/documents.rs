//! The examples in the documentation and in `examples/` work as they stand.

use std::fs;
use std::path::{Path, PathBuf};

use plugins::{profiles, rules, skills};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The first fenced block of a language in a page.
fn block(page: &str, language: &str) -> String {
    let path = repository().join("docs").join(page);
    let text = fs::read_to_string(path).expect("the page exists");
    text.split_once(&format!("```{language}\n"))
        .and_then(|(_, rest)| rest.split_once("```"))
        .map(|(block, _)| block.to_owned())
        .expect("the page has such a block")
}

#[test]
fn the_example_skill_is_valid_and_complete() {
    let place = repository().join("examples/skills");
    assert_eq!(skills::validate(&place.join("release-notes")), []);
    let found =
        skills::discover(&skills::Places { custom: vec![place], ..skills::Places::default() });
    assert_eq!(found.problems, []);
    let skill = found.skills.iter().find(|s| s.name == "release-notes");
    let skill = skill.unwrap();
    for path in [&skills::references(skill)[..], &skills::scripts(skill)[..]].concat() {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(skill.body.contains(name), "{name} is not mentioned");
    }
    assert_eq!(skills::references(skill).len(), 1);
    assert_eq!(skills::scripts(skill).len(), 1);
}

#[test]
fn the_skill_on_the_page_about_skills_is_valid() {
    let project = tempfile::tempdir().unwrap();
    let place = project.path().join(".brynhild/skills");
    let folder = place.join("code-review");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), block("skills.md", "markdown")).unwrap();
    assert_eq!(skills::validate(&folder), []);
    let found =
        skills::discover(&skills::Places { project: vec![place], ..skills::Places::default() });
    assert!(skills::prompt_block(&found.skills).contains("\n**code-review**: Reviews"));
}

#[test]
fn the_file_on_the_page_about_rules_reaches_the_model() {
    let project = tempfile::tempdir().unwrap();
    let text = block("rules.md", "markdown");
    fs::write(project.path().join("AGENTS.md"), &text).unwrap();
    let found = rules::load(&rules::Places {
        global: None,
        root: project.path().to_path_buf(),
        cwd: project.path().to_path_buf(),
    });
    assert!(rules::prompt_block(&found.rules).contains(text.trim()));
}

#[test]
fn the_profile_on_the_page_about_profiles_does_what_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("qwen.yaml"), block("profiles.md", "yaml")).unwrap();
    let (profiles, problems) = profiles::load(&[folder.path().to_path_buf()]);
    assert_eq!(problems, []);
    let profile = profiles::resolve(&profiles, "qwen3:8b", "ollama");
    assert_eq!(profile.name, "my-qwen");
    let prompt = profile.wrap_system_prompt("base");
    assert!(prompt.starts_with("# Answers") && prompt.ends_with("base"));
}

#[test]
fn the_page_about_profiles_lists_every_key() {
    let page = fs::read_to_string(repository().join("docs/profiles.md")).unwrap();
    let profile = contract::model_profile::ModelProfile::default();
    let serde_json::Value::Object(keys) = serde_json::to_value(profile).unwrap() else {
        panic!("a profile is an object");
    };
    for key in keys.keys() {
        assert!(page.contains(&format!("`{key}`")), "{key}");
    }
}
