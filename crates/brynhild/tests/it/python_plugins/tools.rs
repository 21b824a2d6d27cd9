//! Tools in every form that is accepted, with everything they say of themselves.

use serde_json::{Value, json};
use testkit::{ModelServer, Reply};

use super::{error, exec, output, plugin, results, tool};
use crate::{has_bubblewrap, project, project_with};

const COUNTER: &str = r#"
import brynhild.tools.base as base


class Tool(base.Tool):
    count = 0

    @property
    def name(self): return "Counter"
    @property
    def description(self): return "Counts on"
    @property
    def input_schema(self):
        return {"type": "object", "properties": {"by": {"type": "integer"}}, "required": ["by"]}
    @property
    def requires_permission(self): return False
    @property
    def version(self): return "2.3.4"
    @property
    def categories(self): return ["numbers", "fun"]
    @property
    def examples(self): return [{"description": "Two further", "input": {"by": 2}}]
    @property
    def risk_level(self): return "mutating"
    @property
    def recovery_policy(self): return "deny"

    async def execute(self, input):
        Tool.count += input["by"]
        return base.ToolResult(True, str(Tool.count))
"#;

const LOCKED: &str = r#"
import asyncio
from brynhild.tools.base import Tool as ToolBase, ToolResult


class Locked(ToolBase):
    name = "locked"
    description = "Counts under a lock"
    input_schema = {"type": "object", "properties": {}}
    requires_permission = False

    def __init__(self):
        self.lock = asyncio.Lock()
        self.count = 0

    async def execute(self, input):
        async with self.lock:
            before = self.count
            await asyncio.sleep(0)
            self.count = before + 1
            return ToolResult(success=True, output=f"{self.count}")
"#;

const KEEPER: &str = r#"
import asyncio
import pathlib
import types


class Tool:
    _is_brynhild_duck_typed = True
    name = "keeper"
    description = "Talks to one child for ever"
    input_schema = {"type": "object", "properties": {"line": {"type": "string"}}}
    requires_permission = False
    child = None

    async def execute(self, input):
        pipe = asyncio.subprocess.PIPE
        if self.child is None:
            self.child = await asyncio.create_subprocess_exec("cat", stdin=pipe, stdout=pipe)
        self.child.stdin.write((input["line"] + "\n").encode())
        await self.child.stdin.drain()
        line = (await self.child.stdout.readline()).decode().strip()
        data = (pathlib.Path(__file__).parent / "data.txt").read_text()
        return types.SimpleNamespace(success=True, output=f"{self.child.pid} {line} {data}", error=None)
"#;

const OTHERS: &[(&str, &str)] = &[
    (
        "tools/unmarked.py",
        "class Tool:\n    name = 'unmarked'\n    description = 'Has no mark'\n    \
         def execute(self, input):\n        return {'success': True, 'output': 'from a dict'}\n",
    ),
    (
        "tools/runner.py",
        "class Tool:\n    _is_brynhild_duck_typed = True\n    name = 'runner'\n    description = 'Only runs'\n    \
         async def run(self, city, count=1):\n        return f'{city} {count}'\n",
    ),
    (
        "tools/stubbed.py",
        "from brynhild.plugins.stubs import ToolResult, ToolBase\n\n\nclass Tool(ToolBase):\n    \
         name = 'Stubbed'\n    description = 'From the stubs'\n    \
         input_schema = {'type': 'object', 'properties': {'a': {'type': 'string'}}, 'required': ['a']}\n    \
         async def execute(self, input):\n        return ToolResult(success=True, output='stub ' + input['a'])\n",
    ),
    ("tools/_helper.py", "raise RuntimeError('nobody loads this')\n"),
];

fn row(listed: &Value, name: &str) -> Value {
    let rows = listed.as_array().unwrap().iter();
    rows.clone().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}")).clone()
}

/// A tool that asks as long as a file is there.
const MOODY: &str = r#"
import os
from brynhild.tools.base import Tool as Base, ToolResult


