"""A benchmark is a folder that reads like its paper; being in `benchmarks/` is its registration.

`ask.md` in the folder means a closed question, put to the model under test, which is then the rater of the sample.
What is asked about may be the sample's last message, a reply (`{reply}` in the prompt). `ask.unordered.md`, `shots.md`
(few-shot) and `node.md` (sequential) are further ways to put a closed question.
`judge.md` means an open one: the model replies and raters rate the reply. `*.md` may exist per language (`ask.zh.md`).
"""

from __future__ import annotations

import difflib
import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge import anchors
from mindgauge.errors import DataError, UsageError
from mindgauge.folder import Card, own_samples, prompts_of
from mindgauge.material import Material
from mindgauge.metrics import Metric
from mindgauge.prompt import Prompt
from mindgauge.raters.judge import Instrument, Mode, Way
from mindgauge.records import Rating, Reply, Sample, Value
from mindgauge.rubric import Criterion, Method, Rubric
from mindgauge.rubric.composite import Composite, How

if TYPE_CHECKING:
    from mindgauge.raters.shots import Deck

HERE = Path(__file__).parent / "benchmarks"
WAYS = {
    Way.FLAT: ("ask",),
    Way.UNORDERED: ("ask.unordered",),
    Way.FEW_SHOT: ("ask", "shots"),
    Way.SEQUENTIAL: ("node",),
}
"""The prompts that each way of asking needs, that with the question first."""


class Released(msgspec.Struct):
    """What the authors released, as records. `notes` says what was missing, doubled or damaged, one line each."""

    samples: list[Sample]
    replies: list[Reply]
    ratings: list[Rating]
    notes: list[str]


