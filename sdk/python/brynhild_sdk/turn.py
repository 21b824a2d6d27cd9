"""One turn: what is said, asked and changed until it ends. Does no input and output."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from .errors import BrynhildError, InvalidAnswer, LimitReached, SetupError, TaskFailed


@dataclass(frozen=True)
class Answer:
    """An answer to a question. `Answer.nobody()` says that there is nobody to ask."""

    kind: str
    reason: Optional[str] = None

    @classmethod
    def once(cls) -> Answer:
        return cls("once")

    @classmethod
    def session(cls) -> Answer:
        """This and calls like it, until the session ends."""
        return cls("session")

    @classmethod
    def project(cls) -> Answer:
        """This and calls like it, for this project."""
        return cls("project")

    @classmethod
    def always(cls) -> Answer:
        """This and calls like it, everywhere from here on."""
        return cls("always")

    @classmethod
    def deny(cls, reason: Optional[str] = None) -> Answer:
        return cls("deny", reason)

    @classmethod
    def cancel(cls) -> Answer:
        """No, and stop the turn."""
        return cls("cancel")

    @classmethod
    def nobody(cls) -> Answer:
        return cls("nobody")


@dataclass(frozen=True)
class Question:
    """A call that needs an answer. `event` is the whole event."""

    call: str
    tool: str
    args: Any
    why: str
    destructive: bool
    event: Dict[str, Any] = field(repr=False)

    @property
    def actions(self) -> List[Dict[str, Any]]:
        return self.event.get("actions", [])

    @property
    def is_read_only(self) -> bool:
        """True if the call states that it reads files and does nothing else."""
        return bool(self.actions) and all(action.get("action") == "read" for action in self.actions)


@dataclass
class Result:
    """The end of a turn. `outcome` is `answered`, `finished` or `cancelled`; others are exceptions."""

    text: str = ""
    outcome: str = ""
    details: Dict[str, Any] = field(default_factory=dict, repr=False)
    usage: Dict[str, Any] = field(default_factory=dict)
    session: str = ""
    changes: List[Dict[str, Any]] = field(default_factory=list)
    structured: Any = None
    unanswered: List[Question] = field(default_factory=list)

    @property
    def cost(self) -> Optional[float]:
        """The cost in US dollars; None if it is not known."""
        return self.usage.get("cost_usd")


class Turn:
    """Collects the events of a turn."""

    def __init__(self, has_schema: bool, prompt: Optional[str], reply: Dict[str, Any], previous: Optional[Turn]):
        self.result = Result()
        # A command may only show something, and begin no turn.
        self.is_finished = reply.get("turn") is False
        if self.is_finished:
            self.result.outcome, self.result.text = "answered", reply.get("text", "")
        self._has_schema = has_schema
        self._is_started = prompt is None
        self._is_command = prompt is not None and prompt.startswith("/")
        self._is_interrupted = False
        self._steered = 0
        # The end of a turn that an answer may resume.
        self._broken_off: Optional[Dict[str, Any]] = None
        self._open: Dict[str, Question] = {}
        # Answers whose effect has not shown, and the number of the last event.
        self._sent: Dict[str, str] = previous._sent if previous else {}
        self._seq: int = reply["seq"] or (previous._seq if previous else 0)

    def interrupted(self) -> None:
        """Notes that the turn was interrupted."""
        self._is_interrupted = True

    def steered(self) -> None:
        """Notes that a steering message was sent."""
        self._steered += 1

    def answered(self, question: Question, answer: Answer) -> Dict[str, Any]:
        """Notes an answer and returns the input for it."""
        self._sent[question.call] = answer.kind
        message = {"input": "answer", "call": question.call, "answer": answer.kind}
        return message if answer.reason is None else {**message, "reason": answer.reason}

    def take(self, event: Dict[str, Any]) -> Optional[Question]:
        """Takes an event. Returns the question if it is one."""
        kind, is_own = event.get("type"), event.get("within") is None
        self.result.session = event.get("session", self.result.session)
        if kind == "notice":
            self._take_notice(event)
        self._seq = event.get("seq", self._seq)
        if kind == "asked":
            question = Question(
                event["call"], event["tool"], event["args"], event["why"], event.get("destructive", False), event
            )
            self._open[question.call] = question
            return question
        if kind == "answered":
            settled = self._open.pop(event["call"], None)
            given = event["answer"]["answer"]
            if self._sent.get(event["call"]) == given:
                del self._sent[event["call"]]
            if given == "nobody" and settled is not None:
                self.result.unanswered.append(settled)
        elif kind == "files_changed":
            self.result.changes += event["files"]
        elif is_own and kind == "turn_started":
            self._is_started = True
            if self._broken_off is not None:
                self._broken_off = None
                self._sent.clear()
        elif is_own and kind == "injected" and event["origin"] == "person":
            if self._is_started:
                self._steered -= 1
            # Another client of the session has a turn, and the prompt became part of it.
            self._is_started = True
        elif is_own and kind == "reply_finished":
            text = "".join(part["text"] for part in event["reply"]["parts"] if part["type"] == "text")
            self.result.text = text or self.result.text
        elif is_own and kind == "turn_finished" and self._is_started:
            self._finish(event)
        return None

    def _take_notice(self, event: Dict[str, Any]) -> None:
        if event.get("topic") == "message_unsent":
            self._steered -= 1
        # Every notice of the conversation has a number of its own; one about an input has not.
        elif event.get("seq") != self._seq:
            pass
        elif event.get("level") == "error" or (self._is_command and not self._is_started):
            if self._sent:
                # The question was settled before its answer arrived.
                del self._sent[next(iter(self._sent))]
                if self._broken_off is not None:
                    self._finish(self._broken_off)
            elif not self._is_started:
                self.is_finished = True
                hint = f" ({event['hint']})" if event.get("hint") else ""
                raise SetupError(f"{event['text']}{hint}")

    def _finish(self, event: Dict[str, Any]) -> None:
        resumes = any(kind not in ("cancel", "nobody") for kind in self._sent.values())
        is_resumable = resumes and not self._is_interrupted and self._broken_off is None
        if event["outcome"]["outcome"] == "cancelled" and is_resumable:
            # The server was restarted at a question. It continues when it has the answer.
            self._broken_off = event
            return
        if self._steered > 0:
            # It came too late for this turn, and begins another one.
            self._steered -= 1
            return
        result = self.result
        result.details, result.usage = event["outcome"], event["usage"]
        result.outcome = result.details["outcome"]
        result.text = result.text or result.details.get("summary", "")
        self.is_finished = True

    def check(self) -> Result:
        """Returns the result of a finished turn, or raises the exception for it."""
        result = self.result
        error = error_of_outcome(result)
        if error is not None:
            raise error
        if self._has_schema and result.outcome != "cancelled":
            try:
                result.structured = json.loads(result.text)
            except ValueError as error:
                raise InvalidAnswer(f"the answer is not JSON: {error}", result) from error
        return result


def error_of_outcome(result: Result) -> Optional[BrynhildError]:
    """Returns the exception for the end of a turn; none for a good one."""
    details = result.details
    if result.outcome == "failed":
        hint = f" ({details['hint']})" if details.get("hint") else ""
        return TaskFailed(f"{details['error']}{hint}", result)
    if result.outcome == "blocked":
        return TaskFailed(f"hook {details['hook']} blocked the prompt: {details['reason']}", result)
    if result.outcome == "finished" and details["status"] in ("failed", "blocked"):
        return TaskFailed(f"the model finished with the status `{details['status']}`: {details['summary']}", result)
    if result.outcome == "limited":
        return LimitReached(details.get("told") or f"the limit `{details['limit']}` was reached", result)
    if result.outcome == "stuck":
        return LimitReached(f"the model repeated itself: {details['why']}", result)
    return None
