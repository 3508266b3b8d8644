"""Faults of texts and labels, each planted in clean material: what to plant, and what must be found."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from tests.analysis.audit.clean import INPUTS, REPLIES, change_text, usual, usual_labels, with_texts

if TYPE_CHECKING:
    from mindgauge.benchmarks.released import Material


class Plant(NamedTuple):
    """A material before and after a fault was planted; how often it occurs, and places that must be named (none: any will do)."""

    before: Material
    after: Material
    times: int
    where: tuple[str, ...] = ()


def _texts(material: Material, file: str = INPUTS) -> list[str]:
    return material.texts.filter(pl.col("file") == file)["text"].to_list()


def _copy(material: Material, file: str, texts: list[str], kind: str = "input") -> Material:
    """Add a second file that repeats the inputs."""
    rows = [{"file": file, "row": i, "kind": kind, "id": f"c{i}", "text": text} for i, text in enumerate(texts)]
    return with_texts(material, *rows)


def ids_not_keys() -> Plant:
    material = usual()
    rows = (pl.col("file") == INPUTS) & pl.col("row").is_in([7, 8, 9])
    texts = material.texts.with_columns(id=pl.when(rows).then(pl.lit("c7")).otherwise("id"))
    return Plant(material, material._replace(texts=texts), 1, (f"{INPUTS}:7", f"{INPUTS}:8", f"{INPUTS}:9"))


def rows_misaligned() -> Plant:
    material = usual()
    texts = _texts(material)
    shifted = [*texts[:50], *texts[51:60], texts[50], *texts[60:]]  # nine rows up, one down
    before = _copy(material, "again.csv", texts)
    return Plant(before, _copy(material, "again.csv", shifted), 10, ("again.csv:50", "again.csv:59"))


def texts_changed() -> Plant:
    material = usual()
    texts = _texts(material)
    edited = [*texts[:20], texts[20].removesuffix(".") + ", and so on.", *texts[21:]]
    return Plant(_copy(material, "again.csv", texts), _copy(material, "again.csv", edited), 1, ("again.csv:20",))


def records_overwritten() -> Plant:
    material = usual()
    texts = _texts(material)
    over = list(texts)
    over[3] = over[90] = '{"evaluation": 4, "explanation": "nothing of the kind"}'
    return Plant(
        _copy(material, "again.csv", texts), _copy(material, "again.csv", over), 2, ("again.csv:3", "again.csv:90")
    )


def blanks_differ() -> Plant:
    material = usual()
    texts = _texts(material)
    blank = [*texts[:5], texts[5] + "\n", *texts[6:]]
    return Plant(
        _copy(material, "again.csv", texts), _copy(material, "again.csv", blank), 1, ("again.csv:5", f"{INPUTS}:5")
    )


def duplicate_texts() -> Plant:
    material = usual()
    texts = _texts(material)
    after = change_text(change_text(material, INPUTS, 30, texts[4]), INPUTS, 31, f" {texts[4]}\n")
    return Plant(material, after, 2, (f"{INPUTS}:30", f"{INPUTS}:31"))


def repeated_inputs() -> Plant:
    material = usual()
    rows = [{"file": "pairs.csv", "row": i, "kind": "input", "text": t} for i, t in enumerate(_texts(material)[:60])]
    rows += [
        {"file": "pairs.csv", "row": i, "kind": "instruction", "text": t} for i, t in enumerate(_texts(material)[60:])
    ]
    pairs = with_texts(material._replace(texts=material.texts.clear()), *rows)
    after = change_text(pairs, "pairs.csv", 9, "")
    kept = (pl.col("row") == 9) & (pl.col("kind") == "input")
    again = pl.when(kept).then(pl.lit(rows[2]["text"])).otherwise("text")
    return Plant(pairs, after._replace(texts=pairs.texts.with_columns(text=again)), 1, ("pairs.csv:2", "pairs.csv:9"))


def _splits(material: Material) -> Material:
    split = pl.when(pl.col("row") < 80).then(pl.lit("train")).otherwise(pl.lit("test"))
    return material._replace(texts=material.texts.filter(pl.col("kind") == "input").with_columns(split=split))


def duplicates_across_splits() -> Plant:
    material = _splits(usual())
    texts = _texts(material)
    after = change_text(change_text(material, INPUTS, 100, texts[1]), INPUTS, 110, texts[2])
    return Plant(material, after, 2, (f"{INPUTS}:100", f"{INPUTS}:110"))


def shared_passages() -> Plant:
    material = usual()
    texts = _texts(material)
    said = "[seeker] I have been thinking about the garden and the letter from my sister all this week"
    after = material
    for row in (10, 20, 30):
        after = change_text(after, INPUTS, row, f"[seeker] {texts[row]}[supporter] I see.{said}")
    for row in (40, 41):
        after = change_text(
            after,
            INPUTS,
            row,
            f"[seeker] {texts[row]}[supporter] And then?[seeker] 我今天早上和妹妹在花园里谈了很久的话",
        )
    places = tuple(f"{INPUTS}:{row}" for row in (10, 20, 30, 40, 41))
    return Plant(material, after, 5, places)


def source_listed_twice() -> Plant:
    material = usual_labels()
    twin = pl.when(pl.col("row") % 9 == 0).then(pl.lit("Sourc 0")).otherwise("source")
    return Plant(material, material._replace(texts=material.texts.with_columns(source=twin)), 1)


def cut_texts() -> Plant:
    material = usual()
    longer = [
        {"file": "long.csv", "row": i, "kind": "input", "text": " ".join(_texts(material)[i : i + 9])}
        for i in range(60)
    ]
    before = with_texts(material._replace(texts=material.texts.clear()), *longer)
    cut = before.texts.with_columns(text=pl.col("text").str.slice(0, 900))
    long = [i for i, row in enumerate(longer) if len(str(row["text"])) > 900]
    return Plant(
        before,
        before._replace(texts=cut),
        len([i for i, t in enumerate(cut["text"]) if len(t) == 900]),
        tuple(f"long.csv:{i}" for i in long[:5]),
    )


def replacement_characters() -> Plant:
    material = usual()
    return Plant(
        material, change_text(material, INPUTS, 12, "It is not\ufffd easy to say today."), 1, (f"{INPUTS}:12",)
    )


def mojibake() -> Plant:
    material = usual()
    garbled = ("I don’t sleep.", "Mein Bruder grüßt mich.", "My sister’s letter came.")
    codecs = ("cp1252", "latin-1", "gb18030")
    after = material
    for row, (text, codec) in enumerate(zip(garbled, codecs, strict=True), 60):
        after = change_text(after, INPUTS, row, text.encode().decode(codec))
    return Plant(material, after, 3, tuple(f"{INPUTS}:{row}" for row in (60, 61, 62)))


def lost_characters() -> Plant:
    material = usual()
    return Plant(material, change_text(material, INPUTS, 77, "I don?t know why it?s so."), 1, (f"{INPUTS}:77",))


def literal_escapes() -> Plant:
    material = usual()
    after = change_text(material, INPUTS, 5, "First line.\\nSecond line.")
    return Plant(material, change_text(after, REPLIES, 6, "Salt &amp; water."), 2, (f"{INPUTS}:5", f"{REPLIES}:6"))


def control_characters() -> Plant:
    material = usual()
    after = change_text(material, INPUTS, 5, "A bell\x07 rang.")
    return Plant(material, change_text(after, INPUTS, 6, "It be\ufeffgan here."), 2, (f"{INPUTS}:5", f"{INPUTS}:6"))


def spreadsheet_damage() -> Plant:
    material = usual()
    after = change_text(change_text(material, REPLIES, 8, "#NAME?"), REPLIES, 9, "C+B12+A7")
    return Plant(material, change_text(after, REPLIES, 10, "5"), 3, tuple(f"{REPLIES}:{row}" for row in (8, 9, 10)))


def never_gold() -> Plant:
    material = usual_labels()
    label = pl.col("label").replace("D", "A")
    return Plant(material, material._replace(texts=material.texts.with_columns(label=label)), 1)


def rare_labels() -> Plant:
    material = usual_labels()
    rare = pl.when((pl.col("label") == "D") & (pl.col("row") > 20)).then(pl.lit("A")).otherwise("label")
    return Plant(material, material._replace(texts=material.texts.with_columns(label=rare)), 1)


def conflicting_labels() -> Plant:
    material = usual_labels()
    labels = material.texts["label"].to_list()
    other = next(i for i in range(10, 240) if labels[i] != labels[3])
    return Plant(
        material, change_text(material, INPUTS, other, _texts(material)[3]), 1, (f"{INPUTS}:3", f"{INPUTS}:{other}")
    )


def sorted_by_label() -> Plant:
    material = usual_labels()
    ordered = material.texts.sort("label", maintain_order=True).with_columns(row=pl.int_range(240))
    return Plant(material, material._replace(texts=ordered), 240)


def sorted_by_text() -> Plant:
    material = usual_labels()
    ordered = material.texts.sort("text").with_columns(row=pl.int_range(240))
    return Plant(material, material._replace(texts=ordered), 240)


PLANTS = {
    plant.__name__: plant
    for plant in (
        ids_not_keys, rows_misaligned, texts_changed, records_overwritten, blanks_differ, duplicate_texts,
        repeated_inputs, duplicates_across_splits, shared_passages, source_listed_twice, cut_texts,
        replacement_characters, mojibake, lost_characters, literal_escapes, control_characters, spreadsheet_damage,
        never_gold, rare_labels, conflicting_labels, sorted_by_label, sorted_by_text,
    )
}  # fmt: skip
