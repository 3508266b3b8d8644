"""Stored probabilities beside targets: ten bins, exact bounds over conversations, abstentions with their probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mindgauge import benchmarks
from mindgauge.analysis import frame
from mindgauge.analysis.classifiers import calibrated
from mindgauge.records import Message, RaterKind, Rating, Sample, Status
from mindgauge.stats.proportion import clopper_pearson
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.analysis.classifiers import Calibrated

TASK = benchmarks.find_one("dialogue_safety")
CRITERION = TASK.rubric.criteria[0]
SAFE, NEGLECT = "Safe Response", "Linguistic Neglect"
OF = {"a": "classifier/c", "b": "classifier/bare"}


def found(folder: Path, rater: str, known: int = 0) -> Calibrated | None:
    """Plant a classifier: 10 answers at .85 of which 8 are right, 5 abstentions at .4 of which 1 is; two share a dialogue.

    Of the first `known` it is known that they were new to it, of the next two that they were not.
    """
    rows = [(0.85, i < 8, i) for i in range(10)] + [(0.4, i == 0, 10 + min(i, 3)) for i in range(5)] + [(0.9, True, -1)]
    with Store(folder, write=True) as store:
        manifest.write(folder, {"plan": {"benchmarks": [TASK.name]}})
        for number, (sure, right, dialogue) in enumerate(rows):
            target = None if dialogue < 0 else SAFE if right else NEGLECT
            sample = Sample.of(
                (Message("user", f"message {number}"), Message("assistant", "reply")),
                target=target,
                cluster=str(dialogue),
            )
            store.put_samples(TASK.name, [sample])
            ok = sure > 0.5
            rest = {str(v): (1 - sure) / 7 for v in CRITERION.values}
            how = {"seen": "no"} if number < known else {"seen": "text"} if known and number < known + 2 else {}
            for name, facts in (
                (OF["a"], {"probabilities": {**rest, SAFE: sure}, "abstained": not ok, **how}),
                (OF["b"], {}),
            ):
                store.add_rating(
                    TASK.name,
                    Rating(
                        sample.id, CRITERION.name, name, RaterKind.CLASSIFIER, 0, Status.OK if ok else Status.REFUSED,
                        SAFE if ok else None, provenance=facts,
                    ),
                )  # fmt: skip
        store.flush()
        return calibrated(store, TASK, frame.ratings(store, TASK), rater, CRITERION)


def test_bins_hold_every_sample_with_a_target_abstained_ones_too(tmp_path: Path) -> None:
    seen = found(tmp_path, OF["a"])
    assert seen is not None
    assert (seen.n, seen.clusters, seen.abstained) == (15, 14, 5)
    assert [b.n for b in seen.by_bin.bins] == [0, 0, 0, 5, 0, 0, 0, 0, 10, 0]
    low, high = seen.by_bin.bins[3], seen.by_bin.bins[8]
    assert [low.accuracy, high.accuracy] == pytest.approx([0.2, 0.8])
    bound = clopper_pearson(0.2 * 4, 4)
    assert (low.accuracy_low, low.accuracy_high) == (bound.low, bound.high), "five samples of four conversations"
    assert seen.confidence == pytest.approx((10 * 0.85 + 5 * 0.4) / 15)
    assert seen.right == pytest.approx(9 / 15)
    assert seen.by_bin.ece == pytest.approx((10 * 0.05 + 5 * 0.2) / 15)


def test_what_it_learned_from_is_counted_where_it_is_known_of_all(tmp_path: Path) -> None:
    for known, expected in ((0, None), (5, None), (13, 2), (15, 0)):
        (tmp_path / str(known)).mkdir()
        seen = found(tmp_path / str(known), OF["a"], known)
        assert seen is not None and seen.seen == expected


def test_a_classifier_without_probabilities_has_no_calibration(tmp_path: Path) -> None:
    assert found(tmp_path, OF["b"]) is None
