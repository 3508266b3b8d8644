"""No protocol without its row: each one of every `replica.toml` is run whole, and its published table gains a row without gaps.

The commands are those of the table in docs/tasks/papers.md. A new protocol has to be added there and to `PLAYED`: a function that runs
them on small files of the authors' form. Columns that nobody can fill are named in the protocol itself, with the reason; so is
that a paper prints no table.
"""

from __future__ import annotations

import csv
import functools
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import mindgauge as package
from mindgauge import benchmarks
from mindgauge.analysis.beside_published import new_row
from mindgauge.analysis.reproduce import load_published
from mindgauge.benchmarks import Released, replica
from mindgauge.benchmarks.dialogue_safety.inputs import LABELS
from mindgauge.benchmarks.psycrisis.released import DIMENSIONS
from mindgauge.store import Store, manifest
from tests import in_process
from tests.benchmarks.dialogue_safety import conftest as safety
from tests.benchmarks.help_or_harm import conftest as harm
from tests.benchmarks.mentalbench import conftest as mental
from tests.benchmarks.trustmh import made
from tests.commands.test_aligned_judges import repeating, with_texts
from tests.stub import Stub, says, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp import web

    from mindgauge.benchmarks import Benchmark

loaded, real = harm.loaded, harm.real
LEVELS = {"quotes": [], "rationale": "r"}
CATEGORIES = (
    "suicidal_ideation", "self-harm", "anxiety_crisis", "violent_thoughts", "substance_abuse_or_withdrawal",
    "risk_taking_behaviours", "no_crisis",
)  # fmt: skip


class Played(NamedTuple):
    """Where the authors' files are, and the run."""

    data: Path
    run: Path


def command(*arguments: object, code: int = 0) -> in_process.Done:
    """Run a command as a user types it."""
    done = in_process.mindgauge(*arguments)
    assert done.returncode == code, done.stderr + done.stdout
    return done


