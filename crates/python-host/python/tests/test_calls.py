"""Calls of tools through a worker: what comes back, whatever the tool does."""
import os
import unittest

from harness import PluginCase


class Results(PluginCase):
    def test_a_result_comes_back_as_it_is(self):
        self.tool("echo", 'return ToolResult(True, "said " + input["text"])')
        result = self.start().call("echo", text="hi")
        self.assertEqual(result["success"], True)
        self.assertEqual(result["output"], "said hi")
        self.assertIsNone(result["error"])

    def test_the_worker_says_its_version_and_imports_nothing_at_first(self):
        self.tool("loud", "return None", head='print("imported")')
        worker = self.start()
        self.assertEqual(worker.hello["result"]["protocol"], 1)
        self.assertRegex(worker.hello["result"]["python"], r"^3\.\d+\.\d+")
        self.assertNotIn("imported", worker.printed())

    def test_every_kind_of_return_value_gets_the_one_shape(self):
        self.tool("any", 'return eval(input["code"], globals())', head="import types")
        worker = self.start()
        cases = {
            "'text'": (True, "text", None),
            "{'success': False, 'error': 'no'}": (False, "", "no"),
            "{'output': 7}": (True, "7", None),
            "types.SimpleNamespace(success=1, output=None, error=None)": (True, "", None),
            "None": (True, "", None),
            "[1, 2]": (False, "[1, 2]", "the tool returned a list where a ToolResult belongs"),
            "{'a': 1}": (False, "{'a': 1}", "the tool returned a dict where a ToolResult belongs"),
            "ToolResult(True, b'\\xff!')": (True, "\ufffd!", None),
            "ToolResult(False, 'partial', ValueError('why'))": (False, "partial", "why"),
        }
        for code, expected in cases.items():
            with self.subTest(code):
                result = worker.call("any", code=code)
                self.assertEqual((result["success"], result["output"], result["error"]), expected)

    def test_a_generator_is_no_result(self):
        self.tool("gen", "yield ToolResult(True, 'x')")
        result = self.start().call("gen")
        self.assertEqual((result["success"], result["error"][:36]), (False, "the tool returned a async_generator "))

    def test_what_a_tool_says_of_itself_is_looked_at_where_it_can_change(self):
        self.tool("fixed", "return 'x'")
        self.write(
            "tools/moody.py",
            """
            import os
            from brynhild.tools.base import Tool as Base, ToolResult
            class Tool(Base):
                name = "moody"
                description = "d"
                input_schema = {"type": "object", "properties": {}}
                @property
                def requires_permission(self):
                    return os.path.exists(%r)
                async def execute(self, input):
                    return ToolResult(True, "ok")
            """
            % os.path.join(self.root, "flag"),
        )
        worker = self.start()
        described = {tool["name"]: tool["live"] for tool in worker.result("describe")["tools"]}
        self.assertEqual(described, {"Fixed": False, "moody": True})
        look = lambda: worker.result("look", tool="tools/moody.py")["live"]
        self.assertFalse(look()["requires_permission"])
        self.assertIsNone(look())
        self.write("flag", "")
        self.assertTrue(look()["requires_permission"])
        self.assertIsNone(look())

    def test_every_exception_becomes_a_failed_result_and_the_worker_lives_on(self):
        self.tool("raise", 'raise eval(input["code"])')
        worker = self.start()
        cases = {
            "ValueError('bad')": "ValueError: bad",
            "KeyboardInterrupt()": "KeyboardInterrupt",
            "SystemExit(3)": "SystemExit: 3",
            "GeneratorExit()": "GeneratorExit",
            "StopIteration()": "RuntimeError: coroutine raised StopIteration",
            "StopAsyncIteration()": "StopAsyncIteration",
            "__import__('asyncio').CancelledError()": "CancelledError",
            "MemoryError()": "MemoryError",
        }
        for code, expected in cases.items():
            for _ in range(2):
                with self.subTest(code):
                    result = worker.call("raise", code=code)
                    self.assertEqual((result["success"], result["output"], result["error"]), (False, "", expected))
                    self.assertIn("raise.py", result["traceback"])

    def test_sys_exit_fails_the_call_only(self):
        self.tool("leave", 'import sys; sys.exit("enough")')
        worker = self.start()
        self.assertEqual(worker.call("leave")["error"], "SystemExit: enough")
        self.assertEqual(worker.call("leave")["error"], "SystemExit: enough")

    def test_os_exit_ends_the_channel(self):
        self.tool("die", "import os; os._exit(9)")
        worker = self.start()
        worker.send("call", tool="tools/die.py", input={})
        self.assertIsNone(worker.receive())
        self.assertEqual(worker.end(), 9)

    def test_a_sync_execute_and_a_run_only_tool_are_served(self):
        head = "class Tool:\n    _is_brynhild_duck_typed = True\n    name = 'x'\n"
        self.write("tools/sync.py", head + "    def execute(self, input): return 'sync ' + input['a']\n")
        self.write("tools/one.py", head + "    async def run(self, input): return 'one ' + input['a']\n")
        self.write("tools/words.py", head + "    def run(self, a, b='-'): return a + b\n")
        worker = self.start()
        self.assertEqual(worker.call("sync", a="A")["output"], "sync A")
        self.assertEqual(worker.call("one", a="A")["output"], "one A")
        self.assertEqual(worker.call("words", a="A")["output"], "A-")

    def test_output_is_cut_at_ten_million_characters(self):
        self.tool("huge", 'return "x" * (30 * 1000 * 1000)')
        output = self.start().call("huge")["output"]
        self.assertTrue(output.startswith("xxx") and output.endswith("10000000 are shown]"))
        self.assertLess(len(output), 10_000_200)

    def test_ten_million_control_characters_still_fit_into_a_line(self):
        self.tool("control", 'return "\\x01" * (20 * 1000 * 1000)')
        self.assertEqual(self.start().call("control")["output"][:3], "\x01\x01\x01")

    def test_text_survives_and_lone_surrogates_are_replaced(self):
        self.tool("text", 'return input["text"] + "\\ud800|\\ud83d\\ude00|\\x00"')
        result = self.start().call("text", text="zażółć \U0001f600 \u2028 ")
        self.assertEqual(result["output"], "zażółć \U0001f600 \u2028 \ufffd|\U0001f600|\x00")

    def test_a_tool_keeps_its_state_between_calls(self):
        self.tool("count", "Tool.n = getattr(Tool, 'n', 0) + 1; self.m = getattr(self, 'm', 0) + 1; return str((Tool.n, self.m))")
        worker = self.start()
        worker.call("count")
        self.assertEqual(worker.call("count")["output"], "(2, 2)")

    def test_live_properties_are_sent_once_and_then_when_they_change(self):
        self.write(
            "tools/live.py",
            """
            import os
            from brynhild.tools.base import Tool as Base, ToolResult
            class Tool(Base):
                name = "Live"
                input_schema = {"type": "object"}
                @property
                def description(self): return os.environ.get("WHAT", "before")
                @property
                def requires_permission(self): return "WHAT" not in os.environ
                async def execute(self, input):
                    if input: os.environ["WHAT"] = "after"
                    return ToolResult(True, "")
            """,
        )
        worker = self.start()
        self.assertEqual(worker.call("live")["live"]["description"], "before")
        self.assertIsNone(worker.call("live").get("live"))
        live = worker.call("live", change=True)["live"]
        self.assertEqual((live["description"], live["requires_permission"]), ("after", False))
        worker = self.start()
        self.assertEqual(worker.result("describe")["tools"][0]["description"], "before")
        self.assertEqual(worker.call("live")["live"]["description"], "before")


