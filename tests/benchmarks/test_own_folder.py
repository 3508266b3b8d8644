"""A benchmark in a folder without Python: what it may leave out, what is computed of it, and all its faults at once."""

from __future__ import annotations

import importlib.util
import json
import os
import py_compile
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.benchmarks import Benchmark, own_folder, registry
from mindgauge.models.scripted import Scripted
from mindgauge.records.errors import DataError, FaultsError, UsageError
from mindgauge.records.files import private
from mindgauge.runs import inputs
from tests.in_process import mindgauge as typed
from tests.thinned import examples, sampled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.records.request import Request

HEAD = 'id = "warmth"\nversion = "1"\nsource = "ours"\n'
CRITERION = """\
[[criteria]]
name = "warm"
scale = "ordinal"
text.en = "Is the reply warm?"
levels = [{ value = "no", text.en = "It is not." }, { value = "yes", text.en = "It is." }]
"""
RUBRIC = HEAD + CRITERION
CLOSED = f"""\
{HEAD}[[criteria]]
name = "state"
scale = "nominal"
text.en = "How is the person?"
levels = [{{ value = "calm", text.en = "Calm." }}, {{ value = "low", text.en = "Low." }}]
"""
MESSAGES = "user\nI slept badly before the exam.\nMy sister does not answer my calls.\n"


def written(place: Path, files: dict[str, str]) -> Path:
    """Write a folder."""
    place.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (place / name).write_text(text, encoding="utf-8")
    return place


def least(place: Path, **changed: str) -> Path:
    """Write the least that is a benchmark, with some files in their place, or none where they are empty."""
    files = {"card.toml": 'title = "Warm replies"\n', "rubric.toml": RUBRIC, "samples.csv": MESSAGES}
    files |= {name.replace("__", "."): text for name, text in changed.items()}
    return written(place, {name: text for name, text in files.items() if text})


def rating(value: str = "yes") -> Any:
    """Return a model that replies to people, and gives each criterion one value, or its first level."""

    def respond(request: Request) -> str:
        if request.schema is None:
            return "I am here. What weighs most?"
        properties = request.schema["properties"]
        answer: dict[str, Any] = {}
        for name, part in properties.items():
            options = part.get("enum", [])
            answer[name] = (
                [] if part.get("type") == "array" else value if value in options else options[0] if options else "so"
            )
        return json.dumps(answer)

    return respond


def run(folder: Path, out: Path, value: str = "yes", **options: Any) -> Scores:
    scores = mindgauge.run(
        str(folder),
        model=Scripted("a", rating(value)),
        judge=Scripted("j", rating(value)),
        out=out,
        qualify=False,
        **options,
    )
    assert isinstance(scores, Scores)
    return scores


def test_a_title_a_rubric_and_messages_are_enough(tmp_path: Path) -> None:
    place = least(tmp_path / "warmth")
    scores = run(place, tmp_path / "run")
    [share] = scores.find("share_yes", criterion="warm")
    assert (share.value, share.n, share.benchmark) == (1.0, 2, "warmth")
    assert mindgauge.score(tmp_path / "run").find("share_yes")[0].value == 1.0
    text = Path(mindgauge.report([tmp_path / "run"]).path).read_text("utf-8")
    assert f"the samples in {place}" in text
    assert "samples that this project wrote" not in text


@pytest.mark.parametrize("ending", [".jsonl", ".xlsx", ".parquet", ".tsv", ".json"])
def test_samples_may_be_any_table(tmp_path: Path, ending: str) -> None:
    place = least(tmp_path / "warmth", samples__csv="", columns__toml='user = "Text"\ntag.topic = "Thema"\n')
    frame = pl.DataFrame({"Text": ["I slept badly.", "I miss my brother."], "Thema": ["sleep", "family"]})
    path = place / f"samples{ending}"
    if ending == ".tsv":
        frame.write_csv(path, separator="\t")
    elif ending == ".xlsx":
        frame.write_excel(path)
    elif ending == ".parquet":
        frame.write_parquet(path)
    elif ending == ".json":
        frame.write_json(path)
    else:
        frame.write_ndjson(path)
    [benchmark] = benchmarks.asked(str(place))
    assert [sample.messages[-1].content for sample in benchmark.samples(None)] == frame["Text"].to_list()
    assert benchmark.slices == ("topic",)


def test_our_own_form_of_samples_is_read_too(tmp_path: Path) -> None:
    lines = [
        {"messages": [{"role": "user", "content": "A long week."}], "tags": {"language": "en", "topic": "work"}, "cluster": "p1"},
        {"messages": [{"role": "user", "content": "这周太长了。"}], "tags": {"topic": "work"}},
    ]  # fmt: skip
    place = least(
        tmp_path / "warmth", samples__csv="", samples__jsonl="".join(f"{json.dumps(line)}\n" for line in lines)
    )
    first, second = benchmarks.asked_one(str(place)).samples(None)
    assert (first.cluster, first.tags) == ("p1", {"language": "en", "topic": "work"})
    assert second.tags["language"] == "zh", "seen from its letters"


