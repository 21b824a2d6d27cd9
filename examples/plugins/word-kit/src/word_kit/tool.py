"""Counts words in files."""

import collections
import pathlib
import re

from brynhild.tools.base import Tool, ToolResult


class WordCount(Tool):
    @property
    def name(self):
        return "word_count"

    @property
    def description(self):
        return "Count how often words occur in the text files below a directory"

    @property
    def input_schema(self):
        words = {"type": "array", "items": {"type": "string"}, "description": "The words to count"}
        directory = {"type": "string", "description": "Where to look; the working directory by default"}
        return {"type": "object", "properties": {"words": words, "directory": directory}, "required": ["words"]}

    @property
    def requires_permission(self):
        return False

    async def execute(self, input):
        counts = collections.Counter()
        for path in pathlib.Path(input.get("directory", ".")).rglob("*"):
            if path.is_file() and not any(part.startswith(".") for part in path.parts):
                text = path.read_text(encoding="utf-8", errors="ignore").lower()
                counts.update(re.findall(r"\w+", text))
        lines = [f"{counts[word.lower()]:6} {word}" for word in input["words"]]
        return ToolResult(success=True, output="\n".join(lines))
