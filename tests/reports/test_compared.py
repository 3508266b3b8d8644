"""What the report says of several systems: who is better by how much, who cannot be told apart, and what may not be said."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import mindgauge
from mindgauge.commands.compare import compare
from mindgauge.models.scripted import Scripted
from mindgauge.records import Exchange, Status, Usage
from mindgauge.reports.page import ReportFiles, write
from tests.analysis.answered import Asked, Planted, planted
from tests.reports.conftest import KIND, MODELS, NOISY, plant

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.request import Request

__all__ = ["planted"]
CRISIS = "help_or_harm/crisis_type"
USAGE = Usage(100, 20)


def told(files: ReportFiles) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(files.json.read_bytes())
    return found


def labelling(right: bool) -> Any:
    """Answer with a sample's label, at a price, or always see no crisis."""

    def answer(request: Request) -> Exchange:
        assert request.sample is not None
        label = request.sample.target if right else "no_crisis"
        said = json.dumps({"quotes": [], "rationale": "r", "crisis_type": label})
        return Exchange(Status.OK, said, usage=USAGE, seconds=0.5, cost=0.002 if right else None)

    return answer


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    base = tmp_path_factory.mktemp("two")
    for name, right in (("knowing", True), ("careless", False)):
        mindgauge.run(CRISIS, model=Scripted(name, labelling(right)), out=base / name, limit=28)
    return [base / "knowing", base / "careless"]


@pytest.fixture(scope="module")
def across(two: list[Path]) -> ReportFiles:
    return write(two, two[0].parent / "report.html")


def test_two_runs_say_who_is_better_and_by_how_much_as_compare_does(across: ReportFiles, two: list[Path]) -> None:
    (gap,) = compare(two).find("accuracy")[0].differences
    assert gap.low is not None and gap.high is not None
    first, missed, *_ = told(across)["paired"]["contrasts"]
    size = f"85.7 points ({100 * gap.low:.1f} to {100 * gap.high:.1f})"
    assert first["finding"] == f"knowing is better than careless on accuracy by {size}"
    assert missed["finding"].startswith(
        "knowing is better than careless on the share of messages that show a crisis taken for none by 100.0 points"
    )
    assert (first["folded"], missed["folded"]) == (False, True)
    assert f"- {first['finding']}" in across.markdown.read_text()


def test_every_two_systems_stand_in_the_table_behind_with_what_compare_found(
    across: ReportFiles, two: list[Path]
) -> None:
    sheet = told(across)["paired"]["pairs"]
    names = [column["name"] for column in sheet["columns"]]
    row = dict(zip(names, sheet["rows"][0], strict=True))
    (gap,) = compare(two).find("accuracy")[0].differences
    assert (row["first"], row["second"], row["verdict"]) == ("knowing", "careless", "knowing is better")
    assert [row["first minus second"], row["from"], row["to"]] == pytest.approx(
        [100 * (v or 0) for v in (gap.value, gap.low, gap.high)], abs=1e-4
    )
    assert row["unit"] == "points"
    assert 'download="pairs.csv"' in across.path.read_text()


def test_of_two_systems_the_parts_are_named_on_which_either_is_better(across: ReportFiles) -> None:
    found = told(across)["paired"]
    rows = found["parts"]["rows"]
    assert found["parts_said"][0].startswith(f"On single parts {len(rows)} of ")
    assert found["parts_said"][1].startswith("knowing is better on ")
    assert {"knowing is better"} == {row[10] for row in rows}


def test_costs_and_times_of_a_thousand_and_an_unknown_price_is_no_zero(across: ReportFiles) -> None:
    rows = told(across)["paired"]["costs"]["rows"]
    assert rows == [
        [CRISIS, "knowing", 28, pytest.approx(2.0), pytest.approx(500)],
        [CRISIS, "careless", 28, None, 500],
    ]


def test_the_picture_has_every_system_in_its_colour_and_says_its_finding(across: ReportFiles) -> None:
    page = across.path.read_text()
    contrast = told(across)["paired"]["contrasts"][0]
    figure = page[page.index(f'id="{contrast["anchor"]}"') :]
    figure = figure[: figure.index("</figure>")]
    assert f'aria-label="{contrast["finding"]}. ' in figure
    for width in ("wide", "narrow"):
        svg = figure[figure.index(f'class="{width}"') :]
        svg = svg[: svg.index("</svg>")]
        assert [svg.count(f'fill="{shade}"') for shade in ("#0072b2", "#d55e00")] == [1, 1]
        assert svg.count("<path") == len(contrast["places"])
        assert "possible ranks of 2" in svg
    assert "no rank is given" not in page


