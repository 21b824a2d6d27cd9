"""A tool with two uses: it keeps a note, and it lists them."""

import _notebook
from brynhild.tools.base import Tool as Base
from brynhild.tools.base import ToolResult


class Tool(Base):
    @property
    def name(self):
        return "note"

    @property
    def description(self):
        return "Keep a note for later sessions (`text`), or list the notes (no `text`), of one `tag` where it is given"

    @property
    def input_schema(self):
        return {
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "What to keep"},
                "tag": {"type": "string", "description": "What it belongs to"},
            },
        }

    @property
    def examples(self):
        return [{"description": "Keep a finding", "input": {"text": "the port is fixed", "tag": "server"}}]

    @property
    def requires_permission(self):
        # It writes nothing but the plugin's own notes.
        return False

    async def execute(self, input):
        text, tag = input.get("text", ""), input.get("tag", "")
        if not text:
            return ToolResult(success=True, output=_notebook.as_text(_notebook.read(tag)))
        _notebook.add(text, tag or "general")
        return ToolResult(success=True, output=f"kept; {len(_notebook.read())} in all")
