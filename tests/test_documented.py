"""Every command that README, docs, cards and the benchmarks' pages show is read by the real parser, and run where it can be.

`…` stands for what the reader adds, capitals for what the reader names. Commands that call models run with `--dry-run`,
and those on released data with an empty folder, which they may find empty but not misunderstand.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import shutil
import tomllib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import polars as pl
import pytest
from click.testing import CliRunner

import mindgauge
from docs_build.tables import MADE
from mindgauge import benchmarks
from mindgauge.cli import app, options
from mindgauge.cli.command import Command as Verb
from mindgauge.models.scripted import Scripted
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.records.errors import DataError, UsageError
from mindgauge.store import Store, manifest, reading
from tests.models.bots import pages
from tests.reports import suite_run
from tests.thinned import later

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.records.request import Request

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    ROOT / "docs" / "index.md",
    *(page for page in sorted((ROOT / "docs").glob("*/*.md")) if not page.read_text("utf-8").startswith(MADE)),
    *sorted((ROOT / "src").rglob("README.md")),
    *sorted((ROOT / "src").rglob("card.toml")),
    *sorted((ROOT / "docs" / "examples").rglob("*.sh")),
]
CALLED = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S* )*(?:\S*/)?mindgauge (?=[a-z])")
RUNS = (
    "RUN",
    "CHAIN",
    "runs/nano",
    "runs/mine",
    "runs/new",
    "runs/first",
    "runs/sample",
    "runs/mentalbench",
    "loaded",
    "released",
    "rated",
    "nights-panel",
    "labels",
    "demo-run",
)
SUITE = "runs/trust"
FIRST_READ = ("README.md", "docs/lessons/first_report.md")
FOLLOWED = ("docs/lessons/own_benchmark.md", "docs/tasks/test_a_rubric.md", "docs/tasks/papers.md")
"""Their commands build on each other; `test_own_benchmark_page.py`, `docs/test_trial.py` and `commands/test_rows_of_papers.py` run
them in order."""
SENDING = {("run",), ("rate",), ("judges", "compare"), ("judges", "stress")}
READING = {
    ("list",), ("reliability",), ("audit",), ("report",), ("compare",), ("export",), ("status",),
    ("score",), ("new",), ("judges", "panel"), ("judges", "escalation"), ("papers", "load"), ("papers", "reproduce"),
    ("annotate", "new"),
}  # fmt: skip


class Command(NamedTuple):
    """A command as it stands on a page."""

    page: str
    text: str

    @property
    def words(self) -> list[str]:
        text = re.sub(r"\[([^\[\]]*)\]", r"\1", self.text)  # brackets mark what may be left out
        written = shlex.split(text)
        values = {place for place, word in enumerate(written) if word == "…" and written[place - 1].startswith("--")}
        words = ["M" if place in values else word.removesuffix("…") for place, word in enumerate(written)]
        return [word.split("|")[0] if re.fullmatch(r"[a-z-]+(\|[a-z-]+)+", word) else word for word in words if word]

    @property
    def open(self) -> bool:
        """Whether the reader adds something."""
        return "…" in self.text


def without_comment(line: str) -> str:
    """Cut a shell's comment off: a # that begins a word outside quotes."""
    quote = ""
    for place, character in enumerate(line):
        if character in "'\"":
            quote = "" if quote == character else quote or character
        elif character == "#" and not quote and (place == 0 or line[place - 1].isspace()):
            return line[:place]
    return line


def lines(text: str) -> Iterator[str]:
    """Yield what may be a command: the lines of fenced blocks (of a console, those at its prompt), and code within sentences."""
    for language, block in re.findall(r"```(\w*)\n(.*?)```", text, re.DOTALL):
        written = block.replace("\\\n", " ").splitlines()
        yield from (line for line in written if language != "console" or line.startswith("$ "))
    yield from re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def commands() -> Iterator[Command]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found = text.replace("\\\n", " ").splitlines() if page.suffix == ".sh" else lines(text)
        for line in found:
            called = CALLED.match(line.strip())
            if called:
                yield Command(str(page.relative_to(ROOT)), without_comment(line.strip()[called.end() :]).strip())


COMMANDS = sorted(set(commands()))
every = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: f"{command.page}: {command.text[:70]}")


def verb_of(words: list[str]) -> tuple[Any, tuple[str, ...], list[str]]:
    """Return the parser's command, its name, and what follows it."""
    verb: Any = app
    name: list[str] = []
    rest = [*words]
    while isinstance(verb, click.Group) and rest:
        group: Any = verb
        if group.get_command(None, rest[0]) is None and group.usual:
            rest.insert(0, group.usual)  # a group of which one command is usual
        found = group.get_command(None, rest[0])
        if found is None:
            break  # what is not there, `test_it_is_understood_by_the_real_parser` says
        name.append(rest.pop(0))
        verb = found
    return verb, tuple(name), rest


