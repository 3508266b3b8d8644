"""Which level an answer in plain words names: a letter, a number with its sign or in words, a label; never two.

An answer in words is read only where it begins with the level, or with words that lead to one (`I would say`), in a line
that the answer begins or ends with, or that says `answer:`. A level that stands elsewhere may be somebody else's.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from mindgauge.raters.echo import NOTHING, PromptText, unquoted
from mindgauge.raters.rule import lone_letter
from mindgauge.records.regex import regex
from mindgauge.records.text import HAN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.records import Value
    from mindgauge.records.rubric import Criterion

_START = regex(r"(?:[\s*_#~`•·(\[“\"'「=:：]|[-–—](?=\s))*+")
_ANSWER = "final answer|answer|rating|verdict|答案|评分"
_LEAD = (
    r"(?:(?:so|well|ok(?:ay)?|overall|thus|hence|therefore)\b,? )?+"
    r"(?:(?:(?:my|the|an?) )?+(?:(?:final|best|correct|right|overall|honest) )*+"
    r"(?:{names}|rating|level|label|number|score|choice|option|value|judge?ment|estimate)\b(?: (?:is|would be|should be))?+"
    r"|i(?:'d|’d| would| will|'ll|’ll)? (?:say|choose|pick|rate(?: it| this)?(?: as| at)?|estimate|answer|go (?:with|for)"
    r"|give(?: it| this)?(?: an?)?|select|call(?: it| this)?|guess|put(?: it)?(?: at)?"
    r"|think(?: that)?(?: (?:it|this|you|they|the \w{{1,20}}) (?:is|are))?)\b"
    r"|(?:it|this|that|you|they|(?:the|this) (?:writer|person|post|poster|author))(?:'s|’s|'re|’re| is| are| would be)\b"
    r"|(?:我|应该?)?+(?:会)?+(?:选择?|认为是?|觉得是?|打|给|评为?)|(?:最终)?(?:等级|级别|结论)(?:是|为)?|应?是)"
)


def level(text: str, criterion: Criterion, prompt_text: PromptText = NOTHING) -> Value | None:
    """Read the only level that a text names as its own; None where it names two, or none.

    In this order: lines `answer: …`; the first line and the last. Levels as they are written go before their aliases,
    longer spellings before shorter ones they hold ("minus fifty" before "fifty"), and a number is read with its sign.

    Args:
        text: what a model wrote, its thinking aside.
        criterion: whose levels and aliases are looked for; of lettered options only capitals that stand alone.
        prompt_text: what stood before the model; its words are not the model's own.
    """
    if criterion.options:
        letter = lone_letter(text, "".join(map(str, criterion.values)), prompt_text)
        return criterion.read(letter) if letter else None
    for step in (stated(text, criterion, prompt_text), _alone(text, criterion, prompt_text)):
        levels = {*step}
        if levels:
            return levels.pop() if len(levels) == 1 else None
    return None


def stated(text: str, criterion: Criterion, prompt_text: PromptText = NOTHING) -> Iterator[Value | None]:
    """Yield what each line `answer: …` names, which may stand below it; None where that is two levels."""
    _, answer = _leads(criterion)
    waiting = False
    lines = _lines(text)
    for number, line in enumerate(lines):
        match = answer.match(line, _start(line))
        if match or waiting:
            yield from _named(lines, number, match.end() if match else 0, criterion, prompt_text)
        waiting = match is not None and not line[match.end() :].strip(" \t*_")


def _alone(text: str, criterion: Criterion, prompt_text: PromptText) -> Iterator[Value | None]:
    lines = _lines(text)
    for number in sorted({0, len(lines) - 1}) if lines else ():
        yield from _named(lines, number, 0, criterion, prompt_text)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in unquoted(text).replace("−", "-").splitlines() if line.strip()]


def _start(line: str, place: int = 0) -> int:
    begun = _START.match(line, place)
    return begun.end() if begun else place


def _named(
    lines: list[str], number: int, place: int, criterion: Criterion, prompt_text: PromptText
) -> Iterator[Value | None]:
    """Yield the level that a line names here, by itself or after words that lead to it; None where it goes on to another."""
    line = lines[number]
    lead, _ = _leads(criterion)
    begun = _start(line, place)
    led = lead.match(line, begun)
    for spellings in _spellings(criterion):
        pattern = _pattern(spellings)
        first = next(
            (
                named
                for begin in (begun, led.end() if led else begun)
                if (named := pattern.match(line, _start(line, begin)))
            ),
            None,
        )
        if first is None:
            continue
        before, after = f"{''.join(lines[number - 1 : number])} {line[: first.start()]}", line[first.end() :]
        if not prompt_text.says_beside(first[0], before, f"{after} {''.join(lines[number + 1 : number + 2])}"):
            levels = {criterion.read(named[0].removeprefix("+")) for named in pattern.finditer(line, first.start())}
            yield levels.pop() if len(levels) == 1 else None
        return


def _spellings(criterion: Criterion) -> Iterator[tuple[str, ...]]:
    yield tuple(map(str, criterion.values))
    if aliases := tuple(alias for named_level in criterion.levels for alias in named_level.aliases):
        yield aliases


def _leads(criterion: Criterion) -> tuple[re.Pattern[str], re.Pattern[str]]:
    return _patterns((criterion.name, *criterion.aliases))


@lru_cache(maxsize=256)
def _patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what leads to a level, and what announces one."""
    own = "|".join([_ANSWER, *map(re.escape, names)])
    return (
        re.compile(_LEAD.format(names=own), re.IGNORECASE),
        re.compile(rf"(?:{own})[\s*_]*+(?:is[\s*_]*+)?[:：]", re.IGNORECASE),
    )


@lru_cache(maxsize=256)
def _pattern(spellings: tuple[str, ...]) -> re.Pattern[str]:
    forms = [_form(spelling) for spelling in sorted(spellings, key=len, reverse=True)]
    return re.compile("|".join(forms), re.IGNORECASE)


def _form(spelling: str) -> str:
    """Write a spelling as a pattern that does not begin or end within a word or a number."""
    pattern = re.escape(spelling)
    if HAN.search(spelling):
        return pattern
    sign = "" if spelling.startswith("-") else r"\+?"
    return rf"(?<![\w.+-]){sign}{pattern}(?![\w]|[.,]\d|-\w)"
