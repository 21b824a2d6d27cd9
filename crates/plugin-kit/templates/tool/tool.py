"""A tool: a name, a description and a schema for the model, and `execute` for the work."""

from brynhild.tools.base import Tool as Base
from brynhild.tools.base import ToolResult


class Tool(Base):
    @property
    def name(self):
        return "__IDENT__"

    @property
    def description(self):
        return "Make a greeting for somebody"

    @property
    def input_schema(self):
        return {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "Who is greeted"}},
            "required": ["name"],
        }

    @property
    def examples(self):
        return [{"name": "Ann"}]  # the model reads them, `brynhild plugin test` runs them

    @property
    def requires_permission(self):
        return False  # it changes nothing

    async def execute(self, input):
        if not input["name"].strip():
            return ToolResult(success=False, output="", error="the name is empty")
        return ToolResult(success=True, output=f"Hello, {input['name']}!")
