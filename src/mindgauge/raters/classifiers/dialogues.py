"""Dialogues as a classifier reads them: labelled ones from a table, divided by whole dialogues, and digests of what it saw.

The last message is what is classified: a reply, if the assistant wrote it, or else what the person says.

Columns of a table: `text` or `user` (one message of the person) or `messages` (a list; in a CSV as JSON), `reply` (what
a supporter answered, which is then what is classified), `label`, and optionally `cluster` (the source dialogue),
`split` (train, dev or test) and `language`.

Samples belong together that come from one source dialogue (`cluster`), have the same text, answer the same turns, or
share a long turn of the person; such a group goes to one part as a whole. Of what was learned from no text is kept: a
digest does not tell what was said; who has a text can see whether it was there.
"""

from __future__ import annotations

import difflib
import itertools
import re
import warnings
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
import numpy as np

from mindgauge.records import Message, Reply, Sample, Value
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, private, tables, texts
from mindgauge.records.rubric import Criterion, Level, Rubric, Scale
from mindgauge.records.text import HAN, compatible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mindgauge.records.files.texts import Frame

Codes: TypeAlias = "NDArray[np.intp]"
Dialogue: TypeAlias = tuple[Message, ...]
Reads: TypeAlias = Literal["reply", "message"]
"""What a classifier classifies: a supporter's reply, or what the person says."""

TAGS = {"system": "[system]", "user": "[seeker]", "assistant": "[supporter]"}
"""What stands before a turn, by its role."""

_TYPED = re.compile(r"\[(system|seeker|supporter)\]")
_BLANK = re.compile(r"\s+")
_BETWEEN = re.compile(r"[\W_]+")

FILE = "seen.json"
How: TypeAlias = Literal["text", "dialogue", "no"]
"""Seen as it is, as another piece of a dialogue that it comes from too, or not at all."""

COLUMNS = ("text", "user", "messages", "reply", "label", "cluster", "split", "language")
EXPECTED = "expected `label` and `text`, `user`, `messages` or `reply` (and optionally cluster, split, language)"
SPLITS = {"train": "train", "dev": "dev", "val": "dev", "valid": "dev", "validation": "dev", "test": "test"}

Rows = list[tuple[str, dict[str, Any]]]
"""Where each row stands, for messages, and its cells under our names."""


def dialogue(sample: Sample) -> Dialogue:
    """Return a sample's turns that say something.

    Raises:
        DataError: there are none.
    """
    turns = tuple(message for message in sample.messages if message.content.strip())
    if not turns:
        raise DataError(f"sample {sample.id}: an empty dialogue; there is nothing to classify")
    return turns


def reads(samples: Sequence[Sample]) -> Reads:
    """Return what the samples end with.

    Raises:
        DataError: some end with a reply and some with a message, or one is empty.
    """
    ends: Counter[Reads] = Counter("reply" if dialogue(s)[-1].role == "assistant" else "message" for s in samples)
    if len(ends) > 1:
        raise DataError(
            f"{ends['reply']} dialogues end with a reply and {ends['message']} with the person's message; a classifier "
            "reads one or the other: leave the fewer out, or train two"
        )
    return next(iter(ends))


def with_reply(sample: Sample, reply: Reply) -> Sample:
    """Return the sample with the reply as its last message, so that the reply is what is classified."""
    return msgspec.structs.replace(sample, messages=(*sample.messages, Message("assistant", reply.text)))


def earlier(turns: Dialogue) -> str:
    """Return all turns but the last as one text, each behind its tag; a tag that somebody typed loses its brackets."""
    return "".join(TAGS[turn.role] + _TYPED.sub(r"(\1)", turn.content) for turn in turns[:-1])


def key(messages: Sequence[Message]) -> str:
    """Return what two dialogues have in common that differ in width, letter case and blanks only."""
    return "\0".join(f"{message.role}:{plain(message.content)}" for message in messages)


def plain(text: str) -> str:
    """Return a text without differences of width, letter case and blanks."""
    return _BLANK.sub("", compatible(text).casefold())


def telling(text: str) -> bool:
    """Whether a turn is so long that two dialogues share it only if they come from the same talk.

    15 characters of Chinese (the limit that the dialogues of Dialogue Safety were linked by), or 40 of other scripts,
    which say about as much.
    """
    return len(text) >= (15 if HAN.search(text) else 40)


def rows(source: str | Path | Frame, columns: Mapping[str, str]) -> Rows:
    """Read the rows of a labelled file, with our column names.

    Args:
        source: a file, or a polars, pandas or Arrow table.
        columns: our name → the file's name of a column.

    Raises:
        DataError: the file cannot be read, has another schema, or a row has no label.
        UsageError: `columns` names something that we do not read.
    """
    name = tables.name_of(source)
    numbered = [(f"{name}:{line}", row) for line, row in tables.rows(source, columns, COLUMNS)]
    if not numbered:
        raise DataError(f"{name}: no rows in it; {EXPECTED}")
    present = {column for _, row in numbered for column in row}
    if "label" not in present or not present & {"text", "user", "messages", "reply"}:
        raise DataError(f"{name}: {EXPECTED}, found {', '.join(sorted(present))}; other names go with --map")
    return numbered


