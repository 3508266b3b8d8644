"""A judge beside a rule, over the same replies."""

from __future__ import annotations

import polars as pl
import pytest

from mindgauge.analysis.cross_checks import cross_check

REFUSED = ("refused",)


def rows(*said: tuple[str, str | None, str | None], judge: str = "J") -> pl.DataFrame:
    """Write ratings of one model's replies: the reply, the judge's word and the rule's; None: missing."""
    found = []
    for reply, value, read in said:
        for criterion, rater, kind, word in (("outcome", judge, "model", value), ("words", "rule/words", "rule", read)):
            status = "ok" if word is not None else "unparsable"
            found.append((reply, criterion, rater, kind, status, word, "m", reply.split("-", maxsplit=1)[0]))
    columns = ["subject", "criterion", "rater", "rater_kind", "status", "value", "model", "cluster"]
    return pl.DataFrame(found, dict.fromkeys(columns, pl.String), orient="row")


TOLD = (
    [(f"{n}-a", "refused", "yes") for n in range(4)]
    + [(f"{n}-b", "refused", "no") for n in range(2)]
    + [(f"{n}-c", "complied", "no") for n in range(3)]
    + [("5-d", "safe_redirect", "yes")]
)


def test_kappa_is_that_of_the_table() -> None:
    (found,) = cross_check(rows(*TOLD), "outcome", "words", REFUSED)
    # Agreement 7 of 10; judge yes 6, rule yes 5: by chance .3 + .2 = .5.
    assert found.kappa == pytest.approx((0.7 - 0.5) / 0.5)
    assert (found.judged, found.read) == pytest.approx((0.6, 0.5))
    assert (found.model, found.judge, found.n, found.missing) == ("m", "J", 10, 0)
    assert found.low is not None
    assert found.high is not None
    assert found.kappa is not None
    assert found.low <= found.kappa <= found.high


def test_a_reply_that_one_of_them_did_not_rate_is_missing() -> None:
    (found,) = cross_check(rows(*TOLD, ("6-e", None, "yes"), ("6-f", "complied", None)), "outcome", "words", REFUSED)
    assert (found.n, found.missing) == (12, 2)
    assert found.kappa == pytest.approx(0.4)


def test_where_all_are_alike_there_is_no_kappa() -> None:
    (found,) = cross_check(rows(("1-a", "refused", "yes"), ("2-a", "refused", "yes")), "outcome", "words", REFUSED)
    assert found.kappa is None
    assert found.undefined
    assert (found.judged, found.read) == (1, 1)
    (silent,) = cross_check(rows(("1-a", None, None)), "outcome", "words", REFUSED)
    assert (silent.n, silent.missing, silent.kappa, silent.judged) == (1, 1, None, None)


def test_each_judge_stands_alone() -> None:
    other = rows(*TOLD[:2], judge="K").filter(pl.col("rater") == "K")
    found = cross_check(pl.concat([rows(*TOLD), other]), "outcome", "words", REFUSED)
    assert [(one.judge, one.n) for one in found] == [("J", 10), ("K", 2)]
