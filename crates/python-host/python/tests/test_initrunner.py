"""Tools of InitRunner roles: custom modules, tool types of packages and files, and the packages that they import."""
import json
import os
import unittest

from harness import PluginCase


class RoleCase(PluginCase):
    """Tests with a role's directory of their own."""

    # Without the packages of the interpreter, so that the same ones are there everywhere.
    flags = ["-I", "-S"]

    def open(self, *entries, **settings):
        settings["entries"] = list(entries)
        where = {"cwd": self.root, "project_root": self.root}
        return self.start(dialect="initrunner", settings=settings, flags=list(self.flags), **where)

    def describe(self, *entries, **settings):
        described = self.open(*entries, **settings).result("describe")
        return {tool["name"]: tool for tool in described["tools"]}, described["initrunner"]["entries"]

    def error(self, *entries, **settings):
        tools, entries = self.describe(*entries, **settings)
        self.assertEqual(tools, {})
        return entries[0]["error"]["message"]

    def said(self, worker, tool, index=0, **given):
        result = worker.result("call", tool="%d:%s" % (index, tool), input=given)
        return result["output"] if result["success"] else "ERROR " + result["error"]


def custom(module, **more):
    return dict({"type": "custom", "module": module}, **more)


class Custom(RoleCase):
    def test_the_public_functions_of_a_module_are_tools(self):
        self.write(
            "my_tools.py",
            '''
            from json import dumps
            from typing import Optional
            LIMIT = 3
            class Thing:
                pass
            def _hidden():
                pass
            async def later(x: int = 1) -> str:
                """Waits."""
                import asyncio
                await asyncio.sleep(0)
                return "later %d" % x
            def greet(name: str, times: int = 2, mood: Optional[str] = None) -> str:
                """Greet somebody.

                Args:
                    name: Who it is.
                    times (int): How often,
                        at least once.
                """
                return " ".join(["hello", name] * times)
            ''',
        )
        worker = self.open(custom("my_tools"))
        tools = {tool["name"]: tool for tool in worker.result("describe")["tools"]}
        self.assertEqual(list(tools), ["dumps", "greet", "later"])
        self.assertEqual(tools["greet"]["description"], "Greet somebody.")
        self.assertEqual(
            tools["greet"]["input_schema"],
            {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "Who it is."},
                    "times": {"type": "integer", "default": 2, "description": "How often,\nat least once."},
                    "mood": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                },
                "required": ["name"],
                "additionalProperties": False,
            },
        )
        self.assertEqual(self.said(worker, "greet", name="Ann", times="1"), "hello Ann")
        self.assertEqual(self.said(worker, "later", x=7), "later 7")
        self.assertEqual(self.said(worker, "greet", name="Bob"), "hello Bob hello Bob")

    def test_one_function_is_taken_by_name(self):
        self.write("pkg/utils.py", "def a(): return 1\ndef b(): return 2\n")
        worker = self.open(custom("pkg.utils", function="b"))
        self.assertEqual([tool["name"] for tool in worker.result("describe")["tools"]], ["b"])
        self.assertEqual(self.said(worker, "b"), "2")

    def test_the_configuration_is_put_in_and_never_shown(self):
        self.write(
            "my_tools.py",
            """
            def look(query: str, tool_config: dict) -> str:
                "Look. :param tool_config: x"
                return "[%s] %s" % (tool_config.get("prefix"), query)
            def bare(tool_config=None): return tool_config
            def keyword(*, tool_config): return tool_config
            def first(tool_config, /, x=1): return [tool_config, x]
            """,
        )
        worker = self.open(custom("my_tools", config={"prefix": "P", "key": "SECRET"}))
        described = worker.result("describe")
        self.assertNotIn("SECRET", json.dumps(described))
        for tool in described["tools"]:
            self.assertNotIn("tool_config", json.dumps(tool["input_schema"]))
        self.assertEqual(self.said(worker, "look", query="q"), "[P] q")
        self.assertEqual(self.said(worker, "look", query="q", tool_config={"prefix": "EVIL"}), "[P] q")
        self.assertEqual(json.loads(self.said(worker, "keyword"))["key"], "SECRET")
        self.assertEqual(json.loads(self.said(worker, "first", x=2)), [{"prefix": "P", "key": "SECRET"}, 2])
        worker = self.open(custom("my_tools"))
        self.assertEqual(self.said(worker, "bare"), "{}")

    def test_variables_are_filled_in_where_the_role_was_given_them(self):
        self.write("my_tools.py", "def see(tool_config): return tool_config\n")
        config = {"a": "k=${GIVEN}", "b": ["${KEPT}"], "c": "${UNSET}"}
        worker = self.start(
            dialect="initrunner",
            settings={"entries": [custom("my_tools", config=config)], "variables": ["GIVEN", "UNSET"]},
            environment={"GIVEN": "1", "KEPT": "2"},
        )
        said = json.loads(self.said(worker, "see"))
        self.assertEqual(said, {"a": "k=1", "b": ["${KEPT}"], "c": "${UNSET}"})

    def test_what_cannot_be_loaded_is_told_in_the_documented_words(self):
        self.write("wants.py", "import not_there_at_all\ndef f(): pass\n")
        self.write("empty.py", "X = 1\nclass A: pass\n_f = lambda: 1\n")
        self.write("broken.py", "def f(:\n")
        self.write("raises.py", "raise ValueError('no')\n")
        words = "Could not load module 'xyz': missing dependency 'xyz'. Install it with: pip install xyz"
        self.assertEqual(self.error(custom("xyz")), words)
        words = "Could not load module 'wants': missing dependency 'not_there_at_all'. Install it with: pip install "
        self.assertEqual(self.error(custom("wants")), words + "not_there_at_all")
        self.assertEqual(self.error(custom("empty", function="foo")), "Function 'foo' not found in module 'empty'")
        words = "No public callable functions found in module 'empty'. Add public functions or specify 'function' explicitly."
        self.assertEqual(self.error(custom("empty")), words)
        self.assertIn("Could not load module 'broken': SyntaxError", self.error(custom("broken")))
        self.assertEqual(self.error(custom("raises")), "Could not load module 'raises': ValueError: no")
        self.assertEqual(self.error({"type": "custom"}), "module: Field required")

    def test_modules_beside_the_role_are_found_also_while_functions_run(self):
        self.write("helper.py", "WORD = 'helped'\n")
        self.write("lazy.py", "WORD = 'lazily'\n")
        self.write("pkg/__init__.py", "from .inner import word\n")
        self.write("pkg/inner.py", "def word():\n    from . import other\n    return other.W\n")
        self.write("pkg/other.py", "W = 'other'\n")
        self.write("main.py", "import helper\ndef f():\n    import lazy\n    return helper.WORD + lazy.WORD\n")
        worker = self.open(custom("main"), custom("pkg"))
        self.assertEqual(self.said(worker, "f"), "helpedlazily")
        self.assertEqual(self.said(worker, "word", index=1), "other")

    def test_state_of_modules_is_kept_and_shared(self):
        self.write("state.py", "COUNT = 0\n")
        self.write("one.py", "import state\ndef up():\n    state.COUNT += 1\n    return state.COUNT\n")
        self.write("two.py", "import state\ndef count(): return state.COUNT\n")
        worker = self.open(custom("one"), custom("two"))
        self.said(worker, "up")
        self.assertEqual(self.said(worker, "up"), "2")
        self.assertEqual(self.said(worker, "count", index=1), "2")

    def test_a_function_that_no_model_could_call_costs_a_warning(self):
        self.write("odd.py", "from typing import Callable\ndef bad(f: Callable): pass\ndef good(): pass\n")
        tools, entries = self.describe(custom("odd"))
        self.assertEqual(list(tools), ["good"])
        self.assertIn("function 'bad' of module 'odd' is left out", entries[0]["warnings"][0])
        self.assertIn("Callable", self.error(custom("odd", function="bad")))


