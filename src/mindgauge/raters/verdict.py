"""Reading a judge's verdict: strictly, and the last complete one binds.

Earlier text can be planted (a reply may quote a fake verdict, a model may think aloud), so what counts is the last
JSON object that answers a criterion. A value outside the scale is `unparsable`, never the nearest level.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from mindgauge.raters import plain, rule
from mindgauge.raters.objects import DOUBLED, LONGEST, after_thinking, json_objects, literals
from mindgauge.records import Status, Value
from mindgauge.rubric import Method
from mindgauge.tables import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.rubric import Criterion

RATIONALE, QUOTES, CHECKS, UNCERTAIN, VALUE = "rationale", "quotes", "checks", "uncertain", "value"
YES, NO = "yes", "no"
_REASONS: dict[str, Any] = {
    QUOTES: {"type": "array", "items": {"type": "string", "maxLength": 80}, "maxItems": 2},
    RATIONALE: {"type": "string", "maxLength": 160},
}
_NOT_APPLICABLE = re.compile(rf"[\W_]*{Status.NOT_APPLICABLE}[\W_]*", re.IGNORECASE)
_STATED = re.compile(r"['\"“]?(?:总分|total)['\"”]?\s*[:：]\s*['\"]?(\d{1,2})\b", re.IGNORECASE)
NO_OBJECT = "there is no JSON object with the verdict in it"
TWICE = "a key stands there twice"
BROKEN = "the JSON object breaks off"
CUT = "it was cut off at the longest answer allowed"
THOUGHT = "nothing stands there after its thinking"


class Verdict(msgspec.Struct, frozen=True):
    """What was read for one criterion.

    `problem` says what was wrong where nothing could be read, in words of ours alone; `said` what stood there. `checks`
    are the answers in a chain of reasoning, `uncertain` whether the judge calls itself so.
    """

    status: Status
    value: Value | None = None
    rationale: str = ""
    quotes: tuple[str, ...] = ()
    problem: str = ""
    said: str = ""
    checks: dict[str, str] = {}
    uncertain: bool = False


def schema_for(criteria: Sequence[Criterion], method: Method = Method.RULE) -> dict[str, Any]:
    """Write the JSON schema of a verdict: quotes and reasons first, so that they come before the value.

    In a chain of reasoning each criterion has an object of its own: checks, quotes, reason, value.
    The lengths keep a small model from running on; an endpoint that does not take them drops them.
    """
    if method is Method.CHAIN:
        return _object({criterion.name: _chain_schema(criterion) for criterion in criteria})
    return _object({**_REASONS, **{criterion.name: _choice(criterion) for criterion in criteria}})


def _chain_schema(criterion: Criterion) -> dict[str, Any]:
    checks = _object({check.name: {"type": "string", "enum": [YES, NO]} for check in criterion.checks})
    asked = {CHECKS: checks} if criterion.checks else {}
    return _object({**asked, **_REASONS, UNCERTAIN: {"type": "boolean"}, VALUE: _choice(criterion)})


def _choice(criterion: Criterion) -> dict[str, Any]:
    kinds = sorted({"integer" if isinstance(choice, int) else "string" for choice in criterion.choices})
    return {"type": kinds if len(kinds) > 1 else kinds[0], "enum": list(criterion.choices)}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def form_for(criteria: Sequence[Criterion], method: Method = Method.RULE) -> str:
    """Write the verdict's form as an example of the JSON, for the prompt."""
    if method is Method.CHAIN:
        blocks = [f'  "{criterion.name}": {{\n{_chain_form(criterion)}\n  }}' for criterion in criteria]
        return "{\n" + ",\n".join(blocks) + "\n}"
    lines = [f'  "{QUOTES}": ["…"]', f'  "{RATIONALE}": "…"']
    return "{\n" + ",\n".join([*lines, *(f'  "{c.name}": {_choices(c)}' for c in criteria)]) + "\n}"


def _chain_form(criterion: Criterion) -> str:
    checks = ", ".join(f'"{check.name}": "{YES}" | "{NO}"' for check in criterion.checks)
    lines = [f'"{CHECKS}": {{{checks}}}'] if checks else []
    lines += [
        f'"{QUOTES}": ["…"]',
        f'"{RATIONALE}": "…"',
        f'"{UNCERTAIN}": false | true',
        f'"{VALUE}": {_choices(criterion)}',
    ]
    return ",\n".join(f"    {line}" for line in lines)


def _choices(criterion: Criterion) -> str:
    return " | ".join(json.dumps(choice, ensure_ascii=False) for choice in criterion.choices)