class Cell(msgspec.Struct, frozen=True):
    """A recomputed number or word, to stand beside the published one of the same table, row and column.

    `value` is None where the files it needs are missing (`note` says which). `repaired` marks our corrected figure
    for a number that the source computed wrongly. `stated` is the published number itself, where a released file states
    it beside what it was computed from, and `tolerance` how far off is still the same.
    """

    table: str
    row: str
    column: str
    value: float | str | None
    note: str = ""
    repaired: bool = False
    stated: float | str | None = None
    tolerance: float = 0.0


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """One task: what is asked, of whom, how it is rated and what is computed."""

    name: str
    folder: Path
    card: Card
    rubric: Rubric
    prompts: dict[str, dict[str, Prompt]]
    """Kind (`folder.SLOTS`) → language → prompt."""
    metrics: tuple[Metric, ...]
    read: Callable[[Path], list[Sample]]
    """Reads the authors' files below a folder into samples."""
    load: Callable[[Path], Released] | None = None
    load_mapped: Callable[[Path, Mapping[str, str]], Released] | None = None
    """The same from a table of the user's own making, with a mapping that says which of its columns holds what."""
    reproduce: Callable[[Path], Iterable[Cell]] | None = None
    material: Callable[[Path], Material] | None = None
    """Reads the released files as they are, faults included, for an audit."""
    slices: tuple[str, ...] = ()
    """Tags by whose values every metric is also computed."""
    groups: dict[str, dict[str, tuple[str, ...]]] = {}
    """Named subsets beside `all`: name → tag → the values that belong to it."""
    composites: dict[str, Composite] = {}
    """What follows from several criteria, each from the rubric's and from those before it."""
    keep: dict[str, tuple[str, ...]] = {}
    """Which of the authors' samples are asked about unless the user says otherwise: tag → values."""
    baselines: tuple[Value, ...] = ()
    """Levels of a closed question that are also scored as the answer to everything, beside the most frequent one."""
    distribution: tuple[Metric, ...] = ()
    """What is also computed where dialogues of the user's own are rated, which may have no target: how often each label
    was given."""
    apart: tuple[Criterion, ...] = ()
    """In a run: criteria of classifiers that were trained on other rubrics, under the names of their ratings."""
    class_weights: dict[str, float] = {}
    """What an example of each label weighs in the loss of a classifier, as the paper publishes it."""
    protocol: str = ""
    """The tag that chooses the rubric's protocol for a sample."""
    recognised_by: Benchmark | None = None
    """The closed benchmark with which a judge itself finds the protocol."""

    @property
    def closed(self) -> bool:
        """Whether the model under test itself rates the sample."""
        return "ask" in self.prompts

    @property
    def ways(self) -> tuple[Way, ...]:
        """The ways in which its question can be put; none where it is open."""
        return tuple(way for way, kinds in WAYS.items() if self.closed and set(kinds) <= self.prompts.keys())

    @property
    def about_reply(self) -> bool:
        """Whether what is asked is about a reply that is part of the sample, as its last message."""
        return any("reply" in prompt.slots for prompt in self.prompts.get("ask", {}).values())

    @property
    def published(self) -> Path | None:
        """The file with the paper's numbers: the benchmark's own, or else its family's."""
        found = (folder / "published.toml" for folder in (self.folder, self.folder.parent))
        return next((path for path in found if path.is_file()), None)

    def samples(
        self, data: Path | None, where: dict[str, tuple[str, ...]] | None = None, limit: int | None = None
    ) -> list[Sample]:
        """Return the authors' samples below `data`, or else our own.

        Args:
            data: a copy of the released files.
            where: tag → values to keep; a tag named here replaces the benchmark's own choice.
            limit: at most this many, spread evenly over the targets or protocols in the order of the file.

        Raises:
            DataError: nothing usable is there, or nothing is left.
        """
        keep = {**(self.keep if data is not None else {}), **(where or {})}
        found = self.read(data) if data is not None else own_samples(self.folder)
        kept = [s for s in found if all(s.tags.get(tag) in values for tag, values in keep.items())]
        if not kept:
            chosen = ", ".join(f"{tag}={'|'.join(values)}" for tag, values in keep.items())
            raise DataError(f"{self.name}: no sample is left ({chosen})")
        mute = next((s.id for s in kept if self.about_reply and s.messages[-1].role != "assistant"), None)
        if mute is not None:
            raise DataError(f"{self.name}: sample {mute} does not end with the reply that is asked about")
        return kept if limit is None else self._spread(kept, limit)

    def training(self, data: Path | None) -> list[Sample]:
        """Return labelled samples to learn from: the user's training part, or else our own samples.

        A training part are the samples below `data` with the tag `split=train` whose source dialogue (`cluster`) has no
        sample in another part.

        Raises:
            DataError: nothing usable is there.
        """
        found = self.read(data) if data is not None else []
        elsewhere = {s.cluster for s in found if s.tags.get("split") != "train"}
        train = [s for s in found if s.tags.get("split") == "train" and s.cluster not in elsewhere]
        return train or own_samples(self.folder)

    def _spread(self, samples: list[Sample], limit: int) -> list[Sample]:
        """Take samples in turn from each class, so that a short run still sees every one; file order is kept."""
        turns: dict[object, int] = {}
        ranked = []
        for position, sample in enumerate(samples):
            kind = sample.tags.get(self.protocol, sample.target) if self.protocol else sample.target
            turns[kind] = turns.get(kind, 0) + 1
            ranked.append((turns[kind], position))
        return [samples[position] for position in sorted(position for _, position in sorted(ranked)[:limit])]

    def anchors(
        self, where: dict[str, tuple[str, ...]] | None = None, limit: int | None = None
    ) -> list[anchors.Anchor]:
        """Return the replies that this project wrote to stand at known levels.

        Args:
            where: tag → values to keep; an anchor that does not carry the tag stays.
            limit: at most this many, spread over levels and protocols.

        Raises:
            DataError: there are none, a line is not as it should be, or nothing is left.
        """
        found = anchors.read(self.folder / "anchors.jsonl", self.rubric, self.protocol)
        kept = [
            anchor
            for anchor in found
            if all(anchor.sample.tags.get(tag, values[0]) in values for tag, values in (where or {}).items())
        ]
        if not kept:
            chosen = ", ".join(f"{tag}={'|'.join(values)}" for tag, values in (where or {}).items())
            raise DataError(f"{self.name}: no anchor is left ({chosen})")
        return kept if limit is None else anchors.spread(kept, limit, self.protocol)

    @property
    def anchored(self) -> Benchmark:
        """The same task with the anchors as its replies; under a name of its own, so that they enter no score."""
        return msgspec.structs.replace(self, name=f"{self.name}:anchors")

    def instrument(
        self, mode: Mode = Mode.JOINT, way: Way = Way.FLAT, deck: Deck | None = None, method: Method = Method.RULE
    ) -> Instrument:
        """Return what its raters work with.

        Args:
            mode: of judges of replies.
            way: of asking a closed question.
            deck: the examples of the few-shot way.
            method: of judging replies.

        Raises:
            UsageError: it has no prompt for them.
        """
        judged = "judge" if method is Method.RULE else f"judge.{method}"
        kinds = [WAYS[way][0]] if self.closed else [f"{judged}.split", judged] if mode is Mode.SPLIT else [judged]
        prompts = next((self.prompts[kind] for kind in kinds if kind in self.prompts), None)
        if prompts is None:
            raise UsageError(f"{self.name} has no {kinds[-1]}.md, so nothing can be asked")
        total = next((c.of for c in self.composites.values() if c.how is How.SUM), ())
        return Instrument(self.rubric, prompts, mode, way, deck, method, self.prompts.get("judge.dialogue", {}), total)

    @classmethod
    def from_folder(cls, folder: Path, **details: Any) -> Benchmark:
        """Build a benchmark from its folder's card, rubric and prompts.

        Raises:
            UsageError: a file is missing or bad.
        """
        rubric, prompts = Rubric.load(folder / "rubric.toml"), prompts_of(folder)
        if "node" in prompts and not (len(rubric.criteria) == 1 and rubric.criteria[0].nodes):
            raise UsageError(f"{folder}: node.md asks node by node, and rubric.toml has not one criterion with nodes")
        return cls(
            name=folder.relative_to(HERE).as_posix() if folder.is_relative_to(HERE) else folder.name,
            folder=folder,
            card=Card.of(folder),
            rubric=rubric,
            prompts=prompts,
            **details,
        )


