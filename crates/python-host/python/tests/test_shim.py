"""Every symbol that plugins import, and how the classes behave."""
import asyncio
import dataclasses
import importlib
import importlib.metadata
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings

from harness import ROOT, SHIM

import brynhild
import brynhild.api.base as api_base
import brynhild.api.types as types
import brynhild.hooks.config as hooks
import brynhild.hooks.events as events
import brynhild.tools.base as base
import brynhild.tools.sandbox as sandbox
from brynhild.hooks.matching import matches
from brynhild.plugins import commands, manifest, stubs
from brynhild.profiles.types import ModelProfile
from brynhild.skills import skill

SYMBOLS = {
    "brynhild": "__version__ __version_info__ Settings Session SessionManager",
    "brynhild.constants": "DEFAULT_MAX_TOKENS DEFAULT_MAX_TOOL_ROUNDS DEFAULT_PROVIDER DEFAULT_MODEL DEFAULT_BASH_TIMEOUT_MS DEFAULT_TOOL_RESULT_MAX_CHARS",
    "brynhild.config": "Settings",
    "brynhild.session": "Session Message SessionManager",
    "brynhild.tools": "Tool ToolResult ToolRegistry base registry sandbox",
    "brynhild.tools.base": "Tool ToolResult ToolMetrics MetricsCollector InputValidation SandboxMixin RiskLevel RecoveryPolicy",
    "brynhild.tools.sandbox": "SandboxConfig PathValidationError validate_path resolve_and_validate check_read_path check_write_path",
    "brynhild.tools.registry": "ToolRegistry build_registry_from_settings",
    "brynhild.api": "create_provider get_available_providers get_available_provider_names get_available_provider_types get_default_provider LLMProvider base types",
    "brynhild.api.base": "LLMProvider ReasoningFormat ReasoningLevel KNOWN_REASONING_LEVELS RAW_REASONING_PREFIX parse_reasoning_level",
    "brynhild.api.types": "UsageDetails Usage ToolUse ToolResult StreamEvent Message ContentBlock Tool CompletionResponse",
    "brynhild.api.credentials": "load_credentials_from_path",
    "brynhild.api.factory": "create_provider",
    "brynhild.api.ollama_provider": "OllamaProvider",
    "brynhild.api.openrouter_provider": "OpenRouterProvider OpenRouterAPIError OPENROUTER_MODELS",
    "brynhild.plugins": "Plugin PluginManifest Command stubs manifest",
    "brynhild.plugins.stubs": "Tool ToolBase ToolResult ToolMetrics",
    "brynhild.plugins.manifest": "PluginManifest Plugin load_manifest",
    "brynhild.plugins.commands": "CommandFrontmatter Command parse_command_markdown load_command CommandLoader",
    "brynhild.plugins.providers": "ProviderLoader",
    "brynhild.plugins.tools": "ToolLoader",
    "brynhild.plugins.discovery": "PluginDiscovery",
    "brynhild.plugins.loader": "PluginLoader",
    "brynhild.plugins.registry": "PluginRegistry",
    "brynhild.plugins.rules": "RulesManager",
    "brynhild.plugins.lifecycle": "fire_plugin_init fire_plugin_shutdown",
    "brynhild.plugins.hooks": "load_plugin_hooks",
    "brynhild.skills.skill": "SkillFrontmatter Skill load_skill parse_skill_markdown SKILL_BODY_SOFT_LIMIT",
    "brynhild.skills": "SkillDiscovery SkillRegistry SkillLoader",
    "brynhild.hooks.config": "HookTimeoutConfig HookDefinition HooksConfig load_hooks_yaml",
    "brynhild.hooks.events": "HookEvent HookAction HookContext HookResult",
    "brynhild.hooks.manager": "HookManager",
    "brynhild.hooks.matching": "matches",
    "brynhild.hooks.stuck": "StuckDetector",
    "brynhild.hooks.compaction": "ContextCompactor",
    "brynhild.profiles.types": "ModelProfile",
    "brynhild.profiles.manager": "ProfileManager",
    "brynhild.core.types": "ToolCallDisplay ToolResultDisplay",
    "brynhild.core.context": "ContextBuilder",
    "brynhild.core.prompts": "get_system_prompt",
    "brynhild.core.conversation": "ConversationProcessor ConversationCallbacks",
    "brynhild.logging": "ConversationLogger",
}