class Output(PluginCase):
    def test_prints_at_import_and_call_time_corrupt_nothing(self):
        self.tool(
            "noisy",
            """
            import os, subprocess, sys
            print("called"); print("err", file=sys.stderr); os.write(1, b"raw\\n")
            subprocess.run([sys.executable, "-c", "print('child')"])
            print("no newline", end="")
            return "ok"
            """,
            head='print(\'{"jsonrpc":"2.0","id":2,"result":"forged"}\')\nimport sys; sys.stdout.write("\\udcff\\n")',
        )
        worker = self.start()
        self.assertEqual(worker.call("noisy")["output"], "ok")
        for text in ("forged", "called", "err", "raw", "child", "no newline"):
            self.assertIn(text, worker.printed())

    def test_a_tool_that_closes_or_replaces_its_streams_is_still_answered(self):
        self.tool("close", "import os, sys; os.close(1); os.close(0); sys.stdout.close(); sys.stderr = None; return 'ok'")
        worker = self.start()
        self.assertEqual(worker.call("close")["output"], "ok")
        self.assertEqual(worker.call("close")["error"], "OSError: [Errno 9] Bad file descriptor")

    def test_a_forked_child_that_returns_answers_nothing(self):
        self.tool("fork", "import os; pid = os.fork(); return 'parent' if pid else 'child'")
        worker = self.start()
        for _ in range(3):
            self.assertEqual(worker.call("fork")["output"], "parent")
        self.assertEqual(worker.end(), 0)
        self.assertIsNone(worker.receive() if not worker.process.stdout.closed else None)

    def test_standard_input_is_empty(self):
        self.tool("read", "import sys; return repr(sys.stdin.read())")
        self.assertEqual(self.start().call("read")["output"], "''")


