"""The verb and its command: runs in; who is better, at what cost, JSON and one-line faults out."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.cli import main
from mindgauge.commands.compare import compare
from mindgauge.models.scripted import Scripted
from mindgauge.records import Exchange, RaterKind, Rating, Reply, Status, Usage
from mindgauge.store import Store, manifest
from tests.analysis.answered import Asked, Planted, planted
from tests.analysis.reliability.conftest import World

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.analysis.pairing import SystemComparison
    from mindgauge.records.request import Request

__all__ = ["planted"]
CRISIS = "help_or_harm/crisis_type"
LIMITED = "limited: people must rate"
USAGE = Usage(100, 20)


def invoke(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["mindgauge", *map(str, args)])
    with pytest.raises(SystemExit) as left:
        main()
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


def took(found: SystemComparison) -> dict[str, float | None]:
    return {cost.system: cost.seconds for cost in found.costs}


def knowing(request: Request) -> Exchange:
    """Label every sample as its target says, at a price."""
    assert request.sample is not None
    said = json.dumps({"quotes": [], "rationale": "r", "crisis_type": request.sample.target})
    return Exchange(Status.OK, said, usage=USAGE, seconds=0.5, cost=0.002)


def careless(request: Request) -> Exchange:
    """See no crisis anywhere, and mumble at first; nobody knows the price."""
    if "could not be read" not in request.messages[-1].content:
        return Exchange(Status.OK, "Hm.", usage=USAGE, seconds=0.25)
    said = json.dumps({"quotes": [], "rationale": "r", "crisis_type": "no_crisis"})
    return Exchange(Status.OK, said, usage=USAGE, seconds=0.5)


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder, name, answer in zip(folders, ("knowing", "careless"), (knowing, careless), strict=True):
        assert isinstance(mindgauge.run(CRISIS, model=Scripted(name, answer), out=folder, limit=28), Scores)
    return folders


def test_two_runs_of_models_with_cost_and_time(two: list[Path]) -> None:
    found = compare(two)
    (gap,) = found.find("accuracy")[0].differences
    assert (gap.first, gap.second, gap.better, gap.n) == ("knowing", "careless", "knowing", 28)
    assert gap.value == pytest.approx(24 / 28)
    missed = found.find("missed_crisis_rate")[0].differences[0]
    assert (missed.value, missed.better) == (-1, "knowing")
    assert took(found) == pytest.approx({"knowing": 500.0, "careless": 750.0}), "a second try takes time, too"
    assert {cost.system: cost.answers for cost in found.costs} == {"knowing": 28, "careless": 28}
    priced, unpriced = (cost.cost for cost in found.costs)
    assert priced == pytest.approx(2.0)
    assert unpriced is None, "nobody knows the price"


def test_a_run_that_was_stopped_says_so_beside_one_that_was_not(
    two: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store(two[1], write=True) as store:
        last = [rating for rating in store.ratings(CRISIS) if rating.rater == "careless"][-3:]
        for rating in last:
            store.forget_rating(CRISIS, rating)
    missing = "second: 3 of 28 ratings by careless are not there yet, and in no figure"
    assert missing in compare(two).notes
    _, out, err = invoke(monkeypatch, capsys, "compare", *two)
    assert missing in " ".join((out + err).split())


def test_json_keeps_its_contract(
    two: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = invoke(monkeypatch, capsys, "compare", *two, "--json")
    found: dict[str, Any] = json.loads(out)
    assert (code, err) == (0, "")
    assert found.keys() == {"runs", "systems", "measures", "costs", "notes", "headlines", "tag"}
    assert found["runs"] == [str(folder) for folder in two]
    assert found["systems"][0] == {
        "label": "knowing",
        "run": str(two[0]),
        "model": "knowing",
        "baseline": False,
        "part": "",
    }
    measure = next(m for m in found["measures"] if m["name"] == "accuracy" and m["slice"] == "all")
    assert {key: measure[key] for key in ("benchmark", "criterion", "rater", "unit", "direction", "left_out")} == {
        "benchmark": CRISIS, "criterion": "crisis_type", "rater": "", "unit": "share", "direction": "higher", "left_out": 0,
    }  # fmt: skip
    assert measure["standings"][0].keys() == {
        "system", "value", "low", "high", "rank", "rank_low", "rank_high", "best", "n", "clusters", "missing",
        "pooled",
    }  # fmt: skip
    assert measure["differences"][0].keys() == {
        "first", "second", "value", "low", "high", "p", "adjusted", "told_apart", "better", "n", "clusters", "worst", "best",
    }  # fmt: skip
    assert found["costs"][0].keys() == {"benchmark", "system", "answers", "cost", "seconds"}


def test_the_terminal_says_who_is_better_on_what_and_at_what_cost(
    two: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = invoke(monkeypatch, capsys, "compare", *two)
    assert (code, err) == (0, "")
    assert out.startswith("knowing is better than careless on accuracy by 85.7 points (71.4 to 96.4).\n")
    assert len(re.findall("^(?:accuracy|share of messages) ", out, re.MULTILINE)) <= 10
    assert "On single parts" in out
    code, out, err = invoke(monkeypatch, capsys, "compare", *two, "--full")
    for said in (
        f"{CRISIS}: accuracy",
        "knowing is better than careless on accuracy by 85.7 points (71.4 to 96.4).",
        "on the share of messages that show a crisis taken for none by 100.0 points (71.5 to 100.0).",
        "Every two systems, paired",
        "On single parts",
        "What a thousand answers take",
        "$2.0000",
        "500.0",
        "750.0",
    ):
        assert said in out


@pytest.mark.long
def test_ways_of_asking_one_model_have_costs_of_their_own_first_tries_included(tmp_path: Path) -> None:
    """Node by node, the first node is answered unreadably at first: that try is a call of this way, and of no other."""

    def answer(request: Request) -> Exchange:
        fields = request.schema["properties"] if request.schema else {}
        first = "could not be read" not in request.messages[-1].content
        if "answer" in fields and first and "no" in fields["answer"]["enum"]:
            return Exchange(Status.OK, "Hm.", usage=USAGE, seconds=0.2, cost=0.001)
        said = {name: described["enum"][0] for name, described in fields.items() if "enum" in described}
        return Exchange(
            Status.OK, json.dumps({"quotes": [], "rationale": "r", **said}), usage=USAGE, seconds=0.1, cost=0.001
        )

    folder = tmp_path / "ways"
    mindgauge.run("dialogue_safety", model=Scripted("m", answer), ask=["flat", "sequential"], out=folder, limit=16)
    found = compare(folder)
    assert took(found) == pytest.approx({"m": 100, "m (sequential)": 300}), "the second try says yes to the first node"
    assert {cost.system: cost.cost for cost in found.costs} == pytest.approx({"m": 1, "m (sequential)": 2})


def test_a_classifier_s_own_time_counts_and_it_makes_no_calls(planted: Planted) -> None:
    asked = [Asked(f"s{i}", "calm") for i in range(10)]
    folder = planted.answered("run", asked, {"chat": ["calm"] * 10})
    with Store(folder, write=True) as store:
        for one in asked:
            store.add_rating(
                "kind",
                Rating(one.sample.id, "kind", "classifier/x", RaterKind.CLASSIFIER, 0, Status.OK, "calm", provenance={"seconds": 0.002}),
            )  # fmt: skip
    costs = {cost.system: (cost.cost, cost.seconds) for cost in compare(folder).costs}
    assert costs == {"chat": (None, None), "classifier/x": (0, pytest.approx(2))}


@pytest.fixture
def judged(planted: Planted) -> Path:
    """Write a run in which people and two judges rated replies: one agrees with them, one calls everything warm."""
    world = World(systems=4, conversations=60).rated_by("anna", "person").rated_by("bea", "person")
    frame = world.rated_by("fair").rated_by("flattered", bias=1.5, noise=2.0).frame()
    folder = planted.folder / "judged"
    samples = {name: Asked(name).sample for name in frame["cluster"].unique(maintain_order=True)}
    with Store(folder, write=True) as store:
        manifest.write(folder, {"plan": {"benchmarks": ["warmth"]}})
        store.put_samples("warmth", samples.values())
        for row in frame.iter_rows(named=True):
            reply = Reply.of(samples[row["cluster"]].id, row["system"], 0, Status.OK, row["subject"])
            kind = RaterKind(row["rater_kind"])
            store.add_reply("warmth", reply)
            store.add_rating(
                "warmth",
                Rating(reply.id, "warmth", row["rater"], kind, 0, Status.OK, row["value"], instrument="warmth@1"),
            )
    return folder


def test_a_judge_that_may_not_rank_systems_is_marked_and_not_shown(
    judged: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    marks = {m.rater: (m.rate_replies == LIMITED, m.rank_systems == LIMITED) for m in compare(judged).measures}
    assert marks["flattered"] == (True, True)
    assert marks["fair"] == marks["anna"] == (False, False)
    _, out, _ = invoke(monkeypatch, capsys, "compare", judged)
    assert "(rated by anna)" in out.partition("\n\n")[0], "people come before judges"
    assert "rated by flattered" not in out and not re.search(r"  flattered  ", out)
    assert "flattered agrees too little with people to rank systems on warmth (not shown" in out
    _, full, _ = invoke(monkeypatch, capsys, "compare", judged, "--full")
    assert "Of the others" in full and "fair" in full
    assert "Every two systems, paired" in full
    assert "first minus second" in full
    _, out, _ = invoke(monkeypatch, capsys, "compare", judged, "--show-unreliable")
    assert "rated by flattered" not in out.partition("\n\n")[0], "what may not rank is no answer"
    rows = [line for line in out.splitlines() if re.match("flattered +s", line)]
    assert rows or "flattered" not in out.partition("\n\n")[2].partition("more")[0]
    assert all("(unreliable)" in row for row in rows)
    _, out, _ = invoke(monkeypatch, capsys, "compare", judged, "--show-unreliable", "--full")
    assert "rated by flattered" in out
    assert "(unreliable)" in out


def test_a_run_given_twice_is_one(two: list[Path]) -> None:
    found = compare([*two, two[0], str(two[1])])
    assert len(found.runs) == len(found.systems) == 2


@pytest.mark.parametrize(
    ("given", "said"), [("nowhere", "no run here"), ("first", "only knowing, and nobody to compare it with")]
)
def test_what_cannot_be_compared_gets_one_line_and_2(
    given: str, said: str, two: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = invoke(monkeypatch, capsys, "compare", two[0].parent / given)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
