"""A benchmark of the user's own: a folder with a card, a rubric and samples, without Python. What it lacks is the usual.

`card.toml` (a title is enough), `rubric.toml`, `samples.jsonl`, `samples.csv`, `samples.xlsx` or any other table that is
read, with `columns.toml` beside it where its columns have other names. Prompts (`judge.md`, `ask.zh.md`, …) take the place
of the usual ones, `metrics.py` adds metrics. The question is closed, put to the model under test itself, where `ask.md`
lies there or the card says `closed = true`; otherwise the model replies, and raters rate the reply.

Whatever is wrong is said at once, each fault with its file, its line where there is one, and what to write.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import re
import sys
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

import msgspec

from mindgauge.benchmarks import anchors, own_columns, rubric_defaults, trials
from mindgauge.benchmarks.card import NEEDS_NODES, SHARED, SLOTS, BenchmarkCard, by_nodes
from mindgauge.benchmarks.metrics import Metric, distribution_of, guarded, with_others
from mindgauge.benchmarks.own_columns import TARGET, SampleRules, targeted
from mindgauge.benchmarks.own_texts import unreleased
from mindgauge.records import installed
from mindgauge.records.english import nearest
from mindgauge.records.errors import DataError, FaultsError, OwnCodeError, UsageError
from mindgauge.records.files import bounds, checksum, tables
from mindgauge.records.files.folder import walk
from mindgauge.records.prompt import Prompt
from mindgauge.records.rubric import Rubric, faults
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mindgauge.records import Sample
    from mindgauge.records.rubric import Criterion

CARD, RUBRIC, SAMPLES, METRICS, ANCHORS = "card.toml", "rubric.toml", "samples", "metrics.py", "anchors.jsonl"
PROTOCOL = "category"
"""The tag that chooses the wording of levels, where a rubric has several."""
PLACEHOLDER = "Placeholder:"
"""How the text of a criterion begins that nobody has written yet."""
_SAID_OF_NOTHING = "Its author does not say what it does not measure (does_not_measure in card.toml)."
NO_LICENCE = "not said"
_TRUSTED = {".py", ".so", ".pyd", ".toml"}
_MOST_SLICES = 12
_NAME = re.compile(r"[^\W_][\w-]*")
_LINE = re.compile(r"at line (\d+)")
_KINDS = {
    "int": "a whole number", "str": "text in quotes", "bool": "true or false", "array": 'a list, ["…", "…"]', "object": "a table, x.en = …",
    "float": "a number",
}  # fmt: skip


def is_one(folder: Path) -> bool:
    """Whether a folder is meant as a benchmark: it has a card, or a module of its own name."""
    return (folder / CARD).is_file() or (folder / f"{folder.name}.py").is_file()


def module_of(folder: Path) -> Path | None:
    """Return the module of a folder that may hold its whole benchmark."""
    paths = (folder / f"{folder.name}.py", folder / "__init__.py")
    return next((path for path in paths if path.is_file()), None)


def sample_files(folder: Path) -> list[Path]:
    """Return the tables of samples that lie in a folder; a benchmark has one."""
    return [path for suffix in tables.ENDINGS if (path := folder / f"{SAMPLES}{suffix}").is_file()]


def has_code(folder: Path) -> bool:
    """Whether loading the benchmark in a folder runs Python that lies there."""
    return module_of(folder) is not None or (folder / METRICS).is_file()


def digest(folder: Path) -> str:
    """Hash the code and the settings in a folder or below it; empty where loading its benchmark runs no code."""
    files = [path for path in walk(folder) if path.suffix in _TRUSTED] if has_code(folder) else []
    lines = (f"{checksum.sha256(path)} {path.relative_to(folder).as_posix()}\n" for path in files)
    return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest() if files else ""


def fields(folder: Path, name: str = "", **details: Any) -> dict[str, Any]:
    """Return what a folder's benchmark is made of, by the fields of `Benchmark`; its `metrics.py` is run.

    Args:
        folder: of the benchmark.
        name: of the benchmark; the folder's if not given.
        details: fields in the place of the usual ones.

    Raises:
        FaultsError: something is wrong, or missing; all of it is named.
    """
    reading = _Reading(folder)
    if not folder.is_dir():
        raise FaultsError(
            f"{folder} is no benchmark",
            [f"there is no such folder; make one: {command_line('new', folder, '--from', 'FILE')}"],
        )
    if not _NAME.fullmatch(name.rpartition("/")[2] or folder.name):
        reading.add(
            "", f"the folder's name stands in tables and files: {folder.name!r}; write letters, digits, - and _"
        )
    card = reading.card()
    rubric = reading.rubric()
    prompts = reading.prompts()
    closed = "ask" in prompts or bool(card and card.closed)
    reading.refuse_both(prompts, closed=closed)
    # What Python adds beside the rubric, metrics may be about, too.
    criteria = (
        rubric.criteria if rubric is not None and not {"composites", "pooled", "readings"} & details.keys() else ()
    )
    own_metrics = reading.metrics(criteria) if "metrics" not in details else ()
    samples = None
    if "read" not in details:
        languages = card.languages if card is not None else ()
        criteria = rubric.criteria if rubric is not None else ()
        rules = SampleRules(
            criteria, closed, PROTOCOL if any(c.protocols for c in criteria) else "",
            languages[0] if len(languages) == 1 else "",
        )  # fmt: skip
        samples = reading.samples(rules)
        details = _from_table(rules, samples) | details
    if rubric is not None:
        if "node" in prompts and not by_nodes(rubric):
            reading.add("node.md", NEEDS_NODES)
        reading.anchors(rubric, details.get("protocol", ""))
    reading.trials()
    if reading.faults or card is None or rubric is None:
        count = len(reading.faults)
        things = "one thing is" if count == 1 else f"{count} things are"
        raise FaultsError(f"{folder} is no benchmark yet, {things} wrong", reading.faults)
    compared = closed and (samples is None or any(targeted(sample) for sample in samples.samples))
    measured = _measured(rubric, own_metrics, closed=closed, compared=compared)
    if "metrics" in details:  # it goes by those, then
        del measured["headline"]
    details = measured | details
    if closed and "ask" not in prompts and samples is not None and _about_reply(samples.samples):
        prompts = {"ask": _about_replies(), **prompts}
    return {
        "name": name or folder.name,
        "folder": folder,
        "card": _filled(card, rubric),
        "rubric": rubric,
        "prompts": _with_usual(prompts, rubric, closed=closed),
        "remarks": _remarks(folder, rubric),
        **details,
    }


def _measured(
    rubric: Rubric, own_metrics: tuple[Metric, ...], *, closed: bool, compared: bool
) -> dict[str, tuple[Any, ...]]:
    """Return what is computed, a folder's own metrics first, and what of it the benchmark goes by.

    Of answers that can be compared with no target, that is how often each label was given.
    """
    distribution = distribution_of(rubric.criteria) if closed and not compared else ()
    metrics = with_others(
        own_metrics, (*rubric_defaults.metrics(rubric, closed=compared), *distribution), rubric.criteria
    )
    leading = tuple(metric.name for metric in distribution) or rubric_defaults.headline(rubric, closed=compared)
    headline = dict.fromkeys((*leading, *(metric.name for metric in own_metrics)))
    return {"metrics": metrics, "distribution": distribution, "headline": tuple(headline)}


def _with_usual(prompts: dict[str, dict[str, Prompt]], rubric: Rubric, *, closed: bool) -> dict[str, dict[str, Prompt]]:
    """Return a folder's prompts, and the usual ones for what it has none of; its own joint one also serves criterion by criterion."""
    own = {kind.removesuffix(".split") for kind in prompts}
    usual_ones = rubric_defaults.prompts(rubric, closed=closed)
    return {kind: texts for kind, texts in usual_ones.items() if kind.removesuffix(".split") not in own} | prompts


