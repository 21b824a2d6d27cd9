import http.server
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
import unittest
import urllib.request
from unittest import mock

from brynhild_sdk import Answer, AsyncBrynhild, Brynhild, BrynhildError, ConnectionLost, SetupError, server

from .scripted import PROMPT_TOKEN, ROOT, TOKEN, ScriptedTest, call

WRITE = call("Write", file_path="f", content="x")


class ServerTest(ScriptedTest):
    def test_turns_share_one_session(self):
        ours = self.serve({"text": "one", "usage": {"input": 9, "output": 4, "cost": 0.002}}, {"text": "two"})
        with Brynhild(**ours.options) as b:
            first, second = b.run("a"), b.run("b")
        self.assertEqual((first.text, first.outcome, first.cost), ("one", "answered", 0.002))
        self.assertEqual((second.text, second.session), ("two", first.session))

    def test_stream_yields_events_and_a_result(self):
        with Brynhild(**self.serve(WRITE, {"text": "done"}).options) as b:
            stream = b.stream("write")
            kinds = [event["type"] for event in stream]
        self.assertEqual((kinds[0], kinds[-1]), ("session_started", "turn_finished"))
        self.assertEqual(stream.result.changes, [{"path": "f", "change": "created"}])

    def test_many_questions_with_a_slow_callback(self):
        calls = [{"name": "Read", "input": {"file_path": "/etc/passwd", "limit": n}} for n in range(1, 201)]
        turns = [{"tool_calls": calls[start : start + 100]} for start in (0, 100)]
        asked = []

        def slow(question):
            time.sleep(0.002)
            asked.append(question.args["limit"])
            return Answer.once()

        with Brynhild(**self.serve(*turns, {"text": "done"}).options, mode="ask") as b:
            result = b.run("read many times", on_question=slow)
        self.assertEqual(asked, list(range(1, 201)))
        self.assertEqual((result.text, result.unanswered), ("done", []))

    def test_question_without_a_callback_is_nobody(self):
        with Brynhild(**self.serve(WRITE, {"text": "sorry"}).options, mode="ask") as b:
            result = b.run("write")
        self.assertEqual([question.tool for question in result.unanswered], ["Write"])
        self.assertFalse((self.project / "f").exists())

    def test_answer_of_another_client_counts(self):
        ours = self.serve(WRITE, {"text": "ok"}, {"text": "next"})
        with Brynhild(**ours.options, mode="ask") as b:

            def late(question):
                self.answer(ours, b.session, question, "deny")
                return Answer.once()

            finished = [e for e in b.stream("write", on_question=late) if e["type"] == "tool_finished"]
            self.assertEqual(finished[0]["outcome"], "denied")
            self.assertEqual(b.run("again").text, "next")

    def test_question_waits_for_a_client_that_may_answer(self):
        ours = self.serve(WRITE, {"text": "ok"})
        with Brynhild(**ours.options, mode="ask", session="shared") as b:
            b.clear()

        def pass_on(question):
            threading.Thread(target=self.answer, args=(ours, "shared", question, "once")).start()
            return Answer.deny()

        with Brynhild(**{**ours.options, "token": PROMPT_TOKEN}, session="shared", on_question=pass_on) as b:
            result = b.run("write")
        self.assertEqual((result.text, (self.project / "f").read_text()), ("ok", "x"))

    @staticmethod
    def answer(ours, session, question, answer):
        message = {"input": "answer", "call": question.call, "answer": answer}
        server.Server("/", {}, ours.url, TOKEN).request("POST", f"/v1/sessions/{session}/inputs", message)

    def test_prompt_becomes_part_of_the_turn_of_another_client(self):
        second = {"expect": {"last_user": {"equals": "and this"}}, "text": "both"}
        ours = self.serve(WRITE, second)
        with Brynhild(**ours.options, mode="ask", session="shared") as b:
            with Brynhild(**ours.options, session="shared") as other:
                results = []
                running = threading.Thread(target=lambda: results.append(other.run("and this").text))

                def join(_):
                    running.start()
                    while not (other._turn or results):
                        time.sleep(0.01)
                    return Answer.once()

                self.assertEqual(b.run("write", on_question=join).text, "both")
                running.join()
        self.assertEqual(results, ["both"])

    def test_steering_that_comes_too_late_gets_a_turn(self):
        with Brynhild(**self.serve({"text": "first"}, {"text": "second"}).options) as b:
            for event in (stream := b.stream("go")):
                if event["type"] == "reply_finished" and "first" in str(event):
                    b.steer("and this")
            self.assertEqual(stream.result.text, "second")

    def test_exception_in_a_callback_stops_the_turn(self):
        with Brynhild(**self.serve(WRITE, {"text": "later"}).options, mode="ask") as b:
            with self.assertRaises(ZeroDivisionError):
                b.run("write", on_question=lambda _: 1 / 0)
            self.assertEqual(b.run("again").text, "later")

    def test_interrupt_and_steer(self):
        faster = {"expect": {"last_user": {"equals": "hurry"}}, "text": "faster"}
        ours = self.serve(WRITE, faster, call("Bash", command="sleep 60"))
        with Brynhild(**ours.options, mode="ask") as b:
            self.assertRaises(BrynhildError, b.steer, "too early")

            def steer(_):
                b.steer("hurry")
                return Answer.once()

            self.assertEqual(b.run("write", on_question=steer).text, "faster")
            for event in (stream := b.stream("sleep")):
                if event["type"] == "tool_judged":
                    threading.Thread(target=b.interrupt).start()
            self.assertEqual(stream.result.outcome, "cancelled")

    def test_abandoned_stream_does_not_block_the_next_turn(self):
        with Brynhild(**self.serve(call("Bash", command="sleep 60"), {"text": "next"}).options) as b:
            for event in b.stream("wait"):
                if event["type"] == "tool_judged":
                    break
            self.assertEqual(b.run("again").text, "next")

    def test_resume_fork_and_undo(self):
        ours = self.serve(WRITE, {"text": "one"}, {"text": "two"}, {"text": "three"})
        with Brynhild(**ours.options, session="login") as b:
            b.run("a")
            with b.fork() as fork:
                self.assertEqual(fork.run("b").text, "two")
                self.assertNotEqual(fork.session, "login")
            undone = b.undo()
            self.assertEqual((len(undone["files"]), undone["kept"]), (1, []))
            self.assertFalse((self.project / "f").exists())
            self.assertEqual(b.run("b").text, "two")
        with Brynhild.resume("last", **ours.options) as b:
            result = b.run("c")
        self.assertEqual((result.text, result.session), ("three", "login"))
        with Brynhild(**ours.options, session="login") as b:
            self.assertEqual(b.clear().session, "login")

    def test_clear_and_mode(self):
        with Brynhild(**self.serve({"text": "one"}, WRITE, {"text": "two"}).options) as b:
            b.run("a")
            b.set_mode("ask")
            self.assertEqual(len(b.run("b").unanswered), 1)
            self.assertEqual(b.clear().details["stop_reason"], "cleared")

    def test_refused_prompt_raises_and_the_next_one_runs(self):
        with Brynhild(**self.serve({"text": "one"}, {"text": "two"}).options) as b:
            for text in ("one", "two"):
                self.assertRaisesRegex(SetupError, "/nonesuch", b.run, "/nonesuch")
                self.assertRaisesRegex(SetupError, "too long", b.run, "x" * (9 << 20))
                self.assertEqual(b.run("a").text, text)

    def test_command_that_begins_no_turn_returns_at_once(self):
        with Brynhild(**self.serve({"text": "one"}).options, session="own") as b:
            help = b.run("/help")
            self.assertEqual((help.outcome, help.session), ("answered", "own"))
            self.assertIn("List commands", help.text)
            other = self.home / "other.yaml"
            other.write_text('{"turns": [{"text": "of the other"}]}')
            self.assertEqual(list(b.stream(f"/model {other}")), [])
            self.assertEqual(b.run("a").text, "of the other")
            self.assertEqual(b.run("/clear").outcome, "answered")

    def test_socket_needs_no_token(self):
        ours = self.serve({"text": "one"}, listen=f"unix:{self.home}/s")
        with Brynhild(cwd=str(self.project), url=ours.url) as b:
            self.assertEqual(b.run("a").text, "one")

    def test_setup_errors_say_what_to_do(self):
        ours = self.serve()
        self.assertRaisesRegex(SetupError, "`max_cost` is an option of the program", Brynhild, url=ours.url, max_cost=1)
        self.assertRaisesRegex(SetupError, "`nowhere` is not the URL", Brynhild, url="nowhere")
        for options, words in [
            ({"token": "x"}, "credentials are missing or wrong"),
            ({"url": f"unix:{self.home}/none"}, "is `brynhild serve` running"),
            ({"resume": "none"}, "there is no session"),
            ({"cwd": "/none"}, "/none is not the absolute path"),
        ]:
            self.assertRaisesRegex(SetupError, words, Brynhild(**{**ours.options, **options}).run, "x")
        b = Brynhild(**ours.options)
        with self.assertRaisesRegex(SetupError, "`output_schema` needs a program of its own"):
            b.run("x", output_schema={})
        b.tool(len, name="len", schema={"type": "object"})
        self.assertRaisesRegex(SetupError, "a tool of your own needs a program", b.run, "x")

    def test_server_of_another_kind_is_refused(self):
        class Page(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"<p>Welcome</p>")

            def log_message(self, *_):
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Page) as page:
            threading.Thread(target=page.handle_request, daemon=True).start()
            b = Brynhild(url=f"http://127.0.0.1:{page.server_port}")
            self.assertRaisesRegex(SetupError, "does not answer like `brynhild serve`", b.run, "x")

    def test_example_runs(self):
        (self.project / "notes.txt").write_text("one two\nthree\n")
        ours = self.serve(call("Read", file_path="notes.txt"), {"text": "3 words."})
        command = [sys.executable, ROOT.parent / "examples/sdk/remote.py", ours.url, "How many words?"]
        env = {**os.environ, "TOKEN": TOKEN, "PYTHONPATH": str(ROOT / "python")}
        done = subprocess.run(command, cwd=self.project, env=env, capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("calls Read\n3 words.\n", ""))