class Tool(Base):
    name = "moody"
    description = "Asks at times"
    input_schema = {"type": "object", "properties": {"n": {"type": "number", "minimum": 0, "exclusiveMinimum": True}}}

    @property
    def requires_permission(self):
        return os.path.exists("flag")

    async def execute(self, input):
        return ToolResult(True, "done")
"#;

#[test]
fn call_is_judged_by_the_current_tool_properties() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    plugin(&project, "moody", &[("tools/moody.py", MOODY)]);
    let call = || project.brynhild(&["tools", "exec", "moody", "--input", "{\"n\": 1}", "--json"]);
    call().success();
    project.file("flag", "");
    call().code(3);
    call().code(3);
    std::fs::remove_file(project.path().join("flag")).unwrap();
    call().success();
}

#[test]
fn disabled_tool_is_neither_listed_nor_run() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    plugin(&project, "moody", &[("tools/moody.py", MOODY)]);
    assert!(project.brynhild(&["tools", "list"]).stdout.contains("moody"));
    project.config_more("tools: {disabled: {moody: true}}\n");
    assert!(!project.brynhild(&["tools", "list"]).stdout.contains("moody"));
    assert!(!project.brynhild(&["tools", "exec", "moody"]).status.success());
}

#[test]
fn every_accepted_form_of_a_tool_is_loaded_and_runs() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let root = plugin(&project, "forms", OTHERS);
    super::write(&root.join("tools/counter.py"), COUNTER);
    super::write(&root.join("tools/locked.py"), LOCKED);
    let run = project.brynhild(&["tools", "list", "--json"]);
    let listed = run.json();
    let warnings: Vec<&str> = run.stderr.lines().filter(|it| it.starts_with("warning")).collect();
    assert!(warnings.is_empty(), "{run}");
    let checked = project.brynhild(&["plugin", "validate", "forms"]);
    assert!(
        checked.success().stderr.contains("unmarked.py: `Tool` does not derive from"),
        "{checked}"
    );
    let counter = row(&listed, "Counter");
    assert_eq!((&counter["version"], &counter["source"]), (&"2.3.4".into(), &"forms".into()));
    assert_eq!(counter["categories"], json!(["numbers", "fun"]));
    assert_eq!(
        (&counter["risk_level"], &counter["recovery_policy"]),
        (&"mutating".into(), &"deny".into())
    );
    assert_eq!(counter["requires_permission"], false);
    let stubbed = row(&listed, "Stubbed");
    assert_eq!(
        (&stubbed["version"], &stubbed["requires_permission"]),
        (&"0.0.0".into(), &true.into())
    );
    assert_eq!(
        (&stubbed["risk_level"], &stubbed["recovery_policy"]),
        (&"read_only".into(), &"allow".into())
    );
    assert_eq!(output(&exec(&project, "unmarked", &json!({}))), "from a dict");
    assert_eq!(output(&exec(&project, "runner", &json!({"city": "Oslo"}))), "Oslo 1");
    assert_eq!(output(&exec(&project, "Stubbed", &json!({"a": "b"}))), "stub b");
    assert_eq!(output(&exec(&project, "locked", &json!({}))), "1");
    let missing = error(&exec(&project, "Counter", &json!({})));
    assert_eq!(missing, "Missing required parameters: by");
    assert!(error(&exec(&project, "Counter", &json!({"by": "x"}))).contains("integer"));
}

#[test]
fn tool_state_persists_between_calls() {
    if !has_bubblewrap() {
        return;
    }
    let say = |line: &str| Reply::calls([("keeper", json!({"line": line}))]);
    let server = ModelServer::start([
        Reply::calls([("Counter", json!({"by": 2})), ("locked", json!({})), ("locked", json!({}))]),
        Reply::calls([("Counter", json!({"by": 3})), ("locked", json!({}))]),
        say("one"),
        say("two"),
        Reply::text("Done."),
    ]);
    let project = project_with(&server);
    let files = [
        ("tools/counter.py", COUNTER),
        ("tools/locked.py", LOCKED),
        ("tools/keeper.py", KEEPER),
        ("tools/data.txt", "DATA"),
    ];
    plugin(&project, "kept", &files);
    let run = project.brynhild(&["chat", "Count"]);
    assert_eq!(run.success().stdout.trim(), "Done.", "{run}");
    assert_eq!(results(&server, 1), ["2", "1", "2"], "in any order of the model's: {run}");
    assert_eq!(results(&server, 2)[..2], ["3", "5"]);
    let said = results(&server, 4);
    let (child, rest) = said[0].split_once(' ').unwrap();
    assert_eq!((rest, said[1].as_str()), ("two DATA", format!("{child} one DATA").as_str()));
    let offered = server.chats()[0].body["tools"].to_string();
    assert!(offered.contains("Two further"), "examples are for the model: {offered}");
}

