//! The examples in the documentation and in `examples/` work as they stand.

use std::fs;
use std::path::{Path, PathBuf};

use plugins::directories::Directories;
use plugins::discovery::Trust;
use plugins::index::Index;
use plugins::offer::Contributions;
use plugins::plugin::Place;
use plugins::{commands, discovery, manifest, profiles, rules, skills};

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
    let found = skills::discover(
        &skills::Places { custom: vec![place], ..skills::Places::default() },
        &Contributions::default(),
    );
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
    let directory = place.join("code-review");
    fs::create_dir_all(&directory).unwrap();
    let text = format!("---\n{}", block("guides/rules-and-skills.md", "markdown\n---"));
    fs::write(directory.join("SKILL.md"), text).unwrap();
    assert_eq!(skills::validate(&directory), []);
    let found = skills::discover(
        &skills::Places { project: vec![place], ..skills::Places::default() },
        &Contributions::default(),
    );
    assert!(skills::prompt_block(&found.skills).contains("\n**code-review**: Reviews"));
}

#[test]
fn the_file_on_the_page_about_rules_reaches_the_model() {
    let project = tempfile::tempdir().unwrap();
    let text = block("guides/rules-and-skills.md", "markdown");
    fs::write(project.path().join("AGENTS.md"), &text).unwrap();
    let found = rules::load(
        &rules::Places {
            global: None,
            root: project.path().to_path_buf(),
            cwd: project.path().to_path_buf(),
        },
        &Contributions::default(),
    );
    assert!(rules::prompt_block(&found.rules).contains(text.trim()));
}

#[test]
fn documented_profile_works_as_described() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("qwen.yaml"), block("reference/profiles.md", "yaml")).unwrap();
    let (profiles, problems) =
        profiles::load(&[directory.path().to_path_buf()], &Contributions::default());
    assert_eq!(problems, []);
    let profile = profiles::resolve(&profiles, "qwen3:8b", "ollama");
    assert_eq!(profile.name, "my-qwen");
    let passage = profile.opening().into_iter().find(|passage| !passage.is_empty());
    assert!(passage.is_some_and(|passage| passage.starts_with("# Answers")));
}

#[test]
fn the_page_about_profiles_lists_every_key() {
    let page = fs::read_to_string(repository().join("docs/reference/profiles.md")).unwrap();
    let profile = profiles::ModelProfile::default();
    let serde_json::Value::Object(keys) = serde_json::to_value(profile).unwrap() else {
        panic!("a profile is an object");
    };
    for key in keys.keys() {
        assert!(page.contains(&format!("`{key}`")), "{key}");
    }
}

#[test]
fn the_example_plugins_are_valid_and_whole() {
    let place = repository().join("examples/plugins");
    for entry in fs::read_dir(&place).unwrap() {
        let root = entry.unwrap().path();
        // Without a manifest of ours it belongs to another system.
        if !root.join("plugin.yaml").exists() {
            continue;
        }
        let validation = manifest::validate(&root);
        assert!(validation.errors.is_empty(), "{:?}", validation.errors);
        assert!(validation.warnings.is_empty(), "{:?}", validation.warnings);
        let directory = root.file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(validation.manifest.unwrap().name, directory);
    }
    let places = [(place, Place::Configured)];
    let (directories, mut index) = (Directories::default(), Index::default());
    let found = discovery::discover(&places, (&directories, &mut index), &|_, _| Trust::Given);
    assert_eq!((found.problems, found.notes), (vec![], vec![]));
    let plugins = found.plugins.iter().collect();
    let contributions = Contributions { plugins, ..Contributions::default() };
    let commands = commands::discover(&commands::Places::default(), &contributions);
    assert_eq!(commands.problems, []);
    assert!(commands.commands.iter().any(|command| command.name == "review"));
    let (profiles, problems) = profiles::load(&[], &contributions);
    assert_eq!(problems, []);
    assert_eq!(profiles::resolve(&profiles, "qwen2.5-coder:7b", "ollama").name, "small-qwen-coder");
    let skills = skills::discover(&skills::Places::default(), &contributions);
    assert_eq!(skills.problems, []);
    let changelog = skills.skills.iter().find(|skill| skill.name == "changelog").unwrap();
    assert_eq!(skills::validate(changelog.directory.as_ref().unwrap()), []);
}

#[test]
fn the_plugin_on_the_page_about_plugins_works() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("todo");
    fs::create_dir_all(root.join("commands")).unwrap();
    fs::write(root.join("plugin.yaml"), block("extend/first-plugin.md", "yaml")).unwrap();
    fs::write(root.join("commands/todo.md"), block("extend/first-plugin.md", "markdown")).unwrap();
    let validation = manifest::validate(&root);
    assert!(validation.errors.is_empty() && validation.warnings.is_empty());
    let command = block("extend/slash-commands.md", "markdown");
    fs::write(root.join("commands/deploy.md"), command).unwrap();
    let places = commands::Places { global: Some(root.join("commands")), ..Default::default() };
    let found = commands::discover(&places, &Contributions::default());
    assert_eq!(found.problems, []);
    let names: Vec<&str> = found.commands.iter().map(|command| command.name.as_str()).collect();
    assert_eq!(names, ["deploy", "todo"]);
}
