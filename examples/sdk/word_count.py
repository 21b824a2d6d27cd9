"""Lets the model call a function of this program, and answers its questions.

    python3 examples/sdk/word_count.py [SCENARIO]
"""

import sys
from pathlib import Path

from brynhild_sdk import Answer, Brynhild

script = {"provider": "script", "model": sys.argv[1]} if len(sys.argv) > 1 else {}


def decide(question):
    return Answer.once() if question.is_read_only else Answer.deny("this program only reads")


with Brynhild(mode="ask", on_question=decide, **script) as b:

    @b.tool
    def count_words(file: str) -> int:
        """Counts the words of a file."""
        return len(Path(file).read_text().split())

    result = b.run("How many words has notes.txt?")
    print(result.text)
