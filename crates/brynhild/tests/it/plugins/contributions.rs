//! Skills, rules and profiles of plugins, as the model gets them.

use std::fs;

use serde_json::json;
use testkit::{ModelServer, Reply};

use super::{global, plugin, write};
use crate::{project, project_with};

#[test]
fn plugin_skills_and_rules_reach_the_model_in_order() {
    let server = ModelServer::start([
        Reply::calls([("LearnSkill", json!({"skill": "one-skill"}))]),
        Reply::text("learned"),
    ]);
    let project = project_with(&server);
    plugin(&global(&project), "one");
    write(&project.config_directory().join("rules/mine.md"), "GLOBAL RULE");
    project.file("AGENTS.md", "PROJECT RULE").file("CLAUDE.md", "OTHER RULE");
    project.brynhild(&["chat", "go"]).success();
    let chats = server.chats();
    let system = chats[0].body["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(system.contains("**one-skill**: Skill of one"), "{system}");
    let at = |text: &str| system.find(text).unwrap_or_else(|| panic!("{text}: {system}"));
    let order = ["GLOBAL RULE", "Rule of one", "PROJECT RULE", "OTHER RULE"].map(at);
    assert!(order.is_sorted(), "{system}");
    let learned = chats[1].body["messages"].to_string();
    assert!(learned.contains("Body of one"), "{learned}");
}

#[test]
fn skill_is_labeled_and_project_skill_wins() {
    let project = project();
    plugin(&global(&project), "one");
    let source = || {
        let show = project.brynhild(&["skill", "show", "one-skill", "--json"]).json();
        show["source"].as_str().unwrap().to_owned()
    };
    assert_eq!(source(), "plugin:one");
    let skill = "---\nname: one-skill\ndescription: mine\n---\nb\n";
    write(&project.config_directory().join("skills/one-skill/SKILL.md"), skill);
    assert_eq!(source(), "plugin:one");
    project.file(".brynhild/skills/one-skill/SKILL.md", skill);
    assert_eq!(source(), "project");
}

#[test]
fn plugin_without_declared_skills_adds_none() {
    let project = project();
    plugin(&global(&project), "one");
    let manifest = global(&project).join("one/plugin.yaml");
    let text = fs::read_to_string(&manifest).unwrap().replace("skills: [s]\n", "");
    fs::write(&manifest, text).unwrap();
    let run = project.brynhild(&["skill", "list"]);
    assert!(!run.success().stdout.contains("one-skill"), "{run}");
}

#[test]
fn user_profile_overrides_a_plugin_profile() {
    let project = project();
    plugin(&global(&project), "one");
    plugin(&global(&project), "two");
    let resolve = |model: &str| project.brynhild(&["profile", "resolve", model]);
    assert_eq!(resolve("one-7b").success().stdout, "one-profile\n");
    write(&global(&project).join("two/profiles/p.yaml"), "name: one-profile\nfamily: two\n");
    let clash = resolve("two-7b");
    assert_eq!(clash.success().stdout, "default\n");
    assert!(clash.stderr.contains("the profile `one-profile` is left out"), "{clash}");
    write(
        &project.config_directory().join("profiles/own.yaml"),
        "name: one-profile\nfamily: mine\n",
    );
    assert_eq!(resolve("mine-1").success().stdout, "one-profile\n");
    assert_eq!(resolve("one-7b").success().stdout, "default\n");
}

#[test]
fn missing_or_outside_rule_files_are_reported() {
    let project = project();
    plugin(&global(&project), "one");
    let root = global(&project).join("one");
    fs::remove_file(root.join("rules/r.md")).unwrap();
    let run = project.brynhild(&["rules", "show"]);
    assert!(run.success().stderr.contains("declares rules that are not there"), "{run}");
    write(&project.home().join("secret.md"), "SECRET");
    std::os::unix::fs::symlink(project.home().join("secret.md"), root.join("rules/r.md")).unwrap();
    let run = project.brynhild(&["rules", "show"]);
    assert!(run.stderr.contains("points outside") && !run.stdout.contains("SECRET"), "{run}");
}

#[test]
fn long_description_loads_with_a_warning() {
    let project = project();
    let file = project.config_directory().join("skills/wordy/SKILL.md");
    let words = "word ".repeat(300);
    write(&file, &format!("---\nname: wordy\ndescription: {words}\n---\nbody\n"));
    let run = project.brynhild(&["skill", "list", "--json"]);
    let skills = run.success().json()["skills"].as_array().unwrap().clone();
    let skill = skills.iter().find(|skill| skill["name"] == "wordy").unwrap();
    assert_eq!(skill["description"].as_str().unwrap().len(), 1024);
    assert!(run.stderr.contains("line 3: `description` is longer than 1024 characters"), "{run}");
    let strict = project.brynhild(&["skill", "validate", file.parent().unwrap().to_str().unwrap()]);
    assert!(strict.code(1).stderr.contains("`description` has 1499 characters"), "{strict}");
}

#[test]
fn front_matter_with_unindented_lines_loads() {
    let project = project();
    let file = project.config_directory().join("skills/flat/SKILL.md");
    write(&file, "---\nname: flat\ndescription: Reviews code: all\nof it\n---\nbody\n");
    let run = project.brynhild(&["skill", "show", "flat", "--json"]);
    let skill = run.success().json();
    assert_eq!(skill["description"], "Reviews code: all of it", "{run}");
}

/// A skill that wants `touch` allowed.
const TOUCHING: &str = "---\nname: toucher\ndescription: Touches\nallowed-tools: Bash(touch:*), Nothing(\n---\nTouch it.\n";

fn touching() -> [Reply; 3] {
    [
        Reply::calls([("LearnSkill", json!({"skill": "toucher"}))]),
        Reply::calls([("Bash", json!({"command": "touch made"}))]),
        Reply::text("done"),
    ]
}

#[test]
fn active_skill_allows_only_its_tools() {
    let server = ModelServer::start(touching());
    let project = project_with(&server);
    write(&project.config_directory().join("skills/toucher/SKILL.md"), TOUCHING);
    let run = project.brynhild(&["chat", "--mode", "ask", "go", "--output-format", "stream-json"]);
    run.success();
    assert!(project.path().join("made").exists());
    assert!(run.stdout.contains("\"granted\":[\"Bash(touch:*)\"]"), "{run}");
    let server = ModelServer::start([
        Reply::calls([("LearnSkill", json!({"skill": "toucher"}))]),
        Reply::calls([("Bash", json!({"command": "mkdir other"}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    write(&project.config_directory().join("skills/toucher/SKILL.md"), TOUCHING);
    project.brynhild(&["chat", "--mode", "ask", "go"]).code(3);
    assert!(!project.path().join("other").exists());
}

#[test]
fn skill_grants_nothing_before_activation() {
    let server = ModelServer::start(touching().into_iter().skip(1).collect::<Vec<_>>());
    let project = project_with(&server);
    write(&project.config_directory().join("skills/toucher/SKILL.md"), TOUCHING);
    project.brynhild(&["chat", "--mode", "ask", "go"]).code(3);
}

#[test]
fn deny_rules_and_read_only_mode_override_a_skill() {
    for (config, flags) in
        [("permissions: {deny: ['Bash(touch:*)']}\n", &[][..]), ("", &["--mode", "read-only"])]
    {
        let server = ModelServer::start(touching());
        let project = project_with(&server);
        project.config_more(config);
        write(&project.config_directory().join("skills/toucher/SKILL.md"), TOUCHING);
        project.brynhild(&[&["chat", "go"], flags].concat());
        assert!(!project.path().join("made").exists(), "{config}");
    }
}

#[test]
fn skill_of_an_untrusted_project_grants_nothing() {
    let server = ModelServer::start(touching().into_iter().chain(touching()).collect::<Vec<_>>());
    let project = project_with(&server);
    project.file(".brynhild/skills/toucher/SKILL.md", TOUCHING);
    project.brynhild(&["chat", "--mode", "ask", "go"]).code(3);
    assert!(!project.path().join("made").exists());
    project.brynhild(&["trust", "--yes"]).success();
    project.brynhild(&["chat", "--mode", "ask", "go"]).success();
    assert!(project.path().join("made").exists());
}

/// Writes two plugins with a fault each, and one without; the fault is in all listings.
fn faulty(project: &testkit::Project) {
    let place = project.config_directory().join("plugins");
    write(&place.join("good/plugin.yaml"), "name: good\nversion: \"1.0.0\"\ntols: [x]\n");
    write(&place.join("other/plugin.yaml"), "name: other\nversion: \"1.0.0\"\nhoks: true\n");
    write(&place.join("claude-one/.claude-plugin/plugin.json"), "{\"name\": \"claude-one\"}");
    write(&place.join("claude-one/skills/x/SKILL.md"), "---\nname: x\n---\nbody\n");
}

#[test]
fn plugin_show_warns_only_about_that_plugin() {
    let project = project();
    faulty(&project);
    let run = project.brynhild(&["plugin", "show", "good"]);
    assert!(run.success().stderr.contains("`tols`"), "{run}");
    assert!(!run.stderr.contains("`hoks`") && !run.stderr.contains("SKILL.md"), "{run}");
    let run = project.brynhild(&["plugin", "show", "claude-one"]);
    assert!(run.success().stderr.contains("SKILL.md"), "{run}");
    assert!(!run.stderr.contains("plugin.yaml"), "{run}");
    let run = project.brynhild(&["plugin", "show", "nowhere"]);
    assert!(run.code(1).stderr.contains("`hoks`"), "any of them may be the cause: {run}");
}

#[test]
fn command_list_warns_only_about_commands() {
    let project = project();
    faulty(&project);
    let command = project.config_directory().join("plugins/good/commands/bad.md");
    write(&command, "---\nname: [x\n---\nbody\n");
    let run = project.brynhild(&["command", "list"]);
    assert!(run.success().stderr.contains("bad.md"), "{run}");
    assert!(!run.stderr.contains("plugin.yaml") && !run.stderr.contains("SKILL.md"), "{run}");
}
