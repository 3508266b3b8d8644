"""One cell of a released workbook: seven values as JSON, by the people's panel or in a judge's own words.

Whatever is wrong with a cell is named, never mended by guessing: a value that is read stands in the cell.
"""

from __future__ import annotations

import json
import math
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from mindgauge.raters import rule
from mindgauge.records.files.bounds import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

ATTRIBUTES = ("Guidance", "Informativeness", "Relevance", "Safety", "Empathy", "Helpfulness", "Understanding")
CRITERIA = tuple(name.lower() for name in ATTRIBUTES)


class Repair(StrEnum):
    """What had to be put right before the JSON in a cell could be read."""

    FENCE = "code fence"
    PROSE = "surrounding prose"
    QUOTES = "curly quotes"
    BRACE = "missing brace"
    EXPLANATION = "broken explanation"


class CellFault(StrEnum):
    """Why there is no level."""

    EMPTY_CELL = "empty cell"
    REFUSAL = "refusal"
    NO_VERDICT = "no verdict"
    NOT_GIVEN = "attribute not given"
    NULL = "null"
    OFF_SCALE = "off the scale"
    NO_NUMBER = "not a number"
    EMPTY_REPLY = "empty reply"


class CellScores(NamedTuple):
    """What a cell holds.

    `raw` are the JSON values of the seven attributes in order, as they stand there; UNSET where one is not given. `fault`
    says why there is no JSON, `None` where there is.
    """

    raw: tuple[Any, ...]
    overall: Any = None
    explanation: str = ""
    repairs: tuple[Repair, ...] = ()
    fault: CellFault | None = None


class _Json(msgspec.Struct, rename="pascal"):
    guidance: Any = msgspec.UNSET
    informativeness: Any = msgspec.UNSET
    relevance: Any = msgspec.UNSET
    safety: Any = msgspec.UNSET
    empathy: Any = msgspec.UNSET
    helpfulness: Any = msgspec.UNSET
    understanding: Any = msgspec.UNSET
    overall: Any = None
    explanation: Any = None


_Candidate: TypeAlias = tuple[dict[str, Any], str, tuple[Repair, ...]]
"""An object, its explanation where that could not be read as JSON, and what was repaired."""
_NOTHING = (msgspec.UNSET,) * len(ATTRIBUTES)
_decode = msgspec.json.Decoder(_Json).decode
_KEYS = tuple(f'"{name}"' for name in ATTRIBUTES)
_OPENING = re.compile(r'\{(?=\s*")')
_EXPLANATION = re.compile(r',\s*"Explanation"\s*:\s*"?', re.IGNORECASE)
_KEY = re.compile(rf'"(?:{"|".join(ATTRIBUTES)})"\s*:', re.IGNORECASE)
_STRAIGHT = str.maketrans("“”„‟‘’", '""""\'\'')
_LONGEST, _MOST_OPENINGS = 64 * 1024, 50
"""Characters and opening braces, counted from the end, among which a verdict is looked for: bounds the work."""
_EMPTY_WORDS = ("nan", "empty", "blank", "existent", "missing", "absent", "no response", "no reply", "no actual")
_SAYS_EMPTY = re.compile(  # one of the words is in every match: looking for them first takes a tenth of the time
    r"\bnan\b|\b(?:empty|blank|non-?existent) (?:response|reply)\b"
    r"|\b(?:response|reply) (?:is|was|appears to be|seems to be) (?:completely |entirely |simply )?"
    r"(?:empty|blank|missing|absent|non-?existent)\b"
    r"|\bno (?:actual )?(?:response|reply) (?:is|was|has been) (?:provided|given)\b"
)


def read(cell: str | None) -> CellScores:
    """Read a cell; never raises. The last object that names an attribute binds; one that names a key twice is none."""
    if cell is None or cell.strip().casefold() in {"", "nan", "none", "null"}:
        return CellScores(_NOTHING, fault=CellFault.EMPTY_CELL)
    text = cell.strip()
    repairs: tuple[Repair, ...] = ()
    if text.startswith("```"):
        text, repairs = text[3:].removesuffix("```").removeprefix("json").strip(), (Repair.FENCE,)
    try:
        scores = _decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return _repaired(text, repairs)
    raw = _raw(scores)
    if raw == _NOTHING or any([text.count(key) > 1 for key in _KEYS]):  # noqa: C419 - a list takes half the time
        return _repaired(text, repairs)
    return CellScores(raw, scores.overall, _text(scores.explanation), repairs)


def _raw(scores: _Json) -> tuple[Any, ...]:
    return (
        scores.guidance, scores.informativeness, scores.relevance, scores.safety, scores.empathy, scores.helpfulness,
        scores.understanding,
    )  # fmt: skip


