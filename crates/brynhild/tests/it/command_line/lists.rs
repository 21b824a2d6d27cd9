//! Commands that list things: groups without a command, directories, projects, short and whole text.

use testkit::{ModelServer, Reply};

use super::run;
use crate::{project, project_with};

#[test]
fn group_without_a_command_shows_its_list() {
    let project = project();
    for group in ["hooks", "skill", "mcp", "session", "agents", "profile", "tools", "logs", "rules"]
    {
        let alone = run(&project, group);
        let list = run(&project, &format!("{group} list"));
        assert_eq!(alone.success().stdout, list.success().stdout, "{group}");
    }
    run(&project, "policy").code(2);
}

#[test]
fn sessions_are_listed_with_their_directories() {
    let server = ModelServer::start([Reply::text("Yes.")]).repeat_last();
    let project = project_with(&server);
    project.brynhild(&["--session", "tower", "-p", "build a tower"]).success();
    let list = run(&project, "session list");
    let place = project.path().display().to_string();
    let place = place.replace(&project.home().display().to_string(), "~");
    assert!(list.stdout.contains("DIRECTORY") && list.stdout.contains(&place), "{list}");
    let shown = run(&project, "session show");
    assert!(shown.success().stdout.contains("build a tower"), "{shown}");
}

#[test]
fn logs_are_listed_by_project() {
    let server = ModelServer::start([Reply::text("Yes.")]).repeat_last();
    let project = project_with(&server);
    project.file("other/package.json", "{}").file("other/.git/HEAD", "ref: refs/heads/main\n");
    run(&project, "-p hi").success();
    assert_eq!(run(&project, "logs list").success().stdout.lines().count(), 1);
    run(&project, "--cwd other -p hi").success();
    assert_eq!(run(&project, "logs list").success().stdout.lines().count(), 1);
    assert_eq!(run(&project, "logs list --all").success().stdout.lines().count(), 2);
}

#[test]
fn rules_are_listed_with_their_first_lines() {
    let project = project();
    assert_eq!(run(&project, "rules list").success().stdout, "No rules apply here.\n");
    project.file("AGENTS.md", "# Working here\n\nBe kind.\n");
    let list = run(&project, "rules list");
    assert!(list.success().stdout.contains("AGENTS.md  3 lines  # Working here"), "{list}");
    project.file("AGENTS.md", "# Working here\n");
    let list = run(&project, "rules list");
    assert!(list.success().stdout.contains("AGENTS.md  1 line  # Working here"), "{list}");
}

#[test]
fn tool_descriptions_are_cut_between_words_or_whole() {
    let project = project();
    let short = run(&project, "tools list");
    let cut: Vec<&str> = short.success().stdout.lines().filter(|it| it.ends_with('…')).collect();
    assert!(!cut.is_empty(), "{short}");
    let whole = run(&project, "tools list -v");
    let tools = run(&project, "tools list --json").json();
    for tool in tools.as_array().unwrap() {
        let last = tool["description"].as_str().unwrap().lines().last().unwrap();
        assert!(whole.success().stdout.contains(last), "{last}: {whole}");
    }
}

#[test]
fn cut_descriptions_end_with_an_ellipsis() {
    let project = project();
    for (list, beginning) in [("skill list", "commit-helper"), ("agents list", "general-purpose")] {
        let list = run(&project, list);
        let line = list.success().stdout.lines().find(|line| line.starts_with(beginning));
        assert!(line.is_some_and(|line| line.ends_with('…')), "{list}");
    }
}
