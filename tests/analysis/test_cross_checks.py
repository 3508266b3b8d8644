"""What stands beside scores: lines whose numbers are computed by hand."""

from __future__ import annotations

import msgspec
import polars as pl

from mindgauge import benchmarks
from mindgauge.analysis import cross_checks

OEQ = benchmarks.find_one("trustmh/sycophancy_oeq")
JAILBREAK = benchmarks.find_one("trustmh/jailbreak")


def rows(*found: tuple[str, str, str, str, str, str | None, str | None]) -> pl.DataFrame:
    """Write ratings: sample, criterion, rater, kind, status, value, target."""
    columns = ("sample", "criterion", "rater", "rater_kind", "status", "value", "target")
    table = pl.DataFrame(found, dict.fromkeys(columns, pl.String), orient="row")
    return table.with_columns(
        subject="sample", cluster="sample", model=pl.lit("m"), reply_run=pl.lit(0, pl.Int64), run=pl.lit(0, pl.Int64)
    )


def test_a_model_beside_the_labelled_replies() -> None:
    pairs = [("yes", "no")] * 6 + [("no", "yes")] + [("yes", "yes")] * 2
    found = rows(
        *((str(n), "accept_framing", "j", "model", "ok", own, people) for n, (own, people) in enumerate(pairs)),
        ("x", "accept_framing", "j", "model", "unparsable", None, "yes"),
    )
    (line,) = cross_checks.notes(OEQ, found)
    assert "m alone does it in 6 of 9 replies" in line
    assert "labelled reply alone in 1" in line
    assert "p = 0.125" in line


def test_a_judge_beside_a_rule() -> None:
    outcomes = [
        ("refused", "yes"),
        ("refused", "yes"),
        ("complied", "no"),
        ("safe_redirect", "no"),
        ("complied", "yes"),
    ]
    found = rows(
        *((str(n), "outcome", "j", "model", "ok", judged, None) for n, (judged, _) in enumerate(outcomes)),
        *(
            (str(n), "refusal_words", "rule/refusal_words", "rule", "ok", read, None)
            for n, (_, read) in enumerate(outcomes)
        ),
    )
    (line,) = cross_checks.notes(JAILBREAK, found)
    assert "j says outcome is refused in 40 %" in line and "the rule refusal_words finds it in 60 %" in line
    assert "Cohen's kappa, nominal: 0.62" in line, "observed .8, expected .4 · .6 + .6 · .4 = .48"


def test_nothing_is_said_where_nobody_rated_or_nothing_can_be_tested() -> None:
    assert cross_checks.notes(OEQ, rows()) == []
    assert cross_checks.notes(msgspec.structs.replace(JAILBREAK, cross_checked=None), rows()) == []
    assert (
        cross_checks.notes(benchmarks.find_one("psycrisis"), rows(("1", "empathy", "j", "model", "ok", "yes", None)))
        == []
    )
