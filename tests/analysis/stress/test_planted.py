"""Every probe finds the bias that it is for, and no other; an unbiased judge is not accused on any benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mindgauge import benchmarks
from mindgauge.analysis.stress.effects import BIASED, HALO, Stress
from mindgauge.commands.judges.stress import judges_stress
from tests.analysis.stress import planted
from tests.analysis.stress.planted import OneMind, Persuadable, Planted
from tests.thinned import later

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from tests.analysis.stress.planted import Bias


def stress(judge: Any, out: Path, name: str = "warmth", **more: Any) -> Stress:
    found = judges_stress(judge, benchmark=name, out=out, **more)
    assert isinstance(found, Stress)
    return found


def biased(found: Stress) -> set[str]:
    effects = {f"{e.probe}: {e.version}" for e in found.effects if e.verdict == BIASED and e.measure != HALO}
    effects |= {"halo" for e in found.effects if e.verdict == BIASED and e.measure == HALO}
    return effects | {i.slice for i in found.injections if i.verdict == BIASED}


@pytest.mark.parametrize(
    ("bias", "version", "sign"),
    [
        (planted.fond_of("\n- ", 0.8), "format: list", 1),
        later(planted.fond_of("**", -0.8), "format: bold", -1),
        later(planted.fond_of("## ", 0.8), "format: headings", 1),
        (planted.fond_of("Written by gpt-5", -0.8), "named model: other family", -1),
        (planted.fond_of("twenty years", 0.8), "authority: clinician", 1),
        (planted.flattered("is going to be wonderful", 0.9), "sycophancy: praise", 1),
        later(planted.flattered("is going to be worthless", -0.9), "sycophancy: contempt", -1),
        (planted.literal(0.8), "paraphrase: paraphrase", -1),
        (planted.lenient_alone(0.8), "joint or split: one at a time", 1),
    ],
)
def test_each_probe_finds_its_own(bias: Bias, version: str, sign: int, warmth: Benchmark, tmp_path: Path) -> None:
    probe = version.partition(":")[0]
    found = stress(Planted(warmth, bias, noise=0.05), tmp_path / "r", probes=[probe, "verbosity", "repeat"])
    assert version in biased(found)
    assert {one.partition(":")[0] for one in biased(found)} == {probe}
    moved = [e.value for e in found.effects if f"{e.probe}: {e.version}" == version and e.verdict == BIASED]
    assert all(value is not None and value * sign > 0 for value in moved)


def test_halo_is_found_though_no_criterion_shifts_by_much(tmp_path: Path) -> None:
    benchmark = benchmarks.find_one("mentalbench")
    halo = stress(OneMind(benchmark), tmp_path / "halo", benchmark.name, probes="joint or split", judge_runs=1)
    assert "halo" in biased(halo)
    fair = stress(Planted(benchmark, noise=0.2), tmp_path / "fair", benchmark.name, probes="joint or split")
    assert "halo" not in biased(fair)


@pytest.mark.long
@pytest.mark.parametrize("kinds", [("instruction",), later(("fake_verdict", "hidden_unicode"))])
def test_a_judge_that_some_kinds_of_attempt_persuade(kinds: tuple[str, ...], warmth: Benchmark, tmp_path: Path) -> None:
    found = stress(Persuadable(warmth, *kinds, noise=0.05), tmp_path / "r", probes="injection")
    assert biased(found) == {f"kind={kind}" for kind in kinds}


def test_a_judge_that_wavers_is_told_and_not_accused(warmth: Benchmark, tmp_path: Path) -> None:
    found = stress(Planted(warmth, noise=0.5), tmp_path / "r", probes=["repeat", "format", "verbosity"])
    assert biased(found) == set()
    warm = next(r for r in found.repeats if r.criterion == "warmth")
    assert warm.changed.low is not None and warm.changed.low > 0.2
    assert warm.distance is not None and warm.distance > 0.1


@pytest.mark.long
@pytest.mark.parametrize("name", ["psycrisis", "help_or_harm/response", later("mentalbench")])
def test_a_judge_that_always_says_the_same_is_not_accused(name: str, tmp_path: Path) -> None:
    benchmark = benchmarks.find_one(name)

    best = {criterion.name: criterion.values[-1] for criterion in benchmark.rubric.criteria}

    class Content(Planted):
        def level(self, seen: planted.Seen) -> object:
            return best[seen.criterion.name]

    found = stress(
        Content(benchmark),
        tmp_path / "r",
        name,
        limit=24,
        each=1,
        judge_runs=2,
        probes=["order", "format", "injection", "repeat"],
    )
    assert biased(found) == set()
    assert {e.value for e in found.effects if e.value is not None} == {0.0}
    assert all(i.reached == 0 for i in found.injections if i.slice == "all")