def _from_table(rules: SampleRules, table: own_columns.SampleTable) -> dict[str, Any]:
    """Return the samples of a benchmark, and what is told by them; tables in their place are read as of any benchmark."""
    tags: dict[str, set[str]] = {}
    for sample in table.samples:
        for tag, value in sample.tags.items():
            tags.setdefault(tag, set()).add(value)
    unsliced = {"id", "split"}
    slices = [tag for tag, values in tags.items() if tag not in unsliced and not tag.startswith(TARGET) and 1 < len(values) <= _MOST_SLICES]  # fmt: skip

    return {
        "own": lambda: list(table.samples),
        "own_notes": tuple(f"{table.name}: {note}" for note in table.notes),
        "read": unreleased,
        "protocol": rules.protocol,
        "slices": tuple(slices),
    }


def _about_reply(samples: list[Sample]) -> bool:
    return bool(samples) and all(sample.messages[-1].role == "assistant" for sample in samples)


def _about_replies() -> dict[str, Prompt]:
    """Return the usual prompt of a closed question about a reply, by language."""
    return {lang: Prompt.load(SHARED / f"ask.reply.{lang}.md", SLOTS["ask"]) for lang in ("en", "zh")}


def _filled(card: BenchmarkCard, rubric: Rubric) -> BenchmarkCard:
    """Say of what a card leaves out what is known of it."""
    names = ", ".join(criterion.name for criterion in rubric.criteria)
    languages = {language for criterion in rubric.criteria for language in criterion.text}
    unsaid = card.does_not_measure or card.benchmarkcard.limitations or _SAID_OF_NOTHING
    placeholder = _placeholder(rubric)
    return msgspec.structs.replace(
        card,
        measures=card.measures or f"{card.title}, by the rubric {rubric.name}: {names}.",
        does_not_measure=f"Anything yet: {placeholder}. {unsaid}" if placeholder else unsaid,
        languages=card.languages or tuple(sorted(languages)),
        licence=card.licence or NO_LICENCE,
    )


