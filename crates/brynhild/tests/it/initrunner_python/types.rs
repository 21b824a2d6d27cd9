//! Tool types that are not built in: those of installed packages, and those of single files.

use std::fs;
use std::path::Path;

use super::*;

const PLUGIN: &str = r#"
print("plugin imported")
from pydantic import BaseModel
from pydantic_ai.toolsets.function import FunctionToolset

from initrunner.agent.plugins import ToolPlugin


class LinearToolConfig(BaseModel):
    type: str = "linear"
    channel: str = "general"
    limit: int = 3


def build(config: LinearToolConfig, **kwargs) -> FunctionToolset:
    toolset = FunctionToolset()

    @toolset.tool
    def send_message(text: str) -> str:
        """Send a message to the configured channel."""
        return f"Sent {text} to {config.channel}"

    @toolset.tool(name="count_messages", description="Counts")
    async def count(more: int = 1) -> int:
        return config.limit + more

    return toolset


def create_plugin() -> ToolPlugin:
    return ToolPlugin(
        type="linear", config_class=LinearToolConfig, builder=build,
        description="Posts to Linear",
    )
"#;

const REDIS: &str = r#"
from typing import Literal
from pydantic_ai.toolsets.function import FunctionToolset
from initrunner.agent.schema import ToolConfigBase
from initrunner.agent.tools._registry import register_tool, ToolBuildContext


class RedisToolConfig(ToolConfigBase):
    type: Literal["redis"] = "redis"
    host: str = "localhost"
    port: int = 6379

    def summary(self) -> str:
        return f"redis: {self.host}:{self.port}"


@register_tool("redis", RedisToolConfig)
def build_redis_toolset(config: RedisToolConfig, ctx: ToolBuildContext) -> FunctionToolset:
    toolset = FunctionToolset()

    @toolset.tool
    def redis_get(key: str) -> str:
        """Get a value from Redis."""
        return f"{config.summary()} {key} for {ctx.role.metadata.name}"

    return toolset
"#;

/// Installs a package with a tool type, as an installer leaves it.
fn install(site: &Path, kind: &str, source: &str) {
    let module = format!("initrunner_{kind}");
    fs::create_dir_all(site.join(&module)).unwrap();
    fs::write(site.join(&module).join("__init__.py"), "").unwrap();
    fs::write(site.join(&module).join("plugin.py"), source).unwrap();
    let info = site.join(format!("{module}-1.2.0.dist-info"));
    fs::create_dir_all(&info).unwrap();
    let points = format!("[initrunner.tools]\n{kind} = {module}.plugin:create_plugin\n");
    fs::write(info.join("entry_points.txt"), points).unwrap();
    let headers = format!("Name: initrunner-{kind}\nVersion: 1.2.0\nSummary: Talks to {kind}\n\n");
    fs::write(info.join("METADATA"), headers).unwrap();
}

fn role(kind: &str, more: &str) -> String {
    format!("name: r\nprompt: x\ntools:\n  - type: {kind}\n{more}")
}

/// A project whose interpreter has a package with the type `linear`.
fn with_linear() -> Project {
    let project = project();
    let site = project.home().join("site-packages");
    install(&site, "linear", PLUGIN);
    let project = project.env("PYTHONPATH", site);
    project.file("role.yaml", role("linear", "    channel: dev\n    limit: 4\n"));
    project
}

#[test]
fn installed_package_adds_a_tool_type() {
    let project = with_linear();
    let run = exec(&project, "send_message", &json!({"text": "hi"}));
    assert_eq!(run.success().stdout.trim(), "Sent hi to dev");
    let run = exec(&project, "count_messages", &json!({"more": "2"}));
    assert_eq!(run.success().stdout.trim(), "6");
    // Its tool types are cached by then.
    let run = project.brynhild(&["tools", "list", "--role", "role.yaml"]);
    assert!(run.success().stdout.contains("Send a message to the configured channel."), "{run}");
    assert!(!run.stderr.contains("plugin imported"), "{run}");
    let run = project.brynhild(&["plugin", "show", "linear"]);
    assert!(run.success().stdout.contains("Posts to Linear"), "{run}");
    assert!(!run.stderr.contains("plugin imported"), "{run}");
    project.file("role.yaml", role("linear", "    limit: many\n"));
    let run = project.brynhild(&["validate", "role.yaml"]);
    assert!(run.code(1).stderr.contains("limit"), "{run}");
    assert!(run.stderr.contains("valid integer"), "{run}");
}