def read(text: str, criteria: Sequence[Criterion]) -> dict[str, Verdict]:
    """Read one verdict per criterion from a model's answer, in either form; never raises."""
    names = {name for criterion in criteria for name in (criterion.name, *criterion.aliases)}
    told = after_thinking(text)
    found, problem = (None, THOUGHT) if text.strip() and not told.strip() else _last_object(told, names)
    if found is None and problem is NO_OBJECT:
        found = _literal(told, names)
    if found is None and len(criteria) == 1 and problem is NO_OBJECT:
        (criterion,) = criteria
        value = plain.level(told, criterion) if criterion.plain else rule.option(told, criterion)
        if value is not None:
            return {criterion.name: Verdict(Status.OK, value)}
        if _inapplicable(told, criterion):
            return {criterion.name: Verdict(Status.NOT_APPLICABLE)}
    if found is None:
        status = Status.REFUSED if problem is NO_OBJECT and rule.refusal(told) else Status.UNPARSABLE
        return {c.name: Verdict(status, problem=problem) for c in criteria}
    return {criterion.name: _verdict(found, criterion) for criterion in criteria}


def stated_total(text: str) -> int | None:
    """Return the last total that an answer states; None where it states none."""
    stated = _STATED.findall(text[-LONGEST:])
    return int(stated[-1]) if stated else None


def _verdict(found: dict[str, Any], criterion: Criterion) -> Verdict:
    """Read one criterion's verdict: a value beside the reasons for all, or an object of its own."""
    answers = [found[name] for name in (criterion.name, *criterion.aliases) if name in found]
    own = answers[0] if answers else None
    told = own if isinstance(own, dict) else found
    checks = told.get(CHECKS)
    checks = checks if isinstance(checks, dict) else {}
    reasons = Verdict(
        Status.UNPARSABLE,
        rationale=_string(told.get(RATIONALE)),
        quotes=_quotes(told.get(QUOTES)),
        checks={clean(check): _string(answer) for check, answer in checks.items() if check != DOUBLED},
        uncertain=told.get(UNCERTAIN) is True,
    )
    if not answers:
        return replace(reasons, problem=f'"{criterion.name}" is missing')
    if DOUBLED in told or DOUBLED in checks or any(other != own for other in answers):
        return replace(reasons, problem=TWICE)
    answer = own.get(VALUE) if isinstance(own, dict) else own
    if _inapplicable(answer, criterion):
        return replace(reasons, status=Status.NOT_APPLICABLE)
    value = criterion.read(answer)
    if value is None:
        problem = f'"{criterion.name}" is none of {", ".join(map(str, criterion.choices))}'
        return replace(reasons, problem=problem, said=_string(answer)[:60])
    return replace(reasons, status=Status.OK, value=value)


def _quotes(quotes: object) -> tuple[str, ...]:
    return tuple(_string(quote) for quote in quotes if quote) if isinstance(quotes, list) else ()


def _inapplicable(answer: object, criterion: Criterion) -> bool:
    """Say whether the answer is that the criterion does not apply, where the rubric allows it."""
    if not criterion.not_applicable or not isinstance(answer, str):
        return False
    return _NOT_APPLICABLE.fullmatch(answer) is not None


def _string(value: object) -> str:
    """Write whatever stands in a place for words as text that can be kept."""
    if value is None or isinstance(value, str):
        return clean(value or "")
    try:
        return clean(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return "…"


def _last_object(text: str, names: set[str]) -> tuple[dict[str, Any] | None, str]:
    """Return the last object that has one of the names as a key of its own, and what was wrong where there is none.

    What stands inside another object does not count: a judge may quote a verdict within its own. Where the last object
    is broken or breaks off, what stood before it was not the verdict.
    """
    found, problem = None, NO_OBJECT
    for one in json_objects(text):
        value = one.value
        if value is None:
            if one.breaks_off or (found and any(f'"{name}"' in text[one.start : one.end] for name in names)):
                found, problem = None, BROKEN
            continue
        if len(value) == 1 and not names & value.keys():
            (inner,) = value.values()  # {"verdict": {…}}
            value = inner if isinstance(inner, dict) else value
        if names & value.keys():
            found, problem = (None, TWICE) if DOUBLED in value else (value, "")
    return found, problem


def _literal(text: str, names: set[str]) -> dict[str, Any] | None:
    """Return the last dictionary as Python writes it (single quotes); none where one is not to be read."""
    found = None
    for one in literals(text):
        if one.value is None:  # one that breaks off may hold another: nothing after it is sure
            return None
        found = one.value if names & one.value.keys() else found
    return found
