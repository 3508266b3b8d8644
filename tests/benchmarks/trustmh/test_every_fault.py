"""Every file of the set, with every fault: named in one line, or noted, and never read as fewer samples in silence.

Each test runs on files made here (`small_set.py`) and, where they are at hand, on copies of the released ones.
"""

from __future__ import annotations

import copy
import csv
import functools
import io
import json
import os
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from mindgauge.benchmarks.trustmh import trustmh
from mindgauge.benchmarks.trustmh.emotion import emotion
from mindgauge.benchmarks.trustmh.ethics import dilemmas
from mindgauge.benchmarks.trustmh.jailbreak import jailbreak
from mindgauge.benchmarks.trustmh.knowledge import knowledge
from mindgauge.benchmarks.trustmh.privacy_awareness import privacy_awareness
from mindgauge.benchmarks.trustmh.privacy_leakage import privacy_leakage
from mindgauge.benchmarks.trustmh.released import dialogues, outputs
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds
from tests.benchmarks.trustmh import small_set
from tests.thinned import later

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Read = Callable[[TrustMHRelease], tuple[list[Any], list[str]]]

RELEASED = Path(os.environ.get("MINDGAUGE_DATA") or Path(__file__).parents[3] / "../shared/data") / "trustmh"


class Case(NamedTuple):
    """A released file, what reads it, and the other files that this needs."""

    path: str
    read: Read
    others: tuple[str, ...] = ()


def _tiers(files: TrustMHRelease) -> tuple[list[Any], list[str]]:
    return [*privacy_awareness.expectations(files)[0]], privacy_awareness.expectations(files)[1]


def _told(read: Callable[[TrustMHRelease], tuple[list[dialogues.Dialogue], list[str]]]) -> Read:
    """Read dialogues, and keep what the tasks look at."""

    def kept(files: TrustMHRelease) -> tuple[list[Any], list[str]]:
        found, notes = read(files)
        return [(d.messages, d.about["situation"], d.about["problem_type"]) for d in found], notes

    return kept


def _templates(files: TrustMHRelease) -> tuple[list[Any], list[str]]:
    found, notes = jailbreak.templates(files)
    return [*found.items()], notes


CONFAIDE = tuple(f"external/confaide/{name}" for name in small_set.expectations())
LEAK = ("dataset/PsyLeak.txt", "dataset/PsyLeak_control.txt")
CASES = [
    Case("external/psy_eval/USMLE-mental.jsonl", lambda f: knowledge.examination(f, knowledge.USMLE, 727)),
    Case("external/psy_eval/Crisis_Response_QA.jsonl", lambda f: knowledge.examination(f, knowledge.CRISIS_QA, 153)),
    Case("external/emobench/EU.jsonl", emotion.understanding),
    Case("external/esconv/testWithStrategy_short.tsv", dialogues.windows),
    Case("dataset/ESConv_fair.json", _told(dialogues.for_fairness)),
    Case("external/cssrs/500_Reddit_users_posts_labels.csv", trustmh.users),
    Case("dataset/PsyHarm.csv", jailbreak.plain),
    Case("dataset/JailbreakMH.csv", jailbreak.transformed, ("dataset/PsyHarm.csv",)),
    Case("external/trustllm/jailbreak.json", _templates),
    Case("external/elephant/OEQ_sample.csv", trustmh.questions),
    Case("external/elephant/AITA_sample.csv", trustmh.posts),
    *(Case(path, _tiers, tuple(other for other in CONFAIDE if other != path)) for path in CONFAIDE),
    *(Case(path, privacy_leakage.secrets, tuple(other for other in LEAK if other != path)) for path in LEAK),
]
PACKED = [
    Case("ethics.zip:Ethics/data/EthicMH.csv", dilemmas.dilemmas),
    Case("external/cpsycoun/CPsyCounE.zip:CPsyCounE/Career/1.json", dialogues.counselling),
]
STORED: dict[str, Read] = {
    "*-ethics_reasoning-*.json": lambda f: ([dilemmas.stored_in(*place) for place in f.matching(dilemmas.STORED)], []),
    "*/final_report_*.json": lambda f: (outputs.answers(f)[0], [*outputs.answers(f)[1].values()]),
    "*/outputs_*_tier1.jsonl": lambda f: (outputs.answers(f)[0], [*outputs.answers(f)[1].values()]),
    "*/outputs_*_data_tier_3_*.jsonl": lambda f: (outputs.replies(f)[0], [*outputs.replies(f)[1].values()]),
    "*/summary_*_tier1.json": lambda f: (
        [*outputs.stated_correlations(f)[0].items()], [*outputs.stated_correlations(f)[1].values()],
    ),
    "*/summary_*_data_tier_3_*.csv": lambda f: (
        [*outputs.stated_leakage(f)[0].items()], [*outputs.stated_leakage(f)[1].values()],
    ),
}  # fmt: skip


