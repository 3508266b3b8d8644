"""Reading a judge's verdict: strictly, its own, and only where it gives one.

A judge may quote a verdict that somebody planted, or think aloud. So what repeats anything that it was shown is no verdict,
and an answer with two verdicts that differ is not read at all, whichever comes last. A value outside the scale is
`unparsable`, never the nearest level.

Beside its values a judge may state checks and what follows from them, a total, doubts; and it may change the language.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from mindgauge.raters import plain, rule
from mindgauge.raters.echo import NOTHING, unlined
from mindgauge.raters.json_objects import CLOSING, DOUBLED, HOLE, LONGEST, after_thinking, objects, without
from mindgauge.raters.quotes import chinese
from mindgauge.records import Status, Value
from mindgauge.records.files.bounds import clean
from mindgauge.records.regex import regex
from mindgauge.records.rubric import Method
from mindgauge.records.rubric.criterion import numbered, numbers_of_levels

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from mindgauge.raters.echo import PromptText
    from mindgauge.raters.json_objects import JsonObject
    from mindgauge.records.rubric import Criterion


RATIONALE, QUOTES, CHECKS, UNCERTAIN, MISFIT, VALUE = "rationale", "quotes", "checks", "uncertain", "misfit", "value"
YES, NO = "yes", "no"
_REASONS: dict[str, Any] = {
    QUOTES: {"type": "array", "items": {"type": "string", "maxLength": 80}, "maxItems": 2},
    RATIONALE: {"type": "string", "maxLength": 160},
}
_FLAG: dict[str, Any] = {"type": "boolean"}
_NOT_APPLICABLE = re.compile(rf"[\W_]*{Status.NOT_APPLICABLE}[\W_]*", re.IGNORECASE)
_STATED = regex(r"['\"“]?(?:总分|total)['\"”]?\s*[:：]\s*['\"]?(\d{1,2})\b", re.IGNORECASE)
NO_OBJECT = "there is no JSON object with the verdict in it"
TWICE = "a key occurs twice"
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
_EXPLAINED = {"explanation", "reason", "reasons", "reasoning", "justification", "解释", "理由"}
"""Keys that are allowed next to such a one, with words and nothing else."""
_FRACTION = regex(r"\s*(\d{1,4})\s*/\s*(\d{1,4})\s*")
_KEYS = frozenset((RATIONALE, QUOTES, CHECKS, UNCERTAIN, MISFIT, VALUE))
_MARKS = {('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("「", "」"), ("『", "』"), ("«", "»")}
_AROUND = " \t\r\n`"


class Verdict(msgspec.Struct, frozen=True):
    """What was read for one criterion.

    `problem` says what was wrong where nothing could be read, in words of ours alone; `answer_text` what stood there. `checks`
    are the answers in a chain of reasoning, `uncertain` whether the judge calls itself so, `misfit` whether it finds that
    the protocol does not fit the person's message.
    """

    status: Status
    value: Value | None = None
    rationale: str = ""
    quotes: tuple[str, ...] = ()
    problem: str = ""
    answer_text: str = ""
    checks: dict[str, str] = {}
    uncertain: bool = False
    misfit: bool = False


def schema_for(criteria: Sequence[Criterion], method: Method = Method.RULE) -> dict[str, Any]:
    """Write the JSON schema of a verdict: quotes and reasons first, so that they come before the value.

    In a chain of reasoning each criterion has an object of its own: checks, quotes, reason, value.
    The lengths keep a small model from running on; an endpoint that does not take them drops them.
    """
    if method.reasons:
        return _object({criterion.name: _chain_schema(criterion) for criterion in criteria})
    misfit = {MISFIT: _FLAG} if any(criterion.misfit for criterion in criteria) else {}
    return _object({**_REASONS, **misfit, **{criterion.name: _choice(criterion) for criterion in criteria}})


def _chain_schema(criterion: Criterion) -> dict[str, Any]:
    checks = _object({check.name: {"type": "string", "enum": [YES, NO]} for check in criterion.checks})
    questions = {CHECKS: checks} if criterion.checks else {}
    flags = {UNCERTAIN: _FLAG, **({MISFIT: _FLAG} if criterion.misfit else {})}
    return _object({**questions, **_REASONS, **flags, VALUE: _choice(criterion)})


def _choice(criterion: Criterion) -> dict[str, Any]:
    kinds = sorted({"integer" if isinstance(choice, int) else "string" for choice in criterion.choices})
    return {"type": kinds if len(kinds) > 1 else kinds[0], "enum": list(criterion.choices)}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def form_for(criteria: Sequence[Criterion], method: Method = Method.RULE) -> str:
    """Write the verdict's form as an example of the JSON, for the prompt."""
    if method.reasons:
        blocks = [f'  "{criterion.name}": {{\n{_chain_form(criterion)}\n  }}' for criterion in criteria]
        return "{\n" + ",\n".join(blocks) + "\n}"
    lines = [f'  "{QUOTES}": ["…"]', f'  "{RATIONALE}": "…"']
    lines += [f'  "{MISFIT}": false | true'] if any(criterion.misfit for criterion in criteria) else []
    return "{\n" + ",\n".join([*lines, *(f'  "{c.name}": {_choices(c)}' for c in criteria)]) + "\n}"


