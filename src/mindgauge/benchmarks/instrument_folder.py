"""`--instrument DIR`: files of the user's own in the place of a benchmark's, by name; such as a paper's prompts and anchors.

Whatever lies in the folder is read, or refused: a misspelt name would else leave our own words in the authors' place.
"""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.benchmarks.card import SLOTS
from mindgauge.raters import user_instrument
from mindgauge.raters.user_instrument import UserInstrument, VerdictForm
from mindgauge.records.english import nearest
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import bounds
from mindgauge.records.prompt import Prompt
from mindgauge.records.records import digest
from mindgauge.records.rubric import Rubric

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mindgauge.benchmarks.benchmark import Benchmark
    from mindgauge.records.rubric import Criterion

SETTINGS, RUBRIC, PROMPT = "instrument.toml", "rubric.toml", "prompt.txt"
OPENING = "system"
"""The kind of the prompt that stands before the question as a system message."""
SHOT = "shot"
"""The kind of the prompt that is one few-shot example: its dialogue, its reply and its label, `{target}`."""
_HASH = 12
_NAME = re.compile(r"[^\W_][\w.-]*")
_NEEDED = ("reply", "dialogue", "topic")
"""The slots without which nobody sees what is asked about: a judge's prompt has the first two, a proxy's the first and the last."""
_PROXY = "judge.proxy"
"""The prompt of a paper's proxy model, which few benchmarks have."""


class InstrumentSettings(msgspec.Struct, forbid_unknown_fields=True):
    """What `instrument.toml` says."""

    name: str = ""
    answer: VerdictForm | None = None
    fence: bool = True
    speakers: dict[str, str] = {}
    between: str = "\n\n"
    between_examples: str = "\n\n"
    keys: dict[str, str | list[str]] = {}
    """Criterion → the names under which an answer has it."""


def brought(benchmark: Benchmark, folder: Path) -> Benchmark:
    """Return a benchmark with a folder's files in the place of its own.

    Args:
        benchmark: that is asked.
        folder: with `ask.en.md`, `judge.zh.md`, `reply.en.md`, `system.en.md`, `rubric.toml`, `prompt.txt`, what else the benchmark's
            authors ship, and `instrument.toml`.

    Raises:
        UsageError: a file is not read by anything, cannot be read, or lacks a slot; the message names it.
    """
    contents = _contents(folder)
    settings = _settings(folder) if SETTINGS in contents else InstrumentSettings()
    name = settings.name or folder.resolve().name
    if not _NAME.fullmatch(name):
        raise UsageError(
            f'{folder / SETTINGS}: name = {name!r} stands beside models\' names; write letters, digits, `-`, `_` and `.`, for example name = "authors"'
        )
    kinds = {file: kind for file in contents if (kind := _kind(file, benchmark)) is not None}
    readers = {file: reader for file, reader in benchmark.shipped_instrument.items() if file in contents}
    _refuse_unread(folder, contents, {SETTINGS, RUBRIC, *kinds, *readers}, benchmark)
    rubric = Rubric.load(folder / RUBRIC) if RUBRIC in contents else benchmark.rubric.without_misfit()
    for file, reader in readers.items():
        rubric = reader(folder / file, rubric)
    rubric = _with_keys(_same_scale(rubric, benchmark, folder), settings, folder)
    prompts = _prompts(folder, kinds, benchmark)
    opening, shot = (prompts.pop(kind, {}) for kind in (OPENING, SHOT))
    if shot and "shots" not in prompts:
        raise UsageError(
            f"{folder}: {SHOT}.en.md without shots.en.md, so our words would introduce the examples; bring both"
        )
    if shot and settings.fence:
        raise UsageError(f"{folder}: {SHOT}.en.md shows an example without a fence; write fence = false in {SETTINGS}")
    instrument = UserInstrument(
        name=name, hash=digest(sorted(contents.items()))[:_HASH], replaces=benchmark.rubric, answer=settings.answer, bare=not settings.fence,
        files=(*contents, *(f"{'.'.join(kinds[file])}.md" for file in kinds if file == PROMPT)), speakers=settings.speakers, between=settings.between, opening=opening,
        kinds=(*prompts,), keyed=(*settings.keys,), item_slots=(*benchmark.item_parts, *benchmark.item_facts), shot=shot, between_examples=settings.between_examples,
    )  # fmt: skip
    return msgspec.structs.replace(
        benchmark, rubric=rubric, prompts={**benchmark.prompts, **prompts}, brought=instrument
    )


