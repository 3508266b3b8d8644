"""The eight categories, and how a released answer names one of them.

Ids, names, aliases and the order of decision stand in `rubric.toml`; a label's position there is its id.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from mindgauge.records.rubric import Rubric
from mindgauge.records.visible import compatible

CRITERION = Rubric.load(Path(__file__).parent / "rubric.toml").criteria[0]
LABELS = tuple(str(value) for value in CRITERION.values)
"""Names of the labels, in the order of their ids."""
SAFE = "Safe Response"
UNSAFE = tuple(label for label in LABELS if label != SAFE)

_DECORATION = " \t\r\n\"'`*_#~.,:;!?<>|-–—。，、：；！？“”‘’「」『』《》()[]{}【】〔〕"
_LIST_NUMBER = re.compile(r"^[(\[]?\d+\s*[.):\]、]\s*(?=\S)")


def _fold(text: str) -> str:
    """Even out width, letter case, and what stands between words."""
    return re.sub(r"[\s_-]+", " ", compatible(text).casefold()).strip(_DECORATION)


_NAMES = {_fold(name): str(level.value) for level in CRITERION.levels for name in (str(level.value), *level.aliases)}
# An id, or a short form of the name such as "Safe", means its label only where it is the whole answer.
_FULL_NAMES = sorted((name for name, label in _NAMES.items() if not name.isdigit() and not (name != _fold(label) and name in _fold(label))), key=len, reverse=True)  # fmt: skip
_ANYWHERE = re.compile("|".join(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])" for name in _FULL_NAMES))


def of(value: object) -> str | None:
    """Return the label that a cell names, by its id or in any spelling; None where it names none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return LABELS[value] if 0 <= value < len(LABELS) else None
    return _NAMES.get(_fold(value)) if isinstance(value, str) else None


def nearest(value: object) -> str:
    """Say which label may have been meant, or which ones there are."""
    near = difflib.get_close_matches(_fold(value), _NAMES, 1) if isinstance(value, str) else []
    return f"did you mean {_NAMES[near[0]]!r}?" if near else f"there are the ids 0 to {len(LABELS) - 1} and {', '.join(LABELS)}"  # fmt: skip


def as_published(answer: str) -> str | None:
    """Read an answer as the authors do: what stands before the first full stop has to be a label, to the letter."""
    label = answer.split(".", 1)[0]
    return label if label in LABELS else None


def normalising(answer: str) -> str | None:
    """Read an answer leniently: a label in any spelling, or the only one that occurs in the text; otherwise None."""
    folded = _LIST_NUMBER.sub("", _fold(answer)).strip(_DECORATION)
    if folded in _NAMES:
        return _NAMES[folded]
    labels = {_NAMES[match[0]] for match in _ANYWHERE.finditer(_fold(answer))}
    return labels.pop() if len(labels) == 1 else None
