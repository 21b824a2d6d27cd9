//! Tests of `LearnSkill`.

use std::os::unix::fs::symlink;

use super::*;
use crate::tests::fixture::{self, Project};

/// A project that has a skill with files, and the tool that teaches it.
fn sample() -> (Project, LearnSkill) {
    let project = Project::with(&[
        ("skill/SKILL.md", "front matter and all"),
        ("skill/notes.md", "top level notes"),
        ("skill/data.json", "{}"),
        ("skill/references/guide.md", "the guide"),
        ("skill/references/deep/more.md", "more"),
        ("skill/references/.hidden", "hidden"),
        ("skill/scripts/run.sh", "echo hi"),
        ("secret.md", "outside"),
    ]);
    let skill = |name: &str, directory: Option<PathBuf>| Skill {
        name: name.to_owned(),
        description: format!("Helps with {name}"),
        source: "project".to_owned(),
        license: Some("MIT".to_owned()),
        allowed_tools: vec!["Bash".to_owned(), "Read".to_owned()],
        body: format!("# {name}\ndo it"),
        directory,
    };
    let directory = project.path("skill");
    let skills = vec![skill("deploy", Some(directory)), skill("commit", None)];
    (project, LearnSkill::new(skills, None))
}

#[tokio::test]
async fn skills_are_listed_and_taught() {
    let (project, tool) = sample();
    let text = project.output(&tool, json!({})).await;
    assert_eq!(text, "commit: Helps with commit\ndeploy: Helps with deploy");
    let text = project.output(&tool, json!({"skill": "DEPLOY"})).await;
    assert_eq!(text, "<skill name=\"deploy\">\n# deploy\ndo it\n</skill>");
    let text = LearnSkill::new(Vec::new(), None);
    assert_eq!(project.output(&text, json!({})).await, "No skills available");
}

#[tokio::test]
async fn info_lists_the_files_of_a_skill() {
    let (project, tool) = sample();
    let expected = "Name: deploy\nDescription: Helps with deploy\nSource: project\nLicense: MIT\n\
                    Allowed tools: Bash, Read\nReferences: guide.md, notes.md\nScripts: run.sh";
    for args in [json!({"skill": "deploy", "info": true}), json!({"info": "deploy"})] {
        assert_eq!(project.output(&tool, args).await, expected);
    }
    let text = project.output(&tool, json!({"skill": "commit", "info": true})).await;
    assert!(text.ends_with("References: none\nScripts: none"), "{text}");
}

#[tokio::test]
async fn references_are_read_and_scripts_are_found() {
    let (project, tool) = sample();
    let reference = async |file: &str| {
        let args = json!({"skill": "deploy", "reference": file});
        project.output(&tool, args).await
    };
    assert_eq!(reference("guide.md").await, "the guide");
    assert_eq!(reference("references/guide.md").await, "the guide");
    assert_eq!(reference("deep/more.md").await, "more");
    assert_eq!(reference("notes.md").await, "top level notes");
    let path = project.path("skill/scripts/run.sh");
    for name in ["run.sh", "scripts/run.sh"] {
        let args = json!({"skill": "deploy", "script": name});
        assert_eq!(project.output(&tool, args.clone()).await, path.display().to_string());
        let actions = tool.actions(&args).unwrap().actions;
        assert_eq!(actions, [Action::Read { path: path.clone() }]);
    }
}

#[tokio::test]
async fn files_outside_the_skill_are_refused() {
    let (project, tool) = sample();
    symlink(project.path("secret.md"), project.path("skill/references/link.md")).unwrap();
    let outside = project.path("secret.md");
    let names = [
        "../secret.md",
        "../../secret.md",
        "references/../../secret.md",
        "~/.bashrc",
        "/etc/hosts",
        outside.to_str().unwrap(),
        "link.md",
        ".hidden",
        "SKILL.md",
        "data.json",
        "none.md",
        "",
    ];
    for name in names.into_iter().filter(|name| !name.is_empty()) {
        for kind in ["reference", "script"] {
            let args = json!({"skill": "deploy", kind: name});
            let message = project.fail(&tool, args.clone()).await;
            assert!(message.contains("not found in skill deploy: "), "{message}");
            assert_eq!(fixture::refusal(&tool, &args), message);
        }
    }
    let args = json!({"skill": "deploy", "script": "guide.md"});
    assert!(project.fail(&tool, args).await.ends_with("Available: run.sh"));
    let args = json!({"skill": "commit", "reference": "guide.md"});
    assert!(project.fail(&tool, args).await.ends_with("Available: none"));
    let args = json!({"skill": "deploy", "reference": "nothing.md"});
    assert!(!project.fail(&tool, args).await.contains("link.md"));
}

#[tokio::test]
async fn learn_skill_reports_invalid_arguments() {
    let (project, tool) = sample();
    let message = project.fail(&tool, json!({"skill": "Nope"})).await;
    assert_eq!(message, "Skill not found: Nope\nAvailable: commit, deploy");
    let message = fixture::refusal(&tool, &json!({"reference": "guide.md"}));
    assert!(message.contains("need `skill`"), "{message}");
    let both = json!({"skill": "deploy", "reference": "a", "script": "b"});
    assert!(fixture::refusal(&tool, &both).contains("cannot be combined"));
}
