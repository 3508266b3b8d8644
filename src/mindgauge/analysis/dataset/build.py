"""From sources through the steps of a recipe to items and to what was dropped: every row ends in one of the two."""

from __future__ import annotations

import hashlib
from collections import Counter
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import polars as pl

from mindgauge.analysis.audit import texts as audited
from mindgauge.analysis.dataset import duplicates
from mindgauge.analysis.dataset.checked import LabelRecord
from mindgauge.analysis.dataset.duplicates import COLUMNS, StepResult, chained, nothing_dropped, parted, plain
from mindgauge.analysis.dataset.recipe import (
    Exact,
    Junk,
    LanguageFilter,
    LastTurn,
    Lengths,
    LinkLimit,
    Near,
    PersonSide,
    Sampling,
    Scrub,
    Splitting,
    read_source,
    spdx,
    written_out,
)  # fmt: skip
from mindgauge.benchmarks import own_columns
from mindgauge.records import Message, digest, languages
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.redaction.personal import MAY_HOLD, Scrubber
from mindgauge.records.rounding import plural
from mindgauge.records.shell import command_line
from mindgauge.records.transcripts import Transcript
from mindgauge.stats.codes import components
from mindgauge.stats.sampling import draw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import TypeAlias

    from mindgauge.analysis.dataset.recipe import DatasetRecipe, Step

    _Kind: TypeAlias = tuple[str | None, ...]
    "Items that are counted together: all, those of a label or of a source, or of both."

ITEMS = ("id", "text", "messages", "source", "licence", "language", "label", "cluster", "group", "split", "weight", "copies", "origin")  # fmt: skip
"""Columns of the items, in their order."""
DROPPED = ("id", "text", "source", "origin", "step", "reason", "of")
"""Columns of what was dropped: `of` is the id of the text that stands for a duplicate."""


class StepAccount(msgspec.Struct, frozen=True):
    """What a step did: how many rows came, how many it dropped, and for which reasons."""

    step: str
    rows: int
    dropped: int
    reasons: dict[str, int]


class SourceAccount(msgspec.Struct, frozen=True):
    """What is known of a source: its rows, its items, its terms, its files by SHA-256."""

    name: str
    licence: str
    redistribute: bool | None
    rows: int
    items: int
    files: dict[str, str]


class BuiltDataset(NamedTuple):
    """The two tables, and the account of how they came to be."""

    items: pl.DataFrame
    dropped: pl.DataFrame
    steps: list[StepAccount]
    sources: list[SourceAccount]
    scrubbed: dict[str, int]
    notes: list[str]


def build(recipe: DatasetRecipe, base: Path) -> BuiltDataset:
    """Build a data set.

    Args:
        recipe: what it is made of.
        base: the folder below which its files lie.

    Raises:
        UsageError, DataError: a source cannot be read as the recipe says.
    """
    read = {source.name: read_source(source, base) for source in recipe.sources}
    frame = duplicates.numbered(pl.concat([rows for rows, *_ in read.values()], how="diagonal_relaxed"))
    counts = Counter[str]()
    steps, dropped = [], []
    for number, step in enumerate(recipe.steps, 1):
        result = _APPLIED[type(step)](frame, step, recipe.seed, counts)
        name = f"{number} {step.__struct_config__.tag}"
        reasons = dict(result.dropped.group_by("reason").len().sort("reason").rows())
        steps.append(StepAccount(name, frame.height, result.dropped.height, reasons))
        dropped.append(result.dropped.select("row", "source", "origin", "text", "reason", "of", step=pl.lit(name)))
        if result.items.height + result.dropped.height != frame.height:
            raise AssertionError(f"{name}: rows were lost")
        frame = result.items
    final, drops = _identified(frame, pl.concat(dropped) if dropped else _none_dropped())
    licences = {source.name: spdx(source.licence) for source in recipe.sources}
    final = final.with_columns(licence=pl.col("source").replace(licences)).select(ITEMS)
    accounts = [
        SourceAccount(
            source.name, licences[source.name], source.redistribute, read[source.name][0].height,
            final.filter(pl.col("source") == source.name).height, read[source.name][1],
        )
        for source in recipe.sources
    ]  # fmt: skip
    notes = [f"{name}: {note}" for name, (*_, remarks) in read.items() for note in remarks]
    return BuiltDataset(final, drops, steps, accounts, dict(counts), notes)


