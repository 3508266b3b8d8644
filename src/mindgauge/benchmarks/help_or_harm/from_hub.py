"""The tables of the Hugging Face layout as the authors' own files, so that their tables are recomputed from either alike.

A row of such a file is an item at its place in its split, whatever order the layout's tables have. Where the text of an item
is not here, its id stands for it: no table of the paper is about words. Labels stand at an item's first occurrence, so a
split in which a text occurs twice has no label files.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge.benchmarks.help_or_harm.inputs import LABELLER_OF_TEST
from mindgauge.benchmarks.help_or_harm.released import HelpOrHarmRelease, ReleasedFile
from mindgauge.benchmarks.help_or_harm.score_tables import MODELS, paper_name
from mindgauge.benchmarks.hub_layout.records import LayoutReader
from mindgauge.benchmarks.hub_layout.tables import EXAMPLE, LABEL, RESPONSE, HubLayout, TableKind, number
from mindgauge.records import RaterKind, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mindgauge.benchmarks.benchmark import Benchmark
    from mindgauge.benchmarks.released import Released
    from mindgauge.records import Rating, Reply

Rows = list[dict[str, Any]]
_SETS = {"validation": "sampled_dataset_merged_validation", "test": "sampled_dataset_test"}
"""What the sets are called: the authors' validation set alone is merged from two."""
_FIRST_JUDGES = {"gpt-4o-mini": "", "llama-4-scout": "meta-llama"}
"""How the authors' sets of lowest scores call a judge, where not by its name."""


class LayoutFile(ReleasedFile, frozen=True, kw_only=True):
    """A file that is made of tables of the layout."""

    table: tuple[dict[str, Any], ...] = ()

    def rows(self) -> Rows:
        """Return its rows."""
        return list(self.table)


def files(response: Benchmark, crisis_type: Benchmark, data: Path) -> HelpOrHarmRelease:
    """Read a folder in the layout as the authors' files.

    Raises:
        DataError: nothing usable is there, or a table is broken.
    """
    layout = HubLayout(data)
    reader = LayoutReader(response, layout)
    replied = reader.replied()
    return HelpOrHarmRelease(
        data, tuple(_Translation(layout, reader, replied, crisis_type).files()), tuple(replied.notes)
    )


