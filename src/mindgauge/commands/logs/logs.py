"""`logs`: look at logs without a word of them, draw a sample that speaks for all, and write it without personal data."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from mindgauge.commands.command import CommandOption, Count, FromZero, command
from mindgauge.commands.logs import sample as sampling
from mindgauge.commands.logs.sample import LogStratum
from mindgauge.records import transcripts
from mindgauge.records.command_result import Tabular, noted
from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds, private
from mindgauge.records.redaction.personal import Scrubber
from mindgauge.records.rounding import count, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.records.transcripts.transcript import Transcript

ENDING = ".jsonl"
_SHOWN = 6


class LogSummary(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """What is in logs, without a word of it. `out` is where the dialogues were written, `scrubbed` what was replaced in them."""

    dialogues: int
    turns: int
    people: int
    """Of whom they are, as far as the logs say it; 0 where they do not."""
    models: dict[str, int]
    months: dict[str, int]
    languages: dict[str, int]
    risk: dict[str, int]
    strata: list[LogStratum]
    scrubbed: dict[str, int]
    introductions: int
    """Names by which people introduce themselves in what was written, and that were kept."""
    read: list[str]
    """How the logs were read, and what was left out."""
    out: str

    def summary(self) -> Iterator[str]:
        """Say what there is, what was drawn, and what was replaced."""
        people = f" of {plural(self.people, 'person', 'people')}" if self.people else ""
        yield f"{plural(self.dialogues, 'dialogue')}{people}, {plural(self.turns, 'turn')}"
        for name, counts in (("models", self.models), ("months", self.months), ("languages", self.languages), ("risk, by words alone", self.risk)):  # fmt: skip
            if counts:
                yield f"{name}: {_counted(counts)}"
        if self.out:
            drawn = sum(stratum.drawn for stratum in self.strata)
            yield f"{self.out}: {count(drawn)} of {count(self.dialogues)} dialogues{self._strata()}"
            yield (
                f"replaced: {_counted(self.scrubbed)}"
                if self.scrubbed
                else "nothing was replaced: no rule found personal data"
            )
            if self.introductions:
                yield f"{plural(self.introductions, 'introduction')} (my name is …) kept as {'it is' if self.introductions == 1 else 'they are'}: --names FILE takes them out, and the names that FILE lists, which may be none"
        yield from noted(self.read, 4)

    def _strata(self) -> str:
        """Say how many were drawn of each, where they were told apart."""
        parts = [f"{s.stratum}: {count(s.drawn)} of {count(s.dialogues)}" for s in self.strata[:_SHOWN]]
        rest = [f"and {len(self.strata) - _SHOWN} more groups"] * (len(self.strata) > _SHOWN)
        return f" ({'; '.join([*parts, *rest])})" if len(self.strata) > 1 else ""

    def _listed(self) -> Sequence[LogStratum]:
        return self.strata


def _counted(counts: Mapping[str, int]) -> str:
    shown = [f"{name} {count(number)}" for name, number in [*counts.items()][:_SHOWN]]
    rest = len(counts) - len(shown)
    return ", ".join([*shown, *([f"and {rest} more"] if rest > 0 else [])])


@command()
def logs_show(files: str | Path | Sequence[str | Path], *, columns: Mapping[str, str] | None = None) -> LogSummary:
    """Say what is in logs, without a word of it.

    Args:
        files: Logs or transcripts: files, folders, zips.
        columns: our name → the file's name of a column.

    Raises:
        DataError: nothing can be read.
    """
    return logs_sample(files, columns=columns)


@command()
def logs_sample(
    files: str | Path | Sequence[str | Path],
    *,
    out: str | Path | None = None,
    sample: Count | None = None,
    by: Sequence[str] = (),
    seed: FromZero = 0,
    names: str | Path | None = None,
    scrub: Annotated[bool, CommandOption(flag="--keep-personal")] = True,
    text: bool = True,
    columns: Mapping[str, str] | None = None,
) -> LogSummary:
    """Draw a sample that represents all dialogues, without personal data, for `rate --dialogues`.

    Nothing that is returned or printed holds a word of what was said. What is written is without personal data as far as
    rules find it (`mindgauge.records.redaction.personal`), and with numbers in place of people's ids.

    Args:
        files: Logs or transcripts: files, folders, zips.
        out: Write dialogues here, one a line: sample.jsonl.
        sample: Draw this many at random, each written with its probability; all, if not given.
        by: As many of each model, month, language, length or risk, or of each value of a tag. May be repeated.
        seed: Seed of the draw.
        names: Replace these names, too, one a line, and those by which people introduce themselves.
        scrub: Write addresses, numbers, accounts and ids as they are; in Python `scrub=False`.
        text: Write what is known of dialogues, and nothing that was said; in Python `text=False`.
        columns: our name → the file's name of a column.

    Raises:
        UsageError: `out` is no `.jsonl` or one of the files, or dialogues cannot be told apart as asked.
        DataError: nothing can be read.
    """
    sources = [Path(files)] if isinstance(files, str | Path) else [Path(file) for file in files]
    path = None if out is None else Path(out)
    if path is not None and path.suffix.lower() != ENDING:
        raise UsageError(f"--out {path}: write a file that ends in {ENDING}")
    if path is not None and any(source.resolve() in (path.resolve(), *path.resolve().parents) for source in sources):
        raise UsageError(f"--out {path}: that file is among the logs; name another place")
    if path is None and sample is not None:
        raise UsageError("--sample draws dialogues to be written: name the file with --out sample.jsonl")
    if sample is not None and sample < 1:
        raise UsageError("--sample must be at least 1")
    found = transcripts.read(sources, columns)
    listed, read = found.transcripts, [] if found.account.plain else found.account.lines()
    drawn, strata = sampling.sampled(listed, sample if sample is not None else len(listed), by, seed)
    scrubber = Scrubber(_names(names)) if scrub else None
    if path is not None:
        if sample is None:
            drawn = [msgspec.structs.replace(transcript, drawn=None) for transcript in drawn]
        _write(path, drawn, listed, scrubber, text=text)
    return LogSummary(
        dialogues=len(listed), turns=sum(m.role == "user" for t in listed for m in t.messages),
        people=len({t.cluster for t in listed if t.cluster}), models=_counts(listed, "model"), months=_counts(listed, "month"),
        languages=_counts(listed, "language"), risk=_counts(listed, "risk"), strata=strata,
        scrubbed=dict(scrubber.counts) if scrubber is not None else {},
        introductions=scrubber.introductions if scrubber is not None and text else 0, read=read, out=str(path) if path is not None else "",
    )  # fmt: skip


def _names(path: str | Path | None) -> list[str] | None:
    if path is None:
        return None
    try:
        return bounds.content(Path(path), bounds.SETTINGS).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--names {path}: cannot read it ({getattr(error, 'strerror', None) or error}); a name a line, in UTF-8") from error  # fmt: skip


def _counts(listed: Sequence[Transcript], name: str) -> dict[str, int]:
    counts = Counter(sampling.stratum(transcript, (name,)) for transcript in listed)
    return {} if {*counts} == {f"no {name}"} else dict(counts.most_common())


def _write(
    path: Path, chosen: Sequence[Transcript], frame: Sequence[Transcript], scrubber: Scrubber | None, *, text: bool
) -> None:
    """Write dialogues, people by numbers in the order of the frame, and so dialogues whose ids are personal data."""
    numbers = {cluster: f"person {number}" for number, cluster in enumerate(dict.fromkeys(t.cluster for t in frame if t.cluster), 1)}  # fmt: skip
    idents = {ident: f"dialogue {number}" for number, ident in enumerate(dict.fromkeys(t.id for t in frame), 1)}
    with private.written(path) as file:
        for transcript in chosen:
            risk = sampling.stratum(transcript, ("risk",))
            clean = scrubber.scrub(transcript) if scrubber is not None else transcript
            if scrubber is not None:
                tags = {name: value for name, value in clean.tags.items() if name != "participant"}
                ident = idents[clean.id] if scrubber.finds(clean.id) else clean.id
                clean = msgspec.structs.replace(clean, id=ident, cluster=numbers.get(clean.cluster, ""), tags=tags)
            row = transcripts.as_row(clean)
            row["tag.risk"] = risk
            if not text:
                row["turns"] = sum(message.role == "user" for message in clean.messages)
                del row["messages"]
            file.write(msgspec.json.encode(row) + b"\n")