def _placeholder(rubric: Rubric) -> str:
    """Say of a rubric that nobody has written yet that it is none; empty where all of it is written."""
    names = [c.name for c in rubric.criteria if any(text.startswith(PLACEHOLDER) for text in c.text.values())]
    if not names:
        return ""
    if len(names) == len(rubric.criteria):
        return "its rubric is a placeholder"
    return f"{len(names)} of its {len(rubric.criteria)} criteria are placeholders ({', '.join(names)})"


def _remarks(folder: Path, rubric: Rubric) -> tuple[str, ...]:
    """Say what must be known of every result."""
    which = _placeholder(rubric)
    if not which:
        return ()
    advice = f"write into {folder / RUBRIC} what you mean, and take “{PLACEHOLDER}” away"
    return (f"{folder.name}: {which}, so these figures say nothing yet; {advice}",)


class _Reading:
    """Reads the files of a folder, and keeps what is wrong with them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.faults: list[str] = []

    def add(self, file: str, text: str, line: int = 0) -> None:
        place = f"{file}:{line}" if line else file
        self.faults.append(f"{place}: {text}" if place else text)

    def card(self) -> BenchmarkCard | None:
        """Read the card; a member of a family adds to its family's."""
        if not (self.folder / CARD).is_file():
            self.add(CARD, 'missing; write one with a line title = "…"')
            return None
        source = self._toml(CARD)
        if source is None:
            return None
        before, hints = len(self.faults), get_type_hints(BenchmarkCard)
        content: dict[str, Any] = {}
        for key, value in source.content.items():
            if key not in hints:
                self.add(CARD, f"unknown key {key!r}{_near(key, hints)}", source.line(key))
                continue
            try:
                content[key] = msgspec.convert(value, hints[key])
            except msgspec.ValidationError as error:
                self.add(CARD, f"{key}: {_plain(error)}", source.line(key))
        if not str(source.content.get("title", "")).strip():
            self.add(CARD, 'no title; write a line title = "…"')
        return BenchmarkCard(**content) if len(self.faults) == before else None

    def rubric(self) -> Rubric | None:
        """Read the rubric, criterion by criterion."""
        if not (self.folder / RUBRIC).is_file():
            self.add(
                RUBRIC,
                "missing; write the criteria with their levels, worst to best, as docs/lessons/own_benchmark.md shows",
            )
            return None
        source = self._toml(RUBRIC)
        if source is None:
            return None
        problems = faults.of_file(source.content, Rubric)
        for problem in problems:
            self.add(RUBRIC, problem.removeprefix("not a rubric: "), source.place(problem))
        return None if problems else msgspec.convert(source.content, Rubric)

    def prompts(self) -> dict[str, dict[str, Prompt]]:
        """Read the prompts that lie there, by kind and language; without a language they are English, and used for all."""
        prompts: dict[str, dict[str, Prompt]] = {}
        for path in sorted(self.folder.glob("*.md")):
            stem, _, language = path.stem.rpartition(".")
            kind, language = (path.stem, "en") if path.stem in SLOTS else (stem, language)
            if kind not in SLOTS:
                if line := _slot_in(path):
                    near = difflib.get_close_matches(kind or path.stem, SLOTS, 1, 0.6)
                    names = f"did you mean {near[0]}.md?" if near else f"prompts are {', '.join(SLOTS)}, as in judge.md"
                    self.add(path.name, f"it has a prompt's slot, but no prompt is called so; {names}", line)
                continue
            try:
                prompt = Prompt.load(path, SLOTS[kind])
            except UsageError as error:
                self.add(path.name, f"{error}".removeprefix(f"{path}: "), _line_of(path, f"{error}"))
                continue
            if missing := {"rubric", "form", "dialogue"} - prompt.slots if kind in {"ask", "judge"} else set():
                self.add(path.name, f"it shows no {{{min(missing)}}}; write that where it is to stand")
            prompts.setdefault(kind, {})[language] = prompt
        return prompts

    def refuse_both(self, prompts: Mapping[str, object], *, closed: bool) -> None:
        """Say that a question is open or closed, not both."""
        judging = next((kind for kind in prompts if kind.startswith("judge")), None)
        if closed and judging is not None:
            self.add(
                f"{judging}.md",
                "a closed question (ask.md, or closed = true in card.toml) has no judge; keep one of them",
            )

    def trials(self) -> None:
        """Read what is known of how the rubric's words read."""
        try:
            trials.read(self.folder)
        except UsageError as error:
            self.add(trials.FILE, f"{error}".removeprefix(f"{self.folder / trials.FILE}: "))

    def metrics(self, criteria: Sequence[Criterion]) -> tuple[Metric, ...]:
        """Run `metrics.py`: its `metrics`, or else every metric that stands in it.

        Args:
            criteria: all that it may be about, each metric getting those that it suits; empty where that is not known.
        """
        path = self.folder / METRICS
        if not path.is_file():
            return ()
        try:
            module = loaded(path, f"mindgauge_benchmark_{self.folder.name}_metrics")
            named = getattr(module, "metrics", None)
            items = [*(named if isinstance(named, Iterable) else vars(module).values())]
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - somebody else's module may raise anything
            self.add(METRICS, f"cannot be loaded: {installed.fault(error)}", _where(error, path))
            return ()
        metrics = tuple(
            msgspec.structs.replace(guarded(item, self.folder.name, self.folder), expected=True)
            for item in items
            if isinstance(item, Metric)
        )
        if isinstance(named, Iterable):
            for item in (item for item in items if not isinstance(item, Metric)):
                self.add(METRICS, f"metrics holds a {type(item).__name__}, which is no metric; take it out")
        try:
            return self._suited(metrics, criteria)
        except OwnCodeError as error:
            self.add("", str(error))
            return ()

    def _suited(self, metrics: tuple[Metric, ...], criteria: Sequence[Criterion]) -> tuple[Metric, ...]:
        """Return metrics, each on the criteria that it suits; name those that suit none, and two of one name on one criterion."""
        if not metrics:
            self.add(
                METRICS,
                "no metric stands in it; write metrics = (…), as docs/lessons/own_benchmark.md shows, or take it out",
            )
        if not criteria:
            return metrics
        suited = [(metric, tuple(c.name for c in criteria if metric.suits(c))) for metric in metrics]
        for metric, names in suited:
            if not names:
                self.add(METRICS, f"its metric {metric.name} has nothing to say of any criterion of {RUBRIC}: none has its levels, or its name")  # fmt: skip
        uses = Counter((metric.name, metric.label, name) for metric, names in suited for name in names)
        for name in dict.fromkeys(name for (name, _, _), times in uses.items() if times > 1):
            self.add(METRICS, f"two of its metrics have the name {name} on one criterion; give one of them another")
        return tuple(msgspec.structs.replace(metric, criteria=names) for metric, names in suited)

    def samples_file(self) -> Path | None:
        """Return the one table of samples."""
        paths = sample_files(self.folder)
        if len(paths) > 1:
            self.add(paths[1].name, f"{paths[0].name} lies there, too; keep one of them")
        if not paths:
            others = [p.name for p in sorted(self.folder.iterdir()) if p.suffix.lower() in tables.ENDINGS]
            hint = f"; {others[0]} lies there: call it samples{(self.folder / others[0]).suffix}" if others else ""
            self.add(
                f"{SAMPLES}.csv", f"missing; write a table with a column user, a message a row (or samples.jsonl){hint}"
            )
        return paths[0] if len(paths) == 1 else None

    def samples(self, rules: SampleRules) -> own_columns.SampleTable:
        """Read the samples."""
        path = self.samples_file()
        if path is None:
            return own_columns.SampleTable("", [], [], [])
        result = own_columns.read_samples(path, rules)
        for sentence in own_columns.said(result):
            line, _, text = sentence.partition(": ")
            self.add(path.name, text, int(line or 0))
        return result

    def anchors(self, rubric: Rubric, protocol: str) -> None:
        """Look through the replies of known level, where there are any."""
        path = self.folder / ANCHORS
        if not path.is_file():
            return
        try:
            anchors.read(path, rubric, protocol)
        except DataError as error:
            place, _, text = f"{error}".removeprefix(f"{path}:").partition(": ")
            self.add(
                ANCHORS,
                text if place.strip().isdigit() else f"{place}: {text}".strip(": "),
                int(place) if place.isdigit() else 0,
            )

    def _toml(self, name: str) -> _Settings | None:
        path = self.folder / name
        try:
            return _Settings(bounds.toml(path), path.read_text("utf-8").splitlines())
        except OSError as error:
            self.add(name, f"cannot be read ({error.strerror})")
        except ValueError as error:
            match = _LINE.search(str(error))
            self.add(name, f'not TOML: {error}; texts stand in quotes, key = "…"', int(match[1]) if match else 0)
        return None


