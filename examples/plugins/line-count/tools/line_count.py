"""Counts lines, so that a model does not have to read files to learn how long they are."""

import collections
import pathlib

from brynhild.tools.base import Tool as Base
from brynhild.tools.base import ToolResult


class Tool(Base):
    @property
    def name(self):
        return "line_count"

    @property
    def description(self):
        return "Count the lines of all text files below a directory, by file extension"

    @property
    def input_schema(self):
        return {
            "type": "object",
            "properties": {
                "directory": {"type": "string", "description": "The directory; the working directory by default"},
            },
        }

    @property
    def requires_permission(self):
        return False

    async def execute(self, input):
        directory = pathlib.Path(input.get("directory", "."))
        if not directory.is_dir():
            return ToolResult(success=False, output="", error=f"Not a directory: {directory}")
        counts = collections.Counter()
        for path in directory.rglob("*"):
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(directory).parts):
                counts[path.suffix or path.name] += len(path.read_bytes().splitlines())
        lines = [f"{count:8} {kind}" for kind, count in counts.most_common()]
        return ToolResult(success=True, output="\n".join(lines))
