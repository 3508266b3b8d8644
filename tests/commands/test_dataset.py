"""`dataset build` and `dataset release`: every row ends in one of two tables, in any order the same, and goes out only where it may."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mindgauge
from mindgauge import benchmarks
from mindgauge.benchmarks import own_texts
from mindgauge.records.errors import DataError, MindgaugeError, UsageError
from tests.in_process import mindgauge as mindgauge_command
from tests.thinned import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

WORDS = ["night", "work", "mother", "sleep", "friend", "alone", "school", "money", "talk", "week", "door", "rain", "walk", "house", "phone", "letter", "garden", "bread"]  # fmt: skip
SOURCES = """
[[source]]
name = "forum"
files = "forum.csv"
licence = "CC-BY-4.0"
columns = {text = "post", group = "author", label = "risk"}

[[source]]
name = "talks"
files = "talks.jsonl"
licence = "MIT"
holds = "dialogues"
"""
STEPS = """
[[step]]
do = "person"
[[step]]
do = "length"
least = 12
[[step]]
do = "language"
keep = ["en"]
[[step]]
do = "junk"
[[step]]
do = "links"
[[step]]
do = "scrub"
[[step]]
do = "exact"
[[step]]
do = "near"
[[step]]
do = "sample"
number = {forum = 20}
[[step]]
do = "split"
parts = {train = 0.5, test = 0.5}
"""
HEAD = 'name = "distress"\nlicence = "CC-BY-4.0"\nseed = 3\n'


def text(seed: int, words: int = 30) -> str:
    generator = random.Random(seed)
    return "I feel low and " + " ".join(generator.choice(WORDS) for _ in range(words))


def posts() -> list[tuple[str, str, str]]:
    rows = [(text(n), f"author {n % 15}", str(n % 3)) for n in range(45)]
    rows += [(f"{text(0)} now", "author 50", "0"), (text(1).upper(), "author 51", "1"), ("short", "author 52", "1")]
    rows += [("[deleted by user]", "author 53", "1"), (f"{text(90)} http://one.example", "author 54", "1")]
    return [
        *rows,
        (f"{text(91)} jo@mail.example", "author 55", "2"),
        ("我很难过，我不知道怎么办，谁都不懂我。", "author 56", "2"),
    ]


def dialogues() -> list[dict[str, Any]]:
    return [
        {"id": f"d{n}", "messages": [{"role": "user", "content": text(100 + n)}, {"role": "assistant", "content": "Go on."}]}
        for n in range(12)
    ]  # fmt: skip


def write(
    folder: Path, recipe: str = HEAD + SOURCES + STEPS, rows: Sequence[Any] = (), talks: Sequence[Any] = ()
) -> Path:
    folder.mkdir(exist_ok=True)
    pl.DataFrame([*(rows or posts())], ["post", "author", "risk"], orient="row").write_csv(folder / "forum.csv")
    lines = [json.dumps(dialogue, ensure_ascii=False) for dialogue in talks or dialogues()]
    (folder / "talks.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = folder / "recipe.toml"
    path.write_text(recipe, encoding="utf-8")
    return path


def tables(folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    return pl.read_parquet(folder / "items.parquet"), pl.read_parquet(folder / "dropped.parquet")


def digests(folder: Path) -> list[str]:
    return [hashlib.sha256((folder / f"{name}.parquet").read_bytes()).hexdigest() for name in ("items", "dropped")]


@pytest.fixture
def built(tmp_path: Path) -> Path:
    mindgauge.dataset_build(write(tmp_path / "data"), out=tmp_path / "out")
    return tmp_path / "out"


def test_every_row_is_an_item_or_dropped_with_a_reason(tmp_path: Path) -> None:
    result = mindgauge.dataset_build(write(tmp_path), out=tmp_path / "out")
    items, dropped = tables(tmp_path / "out")
    assert result.rows == len(posts()) + len(dialogues()) == items.height + dropped.height
    assert dropped["reason"].null_count() == 0
    counts = dict(dropped.group_by("reason").len().rows())
    assert counts == {
        "fewer than 12 characters": 1, "language zh": 1, "a placeholder such as [deleted]": 1, "links": 1, "the same text": 1,
        "nearly the same text": 1, "not drawn": 26,
    }  # fmt: skip
    assert items.filter(pl.col("source") == "forum")["weight"].sum() == pytest.approx(46)
    assert items.filter(pl.col("source") == "talks").select("weight", "licence").unique().rows() == [(1.0, "MIT")]
    assert set(dropped["of"].drop_nulls()) <= {*items["id"], *dropped["id"]}
    assert "jo@mail.example" not in {*items["text"], *dropped["text"]}
    assert not items["text"].str.contains("Go on").any()
    assert items["messages"].null_count() == items.height


def test_the_command_prints_the_counts(tmp_path: Path) -> None:
    said = mindgauge_command("dataset", "build", write(tmp_path), "--out", tmp_path / "out")
    assert said.returncode == 0
    assert "64 rows from 2 sources, 32 items and 32 dropped" in " ".join(said.stdout.split())
    as_json = json.loads(mindgauge_command("dataset", "build", tmp_path / "recipe.toml", "--out", tmp_path / "out", "--json").stdout)  # fmt: skip
    assert as_json["items"] + as_json["dropped"] == as_json["rows"] == 64
    record = json.loads((tmp_path / "out" / "dataset.json").read_text(encoding="utf-8"))
    assert sum(step["dropped"] for step in record["steps"]) == 32
    assert (
        record["sources"][0]["files"]["forum.csv"] == hashlib.sha256((tmp_path / "forum.csv").read_bytes()).hexdigest()
    )


@examples(12)
@given(st.randoms(use_true_random=False))
def test_in_another_order_the_tables_are_equal_to_the_byte(
    tmp_path_factory: pytest.TempPathFactory, generator: random.Random
) -> None:
    folder = tmp_path_factory.mktemp("order")
    rows, talks = posts(), dialogues()
    generator.shuffle(rows)
    generator.shuffle(talks)
    sources = ["[[source]]" + part for part in SOURCES.split("[[source]]")[1:]]
    generator.shuffle(sources)
    mindgauge.dataset_build(write(folder / "a"), out=folder / "usual")
    mindgauge.dataset_build(write(folder / "b", HEAD + "\n".join(sources) + STEPS, rows, talks), out=folder / "other")
    assert digests(folder / "usual") == digests(folder / "other")


def test_another_seed_draws_and_splits_otherwise(tmp_path: Path) -> None:
    mindgauge.dataset_build(write(tmp_path), out=tmp_path / "one")
    mindgauge.dataset_build(
        write(tmp_path, (HEAD + SOURCES + STEPS).replace("seed = 3", "seed = 4")), out=tmp_path / "other"
    )
    assert digests(tmp_path / "one") != digests(tmp_path / "other")


def test_dialogues_are_cut_behind_the_last_turn_of_the_person(tmp_path: Path) -> None:
    recipe = HEAD + SOURCES + '[[step]]\ndo = "cut"\n'
    silent = {"id": "silent", "messages": [{"role": "assistant", "content": "Hello?"}, {"role": "user", "content": ""}]}
    result = mindgauge.dataset_build(write(tmp_path, recipe, talks=[*dialogues(), silent]), out=tmp_path / "out")
    items, _ = tables(tmp_path / "out")
    cut = items.filter(pl.col("source") == "talks")
    assert {roles[-1]["role"] for roles in cut["messages"].to_list()} == {"user"}
    assert not cut["text"].str.contains("Go on").any()
    assert result.rows == result.items + result.dropped


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "xlsx", "tsv"])
def test_tables_of_any_kind_give_the_same_items(tmp_path: Path, ending: str) -> None:
    frame = pl.DataFrame({"text": [text(n) for n in range(5)], "id": [f"n{n}" for n in range(5)]})
    path = tmp_path / f"posts.{ending}"
    match ending:
        case "csv":
            frame.write_csv(path)
        case "tsv":
            frame.write_csv(path, separator="\t")
        case "jsonl":
            frame.write_ndjson(path)
        case "parquet":
            frame.write_parquet(path)
        case _:
            frame.write_excel(path)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(f'name = "n"\n[[source]]\nname = "s"\nfiles = "{path.name}"\nlicence = "MIT"\n', encoding="utf-8")
    mindgauge.dataset_build(recipe, out=tmp_path / "out")
    items, _ = tables(tmp_path / "out")
    assert sorted(items.select("origin", "text").rows()) == sorted(frame.select("id", "text").rows())


def test_texts_stand_in_lines_or_files_or_lists(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("one text\nanother text\n", encoding="utf-8")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("a whole\nfile", encoding="utf-8")
    (tmp_path / "lists.csv").write_text("text\n\"['first', 'second']\"\n", encoding="utf-8")
    sources = [("lines", "lines.txt", 'holds = "lines"'), ("files", "notes", 'holds = "documents"'), ("lists", "lists.csv", "joined = true")]  # fmt: skip
    stated = "".join(f'[[source]]\nname = "{name}"\nfiles = "{file}"\nlicence = "MIT"\n{more}\n' for name, file, more in sources)  # fmt: skip
    (tmp_path / "recipe.toml").write_text(f'name = "n"\n{stated}[[step]]\ndo = "junk"\n', encoding="utf-8")
    mindgauge.dataset_build(tmp_path / "recipe.toml", out=tmp_path / "out")
    items, dropped = tables(tmp_path / "out")
    assert set(items["text"]) == {"one text", "another text", "a whole\nfile", "first\nsecond"}
    assert dropped["reason"].to_list() == ["empty"]


@pytest.mark.parametrize(
    ("line", "other", "words"),
    [
        ('do = "junk"', 'do = "jnk"', "step 4: do = 'jnk' is no step; steps are person, cut, length"),
        ("least = 12", "leest = 12", "step 2 (length): leest is no key here (is it least?); allowed are least, most, unit"),
        ("least = 12", 'least = "12"', "step 2 (length): least = '12': expected a whole number"),
        ("least = 12", "least = -1", "step 2 (length): least = -1: expected a whole number >= 0"),
        ("least = 12", 'unit = "lines"', "step 2 (length): unit = 'lines': allowed are characters, words"),
        ("least = 12", "least = 5\nmost = 3", "step 2 (length): most = 3 is below least = 5"),
        ('keep = ["en"]', "", "step 3 (language): keep is missing"),
        ("test = 0.5", "test = 0.4", "step 10 (split): parts add up to 0.9; they must add up to 1"),
        ("{forum = 20}", "{form = 20}", "step 9 (sample): number: form is no key here (is it forum?)"),
        ('licence = "MIT"', "", "source 2: licence is missing; it needs name, files and licence"),
        ('name = "talks"', 'name = "forum"', "each source has a name of its own"),
        ('holds = "dialogues"', 'holds = "chats"', "source 2: holds = 'chats': allowed are posts, dialogues, lines, documents"),
        ("seed = 3", "sead = 3", "sead is no key here (is it seed?); allowed are name, about, licence, seed, source, step"),
        ("seed = 3", "seed = ", "not TOML"),
        ('text = "post"', 'txt = "post"', "columns: txt is no key here (is it text?)"),
        ('text = "post"', 'text = "pst"', "forum.csv: no column 'pst' for text"),
        ('"forum.csv"', '"other.csv"', "other.csv: no such file"),
    ],
)  # fmt: skip
def test_a_bad_recipe_is_refused_in_one_line(tmp_path: Path, line: str, other: str, words: str) -> None:
    recipe = HEAD + SOURCES + STEPS
    assert line in recipe
    said = mindgauge_command(
        "dataset", "build", write(tmp_path, recipe.replace(line, other, 1)), "--out", tmp_path / "out"
    )
    assert said.returncode == 2
    assert words in said.stderr
    assert said.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_what_somebody_changed_is_neither_replaced_nor_released(built: Path, tmp_path: Path) -> None:
    items, _ = tables(built)
    items.head(3).write_parquet(built / "items.parquet")
    with pytest.raises(UsageError, match="choose another --out"):
        mindgauge.dataset_build(tmp_path / "data" / "recipe.toml", out=built)
    with pytest.raises(DataError, match=r"items\.parquet is not as it was written"):
        mindgauge.dataset_release(built, to="hub", out=tmp_path / "hub")


def test_a_release_has_card_datasheet_and_checksums(built: Path, tmp_path: Path) -> None:
    out = tmp_path / "hub"
    result = mindgauge.dataset_release(built, to="hub", out=out)
    items, _ = tables(built)
    released = pl.concat([pl.read_parquet(out / "data" / f"{split}.parquet") for split in ("train", "test")])
    assert released.sort("id").equals(items.drop("origin").sort("id"))
    card, sheet = (out / "README.md").read_text(encoding="utf-8"), (out / "DATASHEET.md").read_text(encoding="utf-8")
    assert "license: cc-by-4.0\n" in card
    assert "| forum | CC-BY-4.0 | yes, by its licence | 52 | 20 |" in card
    assert "agreement is not measured" in sheet
    assert "| 8 near | 59 | 1 | nearly the same text: 1 |" in sheet
    for file in result.files:
        content = (out / file.file).read_bytes()
        assert hashlib.sha256(content).hexdigest() == file.sha256
        assert not file.file.endswith(".parquet") or f"`{file.sha256}`" in card
    said = mindgauge_command("dataset", "release", built, "--to", "folder", "--out", tmp_path / "folder")
    assert said.returncode == 0
    assert pl.read_csv(tmp_path / "folder" / "items.csv").height == items.height
    assert {path.name for path in (tmp_path / "folder").iterdir()} == {"README.md", "DATASHEET.md", "items.csv", "items.parquet", "checksums"}  # fmt: skip


def test_the_hub_reads_the_release(built: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    mindgauge.dataset_release(built, to="hub", out=tmp_path / "hub")
    loaded = datasets.load_dataset(str(tmp_path / "hub"), cache_dir=str(tmp_path / "cache"))
    assert {split: len(rows) for split, rows in loaded.items()} == {"train": 16, "test": 16}


def test_what_a_source_says_stands_as_text_in_card_and_table(tmp_path: Path) -> None:
    recipe = (HEAD + SOURCES).replace('name = "talks"', 'name = "<b>|x"')
    mindgauge.dataset_build(write(tmp_path, recipe, [("=1+2 and so on, my friend", "a", "0")]), out=tmp_path / "out")
    mindgauge.dataset_release(tmp_path / "out", to="folder", out=tmp_path / "folder")
    assert r"\<b\>\|x" in (tmp_path / "folder" / "README.md").read_text(encoding="utf-8")
    assert "'=1+2" in (tmp_path / "folder" / "items.csv").read_text(encoding="utf-8-sig")


@pytest.mark.parametrize(
    ("line", "other", "words"),
    [
        ('licence = "MIT"', 'licence = "see the site"', "the source talks: whether see the site allows it is not known"),
        ('licence = "MIT"', 'licence = "MIT"\nredistribute = false', "the source talks: the recipe says redistribute = false"),
        ('licence = "MIT"', 'licence = "CC-BY-SA-4.0"', "asks for the same licence"),
    ],
)  # fmt: skip
def test_a_source_that_forbids_it_is_not_released(tmp_path: Path, line: str, other: str, words: str) -> None:
    mindgauge.dataset_build(write(tmp_path, (HEAD + SOURCES + STEPS).replace(line, other)), out=tmp_path / "out")
    said = mindgauge_command("dataset", "release", tmp_path / "out", "--to", "hub", "--out", tmp_path / "hub")
    assert (said.returncode, said.stderr.count("\n")) == (1, 1)
    assert words in said.stderr
    assert not (tmp_path / "hub").exists()


def test_errors_of_the_audit_keep_a_data_set_here(tmp_path: Path) -> None:
    garbled = [(f"I donâ€™t know {text(n)}", f"a{n}", "0") for n in range(4)]
    mindgauge.dataset_build(write(tmp_path, HEAD + SOURCES, [*posts(), *garbled]), out=tmp_path / "out")
    with pytest.raises(MindgaugeError, match=r"not released: the audit finds 1 error, first .*mojibake"):
        mindgauge.dataset_release(tmp_path / "out", to="hub", out=tmp_path / "hub")


def test_a_release_needs_a_licence_a_form_and_a_data_set(tmp_path: Path) -> None:
    mindgauge.dataset_build(write(tmp_path, 'name = "n"\n' + SOURCES), out=tmp_path / "out")
    with pytest.raises(UsageError, match="under which licence"):
        mindgauge.dataset_release(tmp_path / "out", to="hub", out=tmp_path / "hub")
    with pytest.raises(UsageError, match="write hub or folder"):
        mindgauge.dataset_release(tmp_path / "out", to="csv", out=tmp_path / "hub")
    with pytest.raises(UsageError, match="no data set here"):
        mindgauge.dataset_release(tmp_path, to="hub", out=tmp_path / "hub")
    mindgauge.dataset_release(tmp_path / "out", to="hub", out=tmp_path / "hub", licence="cc by 4.0")
    assert (tmp_path / "hub" / "data" / "all.parquet").is_file()


def test_the_page_runs_as_it_stands(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "tasks" / "build_dataset.md").read_text(encoding="utf-8")
    (tmp_path / "posts.csv").write_text(page.partition("```text\n")[2].partition("```")[0], encoding="utf-8")
    (tmp_path / "recipe.toml").write_text(page.partition("```toml\n")[2].partition("```")[0], encoding="utf-8")
    result = mindgauge.dataset_build(tmp_path / "recipe.toml", out=tmp_path / "nights")
    assert (result.rows, result.items, result.splits) == (7, 4, {"train": 3, "test": 1})
    items, dropped = tables(tmp_path / "nights")
    reasons = ["a placeholder such as [deleted]", "fewer than 10 characters", "nearly the same text"]
    assert sorted(dropped["reason"]) == reasons
    named = {name for name in (*items.columns, *dropped.columns) if f"`{name}`" not in page}
    assert named == set()
    mindgauge.dataset_release(tmp_path / "nights", to="hub", out=tmp_path / "hub")


def test_a_benchmark_asks_about_the_items_wherever_they_lie(tmp_path: Path) -> None:
    (tmp_path / "posts.csv").write_text(
        "author,post\nann,I do not want to be alone tonight.\nann,We walked by the river.\n"
    )
    turns = [{"role": "user", "content": "Are you there?"}, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "I cannot sleep."}]  # fmt: skip
    (tmp_path / "talks.jsonl").write_text(json.dumps({"messages": turns}) + "\n")
    (tmp_path / "recipe.toml").write_text(
        'name = "nights"\nlicence = "CC-BY-4.0"\n[[source]]\nname = "posts"\nfiles = "posts.csv"\nlicence = "CC-BY-4.0"\n'
        'columns = {text = "post", group = "author"}\n[[source]]\nname = "talks"\nfiles = "talks.jsonl"\nlicence = "MIT"\n'
        'holds = "dialogues"\n[[step]]\ndo = "length"\nleast = 20\n[[step]]\ndo = "split"\nparts = {train = 0.5, test = 0.5}\n'
    )
    mindgauge.dataset_build(tmp_path / "recipe.toml", out=tmp_path / "nights")
    for to in ("hub", "folder"):
        mindgauge.dataset_release(tmp_path / "nights", to=to, out=tmp_path / to)
    crisis = benchmarks.find_one("help_or_harm/crisis_type")
    for place in ("nights", "nights/items.parquet", "hub", "folder"):
        taken = own_texts.take(crisis, tmp_path / place)
        said = {tuple(turn.content for turn in sample.messages): sample.cluster for sample in taken.samples}
        assert {*said} == {
            ("I do not want to be alone tonight.",),
            ("We walked by the river.",),
            ("Are you there?", "Yes.", "I cannot sleep."),
        }, place
        alone, river, talk = (said[key] for key in sorted(said, key=lambda key: (len(key), key)))
        assert alone == river != talk
