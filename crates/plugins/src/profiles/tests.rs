use std::fs;

use super::*;

fn profile(name: &str, family: &str) -> ModelProfile {
    ModelProfile { name: name.into(), family: family.into(), ..ModelProfile::default() }
}

fn load_files(files: &[(&str, &str)]) -> (Vec<ModelProfile>, Vec<Problem>) {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    load(&[directory.path().to_path_buf()], &Contributions::default())
}

fn only_problem(text: &str) -> Problem {
    let (profiles, problems) = load_files(&[("p.yaml", text)]);
    assert_eq!(profiles.len(), 3, "the file was taken: {text}");
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems[0].clone()
}

#[test]
fn the_built_in_profiles_are_complete() {
    let (profiles, problems) = load(&[], &Contributions::default());
    assert_eq!(problems, []);
    assert_eq!(find(&profiles, "default").unwrap(), &{
        let mut plain = profile("default", "");
        plain.description = profiles[0].description.clone();
        plain
    });
    for (name, minimum) in [("gpt-oss-120b", 300), ("gpt-oss-120b-fast", 150)] {
        let profile = find(&profiles, name).unwrap();
        assert_eq!(profile.family, "gpt-oss");
        assert_eq!(profile.min_max_tokens, Some(minimum));
        assert!(profile.enable_tool_recovery);
        assert!(!profile.description.is_empty());
        let mut enabled = profile.enabled_patterns.clone();
        enabled.sort();
        let written: Vec<_> = profile.prompt_patterns.keys().cloned().collect();
        assert_eq!(enabled, written, "{name}");
    }
    let count = |name| find(&profiles, name).unwrap().enabled_patterns.len();
    assert!(count("gpt-oss-120b-fast") < count("gpt-oss-120b"));
}

#[test]
fn the_longest_built_in_prompt_stays_small() {
    let (profiles, _) = load(&[], &Contributions::default());
    let length = find(&profiles, "gpt-oss-120b").unwrap().opening().concat().len();
    assert!(length < 5000, "{length}");
}

#[test]
fn a_model_is_matched_by_name_first() {
    let profiles = [
        profile("default", ""),
        profile("a", "llama"),
        profile("openrouter/llama-3", ""),
        profile("llama-3", ""),
    ];
    let name = |model, provider| resolve(&profiles, model, provider).name.as_str();
    assert_eq!(name("meta/LLAMA:3", "openrouter"), "llama-3");
    assert_eq!(name("x/y/llama-3", "ollama"), "llama-3");
}

#[test]
fn model_matches_by_provider_name_then_family() {
    let profiles = [
        profile("default", ""),
        profile("any", "llama"),
        profile("more", "llama-3"),
        profile("openrouter/llama-3", ""),
    ];
    let name = |model, provider| resolve(&profiles, model, provider).name.as_str();
    assert_eq!(name("llama:3", "OpenRouter"), "openrouter/llama-3");
    assert_eq!(name("llama:3", "ollama"), "any");
    assert_eq!(name("qwen", "ollama"), "default");
    assert_eq!(name("", ""), "default");
    assert_eq!(name("my-llama", "ollama"), "default");
}

#[test]
fn gpt_oss_models_of_every_vendor_get_their_profile() {
    let (profiles, _) = load(&[], &Contributions::default());
    let name = |model| resolve(&profiles, model, "ollama").name.as_str();
    assert_eq!(name("openai/gpt-oss-120b"), "gpt-oss-120b");
    assert_eq!(name("gpt-oss:20b"), "gpt-oss-120b");
    assert_eq!(name("gpt-oss-120b-fast"), "gpt-oss-120b-fast");
    assert_eq!(name("openai/gpt-oss-120b:free"), "gpt-oss-120b");
    assert_eq!(name("openai/gpt-5"), "default");
}

#[test]
fn default_profile_applies_without_files() {
    assert_eq!(resolve(&[], "gpt-oss", "ollama").name, "default");
}

#[test]
fn a_file_gives_a_profile_and_leaves_the_rest_at_its_default() {
    let text = "name: mine\nfamily: qwen\ndefault_temperature: 0\nmin_max_tokens: 500\n\
                api_params:\n  top_p: 0.9\n";
    let (profiles, problems) = load_files(&[("p.yaml", text)]);
    assert_eq!(problems, []);
    let mine = find(&profiles, "mine").unwrap();
    assert!(mine.default_temperature.abs() < f64::EPSILON);
    assert_eq!(mine.min_max_tokens, Some(500));
    assert_eq!(mine.api_params["top_p"], 0.9);
    assert_eq!(mine.default_max_tokens, 8192);
    assert_eq!(resolve(&profiles, "qwen3:8b", "ollama").name, "mine");
}

#[test]
fn user_profile_overrides_a_built_in_one() {
    let (profiles, problems) = load_files(&[
        ("a.yaml", "name: default\ndefault_max_tokens: 5\n"),
        ("b.yml", "name: all-gpt-oss\nfamily: gpt-oss\n"),
    ]);
    assert_eq!(resolve(&profiles, "x", "y").default_max_tokens, 5);
    assert_eq!(resolve(&profiles, "gpt-oss:20b", "y").name, "all-gpt-oss");
    assert_eq!(profiles.len(), 4);
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0]
            .to_string()
            .ends_with("a.yaml: the profile `default` takes the place of the built-in one"),
        "{}",
        problems[0]
    );
}

#[test]
fn later_profile_file_of_a_name_wins() {
    let (profiles, problems) = load_files(&[
        ("a.yaml", "name: x\ndescription: first\n"),
        ("b.yaml", "name: x\ndescription: second\n"),
    ]);
    assert_eq!(find(&profiles, "x").unwrap().description, "second");
    assert_eq!(problems.len(), 1);
}

#[test]
fn invalid_profiles_are_skipped_with_line_and_reason() {
    let problem = only_problem("name: x\ntemprature: 1\n");
    assert_eq!(problem.what, "line 2: unknown key `temprature`");
    let problem = only_problem("name: x\nsupports_tool: true\n");
    assert_eq!(problem.hint, "did you mean `supports_tools`?");
    assert!(only_problem("name: x\nsupports_tools: maybe\n").what.starts_with("line 2: "));
    assert!(only_problem("name: [\n").what.starts_with("line 1: "));
    for text in ["", "- a\n", "family: x\n", "name: ' '\n"] {
        assert_eq!(only_problem(text).what, "the profile has no `name`", "{text}");
    }
}

#[test]
fn enabled_pattern_without_text_is_reported() {
    let (profiles, problems) = load_files(&[("p.yaml", "name: x\nenabled_patterns: [gone]\n")]);
    assert!(find(&profiles, "x").is_some());
    assert!(problems[0].what.contains("`gone`"));
}

#[test]
fn huge_binary_and_irregular_files_are_skipped() {
    let directory = tempfile::tempdir().unwrap();
    let huge = fs::File::create(directory.path().join("huge.yaml")).unwrap();
    huge.set_len(100 << 20).unwrap();
    fs::write(directory.path().join("binary.yaml"), [0xff, 0xfe]).unwrap();
    fs::create_dir(directory.path().join("directory.yaml")).unwrap();
    fs::write(directory.path().join("notes.txt"), "not a profile").unwrap();
    let (profiles, problems) = load(&[directory.path().to_path_buf()], &Contributions::default());
    assert_eq!((profiles.len(), problems.len()), (3, 3), "{problems:?}");
}

#[test]
fn missing_profile_directory_is_accepted() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(load(&[directory.path().join("none")], &Contributions::default()).1, []);
}
