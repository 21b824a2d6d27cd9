"""The connection to the program: inputs out, events in. Knows nothing of turns."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sysconfig
import threading
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Protocol

from .errors import BrynhildError, SetupError, error_of_exit

# The program refuses longer lines.
LONGEST_INPUT = (32 << 20) - 1


class Transport(Protocol):
    """A connection. `send` never blocks; a lost connection shows in `receive` and `poll`."""

    # The ID of the session, if it is known before the first event.
    session: Optional[str]

    def begin(self, message: Dict[str, Any]) -> Dict[str, Any]:
        """Sends the input that begins a turn. Returns the reply, with the position before it or 0 as `seq`."""

    def send(self, message: Dict[str, Any]) -> None: ...

    def receive(self) -> Dict[str, Any]:
        """Waits for the next event. Raises the reason if the connection has ended."""

    def poll(self) -> Optional[Dict[str, Any]]:
        """Returns the next event if it is there already. Raises like `receive`."""

    def notify(self, wake: Callable[[], object]) -> None:
        """Has `wake` called, on any thread, when `poll` has something new."""

    def close(self) -> None:
        """Ends the connection in order, and waits until it has ended."""


def find_binary(binary: Optional[str] = None) -> str:
    """Returns the program: the argument, $BRYNHILD_BIN, that of the wheel `brynhild`, or that in PATH."""
    named = binary or os.environ.get("BRYNHILD_BIN")
    if named:
        found = shutil.which(named)
    else:
        found = shutil.which("brynhild", path=sysconfig.get_path("scripts")) or shutil.which("brynhild")
    if found is None:
        what = f"there is no program `{named}`" if named else "the program `brynhild` is not installed"
        raise SetupError(f"{what}; pass `binary`, set BRYNHILD_BIN, or `pip install brynhild`")
    return os.path.abspath(found)


class Inbox:
    """Events that nobody has taken, as lines of JSON. They are limited in bytes, not in number."""

    LIMIT = 64 << 20

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lines: Deque[bytes] = deque()
        self._waiting_bytes = 0
        self._is_closed = False
        self._error: Optional[BrynhildError] = None
        self._wake: Callable[[], object] = lambda: None

    def put(self, line: bytes) -> None:
        """Waits until there is room, and adds a line; a closed inbox drops it."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or not self._lines or self._waiting_bytes < self.LIMIT)
            if self._is_closed:
                return
            self._lines.append(line)
            self._waiting_bytes += len(line)
            self._changed.notify_all()
        self._wake()

    def end(self, error: BrynhildError) -> None:
        """Raises an error for the reader after all lines."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()
        self._wake()

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def receive(self) -> Dict[str, Any]:
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._error is not None)
        event = self.poll()
        return self.receive() if event is None else event

    def poll(self) -> Optional[Dict[str, Any]]:
        with self._changed:
            if self._lines:
                line = self._lines.popleft()
                self._waiting_bytes -= len(line)
                self._changed.notify_all()
            elif self._error is not None:
                raise self._error
            else:
                return None
        return json.loads(line)

    def notify(self, wake: Callable[[], object]) -> None:
        self._wake = wake


class ProcessTransport:
    """A child process that reads and writes lines of JSON.

    A thread reads and another one writes, so neither waits for the other. If nobody takes the
    events, the child waits.
    """

    session: Optional[str] = None
    STDERR_TAIL = 64 << 10
    GRACE_SECONDS = 30.0

    def __init__(self, command: List[str], cwd: Optional[str], env: Dict[str, str]):
        try:
            self._process = subprocess.Popen(
                command, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except OSError as error:
            raise SetupError(f"cannot start {command[0]}: {error}") from error
        self._inbox = Inbox()
        self._stderr = b""
        self._outbox: queue.SimpleQueue = queue.SimpleQueue()
        self.receive, self.poll, self.notify = self._inbox.receive, self._inbox.poll, self._inbox.notify
        self._errors = threading.Thread(target=self._read_errors, daemon=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        for thread in (self._errors, self._reader, threading.Thread(target=self._write, daemon=True)):
            thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def begin(self, message: Dict[str, Any]) -> Dict[str, Any]:
        self.send(message)
        return {"seq": 0}

    def send(self, message: Dict[str, Any]) -> None:
        line = json.dumps(message).encode() + b"\n"
        if len(line) > LONGEST_INPUT:
            raise SetupError(f"an input of {len(line)} bytes is too long; the limit is {LONGEST_INPUT}")
        self._outbox.put(line)

    def close(self) -> None:
        self._inbox.close()
        self._outbox.put(None)
        for stop in (self._process.terminate, self._process.kill, lambda: None):
            self._reader.join(self.GRACE_SECONDS)
            if not self._reader.is_alive():
                break
            stop()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stdout:
            for line in stdout:
                self._inbox.put(line)
        code = self._process.wait()
        # A process that the child left behind may hold standard error open.
        self._errors.join(1.0)
        self._inbox.end(error_of_exit(code, self._stderr.decode(errors="replace")))
        self._outbox.put(None)

    def _write(self) -> None:
        assert self._process.stdin is not None
        try:
            with self._process.stdin as stdin:
                while (line := self._outbox.get()) is not None:
                    stdin.write(line)
                    stdin.flush()
        except OSError:
            pass  # The child has gone. The reader tells why.

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stderr:
            while block := os.read(stderr.fileno(), 1 << 16):
                self._stderr = (self._stderr + block)[-self.STDERR_TAIL :]