class Concurrency(PluginCase):
    def test_calls_that_wait_run_together_on_one_loop(self):
        self.tool(
            "meet",
            """
            import asyncio
            loops.add(id(asyncio.get_running_loop()))
            event = events.setdefault("e", asyncio.Event())
            if input["who"] == "first":
                await event.wait()
            else:
                event.set()
            return "%s %d" % (input["who"], len(loops))
            """,
            head="events = {}\nloops = set()",
        )
        worker = self.start()
        first = worker.send("call", tool="tools/meet.py", input={"who": "first"})
        second = worker.send("call", tool="tools/meet.py", input={"who": "second"})
        self.assertEqual(worker.receive()["id"], second)
        self.assertEqual(worker.answer(first)["result"]["output"], "first 1")

    def test_a_lock_is_shared_between_calls(self):
        self.tool(
            "lock",
            """
            self.lock = getattr(self, "lock", None) or asyncio.Lock()
            async with self.lock:
                order.append(input["n"])
                await asyncio.sleep(0)
                order.append(input["n"])
            return str(order)
            """,
            head="import asyncio\norder = []",
        )
        worker = self.start()
        ids = [worker.send("call", tool="tools/lock.py", input={"n": n}) for n in range(3)]
        outputs = [worker.answer(id)["result"]["output"] for id in ids]
        self.assertEqual(outputs[-1], "[0, 0, 1, 1, 2, 2]")

    def test_cancelling_a_call_that_waits_answers_with_its_code(self):
        self.tool(
            "wait",
            """
            import asyncio
            try:
                await asyncio.Event().wait()
            finally:
                print("cleaned")
            """,
        )
        self.tool("ok", "return 'ok'")
        worker = self.start()
        id = worker.send("call", tool="tools/wait.py", input={})
        worker.cancel(id)
        self.assertEqual(worker.answer(id)["error"]["code"], -32800)
        self.assertIn("cleaned", worker.printed())
        id = worker.send("call", tool="tools/wait.py", input={})
        self.assertEqual(worker.call("ok")["output"], "ok")
        worker.cancel(id)
        self.assertEqual(worker.answer(id)["error"]["code"], -32800)
        self.assertEqual(worker.printed().count("cleaned"), 2)

    def test_a_cancelled_call_that_goes_on_is_cancelled_all_the_same(self):
        self.tool(
            "stubborn",
            """
            import asyncio
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await asyncio.sleep(0)
                return "done anyway"
            """,
        )
        worker = self.start()
        id = worker.send("call", tool="tools/stubborn.py", input={})
        worker.cancel(id)
        self.assertEqual(worker.answer(id)["error"]["code"], -32800)

    def test_cancelling_what_is_unknown_or_done_is_ignored(self):
        self.tool("ok", "return 'ok'")
        worker = self.start()
        worker.cancel(77)
        worker.call("ok")
        worker.cancel(2)
        self.assertEqual(worker.call("ok")["output"], "ok")

    def test_a_request_cancelled_before_it_began_is_answered_once(self):
        self.tool("ok", "import asyncio; await asyncio.sleep(0); return 'ok'", head="import asyncio")
        worker = self.start()
        worker.call("ok")
        request = b'{"jsonrpc":"2.0","id":50,"method":"call","params":{"tool":"tools/ok.py","input":{}}}'
        worker.raw(request + b'\n{"jsonrpc":"2.0","method":"cancel","params":{"id":50}}')
        self.assertEqual(worker.answer(50)["error"]["code"], -32800)
        self.assertEqual(worker.call("ok")["output"], "ok")
        self.assertEqual(worker.notifications, [])

    def test_a_background_task_that_exits_does_not_end_the_worker(self):
        self.tool("back", "import asyncio, sys; asyncio.ensure_future(f()); await asyncio.sleep(0); return 'ok'", head="async def f():\n    import sys; sys.exit(4)")
        worker = self.start()
        self.assertEqual(worker.call("back")["output"], "ok")
        self.assertEqual(worker.call("back")["output"], "ok")

    def test_a_plugin_that_stops_the_loop_is_served_on(self):
        self.tool("stop", "import asyncio; asyncio.get_running_loop().stop(); return 'ok'")
        worker = self.start()
        self.assertEqual(worker.call("stop")["output"], "ok")
        self.assertEqual(worker.call("stop")["output"], "ok")


