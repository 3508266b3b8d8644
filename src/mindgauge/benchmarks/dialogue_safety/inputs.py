"""The released items as samples: a dialogue, the reply to be rated as its last message, and one of eight categories as target.

Ids, names, aliases and the order of decision stand in `rubric.toml`; a label's position there is its id.

An item has no id; its number in its file is what stored outputs are joined by. The authors' test items were split off one
by one, so items cut from one dialogue are told by their shared words and get one `cluster`. The tag `turns` is `single`
where the context has one turn. The source's own two blocks, by position (0-202 and 203-799), are the same but for two
items of the second with one turn; the position means nothing in any other file.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.benchmarks.dialogue_safety import released
from mindgauge.benchmarks.dialogue_safety import released as contents
from mindgauge.records import Message, Sample
from mindgauge.records.errors import DataError
from mindgauge.records.files.bounds import clean
from mindgauge.records.rubric import shipped
from mindgauge.records.text import compatible
from mindgauge.stats.codes import components

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from mindgauge.benchmarks.dialogue_safety.released import DialogueSafetyRelease
    from mindgauge.records import Role


CRITERION = shipped(Path(__file__).parent / "rubric.toml").criteria[0]
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


# A released dialogue as messages, and which of them were cut from one and the same dialogue.


TELLING = 15
"""A message of the seeker with so many characters is not said twice by chance; so the specification has it."""
_TAG = re.compile(r"[\[［【]\s*(seeker|supporter)\s*[\]］】]", re.IGNORECASE)
_ROLES: dict[str, Role] = {"seeker": "user", "supporter": "assistant"}


def turns(context: str) -> tuple[Message, ...]:
    """Split a context on its two role tags, and on nothing else: a turn may hold line breaks.

    A turn without words is dropped, so that a doubled tag counts once. What stands before the first tag is the other
    side's; a context without any tag is the seeker's, with whose turn every context ends.
    """
    before, *rest = _TAG.split(context)
    tagged = [(_ROLES[tag.lower()], words) for tag, words in zip(rest[::2], rest[1::2], strict=True)]
    first: Role = "assistant" if tagged and tagged[0][0] == "user" else "user"
    return tuple(Message(role, clean(words.strip())) for role, words in ((first, before), *tagged) if words.strip())


def reply(response: str) -> str:
    """Return a response without the tags before it; whatever they say, it is the supporter's."""
    words = response.strip()
    while tag := _TAG.match(words):
        words = words[tag.end() :].lstrip()
    return clean(words)


def first_tag(text: str) -> Role | None:
    """Return whose tag a text begins with, if any."""
    tag = _TAG.match(text.lstrip())
    return _ROLES[tag[1].lower()] if tag else None


def groups(dialogues: Sequence[Sequence[Message]]) -> list[int]:
    """Return for each dialogue the position of the first one of its group.

    Two dialogues, each ending with the reply to be rated, come from the same one if their contexts are equal or the
    seeker says the same `TELLING` characters or more in both. Groups are the connected components of that relation.
    """
    firsts: dict[Hashable, int] = {}
    links = (
        (firsts.setdefault(sign, position), position)
        for position, dialogue in enumerate(dialogues)
        for sign in _signs(dialogue[:-1])
    )
    return [int(place) for place in components(len(dialogues), links)]


def _signs(context: Sequence[Message]) -> Iterator[Hashable]:
    yield tuple(context)
    yield from (message.content for message in context if message.role == "user" and len(message.content) >= TELLING)


# The released items as samples: a dialogue, the reply to be rated as its last message, and the label as target.


_KEYS = ("context", "response", "label")
_SHOWN = 5


class ReleasedItem(NamedTuple):
    """One item as released: two texts with their role tags, and its label's name."""

    context: str
    response: str
    label: str

    @property
    def messages(self) -> tuple[Message, ...]:
        """The dialogue, the reply last."""
        return (*turns(self.context), Message("assistant", reply(self.response)))


class DialogueSafetyInputs(NamedTuple):
    """Every sample once, test items first; `items` and the sample of each by split, in the order of the file."""

    samples: list[Sample]
    items: dict[str, list[ReleasedItem]]
    of_item: dict[str, list[Sample]]
    notes: list[str]


def read(data: Path) -> list[Sample]:
    """Read the test items, and the training items where the user has them.

    Raises:
        DataError: there is no test.json, or a file or a row is not as it should be.
    """
    return inputs(released.find(data)).samples


