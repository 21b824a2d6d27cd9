"""Words for what went wrong in a plugin. Imports what it needs only when something did."""
import os
import sys

_TRACEBACK_LIMIT = 20_000
_TEXT_LIMIT = 100_000
# Well-known modules whose packages are called otherwise.
_PACKAGES = {"bs4": "beautifulsoup4", "dotenv": "python-dotenv", "PIL": "pillow", "sklearn": "scikit-learn", "yaml": "pyyaml"}
_HERE = os.path.dirname(os.path.abspath(__file__))


class Refused(Exception):
    """A request that cannot be served; `code` is the one of JSON-RPC."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def text_of(error):
    """`str(error)`, also of exceptions that cannot say it."""
    try:
        text = str(error)
    except BaseException as nested:
        text = "<str() of it raises %s>" % type(nested).__name__
    return text[:_TEXT_LIMIT]


def named(error):
    """`TypeName: text`, as the last line of a traceback has it."""
    text = text_of(error)
    name = type(error).__name__
    return "%s: %s" % (name, text) if text else name


def traceback_of(error):
    """The traceback without the frames of this host, cut in the middle when it is long."""
    import traceback

    trace = error.__traceback__
    while trace is not None and _ours(trace):
        trace = trace.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, trace))
    except Exception:
        text = named(error)
    if len(text) > _TRACEBACK_LIMIT:
        half = _TRACEBACK_LIMIT // 2
        text = text[:half] + "\n...\n" + text[-half:]
    return text


def place(error, root):
    """File and line under `root` where the error came up, or (None, None)."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename, error.lineno
    found = (None, None)
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if root and file.startswith(root):
            found = (file, trace.tb_lineno)
        trace = trace.tb_next
    return found


def hint_for(error, package=None):
    """What the author or user can do about a failed import, if anything is known; `package` is the installed one."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        module = error.name.split(".")[0]
        if module == "brynhild":
            return "Brynhild offers no module `%s` to plugins" % error.name
        needed = _PACKAGES.get(module, module)
        if package:
            return "install it beside the plugin with `%s -m pip install %s`, and list it among the dependencies of `%s`" % (
                sys.executable,
                needed,
                package.get("name"),
            )
        return (
            "if `%s` is a package of its own, declare it under `dependencies:` in plugin.yaml, "
            "or install it into a virtual environment `.venv` in the plugin's directory" % needed
        )
    if isinstance(error, TypeError) and "abstract" in text_of(error):
        return "implement every abstract member: name, description, input_schema and execute"
    return None


def _ours(trace):
    file = trace.tb_frame.f_code.co_filename
    return file.startswith(_HERE) and "shim" not in file[len(_HERE) :].split(os.sep)[:2]