#[test]
fn installed_types_are_listed_without_running() {
    let project = with_linear();
    let run = project.brynhild(&["plugins"]);
    let line =
        run.success().stdout.lines().find(|line| line.starts_with("linear")).unwrap().to_owned();
    assert!(line.contains("initrunner") && line.contains("Talks to linear"), "{line}");
    assert!(!run.stderr.contains("plugin imported"), "{run}");
    let run = project.brynhild(&["plugin", "show", "linear", "--json"]);
    let shown = run.success().json();
    assert_eq!((&shown["dialect"], &shown["enabled"]), (&json!("initrunner"), &json!(true)));
    project.brynhild(&["plugin", "disable", "linear"]).success();
    let run = project.brynhild(&["validate", "role.yaml"]);
    assert!(run.code(1).stderr.contains("Tool type 'linear' not found. No plugins installed."));
}

#[test]
fn unknown_types_have_the_documented_message() {
    let project = project();
    project.file("role.yaml", role("pagerduty", ""));
    for command in [&["validate", "role.yaml"][..], &["run", "role.yaml", "-p", "x"]] {
        let run = project.brynhild(command);
        let wanted = "Tool type 'pagerduty' not found. No plugins installed. Install one with: pip \
                      install initrunner-pagerduty";
        assert!(run.stderr.contains(wanted) && !run.stderr.contains("did you mean"), "{run}");
    }
    let project = with_linear();
    project.file("role.yaml", role("pagerduty", ""));
    let run = project.brynhild(&["validate", "role.yaml"]);
    let wanted = "Tool type 'pagerduty' not found. Installed plugins: ['linear']. Did you forget to \
                  pip install initrunner-pagerduty?";
    assert!(run.code(1).stderr.contains(wanted), "{run}");
    project.file("role.yaml", role("filesytem", ""));
    let run = project.brynhild(&["validate", "role.yaml"]);
    assert!(run.code(1).stderr.contains("did you mean `filesystem`?"), "{run}");
}

#[test]
fn package_cannot_replace_a_built_in_type() {
    let project = project();
    let site = project.home().join("site-packages");
    install(&site, "datetime", &PLUGIN.replace("linear", "datetime"));
    let project = project.env("PYTHONPATH", site);
    project.file("role.yaml", role("datetime", ""));
    let run = project.brynhild(&["tools", "list", "--role", "role.yaml"]);
    assert!(!run.stdout.contains("send_message") && !run.stderr.contains("imported"), "{run}");
}

#[test]
fn a_single_file_registers_a_type() {
    let wanted = "redis: localhost:1 k for r";
    for place in ["redis.py", "tools/redis.py", "initrunner/agent/tools/redis.py"] {
        let project = project();
        project.file(place, REDIS).file("role.yaml", role("redis", "    port: '1'\n"));
        let run = exec(&project, "redis_get", &json!({"key": "k"}));
        assert_eq!(run.success().stdout.trim(), wanted, "{place}");
    }
    let project = project();
    let directory = project.config_directory().join("plugins");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("redis.py"), REDIS).unwrap();
    project.file("role.yaml", role("redis", "    port: '1'\n"));
    let run = exec(&project, "redis_get", &json!({"key": "k"}));
    assert_eq!(run.success().stdout.trim(), wanted);
    let run = project.brynhild(&["plugin", "list"]);
    assert!(run.success().stdout.contains("redis"), "{run}");
}

