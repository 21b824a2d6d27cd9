"""What tools raise."""


class ModelRetry(Exception):
    """Has the model try again; the words tell it why."""

    def __init__(self, message=""):
        self.message = message
        super().__init__(message)


class ToolFailed(Exception):
    """A call that failed; the words tell the model why."""


class UserError(RuntimeError):
    """A mistake of the author."""

    def __init__(self, message):
        self.message = message
        super().__init__(message)


def __getattr__(name):
    from brynhild_host.adapters.initrunner.imports import wanted

    raise wanted(__name__, name)
