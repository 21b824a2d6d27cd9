import os
import signal
import subprocess
import sys
import threading
import time
from unittest import mock

from brynhild_sdk import (
    Answer,
    Brynhild,
    BrynhildError,
    InvalidAnswer,
    LimitReached,
    ProcessDied,
    SetupError,
    TaskFailed,
    find_binary,
)

from .scripted import ROOT, ScriptedTest, call

SCHEMA = {"type": "object", "properties": {"lines": {"type": "integer"}}, "required": ["lines"]}


class SyncTest(ScriptedTest):
    def test_types_are_current(self):
        done = subprocess.run([sys.executable, ROOT / "generate", "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_turns_share_one_process_and_session(self):
        usage = {"input": 9, "output": 4, "cost": 0.002}
        with Brynhild(**self.options({"text": "one", "usage": usage}, {"text": "two"})) as b:
            self.assertIsNone(b.session)
            first = b.run("a")
            pid = b._transport.pid
            second = b.run("b")
            self.assertEqual(b._transport.pid, pid)
        self.assertEqual((first.text, first.outcome, first.cost), ("one", "answered", 0.002))
        self.assertEqual((second.text, second.session), ("two", first.session))
        self.assertRaises(ProcessLookupError, os.kill, pid, 0)

    def test_stream_yields_events_and_a_result(self):
        with Brynhild(**self.options(call("Write", file_path="f.txt", content="x\n"), {"text": "done"})) as b:
            stream = b.stream("write")
            kinds = [event["type"] for event in stream]
        self.assertEqual((kinds[0], kinds[-1]), ("session_started", "turn_finished"))
        self.assertEqual(stream.result.changes, [{"path": "f.txt", "change": "created"}])
        self.assertEqual((self.project / "f.txt").read_text(), "x\n")

    def test_many_questions_with_a_slow_callback(self):
        calls = [{"name": "Read", "input": {"file_path": "/etc/passwd", "limit": n}} for n in range(1, 201)]
        turns = [{"tool_calls": calls[start : start + 100]} for start in (0, 100)]
        asked = []

        def slow(question):
            time.sleep(0.002)
            asked.append(question.args["limit"])
            return Answer.once()

        with Brynhild(**self.options(*turns, {"text": "done"}, mode="ask")) as b:
            result = b.run("read many times", on_question=slow)
        self.assertEqual(asked, list(range(1, 201)))
        self.assertEqual((result.text, result.unanswered), ("done", []))

    def test_question_without_a_callback_is_nobody(self):
        with Brynhild(**self.options(call("Write", file_path="f", content="x"), {"text": "sorry"}, mode="ask")) as b:
            result = b.run("write")
        self.assertEqual([question.tool for question in result.unanswered], ["Write"])
        self.assertEqual(result.text, "sorry")
        self.assertFalse((self.project / "f").exists())

    def test_answers_deny_and_read_only_questions(self):
        seen = []
        turns = [call("Read", file_path="/etc/hostname"), call("Write", file_path="f", content="x"), {"text": "ok"}]

        def decide(question):
            seen.append((question.tool, question.is_read_only))
            return Answer.once() if question.is_read_only else Answer.deny("not now")

        with Brynhild(**self.options(*turns, mode="ask"), on_question=decide) as b:
            finished = [e for e in b.stream("go") if e["type"] == "tool_finished"]
        self.assertEqual(seen, [("Read", True), ("Write", False)])
        self.assertEqual(finished[1]["outcome"], "denied")
        self.assertIn("not now", finished[1]["content"])

    def test_kill_inside_a_callback_raises(self):
        with Brynhild(**self.options(call("Write", file_path="f", content="x"), {"text": "ok"}, mode="ask")) as b:

            def kill(_):
                os.kill(b._transport.pid, signal.SIGKILL)
                return Answer.once()

            with self.assertRaisesRegex(ProcessDied, "killed by signal 9"):
                b.run("write", on_question=kill)
            # The session goes on, in another process.
            self.assertEqual(b.run("again").text, "ok")

    def test_exception_in_a_callback_stops_the_turn(self):
        turns = [call("Write", file_path="f", content="x"), {"text": "later"}]
        with Brynhild(**self.options(*turns, mode="ask")) as b:
            with self.assertRaises(ZeroDivisionError):
                b.run("write", on_question=lambda _: 1 / 0)
            self.assertEqual(b.run("again").text, "later")

    def test_abandoned_stream_does_not_block_the_next_turn(self):
        with Brynhild(**self.options(call("Bash", command="sleep 60"), {"text": "next"})) as b:
            for event in b.stream("wait"):
                if event["type"] == "tool_judged":
                    break
            self.assertEqual(b.run("again").text, "next")

    def test_interrupt_and_steer(self):
        turns = [call("Write", file_path="f", content="x"), {"expect": {"last_user": {"equals": "hurry"}}, "text": "faster"}]
        with Brynhild(**self.options(*turns, call("Bash", command="sleep 60"), mode="ask")) as b:
            self.assertRaises(BrynhildError, b.steer, "too early")

            def steer(_):
                b.steer("hurry")
                return Answer.once()

            self.assertEqual(b.run("write", on_question=steer).text, "faster")

            for event in (stream := b.stream("sleep")):
                if event["type"] == "tool_judged":
                    threading.Thread(target=b.interrupt).start()
            self.assertEqual(stream.result.outcome, "cancelled")

    def test_steering_that_comes_too_late_gets_a_turn(self):
        with Brynhild(**self.options({"text": "first"}, {"text": "second"})) as b:
            for event in (stream := b.stream("go")):
                if event["type"] == "reply_finished" and stream.result is None and not b._turn._steered:
                    if "first" in str(event):
                        b.steer("and this")
            self.assertEqual(stream.result.text, "second")

    def test_resume_and_fork(self):
        options = self.options({"text": "one"}, {"text": "two"}, {"text": "three"})
        with Brynhild(**options, session="login") as b:
            b.run("a")
            with b.fork() as fork:
                self.assertEqual(fork.run("b").text, "two")
                self.assertNotEqual(fork.session, "login")
        with Brynhild.resume("login", **options) as b:
            result = b.run("b", output_schema=None)
        self.assertEqual((result.text, result.session), ("two", "login"))

    def test_undo_restores_files_and_the_session_goes_on(self):
        (self.project / "f.txt").write_text("before\n")
        turns = [call("Bash", command="echo after > f.txt"), {"text": "done"}, {"text": "next"}]
        with Brynhild(**self.options(*turns)) as b:
            b.run("change")
            self.assertEqual((self.project / "f.txt").read_text(), "after\n")
            undone = b.undo()
            self.assertEqual((self.project / "f.txt").read_text(), "before\n")
            self.assertEqual((len(undone["files"]), undone["kept"]), (1, []))
            self.assertEqual(b.run("go on").text, "next")

    def test_structured_output(self):
        turns = [{"text": "no"}, {"text": '{"lines": 2}'}, {"text": "plain"}, {"text": "no"}, {"text": "never"}]
        with Brynhild(**self.options(*turns)) as b:
            self.assertEqual(b.run("count", output_schema=SCHEMA).structured, {"lines": 2})
            self.assertIsNone(b.run("talk").structured)
            with self.assertRaises(InvalidAnswer) as caught:
                b.run("count", output_schema=SCHEMA)
        self.assertEqual(caught.exception.result.text, "never")

    def test_exit_codes_are_exceptions(self):
        with self.assertRaisesRegex(SetupError, "there is no program `/nowhere`"):
            Brynhild(binary="/nowhere").run("x")
        with self.assertRaisesRegex(SetupError, "no such file"):
            Brynhild(cwd=str(self.project), provider="script", model="none.yaml", **self.place()).run("x")
        with Brynhild(**self.options({"error": {"kind": "auth", "message": "bad key"}})) as b:
            self.assertRaisesRegex(TaskFailed, "bad key", b.run, "x")
        calls = [call("Read", file_path=f"{n}") for n in range(4)]
        with Brynhild(**self.options(*calls), max_turns=2) as b:
            self.assertRaises(LimitReached, b.run, "x")

    def test_refused_prompt_raises_and_the_next_one_runs(self):
        with Brynhild(**self.options({"text": "one"}, {"text": "two"})) as b:
            self.assertRaisesRegex(SetupError, "/help", b.run, "/help")
            self.assertEqual(b.run("a").text, "one")
            self.assertRaisesRegex(SetupError, "/help", b.run, "/help")
            self.assertEqual(b.run("b").text, "two")

    def test_values_never_become_flags(self):
        with Brynhild(**self.options({"expect": {"system": {"contains": "--yes"}, "last_user": {"equals": "--yes"}}, "text": "ok"}),
                      append_system_prompt="--yes") as b:
            self.assertEqual(b.run("--yes").text, "ok")

    def test_example_runs(self):
        (self.project / "notes.txt").write_text("one two\nthree\n")
        examples = ROOT.parent / "examples"
        command = [sys.executable, examples / "sdk/word_count.py", examples / "scenarios/word-count.yaml"]
        env = {**os.environ, **self.place()["env"], "PYTHONPATH": str(ROOT / "python")}
        done = subprocess.run(command, cwd=self.project, env=env, capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("notes.txt has 3 words.\n", ""))

    def test_clear_and_mode(self):
        turns = [{"text": "one"}, call("Write", file_path="f", content="x"), {"text": "two"}]
        with Brynhild(**self.options(*turns)) as b:
            b.run("a")
            b.set_mode("ask")
            self.assertEqual(len(b.run("b").unanswered), 1)
            self.assertEqual(b.clear().details["stop_reason"], "cleared")


    def test_compact_replaces_the_conversation(self):
        with Brynhild(**self.options({"text": "one"}, {"text": "a summary"})) as b:
            b.run("a")
            self.assertEqual(b.compact("keep the names").details["stop_reason"], "compacted")
            # The model has no answer of its own before it.
            self.assertEqual(b.run("b").text, "one")

    def test_program_of_the_wheel_comes_before_the_path(self):
        places = [self.home / "wheel", self.home / "path"]
        for place in places:
            place.mkdir()
            (place / "brynhild").write_text("")
            (place / "brynhild").chmod(0o755)
        with (
            mock.patch.dict(os.environ, {"PATH": str(places[1])}),
            mock.patch("sysconfig.get_path", return_value=str(places[0])),
        ):
            del os.environ["BRYNHILD_BIN"]
            self.assertEqual(find_binary(), str(places[0] / "brynhild"))
            (places[0] / "brynhild").unlink()
            self.assertEqual(find_binary(), str(places[1] / "brynhild"))
            (places[1] / "brynhild").unlink()
            self.assertRaisesRegex(SetupError, "pip install brynhild", find_binary)


class FakeProgramTest(ScriptedTest):
    """Programs that do what the real one cannot be made to do."""

    HEAD = "import sys, json\nfor line in sys.stdin:\n    m = json.loads(line)\n"

    def program(self, body):
        path = self.home / "fake"
        path.write_text(f"#!{sys.executable}\n{self.HEAD}{body}")
        path.chmod(0o755)
        return Brynhild(cwd=str(self.project), binary=str(path))

    EVENT = "    e = lambda **k: print(json.dumps({'seq': 1, 'session': 's', 'at': '', **k}), flush=True)\n"
    END = ("    e(type='turn_started', prompt='')\n"
           "    e(type='turn_finished', outcome={'outcome': 'answered', 'stop_reason': 'x'}, usage={})\n")

    def test_line_of_a_hundred_megabytes_arrives(self):
        with self.program(self.EVENT + "    e(type='tool_progress', call='c', text='x' * (100 << 20))\n" + self.END) as b:
            sizes = [len(event.get("text", "")) for event in b.stream("x")]
        self.assertEqual(max(sizes), 100 << 20)

    def test_unknown_events_pass_through(self):
        with self.program(self.EVENT + "    e(type='new_in_2030', deep={'a': [1]})\n" + self.END) as b:
            events = list(b.stream("x"))
        self.assertEqual(events[0]["deep"], {"a": [1]})

    def test_death_tells_the_standard_error(self):
        with self.program("    sys.exit('the disk is full')\n") as b:
            self.assertRaisesRegex(TaskFailed, "the disk is full", b.run, "x")

    def test_input_over_the_limit_is_refused(self):
        with self.program(self.EVENT + self.END) as b:
            self.assertRaisesRegex(SetupError, "too long", b.run, "x" * (33 << 20))
            self.assertEqual(b.run("x").outcome, "answered")