class Symbols(unittest.TestCase):
    def test_every_symbol_is_there(self):
        for module, names in SYMBOLS.items():
            for name in names.split():
                self.assertTrue(hasattr(importlib.import_module(module), name), "%s.%s" % (module, name))

    def test_both_ways_of_importing_work_in_a_fresh_interpreter(self):
        code = (
            "import brynhild.tools.base as a; from brynhild.tools import base as b; assert a is b\n"
            "from brynhild.plugins import stubs; from brynhild.api import types\n"
            "import brynhild; brynhild.hooks.config.HooksConfig; brynhild.plugins.manifest.Plugin\n"
            "import importlib.metadata as m; assert m.version('brynhild') == brynhild.__version__ == '0.1.0'\n"
            "import sys; assert 'pydantic' not in sys.modules and 'asyncio' not in sys.modules"
        )
        environment = {"PYTHONPATH": SHIM, "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], env=environment, stderr=subprocess.PIPE)
        self.assertEqual(done.stderr.decode(), "")

    def test_the_tool_base_loads_nothing_heavy(self):
        code = "import sys\nfrom brynhild.tools.base import Tool, ToolResult\nfrom brynhild.api.base import LLMProvider\nfrom brynhild.api.types import *\nprint([m for m in ('asyncio','dataclasses','inspect','typing','re','pathlib','json','enum') if m in sys.modules])"
        done = subprocess.run([sys.executable, "-S", "-E", "-c", "import sys; sys.path.insert(0, %r); sys.dont_write_bytecode = True\n%s" % (SHIM, code)], stdout=subprocess.PIPE)
        self.assertEqual(done.stdout.decode().strip(), "[]")

    def test_the_version_is_told(self):
        self.assertEqual((brynhild.__version__, brynhild.__version_info__), ("0.1.0", (0, 1, 0)))

    def test_all_sources_are_in_the_syntax_of_the_oldest_python(self):
        import ast

        for directory, _, names in os.walk(ROOT):
            for name in names:
                if name.endswith(".py") and "tests" not in directory:
                    path = pathlib.Path(directory, name)
                    ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 9))
                    self.assertLessEqual(len(path.read_text(encoding="utf-8").splitlines()), 600, path)


