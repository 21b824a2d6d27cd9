"""The notes themselves: one JSON object a line, in the directory that the plugin may write."""

import json
import os
import pathlib


def _file():
    return pathlib.Path(os.environ["BRYNHILD_PLUGIN_DATA"]) / "notes.jsonl"


def add(text, tag):
    with _file().open("a", encoding="utf-8") as file:
        file.write(json.dumps({"text": text, "tag": tag}) + "\n")


def read(tag=""):
    file = _file()
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    notes = [json.loads(line) for line in lines]
    return [note for note in notes if tag in ("", note["tag"])]


def as_text(notes):
    return "\n".join(f"- {note['text']} [{note['tag']}]" for note in notes) or "There are no notes."
