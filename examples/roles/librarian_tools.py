"""Tools of the librarian: every public function is one."""
from collections import Counter
from pathlib import Path
from typing import Dict, List, Literal


def _texts(directory: str, tool_config: dict) -> List[Path]:
    endings = tuple(tool_config.get("endings") or [".txt"])
    found = sorted(path for path in Path(directory).rglob("*") if path.suffix in endings and path.is_file())
    return found[: tool_config.get("most", 100)]


def find_lines(word: str, tool_config: dict, directory: str = ".") -> List[str]:
    """Find the lines that hold a word.

    Args:
        word: The word, in any case.
        directory: Where to look.
    """
    lines = []
    for path in _texts(directory, tool_config):
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if word.lower() in line.lower():
                lines.append(f"{path}:{number}: {line.strip()}")
    return lines


def count(what: Literal["words", "lines", "files"], tool_config: dict, directory: str = ".") -> Dict[str, int]:
    """Count words, lines or files.

    Args:
        what: What is counted.
        directory: Where to count.
    """
    counts: Counter = Counter()
    for path in _texts(directory, tool_config):
        text = path.read_text(errors="replace")
        counts[str(path)] = {"words": len(text.split()), "lines": len(text.splitlines()), "files": 1}[what]
    return dict(counts, total=sum(counts.values()))
