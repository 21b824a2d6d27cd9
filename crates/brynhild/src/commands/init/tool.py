"""Tools of a role. Every public function here is one: its name, its annotations and its docstring are what the
model sees. `tool_config` holds the `config` of the role's entry and is never shown to the model."""


def count_words(text: str) -> str:
    """Count the words of a text.

    Args:
        text: The text.
    """
    return str(len(text.split()))


def greet(name: str, tool_config: dict, times: int = 1) -> str:
    """Greet somebody.

    Args:
        name: Who is greeted.
        times: How often.
    """
    greeting = tool_config.get("greeting", "Hello")
    return "\n".join(f"{greeting}, {name}!" for _ in range(times))
