import time
import urllib.error
import urllib.request
from typing import List, Literal, Optional

from brynhild_sdk import Brynhild
from brynhild_sdk.tools import Tool, ToolServer, schema_of

from .scripted import ScriptedTest, call


class ToolTest(ScriptedTest):
    def test_schema_comes_from_the_annotations(self):
        def find(name: str, kinds: List[Literal["a", "b"]], limit: Optional[int] = None): ...

        self.assertEqual(
            schema_of(find),
            {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "kinds": {"type": "array", "items": {"enum": ["a", "b"]}},
                    "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                },
                "required": ["name", "kinds"],
                "additionalProperties": False,
            },
        )

    def test_many_calls_of_a_slow_tool(self):
        calls = [{"name": "mcp__app__note", "input": {"number": n}} for n in range(40)]
        turns = [{"tool_calls": calls[start : start + 20]} for start in (0, 20)]
        noted = []
        with Brynhild(**self.options(*turns, {"text": "done"})) as b:

            @b.tool
            def note(number: int) -> str:
                """Notes a number."""
                time.sleep(0.002)
                noted.append(number)
                return "noted"

            result = b.run("note them")
        self.assertEqual((result.text, result.unanswered, sorted(noted)), ("done", [], list(range(40))))

    def test_servers_and_rules_of_one_run_are_given(self):
        server = ToolServer({"hello": Tool("hello", "Greets.", {"type": "object"}, lambda: "from there")}, None)
        self.addCleanup(server.close)
        turns = [call("mcp__other__hello"), {"text": "{{last_tool_result}}"}]
        options = {"mcp_servers": {"other": server.config()}, "allowed_tools": ["mcp__other__hello"]}
        with Brynhild(**self.options(*turns), **options) as b:
            result = b.run("greet")
        self.assertEqual((result.text, result.unanswered), ("from there", []))

    def test_exception_of_a_tool_goes_to_the_model(self):
        turns = [call("mcp__app__fail"), {"text": "{{last_tool_result}}"}]
        with Brynhild(**self.options(*turns)) as b:

            @b.tool(name="fail", description="Fails.", schema={"type": "object"})
            def anything():
                raise LookupError("no such thing")

            self.assertIn("LookupError: no such thing", b.run("fail").text)

    def test_tool_registered_later_is_there_in_the_next_turn(self):
        turns = [{"text": "one"}, call("mcp__app__hello"), {"text": "{{last_tool_result}}"}]
        with Brynhild(**self.options(*turns)) as b:
            b.run("a")

            @b.tool
            def hello() -> dict:
                """Greets."""
                return {"hello": "you"}

            self.assertEqual(b.run("b").text, '{"hello": "you"}')

    def test_server_refuses_calls_without_the_token(self):
        server = ToolServer({}, None)
        self.addCleanup(server.close)
        with self.assertRaises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(urllib.request.Request(server.config()["url"], data=b"{}"))
        self.assertEqual(caught.exception.code, 403)
        caught.exception.close()
