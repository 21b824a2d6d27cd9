//! A package with entry points of all eight groups, in an environment of its own.

use std::fs;
use std::path::Path;

use testkit::Project;

use super::documents::{site, venv};
use super::write;
use crate::{has_bubblewrap, project};

const MODULE: &str = r#"
from pathlib import Path

from brynhild.api.base import LLMProvider
from brynhild.api.types import CompletionResponse, StreamEvent, Usage
from brynhild.hooks.config import HookDefinition, HooksConfig
from brynhild.plugins.commands import Command, CommandFrontmatter
from brynhild.plugins.manifest import PluginManifest
from brynhild.profiles.types import ModelProfile
from brynhild.skills.skill import Skill, SkillFrontmatter
from brynhild.tools.base import Tool as Base, ToolResult

print("the package is imported")


def register():
    return PluginManifest(name="acme-kit", version="3.2", description="All of acme", hooks=True)


class AcmeTool(Base):
    name = "AcmeTool"
    description = "A packaged tool"
    input_schema = {"type": "object", "properties": {}}
    requires_permission = False

    async def execute(self, input):
        return ToolResult(True, "acme ran")


class AcmeProvider(LLMProvider):
    """Packaged models."""

    PROVIDER_NAME = "acme-llm"

    def __init__(self, model="a", **rest):
        self._model = model

    @property
    def name(self): return "acme-llm"
    @property
    def model(self): return self._model
    def supports_tools(self): return True

    async def complete(self, messages, *, system=None, tools=None, max_tokens=8192):
        return CompletionResponse(id="1", content="whole", stop_reason="end_turn", usage=Usage())

    async def stream(self, messages, *, system=None, tools=None, max_tokens=8192):
        seen = [word for word in ("Acme rule one", "Acme rule two", "acme-skill") if word in system]
        text = ", ".join(seen) + " | " + messages[-1]["content"]
        yield StreamEvent(type="text_delta", text=text)
        yield StreamEvent(type="message_stop", stop_reason="end_turn")


def hooks():
    check = 'case "$BRYNHILD_MESSAGE" in *forbidden*) exit 1;; esac'
    hook = HookDefinition(name="acme-hook", type="command", command=check, message="acme forbids it")
    return HooksConfig(hooks={"user_prompt_submit": [hook]})


def skill():
    return {"name": "acme-skill", "description": "A packaged skill", "body": "Do as acme does."}


def other_skill():
    frontmatter = SkillFrontmatter(name="acme-two", description="Another one")
    return Skill(frontmatter=frontmatter, body="Body two", path=Path("/nowhere"))


command = Command(
    frontmatter=CommandFrontmatter(name="acme-greet", description="Greets", aliases=["ag"], args="[who]"),
    body="Greet {{args}}", path=Path("x.md"))
rules = ["Acme rule one", {"name": "second", "content": "Acme rule two"}]


def profiles():
    return [ModelProfile(name="acme-profile", family="acme"), {"name": "acme-plain"}]
"#;

const POINTS: &str = "
[console_scripts]
acme = acme:main
[brynhild.plugins]
acme-kit = acme:register
[brynhild.tools]
acme_tool = acme:AcmeTool
broken = acme:Missing
[brynhild.providers]
acme = acme:AcmeProvider
[brynhild.hooks]
acme = acme:hooks
[brynhild.skills]
acme = acme:skill
acme2 = acme:other_skill
[brynhild.commands]
acme = acme:command
[brynhild.rules]
acme = acme:rules
[brynhild.profiles]
acme = acme:profiles
";

fn installed(points: &str) -> Project {
    let project = project();
    let environment = project.home().join("environment");
    venv(&environment);
    let site = site(&environment);
    write(&site.join("acme/__init__.py"), MODULE);
    write(&site.join("acme_kit-3.2.dist-info/entry_points.txt"), points);
    let headers = "Metadata-Version: 2.1\nName: acme-kit\nVersion: 3.2\n";
    write(&site.join("acme_kit-3.2.dist-info/METADATA"), headers);
    project.config("plugins: {python: ~/environment/bin/python}\n");
    project
}