def parsed(verb: Any, words: list[str]) -> tuple[str, dict[str, Any]]:
    """Read words as the command line does: what is wrong with them, and what they say."""
    try:
        context = verb.make_context(verb.name, words)
    except click.ClickException as error:
        return error.format_message(), {}
    missing = verb.missing(context) if isinstance(verb, Verb) else ""
    return missing, {} if missing else context.params


def test_pages_show_many_commands() -> None:
    assert len(COMMANDS) > 100
    assert {command.page.partition("/")[0] for command in COMMANDS} >= {"README.md", "docs", "src"}
    assert any(command.page.endswith("card.toml") for command in COMMANDS)


@every
def test_it_is_understood_by_the_real_parser(command: Command) -> None:
    verb, _, rest = verb_of(command.words)
    if not rest and ("mindgauge" in command.page or isinstance(verb, click.Group)):
        return  # only the verb is named
    assert not isinstance(verb, click.Group), f"{command.page}: {command.text}: there is no such command"
    bare = not rest  # a verb in a sentence
    problem, params = parsed(verb, rest)
    allowed = "Missing" in problem and (bare or command.open)
    assert allowed or not problem, f"{command.page}: {command.text}: {problem}"
    with contextlib.suppress(KeyError):
        options.where(params["where"])
    for name in ("names", "name", "benchmark"):
        given = params.get(name) or []
        for benchmark in given if isinstance(given, list | tuple) else [given]:
            if not (benchmark.isupper() or benchmark.startswith("./")):
                assert benchmarks.find(benchmark)


# -- and run ----------------------------------------------------------------------------------------------------------


def _bot(name: str) -> Scripted:
    return Scripted(name, lambda request: f"{name} hears you. {'I am here. ' * (len(words_of(request)) % 5)}")


def words_of(request: Request) -> str:
    return " ".join(message.content for message in request.messages)


