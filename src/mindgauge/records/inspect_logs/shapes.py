"""What of an Inspect log is read: the names are Inspect's own (inspect_ai.log, schema version 2); all else is skipped."""

from __future__ import annotations

from typing import Any

import msgspec

VERSION = 2
"""The newest version of the schema that is read."""
UNCHANGED = "UNCHANGED"
"""What an edit says of a part of a score that it leaves as it is."""
SOLE_SCORE = "88F74D2C"
"""What Inspect calls the score of a sample that has but one, in its oldest logs, until it knows the scorer."""


class LoggedTask(msgspec.Struct, frozen=True):
    """What was evaluated: `eval` of a log."""

    task: str = ""
    model: str = ""
    model_roles: Any = None

    @property
    def grader(self) -> str:
        """The model that has the role of the grader; empty where none has, or several have."""
        role = self.model_roles.get("grader") if isinstance(self.model_roles, dict) else None
        name = role.get("model") if isinstance(role, dict) else None
        return name if isinstance(name, str) else ""


class NamedResult(msgspec.Struct, frozen=True):
    """A scorer's results; only its name is read."""

    name: str = ""


class LoggedResults(msgspec.Struct, frozen=True):
    """Results of a log; only who scored is read. In the oldest logs `scorer` is the only one."""

    scores: list[NamedResult] = []
    scorer: NamedResult | None = None


class LogHeader(msgspec.Struct, frozen=True):
    """All of a log but its samples."""

    version: int
    eval: LoggedTask
    status: str = "started"
    results: LoggedResults | None = None

    @property
    def scorer(self) -> str:
        """Who gave a score that has no name of its own."""
        results = self.results or LoggedResults()
        scorers = [*results.scores, *([results.scorer] if results.scorer is not None else [])]
        return next((scorer.name for scorer in scorers if scorer.name), "score")


class Provenance(msgspec.Struct, frozen=True):
    """Who changed a score, and why."""

    author: str = ""
    reason: str | None = None


class ScoreChange(msgspec.Struct, frozen=True):
    """A state of a score; the first of a history is what the scorer said, unless it has a provenance."""

    value: Any = UNCHANGED
    explanation: Any = UNCHANGED
    provenance: Provenance | None = None


class LoggedScore(msgspec.Struct, frozen=True):
    """What a scorer says of a sample, and how it was changed."""

    value: Any = None
    explanation: str | None = None
    reason: str | None = None
    metadata: dict[str, Any] | None = None
    history: list[ScoreChange] = []


class LoggedChoice(msgspec.Struct, frozen=True):
    """One of a model's answers."""

    message: dict[str, Any] = {}
    stop_reason: str = ""


class LoggedOutput(msgspec.Struct, frozen=True):
    """What the model answered last."""

    model: str = ""
    choices: list[LoggedChoice] = []
    error: str | None = None
    metadata: dict[str, Any] | None = None


class LoggedSample(msgspec.Struct, frozen=True):
    """One sample, once: `epoch` counts from 1."""

    id: int | str
    epoch: int = 1
    input: str | list[dict[str, Any]] = ""
    target: Any = ""
    messages: list[dict[str, Any]] = []
    output: LoggedOutput = LoggedOutput()
    scores: dict[str, LoggedScore] | None = None
    score: LoggedScore | None = None
    """The only one, in the oldest logs."""
    metadata: dict[str, Any] | None = None
    error: Any = None
    limit: Any = None
    invalidation: Any = None
    attachments: dict[str, str] = {}
    message_refs: list[tuple[int, int]] = []
    """Of a sample that is kept in pieces: which of its messages are the conversation, from and up to."""

    @property
    def failure(self) -> str:
        """Why it does not count, in one line; empty where it does."""
        if self.error is not None:
            message = self.error.get("message") if isinstance(self.error, dict) else self.error
            return f"the sample ended with an error: {' '.join(str(message or 'no message').split())[:300]}"
        if self.invalidation is not None:
            reason = self.invalidation.get("reason") if isinstance(self.invalidation, dict) else None
            return f"somebody called the sample invalid{f': {reason}' if reason else ''}"
        return ""

    @property
    def limited(self) -> str:
        """The limit that it reached; empty where it reached none."""
        kind = self.limit.get("type") if isinstance(self.limit, dict) else self.limit
        return str(kind or "")
