"""The clients: `Brynhild` waits, `AsyncBrynhild` awaits. Both keep one connection for all turns."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import threading
from typing import Any, AsyncIterator, Awaitable, Callable, Dict, Iterator, List, Optional, Union, cast

from .errors import BrynhildError, SetupError
from .program import Program
from .server import Server
from .tools import Tool
from .transport import Transport
from .turn import Answer, Question, Result, Turn
from .types import Event

OnQuestion = Callable[[Question], Optional[Answer]]
AsyncOnQuestion = Callable[[Question], Union[Optional[Answer], Awaitable[Optional[Answer]]]]

# Options of a session on a server.
SERVER_FLAGS = ("model", "mode")
# Options that are flags of the program with the same name.
FLAGS = (
    *SERVER_FLAGS,
    *"provider profile agent system_prompt append_system_prompt max_cost max_turns max_tokens timeout".split(),
)
PROGRAM_OPTIONS = ("allowed_tools", "mcp_servers", "binary", "env")
# Options that a fork inherits.
OPTIONS = ("cwd", "url", "token", "on_question", *FLAGS, *PROGRAM_OPTIONS)


class Client:
    """What both clients share: the options, the connection, and the turn that runs."""

    def __init__(
        self,
        cwd: Optional[str] = None,
        *,
        url: Optional[str] = None,
        token: Optional[str] = None,
        model: Optional[str] = None,
        mode: Optional[str] = None,
        session: Optional[str] = None,
        resume: Optional[str] = None,
        fork: bool = False,
        on_question: Optional[Callable[[Question], Any]] = None,
        provider: Optional[str] = None,
        profile: Optional[str] = None,
        agent: Optional[str] = None,
        system_prompt: Optional[str] = None,
        append_system_prompt: Optional[str] = None,
        max_cost: Optional[float] = None,
        max_turns: Optional[int] = None,
        max_tokens: Optional[int] = None,
        timeout: Optional[float] = None,
        allowed_tools: Optional[List[str]] = None,
        mcp_servers: Optional[Dict[str, Any]] = None,
        binary: Optional[str] = None,
        env: Optional[Dict[str, str]] = None,
    ):
        given = locals()
        self._options = {name: given[name] for name in OPTIONS}
        self._options["cwd"] = cwd = os.path.abspath(cwd or ".")
        self._name, self._resume, self._fork = session, resume, fork
        self._backend: Union[Program, Server]
        if url is None:
            self._flags = {name: given[name] for name in FLAGS}
            self._backend = Program(cwd, self._flags, **{name: given[name] for name in PROGRAM_OPTIONS})
        else:
            others = [name for name in (*FLAGS, *PROGRAM_OPTIONS) if name not in SERVER_FLAGS]
            foreign = next((name for name in others if given[name] is not None), None)
            if foreign is not None:
                raise SetupError(f"`{foreign}` is an option of the program; the server at {url} has its own")
            self._flags = {name: given[name] for name in SERVER_FLAGS}
            self._backend = Server(cwd, self._flags, url, token)
        self._tools: Dict[str, Tool] = {}
        self._session: Optional[str] = None
        self._lock = threading.RLock()
        self._transport: Optional[Transport] = None
        # The schema and the tools that the transport was opened with.
        self._started_with: Any = None
        self._turn: Optional[Turn] = None
        self._is_reading = False

    @property
    def session(self) -> Optional[str]:
        """The ID of the session; None before its first turn."""
        return self._session

    def tool(self, function=None, *, name=None, description=None, schema=None):
        """Registers a function as a tool, from the next turn on. A decorator."""

        def register(function):
            tool = Tool.of(function, name, description, schema)
            self._tools[tool.name] = tool
            return function

        return register if function is None else register(function)

    def steer(self, text: str) -> None:
        """Sends a message to the model at work. It reads it at its next step."""
        if text.lstrip().startswith("/"):
            raise ValueError("a steering message cannot be a command")
        with self._lock:
            if self._turn is None or self._turn.is_finished:
                raise BrynhildError("no turn is running; call `run`")
            self._turn.steered()
            self._send({"input": "prompt", "text": text})

    def interrupt(self) -> None:
        """Stops the turn that runs, if one does. Its outcome is `cancelled`."""
        with self._lock:
            if self._turn is not None and not self._turn.is_finished:
                self._turn.interrupted()
                self._send({"input": "interrupt"})

    def set_mode(self, mode: str) -> None:
        """Gives tools more or less freedom: less at once, more from the next turn."""
        with self._lock:
            self._flags["mode"] = mode
            if self._transport is not None:
                self._send({"input": "mode", "mode": mode})

    def _forked(self):
        if self._session is None:
            raise BrynhildError("there is no session to fork before the first turn")
        fork = type(self)(**{**self._options, **self._flags}, resume=self._session, fork=True)
        fork._tools = dict(self._tools)
        return fork

    def _send(self, message: Dict[str, Any]) -> None:
        assert self._transport is not None
        self._transport.send(message)

    def _begin(self, message: Dict[str, Any], schema: Optional[Dict[str, Any]], loop=None) -> Turn:
        """Connects if needed, and sends the input that begins a turn."""
        self._check_idle()
        is_abandoned = self._turn is not None and not self._turn.is_finished
        if self._transport is not None and (is_abandoned or self._started_with != (schema, self._tools)):
            self._stop()
        with self._lock:
            if self._transport is None:
                self._connect(schema, loop)
            assert self._transport is not None
            reply = self._transport.begin(message)
            prompt = message["text"] if message["input"] == "prompt" else None
            turn = self._turn = Turn(schema is not None, prompt, reply, self._turn)
            turn.result.session = self._session or ""
        return turn

    def _connect(self, schema: Optional[Dict[str, Any]], loop) -> None:
        target = (self._name, self._resume, self._fork) if self._session is None else (None, self._session, False)
        self._started_with = (schema, dict(self._tools))
        self._transport = self._backend.connect(*target, schema, self._tools, loop)
        self._session = self._transport.session or self._session

    def _stop(self) -> None:
        """Ends the connection. The next turn continues in the same session."""
        with self._lock:
            self.interrupt()
            transport, self._transport, self._turn = self._transport, None, None
        if transport is not None:
            transport.close()
        self._backend.release()

    def _take(self, turn: Turn, event: Dict[str, Any]) -> Optional[Question]:
        with self._lock:
            question = turn.take(event)
            self._session = turn.result.session or self._session
        return question

    def _answer(self, turn: Turn, question: Question, answer: Optional[Answer]) -> None:
        if answer is not None and not isinstance(answer, Answer):
            raise TypeError(f"on_question returned {answer!r}, which is not an Answer")
        with self._lock:
            self._send(turn.answered(question, answer or Answer.nobody()))

    @contextlib.contextmanager
    def _reading(self, turn: Turn) -> Iterator[Transport]:
        """Lends the connection for one event. A lost one ends the turn."""
        self._check_idle()
        transport = self._transport
        if transport is None or self._turn is not turn:
            raise BrynhildError("the turn was stopped: the client was closed, or began another one")
        self._is_reading = True
        try:
            yield transport
        except BrynhildError as error:
            turn.is_finished = True
            error.result = turn.result
            self._is_reading = False
            self._stop()
            raise
        finally:
            self._is_reading = False

    def _schema_in_use(self) -> Optional[Dict[str, Any]]:
        return self._started_with[0] if self._started_with else None

    def _check_idle(self) -> None:
        if self._is_reading:
            raise BrynhildError("a turn is running; wait for it, or call `steer`")

    def _undo(self, turns: int) -> Dict[str, Any]:
        target = self._session or self._resume or self._name
        if target is None:
            raise BrynhildError("there is no session before the first turn")
        self._check_idle()
        self._stop()
        return self._backend.undo(target, turns)


class Stream(Iterator[Event]):
    """The events of a turn. `result` is there when it has ended."""

    def __init__(self, client: Client, turn: Turn, on_question: Optional[OnQuestion]):
        self._client, self._turn, self._on_question = client, turn, on_question
        self.result: Optional[Result] = None

    def __next__(self) -> Event:
        if self._turn.is_finished:
            self.result = self.result or self._turn.check()
            raise StopIteration
        with self._client._reading(self._turn) as transport:
            event = transport.receive()
        question = self._client._take(self._turn, event)
        if question is not None:
            try:
                answer = self._on_question(question) if self._on_question else None
                self._client._answer(self._turn, question, answer)
            except BaseException:
                self.close()
                raise
        return cast(Event, event)

    def close(self) -> None:
        """Stops the turn if it still runs. The next turn goes on in the same session."""
        if not self._turn.is_finished:
            self._client._stop()
            self._turn.is_finished = True


class Brynhild(Client):
    """A conversation. Use it in a `with` block, which ends the connection."""

    @classmethod
    def resume(cls, session: str, **options: Any) -> Brynhild:
        """Continues a session; `last` is the newest one of the directory."""
        return cls(**options, resume=session)

    def run(
        self,
        prompt: str,
        *,
        on_question: Optional[OnQuestion] = None,
        output_schema: Optional[Dict[str, Any]] = None,
    ) -> Result:
        """Runs one turn. A question without `on_question` is answered with `nobody`."""
        return self._finish(self.stream(prompt, on_question=on_question, output_schema=output_schema))

    def stream(
        self,
        prompt: str,
        *,
        on_question: Optional[OnQuestion] = None,
        output_schema: Optional[Dict[str, Any]] = None,
    ) -> Stream:
        """Runs one turn and returns its events."""
        turn = self._begin({"input": "prompt", "text": prompt}, output_schema)
        return Stream(self, turn, on_question or self._options["on_question"])

    def compact(self, instructions: Optional[str] = None) -> Result:
        """Replaces the conversation by a summary of it, for the model."""
        return self._work({"input": "compact", "instructions": instructions})

    def clear(self) -> Result:
        """Clears the conversation for the model. The session keeps it."""
        return self._work({"input": "clear"})

    def undo(self, turns: int = 1) -> Dict[str, Any]:
        """Undoes the file changes of the last turns. Returns `files`, and `kept`: those that others changed."""
        return self._undo(turns)

    def fork(self) -> Brynhild:
        """Returns a client that continues in a copy of the session."""
        return self._forked()

    def close(self) -> None:
        """Ends the connection, and the program if one was started. A turn that still runs is interrupted."""
        self._stop()

    def __enter__(self) -> Brynhild:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _work(self, message: Dict[str, Any]) -> Result:
        return self._finish(Stream(self, self._begin(message, self._schema_in_use()), None))

    @staticmethod
    def _finish(stream: Stream) -> Result:
        for _ in stream:
            pass
        assert stream.result is not None
        return stream.result


class AsyncStream(AsyncIterator[Event]):
    """The events of a turn. `result` is there when it has ended."""

    def __init__(self, client: AsyncBrynhild, begin: Callable[[], Turn], on_question: Optional[AsyncOnQuestion]):
        self._client, self._begin, self._on_question = client, begin, on_question
        self._turn: Optional[Turn] = None
        self.result: Optional[Result] = None

    async def __anext__(self) -> Event:
        if self._turn is None:
            self._turn = await asyncio.to_thread(self._begin)
        if self._turn.is_finished:
            self.result = self.result or self._turn.check()
            raise StopAsyncIteration
        with self._client._reading(self._turn) as transport:
            event = await self._receive(transport)
        question = self._client._take(self._turn, event)
        if question is not None:
            try:
                answer = self._on_question(question) if self._on_question else None
                if inspect.isawaitable(answer):
                    answer = await answer
                self._client._answer(self._turn, question, answer)
            except BaseException:
                await self.aclose()
                raise
        return cast(Event, event)

    @staticmethod
    async def _receive(transport: Transport) -> Dict[str, Any]:
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        transport.notify(lambda: loop.is_closed() or loop.call_soon_threadsafe(ready.set))
        while (event := transport.poll()) is None:
            await ready.wait()
            ready.clear()
        return event

    async def aclose(self) -> None:
        """Stops the turn if it still runs. The next turn goes on in the same session."""
        if self._turn is not None and not self._turn.is_finished:
            await asyncio.to_thread(self._client._stop)
            self._turn.is_finished = True


class AsyncBrynhild(Client):
    """A conversation. Use it in an `async with` block, which ends the connection."""

    @classmethod
    def resume(cls, session: str, **options: Any) -> AsyncBrynhild:
        """Continues a session; `last` is the newest one of the directory."""
        return cls(**options, resume=session)

    async def run(
        self,
        prompt: str,
        *,
        on_question: Optional[AsyncOnQuestion] = None,
        output_schema: Optional[Dict[str, Any]] = None,
    ) -> Result:
        """Runs one turn. A question without `on_question` is answered with `nobody`."""
        return await self._finish(self.stream(prompt, on_question=on_question, output_schema=output_schema))

    def stream(
        self,
        prompt: str,
        *,
        on_question: Optional[AsyncOnQuestion] = None,
        output_schema: Optional[Dict[str, Any]] = None,
    ) -> AsyncStream:
        """Returns the events of one turn, which begins when the first one is awaited."""
        loop = asyncio.get_running_loop()
        message = {"input": "prompt", "text": prompt}
        return AsyncStream(self, lambda: self._begin(message, output_schema, loop), on_question or self._options["on_question"])

    async def compact(self, instructions: Optional[str] = None) -> Result:
        """Replaces the conversation by a summary of it, for the model."""
        return await self._work({"input": "compact", "instructions": instructions})

    async def clear(self) -> Result:
        """Clears the conversation for the model. The session keeps it."""
        return await self._work({"input": "clear"})

    async def undo(self, turns: int = 1) -> Dict[str, Any]:
        """Undoes the file changes of the last turns. Returns `files`, and `kept`: those that others changed."""
        return await asyncio.to_thread(self._undo, turns)

    def fork(self) -> AsyncBrynhild:
        """Returns a client that continues in a copy of the session."""
        return self._forked()

    async def close(self) -> None:
        """Ends the connection, and the program if one was started. A turn that still runs is interrupted."""
        await asyncio.to_thread(self._stop)

    async def __aenter__(self) -> AsyncBrynhild:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def _work(self, message: Dict[str, Any]) -> Result:
        loop = asyncio.get_running_loop()
        return await self._finish(
            AsyncStream(self, lambda: self._begin(message, self._schema_in_use(), loop), None)
        )

    @staticmethod
    async def _finish(stream: AsyncStream) -> Result:
        async for _ in stream:
            pass
        assert stream.result is not None
        return stream.result
