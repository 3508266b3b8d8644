"""Claims held against ratings: what is true holds, and an interval of another unit is told by its unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy import stats

from mindgauge.analysis.audit import claims
from mindgauge.analysis.reliability.ratings import read
from mindgauge.commands.audit import audit
from mindgauge.records.errors import UsageError
from mindgauge.stats import agreement

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.analysis.audit.claims import CheckedClaim

COLUMNS = ("subject", "criterion", "rater", "rater_kind", "value", "system", "cluster", "run")


def table(conversations: int = 50, replies: int = 4, runs: int = 5, seed: int = 3) -> pl.DataFrame:
    """A judge rates some replies of a conversation again and again, its noise far below what conversations differ by."""
    generator = np.random.default_rng(seed)
    rows = []
    for conversation in range(conversations):
        level = 3.2 + generator.normal(0, 0.9)
        for reply in range(replies):
            seen = level + generator.normal(0, 0.3)
            for run in range(runs):
                value = int(np.clip(round(seen + generator.normal(0, 0.25)), 1, 5))
                place = f"c{conversation}/{reply}", "safety"
                rows.append((*place, "judge", "model", str(value), "alpha", f"c{conversation}", run))
                if not run:
                    person = int(np.clip(round(seen + generator.normal(0, 0.6)), 1, 5))
                    rows.append((*place, "anna", "person", str(person), "alpha", f"c{conversation}", 0))
    return pl.DataFrame(rows, COLUMNS, orient="row")


TABLE = table()
RATINGS = read([TABLE], scale={"*": "1:5"})
JUDGED = TABLE.filter(pl.col("rater") == "judge").with_columns(pl.col("value").cast(pl.Float64))
MEAN = float(JUDGED["value"].mean())  # type: ignore[arg-type]
BY_CONVERSATION = JUDGED.group_by("cluster").agg(pl.col("value").mean())["value"].to_numpy()
BY_RUN = JUDGED.group_by("run").agg(pl.col("value").mean())["value"].to_numpy()


def half(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """An independent recomputation: t of some values."""
    return float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))


def claim(width: float, *, estimate: float = MEAN, n: int | None = None, level: float = 0.95) -> CheckedClaim:
    stated = claims.Claim(
        "mean", round(estimate, 3), rater="judge", low=round(estimate - width, 3), high=round(estimate + width, 3), n=n, level=level
    )  # fmt: skip
    [checked] = claims.held([stated], RATINGS)
    return checked


def test_an_honest_claim_holds() -> None:
    checked = claim(half(BY_CONVERSATION), n=50)
    assert checked.verdict == "holds"
    assert checked.estimate == pytest.approx(MEAN)
    assert checked.high is not None and checked.low is not None
    assert (checked.high - checked.low) / 2 == pytest.approx(half(BY_CONVERSATION), rel=0.1)
    assert checked.repeats == pytest.approx(half(BY_RUN))
    assert checked.ratings == pytest.approx(half(JUDGED["value"].to_numpy()))
    assert (checked.n_ratings, checked.n_subjects, checked.n_conversations, checked.n_repeats) == (1000, 200, 50, 5)


def test_an_honest_claim_at_another_level_holds() -> None:
    assert claim(half(BY_CONVERSATION) * stats.norm.ppf(0.995) / stats.norm.ppf(0.975), level=0.99).verdict == "holds"


def test_an_interval_of_repeats_is_told() -> None:
    checked = claim(half(BY_RUN), n=50)
    assert checked.verdict == "interval of repeats"
    [sentence] = checked.sentences
    assert "that of 5 repeats, not of conversations, narrower by a factor of" in sentence
    assert sentence.endswith("this interval is about the judge's own noise, not about other conversations")


def test_an_interval_of_single_ratings_and_their_number_are_told() -> None:
    checked = claim(half(JUDGED["value"].to_numpy()), n=1000)
    assert checked.verdict == "interval of ratings"
    assert "takes each of 1,000 ratings for a draw of its own" in checked.sentences[0]
    effect = 1000 * (half(JUDGED["value"].to_numpy()) / half(BY_CONVERSATION)) ** 2
    assert "n = 1,000 counts ratings (pseudo-replication): 50 conversations are what was drawn" in checked.sentences[1]
    told = int(checked.sentences[1].split("as much as ")[1].split(" ")[0])
    assert told == pytest.approx(effect, rel=0.2)


def test_n_of_subjects_and_n_of_nothing() -> None:
    assert claim(half(BY_CONVERSATION), n=200).verdict == "n counts ratings"
    assert claim(half(BY_CONVERSATION), n=5).sentences == [
        "mean, judge: n = 5 counts repeats: 50 conversations are what was drawn"
    ]
    assert claim(half(BY_CONVERSATION), n=77).verdict == "differs"


def test_another_estimate_differs_by_so_much() -> None:
    checked = claim(half(BY_CONVERSATION), estimate=MEAN + 0.25)
    assert checked.verdict == "differs"
    assert "−0.25" in checked.sentences[0]


def test_a_rounded_estimate_is_the_same() -> None:
    for decimals in (1, 2, 3):
        [checked] = claims.held([claims.Claim("mean", round(MEAN, decimals), rater="judge")], RATINGS)
        assert checked.verdict == "holds", decimals


def test_a_share_and_agreement_are_recomputed() -> None:
    unsafe = JUDGED["value"].is_in([1.0, 2.0]).mean()
    wide = TABLE.filter(pl.col("run") == 0).pivot("rater", index="subject", values="value").select("judge", "anna")
    pairs = wide.cast(pl.Float64).to_numpy()
    expected = agreement.kappa(pairs, "quadratic", levels=[1, 2, 3, 4, 5]).value
    assert unsafe is not None and expected is not None
    stated = [
        claims.Claim("share", round(float(unsafe), 3), rater="judge", values=[1, 2]),  # type: ignore[arg-type]
        claims.Claim("kappa_quadratic", round(expected, 2), rater=["judge", "anna"]),
        claims.Claim("percent", round(float((pairs[:, 0] == pairs[:, 1]).mean()), 3), rater=["judge", "anna"]),
        claims.Claim("alpha", 0.1, rater="judge"),
    ]
    checked = claims.held(stated, RATINGS)
    assert [one.verdict for one in checked] == ["holds", "holds", "holds", "differs"]
    assert checked[3].estimate is not None and checked[3].estimate > 0.7, "a judge's runs beside each other"


@pytest.mark.parametrize(
    ("stated", "why"),
    [
        (claims.Claim("mean", 1.0, rater="jugde"), "no rater 'jugde'; did you mean judge?"),
        (claims.Claim("mean", 1.0, rater="judge", system="beta"), "no system 'beta'; there are alpha"),
        (claims.Claim("mean", 1.0, rater="judge", criterion="empathy"), "no criterion 'empathy'; there are safety"),
        (claims.Claim("mean", 1.0), "it names no rater; there are anna, judge"),
        (claims.Claim("f1", 1.0), "f1 is not recomputed here"),
        (claims.Claim("share", 1.0, rater="judge", values=[9]), "'9' is not on the scale 1:5"),
        (claims.Claim("kappa", 1.0, rater="anna"), "agreement takes two raters or two runs"),
    ],
)  # fmt: skip
def test_what_cannot_be_checked_says_why(stated: claims.Claim, why: str) -> None:
    [checked] = claims.held([stated], RATINGS)
    assert checked.verdict == "cannot be checked"
    assert why in checked.sentences[0]


def test_repeats_of_one_conversation_are_about_noise() -> None:
    one = TABLE.filter(pl.col("subject") == "c0/0", pl.col("rater") == "judge")
    one = one.with_columns(value=pl.Series(["3", "4", "3", "4", "4"]))
    [checked] = claims.held([claims.Claim("mean", 3.6, low=2.92, high=4.28)], read([one], scale={"*": "1:5"}))
    assert checked.verdict == "interval of repeats"
    assert "about the judge's own noise" in checked.sentences[0]


FILE = """
[[claim]]
name = "Table 2"
metric = "mean"
rater = "judge"
estimate = {:.3f}
low = {:.3f}
high = {:.3f}
n = 1000
"""


def test_a_file_of_claims(tmp_path: Path) -> None:
    from mindgauge.cli import app

    ratings, path = tmp_path / "ratings.csv", tmp_path / "claims.toml"
    TABLE.write_csv(ratings)
    path.write_text(FILE.format(MEAN, MEAN - half(BY_RUN), MEAN + half(BY_RUN)), encoding="utf-8")
    result = audit(ratings, scale="1:5", claims=path)
    assert [(one.claim, one.verdict) for one in result.claims] == [("Table 2", "interval of repeats")]
    assert any("about the judge's own noise" in line for line in result.summary())
    shown = CliRunner().invoke(
        app, ["audit", str(ratings), "--scale", "1:5", "--claims", str(path)], env={"COLUMNS": "200"}
    )
    assert "interval of repeats" in shown.output and "own noise" in shown.output


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "missing required field `claim`"),
        ("claim = []", "no claim in it"),
        ("[[claim]]\nmetric = 'mean'", "missing required field `estimate`"),
        ("[[claim]]\nmetric = 'mean'\nestimate = 'four'", "Expected `float`"),
        ("[[claim]]\nmetric = 'mean'\nestimate = nan", "claim 1 (mean): estimate is no number"),
        ("[[claim]]\nmetric = 'mean'\nestimate = 4\nlow = 3", "claim 1 (mean): low and high go together"),
        ("[[claim]]\nmetric = 'mean'\nestimate = 4\nlow = 5\nhigh = 3", "low (5) is not below high (3)"),
        ("[[claim]]\nmetric = 'mean'\nestimate = 4\nlevel = 95", "level 95 is not between 0 and 1"),
        ("[[claim]]\nmetric = 'mean'\nestimate = 4\nn = 0", "n is 0"),
        ("[[claim]]\nmetric = 'share'\nestimate = 0.4", "a share needs values"),
        ("[[claim]]\nmetric = 'mean'\nestimate = 4\nhalf = 0.1", "unknown field `half`"),
        ("[[claim", "not a file of claims"),
    ],
)  # fmt: skip
def test_a_bad_file_of_claims_gets_one_line(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "claims.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        claims.load(path)
    assert why in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_claims_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        claims.load(tmp_path / "none.toml")


def test_claims_are_not_held_against_released_files(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    path.write_text(FILE.format(1, 0.5, 1.5), encoding="utf-8")
    with pytest.raises(UsageError, match="--claims goes with ratings files or a run"):
        audit("mentalbench", data=tmp_path, claims=path)
