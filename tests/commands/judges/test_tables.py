"""`judges panel` and `judges escalation` at the terminal: nothing wider than it is, and words where a figure is not there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from mindgauge.analysis.jury.jury import JuryCard, Panels
from mindgauge.analysis.reliability.card import Bound
from mindgauge.cli import app, judges
from mindgauge.cli.judges import _panel_in_full
from mindgauge.commands.judges.panel import judges_panel as panel
from tests.analysis.judged_run import World as Run
from tests.analysis.reliability.conftest import World

if TYPE_CHECKING:
    from pathlib import Path

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def shown(found: Panels, capsys: pytest.CaptureFixture[str]) -> str:
    (one,) = found.panels
    assert isinstance(one, JuryCard)
    _panel_in_full(one)
    return _COLOUR.sub("", capsys.readouterr().out)


def test_a_panel_of_classes_or_of_one_system_says_what_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    world = World(systems=1).rated_by("H1", "person").rated_by("a").rated_by("b")
    assert "one system only, so there is no ranking" in shown(panel(world.frame(), resamples=200), capsys)
    exact = World().rated_by("H1", "person", noise=0).rated_by("a", noise=0).rated_by("b", noise=0)
    said = shown(panel(exact.frame(), resamples=200), capsys)
    assert "The number of independent judges that a and b are worth is not known" in said


def test_the_panel_fits_a_terminal_of_100_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World().rated_by("H1", "person").rated_by("a-judge-with-a-rather-long-name").rated_by("b")
    found = panel(world.frame(), resamples=200)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    lines = shown(found, capsys).splitlines()
    table = lines[: next(i for i, line in enumerate(lines) if line.startswith("best single judge"))]
    assert max(map(len, table)) <= 100
    assert sum("a-judge-with-a-rather-long-name" in line for line in table[2:]) >= 2, "in several tables, whole"


@pytest.mark.long
def test_the_escalation_curve_says_what_ties_mean_and_lists_unseen_models(tmp_path: Path) -> None:
    run = Run(60).people().judge("a", 0.5).judge("b", 0.8).write(tmp_path / "run")
    found = CliRunner().invoke(app, ["judges", "escalation", str(run), "--unsafe", "<=2", "--resamples", "100"])
    assert found.exit_code == 0, found.output
    assert "people must read" in found.output.partition("\n\n")[0]
    assert f"Next: mindgauge export {run} --to review --unsafe '<=2'" in found.output
    found = CliRunner().invoke(
        app, ["judges", "escalation", str(run), "--unsafe", "<=2", "--resamples", "100", "--full"]
    )
    assert "Replies of one risk are read in any order, and figures are means over these orders" in found.output
    unseen = found.output.partition("of a model from which nothing was learned")[2].split("read in the order of")[1]
    assert "judges + length" in unseen and "jury/mean  " not in unseen


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (None, ""), (Bound(None, note="why"), "–"), (Bound(0.5), "0.50"), (Bound(0.5, 0.4, 0.6), "0.50 [0.40, 0.60]"),
    ],
)  # fmt: skip
def test_an_estimate_is_written_as_what_is_known_of_it(estimate: Bound | None, text: str) -> None:
    assert judges.bound(estimate) == text


def test_a_reason_is_given_once() -> None:
    found = judges.missing([(f"j{i}", "kappa", Bound(None, note="nothing varies")) for i in range(5)])
    assert found == ["nothing varies: j0 (kappa); j1 (kappa); j2 (kappa); and 2 more"]
    assert judges.missing([("j", "kappa", Bound(0.5, 0.4, 0.6, "a remark"))]) == []
