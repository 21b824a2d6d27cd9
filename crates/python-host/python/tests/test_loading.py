"""Which classes a worker finds, what it says about those it does not, and the plugin's place in the import system."""
import os
import sys
import unittest

from harness import PluginCase

DUCK = """
class Tool:
    name = "Duck"
    description = "quacks"
    input_schema = {"type": "object"}
    async def execute(self, input):
        return "quack"
"""


class Tools(PluginCase):
    def describe(self, **settings):
        return self.start(**settings).result("describe")

    def only(self, description):
        self.assertEqual([p for p in description["problems"] if p["severity"] == "error"], [])
        self.assertEqual(len(description["tools"]), 1, description)
        return description["tools"][0]

    def test_a_tool_is_described_in_full_with_defaults(self):
        self.tool("plain", "return None")
        tool = self.only(self.describe())
        self.assertEqual(
            tool,
            {
                "key": "tools/plain.py",
                "name": "Plain",
                "description": "does Plain",
                "input_schema": {"type": "object", "properties": {}},
                "version": "0.0.0",
                "categories": [],
                "requires_permission": True,
                "risk_level": "read_only",
                "recovery_policy": "allow",
                "live": False,
            },
        )

    def test_what_is_not_installed_is_stood_in_for_where_that_is_asked_for(self):
        self.write(
            "tools/far.py",
            """
            import nowhere.deep as deep
            from nowhere import Base as Far, retry, Field
            from brynhild.tools.base import Tool as Base, ToolResult
            class Model(Far, table=True):
                size: "Field[int]" = Field(default=3)
            @retry
            class Tool(Base):
                name = "Far"; description = "d"; input_schema = {"type": "object"}
                @retry(times=deep.LIMIT)
                async def execute(self, input): return ToolResult(True, "")
            """,
        )
        self.write("tools/told.py", "import nowhere\n" + DUCK.replace('"quacks"', '"quacks " + str(nowhere.X)'))
        self.write("tools/text.py", "import nowhere\n" + DUCK.replace('"quacks"', "nowhere.TEXT"))
        worker = self.start()
        plain = worker.result("describe")
        self.assertEqual((len(plain["tools"]), "pretended" in plain), (0, False), plain)
        pretended = worker.result("describe", pretend=True)
        self.assertEqual([tool["name"] for tool in pretended["tools"]], ["Far", "Duck"], pretended)
        self.assertEqual(pretended["pretended"], ["nowhere"])
        faults = sorted({os.path.basename(fault["file"]) for fault in pretended["problems"]})
        self.assertEqual(faults, ["text.py", "told.py"], "what depends on the package is not guessed")

    def test_optional_properties_and_plain_attributes_are_read(self):
        self.write(
            "tools/rich.py",
            """
            from brynhild.tools.base import Tool as Base, ToolResult
            class Tool(Base):
                name = "Rich"; description = "d"; input_schema = {"type": "object"}; version = "2.0"
                categories = ("a", "b"); examples = [{"input": {}}]; requires_permission = False
                risk_level = "high_impact"
                async def execute(self, input): return ToolResult(True, "")
            """,
        )
        tool = self.only(self.describe())
        self.assertEqual((tool["version"], tool["categories"], tool["requires_permission"]), ("2.0", ["a", "b"], False))
        self.assertEqual(tool["description"], 'd\n\nExamples:\n- {"input":{}}')
        self.assertEqual((tool["risk_level"], tool["recovery_policy"]), ("high_impact", "deny"))

    def test_the_imported_base_does_not_win_over_the_plugins_own_class(self):
        self.write(
            "tools/mine.py",
            """
            from brynhild.tools.base import Tool, ToolResult
            class Helper: pass
            class MyTool(Tool):
                name = "Mine"; description = "d"; input_schema = {}
                async def execute(self, input): return ToolResult(True, "mine")
            """,
        )
        worker = self.start()
        description = worker.result("describe")
        self.assertEqual((self.only(description)["name"], description["problems"]), ("Mine", []))
        self.assertEqual(worker.call("mine")["output"], "mine")

    def test_a_class_whose_name_is_the_files_is_picked(self):
        self.write("tools/greet.py", DUCK.replace("class Tool", "class Other").replace("Duck", "other") + DUCK.replace("class Tool", "class Greeter").replace("Duck", "greet"))
        self.assertEqual(self.only(self.describe())["name"], "greet")

    def test_an_unmarked_look_alike_loads_with_a_warning_and_a_marked_one_without(self):
        self.write("tools/duck.py", DUCK)
        self.write("tools/marked.py", DUCK.replace('name = "Duck"', 'name = "Marked"; _is_brynhild_duck_typed = True'))
        description = self.describe()
        self.assertEqual([t["name"] for t in description["tools"]], ["Duck", "Marked"])
        (problem,) = description["problems"]
        self.assertEqual((problem["severity"], os.path.basename(problem["file"])), ("note", "duck.py"))
        self.assertIn("_is_brynhild_duck_typed", problem["hint"])

    def test_a_tool_on_the_stubs_loads(self):
        self.write(
            "tools/stubbed.py",
            """
            from brynhild.plugins.stubs import ToolBase, ToolResult
            class Tool(ToolBase):
                name = "Stubbed"; description = "d"; input_schema = {}
                async def execute(self, input): return ToolResult(success=True, output="s")
            """,
        )
        description = self.describe()
        self.assertEqual((self.only(description)["name"], description["problems"]), ("Stubbed", []))

    def test_each_failing_file_costs_one_problem_with_file_line_cause_and_hint(self):
        self.write("tools/a_syntax.py", "x = 1\ndef f(:\n")
        self.write("tools/b_missing.py", "import os\n\nimport no_such_package.sub\n")
        self.write("tools/c_abstract.py", "from brynhild.tools.base import Tool as B\nclass Tool(B):\n    name = 'x'\n")
        self.write("tools/d_empty.py", "x = 1\n")
        self.write("tools/e_exit.py", "import sys\nsys.exit(3)\n")
        self.write("tools/f_init.py", DUCK + "    def __init__(self, needed): pass\n")
        self.write("tools/g_name.py", "from brynhild.plugins.stubs import ToolBase\nclass Tool(ToolBase): pass\n")
        self.write("tools/h_latin.py", "")
        with open(os.path.join(self.root, "tools/h_latin.py"), "wb") as handle:
            handle.write(b"x = '\xff'\n")
        self.tool("z_good", "return 'fine'")
        worker = self.start()
        description = worker.result("describe")
        self.assertEqual([tool["name"] for tool in description["tools"]], ["Z_Good"])
        problems = {os.path.basename(p["file"]): p for p in description["problems"] if p["severity"] == "error"}
        self.assertEqual(sorted(problems), [stem + ".py" for stem in "a_syntax b_missing c_abstract d_empty e_exit f_init g_name h_latin".split()])
        self.assertEqual(problems["a_syntax.py"]["line"], 2)
        self.assertEqual(problems["b_missing.py"]["line"], 3)
        self.assertIn("no_such_package", problems["b_missing.py"]["message"])
        self.assertIn("`dependencies:` in plugin.yaml", problems["b_missing.py"]["hint"])
        self.assertIn(".venv", problems["b_missing.py"]["hint"])
        self.assertIn("Can't instantiate abstract class", problems["c_abstract.py"]["message"])
        self.assertIn("execute", problems["c_abstract.py"]["hint"])
        self.assertIn("no tool", problems["d_empty.py"]["message"])
        self.assertEqual(problems["e_exit.py"]["message"], "SystemExit: 3")
        self.assertEqual(worker.call("z_good")["output"], "fine")

    def test_broken_properties_cost_a_warning_and_get_their_default(self):
        self.write("tools/odd.py", DUCK.replace('input_schema = {"type": "object"}', 'input_schema = "no"; _is_brynhild_duck_typed = True\n    version = property(lambda self: 1 / 0)'))
        description = self.describe()
        tool = self.only(description)
        self.assertEqual((tool["input_schema"], tool["version"]), ({"type": "object", "properties": {}}, "0.0.0"))
        texts = " ".join(problem["message"] for problem in description["problems"])
        self.assertIn("`input_schema` is a str, not a dict", texts)
        self.assertIn("`version` raises ZeroDivisionError", texts)

    def test_a_schema_that_json_has_no_words_for_is_told_all_the_same(self):
        self.write("tools/nan.py", DUCK.replace('{"type": "object"}', '{"type": "object", "default": float("nan"), 3: {1, 2}, "o": object}'))
        schema = self.only(self.describe())["input_schema"]
        self.assertIsNone(schema["default"])
        self.assertEqual(schema["3"], [1, 2])
        self.assertIn("object", schema["o"])

    def test_hidden_and_undeclared_files_stay_unloaded(self):
        self.write("tools/_private.py", "raise SystemExit('loaded')")
        self.write("tools/notes.txt", "")
        self.write("tools/sub/inner.py", "raise SystemExit('loaded')")
        self.tool("seen", "return None")
        description = self.describe()
        self.assertEqual((len(description["tools"]), description["problems"]), (1, []))
        self.assertEqual(self.describe(plugin={"tools": False})["tools"], [])

    def test_module_name_and_file_are_as_promised(self):
        file = self.tool("where", "import sys; return __name__ + ' ' + __file__ + ' ' + str(sys.modules[__name__].Tool is Tool)")
        output = self.start().call("where")["output"]
        self.assertEqual(output, "brynhild_plugins.my-plugin.tools.where %s True" % file)

    def test_relative_and_sibling_imports_find_the_plugins_own_files(self):
        self.write("tools/_helper.py", "VALUE = 'helped'\n")
        self.write("tools/a_shared.py", "from ._helper import VALUE as SHARED\n")
        self.write("lib/deep.py", "DEEP = 'deep'\n")
        self.tool("json", "return 'own'")
        self.tool(
            "use",
            "import json; return ' '.join([VALUE, a_shared.SHARED, top.VALUE, DEEP, json.dumps(1)])",
            head="from ._helper import VALUE\nfrom . import a_shared\nimport _helper as top\nfrom ..lib.deep import DEEP",
        )
        worker = self.start()
        description = worker.result("describe")
        self.assertEqual(description["problems"], [])
        self.assertEqual(worker.call("use")["output"], "helped helped helped deep 1")

    def test_bytecode_in_the_plugins_directory_is_never_used(self):
        import py_compile

        tool = self.tool("trusted", "return 'evil' + VALUE", head="from ._helper import VALUE\nimport sib")
        files = [tool, self.write("tools/_helper.py", "VALUE = ' evil'\n"), self.write("sib/__init__.py", "print('evil')\n")]
        for file in files:
            stat = os.stat(file)
            py_compile.compile(file, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
            with open(file, encoding="utf-8") as handle:
                text = handle.read().replace("evil", "good")
            self.write(os.path.relpath(file, self.root), text)
            os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        worker = self.start()
        self.assertEqual(worker.call("trusted")["output"], "good good")
        self.assertNotIn("evil", worker.printed())

    def test_compiled_code_is_kept_in_the_data_directory_and_follows_the_source(self):
        data = os.path.join(self.root, "data")
        for word in ("first", "second"):
            self.tool("kept", "return %r" % word)
            for _ in range(2):
                self.assertEqual(self.start(plugin={"data": data}).call("kept")["output"], word)
        names = os.listdir(os.path.join(data, "pycache"))
        self.assertEqual(len(names), 1, names)
        self.assertFalse(os.path.exists(os.path.join(self.root, "tools", "__pycache__")))
        with open(os.path.join(data, "pycache", names[0]), "r+b") as handle:
            handle.truncate(20)
        self.assertEqual(self.start(plugin={"data": data}).call("kept")["output"], "second")
        self.assertEqual(self.start(plugin={"data": "/proc/none"}).call("kept")["output"], "second")

    def test_a_tool_named_like_a_missing_package_does_not_import_itself(self):
        self.tool("nosuchyaml", "return HAVE", head="try:\n    import nosuchyaml\n    HAVE = 'itself'\nexcept ImportError:\n    HAVE = 'none'")
        self.assertEqual(self.start().call("nosuchyaml")["output"], "none")

    def test_an_unknown_key_is_refused(self):
        self.tool("one", "return None")
        worker = self.start()
        for key in ("tools/none.py", "tools/../x.py", "other/one.py", "one", "entry:brynhild.tools:x"):
            self.assertEqual(worker.request("call", tool=key, input={})["error"]["code"], -32602, key)

    def test_settings_and_session_reach_the_plugin(self):
        self.tool(
            "settings",
            """
            from brynhild.config import Settings
            s = Settings()
            return " ".join(map(str, [s.models.default, s.behavior.max_tokens, s.provider, s.model, s.project_root, s.plugin_settings]))
            """,
        )
        worker = self.start(
            config={"models": {"default": "m1"}},
            settings={"color": "red"},
            model={"provider": "p", "model": "m2"},
            project_root=self.root,
            cwd=self.root,
        )
        self.assertEqual(worker.call("settings")["output"], "m1 8192 p m2 %s {'color': 'red'}" % self.root)


class EntryPoints(PluginCase):
    def entries(self, **points):
        self.write("path/pack.py", PACK)
        listed = [
            {"group": "brynhild." + group, "name": name, "object": "pack:" + attribute}
            for group, items in points.items()
            for name, attribute in items.items()
        ]
        package = {"name": "pack", "version": "1"}
        plugin = {"name": "pack", "root": None, "entry_points": listed, "package": package, "tools": False}
        environment = {"PYTHONPATH": os.path.join(self.root, "path")}
        return self.start(flags=[], environment=environment, plugin=plugin)

    def test_every_group_gives_plain_data(self):
        worker = self.entries(
            plugins={"pack": "manifest"},
            tools={"t": "Packed"},
            providers={"pp": "Prov"},
            hooks={"h": "hooks", "hd": "HOOKS"},
            skills={"s": "skill", "sd": "SKILL"},
            commands={"c": "command", "cd": "COMMAND"},
            rules={"r": "RULES", "rl": "rules", "rd": "RULE"},
            profiles={"p": "profile", "pl": "PROFILES"},
        )
        result = worker.result("describe")
        self.assertEqual(result["problems"], [])
        self.assertEqual((result["plugin"]["name"], result["plugin"]["hooks"]), ("pack", False))
        self.assertEqual([(t["key"], t["name"]) for t in result["tools"]], [("entry:brynhild.tools:t", "Packed")])
        self.assertEqual([(p["name"], p["doc"]) for p in result["providers"]], [("pp", "First line.")])
        self.assertEqual([h["name"] for h in result["hooks"]], ["h", "hd"])
        self.assertEqual(result["hooks"][1]["config"]["hooks"]["error"][0]["command"], "true")
        self.assertEqual([(s["name"], s["allowed_tools"]) for s in result["skills"]], [("sk", ["Read"]), ("skd", ["Bash"])])
        self.assertEqual(result["skills"][1]["source"], "entry_point:sd")
        self.assertEqual([(c["name"], c["aliases"], c["body"]) for c in result["commands"]], [("go", ["g"], "Go {{args}}"), ("cd", [], "b")])
        self.assertEqual([r["name"] for r in result["rules"]], ["r", "rl_0", "named", "rd"])
        self.assertEqual([p["name"] for p in result["profiles"]], ["pa", "pb", "pc"])
        call = worker.result("call", tool="entry:brynhild.tools:t", input={})
        self.assertEqual(call["output"], "packed")

    def test_a_failing_entry_point_costs_one_problem(self):
        worker = self.entries(
            plugins={"bad": "bad_manifest"},
            tools={"no": "nothing_here", "notclass": "RULES"},
            hooks={"bad": "BAD_HOOKS"},
            skills={"bad": "COMMAND"},
            profiles={"bad": "BAD_PROFILE"},
            rules={"good": "RULES"},
        )
        result = worker.result("describe")
        self.assertEqual(len(result["problems"]), 6, result["problems"])
        self.assertEqual([r["content"] for r in result["rules"]], ["be good"])
        files = [problem["file"] for problem in result["problems"]]
        self.assertIn("entry:brynhild.tools:no", files)

    def test_a_wrong_profile_in_a_list_costs_no_other(self):
        result = self.entries(profiles={"all": "MIXED"}).result("describe")
        self.assertEqual([profile["name"] for profile in result["profiles"]], ["one", "two"])
        self.assertEqual(len(result["problems"]), 1, result["problems"])

    def test_a_manifest_may_be_a_dict(self):
        self.assertEqual(self.entries(plugins={"p": "dict_manifest"}).result("describe")["plugin"]["name"], "dicty")


PACK = """
import pathlib
from brynhild.tools.base import Tool, ToolResult
from brynhild.api.base import LLMProvider
from brynhild.plugins.manifest import PluginManifest, Plugin
from brynhild.plugins.commands import Command, CommandFrontmatter
from brynhild.skills.skill import Skill, SkillFrontmatter
from brynhild.hooks.config import HooksConfig, HookDefinition
from brynhild.profiles.types import ModelProfile

def manifest(): return PluginManifest(name="pack", version="1.0.0", tools=["t"])
def dict_manifest(): return {"name": "dicty", "version": "1"}
def bad_manifest(): return PluginManifest(name="pack", version="1.0.0", hooks=["x"])
class Packed(Tool):
    name = "Packed"; description = "d"; input_schema = {}
    async def execute(self, input): return ToolResult(True, "packed")
class Prov(LLMProvider):
    '''First line.

    Second.'''
    name = "pp"; model = "m"
    def supports_tools(self): return False
    async def complete(self, messages, **k): pass
    async def stream(self, messages, **k): yield
def hooks(): return HooksConfig(hooks={"pre_tool_use": [HookDefinition(name="a", type="command", command="true")]})
HOOKS = {"version": 1, "hooks": {"error": [{"name": "e", "type": "command", "command": "true"}]}}
BAD_HOOKS = {"hooks": {"error": [{"name": "e"}]}}
skill = lambda: Skill(SkillFrontmatter(name="sk", description="d", **{"allowed-tools": ["Read"]}), "body", pathlib.Path("/x"), "plugin")
SKILL = {"name": "skd", "description": "d", "allowed-tools": ["Bash"]}
command = Command(CommandFrontmatter(name="go", aliases=["g"]), "Go {{args}}", pathlib.Path("/x"))
COMMAND = {"name": "cd", "body": "b"}
RULES = "be good"
def rules(): return ["one", {"content": "two", "name": "named"}]
RULE = {"content": "three"}
profile = ModelProfile(name="pa", family="f")
PROFILES = [{"name": "pb"}, ModelProfile("pc")]
BAD_PROFILE = {"name": "x", "unknown": 1}
MIXED = [{"name": "one"}, BAD_PROFILE, {"name": "two"}]
"""

if __name__ == "__main__":
    unittest.main()
