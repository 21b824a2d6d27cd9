"""LMAO plugins: manifests, all generations of `run`, hooks, jobs, and the packages that they import."""
import json
import os
import sys
import unittest
from pathlib import Path

from harness import HERE, PluginCase

sys.path.insert(0, os.path.dirname(HERE))

RUN = "import json\ndef run(target, args, base, extra_roots, skill_roots, debug_logger=None, meta=None):\n"


class LmaoCase(PluginCase):
    """Tests with a plugin directory of their own."""

    def plugin(self, name, manifest, body, head=""):
        text = "PLUGIN = %r\n%s%s    %s\n" % (manifest, head, RUN, body.replace("\n", "\n    "))
        return self.write("%s/tool.py" % name, text)

    def open(self, **settings):
        return self.open_with(settings=settings)

    def open_with(self, **params):
        files = sorted(str(path.relative_to(self.root)) for path in Path(self.root).rglob("tool.py"))
        return self.start(plugin={"files": files}, dialect="lmao", project_root=self.root, cwd=self.root, **params)

    def ask(self, worker, name, mode="normal", **given):
        file, _, tool = name.partition(":")
        key = "%s/tool.py:%s" % (file, tool or file)
        return worker.result("call", tool=key, input=dict(given, mode=mode))

    def said(self, *arguments, **given):
        return json.loads(self.ask(*arguments, **given)["output"])


def manifest(name, **more):
    return dict({"name": name, "description": "does " + name, "api_version": "1"}, **more)


class Loading(LmaoCase):
    def test_a_manifest_becomes_a_tool(self):
        self.plugin(
            "echo",
            manifest(
                "echo",
                is_destructive=True,
                input_schema="args: {text: string, count?: int}",
                usage=['{"tool": "echo", "target": "a", "args": {"text": "x"}}', "plain words", " "],
                details="one more thing",
            ),
            "return '{}'",
        )
        described = self.open().result("describe")
        tool = described["tools"][0]
        self.assertEqual(tool["key"], "echo/tool.py:echo")
        text, examples = tool["description"].split("\n\nExamples:\n")
        self.assertEqual(text, "does echo\none more thing\nInput: args: {text: string, count?: int}")
        self.assertEqual(examples, '- {"target": "a", "args": {"text": "x"}}\n- plain words')
        self.assertEqual((tool["requires_permission"], tool["risk_level"]), (True, "mutating"))
        args = tool["input_schema"]["properties"]["args"]
        self.assertEqual(args["properties"], {"text": {"type": "string"}, "count": {"type": "integer"}})
        facts = described["lmao"]["tools"]["echo/tool.py:echo"]
        self.assertEqual((facts["allow_in_read_only"], facts["allow_in_normal"]), (False, True))

    def test_behind_the_last_file_that_was_tried_none_is(self):
        for name in "abcd":
            self.plugin(name, manifest(name), "return '{}'")
        bad = {name: os.path.join(self.root, name, "tool.py") for name in "bc"}
        worker = self.open_with(left_out={file: "exit code 3" for file in bad.values()}, last=bad["c"])
        described = worker.result("describe")
        self.assertEqual([tool["name"] for tool in described["tools"]], ["a"])
        told = [problem["message"] for problem in described["problems"]]
        self.assertEqual(len(told), 3, told)
        self.assertIn("was not loaded", told[0])
        self.assertIn("was not tried", told[2])
        self.assertIn(bad["c"], told[2])
        self.assertEqual(described["lmao"]["unloaded"], ["b/tool.py", "c/tool.py", "d/tool.py"])

    def test_bad_plugins_cost_one_message_each_and_nothing_else(self):
        bad = {
            "a": "PLUGIN = {'name': 'a b', 'description': 'd'}\ndef run(t): pass\n",
            "b": "PLUGIN = {'name': 'b', 'description': ' '}\ndef run(t): pass\n",
            "c": "PLUGIN = {'name': 'c', 'description': 'd', 'api_version': 2}\ndef run(t): pass\n",
            "d": "PLUGIN = {'name': 'd', 'description': 'd', 'is_destructive': 1}\ndef run(t): pass\n",
            "e": "PLUGIN = {'name': 'e', 'description': 'd', 'input_schema': {}}\ndef run(t): pass\n",
            "f": "PLUGIN = {'name': 'f', 'description': 'd'}\n",
            "g": "def run(t): pass\n",
            "h": "PLUGINS = [{'name': 'h', 'description': 'd'}, {'name': 'h2'}]\ndef run(t): pass\n",
            "i": "import nothing_of_that_name\n",
            "j": "def run(:\n",
            "k": "raise SystemExit(3)\n",
            "l": "PLUGIN = {'name': 'l', 'description': 'd', 'hooks': {'x': 'gone'}}\ndef run(t): pass\n",
        }
        for name, text in bad.items():
            self.write("%s/tool.py" % name, text)
        self.plugin("good", manifest("good", api_version=1), "return '{}'")
        self.plugin("zgood", manifest("good"), "return '{}'")
        described = self.open().result("describe")
        self.assertEqual([tool["name"] for tool in described["tools"]], ["good"])
        files = [os.path.relpath(problem["file"], self.root) for problem in described["problems"]]
        self.assertEqual(files, ["%s/tool.py" % name for name in list(bad) + ["zgood"]])
        self.assertTrue(all(problem["message"] and problem["hint"] for problem in described["problems"]))
        by_name = {file[0]: problem for file, problem in zip(files, described["problems"])}
        self.assertEqual(by_name["j"]["line"], 1)
        self.assertIn("`api_version` of `PLUGIN` is 2", by_name["c"]["message"])
        self.assertIn("nothing_of_that_name", by_name["i"]["hint"])

    def test_manifests_of_several_tools_share_one_run(self):
        self.write(
            "both/tool.py",
            """
            import json
            PLUGINS = [{"name": "one", "description": "1"}, {"name": "two", "description": "2", "visible_to_agent": False}]
            PLUGIN = {"name": "ignored", "description": "x"}
            def run(tool_name, target, args, base, extra_roots, skill_roots, debug_logger=None, meta=None):
                return json.dumps([tool_name, target, args, meta])
            """,
        )
        worker = self.open()
        self.assertEqual(self.said(worker, "both:one", target="t", args=1, meta={"a": 2}), ["one", "t", 1, {"a": 2}])
        self.assertEqual(self.said(worker, "both:two", target="t"), ["two", "t", None, None])


