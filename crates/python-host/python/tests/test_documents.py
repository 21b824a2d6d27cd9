"""Plugins in the shapes that the public documents teach, written for these tests, unmodified under a worker and alone."""
import os
import subprocess
import sys
import unittest

from harness import SHIM, PluginCase

CLIENT = '''
from __future__ import annotations
import typing as _typing

try:
    import brynhild.tools.base as _base
    ToolResult = _base.ToolResult
    ToolBase = _base.Tool
except ImportError:
    from brynhild.plugins.stubs import ToolResult, ToolBase


class Tool(ToolBase):
    """Fetches a page."""

    @property
    def name(self) -> str:
        return "HttpClient"

    @property
    def description(self) -> str:
        return """Fetch a page.

Use it when:
- a page is wanted"""

    @property
    def input_schema(self) -> dict[str, _typing.Any]:
        return {
            "type": "object",
            "properties": {
                "url": {"type": "string", "description": "Where it is"},
                "method": {"type": "string", "enum": ["GET", "POST"], "default": "GET"},
            },
            "required": ["url"],
        }

    @property
    def requires_permission(self) -> bool:
        return True

    @property
    def version(self) -> str:
        return "1.0.0"

    @property
    def categories(self) -> list[str]:
        return ["network", "api"]

    async def execute(self, input: dict[str, _typing.Any]) -> ToolResult:
        url = input.get("url")
        if not url:
            return ToolResult(success=False, output="", error="URL is required")
        try:
            if url == "boom":
                raise OSError("unreachable")
            return ToolResult(success=True, output=f"Status: 200\\n\\n{input.get('method', 'GET')} {url}"[:2000])
        except Exception as e:
            return ToolResult(success=False, output="", error=str(e))
'''

PROVIDER = '''
from __future__ import annotations
import typing as _typing

try:
    import brynhild.api.base as _base
    import brynhild.api.types as _types
    LLMProvider = _base.LLMProvider
    CompletionResponse = _types.CompletionResponse
    StreamEvent = _types.StreamEvent
    Usage = _types.Usage
    ToolUse = _types.ToolUse
except ImportError:
    raise


class Provider(LLMProvider):
    """Answers from a table."""

    PROVIDER_NAME = "my-provider"

    def __init__(
        self,
        api_key: str | None = None,
        model: str = "default-model",
        base_url: str = "https://api.example.com",
        **kwargs: _typing.Any,
    ) -> None:
        self._api_key = api_key
        self._model = model
        self._base_url = base_url

    @property
    def name(self) -> str:
        return "my-provider"

    @property
    def model(self) -> str:
        return self._model

    def supports_tools(self) -> bool:
        return True

    def supports_reasoning(self) -> bool:
        return False

    async def complete(
        self,
        messages: list[dict[str, _typing.Any]],
        *,
        system: str | None = None,
        tools: list[_typing.Any] | None = None,
        max_tokens: int = 8192,
        use_profile: bool = True,
    ) -> CompletionResponse:
        if use_profile and hasattr(self, "_profile") and self._profile:
            system = self.apply_profile_to_system(system)
            max_tokens = self.apply_profile_to_max_tokens(max_tokens)
        shown = [t.to_openai_format()["function"]["name"] for t in tools or ()]
        return CompletionResponse(
            id="r",
            content=f"{self._base_url} {system} {max_tokens} {shown}",
            stop_reason="tool_use",
            usage=Usage(input_tokens=1, output_tokens=2),
            tool_uses=[ToolUse(id="c", name="Read", input={"path": "x"})],
        )

    async def stream(
        self,
        messages: list[dict[str, _typing.Any]],
        *,
        system: str | None = None,
        tools: list[_typing.Any] | None = None,
        max_tokens: int = 8192,
        use_profile: bool = True,
    ) -> _typing.AsyncIterator[StreamEvent]:
        yield StreamEvent(type="message_start")
        yield StreamEvent(type="text_delta", text="Hello from my provider!")
        yield StreamEvent(type="message_stop", stop_reason="end_turn")
'''

STANDALONE = '''
import asyncio
from tools.http_client import Tool

async def test_tool():
    tool = Tool()
    assert tool.name == "HttpClient"
    assert "object" in tool.input_schema.get("type", "")
    result = await tool.execute({"url": "x"})
    assert result.success
    print(f"Output: {result.output}")

if __name__ == "__main__":
    asyncio.run(test_tool())
'''