class Records(unittest.TestCase):
    """Hand-written, and yet dataclasses to everybody."""

    def test_construction_repr_equality_and_hash(self):
        result = base.ToolResult(True, "out")
        self.assertEqual(repr(result), "ToolResult(success=True, output='out', error=None)")
        self.assertEqual(result, base.ToolResult(success=True, output="out", error=None))
        self.assertNotEqual(result, base.ToolResult(False, "out"))
        self.assertFalse(result == ("x",))
        with self.assertRaises(TypeError):
            hash(result)
        with self.assertRaises(TypeError):
            base.ToolResult(True)
        with self.assertRaises(TypeError):
            base.ToolResult(True, "", None, 4)
        self.assertEqual(result.to_dict(), {"success": True, "output": "out", "error": None})

    def test_the_dataclasses_module_accepts_them(self):
        use = types.ToolUse("1", "n", {"a": [1]})
        self.assertTrue(dataclasses.is_dataclass(use) and dataclasses.is_dataclass(types.ToolUse))
        self.assertEqual([f.name for f in dataclasses.fields(use)], ["id", "name", "input"])
        self.assertEqual(dataclasses.asdict(use), {"id": "1", "name": "n", "input": {"a": [1]}})
        self.assertEqual(dataclasses.replace(use, name="m").name, "m")
        self.assertEqual(dataclasses.astuple(types.Usage(1, 2)), (1, 2, None))
        response = types.CompletionResponse("i", "c", None, types.Usage())
        self.assertEqual(dataclasses.asdict(response)["tool_uses"], [])
        self.assertEqual(dataclasses.fields(types.CompletionResponse)[4].default_factory, list)
        self.assertEqual(pickle.loads(pickle.dumps(use)), use)

    def test_a_dataclass_on_top_gets_all_fields(self):
        @dataclasses.dataclass
        class Signed(types.ToolUse):
            signature: str = "none"

            def to_tool_call_dict(self):
                return dict(super().to_tool_call_dict(), signature=self.signature)

        signed = Signed("1", "n", {}, signature="s")
        self.assertEqual(repr(signed).rpartition(".")[2], "Signed(id='1', name='n', input={}, signature='s')")
        self.assertEqual(signed.to_tool_call_dict()["signature"], "s")
        self.assertEqual(dataclasses.asdict(signed)["signature"], "s")
        self.assertIsInstance(signed, types.ToolUse)

        @dataclasses.dataclass
        class More(types.CompletionResponse):
            extra: int = 0

        self.assertEqual((More("i", "c", None, types.Usage()).tool_uses, More("i", "c", None, types.Usage()).extra), ([], 0))
        self.assertIsNot(More("i", "c", None, None).tool_uses, More("i", "c", None, None).tool_uses)

    def test_plain_subclasses_work(self):
        class Mine(base.ToolResult):
            pass

        self.assertEqual(Mine(True, "x").to_dict()["output"], "x")
        self.assertNotEqual(Mine(True, "x"), base.ToolResult(True, "x"))

    def test_every_record_has_the_defaults_of_its_init(self):
        import inspect

        for module in (types, base, stubs, events, manifest, commands, skill):
            for cls in vars(module).values():
                if not isinstance(cls, type) or not dataclasses.is_dataclass(cls):
                    continue
                parameters = inspect.signature(cls.__init__).parameters
                for field in dataclasses.fields(cls):
                    if field.name in parameters and field.default is not dataclasses.MISSING:
                        self.assertEqual(parameters[field.name].default, field.default, (cls, field.name))

    def test_usage_and_responses_compute_their_values(self):
        self.assertEqual(types.Usage(3, 4).total_tokens, 7)
        self.assertIsNone(types.Usage().cost)
        details = types.UsageDetails(cost=0.5, reasoning_tokens=9)
        self.assertEqual((types.Usage(details=details).cost, types.Usage(details=details).reasoning_tokens), (0.5, 9))
        self.assertTrue(types.CompletionResponse("", "", None, types.Usage(), [types.ToolUse("1", "n", {})]).has_tool_use)
        self.assertEqual(types.Tool("n", "d", {}).to_anthropic_format(), {"name": "n", "description": "d", "input_schema": {}})
        event = types.StreamEvent("text_delta", "t")
        self.assertEqual((event.text, event.usage, event.message_id), ("t", None, None))