class Running(LmaoCase):
    GENERATIONS = {
        "target, args, base, extra_roots, skill_roots, debug_logger": "t a base [] [] None",
        "target, args, base, extra_roots, skill_roots, debug_logger=None, meta=None": "t a base [] [] None {'m': 1}",
        "target, args, base, extra_roots, skill_roots, task_manager=None, debug_logger=None": "t a base [] [] tasks None",
        "target, args, base, extra_roots, skill_roots, task_manager=None, debug_logger=None, meta=None":
            "t a base [] [] tasks None {'m': 1}",
        "target, args, base, _extra_roots, _skill_roots, _task_manager=None, _debug_logger=None": "t a base [] [] tasks None",
        "target, *rest": "t ('a', base, [], [], None, {'m': 1})",
        "first, second, third, fourth, fifth, sixth": "t a base [] [] None",
        "first, second, third, fourth, fifth, sixth, seventh": "t a base [] [] None {'m': 1}",
        "meta, target, *, args": "{'m': 1} t a",
        "target, args, extra=7": "t a 7",
    }

    def test_every_generation_of_run_gets_what_it_names(self):
        for index, parameters in enumerate(self.GENERATIONS):
            names = [part.split("=")[0].strip(" *") for part in parameters.split(",") if part.strip() != "*"]
            body = "    shown = ['tasks' if hasattr(v, 'add_task') else v for v in (%s,)]\n" % ", ".join(names)
            body += "    return ' '.join(map(str, shown)).replace(repr(BASE), 'base').replace(str(BASE), 'base')\n"
            head = "from pathlib import Path\nBASE = Path(%r)\n" % self.root
            self.write("g%d/tool.py" % index, "%sPLUGIN = %r\ndef run(%s):\n%s" % (head, manifest("g%d" % index), parameters, body))
        worker = self.open()
        for index, (parameters, wanted) in enumerate(self.GENERATIONS.items()):
            given = self.ask(worker, "g%d" % index, target="t", args="a", meta={"m": 1})
            self.assertEqual(given["output"], wanted, parameters)

    def test_globals_jobs_and_the_registry_are_shared_by_all_plugins_of_a_directory(self):
        count = "global COUNT\nCOUNT += 1\nreturn json.dumps(COUNT)"
        self.plugin("count", manifest("count"), count, "COUNT = 0\n")
        start = "return json.dumps(get_async_job_manager().start_bash('echo out; echo err >&2', cwd=base))"
        self.plugin("start", manifest("start"), start, "from lmao.async_jobs import get_async_job_manager\n")
        poll = (
            "import time\nwhile get_async_job_manager().poll(target)['status'] == 'running':\n    time.sleep(0.01)\n"
            "return json.dumps(get_async_job_manager().poll(target, args or 0))"
        )
        self.plugin("poll", manifest("poll"), poll, "from lmao.async_jobs import get_async_job_manager\n")
        names = "return json.dumps(sorted(get_discovered_tool_registry()))"
        self.plugin("guide", manifest("guide"), names, "from lmao.plugins import get_discovered_tool_registry\n")
        worker = self.open()
        self.assertEqual([self.said(worker, "count") for _ in range(3)], [1, 2, 3])
        self.assertEqual(self.said(worker, "start"), "job_1")
        polled = self.said(worker, "poll", target="job_1")
        events = sorted((event["stream"], event["text"]) for event in polled["events"])
        self.assertEqual(events, [("meta", "process exited with code 0"), ("stderr", "err\n"), ("stdout", "out\n")])
        self.assertEqual((polled["status"], polled["next_seq"]), ("done", 4))
        self.assertEqual(self.said(worker, "poll", target="job_1", args=2)["events"][0]["seq"], 3)
        self.assertEqual(self.said(worker, "guide"), ["count", "guide", "poll", "start"])

    def test_what_run_returns_reaches_the_model_as_it_is(self):
        self.plugin("raises", manifest("raises"), "raise ValueError('no way')")
        self.plugin("leaves", manifest("leaves"), "raise SystemExit(1)")
        self.plugin("odd", manifest("odd"), "return {'success': True}")
        self.plugin("text", manifest("text"), "return 'not { json'")
        self.plugin("fails", manifest("fails"), "return json.dumps({'success': False, 'error': 'e'})")
        worker = self.open()
        raised = self.ask(worker, "raises")
        wanted = {"tool": "raises", "success": False, "error": "plugin 'raises' failed: no way"}
        self.assertEqual((json.loads(raised["output"]), raised["success"]), (wanted, False))
        self.assertIn("tool.py", raised["traceback"])
        self.assertFalse(self.ask(worker, "leaves")["success"])
        self.assertEqual(self.said(worker, "odd")["error"], "plugin handlers must return a JSON string")
        text = self.ask(worker, "text")
        self.assertEqual((text["output"], text["success"]), ("not { json", True))
        self.assertFalse(self.ask(worker, "fails")["success"])

    def test_helpers_know_the_mode(self):
        body = "try:\n    return str(safe_target_path(target, base, extra_roots))\nexcept ValueError as e:\n    return str(e)"
        self.plugin("where", manifest("where"), body, "from lmao.plugin_helpers import safe_target_path\n")
        worker = self.open()
        self.assertEqual(self.ask(worker, "where", target="../x")["output"], "path escapes allowed roots")
        self.assertEqual(self.ask(worker, "where", target="/etc/x")["output"], self.root + "/etc/x")
        self.assertEqual(self.ask(worker, "where", target="/etc/x", mode="yolo")["output"], "/etc/x")
        self.assertEqual(self.ask(worker, "where", target=" / ")["output"], self.root)

    def test_a_plugin_calls_another_one_under_its_own_mode(self):
        self.plugin("inner", manifest("inner", is_destructive=True), "return json.dumps(args)")
        body = "return run_tool(ToolCall('inner', target, args), base, extra_roots, skill_roots, yolo_enabled=True)"
        head = "from lmao.tools import ToolCall, run_tool\n"
        self.plugin("outer", manifest("outer", is_destructive=True, allow_in_read_only=True), body, head)
        self.plugin("looking", manifest("looking"), body, head)
        worker = self.open()
        refused = self.said(worker, "looking", args=[1])["error"]
        self.assertEqual(refused, "plugin 'inner' changes things, and the call that runs was not approved for that")
        self.assertEqual(self.said(worker, "outer", args=[1]), [1])
        refused = self.said(worker, "outer", args=[1], mode="read-only")
        self.assertEqual(refused["error"], "plugin 'inner' is not allowed in read-only mode")
        self.assertIn("escapes", self.said(worker, "outer", target="../..")["error"])


