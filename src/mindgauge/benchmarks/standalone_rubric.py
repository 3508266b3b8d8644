"""A rubric file that stands alone, as a whole benchmark: people, models, classifiers and rules rate by the one instrument.

What it lacks is the usual (`rubric_defaults`): prompts, metrics. Its run keeps the file beside its ratings (`FILE`), so that it
needs nothing else, and is the same instrument wherever the words are the same.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge.benchmarks import Benchmark, own_texts, registry, rubric_defaults
from mindgauge.benchmarks.benchmark import HERE
from mindgauge.benchmarks.card import BenchmarkCard
from mindgauge.records.errors import DataError, RubricError, UsageError
from mindgauge.records.rubric import Rubric
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.records import Sample


FILE = "rubric.toml"
"""Where a run keeps its rubric."""
RUBRIC = "rubric"
"""The manifest's key for it."""
REPLIES, MESSAGES = "replies", "messages"
"""What a rubric is about: what an assistant replied, or what a person says."""
_PARTS = 2
"""Of a variant's name: benchmark and variant."""
PROTOCOL = "category"
"""The tag that chooses the wording of levels, where a rubric has several."""
_ID = re.compile(r"[^\W_][\w.-]*(/[^\W_][\w.-]*)*")
_NONE = "name a benchmark, or a rubric of your own with --rubric FILE"


def alone(rubric: str | Path, *, messages: bool = False) -> Benchmark:
    """Return a benchmark, named by the rubric's id, with the usual prompts and metrics; only a variant of ours has samples.

    Args:
        rubric: its file, or the name of a variant of a benchmark's rubric that stands here: `psycrisis/likert`.
        messages: whether it is about what a person says; otherwise about the reply.

    Raises:
        RubricError: the file is no rubric, or is about something else, or its id is no name, or that of a benchmark.
    """
    path = _located(Path(rubric))
    benchmark = _of(path, messages=messages)
    if not _ID.fullmatch(benchmark.name):
        raise RubricError(
            f"{path}: id = {benchmark.name!r} names its runs and tables; write letters, digits, `-`, `_` and `.`, for "
            'example id = "warmth"'
        )
    if messages and path != Path(rubric):
        raise RubricError(f"{rubric}: a variant of ours is about replies, and this is about what a person says; write a rubric of your own")  # fmt: skip
    if registry.shipped(benchmark.name):
        raise RubricError(f"{path}: id = {benchmark.name!r} is a benchmark's name; give your rubric one of its own")
    return benchmark


def _located(path: Path) -> Path:
    """Return the file of a rubric: a variant of ours goes by its name where no file of the user's has it."""
    variant = HERE / path / FILE
    is_name = not path.is_absolute() and ".." not in path.parts and len(path.parts) == _PARTS
    return variant if is_name and not path.exists() and variant.is_file() else path


def is_variant(benchmark: Benchmark) -> bool:
    """Whether it is a variant of a benchmark's rubric that stands here, so that the samples are that one's."""
    return benchmark.standalone and benchmark.folder.is_relative_to(HERE)


def _of(path: Path, *, messages: bool) -> Benchmark:
    rubric = Rubric.load(path)
    languages = {language for criterion in rubric.criteria for language in criterion.text}
    card = BenchmarkCard(
        title=rubric.id.replace("_", " "), authors="", year=0, link="", measures=rubric.source, does_not_measure="",
        languages=tuple(sorted(languages)), licence="", obtain="", citation="",
    )  # fmt: skip
    worded = any(criterion.protocols for criterion in rubric.criteria)
    return Benchmark(
        name=rubric.id, folder=path.parent, card=card, rubric=rubric, standalone=True,
        prompts=rubric_defaults.prompts(rubric, closed=messages), metrics=rubric_defaults.metrics(rubric, closed=messages),
        headline=rubric_defaults.headline(rubric, closed=messages), read=own_texts.unreleased,
        protocol=PROTOCOL if worded else "", slices=("language", "category"),
    )  # fmt: skip


def kept(name: str, folder: Path, manifest: Mapping[str, Any]) -> Benchmark | None:
    """Return the benchmark of a rubric that a run keeps, by its name; None where the run has none of this name.

    Raises:
        UsageError: the file is gone, or not as it was written.
        RubricError: it cannot be read.
    """
    about = manifest.get(RUBRIC, {})
    if about.get("id") != name:
        return None
    command = (
        f"`{command_line('annotate', 'status', folder)}`"
        if "annotation" in manifest
        else "the command that made the run"
    )
    Rubric.kept(folder / FILE, command)  # its status also takes up what its owner revised
    return _of(folder / FILE, messages=about.get("about") == MESSAGES)


