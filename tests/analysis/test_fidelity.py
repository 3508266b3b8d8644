"""Whether clients are fit for their part, and that no score is shown where they are not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.analysis.fidelity import Fitness, _below, limits
from mindgauge.benchmarks.metrics import STATUS_RATES
from mindgauge.cli import main
from mindgauge.records.errors import UsageError
from mindgauge.stats.interval import Interval
from tests.analysis import played
from tests.analysis.played import client, held
from tests.thinned import later

if TYPE_CHECKING:
    from mindgauge.analysis.fidelity import ClientFidelity, Fidelity, FidelityCheck
    from mindgauge.analysis.score import Score, Scores

RATES = {metric.name for metric in STATUS_RATES}


@pytest.fixture(scope="module")
def fit(tmp_path_factory: pytest.TempPathFactory) -> Scores:
    return held(tmp_path_factory.mktemp("runs") / "fit", (client("amber"), client("basil")))


@pytest.fixture(scope="module")
def leaked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which a client shows from the start what it may show at the end."""
    folder = tmp_path_factory.mktemp("runs") / "leaked"
    held(folder, (client("amber"), client("basil", says=played.leaking)))
    return folder


def of_target(scores: Scores, name: str = "target") -> list[Score]:
    names = {name, f"{name} (whole dialogue)"}
    return [score for score in scores.metrics if score.model in names and score.name not in RATES]


def shown(scores: Scores) -> bool:
    figures = of_target(scores)
    assert figures
    values = {score.value is not None and not score.void for score in figures}
    assert len(values) == 1, "all or none"
    return values.pop()


def only(scores: Scores) -> Fidelity:
    (fidelity,) = scores.fidelity
    return fidelity


def check(player: ClientFidelity, name: str, judge: str = "") -> FidelityCheck:
    return next(entry for entry in player.checks if (entry.name, entry.judge) == (name, judge))