class Documents(PluginCase):
    def test_the_tool_of_the_reference_runs(self):
        self.write("tools/http_client.py", CLIENT)
        worker = self.start()
        description = worker.result("describe")
        self.assertEqual(description["problems"], [])
        (tool,) = description["tools"]
        self.assertEqual((tool["name"], tool["version"], tool["categories"]), ("HttpClient", "1.0.0", ["network", "api"]))
        self.assertEqual(tool["input_schema"]["required"], ["url"])
        self.assertEqual(worker.call("http_client", url="u")["output"], "Status: 200\n\nGET u")
        self.assertEqual(worker.call("http_client")["error"], "URL is required")
        self.assertEqual(worker.call("http_client", url="boom")["error"], "unreachable")

    def test_the_provider_of_the_reference_runs(self):
        self.write("providers/my_provider.py", PROVIDER)
        worker = self.start()
        (provider,) = worker.result("describe")["providers"]
        self.assertEqual((provider["name"], provider["doc"]), ("my-provider", "Answers from a table."))
        kwargs = {"cache_ttl": 3600, "base_url": "http://b"}
        opened = worker.result("open_provider", provider=provider["key"], kwargs=kwargs, model="m", api_key="k")
        self.assertEqual((opened["model"], opened["supports_tools"], opened["default_reasoning_format"]), ("m", True, "none"))
        messages = [{"role": "user", "content": "Hello!"}]
        worker.result("stream", handle=opened["handle"], messages=messages, system=None, tools=None, max_tokens=10)
        self.assertEqual([e["type"] for e in worker.events()], ["message_start", "text_delta", "message_stop"])
        self.assertEqual(worker.events()[2]["stop_reason"], "end_turn")
        tools = [{"name": "Read", "description": "d", "input_schema": {}}]
        response = worker.result("complete", handle=opened["handle"], messages=messages, system="s", tools=tools, max_tokens=10)["response"]
        self.assertEqual(response["content"], "http://b s 10 ['Read']")
        self.assertEqual(response["tool_uses"][0]["input"], {"path": "x"})
        self.assertEqual(response["tool_uses"][0]["wire"]["function"]["arguments"], '{"path": "x"}')

    def test_a_provider_with_fallback_classes_of_its_own_is_served(self):
        self.write(
            "providers/own.py",
            """
            from dataclasses import dataclass
            class LLMProvider: pass
            @dataclass
            class StreamEvent:
                type: str
                text: str = None
            class Provider(LLMProvider):
                PROVIDER_NAME = "own"
                name = "own"
                model = "m"
                def supports_tools(self): return False
                async def stream(self, messages, *, system=None, tools=None, max_tokens=1):
                    yield StreamEvent("text_delta", "hi")
            """,
        )
        worker = self.start()
        description = worker.result("describe")
        self.assertEqual([p["severity"] for p in description["problems"]], ["note"])
        opened = worker.result("open_provider", provider="providers/own.py")
        worker.result("stream", handle=opened["handle"], messages=[])
        self.assertEqual(worker.events()[0]["text"], "hi")

    def test_a_tool_can_be_tested_without_brynhild(self):
        self.write("tools/http_client.py", CLIENT)
        self.write("test_my_tool.py", STANDALONE)
        environment = dict(os.environ, PYTHONPATH=SHIM, PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.run(
            [sys.executable, "test_my_tool.py"], cwd=self.root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.assertEqual((done.returncode, done.stdout.decode()), (0, "Output: Status: 200\n\nGET x\n"))

    def test_the_stubs_of_the_reference_behave_as_shown(self):
        from brynhild.plugins.stubs import Tool, ToolBase, ToolMetrics, ToolResult

        self.assertIs(Tool, ToolBase)
        self.assertEqual(ToolMetrics("x").call_count, 0)
        failed = ToolResult(success=False, output="", error="File not found: foo.txt")
        self.assertEqual((failed.success, failed.error), (False, "File not found: foo.txt"))

        class Mine(ToolBase):
            name = "Mine"
            description = "d"
            input_schema = {"type": "object"}

        self.assertEqual(Mine().to_openai_format()["function"]["parameters"], {"type": "object"})
        self.assertEqual(Mine().to_api_format()["input_schema"], {"type": "object"})


if __name__ == "__main__":
    unittest.main()