@pytest.fixture(params=["made", "released"])
def content(request: pytest.FixtureRequest) -> Callable[[str], bytes]:
    """What a file holds, by its path; after a colon stands a name in a zip."""
    if request.param == "released" and not RELEASED.is_dir():
        pytest.skip("the released files are not at hand")
    return contents(request.param)


@functools.cache
def contents(kind: str) -> Callable[[str], bytes]:
    made = small_set.files()

    def read(path: str) -> bytes:
        place, _, inside = path.partition(":")
        raw = made[place] if kind == "made" else (RELEASED / place).read_bytes()
        if not inside:
            return raw
        with zipfile.ZipFile(io.BytesIO(raw)) as packed:
            return packed.read(inside)

    return read


def outcome(read: Read, folder: Path) -> tuple[list[Any], list[str]] | str:
    """Read, and return what came of it, folder names aside; of a fault its one line."""
    try:
        found, notes = read(TrustMHRelease.below(folder))
    except DataError as error:
        told = str(error)
        assert "\n" not in told
        assert len(told) < 400 + len(str(folder))
        return told
    return found, [note.replace(str(folder), "") for note in notes]


def spoilt(case: Case, content: Callable[[str], bytes], folder: Path, its: bytes) -> tuple[list[Any], list[str]] | str:
    """Write the files of a case with this content, and read them."""
    small_set.write(folder, {case.path.rpartition(":")[2]: its, **{other: content(other) for other in case.others}})
    return outcome(case.read, folder)


def name(case: Case) -> str:
    return case.path.rpartition("/")[2]


every = pytest.mark.parametrize("case", [*CASES, *PACKED], ids=name)


@pytest.fixture
def whole(
    case: Case, content: Callable[[str], bytes], tmp_path: Path, outcomes: dict[Any, tuple[list[Any], list[str]]]
) -> tuple[list[Any], list[str]]:
    """What the files say as they are; read once for all tests of them."""
    if (case, content) not in outcomes:
        unspoilt = spoilt(case, content, tmp_path / "whole", content(case.path))
        assert not isinstance(unspoilt, str), unspoilt
        outcomes[case, content] = unspoilt
    return outcomes[case, content]


@pytest.fixture(scope="module")
def outcomes() -> dict[Any, tuple[list[Any], list[str]]]:
    return {}


@every
@pytest.mark.parametrize("share", [later(0.02), 0.3, later(0.5), later(0.9), 0.9999])
def test_cut_off(case: Case, content: Callable[[str], bytes], whole: Any, tmp_path: Path, share: float) -> None:
    its = content(case.path)
    found = spoilt(case, content, tmp_path / "cut", its[: min(int(share * len(its)), len(its.rstrip()) - 1)])
    if case.path.endswith("labels.txt") and not isinstance(found, str):
        assert len(found[0]) == len(whole[0])  # the last number has lost its last digits, which nobody can tell
        return
    if isinstance(found, str):
        assert says(found, case, BROKEN, UNEXPECTED, NOT_UTF_8)
    else:
        assert any(says(note, case, UNEXPECTED) for note in {*found[1]} - {*whole[1]})


