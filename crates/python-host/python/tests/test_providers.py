"""Providers through a worker: construction, whole answers, streams, and what goes wrong in them."""
import http.server
import json
import threading
import unittest

from harness import PluginCase

MESSAGES = [{"role": "user", "content": "hi"}]


class Providers(PluginCase):
    def opened(self, worker=None, **params):
        worker = worker or self.start()
        opened = worker.result("open_provider", provider="providers/mine.py", **params)
        return worker, opened

    def stream(self, worker, handle, **params):
        params.setdefault("messages", MESSAGES)
        return worker.request("stream", handle=handle, **params)

    def streamed(self, body, **params):
        self.provider(body)
        worker, opened = self.opened()
        answer = self.stream(worker, opened["handle"], **params)
        return worker, answer

    def test_a_provider_is_described_without_being_constructed(self):
        self.provider("yield 1", head="")
        self.write("providers/other.py", "from brynhild.api.base import LLMProvider\nclass Thing(LLMProvider):\n    def __init__(self): 1 / 0\n    name = model = ''\n    def supports_tools(self): return True\n    async def complete(self, m, **k): pass\n    async def stream(self, m, **k): yield\n")
        self.write("providers/lacks.py", "from brynhild.api.base import LLMProvider\nclass Provider(LLMProvider):\n    name = model = ''\n")
        result = self.start().result("describe")
        self.assertEqual(result["providers"], [
            {"key": "providers/mine.py", "name": "mine", "doc": "Speaks for itself.", "model": "m"},
            {"key": "providers/other.py", "name": "other", "doc": ""},
        ])
        problem = result["problems"][0]
        self.assertTrue(problem["file"].endswith("lacks.py"), problem)
        self.assertIn("is abstract: it lacks complete, stream, supports_tools", problem["message"])

    def test_traits_are_told_and_a_property_is_as_good_as_a_method(self):
        self.provider("yield 1")
        _, opened = self.opened(model="x1")
        self.assertEqual((opened["name"], opened["model"], opened["supports_tools"]), ("mine", "x1", True))
        self.assertEqual((opened["supports_reasoning"], opened["default_reasoning_format"]), (False, "none"))
        self.write("providers/mine.py", "class Provider:\n    supports_tools = False\n    name = 'n'\n    model = 'm'\n    default_reasoning_format = 'thinking_tags'\n    def stream(self, **k): pass\n")
        _, opened = self.opened()
        self.assertEqual((opened["supports_tools"], opened["default_reasoning_format"]), (False, "thinking_tags"))

    def test_construction_falls_back_step_by_step_on_a_type_error(self):
        for signature, expected in {
            "model=None, api_key=None, **rest": "m k {'cache_ttl': 5}",
            "model=None, api_key=None": "m k {}",
            "model=None": "m None {}",
            "": "None None {}",
        }.items():
            self.write("providers/mine.py", "class Provider:\n    model = None\n    name = 'n'\n    def __init__(self, %s):\n        g = locals(); self.name = '%%s %%s %%s' %% (g.get('model'), g.get('api_key'), g.get('rest', {}))\n    def stream(self, **k): pass\n" % signature)
            _, opened = self.opened(kwargs={"cache_ttl": 5}, model="m", api_key="k")
            self.assertEqual(opened["name"], expected)

    def test_what_no_attempt_gives_is_said_of_the_last_one(self):
        self.write("providers/mine.py", "class Provider:\n    PROVIDER_NAME = 'p'\n    def __init__(self, secret): pass\n    def stream(self, **k): pass\n")
        error = self.start().request("open_provider", provider="providers/mine.py", model="m")["error"]
        self.assertIn("missing 1 required positional argument: 'secret'", error["message"])

    def test_other_errors_of_construction_are_told_at_once(self):
        self.write("providers/mine.py", "class Provider:\n    PROVIDER_NAME = 'p'\n    def __init__(self, **k): raise ValueError('no key')\n    def stream(self, **k): pass\n")
        error = self.start().request("open_provider", provider="providers/mine.py")["error"]
        self.assertEqual((error["code"], error["message"]), (-32000, "Failed to create provider 'p': no key"))

    def test_credentials_paths_are_expanded_unless_the_class_says_no(self):
        text = "class Provider:\n    model = 'm'\n    %s\n    def __init__(self, credentials_path): self.name = credentials_path\n    def stream(self, **k): pass\n"
        for attribute, expected in (("x = 1", "/base/c.json"), ("expand_credentials_path = False", "$BASE/c.json")):
            self.write("providers/mine.py", text % attribute)
            worker = self.start(environment={"BASE": "/base"})
            _, opened = self.opened(worker, kwargs={"credentials_path": "$BASE/c.json"})
            self.assertEqual(opened["name"], expected)

    def test_only_the_documented_keywords_are_passed(self):
        self.write(
            "providers/mine.py",
            """
            import json
            class Provider:
                name = "n"; model = "m"; _is_brynhild_duck_typed = True
                async def complete(self, **given):
                    tools = [t.to_openai_format() for t in given.pop("tools")]
                    return {"id": "1", "content": json.dumps([given, tools]), "stop_reason": None, "usage": None}
            """,
        )
        worker, opened = self.opened()
        tool = {"name": "T", "description": "d", "input_schema": {"type": "object"}}
        params = {"messages": MESSAGES, "system": "s", "max_tokens": 9, "tools": [tool]}
        response = worker.result("complete", handle=opened["handle"], **params)["response"]
        given, tools = json.loads(response["content"])
        self.assertEqual(given, {"messages": MESSAGES, "system": "s", "max_tokens": 9})
        self.assertEqual(tools, [{"type": "function", "function": {"name": "T", "description": "d", "parameters": {"type": "object"}}}])

    def test_a_whole_answer_comes_back(self):
        self.provider('yield StreamEvent(type="text_delta", text="whole")')
        worker, opened = self.opened()
        response = worker.result("complete", handle=opened["handle"], messages=MESSAGES)["response"]
        self.assertEqual((response["id"], response["content"], response["stop_reason"]), ("r1", "whole", "end_turn"))
        self.assertEqual(response["usage"], {"input_tokens": 3, "output_tokens": 4, "details": None})
        self.assertEqual((response["tool_uses"], response["thinking"]), ([], None))

    def test_events_come_one_by_one_with_all_their_fields(self):
        worker, answer = self.streamed(
            """
            yield StreamEvent(type="message_start", message_id="m1")
            yield StreamEvent(type="thinking_delta", thinking="hm")
            yield StreamEvent(type="text_delta", text="Hello")
            yield StreamEvent(type="tool_use_delta", tool_input_delta='{"a')
            yield StreamEvent(type="tool_use_start", tool_use=Signed("c1", "Read", {"p": 1}))
            yield StreamEvent(type="message_stop", stop_reason="end_turn", usage=Usage(1, 2, UsageDetails(cost=0.5)))
            class Signed: pass
            """.replace("class Signed: pass", "")
        )
        self.assertIn("error", answer)
        head = "class Signed(ToolUse):\n    def to_tool_call_dict(self):\n        return dict(super().to_tool_call_dict(), thought_signature='s')\n"
        self.provider(
            """
            yield StreamEvent(type="message_start", message_id="m1")
            yield StreamEvent(type="thinking_delta", thinking="hm")
            yield StreamEvent(type="tool_use_start", tool_use=Signed("c1", "Read", {"p": 1}))
            yield StreamEvent(type="message_stop", stop_reason="end_turn", usage=Usage(1, 2, UsageDetails(cost=0.5)))
            """,
            head=head,
        )
        worker, opened = self.opened()
        self.assertEqual(self.stream(worker, opened["handle"])["result"], {})
        start, thought, use, stop = worker.events()
        self.assertEqual((start["type"], start["message_id"], thought["thinking"]), ("message_start", "m1", "hm"))
        self.assertEqual(use["tool_use"]["input"], {"p": 1})
        self.assertEqual(use["tool_use"]["wire"], {"id": "c1", "type": "function", "function": {"name": "Read", "arguments": '{"p": 1}'}, "thought_signature": "s"})
        self.assertEqual((stop["stop_reason"], stop["usage"]["output_tokens"], stop["usage"]["details"]["cost"]), ("end_turn", 2, 0.5))
        self.assertEqual(sorted(stop), sorted("type text thinking tool_use tool_input_delta usage error message_id stop_reason".split()))

    def test_a_stream_that_raises_in_the_middle_keeps_what_came_before(self):
        worker, answer = self.streamed('yield StreamEvent(type="text_delta", text="half")\nraise ConnectionError("lost")')
        self.assertEqual([event["text"] for event in worker.events()], ["half"])
        self.assertEqual((answer["error"]["code"], answer["error"]["message"]), (-32000, "lost"))
        self.assertEqual(answer["error"]["data"]["type"], "ConnectionError")
        self.assertIn("mine.py", answer["error"]["data"]["traceback"])

    def test_a_stream_that_ends_early_just_ends(self):
        worker, answer = self.streamed("return\nyield")
        self.assertEqual((answer["result"], worker.events()), ({}, []))

    def test_dicts_texts_and_unknown_types_are_passed_on_and_nonsense_is_left_out(self):
        worker, answer = self.streamed(
            """
            yield {"type": "text_delta", "text": "a"}
            yield "b"
            yield StreamEvent(type="from_the_future", text=3)
            yield 42
            yield None
            yield StreamEvent(type="tool_use_start", tool_use=ToolUse("", "x", {}))
            yield StreamEvent(type="message_delta", usage={"input_tokens": float("nan"), "output_tokens": "7"})
            """
        )
        self.assertEqual(answer["result"], {})
        events = worker.events()
        self.assertEqual([e["type"] for e in events], ["text_delta", "text_delta", "from_the_future", "tool_use_start", "message_delta"])
        self.assertEqual((events[2]["text"], events[3]["tool_use"]), ("3", None))
        self.assertEqual(events[4]["usage"], {"input_tokens": 0, "output_tokens": 7, "details": None})
        self.assertEqual(len(worker.logs()), 4)
        self.assertIn("unknown type `from_the_future`", worker.logs()[0])

    def test_every_shape_of_stream_is_accepted(self):
        head = "class Provider:\n    _is_brynhild_duck_typed = True\n    name = model = 'm'\n"
        for body, expected in {
            "    def stream(self, **k):\n        yield 'sync'\n": "sync",
            "    async def stream(self, **k):\n        async def g():\n            yield 'late'\n        return g()\n": "late",
            "    async def stream(self, **k):\n        return ['list']\n": "list",
        }.items():
            self.write("providers/mine.py", head + body)
            worker, opened = self.opened()
            self.assertEqual(self.stream(worker, opened["handle"])["result"], {})
            self.assertEqual(worker.events()[0]["text"], expected)
        self.write("providers/mine.py", head + "    def stream(self, **k):\n        return 3\n")
        worker, opened = self.opened()
        self.assertIn("gave a int", self.stream(worker, opened["handle"])["error"]["message"])

    def test_a_cancelled_stream_closes_its_generator(self):
        self.provider(
            """
            import asyncio
            try:
                yield StreamEvent(type="text_delta", text="one")
                await asyncio.Event().wait()
            finally:
                print("closed")
            """
        )
        worker, opened = self.opened()
        id = worker.send("stream", handle=opened["handle"], messages=MESSAGES)
        self.assertEqual(worker.receive()["params"]["event"]["text"], "one")
        worker.cancel(id)
        self.assertEqual(worker.answer(id)["error"]["code"], -32800)
        self.assertIn("closed", worker.printed())

    def test_two_streams_run_together(self):
        self.provider(
            """
            import asyncio
            for n in range(3):
                yield StreamEvent(type="text_delta", text=messages[0]["content"] + str(n))
                await asyncio.sleep(0)
            """
        )
        worker, opened = self.opened()
        ids = [worker.send("stream", handle=opened["handle"], messages=[{"role": "user", "content": c}]) for c in "ab"]
        for id in ids:
            if not any(n.get("id") == id for n in worker.notifications):
                worker.answer(id)
        events = [n["params"] for n in worker.notifications if n.get("method") == "event"]
        for id, letter in zip(ids, "ab"):
            self.assertEqual([e["event"]["text"] for e in events if e["id"] == id], [letter + str(n) for n in range(3)])

    def test_a_profile_is_attached_and_its_text_is_applied_once(self):
        self.provider('yield StreamEvent(type="text_delta", text=self.apply_profile_to_system(system) + str(self.apply_profile_to_max_tokens(1)))')
        worker, opened = self.opened()
        profile = {"name": "p", "system_prompt_prefix": "PRE", "min_max_tokens": 300, "unknown": 1}
        for system in ("base", "PRE\n\nbase"):
            self.stream(worker, opened["handle"], system=system, profile=profile)
        self.stream(worker, opened["handle"], system="base", profile=None)
        self.assertEqual([e["text"] for e in worker.events()], ["PRE\n\nbase300", "PRE\n\nbase300", "base1"])

    def test_models_and_check_use_what_the_provider_has(self):
        self.write("providers/mine.py", "class Provider:\n    name = model = 'm'\n    def stream(self, **k): pass\n    async def list_models(self): return ['a', {'id': 'b'}]\n    def test_connection(self): return {'status': 'ok'}\n")
        worker, opened = self.opened()
        self.assertEqual(worker.result("models", handle=opened["handle"]), {"models": ["a", "b"]})
        self.assertEqual(worker.result("check", handle=opened["handle"]), {"result": {"status": "ok"}})
        self.assertEqual(worker.request("models", handle="nope")["error"]["code"], -32602)