#[test]
fn types_and_modules_work_side_by_side_in_an_enveloped_role() {
    let project = with_linear();
    project.file("my_tools.py", TOOLS);
    let text = "apiVersion: initrunner/v1\nkind: Agent\nmetadata: {name: both}\nspec:\n  role: x\n  \
                tools:\n    - {type: datetime}\n    - {type: linear, channel: ops}\n    - {type: custom, \
                module: my_tools, function: later, config: {}}\n";
    project.file("role.yaml", text);
    let listed =
        project.brynhild(&["tools", "list", "--role", "role.yaml", "--json"]).success().json();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    for name in ["count_messages", "current_time", "later", "send_message"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert_eq!(
        exec(&project, "later", &json!({"n": 1})).success().stdout.trim(),
        r#"{"count":1,"none":null}"#
    );
}

#[test]
fn unimplemented_type_can_come_from_a_package_or_file() {
    let project = project();
    let file = REDIS.replace("redis", "image_gen");
    project.file("image.py", file).file("role.yaml", role("image_gen", "    port: '1'\n"));
    let run = exec(&project, "image_gen_get", &json!({"key": "k"}));
    assert!(run.success().stdout.contains("image_gen: localhost:1 k"), "{run}");
    let site = project.home().join("site-packages");
    install(&site, "pdf_extract", &PLUGIN.replace("linear", "pdf_extract"));
    install(&site, "slack", &PLUGIN.replace("linear", "slack"));
    let project = project.env("PYTHONPATH", site);
    for kind in ["pdf_extract", "slack"] {
        project.file("role.yaml", role(kind, "    channel: dev\n    limit: 4\n"));
        let run = exec(&project, "send_message", &json!({"text": "hi"}));
        assert_eq!(run.success().stdout.trim(), "Sent hi to dev", "{kind}");
    }
    project.file("role.yaml", role("blackboard", ""));
    let run = project.brynhild(&["validate", "role.yaml"]);
    assert!(
        run.success().stderr.contains("`blackboard` are not supported and not loaded"),
        "{run}"
    );
    let lone = crate::project();
    lone.file("role.yaml", role("slack", "    channel: dev\n"));
    let run = lone.brynhild(&["validate", "role.yaml"]);
    let wanted = "Tool type 'slack' not found. No plugins installed. Install one with: pip install \
                  initrunner-slack";
    assert!(run.code(1).stderr.contains(wanted), "{run}");
}

#[test]
fn recursive_type_has_a_complete_schema() {
    let project = project();
    project.file(
        "trees.py",
        "from dataclasses import dataclass, field\nfrom typing import List\n\n@dataclass\nclass \
         Node:\n    name: str\n    children: List['Node'] = field(default_factory=list)\n\ndef \
         tree(root: Node, depth: int = 1) -> str:\n    return root.children[0].name\n\ndef \
         single(root: Node) -> str:\n    return root.children[0].name\n",
    );
    project.file("role.yaml", "name: t\nprompt: x\ntools: [{custom: {module: trees}}]\n");
    let inner = json!({"name": "a", "children": [{"name": "b"}]});
    for (tool, input) in [("tree", json!({"root": inner})), ("single", inner.clone())] {
        let schema = project.brynhild(&["tools", "schema", tool, "--role", "role.yaml"]).json();
        let node = &schema["input_schema"]["$defs"]["Node"];
        assert_eq!(node["properties"]["children"]["items"]["$ref"], "#/$defs/Node", "{schema}");
        let input = input.to_string();
        let words = ["tools", "exec", tool, "--role", "role.yaml", "--input", &input, "--yes"];
        let run = project.brynhild(&words);
        assert_eq!(run.success().stdout.trim(), "b", "{run}");
        assert!(!run.stderr.contains("broken"), "{run}");
    }
}

#[test]
fn missing_package_feature_names_the_package() {
    let project = project();
    let bare = project.home().join("bare");
    crate::python_plugins::documents::venv(&bare);
    project.config(&format!("plugins: {{python: {}}}\n", bare.join("bin/python").display()));
    project.file("role.yaml", "name: t\nprompt: x\ntools: [{custom: {module: pm}}]\n");
    for import in ["from pydantic import constr", "from pydantic.dataclasses import dataclass"] {
        project.file("pm.py", format!("{import}\n\ndef hi() -> str:\n    return 'x'\n"));
        let run = project.brynhild(&["tools", "exec", "hi", "--role", "role.yaml", "--yes"]);
        let wanted = "Install it with: pip install pydantic";
        assert!(!run.status.success() && run.stderr.contains(wanted), "{run}");
    }
}

#[test]
fn validate_shows_configuration_summaries() {
    let project = project();
    project.file(
        "tools/redis.py",
        "from initrunner.agent.schema.tools import ToolConfigBase\n\
         from initrunner.agent.tools._registry import ToolBuildContext, register_tool\n\
         from pydantic_ai.toolsets.function import FunctionToolset\n\n\
         class RedisConfig(ToolConfigBase):\n    type: str = 'redis'\n    host: str = 'localhost'\n\n    \
         def summary(self) -> str:\n        return f'redis: {self.host}'\n\n\
         @register_tool('redis', RedisConfig)\n\
         def build(config, ctx):\n    toolset = FunctionToolset()\n\n    \
         @toolset.tool_plain\n    def redis_get(key: str) -> str:\n        return key\n\n    \
         return toolset\n",
    );
    project.file("role.yaml", "name: r\nprompt: p\ntools: [{type: redis, host: cache.test}]\n");
    let run = project.brynhild(&["validate", "role.yaml"]);
    assert!(run.success().stdout.contains("redis: cache.test"), "{run}");
}

#[test]
fn changed_module_is_reloaded_between_prompts() {
    let model = ModelServer::start([
        Reply::calls([("say", json!({}))]),
        Reply::text("first answer"),
        Reply::calls([("say", json!({})), ("more", json!({}))]),
        Reply::text("second answer"),
    ]);
    let project = project_with(&model);
    let module = |word: &str| format!("def say() -> str:\n    return 'it says {word}'\n");
    project.file("words.py", module("before"));
    let role = "name: r\nprompt: p\ntools: [{type: custom, module: words}]\n";
    project.file("role.yaml", role);
    let mut running = project.command(&["run", "role.yaml", "-i", "-p", "one", "--yes"]).spawn();
    running.wait_for_stdout("first answer");
    let more = "def more() -> str:\n    return 'there is more'\n";
    project.file("words.py", format!("{}{more}", module("after")));
    running.send("two\n");
    running.close_stdin();
    let run = running.wait();
    assert!(run.success().stdout.contains("second answer"), "{run}");
    let chats = model.chats();
    assert_eq!((names(&chats[0].body), names(&chats[2].body)), (vec!["say"], vec!["more", "say"]));
    assert!(chats[1].text.contains("it says before"), "{}", chats[1].text);
    let last = &chats[3].text;
    assert!(last.contains("it says after") && last.contains("there is more"), "{last}");
}

#[test]
fn unloadable_file_omits_its_type_only() {
    let project = project();
    let file = REDIS.replace("redis", "image_gen");
    project.file("image.py", format!("import a_module_that_nobody_has\n{file}"));
    project.file("role.yaml", role("image_gen", ""));
    let run = project.brynhild(&["validate", "role.yaml"]);
    let said = &run.success().stderr;
    assert!(said.contains("tools of type `image_gen` are left out"), "{run}");
    assert!(said.contains("installed beside the role") && !said.contains("did you mean"), "{run}");
}

#[test]
fn crashing_package_is_named_and_omitted() {
    let project = with_linear();
    let site = project.home().join("site-packages");
    install(&site, "deadly", "import os\nos._exit(4)\n");
    let both = "  - type: deadly\n  - {type: linear, channel: dev}\n";
    project.file("role.yaml", format!("name: rr\nprompt: x\ntools:\n{both}"));
    for _ in 0..2 {
        let run = project.brynhild(&["validate", "role.yaml"]);
        let told = |words: &str| run.stderr.lines().any(|line| line.contains(words));
        assert!(told("'deadly' of initrunner-deadly is left out: it was not loaded"), "{run}");
        assert!(told("Tool type 'deadly' not found. Installed plugins: ['linear']"), "{run}");
        assert!(!told("tools[1]"), "{run}");
    }
    // Everything else still works.
    project.file("role.yaml", role("linear", "    channel: dev\n"));
    let run = exec(&project, "send_message", &json!({"text": "hi"}));
    assert_eq!(run.success().stdout.trim(), "Sent hi to dev");
    // One that was mended is tried again.
    fs::write(site.join("initrunner_deadly/plugin.py"), PLUGIN.replace("linear", "deadly"))
        .unwrap();
    project.file("role.yaml", role("deadly", "    channel: dev\n"));
    let run = exec(&project, "send_message", &json!({"text": "hi"}));
    assert_eq!(run.success().stdout.trim(), "Sent hi to dev");
}