class _Settings(NamedTuple):
    """What a file of settings says, and its lines."""

    content: dict[str, Any]
    lines: list[str]

    def line(self, key: str) -> int:
        """Return the line on which a key is set; 0 where it cannot be told."""
        return self._first(rf"""\s*["']?{re.escape(key)}["']?\s*[.=]|\s*\[+\s*{re.escape(key)}\b""")

    def named(self, name: str) -> int:
        """Return the line on which something is called so."""
        return self._first(rf"""(?i).*\bname\s*=\s*["']{re.escape(name)}["']""") if name else 0

    def place(self, problem: str) -> int:
        """Return the line of the criterion, or of the key, that a fault of a rubric names first."""
        if match := re.match(r"criterion '([^']+)'", problem):
            return self.named(match[1])
        if match := re.match(r"criterion (\d+)", problem):
            return self.nth(int(match[1]))
        return self.line(match[1]) if (match := re.search(r"`(\w+)`", problem)) else 0

    def nth(self, number: int) -> int:
        """Return the line on which a criterion begins."""
        starts = [place for place, line in enumerate(self.lines, 1) if re.match(r"\s*\[\[\s*criteria\s*\]\]", line)]
        return starts[number - 1] if number <= len(starts) else 0

    def _first(self, pattern: str) -> int:
        return next((place for place, line in enumerate(self.lines, 1) if re.match(pattern, line)), 0)


