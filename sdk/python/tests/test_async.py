import asyncio
import os
import signal
import unittest

from brynhild_sdk import Answer, AsyncBrynhild, ProcessDied

from .scripted import ScriptedTest, call

WRITE = call("Write", file_path="f", content="x")


class AsyncTest(ScriptedTest, unittest.IsolatedAsyncioTestCase):
    async def test_turns_share_one_process_and_session(self):
        async with AsyncBrynhild(**self.options({"text": "one"}, {"text": "two"})) as b:
            first = await b.run("a")
            pid = b._transport.pid
            second = await b.run("b")
            self.assertEqual(b._transport.pid, pid)
        self.assertEqual((first.text, second.text, second.session), ("one", "two", first.session))
        self.assertRaises(ProcessLookupError, os.kill, pid, 0)

    async def test_callback_may_be_awaited(self):
        async def decide(question):
            await asyncio.sleep(0)
            return Answer.once()

        async with AsyncBrynhild(**self.options(WRITE, {"text": "ok"}, mode="ask"), on_question=decide) as b:
            stream = b.stream("write")
            kinds = [event["type"] async for event in stream]
        self.assertIn("answered", kinds)
        self.assertEqual((stream.result.text, stream.result.unanswered), ("ok", []))

    async def test_kill_inside_a_callback_raises(self):
        async with AsyncBrynhild(**self.options(WRITE, {"text": "ok"}, mode="ask")) as b:

            async def kill(_):
                os.kill(b._transport.pid, signal.SIGKILL)
                return Answer.once()

            with self.assertRaisesRegex(ProcessDied, "killed by signal 9"):
                await b.run("write", on_question=kill)
            self.assertEqual((await b.run("again")).text, "ok")

    async def test_cancelled_task_leaves_a_usable_client(self):
        async with AsyncBrynhild(**self.options(call("Bash", command="sleep 60"), {"text": "next"})) as b:
            running = asyncio.Event()

            async def watch():
                async for event in b.stream("wait"):
                    if event["type"] == "tool_judged":
                        running.set()

            task = asyncio.create_task(watch())
            await running.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual((await b.run("again")).text, "next")

    async def test_own_tools_run_on_the_loop(self):
        turns = [call("mcp__app__double", number=4), {"text": "{{last_tool_result}}"}]
        loops = []
        async with AsyncBrynhild(**self.options(*turns)) as b:

            @b.tool
            async def double(number: int) -> int:
                """Doubles a number."""
                loops.append(asyncio.get_running_loop())
                return number * 2

            self.assertEqual((await b.run("double 4")).text, "8")
        self.assertEqual(loops, [asyncio.get_running_loop()])

    async def test_undo_fork_and_schema(self):
        turns = [WRITE, {"text": "done"}, {"text": "[1]"}]
        async with AsyncBrynhild(**self.options(*turns)) as b:
            await b.run("write")
            await b.undo()
            self.assertFalse((self.project / "f").exists())
            async with b.fork() as fork:
                result = await fork.run("list", output_schema={"type": "array"})
        self.assertEqual(result.structured, [1])
        self.assertNotEqual(result.session, b.session)
