"""What a run without text keeps of records: hashes, values, statuses and places, and nothing that anybody said.

What is kept is named; what is not named is not kept, so that a field that is new says nothing until it is looked at.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from mindgauge.records import Evidence, Exchange, Message, Rating, Reply, Sample, Status, digest
from mindgauge.records.records import REASONING
from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_TAG = 64
"""Characters of a tag, an id or a label; those of benchmarks have at most 47, and what is longer may be somebody's words."""
NOT_KEPT = "kept without text"
_WITHHELD = re.compile(rf"\({NOT_KEPT}: (\d+) characters, hash [0-9a-f]{{32}}\)")
_NAME = re.compile(r"[A-Za-z0-9_.:/@+-]{1,100}")
"""A name as programs give them. Who can say anything at all, a server or a judge, can put no sentence into one."""
_ANSWERS = frozenset({"yes", "no", "true", "false", "是", "否"})
_ERRORS = regex(
    r"(?P<status>[1-5]\d\d)\b.*|(?P<kind>[A-Z][A-Za-z]{2,40}): .*|no answer within [\d.]+ s|the answer is empty"
    r"|nothing follows the model's reasoning|an answer without a choice|(an empty body|HTML|half or unexpected JSON|plain text) instead of a chat completion"
    r"|there is no JSON object with the verdict in it|no protocol: the category is unknown"
    r"|the reply has not the part that is judged|what is to be rated is longer than the model's context",
    re.DOTALL,
)
"""What is said of a failure that can be kept: words of ours whole, of others' the status or the kind."""


def withheld(text: str) -> str:
    """Return what stands in the place of a text: that it is not kept, how long it was, and its hash. Nothing stays nothing."""
    return f"({NOT_KEPT}: {len(text)} characters, hash {digest('text', text)})" if text else ""


def characters(text: str) -> int:
    """Return how long a text is, or was where it is not kept."""
    match = _WITHHELD.fullmatch(text)
    return int(match[1]) if match else len(text)


def bare_sample(sample: Sample) -> Sample:
    """Return a sample with its ids, tags and target, and of its messages who spoke, how much, and the hash."""
    messages = tuple(Message(message.role, withheld(message.content)) for message in sample.messages)
    tags = {name: _label(value) for name, value in sample.tags.items()}
    return Sample(sample.id, messages, _label(sample.target), tags, _label(sample.cluster))


def bare_reply(reply: Reply) -> Reply:
    """Return a reply with its id, which hashes what it says, its status and what it took."""
    provenance = _provenance(reply.provenance, reply.status)
    provenance |= {REASONING: withheld(reply.reasoning)} if reply.reasoning else {}
    return replace(reply, text=withheld(reply.text), finish_reason=_name(reply.finish_reason), provenance=provenance)


def bare_rating(rating: Rating) -> Rating:
    """Return a rating with its value and how it came about; of what it quotes only where that stands."""
    evidence = tuple(Evidence("", e.found, e.source, e.start, e.end) for e in rating.evidence)
    provenance = _provenance(rating.provenance, rating.status)
    return replace(rating, value=_label(rating.value), rationale="", evidence=evidence, provenance=provenance)


def bare_call(call: Exchange) -> Exchange:
    """Return a call with what it took and what kind of failure it was."""
    names = {field: _name(getattr(call, field)) for field in ("finish_reason", "model_resolved", "fingerprint")}
    return replace(call, text="", error=_error(call.error), **names)


def _label(value: Any) -> Any:
    """Return a tag, an id or a value; a text that is too long to be one is named by its hash."""
    return digest("label", value) if isinstance(value, str) and len(value) > LONGEST_TAG else value


def _name(text: str) -> str:
    return text if _NAME.fullmatch(text) else ""


def _error(text: str) -> str:
    match = _ERRORS.fullmatch(text)
    return (match["status"] or match["kind"] or text) if match else NOT_KEPT * bool(text)


_KEPT: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys((
        "abstained", "answered_in", "at", "began", "call", "calls", "endpoint", "misfit", "parameters", "probabilities", "protocol",
        "seconds", "seed", "seen", "shots", "software", "source_file", "source_row", "stated_total", "turn", "uncertain", "unit",
        "unsupported", "window",
    ), lambda value: value),
    **dict.fromkeys(("model", "fingerprint", "batch"), _name),
    **dict.fromkeys(("dialogue", "source_id"), lambda value: _label(str(value))),
    "implied": _label, "error": _error, "problem": _error,
    "checks": lambda checks: {
        name: answer if answer.strip().casefold() in _ANSWERS else "" for name, answer in checks.items() if _NAME.fullmatch(name)
    },
    "path": lambda path: [{name: value for name, value in node.items() if name != "rationale"} for node in path],
}  # fmt: skip
"""What is kept of where a record comes from, and how. Where an answer could be read but not used, the problem is in words of ours."""


def _provenance(provenance: dict[str, Any], status: Status) -> dict[str, Any]:
    rules = _KEPT | ({"problem": str} if status is Status.UNPARSABLE else {})
    return {name: rules[name](value) for name, value in provenance.items() if name in rules}
