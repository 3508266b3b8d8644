"""`judges compare` on odd material: what does not apply, nobody says yes, uneven conversations, too little of anything."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import f1_score

import mindgauge
from mindgauge.analysis.judge_comparison.compare import IntervalOptions, JudgeAgreement, JudgeComparison, _measured
from mindgauge.analysis.judge_comparison.paired import bounds, pair
from mindgauge.analysis.reliability.scale import ValueScale
from mindgauge.benchmarks import Benchmark, registry
from mindgauge.benchmarks.metrics import mean_level
from mindgauge.cli.judges import _first, _in_full
from tests.cards import CARD
from tests.commands.judges.conftest import JUDGE, RUBRIC, judge, reply

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.request import Request

YES_NO = ValueScale((0.0, 1.0), ("no", "yes"))


@pytest.fixture
def optional(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    """The benchmark `care`, of which asking does not always apply."""
    folder = tmp_path / "care"
    folder.mkdir()
    rubric = RUBRIC.replace("checks = [", 'not_applicable.en = "There is nothing to ask."\nchecks = [')
    for name, text in (("card.toml", CARD), ("rubric.toml", rubric), ("judge.en.md", JUDGE)):
        (folder / name).write_text(text, encoding="utf-8")
    planted = Benchmark.from_folder(folder, metrics=(mean_level,), read=lambda _: [])
    monkeypatch.setattr(registry, "_known", lambda: registry._Known({planted.name: planted}, {}))
    return planted


def compared(tmp_path: Path, rows: list[dict[str, Any]], say: Any, **more: Any) -> JudgeComparison:
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = mindgauge.judges_compare(
        "care", replies=path, judge=judge(say), out=tmp_path / "out", **{"method": "rule", "judge_runs": 1, **more}
    )
    assert isinstance(found, JudgeComparison)
    return found


def of(found: JudgeComparison, criterion: str) -> JudgeAgreement:
    (one,) = (a for a in found.agreements if a.criterion == criterion)
    return one


def test_a_judge_does_not_get_better_by_saying_that_it_does_not_apply(optional: Benchmark, tmp_path: Path) -> None:
    """It says so of the first 4 dialogues of 12; of the last, people say so, and there is nothing to compare."""

    def say(method: str, warmth: int, asks: str, request: Request) -> object:
        evades = any(f" {n}/" in request.messages[0].content for n in range(4))
        return warmth, "not_applicable" if evades else asks

    rows = [reply(d, s) for d in range(12) for s in range(2)]
    for row in rows[-2:]:
        row["label.asks"] = "not_applicable"
    found = compared(tmp_path, rows, say)
    one = of(found, "asks")
    assert (one.n, one.missing) == (22, 8)
    assert one.worst == pytest.approx(14 / 22)
    assert (one.estimates["accuracy"].value, one.best) == (1, 1)
    assert any(
        "asks: j has 8 replies as not applicable, or with no known protocol, where people gave a value" in n
        for n in found.notes
    )


def rows_of(values: list[int], clusters: list[int]) -> pl.DataFrame:
    return pl.DataFrame({
        "subject": [f"s{n}" for n in range(len(values))], "cluster": [f"c{c:03}" for c in clusters],
        "number": [float(v) for v in values],
    })  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_f1_of_yes_is_scikit_learn_s(seed: int) -> None:
    generator = np.random.default_rng(seed)
    x, y = generator.integers(0, 2, (2, 40)).tolist()
    paired = pair(rows_of(x, list(range(40))), rows_of(y, list(range(40))), YES_NO)
    assert paired is not None
    found = bounds(paired)["f1_yes"]
    assert found.value == pytest.approx(f1_score(x, y))
    assert found.low is not None and found.value is not None and found.high is not None
    assert found.low < found.value < found.high


@pytest.mark.parametrize(
    ("people", "said", "value", "note"),
    [
        ([0] * 6, [0] * 6, None, "not defined: nobody says yes"),
        ([0] * 6, [1] * 6, 0.0, "no interval: it is the same without any one conversation"),
        ([1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], 1.0, "no interval: it rests on a single conversation"),
    ],
)
def test_f1_where_hardly_anybody_says_yes(people: list[int], said: list[int], value: float | None, note: str) -> None:
    paired = pair(rows_of(people, list(range(6))), rows_of(said, list(range(6))), YES_NO)
    assert paired is not None
    found = bounds(paired)["f1_yes"]
    assert (found.value, found.low, found.note) == (value, None, note)


def test_a_difference_and_its_interval_are_of_the_same_thing() -> None:
    """One long conversation of 40 replies, where the first judge is right, and 20 of one reply, where the second is."""
    clusters = [0] * 40 + list(range(1, 21))
    people = [1] * 60
    sides = [pair(rows_of(people, clusters), rows_of(said, clusters), YES_NO) for said in ([1] * 40 + [0] * 20, [0] * 40 + [1] * 20)]  # fmt: skip
    assert sides[0] is not None and sides[1] is not None
    (one,) = (
        d for d in _measured("c", ("a", "b"), (sides[0], sides[1]), IntervalOptions(200)) if d.measure == "accuracy"
    )
    assert one.value == pytest.approx(20 / 60)
    assert one.low is not None and one.value is not None and one.high is not None and one.p is not None
    assert one.low <= one.value <= one.high
    assert one.low == -1 and one.p > 0.5, "without the long one the second judge is better throughout"


@pytest.mark.parametrize("replies", [1, 3])
def test_a_single_conversation_has_no_interval_and_no_test(
    care: Benchmark, tmp_path: Path, capsys: pytest.CaptureFixture[str], replies: int
) -> None:
    rows = [reply(0, s) for s in range(replies)]
    found = compared(
        tmp_path, rows, lambda method, *_: (2, "no") if method == "rule" else (1, "no"), method=["general", "rule"]
    )
    assert found.agreements and found.differences
    assert {d.real for d in found.differences} == {None}
    assert all(b.low is None for a in found.agreements for n, b in a.estimates.items() if n != "accuracy")
    _first(found)
    assert "cannot be tested" in capsys.readouterr().out


def test_a_judge_that_never_varies_is_said_in_words(
    care: Benchmark, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = compared(tmp_path, [reply(d, s) for d in range(8) for s in range(5)], lambda *_: (2, "no"))
    assert of(found, "warmth").estimates["spearman"].value is None
    _in_full(found)
    shown = " ".join(capsys.readouterr().out.split())
    assert "not defined: all values are the same, or there are none: asks, j (pearson, spearman, kendall); warmth, j" in shown  # fmt: skip


def test_a_judge_that_gives_nothing_is_said_in_words(
    care: Benchmark, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = compared(tmp_path, [reply(d, 0) for d in range(8)], lambda *_: "I would rather not.")
    assert {(a.n, a.missing, tuple(a.estimates)) for a in found.agreements} == {(8, 8, ())}
    _in_full(found)
    assert "no reply has a value of both, so nothing is estimated: asks, j; warmth, j" in capsys.readouterr().out


def test_tables_fit_a_terminal_of_100_columns(
    care: Benchmark, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [reply(d, s) for d in range(8) for s in range(5)]
    found = compared(tmp_path, rows, lambda _, w, a, __: (w, a), method=["general", "rule"])
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    _in_full(found)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    tables = lines[: next(i for i, line in enumerate(lines) if line.startswith("Asked again"))]
    assert max(map(len, (line for line in tables if not line.startswith("Note")))) <= 100
    assert sum("j (general)" in line for line in tables) > 4, "several tables of the same rows"
    for name in ("accuracy", "f1 yes", "kappa, quadratic weights", "kendall"):
        assert any(re.search(rf"(^|  ){name}(  |$)", line) for line in tables), "no word is broken"