class Rules(RoleCase):
    def test_what_is_usually_blocked_is_refused_unless_the_role_lets_it(self):
        for source, name in (
            ("import os.path\ndef f(): pass\n", "os"),
            ("from http import server\ndef f(): pass\n", "http.server"),
            ("import json\ndef f(): import socket\n", "socket"),
        ):
            self.write("m.py", source)
            said = self.error(custom("m"))
            self.assertTrue(said.startswith("Custom tool imports blocked module '%s' (" % name), said)
            self.assertIn("`security.tools.blocked_custom_modules` of the role", said)
            tools, _ = self.describe(custom("m"), imports={"allowed": [], "blocked": []})
            self.assertEqual(list(tools), ["f"])

    def test_a_look_runs_nothing_and_says_what_the_text_tells(self):
        self.write("m.py", "print('ran')\ndef f(): pass\n_hidden = 1\n")
        for source, entry, wanted in (
            ("def f(): pass\n", custom("m"), None),
            ("def f(): pass\n", custom("m", function="g"), "Function 'g' not found in module 'm'"),
            ("X = 1\n", custom("m"), "No public callable functions found in module 'm'."),
            ("import not_there\ndef f(): pass\n", custom("m"), "missing dependency 'not_there'"),
            ("try:\n    import not_there\nexcept ImportError: pass\n", custom("m"), None),
            ("raise SystemExit(1)\n", custom("m"), None),
            ("def f(:\n", custom("m"), "Could not load module 'm': SyntaxError"),
            ("import os\ndef f(): pass\n", custom("m"), "Custom tool imports blocked module 'os'"),
            ("", custom("gone"), "Could not load module 'gone': missing dependency 'gone'"),
            ("", {"type": "linear", "config": {}}, "Tool type 'linear' not found. No plugins installed."),
        ):
            self.write("m.py", source)
            tools, entries = self.describe(entry, only_look=True)
            found = ["f"] if wanted is None and source.startswith("def f") else []
            self.assertEqual(list(tools), found)
            said = (entries[0]["error"] or {}).get("message")
            self.assertEqual(said is None, wanted is None, (source, said))
            self.assertIn(wanted or "", said or "")

    def test_the_rules_of_a_role_hold(self):
        self.write("m.py", "import json\ndef f(): return __import__('pickle')\n")
        said = self.error(custom("m"), imports={"allowed": ["re"], "blocked": None})
        self.assertIn("Custom tool imports module 'json' which is not in allowlist (`security.tools.allowed_custom_modules`", said)
        said = self.error(custom("m"), imports={"allowed": ["json"], "blocked": ["json"]})
        self.assertIn("Custom tool uses __import__('pickle') which is not in allowlist (`security.tools.allowed_custom_modules`", said)
        said = self.error(custom("m"), imports={"allowed": [], "blocked": ["pickle"]})
        self.assertIn("Custom tool uses __import__('pickle') which is blocked (`security.tools.blocked_custom_modules`", said)
        self.write("m.py", "from xml.dom import minidom\ndef f(): pass\n")
        said = self.error(custom("m"), imports={"allowed": [], "blocked": ["xml"]})
        self.assertIn("Custom tool imports blocked module 'xml'", said)
        tools, _ = self.describe(custom("m"), imports={"allowed": ["xml"], "blocked": ["xml"]})
        self.assertEqual(list(tools), ["f"])


