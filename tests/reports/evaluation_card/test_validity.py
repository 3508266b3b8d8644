"""How long a card holds: by the answers' age, never longer for being written anew, and not past a change."""

from __future__ import annotations

import datetime
import time
from typing import TYPE_CHECKING

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.models.scripted import Scripted
from mindgauge.records import Exchange, Status
from mindgauge.reports.evaluation_card.validity import LASTS, AnswerDates, validity
from mindgauge.store import manifest
from tests.reports import suite_run
from tests.reports.conftest import OPEN
from tests.reports.evaluation_card.conftest import CardFiles, written

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.request import Request

DAY = datetime.date(2026, 3, 1)
END = DAY + datetime.timedelta(days=LASTS)
KNOWN = [
    AnswerDates("a", DAY, DAY + datetime.timedelta(days=40)),
    AnswerDates("b", DAY + datetime.timedelta(days=9), None),
]


@pytest.mark.parametrize(
    ("today", "state"), [(DAY, "valid"), (END, "valid"), (END + datetime.timedelta(days=1), "expired")]
)
def test_it_ends_by_the_oldest_answer(today: datetime.date, state: str) -> None:
    holds = validity(KNOWN, [], None, today)
    assert (holds.state, holds.expires) == (state, END.isoformat())


def test_an_owner_may_shorten_it_and_not_prolong_it() -> None:
    sooner, later = END - datetime.timedelta(days=3), END + datetime.timedelta(days=3)
    assert validity(KNOWN, [], sooner, DAY).expires == sooner.isoformat()
    held = validity(KNOWN, [], later, DAY)
    assert held.expires == END.isoformat()
    assert str(later) in held.because
    assert "does not count" in held.because


def test_one_system_without_a_date_leaves_it_open_unless_the_owner_sets_a_day() -> None:
    answers = [*KNOWN, AnswerDates("old", None, None)]
    held = validity(answers, [], None, DAY)
    assert (held.state, held.expires) == ("undated", "")
    assert "when old answered is not recorded" in held.because
    assert validity(answers, [], END, DAY).expires == END.isoformat()
    assert validity([], [], None, DAY).state == "undated"


def test_an_instrument_that_has_changed_ends_it() -> None:
    held = validity(KNOWN, ["Response"], END, DAY)
    assert held.state == "expired"
    assert "Response" in held.because


def test_a_card_of_old_answers_is_shown_as_expired(tmp_path: Path) -> None:
    long_ago = time.time() - (LASTS + 2) * 86_400

    def answer(request: Request) -> Exchange:
        said = "I hear you, and I am glad that you wrote."
        at = long_ago if request.messages[0].content == first else time.time()
        return Exchange(Status.OK, said, "stop", model_resolved="acme/old-0301", cost=0.0, at=at)

    run = tmp_path / "run"
    first = benchmarks.find_one(OPEN).samples(None)[0].messages[0].content
    mindgauge.run(OPEN, model=Scripted("acme/old", answer), judge="rule/refusal", limit=4, out=run)
    card = written(tmp_path / "then", run)
    day = datetime.datetime.now(datetime.UTC).date() - datetime.timedelta(days=2)
    assert (card.record.validity.state, card.record.validity.expires) == ("expired", day.isoformat())
    assert f'<span class="state expired">Expired on {day}</span>' in card.html
    assert card.rows("systems")[0]["build"] == "acme/old-0301"
    assert (
        card.rows("systems")[0]["answered"]
        == f"{day - datetime.timedelta(days=LASTS)} to {datetime.datetime.now(datetime.UTC).date()}"
    )
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