def test_alike_systems_cannot_be_told_apart_and_nobody_leads(files: ReportFiles) -> None:
    found = told(files)["paired"]
    first = found["contrasts"][0]
    assert first["finding"] == f"{MODELS[0]} and {MODELS[1]} cannot be told apart on accuracy"
    assert first["said"][0].startswith(f"The lead of {MODELS[0]} is 0.0 points (−")
    assert "cannot be told apart on accuracy" in files.markdown.read_text()
    assert found["costs"] is None
    assert "is not known" in found["costs_said"]
    assert {(p["rank_low"], p["rank_high"]) for p in first["places"]} == {(1, 2)}


def test_a_constant_answer_stands_last_in_grey_and_who_does_not_beat_it_is_named(planted: Planted) -> None:
    planted = planted.asking_for("calm")
    kinds = ("calm", "calm", "calm", "sad")
    asked = [Asked(f"s{i}", kinds[i % 4]) for i in range(60)]
    answers: dict[str, list[str | None]] = {
        "sharp": [one.target for one in asked],
        "dull": ["calm"] * 60,
        "odd": ["sad" if i % 2 else "calm" for i in range(60)],
    }
    files = write([planted.answered("run", asked, answers)])
    first = told(files)["paired"]["contrasts"][0]
    assert first["finding"].startswith("sharp is better than both others on accuracy; dull is next, 25.0 points (")
    assert first["places"][-1]["system"] is None
    assert first["places"][-1]["label"] == "always calm (reads nothing)"
    assert "not shown to be better than “always calm”, which reads nothing." in " ".join(first["said"])
    assert "sharp" not in next(text for text in first["said"] if "reads nothing" in text)


@pytest.mark.long
def test_a_judge_that_may_not_rank_is_not_compared_and_one_that_may_not_rate_shows_no_value(
    rated_files: ReportFiles, shown: ReportFiles
) -> None:
    found = told(rated_files)["paired"]
    by = {judge: [c for c in found["contrasts"] if f"(rated by {judge})" in c["finding"]] for judge in (NOISY, KIND)}
    assert by[NOISY] == []
    assert not [row for row in found["pairs"]["rows"] if NOISY in row[1]]
    assert any(
        text.startswith(f"{NOISY} agrees too little with people to rank models on appr") for text in found["withheld"]
    )
    assert by[KIND]
    assert {p[value] for c in by[KIND] for p in c["places"] for value in ("value", "low", "high")} == {None}
    assert {cell for c in by[KIND] for row in c["sheet"]["rows"] for cell in row[1:4]} == {None}
    asked_for = told(shown)["paired"]
    doubtful = [c for c in asked_for["contrasts"] if NOISY in c["finding"] or KIND in c["finding"]]
    assert {c["finding"].partition(": ")[0] for c in doubtful} == {"Unreliable"}
    assert all(p["value"] is not None for c in doubtful for p in c["places"])


def test_one_system_is_compared_with_nobody(tmp_path: Path) -> None:
    files = write([plant(tmp_path / "one", MODELS[:1])])
    assert told(files)["paired"] is None
    assert "## Compared" not in files.markdown.read_text()


def test_systems_without_a_sample_in_common_stand_side_by_side_and_it_says_why(planted: Planted) -> None:
    runs = [
        planted.answered(name, [Asked(f"{name} {i}", "calm") for i in range(8)], {name: ["calm"] * 8})
        for name in ("here", "there")
    ]
    files = write(runs, planted.folder / "report.html")
    found = told(files)
    assert found["paired"]["contrasts"] == []
    assert "no two of here, there have a sample in common" in found["paired"]["notes"][0]
    page = files.path.read_text()
    assert "no rank is given" in page
    assert re.search(r"Nothing to compare: .*no two of here, there have a sample in common", page)


def test_many_criteria_stand_by_their_means_the_first_open(tmp_path: Path) -> None:
    from tests.reports.conftest import plant_rated

    folder = plant_rated(tmp_path / "run", {}, benchmark_name="mentalbench", conversations=24, people=("Anna",))
    contrasts = told(write([folder]))["paired"]["contrasts"]
    assert {re.sub(r" on mean .*", "", c["anchor"]).split("-")[2] for c in contrasts} == {"mean"}
    assert [c["folded"] for c in contrasts] == [False] + [True] * (len(contrasts) - 1)
    assert {(c["low"], c["high"]) for c in contrasts} == {(1, 5)}
