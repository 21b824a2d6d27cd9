"""The channel itself: order, ends, errors, and bytes that are no requests."""
import os
import subprocess
import sys
import unittest

from harness import PATIENCE, PluginCase, host


class Channel(PluginCase):
    def test_requests_sent_before_the_first_answer_are_served_in_order(self):
        self.tool("echo", 'return input["n"]')
        worker = self.start()
        ids = [worker.send("call", tool="tools/echo.py", input={"n": str(n)}) for n in range(50)]
        self.assertEqual([worker.answer(id)["result"]["output"] for id in ids], [str(n) for n in range(50)])

    def test_unknown_methods_bad_params_and_broken_lines_get_their_codes(self):
        self.tool("echo", "return 'ok'")
        worker = self.start()
        self.assertEqual(worker.request("fly")["error"]["code"], -32601)
        self.assertEqual(worker.request("call")["error"]["code"], -32602)
        self.assertEqual(worker.request("initialize")["error"]["code"], -32602)
        for line in (b"{not json", b"[1]", b"\xff", b'{"id": 9}', b"17"):
            worker.raw(line)
            self.assertEqual(worker.receive()["error"]["code"], -32700)
        worker.raw(b"")
        self.assertEqual(worker.call("echo")["output"], "ok")

    def test_a_wrong_protocol_or_dialect_is_refused(self):
        for change in ({"protocol": 2}, {"dialect": "../x"}):
            worker = self.start(**change)
            self.assertEqual(worker.hello["error"]["code"], -32602)
            self.assertEqual(worker.request("describe")["error"]["code"], -32602)

    def test_the_end_of_input_ends_the_worker_at_once_and_runs_nothing(self):
        self.tool("wait", "import asyncio\ntry:\n    await asyncio.Event().wait()\nfinally:\n    print('cleanup')")
        self.tool("quick", "import atexit; atexit.register(print, 'at exit'); return 'ok'")
        worker = self.start()
        worker.call("quick")
        self.assertEqual(worker.end(), 0)
        self.assertNotIn("at exit", worker.printed())
        worker = self.start()
        worker.send("call", tool="tools/wait.py", input={})
        self.assertEqual(worker.end(), 0)
        self.assertNotIn("cleanup", worker.printed())

    def test_a_worker_nobody_listens_to_ends_quietly(self):
        self.tool("echo", "return 'ok'")
        worker = self.start()
        worker.process.stdout.close()
        worker.send("call", tool="tools/echo.py", input={})
        self.assertEqual((worker.process.wait(PATIENCE), worker.printed()), (1, ""))

    def test_shutdown_closes_tools_answers_and_ends(self):
        self.tool("closing", "return 'ok'")
        text = "    async def close(self):\n        print('tool closed')\n"
        with open(os.path.join(self.root, "tools/closing.py"), "a", encoding="utf-8") as handle:
            handle.write(text)
        self.tool("broken", "return 'ok'")
        with open(os.path.join(self.root, "tools/broken.py"), "a", encoding="utf-8") as handle:
            handle.write("    def close(self):\n        raise ValueError('cannot')\n")
        worker = self.start()
        worker.call("closing")
        worker.call("broken")
        self.assertEqual(worker.result("shutdown"), {})
        self.assertEqual(worker.process.wait(PATIENCE), 0)
        self.assertIn("tool closed", worker.printed())
        self.assertEqual(worker.logs(), ["closing Tool raised ValueError: cannot"])

    def test_shutdown_ends_a_worker_on_its_loop_too(self):
        self.tool("looped", "import asyncio; await asyncio.sleep(0); return 'ok'")
        worker = self.start()
        worker.call("looped")
        self.assertEqual(worker.result("shutdown"), {})
        self.assertEqual(worker.process.wait(PATIENCE), 0)

    def test_a_large_request_and_a_large_answer_pass(self):
        self.tool("echo", 'return input["text"]')
        text = "ä€" * 1_000_000
        self.assertEqual(self.start().call("echo", text=text)["output"], text)

    def test_the_channel_is_not_inherited_by_children(self):
        code = "import os; print(sorted(os.listdir('/proc/self/fd')))"
        self.tool("spawn", "import subprocess, sys; return subprocess.run([sys.executable, '-I', '-c', %r], stdout=subprocess.PIPE, close_fds=False).stdout.decode()" % code)
        if not os.path.isdir("/proc/self/fd"):
            self.skipTest("no /proc here")
        self.assertEqual(self.start().call("spawn")["output"].strip(), "['0', '1', '2', '3']")

    def test_without_the_accelerator_messages_are_the_same(self):
        code = (
            "import sys; sys.path.insert(0, %r); %s; import channel as c\n"
            "cyclic = []; cyclic.append(cyclic)\n"
            "values = [{'a': [1, 2.5, None, True, 'ä\\ud800', float('inf')]}, {1: {2}}, {'big': 10 ** 9000}, 'x']\n"
            "print([c.to_bytes(v) for v in values], c.from_text('{\"k\": [1, \"ü\"]}'), len(c.to_bytes(cyclic)) > 5)"
        )
        outputs = set()
        for change in ("pass", "sys.modules['_json'] = None"):
            source = code % (os.path.dirname(host()), change)
            outputs.add(subprocess.check_output([sys.executable, "-I", "-X", "utf8", "-c", source]))
        self.assertEqual(len(outputs), 1, outputs)
        self.assertIn(b"true", outputs.pop().lower())

    def test_the_host_is_silent_without_a_request(self):
        done = subprocess.run([sys.executable, "-I", host()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_plugins_see_only_the_shim_before_the_standard_library(self):
        self.tool("path", "import sys; return repr([p for p in sys.path if 'payload' in p])")
        output = self.start().call("path")["output"]
        self.assertTrue(output.endswith("shim']") and output.count("payload") == 1, output)

    def test_many_calls_leave_no_descriptor_or_task_behind(self):
        self.tool("count", "import asyncio, os; await asyncio.sleep(0); return '%d %d' % (len(os.listdir('/proc/self/fd')), len(asyncio.all_tasks()))")
        if not os.path.isdir("/proc/self/fd"):
            self.skipTest("no /proc here")
        worker = self.start()
        first = worker.call("count")["output"]
        for _ in range(200):
            last = worker.call("count")["output"]
        self.assertEqual(first, last)


if __name__ == "__main__":
    unittest.main()