def _chain_form(criterion: Criterion) -> str:
    checks = ", ".join(f'"{check.name}": "{YES}" | "{NO}"' for check in criterion.checks)
    lines = [f'"{CHECKS}": {{{checks}}}'] if checks else []
    lines += [
        f'"{QUOTES}": ["…"]',
        f'"{RATIONALE}": "…"',
        f'"{UNCERTAIN}": false | true',
        *([f'"{MISFIT}": false | true'] if criterion.misfit else []),
        f'"{VALUE}": {_choices(criterion)}',
    ]
    return ",\n".join(f"    {line}" for line in lines)


def _choices(criterion: Criterion) -> str:
    return " | ".join(json.dumps(choice, ensure_ascii=False) for choice in criterion.choices)


def read(text: str, criteria: Sequence[Criterion], prompt_text: PromptText = NOTHING) -> dict[str, Verdict]:
    """Read one verdict per criterion from a model's answer, in either form; never raises.

    Args:
        text: what the model answered.
        criteria: that it was asked about.
        prompt_text: what others wrote and stood before the model; no part of it becomes a verdict.
    """
    answer = after_thinking(text)
    if len(answer) > LONGEST:
        return _unread(criteria, ENDLESS)
    if text.strip() and not answer.strip():
        return _unread(criteria, THOUGHT)
    return _read(unlined(answer), criteria, prompt_text)


def _read(answer: str, criteria: Sequence[Criterion], prompt_text: PromptText) -> dict[str, Verdict]:
    parts = objects(answer)
    rest = without(answer, parts)
    if CLOSING.search(rest):
        return _unread(criteria, THOUGHT_TWICE)
    names = frozenset(name.casefold() for criterion in criteria for name in (criterion.name, *criterion.aliases))
    alone = len(parts) == 1 and rest.strip(_AROUND).removeprefix("json").strip(_AROUND) == HOLE
    named = [candidate for part in parts if (candidate := _naming(part, names, alone=alone))]
    own = [candidate for candidate in named if not _quoted(candidate, answer, names, prompt_text)]
    broken = [part for part in parts if part.value is None and _could_be_one(part, answer, names)]
    if any(part.breaks_off or _hides(part, own, answer, prompt_text) for part in broken):
        return _unread(criteria, BROKEN)
    if own:
        return _only(own, rest, criteria, prompt_text)
    if named or broken:
        return _unread(criteria, QUOTED if named else BROKEN)
    if any(_mentions(part, answer, names) for part in parts):  # within another: a word beside it is no verdict either
        return _unread(criteria, NO_OBJECT)
    return _in_words(rest, criteria, prompt_text)


def _unread(criteria: Sequence[Criterion], problem: str) -> dict[str, Verdict]:
    return {criterion.name: Verdict(Status.UNPARSABLE, problem=problem) for criterion in criteria}


