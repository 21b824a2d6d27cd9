"""Which modules the file of a custom tool may import, as the author of a role says. Reads the source, runs nothing.

Nothing depends on these rules but the author's own order: what code may do is decided by the sandbox around it.
"""
import ast

USUALLY_BLOCKED = (
    "os",
    "subprocess",
    "shutil",
    "sys",
    "importlib",
    "ctypes",
    "socket",
    "http.server",
    "pickle",
    "shelve",
    "marshal",
    "code",
    "codeop",
    "threading",
    "_thread",
)


def violations(source, allowed, blocked):
    """What a source imports against the rules, in words, each once."""
    found = []
    for names in _imports(ast.parse(source)):
        if allowed:
            if not any(_is_within(name, entry) for name in names[1] for entry in allowed):
                found.append(names[0] + " not in allowlist" if names[2] else _not_allowed(names[0]))
            continue
        hits = [entry for entry in blocked for name in names[1] if _is_within(name, entry)]
        if hits and names[2]:
            found.append(names[0] + " blocked")
        elif hits:
            found.append("Custom tool imports blocked module '%s'" % hits[0])
    return list(dict.fromkeys(found))


def _not_allowed(base):
    return "Custom tool imports module '%s' which is not in allowlist" % base


def _is_within(name, entry):
    return name == entry or name.startswith(entry + ".")


def _imports(tree):
    """Each import: its words, the dotted names it may mean, and whether it is a call of `__import__`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.partition(".")[0], [alias.name], False
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] + ["%s.%s" % (node.module, alias.name) for alias in node.names]
            yield node.module.partition(".")[0], names, False
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.name, [alias.name], False
        elif isinstance(node, ast.Call) and getattr(node.func, "id", None) == "__import__" and node.args:
            name = getattr(node.args[0], "value", None)
            if isinstance(name, str):
                yield "Custom tool uses __import__('%s') which is" % name, [name], True