class Calls(RoleCase):
    def setUp(self):
        super().setUp()
        self.write(
            "m.py",
            '''
            import dataclasses, datetime, enum, pathlib
            from typing import Any, Dict, List, Literal, Optional, Union
            class Color(enum.Enum):
                RED = "red"
                BLUE = "blue"
            @dataclasses.dataclass
            class Point:
                x: int
                y: float = 1.5
            def nothing(): return None
            def text(): return "\\u00fc"
            def data(): return {"a": 1, "b": None, "c": [1.5, True, "\\u00fc"]}
            def special(): return [Point(1), Color.RED, datetime.date(2020, 1, 2), pathlib.PurePosixPath("/x"), b"ab", {3}]
            def odd(): return object()
            def kinds(c: Color, p: Point, d: datetime.date, l: List[int], u: Union[int, str], m: Dict[str, int] = {}):
                return [type(v).__name__ for v in (c, p, d, u)] + [l, m]
            def point(p: Point): return p.x
            @dataclasses.dataclass
            class Tree:
                name: str
                below: List["Tree"] = dataclasses.field(default_factory=list)
            def deepest(tree: Tree, other: Optional[Tree] = None):
                return deepest(tree.below[-1]) if tree.below else tree.name
            def many(first: int, *rest: int, **named: str): return [first, list(rest), named]
            def choice(w: Literal["a", "b"]): return w
            def fails(): raise ValueError("bad thing")
            def leaves(): raise SystemExit(3)
            def own_loop():
                import asyncio
                async def inner(): return "ran"
                return asyncio.run(inner())
            async def waits():
                import asyncio
                await asyncio.sleep(0)
                return "waited"
            def again():
                from pydantic_ai import ModelRetry
                raise ModelRetry("use another name")
            ''',
        )
        self.worker = self.open(custom("m"))

    def call(self, tool, **given):
        return self.said(self.worker, tool, **given)

    def test_results_become_text(self):
        self.assertEqual(self.call("nothing"), "")
        self.assertEqual(self.call("text"), "\u00fc")
        self.assertEqual(self.call("data"), '{"a":1,"b":null,"c":[1.5,true,"\u00fc"]}')
        self.assertEqual(self.call("special"), '[{"x":1,"y":1.5},"red","2020-01-02","/x","YWI=",[3]]')
        self.assertIn("Unable to serialize", self.call("odd"))

    def test_arguments_become_what_the_annotations_say(self):
        said = self.call("kinds", c="blue", p={"x": "3"}, d="2020-01-02", l=["1", 2.0], u="5")
        self.assertEqual(json.loads(said), ["Color", "Point", "date", "str", [1, 2], {}])
        self.assertEqual(self.call("point", x=4), "4")
        self.assertEqual(self.call("deepest", tree={"name": "a", "below": [{"name": "b"}]}), "b")
        self.assertEqual(json.loads(self.call("many", first=1, rest=[2, "3"], word="w")), [1, [2, 3], {"word": "w"}])

    def test_arguments_that_do_not_fit_are_listed(self):
        said = self.call("choice", w="c", more=1)
        self.assertTrue(said.startswith("ERROR 2 validation errors:\n```json\n"), said)
        self.assertTrue(said.endswith("```\n\nFix the errors and try again."), said)
        faults = json.loads(said.split("```json")[1].split("```")[0])
        self.assertEqual(faults[0], {"type": "literal_error", "loc": ["w"], "msg": "Input should be 'a' or 'b'", "input": "c"})
        self.assertEqual((faults[1]["type"], faults[1]["loc"]), ("extra_forbidden", ["more"]))
        self.assertIn('"type": "missing"', self.call("choice"))

    def test_exceptions_are_told_and_the_worker_goes_on(self):
        self.assertEqual(self.call("fails"), "ERROR ValueError: bad thing")
        self.assertEqual(self.call("leaves"), "ERROR SystemExit: 3")
        self.assertEqual(self.call("again"), "ERROR use another name\n\nFix the errors and try again.")
        self.assertEqual(self.call("text"), "\u00fc")

    def test_functions_may_have_a_loop_of_their_own_whoever_ran_before(self):
        self.assertEqual(self.call("own_loop"), "ran")
        self.assertEqual(self.call("waits"), "waited")
        self.assertEqual(self.call("own_loop"), "ran")
        self.assertEqual(self.call("fails"), "ERROR ValueError: bad thing")

    def test_there_are_no_other_tools(self):
        for key in ("0:none", "7:text", "x", ":text"):
            self.assertIn("error", self.worker.request("call", tool=key, input={}))