def _naming(part: JsonObject, names: frozenset[str], *, alone: bool) -> JsonObject | None:
    """Return an object if it has one of the names as a key of its own; the whole answer may wrap it (`{"verdict": {…}}`)."""
    value = part.value
    if alone and value is not None and not _named(value, names):
        words = [key for key in _named(value, _EXPLAINED) if isinstance(value[key], str)]
        inner = [value[key] for key in _named(value, _WRAPPERS) if isinstance(value[key], dict)]
        value = inner[0] if len(inner) == 1 and len(value) == 1 + len(words) else value
    return part._replace(value=value) if value is not None and _named(value, names) else None


def _named(content: Mapping[str, Any], names: Collection[str]) -> list[str]:
    """Return the keys of an object that are one of some names, whatever their case and the blanks around them."""
    return [key for key in content if key.strip().casefold() in names]


def _mentions(part: JsonObject, answer: str, names: frozenset[str]) -> bool:
    source = answer[part.start : part.end].casefold()
    return any(name in source for name in names)


def _could_be_one(part: JsonObject, answer: str, names: frozenset[str]) -> bool:
    """Whether an object that cannot be read may be the verdict."""
    begun = answer[part.start + 1 : part.end].lstrip()[:1]
    return _mentions(part, answer, names) or (part.breaks_off and begun in {'"', "'"})


def _hides(broken: JsonObject, own: list[JsonObject], answer: str, prompt_text: PromptText) -> bool:
    """Whether an object that cannot be read stands behind the verdict, or may have swallowed another one before it."""
    if not own:
        return False
    source = answer[broken.start : broken.end]
    return broken.start > own[-1].start or ("{" in source[1:] and not prompt_text.has(source))


def _quoted(part: JsonObject, answer: str, names: frozenset[str], prompt_text: PromptText) -> bool:
    """Whether an object stands between quotation marks, or repeats one that was shown."""
    marks = answer[part.start - 1 : part.start], answer[part.end : part.end + 1]
    if marks in _MARKS:
        return True
    value = part.value or {}
    return prompt_text.holds(value, _KEYS.union(_named(value, names)), RATIONALE, answer[part.start : part.end])


def _only(
    own: list[JsonObject], rest: str, criteria: Sequence[Criterion], prompt_text: PromptText
) -> dict[str, Verdict]:
    """Read the verdict that is given, perhaps several times; two that differ are none."""
    verdicts = [
        {criterion.name: _verdict(reading.value or {}, criterion, prompt_text) for criterion in criteria}
        for reading in own
    ]
    stated = [{name: (judged.status, judged.value) for name, judged in reading.items()} for reading in verdicts]
    if len(criteria) == 1 and criteria[0].plain:
        lines = plain.stated(rest, criteria[0], prompt_text)
        stated += [{criteria[0].name: (Status.OK, value)} for value in lines]
    return verdicts[-1] if all(reading == stated[0] for reading in stated) else _unread(criteria, TWO)


def _in_words(answer: str, criteria: Sequence[Criterion], prompt_text: PromptText) -> dict[str, Verdict]:
    """Read an answer without an object: of one criterion a level, or that it does not apply; else perhaps a refusal."""
    if len(criteria) == 1:
        (criterion,) = criteria
        value = plain.level(answer, criterion, prompt_text) if criterion.plain else rule.option(answer, criterion)
        if value is not None:
            return {criterion.name: Verdict(Status.OK, value)}
        if _inapplicable(answer, criterion):
            return {criterion.name: Verdict(Status.NOT_APPLICABLE)}
    words = rule.refusal(answer)
    if words and not prompt_text.says(words):
        return {criterion.name: Verdict(Status.REFUSED, problem=NO_OBJECT) for criterion in criteria}
    return _unread(criteria, NO_OBJECT)


def stated_total(text: str) -> int | None:
    """Return the total that an answer states; None where it states none, or two that differ."""
    stated = {int(total) for total in _STATED.findall(text[-LONGEST:])}
    return stated.pop() if len(stated) == 1 else None


