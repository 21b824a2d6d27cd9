"""Exceptions, by the exit codes of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from .turn import Result


class BrynhildError(Exception):
    """The base of all exceptions. `result` is what the turn had until then, if one ran."""

    exit_code: Optional[int] = None

    def __init__(self, message: str, result: Optional[Result] = None):
        super().__init__(message)
        self.result = result


class TaskFailed(BrynhildError):
    """The task failed: the provider gave up, a hook blocked the prompt, or the model says so."""

    exit_code = 1


class InvalidAnswer(TaskFailed):
    """The answer is not JSON, although an output schema was given."""


class SetupError(BrynhildError):
    """Misuse, or something is not set up: no program, a bad option, no model."""

    exit_code = 2


class PermissionNeeded(BrynhildError):
    """The program ended because nobody could give a permission."""

    exit_code = 3


class NoSandbox(BrynhildError):
    """The program ended because no sandbox works on this machine."""

    exit_code = 4


class LimitReached(BrynhildError):
    """A limit was reached, or the model repeated itself."""

    exit_code = 5


class ProcessDied(BrynhildError):
    """The program was killed, crashed, or ended in the middle of a turn."""

    def __init__(self, message: str, code: Optional[int] = None):
        super().__init__(message)
        self.exit_code = code


class ConnectionLost(BrynhildError):
    """The server cannot be reached, or it ended in the middle of a turn."""


def error_of_exit(code: int, stderr: str) -> BrynhildError:
    """Returns the exception for a program that ended before its turn did."""
    said = stderr.strip()
    for kind in (TaskFailed, SetupError, PermissionNeeded, NoSandbox, LimitReached):
        if kind.exit_code == code:
            return kind(said or f"brynhild ended with exit code {code}")
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code} in the middle of a turn"
    return ProcessDied(f"brynhild {how}" + (f": {said}" if said else ""), code)
