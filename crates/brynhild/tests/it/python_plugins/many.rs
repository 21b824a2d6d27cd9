//! Many tools of plugins: their descriptions in each request, and the lists for users.

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use super::{plugin, results, tool, write};
use crate::project_with;

/// A plugin with 60 tools, each of which does something else.
fn crowd(project: &Project) {
    let root = plugin(project, "crowd", &[]);
    for index in 0..60 {
        let name = format!("crowd_{index}");
        let body = format!("return ToolResult(True, 'counted {index}')");
        let text = tool(&name, &body)
            .replace(&format!("Tries {name}"), &format!("Counts things of kind {index}"));
        write(&root.join(format!("tools/{name}.py")), &text);
    }
}

#[test]
fn many_plugin_tools_are_offered_through_search() {
    let server = ModelServer::start([
        Reply::calls([("ToolSearch", json!({"query": "things of kind 41"}))]),
        Reply::calls([("crowd_41", json!({}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    crowd(&project);
    plugin(&project, "single", &[("tools/one.py", &tool("one", "return ToolResult(True, '')"))]);
    project.brynhild(&["chat", "--yes", "go"]).success();
    let offered = |chat: usize| {
        let body = server.chats()[chat].body.clone();
        let tools = body["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let first = offered(0);
    assert!(first.iter().all(|name| !name.starts_with("crowd_")), "{first:?}");
    for name in ["one", "Bash", "ToolSearch"] {
        assert!(first.iter().any(|it| it == name), "{first:?}");
    }
    let told = server.chats()[0].body["tools"].to_string();
    assert!(told.contains("crowd (60): crowd_0, crowd_1,"), "{told}");
    assert!(offered(1).iter().any(|name| name == "crowd_41"));
    assert_eq!(results(&server, 2)[0], "counted 41");
}

#[test]
fn agent_with_a_named_tool_needs_no_search() {
    let server = ModelServer::start([Reply::text("done")]);
    let project = project_with(&server);
    crowd(&project);
    let agent = "---\nname: counter\ndescription: Counts.\ntools: crowd_7, Read\n---\nCount.\n";
    let file = project.config_directory().join("agents/counter.md");
    write(&file, agent);
    project.brynhild(&["chat", "--agent", "counter", "--yes", "go"]).success();
    let told = server.chats()[0].body["tools"].to_string();
    assert!(told.contains("\"crowd_7\"") && !told.contains("ToolSearch"), "{told}");
}

#[test]
fn plugin_show_lists_tools_with_parameters() {
    let server = ModelServer::start([Reply::text("hi")]).repeat_last();
    let project = project_with(&server);
    crowd(&project);
    let before = project.brynhild(&["plugin", "show", "crowd"]);
    assert!(before.stdout.contains("tools: all"), "nothing of it ran yet: {before}");
    project.brynhild(&["chat", "hi"]).success();
    let shown = project.brynhild(&["plugin", "show", "crowd"]);
    assert!(shown.stdout.contains("tools: crowd_0, crowd_1, "), "{shown}");
    assert!(shown.stdout.contains("what the model reads of its tools: about "), "{shown}");
    let data = project.brynhild(&["plugin", "show", "crowd", "--json"]).json();
    assert_eq!(data["tool_names"].as_array().unwrap().len(), 60, "{data}");
    let tokens = data["tool_tokens"].as_u64().unwrap();
    assert!((600..6000).contains(&tokens), "{tokens}");
    assert_eq!(data["tools"], json!(["all"]), "what the manifest says stays");
}

#[test]
fn new_plugins_are_described_together_yet_apart() {
    let server = ModelServer::start([Reply::text("hi")]);
    let project = project_with(&server).env("SECRET_OF_ONE", "s3cret");
    let describes = "description = str(os.environ.get('SECRET_OF_ONE')) + str(len(shared))";
    for index in 0..10 {
        let name = format!("one-{index}");
        let text = tool(&name, "return ToolResult(True, '')");
        let text = text.replace(&format!("description = \"Tries {name}\""), describes).replace(
            "class Tool",
            "import brynhild\nshared = brynhild.__dict__.setdefault('shared', [])\nshared.append(1)\n\n\nclass Tool",
        );
        plugin(&project, &name, &[("tools/it.py", &text)]);
    }
    plugin(&project, "raises", &[("tools/it.py", "raise RuntimeError('no good')\n")]);
    plugin(&project, "ends", &[("tools/it.py", "import os\nos._exit(3)\n")]);
    project.config_more("plugins:\n  one-7:\n    sandbox: {env: [SECRET_OF_ONE]}\n");
    let listed = project.brynhild(&["tools", "list", "--json"]);
    let tools = listed.json();
    let description = |name: &str| {
        let mut tools = tools.as_array().unwrap().iter();
        let found = tools.find(|tool| tool["name"] == name);
        found.unwrap_or_else(|| panic!("{name}: {listed}"))["description"].clone()
    };
    for index in 0..10 {
        let expected = if index == 7 { "s3cret1" } else { "None1" };
        assert_eq!(description(&format!("one-{index}")), expected, "{listed}");
    }
    assert!(listed.stderr.contains("no good") && listed.stderr.contains("ends"), "{listed}");
}