BROKEN = r":\d+: broken (JSON|CSV) \(.+\)"
UNEXPECTED = r"(:\d+)?: ([^:]+: )?expected .+, found .+"
IN_FIRST_ROW = UNEXPECTED.replace(r"(:\d+)?", ":1")
NOT_UTF_8 = r": not UTF-8 at byte \d+; save it as UTF-8, or name its encoding: --map encoding=cp1252 \(Western Europe\), gb18030 \(Chinese\) or another"
MENDED_FIRST = r": expected UTF-8, found \d+ other bytes"  # of EthicMH, which holds other bytes as it was released
NOT_TEXT = r": not text: [\d,]+ of its bytes are null; save it again"
REPEATED = r": \d+ rows repeat a text; left out"


def says(told: str, case: Case, *sentences: str) -> bool:
    """Say whether a line names the file, or the other that must have as many lines, and then says one of these sentences."""
    # a dialogue of CPsyCounE is one file of 45, and it is those that are counted
    places = "|".join(
        re.escape(Path(path).name) for path in (name(case), *case.others, "CPsyCounE" * (case in PACKED)) if path
    )
    return re.search(rf"(^|[/ ])({places})({'|'.join(sentences)})$", told) is not None


@every
def test_another_encoding(case: Case, content: Callable[[str], bytes], whole: Any, tmp_path: Path) -> None:
    raw = content(case.path)
    text = dilemmas.repaired(raw)[0] if case.path.endswith("EthicMH.csv") else raw.decode().removeprefix(small_set.BOM)
    marked = spoilt(case, content, tmp_path / "marked", text.encode("utf-16"))
    if case.path.endswith("EthicMH.csv"):  # its bytes are mended before anybody reads them
        assert isinstance(marked, str)
        assert says(marked, case, MENDED_FIRST)
    else:  # which every reader of ours knows by its mark
        assert marked[0] == whole[0]
    for encoding in ("utf-16-le", "utf-32", "utf-16-be"):
        found = spoilt(case, content, tmp_path / encoding, text.encode(encoding))
        assert isinstance(found, str), encoding
        wide = rf": not UTF-8 at byte 0 \(it looks like {encoding[:6].upper()}\); save it as UTF-8, or say --map encoding={encoding}"
        latin = text[:2].isascii()
        assert (
            says(found, case, wide)
            or (case.path.endswith("EthicMH.csv") and says(found, case, MENDED_FIRST))
            or (not latin and says(found, case, NOT_UTF_8, NOT_TEXT))
        ), found
    for encoding in ("gb18030", "cp1252"):
        its = encoded(text, encoding)
        if its != text.encode() and not readable(its):
            found = spoilt(case, content, tmp_path / encoding, its)
            assert isinstance(found, str), encoding
            assert says(found, case, MENDED_FIRST if case.path.endswith("EthicMH.csv") else NOT_UTF_8), found


