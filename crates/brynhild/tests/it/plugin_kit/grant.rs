//! `plugin grant` and `mcp grant`: the user's configuration is changed after a yes, and only there.

use testkit::Project;

use super::new;
use crate::project;

/// A project with a plugin that requests two hosts and a variable.
fn requesting() -> Project {
    let project = project();
    let directory = project.config_directory().join("plugins");
    let args = ["plugin", "new", "greeter", "--output", directory.to_str().unwrap()];
    project.brynhild(&args).success();
    let manifest = directory.join("greeter/plugin.yaml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let request = "\nsandbox: {network: [a.test, b.test], env: [API_TOKEN]}\n";
    std::fs::write(manifest, format!("{text}{request}")).unwrap();
    project
}

fn config(project: &Project) -> String {
    std::fs::read_to_string(project.config_directory().join("config.yaml")).unwrap_or_default()
}

#[test]
fn plugin_grant_writes_the_request_and_keeps_comments() {
    let project = requesting();
    let before = "# mine\nplugins:\n  # ours\n  greeter:\n    timeout: 60 # long\n\nmodels: {}\n";
    project.config(before);
    let run = project.brynhild(&["plugin", "show", "greeter"]);
    assert!(run.success().stderr.contains("`brynhild plugin grant greeter` shows and grants it"));
    let run = project.brynhild(&["plugin", "grant", "greeter"]);
    assert!(run.code(3).stderr.contains("nothing was granted"), "{run}");
    assert_eq!(config(&project), before);
    let run = project.brynhild(&["plugin", "grant", "greeter", "--yes"]);
    assert!(run.success().stdout.contains("is written to"), "{run}");
    let granted = "# mine\nplugins:\n  # ours\n  greeter:\n    timeout: 60 # long\n    sandbox: \
                   {network: [a.test, b.test], env: [API_TOKEN]}\n\nmodels: {}\n";
    assert_eq!(config(&project), granted);
    let run = project.brynhild(&["plugin", "grant", "greeter", "--json", "--yes"]);
    assert_eq!(run.success().json()["changed"], false);
    project.brynhild(&["plugin", "grant", "greeter", "--none", "--yes"]).success();
    assert!(config(&project).contains("    sandbox: {}\n"), "{}", config(&project));
    let run = project.brynhild(&["plugin", "show", "greeter"]);
    assert!(!run.success().stderr.contains("plugin grant"), "{run}");
}

#[test]
fn plugin_grant_asks_on_a_terminal() {
    let project = requesting();
    let terminal = project.terminal(&["plugin", "grant", "greeter"], (100, 20));
    terminal.wait_for("connect to a.test, b.test");
    terminal.wait_for("Grant it? [y/N]");
    terminal.send("y\r");
    terminal.wait_for("is written to");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert!(config(&project).contains("network: [a.test, b.test]"), "{}", config(&project));
}

#[test]
fn plugin_grant_adds_what_flags_name() {
    let project = requesting();
    let args = ["plugin", "grant", "greeter", "--read", "~/notes", "--exec", "uv", "--yes"];
    project.brynhild(&args).success();
    let args = ["plugin", "grant", "greeter", "--network", "--read", "~/more", "--yes"];
    project.brynhild(&args).success();
    let expected = "plugins:\n  greeter:\n    sandbox: {network: true, read: [~/notes, ~/more], \
                    exec: [uv]}\n";
    assert_eq!(config(&project), expected);
}

#[test]
fn plugin_grant_explains_what_it_cannot_do() {
    let project = requesting();
    new(&project, "quiet", "command");
    let run = project.brynhild(&["plugin", "grant", "greter"]);
    assert!(run.code(1).stderr.contains("did you mean `greeter`?"), "{run}");
    let run = project.brynhild(&["--plugin-dir", "quiet", "plugin", "grant", "quiet"]);
    assert!(run.code(2).stderr.contains("plugin quiet requests nothing"), "{run}");
    let json = "{\"models\": {}}\n";
    project.config(json);
    let run = project.brynhild(&["plugin", "grant", "greeter", "--yes"]);
    assert!(run.code(1).stderr.contains("add by hand"), "{run}");
    assert_eq!(config(&project), json);
}

#[test]
fn mcp_grant_adds_to_the_grants_of_a_server() {
    let project = project();
    let add = ["mcp", "add", "notes", "--allow-read", "/srv/notes", "--", "/bin/true"];
    project.brynhild(&add).success();
    let args = ["mcp", "grant", "notes", "--host", "a.test", "--yes"];
    project.brynhild(&args).success();
    let expected =
        "mcp:\n  servers:\n    notes:\n      sandbox: {network: [a.test], read: [/srv/notes]}\n";
    assert_eq!(config(&project), expected);
    let run = project.brynhild(&["mcp", "grant", "note", "--network", "--yes"]);
    assert!(run.code(1).stderr.contains("did you mean `notes`?"), "{run}");
    let run = project.brynhild(&["mcp", "grant", "notes"]);
    assert!(run.code(2).stderr.contains("server notes requests nothing"), "{run}");
}
