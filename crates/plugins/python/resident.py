"""Runs scripts of hooks without a start of Python for each: every one in a fork of this process, as `python3 FILE` would.

A request is one line of JSON, and so is its answer. What a script leaves running is killed before its answer is sent.
"""
import ctypes
import json
import os
import pathlib  # noqa: F401 (what most scripts import is there already)
import re  # noqa: F401
import select
import signal
import sys
import time
from importlib.machinery import SourceFileLoader

_KEPT = 1 << 20
_CHUNK = 1 << 16
_GRACE = 0.2
_ROUNDS = 100
_ADOPT = 36


def main():
    """Serve until the caller is gone; a fork returns the code that it is to run."""
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    reader = open(incoming, "rb")
    _say(outgoing, {"ready": _adopts_orphans()})
    for line in reader:
        request = json.loads(line)
        child, ends = _fork()
        if child == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for descriptor in (outgoing, woken, wake):
                os.close(descriptor)
            reader.close()
            return _enter(request)
        answer = _attend(child, ends, request["input"].encode(), woken)
        _kill_strays()
        _say(outgoing, answer)
    os._exit(0)


def _say(outgoing, message):
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(outgoing, data) :]


def _adopts_orphans():
    """Whether what a script leaves running becomes a child of this process, so that it can be found."""
    try:
        adopted = ctypes.CDLL(None).prctl(_ADOPT, 1, 0, 0, 0) == 0
        return adopted and _children() == []
    except (OSError, AttributeError):
        return False


def _children():
    with open("/proc/self/task/%d/children" % os.getpid()) as file:
        return [int(word) for word in file.read().split()]


def _kill_strays():
    for _ in range(_ROUNDS):
        left = _children()
        if not left:
            return
        for child in left:
            try:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            except OSError:
                pass
    os._exit(1)


def _fork():
    """A child whose standard streams are pipes, and our ends of them."""
    pipes = [os.pipe() for _ in range(3)]
    child = os.fork()
    ours, theirs = [pipes[0][1], pipes[1][0], pipes[2][0]], [pipes[0][0], pipes[1][1], pipes[2][1]]
    if child == 0:
        os.setsid()
        for number, descriptor in enumerate(theirs):
            os.dup2(descriptor, number)
    for descriptor in theirs if child else ours + theirs:
        os.close(descriptor)
    return child, ours


def _enter(request):
    os.chdir(request["cwd"])
    os.environ.update(request["env"])
    return request["script"]


def _attend(child, ends, data, woken):
    """Feed a child and hear it to its end."""
    feeding, streams = ends[0], {ends[1]: bytearray(), ends[2]: bytearray()}
    cut = dict.fromkeys(streams, False)
    left, status, deadline = set(streams), None, None
    for descriptor in ends:
        os.set_blocking(descriptor, False)
    poll = select.poll()
    poll.register(feeding, select.POLLOUT)
    for descriptor in (*streams, woken):
        poll.register(descriptor, select.POLLIN)
    while status is None or (left and time.monotonic() < deadline):
        wait = None if status is None else max(0, (deadline - time.monotonic()) * 1000)
        for descriptor, _ in poll.poll(wait):
            if descriptor == woken:
                _drain(woken)
            elif descriptor == feeding:
                data = _feed(feeding, data)
                if not data:
                    poll.unregister(feeding)
                    os.close(feeding)
            else:
                piece = _read(descriptor)
                if piece:
                    room = _KEPT - len(streams[descriptor])
                    cut[descriptor] |= len(piece) > room
                    streams[descriptor] += piece[:room]
                elif piece is not None:
                    poll.unregister(descriptor)
                    left.discard(descriptor)
        if status is None:
            ended, code = os.waitpid(child, os.WNOHANG)
            if ended:
                status, deadline = code, time.monotonic() + _GRACE
    if data:
        os.close(feeding)
    for descriptor in streams:
        os.close(descriptor)
    texts = [bytes(kept).decode("utf-8", "replace") for kept in streams.values()]
    code = 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    return {"code": code, "stdout": texts[0], "stderr": texts[1], "cut": list(cut.values())}


def _drain(descriptor):
    while _read(descriptor):
        pass


def _read(descriptor):
    """A piece, nothing at the end, and None where there is none yet."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None


def _feed(descriptor, data):
    """What is left to write; nothing where nobody reads it."""
    try:
        return data[os.write(descriptor, data) :]
    except BlockingIOError:
        return data
    except OSError:
        return b""


def _fail(kind, error, trace):
    """Tell an error as Python does, without the frames of this file."""
    sys.excepthook = sys.__excepthook__
    sys.__excepthook__(kind, error.with_traceback(trace.tb_next if trace else None), trace.tb_next if trace else None)


if __name__ == "__main__":
    _script = main()
    sys.excepthook = _fail
    sys.argv[:] = [_script]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(_script))
    _module = type(sys)("__main__")
    _module.__file__ = _script
    _module.__loader__ = SourceFileLoader("__main__", _script)
    _module.__builtins__ = __builtins__
    sys.modules["__main__"] = _module
    with open(_script, "rb") as _file:
        _source = _file.read()
    exec(compile(_source, _script, "exec"), _module.__dict__)
