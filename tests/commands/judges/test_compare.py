"""`judges compare`: planted differences between methods are told apart, equal methods are not, and nothing is made up."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from scipy import stats

import mindgauge
from mindgauge.analysis.judge_comparison.compare import JudgeComparison
from mindgauge.records import Exchange, Status, Usage
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.request import Price
from mindgauge.runs.forecast import DryRun
from mindgauge.store import Store
from tests.commands.judges.conftest import chance, judge, method_of, replies_file, reply

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.analysis.judge_comparison.compare import JudgeAgreement, JudgeDifference
    from mindgauge.benchmarks import Benchmark
    from mindgauge.models.scripted import Scripted
    from mindgauge.records.request import Request


def planted(method: str, warmth: int, asks: str, request: Request) -> tuple[int, str]:
    """Right in a chain and by the rule, but by the general method every third answer is by chance; repeats differ."""
    text = request.messages[0].content
    where = text[text.index("I hear you") :][:40]
    if method == "general" and chance("g", where, request.run) < 0.6:
        return 1 + int(3 * chance("w", where, request.run)), "yes" if chance("a", where, request.run) < 0.5 else "no"
    return warmth, asks


def compared(path: Path, who: Scripted, out: Path, **more: Any) -> JudgeComparison:
    found = mindgauge.judges_compare("care", replies=path, judge=who, out=out, **more)
    assert isinstance(found, JudgeComparison)
    return found


def of(found: JudgeComparison, judge: str, criterion: str) -> JudgeAgreement:
    (one,) = (a for a in found.agreements if (a.judge, a.criterion) == (judge, criterion))
    return one


def differences(found: JudgeComparison, measure: str, *judges: str) -> list[JudgeDifference]:
    return [d for d in found.differences if d.measure == measure and {d.first, d.second} == set(judges)]


@pytest.fixture
def found(care: Benchmark, tmp_path: Path) -> JudgeComparison:
    return compared(replies_file(tmp_path / "r.jsonl"), judge(planted), tmp_path / "out")


def test_methods_are_raters_and_planted_differences_are_real(found: JudgeComparison) -> None:
    assert found.reference == "people"
    assert {a.judge for a in found.agreements} == {"j", "j (general)", "j (chain)"}
    right, wrong = of(found, "j (chain)", "warmth"), of(found, "j (general)", "warmth")
    assert (right.n, right.missing, right.clusters, right.systems) == (120, 0, 20, 6)
    assert right.estimates["accuracy"].value == right.estimates["f1"].value == right.estimates["kendall"].value == 1
    assert right.estimates["accuracy"].low == pytest.approx(0.8316, abs=1e-4), "Clopper-Pearson for 20 of 20"
    assert wrong.estimates["kappa"].value is not None and 0.2 < wrong.estimates["kappa"].value < 0.8
    for measure in ("accuracy", "kappa", "f1", "spearman", "kendall", "pearson"):
        assert all(d.real and d.better == "j (chain)" for d in differences(found, measure, "j (chain)", "j (general)"))
        assert not any(d.real for d in differences(found, measure, "j (chain)", "j"))


def test_agreement_is_what_scipy_says(found: JudgeComparison, tmp_path: Path) -> None:
    one = of(found, "j (general)", "warmth")
    with Store(tmp_path / "out") as store:
        texts = {r.id: r for r in store.replies("care")}
        given: dict[str, list[int]] = {}
        truth: dict[str, int] = {}
        for rating in store.ratings("care"):
            if rating.criterion == "warmth" and rating.rater == "j (general)":
                given.setdefault(rating.subject, []).append(int(rating.value or 0))
            elif rating.criterion == "warmth" and rating.rater == "people":
                truth[rating.subject] = int(rating.value or 0)
    ids = sorted(truth)
    x, y = [truth[i] for i in ids], [sum(given[i]) / len(given[i]) for i in ids]
    assert {len(runs) for runs in given.values()} == {3}
    assert one.estimates["spearman"].value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert one.estimates["kendall"].value == pytest.approx(stats.kendalltau(x, y).statistic)
    assert one.estimates["pearson"].value == pytest.approx(stats.pearsonr(x, y).statistic)
    systems = sorted({reply.model for reply in texts.values()})
    means = [
        [round(sum(v for i, v in zip(ids, side, strict=True) if texts[i].model == s) / 20, 10) for s in systems]
        for side in (x, y)
    ]
    assert one.estimates["system_kendall"].value == pytest.approx(stats.kendalltau(*means).statistic)
    assert one.estimates["system_spearman"].value == pytest.approx(stats.spearmanr(*means).statistic)
    low, value, high = (getattr(one.estimates["system_pearson"], end) for end in ("low", "value", "high"))
    assert value == pytest.approx(stats.pearsonr(*means).statistic)
    assert -1 <= low < high <= 1  # resampling lowers a correlation near 1, so percentiles may lie below it


def test_repeats_show_how_stable_a_judge_is(found: JudgeComparison) -> None:
    by_judge = {s.judge: s for s in found.stability}
    steady, unsteady = by_judge["j (chain)"], by_judge["j (general)"]
    assert (steady.runs, steady.n, steady.incomplete, steady.identical.value) == (3, 120, 0, 1)
    assert {flip.value for flip in steady.flips.values()} == {0}
    assert unsteady.identical.value is not None and unsteady.identical.value < 0.5
    assert all(flip.value is not None and flip.value > 0.2 for flip in unsteady.flips.values())


def test_fewer_than_five_systems_have_no_order(care: Benchmark, tmp_path: Path) -> None:
    path = replies_file(tmp_path / "r.jsonl", systems=4)
    found = compared(path, judge(planted), tmp_path / "out", method="chain", judge_runs=1)
    bound = of(found, "j (chain)", "warmth").estimates["system_kendall"]
    assert (bound.value, bound.note) == (None, "refused: 4 systems, at least 5 are needed")
    assert found.stability[0].identical.value is None


def test_missing_verdicts_stay_counted(care: Benchmark, tmp_path: Path) -> None:
    def mute(method: str, warmth: int, asks: str, request: Request) -> object:
        return "I would rather not" if "/0." in request.messages[0].content else (warmth, asks)

    path = replies_file(tmp_path / "r.jsonl")
    found = compared(path, judge(mute), tmp_path / "out", method="rule", judge_runs=2)
    one = of(found, "j", "asks")
    assert (one.n, one.missing) == (120, 20)
    assert one.worst == pytest.approx(100 / 120)
    assert one.estimates["accuracy"].value == one.best == 1
    assert found.stability[0].incomplete == 20


def test_without_labels_judges_are_compared_among_themselves(care: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    rows = [{k: v for k, v in reply(d, s).items() if "label" not in k} for d in range(12) for s in range(2)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = compared(path, judge(planted), tmp_path / "out")
    assert found.reference == "" and not found.differences
    assert any("no labels by people" in note for note in found.notes)
    assert {(a.reference, a.judge) for a in found.agreements} == {
        ("j", "j (chain)"), ("j", "j (general)"), ("j (chain)", "j (general)")
    }  # fmt: skip
    assert len(found.stability) == len(found.taken) == 3


def test_what_verdicts_took_is_told_apart_by_method(care: Benchmark, tmp_path: Path) -> None:
    def counted(method: str, warmth: int, asks: str, request: Request) -> object:
        text = json.dumps({"quotes": [], "rationale": "", "warmth": warmth, "asks": asks})
        used = {"general": 10, "rule": 100}[method]
        return Exchange(Status.OK, text, "stop", Usage(used, 5, used // 2), 0.5, cost=used * 1e-6)

    who = judge(counted)
    who.price = Price(1e-6, 0.0)
    found = compared(
        replies_file(tmp_path / "r.jsonl", 3, 2), who, tmp_path / "out", method=["general", "rule"], judge_runs=2
    )
    taken = {t.judge: t for t in found.taken}
    assert (taken["j"].verdicts, taken["j"].calls) == (24, 12), "two criteria in a call, two runs of six replies"
    assert taken["j"].dollars == pytest.approx(1000 * 12 * 100e-6 / 24)
    assert taken["j (general)"].dollars == pytest.approx(1000 * 12 * 10e-6 / 24)
    assert (taken["j"].prompt_tokens, taken["j"].cached_tokens, taken["j"].seconds) == (50, 25, 250)


def test_the_same_command_goes_on_and_asks_nothing_twice(care: Benchmark, tmp_path: Path) -> None:
    asked: list[str] = []

    def counting(method: str, warmth: int, asks: str, request: Request) -> object:
        asked.append(method_of(request))
        return planted(method, warmth, asks, request)

    path = replies_file(tmp_path / "r.jsonl", 4, 2)
    first = compared(path, judge(counting), tmp_path / "out")
    assert len(asked) == 4 * 2 * 3 * 3
    again = compared(path, judge(counting), tmp_path / "out")
    assert len(asked) == 4 * 2 * 3 * 3
    assert again.agreements == first.agreements
    compared(path, judge(counting), tmp_path / "out", method="chain")
    assert len(asked) == 4 * 2 * 3 * 3, "fewer methods than the run has: nothing is asked, nothing is lost"
    with pytest.raises(UsageError, match=r"another plan \(--mode is split, this run's is joint\)"):
        compared(path, judge(counting), tmp_path / "out", mode="split")


def test_a_run_is_compared_without_being_touched_and_its_judges_too(care: Benchmark, tmp_path: Path) -> None:
    path = replies_file(tmp_path / "r.jsonl", 10, 2)
    compared(path, judge(planted, "stored"), tmp_path / "first", method="rule", judge_runs=1)
    before = (tmp_path / "first" / "run.sqlite").read_bytes()
    found = compared(tmp_path / "first", judge(planted), tmp_path / "second", method="chain", judge_runs=1)
    assert (tmp_path / "first" / "run.sqlite").read_bytes() == before
    assert {a.judge for a in found.agreements} == {"stored", "j (chain)"}


def test_a_limit_keeps_whole_dialogues(care: Benchmark, tmp_path: Path) -> None:
    path = replies_file(tmp_path / "r.jsonl", 10, 3)
    found = compared(path, judge(planted), tmp_path / "out", limit=8, method="rule", judge_runs=1)
    assert (of(found, "j", "asks").n, of(found, "j", "asks").clusters) == (6, 2)


def test_a_dry_run_says_what_it_takes_and_writes_nothing(care: Benchmark, tmp_path: Path) -> None:
    path = replies_file(tmp_path / "r.jsonl", 5, 2)
    found = mindgauge.judges_compare("care", replies=path, judge=judge(planted), out=tmp_path / "out", dry_run=True)
    assert isinstance(found, DryRun)
    assert found.calls == 5 * 2 * 3 * 3
    assert [step.purpose for step in found.steps] == ["judge (general)", "judge", "judge (chain)"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "columns", "message"),
    [
        ({"label.kindness": 1}, {}, r"label.kindness is no criterion of care; they are warmth, asks"),
        ({}, {"label.asks": "frage"}, r"no column 'frage'"),
        ({}, {"etikett": "x"}, r"--map etikett=x: 'etikett' is not one of Mindgauge's columns"),
    ],
)
def test_labels_that_do_not_fit_are_said_before_anything_is_asked(
    care: Benchmark, tmp_path: Path, change: dict[str, Any], columns: dict[str, str], message: str
) -> None:
    path = replies_file(tmp_path / "r.jsonl", 2, 1, **change)
    with pytest.raises((DataError, UsageError), match=message):
        compared(path, judge(planted), tmp_path / "out", columns=columns)
    assert not (tmp_path / "out").exists()


def test_labels_off_the_scale_are_missing_and_named(care: Benchmark, tmp_path: Path) -> None:
    path = replies_file(tmp_path / "r.jsonl", 3, 1, **{"label.warmth": "7", "frage": "YES"})
    found = compared(
        path, judge(planted), tmp_path / "out", method="rule", judge_runs=1, columns={"label.asks": "frage"}
    )
    assert "warmth: 3 labels are off the scale and count as missing (row 1: '7')" in found.notes
    assert (of(found, "j", "warmth").n, of(found, "j", "asks").n) == (0, 3), "YES is read, 7 is no value"


def test_rows_that_repeat_a_reply_are_counted(care: Benchmark, tmp_path: Path) -> None:
    path = replies_file(tmp_path / "r.jsonl", 4, 2)
    once = path.read_text(encoding="utf-8")
    path.write_text(once + once.splitlines(keepends=True)[0], encoding="utf-8")
    found = compared(path, judge(planted), tmp_path / "out", method="rule", judge_runs=1)
    assert "1 rows repeat a reply by the same model; the labels of its first row count" in found.notes
    assert of(found, "j", "asks").n == 8


def test_labels_of_several_people_stay_theirs(care: Benchmark, tmp_path: Path) -> None:
    path = replies_file(tmp_path / "r.jsonl", 4, 2)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for number, row in enumerate(rows):
        row |= {"label.H1.warmth": row.pop("label.warmth"), "label.H1.asks": row.pop("label.asks")}
        row |= {"label.Dr. K..asks": "no" if number else None}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = compared(path, judge(planted), tmp_path / "out", method="rule", judge_runs=1)
    assert found.reference == "Dr. K., H1"
    assert (of(found, "j", "asks").n, of(found, "j", "warmth").n) == (8, 8)
