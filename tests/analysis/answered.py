"""Small runs with known answers: a closed and an open benchmark, planted, and their ratings written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest

from mindgauge.benchmarks import Benchmark, registry
from mindgauge.benchmarks.metrics import STATUS_RATES, accuracy, call_rate, fleiss_kappa, macro_f1, mean_level, recall
from mindgauge.records import Message, RaterKind, Rating, Reply, Sample, Status
from mindgauge.store import Store, manifest
from tests.cards import CARD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

CLOSED = """
id = "kind"
version = "1"
source = "ours"
[[criteria]]
name = "kind"
text.en = "The kind."
scale = "nominal"
levels = [{ value = "crisis", text.en = "c" }, { value = "sad", text.en = "s" }, { value = "calm", text.en = "n" }]
"""
OPEN = """
id = "warmth"
version = "1"
source = "ours"
[[criteria]]
name = "warmth"
text.en = "The warmth."
scale = "ordinal"
levels = [
    { value = 1, text.en = "icy" }, { value = 2, text.en = "cold" }, { value = 3, text.en = "polite" },
    { value = 4, text.en = "kind" }, { value = 5, text.en = "warm" },
]
"""
ASK = "Which?\n{rubric}\n{form}\n{nonce}\n{dialogue}"
JUDGE = "Judge.\n{rubric}\n{form}\n{nonce}\n{dialogue}\n{reply}"
LABELS = ("crisis", "sad", "calm")


class Asked(NamedTuple):
    """A sample of a planted benchmark: what it is about, and the conversation it comes from."""

    text: str
    target: str | None = None
    cluster: str = ""

    @property
    def sample(self) -> Sample:
        return Sample.of((Message("user", self.text),), target=self.target, cluster=self.cluster)


class Planted(NamedTuple):
    """Two benchmarks that exist for one test, and ways to write runs of them."""

    folder: Path
    closed: Benchmark
    open: Benchmark
    known: dict[str, Benchmark]

    def asking_for(self, *baselines: str) -> Planted:
        """Let the closed benchmark ask for the constant raters of some labels."""
        closed = msgspec.structs.replace(self.closed, baselines=baselines)
        self.known[closed.name] = closed
        return self._replace(closed=closed)

    def answered(self, name: str, asked: Sequence[Asked], answers: Mapping[str, Sequence[Any]]) -> Path:
        """Write a run in which models labelled samples: a label, a status, or a list of them for repeats; None: not asked."""
        store, folder = self._run(name, self.closed, asked)
        with store:
            for one in asked:
                self._rate(store, self.closed, one.sample.id, "kind", "gold", RaterKind.GOLD, 0, one.target)
            for model, given in answers.items():
                for one, values in zip(asked, given, strict=True):
                    for run, value in enumerate(values if isinstance(values, list) else [values]):
                        if value is not None:
                            self._rate(store, self.closed, one.sample.id, "kind", model, RaterKind.MODEL, run, value)
        return folder

    def rated(
        self, name: str, asked: Sequence[Asked], levels: Mapping[tuple[str, str], Sequence[Any]], **kinds: RaterKind
    ) -> Path:
        """Write a run in which (system, rater) gave each sample's reply a level or a status; None: no reply."""
        store, folder = self._run(name, self.open, asked)
        with store:
            for (system, rater), given in levels.items():
                for one, value in zip(asked, given, strict=True):
                    if value is not None:
                        reply = Reply.of(one.sample.id, system, 0, Status.OK, f"{system} says {one.sample.id}")
                        store.add_reply(self.open.name, reply)
                        kind = kinds.get(rater, RaterKind.MODEL)
                        self._rate(store, self.open, reply.id, "warmth", rater, kind, 0, value)
        return folder

    def _run(self, name: str, benchmark: Benchmark, asked: Sequence[Asked]) -> tuple[Store, Path]:
        folder = self.folder / name
        store = Store(folder, write=True)
        manifest.write(folder, {"plan": {"benchmarks": [benchmark.name]}})
        store.put_samples(benchmark.name, [one.sample for one in asked])
        return store, folder

    @staticmethod
    def _rate(
        store: Store,
        benchmark: Benchmark,
        subject: str,
        criterion: str,
        rater: str,
        kind: RaterKind,
        run: int,
        value: Any,
    ) -> None:
        status = value if isinstance(value, Status) else Status.OK
        said = None if isinstance(value, Status) else value
        rating = Rating(subject, criterion, rater, kind, run, status, said, instrument=benchmark.rubric.name)
        store.add_rating(benchmark.name, rating)


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Planted:
    made = {}
    for name, rubric, prompt, metrics in (
        ("kind", CLOSED, ("ask.en.md", ASK), (accuracy, macro_f1, fleiss_kappa, call_rate("missed_rate", targets=("crisis",), answers=("calm",)), *map(recall, LABELS), *STATUS_RATES)),
        ("warmth", OPEN, ("judge.en.md", JUDGE), (mean_level, *STATUS_RATES)),
    ):  # fmt: skip
        folder = tmp_path / "benchmarks" / name
        folder.mkdir(parents=True)
        for file, text in (("card.toml", CARD), ("rubric.toml", rubric), prompt):
            (folder / file).write_text(text, encoding="utf-8")
        made[name] = Benchmark.from_folder(folder, metrics=metrics, read=lambda _: [])
    monkeypatch.setattr(registry, "_known", lambda: registry._Known(made, {}))
    return Planted(tmp_path, made["kind"], made["warmth"], made)