class LostServerTest(ScriptedTest):
    def test_turn_survives_a_kill_inside_a_callback(self):
        ours = self.serve(WRITE, WRITE, {"text": "ok"})
        with Brynhild(**ours.options, mode="ask") as b:
            kills = iter([ours.restart])

            def kill(_):
                next(kills, lambda: None)()
                return Answer.once()

            self.assertEqual(b.run("write", on_question=kill).text, "ok")
        self.assertTrue((self.project / "f").exists())

    def test_kill_inside_a_command_ends_the_turn(self):
        ours = self.serve(call("Bash", command="sleep 60"), {"text": "next"})
        with Brynhild(**ours.options) as b:
            with self.assertRaisesRegex(ConnectionLost, "in the middle of the turn"):
                for event in b.stream("wait"):
                    if event["type"] == "tool_judged":
                        ours.restart()
            self.assertEqual(b.run("again").text, "next")

    def test_server_that_stays_away_ends_the_turn(self):
        ours = self.serve(WRITE)

        def kill(_):
            ours.kill()
            return Answer.once()

        with mock.patch.object(server, "LOST_SECONDS", 0.1), Brynhild(**ours.options, mode="ask") as b:
            with self.assertRaisesRegex(ConnectionLost, "cannot reach") as caught:
                b.run("write", on_question=kill)
        self.assertEqual(caught.exception.result.session, b.session)

    def test_stream_that_breaks_off_repeats_nothing_and_misses_nothing(self):
        reads = [{"name": "Read", "input": {"file_path": "big.txt", "offset": n + 1, "limit": 2}} for n in range(40)]
        (self.project / "big.txt").write_text("a line of the file\n" * 300)
        turns = [{"tool_calls": reads[start : start + 10]} for start in range(0, 40, 10)]
        ours = self.serve(*turns, {"text": "done"})
        proxy = Proxy(self, ours.url)
        with Brynhild(**{**ours.options, "url": proxy.url}) as b:
            events = list(stream := b.stream("read"))
        self.assertEqual(stream.result.text, "done")
        self.assertGreaterEqual(proxy.cuts, 30)
        transient = ("request_sent", "reply_delta", "tool_progress")
        path = f"{ours.url}/v1/sessions/{b.session}/events?limit=100000"
        headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/x-ndjson"}
        with urllib.request.urlopen(urllib.request.Request(path, headers=headers)) as page:
            log = [json.loads(line) for line in page]
        self.assertEqual([event for event in events if event["type"] not in transient], log)


