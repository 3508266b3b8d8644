"""`report`: one page about one or several runs, for people, machines and pull requests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from mindgauge.analysis.score import open_run
from mindgauge.benchmarks.restricted import open_samples
from mindgauge.commands.command import CommandOption, command
from mindgauge.commands.status import unasked
from mindgauge.records import Message, Value
from mindgauge.records.command_result import Tabular
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.reports import evaluation_card, page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
        card_facts: Write the card with what only the owner knows, from this TOML file (docs/tasks/write_an_evaluation_card.md).
        runs: Run directories; the report shows several side by side.
        out: Where to put it; the first run's directory if not given.
        show_unreliable: Show, marked, the scores of judges that agree too little with people.
        show_texts: Show the restricted texts of the authors' files, which stand by their ids otherwise.
        reader: Also write every reply, to search and filter, as a folder next to the page.
        language: Of the page and the summary: en or zh (Chinese).
        card: Also write the evaluation card: one page for governance, next to the report. In Python also the file of
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


_PREFIX = "reply-"
_LEAST = 4
"""Digits that an id has at least, so that it is not any."""
_FOUND = "SELECT benchmark, id FROM replies WHERE id LIKE ? || '%' ORDER BY benchmark, id"


class ReplyRating(msgspec.Struct, frozen=True):
    """What one rater said of a reply."""

    criterion: str
    rater: str
    repeat: int
    status: str
    level: Value | None
    rationale: str


class ShownReply(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """A reply with what it answers and how it was rated. Texts are None where they are restricted, or the run keeps none."""

    benchmark: str
    reply: str
    sample: str
    model: str
    run: int
    status: str
    messages: list[Message] | None
    text: str | None
    ratings: list[ReplyRating]

    def lines(self) -> Iterator[str]:
        """Say all of it, line by line, as it was written."""
        yield f"{_PREFIX}{self.reply[:8]} of {self.model}, time {self.run + 1} ({self.benchmark}, reply {self.reply}, message {self.sample})"
        if self.messages is None or self.text is None:
            yield "its texts are restricted, or not kept in this run (--show-texts shows restricted ones)"
        else:
            for message in self.messages:
                yield from ("", f"{message.role}:", *message.content.splitlines())
            yield from ("", f"{self.model} (the reply, {self.status}):", *self.text.splitlines())
        yield ""
        for rating in self.ratings:
            level = rating.status if rating.level is None else rating.level
            reason = f": {' '.join(rating.rationale.split())}" if rating.rationale and self.text is not None else ""
            repeat = f", time {rating.repeat + 1}" if rating.repeat else ""
            yield f"{rating.criterion} {level}, by {rating.rater}{repeat}{reason}"

    def summary(self) -> Iterator[str]:
        """Say whose it is and how it was rated."""
        yield next(self.lines())
        yield from (f"{r.criterion} {r.status if r.level is None else r.level}, by {r.rater}" for r in self.ratings)

    def _listed(self) -> Sequence[ReplyRating]:
        return self.ratings


@command()
def reply(
    run: str | Path, ident: Annotated[str, CommandOption(flag="--show", metavar="ID")], *, show_texts: bool = False
) -> ShownReply:
    """Print one reply of a run by its id.

    Args:
        run: The run directory.
        ident: Print one reply instead, by its id as the gate and the report write it: reply-1a2b3c4d.
        show_texts: Show the restricted texts of the authors' files, which stand by their ids otherwise.

    Raises:
        UsageError: there is no run, no such reply, or several.
    """
    wanted = ident.strip().removeprefix(_PREFIX).rstrip("…").lower()
    if len(wanted) < _LEAST or not all(digit in "0123456789abcdef" for digit in wanted):
        raise UsageError(f"{ident}: a reply is called by its id, or the first digits of it: reply-1a2b3c4d")
    store, members, manifest = open_run(Path(run))
    with store:
        benchmarks = {benchmark.name: benchmark for benchmark in members}
        matches = [(name, match) for name, match in store.select(_FOUND, (wanted,)) if name in benchmarks]
        if len(matches) != 1:
            ambiguous = f"several replies begin so: {named([match for _, match in matches], limit=5)}"
            raise UsageError(f"{run}: {ambiguous if matches else f'no reply is called {ident}'}")
        name, full = matches[0]
        answer = store.reply(name, full)
        assert answer is not None
        open_idents = None if show_texts else open_samples(benchmarks[name], manifest)
        shows = manifest.get("plan", {}).get("text", True) and (open_idents is None or answer.sample in open_idents)
        ratings = [
            ReplyRating(r.criterion, r.rater, r.run, r.status.value, r.value, r.rationale if shows else "")
            for r in store.ratings_of(name, [full])[full]
        ]
        return ShownReply(
            benchmark=name, reply=full, sample=answer.sample, model=answer.model, run=answer.run, status=answer.status.value,
            messages=list(answer.answered(store.sample(name, answer.sample)).messages) if shows else None,
            text=answer.text if shows else None, ratings=ratings,
        )  # fmt: skip