@pytest.mark.parametrize("how", ["card", "prompt"])
def test_a_closed_question_needs_a_line_in_the_card_or_a_prompt(tmp_path: Path, how: str) -> None:
    ask = "{rubric}\n\n{form}\n\n{nonce}\n\n{dialogue}\n"
    more = {"card__toml": 'title = "State"\nclosed = true\n'} if how == "card" else {"ask__md": ask}
    place = least(
        tmp_path / "state", rubric__toml=CLOSED, samples__csv="user,target\nGood day.,calm\nBad day.,low\n", **more
    )
    scores = run(place, tmp_path / "run", "low")
    assert (scores.find("accuracy")[0].value, scores.find("accuracy")[0].n) == (0.5, 2)
    assert scores.find("recall", "label=low")[0].value == 1.0
    bare = least(tmp_path / "bare" / "state", rubric__toml=CLOSED, **more)
    scores = run(bare, tmp_path / "bare" / "run", "low")
    assert not scores.find("accuracy"), "there are no targets to be right about"
    assert scores.find("share_low")[0].value == 1.0


def test_without_targets_nothing_is_said_to_be_held_against_labels(tmp_path: Path) -> None:
    place = least(tmp_path / "state", card__toml='title = "State"\nclosed = true\n', rubric__toml=CLOSED)
    run(place, tmp_path / "run", "low")
    done = typed("score", tmp_path / "run")
    assert "What is right is not known, since no message has a target" in done.stdout
    assert "held against" not in done.stdout


@pytest.mark.parametrize("closed", [False, True])
def test_a_metric_of_its_own_stands_beside_the_usual_ones(tmp_path: Path, *, closed: bool) -> None:
    code = 'from mindgauge.benchmarks.metrics import share_of\nmetrics = (share_of("{}", name="own_words"),)\n'
    level = "low" if closed else "yes"
    files = {"card__toml": 'title = "State"\nclosed = true\n', "rubric__toml": CLOSED} if closed else {}
    run(least(tmp_path / "state", metrics__py=code.format(level), **files), tmp_path / "run", level)
    done = typed("score", tmp_path / "run")
    assert "own words" in done.stdout.replace("_", " ")
    assert ("What is right is not known" in done.stdout) is closed


def test_metrics_may_be_about_what_python_adds_beside_the_rubric(tmp_path: Path) -> None:
    code = 'from mindgauge.benchmarks.metrics import share_of\nmetrics = (share_of("outside"),)\n'
    place = least(tmp_path / "warmth", metrics__py=code)
    with pytest.raises(FaultsError):
        benchmarks.asked(str(place))
    reading = benchmarks.find_one("help_or_harm/response").readings
    assert Benchmark.from_folder(place, readings=reading).metrics[0].name == "share_outside"


OWN = (
    "import sys, msgspec, numpy as np, polars as pl\nfrom mindgauge.benchmarks.metrics import Metric, mean_of, share_of\n"
    "def own({}):\n    {}\n"
    "mine = {}\nmetrics = (mine,)\n"
)
WHOLE = (
    "from pathlib import Path\nfrom mindgauge.benchmarks import Benchmark\n"
    "warmth = Benchmark.from_folder(Path(__file__).parent, metrics=metrics)\n"
)
PLACES = {
    "compute": ("table, weights", "msgspec.structs.replace(share_of('yes', name='mine'), name='mine', compute=own)"),
    "item_score": ("table", "mean_of('mine', own, 'higher')"),
    "item_score alone": ("table", "msgspec.structs.replace(share_of('yes', name='mine'), name='mine', item_score=own)"),
    "applies_to": (
        "table",
        "mean_of('mine', lambda table: np.where(table.code < 0, np.nan, 1.0 * table.code), 'higher', own)",
    ),
    "applies_to alone": ("table", "msgspec.structs.replace(share_of('yes', name='mine'), name='mine', applies_to=own)"),
    "supports": ("levels", "mean_of('mine', lambda table: np.ones(len(table)), supports=own)"),
}
"""What the function takes, and the metric that has it."""
RAISING = {
    "raise ZeroDivisionError('no reply')": "raised ZeroDivisionError: no reply (metrics.py:4, in own)",
    "sys.exit(3)": "raised SystemExit: 3 (metrics.py:4, in own)",
    "raise GeneratorExit": "raised GeneratorExit:  (metrics.py:4, in own)",
    "raise MemoryError": "raised MemoryError: (metrics.py:4, in own)",
    "return own(*[table] * own.__code__.co_argcount)": "raised RecursionError: maximum recursion depth exceeded",
    "return unknown": "raised NameError: name 'unknown' is not defined (metrics.py:4, in own)",
    "table.code[:] = 0": "raised ValueError: assignment destination is read-only (metrics.py:4, in own)",
    "table.code = 0": "raised AttributeError: immutable type: 'RatingTable' (metrics.py:4, in own)",
    "raise ValueError('two\\nlines')": "raised ValueError: two lines (metrics.py:4, in own)",
}
RETURNED = {
    "compute": {
        "return None": "returned None of shape () for 1 row of weights, and must return one number for each (metrics.py:3, in own)",
        "return 'high'": "returned 'high', not numbers (metrics.py:3, in own)",
        "return ['0.5'] * len(weights)": "returned a list, not numbers (metrics.py:3, in own)",
        "return np.float64(1)": "returned 1.0 of shape () for 1 row of weights",
        "return [0.5, 0.5, 0.5]": "returned a list of shape (3,) for 1 row of weights, and must return one number for each",
        "return np.full(len(weights), np.inf)": "returned inf, not a number from 0 to 1 (metrics.py:3, in own)",
        "return np.full(len(weights), -3.0)": "returned -3, not a number from 0 to 1 (metrics.py:3, in own)",
        "return pl.Series([object()] * len(weights))": "returned a Series, not numbers (metrics.py:3, in own)",
    },
    "item_score alone": {
        "return None": "returned None of shape () for",
        "return 'high'": "returned 'high', not numbers",
        "return np.full(len(table), -3.0)": "returned -3, not a number from 0 to 1",
        "return 1.0": "returned 1.0 of shape () for",
    },
    "applies_to alone": {
        "return None": "returned None, not true or false for each of",
        "return np.arange(len(table))": "returned a ndarray, not true or false for each of",
        "return True": "returned True, not true or false for each of",
        "return pl.Series(['yes'] * len(table))": "returned a Series, not true or false for each of",
    },
}
FAILING = [
    *((place, body, fault) for place in PLACES for body, fault in RAISING.items() if place != "supports" or "table" not in body),
    *((place, body, fault) for place, bodies in RETURNED.items() for body, fault in bodies.items()),
]  # fmt: skip