PLUGIN = '''
from pydantic import BaseModel
from pydantic_ai.toolsets.function import FunctionToolset

from initrunner.agent.plugins import ToolPlugin


class LinearToolConfig(BaseModel):
    type: str = "linear"
    channel: str = "#general"
    limit: int


def build(config: LinearToolConfig, **kwargs) -> FunctionToolset:
    toolset = FunctionToolset()

    @toolset.tool
    def send_message(text: str) -> str:
        """Send a message.

        Args:
            text: What is sent.
        """
        return "Sent %s to %s (%d, %s)" % (text, config.channel, config.limit, sorted(kwargs))

    @toolset.tool(name="renamed", description="Another one", retries=3)
    async def other(n: int = 1) -> int:
        return n + config.limit

    return toolset


def create_plugin() -> ToolPlugin:
    return ToolPlugin(type="linear", config_class=LinearToolConfig, builder=build, description="Sends")
'''


class Types(RoleCase):
    def point(self, name, object, package="initrunner-%s"):
        return {"name": name, "object": object, "package": package % name if "%" in package else package}

    def setUp(self):
        super().setUp()
        self.site = self.write("site/linear_plugin.py", PLUGIN).rpartition("/")[0]
        self.linear = self.point("linear", "linear_plugin:create_plugin")

    def plugin(self, kind="linear", points=None, **config):
        entry = {"type": kind, "config": config}
        points = [self.linear] if points is None else points
        return self.open(entry, entry_points=points, sites=[self.site])

    def entries(self, worker):
        return worker.result("describe")["initrunner"]["entries"]

    def test_a_package_brings_a_tool_type(self):
        worker = self.plugin(channel="#x", limit="3")
        tools = {tool["name"]: tool for tool in worker.result("describe")["tools"]}
        self.assertEqual(sorted(tools), ["renamed", "send_message"])
        self.assertEqual(tools["send_message"]["description"], "Send a message.")
        self.assertEqual(tools["send_message"]["input_schema"]["properties"]["text"]["description"], "What is sent.")
        self.assertEqual(tools["renamed"]["description"], "Another one")
        said = self.said(worker, "send_message", text="t")
        self.assertEqual(said, "Sent t to #x (3, ['role_dir', 'sandbox'])")
        self.assertEqual(self.said(worker, "renamed", n="2"), "5")

    def test_a_wrong_configuration_is_told(self):
        said = self.entries(self.plugin(limit="many"))[0]["error"]["message"]
        self.assertIn("the configuration of tool type 'linear' makes no sense: 1 validation error", said)
        self.assertIn("limit", said)

    def test_unknown_types_are_told_in_the_documented_words(self):
        said = self.entries(self.plugin("slick", points=[]))[0]["error"]["message"]
        words = "Tool type 'slick' not found. No plugins installed. Install one with: pip install initrunner-slick"
        self.assertEqual(said, words)
        said = self.entries(self.plugin("slick"))[0]["error"]["message"]
        words = "Tool type 'slick' not found. Installed plugins: ['linear']. Did you forget to pip install initrunner-slick?"
        self.assertEqual(said, words)

    def test_a_type_may_have_another_name_than_its_entry_point(self):
        worker = self.plugin(points=[self.point("tools", "linear_plugin:create_plugin")], limit=1)
        self.assertEqual(self.said(worker, "renamed"), "2")

    def test_a_broken_package_does_not_keep_others_from_working(self):
        self.write("site/bad.py", "raise RuntimeError('no')\n")
        self.write("site/gone.py", "raise SystemExit(3)\n")
        broken = [self.point("bad", "bad:create"), self.point("gone", "gone:create"), self.point("odd", "json:dumps")]
        points = broken + [self.linear]
        worker = self.plugin("linear", points=points, limit=1)
        self.assertEqual(self.said(worker, "renamed"), "2")
        entries = self.entries(self.plugin("none", points=points))
        self.assertIn("Installed plugins: ['linear']", entries[0]["error"]["message"])
        said = "\n".join(entries[0]["warnings"])
        self.assertIn("the tool type 'bad' of initrunner-bad is left out: RuntimeError: no", said)
        self.assertIn("the tool type 'odd'", said)
        self.assertIn("SystemExit: 3", said)

    def test_all_forms_of_adding_a_function_are_known(self):
        self.write(
            "site/forms.py",
            '''
            from pydantic import BaseModel
            from pydantic_ai import FunctionToolset, RunContext, Tool, ModelRetry
            from pydantic_ai.toolsets import AbstractToolset
            from initrunner.agent.plugins import ToolPlugin
            class Config(BaseModel):
                type: str = "forms"
            def first(x: int) -> int:
                "First."
                return x
            def build(config, role_dir):
                toolset = FunctionToolset(tools=[first, Tool(first, name="second")])
                @toolset.tool
                def with_context(ctx: RunContext[None], y: int) -> str:
                    return "%s %s %d" % (ctx.tool_name, ctx.deps, y)
                @toolset.tool_plain
                def plain(y: int = 1): return y
                @toolset.tool_plain()
                def plain_too(): return role_dir.name
                toolset.add_function(first, name="third", description="Third")
                toolset.add_tool(Tool(first, name="fourth"))
                try:
                    toolset.add_function(first)
                except Exception as error:
                    message = str(error)
                    toolset.add_function(lambda: message, name="clash")
                assert isinstance(toolset, AbstractToolset) and toolset.tools["first"].function is first
                assert toolset.tools["with_context"].takes_ctx
                return toolset
            def create(): return ToolPlugin("forms", Config, build)
            ''',
        )
        worker = self.plugin("forms", points=[self.point("forms", "forms:create")])
        tools = {tool["name"]: tool for tool in worker.result("describe")["tools"]}
        wanted = ["clash", "first", "fourth", "plain", "plain_too", "second", "third", "with_context"]
        self.assertEqual(sorted(tools), wanted)
        self.assertEqual(list(tools["with_context"]["input_schema"]["properties"]), ["y"])
        self.assertEqual(self.said(worker, "with_context", y=1), "with_context None 1")
        self.assertEqual(self.said(worker, "plain_too"), os.path.basename(self.root))
        self.assertEqual(self.said(worker, "clash"), "Tool name conflicts with existing tool: 'first'")
        self.assertEqual(self.said(worker, "fourth", x=9), "9")

    def test_a_single_file_registers_a_type(self):
        file = self.write(
            "redis.py",
            '''
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

            @register_tool("redis", RedisToolConfig, run_scoped=True)
            def build_redis_toolset(config: RedisToolConfig, ctx: ToolBuildContext, state) -> FunctionToolset:
                toolset = FunctionToolset()
                state.asked = True

                @toolset.tool
                def redis_get(key: str) -> str:
                    """Get a value from Redis."""
                    return " ".join([config.summary(), key, ctx.role.metadata.name, ctx.role_dir.name])

                return toolset
            ''',
        )
        bad = self.write("bad.py", "from initrunner.agent.tools._registry import register_tool\nimport not_there\n")
        role = {"metadata": {"name": "keeper"}, "spec": {}}
        worker = self.open({"type": "redis", "config": {"port": "1"}}, files=[bad, file], role=role)
        described = worker.result("describe")
        self.assertEqual(described["tools"][0]["description"], "Get a value from Redis.")
        self.assertIn("bad.py is left out", described["initrunner"]["entries"][0]["warnings"][0])
        said = self.said(worker, "redis_get", key="k")
        self.assertEqual(said, "redis: localhost:1 k keeper %s" % os.path.basename(self.root))


