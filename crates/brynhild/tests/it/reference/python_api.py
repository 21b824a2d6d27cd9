"""Prints the reference page of the modules below a directory, from their docstrings. Imports none of them."""
import ast
import pathlib
import sys

INTRO = """# Python API

The modules that plugins in Python import, from their docstrings. A plugin needs no package for them. `brynhild stubs --install DIR` writes
them to a directory for tests and editors; [plugins](../extend/first-plugin.md) and [LMAO](../extend/lmao.md) explain how to use them.
Packages such as `brynhild.tools` also export the main names of their modules.
"""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
missing = []


def read(path):
    return ast.parse(path.read_text("utf-8"))


def doc(node, name):
    text = ast.get_docstring(node)
    if not text:
        missing.append(name)
        return ""
    if text.startswith(("What ", "Whether ", "The same ")):
        missing.append("%s (begins with %s)" % (name, text.split()[0]))
    return text


def is_public(name):
    return not name.startswith("_")


def exported(tree):
    """The names in a literal `__all__`, or None."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            try:
                return ast.literal_eval(node.value)
            except ValueError:
                return None
    return None


def members(root, tree):
    """The public definitions of a module, with those that it exports from a private one."""
    names = exported(tree)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and names and node.module.split(".")[-1].startswith("_"):
            source = root / (node.module.replace(".", "/") + ".py")
            if source.is_file():
                wanted = {alias.name for alias in node.names} & set(names)
                yield from (it for it in read(source).body if getattr(it, "name", None) in wanted)
        name = getattr(node, "name", "_")
        if is_public(name) and (names is None or name in names):
            yield node


def signature(node):
    arguments = node.args
    if arguments.args and arguments.args[0].arg in ("self", "cls"):
        del arguments.args[0]
    result = " -> " + ast.unparse(node.returns) if node.returns else ""
    return "(%s)%s" % (ast.unparse(arguments), result)


def decorators(node):
    return [ast.unparse(it) for it in node.decorator_list]


def function(node, name):
    kind = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return "- `%s%s%s`: %s" % (kind, node.name, signature(node), doc(node, name))


def member(node, owner):
    name = "%s.%s" % (owner, node.name)
    if any(it.split(".")[-1] in ("property", "cached_property") for it in decorators(node)):
        type = ": " + ast.unparse(node.returns) if node.returns else ""
        return "- `%s%s`: %s" % (node.name, type, doc(node, name))
    return function(node, name)


def class_lines(node, module):
    name = "%s.%s" % (module, node.name)
    bases = [ast.unparse(base).lstrip("_") for base in node.bases]
    bases = ["`%s`" % base for base in bases if not base.startswith(("abc.", "Model"))]
    yield "### `class %s`" % node.name
    yield doc(node, name) + (" Derived from %s." % ", ".join(bases) if bases else "")
    fields = [it for it in node.body if isinstance(it, ast.AnnAssign) and is_public(it.target.id)]
    values = [it for it in node.body if isinstance(it, ast.Assign) and is_public(ast.unparse(it.targets[0]))]
    for title, found in (("Fields", fields), ("Values", values)):
        if found:
            yield "%s: %s." % (title, ", ".join("`%s`" % ast.unparse(it) for it in found))
    methods = [it for it in node.body if isinstance(it, FUNCTIONS) and is_public(it.name)]
    methods = [it for it in methods if not any(text.endswith(".setter") for text in decorators(it))]
    if methods:
        yield "\n".join(member(it, name) for it in methods)


def module_lines(root, path):
    tree = read(path)
    name = ".".join(path.relative_to(root).with_suffix("").parts).replace(".__init__", "")
    yield "## `%s`" % name
    yield doc(tree, name)
    found = list(members(root, tree))
    functions = [it for it in found if isinstance(it, FUNCTIONS)]
    if functions:
        yield "\n".join(function(it, "%s.%s" % (name, it.name)) for it in functions)
    constants = [it for it in tree.body if isinstance(it, ast.Assign) and ast.unparse(it.targets[0]).isupper()]
    constants = [ast.unparse(it) for it in constants if is_public(ast.unparse(it.targets[0]))]
    if constants:
        yield "Constants: %s." % ", ".join("`%s`" % it for it in constants)
    for node in found:
        if isinstance(node, ast.ClassDef):
            yield from class_lines(node, name)


def main():
    root = pathlib.Path(sys.argv[1])
    paths = sorted(root.rglob("*.py"), key=lambda path: path.relative_to(root).with_suffix("").parts)
    private = lambda part: part.startswith("_") and part != "__init__.py"
    paths = [path for path in paths if not any(map(private, path.relative_to(root).parts))]
    page = [line for path in paths for line in module_lines(root, path)]
    if missing:
        sys.exit("docstrings are missing or have a bad first word: " + ", ".join(missing))
    sys.stdout.write(INTRO + "\n" + "\n\n".join(page) + "\n")


main()