def own_metric(place: str, body: str) -> str:
    takes, made = PLACES[place]
    return OWN.format(takes, body, made)


@pytest.mark.parametrize(("place", "body", "fault"), sampled(FAILING, 3))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_metric_that_fails_is_named_before_the_first_call(tmp_path: Path, place: str, body: str, fault: str) -> None:
    folder = least(tmp_path / "warmth", metrics__py=own_metric(place, body))
    (tmp_path / "bot.py").write_text(
        "def reply(message):\n    open('asked', 'w').close()\n    return 'Hello.'\n", "utf-8"
    )
    done = typed("run", folder, "--model", "bot.py:reply", "--judge", "rule/refusal", "--json", folder=tmp_path)
    assert done.returncode == 2, done.stdout
    assert not done.stdout
    assert done.stderr.count("\n") == 1
    assert f"warmth: its metric mine {' '.join(fault.split())}" in done.stderr
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize(
    ("place", "body", "fault"),
    [
        ("compute", "raise ZeroDivisionError('no reply')", "raised ZeroDivisionError: no reply ({}:4, in own); mend it"),
        ("item_score", "raise ZeroDivisionError('no reply')", "raised ZeroDivisionError: no reply ({}:4, in own); mend it"),
        ("applies_to", "sys.exit()", "raised SystemExit: ({}:4, in own); mend it"),
        ("compute", "return 'high'", "returned 'high', not numbers ({}:3, in own); mend it"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("whole", [False, True], ids=["metrics.py", "a Benchmark in Python"])
def test_a_metric_that_fails_on_a_stored_run_costs_that_metric_alone(
    tmp_path: Path, place: str, body: str, fault: str, *, whole: bool
) -> None:
    sound = least(tmp_path / "warmth")
    run(sound, tmp_path / "run")
    intact = {score.name for score in mindgauge.score(tmp_path / "run").metrics}
    name = "warmth.py" if whole else "metrics.py"
    code = own_metric(place, body)
    others = "metrics = (share_of('no'), mine)\n" if whole else ""
    (sound / name).write_text(code + others + WHOLE if whole else code, encoding="utf-8")
    private.write_state(registry.NAMED, {str(sound): own_folder.digest(sound)})
    said = f"warmth: its metric mine {fault.format(name)}"
    scores = mindgauge.score(tmp_path / "run")
    [own] = [score for score in scores.find("mine") if score.criterion == "warm"]
    assert own.value is None
    assert own.n
    assert said in own.note
    assert {score.name for score in scores.metrics if score.value is not None} >= ({"share_no"} if whole else intact)
    for command in ("score", "report"):
        done = typed(command, tmp_path / "run")
        assert done.returncode == 0, done.stderr
        assert said in " ".join(done.stdout.split()) or command == "report"
    (sound / name).unlink()
    assert "its metric mine" not in typed("score", tmp_path / "run").stdout


LOADED = {
    "raise ZeroDivisionError('no')": "ZeroDivisionError: no",
    "import sys\nprint('hello')\nsys.exit(0)": "SystemExit: 0",
    "class Own(BaseException): pass\nraise Own('odd')": "Own: odd",
    "def (": "SyntaxError: ",
    "import nowhere_to_be_found": "ModuleNotFoundError: No module named 'nowhere_to_be_found'",
    "def deep(): deep()\ndeep()": "RecursionError: maximum recursion depth exceeded",
}
"""What somebody's file does when it is loaded, and what is said of it."""


@pytest.mark.parametrize(("code", "fault"), sampled([pytest.param(*each) for each in LOADED.items()], 2))
@pytest.mark.parametrize("file", ["metrics.py", "warmth.py", "bot.py"])
def test_a_file_that_fails_when_it_is_loaded_is_one_line(tmp_path: Path, file: str, code: str, fault: str) -> None:
    folder = least(tmp_path / "warmth")
    written(tmp_path, {"bot.py": "def reply(message):\n    return 'Hello.'\n"})
    written(tmp_path if file == "bot.py" else folder, {file: code})
    done = typed(
        "run", folder, "--model", "bot.py:reply", "--judge", "rule/refusal", "--out", "run", "--json", folder=tmp_path
    )
    assert (done.returncode, done.stdout) == (2, "")
    lines = [line for line in done.stderr.splitlines() if line != "hello"]
    assert len(lines) == 1
    assert fault in lines[0]
    assert file in lines[0]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["own", "read", "variants", "completed", "notes"])
def test_a_function_of_a_benchmark_in_python_that_fails_is_one_line(tmp_path: Path, name: str) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom mindgauge.benchmarks import Benchmark\n"
        "def mine(*given):\n    print('hello')\n    sys.exit(0)\n"
        f"warmth = Benchmark.from_folder(Path(__file__).parent, **{{{name!r}: mine}})\n"
    )
    folder = least(tmp_path / "warmth", warmth__py=code)
    with pytest.raises(UsageError, match=rf"warmth: its {name}\(\) raised SystemExit: 0 \(warmth.py:6, in mine\)"):
        getattr(benchmarks.asked_one(str(folder)), name)(tmp_path)


@pytest.mark.parametrize(
    ("metrics", "fault"),
    [
        ("(share_of('yes'), share_of('yes'))", "two of its metrics have the name share_yes on one criterion"),
        ("(share_of('yes'), len)", "metrics holds a builtin_function_or_method, which is no metric"),
        ("(Metric('mine', None),)", "its metric mine raised TypeError: 'NoneType' object is not callable"),
        ("(Metric(3, lambda table, weights: weights[:, 0]),)", "metric 3: a name is text"),
        ("(mindgauge.metric(lambda value: 1 / 0, name='mine'),)", "raised ZeroDivisionError: division by zero (metrics.py:4, in <lambda>) on 'no'"),
        ("(m for m in (share_of('yes'), 1 / 0))", "metrics.py:4: cannot be loaded: ZeroDivisionError"),
    ],
)  # fmt: skip
def test_metrics_that_are_none_are_named(tmp_path: Path, metrics: str, fault: str) -> None:
    code = f"import mindgauge\nfrom mindgauge.benchmarks.metrics import Metric\nfrom mindgauge.benchmarks.metrics import share_of\nmetrics = {metrics}\n"
    done = typed("list", least(tmp_path / "warmth", metrics__py=code))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert fault in done.stderr


def test_what_a_metric_prints_is_no_part_of_the_result(tmp_path: Path) -> None:
    body = "print('hello')\n    return 1.0 * table.code"
    folder = least(tmp_path / "warmth", metrics__py=own_metric("item_score", body))
    run(folder, tmp_path / "run")
    private.write_state(registry.NAMED, {str(folder): own_folder.digest(folder)})
    done = typed("score", tmp_path / "run", "--json")
    assert json.loads(done.stdout)["notes"] == []
    assert "hello" in done.stderr


NOT_DEFINED = "import numpy as np\nfrom mindgauge.benchmarks.metrics import Metric\nown = Metric('own', lambda table, weights: np.full(len(weights), np.nan))\n"


def test_a_metric_that_is_not_defined_is_said_to_be_so(tmp_path: Path) -> None:
    place = least(tmp_path / "warmth", metrics__py=NOT_DEFINED)
    run(place, tmp_path / "run")
    figures = mindgauge.score(tmp_path / "run").find("own", slice="all")
    assert figures
    for figure in figures:
        assert figure.value is None
        assert figure.n
        assert figure.note
    assert "own warm" in typed("score", tmp_path / "run").stdout


def test_where_no_measure_is_defined_nobody_says_that_nothing_was_rated(tmp_path: Path) -> None:
    place = least(tmp_path / "warmth")
    benchmark = (
        "from pathlib import Path\nfrom mindgauge.benchmarks import Benchmark\n"
        "warmth = Benchmark.from_folder(Path(__file__).parent, metrics=(own,))\n"
    )
    (place / "warmth.py").write_text(NOT_DEFINED + benchmark, encoding="utf-8")
    assert benchmarks.asked_one(str(place)).headline == ("own",)
    run(place, tmp_path / "run")
    said = typed("score", tmp_path / "run").stdout
    assert "no measure is defined on these ratings" in said
    assert "has been rated yet" not in said


def test_a_closed_question_about_replies_shows_the_reply(tmp_path: Path) -> None:
    place = least(
        tmp_path / "replies", card__toml='title = "Replies"\nclosed = true\n',
        samples__csv="user,reply,target\nBad day.,Cheer up.,no\nBad week.,I am listening.,yes\n",
    )  # fmt: skip
    benchmark = benchmarks.asked_one(str(place))
    assert benchmark.about_reply
    seen: list[str] = []

    def respond(request: Request) -> str:
        seen.append(request.messages[-1].content)
        return json.dumps({"quotes": [], "rationale": "so", "warm": "yes"})

    scores = mindgauge.run(str(place), model=Scripted("a", respond), out=tmp_path / "run")
    assert isinstance(scores, Scores)
    assert scores.find("accuracy")[0].value == 0.5
    assert any("<reply " in text and "I am listening." in text for text in seen)


def test_a_prompt_of_its_own_takes_the_place_of_the_usual_one_alone(tmp_path: Path) -> None:
    own = "OWN WORDING\n\n{rubric}\n\n{form}\n\n{nonce}\n\n{dialogue}\n\n{reply}\n"
    benchmark = benchmarks.asked_one(str(least(tmp_path / "warmth", judge__md=own)))
    assert benchmark.prompts["judge"].keys() == {"en"}
    assert "OWN WORDING" in benchmark.prompts["judge"]["en"].text
    assert {"judge.chain"} <= benchmark.prompts.keys()


LEVELS: dict[str, list[int] | list[str]] = {
    "binary": ["no", "yes"], "numbers": [1, 2, 3, 4], "backwards": [3, 2, 1], "words": ["poor", "fair", "good"],
}  # fmt: skip


def written_criterion(name: str, scale: str, levels: list[Any], *, veto: bool = False) -> str:
    """Write a criterion of a rubric."""
    options = ", ".join(f'{{ value = {json.dumps(level)}, text.en = "L." }}' for level in levels)
    line = "veto = true\n" if veto else ""
    return f'[[criteria]]\nname = "{name}"\nscale = "{scale}"\n{line}text.en = "C?"\nlevels = [{options}]\n'


@st.composite
def rubrics(draw: st.DrawFn) -> str:
    """Draw a rubric: up to four criteria of any scale, vetoes among them."""
    parts = []
    for number in range(draw(st.integers(1, 4))):
        levels = LEVELS[draw(st.sampled_from(sorted(LEVELS)))]
        scale = draw(st.sampled_from(["ordinal", "nominal"]))
        veto = scale == "ordinal" and draw(st.booleans())
        parts.append(written_criterion(f"c{number}", scale, levels, veto=veto))
    return HEAD + "".join(parts)


@examples(25)
@given(rubric=rubrics(), closed=st.booleans())
@example(
    rubric=HEAD
    + written_criterion("c0", "ordinal", ["no", "yes"], veto=True)
    + written_criterion("c1", "ordinal", [3, 2, 1], veto=True)
    + written_criterion("c2", "nominal", ["no", "yes"])
    + written_criterion("c3", "nominal", [3, 2, 1]),
    closed=True,
)
def test_no_criterion_is_without_a_metric_and_no_veto_is_averaged(
    tmp_path_factory: pytest.TempPathFactory,
    rubric: str,
    closed: bool,
) -> None:
    place = tmp_path_factory.mktemp("any")
    card = f'title = "Any"\nclosed = {json.dumps(closed)}\n'
    folder = least(place / "any", card__toml=card, rubric__toml=rubric)
    scores = run(folder, place / "run")
    benchmark = benchmarks.asked_one(str(folder))
    for criterion in benchmark.rubric.criteria:
        figures = [m for m in scores.leading if m.criterion == criterion.name]
        assert figures, criterion.name
        assert all(m.n == 2 and m.missing == 0 for m in figures)
        if criterion.veto:
            assert not [m for m in scores.metrics if m.criterion == criterion.name and m.name == "mean"]


def test_a_table_of_the_user_s_takes_the_place_of_the_samples(tmp_path: Path) -> None:
    place = least(tmp_path / "warmth")
    table = written(tmp_path, {"more.csv": "Text;Nr\nA new town.;1\nNo sleep.;2\nA quiet day.;3\n"}) / "more.csv"
    assert run(place, tmp_path / "run", data=table, columns={"user": "Text"}).find("share_yes")[0].n == 3
    with pytest.raises(DataError, match=r"more.csv: no column `user` .* --map user=Text"):
        run(place, tmp_path / "other", data=table)
    written(tmp_path, {"columns.toml": 'user = "Text"\n'})
    assert run(place, tmp_path / "beside", data=table).find("share_yes")[0].n == 3
    written(tmp_path, {"columns.toml": "", "gaps.csv": "id,user\n1,\n"})
    with pytest.raises(DataError, match=r"gaps.csv: no message in it"):
        run(place, tmp_path / "gaps", data=tmp_path / "gaps.csv")


# -- faults --------------------------------------------------------------------------------------------------------------

FAULTS = {
    "a slip in a key of the card": ({"card__toml": 'title = "W"\nlicense = "mine"\n'}, "card.toml:2: unknown key 'license'; did you mean licence?"),
    "a number that is text": ({"card__toml": 'title = "W"\nyear = "2026"\n'}, "card.toml:2: year: write a whole number"),
    "no title": ({"card__toml": 'licence = "mine"\n'}, "card.toml: no title"),
    "no card": ({"card__toml": ""}, "card.toml: missing"),
    "a card that is no TOML": ({"card__toml": "title = Warm\n"}, "card.toml:1: not TOML"),
    "no rubric": ({"rubric__toml": ""}, "rubric.toml: missing"),
    "a scale that there is not": ({"rubric__toml": RUBRIC.replace("ordinal", "scale")}, "rubric.toml:5: criterion 'warm': `scale` is 'scale'; write scale = \"ordinal\""),
    "one level": ({"rubric__toml": RUBRIC.replace(', { value = "yes", text.en = "It is." }', "")}, "rubric.toml:5: criterion 'warm' needs at least two levels"),
    "a level without text": ({"rubric__toml": RUBRIC.replace(', text.en = "It is."', "")}, "rubric.toml:5: criterion 'warm': level yes does not say what it looks like"),
    "two criteria of one name": ({"rubric__toml": RUBRIC + CRITERION}, "rubric.toml:5: criterion 'warm' occurs twice"),
    "an unknown key in a criterion": ({"rubric__toml": RUBRIC.replace("scale", "vetoe = true\nscale")}, "rubric.toml:5: criterion 'warm': unknown field `vetoe`; did you mean `veto`?"),
    "no samples": ({"samples__csv": ""}, "samples.csv: missing"),
    "samples under another name": ({"samples__csv": "", "items__csv": MESSAGES}, "items.csv lies there: call it samples.csv"),
    "two tables of samples": ({"samples__jsonl": '{"user": "Hello."}\n'}, "samples.jsonl: samples.csv lies there, too"),
    "no column of messages": ({"samples__csv": "Frage\nHello there.\n"}, "no column user"),
    "a row without a message": ({"samples__csv": "id,user\n1,Hello.\n2,\n"}, "samples.csv:3: no text"),
    "a column that is not there": ({"columns__toml": 'user = "Text"\n'}, "samples.csv: no column 'Text' for user"),
    "a name that is not read": ({"columns__toml": 'usr = "user"\n'}, "samples.csv: columns.toml: usr=user: turn it round, user=usr"),
    "a target that is no level": ({"card__toml": 'title = "W"\nclosed = true\n', "samples__csv": "user,target\nHi.,maybe\n"}, "samples.csv:2: the target 'maybe' is no level of warm; write one of no, yes"),
    "a dialogue that ends with a reply": ({"samples__csv": "user,reply\nHi.,Hello.\n"}, "samples.csv:2: the dialogue ends with a reply"),
    "a slot that is not filled": ({"judge__md": "{rubric} {form} {dialogue} {replay}\n"}, "judge.md:1: no slot {replay}"),
    "a prompt without the rubric": ({"judge__md": "{form} {dialogue} {reply} {nonce}\n"}, "judge.md: it shows no {rubric}"),
    "a prompt under a wrong name": ({"juge__md": "{rubric} {form} {dialogue} {reply}\n"}, "juge.md:1: it has a prompt's slot, but no prompt is called so; did you mean judge.md?"),
    "an open question and a closed one": ({"card__toml": 'title = "W"\nclosed = true\n', "judge__md": "{rubric} {form} {dialogue} {reply}\n"}, "judge.md: a closed question"),
    "code that breaks": ({"metrics__py": "x = 1\ny = x / 0\n"}, "metrics.py:2: cannot be loaded: ZeroDivisionError"),
    "code without a metric": ({"metrics__py": "x = 1\n"}, "metrics.py: no metric stands in it"),
    "a metric about nothing": (
        {"metrics__py": 'from mindgauge.benchmarks.metrics import share_of\nmetrics = (share_of("cold"),)\n'},
        "metrics.py: its metric share_cold has nothing to say of any criterion of rubric.toml: none has its levels, or its name",
    ),
    "an anchor at no level": ({"anchors__jsonl": '{"messages": [{"role": "user", "content": "Hi."}], "reply": "Hello.", "ratings": {"warm": "maybe"}}\n'}, "anchors.jsonl:1: warm has no level 'maybe'"),
}  # fmt: skip


@pytest.mark.parametrize(("changed", "line"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_named_with_its_file_and_its_line(tmp_path: Path, changed: dict[str, str], line: str) -> None:
    place = least(tmp_path / "warmth", **changed)
    with pytest.raises(FaultsError) as error:
        benchmarks.asked(str(place))
    assert any(line in named for named in error.value.lines), error.value.lines
    assert all("Traceback" not in named and "$." not in named for named in error.value.lines)


SEPARATE = [
    "a slip in a key of the card", "a scale that there is not", "a row without a message", "a slot that is not filled",
    "code that breaks", "an anchor at no level",
]  # fmt: skip
"""Faults in six files, none of which hides another; anchors cannot be held against a broken rubric."""


def test_five_faults_are_five_lines_and_exit_code_2(tmp_path: Path) -> None:
    changed = {name: text for fault in SEPARATE[:5] for name, text in FAULTS[fault][0].items()}
    place = least(tmp_path / "warmth", **changed)
    for command in (
        ["list"],
        ["run", "--model", "local/smollm2-135m"],
        ["judges", "compare", "--replies", "r.csv", "--judge", "j"],
    ):
        done = typed(
            *command[: 2 if command[0] == "judges" else 1], place, *command[2 if command[0] == "judges" else 1 :]
        )
        assert done.returncode == 2
        heading, *lines = done.stderr.strip().splitlines()
        assert "5 things are wrong" in heading
        assert len(lines) == 5
        for fault in SEPARATE[:5]:
            assert any(FAULTS[fault][1] in line for line in lines), fault
        assert "Traceback" not in done.stderr


def test_one_fault_is_one_line(tmp_path: Path) -> None:
    done = typed("list", least(tmp_path / "warmth", rubric__toml=""))
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1)
    done = typed("list", tmp_path / "nothing")
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1)
    assert "mindgauge new" in done.stderr


def test_what_is_wrong_on_many_lines_is_said_once(tmp_path: Path) -> None:
    place = least(tmp_path / "warmth", samples__csv="id,user\n" + "1,\n" * 40)
    with pytest.raises(FaultsError) as error:
        benchmarks.asked(str(place))
    [line] = error.value.lines
    assert "samples.csv:2: no text" in line
    assert "also line 3, 4" in line


def test_a_text_that_stands_twice_counts_once_and_is_said(tmp_path: Path) -> None:
    place = least(tmp_path / "warmth", samples__csv=MESSAGES + "I slept badly before the exam.\n")
    scores = run(place, tmp_path / "run")
    assert scores.find("share_yes")[0].n == 2
    assert any("a row repeats a text that stands there before (line 4)" in note for note in scores.notes)
    with pytest.raises(FaultsError, match="same text as line 2, with another target"):
        benchmarks.asked(
            str(
                least(
                    tmp_path / "state", card__toml='title = "S"\nclosed = true\n', rubric__toml=CLOSED,
                    samples__csv="user,target\nA day.,calm\nA day.,low\n",
                )
            )
        )  # fmt: skip


# -- where it is named ---------------------------------------------------------------------------------------------------


def test_a_folder_that_changed_is_read_again(tmp_path: Path) -> None:
    place = least(tmp_path / "warmth")
    assert len(benchmarks.asked_one(str(place)).samples(None)) == 2
    (place / "samples.csv").write_text(MESSAGES + "And I moved house.\n", "utf-8")
    os.utime(place / "samples.csv", ns=(1, 1))
    assert len(benchmarks.asked_one(str(place)).samples(None)) == 3


def test_the_bare_name_of_a_folder_will_do_where_none_of_ours_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    least(tmp_path / "warmth")
    least(tmp_path / "psycrisis")
    monkeypatch.chdir(tmp_path)
    assert benchmarks.asked_one("warmth").folder == tmp_path / "warmth"
    assert benchmarks.asked_one("psycrisis").folder != tmp_path / "psycrisis"
    with pytest.raises(UsageError, match="unknown benchmark"):
        benchmarks.find("warmth")
    (tmp_path / "warmth" / "metrics.py").write_text("raise SystemExit\n", "utf-8")
    with pytest.raises(UsageError, match=r"named by its path, \./warmth"):
        benchmarks.asked("warmth")  # code is run where the user names its place


def test_a_folder_without_code_is_scored_on_another_machine_and_code_is_not_run_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, mark = least(tmp_path / "warmth"), tmp_path / "it ran"
    run(place, tmp_path / "run")
    monkeypatch.setenv(private.STATE_FOLDER, str(tmp_path / "another machine"))
    registry._in_folder.cache_clear()
    assert mindgauge.score(tmp_path / "run").find("share_yes")[0].n == 2
    for name in ("metrics.py", "warmth.py", "__init__.py"):
        (place / name).write_text(f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n", "utf-8")
        with pytest.raises(UsageError, match="code has not been run on this machine"):
            mindgauge.score(tmp_path / "run")
        assert not mark.exists()
        (place / name).unlink()


@pytest.mark.parametrize("changed", ["metrics.py", "rubric.toml", "below/more.py", "__pycache__"])
def test_a_folder_whose_code_or_settings_have_changed_is_named_again_before_its_code_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    monkeypatch.setenv(private.STATE_FOLDER, str(tmp_path / "machine"))
    place, mark = least(tmp_path / "warmth"), tmp_path / "it ran"
    own = "from mindgauge.benchmarks.metrics import share_of\nmetrics = (share_of('yes'),)\n"
    (place / "metrics.py").write_text(own, "utf-8")
    run(place, tmp_path / "run")
    registry._in_folder.cache_clear()
    (place / "notes.txt").write_text("no code\n", "utf-8")
    assert mindgauge.score(tmp_path / "run").find("share_yes")[0].n == 2
    registry._in_folder.cache_clear()
    planted = f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n"
    if changed == "__pycache__":  # compiled code that Python would take without a look at its source
        (tmp_path / "other.py").write_text(own + planted, "utf-8")
        compiled = importlib.util.cache_from_source(place / "metrics.py")
        py_compile.compile(str(tmp_path / "other.py"), compiled, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)  # fmt: skip
        assert mindgauge.score(tmp_path / "run").find("share_yes")[0].n == 2
    else:
        (place / changed).parent.mkdir(exist_ok=True)
        with (place / changed).open("a", encoding="utf-8") as file:
            file.write(planted if changed.endswith("py") else "# changed\n")
        with pytest.raises(
            UsageError, match=r"whose code has changed since you last named it here; .* run: mindgauge list /"
        ):
            mindgauge.score(tmp_path / "run")
    assert not mark.exists()
    assert mindgauge.list(str(place)).benchmarks[0].name == "warmth"
    assert mindgauge.score(tmp_path / "run").find("share_yes")[0].n == 2
    assert mark.exists() == (changed == "metrics.py")


def test_every_command_that_takes_a_name_takes_a_folder(tmp_path: Path) -> None:
    place = least(tmp_path / "warmth")
    run(place, tmp_path / "run")
    replies = (
        written(tmp_path, {"replies.csv": "user,reply,label.warm\nHi.,Hello there.,yes\nA bad day.,So what.,no\n"})
        / "replies.csv"
    )
    judge = Scripted("k", rating())
    rated = mindgauge.rate(str(place), replies=replies, judge=judge, out=tmp_path / "rated", qualify=False)
    assert isinstance(rated, Scores)
    assert rated.find("share_yes")[0].n == 2
    assert mindgauge.list(str(place)).benchmarks[0].criteria[0].metrics == ("share_yes",)
    compared = mindgauge.judges_compare(
        str(place), replies=replies, judge=judge, out=tmp_path / "compared", qualify=False
    )
    assert compared is not None
    project = mindgauge.annotate_new(
        tmp_path / "labels", benchmark=str(place), items=tmp_path / "run", annotators=["ana", "ben"]
    )
    assert project.rubric == "warmth@1"
    assert mindgauge.audit(str(place)).texts == 2
    for command in (mindgauge.papers_load, mindgauge.papers_reproduce):
        with pytest.raises(UsageError, match="warmth"):
            command(str(place), data=tmp_path)
    exported = mindgauge.export(tmp_path / "run", to="csv", out=tmp_path / "exported")
    assert exported.files


def test_a_closed_folder_trains_a_classifier(tmp_path: Path) -> None:
    rows = "".join(
        f"I feel {'fine and calm' if n % 2 else 'low and tired'} on day {n}.,{'calm' if n % 2 else 'low'}\n"
        for n in range(24)
    )
    place = least(
        tmp_path / "state",
        card__toml='title = "S"\nclosed = true\n',
        rubric__toml=CLOSED,
        samples__csv=f"user,target\n{rows}",
    )
    trained = mindgauge.train(str(place), baseline=True, folds=3, out=tmp_path / "trained")
    assert trained is not None
    table = written(tmp_path, {"more.csv": f"user,target\n{rows}"}) / "more.csv"
    samples = benchmarks.asked_one(str(place)).samples(table)
    assert {(sample.target, sample.tags["texts"]) for sample in samples} == {("calm", "own"), ("low", "own")}
    table.write_text("user,target,split\nI am well today.,calm,train\nI am worn out.,low,test\n", "utf-8")
    assert [sample.target for sample in benchmarks.asked_one(str(place)).training(table)] == ["calm"]


def test_messages_in_the_place_of_the_samples_are_in_the_one_language_of_the_card(tmp_path: Path) -> None:
    place = least(tmp_path / "warmth", card__toml='title = "Wärme"\nlanguages = ["de"]\n')
    table = (
        written(tmp_path, {"more.csv": "user,language\nIch schlafe schlecht.,\nI moved house.,en-GB\n"}) / "more.csv"
    )
    available = inputs.at_hand([benchmarks.asked_one(str(place))], table, None, None)
    assert [sample.tags["language"] for sample in available.samples[0]] == ["de", "en"]


# -- as a package --------------------------------------------------------------------------------------------------------


def test_a_package_without_a_line_of_python_brings_a_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    least(site / "warm_words")
    (site / "warm_words" / "__init__.py").write_text("", "utf-8")
    least(site / "cold_words", rubric__toml="")
    (site / "cold_words" / "__init__.py").write_text("", "utf-8")
    written(
        site / "words-1.dist-info",
        {
            "METADATA": "Metadata-Version: 2.1\nName: words\nVersion: 1\n",
            "entry_points.txt": "[mindgauge.benchmarks]\nwarm_words = warm_words\ncold_words = cold_words\n",
        },
    )
    monkeypatch.syspath_prepend(str(site))
    registry._known.cache_clear()
    try:
        benchmark = benchmarks.find_one("warm_words")
        assert benchmark.folder == site / "warm_words"
        scores = mindgauge.run(
            "warm_words", model=Scripted("a", rating()), judge=Scripted("j", rating()), out=tmp_path / "run"
        )
        assert isinstance(scores, Scores)
        assert scores.find("share_yes")[0].n == 2
        assert "rubric.toml: missing" in benchmarks.broken("cold_words")["cold_words"]
    finally:
        registry._known.cache_clear()
        for name in ("warm_words", "cold_words"):
            sys.modules.pop(name, None)


def test_no_package_takes_the_place_of_a_family_or_of_another_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    for package, lines in {
        "one": "twice = warm_a\ntrustmh = warm_a\n",
        "two": "twice = warm_b\ntrustmh/own = warm_b\n",
    }.items():
        metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n"
        files = {"METADATA": metadata, "entry_points.txt": f"[mindgauge.benchmarks]\n{lines}"}
        written(site / f"{package}-1.dist-info", files)
    for name in ("warm_a", "warm_b"):
        (least(site / name) / "__init__.py").write_text("", "utf-8")
    monkeypatch.syspath_prepend(str(site))
    family = [benchmark.name for benchmark in benchmarks.find("trustmh")]
    registry._known.cache_clear()
    try:
        assert [benchmark.name for benchmark in benchmarks.find("trustmh")] == family
        broken = benchmarks.broken()
        assert broken["trustmh"].startswith("trustmh is a name of Mindgauge's own")
        assert broken["trustmh/own"].startswith("trustmh/own is a name of Mindgauge's own")
        [second] = [name for name in broken if name.startswith("twice of the package")]
        winner = {"one": "two", "two": "one"}[second.removeprefix("twice of the package ")]
        assert broken[second] == f"the package {winner} brings something of this name, too, and counts"
        assert benchmarks.find_one("twice").folder.name == {"one": "warm_a", "two": "warm_b"}[winner]
    finally:
        registry._known.cache_clear()
        for name in ("warm_a", "warm_b"):
            sys.modules.pop(name, None)


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep what the machine remembers of named folders apart."""
    monkeypatch.setenv(private.STATE_FOLDER, str(tmp_path / "state of the machine"))
    yield
    registry._in_folder.cache_clear()