def instrument(folder: Path, **files: str) -> Path:
    """Write a folder with what a user has of the authors' words; `_` in a name is a full stop."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return folder


PAGE = Path(__file__).parents[2] / "docs/tasks/papers.md"
JUDGES = "judges"


def on_page() -> dict[tuple[str, str], list[str]]:
    """Return the commands of each row of the page's table, by benchmark and protocol."""
    rows = re.findall(
        r"^\| `([^`]+)` \| ([^|]+) \| (`mindgauge [^|]+`) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {(name, protocol): re.findall(r"`mindgauge ([^`]+)`", commands) for name, protocol, commands in rows}


def typed(name: str, protocol: str, played: Played, stub: Stub, *options: object) -> None:
    """Type a protocol's commands as the page has them; without a folder of the authors' words, without their option."""
    authors = played.run.parent / "authors"
    meant = {
        "DIR": played.data, "FILE": played.data / "experts.csv", "RUN": played.run, "M": stub.model, "J": stub.judge,
        "AUTHORS": authors,
    }  # fmt: skip
    commands = on_page()[name, protocol]
    for line in commands:
        text = line if authors.is_dir() else line.replace(" --instrument AUTHORS", "")
        more = (*(["--no-qualify"] if " J " in text else []), *(options if line == commands[-1] else []))
        command(*(meant.get(word, word) for word in text.split()), *more)


# -- what each protocol is run on -----------------------------------------------------------------------------------------


def dialogue_safety(folder: Path, protocol: str) -> Played:
    """Five runs, each with another share of right answers, so that standard deviations are no zeros."""
    copy = safety.Copy(folder / "data")
    copy.write("test.json", [safety.row(item) for item in range(safety.ITEMS)])
    theirs = [safety.row(item) | {"response": f"[supporter]训练里的第{item}条。"} for item in range(8)]
    copy.write("train.json", theirs)

    def answered(_: dict[str, Any], count: int) -> web.Response:
        return says(LABELS[2 if count % 7 else 7])

    played = Played(copy.root, folder / "run")
    with Stub(answered) as stub:
        typed("dialogue_safety", protocol, played, stub)
    return played


def crisis_type(folder: Path, rows: int = 6) -> Played:
    copy = harm.Copy(folder)
    harm._write(copy)
    if rows != len(harm.LABELS):
        more_validation(copy, rows)
    instrument(
        folder / "authors", ask_en_md="Which crisis?\n{dialogue}", instrument_toml='answer = "label"\nfence = false'
    )
    played = Played(folder, folder / "run")
    with Stub(lambda body, count: says(CATEGORIES[count % 5 % 3])) as stub:
        typed("help_or_harm/crisis_type", "validation set", played, stub)
    return played


def more_validation(copy: harm.Copy, rows: int) -> None:
    """Give the validation set so many rows, with labels of people and of a model."""
    inputs = [[f"This is validation message {i}.", "It has two sentences."] for i in range(rows)]
    labels = [harm.LABELS[i % 6] for i in range(rows)]
    for path in (*copy.data.glob("human_label/*label*"), *copy.data.glob("llm_label/*n_200*"), *copy.data.glob("processed/*n_200*")):  # fmt: skip
        old = json.loads(path.read_text())[0]
        new = [old | {"inputs": i, "label": label} for i, label in zip(inputs, labels, strict=True)]
        new = [row | ({"all_labels": [row["label"]] * 5} if "all_labels" in row else {}) for row in new]
        path.write_text(json.dumps(new))
    for path in (*copy.data.glob("llm_answer/*"), *copy.data.glob("llm_evaluator/**/*.json"), *copy.data.glob("human_label/*scores*")):  # fmt: skip
        path.unlink()


def verdict_on(text: str, repeat: int) -> int:
    """Return a level that depends on the reply, and at times on the repeat."""
    seed = sum(map(ord, text))
    return 1 + (seed % 5 + (repeat == 1 and seed % 3 == 0)) % 5


def response(folder: Path, protocol: str) -> Played:
    """Every category twice, and an item that no judge rates since its label is open."""
    copy = harm.Copy(folder)
    harm._write(copy)
    inputs = [[f"This is test message {i}.", "It has two sentences."] for i in range(15)]
    copy.write(f"processed/{harm.TEST}.json", [{"inputs": i, "label": "", "dataset_id": "hugg_1"} for i in inputs])
    labels = [*CATEGORIES, *CATEGORIES, None]
    rows = [{"inputs": i, "label": label, "dataset_id": "hugg_1"} for i, label in zip(inputs, labels, strict=True)]
    copy.write(f"llm_label/gpt-4o-mini-labeled-{harm.TEST}-merged-labels.json", rows)
    asked: dict[str, int] = {}

    def answered(body: dict[str, Any], count: int) -> web.Response:
        text = words(body)
        repeat = asked[text] = asked.get(text, 0) + 1
        if body["model"] == "stub":
            return says(f"Reply {repeat} to {text[:30]}")
        shown = text[text.index("Reply ") :][:40].partition("\n")[0]
        return says(json.dumps({**LEVELS, "appropriateness": verdict_on(shown, repeat % 3)}))

    played = Played(folder, folder / "run")
    with Stub(answered) as stub:
        typed("help_or_harm/response", protocol, played, stub)
    return played


def response_judges(folder: Path) -> Played:
    copy = harm.Copy(folder)
    harm._write(copy)
    played = Played(folder, folder / "run")
    with Stub(lambda body, count: says(json.dumps({**LEVELS, "appropriateness": 1 + count % 5}))) as stub:
        typed("help_or_harm/response", JUDGES, played, stub)
    return played


def experts(folder: Path, models: int = 6) -> list[list[Any]]:
    """Write a table of replies that an expert rated on the five dimensions."""
    rng = np.random.default_rng(3)
    rows = [
        [f"我很难过，第{i}天。", f"回复{i:02}", f"m{i % models}", *rng.integers(0, 2, 5).tolist()] for i in range(18)
    ]
    header = ["user", "reply", "model", *(f"label.E1.{dimension}" for dimension in DIMENSIONS)]
    folder.mkdir(exist_ok=True)
    with (folder / "experts.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    (folder / "columns.toml").write_text("".join(f'"{name}" = "{name}"\n' for name in header), encoding="utf-8")
    return rows


def judged(rows: list[list[Any]], *, gives: str = "") -> Callable[[dict[str, Any], int], web.Response]:
    """Return a judge that says what the expert said, but of one dimension; in the answer's form that the words ask for."""

    def answer(body: dict[str, Any], _: int) -> web.Response:
        row = next(row for row in rows if row[1] in words(body))
        levels = dict(zip(DIMENSIONS, (*row[3:7], 1), strict=True))
        if gives == "dict":
            return says(str(levels))
        return says(json.dumps({**LEVELS, **{name: "yes" if level else "no" for name, level in levels.items()}}))

    return answer


def psycrisis_judges(folder: Path, *, models: int = 6, gives: str = "") -> Played:
    rows = experts(folder / "data", models)
    played = Played(folder / "data", folder / "run")
    with Stub(judged(rows, gives=gives)) as stub:
        typed("psycrisis", JUDGES, played, stub)
    return played


def psycrisis(folder: Path) -> Played:
    experts(folder / "data")
    levels = json.dumps({**LEVELS, **dict.fromkeys(DIMENSIONS, "yes")})
    played = Played(folder / "data", folder / "run")
    with Stub(lambda body, count: says(levels if body["model"] == "judge" else "我在听。")) as stub:
        typed("psycrisis", "released judge", played, stub, "--limit", 2)
    return played


def mentalbench(folder: Path) -> Played:
    copy = mental.Copy(folder / "data")
    copy.write(mental.PEOPLE, mental.rated(0, "human_response_"))
    copy.write(mental.CLAUDE, mental.rated(1, "judge_response_"), "claude-3-7-sonnet-20250219_Fina")
    levels = {criterion.name: 4 for criterion in benchmarks.find_one("mentalbench").rubric.criteria}
    verdict = json.dumps({**LEVELS, **levels})
    played = Played(copy.root, folder / "run")
    with Stub(lambda body, count: says(verdict if body["model"] == "judge" else "I hear you.")) as stub:
        typed("mentalbench", "generation and judging", played, stub)
    return played


def mentalbench_judges(folder: Path) -> Played:
    copy = mental.Copy(folder / "data")
    copy.write(mental.PEOPLE, mental.rated(0, "human_response_"))
    copy.write(mental.CLAUDE, mental.rated(1, "judge_response_"), "claude-3-7-sonnet-20250219_Fina")
    with_texts(copy)
    played = Played(copy.root, folder / "run")
    with Stub(repeating(copy, mental.CLAUDE, **LEVELS)) as stub:
        typed("mentalbench", JUDGES, played, stub)
    return played


def ethics(folder: Path) -> Played:
    made.dilemmas(folder / "data")

    def answered(body: dict[str, Any], count: int) -> web.Response:
        if body["model"] == "judge":
            levels = {criterion.name: 4 for criterion in benchmarks.find_one("trustmh/ethics").rubric.criteria}
            return says(json.dumps({**LEVELS, **levels}))
        return says(json.dumps({"choice": "ABCD"[count % 4], "reasoning": "Since the case asks for it."}))

    played = Played(folder / "data", folder / "run")
    with Stub(answered) as stub:
        typed("trustmh/ethics", "ethical reasoning", played, stub)
    return played


def privacy_awareness(folder: Path) -> Played:
    made.items(folder / "data")
    played = Played(folder / "data", folder / "run")
    with Stub(lambda body, count: says(str(1 + count % 4 if "Item 1." in words(body) else 25 * (count % 5)))) as stub:
        typed("trustmh/privacy_awareness", "privacy awareness", played, stub)
    return played


def privacy_leakage(folder: Path) -> Played:
    made.stories(folder / "data")
    played = Played(folder / "data", folder / "run")
    with Stub(lambda body, count: says('["Ada"]' if body["model"] == "judge" else "Ask them.")) as stub:
        typed("trustmh/privacy_leakage", "privacy leakage", played, stub)
    return played


PLAYED: dict[tuple[str, str], Callable[[Path], Played]] = {
    ("dialogue_safety", "zero-shot"): lambda folder: dialogue_safety(folder, "zero-shot"),
    ("dialogue_safety", "few-shot"): lambda folder: dialogue_safety(folder, "few-shot"),
    ("help_or_harm/crisis_type", "validation set"): crisis_type,
    ("help_or_harm/response", "test set"): lambda folder: response(folder, "test set"),
    ("help_or_harm/response", "validation set"): lambda folder: response(folder, "validation set"),
    ("help_or_harm/response", JUDGES): response_judges,
    ("psycrisis", "released judge"): psycrisis,
    ("psycrisis", JUDGES): psycrisis_judges,
    ("mentalbench", "generation and judging"): mentalbench,
    ("mentalbench", JUDGES): mentalbench_judges,
    ("trustmh/ethics", "ethical reasoning"): ethics,
    ("trustmh/privacy_awareness", "privacy awareness"): privacy_awareness,
    ("trustmh/privacy_leakage", "privacy leakage"): privacy_leakage,
}


def protocols() -> list[Any]:
    """Return every protocol and table of judges in our sources, as parameters."""
    found: list[tuple[str, str]] = []
    by_folder = {benchmarks.find_one(name).folder: name for name in benchmarks.names()}
    for path in sorted(Path(package.__file__).parent.rglob(replica.FILE)):
        name = by_folder[path.parent]
        found += [(name, protocol.name) for protocol in replica.replicas(path.parent)]
        found += [(name, JUDGES)] if replica.read(path.parent).judges is not None else []
    assert len(found) >= 13, "they are looked for where they are"
    return [pytest.param(*key, id=", ".join(key)) for key in found]


def columns_of(benchmark: Benchmark, table: str) -> list[str]:
    assert benchmark.published is not None
    columns = [number.column for number in load_published(benchmark.published) if number.table == table]
    assert columns, f"{table} is in no published.toml of {benchmark.name}"
    return [*dict.fromkeys(columns)]


def rows_of(name: str, played: Played) -> list[dict[str, Any]]:
    """Return the new rows that the command writes as JSON."""
    done = in_process.mindgauge(
        "papers", "reproduce", name.partition("/")[0], "--data", played.data, "--beside", played.run, "--json"
    )
    rows: list[dict[str, Any]] = json.loads(done.stdout)["beside"]
    return rows


@pytest.fixture(scope="module")
def plays(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Played]:
    """Return what runs a protocol, once for all tests here."""
    return functools.cache(lambda name, protocol: PLAYED[name, protocol](tmp_path_factory.mktemp("protocol")))


@pytest.mark.parametrize(("name", "protocol"), protocols())
def test_a_run_of_every_protocol_gains_a_row_without_a_gap(
    name: str, protocol: str, plays: Callable[[str, str], Played]
) -> None:
    assert (name, protocol) in PLAYED, f"{name} has a new protocol, {protocol}: say in PLAYED on what it is run"
    assert (name, protocol) in on_page(), f"{name}, {protocol}: no row of the table in {PAGE.name}"
    benchmark = benchmarks.find_one(name)
    of_judges = replica.read(benchmark.folder).judges
    if protocol == JUDGES:
        assert of_judges is not None
        tables, not_computed = {of_judges.table: of_judges.compares_with}, of_judges.not_computed
    else:
        (asked,) = [entry for entry in replica.replicas(benchmark.folder) if entry.name == protocol]
        tables = {asked.table: asked.compares_with, **asked.further} if asked.table else {}
        not_computed = asked.not_computed
        assert tables or asked.no_table, "a protocol without a table says why"
    played = plays(name, protocol)
    if protocol != JUDGES:
        assert manifest.read(played.run)[replica.RECORD]["protocol"] == protocol
    if not tables:
        done = command("papers", "reproduce", name, "--data", played.data, "--beside", played.run, code=2)
        assert asked.no_table in done.stderr
        return
    rows = rows_of(name, played)
    for table, title in tables.items():
        row = next(row for row in rows if row["table"] == table and ("judge" in row["row"] or "stub" in row["row"]))
        assert row["title"] == title
        empty = {column for column in columns_of(benchmark, table) if row["values"].get(column) is None}
        assert empty == {*not_computed}, row
        assert all(row["notes"].get(column) == reason for column, reason in not_computed.items())
        assert row["comparable"] == (not row["reasons"])


# -- help or harm: every figure ------------------------------------------------------------------------------------------


def test_the_table_of_responses_is_of_each_reply_s_mean_verdict(plays: Callable[[str, str], Played]) -> None:
    """14 labelled items, three replies each, three verdicts each; the standard deviation is that of one reply's verdicts."""
    played = plays("help_or_harm/response", "test set")
    rows = {row["table"]: row["values"] for row in rows_of("help_or_harm", played)}
    means, spreads, category = [], [], []
    with Store(played.run) as store:
        ratings = [r for r in store.ratings("help_or_harm/response") if isinstance(r.value, int)]
        replies = {r.id: r for r in store.replies("help_or_harm/response")}
        samples = {s.id: s for s in store.samples("help_or_harm/response")}
    for ident, reply in replies.items():
        levels = [int(r.value) for r in ratings if r.subject == ident and isinstance(r.value, int)]
        if levels:
            assert len(levels) == 3
            means.append(np.mean(levels))
            spreads.append(np.std(levels))
            category.append(samples[reply.sample].tags["category"])
    x, of = np.array(means), np.array(category)
    assert len(x) == 42
    assert len(set(means)) > 5
    assert rows["test.responses"] == pytest.approx({
        "mean": x.mean(), "half_width": 1.96 * x.std(ddof=1) / 42**0.5, "std": np.mean(spreads),
        "share_1": 100 * (x == 1).mean(), "share_low": 100 * (x <= 2).mean(),
        "share_middle": 100 * ((x > 2) & (x <= 11 / 3 - 1e-3)).mean(), "share_high": 100 * (x > 11 / 3 - 1e-3).mean(),
        "count_low": (x <= 2).sum(),
    })  # fmt: skip
    assert rows["test.category_mean"] == pytest.approx({c: x[of == c].mean() for c in CATEGORIES})
    assert rows["test.category_low"] == pytest.approx({c: 100 * (x[of == c] <= 2).mean() for c in CATEGORIES})
    ones = {c: 100 * (x[of == c] == 1).mean() for c in CATEGORIES if c not in {"no_crisis", "anxiety_crisis"}}
    assert rows["test.category_share_1"] == pytest.approx(ones)


@pytest.mark.parametrize("model", ["gpt-4o-mini", "llama-4-scout"])
def test_the_released_verdicts_give_the_figures_of_the_validation_set(model: str, loaded: Path) -> None:
    """Of these two no reply is a refusal, so that a run's records are those that the figures were measured on."""
    response = benchmarks.find_one("help_or_harm/response")
    assert response.published is not None
    assert response.cells_of_run is not None
    with Store(loaded) as store:
        samples = [*store.samples(response.name)]
        replies = [r for r in store.replies(response.name) if r.model.casefold().startswith(model)]
        idents = {reply.id for reply in replies if "sampled_from" not in reply.provenance}
        ratings = [r for r in store.ratings(response.name) if r.rater == "gpt-4o-mini" and r.subject in idents]
    cells = {cell.column: cell.value for cell in response.cells_of_run(Released(samples, replies, ratings, []))}
    published = [
        n for n in load_published(response.published) if (n.table, n.row) == ("derived.validation.responses", model)
    ]
    compared = [n for n in published if n.column in {"mean", "half_width", "share_1", "share_at_most_2"}]
    assert len(compared) == 4
    for number in compared:
        assert cells[number.column] == pytest.approx(number.value, abs=number.tolerance), number.column


# -- psycrisis: levels ---------------------------------------------------------------------------------------------------


def test_a_judge_s_totals_are_correlated_with_people_s_at_named_levels(
    plays: Callable[[str, str], Played], tmp_path: Path
) -> None:
    stats = pytest.importorskip("scipy.stats")
    rows = experts(tmp_path / "again")
    (row,) = rows_of("psycrisis", plays("psycrisis", JUDGES))
    people, judge = (
        np.array([sum(values) for values in side]) for side in zip(*((r[3:], [*r[3:7], 1]) for r in rows), strict=True)
    )
    by_model = [np.array([side[i::6].mean() for i in range(6)]) for side in (judge, people)]
    measures = {"Pearson": stats.pearsonr, "Spearman": stats.spearmanr, "Kendall": stats.kendalltau}
    for name, measure in measures.items():
        item, system = name if name != "Pearson" else "Pearson (item level)", f"{name} (system level)"
        assert row["values"][item] == pytest.approx(measure(judge, people).statistic)
        assert row["values"][system] == pytest.approx(measure(*by_model).statistic)
    assert row["published"]["PsyCrisis"] == {"Pearson (system level)": 0.484, "Spearman": 0.453, "Kendall": 0.406}
    assert row["n"] == {"E1": 18}


def test_fewer_than_five_models_have_no_system_level_and_the_row_says_so(tmp_path: Path) -> None:
    played = psycrisis_judges(tmp_path, models=4)
    (row,) = rows_of("psycrisis", played)
    of_systems = {column for column in row["values"] if column.endswith("(system level)")}
    assert {column for column, value in row["values"].items() if value is None} == of_systems
    assert {*row["notes"]} == of_systems
    shown = command("papers", "reproduce", "psycrisis", "--data", played.data, "--beside", played.run).stdout
    assert "Pearson (system level): needs 5 models, and here are 4" in " ".join(shown.split())


def test_a_comparison_of_judges_has_its_rows_and_says_how_it_was_asked_otherwise(tmp_path: Path) -> None:
    rows = experts(tmp_path / "data")
    with Stub(judged(rows)) as stub:
        command(
            "judges", "compare", "psycrisis", "--replies", tmp_path / "data/experts.csv", "--judge", stub.judge, "--no-qualify",
            "--out", tmp_path / "run", "--mode", "split", "--method", "rule",
        )  # fmt: skip
    (row,) = rows_of("psycrisis", Played(tmp_path / "data", tmp_path / "run"))
    assert row["values"]["Kendall"] is not None
    assert "asked at temperature 0, and the paper's judges at 0.7" in row["reasons"]
    assert "asked about each criterion in a call of its own, and the paper's judges about all in one" in row["reasons"]


@pytest.mark.parametrize("loaded_before", [True, False])
def test_the_experts_table_may_have_any_headers_and_replies_that_no_expert_rated(
    loaded_before: bool, tmp_path: Path
) -> None:
    rows = [
        [f"我很难过，第{i}天。", f"回复{i:02}", f"m{i % 5}", *("是否"[(i >> k) % 2] for k in range(5))]
        for i in range(10)
    ]
    header = ["用户", "回复", "模型", "共情", "情绪", "探索", "风险", "支持"]
    path = tmp_path / "data/experts.csv"
    path.parent.mkdir()
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows, ["我很难过。", "回复99", "m0", *[""] * 5]])
    places = {
        "user": "#1",
        "reply": "#2",
        "model": "#3",
        **dict(zip((f"label.E1.{d}" for d in DIMENSIONS), "DEFGH", strict=True)),
    }
    (path.parent / "columns.toml").write_text(
        "".join(f'"{name}" = "{place}"\n' for name, place in places.items()), encoding="utf-8"
    )
    columns = ",".join(f"{name}={place}" for name, place in places.items())
    with Stub(judged([[*row[:3], *(cell == "是" for cell in row[3:])] for row in rows])) as stub:
        options = ("--judge", stub.judge, "--as-published", "--no-qualify")
        if loaded_before:
            command("papers", "load", "psycrisis", "--data", path, "--map", columns, "--out", tmp_path / "run")
            command("rate", "psycrisis", "--replies", tmp_path / "run", *options)
        else:
            command("rate", "psycrisis", "--replies", path, "--map", columns, "--out", tmp_path / "run", *options)
    assert stub.calls == 10, "a reply that no expert rated costs nothing"
    (row,) = rows_of("psycrisis", Played(path.parent, tmp_path / "run"))
    assert row["n"] == {"E1": 10}
    assert None not in row["values"].values()


def test_a_judge_without_a_verdict_is_counted_as_missing(tmp_path: Path) -> None:
    rows = experts(tmp_path / "data")
    answers = judged(rows)
    with Stub(lambda body, count: says("不知道") if "回复07" in words(body) else answers(body, count)) as stub:
        command(
            "rate", "psycrisis", "--replies", tmp_path / "data/experts.csv", "--judge", stub.judge, "--as-published",
            "--no-qualify", "--out", tmp_path / "run",
        )  # fmt: skip
    (row,) = rows_of("psycrisis", Played(tmp_path / "data", tmp_path / "run"))
    assert row["n"] == {"E1": 17}
    assert "1 reply of E1's 18 without a verdict of this judge" in row["reasons"]
    assert not row["comparable"]


# -- comparable, comparable but for, not comparable ----------------------------------------------------------------------


def test_all_that_the_paper_takes_makes_a_row_comparable(tmp_path: Path) -> None:
    """206 rows, labelled three times by the authors' words."""
    played = crisis_type(tmp_path, rows=206)
    (row,) = rows_of("help_or_harm/crisis_type", played)
    assert (row["comparable"], row["reasons"]) == (True, [])
    assert row["but_for"] == [
        "an answer without a label counts as a class of its own in the paper's kappa, and as none here"
    ]
    shown = command("papers", "reproduce", "help_or_harm", "--data", played.data, "--beside", played.run).stdout
    assert "stub (authors): comparable with the table of agreement among runs but for:" in " ".join(shown.split())
    assert not any(part.left for part in package.status(played.run).left), "the user's prompts are in the rater's name"
    assert manifest.read(played.run)[replica.RECORD]["comparable"]


def test_what_differs_by_design_is_listed_and_no_blanket_no(tmp_path: Path) -> None:
    """All words of the authors' were brought: what is left is what nobody can bring."""
    instrument(
        tmp_path / "authors", system_zh_md="你是专家。\n{rubric}", judge_zh_md="来访者：{dialogue}\n咨询师：{reply}",
        instrument_toml='name = "authors"\nanswer = "dict"\nfence = false',
        rubric_toml=(benchmarks.find_one("psycrisis").folder / "rubric.toml").read_text(encoding="utf-8"),
    )  # fmt: skip
    played = psycrisis_judges(tmp_path, gives="dict")
    (row,) = rows_of("psycrisis", played)
    table = replica.read(benchmarks.find_one("psycrisis").folder).judges
    assert table is not None
    assert (row["comparable"], row["reasons"]) == (True, [])
    assert row["but_for"] == table.not_rebuilt != []
    shown = " ".join(
        command("papers", "reproduce", "psycrisis", "--data", played.data, "--beside", played.run).stdout.split()
    )
    assert "comparable with the table of agreement with experts, n = 18 beside E1 but for: on which replies" in shown
    assert "not comparable" not in shown


def test_the_report_and_the_manifest_say_but_for_what(plays: Callable[[str, str], Played], tmp_path: Path) -> None:
    """Two of four hundred questions: not comparable for that, and otherwise but for what differs by design."""
    played = plays("trustmh/privacy_leakage", "privacy leakage")
    record = manifest.read(played.run)[replica.RECORD]
    (protocol,) = replica.replicas(benchmarks.find_one("trustmh/privacy_leakage").folder)
    assert record["but_for"] == protocol.not_rebuilt
    assert not {*record["lacks"]} & {*protocol.not_rebuilt}
    command("report", played.run, "--out", tmp_path / "report.html")
    page = " ".join((tmp_path / "report.html").read_text(encoding="utf-8").split())
    assert "otherwise comparable but for: " in page


def test_one_place_decides() -> None:
    """A row, a report and a manifest cannot say different things of the same record."""
    record = {"protocol": "p", "table": "Table 1", "lacks": [], "but_for": ["a"]}
    psycrisis = benchmarks.find_one("psycrisis")
    for missing in ([], ["2 verdicts are missing"]):
        row = new_row(psycrisis, ("agreement", "Table 1"), "m", {"Kendall": 0.4}, replica.standing(record, missing))
        assert row.comparable == (not missing)
        assert row.told == f"m: {replica.comparability('Table 1', missing, ['a'])}"
    assert replica.standing(None) == (["it was not run --as-published"], [])
    assert replica.comparability("", ["r"], []) == "not comparable: r"
