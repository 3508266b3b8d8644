"""Ratings that were drawn with known probabilities are weighted wherever people's ratings are used, and only they."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import crc32

import msgspec
import numpy as np
import polars as pl
import pytest

from mindgauge.analysis.escalation import orders, subjects
from mindgauge.analysis.escalation.review import DrawPlan, draw
from mindgauge.analysis.reliability.card import NOT_ESTIMABLE
from mindgauge.analysis.reliability.rule import MINDGAUGE
from mindgauge.analysis.score import open_run, score
from mindgauge.commands.reliability import reliability
from mindgauge.commands.report import report
from mindgauge.records import Status
from mindgauge.records.errors import DataError, UsageError
from tests.analysis.judged_run import CRITERION, RESPONSE, World, said

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.analysis.reliability.card import ReliabilityCard
    from mindgauge.records import Rating
    from mindgauge.records.drawn import Drawn

UNSAFE = f"{CRITERION}<=2"


def drawn_world(seed: int = 1, n: int = 600) -> tuple[World, dict[str, Drawn]]:
    """A judge rates all replies, a level too mild at the bottom; of those that it scores lowest four times as many are drawn."""
    world = World(n, seed).judge("m", 0.8)
    lowest = sorted(world.ratings, key=lambda rating: (rating.value, rating.subject))
    plan = DrawPlan.read(f"{n // 6}={n // 10},rest={n * 5 // 40}")
    conversations = {reply.id: reply.sample for reply in world.replies}
    return world, draw([rating.subject for rating in lowest], conversations, plan, seed)[0]


def of_people(world: World, drawn: dict[str, Drawn], *, weigh: bool, selection: str = "") -> Iterator[Rating]:
    for reply, level in zip(world.replies, world.truth.tolist(), strict=True):
        if reply.id in drawn:
            provenance: dict[str, Any] = (
                drawn[reply.id].provenance if weigh else {"selection": selection} if selection else {}
            )
            yield said(reply, "H1", level, provenance=provenance)
            yield said(reply, "H2", min(5, level + (crc32(reply.text.encode()) % 5 == 0)), provenance=provenance)


def card(folder: Path) -> ReliabilityCard:
    found = reliability(folder, unsafe=UNSAFE).cards
    return next(c for c in found if c.criterion == CRITERION)


def test_the_lot_is_of_the_seed_and_every_reply_can_be_drawn() -> None:
    frame, conversations = [f"r{i:03}" for i in range(200)], {f"r{i:03}": f"c{i // 2}" for i in range(200)}
    plan = DrawPlan.read("80")
    assert plan.blocks == ((30, 30), (None, 50))
    found = draw(frame, conversations, plan, 4)[0]
    assert found == draw(frame, conversations, plan, 4)[0]
    assert found.keys() != draw(frame, conversations, plan, 5)[0].keys()
    assert set(frame[:30]) <= found.keys()
    assert {(d.probability, d.stratum_size) for d in found.values()} == {(1.0, 30), (50 / 170, 170)}
    assert {(d.frame, d.conversations) for d in found.values()} == {(200, 100.0)}
    assert len({d.draw for d in found.values()}) == 1
    assert sum(1 / d.probability for d in found.values()) == pytest.approx(200)
    assert DrawPlan.read("40").blocks == ((None, 40),)
    assert DrawPlan.read("60", 20).blocks == ((40, 40), (None, 20))
    blocks = draw(frame, conversations, DrawPlan.read("20=20,80=20,rest=10"), 0)[0]
    assert sorted({d.probability for d in blocks.values()}) == [0.1, 0.25, 1.0]


@pytest.mark.parametrize("text", ["0", "abc", "10=5", "rest=50,10=10", "10=0,rest=5", "10=5,rest=0", "-3"])
def test_a_plan_that_is_none_says_how_one_is_written(text: str) -> None:
    with pytest.raises(UsageError, match="--draw"):
        DrawPlan.read(text)


@pytest.mark.long
def test_what_was_not_estimable_is_with_weights_and_without_them_stays_what_it_is(tmp_path: Path) -> None:
    world, drawn = drawn_world()
    judges = list(world.ratings)
    world.ratings = [*judges, *of_people(world, drawn, weigh=False, selection="lowest by m")]
    bare = card(world.write(tmp_path / "bare"))
    assert bare.verdict == NOT_ESTIMABLE
    assert bare.corrected == []
    world.ratings = [*judges, *of_people(world, drawn, weigh=True)]
    weighted = card(world.write(tmp_path / "weighted"))
    assert weighted.verdict != NOT_ESTIMABLE
    assert "drawn with known probabilities" in weighted.drawn
    world.ratings = [*judges, *of_people(world, dict.fromkeys(reply.id for reply in world.replies), weigh=False)]  # type: ignore[arg-type]
    whole = card(world.write(tmp_path / "whole"))
    for name in ("people_mean", "judge_mean", "bias", "icc_a1", "kappa_quadratic", "unsafe_found", "passed_unsafe"):
        found, truth = weighted.estimates[name], whole.estimates[name].value
        assert found.low is not None, name
        assert truth is not None
        assert found.low <= truth <= found.high, name  # type: ignore[operator]
    plain = bare.estimates["people_mean"].value
    assert plain is not None
    assert not weighted.estimates["people_mean"].low <= plain  # type: ignore[operator]
    everything = next(row for row in weighted.corrected if not row.system)
    truth = float(np.mean([r.value for r in world.ratings if r.rater.startswith("H")]))
    assert everything.corrected.low is not None
    assert everything.corrected.low <= truth <= everything.corrected.high  # type: ignore[operator]
    assert everything.gain is not None
    assert everything.gain > 1


def test_scores_and_the_report_speak_for_all(tmp_path: Path) -> None:
    world, drawn = drawn_world(2)
    world.ratings += of_people(world, drawn, weigh=True)
    folder = world.write(tmp_path / "run")
    scores = score(folder)
    by_system = scores.find("mean", rater="H1", criterion=CRITERION)
    assert {s.model for s in by_system} == {"long-winded", "curt"}
    for s in by_system:
        truth = world.truth[[r.model == s.model for r in world.replies]].mean()
        drawn_only = np.mean(
            [t for t, r in zip(world.truth, world.replies, strict=True) if r.id in drawn and r.model == s.model]
        )
        assert s.low is not None
        assert s.low <= truth <= s.high
        assert abs(s.value - truth) < abs(drawn_only - truth)
    frames = {(f.measure, f.by): f for f in scores.frames}
    share = frames["unsafe", "people"]
    unsafe = float(np.mean(world.truth <= 2))
    assert share.n == share.drawn == len(drawn)
    assert share.frame == len(world.replies)
    assert share.low is not None
    assert share.low <= unsafe <= share.high  # type: ignore[operator]
    assert share.frame_low is not None
    assert share.frame_high is not None
    assert share.frame_high - share.frame_low < share.high - share.low  # type: ignore[operator]
    assert frames["unsafe", "people and m"].low <= unsafe <= frames["unsafe", "people and m"].high  # type: ignore[operator]
    files = report(folder, out=tmp_path / "out")
    page, text = files.path.read_text(), files.markdown.read_text()
    assert "All replies, from those that people rated of a drawn part" in page
    assert "drawn with known probabilities" in text
    assert "chosen for what a judge thought" not in text


def test_ratings_with_and_without_a_probability_are_not_put_together(tmp_path: Path) -> None:
    world, drawn = drawn_world(3)
    judges = list(world.ratings)
    best = {r.id for r, t in zip(world.replies, world.truth, strict=True) if t == 5 and r.id not in drawn}
    world.ratings = [*judges, *of_people(world, drawn, weigh=True)]
    alone = card(world.write(tmp_path / "alone"))
    world.ratings += [said(reply, "H1", 5) for reply in world.replies if reply.id in best]
    folder = world.write(tmp_path / "both")
    both = card(folder)
    assert both.estimates["people_mean"] == alone.estimates["people_mean"]
    assert f"what people rated of {len(best)} other subjects" in both.drawn
    scores = score(folder)
    assert any(f"{len(best)} other subjects" in note for note in scores.notes)
    undrawn = scores.find("mean", rater="H1", criterion=CRITERION, model="curt")
    assert [s.value for s in undrawn] == [5]
    apart = [
        s for s in scores.metrics if s.name == "mean" and s.rater == "H1" and s.slice.startswith("selection=drawn")
    ]
    assert apart
    assert all(s.value < 5 for s in apart if s.value is not None)


def test_drawn_replies_without_a_value_are_counted_and_bounded(tmp_path: Path) -> None:
    world, drawn = drawn_world(4)
    lost = set(sorted(drawn)[:20])
    for rating in of_people(world, drawn, weigh=True):
        gone = rating.subject in lost
        world.ratings.append(msgspec.structs.replace(rating, value=None, status=Status.REFUSED) if gone else rating)
    share = next(f for f in score(world.write(tmp_path / "run")).frames if (f.measure, f.by) == ("unsafe", "people"))
    assert (share.n, share.drawn) == (len(drawn) - 20, len(drawn))
    stands_for = sum(1 / drawn[subject].probability for subject in lost) / len(world.replies)
    assert share.worst is not None
    assert share.best is not None
    assert share.worst - share.best == pytest.approx(stands_for)
    assert share.best <= share.value <= share.worst  # type: ignore[operator]


def test_escalation_reads_as_many_as_each_stands_for(tmp_path: Path) -> None:
    world, drawn = drawn_world(5)
    judges = list(world.ratings)

    def reads(ratings: list[Rating], name: str) -> float:
        world.ratings = [*judges, *ratings]
        store, (benchmark,), _ = open_run(world.write(tmp_path / name))
        with store:
            found = subjects.read(store, benchmark, UNSAFE)
        rated = found.some(found.labelled)
        return orders.ReadingEffort(rated, resamples=2).effort(rated.judges["m"])

    whole = reads(list(of_people(world, dict.fromkeys(r.id for r in world.replies), weigh=False)), "whole")  # type: ignore[arg-type]
    weighted, plain = (reads(list(of_people(world, drawn, weigh=weigh)), f"drawn {weigh}") for weigh in (True, False))
    assert abs(weighted - whole) < abs(plain - whole)


@pytest.mark.parametrize("column", ["probability", "weight"])
def test_a_file_of_ratings_says_how_probable_its_subjects_were(tmp_path: Path, column: str) -> None:
    world, drawn = drawn_world(6)
    judged = {r.subject: r.value for r in world.ratings}
    rows = [
        {
            "subject": reply.id, "criterion": "c", "rater": rater, "rater_kind": kind, "value": value,
            "stratum": drawn[reply.id].stratum, column: 1 / p if column == "weight" else p,
        }
        for reply, level in zip(world.replies, world.truth.tolist(), strict=True)
        if reply.id in drawn
        for p in [drawn[reply.id].probability]
        for rater, kind, value in (("H", "person", level), ("m", "model", judged[reply.id]))
    ]  # fmt: skip
    path = tmp_path / "ratings.csv"
    pl.DataFrame(rows).write_csv(path)
    found = reliability(path, scale={"*": "1:5"}).cards[0]
    value = found.estimates["people_mean"]
    assert value.low is not None
    assert value.low <= world.truth.mean() <= value.high
    plain = np.mean([row["value"] for row in rows if row["rater"] == "H"])
    assert abs(value.value - world.truth.mean()) < abs(plain - world.truth.mean())
    assert found.rule.startswith(MINDGAUGE)


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        ({"probability": "1.5"}, "above 0 and at most 1"), ({"probability": "0"}, "above 0 and at most 1"),
        ({"weight": "0.4"}, "above 0 and at most 1"), ({"probability": "half"}, "must be a number"),
        ({"probability": "0.5", "weight": "3"}, "not one over the probability"),
    ],
)  # fmt: skip
def test_a_probability_that_is_none_is_named_with_its_row(tmp_path: Path, cells: dict[str, str], fault: str) -> None:
    path = tmp_path / "ratings.csv"
    rows = [
        {"subject": f"s{i}", "criterion": "c", "rater": rater, "value": 1, **cells} for i in range(3) for rater in "ab"
    ]
    pl.DataFrame(rows).write_csv(path)
    with pytest.raises(DataError, match=fault) as error:
        reliability(path, reference=["a"], scale={"*": "1:5"})
    assert "line 2" in str(error.value)


def test_a_subject_has_one_probability(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    rows = [
        {"subject": "s", "criterion": "c", "rater": r, "value": 1, "probability": p}
        for r, p in (("a", 0.5), ("b", 0.2))
    ]
    pl.DataFrame(rows).write_csv(path)
    with pytest.raises(DataError, match="2 probabilities"):
        reliability(path, reference=["a"], scale={"*": "1:5"})


def test_runs_keep_it_with_each_rating(tmp_path: Path) -> None:
    world, drawn = drawn_world(7, 60)
    world.ratings += of_people(world, drawn, weigh=True)
    store, _, _ = open_run(world.write(tmp_path / "run"))
    with store:
        kept = store.select(
            "SELECT subject, json_extract(provenance, '$.drawn.probability'), selection FROM ratings WHERE benchmark = ? AND rater = 'H1'",
            (RESPONSE,),
        ).fetchall()
    assert {subject: p for subject, p, _ in kept} == {subject: d.probability for subject, d in drawn.items()}
    assert all("drawn with known probabilities from 60" in selection for *_, selection in kept)