#[test]
fn tool_that_requires_permission_needs_a_user() {
    if !has_bubblewrap() {
        return;
    }
    let server = ModelServer::start([Reply::calls([("asks", json!({}))]), Reply::text("Well.")]);
    let project = project_with(&server);
    let asking = tool("asks", "return ToolResult(True, 'ran')")
        .replace("permission = False", "permission = True");
    plugin(&project, "asking", &[("tools/asks.py", &asking)]);
    let run = project.brynhild(&["chat", "Ask"]);
    assert!(!results(&server, 1)[0].contains("ran"), "{run}");
    run.code(3);
}

#[test]
fn dynamic_properties_are_read_in_the_worker() {
    if !has_bubblewrap() {
        return;
    }
    let live = tool("live", "return ToolResult(True, os.getcwd() + ' ' + __name__)").replace(
        "    description = \"Tries live\"\n",
        "    @property\n    def description(self):\n        return 'for ' + os.environ.get('USER', 'nobody')\n",
    );
    let project = project();
    plugin(&project, "changing", &[("tools/live.py", &live)]);
    let described = |user: &str| {
        let run = project.command(&["tools", "schema", "live"]).env("USER", user).run();
        run.json()["description"].as_str().unwrap().to_owned()
    };
    assert_eq!(described("ann"), "for ann");
    assert_eq!(described("bob"), "for bob");
    project.file("deep/x", "");
    let run = project
        .command(&["tools", "exec", "live", "--json"])
        .cwd(project.path().join("deep"))
        .run();
    let said = output(&run);
    assert!(said.contains("/project/deep brynhild_plugins.changing.tools.live"), "{said}");
}

#[test]
fn disabled_plugin_adds_nothing() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let files = [
        ("tools/counter.py", COUNTER),
        ("commands/greet.md", "---\nname: greet\n---\nHi {{args}}\n"),
        ("skills/one/SKILL.md", "---\nname: one\ndescription: One\n---\nBody\n"),
        ("rules/r.md", "A rule.\n"),
        ("profiles/p.yaml", "name: off-profile\n"),
        (
            "providers/p.py",
            "class Provider:\n    _is_brynhild_duck_typed = True\n    name = 'offp'\n    PROVIDER_NAME = 'offp'\n    async def complete(self, **k): return 'x'\n",
        ),
        (
            "hooks.yaml",
            "version: 1\nhooks:\n  pre_tool_use:\n    - {name: h, type: command, command: 'true'}\n",
        ),
        (
            "plugin.yaml",
            "name: whole\nversion: '1'\ntools: [c]\ncommands: [greet]\nskills: [one]\nrules: [r]\nproviders: [p]\nhooks: true\n",
        ),
    ];
    plugin(&project, "whole", &files);
    let shown = || {
        let words: &[&[&str]] = &[
            &["tools", "list"],
            &["command", "list"],
            &["skill", "list"],
            &["rules", "show"],
            &["profile", "list"],
            &["api", "providers"],
            &["hooks", "list"],
        ];
        words.iter().map(|args| project.brynhild(args).stdout).collect::<Vec<_>>()
    };
    let marks = ["Counter", "/greet", "one ", "A rule.", "off-profile", "offp", "pre_tool_use"];
    for (text, mark) in shown().iter().zip(marks) {
        assert!(text.contains(mark), "{mark}: {text}");
    }
    project.brynhild(&["plugins", "disable", "whole"]).success();
    for (text, mark) in shown().iter().zip(marks) {
        assert!(!text.contains(mark), "{mark}: {text}");
    }
}
