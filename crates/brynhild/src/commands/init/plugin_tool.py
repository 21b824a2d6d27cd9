"""A tool: a class with a name, a description, a schema and `execute`."""

from brynhild.tools.base import Tool, ToolResult


class Greeting(Tool):
    @property
    def name(self):
        return "greeting"

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
    def requires_permission(self):
        return False

    @property
    def risk_level(self):
        return "read_only"

    async def execute(self, input):
        return ToolResult(success=True, output=f"Hello, {input['name']}!")