#[test]
fn package_is_named_by_its_manifest_once_described() {
    if !has_bubblewrap() {
        return;
    }
    let project = installed(&POINTS.replace("acme-kit = acme:register", "my_ep = acme:register"));
    let offers = || project.brynhild(&["tools", "list"]).stdout.contains("AcmeTool");
    assert!(offers());
    assert!(project.brynhild(&["plugin", "list"]).stdout.contains("acme-kit"));
    project.brynhild(&["plugin", "disable", "acme-kit"]).success();
    assert!(!offers());
}

#[test]
fn every_entry_point_group_is_shown() {
    if !has_bubblewrap() {
        return;
    }
    let project = installed(POINTS);
    let shown = |args: &[&str]| project.brynhild(args).success().stdout.clone();
    let first = project.brynhild(&["plugin", "list"]);
    assert!(first.stdout.contains("All of acme"), "{first}");
    let broken: Vec<&str> = first.stderr.lines().filter(|it| it.contains("warning")).collect();
    assert!(broken.len() == 1 && broken[0].contains("Missing"), "{first}");
    let row = project.brynhild(&["plugin", "show", "acme-kit", "--json"]).json();
    assert_eq!((&row["source"], &row["package_version"]), (&"entry_point".into(), &"3.2".into()));
    let skills = shown(&["skill", "list"]);
    assert!(skills.contains("entry_point:acme ") && skills.contains("acme-two"), "{skills}");
    assert!(shown(&["skill", "show", "acme-skill", "--body"]).contains("Do as acme does."));
    let rules = shown(&["rules", "show"]);
    assert!(rules.contains("Acme rule one") && rules.contains("Acme rule two"), "{rules}");
    let profiles = shown(&["profile", "list"]);
    assert!(profiles.contains("acme-profile") && profiles.contains("acme-plain"), "{profiles}");
    assert!(shown(&["command", "list"]).contains("/acme-greet [who]"));
    assert_eq!(shown(&["command", "render", "ag", "Bob"]), "Greet Bob\n");
    assert_eq!(shown(&["command", "render", "acme-kit:acme-greet", "Bob"]), "Greet Bob\n");
    assert!(shown(&["hooks", "list"]).contains("acme-hook"));
    assert!(shown(&["tools", "list"]).contains("AcmeTool"));
    assert!(shown(&["api", "providers"]).contains("acme-llm"));
    assert!(shown(&["tools", "exec", "AcmeTool"]).contains("acme ran"));
}

#[test]
fn every_entry_point_group_works_unless_disabled() {
    if !has_bubblewrap() {
        return;
    }
    let project = installed(POINTS);
    let chat =
        |words: &[&str]| project.brynhild(&[&["--provider", "acme-llm", "chat"], words].concat());
    let run = chat(&["/ag", "Bob"]);
    let said = &run.success().stdout;
    assert!(said.contains("Acme rule one, Acme rule two, acme-skill |"), "{run}");
    assert!(said.contains("Greet Bob"), "{run}");
    let run = chat(&["something", "forbidden"]);
    assert!(run.code(1).stderr.contains("acme forbids it"), "{run}");
    assert_eq!(chat(&["--no-stream", "Hello"]).success().stdout.trim(), "whole");
    let skilled = chat(&["/skill", "acme-two", "go"]);
    assert!(skilled.success().stdout.contains("Body two"), "{skilled}");
    project.brynhild(&["plugin", "disable", "acme-kit"]).success();
    assert!(chat(&["Hello"]).code(2).stderr.contains("Unknown provider"));
    assert!(!project.brynhild(&["skill", "list"]).stdout.contains("acme"));
    let rendered = project.brynhild(&["command", "render", "ag"]);
    assert!(rendered.code(1).stderr.contains("Command not found: ag"), "{rendered}");
}

#[test]
fn missing_interpreter_is_reported_with_a_hint() {
    if !has_bubblewrap() {
        return;
    }
    let project = installed(POINTS);
    let python = project.home().join("environment/bin");
    for name in fs::read_dir(&python).unwrap().flatten().map(|entry| entry.path()) {
        if is_python(&name) {
            fs::remove_file(name).unwrap();
        }
    }
    let run = project.brynhild(&["tools", "list"]);
    assert!(run.success().stdout.contains("Bash"), "{run}");
    assert!(!run.stdout.contains("AcmeTool"));
}

fn is_python(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"))
}