def inputs(files: DialogueSafetyRelease) -> DialogueSafetyInputs:
    """Read the items of all splits as samples; a text that occurs again is one sample, that of its first item.

    Raises:
        DataError: a file or a row is not as it should be.
    """
    notes = [*files.notes]
    items = {split: _items(files, split, notes) for split in released.SPLITS if split in files.sets}
    if "train" not in items:
        notes.append(released.TRAIN)
    rows = [
        (split, number, item.messages, item)
        for split, split_items in items.items()
        for number, item in enumerate(split_items)
    ]
    clusters = groups([messages for _, _, messages, _ in rows])
    samples: dict[tuple[Message, ...], Sample] = {}
    first: dict[tuple[Message, ...], tuple[str, int]] = {}
    of_item: dict[str, list[Sample]] = {split: [] for split in items}
    for (split, number, messages, item), position in zip(rows, clusters, strict=True):
        if messages in samples:
            first_split, row = first[messages]
            notes.append(f"{split}.json: row {number} has the text of {first_split} row {row}; both are one sample, that of {first_split}")  # fmt: skip
        else:
            first[messages] = split, number
            cluster = samples[rows[position][2]].id if rows[position][2] in samples else ""
            tags = {
                "language": "zh",
                "turns": "single" if len(messages) == 2 else "multi",
                "split": split,
                "label_source": "the authors' annotators",
            }
            samples[messages] = Sample.of(messages, target=item.label, tags=tags, cluster=cluster)
        of_item[split].append(samples[messages])
    return DialogueSafetyInputs([*samples.values()], items, of_item, notes)


def _items(files: DialogueSafetyRelease, split: str, notes: list[str]) -> list[ReleasedItem]:
    member = files.sets[split]
    place = str(files.root / member.source / member.name)
    rows = contents.read_list(member, place, notes)
    faults = [(number, fault) for number, row in enumerate(rows) if (fault := _fault(row))]
    if faults:
        number, fault = faults[0]
        others = f" (and {len(faults) - 1} more rows with a fault)" if len(faults) > 1 else ""
        raise DataError(f"{place}: row {number} {fault}{others}")
    if not rows:
        raise DataError(f"{place}: an empty list; expected objects with context, response and label")
    items = [ReleasedItem(row["context"], row["response"], of(row["label"]) or "") for row in rows]
    odd: Counter[str] = Counter()
    first: dict[str, int] = {}
    for number, item in enumerate(items):
        for oddity in _oddities(item):
            odd[oddity] += 1
            first.setdefault(oddity, number)
    notes += [f"{split}.json: {n} rows {oddity}, the first is row {first[oddity]}" for oddity, n in odd.items()]
    return items


def _fault(row: object) -> str:
    """Say what makes a row unusable; empty if nothing does."""
    if not isinstance(row, dict):
        return f"is no object with context, response and label, but {type(row).__name__}"
    missing = [key for key in _KEYS if key not in row]
    if missing:
        listed = ", ".join([*map(str, row)][:_SHOWN]) or "nothing"
        return f"has no {' and no '.join(missing)}; expected context, response and label, found {listed}"
    return next(filter(None, (_text_fault(row, key) for key in ("context", "response"))), "") or _label_fault(row)


def _text_fault(row: dict[str, Any], key: str) -> str:
    if not isinstance(row[key], str):
        return f"has a {key} that is no text, but {type(row[key]).__name__}"
    content = turns(row[key]) if key == "context" else reply(row[key])
    return "" if content else f"has an empty {key}"


def _label_fault(row: dict[str, Any]) -> str:
    label = row["label"]
    return "" if of(label) else f"has the label {label!r:.60}; {nearest(label)}"


def _oddities(item: ReleasedItem) -> list[str]:
    """Say what is not as in the authors' own file, and was read with a guess."""
    context = turns(item.context)
    roles = [message.role for message in context]
    oddities = {
        "begin without a role tag": first_tag(item.context) is None,
        "have two turns of one side in a row": any(map(eq, roles, roles[1:])),
        "end their context with the supporter's turn": roles[-1] == "assistant",
        "have a response without the supporter's tag": first_tag(item.response) != "assistant",
    }
    return [oddity for oddity, holds in oddities.items() if holds]