def encoded(text: str, encoding: str) -> bytes:
    """Return a text in an encoding; in UTF-8, where that has not all of its characters."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return text.encode()


def readable(its: bytes) -> bool:
    try:
        its.decode()
    except UnicodeDecodeError:
        return False
    return True


@every
@pytest.mark.parametrize("its", [b"", later(b"\n"), b"\xef\xbb\xbf", later(b"\r\n \r\n")])
def test_empty(case: Case, content: Callable[[str], bytes], tmp_path: Path, its: bytes) -> None:
    found = spoilt(case, content, tmp_path, its)
    assert isinstance(found, str)
    assert says(found, case, NOTHING[Path(name(case)).suffix])


NOTHING = {
    ".json": r":\d+: broken JSON \(Expecting value\)",
    ".jsonl": ": expected rows, found none",
    ".csv": ": expected rows, found an empty file",
    ".tsv": ": expected text, found an empty file",
    ".txt": ": expected text, found an empty file",
}


@every
@pytest.mark.parametrize("half", [r"\ud83d", later(r"\udc00"), later(r"\uDC00\uD83D")])
def test_half_a_character(case: Case, content: Callable[[str], bytes], tmp_path: Path, half: str) -> None:
    if ".json" not in case.path:
        assert half.encode() not in content(case.path)  # no escapes are read there
        return
    first, quote, rest = content(case.path).partition(b'"')
    found = spoilt(case, content, tmp_path, first + quote + half.encode() + rest)
    assert isinstance(found, str)
    line = ":1" if case.path.endswith(".jsonl") else ""
    assert says(found, case, rf"{line}: broken JSON \(half a character\)")


@every
def test_a_null_byte(case: Case, content: Callable[[str], bytes], tmp_path: Path) -> None:
    its = content(case.path)
    middle = its.index(b" ", len(its) // 2) if b" " in its[len(its) // 2 :] else len(its) // 2
    found = spoilt(case, content, tmp_path, its[:middle] + b"\0" + its[middle:])
    assert isinstance(found, str)
    assert says(found, case, NOT_TEXT)


@every
def test_a_row_too_many(case: Case, content: Callable[[str], bytes], whole: Any, tmp_path: Path) -> None:
    found = spoilt(case, content, tmp_path / "more", with_one_more(case.path, content(case.path)))
    if isinstance(found, str):
        assert says(found, case, UNEXPECTED)
    else:
        assert len(found[0]) >= len(whole[0])
        assert any(says(note, case, UNEXPECTED, REPEATED) for note in {*found[1]} - {*whole[1]})


def with_one_more(path: str, its: bytes) -> bytes:
    """Add what a file has already, once more."""
    if path.endswith(".json"):
        rows = json.loads(its)
        return json.dumps([*rows, rows[-1]]).encode()
    if path.endswith(".csv"):
        text = its.decode("utf-8", "surrogateescape")
        rows = [*csv.reader(io.StringIO(text, newline=""))]
        more = io.StringIO(newline="")
        csv.writer(more).writerow(rows[-1])
        return (text + more.getvalue()).encode("utf-8", "surrogateescape")
    if "<BEGIN>" in its.decode():
        return its + b"\r\n\r\n" + its[its.rindex(b"<BEGIN>") :]
    end = b"\r\n" if b"\r\n" in its else b"\n"
    lines = its.removesuffix(end).split(end)
    return end.join([*lines, lines[-1], b""])


@pytest.mark.parametrize("content", ["made", later("released")], indirect=True)
@every
def test_a_column_of_another_name(case: Case, content: Callable[[str], bytes], whole: Any, tmp_path: Path) -> None:
    its = content(case.path)
    for key in keys(case.path, its):
        found = spoilt(case, content, tmp_path / "renamed", renamed(case.path, its, key))
        if isinstance(found, str):
            assert says(found, case, rf"(:1: expected |: expected columns ){re.escape(key)}, found .+")
        else:
            assert (found == whole) or found[1] != whole[1], f"{key} is missed by nobody"


def keys(path: str, its: bytes) -> list[str]:
    if path.endswith(".csv"):
        return [column for column in header(its) if column.strip()]
    if path.endswith(".jsonl"):
        return [*json.loads(its.splitlines()[0])]
    rows = json.loads(its) if path.endswith(".json") else []
    return [*rows[0]] if rows and isinstance(rows[0], dict) else []


def header(its: bytes) -> list[str]:
    return next(csv.reader([its.splitlines()[0].decode().removeprefix(small_set.BOM)]))


def renamed(path: str, its: bytes, key: str) -> bytes:
    if path.endswith(".csv"):
        first, end, rest = its.partition(b"\n")
        columns = ",".join(f"{key}_" if column == key else column for column in header(first))
        return columns.encode() + end + rest
    return its.replace(json.dumps(key).encode() + b":", json.dumps(f"{key}_").encode() + b":")


@pytest.mark.parametrize("case", [case for case in CASES if ".json" in case.path], ids=name)
def test_a_value_of_another_kind(case: Case, tmp_path: Path) -> None:
    its = small_set.files()
    made = small_set.write(tmp_path, {path: its[path] for path in (case.path, *case.others)})
    lined = case.path.endswith(".jsonl")
    rows = [json.loads(line) for line in its[case.path].splitlines()] if lined else json.loads(its[case.path])
    for place in places(rows[0]):
        for value in (None, 5, [], {}, [[1]], {"a": 1}):
            changed = [put(rows[0], place, value), *rows[1:]]
            content = small_set.jsonl(changed) if lined else json.dumps(changed).encode()
            found = outcome(case.read, small_set.write(made, {case.path: content}))
            assert not isinstance(found, str) or says(
                found, case, IN_FIRST_ROW, ": expected a label of TrustLLM's, found .+"
            )


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """Return the way to every value in another, its first two entries where it is a list."""
    inside = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, within in inside:
        yield (key,)
        yield from ((key, *rest) for rest in places(within))


def put(value: Any, place: tuple[Any, ...], new: object) -> Any:
    changed = within = copy.deepcopy(value)
    for key in place[:-1]:
        within = within[key]
    within[place[-1]] = new
    return changed


@every
def test_a_folder_of_its_name(case: Case, content: Callable[[str], bytes], tmp_path: Path) -> None:
    small_set.write(tmp_path, {other: content(other) for other in case.others})
    (tmp_path / "deep" / name(case)).mkdir(parents=True)
    if case.path.startswith("external/trustllm") or "CPsyCounE" in case.path:
        assert case.path  # optional, or one of many: what is missing is nobody's fault
        return
    found = outcome(case.read, tmp_path)
    assert isinstance(found, str)
    assert name(case) in found
    assert "expected a file, found a folder" in found or "will do, too" in found


WAYS: dict[str, Callable[[str], str]] = {
    "deeper": lambda path: f"one more/{path}",
    "elsewhere": lambda path: f"资料 (neu) [1]/{path.rpartition('/')[2]}",
    "capitals": lambda path: path.rpartition(".")[0] + "." + path.rpartition(".")[2].upper(),
}


@pytest.mark.parametrize("content", ["made", later("released")], indirect=True)
@pytest.mark.parametrize("case", CASES, ids=name)
def test_what_does_not_matter(case: Case, content: Callable[[str], bytes], whole: Any, tmp_path: Path) -> None:
    its = {path: content(path) for path in (case.path, *case.others)}
    for way, moved in WAYS.items():
        folder = small_set.write(
            tmp_path / f"an ordinary folder, {way}", {moved(path): file for path, file in its.items()}
        )
        assert outcome(case.read, folder)[0] == whole[0], way
    unix = {path: file.replace(b"\r\n", b"\n") for path, file in its.items()}
    windows = {path: file.replace(b"\n", b"\r\n") for path, file in unix.items()}
    marked = {path: small_set.BOM.encode() + file.removeprefix(small_set.BOM.encode()) for path, file in its.items()}
    for way, files in {"unix": unix, "windows": windows, "marked": marked}.items():
        found = outcome(case.read, small_set.write(tmp_path / way, files))
        assert not isinstance(found, str), (way, found)
        assert found[0] == whole[0], way
        assert len(found[1]) == len(whole[1])


@pytest.mark.parametrize("content", ["made", later("released")], indirect=True)
@pytest.mark.parametrize("case", CASES, ids=name)
def test_twice(case: Case, content: Callable[[str], bytes], whole: Any, tmp_path: Path) -> None:
    its = {path: content(path) for path in (case.path, *case.others)}
    small_set.write(tmp_path, its)
    other = small_set.write(tmp_path / "z copy", its) / case.path
    assert outcome(case.read, tmp_path)[0] == whole[0]
    other.write_bytes(its[case.path] + b"\n")
    found = outcome(case.read, tmp_path)
    assert not isinstance(found, str)
    assert found[0] == whole[0]
    assert any("other content, and is not read" in note for note in found[1])


@pytest.mark.parametrize("pattern", STORED)
@pytest.mark.parametrize("how", ["cut", "utf-16", "empty", "list", "half"])
def test_stored_outputs(pattern: str, how: str, tmp_path: Path) -> None:
    read = STORED[pattern]
    if not RELEASED.is_dir():
        pytest.skip("the released files are not at hand")
    path, file = TrustMHRelease.below(RELEASED).matching(pattern)[0]
    its = file.read()
    small_set.write(tmp_path, {path: its})
    whole = outcome(read, tmp_path)
    assert not isinstance(whole, str)
    assert whole[1] == []
    text = its.decode("utf-8-sig")
    if how == "half" and path.endswith(".csv"):
        pytest.skip("no JSON")
    half = text.replace('"', r'"\ud83d', 1).encode()
    spoil = {
        "half": half,
        "cut": its[: len(its) // 2],
        "utf-16": text.encode("utf-16"),
        "empty": b"",
        "list": b'[[]]\n"x",1\n',
    }
    small_set.write(tmp_path, {path: spoil[how]})
    found = outcome(read, tmp_path)
    if how == "utf-16":  # known by its mark
        assert found == whole
        return
    (told,) = (found,) if isinstance(found, str) else found[1]
    suffix = Path(path).suffix
    unlike = (
        ": expected columns model, q_type, metric, mean, found .+"
        if suffix == ".csv"
        else ":1: expected an object, found list"
    )
    faults = {
        "cut": r":\d+: expected \d+ cells, found \d+" if suffix == ".csv" else r":\d+: broken JSON \(.+\)",
        "empty": NOTHING[suffix],
        "list": r":\d+: broken JSON \(Extra data\)" if suffix == ".json" else unlike,
        "half": r"(:1)?: broken JSON \(half a character\)",
    }
    assert says(told, Case(path, read), faults[how])


@pytest.mark.parametrize("inside", ["Ethics/data/EthicMH.csv", "CPsyCounE"])
@pytest.mark.parametrize("how", ["cut", "flipped", "text"])
def test_a_broken_zip_is_the_fault_of_what_may_be_in_it_alone(inside: str, how: str, tmp_path: Path) -> None:
    its = small_set.files()
    place = "ethics.zip" if inside.startswith("Ethics") else "external/cpsycoun/CPsyCounE.zip"
    zipped = its[place]
    middle = zipped.index(b".json" if inside == "CPsyCounE" else b".csv") + 20
    flipped = zipped[:middle] + bytes(255 - byte for byte in zipped[middle : middle + 40]) + zipped[middle + 40 :]
    small_set.write(tmp_path, {**its, place: {"cut": zipped[:-30], "flipped": flipped, "text": b"no zip"}[how]})
    found = outcome(dilemmas.dilemmas if place == "ethics.zip" else dialogues.counselling, tmp_path)
    assert isinstance(found, str)
    member = inside if inside.endswith(".csv") else r"CPsyCounE/\S+\.json"
    at_fault = {
        "flipped": rf"{place}/{member}: cannot read it \({member} in .*{Path(place).name} cannot be unpacked: .+\)",
        "cut": rf"; it may be in a zip that cannot be opened: .*{place}: expected a zip, found .+",
    }
    assert re.search(f"{at_fault['flipped' if how == 'flipped' else 'cut']}$", found)
    assert isinstance(outcome(jailbreak.plain, tmp_path), tuple)


def test_what_a_mac_or_a_hidden_folder_adds_is_left_out(tmp_path: Path) -> None:
    its = small_set.files()
    junk = {f"{folder}/PsyHarm.csv": b"\x00\x05" for folder in (".trash", "__MACOSX/dataset", "a/.cache/b")}
    small_set.write(
        tmp_path, {**junk, "dataset/PsyHarm.csv": its["dataset/PsyHarm.csv"], "dataset/._PsyHarm.csv": b"\x00"}
    )
    found = outcome(jailbreak.plain, tmp_path)
    assert not isinstance(found, str)
    assert len(found[0]) == 3
    assert not any("not read" in note for note in found[1])


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(bounds, "content", refuse)  # tests may run as root, who may read everything
    files = TrustMHRelease.below(small_set.write(tmp_path, {"PsyHarm.csv": b"ID\n"}))
    with pytest.raises(DataError, match=r"PsyHarm\.csv: cannot read it \(Permission denied\)"):
        jailbreak.plain(files)
