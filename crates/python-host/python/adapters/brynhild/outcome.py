"""Turns whatever a tool returns or raises into the one shape of the wire."""
from brynhild_host.channel import safe_repr
from brynhild_host.failures import hint_for, named, traceback_of

OUTPUT_LIMIT = 10_000_000
_MISSING = object()


def of_exception(error, package=None):
    """A failed call whose error names the exception, and the remedy where one is known."""
    hint = hint_for(error, package) if isinstance(error, ModuleNotFoundError) else None
    text = "%s (%s)" % (named(error), hint) if hint else named(error)
    return {"success": False, "output": "", "error": text, "traceback": traceback_of(error)}


def of_return(value):
    """The shape of a returned value: an object or dict with success, output, error; a text; or nothing. All else is a failure."""
    if isinstance(value, dict):
        if "success" in value or "output" in value or "error" in value:
            return _shape(value.get("success", _MISSING), value.get("output"), value.get("error"))
    elif hasattr(value, "success"):
        return _shape(value.success, getattr(value, "output", None), getattr(value, "error", None))
    elif isinstance(value, str):
        return _shape(True, value, None)
    elif value is None:
        # It has done its work, and the model must not have it done again.
        return _shape(True, "", None)
    error = "the tool returned a %s where a ToolResult belongs" % type(value).__name__
    return _shape(False, safe_repr(value), error)


def _shape(success, output, error):
    if success is _MISSING:
        success = error is None
    return {"success": bool(success), "output": _text(output) or "", "error": _text(error)}


def _text(value):
    if value is None:
        return None
    if isinstance(value, (bytes, bytearray)):
        value = bytes(value).decode("utf-8", "replace")
    elif not isinstance(value, str):
        try:
            value = str(value)
        except Exception:
            value = safe_repr(value)
    if len(value) > OUTPUT_LIMIT:
        note = "\n[cut: the output had %d characters, %d are shown]" % (len(value), OUTPUT_LIMIT)
        value = value[:OUTPUT_LIMIT] + note
    return value
