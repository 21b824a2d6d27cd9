//! What the user sets for a plugin reaches all its processes, and what it needs comes with its first
//! call.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use testkit::{ModelServer, Reply};

use super::{error, exec, output, plugin, tool, write};
use crate::git::shell;
use crate::{project, project_with};

const SEES: &str = "return ToolResult(success=True, output=os.environ.get(\"BRYNHILD_PLUGIN_SETTINGS\", \"none\"))";

#[test]
fn plugin_settings_are_in_an_environment_variable() {
    let project = project();
    let sees = tool("sees", SEES);
    plugin(&project, "todo", &[("tools/sees.py", &sees)]);
    let other = tool("other", SEES);
    plugin(&project, "other", &[("tools/other.py", &other)]);
    let chibi = project.config_directory().join("plugins/lister");
    let schema = json!({"name": "lister", "description": "Lists"});
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = --schema ]; then echo '{schema}'; exit; fi\n\
         printenv BRYNHILD_PLUGIN_SETTINGS\n"
    );
    write(&chibi, &script);
    std::fs::set_permissions(&chibi, std::fs::Permissions::from_mode(0o755)).unwrap();
    let marks = "{timeout: 60, sandbox: {read: [/tmp]}, marks: [TODO]}";
    project.config(&format!("plugins: {{todo: {marks}, lister: {marks}}}\n"));
    for name in ["sees", "lister"] {
        let said = output(&exec(&project, name, &json!({})));
        assert_eq!(said.trim(), r#"{"marks":["TODO"]}"#, "{name}");
    }
    assert_eq!(output(&exec(&project, "other", &json!({}))), "none");
}

#[test]
fn plugin_hooks_get_the_settings() {
    let project = project();
    let root = plugin(&project, "todo", &[]);
    let hook = "hooks:\n  pre_tool_use:\n    - name: guard\n      type: command\n      \
                message: marked\n      \
                command: 'case \"$BRYNHILD_PLUGIN_SETTINGS\" in *TODO*) exit 1;; esac'\n";
    write(&root.join("hooks.yaml"), hook);
    let tried = || project.brynhild(&["hooks", "test", "pre_tool_use", "--json"]).json();
    assert_ne!(tried()["result"]["message"], "marked");
    project.config("plugins: {todo: {marks: [TODO]}}\n");
    assert_eq!(tried()["result"], json!({"action": "block", "message": "marked"}));
}

#[test]
fn packages_are_installed_with_the_first_call() {
    let project = project();
    let body = "import fruit\nreturn ToolResult(success=True, output=fruit.KIND)";
    let root = plugin(&project, "market", &[("tools/buys.py", &tool("buys", body))]);
    let package = testkit::wheel("fruit", &root);
    let manifest =
        format!("name: market\nversion: '1.0.0'\ntools: [buys]\ndependencies: ['{package}']\n");
    write(&root.join("plugin.yaml"), &manifest);
    let list = project.brynhild(&["tools", "list"]);
    assert!(list.success().stdout.contains("buys"), "{list}");
    assert!(!list.stderr.contains("installing"), "{list}");
    let first = exec(&project, "buys", &json!({}));
    assert_eq!(output(&first), "apple");
    assert!(first.stderr.contains("installing fruit"), "{first}");
    let second = exec(&project, "buys", &json!({}));
    assert_eq!(output(&second), "apple");
    assert!(!second.stderr.contains("installing"), "{second}");
}

/// A tool that cannot be loaded without its package: it imports, decorates and derives from it.
const ENTANGLED: &str = "\
from brynhild.tools.base import Tool as Base, ToolResult
import fruit
from fruit.basket import Basket, wrap

class Held(Basket):
    pass

class Tool(Base):
    name = 'sells'
    description = 'Sells fruit by the pound'
    input_schema = {'type': 'object', 'properties': {}}
    requires_permission = False

    @wrap(times=3)
    async def execute(self, input):
        return ToolResult(True, fruit.KIND)
";

