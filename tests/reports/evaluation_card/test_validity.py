"""How long a card holds: by the answers' age, never longer for being written anew, and not past a change."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pytest

import mindgauge
from mindgauge.models.scripted import Scripted
from mindgauge.records import Exchange, Status
from mindgauge.reports.content import ReportTable
from mindgauge.reports.evaluation_card import LASTS, OwnerFacts, _validity
from mindgauge.store import manifest
from tests.reports import suite_run
from tests.reports.conftest import OPEN
from tests.reports.evaluation_card.conftest import CardFiles, written

if TYPE_CHECKING:
    from pathlib import Path

DAY = datetime.date(2026, 3, 1)
END = DAY + datetime.timedelta(days=LASTS)
KNOWN = {"a": f"{DAY} to {DAY + datetime.timedelta(days=40)}", "b": str(DAY + datetime.timedelta(days=9))}


def holds(
    days: dict[str, str], today: datetime.date, expires: datetime.date | None = None, *, gone: bool = False
) -> tuple[str, str]:
    sheet = ReportTable("systems", "", [], [[system, "", day] for system, day in days.items()])
    held = _validity(sheet, OwnerFacts(expires=expires), today, gone=gone)
    return held["state"], held["expires"]


@pytest.mark.parametrize(
    ("today", "state"), [(DAY, "valid"), (END, "valid"), (END + datetime.timedelta(days=1), "expired")]
)
def test_it_ends_by_the_oldest_answer(today: datetime.date, state: str) -> None:
    assert holds(KNOWN, today) == (state, END.isoformat())


def test_an_owner_may_shorten_it_and_not_prolong_it(suite: Path, tmp_path: Path) -> None:
    sooner, later = END - datetime.timedelta(days=3), END + datetime.timedelta(days=3)
    assert holds(KNOWN, DAY, sooner)[1] == sooner.isoformat()
    assert holds(KNOWN, DAY, later)[1] == END.isoformat()
    (tmp_path / "facts.toml").write_text("expires = 2999-01-01", encoding="utf-8")
    assert "does not count" in written(tmp_path / "out", suite, card=tmp_path / "facts.toml").record.validity.because


def test_one_system_without_a_date_leaves_it_open_unless_the_owner_sets_a_day() -> None:
    assert holds(KNOWN | {"old": ""}, DAY) == ("undated", "")
    assert holds(KNOWN | {"old": ""}, DAY, END)[1] == END.isoformat()
    assert holds({}, DAY) == ("undated", "")


def test_an_instrument_that_has_changed_ends_it() -> None:
    assert holds(KNOWN, DAY, END, gone=True) == ("expired", "")


def test_a_card_of_old_answers_is_shown_as_expired(tmp_path: Path) -> None:
    run = tmp_path / "run"
    answer = Exchange(Status.OK, "I hear you, and I am glad.", "stop", model_resolved="acme/old-0301", cost=0.0)
    mindgauge.run(OPEN, model=Scripted("acme/old", lambda _: answer), judge="rule/refusal", limit=4, out=run)
    today = datetime.datetime.now(datetime.UTC).date()
    begun, day = today - datetime.timedelta(days=LASTS + 2), today - datetime.timedelta(days=2)
    content = manifest.read(run)
    content["created"] = f"{begun}T08:00:00+00:00"
    manifest.write(run, content)
    card = written(tmp_path / "then", run)
    assert (card.record.validity.state, card.record.validity.expires) == ("expired", day.isoformat())
    assert f'<span class="state expired">Expired on {day}</span>' in card.html
    assert card.rows("systems")[0]["build"] == "acme/old-0301"
    assert card.rows("systems")[0]["answered"] == f"{begun} to {today}"
    assert f"**Expired on {day}.**" in card.markdown.replace("\N{ZERO WIDTH SPACE}", "")


def test_another_instrument_in_the_run_is_seen(tmp_path: Path) -> None:
    run = suite_run.run(tmp_path / "run", ("knowledge",), limit=4)
    content = manifest.read(run)
    content["plan"]["instruments"] = ["trustmh/knowledge@0.9#000000000000"]
    manifest.write(run, content)
    card = written(tmp_path / "out", run)
    assert card.record.validity.state == "expired"
    assert any("is not the one that this version has" in text for text in card.entry("identity").computed)


def test_the_suite_s_card_is_valid(suite_card: CardFiles) -> None:
    assert suite_card.record.validity.state == "valid"
    assert f"Valid until {suite_card.record.validity.expires}" in suite_card.html
