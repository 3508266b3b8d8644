"""Records without anything that anybody said: what a run without text keeps of samples, replies, ratings and calls.

What is kept is named; what is not named is not kept, so that a field that is new says nothing until it is looked at.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from mindgauge.records import Evidence, Exchange, Message, Rating, Reply, Sample, Status, Value, digest

LONGEST_TAG = 64
"""Characters of a tag, an id or a label; those of benchmarks have at most 47, and what is longer may be somebody's words."""
NOT_KEPT = "kept without text"
_WITHHELD = re.compile(rf"\({NOT_KEPT}: (\d+) characters, hash [0-9a-f]{{32}}\)")
_NAME = re.compile(r"[A-Za-z0-9_.:/@+-]{1,100}")
"""A name as programs give them. Who can say anything at all, a server or a judge, can put no sentence into one."""
_ANSWERS = frozenset({"yes", "no", "true", "false", "是", "否"})
_ERRORS = re.compile(
    r"(?P<status>[1-5]\d\d)\b.*|(?P<kind>[A-Z][A-Za-z]{2,40}): .*|no answer within [\d.]+ s|the answer is empty"
    r"|an answer without a choice|(an empty body|HTML|half or unexpected JSON|plain text) instead of a chat completion"
    r"|there is no JSON object with the verdict in it|no protocol: the category is unknown"
    r"|the reply has not the part that is judged|what is to be rated is longer than the model's context",
    re.DOTALL,
)
"""What is said of a failure that can be kept: words of ours whole, of others' the status or the kind."""
_PLAIN = frozenset({
    "abstained", "answered_in", "at", "began", "call", "calls", "endpoint", "parameters", "probabilities", "protocol", "seconds", "seed",
    "seen", "shots", "software", "source_file", "source_row", "stated_total", "turn", "uncertain", "unit", "unsupported", "window",
})  # fmt: skip


def withheld(text: str) -> str:
    """Return what stands in the place of a text: that it is not kept, how long it was, and its hash. Nothing stays nothing."""
    return f"({NOT_KEPT}: {len(text)} characters, hash {digest('text', text)})" if text else ""


def characters(text: str) -> int:
    """Return how long a text is, or was where it is not kept."""
    match = _WITHHELD.fullmatch(text)
    return int(match[1]) if match else len(text)


def without_text(sample: Sample) -> Sample:
    """Return a sample with its ids, tags and target, and of its messages who spoke, how much, and the hash."""
    messages = tuple(Message(message.role, withheld(message.content)) for message in sample.messages)
    tags = {name: _label(value) for name, value in sample.tags.items()}
    target = sample.target if sample.target is None else _value(sample.target)
    return Sample(sample.id, messages, target, tags, _label(sample.cluster))


def bare_reply(reply: Reply) -> Reply:
    """Return a reply with its id, which hashes what it says, its status and what it took."""
    reason, provenance = _name(reply.finish_reason), _provenance(reply.provenance, reply.status)
    return replace(reply, text=withheld(reply.text), finish_reason=reason, provenance=provenance)


def bare_rating(rating: Rating) -> Rating:
    """Return a rating with its value and how it came about; of what it quotes only where that stands."""
    return replace(
        rating,
        value=None if rating.value is None else _value(rating.value),
        rationale="",
        evidence=tuple(Evidence("", e.found, e.source, e.start, e.end) for e in rating.evidence),
        provenance=_provenance(rating.provenance, rating.status),
    )


def bare_call(call: Exchange) -> Exchange:
    """Return a call with what it took and what kind of failure it was."""
    return replace(
        call,
        text="",
        finish_reason=_name(call.finish_reason),
        model_resolved=_name(call.model_resolved),
        fingerprint=_name(call.fingerprint),
        error=_error(call.error),
    )


def _provenance(provenance: dict[str, Any], status: Status) -> dict[str, Any]:
    plain = {name: value for name, value in provenance.items() if name in _PLAIN}
    plain |= {name: _name(provenance[name]) for name in ("model", "fingerprint", "batch") if name in provenance}
    plain |= {name: _label(str(provenance[name])) for name in ("dialogue", "source_id") if name in provenance}
    if "implied" in provenance:
        plain["implied"] = _value(provenance["implied"])
    if "error" in provenance:
        plain["error"] = _error(provenance["error"])
    if "problem" in provenance:  # where an answer could be read but not used, it is in words of ours
        plain["problem"] = provenance["problem"] if status is Status.UNPARSABLE else _error(provenance["problem"])
    if "checks" in provenance:
        plain["checks"] = {
            name: answer if answer.strip().casefold() in _ANSWERS else ""
            for name, answer in provenance["checks"].items()
            if _NAME.fullmatch(name)
        }
    if "path" in provenance:
        plain["path"] = [{k: v for k, v in node.items() if k != "rationale"} for node in provenance["path"]]
    return plain


def _label(value: str) -> str:
    """Return a tag or an id; what is too long to be one is told apart by its hash."""
    return value if len(value) <= LONGEST_TAG else digest("label", value)


def _value(value: Value) -> Value:
    return _label(value) if isinstance(value, str) else value


def _name(text: str) -> str:
    return text if _NAME.fullmatch(text) else ""


def _error(text: str) -> str:
    match = _ERRORS.fullmatch(text)
    return (match["status"] or match["kind"] or text) if match else NOT_KEPT * bool(text)
