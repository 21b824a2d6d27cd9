"""A plugin as a package: each entry point in `pyproject.toml` names something here."""

from brynhild.plugins.manifest import PluginManifest

RULES = ["One thing has one name, in code, in documents and in messages."]


def register():
    return PluginManifest(
        name="word-kit",
        version="1.0.0",
        description="Words of a project and how often they occur",
        tools=["word_count"],
    )


def glossary():
    return {
        "name": "glossary",
        "description": "Collects the words of this project that need an explanation",
        "args": "[directory]",
        "body": "Collect the terms in {{args}} ({{cwd}} if no directory is named) that a newcomer would not know. "
        "Explain each in one sentence.",
    }


def naming():
    return {
        "name": "naming",
        "description": "Finds a good name for a thing in code. Use when something is to be named or renamed.",
        "body": "Count the candidates with `word_count` first: a word that the project uses already wins.",
    }