class Hooks(LmaoCase):
    def hooks(self, declared, functions):
        self.write("h/tool.py", "PLUGIN = %r\n%s\nHOOKS = %s\n%s    return '{}'\n" % (manifest("h"), functions, declared, RUN))
        return self.open()

    def before(self, worker, tool="h", **args):
        return worker.result("hook", moment="before_tool", tool=tool, args=args, mode="normal")

    def test_hooks_change_cancel_and_skip_calls_in_their_order(self):
        worker = self.hooks(
            "{'pre_tool_execution': ['low', {'name': 'high', 'priority': 5}], 'pre_tool_validation': {'func': stop}}",
            "from lmao.hooks import HookResult\n"
            "def low(ctx): ctx.tool_args = dict(ctx.tool_args, low=ctx.tool_args.get('high'))\n"
            "def high(ctx):\n    ctx.tool_args = dict(ctx.tool_args, high=1)\n    ctx.tool_target = ctx.tool_target + '!'\n"
            "def stop(ctx):\n"
            "    if ctx.tool_target == 'cancel': ctx.cancel('because')\n"
            "    if ctx.tool_target == 'skip': return HookResult(should_skip=True, data={'result': 'mine'})\n"
            "    if ctx.tool_target == 'raise': raise ValueError('x')\n"
            "    if ctx.tool_target == 'rename': ctx.tool_name = 'other'\n",
        )
        described = worker.result("describe")["lmao"]
        self.assertEqual(described["moments"], ["before_tool"])
        wanted = {"rewrite": {"target": "t!", "args": {"a": 2, "high": 1, "low": 1}}}
        self.assertEqual(self.before(worker, target="t", args={"a": 2}), wanted)
        self.assertEqual(self.before(worker, target="cancel", args={}), {"block": "tool execution cancelled by hook: because"})
        self.assertEqual(self.before(worker, target="skip", args={}), {"answer": "mine"})
        self.assertEqual(self.before(worker, target="raise", args={})["rewrite"]["target"], "raise!")
        self.assertIn("hook pre_tool_validation: stop: x", worker.logs())
        self.assertIn("in place of", self.before(worker, target="rename", args={})["block"])

    def test_tools_of_other_kinds_are_seen_with_their_path_as_target(self):
        worker = self.hooks(
            "{'pre_tool_execution': 'see'}",
            "def see(ctx):\n    ctx.tool_target = ctx.tool_target.upper()\n    ctx.tool_args = dict(ctx.tool_args, limit=1)\n",
        )
        changed = self.before(worker, tool="Read", file_path="a", offset=3)
        self.assertEqual(changed, {"rewrite": {"file_path": "A", "offset": 3, "limit": 1}})

    def test_results_and_replies_can_be_rewritten(self):
        worker = self.hooks(
            "{'post_result_transform': 'result', 'pre_assistant_turn_parsing': 'reply', 'on_session_start': 'begin',"
            " 'never_fired': 'begin'}",
            "def result(ctx): ctx.tool_result = ctx.tool_result + '?'\n"
            "def reply(ctx): ctx.raw_message = ctx.raw_message.upper()\n"
            "def begin(ctx): print('begun')\n",
        )
        described = worker.result("describe")["lmao"]
        self.assertEqual(described["moments"], ["after_tool", "after_reply", "occasion"])
        self.assertEqual(described["unheard"], ["never_fired (LMAO does not ask it either)"])
        after = worker.result("hook", moment="after_tool", tool="h", args={}, output="x", success=True)
        self.assertEqual(after, {"replace": "x?"})
        self.assertEqual(worker.result("hook", moment="after_reply", prompt="p", reply="r"), {"replace": "R"})
        self.assertEqual(worker.result("hook", moment="occasion", occasion="started"), {})
        self.assertIn("begun", worker.printed())