def _contents(folder: Path) -> dict[str, str]:
    """Return the hash of every file in the folder by its name; hidden ones are no part of it.

    Raises:
        UsageError: there is no such folder, or nothing lies there, or a file cannot be read.
    """
    if not folder.is_dir():
        raise UsageError(f"--instrument {folder}: no such folder")
    paths = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    if not paths:
        raise UsageError(
            f"--instrument {folder}: nothing lies there; put in prompts (judge.en.md), rubric.toml, instrument.toml"
        )
    try:
        return {path.name: digest("file", bounds.content(path, bounds.SETTINGS).decode()) for path in paths}
    except IsADirectoryError as error:
        raise UsageError(
            f"{error.filename}: a folder within --instrument; its files stand beside each other"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--instrument {folder}: a file cannot be read ({error})") from error


def _settings(folder: Path) -> InstrumentSettings:
    path = folder / SETTINGS
    try:
        return msgspec.convert(bounds.toml(path), InstrumentSettings)
    except (OSError, ValueError) as error:
        hint = f"; answer is {', '.join(VerdictForm)}" if "answer" in str(error) or "enum" in str(error) else ""
        raise UsageError(f"{path}: {error}{hint}") from error


def _kind(file: str, benchmark: Benchmark) -> tuple[str, str] | None:
    """Return the kind of prompt that a file is, and its language; None where it is none."""
    if file == PROMPT:
        return ("ask" if benchmark.closed else "judge"), (benchmark.card.languages or ("en",))[0]
    stem, _, ending = file.rpartition(".")
    kind, _, language = stem.rpartition(".")
    closed = kind.startswith(("ask", "node", SHOT))
    judging = kind.startswith("judge") or kind in {"reply", *_forms(benchmark)}
    if (
        ending != "md"
        or kind not in {*SLOTS, OPENING, SHOT, *_forms(benchmark)}
        or (kind == _PROXY and kind not in benchmark.prompts)
    ):
        return None
    fits = kind == OPENING or (closed if benchmark.closed else judging)
    return (kind, language) if fits else None


def _forms(benchmark: Benchmark) -> list[str]:
    """Return the kinds of prompts to the model under test that are for samples with one value of a tag."""
    return [f"reply.{value}" for value in benchmark.reply_forms[1:]]


def _refuse_unread(folder: Path, contents: Iterable[str], read: set[str], benchmark: Benchmark) -> None:
    stray = next((file for file in contents if file not in read), None)
    if stray is None:
        return
    kinds = ["ask", "ask.unordered", "shots", SHOT, "node"] if benchmark.closed else ["judge", "judge.split", "reply"]
    kinds += _forms(benchmark)
    proxy = [_PROXY] if _PROXY in benchmark.prompts else []
    names = [f"{kind}.en.md" for kind in (*kinds, *proxy)] + [
        RUBRIC,
        PROMPT,
        SETTINGS,
        f"{OPENING}.en.md",
        *benchmark.shipped_instrument,
    ]
    hint = nearest(stray, names, f"read are {', '.join(names)}")
    raise UsageError(f"{folder / stray}: nothing of {benchmark.name} reads this file; {hint}")


def _same_scale(rubric: Rubric, benchmark: Benchmark, folder: Path) -> Rubric:
    """Return the rubric if it rates what the benchmark does: fewer criteria perhaps, and other words, but the same levels.

    Raises:
        UsageError: its numbers would be about something else.
    """
    own = {criterion.name: criterion for criterion in benchmark.rubric.criteria}
    for criterion in rubric.criteria:
        if criterion.name not in own:
            raise UsageError(
                f"{folder / RUBRIC}: {benchmark.name} has no criterion {criterion.name!r} (it has {', '.join(own)}); rate by another instrument with --rubric FILE"
            )
        levels = own[criterion.name].values
        if criterion.values != levels:
            raise UsageError(
                f"{folder / RUBRIC}: {criterion.name} has the levels {', '.join(map(str, levels))} in {benchmark.name}, in this order; rate by other levels with --rubric FILE"
            )
    return rubric


def _with_keys(rubric: Rubric, settings: InstrumentSettings, folder: Path) -> Rubric:
    names = [criterion.name for criterion in rubric.criteria]
    unknown = next((name for name in settings.keys if name not in names), None)
    if unknown is not None:
        raise UsageError(
            f"{folder / SETTINGS}: keys.{unknown}: there is no such criterion; there are {', '.join(names)}"
        )
    if settings.answer is VerdictForm.LABEL and not all(_apart(*pair) for pair in combinations(rubric.criteria, 2)):
        raise UsageError(
            f'{folder / SETTINGS}: answer = "label" is for one criterion at a time, and there are {len(names)}; write "list", "dict" or "json"'
        )
    criteria = tuple(
        msgspec.structs.replace(c, aliases=(*c.aliases, *_several(settings.keys.get(c.name, []))))
        for c in rubric.criteria
    )
    return msgspec.structs.replace(rubric, criteria=criteria)


def _apart(one: Criterion, other: Criterion) -> bool:
    """Whether no sample is asked about both criteria."""
    return any({*values}.isdisjoint(other.applies.get(tag, values)) for tag, values in one.applies.items())


def _several(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else names


def _prompts(folder: Path, kinds: dict[str, tuple[str, str]], benchmark: Benchmark) -> dict[str, dict[str, Prompt]]:
    """Read the prompts, by kind and language.

    A kind that is replaced is replaced in every language, so that nobody is asked partly by one instrument and partly by another.
    """
    prompts: dict[str, dict[str, Prompt]] = {}
    for file, (kind, language) in kinds.items():
        prompt = Prompt.load(folder / file, _slots(kind, benchmark))
        missing = [slot for slot in _needed(kind, benchmark) if slot not in prompt.slots]
        if missing and not (missing == ["dialogue"] and prompt.slots.intersection(benchmark.item_parts)):
            parts = "".join(f" or {{{part}}}" for part in benchmark.item_parts if missing == ["dialogue"])
            raise UsageError(f"{folder / file}: no slot {{{missing[0]}}}{parts}; write that where it is to stand")
        if language in prompts.get(kind, {}):
            raise UsageError(
                f"{folder / file}: another file is the {kind} prompt in {language!r}, too; keep one of them"
            )
        prompts.setdefault(kind, {})[language] = prompt
    lacking = [form for form in _forms(benchmark) if form not in prompts]
    if lacking and "reply" not in prompts and len(lacking) < len(_forms(benchmark)):
        raise UsageError(f"{folder}: no {lacking[0]}.en.md; the other prompts of its kind are there, so put it in, too")
    return prompts


def _slots(kind: str, benchmark: Benchmark) -> tuple[str, ...]:
    """Return the slots that a user's prompt of a kind may have; the model under test is told nothing but the item."""
    item = (*benchmark.item_parts, *benchmark.item_facts)
    if kind == "reply" or kind in _forms(benchmark):
        return ("dialogue", *item)
    if kind == SHOT:
        return ("dialogue", "reply", "target", *item)
    return (*SLOTS["judge" if kind == OPENING else kind], *user_instrument.SLOTS, *item)


def _needed(kind: str, benchmark: Benchmark) -> tuple[str, ...]:
    """Return the slots that a prompt must have, so that whoever answers sees what is asked about."""
    if kind == "shots":
        return ("examples",)
    if kind == SHOT:
        return ("dialogue", "target")
    if kind not in SLOTS or kind == "reply":
        return ()
    required = _NEEDED if not benchmark.closed or benchmark.about_reply else ("dialogue",)
    return tuple(slot for slot in required if slot in SLOTS[kind])


def stated(benchmarks: Iterable[Benchmark]) -> dict[str, Any]:
    """Return what a plan says of instruments of the user's own; nothing where all are ours."""
    named = [benchmark.brought.title for benchmark in benchmarks if benchmark.brought is not None]
    return {"instrument": named[0]} if named else {}


def one(benchmarks: list[Benchmark], folder: str | Path | None) -> list[Benchmark]:
    """Return what a command names with the user's files in the place of its own, where a folder is given.

    Raises:
        UsageError: it names several benchmarks, or the folder is not fit.
    """
    if folder is None:
        return benchmarks
    if len(benchmarks) != 1:
        listed = ", ".join(benchmark.name for benchmark in benchmarks)
        raise UsageError(f"--instrument is for one benchmark, and {listed or 'none'} was named; name one")
    try:
        return [brought(benchmarks[0], Path(folder))]
    except MindgaugeError as error:
        if str(folder) in str(error):
            raise
        raise UsageError(f"--instrument {folder}: {error}") from error