def _verdict(content: dict[str, Any], criterion: Criterion, prompt_text: PromptText) -> Verdict:
    """Read one criterion's verdict: a value beside the reasons for all, or an object of its own."""
    names = {name.casefold() for name in (criterion.name, *criterion.aliases)}
    answers = [content[key] for key in _named(content, names)]
    own, levels = answers[0] if answers else None, {_level(answer, criterion) for answer in answers}
    reasons_given = own if isinstance(own, dict) else content
    checks = reasons_given.get(CHECKS)
    checks = checks if isinstance(checks, dict) else {}
    reasons = Verdict(
        Status.UNPARSABLE,
        rationale=_string(reasons_given.get(RATIONALE)),
        quotes=_quotes(reasons_given.get(QUOTES)),
        checks={clean(check): _string(answer) for check, answer in checks.items() if check != DOUBLED},
        uncertain=reasons_given.get(UNCERTAIN) is True,
        misfit=bool(criterion.misfit) and reasons_given.get(MISFIT) is True,
    )
    if not answers:
        return replace(reasons, problem=f'"{criterion.name}" is missing')
    if (
        DOUBLED in content
        or DOUBLED in reasons_given
        or DOUBLED in checks
        or (any(other != own for other in answers[1:]) and (len(levels) > 1 or None in levels))
    ):
        return replace(reasons, problem=TWICE)
    if isinstance(own, dict) and prompt_text.holds(own, _KEYS, RATIONALE):
        return replace(reasons, problem=QUOTED)
    answer = own.get(VALUE) if isinstance(own, dict) else own
    if _inapplicable(answer, criterion):
        return replace(reasons, status=Status.NOT_APPLICABLE)
    value = _level(answer, criterion)
    if value is None:
        problem = f'"{criterion.name}" is none of {", ".join(map(str, criterion.choices))}'
        return replace(reasons, problem=problem, answer_text=_string(answer)[:60])
    return replace(reasons, status=Status.OK, value=value)


def _level(answer: object, criterion: Criterion) -> Value | None:
    """Read a level, also as `4/5` where 5 is the highest."""
    fraction = _FRACTION.fullmatch(answer) if isinstance(answer, str) and numbered(criterion) else None
    if fraction is not None and criterion.read(fraction[2]) == max(numbers_of_levels(criterion).values()):
        return criterion.read(fraction[1])
    return criterion.read(answer)


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


_YES_OR_NO = {YES: True, "是": True, "true": True, NO: False, "否": False, "false": False}

in_chinese = lru_cache(maxsize=256)(chinese)
"""Of prompts, which are few, and of what repeats are answered alike."""


def reasoning(judged: Verdict, criterion: Criterion, *, asked_in_chinese: bool | None) -> dict[str, Any]:
    """Return what a verdict says beside its value, what follows from its checks, and whether it changed the language."""
    details: dict[str, Any] = {}
    if judged.problem:
        details["problem"] = judged.problem
    if judged.answer_text:
        details["said"] = judged.answer_text
    if judged.checks:
        details["checks"] = judged.checks
        checked = {name: _YES_OR_NO.get(answer.strip().casefold()) for name, answer in judged.checks.items()}
        stated = {name: answer for name, answer in checked.items() if answer is not None}
        if criterion.checks and (implied := criterion.implied(stated)) is not None:
            details["implied"] = implied
    answered = in_chinese(judged.rationale)
    if answered is not None and asked_in_chinese is not None and answered != asked_in_chinese:
        details["answered_in"] = "Chinese" if answered else "another language"
    if judged.uncertain:
        details["uncertain"] = True
    if judged.misfit:
        details["misfit"] = True
    return details


def miscounted(
    text: str, criteria: Sequence[Criterion], summed: Collection[str], verdicts: Mapping[str, Verdict]
) -> dict[str, int]:
    """Return the total that an answer states, where it is not that of its own values.

    Args:
        text: of the answer.
        criteria: that were asked about.
        summed: names of those that a total is of; where one of them was not asked about, no total is looked at.
        verdicts: what was read, by criterion. What has no value counts nothing.
    """
    if not summed:
        return {}
    parts = [criterion for criterion in criteria if criterion.name in summed]
    stated = stated_total(text) if len(parts) == len(summed) else None
    values = [(numbers_of_levels(criterion), verdicts[criterion.name].value) for criterion in parts]
    counted = sum(levels[value] for levels, value in values if value is not None)
    return {} if stated is None or stated == counted else {"stated_total": stated}