class Schemas(unittest.TestCase):
    def args(self, text):
        import importlib.util

        path = os.path.join(os.path.dirname(HERE), "adapters", "lmao", "schema.py")
        spec = importlib.util.spec_from_file_location("lmao_schema", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        tool = type("Tool", (), {"input_schema": text})
        return module.of_call(tool)["properties"]["args"]

    def test_clear_words_become_a_schema(self):
        for text, wanted in {
            '{"path": "string", "lines": "int"}': {"path": {"type": "string"}, "lines": {"type": "integer"}},
            "v2 args: {command: string, timeout?: int}": {"command": {"type": "string"}, "timeout": {"type": "integer"}},
            "args {seconds: number}": {"seconds": {"type": "number"}},
            "{all: bool, names: string[], tags: list[int], extra: object}": {
                "all": {"type": "boolean"},
                "names": {"type": "array", "items": {"type": "string"}},
                "tags": {"type": "array", "items": {"type": "integer"}},
                "extra": {"type": "object"},
            },
            '{mode: "a"|"b", on: true|false, x: string|int}': {
                "mode": {"type": "string", "enum": ["a", "b"], "description": '"a"|"b"'.strip('"')},
                "on": {"type": "boolean", "description": "true|false"},
                "x": {"type": ["string", "integer"], "description": "string|int"},
            },
        }.items():
            args = self.args(text)
            self.assertEqual(args["properties"], wanted, text)
            self.assertEqual(args["type"], ["object", "string", "null"])

    def test_a_real_schema_is_taken_as_it_is(self):
        schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
        args = self.args(json.dumps(schema))
        self.assertEqual((args["properties"], args["required"]), (schema["properties"], ["a"]))
        whole = {"properties": {"target": {"type": "string"}, "args": {"type": "array"}}}
        self.assertEqual(self.args(json.dumps(whole))["type"], "array")

    def test_other_words_stay_words(self):
        for text in ("whatever you like", "{a: int} or {b: int}", "broken {a:", "{1, 2, 3}", "}{"):
            self.assertEqual(self.args(text), {"description": text})
        self.assertEqual(self.args("args: string with the text")["type"], "string")


class Shims(LmaoCase):
    def test_helpers_behave_as_documented(self):
        from lmao import context, plugin_helpers, plugins, skills, task_list, tools
        from lmao.hooks import ToolHookTypes, get_global_hook_registry

        base = Path(self.root)
        self.assertEqual(plugins.PLUGIN_API_VERSION, "1")
        self.assertEqual(plugin_helpers.parse_line_range("lines:3-8"), (3, 8))
        self.assertEqual(plugin_helpers.parse_line_range("line=0"), (1, 1))
        self.assertEqual(plugin_helpers.parse_line_range("lines: 9:2"), (9, 9))
        self.assertIsNone(plugin_helpers.parse_line_range("none"))
        self.assertEqual(plugin_helpers.normalize_path_for_output(base, base), "./")
        self.assertEqual(plugin_helpers.normalize_path_for_output(base / "x", base), "x")
        self.assertEqual(plugin_helpers.normalize_path_for_output(Path("/etc"), base), "/etc/")
        self.assertEqual(plugin_helpers.normalize_task_text("2. a\n b"), "a b")
        self.write(".git", "x")
        self.write("AGENTS.md", "x")
        self.write("skills/s/SKILL.md", "---\nname: s\ndescription: 'd'\n---\n")
        self.assertEqual(plugin_helpers.find_repo_root(base / "a/b"), base)
        self.assertEqual(context.find_nearest_agents(base / "a/b", base), base / "AGENTS.md")
        self.assertIsNone(context.find_nearest_agents(base / "a/b", base / "a"))
        roots = [base / "skills"]
        self.assertEqual(skills.list_skill_info(roots)[0]["description"], "d")
        self.assertIsNotNone(skills.validate_skill_write_target(base / "skills/x.md", roots))
        self.assertIsNone(skills.validate_skill_write_target(base / "skills/x/SKILL.md", roots))
        self.assertEqual(json.loads(tools.json_success("t", 1, "n")), {"tool": "t", "success": True, "data": 1, "note": "n"})
        self.assertEqual(ToolHookTypes.PRE_TOOL_EXECUTION, "pre_tool_execution")
        self.assertEqual(get_global_hook_registry().get_hooks("x"), [])
        tasks = task_list.TaskListManager()
        self.assertEqual((tasks.has_list(), tasks.add_task("1. do it").id, tasks.has_list()), (False, 1, True))
        tasks.complete_task("1")
        self.assertEqual(tasks.to_payload(), {"active": True, "tasks": [{"id": 1, "text": "do it", "done": True}]})

    def test_plugins_can_be_loaded_without_brynhild(self):
        from lmao.plugins import discover_plugin_hooks, discover_plugins, load_plugin

        self.plugin("a", manifest("a"), "return json.dumps(target)", "HOOKS = {'on_tool_start': 'see'}\ndef see(c): pass\n")
        self.plugin("b", manifest("b b"), "return ''")
        found = discover_plugins([Path(self.root)], Path(self.root))
        self.assertEqual(list(found), ["a"])
        self.assertEqual(found["a"].handler("t", None, Path(self.root)), '"t"')
        self.assertEqual(discover_plugin_hooks([Path(self.root)], Path(self.root)).types(), ["on_tool_start"])
        self.assertIsNone(load_plugin(Path(self.root, "a/tool.py"), Path(self.root, "b")))


if __name__ == "__main__":
    unittest.main()