def noted(benchmark: Benchmark) -> dict[str, str]:
    """Return what a manifest says of a rubric that its run keeps."""
    return {"id": benchmark.rubric.id, **({"about": MESSAGES} if benchmark.closed else {})}


def all_asked(names: Sequence[str], rubric: str | Path | None, about: str = REPLIES) -> list[Benchmark]:
    """Find what a command names: benchmarks, families, folders, or in their place a rubric file.

    Raises:
        UsageError: none is named, or both, or what the rubric is about is neither replies nor messages.
        RubricError: the file is no rubric.
    """
    if rubric is None and not names:
        raise UsageError(_NONE)
    if rubric is None and about != REPLIES:
        raise UsageError("--about says what a rubric of your own is about; it goes with --rubric")
    if rubric is None:
        return [benchmark for name in names for benchmark in registry.asked(name)]
    if about not in {REPLIES, MESSAGES}:
        raise UsageError(f"--about is {REPLIES} or {MESSAGES}, not {about!r}")
    _refuse_others(names, Path(rubric))
    return [alone(rubric, messages=about == MESSAGES)]


def _refuse_others(names: Sequence[str], rubric: Path) -> None:
    """Refuse names beside a rubric, but that of the benchmark whose variant it is."""
    owner = _located(rubric).parent.parent
    if names and not (owner.is_relative_to(HERE) and [*names] == [owner.relative_to(HERE).as_posix()]):
        raise UsageError(f"--rubric stands alone: leave out {', '.join(names)}, or the rubric")


def asked(name: str | None, rubric: str | Path | None, run: Path | None, manifest: Mapping[str, Any]) -> Benchmark:
    """Find the one instrument that a command names: a benchmark, a rubric file, or that of the run that it goes on with.

    Args:
        name: of a benchmark, or a folder with one.
        rubric: a file.
        run: the run that is rated, if it is one.
        manifest: of that run.

    Raises:
        UsageError: none is named, or two, or the file is another than the run's.
        RubricError: the file is no rubric.
    """
    planned = manifest.get("plan", {}).get("benchmarks", [])
    in_run = None if run is None else next(filter(None, (kept(each, run, manifest) for each in planned)), None)
    if rubric is not None:
        _refuse_others([] if name is None else [name], Path(rubric))
        if run is None:
            return alone(rubric)
        if in_run is None:
            raise UsageError(
                f"{run}: a run of {', '.join(planned) or 'nothing'}, rated by its own rubric; leave out --rubric"
            )
        named = alone(rubric)
        if in_run.rubric.hash != named.rubric.hash:
            raise UsageError(
                f"{rubric}: {named.rubric.name} with other words than {in_run.rubric.name} in {run}; leave out --rubric "
                "to rate by the run's, or rate the replies' own file with --out"
            )
        return in_run
    if in_run is not None and name in {None, in_run.name}:
        return in_run
    if name is None and len(planned) == 1 and run is not None:
        return registry.of_run(planned[0], manifest.get("folders"), run)[0]
    if name is None:
        raise UsageError(f"{run} has {', '.join(planned)}; name one of them" if len(planned) > 1 else _NONE)
    return registry.asked_one(name)


def need_wording(benchmark: Benchmark, samples: Sequence[Sample], source: str) -> None:
    """Check that every sample says by which wording it is rated, where the rubric has several.

    Raises:
        DataError: some do not, or name none of them.
    """
    if not benchmark.protocol:
        return
    known = {name for criterion in benchmark.rubric.criteria for name in criterion.protocols}
    stated = [sample.tags.get(benchmark.protocol, "") for sample in samples]
    odd = sorted({tag for tag in stated if tag not in known})
    if odd:
        n = sum(tag not in known for tag in stated)
        examples = ", ".join(repr(tag) for tag in odd[:3] if tag) or "the cell is empty"
        raise DataError(
            f"{source}: {n} of {len(stated)} samples have no known {benchmark.protocol} ({examples}), which chooses the "
            f"rubric's wording; write {', '.join(sorted(known))} in a column `{benchmark.protocol}`, or name it with --map"
        )
