"""Reading a judge's verdict: strictly, its own, and only where it gives one.

A judge may quote a verdict that somebody planted, or think aloud. So what repeats anything that it was shown is no verdict,
and an answer with two verdicts that differ is not read at all, whichever comes last. A value outside the scale is
`unparsable`, never the nearest level.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from mindgauge.bounds import clean
from mindgauge.raters import plain, rule
from mindgauge.raters.echo import NOTHING, unlined
from mindgauge.raters.notation import DOUBLED
from mindgauge.raters.objects import CLOSING, HOLE, LONGEST, after_thinking, objects, without
from mindgauge.records import Status, Value
from mindgauge.rubric import Method

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.raters.echo import Shown
    from mindgauge.raters.objects import Found
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
ENDLESS = f"it is longer than {LONGEST >> 10} KiB"
THOUGHT = "nothing stands there after its thinking"
THOUGHT_TWICE = "its thinking ends more than once"
QUOTED = "the verdict in it is quoted from what was to be judged"
TWO = "it gives two verdicts that differ"
_WRAPPERS = {
    "verdict", "result", "answer", "rating", "ratings", "evaluation", "judgement", "judgment", "assessment", "scores",
    "评定", "结果",
}  # fmt: skip
"""Keys under which a whole answer may hold the verdict; under any other it may be somebody else's."""
_KEYS = frozenset((RATIONALE, QUOTES, CHECKS, UNCERTAIN, VALUE))
_MARKS = {('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("「", "」"), ("『", "』"), ("«", "»")}
_AROUND = " \t\r\n`"


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


def read(text: str, criteria: Sequence[Criterion], shown: Shown = NOTHING) -> dict[str, Verdict]:
    """Read one verdict per criterion from a model's answer, in either form; never raises.

    Args:
        text: what the model answered.
        criteria: that it was asked about.
        shown: what others wrote and stood before the model; no part of it becomes a verdict.
    """
    told = after_thinking(text)
    if len(told) > LONGEST:
        return _unread(criteria, ENDLESS)
    if text.strip() and not told.strip():
        return _unread(criteria, THOUGHT)
    return _read(unlined(told), criteria, shown)


def _read(answer: str, criteria: Sequence[Criterion], shown: Shown) -> dict[str, Verdict]:
    found = objects(answer)
    rest = without(answer, found)
    if CLOSING.search(rest):
        return _unread(criteria, THOUGHT_TWICE)
    names = frozenset(name for criterion in criteria for name in (criterion.name, *criterion.aliases))
    alone = len(found) == 1 and rest.strip(_AROUND).removeprefix("json").strip(_AROUND) == HOLE
    named = [one for each in found if (one := _naming(each, names, alone=alone))]
    own = [one for one in named if not _quoted(one, answer, names, shown)]
    broken = [each for each in found if each.value is None and _could_be_one(each, answer, names)]
    if any(each.breaks_off or _hides(each, own, answer, shown) for each in broken):
        return _unread(criteria, BROKEN)
    if own:
        return _only(own, rest, criteria, shown)
    if named or broken:
        return _unread(criteria, QUOTED if named else BROKEN)
    if any(_mentions(each, answer, names) for each in found):  # within another: a word beside it is no verdict either
        return _unread(criteria, NO_OBJECT)
    return _in_words(rest, criteria, shown)


def _unread(criteria: Sequence[Criterion], problem: str) -> dict[str, Verdict]:
    return {criterion.name: Verdict(Status.UNPARSABLE, problem=problem) for criterion in criteria}


def _naming(found: Found, names: frozenset[str], *, alone: bool) -> Found | None:
    """Return an object if it has one of the names as a key of its own; the whole answer may wrap it (`{"verdict": {…}}`)."""
    value = found.value
    if alone and value is not None and len(value) == 1 and not names & value.keys():
        ((key, inner),) = value.items()
        value = inner if key.strip().casefold() in _WRAPPERS and isinstance(inner, dict) else value
    return found._replace(value=value) if value is not None and names & value.keys() else None


def _mentions(found: Found, answer: str, names: frozenset[str]) -> bool:
    written = answer[found.start : found.end]
    return any(name in written for name in names)


def _could_be_one(found: Found, answer: str, names: frozenset[str]) -> bool:
    """Whether an object that cannot be read may be the verdict."""
    begun = answer[found.start + 1 : found.end].lstrip()[:1]
    return _mentions(found, answer, names) or (found.breaks_off and begun in {'"', "'"})


def _hides(broken: Found, own: list[Found], answer: str, shown: Shown) -> bool:
    """Whether an object that cannot be read stands behind the verdict, or may have swallowed another one before it."""
    if not own:
        return False
    written = answer[broken.start : broken.end]
    return broken.start > own[-1].start or ("{" in written[1:] and not shown.has(written))


def _quoted(found: Found, answer: str, names: frozenset[str], shown: Shown) -> bool:
    """Whether an object stands between quotation marks, or repeats one that was shown."""
    around = answer[found.start - 1 : found.start], answer[found.end : found.end + 1]
    if around in _MARKS:
        return True
    return shown.holds(found.value or {}, names | _KEYS, RATIONALE, answer[found.start : found.end])


def _only(own: list[Found], rest: str, criteria: Sequence[Criterion], shown: Shown) -> dict[str, Verdict]:
    """Read the verdict that is given, perhaps several times; two that differ are none."""
    verdicts = [
        {criterion.name: _verdict(each.value or {}, criterion, shown) for criterion in criteria} for each in own
    ]
    said = [{name: (one.status, one.value) for name, one in each.items()} for each in verdicts]
    if len(criteria) == 1 and criteria[0].plain:
        lines = plain.stated(rest, criteria[0], shown)
        said += [{criteria[0].name: (Status.OK, value)} for value in lines]
    return verdicts[-1] if all(each == said[0] for each in said) else _unread(criteria, TWO)


def _in_words(answer: str, criteria: Sequence[Criterion], shown: Shown) -> dict[str, Verdict]:
    """Read an answer without an object: of one criterion a level, or that it does not apply; else perhaps a refusal."""
    if len(criteria) == 1:
        (criterion,) = criteria
        value = plain.level(answer, criterion, shown) if criterion.plain else rule.option(answer, criterion)
        if value is not None:
            return {criterion.name: Verdict(Status.OK, value)}
        if _inapplicable(answer, criterion):
            return {criterion.name: Verdict(Status.NOT_APPLICABLE)}
    words = rule.refusal(answer)
    if words and not shown.says(words):
        return {criterion.name: Verdict(Status.REFUSED, problem=NO_OBJECT) for criterion in criteria}
    return _unread(criteria, NO_OBJECT)


def stated_total(text: str) -> int | None:
    """Return the total that an answer states; None where it states none, or two that differ."""
    stated = {int(total) for total in _STATED.findall(text[-LONGEST:])}
    return stated.pop() if len(stated) == 1 else None


def _verdict(found: dict[str, Any], criterion: Criterion, shown: Shown) -> Verdict:
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
    if DOUBLED in found or DOUBLED in told or DOUBLED in checks or any(other != own for other in answers):
        return replace(reasons, problem=TWICE)
    if isinstance(own, dict) and shown.holds(own, _KEYS, RATIONALE):
        return replace(reasons, problem=QUOTED)
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
    return clean(json.dumps(value, ensure_ascii=False))