class Echo(base.Tool):
    name = "Echo"
    description = "says it again"
    input_schema = {"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "required": ["a", "b"]}

    async def execute(self, input):
        return base.ToolResult(True, "")


class Tools(unittest.TestCase):
    def test_the_base_is_abstract(self):
        with self.assertRaisesRegex(TypeError, "Can't instantiate abstract class"):
            base.Tool()
        self.assertIs(base.Tool._is_brynhild_duck_typed, False)

    def test_defaults_of_the_base(self):
        tool = Echo()
        self.assertEqual((tool.version, tool.categories, tool.examples), ("0.0.0", [], []))
        self.assertEqual((tool.requires_permission, tool.risk_level, tool.recovery_policy), (True, "read_only", "allow"))
        for risk, policy in {"mutating": "confirm", "high_impact": "deny"}.items():
            self.assertEqual(type("T", (Echo,), {"risk_level": risk})().recovery_policy, policy)
        self.assertEqual(repr(tool), "<Tool Echo>")

    def test_input_is_validated_with_the_known_texts(self):
        found = Echo().validate_input({"c": 1, "x": 2})
        self.assertEqual(found.errors, ["Missing required parameters: a, b"])
        self.assertEqual(found.warnings, ["Unknown parameters (will be ignored): x"])
        self.assertEqual((found.is_valid, found.has_warnings), (False, True))
        self.assertTrue(Echo().validate_input({"a": 1, "b": None}).is_valid)

    def test_formats_for_the_interfaces(self):
        self.assertEqual(Echo().to_api_format(), {"name": "Echo", "description": "says it again", "input_schema": Echo.input_schema})
        function = {"name": "Echo", "description": "says it again", "parameters": Echo.input_schema}
        self.assertEqual(Echo().to_openai_format(), {"type": "function", "function": function})

    def test_a_required_input_is_given_or_refused(self):
        self.assertEqual(Echo()._require_input({"a": "v"}, "a"), "v")
        missing = Echo()._require_input({}, "file_path")
        self.assertEqual(missing, base.ToolResult(False, "", "No file_path provided"))
        self.assertEqual(Echo()._require_input({"a": ""}, "a", label="thing").error, "No thing provided")

    def test_metrics_count(self):
        metrics = base.ToolMetrics("T")
        self.assertEqual((metrics.success_rate, metrics.average_duration_ms), (0.0, 0.0))
        metrics.record_call(True, 10.0, timestamp=5.0)
        metrics.record_call(False, 30.0)
        self.assertEqual((metrics.call_count, metrics.success_rate, metrics.average_duration_ms), (2, 50.0, 20.0))
        self.assertEqual(base.ToolMetrics.from_dict(metrics.to_dict()), metrics)
        collector = base.MetricsCollector()
        collector.record("A", True, 1.0)
        collector.record("B", False, 2.0)
        self.assertEqual((collector.get("A").call_count, collector.get("C"), sorted(collector.all())), (1, None, ["A", "B"]))
        self.assertEqual(collector.summary()["success_rate"], 50.0)
        self.assertEqual(base.MetricsCollector.from_dict(collector.to_dict()).summary(), collector.summary())

    def test_the_stub_raises_where_the_tool_has_to_speak(self):
        tool = stubs.ToolBase()
        for name in ("name", "description", "input_schema"):
            with self.assertRaises(NotImplementedError):
                getattr(tool, name)
        with self.assertRaises(NotImplementedError):
            asyncio.run(tool.execute({}))
        self.assertEqual((tool.requires_permission, tool.version, tool.categories, tool.examples), (True, "0.0.0", [], []))
        self.assertIs(stubs.Tool, stubs.ToolBase)
        self.assertIs(stubs.ToolResult, base.ToolResult)

    def test_the_registry_keeps_the_first_of_a_name(self):
        from brynhild.tools.registry import ToolRegistry

        registry = ToolRegistry()
        registry.register(Echo())
        with self.assertRaises(ValueError):
            registry.register(Echo())
        with self.assertRaisesRegex(KeyError, "Tool 'X' not found. Available: Echo"):
            registry.get_or_raise("X")
        self.assertEqual((len(registry), "Echo" in registry, registry.get("X")), (1, True, None))


class Paths(unittest.TestCase):
    def setUp(self):
        self.config = sandbox.SandboxConfig("/srv/project", allowed_paths=["/opt/data"])

    def test_writes_stay_in_the_project_the_temporary_directory_and_what_is_allowed(self):
        for path in ("/srv/project/a/b", "/tmp/x", "/opt/data/y"):
            sandbox.check_write_path(path, self.config)
        for path, words in {
            "/etc/passwd": "Write access denied: /etc/passwd is in a protected location.",
            "/home/x": "is in a protected location.",
            "/nowhere/x": "is outside allowed directories.",
            "/srv/project/../other": "is in a protected location.",
        }.items():
            with self.assertRaises(sandbox.PathValidationError) as raised:
                sandbox.check_write_path(path, self.config)
            self.assertIn(words, str(raised.exception))

    def test_reads_are_refused_in_private_places_only(self):
        for path in ("/etc/hosts", "/usr/bin/env", "/srv/project/x"):
            sandbox.check_read_path(path, self.config)
        with self.assertRaisesRegex(sandbox.PathValidationError, "Read access denied: /home/a/.ssh is in a protected location."):
            sandbox.check_read_path("/home/a/.ssh", self.config)
        sandbox.check_read_path("/home/a/x", sandbox.SandboxConfig("/home/a"))

    def test_links_are_followed_before_the_check(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as directory:
            link = os.path.join(directory, "link")
            os.symlink("/etc", link)
            with self.assertRaises(sandbox.PathValidationError):
                sandbox.check_write_path(link + "/passwd", self.config)

    def test_the_mixin_gives_a_path_or_a_failed_result(self):
        class Reader(base.SandboxMixin, Echo):
            def __init__(self, root):
                self._base_dir = pathlib.Path(root)
                self._sandbox_config = None

        reader = Reader("/srv/project")
        self.assertEqual(reader._resolve_and_validate("a.txt", "read"), pathlib.Path("/srv/project/a.txt"))
        self.assertEqual(reader._resolve_path_or_error("b", "write"), pathlib.Path("/srv/project/b"))
        failed = reader._resolve_path_or_error("/etc/x", "write")
        self.assertIn("Write access denied: /etc/x", failed.error)
        with self.assertRaises(sandbox.PathValidationError):
            reader._resolve_and_validate("~/../../root/x", "read")


class Models(unittest.TestCase):
    def test_a_manifest_takes_its_fields_and_rejects_the_rest(self):
        found = manifest.PluginManifest(name="my-plugin", version="1.0.0", tools=["a"])
        self.assertEqual((found.hooks, found.commands, found.brynhild_version), (False, [], ">=0.1.0"))
        self.assertEqual(manifest.PluginManifest.model_validate(found.model_dump()), found)
        for fields in (
            {},
            {"name": "x"},
            {"name": "Bad_Name", "version": "1"},
            {"name": "-x", "version": "1"},
            {"name": "x" * 65, "version": "1"},
            {"name": "x", "version": 1.0},
            {"name": "x", "version": "1", "hooks": ["a"]},
            {"name": "x", "version": "1", "tools": "a"},
            {"name": "x", "version": "1", "tools": [1]},
            {"name": "x", "version": "1", "profiles": []},
            {"name": "x", "version": "1", "description": "d" * 1025},
        ):
            with self.assertRaises(ValueError, msg=str(fields)) as raised:
                manifest.PluginManifest(**fields)
            self.assertIn("validation error", str(raised.exception))
            self.assertTrue(raised.exception.errors()[0]["loc"])
        with self.assertRaises(TypeError):
            manifest.PluginManifest("x", "1")

    def test_a_plugin_tells_about_itself(self):
        plugin = manifest.Plugin(manifest.PluginManifest(name="p", version="1", hooks=True, tools=["t"]), pathlib.Path("/p"))
        self.assertEqual((plugin.name, plugin.version, plugin.is_packaged), ("p", "1", False))
        self.assertEqual((plugin.has_hooks(), plugin.has_tools(), plugin.has_skills()), (True, True, False))
        self.assertEqual(plugin.tools_path, pathlib.Path("/p/tools"))
        self.assertEqual(sorted(plugin.to_dict()), sorted("name version description path enabled source package_name package_version commands tools hooks skills providers rules".split()))

    def test_hooks_are_checked_and_found_by_event(self):
        config = hooks.HooksConfig.model_validate({
            "version": 1,
            "hooks": {"pre_tool_use": [
                {"name": "a", "type": "command", "command": "x", "timeout": {"seconds": 60, "on_timeout": "continue"}},
                {"name": "b", "type": "script", "script": "y", "enabled": False},
            ]},
        })
        (first,) = config.get_hooks_for_event(events.HookEvent.PRE_TOOL_USE)
        self.assertEqual((first.name, first.timeout.seconds, first.match), ("a", 60, {}))
        self.assertEqual(config.get_hooks_for_event("error"), [])
        self.assertEqual(hooks.HookDefinition(name="n", type="prompt", prompt="p").timeout, hooks.HookTimeoutConfig(seconds=30, on_timeout="block"))
        self.assertEqual(hooks.HookDefinition(name="n", type="command", timeout=5).timeout.seconds, 5)
        for bad in ({"hooks": {"error": [{"name": "a"}]}}, {"hooks": {"error": [{"name": "a", "type": "x"}]}}, {"other": 1}):
            with self.assertRaises(hooks.ValidationError):
                hooks.HooksConfig.model_validate(bad)

    def test_skills_keep_unknown_keys_and_read_allowed_tools_by_their_real_name(self):
        head = skill.SkillFrontmatter(name="s", description="d", allowed_tools=["X"], **{"allowed-tools": ["Read"]})
        self.assertEqual((head.allowed_tools, head.license, head.metadata), (["Read"], None, {}))
        self.assertEqual(skill.SkillFrontmatter(name="s", description="d", allowed_tools=["X"]).__dict__["allowed_tools"], [])
        with self.assertRaises(skill.ValidationError):
            skill.SkillFrontmatter(name="s", description="d" * 1025)
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            (root / "references").mkdir()
            (root / "scripts").mkdir()
            for name in ("references/a.md", "extra.md", "scripts/run.py", ".hidden.md"):
                (root / name).write_text("x")
            (root / "SKILL.md").write_text("---\nname: s\ndescription: Does it\nallowed-tools: Read, Bash\nextra: 1\n---\n\nLine 1\nLine 2\n")
            loaded = skill.load_skill(root, "global")
            self.assertEqual((loaded.body, loaded.allowed_tools, loaded.body_line_count), ("Line 1\nLine 2", ["Read", "Bash"], 2))
            self.assertEqual([f.name for f in loaded.list_reference_files()], ["a.md", "extra.md"])
            self.assertEqual([f.name for f in loaded.list_scripts()], ["run.py"])
            self.assertFalse(loaded.exceeds_soft_limit)
            self.assertEqual(loaded.get_metadata_for_prompt(), "**s**: Does it")

    def test_commands_render_in_the_documented_order(self):
        os.environ["SHIM_TEST"] = "env {{args}}"
        body = "{{env.SHIM_TEST}} {{args}} {{cwd}} {{x}} {{ args }} {{env.NOT_SET}}."
        command = commands.Command(commands.CommandFrontmatter(name="c"), body, pathlib.Path("c.md"))
        self.assertEqual(command.render("A{{cwd}}{{env.SHIM_TEST}}", cwd="/w", x=1), "env A/w{{env.SHIM_TEST}} A/w{{env.SHIM_TEST}} /w 1 {{ args }} .")
        head, text = commands.parse_command_markdown("---\r\nname: d\r\naliases:\r\n  - x\r\n---\r\nBody\r\n")
        self.assertEqual((head.aliases, text), (["x"], "Body"))
        for bad in ("\n---\nname: x\n---\n", "no head", "---\n---\nbody", "---\nname: 3\n---\n", "---\nname: x\nother: 1\n---\n", "---\nname: x\naliases: a\n---\n"):
            with self.assertRaises(ValueError, msg=bad):
                commands.parse_command_markdown(bad)

    def test_profiles_build_prompts(self):
        profile = ModelProfile("p", system_prompt_prefix="PRE", system_prompt_suffix="SUF", prompt_patterns={"a": "A", "b": "B"}, enabled_patterns=["b", "a", "none"])
        self.assertEqual(profile.build_system_prompt("base"), "PRE\n\nB\n\nA\n\nbase\n\nSUF")
        self.assertEqual((profile.default_temperature, profile.tool_format, profile.max_similar_tool_calls), (0.7, "openai", 3))
        self.assertEqual(ModelProfile.from_dict(profile.to_dict()), profile)
        with self.assertRaises(TypeError):
            ModelProfile.from_dict({"name": "x", "unknown": 1})
        self.assertIsNot(ModelProfile("a").api_params, ModelProfile("b").api_params)
        self.assertEqual(len(dataclasses.fields(profile)), 26)


class Providers(unittest.TestCase):
    def test_the_base_is_abstract_and_has_its_defaults(self):
        with self.assertRaisesRegex(TypeError, "abstract"):
            api_base.LLMProvider()

        class Mine(api_base.LLMProvider):
            name = model = "m"

            def supports_tools(self):
                return True

            async def complete(self, messages, **_):
                return types.CompletionResponse("", "ok", None, types.Usage())

            async def stream(self, messages, **_):
                yield types.StreamEvent("message_stop")

        provider = Mine()
        self.assertEqual((provider.supports_reasoning(), provider.default_reasoning_format, provider.default_reasoning_level), (False, "none", "auto"))
        self.assertEqual((provider.translate_reasoning_level("high"), provider.profile, provider.raw_logger), ({}, None, None))
        self.assertEqual((provider.apply_profile_to_system("s"), provider.apply_profile_to_max_tokens(5)), ("s", 5))
        provider.profile = ModelProfile("p", system_prompt_suffix="END", min_max_tokens=10)
        self.assertEqual((provider.apply_profile_to_system("s"), provider.apply_profile_to_max_tokens(5)), ("s\n\nEND", 10))
        self.assertEqual(asyncio.run(provider.test_connection())["status"], "ok")
        self.assertEqual(api_base.parse_reasoning_level("raw:x"), ("x", True))

    def test_credentials_are_an_object_in_a_file(self):
        from brynhild.api.credentials import load_credentials_from_path

        with tempfile.TemporaryDirectory() as directory:
            file = os.path.join(directory, "c.json")
            with self.assertRaisesRegex(ValueError, "not found"):
                load_credentials_from_path(file)
            for text, words in (("{", "Invalid JSON"), ("[1]", "object")):
                pathlib.Path(file).write_text(text)
                with self.assertRaisesRegex(ValueError, words):
                    load_credentials_from_path(file)
            pathlib.Path(file).write_text('{"api_key": "k"}')
            self.assertEqual(load_credentials_from_path(file), {"api_key": "k"})

    def test_the_factory_makes_what_it_knows(self):
        from brynhild.api import create_provider, get_available_provider_names
        from brynhild.plugins.providers import clear_plugin_providers, register_plugin_provider

        self.assertEqual(create_provider("ollama", model="m").model, "m")
        with self.assertRaisesRegex(ValueError, "OpenRouter API key required"):
            os.environ.pop("OPENROUTER_API_KEY", None)
            create_provider("openrouter")
        with self.assertRaisesRegex(ValueError, "Unknown provider: nope. Ensure"):
            create_provider("nope", load_plugins=False)
        register_plugin_provider("own", lambda model=None: ("own", model))
        self.addCleanup(clear_plugin_providers)
        self.assertEqual(create_provider("own", model="x", api_key="k"), ("own", "x"))
        self.assertIn("own", get_available_provider_names())


class Hooks(unittest.TestCase):
    def test_events_know_what_they_allow(self):
        self.assertEqual(len(events.HookEvent), 12)
        blockable = [e.value for e in events.HookEvent if e.can_block]
        self.assertEqual(blockable, ["pre_tool_use", "pre_message", "user_prompt_submit"])
        self.assertFalse(events.HookEvent.ERROR.can_modify)

    def test_conditions_match_as_documented(self):
        context = {"tool": "Bash", "tool_input": {"command": "rm -rf x", "n": 3, "flag": True}}
        for conditions in (
            {},
            {"tool": "Bash"},
            {"tool": "B*"},
            {"tool": "^Ba"},
            {"tool": ["Read", "Bash"]},
            {"tool_input.command": "*rm*"},
            {"tool_input": {"command": "*rm*"}},
            {"tool_input.n": 3, "tool_input.flag": True},
        ):
            self.assertTrue(matches(conditions, context), conditions)
        for conditions in ({"tool": "bash"}, {"tool_name": "*"}, {"tool": "Read"}, {"tool_input.flag": 1}, {"tool_input": "x"}):
            self.assertFalse(matches(conditions, context), conditions)

    def test_contexts_and_results_become_data(self):
        context = events.HookContext(events.HookEvent.POST_TOOL_USE, "s", "/c", tool="T", tool_input={"a": 1}, tool_result=base.ToolResult(True, "o"))
        self.assertEqual(sorted(context.to_dict()), ["cwd", "event", "session_id", "tool", "tool_input", "tool_result"])
        self.assertEqual(context.to_env_vars()["BRYNHILD_TOOL_SUCCESS"], "true")
        self.assertEqual(events.HookResult.from_dict({"action": "odd", "message": "m"}), events.HookResult(message="m"))
        self.assertEqual(events.HookResult(events.HookAction.BLOCK).to_dict()["action"], "block")

    def test_command_and_script_hooks_run(self):
        from brynhild.hooks.manager import HookManager

        with tempfile.TemporaryDirectory() as directory:
            script = "import json, sys; c = json.load(sys.stdin); json.dump({'modified_input': dict(c['tool_input'], seen=1)}, sys.stdout)"
            pathlib.Path(directory, "s.py").write_text(script)
            entries = [
                {"name": "ok", "type": "command", "command": "test $BRYNHILD_TOOL_NAME = T"},
                {"name": "s", "type": "script", "script": "s.py"},
                {"name": "stop", "type": "command", "command": "echo no >&2; exit 1", "match": {"tool_input.seen": 1}},
            ]
            config = hooks.HooksConfig.model_validate({"hooks": {"pre_tool_use": entries}})
            manager = HookManager(config, directory)
            context = events.HookContext(events.HookEvent.PRE_TOOL_USE, "s", directory, tool="T", tool_input={"a": 1})
            result = asyncio.run(manager.dispatch("pre_tool_use", context))
            self.assertEqual((result.action, result.message), (events.HookAction.BLOCK, "no"))


class Rest(unittest.TestCase):
    def test_settings_come_from_defaults_environment_and_arguments(self):
        from brynhild.config import Settings

        os.environ["BRYNHILD_BEHAVIOR__MAX_TOKENS"] = "77"
        self.addCleanup(os.environ.pop, "BRYNHILD_BEHAVIOR__MAX_TOKENS")
        settings = Settings(models={"default": "mine"})
        self.assertEqual((settings.behavior.max_tokens, settings.model, settings.providers.default), (77, "mine", "openrouter"))
        self.assertFalse(settings.sandbox.allow_network)

    def test_sessions_are_kept(self):
        from brynhild.session import Session, SessionManager

        with tempfile.TemporaryDirectory() as directory:
            store = SessionManager(directory)
            session = Session.create("/c", model="m")
            session.add_message("user", "hi")
            store.save(session)
            self.assertEqual(store.load(session.id), session)
            self.assertEqual([s.id for s in store.list_sessions()], [session.id])
            self.assertIsNone(store.load("other"))
            with self.assertRaisesRegex(ValueError, "Invalid session ID"):
                store.load("../x")

    def test_plugins_are_found_and_loaded_without_a_host(self):
        from brynhild.plugins import PluginDiscovery, PluginLoader, ToolLoader

        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory, "p")
            (root / "tools").mkdir(parents=True)
            (root / "plugin.yaml").write_text("name: p\nversion: 1.0.0\ntools:\n  - t\n  - gone\n")
            (root / "tools/t.py").write_text("from brynhild.plugins.stubs import *\nclass Tool(ToolBase):\n    name = 'T'\n")
            bad = pathlib.Path(directory, "bad")
            bad.mkdir()
            (bad / "plugin.yaml").write_text("name: bad\nversion: 1.0\n")
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                found = PluginDiscovery(search_paths=[directory]).discover()
            self.assertEqual((sorted(found), len(seen)), (["p"], 1))
            self.assertEqual(ToolLoader().load_from_plugin(found["p"])["t"]().name, "T")
            self.assertEqual(PluginLoader().validate(root), ["Declared tool not found: gone.py"])

    def test_the_small_conversation_loop_runs_tools(self):
        from brynhild.core.conversation import ConversationCallbacks, ConversationProcessor
        from brynhild.tools.registry import ToolRegistry

        class Calls(ConversationCallbacks):
            texts = []

            async def on_text_delta(self, text):
                self.texts.append(text)

            async def request_tool_permission(self, tool_call):
                return True

        class Model:
            def supports_tools(self):
                return True

            async def stream(self, messages, **_):
                if messages[-1]["role"] == "user":
                    yield types.StreamEvent("content_stop", tool_use=types.ToolUse("1", "Echo", {}))
                else:
                    yield types.StreamEvent("text_delta", "done")

        registry = ToolRegistry()
        registry.register(Echo())
        processor = ConversationProcessor(Model(), Calls(), registry)
        result = asyncio.run(processor.process_streaming([{"role": "user", "content": "x"}]))
        self.assertEqual((result.response_text, Calls.texts), ("done", ["done"]))
        self.assertEqual([m["role"] for m in result.messages], ["user", "assistant", "tool_result", "assistant"])


if __name__ == "__main__":
    unittest.main()
