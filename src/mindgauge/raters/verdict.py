"""Reading a judge's verdict: strictly, and the last complete one binds.

Earlier text can be planted (a reply may quote a fake verdict, a model may think aloud), so what counts is the last
JSON object that answers a criterion. A value outside the scale is `unparsable`, never the nearest level.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.raters import rule
from mindgauge.records import Evidence, Status, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.rubric import Criterion

RATIONALE, QUOTES = "rationale", "quotes"
_NOT_APPLICABLE = re.compile(rf"[\W_]*{Status.NOT_APPLICABLE}[\W_]*", re.IGNORECASE)
_OPENING = re.compile(r'\{\s*"')
_MOST_OPENINGS = 400
"""How many places a verdict may begin at, counted from the end; bounds the work on a text made to be slow."""
_LONGEST = 64 * 1024
"""Characters, counted from the end, in which the verdict is looked for."""


class Verdict(msgspec.Struct, frozen=True):
    """What was read for one criterion. `problem` says what was wrong where nothing could be read."""

    status: Status
    value: Value | None = None
    rationale: str = ""
    quotes: tuple[str, ...] = ()
    problem: str = ""


def schema_for(criteria: Sequence[Criterion]) -> dict[str, Any]:
    """Write the JSON schema of a verdict: quotes and reasons first, so that they come before the value.

    The lengths keep a small model from running on; an endpoint that does not take them drops them.
    """
    properties: dict[str, Any] = {
        QUOTES: {"type": "array", "items": {"type": "string", "maxLength": 80}, "maxItems": 2},
        RATIONALE: {"type": "string", "maxLength": 160},
    }
    for criterion in criteria:
        kinds = sorted({"integer" if isinstance(choice, int) else "string" for choice in criterion.choices})
        properties[criterion.name] = {"type": kinds if len(kinds) > 1 else kinds[0], "enum": list(criterion.choices)}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def form_for(criteria: Sequence[Criterion]) -> str:
    """Write the verdict's form as an example of the JSON, for the prompt."""
    lines = [f'  "{QUOTES}": ["…"],', f'  "{RATIONALE}": "…",']
    for criterion in criteria:
        choices = " | ".join(json.dumps(choice, ensure_ascii=False) for choice in criterion.choices)
        lines.append(f'  "{criterion.name}": {choices},')
    return "{\n" + "\n".join(lines).removesuffix(",") + "\n}"


def read(text: str, criteria: Sequence[Criterion]) -> dict[str, Verdict]:
    """Read one verdict per criterion from a model's answer; never raises."""
    found = _last_object(text[-_LONGEST:], {criterion.name for criterion in criteria})
    if found is None and len(criteria) == 1:
        value = rule.option(text, criteria[0])
        if value is not None:
            return {criteria[0].name: Verdict(Status.OK, value)}
        if _inapplicable(text, criteria[0]):
            return {criteria[0].name: Verdict(Status.NOT_APPLICABLE)}
    if found is None:
        status = Status.REFUSED if rule.refusal(text) else Status.UNPARSABLE
        return {c.name: Verdict(status, problem="there is no JSON object with the verdict in it") for c in criteria}
    rationale = _string(found.get(RATIONALE))
    quotes = found.get(QUOTES)
    quoted = tuple(_string(quote) for quote in quotes if quote) if isinstance(quotes, list) else ()
    return {criterion.name: _verdict(found, criterion, rationale, quoted) for criterion in criteria}


def _verdict(found: dict[str, Any], criterion: Criterion, rationale: str, quotes: tuple[str, ...]) -> Verdict:
    if criterion.name not in found:
        return Verdict(Status.UNPARSABLE, None, rationale, quotes, f'"{criterion.name}" is missing')
    answer = found[criterion.name]
    if _inapplicable(answer, criterion):
        return Verdict(Status.NOT_APPLICABLE, None, rationale, quotes)
    value = criterion.read(answer)
    if value is None:
        allowed = ", ".join(map(str, criterion.choices))
        problem = f'"{criterion.name}" is {answer!r:.60}, allowed are {allowed}'
        return Verdict(Status.UNPARSABLE, None, rationale, quotes, problem)
    return Verdict(Status.OK, value, rationale, quotes)


def _inapplicable(answer: object, criterion: Criterion) -> bool:
    """Say whether the answer is that the criterion does not apply, where the rubric allows it."""
    if not criterion.not_applicable or not isinstance(answer, str):
        return False
    return _NOT_APPLICABLE.fullmatch(answer) is not None


def _string(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _last_object(text: str, names: set[str]) -> dict[str, Any] | None:
    """Return the last complete JSON object that has one of the names as a key."""
    decoder = json.JSONDecoder(object_pairs_hook=_no_key_twice)
    for start in reversed([match.start() for match in _OPENING.finditer(text)][-_MOST_OPENINGS:]):
        try:
            found, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and names & found.keys():
            return found
    return None


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that gives two values for one key: it is not clear which one is meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands there twice")
    return found


def check(quotes: Sequence[str], source: str) -> tuple[Evidence, ...]:
    """Look each quote up in the text it claims to come from, letter case, width, blanks and quotation marks aside."""
    folded = _fold(source)
    return tuple(Evidence(quote, found=bool(_fold(quote)) and _fold(quote) in folded) for quote in quotes)


def _fold(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())
