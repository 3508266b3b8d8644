"""Which level an answer in plain words names: a letter, a number with its sign or in words, a label; never two.

Where the answer names two different levels, or none, nothing was read.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from mindgauge.raters.choice import lone_letter

if TYPE_CHECKING:
    from mindgauge.records import Value
    from mindgauge.rubric import Criterion

_STATED = re.compile(r"(?im)^\W*(?:final answer|answer|rating|verdict|答案|评分)\W*?[:：]\s*(.+)$")
_HAN = re.compile(r"[\u3400-\u9fff]")


def level(text: str, criterion: Criterion) -> Value | None:
    """Read the only level that a text names.

    In this order: lines `answer: …`; the first line; the whole text; in each, levels as they are written before their
    aliases. Longer spellings go before shorter ones they hold ("minus fifty" before "fifty"), and a number is read with
    its sign.

    Args:
        text: what a model wrote, its thinking aside.
        criterion: whose levels and aliases are looked for; of lettered options only capitals that stand alone.
    """
    if criterion.options:
        letter = lone_letter(text, "".join(map(str, criterion.values)))
        return criterion.read(letter) if letter else None
    told = text.replace("−", "-")
    values = tuple(map(str, criterion.values))
    aliases = tuple(alias for one in criterion.levels for alias in one.aliases)
    for part in ("\n".join(_STATED.findall(told)), told.strip().partition("\n")[0], told):
        for spellings in (values, aliases):
            matches = _pattern(spellings).finditer(part) if spellings else ()
            found = {criterion.read(match[0].removeprefix("+")) for match in matches}
            if found:
                return found.pop() if len(found) == 1 else None
    return None


@lru_cache(maxsize=256)
def _pattern(spellings: tuple[str, ...]) -> re.Pattern[str]:
    forms = [_form(spelling) for spelling in sorted(spellings, key=len, reverse=True)]
    return re.compile("|".join(forms), re.IGNORECASE)


def _form(spelling: str) -> str:
    """Write a spelling as a pattern that does not begin or end within a word or a number."""
    written = re.escape(spelling)
    if _HAN.search(spelling):
        return written
    sign = "" if spelling.startswith("-") else r"\+?"
    return rf"(?<![\w.+-]){sign}{written}(?![\w]|[.,]\d|-\w)"
