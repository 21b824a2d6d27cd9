"""A project with a home of its own, and a model that plays a scenario."""

import json
import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from brynhild_sdk import find_binary

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "0123456789abcdef"
# Of the scope `prompt`.
PROMPT_TOKEN = "fedcba9876543210"


def call(name, **arguments):
    """Returns a turn of the model that calls one tool."""
    return {"tool_calls": [{"name": name, "input": arguments}]}


class ScriptedTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="brynhild-sdk-test-")
        self.addCleanup(directory.cleanup)
        self.home = Path(directory.name).resolve() / "home"
        self.project = self.home / "project"
        (self.project / ".git").mkdir(parents=True)

    def options(self, *turns, **options):
        """Returns the arguments of a client whose model gives these answers."""
        script = self.home / f"scenario-{len(list(self.home.iterdir()))}.yaml"
        script.write_text(json.dumps({"turns": list(turns)}))
        return {"cwd": str(self.project), "provider": "script", "model": str(script), **self.place(), **options}

    def place(self):
        home = str(self.home)
        return {"env": {"HOME": home, "XDG_CONFIG_HOME": f"{home}/.config", "PATH": os.environ["PATH"]}}

    def serve(self, *turns, listen="127.0.0.1:0"):
        """Starts a server whose model gives these answers."""
        script = self.home / "scenario.yaml"
        script.write_text(json.dumps({"turns": list(turns)}))
        config = self.home / ".config/brynhild/config.yaml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(json.dumps({"providers": {"default": "script"}, "models": {"default": str(script)}}))
        return ServerProcess(self, listen)


class ServerProcess:
    """A running `brynhild serve`."""

    def __init__(self, test, listen):
        command = [find_binary(), "serve", f"--listen={listen}", "--token-env=TOKEN", "--token-env=PROMPT:prompt"]
        env = {**test.place()["env"], "TOKEN": TOKEN, "PROMPT": PROMPT_TOKEN}
        self.process = subprocess.Popen(command, cwd=test.project, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        test.addCleanup(self.stop)
        self._test = test
        if listen.startswith("unix:"):
            self.url = listen
            self.process.stderr.readline()
        else:
            self.url = self.process.stdout.readline().decode().split("/#")[0]
        self.options = {"cwd": str(test.project), "url": self.url, "token": TOKEN}

    def kill(self):
        self.process.kill()
        self.stop()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate()

    def restart(self):
        """Kills the server, and starts another one at the same place."""
        self.kill()
        return ServerProcess(self._test, self.url.removeprefix("http://"))
