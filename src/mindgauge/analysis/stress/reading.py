"""What a run holds of a stress test, if it holds any: what is compared with what, the judge's verdicts, and what comes of them."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mindgauge.analysis.stress import probes
from mindgauge.analysis.stress.design import (
    INAPPLICABLE,
    Attempts,
    HaloDesign,
    Kin,
    Languages,
    StressDesign,
    VersionPairs,
)
from mindgauge.analysis.stress.effects import outcome
from mindgauge.analysis.stress.items import MARK, judges_in, store_names
from mindgauge.analysis.stress.probes import APART, TOGETHER, suffix
from mindgauge.analysis.stress.result import Stress
from mindgauge.models.family import same_family
from mindgauge.records import RaterKind, Status, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.stress.design import Codes, Floats
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.rubric import Criterion
    from mindgauge.store import Store


def judges(store: Store, benchmark: Benchmark) -> list[str]:
    """Return the judges that were put under stress, by name."""
    names = store.select("SELECT DISTINCT benchmark FROM replies").fetchall()
    return judges_in((name for (name,) in names), benchmark.name)


def stress(store: Store, benchmark: Benchmark, judge: str, *, seed: int = 0) -> Stress:
    """Say what a judge makes of the form of a reply.

    Args:
        store: of the run that holds its verdicts.
        benchmark: that the test is about.
        judge: its name as a rater.
        seed: of the sign flips.
    """
    design, values = read(store, benchmark, judge)
    result = outcome(design, values, seed=seed)
    usable = int((np.isfinite(values) & (values != INAPPLICABLE)).sum())
    return Stress(
        run=str(store.folder), benchmark=benchmark.name, judge=judge, items=design.items,
        conversations=design.conversations, judge_runs=values.shape[1], verdicts=usable,
        unusable=int(np.isnan(values).sum()), effects=result.effects, injections=result.injections, repeats=result.repeats,
        notes=design.notes,
    )  # fmt: skip


def stressed(store: Store, benchmarks: Sequence[Benchmark], judge: str) -> list[Stress]:
    """Return a judge's stress tests that a run holds; empty where it holds none."""
    return [stress(store, b, judge) for b in benchmarks if not b.closed and judge in judges(store, b)]


# What a run holds of a stress test: what is compared with what, and the judge's verdicts.


NO_KIN = "self-preference: not estimable without replies by the judge's family and by another, both rated by people, and by judges of other families (--replies RUN)"
COUNTERPART = "counterpart in the other language"


class _Version(NamedTuple):
    """One form of a reply: by a version of its text, or by a turned instrument."""

    original: str
    probe: str
    name: str


def read(store: Store, benchmark: Benchmark, judge: str) -> tuple[StressDesign, Floats]:
    """Return what a run compares, and the judge's verdicts in shares of the scale, shape (N, K).

    Args:
        store: of the run.
        benchmark: that the test is about.
        judge: the rater's name, with the usual instrument.
    """
    reader = _StressReader(store, benchmark, judge)
    return reader.design(), reader.values()


