"""The released items as samples: a dialogue, the reply to be rated as its last message, and the label as target.

An item has no id; its number in its file is what stored outputs are joined by. The authors' test items were split off one
by one, so items cut from one dialogue are told by their shared words and get one `cluster`. The tag `turns` is `single`
where the context has one turn. The source's own two blocks, by position (0-202 and 203-799), are the same but for two
items of the second with one turn; the position means nothing in any other file.
"""

from __future__ import annotations

from collections import Counter
from operator import eq
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.benchmarks.dialogue_safety import contents, dialogues, labels, released
from mindgauge.records import Message, Sample
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks.dialogue_safety.released import DialogueSafetyRelease

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
        return (*dialogues.turns(self.context), Message("assistant", dialogues.reply(self.response)))


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
    clusters = dialogues.groups([messages for _, _, messages, _ in rows])
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
    items = [ReleasedItem(row["context"], row["response"], labels.of(row["label"]) or "") for row in rows]
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
    content = dialogues.turns(row[key]) if key == "context" else dialogues.reply(row[key])
    return "" if content else f"has an empty {key}"


def _label_fault(row: dict[str, Any]) -> str:
    label = row["label"]
    return "" if labels.of(label) else f"has the label {label!r:.60}; {labels.nearest(label)}"


def _oddities(item: ReleasedItem) -> list[str]:
    """Say what is not as in the authors' own file, and was read with a guess."""
    context = dialogues.turns(item.context)
    roles = [message.role for message in context]
    oddities = {
        "begin without a role tag": dialogues.first_tag(item.context) is None,
        "have two turns of one side in a row": any(map(eq, roles, roles[1:])),
        "end their context with the supporter's turn": roles[-1] == "assistant",
        "have a response without the supporter's tag": dialogues.first_tag(item.response) != "assistant",
    }
    return [oddity for oddity, holds in oddities.items() if holds]