def loaded(path: Path, name: str) -> Any:
    """Run a module that belongs to no package: its source, not the compiled file next to it, of which no digest is kept."""
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=[str(path.parent)])
    assert spec is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    with installed.unprinted():
        exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), vars(module))  # noqa: S102 - the user named it
    return module


def _near(key: str, keys: Iterable[str]) -> str:
    names = list(keys)
    return f"; {nearest(key, names, 'known are ' + ', '.join(names), 0.5)}"


def _plain(error: msgspec.ValidationError) -> str:
    """Say what a card needs in words of the file."""
    if match := re.search(r"Expected `(\w++)[^`]*`, got `(\w+)`", str(error)):
        return f"write {_KINDS.get(match[1], match[1])}, not {_KINDS.get(match[2], match[2])}"
    return str(error)


def _where(error: BaseException, path: Path) -> int:
    """Return the line of a module on which an error arose."""
    if isinstance(error, SyntaxError):
        return error.lineno or 0
    lines, trace = [], error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return lines[-1] if lines else 0


def _slot_in(path: Path) -> int:
    """Return the line of a Markdown file on which a slot of a prompt stands; 0 where none does: it is no prompt."""
    return min(filter(None, (_line_of(path, f"{{{slot}}}") for slot in ("rubric", "form", "dialogue"))), default=0)


def _line_of(path: Path, error: str) -> int:
    """Return the line of a prompt on which the slot stands that a message names."""
    slot = re.search(r"\{\w+\}", error)
    try:
        lines = bounds.content(path, bounds.SETTINGS).decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return 0
    return next((place for place, line in enumerate(lines, 1) if slot and slot[0] in line), 0)