class _Translation:
    """A folder's items at their places, and what was said of them."""

    def __init__(self, layout: HubLayout, reader: LayoutReader, replied: Released, crisis_type: Benchmark) -> None:
        self.layout, self.crisis_type = layout, crisis_type
        self.replies = {str(reply.provenance[RESPONSE]): reply for reply in replied.replies}
        self.ratings = replied.ratings
        self.examples: dict[str, list[str]] = {}
        self.facts: dict[str, dict[str, Any]] = {}
        for example, sample in reader.items.items():
            split = sample.tags.get("split", "")
            self.examples.setdefault(split, []).append(example)
            words = sample.messages[-1].content or example
            self.facts[example] = {"inputs": [words], "dataset_id": sample.tags.get("source")}
        self.split = {example: split for split, own in self.examples.items() for example in own}
        origins = [reply.provenance for reply in replied.replies if LABEL in reply.provenance]
        self.labels = {str(origin[EXAMPLE]): origin[LABEL] for origin in origins}
        self.labelled = {*self.labels} if layout.exported() else {*reader.items}
        """Those whose label is their own: in an export of ours, it stands with a response."""
        for example, sample in reader.items.items():
            self.labels.setdefault(example, sample.tags.get("category"))
        self.any_label = any(self.labels.values())

    def files(self) -> Iterator[LayoutFile]:
        """Yield them all."""
        for split, examples in self.examples.items():
            if split not in _SETS:
                continue
            name = _SETS[split]
            yield _table("inputs", name, [self.facts[e] for e in examples], dataset=name)
            yield from self._label_files(split)
            if split == "test" and self.labelled.issuperset(examples) and self.any_label:
                rows = [{**self.facts[e], "label": self.labels[e]} for e in examples]
                yield _table("merged_labels", "labels of responses", rows, model=LABELLER_OF_TEST, dataset=name)
        yield from self._answers_and_scores()
        yield from self._people()

    def _answers_and_scores(self) -> Iterator[LayoutFile]:
        """Yield a file for each repeat of a model's answers, and one for each of a judge's repeats on it."""
        answers: dict[tuple[str, str, int], dict[str, Reply]] = {}
        for reply in self.replies.values():
            example = str(reply.provenance[EXAMPLE])
            if not reply.provenance.get("selection") and self.split.get(example) in _SETS:
                key = self.split[example], _named(reply), reply.run
                answers.setdefault(key, {})[example] = reply
        ratings = {(r.subject, r.rater, r.run): r for r in self.ratings if r.rater_kind is RaterKind.MODEL}
        raw_names = {r.rater: _known(str(r.provenance.get("model_raw") or r.rater), r.rater) for r in ratings.values()}
        judge_runs = sorted({(rater, run) for _, rater, run in ratings})
        for (split, model, run), own in sorted(answers.items()):
            stem, parts = _answers(model, split, run), {"model": model, "dataset": _SETS[split], "time": _time(run)}
            rows = {e: self._row(e, own[e]) for e in self.examples[split] if e in own}
            yield _table("answers", stem, rows.values(), **parts)
            for judge, repeat in judge_runs:
                scores = {e: ratings.get((own[e].id, judge, repeat)) for e in rows}
                if any(scores.values()):
                    scored = [{**row, "evaluation": _evaluation(scores[e])} for e, row in rows.items()]
                    name = f"{raw_names[judge]}-evaluation_{stem}_{_time(repeat)}"
                    yield _table("judgements", name, scored, judge=raw_names[judge], again=_time(repeat), **parts)

    def _row(self, example: str, reply: Reply) -> dict[str, Any]:
        answer = {"json": reply.text} if reply.provenance.get("is_json") else reply.text
        refused = reply.status is Status.REFUSED
        label = {"label": self.labels.get(example)} if self.any_label else {}  # else nothing is known of any
        return {**self.facts[example], **label, "refusal": refused, "answer": answer}

    def _people(self) -> Iterator[LayoutFile]:
        """Yield the sets of lowest scores, and people's scores of them: each a row an item, in the order of the items."""
        order = {example: place for place, example in enumerate(self.split)}
        sets: dict[str, dict[str, dict[str, Any]]] = {}
        for row in self.layout.rows(TableKind.REVIEW):
            judge = paper_name(row.text("evaluator_model", "evaluator_model_raw") or row.review_set()[2])
            reply = self.replies.get(row.text(RESPONSE))
            if reply is not None and row.text(EXAMPLE) in order:
                source = "" if reply.provenance.get("selection") else _answers(
                    _named(reply), self.split[row.text(EXAMPLE)], reply.run
                )  # fmt: skip
                sets.setdefault(judge, {})[row.text(EXAMPLE)] = {
                    **self._row(row.text(EXAMPLE), reply), "evaluation": number(row.cells.get("score")), "sampled_from": f"{source}.json",
                }  # fmt: skip
        drawn = sorted({example for rows in sets.values() for example in rows}, key=order.__getitem__)
        people: dict[str, dict[str, dict[str, Any]]] = {}
        replies = {reply.id: reply for reply in self.replies.values()}
        for rating in self.ratings:
            if rating.rater_kind is RaterKind.PERSON:
                reply = replies[rating.subject]
                example = str(reply.provenance[EXAMPLE])
                item = self._row(example, reply)
                people.setdefault(rating.rater, {})[example] = {**item, "evaluation": _evaluation(rating)}
        drawn = drawn or sorted({example for rows in people.values() for example in rows}, key=order.__getitem__)
        blank = {e: {**self.facts[e], "label": self.labels.get(e), "evaluation": None} for e in drawn}
        for kind, tables in (("lowest", sets), ("human_scores", people)):
            for rater, rows in tables.items():
                name = _FIRST_JUDGES.get(rater, rater) if kind == "lowest" else rater
                table = [rows.get(example, blank[example]) for example in drawn]
                yield _table(kind, f"{kind} of {rater}", table, rater=name)

    def _label_files(self, split: str) -> Iterator[LayoutFile]:
        """Yield labels of a split in which no text occurs twice."""
        examples = self.examples[split]
        if max(Counter(self.facts[e]["inputs"][0] for e in examples).values()) > 1:
            return
        labels: dict[tuple[str, str, int], dict[str, Any]] = {}
        for row in self.layout.rows(TableKind.LABELS):
            if row.text("benchmark") == self.crisis_type.name and row.text("labeller_kind") != RaterKind.GOLD:
                key = row.text("labeller_kind"), row.text("labeller"), row.whole("run") or 0
                labels.setdefault(key, {})[row.text(EXAMPLE)] = row.cells.get(LABEL)
        for (kind, labeller, run), own in sorted(labels.items()):
            if not own.keys() & {*examples}:
                continue
            table = [{**self.facts[e], "label": own.get(e)} for e in examples]
            name = f"{labeller}-labeled-{split}-{run}"
            if kind == RaterKind.PERSON:
                yield _table("human_labels", name, table, rater=labeller)
            else:
                yield _table("labels", name, table, model=labeller, dataset=_SETS[split], time=_time(run))


def _table(kind: str, name: str, rows: Iterable[dict[str, Any]], **parts: str) -> LayoutFile:
    return LayoutFile(path=Path(f"{name}.json"), source=name, kind=kind, table=tuple(rows), **parts)


def _known(*names: str) -> str:
    """Return that spelling of a model's name by which the paper has it; the first where it has none."""
    return next((name for name in names if paper_name(name) in MODELS), names[0])


def _named(reply: Reply) -> str:
    return _known(str(reply.provenance["model_raw"]), reply.model)


def _evaluation(rating: Rating | None) -> Any:
    """Return a score as it stood in its file."""
    if rating is None:
        return None
    return rating.value if rating.value is not None else rating.provenance.get("raw")


def _answers(model: str, split: str, run: int) -> str:
    return f"{model}-answers-{_SETS.get(split, split)}-{_time(run)}"


def _time(run: int) -> str:
    """Return what stands for a repeat where the authors' names have a time."""
    return f"{run:08d}-000000"