class Clients(PluginCase):
    """The bundled Ollama client, wrapped by a plugin as in the wild, against a local server."""

    def setUp(self):
        super().setUp()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ollama)
        self.server.asked = []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.write(
            "providers/mine.py",
            """
            import brynhild.api.base as _base
            import brynhild.api.ollama_provider as _ollama
            class Provider(_base.LLMProvider):
                def __init__(self, model="llama3", port=None, **kwargs):
                    self._inner = _ollama.OllamaProvider(host="127.0.0.1", port=port, model=model)
                name = property(lambda self: "wrapped")
                model = property(lambda self: self._inner.model)
                def supports_tools(self): return self._inner.supports_tools()
                async def complete(self, messages, **k): return await self._inner.complete(messages, **k)
                async def stream(self, messages, **k):
                    async for event in self._inner.stream(messages, **k): yield event
                async def list_models(self): return await self._inner.list_models()
                async def close(self): await self._inner.close(); print("closed inner")
            """,
        )

    def test_a_wrapped_ollama_client_streams_completes_lists_and_closes(self):
        worker = self.start()
        port = self.server.server_address[1]
        opened = worker.result("open_provider", provider="providers/mine.py", kwargs={"port": port}, model="gpt-oss:20b")
        tools = [{"name": "T", "description": "d", "input_schema": {}}]
        messages = MESSAGES + [
            {"role": "assistant", "content": "", "tool_calls": [{"id": "c0", "type": "function", "function": {"name": "T", "arguments": "{}"}}]},
            {"role": "tool_result", "tool_use_id": "c0", "content": "done", "is_error": False},
        ]
        worker.result("stream", handle=opened["handle"], messages=messages, system="sys", tools=tools)
        events = worker.events()
        self.assertEqual("".join(e["text"] or "" for e in events), "Hello wörld")
        self.assertEqual([e["thinking"] for e in events if e["thinking"]], ["hm"])
        (use,) = [e["tool_use"] for e in events if e["tool_use"]]
        self.assertEqual((use["name"], use["input"]), ("T", {"a": 1}))
        self.assertEqual(events[-1]["usage"]["input_tokens"], 11)
        self.assertEqual(events[-1]["stop_reason"], "tool_use")
        asked = self.server.asked[0]
        self.assertEqual([m["role"] for m in asked["messages"]], ["system", "user", "assistant", "tool"])
        self.assertEqual(asked["messages"][3]["tool_call_id"], "c0")
        response = worker.result("complete", handle=opened["handle"], messages=MESSAGES)["response"]
        self.assertEqual((response["content"], response["stop_reason"]), ("whole", "end_turn"))
        self.assertEqual(worker.result("models", handle=opened["handle"])["models"], ["llama3:latest"])
        self.assertEqual(worker.result("shutdown"), {})
        self.assertEqual(worker.end(), 0)
        self.assertIn("closed inner", worker.printed())

    def test_an_http_error_is_told_with_its_text(self):
        worker = self.start()
        port = self.server.server_address[1]
        opened = worker.result("open_provider", provider="providers/mine.py", kwargs={"port": port}, model="missing")
        error = worker.request("complete", handle=opened["handle"], messages=MESSAGES)["error"]
        self.assertIn("HTTP 404: no such model", error["message"])


class Ollama(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self._whole(200, json.dumps({"models": [{"name": "llama3:latest"}]}))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        if body["model"] == "missing":
            self._whole(404, "no such model")
        elif body["stream"]:
            self._streamed()
        else:
            self._whole(200, json.dumps({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}))

    def _whole(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def _streamed(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        call = {"index": 0, "id": "c1", "function": {"name": "T", "arguments": '{"a"'}}
        rest = {"index": 0, "function": {"arguments": ": 1}"}}
        deltas = [{"reasoning": "hm"}, {"content": "Hello "}, {"content": "wörld"}, {"tool_calls": [call]}, {"tool_calls": [rest]}]
        chunks = [{"choices": [{"delta": delta}]} for delta in deltas]
        chunks.append({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
        chunks.append({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 5}})
        text = "".join("data: %s\n\n" % json.dumps(chunk, ensure_ascii=False) for chunk in chunks) + "data: [DONE]\n\n"
        data = text.encode()
        for start in range(0, len(data), 37):
            piece = data[start : start + 37]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")


if __name__ == "__main__":
    unittest.main()
