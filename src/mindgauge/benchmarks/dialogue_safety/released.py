"""The authors' files as they released them, in folders or in archives: which there are, and what one file holds.

Files are known by their place, wherever they lie below the folder given, unpacked or in a zip:

- `test.json`, and `train.json` where the user has it: lists of items with `context`, `response` and `label`;
- `ChatGPT_gen/VERSION/{zero_shot,few_shot}/RUN/ITEM.json`: a chat completion and the item it was asked about;
- `finetuned_model_predict/ENCODER/SEED/ITEM.json`: the item and the label predicted for it.

Any version, encoder, run and number of items is read; `contents` says what is in one file.

Prompts inside the completions are never decoded, since the few-shot ones hold withheld training items.
"""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.records import RaterKind
from mindgauge.records.errors import DataError, MissingDataError
from mindgauge.records.files import bounds
from mindgauge.records.files import folder as files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


SPLITS = ("test", "train")
SYSTEMS = {
    "ChatGPT_gen/0301/zero_shot": "gpt-3.5-turbo-0301 zero-shot",
    "ChatGPT_gen/0301/few_shot": "gpt-3.5-turbo-0301 few-shot",
    "ChatGPT_gen/0613/zero_shot": "gpt-3.5-turbo-0613 zero-shot",
    "ChatGPT_gen/0613/few_shot": "gpt-3.5-turbo-0613 few-shot",
    "finetuned_model_predict/bert-base-chinese": "BERT-base",
    "finetuned_model_predict/hfl-chinese-roberta-wwm-ext-large": "RoBERTa-large",
}
"""Folders of the runs of one system that the authors released → the system's name in their table."""
EXPECTED = (
    "expected the authors' test.json (a list of context, response and label), and beside it ChatGPT_gen/ or "
    "finetuned_model_predict/, unpacked or as zip files"
)
TRAIN = (
    "train.json: not here; its items are withheld: sign the data-use agreement in the authors' repository "
    "(qiuhuachuan/DialogueSafety), send it to the first author, and put the file beside test.json"
)
_PLACES = {
    RaterKind.MODEL: re.compile(r"(?<![^/])(?P<system>[^/]+/[a-z]+_shot)/(?P<run>[^/]+)/(?P<item>\d+)\.json$"),
    RaterKind.CLASSIFIER: re.compile(r"finetuned_model_predict/(?P<system>[^/]+)/(?P<run>\d+)/(?P<item>\d+)\.json$"),
}
_FOLDERS = {RaterKind.MODEL: "ChatGPT_gen", RaterKind.CLASSIFIER: "finetuned_model_predict"}
_RUNS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class ReleaseMember(NamedTuple):
    """A file, or one inside an archive. `source` is what stands on disk, `name` the path inside an archive."""

    source: str
    name: str
    read: Callable[[], bytes]


class SystemRun(NamedTuple):
    """One run of a system: its folder in the authors' layout, the run's own below it, and the files by item number.

    `number` counts a system's runs from 0.
    """

    system: str
    kind: RaterKind
    number: int
    name: str
    items: dict[int, ReleaseMember]

    @property
    def folder(self) -> str:
        """The run's folder in the authors' layout."""
        return f"{self.system}/{self.name}"


class DialogueSafetyRelease(NamedTuple):
    """The released files that are there; runs by system, in the order of their numbers."""

    root: Path
    sets: dict[str, ReleaseMember]
    runs: tuple[SystemRun, ...]
    notes: tuple[str, ...]


def find(data: Path) -> DialogueSafetyRelease:
    """Find the released files below a folder.

    Raises:
        DataError: there is no such folder, or no test.json in it.
    """
    files.need(data, EXPECTED)
    sets: dict[str, ReleaseMember] = {}
    by_run: dict[tuple[RaterKind, str, str], dict[int, ReleaseMember]] = {}
    notes: list[str] = []
    repeated: dict[str, int] = {}
    for path, member in _members(data, notes):
        split = path.rpartition("/")[2].removesuffix(".json")
        place = _place(path)
        if split in SPLITS:
            if sets.setdefault(split, member) is not member:
                notes.append(f"{member.source}: a second {split}.json, not read (first: {sets[split].source})")
        elif place is not None:
            kind, system, run, item = place
            if by_run.setdefault((kind, system, run), {}).setdefault(item, member) is not member:
                repeated[f"{system}/{run}"] = repeated.get(f"{system}/{run}", 0) + 1
    if "test" not in sets:
        raise MissingDataError(f"{data}: no test.json here; {EXPECTED}")
    notes += [f"{folder}: {n} files a second time, not read" for folder, n in repeated.items()]
    return DialogueSafetyRelease(data, sets, tuple(_runs(by_run)), tuple(notes))


