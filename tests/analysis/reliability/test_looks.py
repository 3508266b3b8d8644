"""Cards that are looked at while people still rate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

import mindgauge
from mindgauge.analysis.reliability import rule
from mindgauge.analysis.reliability.card import GOOD
from mindgauge.cli import main
from mindgauge.records.errors import UsageError
from tests.analysis.reliability.conftest import made
from tests.analysis.reliability.harmful import study

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.analysis.reliability.card import BesideClinician, ReliabilityCard

REPLIES = 400


@pytest.fixture(scope="module")
def rated() -> pl.DataFrame:
    """Return 400 replies that three people of ICC .92 and the truth rated."""
    of = study(4, replies=REPLIES, unsafe=80, agreement=0.92)
    raters = {f"person {i + 1}": of.people[:, i] for i in range(3)} | {"judge": of.truth}
    known = pl.DataFrame({
        "place": range(REPLIES), "subject": [f"reply {i}" for i in range(REPLIES)], "criterion": "safety",
        "system": [f"system {i}" for i in of.system], "cluster": [f"conversation {i}" for i in range(REPLIES)],
    })  # fmt: skip
    return pl.concat(
        known.with_columns(
            rater=pl.lit(name), rater_kind=pl.lit("model" if name == "judge" else "person"), value=pl.Series(values)
        )
        for name, values in raters.items()
    )


def card(rated: pl.DataFrame, look_until: int = 0, first: int = REPLIES) -> ReliabilityCard:
    part = rated.filter(pl.col("place") < first).drop("place")
    [found] = made(part, look_until=look_until, resamples=10, brief=True).cards
    return found


def ends(found: ReliabilityCard) -> list[BesideClinician]:
    assert found.danger is not None
    both = [found.danger.unsafe_end, found.danger.safe_end]
    assert all(both)
    return [end for end in both if end is not None]


def test_every_bound_that_a_licence_rests_on_is_wider_and_no_value_moves(rated: pl.DataFrame) -> None:
    once, watched = card(rated, first=300), card(rated, 800, first=300)
    pairs = [(once.agreement, watched.agreement), (once.estimates["bias"], watched.estimates["bias"])]
    pairs += [(a.difference, b.difference) for a, b in zip(ends(once), ends(watched), strict=True)]
    pairs += [(once.estimates["unsafe_found"], watched.estimates["unsafe_found"])]
    for one, other in pairs:
        assert one.value == other.value
        assert None not in (one.low, one.high, other.low, other.high)
        assert (other.low or 0.0) < (one.low or 0.0)
        assert (other.high or 0.0) >= (one.high or 0.0)
    assert (once.look_until, watched.look_until, once.rule) == (0, 800, watched.rule)


def test_a_sound_judge_is_good_late_and_not_at_the_first_looks(rated: pl.DataFrame) -> None:
    assert card(rated, first=200).verdict == GOOD
    assert card(rated, 1_600, first=200).verdict != GOOD
    assert card(rated, REPLIES).verdict == GOOD


def test_a_look_counts_replies_that_two_people_rated(rated: pl.DataFrame) -> None:
    """Who rated ahead alone must not make looks at the comparison of people cheap."""
    ahead = rated.filter((pl.col("place") < 100) | pl.col("rater").is_in(["person 1", "judge"]))
    assert ends(card(ahead, REPLIES))[0].difference.low == ends(card(rated, REPLIES, first=100))[0].difference.low


def test_more_replies_than_were_planned_are_refused_in_one_line(rated: pl.DataFrame) -> None:
    with pytest.raises(UsageError, match=r"--look-until 300: people have rated 400 replies, .* set before the first"):
        card(rated, 300)


def test_the_terminal_says_it_and_the_source_rule_and_plans_know_no_looks(
    rated: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ratings.csv"
    rated.filter(pl.col("place") < 100).drop("place").write_csv(path)

    def said(*args: str) -> tuple[int, str, str]:
        given = ["mindgauge", "reliability", str(path), "--scale", "1:5", "--look-until", "800", *args]
        monkeypatch.setattr("sys.argv", given)
        with pytest.raises(SystemExit) as left:
            main()
        return int(left.value.code or 0), *capsys.readouterr()

    code, out, _ = said("--resamples", "100")
    assert code == 0
    assert "you look while people rate up to 800 replies" in " ".join(out.split())
    code, out, _ = said("--resamples", "100", "--json")
    assert [found["look_until"] for found in json.loads(out)["cards"]] == [800]
    for args in (["--rule", "mentalbench"], ["--plan"]):
        code, _, err = said(*args)
        assert (code, "--look-until" in err, "Traceback" in err) == (2, True, False)
    with pytest.raises(UsageError, match="takes a number of replies"):
        mindgauge.reliability(path, scale="1:5", rule=rule.MINDGAUGE, look_until=-1)