def rubric_of(labelled: Rows, name: str) -> Rubric:
    """Make a rubric of the labels that occur, in the order of the alphabet, where no other says what they mean.

    Labels that differ in letter case only are one.

    Raises:
        DataError: there is only one label.
    """
    spellings = sorted({_spelled(row["label"]) for _, row in labelled if row.get("label") is not None} - {""})
    labels = list({spelling.casefold(): spelling for spelling in reversed(spellings)}.values())[::-1]
    if len(labels) < 2:
        raise DataError(f"{name}: needs at least two labels, found {', '.join(labels) or 'none'}")
    levels = tuple(Level(label, {"en": f"labelled {label}"}) for label in labels)
    source = f"the labels of {name}, in the order of the alphabet"
    return Rubric(name, "1", source, (Criterion("label", Scale.NOMINAL, levels, {"en": "Which label fits?"}),))


def samples(labelled: Rows, criterion: Criterion) -> Iterator[Sample]:
    """Turn rows into samples whose targets are the criterion's values and whose tags say split and language.

    Raises:
        DataError: a label is not in the rubric, a dialogue is empty or no dialogue; the message names the line.
    """
    for place, row in labelled:
        tags = {"language": str(row["language"])} if row.get("language") is not None else {}
        if row.get("split") is not None:
            split = str(row["split"]).strip().casefold()
            if split not in SPLITS:
                raise DataError(f"{place}: split must be train, dev or test, found {split!r}")
            tags["split"] = SPLITS[split]
        cluster = "" if row.get("cluster") is None else str(row["cluster"])
        yield Sample.of(
            _messages(row, place), target=label(row.get("label"), criterion, place), tags=tags, cluster=cluster
        )


def label(answer: object, criterion: Criterion, place: str) -> Value:
    """Return the value that a label names, by its own spelling or an alias.

    Raises:
        DataError: it names none; the message has the row and the nearest label.
    """
    spelled = _spelled(answer) if answer is not None else ""
    if not spelled:
        raise DataError(f"{place}: no label; leave the row out, or label it")
    value = criterion.read(spelled)
    if value is not None:
        return value
    spellings = {str(s): str(v.value) for v in criterion.levels for s in (v.value, *v.aliases)}
    near = difflib.get_close_matches(spelled, spellings, 1)
    hint = f"did you mean {spellings[near[0]]!r}?" if near else f"known are {', '.join(map(str, criterion.values))}"
    raise DataError(f"{place}: the label {spelled!r} is not in the rubric: {hint}")


def _spelled(label: object) -> str:
    """Write a cell as a label; a table in memory may have made 1.0 of 1."""
    return str(int(label) if isinstance(label, float) and label.is_integer() else label).strip()


def _messages(row: dict[str, Any], place: str) -> tuple[Message, ...]:
    spoken = {**row, "user": row["text"]} if "text" in row and "messages" not in row else row
    reply = row.get("reply")
    if reply is not None and not isinstance(reply, str):
        raise DataError(f"{place}: reply must be text, found {type(reply).__name__}")
    alone = reply is not None and "user" not in spoken and "messages" not in spoken
    context = () if alone else texts.dialogue(spoken, place)
    if reply is None:
        return context
    if not reply.strip():
        raise DataError(f"{place}: an empty reply; there is nothing to classify")
    return (*context, Message("assistant", bounds.clean(reply)))


# Dividing samples so that nothing of a dialogue is on both sides.


class DataSplit(msgspec.Struct, frozen=True):
    """Samples with the codes of their labels (indices into the criterion's values) and of their groups."""

    samples: tuple[Sample, ...]
    codes: Codes
    groups: Codes

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def dialogues(self) -> list[Dialogue]:
        """What a classifier reads of them."""
        return [dialogue(sample) for sample in self.samples]

    def take(self, rows: Codes) -> DataSplit:
        """Return some of the rows, in the order asked for."""
        return DataSplit(tuple(self.samples[i] for i in rows), self.codes[rows], self.groups[rows])

    def counts(self, labels: int) -> Codes:
        """Return how many samples each label has."""
        return np.bincount(self.codes, minlength=labels)


def part(samples: Sequence[Sample], values: Sequence[Value]) -> DataSplit:
    """Build a part of samples whose targets are among the values."""
    codes = np.array([values.index(s.target) for s in samples if s.target is not None], dtype=np.intp)
    return DataSplit(tuple(samples), codes, groups(samples))


def groups(samples: Sequence[Sample]) -> Codes:
    """Number the groups of samples that must not be divided: the connected components of what they share."""
    from scipy.sparse import coo_array, csgraph  # for training alone: a run that only rates does without

    numbers: dict[str, int] = {}
    pairs = [
        (row, numbers.setdefault(link, len(numbers))) for row, sample in enumerate(samples) for link in _links(sample)
    ]
    rows, links = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    size = len(samples) + len(numbers)
    graph = coo_array((np.ones(len(rows)), (rows, len(samples) + links)), (size, size))
    labels = csgraph.connected_components(graph, directed=False)[1] if size else links
    return np.unique(labels[: len(samples)], return_inverse=True)[1].astype(np.intp)