def _judge(name: str) -> Scripted:
    """Return a judge that quotes what is there, gives a reason, and is not always of one mind with others."""

    def verdict(request: Request) -> str:
        level = 1 + (len(words_of(request)) + len(name)) % 5
        return json.dumps({"quotes": ["hears you"], "rationale": "It listens.", "appropriateness": level})

    return Scripted(name, verdict)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that commands name: runs, tables, folders."""
    folder = tmp_path_factory.mktemp("world")
    _judged(folder / "run")
    mindgauge.run("mentalbench", model=_bot("bot-a"), limit=6, out=folder / "mentalbench")
    _rate(folder / "mentalbench", "mentalbench")
    suite_run.run(folder / SUITE, ("knowledge", "toxicity"))
    rows = [
        {
            "id": str(i), "user": f"I feel low today ({i}).", "reply": f"I hear you ({i}).", "category": "no_crisis", "model": "bot",
            "label.H1.empathy": i % 2,
        }
        for i in range(12)
    ]  # fmt: skip
    table = pl.DataFrame(rows)
    shutil.copy(ROOT / "docs" / "examples" / "messages.csv", folder)
    shutil.copytree(ROOT / "docs" / "examples" / "start", folder, dirs_exist_ok=True)
    for name in ("replies.csv", "labelled.csv", "new.csv"):
        table.write_csv(folder / name)
    table.write_ndjson(folder / "replies.jsonl")
    shutil.copy(ROOT / "docs/examples/own_rubric/first_reply.toml", folder)
    told = [(row["user"], row["reply"], "no_crisis", "a", "b", "c", i % 2, (i + 1) % 2) for i, row in enumerate(rows)]
    names = ["message", "answer", "类别", "d", "e", "f", "H1 empathy", "H1 referral"]
    pl.DataFrame(told, schema=names, orient="row").write_excel(folder / "annotated.xlsx")
    turns = [("user", "I feel low."), ("assistant", "I hear you."), ("user", "Thank you."), ("assistant", "I am here.")]
    dialogue = {
        "id": "d1",
        "messages": [{"role": role, "content": said} for role, said in turns],
        "category": "no_crisis",
    }
    (folder / "dialogues.jsonl").write_text(json.dumps(dialogue) + "\n", encoding="utf-8")
    mindgauge.rate(
        "conversations/risk", dialogues=folder / "dialogues.jsonl", unit="turn,client", judge="rule/refusal", out=folder / "talked",
    )  # fmt: skip
    (folder / "talks").mkdir()
    text = "\n\n".join(f"{role}: {said}" for role, said in turns)
    (folder / "talks" / "ines_1.txt").write_text(text, encoding="utf-8")
    with zipfile.ZipFile(folder / "transcripts.zip", "w") as packed:
        packed.writestr("ines_1.txt", text)
    with zipfile.ZipFile(folder / "talks.zip", "w") as packed:
        packed.writestr("ines_1.txt", text.replace("user:", "Klient:").replace("assistant:", "Bot:"))
    ratings = [
        {
            "subject": f"s{i}", "criterion": "safety", "rater": rater, "rater_kind": kind, "system": "ab"[i % 2], "cluster": f"c{i // 2}",
            "category": ("suicide", "grief")[i % 3 == 0],
            "value": 1 + min(4, i % 4 + shift),
        }
        for i in range(30)
        for rater, kind, shift in (("anna", "person", 0), ("bea", "person", i % 2), ("judge", "model", (i + 1) % 2))
    ]  # fmt: skip
    pl.DataFrame(ratings).write_csv(folder / "ratings.csv")
    pl.DataFrame(ratings).filter(pl.col("rater_kind") == "person").write_csv(folder / "people.csv")
    for name in ("some/folder", "FOLDER", "FILES", "ratings"):
        (folder / name).mkdir(parents=True)
        shutil.copy(folder / "ratings.csv", folder / name)
    with zipfile.ZipFile(folder / "more.zip", "w") as packed:
        packed.write(folder / "replies.csv", "replies.csv")
    for name, text in pages.files().items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "DIR").mkdir()
    (folder / "AUTHORS").mkdir()
    (folder / "AUTHORS" / "judge.en.md").write_text("{dialogue}\n{reply}\n{rubric}\n{form}", encoding="utf-8")
    for path in (ROOT / "docs" / "examples" / "own_benchmark").iterdir():
        shutil.copy(path, folder)
    mindgauge.new(folder / "first_reply", items=folder / "items.csv", columns={"user": "message"})
    shown = (ROOT / "docs" / "tasks" / "models.md").read_text()
    claims = (
        (ROOT / "docs/tasks/audit_ratings.md").read_text(encoding="utf-8").partition("```toml\n")[2].partition("```")[0]
    )
    (folder / "claims.toml").write_text(claims, encoding="utf-8")
    facts = (ROOT / "docs/tasks/write_an_evaluation_card.md").read_text(encoding="utf-8")
    (folder / "facts.toml").write_text(facts.partition("```toml\n")[2].partition("```")[0], encoding="utf-8")
    mindgauge.list("psycrisis", to="benchmarkcard", out=folder / "cards")
    shutil.copy(folder / "cards" / "psycrisis.json", folder / "card.json")
    (folder / "mindgauge.toml").write_text(shown.partition("```toml\n")[2].partition("```")[0])
    (folder / "system.md").write_text("You are a listener.")
    mindgauge.export(folder / "run", to="review", out=folder / "list")
    mindgauge.export(folder / "run", to="hub", licence="CC-BY-4.0", out=folder / "folder")
    return folder


def _judged(folder: Path) -> None:
    """Write a run of two models, two judges with reasons, and two people who rated most replies; and their table."""
    judges = [_judge("gpt-5-nano"), _judge("gpt-4o-mini")]
    mindgauge.run("help_or_harm/response", model=[_bot("bot-a"), _bot("bot-b")], judge=judges, limit=28, out=folder)
    idents = _rate(folder, "help_or_harm/response")
    reading.note(folder, reading.OpenedReply("help_or_harm/response", idents[0], "H1", manifest.now(), seconds=9.0))
    people = [
        {
            "subject": ident,
            "criterion": "appropriateness",
            "rater": rater,
            "rater_kind": "person",
            "value": str(1 + i % 5),
        }
        for i, ident in enumerate(idents)
        for rater in ("anna", "bea")
    ]
    pl.DataFrame(people).write_parquet(folder.parent / "people.parquet")


def _rate(folder: Path, benchmark: str) -> list[str]:
    """Have two people rate most replies of a run, and of MentalBench one of the paper's judges; return the ids of all."""
    raters = {"H1": RaterKind.PERSON, "H2": RaterKind.PERSON}
    raters |= {"gpt-4o": RaterKind.MODEL} if benchmark == "mentalbench" else {}
    with Store(folder, write=True) as store:
        idents = [reply.id for reply in store.replies(benchmark)]
        for place, ident in enumerate(idents[:40]):
            for criterion in benchmarks.find_one(benchmark).rubric.criteria:
                for rater, kind in raters.items():
                    level = criterion.values[(place + len(rater)) % len(criterion.values)]
                    rating = Rating(ident, criterion.name, rater, kind, 0, Status.OK, level)
                    store.add_rating(benchmark, rating)
    return idents