class _StressReader:
    def __init__(self, store: Store, benchmark: Benchmark, judge: str) -> None:
        self.store = store
        self.judge = judge
        self.criteria = probes.ordinal(benchmark.rubric.criteria)
        self.names = store_names(benchmark.name, judge)
        samples = list(store.samples(self.names[0]))
        clusters = {sample.id: sample.cluster for sample in samples}
        languages = {sample.id: sample.tags.get("language", "en") for sample in samples}
        self.originals = list(store.replies(self.names[0]))
        self.language = {r.id: languages[r.sample] for r in self.originals}
        codes = {
            cluster: code for code, cluster in enumerate(dict.fromkeys(clusters[r.sample] for r in self.originals))
        }
        self.conversation = {r.id: codes[clusters[r.sample]] for r in self.originals}
        self.conversations = len(codes)
        self.marks: dict[str, dict[str, Any]] = {
            r.id: r.provenance[MARK] for name in self.names for r in store.replies(name)
        }
        self.turned = sorted({version for (version,) in self._turned()})
        self.place: dict[tuple[_Version, str], int] = {}
        self.levels = {c.name: _shares(c) for c in self.criteria}
        for version in self._versions():
            for criterion in self.criteria:
                self.place[version, criterion.name] = len(self.place)

    def _turned(self) -> Iterator[tuple[str]]:
        query = "SELECT DISTINCT rater FROM ratings WHERE benchmark = ?"
        for (rater,) in self.store.select(query, (self.names[0],)):
            for contrast in probes.CONTRASTS:
                if rater == self.judge + suffix(contrast.version):
                    yield (contrast.version,)

    def _versions(self) -> Iterator[_Version]:
        for reply in self.originals:
            yield _Version(reply.id, "", probes.ORIGINAL)
            yield from (_Version(reply.id, "", version) for version in self.turned)
        for mark in self.marks.values():
            if "of" in mark:
                yield _Version(mark["of"], mark["probe"], mark["version"])

    def values(self) -> Floats:
        """Return the verdicts."""
        query = (
            "SELECT subject, criterion, rater, run, status, value FROM ratings WHERE benchmark = ? AND rater_kind = ?"
        )
        raters = {self.judge: probes.ORIGINAL} | {self.judge + suffix(version): version for version in self.turned}
        cells: list[tuple[int, int, float]] = []
        runs = 1
        for name in self.names:
            for subject, criterion, rater, run, status, value in self.store.select(
                query, (name, RaterKind.MODEL.value)
            ):
                if rater not in raters or criterion not in self.levels:
                    continue
                runs = max(runs, run + 1)
                mark = self.marks[subject]
                version = (
                    _Version(mark["of"], mark["probe"], mark["version"])
                    if "of" in mark
                    else _Version(subject, "", raters[rater])
                )
                share = self.levels[criterion].get(str(value)) if status == Status.OK else None
                share = INAPPLICABLE if status == Status.NOT_APPLICABLE else share
                if share is not None:
                    cells.append((self.place[version, criterion], run, share))
        values = np.full((len(self.place), runs), np.nan)
        for place, run, share in cells:
            values[place, run] = share
        return values

    # -- what is compared -------------------------------------------------------------------------------------------

    def design(self) -> StressDesign:
        """Return the comparisons."""
        people = self._levels(RaterKind.GOLD, RaterKind.PERSON)
        people_means = {key: float(np.mean(list(by_rater.values()))) for key, by_rater in people.items()}
        pairs = [*self._pairs(), *self._counterparts()]
        kin, note = self._kin(people)
        languages, attempts = list(self._languages(people_means)), self._attempts()
        notes = [*untried(pairs, languages, attempts, {*self.language.values()}), *note]
        truth = np.array([people_means.get((version.original, criterion), np.nan) for version, criterion in self.place])
        levels = np.array([len(self.levels[criterion]) for _, criterion in self.place], dtype=np.intp)
        return StressDesign(
            self.conversations, pairs, kin, languages, attempts, self._halo(),
            {c.name: self._at([(r.id, self.place[_Version(r.id, "", probes.ORIGINAL), c.name]) for r in self.originals])
             for c in self.criteria},
            truth, levels, len(self.originals), notes,
        )  # fmt: skip

    def _at(self, keys: list[tuple[str, int]]) -> tuple[Codes, Codes]:
        places = np.array([place for _, place in keys], dtype=np.intp)
        return places, np.array([self.conversation[reply] for reply, _ in keys], dtype=np.intp)

    def _find(self, reply: str, probe: str, name: str, criterion: str) -> int | None:
        """Return where the verdict on a version stands: of its text, or by a turned instrument."""
        own = probe if name != probes.ORIGINAL and name not in self.turned else ""
        return self.place.get((_Version(reply, own, name), criterion))

    def _pairs(self) -> Iterator[VersionPairs]:
        for contrast in probes.CONTRASTS:
            for criterion in self.criteria:
                both = [
                    (r.id, left_row, right)
                    for r in self.originals
                    if (left_row := self._find(r.id, contrast.probe, contrast.version, criterion.name)) is not None
                    and (right := self._find(r.id, contrast.probe, contrast.against, criterion.name)) is not None
                ]
                if both:
                    yield self._paired(*contrast, criterion.name, both)

    def _paired(
        self, probe: str, version: str, against: str, criterion: str, both: list[tuple[str, int, int]]
    ) -> VersionPairs:
        left_rows, conversation = self._at([(reply, place) for reply, place, _ in both])
        right_rows, _ = self._at([(reply, place) for reply, _, place in both])
        return VersionPairs(probe, version, against, criterion, left_rows, right_rows, conversation)

    def _counterparts(self) -> Iterator[VersionPairs]:
        """Compare replies that were written to say the same in two languages."""
        twins = [(r.id, self.marks[r.id]["counterpart"]) for r in self.originals if "counterpart" in self.marks[r.id]]
        for criterion in self.criteria if twins else ():
            rows = [
                self.place[_Version(reply, "", probes.ORIGINAL), criterion.name] for pair in twins for reply in pair
            ]
            both = [(reply, rows[2 * i], rows[2 * i + 1]) for i, (reply, _) in enumerate(twins)]
            yield self._paired(probes.LANGUAGE, COUNTERPART, "English", criterion.name, both)

    def _levels(self, *kinds: RaterKind) -> dict[tuple[str, str], dict[str, float]]:
        """Return what raters of some kinds gave each reply on each criterion, in shares of the scale: rater → mean."""
        marks = ", ".join("?" for _ in kinds)
        query = f"SELECT subject, criterion, rater, value FROM ratings WHERE benchmark = ? AND rater_kind IN ({marks}) AND status = 'ok'"  # noqa: S608 - of marks
        ratings: dict[tuple[str, str], dict[str, list[float]]] = {}
        for subject, criterion, rater, value in self.store.select(query, (self.names[0], *kinds)):
            share = self.levels.get(criterion, {}).get(str(value))
            if share is not None:
                ratings.setdefault((subject, criterion), {}).setdefault(rater, []).append(share)
        return {key: {rater: float(np.mean(s)) for rater, s in by_rater.items()} for key, by_rater in ratings.items()}

    def _kin(self, people: dict[tuple[str, str], dict[str, float]]) -> tuple[list[Kin], list[str]]:
        entries = []
        judged = self._levels(RaterKind.MODEL)
        others = sorted({r for by_rater in judged.values() for r in by_rater if not same_family(self.judge, r)})
        for criterion in self.criteria:
            rated = [r for r in self.originals if (r.id, criterion.name) in people]
            own = np.array([same_family(self.judge, r.model) for r in rated], dtype=np.bool_)
            if not own.any() or own.all():
                continue
            place, conversation = self._at(
                [(r.id, self.place[_Version(r.id, "", probes.ORIGINAL), criterion.name]) for r in rated]
            )
            levels = [list(people[r.id, criterion.name].values()) for r in rated]
            width = max(map(len, levels))
            columns = {
                other: [
                    nan if same_family(other, r.model) else judged.get((r.id, criterion.name), {}).get(other, nan)
                    for r in rated
                ]
                for other in others
            }
            controls = {other: column for other, column in columns.items() if np.isfinite(column).any()}
            entries.append(
                Kin(
                    criterion.name, place, np.array([by_rater + [nan] * (width - len(by_rater)) for by_rater in levels]),
                    np.array(list(controls.values())).reshape(len(controls), len(rated)).T, own, conversation,
                    sorted({r.model for r in rated if same_family(self.judge, r.model)}), list(controls),
                )
            )  # fmt: skip
        return entries, [] if entries else [NO_KIN]

    def _languages(self, people_means: dict[tuple[str, str], float]) -> Iterator[Languages]:
        for criterion in self.criteria:
            rated = [
                r
                for r in self.originals
                if (r.id, criterion.name) in people_means and self.language[r.id] in {"en", "zh"}
            ]
            chinese = np.array([self.language[r.id] == "zh" for r in rated], dtype=np.bool_)
            if chinese.any() and not chinese.all():
                place, conversation = self._at(
                    [(r.id, self.place[_Version(r.id, "", probes.ORIGINAL), criterion.name]) for r in rated]
                )
                levels = np.array([people_means[r.id, criterion.name] for r in rated])
                yield Languages(criterion.name, place, levels, chinese, conversation)

    def _attempts(self) -> Attempts | None:
        marks = [mark for mark in self.marks.values() if "attempt" in mark and mark["criterion"] in self.levels]
        if not marks:
            return None

        def at(version: str) -> Codes:
            names = [probes.ORIGINAL if version == probes.ORIGINAL else m[version] for m in marks]
            rows = [
                self._find(m["of"], probes.INJECTION, name, m["criterion"])
                for m, name in zip(marks, names, strict=True)
            ]
            return np.array(rows, dtype=np.intp)

        return Attempts(
            at("version"), at(probes.ORIGINAL), at("placebo"),
            np.array([self.levels[m["criterion"]][str(m["aim"])] for m in marks]),
            np.array([self.conversation[m["of"]] for m in marks], dtype=np.intp),
            {fact: np.array([m[fact] for m in marks]) for fact in ("attempt", "kind", "place", "where", "language")},
        )  # fmt: skip

    def _halo(self) -> HaloDesign | None:
        mode = next((version for version in self.turned if version in {APART, TOGETHER}), None)
        if mode is None:
            return None

        def at(version: str) -> Codes:
            names = [c.name for c in self.criteria]
            rows = [[self.place[_Version(r.id, "", version), name] for name in names] for r in self.originals]
            return np.array(rows, dtype=np.intp)

        usual, other = at(probes.ORIGINAL), at(mode)
        together, separate = (usual, other) if mode == APART else (other, usual)
        return HaloDesign(
            together, separate, np.array([self.conversation[r.id] for r in self.originals], dtype=np.intp)
        )


def _shares(criterion: Criterion) -> dict[str, float]:
    """Return each level's place on the scale, worst 0 and best 1."""
    values: tuple[Value, ...] = criterion.values
    return {str(value): place / (len(values) - 1) for place, value in enumerate(values)}


def untried(
    pairs: Sequence[VersionPairs], languages: Sequence[Languages], attempts: Attempts | None, spoken: set[str]
) -> Iterator[str]:
    """Name the probes that nothing was tried of; self-preference has a note of its own.

    Args:
        pairs: comparisons of versions.
        languages: comparisons between languages.
        attempts: of the battery.
        spoken: the languages of the replies.
    """
    tried = {pair.probe for pair in pairs} | {probes.LANGUAGE for _ in languages}
    tried |= {probes.INJECTION} if attempts else set()
    elsewhere = {probes.SELF, probes.REPEAT}
    yield from (f"{probe}: not tried" for probe in probes.NAMES if probe not in tried | elsewhere)
    missing = sorted(spoken - {*attempts.facts["language"].tolist()}) if attempts else []
    if missing:
        yield f"{probes.INJECTION}: not tried on replies in {', '.join(missing)}"
