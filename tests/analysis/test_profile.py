"""A profile: scores by hand, the same samples for all, nothing imputed, nothing merged, and how sure ranks are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import stats

from mindgauge.analysis.profile import DimensionScore, Profile, TaskScore, profile
from mindgauge.analysis.profile.profiled import alike, averaged, least
from mindgauge.benchmarks import suite
from mindgauge.benchmarks.metrics import Metric, accuracy
from mindgauge.records import Message, RaterKind, Rating, Reply, Sample, Status
from mindgauge.records.errors import UsageError
from mindgauge.stats.proportion import clopper_pearson
from mindgauge.store import Store, manifest
from tests.analysis.answered import Planted, planted
from tests.thinned import examples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mindgauge.benchmarks.metrics.table import Floats

__all__ = ["planted"]
SUITE = """
title = "Small"
[[dimensions]]
name = "Seeing"
tasks = [
    { name = "kind", title = "Kind", benchmark = "kind", headline = [{ metric = "accuracy", criterion = "kind" }], better = "higher", low = 0, high = 1, defined = "upstream" },
]
[[dimensions]]
name = "Speaking"
tasks = [
    { name = "warmth", title = "Warmth", benchmark = "warmth", headline = [{ metric = "mean", criterion = "warmth" }], better = "higher", low = 1, high = 5, defined = "ours" },
]
"""
TOGETHER = SUITE.replace(']\n[[dimensions]]\nname = "Speaking"\ntasks = [\n', "")
OK = Status.OK


@pytest.fixture
def small(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> Planted:
    return with_suite(planted, monkeypatch, SUITE)


def with_suite(planted: Planted, monkeypatch: pytest.MonkeyPatch, text: str) -> Planted:
    folder = planted.folder / "suites" / "small"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "suite.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(suite, "HERE", folder.parent)
    return planted


def written(
    planted: Planted,
    name: str,
    answers: Mapping[str, Sequence[Any]] | None = None,
    levels: Mapping[tuple[str, str], Sequence[Any]] | None = None,
    **more: Any,
) -> Path:
    """Write a run: labels that models gave (all samples are `calm`), and levels that judges gave models' replies.

    None stands for a sample that was not asked about, a status for a missing rating.
    """
    folder = planted.folder / name
    plan = {"benchmarks": [b.name for b, asked in ((planted.closed, answers), (planted.open, levels)) if asked]}
    with Store(folder, write=True) as store:
        manifest.write(folder, {"plan": {**plan, "judges": more.pop("judges", [])}, **more})
        for benchmark, given_ in ((planted.closed, answers or {}), (planted.open, levels or {})):
            count = max((len(its) for its in given_.values()), default=0)
            samples = [Sample.of((Message("user", f"sample {i}"),), target="calm") for i in range(count)]
            store.put_samples(benchmark.name, samples)
            for who, its in given_.items():
                model, rater = who if isinstance(who, tuple) else (who, who)
                for sample, value in zip(samples, its, strict=False):
                    if value is None:
                        continue
                    subject = sample.id
                    if not benchmark.closed:
                        reply = Reply.of(sample.id, model, 0, OK, f"{model} says")
                        store.add_reply(benchmark.name, reply)
                        subject = reply.id
                    status, said = (value, None) if isinstance(value, Status) else (OK, value)
                    criterion = benchmark.rubric.criteria[0].name
                    store.add_rating(
                        benchmark.name, Rating(subject, criterion, rater, RaterKind.MODEL, 0, status, said)
                    )
    return folder


def right(n: int, of: int) -> list[str]:
    return ["calm"] * n + ["sad"] * (of - n)


def task(found: Profile, name: str, model: str) -> TaskScore:
    return next(score for score in found.tasks if (score.task, score.model) == (name, model))


def dimension(found: Profile, name: str, model: str) -> DimensionScore:
    return next(score for score in found.dimensions if (score.dimension, score.model) == (name, model))


# -- scores -----------------------------------------------------------------------------------------------------------


def test_scores_are_those_computed_by_hand(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    small = with_suite(planted, monkeypatch, TOGETHER)
    run = written(
        small, "run", {"A": right(3, 4), "B": right(2, 4)}, {("A", "J"): [5, 2, 4, 3], ("B", "J"): [5, 5, 4, 4]}
    )
    found = profile([run], resamples=200)
    kind, warmth = task(found, "kind", "A"), task(found, "warmth", "A")
    assert (kind.value, kind.scaled, kind.rank, kind.n, kind.clusters) == (0.75, 0.75, 1, 4, 4)
    assert [kind.low, kind.high] == list(clopper_pearson(3, 4)[1:3]), "of one share the exact bounds"
    assert kind.chance == pytest.approx(1 / 3), "three labels"
    assert (kind.rater, kind.metric, kind.criterion, kind.defined) == ("", "accuracy", "kind", "upstream")
    assert (warmth.value, warmth.scaled, warmth.rank, warmth.rater) == (3.5, (3.5 - 1) / 4, 2, "J")
    assert "only 4 conversations" in warmth.note
    a, b = (dimension(found, "Seeing", model) for model in "AB")
    assert a.value == pytest.approx((0.75 + 0.625) / 2)
    assert b.value == pytest.approx((0.5 + 0.875) / 2)
    assert (a.tasks, a.lacking) == (("kind", "warmth"), ())
    assert (a.mean_rank, b.mean_rank, a.rank_of_mean_rank, b.rank_of_mean_rank) == (1.5, 1.5, 1, 1), "tied, both first"
    assert (a.rank, b.rank) == (1.5, 1.5), "the same dimension score, to rounding: ties are averaged"
    assert a.indistinguishable == ("B",)
    assert found.by_dimension.to_dicts() == [{"dimension": "Seeing", "A": a.value, "B": b.value}]
    assert msgspec.json.decode(msgspec.json.encode(found), type=Profile) == found


def test_a_score_of_which_less_is_better_is_turned_round(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    cold = 'metric = "mean", criterion = "warmth" }], better = "lower"'
    text = SUITE.replace('metric = "mean", criterion = "warmth" }], better = "higher"', cold)
    small = with_suite(planted, monkeypatch, text)
    verdicts: dict[tuple[str, str], list[Any]] = {("A", "J"): [2, 2, 3, Status.UNPARSABLE], ("B", "J"): [4, 4, 3, 1]}
    found = profile([written(small, "run", None, verdicts)], resamples=500)
    a, b = task(found, "warmth", "A"), task(found, "warmth", "B")
    assert a.value == pytest.approx(7 / 3)
    assert a.scaled == pytest.approx(1 - (7 / 3 - 1) / 4)
    assert (a.rank, b.rank) == (1, 2)
    assert (a.n, a.missing, a.worst, a.best) == (4, 1, 3, 2), "missing verdicts are neither 0 nor left out of n"
    assert a.low is not None and a.high is not None and a.scaled_low is not None and a.scaled_high is not None
    assert a.scaled_low == pytest.approx(1 - (a.high - 1) / 4)
    assert a.scaled_high == pytest.approx(1 - (a.low - 1) / 4)


def test_one_model_is_first(small: Planted) -> None:
    found = profile([written(small, "run", {"A": right(3, 20)})], resamples=100)
    seeing = dimension(found, "Seeing", "A")
    assert (seeing.rank, seeing.rank_low, seeing.rank_high, seeing.rank_of_mean_rank) == (1, 1, 1, 1)
    assert seeing.indistinguishable == ()


# -- how sure they are ------------------------------------------------------------------------------------------------


def test_tasks_are_drawn_independently_and_models_together(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    small = with_suite(planted, monkeypatch, TOGETHER)
    n = 400
    # B is A, and C is as good as A on other samples.
    answers = {"A": right(200, n), "B": right(200, n), "C": right(200, n)[::-1]}
    found = profile([written(small, "run", answers, {(m, "J"): [1, 5] * (n // 2) for m in "ABC"})], resamples=4000)
    a, b = dimension(found, "Seeing", "A"), dimension(found, "Seeing", "B")
    width = 1.96 * (0.25 / n) ** 0.5
    assert a.low is not None and a.high is not None
    assert (a.high - a.low) / 2 == pytest.approx(width / 2**0.5, rel=0.05), "the mean of two independent shares"
    assert (a.low, a.high, a.rank) == (b.low, b.high, 2)
    assert (b.rank_low, b.rank_high) == (1, 3), "a tie in every resample is no proof, and C is now before, now behind"
    assert a.indistinguishable == ("B", "C")


@pytest.mark.long
def test_ten_conversations_do_not_settle_the_ranks_of_equal_models(small: Planted) -> None:
    """Where few replies are below the best level, percentiles of ranks tell models apart that are alike."""
    generator = np.random.default_rng(0)
    settled = 0
    for number in range(20):
        levels = {(m, "J"): [int(v) for v in np.where(generator.random(10) < 0.85, 5, generator.integers(1, 5, 10))] for m in "ABCDE"}  # fmt: skip
        found = profile([written(small, f"run {number}", None, levels)], resamples=500)
        settled += any(
            (task(found, "warmth", m).rank_low, task(found, "warmth", m).rank_high) != (1, 5) for m in "ABCDE"
        )
    assert settled <= 3, "5 % of 20, and what chance makes of it"


def test_models_that_differ_are_told_apart(small: Planted) -> None:
    found = profile([written(small, "run", {"A": right(180, 200), "B": right(120, 200)})], resamples=1000)
    a, b = dimension(found, "Seeing", "A"), dimension(found, "Seeing", "B")
    assert (a.rank_low, a.rank_high, b.rank_low, b.rank_high) == (1, 1, 2, 2)
    assert a.indistinguishable == b.indistinguishable == ()


def test_what_is_no_function_of_totals_is_resampled_all_the_same(
    planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = with_suite(planted, monkeypatch, SUITE)
    run = written(small, "run", {"A": right(30, 100), "B": right(60, 100)})
    plain = profile([run], resamples=4000, seed=1)
    slow = msgspec.structs.replace(accuracy, item_score=None, additive=False, exact=False)
    small.known["kind"] = msgspec.structs.replace(small.closed, metrics=(slow,))
    other = profile([run], resamples=4000, seed=1)
    score, exact = task(other, "kind", "B"), task(plain, "kind", "B")
    assert score.value == exact.value
    half = 1.96 * (0.24 / 100) ** 0.5
    assert score.low == pytest.approx(0.6 - half, abs=0.02)
    assert score.high == pytest.approx(0.6 + half, abs=0.02)
    assert (score.rank_low, score.rank_high) == (exact.rank_low, exact.rank_high) == (1, 1)


def test_one_conversation_has_no_interval(small: Planted) -> None:
    found = profile([written(small, "run", None, {("A", "J"): [4], ("B", "J"): [2]})], resamples=100)
    warmth, speaking = task(found, "warmth", "A"), dimension(found, "Speaking", "A")
    assert (warmth.value, warmth.low, warmth.rank, warmth.rank_low) == (4, None, 1, None)
    assert "no interval" in warmth.note
    assert (speaking.low, speaking.rank, speaking.rank_low) == (None, 1, None)
    assert speaking.indistinguishable == ("B",), "nothing is known of the difference"


@pytest.mark.parametrize(("conversations", "apart"), [(4, False), (40, True)])
def test_where_all_conversations_agree_their_number_bounds_what_others_might_say(
    small: Planted, conversations: int, apart: bool
) -> None:
    """A gets a 5 everywhere, B a 2: no resample differs, which of four conversations proves nothing."""
    run = written(small, "run", None, {("A", "J"): [5] * conversations, ("B", "J"): [2] * conversations})
    found = profile([run], resamples=200)
    other = 1 - 0.025 ** (1 / conversations)
    warmth, speaking = task(found, "warmth", "B"), dimension(found, "Speaking", "B")
    assert (warmth.low, warmth.high) == pytest.approx((2 - other, 2 + 3 * other))
    assert (speaking.low, speaking.high) == pytest.approx(((1 - other) / 4, (1 + 3 * other) / 4))
    assert (speaking.indistinguishable == ()) is apart


def test_the_same_seed_gives_the_same_profile(small: Planted) -> None:
    run = written(small, "run", {"A": right(12, 30), "B": right(14, 30)})
    assert profile([run], resamples=300) == profile([run], resamples=300)


# -- who is compared on what ------------------------------------------------------------------------------------------


def test_only_samples_that_all_models_have_count_and_it_is_said(small: Planted) -> None:
    run = written(small, "run", {"A": right(4, 10), "B": ["sad"] * 4 + ["calm"] * 2})
    found = profile([run], resamples=50)
    a = task(found, "kind", "A")
    assert a.n == 6
    assert a.value == pytest.approx(4 / 6)
    assert any("6 of 10 samples are common to all 2 models" in note for note in found.notes)


def test_without_a_common_sample_nothing_is_compared(small: Planted) -> None:
    run = written(small, "run", {"A": ["calm", "calm", None, None], "B": [None, None, "calm", "sad"]})
    found = profile([run], resamples=50)
    assert [score.value for score in found.tasks] == [None, None]
    assert [score.value for score in found.dimensions if score.dimension == "Seeing"] == [None, None]
    assert any("no sample is common" in note for note in found.notes)


def test_a_model_without_a_task_has_no_rank_in_it_and_dimensions_go_by_common_tasks(
    planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = with_suite(planted, monkeypatch, TOGETHER)
    first = written(small, "one", {"A": right(3, 4)}, {("A", "J"): [5, 5, 5, 5]})
    second = written(small, "two", {"B": right(2, 4)})
    found = profile([first, second], resamples=50)
    assert found.models == ["A", "B"]
    assert (task(found, "warmth", "B").value, task(found, "warmth", "B").rank) == (None, None)
    assert task(found, "warmth", "A").rank == 1
    a = dimension(found, "Seeing", "A")
    assert (a.value, a.tasks, a.lacking, a.rank) == (0.75, ("kind",), ("warmth",), 1)
    assert any("without Warmth, where there is no score of B" in note for note in found.notes)


def test_a_model_without_any_task_of_a_dimension_leaves_the_others_compared(small: Planted) -> None:
    first = written(small, "one", {"A": right(3, 4), "C": right(1, 4)}, {("A", "J"): [5, 5, 4, 4], ("C", "J"): [3] * 4})
    second = written(small, "two", {"B": right(2, 4)})
    found = profile([first, second], resamples=50)
    assert [dimension(found, "Speaking", m).rank for m in ("A", "B", "C")] == [1, None, 2]
    assert dimension(found, "Speaking", "B").lacking == ("warmth",)
    assert [dimension(found, "Seeing", m).rank for m in ("A", "B", "C")] == [1, 2, 3]


def test_of_a_model_in_several_runs_the_first_counts(small: Planted) -> None:
    runs = [written(small, "one", {"A": right(3, 4)}), written(small, "two", {"A": right(1, 4)})]
    found = profile(runs, resamples=50)
    assert [score.value for score in found.tasks] == [0.75]
    assert any("A did it in several runs" in note for note in found.notes)


def test_tasks_without_data_are_named_with_how_to_get_it(small: Planted) -> None:
    run = written(
        small, "run", {"A": right(3, 4)}, not_run={"missing": {"warmth": "warm.csv is not there; ask for it"}}
    )
    assert profile([run], resamples=50).lacking == ["Warmth (warmth): warm.csv is not there; ask for it"]
    other = written(small, "other", {"A": right(3, 4)})
    assert profile([other], resamples=50).lacking == [
        f"Warmth (warmth): not in these runs; data: {small.open.card.obtain}"
    ]


def test_a_run_of_no_suite_is_refused(small: Planted) -> None:
    text = SUITE.replace('"kind", h', '"elsewhere", h')
    (suite.HERE / "small" / "suite.toml").write_text(text, encoding="utf-8")
    suite._load.cache_clear()
    with pytest.raises(UsageError, match=r"no task of a suite found there \(suites: small\)"):
        profile([written(small, "run", {"A": right(3, 4)})])


# -- judges -----------------------------------------------------------------------------------------------------------


def test_a_judge_that_fails_on_one_task_leaves_it_without_a_score_and_the_others_alone(small: Planted) -> None:
    silent = [Status.UNPARSABLE] * 4
    run = written(
        small, "run", {"A": right(3, 4), "B": right(1, 4)}, {("A", "J"): silent, ("B", "J"): silent}, judges=["J"]
    )
    found = profile([run], resamples=50)
    assert [score.value for score in found.tasks if score.task == "warmth"] == [None, None]
    assert any("no score of A, B: J gave no usable verdict in 4 of 4 on warmth" in note for note in found.notes)
    assert [dimension(found, "Seeing", m).rank for m in "AB"] == [1, 2]
    assert dimension(found, "Speaking", "A").lacking == ("warmth",)


def test_of_several_judges_the_named_one_counts_or_the_first_of_the_plan(small: Planted) -> None:
    levels = {("A", "J"): [5, 5], ("A", "K"): [2, 2]}
    run = written(small, "run", None, levels, judges=["K", "J"])
    found = profile([run], resamples=50)
    assert (found.judge, found.tasks[0].value) == ("K", 2)
    assert any("J rated, too" in note for note in found.notes)
    assert profile([run], judge="J", resamples=50).tasks[0].value == 5
    with pytest.raises(UsageError, match="no ratings of replies by L in these runs; there is K, J"):
        profile([run], judge="L")


def test_models_judged_by_others_are_not_mixed(small: Planted) -> None:
    first = written(small, "one", None, {("A", "J"): [5, 5]}, judges=["J"])
    second = written(small, "two", None, {("B", "K"): [2, 2]}, judges=["K"])
    found = profile([first, second], resamples=50)
    assert (found.judge, task(found, "warmth", "A").value, task(found, "warmth", "B").value) == ("J", 5, None)
    assert any("no score of B: no ratings on warmth by J" in note for note in found.notes)


def test_of_too_few_answers_there_is_no_score_and_an_unreadable_one_among_others_is_wrong(small: Planted) -> None:
    lost, unread = [Status.FAILED] * 4, [Status.UNPARSABLE] * 4
    answers: dict[str, list[Any]] = {
        "A": right(3, 4), "B": lost, "C": unread, "D": [*right(1, 1), *unread[:3]], "E": [*right(2, 2), *unread[:2]],
    }  # fmt: skip
    found = profile([written(small, "run", answers)], resamples=50)
    assert [task(found, "kind", model).value for model in "ABCDE"] == [0.75, None, None, None, 0.5]
    assert [task(found, "kind", model).rank for model in "ABCDE"] == [1, None, None, None, 2], "no score, no rank"
    e = task(found, "kind", "E")
    assert (e.missing, e.worst, e.best) == (2, 0.5, 1)
    assert task(found, "kind", "D").note == "it gave no usable answer in 3 of 4 on kind"
    assert any("no score of B, C: it gave no usable answer in 4 of 4 on kind" in note for note in found.notes)


# -- headlines of several parts ---------------------------------------------------------------------------------------


def sad_rate(table: Any, weights: Floats) -> Floats:
    return np.asarray(weights @ (table.code == 1).astype(float) / weights.sum(axis=1))


def test_a_headline_of_several_parts_is_their_mean(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = '{ metric = "accuracy", criterion = "kind" }, { metric = "sad_rate", criterion = "kind", chance = 0.5 }'
    small = with_suite(planted, monkeypatch, SUITE.replace('{ metric = "accuracy", criterion = "kind" }', parts))
    metrics = (accuracy, Metric("sad_rate", sad_rate))
    small.known["kind"] = msgspec.structs.replace(small.closed, metrics=metrics)
    run = written(small, "run", {"A": [*right(30, 40), *["crisis"] * 10]})
    score = task(profile([run], resamples=2000), "kind", "A")
    assert score.value == pytest.approx((0.6 + 0.2) / 2)
    assert (score.metric, score.criterion, score.n) == ("accuracy + sad_rate", "kind", 50)
    assert score.chance == pytest.approx((1 / 3 + 0.5) / 2)
    # Of 50 answers each is worth 1, 1 or 0, halved: right, sad, or neither. Both parts see the same resample.
    half = 1.96 * (0.8 * 0.2 / 50) ** 0.5 / 2
    assert score.high == pytest.approx(0.4 + half, abs=0.01)


def test_of_parts_of_which_one_is_there_that_one_counts(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = (
        '[{ metric = "accuracy", criterion = "kind" }, { metric = "accuracy", criterion = "other" }], whichever = true'
    )
    text = SUITE.replace('[{ metric = "accuracy", criterion = "kind" }]', parts)
    run = written(with_suite(planted, monkeypatch, text), "run", {"A": right(3, 4)})
    assert (task(profile([run], resamples=50), "kind", "A").criterion) == "kind"


# -- ranks and names --------------------------------------------------------------------------------------------------


@examples(60)
@given(npst.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 7)), elements=st.integers(0, 4).map(float)))
def test_ranks_are_those_of_scipy(scores: Floats) -> None:
    np.testing.assert_allclose(averaged(scores), stats.rankdata(-scores, axis=1))
    np.testing.assert_allclose(least(scores[0]), stats.rankdata(scores[0], method="min"))


def test_a_rank_among_all_is_not_known_where_one_score_is_not() -> None:
    assert np.isnan(averaged(np.array([[0.3, np.nan, 0.5]]))).all()


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("Meditron-8B", "meditron_8b", True),
        ("Medtron3-70B", "Meditron3-70B", True),
        ("Meditorn3-70B", "Meditron3-70B", True),
        ("Meditron3-8B", "Meditron3-70B", False),
        ("gpt-4", "gpt-5", False),
        ("model-a", "model-b", False),
        ("qwen3-235b", "qwen3-235b-thinking", False),
        ("SoulChat2", "SoulChats2", True),
    ],
)
def test_names_that_look_alike(first: str, second: str, expected: bool) -> None:
    assert bool(list(alike([first, second]))) is expected
    assert bool(list(alike([second, first]))) is expected


def test_names_that_look_alike_are_said_and_never_merged(small: Planted) -> None:
    run = written(small, "run", {"Meditron-8B": right(3, 4), "meditron_8b": right(1, 4)})
    found = profile([run], resamples=50)
    assert found.models == ["Meditron-8B", "meditron_8b"]
    assert any("one model in two spellings?" in note for note in found.notes)


def test_what_cannot_be_computed_is_no_score_and_says_of_which_part(
    planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = '{ metric = "accuracy", criterion = "kind" }, { metric = "nothing", criterion = "kind" }'
    small = with_suite(planted, monkeypatch, SUITE.replace('{ metric = "accuracy", criterion = "kind" }', parts))
    nothing = Metric("nothing", lambda table, weights: np.where(table.ok.all(), 1.0, np.nan) * weights.mean(axis=1))
    small.known["kind"] = msgspec.structs.replace(small.closed, metrics=(accuracy, nothing))
    run = written(small, "run", {"A": right(3, 4), "B": ["calm", "calm", "calm", Status.UNPARSABLE]})
    found = profile([run], resamples=50)
    assert (task(found, "kind", "B").value, task(found, "kind", "B").rank, task(found, "kind", "A").rank) == (
        None,
        None,
        1,
    )
    assert any("no score of B: nothing of kind cannot be computed" in note for note in found.notes)
    assert any(note.startswith("Kind: only 4 conversations") for note in found.notes)
