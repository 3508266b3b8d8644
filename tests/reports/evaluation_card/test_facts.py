"""What the owner states stands on the card, marked as stated; a bad file is refused in one line."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mindgauge.reports.evaluation_card import LONGEST, OwnerFacts
from tests.in_process import mindgauge
from tests.reports.evaluation_card.conftest import CardFiles, written

DOCUMENT = Path(__file__).parents[3] / "docs" / "tasks" / "write_an_evaluation_card.md"
FACTS = DOCUMENT.read_text(encoding="utf-8").partition("```toml\n")[2].partition("```")[0]
"""The example of the document."""
OF_ENTRY = {
    "intended_use": 1, "not_intended_use": 2, "populations": 1, "raters": 1, "limits": 1, "incidents": 2, "licences": 1,
}  # fmt: skip


def test_the_document_shows_all_that_may_be_stated() -> None:
    assert list(tomllib.loads(FACTS)) == list(OwnerFacts.__struct_fields__)
    assert f"at most {LONGEST} characters" in DOCUMENT.read_text(encoding="utf-8")


@pytest.mark.long
def test_what_the_owner_states_is_marked_and_closes_what_was_open(rated: Path, tmp_path: Path) -> None:
    path = tmp_path / "facts.toml"
    path.write_text(FACTS, encoding="utf-8")
    card = written(tmp_path / "out", rated, card=path)
    assert {entry.name: len(entry.stated) for entry in card.record.entries if entry.stated} == OF_ENTRY
    assert all(not card.entry(name).open for name in ("intended_use", "not_intended_use", "raters"))
    assert card.html.count("(stated by the owner, not measured)") == sum(OF_ENTRY.values())
    assert "Owner: Digital Care, Example Clinic." in card.html
    assert card.record.validity.expires == "2026-12-24"
    assert card.entry("incidents").computed, "what was found stays beside what is stated"


def test_without_it_who_owns_the_system_is_open(rated_card: CardFiles) -> None:
    assert "Who owns this system is not recorded." in rated_card.html
    assert not any(entry.stated for entry in rated_card.record.entries)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("purpose = 'x'", "unknown field `purpose`"),
        ("owner = 3", "Expected `str`, got `int`"),
        ("incidents = [1]", "Expected `str`"),
        ("expires = 'soon'", "Invalid"),
        ("expires = 2026-12-24T10:00:00", "expires is a day"),
        ("owner = ", "not TOML"),
        (f"limits = '{'x' * (LONGEST + 1)}'", f"more than {LONGEST} characters"),
        (None, "cannot read it"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(run: Path, tmp_path: Path, content: str | None, said: str) -> None:
    path = tmp_path / "facts.toml"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    done = mindgauge("report", run, "--card-facts", path, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.strip().count("\n") == 0
    assert not (tmp_path / "out").exists()


def test_the_command_says_where_the_card_lies(run: Path, tmp_path: Path) -> None:
    done = mindgauge("report", run, "--card", "--out", tmp_path / "out")
    assert (done.returncode, done.stdout.split()) == (
        0,
        [str(tmp_path / "out/report.html"), str(tmp_path / "out/card.html")],
    )
    alone = mindgauge("report", run, "--out", tmp_path / "alone")
    assert alone.returncode == 0
    assert not list((tmp_path / "alone").glob("card.*"))
