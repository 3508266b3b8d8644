"""Released files are found wherever they lie: in folders, behind links, in zips at any depth. Nothing else changes."""

from __future__ import annotations

import itertools
import shutil
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge import benchmarks
from mindgauge.benchmarks.dialogue_safety.inputs import LABELS
from mindgauge.records.errors import DataError
from mindgauge.records.files import folder as files
from tests.benchmarks.dialogue_safety.conftest import ENCODER, ITEMS, RUNS, SEEDS, guess, row
from tests.benchmarks.dialogue_safety.conftest import Copy as Dialogues
from tests.benchmarks.help_or_harm.conftest import Copy as Crises
from tests.benchmarks.help_or_harm.conftest import _write as write_crises
from tests.benchmarks.mentalbench import conftest as mentalbench
from tests.benchmarks.trustmh import small_set
from tests.thinned import sampled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def dialogue_safety(folder: Path) -> None:
    copy = Dialogues(folder)
    copy.write("test.json", [row(item) for item in range(ITEMS)])
    for run, name in enumerate(RUNS):
        for item in range(ITEMS):
            copy.answer(f"zero_shot/{name}/{item}", LABELS[guess(item, run)])
            copy.write(f"{ENCODER}/{SEEDS[run]}/{item}.json", row(item) | {"predict_label": guess(item, run + 1)})


def sheets(folder: Path) -> None:
    copy = mentalbench.Copy(folder)
    copy.write(mentalbench.PEOPLE, mentalbench.rated(0, "human_response_"))
    copy.write(mentalbench.CLAUDE, mentalbench.rated(1, "judge_response_"), "claude-3-7-sonnet-20250219_Fina")


def psycrisis(folder: Path) -> None:
    folder.mkdir(parents=True)
    lines = [
        "message,answer,H1",
        "I do not want to live any more.,I am here with you.,yes",
        "I feel low.,Thank you.,no",
    ]
    (folder / "table.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "columns.toml").write_text(
        'user = "message"\nreply = "answer"\nlabel.H1.empathy = "H1"\n', encoding="utf-8"
    )


FAMILIES: dict[str, Callable[[Path], Any]] = {
    "help_or_harm": lambda folder: write_crises(Crises(folder)),
    "mentalbench": sheets,
    "dialogue_safety": dialogue_safety,
    "psycrisis": psycrisis,
    "trustmh": lambda folder: small_set.write(folder, small_set.files()),
}


def linked(plain: Path, data: Path) -> None:
    """Link the folder, and within it one that leads back to its beginning."""
    (data / "somewhere").mkdir(parents=True)
    (plain / "back").symlink_to(plain)
    (data / "somewhere" / "else").symlink_to(plain)
    (data / "again").symlink_to(data)


def linked_one_by_one(plain: Path, data: Path) -> None:
    data.mkdir()
    for path in plain.iterdir():
        (data / path.name).symlink_to(path)


def zipped(plain: Path, data: Path) -> None:
    """Put everything into a zip deep below the folder, with what a Mac adds."""
    (data / "a" / "b").mkdir(parents=True)
    with zipfile.ZipFile(data / "a" / "b" / "all.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(plain.rglob("*")):
            if path.is_file() and path.suffix != ".zip":
                packed.write(path, path.relative_to(plain).as_posix())
                packed.writestr(f"__MACOSX/{path.relative_to(plain).as_posix()}", b"\x00")
    for path in plain.rglob("*.zip"):
        shutil.copy(path, data / path.name)


def zipped_beside(plain: Path, data: Path) -> None:
    """Leave everything unpacked beside the zip that it came from."""
    shutil.copytree(plain, data)
    with zipfile.ZipFile(data / "all.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(plain.rglob("*")):
            if path.is_file() and path.suffix != ".zip":
                packed.write(path, path.relative_to(plain).as_posix())


def contents(name: str, data: Path) -> dict[str, Any]:
    """Return all that is read of a family's files."""
    found: dict[str, Any] = {}
    for benchmark in benchmarks.of_family(name):
        for what, read in (
            ("samples", lambda b=benchmark: [(s.id, s.target, s.tags) for s in b.read(data)]),
            ("load", lambda b=benchmark: _loaded(b.load(data))),
            ("material", lambda b=benchmark: _rows(b.material(data))),
            ("reproduce", lambda b=benchmark: sorted(map(str, b.reproduce(data)))),
        ):
            if what == "samples" or getattr(benchmark, what) is not None:
                try:
                    found[f"{benchmark.name} {what}"] = read()
                except DataError:
                    found[f"{benchmark.name} {what}"] = "lacking"
    return found


def _loaded(released: Any) -> Any:
    replies = [(reply.id, reply.text) for reply in released.replies]
    return replies, [(r.subject, r.criterion, r.rater, r.run, r.status, r.value) for r in released.ratings]


def _rows(material: Any) -> Any:
    without = ("file", "where", "source")
    return [table.drop(without, strict=False).rows() for table in (material.texts, material.ratings)]


@pytest.mark.parametrize(
    ("name", "layout"), sampled(itertools.product(FAMILIES, [linked, linked_one_by_one, zipped, zipped_beside]), 2)
)
def test_a_layout_changes_nothing_of_what_is_read(
    name: str, layout: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    plain, data = tmp_path / "plain", tmp_path / "data"
    FAMILIES[name](plain)
    expected = contents(name, plain)
    assert any(value not in ("lacking", []) for value in expected.values())
    layout(plain, data)
    found = contents(name, data)
    assert found.keys() == expected.keys()
    for what, value in expected.items():
        assert found[what] == value, what


def test_a_zip_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "all.zip").write_bytes(b"no zip")
    assert files.below(tmp_path).broken == (f"{tmp_path / 'all.zip'}: expected a zip, found File is not a zip file",)


def test_members_that_lead_out_of_a_zip_and_hidden_ones_are_left_out(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as packed:
        for name in ("a/b.json", "../out.json", "/root.json", ".hidden/c.json", "__MACOSX/d.json", "e/.f.json"):
            packed.writestr(name, "[]")
    assert [str(file.place) for file in files.below(tmp_path).all] == ["a/b.json"]


def test_an_encrypted_or_damaged_member_is_an_error_of_reading(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("a.json", '{"text": "' + "made up " * 50 + '"}')
    content = bytearray(path.read_bytes())
    content[60] ^= 0xFF
    path.write_bytes(bytes(content))
    (file,) = files.below(tmp_path).all
    with pytest.raises(OSError, match=r"a\.json in all\.zip cannot be unpacked"):
        file.read_bytes()


def test_links_to_nothing_and_to_each_other_end(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.txt").write_text("made up")
    (tmp_path / "a" / "b").symlink_to(tmp_path / "c")
    (tmp_path / "c").symlink_to(tmp_path / "a")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    assert [path.relative_to(tmp_path).as_posix() for path in files.walk(tmp_path)] == ["a/x.txt"]
