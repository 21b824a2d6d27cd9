"""Calls `run` as its author wrote it: by the names of its parameters, or else by their places."""
import types

_KNOWN = (
    "tool_name",
    "target",
    "args",
    "base",
    "extra_roots",
    "skill_roots",
    "task_manager",
    "debug_logger",
    "meta",
)
_PLACES = ("target", "args", "base", "extra_roots", "skill_roots", "debug_logger")
_VARARGS, _VARKEYWORDS = 0x04, 0x08


class Parameters:
    """The parameters of a function."""

    def __init__(self, places, only_places, keywords, optional, has_rest, has_keywords):
        self.places = places
        self.only_places = only_places
        self.keywords = keywords
        self.optional = optional
        self.has_rest = has_rest
        self.has_keywords = has_keywords


def bind(run, name, is_one_of_several):
    """A handler `(target, args, base, extra_roots, skill_roots, debug_logger, meta)` around `run`."""
    call = _plan(_parameters(run), run, is_one_of_several)

    def handler(target, args, base, extra_roots=(), skill_roots=(), debug_logger=None, meta=None):
        from lmao.task_list import current

        return call(
            {
                "tool_name": name,
                "target": target,
                "args": args,
                "base": base,
                "extra_roots": list(extra_roots),
                "skill_roots": list(skill_roots),
                "task_manager": current,
                "debug_logger": debug_logger,
                "meta": meta,
            }
        )

    return handler


def _plan(takes, run, is_one_of_several):
    names = takes.places + takes.keywords
    known = {name: _known(name) for name in names}
    is_clear = not takes.has_rest and (names or takes.has_keywords)
    is_clear = is_clear and all(known[name] or name in takes.optional for name in names)
    if is_clear and not (takes.only_places and not all(known[name] for name in takes.only_places)):
        keywords = [(name, known[name]) for name in names if name not in takes.only_places and known[name]]
        rest = [name for name in _KNOWN if takes.has_keywords and name not in known.values()]

        def by_name(values):
            given = {name: values[value] for name, value in keywords}
            given.update((name, values[name]) for name in rest)
            return run(*[values[known[name]] for name in takes.only_places], **given)

        return by_name
    order = (("tool_name",) if is_one_of_several else ()) + _PLACES
    if takes.has_rest or len(takes.places) > len(order):
        order += ("meta",)
    if not takes.has_rest:
        order = order[: len(takes.places)]
    return lambda values: run(*[values[name] for name in order])


def _known(name):
    """The known name that a parameter has, with or without the underscore of one that is not used."""
    bare = name.lstrip("_")
    return bare if bare in _KNOWN else None


def _parameters(run):
    if type(run) is types.FunctionType and not hasattr(run, "__wrapped__"):
        code = run.__code__
        count, only = code.co_argcount, code.co_posonlyargcount
        places = list(code.co_varnames[:count])
        keywords = list(code.co_varnames[count : count + code.co_kwonlyargcount])
        optional = set(places[count - len(run.__defaults__ or ()) :]) | set(run.__kwdefaults__ or ())
        flags = code.co_flags
        return Parameters(
            places, places[:only], keywords, optional, bool(flags & _VARARGS), bool(flags & _VARKEYWORDS)
        )
    import inspect

    takes = Parameters([], [], [], set(), False, False)
    try:
        parameters = inspect.signature(run).parameters.values()
    except (TypeError, ValueError):
        takes.has_rest = True
        return takes
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            takes.has_rest = True
        elif parameter.kind is parameter.VAR_KEYWORD:
            takes.has_keywords = True
        elif parameter.kind is parameter.KEYWORD_ONLY:
            takes.keywords.append(parameter.name)
        else:
            takes.places.append(parameter.name)
            if parameter.kind is parameter.POSITIONAL_ONLY:
                takes.only_places.append(parameter.name)
        if parameter.default is not parameter.empty:
            takes.optional.add(parameter.name)
    return takes