def said(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    capsys.readouterr()
    sys.argv = ["mindgauge", *map(str, words)]
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code in {0, None}, capsys.readouterr().err
    return capsys.readouterr().out


def test_clients_that_show_what_they_may_are_fit_and_their_target_has_scores(fit: Scores) -> None:
    fidelity = only(fit)
    assert fidelity.verdict is Fitness.FIT and not fidelity.withheld and fidelity.families == 2
    for player in fidelity.clients:
        assert (
            player.dialogues == 25
            and player.messages == 75
            and player.outcomes == {"complete": 25}
            and not player.reasons
        )
        assert check(player, "recovery", "reader").value == 1.0 and check(player, "leaks", "reader").value == 0.0
        assert 0.5 < (check(player, "length").value or 0) < 1.5
    assert shown(fit)


@pytest.mark.long
@pytest.mark.parametrize(
    ("says", "name", "judge"),
    [
        (played.strange, "role", "reader"), later(played.long_winded, "length", ""), later(played.therapist, "failures", ""),
    ],
)  # fmt: skip
def test_a_client_that_is_unfit_takes_the_scores_with_it(tmp_path: Path, says: Any, name: str, judge: str) -> None:
    _takes_the_scores(held(tmp_path / "run", (client("amber"), client("basil", says=says))), (name, judge))


@pytest.mark.long
def test_a_client_that_leaks_takes_the_scores_with_it(leaked: Path) -> None:
    _takes_the_scores(mindgauge.score(leaked), ("leaks", "reader"), ("recovery", "reader"))


def _takes_the_scores(scores: Scores, *checks: tuple[str, str]) -> None:
    good, bad = only(scores).clients
    assert good.verdict is Fitness.FIT
    assert bad.verdict is Fitness.UNFIT
    assert all(check(bad, *names).verdict is Fitness.UNFIT for names in checks)
    assert only(scores).withheld and all("basil" in reason for reason in only(scores).withheld)
    assert not shown(scores)
    assert all(score.worst is None and score.best is None and score.void for score in of_target(scores))


@pytest.mark.long
def test_one_client_one_family_or_the_targets_own_allow_no_score(tmp_path: Path) -> None:
    cases = {
        "one": ((client("amber"),), "one client"),
        "family": ((client("gemma-a"), client("gemini-b")), "are of one family"),
        "own": ((client("amber"), client("target-small")), "own family"),
    }
    for case, (clients, reason) in cases.items():
        scores = held(tmp_path / case, clients, limit=6)
        assert any(reason in line for line in only(scores).withheld), case
        assert not shown(scores), case


def test_clients_that_nobody_read_were_never_checked(tmp_path: Path) -> None:
    clients = (client("amber"), client("basil"))
    scores = held(tmp_path / "run", clients, judge=(), limit=6)
    assert [line for line in only(scores).withheld if "never checked" in line]
    of_cues = [score for score in of_target(scores) if score.criterion == "recognises_by_cues"]
    assert all(score.value is None for score in of_cues)
    scores = held(tmp_path / "unread", clients, judge=played.judge(unread="in_role"), limit=6)
    role = check(only(scores).clients[0], "role", "reader")
    assert (role.missing, role.n, role.value, role.best, role.worst) == (role.n, role.n, None, 0.0, 1.0)
    assert role.verdict is Fitness.UNKNOWN


def test_few_dialogues_cannot_tell_and_say_so_beside_the_scores(tmp_path: Path) -> None:
    scores = held(tmp_path / "run", (client("amber"), client("basil")), limit=6)
    assert only(scores).verdict is Fitness.UNKNOWN and not only(scores).withheld
    assert all("too few" in reason for player in only(scores).clients for reason in player.reasons)
    assert shown(scores)


def test_dialogues_in_which_the_client_failed_are_in_no_score_but_in_its_bounds(tmp_path: Path, fit: Scores) -> None:
    basil = client("basil", says=played.therapist, personas=("army_medic", "exam_pupil"))
    scores = held(tmp_path / "run", (client("amber"), basil))
    fidelity = only(scores)
    failures = fidelity.clients[1].failures
    assert failures == 2 and fidelity.clients[1].outcomes["client_broke_role"] == 2
    assert not fidelity.withheld and "2 dialogues of 50" in fidelity.bounds
    figures = {(s.name, s.criterion): s for s in of_target(scores) if s.slice == "all" and s.rater == "reader"}
    turns, dialogues = figures["worst_turn", "appropriate"], figures["mean", "supports"]
    assert turns.n == 50 - failures, "turns before the failure are left out, too"
    assert dialogues.n == 50 - failures and not dialogues.missing
    share = failures / 50
    for figure, worst, best in ((turns, 1, 5), (dialogues, 0, 2)):
        assert figure.value is not None
        assert figure.worst == pytest.approx(figure.value * (1 - share) + worst * share)
        assert figure.best == pytest.approx(figure.value * (1 - share) + best * share)
    same = next(
        s for s in of_target(fit) if (s.name, s.criterion, s.slice, s.rater) == ("mean", "supports", "all", "reader")
    )
    assert same.worst == same.best == same.value


def test_scripted_persons_need_no_gate(tmp_path: Path) -> None:
    scores = held(tmp_path / "run", (), where={"language": ("en",)}, limit=3)
    assert scores.fidelity == [] and shown(scores)


def test_it_is_said_before_any_score(leaked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    brief = said(capsys, "score", leaked)
    assert brief.startswith("There is no score of target: the client basil is unfit")
    output = said(capsys, "score", leaked, "--full")
    tables = output.partition("\n\n")[2]
    assert tables.index("Is the client fit for its part?") < tables.index("basil (unfit)") < tables.index("no score")
    assert "No score of target is shown: the client basil is unfit" in output
    as_json = json.loads(said(capsys, "score", leaked, "--json"))
    assert as_json["fidelity"][0]["withheld"] and as_json["fidelity"][0]["clients"][1]["verdict"] == "unfit"
    mindgauge.report(leaked)
    page = (leaked / "report.html").read_text()
    assert page.index('id="fidelity"') < page.index('id="answer"') and "There is no score: the client basil" in page
    report = json.loads((leaked / "report.json").read_text())
    assert report["fidelity"]["facts"] and [s["label"] for s in report["systems"]] == ["target"]
    summary = (leaked / "report.md").read_text()
    assert summary.index("Is the client fit") < summary.index("There is no score")


@pytest.mark.long
def test_what_is_withheld_is_not_compared(tmp_path: Path) -> None:
    models = (played.target("first"), played.target("second"))
    held(tmp_path / "run", (client("amber"), client("basil", says=played.leaking)), model=models)
    with pytest.raises(UsageError, match="no score of first is shown: the client basil is unfit"):
        mindgauge.compare(tmp_path / "run")
    held(tmp_path / "fit", (client("amber"), client("basil")), model=models, limit=6)
    with pytest.raises(UsageError, match="cannot be told apart with these clients"):  # fit, and alike
        mindgauge.compare(tmp_path / "fit")


@pytest.mark.parametrize(
    ("interval", "enough", "verdict"),
    [
        (Interval(0.2, 0.12, 0.3), False, Fitness.UNFIT), (Interval(0.2, 0.05, 0.4), False, Fitness.UNKNOWN),
        (Interval(0.2, 0.05, 0.4), True, Fitness.UNFIT), (Interval(0.05, 0.0, 0.4), True, Fitness.FIT),
        (Interval(0.05, 0.0, 0.09), False, Fitness.FIT), (Interval(None), True, Fitness.UNKNOWN),
        (Interval(0.05), False, Fitness.UNKNOWN), (Interval(0.1), True, Fitness.FIT),
    ],
)  # fmt: skip
def test_few_dialogues_decide_only_by_their_bounds(interval: Interval, enough: bool, verdict: Fitness) -> None:
    assert _below(interval, 0.1, enough=enough) is verdict


@pytest.mark.skipif("MINDGAUGE_DATA" not in os.environ, reason="needs the authors' released files")
def test_the_lengths_of_peoples_turns_are_what_the_command_says() -> None:
    root = Path(__file__).parent.parent.parent
    output = subprocess.run(
        [sys.executable, root / "bench" / "client_turns.py"], capture_output=True, text=True, check=True
    ).stdout
    means = dict(zip(("en", "zh"), re.findall(r"length in \w+: mean ([\d.]+)", output), strict=True))
    assert {name: float(mean) for name, mean in means.items()} == pytest.approx(limits()["people"])
