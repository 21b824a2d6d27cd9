"""Tools of the role. Every public function is one: its name, its annotations and its docstring are what the model
reads. `tool_config` holds `config` of the role's entry and is never shown to the model."""


def count_words(text: str, tool_config: dict) -> str:
    """Count the words of a text.

    Args:
        text: The text.
    """
    return f"{len(text.split())} {tool_config.get('unit', 'words')}"