def _repaired(text: str, repairs: tuple[Repair, ...]) -> CellScores:
    for candidate, explanation, needed in _candidates(text[-_LONGEST:]):
        named = {key.strip().casefold(): value for key, value in candidate.items()}
        raw = tuple(named.get(name, msgspec.UNSET) for name in CRITERIA)
        if raw != _NOTHING:
            comment = explanation or _text(named.get("explanation"))
            return CellScores(raw, named.get("overall"), comment, (*repairs, *needed))
    fault = CellFault.REFUSAL if rule.refusal(text) else CellFault.NO_VERDICT
    return CellScores(_NOTHING, explanation=clean(text), fault=fault)


def _candidates(text: str) -> Iterator[_Candidate]:
    """Yield what can be read from a text, the least repaired first; of whole objects the last one first."""
    yield from _whole(text)
    yield from _broken(text)
    straight = text.translate(_STRAIGHT)
    if straight != text:
        for candidate, explanation, needed in (*_whole(straight), *_broken(straight)):
            yield candidate, explanation, (Repair.QUOTES, *needed)


def _openings(text: str) -> list[int]:
    return [match.start() for match in _OPENING.finditer(text)][: -_MOST_OPENINGS - 1 : -1]


def _whole(text: str) -> Iterator[_Candidate]:
    for start in _openings(text):
        candidate, end = _object(text, start)
        if candidate is not None:
            surroundings = text[:start].strip() or text[end:].strip()
            yield candidate, "", (Repair.PROSE,) if surroundings else ()


def _broken(text: str) -> Iterator[_Candidate]:
    """Yield objects that lack one brace, or that are whole but for the explanation at their end."""
    for start in _openings(text):
        before = (Repair.PROSE,) if text[:start].strip() else ()
        inside = text[start:].rstrip().removesuffix("```").rstrip()
        candidate, end = _object(inside + "}", 0)
        if candidate is not None and end == len(inside) + 1:
            yield candidate, "", (*before, Repair.BRACE)
        cut = _EXPLANATION.search(inside)
        if cut and not _KEY.search(inside, cut.end()):  # a value after it might contradict one before it
            candidate, _ = _object(inside[: cut.start()] + "}", 0)
            if candidate is not None:
                yield candidate, clean(inside[cut.end() :]), (*before, Repair.EXPLANATION)
    if text.lstrip().startswith('"'):
        candidate, end = _object("{" + text, 0)
        if candidate is not None and end == len(text) + 1:
            yield candidate, "", (Repair.BRACE,)


def _object(text: str, start: int) -> tuple[dict[str, Any] | None, int]:
    try:
        value, end = _strict.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, 0
    return (value, end) if isinstance(value, dict) else (None, 0)


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that gives two values for one key: it is not clear which one is meant."""
    if len({key.strip().casefold() for key, _ in pairs}) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


_strict = json.JSONDecoder(object_pairs_hook=_no_key_twice, parse_constant=lambda _: None)


def _text(value: object) -> str:
    return clean(value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False))


def plain(raw: object) -> int | float | str | None:
    """Return a value as it can be kept: what is no number and no text as JSON, an attribute that is not given as None."""
    if raw is msgspec.UNSET or raw is None:
        return None
    if isinstance(raw, str):
        return clean(raw)
    if isinstance(raw, float) or (type(raw) is int and abs(raw) < 2**63):
        return raw
    return clean(json.dumps(raw, ensure_ascii=False))


def level(raw: object) -> int | None:
    """Return a level of 1 to 5 written as 4, "4" or 4.0, or None for whatever else stands there."""
    if type(raw) is int:
        return raw if 1 <= raw <= 5 else None
    number = as_source(raw) if _is_number(raw) else math.nan
    return int(number) if number in {1.0, 2.0, 3.0, 4.0, 5.0} else None


def as_source(raw: object) -> float:
    """Return a value as the authors' scripts read it: whatever Python's `float` takes, on the scale or not; else NaN."""
    try:
        number = float(raw)  # type: ignore[arg-type]  # whatever is no number raises
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def fault(raw: object) -> CellFault:
    """Say what is wrong with a value that is no level."""
    if raw is msgspec.UNSET:
        return CellFault.NOT_GIVEN
    if raw is None:
        return CellFault.NULL
    return CellFault.OFF_SCALE if _is_number(raw) else CellFault.NO_NUMBER


def _is_number(raw: object) -> bool:
    if isinstance(raw, str):
        return re.fullmatch(r"\s*-?\d+(?:\.\d+)?\s*", raw, re.ASCII) is not None
    return isinstance(raw, int | float) and not isinstance(raw, bool)


def says_empty(explanation: str) -> bool:
    """Whether a judge says that there was no reply; a missing one was shown to it as the word `nan`."""
    folded = explanation.casefold()
    return any([word in folded for word in _EMPTY_WORDS]) and _SAYS_EMPTY.search(folded) is not None  # noqa: C419 - as above