def _links(sample: Sample) -> set[str]:
    spoken = (plain(message.content) for message in sample.messages if message.role == "user")
    turns = {f"turn {text}" for text in spoken if telling(text)}
    answered = sample.messages[:-1] if sample.messages[-1].role == "assistant" else sample.messages
    heard = {f"text {key(answered)}"} if answered else set()
    return {f"cluster {sample.cluster}", f"text {key(sample.messages)}", *heard, *turns}


def separate(train: Sequence[Sample], test: Sequence[Sample]) -> list[Sample]:
    """Return the training samples that are no test sample, nor in the same group as one."""
    labels = groups([*train, *test])
    tested = set(labels[len(train) :].tolist())
    return [sample for sample, group in zip(train, labels[: len(train)].tolist(), strict=True) if group not in tested]


def taken(subset: DataSplit, rows: Codes) -> tuple[DataSplit, DataSplit]:
    """Return a part without some of its rows, and these rows."""
    return subset.take(np.setdiff1d(np.arange(len(subset)), rows)), subset.take(rows)


def divide(subset: DataSplit, folds: int) -> list[Codes]:
    """Divide a part into folds by whole groups, labels spread as evenly as the groups allow, as scikit-learn does it.

    The division is the same for all seeds of a training, so that their spread is that of training alone.
    Where there are fewer groups, or fewer examples of every label, the folds are fewer.

    Returns:
        The rows of each fold, ascending.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    limit = min(folds, int(subset.counts(1).max()), len(np.unique(subset.groups)))
    if limit < 2:
        return [np.arange(len(subset))]
    splitter = StratifiedGroupKFold(limit, shuffle=True, random_state=0)
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of labels with fewer examples than folds
        return [rows for _, rows in splitter.split(subset.codes, subset.codes, subset.groups)]


def spread(subset: DataSplit, limit: int) -> DataSplit:
    """Return at most `limit` samples, taken in turn from each label, in the order they stand."""
    counts: Counter[int] = Counter()
    turns = []
    for row, code in enumerate(subset.codes.tolist()):
        counts[code] += 1
        turns.append((counts[code], row))
    return subset.take(np.array(sorted(row for _, row in sorted(turns)[:limit]), dtype=np.intp))


def check(train: DataSplit) -> None:
    """See that there is something to learn.

    Raises:
        DataError: no sample, or only one label.
    """
    if len(np.unique(train.codes)) < 2:
        shortage = "one label only" if len(train) else "no labelled samples are left"
        raise DataError(f"training data: {shortage}; a classifier needs at least two labels, with examples of each")


# Which dialogues a classifier learned from or was chosen on, as digests: its scores on them are no test of it.


class TrainingDigests(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Digests of whole dialogues (`texts`), and of what another dialogue has in common with them (`shared`).

    Dialogues are the same that differ in width, letter case, blanks, punctuation and characters nobody sees only. They
    come from one talk if they answer the same turns, or share a long turn of the person or a long last turn, as when
    training and test data are kept apart. Clusters do not count: two files may number theirs alike.
    """

    texts: frozenset[str]
    shared: frozenset[str]

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> TrainingDigests:
        """Take the digests of samples."""
        marks = [_marks(sample) for sample in samples]
        return cls(frozenset(text for text, _ in marks), frozenset().union(*(shared for _, shared in marks)))

    def how(self, sample: Sample) -> How:
        """Say how a dialogue was seen."""
        text, shared = _marks(sample)
        return "text" if text in self.texts else "dialogue" if not shared.isdisjoint(self.shared) else "no"

    def save(self, folder: Path) -> None:
        """Write the digests beside the weights, in their own order, which is none of the dialogues'."""
        private.write(folder / FILE, msgspec.json.encode(self, order="deterministic"))

    @classmethod
    def load(cls, folder: Path) -> TrainingDigests | None:
        """Read the digests; None where a classifier has none, and nobody knows what it learned from.

        Raises:
            UsageError: the file is damaged.
        """
        path = folder / FILE
        if not path.is_file():
            return None
        try:
            return msgspec.json.decode(bounds.content(path), type=cls)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"{path}: damaged ({error}); copy the whole folder again, or train again") from error


def _marks(sample: Sample) -> tuple[str, set[str]]:
    contents = [(turn.role, plain(turn.content)) for turn in dialogue(sample)]
    turns = [(role, _BETWEEN.sub("", content) or content) for role, content in contents]
    *context, (role, last) = turns
    shared = {_digest("turn", *turn) for turn in turns if turn[0] == "user" and telling(turn[1])}
    shared |= {_digest("turn", role, last)} if telling(last) else set()
    shared |= {_digest("answered", *itertools.chain(*context))} if context and role == "assistant" else set()
    return _digest("text", *itertools.chain(*turns)), shared


def _digest(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()