#[test]
fn tool_is_offered_before_its_packages_are_installed() {
    let server = ModelServer::start([Reply::text("Hello.")]);
    let project = project_with(&server);
    let root = plugin(&project, "market", &[("tools/sells.py", ENTANGLED)]);
    let package = testkit::wheel("fruit", &root);
    let manifest =
        format!("name: market\nversion: '1.0.0'\ntools: [sells]\ndependencies: ['{package}']\n");
    write(&root.join("plugin.yaml"), &manifest);
    let run = project.brynhild(&["chat", "Hello"]);
    assert!(!run.success().stderr.contains("installing"), "{run}");
    assert!(run.stderr.contains("will be installed when it is first called"), "{run}");
    let told = server.chats()[0].body["tools"].to_string();
    assert!(told.contains("Sells fruit by the pound"), "{told}");
    let call = exec(&project, "sells", &json!({}));
    assert!(call.stderr.contains("installing fruit"), "{call}");
    assert!(!call.stderr.contains("Processing"), "pip talks only where it fails: {call}");
    assert!(error(&call).contains("fruit.basket"), "the real package has no such module: {call}");
}

#[test]
fn failed_installation_shows_the_message_of_pip() {
    let project = project();
    let root = plugin(&project, "market", &[("tools/sells.py", ENTANGLED)]);
    let manifest = "name: market\nversion: '1.0.0'\ntools: [sells]\n\
                    dependencies: ['fruit @ file:///nowhere/fruit-1.0-py3-none-any.whl']\n";
    write(&root.join("plugin.yaml"), manifest);
    let call = exec(&project, "sells", &json!({}));
    assert!(error(&call).contains("/nowhere/fruit-1.0-py3-none-any.whl"), "{call}");
}

/// Its own code builds it, and would leave marks in the project and in the home.
const BUILT: &str = "\
import os
def mark(*_, **__):
    for directory in DIRECTORIES:
        try:
            open(os.path.join(directory, 'fooled'), 'w').close()
        except OSError:
            pass
    raise SystemExit('the backend ran')
get_requires_for_build_wheel = prepare_metadata_for_build_wheel = build_wheel = mark
";

#[test]
fn package_builds_run_confined_with_the_first_call() {
    let project = project().env("PIP_NO_INDEX", "1");
    let root = plugin(&project, "market", &[("tools/sells.py", ENTANGLED)]);
    let directories = json!([project.path(), project.home(), root]).to_string();
    let built = root.join("fruit/backend.py");
    write(&built, &BUILT.replace("DIRECTORIES", &directories));
    let system = "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n";
    write(&root.join("fruit/pyproject.toml"), system);
    let package = format!("fruit @ file://{}", root.join("fruit").display());
    let manifest =
        format!("name: market\nversion: '1.0.0'\ntools: [sells]\ndependencies: ['{package}']\n");
    write(&root.join("plugin.yaml"), &manifest);
    let is_marked = || {
        let directories = [project.path(), project.home(), root.clone()];
        directories.iter().any(|directory| directory.join("fooled").exists())
    };
    for words in [&["plugin", "list"][..], &["plugin", "show", "market"], &["tools", "list"]] {
        let run = project.brynhild(words);
        assert!(!run.stderr.contains("the backend ran") && !is_marked(), "{run}");
    }
    let call = exec(&project, "sells", &json!({}));
    assert!(error(&call).contains("the backend ran"), "{call}");
    assert!(!is_marked(), "{call}");
}

#[test]
fn package_with_outside_paths_writes_nothing_outside() {
    let project = project().env("PIP_NO_INDEX", "1");
    let root = plugin(&project, "market", &[("tools/sells.py", ENTANGLED)]);
    let package = testkit::wheel("fruit", &root);
    let up = "../".repeat(12);
    for directory in [project.path(), project.home(), root.clone()] {
        let target = directory.join("fooled");
        let name = format!("{up}{}", target.to_str().unwrap().trim_start_matches('/'));
        for name in [name, target.display().to_string()] {
            let add =
                "import sys, zipfile; zipfile.ZipFile(sys.argv[1], 'a').writestr(sys.argv[2], 'x')";
            let file = package.split("file://").nth(1).unwrap();
            shell(&project, &format!("python3 -c \"{add}\" '{file}' '{name}'"));
        }
    }
    let manifest =
        format!("name: market\nversion: '1.0.0'\ntools: [sells]\ndependencies: ['{package}']\n");
    write(&root.join("plugin.yaml"), &manifest);
    let call = exec(&project, "sells", &json!({}));
    assert_ne!(call.status.code(), Some(0), "{call}");
    for directory in [project.path(), project.home(), root] {
        assert!(!directory.join("fooled").exists(), "{} {call}", directory.display());
    }
}
