"""The examples of a tool, as the model reads them."""
from brynhild_host.channel import to_bytes


def with_examples(description, examples):
    """A description with calls that show how the tool is used."""
    if not examples:
        return description
    texts = [one if isinstance(one, str) else to_bytes(one).decode().rstrip("\n") for one in examples]
    return description + "\n\nExamples:" + "".join("\n- " + text for text in texts)
