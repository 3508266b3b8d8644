"""`report`: one page about one or several runs, for people, machines and pull requests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.commands.status import unasked
from mindgauge.reports import evaluation_card, page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.reports.page import ReportFiles


def report(
    runs: str | Path | Sequence[str | Path],
    *,
    out: str | Path | None = None,
    show_unreliable: bool = False,
    show_texts: bool = False,
    reader: bool = False,
    language: str = "en",
    card: bool | str | Path = False,
) -> ReportFiles:
    """Write `report.html`, `report.json` and `report.md`; several runs stand side by side in one report.

    Args:
        runs: the run directories.
        out: the page (`….html`) or the folder to write to; if not given, the run's own folder, or the folder that all
            of several runs lie in.
        show_unreliable: show, marked, the scores of judges that agree too little with people; the verdict stands in
            their place if not.
        show_texts: show texts that a benchmark's authors released under restrictions, too; they are told by their ids
            if not. Our own samples and your own replies are always shown.
        reader: write the reader beside the page, too: every reply, searched and filtered, as a folder of pages
            (`report_reader/index.html`) that needs no network.
        language: of the page and the summary: `en` or `zh`.
        card: write the evaluation card beside the page, too: one page for governance (`card.html`, `card.json`,
            `card.md`); or the TOML file with what only the system's owner knows, which the card then states.

    Raises:
        UsageError: there is no run in a folder, no report in this language, or the owner's file cannot be used.
        DataError: a run's ratings cannot be compared.
        MindgaugeError: the report cannot be written.
    """
    folders = [Path(runs)] if isinstance(runs, str | Path) else [Path(run) for run in runs]
    facts = None
    if card is not False:
        facts = evaluation_card.OwnerFacts() if card is True else evaluation_card.read(Path(card))
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
