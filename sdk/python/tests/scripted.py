"""A project with a home of its own, and a model that plays a scenario."""

import json
import os
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


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