_APPLIED: dict[type[Step], Callable[[pl.DataFrame, Any, int, Counter[str]], StepResult]] = {
    PersonSide: lambda frame, *_: person_side(frame),
    LastTurn: lambda frame, *_: last_turn(frame),
    Lengths: lambda frame, step, *_: lengths(frame, step),
    LanguageFilter: lambda frame, step, *_: in_languages(frame, step),
    Junk: lambda frame, step, *_: junk(frame, step),
    LinkLimit: lambda frame, step, *_: links(frame, step),
    Scrub: lambda frame, step, _, counts: scrubbed_rows(frame, step, counts),
    Exact: lambda frame, *_: duplicates.exact(frame),
    Near: lambda frame, step, seed, _: duplicates.near(frame, step.threshold, seed, drop=step.drop),
    Sampling: lambda frame, step, seed, _: sampled(frame, step, seed),
    Splitting: lambda frame, step, seed, _: split(frame, step, seed),
}
"""What each kind of step does to the items, with the recipe's seed; personal data are counted."""


def _none_dropped() -> pl.DataFrame:
    schema = {name: duplicates.COLUMNS[name] for name in ("row", "source", "origin", "text")}
    return pl.DataFrame(schema={**schema, "reason": pl.String, "of": pl.UInt32, "step": pl.String})


