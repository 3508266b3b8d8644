"""`judges stress` from end to end: planted judges are found, the unbiased one is not accused, runs go on and are kept apart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.stress.effects import BIASED, CLEAN, Stress
from mindgauge.commands.judges.stress import judges_stress
from mindgauge.models.scripted import Scripted
from mindgauge.raters import judge as judging
from mindgauge.records import Exchange, Status
from mindgauge.records.errors import BudgetError, DataError, UsageError
from mindgauge.records.request import Price
from mindgauge.reports.stress import PAGE, card_lines, line
from mindgauge.runs.forecast import DryRun
from mindgauge.store import Store, manifest
from tests.analysis.stress import planted
from tests.analysis.stress.conftest import CONVERSATIONS, warmth
from tests.analysis.stress.planted import Planted
from tests.thinned import later

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.request import Request
    from tests.analysis.stress.planted import Bias

__all__ = ["warmth"]


def stress(judge: Any, out: Path, name: str = "warmth", **more: Any) -> Stress:
    found = judges_stress(judge, benchmark=name, out=out, **more)
    assert isinstance(found, Stress)
    return found


def biased(found: Stress) -> set[str]:
    effects = {f"{e.probe}: {e.version}" for e in found.effects if e.verdict == BIASED}
    return effects | {i.slice for i in found.injections if i.verdict == BIASED}


@pytest.mark.long
def test_an_unbiased_judge_comes_out_clean(warmth: Benchmark, tmp_path: Path) -> None:
    found = stress(Planted(warmth, noise=0.05), tmp_path / "r")
    assert biased(found) == set()
    clean = [e for e in found.effects if e.verdict == CLEAN]
    assert len(clean) > 0.8 * len(found.effects)
    assert {e.probe for e in found.effects} == {
        "verbosity", "format", "order", "joint or split", "named model", "authority", "sycophancy", "language", "paraphrase",
    }  # fmt: skip
    assert (found.conversations, found.items, found.judge_runs, found.unusable) == (CONVERSATIONS, 48, 2, 0)
    (warm, _) = found.repeats
    assert warm.changed.value is not None and 0 < warm.changed.value < 0.3
    assert line(found).startswith("Nothing was found that moves it (warmth, 12 conversations)")
    assert found.notes == []


@pytest.mark.parametrize(
    ("bias", "name", "versions"),
    [
        (planted.verbose(0.9), "warmth", ("verbosity: said twice",)),
        (planted.first_listed(0.9), "warmth", ("order: criteria reversed",)),
        (planted.own_family(0.9), "warmth", ("named model: own family",)),
        (
            planted.english_only_severe(0.9),
            "warmth",
            (
                "language: counterpart in the other language",
                "language: instructions in Chinese",
                "language: Chinese replies",
            ),
        ),
        later(planted.verbose(0.5), "help_or_harm/response", ("verbosity: said twice",)),
        (planted.first_listed(0.5), "help_or_harm/response", ("order: best level first",)),
        later(planted.own_family(0.5), "help_or_harm/response", ("named model: own family",)),
        later(
            planted.english_only_severe(0.5),
            "help_or_harm/response",
            ("language: instructions in Chinese", "language: Chinese replies"),
        ),
    ],
)
def test_a_planted_bias_is_found(
    bias: Bias, name: str, versions: tuple[str, ...], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    benchmark = request.getfixturevalue("warmth") if name == "warmth" else benchmarks.find_one(name)
    probe = versions[0].partition(":")[0]
    found = stress(Planted(benchmark, bias, noise=0.1), tmp_path / "r", name, probes=[probe, "format", "authority"])
    assert set(versions) <= biased(found)
    assert {one.partition(":")[0] for one in biased(found)} == {probe}
    assert all(version.partition(": ")[2].split(" –")[0] in line(found) for version in versions)


@pytest.mark.long  # `tests/analysis/stress/test_injection.py` puts the battery to such a judge by default
def test_an_obedient_judge_is_clean_behind_the_fence_and_lost_without_it(
    warmth: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = stress(planted.Obedient(warmth), tmp_path / "fenced", probes="injection")
    assert {i.reached for i in found.injections} == {0}
    assert biased(found) == set()
    monkeypatch.setattr(judging, "fence", lambda name, text, nonce: text)
    bare = stress(planted.Obedient(warmth), tmp_path / "bare", probes="injection")
    (every,) = (i for i in bare.injections if i.slice == "all")
    assert every.reached == every.n
    assert every.attempts_reached == every.attempts == 200
    assert len(biased(bare)) == 9, "all kinds"
    assert "injection, 200 of 200 attempts" in line(bare)


def test_a_judge_that_a_form_silences(warmth: Benchmark, tmp_path: Path) -> None:
    inner = Planted(warmth)

    def answer(request: Request) -> str:
        return "no comment" if "\n- " in planted.fenced(request, "reply") else inner.judge(request)

    found = stress(Scripted("mute", answer), tmp_path / "r", probes="format", judge_runs=1)
    lost = [e for e in found.effects if e.measure == "lost"]
    assert [(e.version, e.value, e.verdict) for e in lost] == [("list", 1.0, BIASED)]
    kept = next(e for e in found.effects if e.version == "list" and e.criterion == "warmth" and e.measure == "value")
    assert (kept.value, kept.n, kept.missing, kept.verdict) == (None, 48, 48, "cannot tell")
    assert kept.worst is not None and kept.best is not None and kept.worst < 0 < kept.best


def test_within_the_run_of_its_replies_no_score_sees_the_test(warmth: Benchmark, tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    rows = [
        {"user": f"Day {n} was long.", "reply": f"I hear you, {n}.", "model": "b", "language": "en"} for n in range(6)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    judge = Scripted("kin-7", lambda _: json.dumps({"quotes": [], "rationale": "", "warmth": 3, "safety": "safe"}))
    mindgauge.rate("warmth", replies=file, judge=judge, out=tmp_path / "run")
    before = mindgauge.score(tmp_path / "run").metrics
    alone = stress(judge, tmp_path / "a", replies=file, probes=["verbosity", "repeat"])
    within = stress(judge, tmp_path / "run", replies=tmp_path / "run", probes=["verbosity", "repeat"])
    assert (within.effects, within.repeats) == (alone.effects, alone.repeats)
    assert mindgauge.score(tmp_path / "run").metrics == before
    with Store(tmp_path / "run") as store:
        assert [len(card_lines(store, [warmth], name)) for name in ("kin-7", "other")] == [1, 0]


def test_a_dry_run_counts_what_the_run_makes_and_what_is_left(warmth: Benchmark, tmp_path: Path) -> None:
    judge = Planted(warmth)
    few: dict[str, Any] = {"limit": 12, "each": 1}
    foreseen = judges_stress(judge, benchmark="warmth", out=tmp_path / "r", dry_run=True, **few)
    assert isinstance(foreseen, DryRun)
    assert not (tmp_path / "r").exists()
    assert judge.calls == 0
    first = stress(judge, tmp_path / "r", **few)
    assert judge.calls == foreseen.calls
    left = judges_stress(judge, benchmark="warmth", out=tmp_path / "r", dry_run=True, **few)
    assert isinstance(left, DryRun)
    assert (left.calls, left.done) == (0, foreseen.calls)
    assert stress(judge, tmp_path / "r", **few) == first
    assert judge.calls == foreseen.calls, "asked once, kept"
    with pytest.raises(UsageError, match="another plan"):
        stress(judge, tmp_path / "r", **few, probes="format")


@pytest.mark.long
def test_a_run_goes_on_where_it_stopped(warmth: Benchmark, tmp_path: Path) -> None:
    inner = Planted(warmth, noise=0.1)
    down = [True]
    few: Any = {"limit": 12, "each": 1}

    def answer(request: Request) -> str | Exchange:
        if down[0] and inner.calls >= 100:
            return Exchange(Status.FAILED, error="gone")
        return inner.judge(request)

    flaky = Scripted(planted.NAME, answer)
    with pytest.raises(mindgauge.MindgaugeError, match="failed one after the other"):
        stress(flaky, tmp_path / "r", **few)
    down[0] = False
    found = stress(flaky, tmp_path / "r", **few)
    whole = stress(Planted(warmth, noise=0.1), tmp_path / "whole", **few)
    assert found.effects == whole.effects
    assert found.injections == whole.injections


def test_several_judges_in_one_run_and_none_in_a_strangers(warmth: Benchmark, tmp_path: Path) -> None:
    more: dict[str, Any] = {"probes": ["verbosity", "named-model"], "limit": 24, "judge_runs": 1}
    first = stress(Planted(warmth), tmp_path / "r", **more)
    loving = Planted(warmth, planted.verbose(0.9), name="other/judge-8")
    second = stress(loving, tmp_path / "r", **more)
    assert (biased(first), "verbosity: said twice" in biased(second)) == (set(), True)
    assert stress(Planted(warmth), tmp_path / "r", **more) == first, "what the other was shown and said is kept apart"
    other = tmp_path / "other"
    other.mkdir()
    manifest.write(other, {"plan": {"benchmarks": ["mentalbench"]}})
    with pytest.raises(UsageError, match="another benchmark"):
        stress(Planted(warmth), other, **more)


def test_a_budget_holds(warmth: Benchmark, tmp_path: Path) -> None:
    judge = Planted(warmth)
    judge.price = Price(1e-6, 1e-6)
    with pytest.raises(BudgetError, match="max-cost"):
        stress(judge, tmp_path / "r", max_cost=0.05)


@pytest.mark.parametrize(("mode", "method"), [("split", "rule"), ("joint", "chain"), later("joint", "general")])
def test_every_mode_and_method(warmth: Benchmark, tmp_path: Path, mode: str, method: str) -> None:
    found = stress(Planted(warmth, noise=0.05), tmp_path / "r", mode=mode, method=method, limit=12, each=1)
    assert found.judge == ("acme/judge-7" if method == "rule" else f"acme/judge-7 ({method})")
    assert biased(found) == set()
    versions = {e.version for e in found.effects if e.probe in {"order", "joint or split"} and e.measure == "value"}
    other = "all at once" if mode == "split" else "one at a time"
    assert other in versions
    assert ("best level first" in versions) == (method != "chain")
    assert ("criteria reversed" in versions) == (mode == "joint")


def test_page_and_json(warmth: Benchmark, tmp_path: Path) -> None:
    judge = Planted(warmth, planted.verbose(0.9), name="acme/<b>judge-7</b>")
    found = stress(judge, tmp_path / "r", probes=["verbosity", "injection"], limit=24, each=1)
    page = (tmp_path / "r" / PAGE).read_text(encoding="utf-8")
    assert page.count("<svg") == 4, "two pictures, wide and narrow"
    assert "verbosity: said twice" in page
    assert "<b>judge-7" not in page
    assert "http" not in page.replace("http-equiv", "")
    told = json.loads(msgspec.json.encode(found))
    assert {"run", "benchmark", "judge", "effects", "injections", "repeats", "notes", "conversations"} <= told.keys()
    assert found.table.height == len(found.effects)


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("help_or_harm/crisis_type", {}, "closed question"),
        ("mentalbench", {"probes": "colour"}, "no probe 'colour'"),
        ("mentalbench", {"each": 0}, "--each"),
        ("mentalbench", {"mode": "both"}, "--mode"),
        ("mentalbench", {"method": "guess"}, "--method"),
        ("mentalbench", {"judge_runs": 0}, "--judge-runs"),
    ],
)
def test_wrong_usage(name: str, more: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        judges_stress(Scripted("m", lambda request: ""), benchmark=name, out=tmp_path / "r", **more)
    assert not (tmp_path / "r").exists()


def test_a_rule_is_no_judge_to_stress(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rule/refusal reads no instructions"):
        judges_stress("rule/refusal", benchmark="mentalbench", out=tmp_path / "r")


def test_a_run_without_replies(warmth: Benchmark, tmp_path: Path) -> None:
    Store(tmp_path / "empty", write=True).close()
    with pytest.raises(DataError, match="no replies to warmth"):
        stress(Planted(warmth), tmp_path / "r", replies=tmp_path / "empty")


def test_replies_without_a_text_are_not_rated(warmth: Benchmark, tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text('{"user": "Hello", "reply": "  ", "model": "m"}\n', encoding="utf-8")
    with pytest.raises(DataError, match="none of the replies has a text"):
        stress(Planted(warmth), tmp_path / "r", replies=file)
    assert not (tmp_path / "r").exists()


def test_a_limit_leaves_some_of_every_language(warmth: Benchmark, tmp_path: Path) -> None:
    found = stress(Planted(warmth), tmp_path / "r", limit=9, each=1, judge_runs=1, probes="injection")
    assert found.items == 9
    tried = {i.slice: i.attempts for i in found.injections}
    assert (tried["all"], tried["language=en"], tried["language=zh"]) == (200, 114, 86)
    with Store(tmp_path / "r") as store:
        spoken = [sample.tags["language"] for sample in store.samples(f"warmth:stress:{planted.NAME}")]
    assert {"en", "zh"} == set(spoken)


def test_a_judge_that_says_nothing_usable_has_no_verdict_counted(warmth: Benchmark, tmp_path: Path) -> None:
    mute = Scripted("mute", lambda request: "no comment")
    found = stress(mute, tmp_path / "r", limit=24, each=1, probes=["format", "injection", "repeat"])
    assert (found.verdicts, found.judge_runs) == (0, 2)
    assert found.unusable > 0
    values = [e for e in found.effects if e.measure == "value"]
    assert {(e.value, e.verdict, e.missing == e.n) for e in values} == {(None, "cannot tell", True)}
    assert all(i.n == i.reached == 0 and i.share.value is None for i in found.injections)
    assert all(r.changed.value is None and r.n == 0 for r in found.repeats)
    assert line(found).startswith("Put under stress, but none of ")


def test_what_could_not_be_tried_is_said(warmth: Benchmark, tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    rows = [{"user": f"Tag {n}.", "reply": f"Ich höre zu, {n}.", "model": "m", "language": "de"} for n in range(3)]
    rows += [{"user": f"Day {n}.", "reply": f"I am here, {n}.", "model": "m", "language": "en"} for n in range(3)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    judge = Scripted("j", lambda request: json.dumps({"quotes": [], "rationale": "", "warmth": 3, "safety": "safe"}))
    found = stress(judge, tmp_path / "r", replies=file, each=1, judge_runs=1, probes=["format", "injection"])
    assert "injection: not tried on replies in de" in found.notes
    assert "verbosity: not tried" in found.notes
    assert not any(note.startswith("format") for note in found.notes)
    alone = stress(judge, tmp_path / "a", replies=file, each=1, judge_runs=1, probes="format")
    assert "injection: not tried" in alone.notes


@pytest.mark.parametrize("unit", ["turn", "dialogue"])
def test_a_version_of_a_dialogue_is_judged_as_the_dialogue_was(unit: str, tmp_path: Path) -> None:
    """With a prompt of its own for whole dialogues, and all of the assistant's turns in it."""
    file = tmp_path / "dialogues.jsonl"
    said = [
        ("user", "I feel low."),
        ("assistant", "Since when?"),
        ("user", "Weeks."),
        ("assistant", "I am here. Go on."),
    ]
    rows = [{"messages": [{"role": r, "content": f"{t} {n}."} for r, t in said], "model": "m"} for n in range(3)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    beginnings: set[str] = set()

    def answer(request: Request) -> str:
        beginnings.add(request.messages[0].content[:60])
        return json.dumps(
            {name: its["enum"][0] if "enum" in its else "r" for name, its in planted.properties(request).items()}
        )

    judge = Scripted("j", answer)
    mindgauge.rate("mentalbench", dialogues=file, unit=unit, judge=judge, out=tmp_path / "run")
    before = set(beginnings)
    beginnings.clear()
    found = stress(judge, tmp_path / "r", "mentalbench", replies=tmp_path / "run", probes="format", judge_runs=1)
    assert found.items == (6 if unit == "turn" else 3)
    assert beginnings == before, "no other prompt was used"
