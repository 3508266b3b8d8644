"""Classifiers in a run: who may answer or rate what, and what the run keeps of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mindgauge import manifest, private, sealed
from mindgauge.engine import classify
from mindgauge.errors import UsageError
from mindgauge.raters.classifier import ClassifierRater, is_classifier, open_classifier_rater
from mindgauge.rubric import Rubric

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mindgauge.benchmark import Benchmark
    from mindgauge.engine import Progress
    from mindgauge.models.request import Model
    from mindgauge.store import Store


_ODD = re.compile(r"[^\w.-]+")


class Classifying(NamedTuple):
    """A classifier that answers a closed question, or rates the replies to an open one."""

    benchmark: Benchmark
    rater: ClassifierRater

    @property
    def apart(self) -> bool:
        """Whether it rates on a criterion of its own, which the benchmark's rubric does not have."""
        return self.rater.criterion.name not in {c.name for c in self.benchmark.rubric.criteria}


def divided(specs: Sequence[str | Model]) -> tuple[list[str | Model], list[str]]:
    """Tell classifiers, each once, from everybody else."""
    named = list(dict.fromkeys(spec for spec in specs if isinstance(spec, str) and is_classifier(spec)))
    return [spec for spec in specs if not is_classifier(spec)], named


def answering(specs: Sequence[str], benchmarks: Sequence[Benchmark]) -> list[Classifying]:
    """Open classifiers that answer closed questions as models do.

    Raises:
        UsageError: one cannot be opened, was trained on another rubric, or a question is open.
    """
    written = next((benchmark.name for benchmark in benchmarks if not benchmark.closed), None)
    if specs and written is not None:
        raise UsageError(
            f"{specs[0]} writes no replies, and {written} asks for them; let it rate what others reply, with --judge"
        )
    opened = [open_classifier_rater(spec) for spec in specs]
    return [
        Classifying(benchmark, rater.answering(benchmark.rubric, about_reply=benchmark.about_reply))
        for rater in opened
        for benchmark in benchmarks
    ]


def judging(specs: Sequence[str], benchmarks: Sequence[Benchmark]) -> list[Classifying]:
    """Open classifiers that rate the replies to open benchmarks.

    Raises:
        UsageError: one cannot be opened, cannot rate replies, or was trained on another version of a rubric.
    """
    opened = [open_classifier_rater(spec) for spec in specs]
    asked = [benchmark for benchmark in benchmarks if not benchmark.closed]
    return [Classifying(benchmark, rater.judging(benchmark.rubric)) for rater in opened for benchmark in asked]


def keep(folder: Path, found: Sequence[Classifying]) -> None:
    """Write down in a run's manifest which classifiers rate in it; a rubric of their own is kept beside it.

    Raises:
        UsageError: a classifier was trained again since it rated here, or its criterion means something else here.
    """
    if not found:
        return
    content = manifest.read(folder)
    known = content.setdefault("classifiers", {})
    for one in found:
        rater = one.rater
        there = known.get(rater.name)
        if there is not None and there["instrument"] != rater.classifier.instrument:
            raise UsageError(
                f"{rater.name}: {folder} has ratings by its earlier weights or threshold ({there['instrument']}, now "
                f"{rater.classifier.instrument}); keep each in a folder of its own, or choose another --out"
            )
        entry = there or {"instrument": rater.classifier.instrument}
        if one.apart:
            file = _keep_rubric(folder, rater)
            entry["apart"] = {**entry.get("apart", {}), one.benchmark.name: file}
        known[rater.name] = entry
    manifest.write(folder, content)


def _keep_rubric(folder: Path, rater: ClassifierRater) -> str:
    file = f"rubrics/{_ODD.sub('-', rater.criterion.name)}.toml"
    path = folder / file
    if path.is_file() and Rubric.kept(path).hash != rater.classifier.rubric.hash:
        raise UsageError(
            f"{rater.name}: ratings on {rater.criterion.name} in {folder} are by another version of that rubric; "
            "choose another --out"
        )
    private.refuse_link(path.parent)
    private.folder(path.parent)
    private.write(path, sealed.seal((rater.classifier.path / "rubric.toml").read_bytes()))
    return file


def work(store: Store, found: Sequence[Classifying], progress: Progress | None) -> None:
    """Let classifiers rate what they have not rated yet."""
    for benchmark, rater in found:
        classify(store, benchmark, rater, progress)