@functools.cache
def _all() -> dict[str, Benchmark]:
    found: dict[str, Benchmark] = {}
    for folder in sorted(p for p in HERE.iterdir() if (p / f"{p.name}.py").is_file()):
        module = importlib.import_module(f"mindgauge.benchmarks.{folder.name}.{folder.name}")
        found |= {b.name: b for b in vars(module).values() if isinstance(b, Benchmark)}
    return found


def names() -> list[str]:
    """Return the names of all benchmarks."""
    return sorted(_all())


def find(name: str) -> list[Benchmark]:
    """Return the benchmark of this name, or the members of the family of this name.

    Raises:
        UsageError: there is none; the message names the nearest.
    """
    known = _all()
    if name in known:
        return [known[name]]
    members = [benchmark for key, benchmark in known.items() if key.startswith(name.rstrip("/") + "/")]
    if members:
        return members
    choices = sorted({*known, *(key.split("/")[0] for key in known)})
    near = difflib.get_close_matches(name, choices, 1, 0.4)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(choices)}"
    raise UsageError(f"unknown benchmark {name!r}: {hint}")


def find_one(name: str) -> Benchmark:
    """Return the benchmark of this name, where only one will do.

    Raises:
        UsageError: there is none, or it is a family.
    """
    found = find(name)
    if len(found) > 1:
        raise UsageError(f"{name} is a family; name one of {', '.join(b.name for b in found)}")
    return found[0]
