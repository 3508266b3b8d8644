"""`report`: one page about one or several runs, for people, machines and pull requests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.commands.command import command
from mindgauge.commands.status import unasked
from mindgauge.reports import page
from mindgauge.reports.evaluation_card import facts as owner_facts
from mindgauge.reports.evaluation_card.facts import OwnerFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.reports.page import ReportFiles


@command(doing="Writing the report")
def report(
    runs: str | Path | Sequence[str | Path],
    *,
    out: str | Path | None = None,
    show_unreliable: bool = False,
    show_texts: bool = False,
    reader: bool = False,
    language: str = "en",
    card: bool | str | Path = False,
    card_facts: str | Path | None = None,
) -> ReportFiles:
    """Write the report of runs: one HTML file that needs no network.

    Args:
        card_facts: Write the card with what only the owner knows, from this TOML file (docs/report.md).
        runs: Run directories; several stand side by side.
        out: Where to put it; the first run's directory if not given.
        show_unreliable: Show, marked, the scores of judges that agree too little with people.
        show_texts: Show the restricted texts of the authors' files, which stand by their ids otherwise.
        reader: Also write every reply, to search and filter, as a folder beside the page.
        language: Of the page and the summary: en or zh (Chinese).
        card: Also write the evaluation card: one page for governance, beside the report. In Python also the file of
            --card-facts.

    Raises:
        UsageError: there is no run in a folder, no report in this language, or the owner's file cannot be used.
        DataError: a run's ratings cannot be compared.
        MindgaugeError: the report cannot be written.
    """
    folders = [Path(runs)] if isinstance(runs, str | Path) else [Path(run) for run in runs]
    facts = None
    card = card_facts or card
    if card is not False:
        facts = OwnerFacts() if card is True else owner_facts.read(Path(card))
    return page.write(
        folders,
        None if out is None else Path(out),
        show_unreliable=show_unreliable,
        show_texts=show_texts,
        reader=reader,
        language=language,
        card=facts,
        unfinished={folder: unasked(folder) for folder in folders},
    )
