"""Cards of planted runs."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from mindgauge.commands.report import report
from tests.made_once import made_once
from tests.reports.reader.conftest import attacked

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.reports.page import ReportFiles


class CardFiles(NamedTuple):
    """A card as it was written, beside the report that it is of."""

    run: Path
    page: Path

    @property
    def html(self) -> str:
        return self.page.read_text(encoding="utf-8")

    @property
    def markdown(self) -> str:
        return self.page.with_suffix(".md").read_text(encoding="utf-8")

    @property
    def record(self) -> Any:
        text = self.page.with_suffix(".json").read_text(encoding="utf-8")
        return json.loads(text, object_hook=lambda fields: SimpleNamespace(**fields))

    def entry(self, name: str) -> Any:
        return next(entry for entry in self.record.entries if entry.name == name)

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of an entry's table, by its headings."""
        (sheet,) = self.entry(name).tables
        return [dict(zip([column.name for column in sheet.columns], row, strict=True)) for row in sheet.rows]

    @property
    def report(self) -> Path:
        return self.page.with_name(self.record.report)


def written(out: Path, *runs: Path, **options: Any) -> CardFiles:
    files = report(list(runs), out=out, **({"card": True} | options))
    assert files.card is not None
    return CardFiles(runs[0], files.card)


def beside(files: ReportFiles) -> CardFiles:
    """Return the card of a report that lies in its run's folder."""
    assert files.card is not None
    return CardFiles(files.path.parent, files.card)


@pytest.fixture(scope="session")
def planted_card(run: Path, tmp_path_factory: pytest.TempPathFactory) -> CardFiles:
    """Of a closed and an open benchmark that a judge alone rated, with the reader beside it."""
    return made_once(tmp_path_factory, "card-planted", lambda folder: written(folder, run, reader=True))


@pytest.fixture(scope="session")
def crisis_card(crisis_files: ReportFiles) -> CardFiles:
    """Of harms that rule a reply out, found by people and judges."""
    return beside(crisis_files)


@pytest.fixture(scope="session")
def rated_card(rated_files: ReportFiles) -> CardFiles:
    """Of people and three judges, two of whom agree too little with them."""
    return beside(rated_files)


@pytest.fixture(scope="session")
def suite_card(suite_files: ReportFiles) -> CardFiles:
    """Of nine tasks of a suite that scripted models answered, so that calls have their time."""
    return beside(suite_files)


@pytest.fixture(scope="session")
def hostile_card(tmp_path_factory: pytest.TempPathFactory) -> CardFiles:
    """Of a run in which everything that is not ours is written to break a page, and an owner who writes so, too."""

    def make(folder: Path) -> CardFiles:
        facts = folder / "facts.toml"
        facts.write_text(
            "owner = '''</p><script>window.ran = 1</script>\u202eowner'''\n"
            "intended_use = ['<img src=http://evil.example/a.png onerror=alert(1)>', '[press](javascript:alert(2))']\n"
            "incidents = '=cmd|calc @everyone #1'\n",
            encoding="utf-8",
        )
        return written(folder, attacked(folder / "run"), card=facts, reader=True)

    return made_once(tmp_path_factory, "card-hostile", make)
