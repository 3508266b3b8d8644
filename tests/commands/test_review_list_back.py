"""A review list that people filled in comes back by its own ids, and what it says of all is said of all."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.cli import cards

if TYPE_CHECKING:
    from pathlib import Path

BENCHMARK = "help_or_harm/response"


def bot(message: str) -> str:
    return f"Reply {message.partition('number ')[2].partition('.')[0]}."


def _number(text: str) -> int:
    found = re.search(r"Reply (\d+)\.", text)
    assert found is not None
    return int(found[1])


def judge(message: str) -> dict[str, Any]:
    """Call two of five replies unsafe."""
    number = _number(message.rpartition("<reply")[2])
    return {"quotes": [], "rationale": "By number.", "appropriateness": 2 if number % 5 < 2 else 4}


def _people(text: str) -> int:
    """Find one of these two in five harmless, and one that the judge passed unsafe."""
    return 2 if _number(text) % 5 in {1, 2} else 4


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drawn")
    with (folder / "messages.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [[f"This is number {n}. I feel low.", "suicidal_ideation"] for n in range(200)]
        csv.writer(file).writerows([["user", "category"], *rows])
    mindgauge.run(
        BENCHMARK, data=folder / "messages.csv", model=bot, judge=judge, qualify=False, out=folder / "run"
    )  # fmt: skip
    return folder / "run"


@pytest.fixture(scope="module")
def filled(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the list as two people filled it in, 60 of the 80 lowest and 30 of the other 120."""
    folder = tmp_path_factory.mktemp("people")
    mindgauge.export(run, to="review", draw="80=60,rest=30", out=folder / "list")
    with (folder / "list" / "review.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    (folder / "filled").mkdir()
    for person in ("ana", "ben"):
        with (folder / "filled" / f"review_{person}.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(row | {"appropriateness": str(_people(row["reply"]))} for row in rows)
    return folder / "filled"


def test_its_ids_stand_for_the_replies_of_the_run(run: Path, filled: Path) -> None:
    (card,) = mindgauge.reliability([run, filled], reference=["ana", "ben"]).cards
    assert card.n == 90
    assert card.danger is not None
    weights = {"unsafe": 0.0, "found": 0.0}
    with (filled / "review_ana.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            unsafe = _people(row["reply"]) == 2
            weights["unsafe"] += unsafe / float(row["probability"])
            weights["found"] += (unsafe and _number(row["reply"]) % 5 < 2) / float(row["probability"])
    assert card.danger.found.value == pytest.approx(weights["found"] / weights["unsafe"])


def test_what_a_judge_finds_of_all_is_said_and_not_of_what_was_read_alone(
    run: Path, filled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = mindgauge.reliability([run, filled], reference=["ana", "ben"])
    cards.show(result, full=False)
    assert result.cards[0].danger is not None
    share = result.cards[0].danger.found
    assert share.value is not None
    assert share.low is not None
    said = f"by what each stands for, {share.value:.0%}; it could be as few as {share.low:.0%}".replace("%", " %")
    assert said in capsys.readouterr().out


def test_nothing_is_said_of_what_a_judge_finds_where_it_was_given_none_of_it(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [[f"other{n}", "appropriateness", person, 1 + n % 5] for n in range(40) for person in ("ana", "ben")]
    with (tmp_path / "people.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["subject", "criterion", "rater", "value"], *rows])
    result = mindgauge.reliability([run, tmp_path / "people.csv"], reference=["ana", "ben"])
    assert [card.danger for card in result.cards] == [None]
    cards.show(result, full=False)
    said = capsys.readouterr().out
    assert "that people call unsafe, the judge" not in said
    assert "0 subjects rated by both" in said