class StandIns(RoleCase):
    """What takes the place of packages that are not installed, and what takes its place when they are."""

    def real(self, name, text=""):
        self.write("site/%s/__init__.py" % name, text)
        return os.path.join(self.root, "site")

    def test_the_real_pydantic_comes_first(self):
        site = self.real("pydantic", "MARK = 'real'\n")
        self.write("m.py", "import pydantic\ndef f(): return getattr(pydantic, 'MARK', 'stand-in')\n")
        self.assertEqual(self.said(self.open(custom("m"), sites=[site]), "f"), "real")

    def test_the_real_package_takes_over_where_something_is_lacking(self):
        site = self.real("pydantic_ai", "MARK = 'real'\nclass RunContext: pass\n__version__ = '9'\n")
        self.write("site/pydantic_ai/toolsets/__init__.py", "")
        self.write("site/pydantic_ai/toolsets/function.py", "class FunctionToolset:\n    def tool(self): pass\n")
        self.write("site/pydantic_ai/messages.py", "WORD = 'message'\n")
        self.write("small.py", "import pydantic_ai\ndef f(): return pydantic_ai.__version__\n")
        self.write("large.py", "from pydantic_ai.messages import WORD\nimport pydantic_ai\ndef g(): return WORD + pydantic_ai.MARK\n")
        worker = self.open(custom("small"), custom("large"), sites=[site])
        self.assertEqual(self.said(worker, "f"), "0.0.0")
        self.assertEqual(self.said(worker, "g", index=1), "messagereal")
        self.assertEqual(self.said(worker, "f"), "9")

    def test_what_is_lacking_and_not_installed_is_told(self):
        self.write("m.py", "from pydantic_ai import Agent\ndef f(): pass\n")
        self.assertIn("cannot import name 'Agent'", self.error(custom("m")))
        self.write("m.py", "import pydantic_ai.messages\ndef f(): pass\n")
        words = "missing dependency 'pydantic_ai.messages'. Install it with: pip install pydantic_ai"
        self.assertIn(words, self.error(custom("m")))

    def test_models_know_what_configurations_use(self):
        self.write(
            "m.py",
            '''
            from typing import Annotated, Any, Dict, List, Literal, Optional
            from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator
            class Inner(BaseModel):
                n: int = Field(3, ge=1, description="how many")
            class Config(BaseModel):
                model_config = ConfigDict(extra="forbid")
                type: Literal["x"] = "x"
                names: List[str] = Field(default_factory=list, max_length=2)
                inner: Inner = Inner()
                maybe: Optional[Inner] = None
                key: SecretStr = SecretStr("")
                other: Annotated[int, Field(alias="Other")] = 1
                @field_validator("names")
                @classmethod
                def lower(cls, value):
                    if "bad" in value:
                        raise ValueError("no bad names")
                    return [name.lower() for name in value]
                @model_validator(mode="after")
                def whole(self):
                    if self.inner.n == 99:
                        raise ValueError("too much")
                    return self
            def make(data: Dict[str, Any]) -> Any:
                try:
                    made = Config.model_validate(data)
                except ValidationError as error:
                    return [[e["type"], list(e["loc"]), e["msg"]] for e in error.errors()]
                return [made.model_dump(exclude={"key"}), str(made.key), made.key.get_secret_value()]
            def schema(): return Config.model_json_schema()
            def flat(c: Inner): return c.n
            ''',
        )
        worker = self.open(custom("m"))
        make = lambda **data: json.loads(self.said(worker, "make", data=data))  # noqa: E731
        self.assertEqual(
            make(names=["A"], inner={"n": "4"}, key="k", Other="2"),
            [{"type": "x", "names": ["a"], "inner": {"n": 4}, "maybe": None, "other": 2}, "**********", "k"],
        )
        self.assertEqual(make(names=["bad"])[0], ["value_error", ["names"], "Value error, no bad names"])
        self.assertEqual(make(inner={"n": 0})[0][:2], ["greater_than_equal", ["inner", "n"]])
        self.assertEqual(make(inner={"n": 99})[0], ["value_error", [], "Value error, too much"])
        self.assertEqual(make(zz=1)[0][:2], ["extra_forbidden", ["zz"]])
        self.assertEqual(make(names=["a", "b", "c"])[0][0], "too_long")
        schema = json.loads(self.said(worker, "schema"))
        self.assertEqual(schema["additionalProperties"], False)
        self.assertEqual(schema["$defs"]["Inner"]["properties"]["n"]["minimum"], 1)
        self.assertEqual(self.said(worker, "flat", n=2), "2")


if __name__ == "__main__":
    unittest.main()