class Proxy:
    """Passes connections on, and cuts every event stream off after some bytes."""

    def __init__(self, test, url):
        self._target = url.removeprefix("http://")
        self._random = random.Random(7)
        self.cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        test.addCleanup(self._listener.close)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client):
        host, port = self._target.split(":")
        with client, socket.create_connection((host, int(port))) as upstream:
            head = client.recv(1 << 16)
            own = self.url.removeprefix("http://").encode()
            upstream.sendall(head.replace(own, self._target.encode()))
            left = self._random.randint(600, 3000) if b"event-stream" in head else None
            threading.Thread(target=self._copy, args=(client, upstream), daemon=True).start()
            self._copy(upstream, client, left)

    def _copy(self, source, target, left=None):
        try:
            while block := source.recv(1 << 16):
                target.sendall(block if left is None else block[:left])
                if left is not None:
                    left -= len(block)
                    if left <= 0:
                        self.cuts += 1
                        break
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class AsyncServerTest(ScriptedTest, unittest.IsolatedAsyncioTestCase):
    async def test_turn_question_undo_and_fork(self):
        async def decide(question):
            return Answer.once()

        ours = self.serve(WRITE, {"text": "ok"}, {"text": "next"})
        async with AsyncBrynhild(**ours.options, mode="ask", on_question=decide) as b:
            stream = b.stream("write")
            kinds = [event["type"] async for event in stream]
            self.assertIn("answered", kinds)
            self.assertEqual((stream.result.text, stream.result.unanswered), ("ok", []))
            await b.undo()
            self.assertFalse((self.project / "f").exists())
            async with b.fork() as fork:
                self.assertEqual((await fork.run("b")).text, "next")
        self.assertNotEqual(fork.session, b.session)

    async def test_turn_survives_a_kill_inside_a_callback(self):
        ours = self.serve(WRITE, WRITE, {"text": "ok"})
        async with AsyncBrynhild(**ours.options, mode="ask") as b:
            kills = iter([ours.restart])

            async def kill(_):
                next(kills, lambda: None)()
                return Answer.once()

            self.assertEqual((await b.run("write", on_question=kill)).text, "ok")