class WithoutLoop(PluginCase):
    """A coroutine must not be able to tell whether the loop was there from the beginning."""

    def test_nothing_imports_asyncio_until_it_is_wanted(self):
        self.tool("plain", "import sys; return str('asyncio' in sys.modules)")
        self.assertEqual(self.start().call("plain")["output"], "False")

    def test_asyncio_imported_in_the_middle_of_a_call_finds_loop_and_task(self):
        self.tool(
            "middle",
            """
            import asyncio
            loop, task = asyncio.get_running_loop(), asyncio.current_task()
            same = [loop is asyncio.get_event_loop(), task is not None, task in asyncio.all_tasks()]
            await asyncio.sleep(0)
            same += [asyncio.get_running_loop() is loop, asyncio.current_task() is task]
            asyncio.get_running_loop().call_soon(lambda: None)
            return str(all(same)) + asyncio.__spec__.loader.__class__.__name__
            """,
        )
        worker = self.start()
        self.assertEqual(worker.call("middle")["output"], "TrueSourceFileLoader")
        self.assertEqual(worker.call("middle")["output"], "TrueSourceFileLoader")

    def test_a_submodule_or_a_from_import_counts_too(self):
        for stem, line in {
            "sub": "import asyncio.subprocess as s; import asyncio; asyncio.get_running_loop(); return 'ok'",
            "frm": "from asyncio import get_running_loop; get_running_loop(); return 'ok'",
            "wait": "from asyncio import wait_for, sleep; return await wait_for(sleep(0, 'ok'), 50)",
        }.items():
            self.tool(stem, line)
            self.assertEqual(self.start().call(stem)["output"], "ok")

    def test_a_library_that_looks_for_the_loop_finds_it(self):
        self.write(
            "path/sniffio.py",
            "import sys\ndef current(): return 'asyncio' in sys.modules and bool(sys.modules['asyncio'].current_task())\n",
        )
        self.tool("sniff", "import sniffio; return str(sniffio.current())")
        worker = self.start(flags=[], environment={"PYTHONPATH": os.path.join(self.root, "path")})
        self.assertEqual(worker.call("sniff")["output"], "True")

    def test_subprocesses_threads_and_timeouts_work_from_the_first_call(self):
        self.tool(
            "process",
            """
            import asyncio, sys
            p = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(6*7)", stdout=asyncio.subprocess.PIPE)
            output, _ = await p.communicate()
            loop = asyncio.get_running_loop()
            threaded = await loop.run_in_executor(None, lambda: 1)
            try:
                await asyncio.wait_for(asyncio.Event().wait(), 0.01)
            except asyncio.TimeoutError:
                return output.decode().strip() + str(threaded)
            """,
        )
        self.assertEqual(self.start().call("process")["output"], "421")

    def test_a_child_process_survives_between_calls(self):
        self.tool(
            "shell",
            """
            import asyncio
            if not hasattr(self, "p"):
                pipe = asyncio.subprocess.PIPE
                self.p = await asyncio.create_subprocess_exec("cat", stdin=pipe, stdout=pipe)
            self.p.stdin.write(input["line"].encode() + b"\\n")
            return (await self.p.stdout.readline()).decode().strip()
            """,
        )
        worker = self.start()
        self.assertEqual([worker.call("shell", line=str(n))["output"] for n in range(3)], ["0", "1", "2"])

    def test_context_variables_hold_across_the_change(self):
        self.tool(
            "context",
            """
            token = var.set("mine")
            import asyncio
            child = asyncio.ensure_future(read())
            token2 = var.set("later")
            await asyncio.sleep(0)
            seen = var.get(), await child
            var.reset(token2); var.reset(token)
            return str(seen) + var.get()
            """,
            head="import contextvars\nvar = contextvars.ContextVar('var', default='none')\nasync def read(): return var.get()",
        )
        worker = self.start()
        self.assertEqual(worker.call("context")["output"], "('later', 'mine')none")
        self.assertEqual(worker.call("context")["output"], "('later', 'mine')none")

    def test_an_awaitable_that_merely_yields_is_resumed(self):
        self.tool("bare", "return await Bare()", head="class Bare:\n    def __await__(self):\n        yield\n        yield\n        return 'ok'")
        self.assertEqual(self.start().call("bare")["output"], "ok")

    def test_a_task_that_cancels_itself_is_an_ordinary_failure(self):
        self.tool("self", "import asyncio; asyncio.current_task().cancel(); await asyncio.sleep(5)")
        self.assertEqual(self.start().call("self")["error"], "CancelledError")

    def test_what_is_made_while_the_plugin_loads_belongs_to_the_loop_of_its_calls(self):
        self.write(
            "tools/early.py",
            """
            import asyncio, threading
            from brynhild.tools.base import Tool as Base, ToolResult
            at_import = asyncio.get_event_loop()
            class Tool(Base):
                name = "early"
                description = "d"
                input_schema = {"type": "object", "properties": {}}
                def __init__(self):
                    self.loop, self.done = asyncio.get_event_loop(), asyncio.Event()
                    self.queue, self.lock = asyncio.Queue(), asyncio.Lock()
                async def execute(self, input):
                    thread = threading.Thread(target=self.loop.call_soon_threadsafe, args=(self.done.set,))
                    thread.start()
                    await self.done.wait()
                    asyncio.ensure_future(self.queue.put(1))
                    async with self.lock:
                        await self.queue.get()
                    return ToolResult(True, str(at_import is self.loop is asyncio.get_running_loop()))
            """,
        )
        worker = self.start()
        self.assertEqual(worker.call("early")["output"], "True")
        self.assertEqual(worker.call("early")["output"], "True")

    def test_a_loop_the_plugin_sets_while_it_loads_is_the_one_of_its_calls(self):
        head = "import asyncio\n%s\nmine = asyncio.new_event_loop()\nasyncio.set_event_loop(mine)"
        before = "async def f(): pass\nasyncio.run(f())"
        for stem, lines in {"own": "", "ran": before}.items():
            self.tool(stem, "await asyncio.sleep(0); return str(asyncio.get_running_loop() is mine)", head=head % lines)
            self.assertEqual(self.start().call(stem)["output"], "True")

    def test_a_plugin_that_runs_a_loop_of_its_own_while_it_loads_is_served(self):
        head = "import asyncio\nasync def f(): return 5\nfive = asyncio.run(f())"
        self.tool("ran", "await asyncio.sleep(0); return str(five)", head=head)
        self.assertEqual(self.start().call("ran")["output"], "5")

    def test_requests_that_are_waiting_already_follow_onto_the_loop(self):
        self.tool("a", "import asyncio; await asyncio.sleep(0); return 'a'")
        self.tool("b", "return 'b'")
        worker = self.start()
        ids = [worker.send("call", tool="tools/%s.py" % stem, input={}) for stem in "abab"]
        outputs = [worker.receive()["result"]["output"] for _ in ids]
        self.assertEqual(sorted(outputs), ["a", "a", "b", "b"])

    def test_asyncio_run_is_refused_as_in_any_coroutine(self):
        self.tool("run", "import asyncio\nasync def f(): pass\nc = f()\ntry:\n    asyncio.run(c)\nfinally:\n    c.close()")
        self.assertIn("RuntimeError: asyncio.run() cannot be called", self.start().call("run")["error"])


if __name__ == "__main__":
    unittest.main()