def _runs(by_run: dict[tuple[RaterKind, str, str], dict[int, ReleaseMember]]) -> Iterator[SystemRun]:
    rank = {system: position for position, system in enumerate(SYSTEMS)}
    for system in sorted({key[1] for key in by_run}, key=lambda system: (rank.get(system, len(rank)), system)):
        keys = sorted((key for key in by_run if key[1] == system), key=lambda key: _order(key[2]))
        for number, (kind, _, name) in enumerate(keys):
            yield SystemRun(system, kind, number, name, dict(sorted(by_run[kind, system, name].items())))


def _order(name: str) -> tuple[int, str]:
    """Order runs as they are counted: one, two, three; 42, 43; then by name."""
    number = int(name) if name.isdigit() else _RUNS.index(name) + 1 if name in _RUNS else 10**9
    return number, name


def _place(path: str) -> tuple[RaterKind, str, str, int] | None:
    """Return kind, system, run and item of a stored output by its path; None for any other file."""
    for kind, pattern in _PLACES.items():
        if match := pattern.search(path):
            return kind, f"{_FOLDERS[kind]}/{match['system']}", match["run"], int(match["item"])
    return None


def _members(data: Path, notes: list[str]) -> Iterator[tuple[str, ReleaseMember]]:
    """Yield every JSON file with its full path, also from archives, as if each were unpacked into a folder of its name."""
    for path in files.walk(data):
        place = PurePosixPath(path.relative_to(data).as_posix())
        if path.suffix == ".json":
            yield path.absolute().as_posix(), ReleaseMember(place.as_posix(), "", partial(bounds.content, path))
        elif path.suffix.lower() == ".zip":
            try:
                packed = files.members(path, PurePosixPath())
            except DataError as error:
                notes.append(f"{place}: not a zip file that can be read ({error.__cause__}); copy it again")
                continue
            unpacked = path.absolute().with_suffix("").as_posix()
            for file in packed:
                if file.suffix == ".json":
                    yield (
                        f"{unpacked}/{file.place}",
                        ReleaseMember(place.as_posix(), file.place.as_posix(), file.read_bytes),
                    )


# What one released file holds: a list of items, a chat completion, or an encoder's prediction.


class _ChatMessage(msgspec.Struct, frozen=True):
    content: str | None = None


class _Choice(msgspec.Struct, frozen=True):
    message: _ChatMessage = _ChatMessage()
    finish_reason: str | None = None


class EchoedItem(msgspec.Struct, frozen=True):
    """The item as an output repeats it."""

    context: Any = None
    response: Any = None
    label: Any = None


class ReleasedCompletion(msgspec.Struct, frozen=True):
    """A chat completion. Its own `context`, which holds the prompt, is not decoded."""

    choices: tuple[_Choice, ...]
    model: str = ""
    id: str = ""
    created: int = 0
    usage: dict[str, Any] = {}
    item: EchoedItem = EchoedItem()

    @property
    def answer(self) -> str | None:
        """What the model wrote; None where there is no choice or no text."""
        return self.choices[0].message.content if self.choices else None

    @property
    def finish_reason(self) -> str:
        """Why it stopped."""
        return (self.choices[0].finish_reason or "") if self.choices else ""


class Prediction(EchoedItem, frozen=True, kw_only=True):
    """An encoder's prediction: the item, and the id predicted for it."""

    predict_label: Any


_DECODE: dict[RaterKind, Callable[[bytes], ReleasedCompletion | Prediction]] = {
    RaterKind.MODEL: msgspec.json.Decoder(ReleasedCompletion).decode,
    RaterKind.CLASSIFIER: msgspec.json.Decoder(Prediction).decode,
}


def decode(member: ReleaseMember, kind: RaterKind) -> ReleasedCompletion | Prediction:
    """Read a stored output.

    Raises:
        DataError: it is damaged, or not what it should be.
    """
    try:
        return _DECODE[kind](member.read())
    except msgspec.ValidationError as error:
        raise DataError(f"not a stored output: {error}") from error
    except (msgspec.DecodeError, OSError, RecursionError) as error:
        raise DataError(f"damaged: {error}") from error


def read_list(member: ReleaseMember, place: str, notes: list[str]) -> list[Any]:
    """Read a set of items, in UTF-8, UTF-16 or GB 18030; `place` names it in what is raised.

    Raises:
        DataError: it is damaged, or not a list.
    """
    try:
        raw = member.read()
        try:
            text = raw.decode(json.detect_encoding(raw))
        except UnicodeDecodeError:
            text = raw.decode("gb18030")
            notes.append(f"{member.source}: not UTF-8; read as GB 18030")
        rows = bounds.json_value(text.removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        raise DataError(f"{place}: neither UTF-8 nor GB 18030; save it as UTF-8") from error
    except bounds.Fault as fault:
        raise DataError(fault.at(place)) from fault
    except OSError as error:
        raise DataError(f"{place}: cannot read it ({error.strerror or error}); copy it again") from error
    if not isinstance(rows, list):
        raise DataError(f"{place}: expected a list of context, response and label, found {type(rows).__name__}")
    return rows