def _identified(frame: pl.DataFrame, dropped: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Give each text the hash of its content as its id, and put ids in the place of row numbers."""
    frame, dropped = (rows.with_columns(id=ids_of(rows["text"])) for rows in (frame, dropped))
    ids = pl.concat([frame.select("row", "id"), dropped.select("row", "id")])
    if "together" not in frame.columns:
        own = pl.when(pl.col("group").is_null()).then("row")
        frame = frame.with_columns(together=own.otherwise(pl.col("row").min().over("source", "group")))
    final = frame.with_columns(
        cluster=_named(frame["cluster"].fill_null(frame["row"]), ids, "cluster"),
        group=_named(frame["together"], ids, "group"),
        language=language(),
        weight=1 / pl.col("probability"),
    )
    drops = dropped.with_columns(of=_named(dropped["of"], ids, "of"))
    return (
        final.sort("id", "source", "origin", "row", nulls_last=True).rechunk(),
        drops.sort("source", "origin", "id", "row", nulls_last=True).select(DROPPED).rechunk(),
    )


def ids_of(texts: pl.Series) -> pl.Series:
    """Return the ids of items: the hashes of their texts."""
    return pl.Series("id", [digest("item", text) for text in texts.to_list()], pl.String)


def _named(rows: pl.Series, ids: pl.DataFrame, name: str) -> pl.Series:
    return rows.to_frame("row").join(ids, on="row", how="left", maintain_order="left")["id"].alias(name)


_PLACEHOLDERS = r"(?i)^\W*(?:deleted|removed|deleted by user|removed by moderator|nan|none|null|n/?a)\W*$"
_LINK = r"(?i)https?://|\bwww\."
_LONG_ENOUGH = 20
"""Words of a text that may repeat itself."""
_OWN_SCRIPT = 0.5
"""Share of a text's letters that are Latin, from which it is in a language written so."""
OTHER = "other"


def person_side(items: pl.DataFrame) -> StepResult:
    """Keep the person's words alone; a dialogue becomes one text."""
    words = pl.col("messages").list.eval(
        pl.when(pl.element().struct.field("role") == "user").then(pl.element().struct.field("content")).drop_nulls()
    )
    spoken = pl.when(pl.col("messages").is_not_null()).then(words.list.join("\n\n")).otherwise(pl.col("text"))
    rows = items.with_columns(text=spoken, messages=pl.lit(None, COLUMNS["messages"]))
    silent = items["messages"].is_not_null() & (rows["text"].fill_null("").str.strip_chars() == "")
    return parted(rows, pl.when(silent).then(pl.lit("the person says nothing")))


def last_turn(items: pl.DataFrame) -> StepResult:
    """Cut dialogues behind the person's last message."""
    dialogues = items.filter(pl.col("messages").is_not_null()).select("row", "messages")
    if not dialogues.height:
        return nothing_dropped(items)
    texts: dict[int, str | None] = {}
    spoken_of: dict[int, list[dict[str, Any]]] = {}
    for row, messages in dialogues.iter_rows():
        last = max((place for place, message in enumerate(messages) if message["role"] == "user"), default=-1)
        spoken_of[row] = messages[: last + 1]
        texts[row] = written_out(Message(m["role"], m["content"]) for m in spoken_of[row]) or None
    return parted(
        _rewritten(items, texts, spoken_of),
        pl.when(pl.col("messages").list.len() == 0).then(pl.lit("the person says nothing")),
    )


def _rewritten(
    items: pl.DataFrame, texts: dict[int, str | None], messages: dict[int, list[dict[str, Any]]]
) -> pl.DataFrame:
    """Put other texts, and other messages, in the place of those of some rows."""
    rows = [*texts]
    changed = pl.DataFrame(
        {"row": rows, "new_text": [texts[row] for row in rows], "new_messages": [messages.get(row) for row in rows]},
        {"row": COLUMNS["row"], "new_text": pl.String, "new_messages": COLUMNS["messages"]},
    )
    return (
        items.join(changed, on="row", how="left", maintain_order="left")
        .with_columns(text=pl.coalesce("new_text", "text"), messages=pl.coalesce("new_messages", "messages"))
        .drop("new_text", "new_messages")
    )


def lengths(items: pl.DataFrame, step: Lengths) -> StepResult:
    """Drop what is shorter or longer."""
    text = pl.col("text").str.strip_chars()
    size = text.str.len_chars() if step.unit == "characters" else text.str.count_matches(r"\S+")
    long = size > step.most if step.most is not None else pl.lit(value=False)
    return parted(
        items,
        pl.when(size < step.least)
        .then(pl.lit(f"fewer than {step.least} {step.unit}"))
        .when(long)
        .then(pl.lit(f"more than {step.most} {step.unit}")),
    )


def language() -> pl.Expr:
    """Say in which language a text is: as a column or its source says, else as its letters show."""
    characters = pl.col("text").str.len_chars()
    letters = pl.col("text").str.count_matches(r"\p{L}")
    latin = pl.col("text").str.count_matches(r"\p{Latin}")
    by_letters = (
        pl.when(pl.col("text").str.count_matches(languages.HAN.pattern) * 10 >= characters.clip(1))
        .then(pl.lit("zh"))
        .when(latin >= letters * _OWN_SCRIPT)
        .then(pl.lit("en"))
        .otherwise(pl.lit(OTHER))
    )
    return pl.coalesce(pl.col("language"), by_letters)


def in_languages(items: pl.DataFrame, step: LanguageFilter) -> StepResult:
    """Drop what is in none of the languages, and note of the rest in which it is."""
    rows = items.with_columns(language=language())
    keep = [languages.named(tag) for tag in step.keep]
    return parted(
        rows, pl.when(~pl.col("language").is_in(keep)).then(pl.concat_str(pl.lit("language "), pl.col("language")))
    )


def junk(items: pl.DataFrame, step: Junk) -> StepResult:
    """Drop what is no text."""
    text = pl.col("text").str.strip_chars()
    solid = text.str.count_matches(r"\S")
    words = text.str.to_lowercase().str.extract_all(r"\S+")
    repeated = (words.list.len() >= _LONG_ENOUGH) & (words.list.n_unique() < step.distinct * words.list.len())
    suspects = items.filter(pl.col("text").str.contains(audited.SUSPECT)).select("row", "text")
    garbled = [row for row, words in suspects.iter_rows() if audited.garbled(words)]
    return parted(
        items,
        pl.when(text == "").then(pl.lit("empty"))
        .when(pl.col("row").is_in(garbled)).then(pl.lit("characters of another encoding"))
        .when(text.str.contains(_PLACEHOLDERS)).then(pl.lit("a placeholder such as [deleted]"))
        .when(text.str.count_matches(r"\p{L}") < step.letters * solid).then(pl.lit("hardly any letters"))
        .when(repeated).then(pl.lit("the same few words again and again")),
    )  # fmt: skip


def links(items: pl.DataFrame, step: LinkLimit) -> StepResult:
    """Drop what holds more links."""
    number = pl.col("text").str.count_matches(_LINK)
    return parted(
        items, pl.when(number > step.most).then(pl.lit(f"more than {step.most} links" if step.most else "links"))
    )


def scrubbed_rows(items: pl.DataFrame, step: Scrub, counts: Counter[str]) -> StepResult:
    """Replace personal data, and count by kind what was replaced."""
    scrubber = Scrubber(step.names)
    suspect = pl.lit(value=True) if scrubber.introduced else pl.col("text").str.contains(MAY_HOLD)
    texts: dict[int, str | None] = {}
    spoken_of: dict[int, list[dict[str, Any]]] = {}
    for row, text, messages in items.filter(suspect | pl.col("messages").is_not_null()).select("row", "text", "messages").iter_rows():  # fmt: skip
        spoken = [Message(m["role"], m["content"]) for m in messages] if messages else [Message("user", text)]
        clean = scrubber.scrub(Transcript(str(row), tuple(spoken), "")).messages
        if messages:
            texts[row] = written_out(clean)
            spoken_of[row] = [{"role": message.role, "content": message.content} for message in clean]
        elif clean[0].content != text:
            texts[row] = clean[0].content
    counts.update(scrubber.counts)
    return nothing_dropped(_rewritten(items, texts, spoken_of) if texts else items)


_ALL: _Kind = ("all",)
NEGLIGIBLE = 1e-9
"""Items: by less, a part lacks nothing but rounding."""


def sampled(items: pl.DataFrame, step: Sampling, seed: int) -> StepResult:
    """Draw so many items of each stratum, and note with which probability."""
    stratum = pl.lit("all") if step.by == "all" else pl.col(step.by).fill_null("")
    rows = items.with_columns(stratum=stratum)
    strata = rows.group_by("stratum").agg("row").sort("stratum")
    names, members = strata["stratum"].to_list(), strata["row"].to_list()
    sizes = [len(listed) for listed in members]
    numbers = [
        size if (number := _number(step, name)) is None else min(number, size)
        for name, size in zip(names, sizes, strict=True)
    ]
    drawn = {
        member: number / size
        for listed, number, size, places in zip(members, numbers, sizes, draw(sizes, numbers, seed), strict=True)
        for member in _at(sorted(listed), places.tolist())
    }
    chosen = pl.DataFrame({"row": [*drawn], "share": [*drawn.values()]}, {"row": pl.UInt32, "share": pl.Float64})
    shares = items.join(chosen, on="row", how="left", maintain_order="left")
    result = parted(shares, pl.when(pl.col("share").is_null()).then(pl.lit("not drawn")))
    chosen_items = result.items.with_columns(probability=pl.col("probability") * pl.col("share")).drop("share")
    return StepResult(chosen_items, result.dropped.drop("share"))


def _at(members: Sequence[int], places: Sequence[int]) -> list[int]:
    return [members[place] for place in places]


def _number(step: Sampling, name: str) -> int | None:
    return step.number if isinstance(step.number, int) else step.number.get(name)


def split(items: pl.DataFrame, step: Splitting, seed: int) -> StepResult:
    """Share items among parts: what shares a group of its source, a cluster, a text or a long passage goes to one part.

    `together` is the first row of those with which an item stays. Every label is shared in the same way, the rarest first,
    and within it every source. Of a label, what holds most of it comes first, then the largest, the others in random order.
    Its part is drawn among those that still lack as much of the label, with chances in proportion to what they lack; where
    none does, among those that lack any. So no part is off its share of a label by as much as one holds of it, where each
    holds a single label; the rarest label wherever.
    """
    roots = components(items.height, chain.from_iterable(_links(items, passages=step.passages)))
    keys = ["label", "source"]
    members = items.select("row", *keys).with_columns(place=pl.Series(roots))
    firsts = dict(members.group_by("place").agg(pl.col("row").min()).iter_rows())
    sizes_of: dict[int, dict[_Kind, int]] = {place: {} for place in firsts}
    counts = dict.fromkeys([_ALL], items.height)
    for place, label, source, size in members.group_by("place", *keys).len().sort("place", *keys).iter_rows():
        for kind in (_ALL, ("label", label), ("source", source), ("both", label, source)):
            sizes_of[place][kind] = sizes_of[place].get(kind, 0) + size
            counts[kind] = counts.get(kind, 0) + size * (kind != _ALL)
    lots = {place: hashlib.blake2b(f"{seed} {row}".encode()).digest() for place, row in firsts.items()}
    lacking = {kind: {part: share * size for part, share in step.parts.items()} for kind, size in counts.items()}
    parts: dict[int, str] = {}
    rarest = {
        place: min((counts[kind], str(kind), kind) for kind in kinds if kind[0] == "label")
        for place, kinds in sizes_of.items()
    }
    for place in sorted(
        sizes_of,
        key=lambda place: (rarest[place][:2], -sizes_of[place][rarest[place][2]], -sizes_of[place][_ALL], lots[place]),
    ):
        parts[place] = _part(sizes_of[place], lacking, rarest[place][2], step.parts, lots[place])
        for kind, size in sizes_of[place].items():
            lacking[kind][parts[place]] -= size
    named = pl.Series("split", [parts[root] for root in roots.tolist()], pl.String)
    groups = pl.Series("together", items["row"].to_numpy()[roots], pl.UInt32)
    return nothing_dropped(items.with_columns(named, groups))


def _part(
    sizes: Mapping[_Kind, int], lacking: Mapping[_Kind, Mapping[str, float]], label: _Kind, shares: Mapping[str, float],
    lot: bytes,
) -> str:  # fmt: skip
    """Draw the part for what stays together: of those with room for it, by what each lacks of its label and source."""
    of_source = [kind for kind in sizes if kind[:2] == ("both", label[1])]
    sources = ((("source", kind[2]), kind) for kind in of_source)
    candidates = [*shares]
    for kind, member in [(label, label), (_ALL, label), *zip(of_source, of_source, strict=True), *sources]:
        others = sum(lacking[kind].values()) - sum(
            lacking[member].values()
        )  # later labels give a part its share of them
        lack = {part: lacking[kind][part] - shares[part] * others for part in candidates}
        room = [part for part in candidates if lack[part] > sizes[member] - NEGLIGIBLE]
        candidates = room or [part for part in candidates if lack[part] > NEGLIGIBLE] or candidates
    weights = [
        sum(sizes[kind] * max(lacking[kind][part], 0.0) for kind in of_source) or shares[part] for part in candidates
    ]
    point = int.from_bytes(lot[-8:]) / 2**64 * sum(weights)  # the order of equal sizes goes by the first bytes
    hits = (part for part, end in zip(candidates, accumulate(weights), strict=True) if point < end)
    return next(hits, candidates[-1])


def _links(items: pl.DataFrame, *, passages: bool) -> Iterator[Iterator[tuple[int, int]]]:
    """Yield pairs of places of items that stay together, by one reason after the other."""
    rows = items.with_row_index("item").with_columns(whole=plain())
    for keys in (["source", "group"], ["cluster"], ["whole"]):
        named = rows.filter(pl.all_horizontal(pl.col(keys).is_not_null()))
        yield chained(named.group_by(keys).agg("item").filter(pl.col("item").list.len() > 1)["item"].to_list())
    if passages:
        candidates = rows.select("item", "whole", raw="text")
        yield iter(audited.groups(audited.tied_items(candidates)).items())


ITEMS_FILE, DROPPED_FILE, RECORD, RECIPE = own_columns.ITEMS, "dropped.parquet", own_columns.RECORD, "recipe.toml"
"""The files of a built data set; by two of them whoever reads texts knows one."""
SAMPLE = "sample.csv"
"""Beside them, where models wrote the items: what people look at, drawn by lot."""

_KINDS = {**COLUMNS, **dict.fromkeys(("id", "licence", "cluster"), pl.String()), "weight": pl.Float64()}
_OPEN = {"messages", "label", "split", "origin"}
"""Columns that may be empty."""


class TransformAccount(msgspec.Struct, frozen=True):
    """What was made of the items of another data set, and by whom; nobody, where by rule alone."""

    forms: list[str]
    made_from: str
    """The SHA-256 of those items."""
    model: str = ""
    checker: str = ""
    run: str = ""


class DatasetRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a data set is made of, and what became of each row: `rows` came, of which `items` are kept."""

    name: str
    about: str
    licence: str
    seed: int
    software: str
    rows: int
    items: int
    dropped: int
    splits: dict[str, int]
    sources: list[SourceAccount]
    steps: list[StepAccount]
    scrubbed: dict[str, int]
    notes: list[str]
    transforms: list[TransformAccount] = []
    """One after the other; then `rows` counts what the last one made, or tried to."""
    labels: LabelRecord | None = None
    """Once there are labels of a panel and of people."""


def read_items(folder: Path) -> pl.DataFrame:
    """Read the items of a built data set.

    Raises:
        DataError: they are not as `dataset build` writes them.
    """
    path = folder / ITEMS_FILE
    try:
        table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{path}: cannot read the items ({str(error).partition(chr(10))[0]})") from error
    if fault := next(_faults(table), ""):
        raise DataError(f"{path}: not as dataset build writes it ({fault}); build it again")
    return table


def _faults(table: pl.DataFrame) -> Iterator[str]:
    """Yield what items are not: typed columns, filled but for `_OPEN`, and texts whose hashes are their ids."""
    for name in ITEMS:
        kind = _KINDS[name]
        if table.schema.get(name) != kind:
            yield f"no column {name} of {kind}"
        elif name not in _OPEN and table[name].null_count():
            yield f"{name} is empty in {plural(table[name].null_count(), 'row')}"
    changed = int((ids_of(table["text"]) != table["id"]).sum())
    if changed:
        yield f"{plural(changed, 'id')} of other texts"


def read_record(folder: Path) -> DatasetRecord:
    """Read the record of a built data set.

    Raises:
        UsageError: there is none.
        DataError: it is not as `dataset build` writes it.
    """
    path = folder / RECORD
    try:
        return msgspec.json.decode(path.read_bytes(), type=DatasetRecord)
    except OSError as error:
        raise UsageError(f"{folder}: no data set here ({RECORD} is missing); make one with {command_line('dataset', 'build', 'RECIPE.toml', '--out', folder)}") from error  # fmt: skip
    except msgspec.MsgspecError as error:
        raise DataError(f"{path}: not as dataset build writes it ({error})") from error