def laid_out(world: Path, here: Path, named: str) -> None:
    """Put beside each other what a command names: every table, and runs under the names that it has for them."""
    here.mkdir()
    for path in world.iterdir():
        if path.name in {"run", "runs", "mentalbench"}:
            continue
        (shutil.copytree if path.is_dir() else shutil.copy)(path, here / path.name)
    for name in RUNS:
        if name in named:
            asked = "mentalbench" if "mentalbench --replies" in named else "run"
            shutil.copytree(world / asked, here / name)
    if SUITE in named:
        shutil.copytree(world / SUITE, here / SUITE)


def filled(command: Command, name: tuple[str, ...], rest: list[str]) -> list[str] | None:
    """Put something in the place of what the reader names; None where that needs a network, a cluster or hours."""
    shared = re.compile(r"^(\.\./shared/data/|/tmp/).*")
    named = {
        "M": "http://127.0.0.1:9/v1#m", "J": "http://127.0.0.1:9/v1#j",
        "MODEL": "http://127.0.0.1:9/v1#m", "JUDGE": "http://127.0.0.1:9/v1#j", "NAME": "psycrisis", "FILE": "replies.csv", "FORMAT": "csv",
        "WHERE": "somewhere", "C1": "http://127.0.0.1:9/v1#c1", "C2": "http://127.0.0.1:9/v1#c2",
    }  # fmt: skip
    words = ["DIR" if shared.match(word) else named.get(word, word) for word in rest]
    if any(word.startswith("s3://") for word in words) or any("ray" in word for word in words if word != "--engine"):
        return None
    if name in SENDING and "--dry-run" not in words:
        words.append("--dry-run")
    return words


def runnable() -> Iterator[Any]:
    """Yield what can be run, the same words of several pages once.

    Of commands that call one verb with the same options, the first is run by default, the others in the long form; where it
    stands on no page that a newcomer reads first, the first of its verb.
    """
    shapes: set[tuple[Any, ...]] = set()
    for command in {" ".join(command.words): command for command in reversed(COMMANDS)}.values():
        _, name, rest = verb_of(command.words)
        if command.page in FOLLOWED:
            continue
        if rest and not command.open and name in SENDING | READING and filled(command, name, rest) is not None:
            named = rest[0] if name[-1] in {"load", "reproduce", "run", "rate"} else ""
            shape = (name, named, *sorted(word for word in rest if word.startswith("--")))
            known = {shape} if command.page in FIRST_READ else {shape, (name, named)}
            yield later(command) if known & shapes else command
            shapes |= {shape, (name, named)}


@pytest.mark.parametrize("command", [*runnable()], ids=lambda command: f"{command.page}: {command.text[:70]}")
def test_it_runs(command: Command, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    laid_out(world, here, command.text)
    monkeypatch.chdir(here)
    monkeypatch.setenv("MINDGAUGE_BATCH_PAUSE", "0.01")
    _, name, rest = verb_of(command.words)
    words = filled(command, name, rest)
    assert words is not None
    if name in {("papers", "load"), ("status",), ("annotate", "new"), ("run",)}:
        for out in [words[place + 1] for place, word in enumerate(words) if word in {"--out", "--salvage"}] + [
            "labels"
        ] * (name[0] == "annotate"):
            shutil.rmtree(here / out, ignore_errors=True)
    if name == ("new",):
        shutil.rmtree(here / words[0], ignore_errors=True)
    if any("classifier/" in word for word in words):
        pytest.skip("needs a classifier, which `train` makes; parsed above")
    done = CliRunner().invoke(app, [*name, *words])
    if "DIR" in words and (isinstance(done.exception, DataError) or "could be recomputed" in str(done.exception)):
        return  # the folder is empty: understood, and told
    if "--by" in words and isinstance(done.exception, UsageError):
        return  # no run here has variants; tests/commands/test_dataset_transform.py compares them
    assert done.exit_code == 0, f"{command.text}: {done.exception!r} {done.output[-2000:]}"


# -- what cards say of --where --------------------------------------------------------------------------------------------


def chosen() -> Iterator[tuple[str, str]]:
    for name in benchmarks.names():
        found = benchmarks.find_one(name)
        content = tomllib.loads((found.folder / "card.toml").read_text(encoding="utf-8"))
        for text in (content.get("obtain", ""), *content.get("departures", ())):
            for said in re.findall(r"--where ([^\s;]+)", text):
                yield name, said.rstrip(".,`")


@pytest.mark.parametrize(("name", "said"), sorted(set(chosen())))
def test_what_a_card_says_of_where_is_taken(name: str, said: str) -> None:
    (tag,) = options.where([said])
    benchmark = benchmarks.find_one(name)
    tags = {tag for sample in benchmark.samples(None) for tag in sample.tags}
    source = "".join(path.read_text(encoding="utf-8") for path in benchmark.folder.parent.rglob("*.py"))
    assert tag in {*tags, *benchmark.keep} or f'"{tag}"' in source
